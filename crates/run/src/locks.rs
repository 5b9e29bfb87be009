//! Open-file-description locks around each operation, so that workers exclude each other as
//! processes would.

use crate::source::Drawn;
use engine::Op;
use record::Histogram;
use std::fs::File;
use sys::Clock;
use sys::{LOCKABLE, LockKind, ofd_lock, ofd_unlock};

/// Locks of one worker, each on an open file description of its own.
pub(crate) struct Locks {
    files: Vec<File>,
    whole_file: bool,
    /// How long each lock was waited for.
    pub wait: Histogram,
    pub failed: u64,
}

impl Locks {
    #[must_use]
    pub(crate) fn new(files: Vec<File>, whole_file: bool) -> Self {
        Self {
            files,
            whole_file,
            wait: Histogram::default(),
            failed: 0,
        }
    }

    fn range(&self, drawn: &Drawn) -> (u64, u64) {
        if self.whole_file {
            (0, LOCKABLE)
        } else {
            (drawn.offset, u64::from(drawn.len))
        }
    }

    /// Waits for the lock of an operation: shared for reads, exclusive for writes, none for
    /// flushes.
    pub(crate) fn take<C: Clock>(&mut self, clock: &C, drawn: &Drawn) {
        if !drawn.op.transfers() {
            return;
        }
        let kind = if drawn.op == Op::Read {
            LockKind::Shared
        } else {
            LockKind::Exclusive
        };
        let (offset, len) = self.range(drawn);
        let before = clock.now();
        self.failed +=
            u64::from(ofd_lock(&self.files[drawn.file as usize], kind, offset, len).is_err());
        self.wait.record(clock.now().saturating_sub(before));
    }

    /// Releases the lock of an operation.
    pub(crate) fn release(&mut self, drawn: &Drawn) {
        if drawn.op.transfers() {
            let (offset, len) = self.range(drawn);
            self.failed +=
                u64::from(ofd_unlock(&self.files[drawn.file as usize], offset, len).is_err());
        }
    }
}
