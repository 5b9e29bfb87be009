//! Kinds of operations on names, one after the other.

use super::Drawn;
use crate::steps::{Between, Steps};
use engine::{Op, Walk, WalkStage};
use std::ops::Range;
use std::sync::Arc;
use units::Bytes;

/// Metadata operations one after the other, each on all of its paths.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Kind of operation, and the indexes of its paths.
    kinds: Vec<(Op, Range<u32>)>,
    /// What is left of the present step.
    now: Option<(Op, Range<u32>)>,
    /// Bytes that a file is created with, and those that are read of it.
    payload: u32,
    walk: Option<Arc<Walk>>,
    steps: Steps,
}

impl Script {
    /// Each kind on each path of its range, in a step of its own; of a walk, a directory after the
    /// other until nobody finds one any more.
    pub(crate) fn new(
        kinds: Vec<(Op, Range<u32>)>,
        payload: Bytes,
        walk: Option<Arc<Walk>>,
        steps: Steps,
    ) -> Self {
        Self {
            kinds,
            now: None,
            payload: u32::try_from(payload.0).unwrap_or(u32::MAX),
            walk,
            steps,
        }
    }

    /// Where a worker is among its steps.
    pub(super) fn steps(&self) -> &Steps {
        &self.steps
    }

    pub(super) fn steps_mut(&mut self) -> &mut Steps {
        &mut self.steps
    }

    pub(super) fn cut(&mut self, further: u64) {
        let further = u32::try_from(further).unwrap_or(u32::MAX);
        let Some((op, left)) = &mut self.now else {
            return self.cut_before_the_first(further);
        };
        if *op == Op::Walk {
            self.now = None;
            return;
        }
        left.end = left.end.min(left.start.saturating_add(further));
        let reached = left.end;
        let of_files = self.kinds.iter_mut();
        for (_, paths) in of_files.filter(|(op, _)| *op != Op::Readdir) {
            paths.end = paths.end.min(reached);
        }
    }

    /// The time came before the first step began: a worker can be late by more than the stonewall.
    fn cut_before_the_first(&mut self, further: u32) {
        if self.steps.has_left_one() {
            return;
        }
        let of_files = self.kinds.iter_mut();
        for (_, paths) in of_files.filter(|(op, _)| *op != Op::Readdir) {
            paths.end = paths.end.min(paths.start.saturating_add(further));
        }
    }

    pub(super) fn next(&mut self) -> Option<Drawn> {
        let (op, paths) = self.now.as_mut()?;
        let file = if *op == Op::Walk {
            let taken = self.walk.as_ref()?.take() == WalkStage::Taken;
            taken.then_some(0)
        } else {
            paths.next()
        };
        let len = match *op {
            Op::Create | Op::Read => self.payload,
            Op::Write
            | Op::Fsync
            | Op::Fdatasync
            | Op::Stat
            | Op::Open
            | Op::Readdir
            | Op::Rename
            | Op::Unlink
            | Op::Walk => 0,
        };
        file.map(|file| Drawn {
            op: *op,
            file,
            offset: 0,
            len,
        })
    }

    /// Whether others of a walk still read, and may find more.
    fn awaits_more(&self) -> bool {
        let is_walking = matches!(self.now, Some((Op::Walk, _)));
        is_walking && self.walk.as_ref().is_some_and(|walk| !walk.is_over())
    }

    pub(super) fn between(&mut self, now: u64) -> Between {
        if self.awaits_more() {
            return Between::NotYet;
        }
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
