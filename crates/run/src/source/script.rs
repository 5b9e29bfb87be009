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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Meeting;

    /// One of so many workers, with ten files from 100 on and a directory.
    fn script(meeting: Arc<Meeting>) -> Script {
        let kinds = vec![
            (Op::Create, 100..110),
            (Op::Stat, 100..110),
            (Op::Readdir, 110..111),
            (Op::Unlink, 100..110),
        ];
        Script::new(kinds, Bytes(16), None, Steps::new(meeting))
    }

    /// Operations and paths of what is left, a step after the other.
    fn rest(script: &mut Script) -> Vec<(Op, Vec<u32>)> {
        let mut steps = Vec::new();
        for now in 0..100 {
            let drawn = std::iter::from_fn(|| script.next());
            let files: Vec<u32> = drawn.map(|drawn| drawn.file).collect();
            if let Some((op, _)) = &script.now {
                steps.push((*op, files));
            }
            if script.between(now) == Between::Over {
                return steps;
            }
        }
        panic!("no end of {steps:?}");
    }

    #[test]
    fn a_stonewall_before_the_first_step_ends_it_all_the_same() {
        for further in [0, 2] {
            let mut script = script(Meeting::new(1, None));
            script.cut(u64::from(further));
            let reached: Vec<u32> = (100..100 + further).collect();
            assert_eq!(
                rest(&mut script),
                [
                    (Op::Create, reached.clone()),
                    (Op::Stat, reached.clone()),
                    (Op::Readdir, vec![110]),
                    (Op::Unlink, reached)
                ]
            );
        }
    }

    #[test]
    fn what_follows_a_step_that_was_cut_takes_the_files_that_it_reached() {
        let mut script = script(Meeting::new(1, None));
        assert_eq!(script.between(0), Between::Begun(Op::Create));
        for _ in 0..3 {
            script.next().expect("there are ten");
        }
        script.cut(1);
        let reached = vec![100, 101, 102, 103];
        assert_eq!(
            rest(&mut script),
            [
                (Op::Create, vec![103]),
                (Op::Stat, reached.clone()),
                (Op::Readdir, vec![110]),
                (Op::Unlink, reached)
            ]
        );
    }

    #[test]
    fn a_stonewall_after_the_first_step_takes_nothing_from_what_follows() {
        let meeting = Meeting::new(2, None);
        let mut first = script(Arc::clone(&meeting));
        let mut last = script(meeting);
        for script in [&mut first, &mut last] {
            script.between(0);
            while script.next().is_some() {}
        }
        assert_eq!(first.between(1), Between::NotYet, "the other is at work");
        first.cut(0);
        last.between(2);
        assert_eq!(first.between(3), Between::Begun(Op::Stat));
        assert_eq!(std::iter::from_fn(|| first.next()).count(), 10);
    }
}
