//! Kinds of operations on names, one after the other.

use super::Drawn;
use crate::steps::{Between, Steps};
use engine::Op;
use std::ops::Range;

/// Metadata operations one after the other, each on all of its paths.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Kind of operation, and the indexes of its paths.
    pub(super) kinds: Vec<(Op, Range<u32>)>,
    /// What is left of the present step.
    pub(super) now: Option<(Op, Range<u32>)>,
    /// Bytes that a file is created with.
    pub(super) payload: u32,
    pub(super) steps: Steps,
}

impl Script {
    pub(super) fn cut(&mut self, further: u64) {
        let Some((_, left)) = &mut self.now else {
            return;
        };
        let further = u32::try_from(further).unwrap_or(u32::MAX);
        left.end = left.end.min(left.start.saturating_add(further));
        let reached = left.end;
        let of_files = self.kinds.iter_mut();
        for (_, paths) in of_files.filter(|(op, _)| *op != Op::Readdir) {
            paths.end = paths.end.min(reached);
        }
    }

    pub(super) fn next(&mut self) -> Option<Drawn> {
        let (op, paths) = self.now.as_mut()?;
        paths.next().map(|file| Drawn {
            op: *op,
            file,
            offset: 0,
            len: match *op {
                Op::Create | Op::Read => self.payload,
                Op::Write
                | Op::Fsync
                | Op::Fdatasync
                | Op::Stat
                | Op::Open
                | Op::Readdir
                | Op::Rename
                | Op::Unlink => 0,
            },
        })
    }

    pub(super) fn between(&mut self, now: u64) -> Between {
        let kinds = &self.kinds;
        let of = |step: u64| kinds.get(units::lossless::to_usize(step));
        let between = self.steps.between(now, |step| of(step).map(|(op, _)| *op));
        self.now = if matches!(between, Between::Begun(_)) {
            of(self.steps.number()).cloned()
        } else {
            None
        };
        between
    }
}
