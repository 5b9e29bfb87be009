//! Whether slots have room on the disk.

use super::PlanExperiment;
use units::Bytes;

/// A file system with less room than this is full for whoever failed in it.
const FULL_BYTES: u64 = 64 << 10;

impl PlanExperiment {
    /// What is said where slots would leave less space than is to be kept free.
    pub(crate) fn lacks_space(&self) -> Option<String> {
        let keep_free = self.file.keep_free_bytes;
        let mut above = self.scratch.ancestors();
        let at = above.find(|at| at.is_dir())?;
        let free = sys::free_bytes(at).ok().flatten()?;
        (free < keep_free).then(|| {
            format!(
                "{} are free in {}, and keep-free is {}",
                Bytes(free),
                at.display(),
                Bytes(keep_free)
            )
        })
    }

    /// What is said where nothing more could be written in a slot: its programs may have had no room
    /// to say so themselves.
    pub(crate) fn is_full(&self) -> Option<String> {
        let free = sys::free_bytes(&self.scratch).ok().flatten()?;
        (free < FULL_BYTES)
            .then(|| format!("{} are free in {}", Bytes(free), self.scratch.display()))
    }
}
