//! Kinds of operations that follow each other: each is a step of its own, with a start and an end
//! that all workers share.
//!
//! A worker that has left a step waits until the last one has, also of other ranks. Nobody holds a lock: a worker that
//! ends for another reason (its time is over, something failed) ends as it always does, and so do
//! those that wait for it.

use engine::Op;
use host::Peers;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where workers wait for each other between two steps.
#[derive(Debug)]
pub(crate) struct Meeting {
    workers: u64,
    /// The other ranks, whose workers are waited for as well.
    others: Option<Arc<dyn Peers>>,
    /// Departures from steps, of all workers and steps.
    left: AtomicU64,
    /// When the last worker so far left an even and an odd step: nobody leaves the next but one
    /// before everybody has read this.
    ended: [AtomicU64; 2],
}

impl Meeting {
    pub(crate) fn new(workers: u32, others: Option<Arc<dyn Peers>>) -> Arc<Self> {
        Arc::new(Self {
            workers: workers.into(),
            others,
            left: AtomicU64::new(0),
            ended: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn leave(&self, step: u64, now: u64) {
        self.ended_at(step).fetch_max(now, Ordering::Relaxed);
        let left = self.left.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(others) = self
            .others
            .as_ref()
            .filter(|_| left == self.workers * (step + 1))
        {
            others.left(step + 1);
        }
    }

    /// When the last worker of this process left, and when the next step begins, which whoever asks at `now` does with;
    /// `None` while one is still there.
    fn end(&self, step: u64, now: u64) -> Option<(u64, u64)> {
        if self.left.load(Ordering::Acquire) < self.workers * (step + 1) {
            return None;
        }
        let ended = self.ended_at(step).load(Ordering::Relaxed);
        match &self.others {
            // Until this was heard here others had not ended.
            Some(others) => (others.left_by_all() > step).then_some((ended, now)),
            None => Some((ended, ended)),
        }
    }

    fn ended_at(&self, step: u64) -> &AtomicU64 {
        &self.ended[usize::from(step % 2 == 1)]
    }
}

/// The time of one kind of operation: its steps from the first start to the last end, and how long
/// they took together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindTime {
    pub(crate) op: Op,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) elapsed: u64,
}

/// Passes of writes that a worker has begun, and those that all workers have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WritePasses {
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

/// What a worker may do between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// The next step has begun.
    Begun(Op),
    /// Another worker has not ended its part of the last step.
    NotYet,
    /// There is no further step.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first step.
    Outside,
    Within,
    Left,
}

/// The steps of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    meeting: Arc<Meeting>,
    number: u64,
    place: Place,
    /// When the step began in which the worker is.
    began: u64,
    op: Option<Op>,
    times: Vec<KindTime>,
}

impl Steps {
    pub(crate) fn new(meeting: Arc<Meeting>) -> Self {
        Self {
            meeting,
            number: 0,
            place: Place::Outside,
            began: 0,
            op: None,
            times: Vec::with_capacity(Op::ALL.len()),
        }
    }

    /// The worker has nothing left to do in its step; `kind` gives the kind of a step by its
    /// number, until there is none.
    pub(crate) fn between(&mut self, now: u64, kind: impl Fn(u64) -> Option<Op>) -> Between {
        if self.place == Place::Within {
            self.meeting.leave(self.number, now);
            self.place = Place::Left;
        }
        let mut begins = now;
        if self.place == Place::Left {
            let Some((end, next)) = self.meeting.end(self.number, now) else {
                return Between::NotYet;
            };
            self.count(end);
            self.number += 1;
            self.place = Place::Outside;
            begins = next;
        }
        self.op = kind(self.number);
        let Some(op) = self.op else {
            return Between::Over;
        };
        (self.place, self.began) = (Place::Within, begins);
        Between::Begun(op)
    }

    /// The number of the present step, from 0.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether there is a step in which the worker has nothing left to do.
    pub(crate) fn has_left_one(&self) -> bool {
        self.number > 0 || self.place == Place::Left
    }

    /// The passes of writes, where steps are by turns of writes and of reads.
    pub(crate) fn write_passes(&self) -> WritePasses {
        let ended = self.number.div_ceil(2);
        let is_writing = self.place != Place::Outside && self.number.is_multiple_of(2);
        WritePasses {
            begun: ended + u64::from(is_writing),
            ended,
        }
    }

    /// The measured time begins at `now`: what was before is not counted.
    pub(crate) fn restart(&mut self, now: u64) {
        self.times.clear();
        self.began = self.began.max(now);
    }

    /// The times of all kinds, of a worker whose last operation ended at `ended`.
    pub(crate) fn times(&mut self, ended: u64) -> &[KindTime] {
        if self.place != Place::Outside && ended > self.began {
            self.count(ended);
        }
        self.place = Place::Outside;
        &self.times
    }

    fn count(&mut self, end: u64) {
        let Some(op) = self.op else { return };
        let elapsed = end.saturating_sub(self.began);
        match self.times.iter_mut().find(|time| time.op == op) {
            Some(time) => (time.end, time.elapsed) = (end, time.elapsed + elapsed),
            None => self.times.push(KindTime {
                op,
                start: self.began,
                end,
                elapsed,
            }),
        }
    }
}

/// What several workers together took for each kind: their steps began and ended together, so the
/// longest counts.
pub(crate) fn together<'a>(parts: impl Iterator<Item = &'a KindTime>) -> Vec<KindTime> {
    let mut out: Vec<KindTime> = Vec::new();
    for part in parts {
        match out.iter_mut().find(|time| time.op == part.op) {
            Some(time) => {
                time.start = time.start.min(part.start);
                time.end = time.end.max(part.end);
                time.elapsed = time.elapsed.max(part.elapsed);
            }
            None => out.push(*part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Ranks;

    fn kinds(step: u64) -> Option<Op> {
        [Op::Create, Op::Stat, Op::Create]
            .get(usize::try_from(step).unwrap())
            .copied()
    }

    #[test]
    fn a_step_begins_when_other_ranks_have_left_the_last_and_waiting_for_them_is_of_no_kind() {
        let ranks = Arc::new(Ranks::default());
        let meeting = Meeting::new(2, Some(Arc::clone(&ranks) as Arc<dyn Peers>));
        let [mut fast, mut slow] = [Steps::new(Arc::clone(&meeting)), Steps::new(meeting)];
        fast.between(10, kinds);
        slow.between(11, kinds);
        assert_eq!(fast.between(100, kinds), Between::NotYet);
        assert_eq!(ranks.left.load(Ordering::Relaxed), 0);
        assert_eq!(slow.between(200, kinds), Between::NotYet);
        assert_eq!(ranks.left.load(Ordering::Relaxed), 1);
        ranks.left_by_all.store(1, Ordering::Relaxed);
        assert_eq!(fast.between(500, kinds), Between::Begun(Op::Stat));
        assert_eq!(slow.between(501, kinds), Between::Begun(Op::Stat));
        let times = [fast.times(600).to_vec(), slow.times(610).to_vec()];
        let time = |op, start, end, elapsed| KindTime {
            op,
            start,
            end,
            elapsed,
        };
        assert_eq!(
            together(times.iter().flatten()),
            [
                time(Op::Create, 10, 200, 190),
                time(Op::Stat, 500, 610, 109)
            ]
        );
    }

    #[test]
    fn nobody_begins_a_step_before_everybody_has_left_the_last() {
        let meeting = Meeting::new(2, None);
        let [mut fast, mut slow] = [Steps::new(Arc::clone(&meeting)), Steps::new(meeting)];
        assert_eq!(
            [fast.between(10, kinds), slow.between(11, kinds)],
            [Between::Begun(Op::Create); 2]
        );
        assert_eq!(
            [fast.between(100, kinds), fast.between(150, kinds)],
            [Between::NotYet; 2]
        );
        assert_eq!(slow.between(200, kinds), Between::Begun(Op::Stat));
        assert_eq!(
            slow.between(210, kinds),
            Between::NotYet,
            "the fast one sleeps"
        );
        assert_eq!(fast.between(220, kinds), Between::Begun(Op::Stat));
        assert_eq!(fast.between(230, kinds), Between::Begun(Op::Create));
        assert_eq!(fast.between(231, kinds), Between::NotYet);
        assert_eq!(
            [slow.between(260, kinds), slow.between(270, kinds)],
            [Between::Begun(Op::Create), Between::Over]
        );
        assert_eq!(fast.between(280, kinds), Between::Over);
        let times = |op, start, end, elapsed| KindTime {
            op,
            start,
            end,
            elapsed,
        };
        let fast = fast.times(231).to_vec();
        assert_eq!(
            fast,
            [
                times(Op::Create, 10, 270, 190 + 40),
                times(Op::Stat, 200, 230, 30)
            ]
        );
        let slow = slow.times(270).to_vec();
        assert_eq!(
            slow,
            [
                times(Op::Create, 11, 270, 189 + 40),
                times(Op::Stat, 200, 230, 30)
            ]
        );
        assert_eq!(together(fast.iter().chain(&slow)), fast);
    }

    #[test]
    fn a_worker_that_is_stopped_within_a_step_counts_until_its_last_operation() {
        let mut steps = Steps::new(Meeting::new(1, None));
        assert_eq!(steps.between(5, kinds), Between::Begun(Op::Create));
        assert_eq!(steps.between(20, kinds), Between::Begun(Op::Stat));
        assert_eq!(
            steps
                .times(26)
                .iter()
                .map(|time| (time.op, time.elapsed))
                .collect::<Vec<_>>(),
            [(Op::Create, 15), (Op::Stat, 6)]
        );
    }

    #[test]
    fn what_the_warm_up_used_is_not_counted() {
        let mut steps = Steps::new(Meeting::new(1, None));
        steps.between(5, kinds);
        steps.between(20, kinds);
        steps.restart(30);
        steps.between(50, kinds);
        assert_eq!(
            steps.times(50),
            [KindTime {
                op: Op::Stat,
                start: 30,
                end: 50,
                elapsed: 20
            }]
        );
    }
}
