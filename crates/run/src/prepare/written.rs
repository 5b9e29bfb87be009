//! What of a file is written, before a run and by it.

use crate::safety::HeldRange;
use crate::steps::WritePasses;
use crate::verify::{HEADER_UNIT, Tearing};
use serde::{Deserialize, Serialize};
use workload::Workload;

/// What of a file somebody fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillPart {
    /// Whether all of the file is filled, by whomever.
    pub(crate) is_whole: bool,
    /// Of the parts that several ranks fill: data that means nothing differs.
    pub(crate) number: u32,
}

/// As many bytes of a file as are whole units of a pattern: no part of one is shorter, but for the end
/// of a file.
pub(super) fn whole_units(bytes: u64) -> u64 {
    bytes / HEADER_UNIT as u64 * HEADER_UNIT as u64
}

/// What has been filled of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilledRange {
    /// All in it, as one write.
    Whole(HeldRange),
    /// What lacked, and all in the part that it has more than before.
    Lacking(Option<HeldRange>),
}

/// What is known of a run's writes when it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunWrites {
    /// Whether every block was written, by each of the passes that have ended.
    pub(crate) completed: bool,
    pub(crate) passes: WritePasses,
    /// Whether a block may be what a failed write has left.
    pub(crate) tearing: Tearing,
}

/// What a run wrote to a file.
pub(crate) struct WrittenFile {
    /// Whether each write of a block had a generation of its own.
    pub(crate) numbers: bool,
    /// Where every block was written, by each of the passes that have ended; `None`: it is not known
    /// which were.
    pub(crate) all_of: Option<HeldRange>,
    pub(crate) passes: WritePasses,
    pub(crate) tearing: Tearing,
    /// How long it is now.
    pub(crate) file_bytes: u64,
}

/// The blocks that a workload uses in so many bytes of a file.
pub(crate) fn used_blocks(workload: &Workload, bytes: u64, file_bytes: u64) -> HeldRange {
    let (offset, block) = (workload.files.offset.0, workload.blocks.smallest().0);
    HeldRange::of_blocks(offset, block, bytes, file_bytes)
}
