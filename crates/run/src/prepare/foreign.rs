//! Data of others are not verified: every check of them would fail, and say nothing of the storage.

use super::{FileContent, pattern_label, use_of, verify_pattern};
use crate::error::RunError;
use crate::verify::{BlockAddress, Expected, MismatchClass, Verifier};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use workload::Workload;

/// Blocks that are looked at.
const FIRST: u64 = 16;

/// Refuses verified reads of a file or device on which no mark speaks, if none of its first blocks
/// was ever written by a verified run: of a pattern that the address determines, none that is as it
/// must be.
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
    let io = use_of(workload);
    if !workload.verify.on || !io.reads || !content.is_unknown() {
        return Ok(());
    }
    let says_nothing = |of: MismatchClass| match of {
        MismatchClass::NotOurs => true,
        MismatchClass::Corrupt => !workload.verify.pattern.tells_writes_apart(),
        // What a run reads before it has written it; one that only reads is to find what is lost.
        MismatchClass::Holes => io.writes,
        MismatchClass::Misdirected
        | MismatchClass::Torn
        | MismatchClass::Stale
        | MismatchClass::Unissued
        | MismatchClass::ForeignRun => false,
    };
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
            Err(mismatch) if says_nothing(mismatch.kind.class()) => foreign += 1,
            Ok(()) | Err(_) => return Ok(()),
        }
        offset += step;
    }
    if foreign == 0 {
        return Ok(());
    }
    let first = match foreign {
        1 => "block holds".to_owned(),
        several => format!("{several} blocks hold"),
    };
    Err(RunError::Unsuitable(format!(
        "{} was not written by a verified run of Fathom with the pattern {}: its first {first} other data, and checking them would say nothing of the storage; give a target that was written so, or write this one first (--write-percent 100 --duration 0s --verify), or whole before the run with --refill",
        path.display(),
        pattern_label(workload)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use workload::VerifyPattern;

    fn refused(content: &[u8]) -> bool {
        refused_by(content, VerifyPattern::Header, 100.0)
    }

    fn refused_by(content: &[u8], pattern: VerifyPattern, reads: f64) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut workload = Workload::default();
        workload.verify.on = true;
        workload.verify.pattern = pattern;
        workload.access.read_percent = Some(units::Percent(reads));
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

    #[test]
    fn a_pattern_of_addresses_is_looked_for_as_well() {
        let theirs = vec![0x5a; 1 << 16];
        let mut ours = theirs.clone();
        let at = BlockAddress {
            file: 0,
            offset: 4096,
        };
        let random = VerifyPattern::Random;
        let seed = Workload::default().seed;
        Verifier::new(verify_pattern(random), seed, 0).fill(&mut ours[4096..8192], at, 1);
        for reads in [50.0, 100.0] {
            assert!(refused_by(&theirs, random, reads));
            assert!(
                !refused_by(&ours, random, reads),
                "one block is as it must be"
            );
            assert!(!refused_by(&[0; 8192], VerifyPattern::Zeros, reads));
        }
        assert!(!refused_by(&theirs, random, 0.0), "nothing is read");
        // What was never written is found by one that only reads.
        for pattern in [random, VerifyPattern::Header] {
            assert!(refused_by(&[0; 8192], pattern, 50.0));
            assert!(!refused_by(&[0; 8192], pattern, 100.0));
        }
    }
}
