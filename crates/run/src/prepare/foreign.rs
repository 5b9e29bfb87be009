//! Data of others are not verified: every check of them would fail, and say nothing of the storage.

use super::{FileContent, use_of, verify_pattern};
use crate::error::RunError;
use crate::verify::{BlockAddress, Expected, MismatchClass, Verifier};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use workload::{VerifyPattern, Workload};

/// Blocks that are looked at.
const FIRST: u64 = 16;

/// Refuses verified reads of a file or device on which no mark speaks, if nothing in its first
/// blocks was ever written by a verified run.
///
/// # Errors
/// It is somebody else's.
pub(super) fn check(
    file: &File,
    path: &Path,
    index: u32,
    content: &FileContent,
    workload: &Workload,
) -> Result<(), RunError> {
    let reads = workload.verify.on
        && workload.verify.pattern == VerifyPattern::Header
        && use_of(workload).reads;
    if !reads || !content.is_unknown() {
        return Ok(());
    }
    let verifier = Verifier::new(verify_pattern(workload.verify.pattern), workload.seed, 0);
    let mut block = vec![0; units::lossless::to_usize(workload.blocks.smallest().0)];
    let step = workload.blocks.smallest().0;
    let mut offset = workload.files.offset.0;
    let mut foreign = 0;
    while foreign < FIRST {
        // What cannot be read is the run's to tell.
        if file.read_exact_at(&mut block, offset).is_err() {
            break;
        }
        match verifier.check(
            &block,
            BlockAddress {
                file: index,
                offset,
            },
            Expected::any_write(),
        ) {
            Err(mismatch) if mismatch.kind.class() == MismatchClass::NotOurs => foreign += 1,
            Ok(()) | Err(_) => return Ok(()),
        }
        offset += step;
    }
    if foreign == 0 {
        return Ok(());
    }
    Err(RunError::Unsuitable(format!(
        "{} was not written by a verified run of Fathom: its first {foreign} blocks hold other data, and checking them would say nothing of the storage; give a target that was written with --verify, or write this one first (--write-percent 100 --duration 0s --verify)",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn refused(content: &[u8]) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut workload = Workload::default();
        workload.verify.on = true;
        check(&file, Path::new("f"), 0, &FileContent::default(), &workload).is_err()
    }

    #[test]
    fn only_what_is_others_throughout_is_refused() {
        let theirs: Vec<u8> = (0..1_u32 << 16)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0] | 1)
            .collect();
        let mut ours = vec![0; 4096];
        Verifier::new(crate::verify::Pattern::Header, 0, 9).fill(
            &mut ours,
            BlockAddress {
                file: 0,
                offset: 4096,
            },
            1,
        );
        assert!(refused(&theirs) && refused(&theirs[..8192]));
        assert!(
            !refused(&[&theirs[..4096], &ours].concat()),
            "one block of ours is enough to look on"
        );
        assert!(!refused(&[0; 8192]), "holes have a name of their own");
        assert!(!refused(&[]));
        ours[9] ^= 1;
        assert!(
            !refused(&[&theirs[..4096], &ours].concat()),
            "and so is a damaged one"
        );
    }
}
