//! What of files lies behind the last whole block, where a workload says that it uses them whole.

use super::ReadyFile;
use units::Bytes;
use workload::{FileSharing, Workload};

/// Workers that take blocks by turns, and those that take each block once, leave the tails of files
/// that are no whole number of blocks.
pub(super) fn notices(workload: &Workload, files: &[ReadyFile]) -> Option<String> {
    let by_turns = workload.files.sharing == FileSharing::Interleaved;
    let goes_to_the_end = workload.runs_to_completion() && workload.stop.total_bytes.is_none();
    if !by_turns && !goes_to_the_end {
        return None;
    }
    let lengths = files.iter().map(|file| file.bytes);
    said(
        lengths,
        workload.files.offset.0,
        workload.blocks.smallest().0,
    )
}

fn said(lengths: impl Iterator<Item = u64>, offset: u64, block: u64) -> Option<String> {
    let tails = lengths.map(|bytes| bytes.saturating_sub(offset) % block);
    let (count, left) = tails
        .filter(|tail| *tail > 0)
        .fold((0_u64, 0_u64), |(count, left), tail| {
            (count + 1, left.saturating_add(tail))
        });
    let of = match count {
        0 => return None,
        1 => "the last bytes of a file are".to_owned(),
        count => format!("the last bytes of {count} files are"),
    };
    Some(format!(
        "{of} less than a block of {} and are not used: {}; give a --file-size that is a multiple of --block-size",
        Bytes(block),
        Bytes(left)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_than_a_block_is_said_and_whole_files_say_nothing() {
        assert_eq!(said([4096, 8192].into_iter(), 0, 4096), None);
        assert_eq!(said([4096 + 100].into_iter(), 100, 4096), None);
        let one = said([1 << 20].into_iter(), 0, 47_008).unwrap();
        assert!(one.contains("a file are less than a block"), "{one}");
        assert!(
            one.contains(&Bytes((1 << 20) % 47_008).to_string()),
            "{one}"
        );
        let two = said([4097, 4098, 4096].into_iter(), 0, 4096).unwrap();
        assert!(two.contains("of 2 files") && two.contains("3 B"), "{two}");
    }
}
