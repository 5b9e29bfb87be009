//! What a worker counts beside its operations: failures, batches, time in flight.

use crate::steps::{KindTime, WritePasses};
use crate::verify::{FailureLog, Mismatch};
use engine::Op;
use record::{LoopAccount, WorkerSchedule};
use std::collections::BTreeMap;
use sys::Usage;

/// How long a worker waits for operations in flight once it was told to halt.
const PATIENCE_NS: u64 = 5_000_000_000;

/// One failed operation: `result` is a negative errno or the bytes of a short transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub op: Op,
    pub file: u32,
    pub offset: u64,
    pub len: u32,
    pub result: i64,
}

/// Failures of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailureCount {
    pub first: Failure,
    pub count: u64,
}

/// Counts of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub started: u64,
    pub ended: u64,
    pub unsent: u64,
    pub abandoned: u64,
    /// Nothing of the measured time fell to this worker: it had nothing to begin there.
    pub is_idle: bool,
    pub verification: FailureLog,
    /// The time of each kind of operation where kinds follow each other.
    pub kind_times: Vec<KindTime>,
    pub write_passes: WritePasses,
    /// Since when its schedule counted, and how it was followed.
    pub schedule: Option<(u64, WorkerSchedule)>,
    /// Since when its schedule has had nothing for it, between two kinds of operations or after the last.
    left_schedule_at: Option<u64>,
    /// The last time in which it had nothing, from and to.
    away: Option<(u64, u64)>,
    /// How long it had nothing before the first and between kinds.
    unscheduled_ns: u64,
    /// What the worker's thread used in its measured time, once that is over.
    pub usage: Usage,
    usage_before: Usage,
    in_flight_ns: u128,
    submissions: u64,
    submitted: u64,
    reaps: u64,
    reaps_to_empty: u64,
    /// By operation and errno (0: short transfer).
    failures: BTreeMap<(Op, i64), FailureCount>,
    failed: u64,
}

impl Tally {
    /// The first of the first kind of operations is due.
    pub(crate) fn begin_schedule(&mut self, now: u64) {
        self.unscheduled_ns += now.saturating_sub(self.started);
    }

    /// The schedule has nothing more of the present kind of operations.
    pub(crate) fn leave_schedule(&mut self, now: u64) {
        // One that has nothing to do when it returns has been away until now.
        let is_still_away = |away: &(u64, u64)| away.1 == now;
        if let Some((left, returned)) = self.away.take_if(|away| is_still_away(away)) {
            self.unscheduled_ns -= returned - left;
            self.left_schedule_at = Some(left);
        }
        self.left_schedule_at.get_or_insert(now);
    }

    /// The first of another kind is due then, or the present one goes on; how long there was nothing.
    pub(crate) fn return_to_schedule(&mut self, due: u64) -> u64 {
        let left = self.left_schedule_at.take();
        self.away = left.map(|left| (left, due.max(left)));
        let away_ns = self.away.map_or(0, |(left, returned)| returned - left);
        self.unscheduled_ns += away_ns;
        away_ns
    }

    /// Until when of the time up to `end` something was due.
    pub(crate) fn scheduled_until(&self, end: u64) -> u64 {
        self.left_schedule_at.map_or(end, |left| left.min(end))
    }

    /// For how much of the time up to `end` its schedule had nothing for it.
    pub(crate) fn unscheduled_until(&self, end: u64) -> u64 {
        let last = self.left_schedule_at;
        self.unscheduled_ns + last.map_or(0, |left| end.saturating_sub(left))
    }

    /// The worker begins.
    pub(crate) fn start(&mut self, now: u64) {
        self.started = now;
        self.ended = now;
        self.usage_before = sys::usage_of_thread();
    }

    /// The worker ends.
    pub(crate) fn end_usage(&mut self) {
        self.usage = sys::usage_of_thread().since(&self.usage_before);
    }

    /// The measured time begins; what was counted was warm-up.
    pub(crate) fn restart(&mut self, now: u64) {
        *self = Self {
            verification: std::mem::take(&mut self.verification),
            failures: std::mem::take(&mut self.failures),
            failed: self.failed,
            ..Self::default()
        };
        self.start(now);
    }

    #[inline]
    pub(crate) fn submitted(&mut self, requests: usize) {
        self.submissions += 1;
        self.submitted += requests as u64;
    }

    /// From `before` to `now` there were `in_flight` operations.
    #[inline]
    pub(crate) fn in_flight(&mut self, before: u64, now: u64, in_flight: usize) {
        self.in_flight_ns += u128::from(now - before) * in_flight as u128;
    }

    /// What was in flight so long is another rank's to count.
    #[cold]
    pub(crate) fn left_to_another(&mut self, in_flight_ns: u64) {
        self.in_flight_ns = self.in_flight_ns.saturating_sub(in_flight_ns.into());
    }

    /// From `begun` to `now` there was always one operation in flight, `operations` in all.
    pub(crate) fn sprinted(&mut self, begun: u64, now: u64, operations: u64) {
        self.in_flight(begun, now, 1);
        self.submissions += operations;
        self.submitted += operations;
        self.reaps += operations;
        self.reaps_to_empty += operations;
        self.ended = now;
    }

    /// Of `in_flight` operations `done` ended at `now`.
    #[inline]
    pub(crate) fn reaped(&mut self, now: u64, in_flight: usize, done: usize) {
        if done > 0 {
            self.reaps += 1;
            self.reaps_to_empty += u64::from(done == in_flight);
            self.ended = now;
        }
    }

    /// Whether any operation was begun, or ended, since the worker began or its measured time did.
    #[must_use]
    pub(crate) fn has_worked(&self) -> bool {
        self.submitted > 0 || self.reaps > 0
    }

    /// Whether a halted worker has waited long enough for what is in flight.
    #[must_use]
    pub(crate) fn patience_is_over(&self, now: u64) -> bool {
        now.saturating_sub(self.ended) > PATIENCE_NS
    }

    #[inline]
    pub(crate) fn verified(&mut self, outcome: &Result<(), Mismatch>) {
        self.verification.note(outcome);
    }

    pub(crate) fn failed(&mut self, failure: Failure) {
        self.failed += 1;
        let errno = if failure.result < 0 {
            -failure.result
        } else {
            0
        };
        self.failures
            .entry((failure.op, errno))
            .or_insert(FailureCount {
                first: failure,
                count: 0,
            })
            .count += 1;
    }

    /// Failed operations so far.
    #[must_use]
    pub(crate) fn failures(&self) -> u64 {
        self.failed
    }

    /// Failures by operation and error.
    pub(crate) fn failure_counts(&self) -> impl Iterator<Item = &FailureCount> {
        self.failures.values()
    }

    /// Adds this worker's account of itself.
    pub(crate) fn add_to(&self, account: &mut LoopAccount) {
        account.in_flight_ns += self.in_flight_ns;
        account.worker_ns += u128::from(self.ended.saturating_sub(self.started));
        account.submissions += self.submissions;
        account.submitted += self.submitted;
        account.reaps += self.reaps;
        account.reaps_to_empty += self.reaps_to_empty;
        account.abandoned += self.abandoned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_no_schedule_from_its_last_operation_of_a_kind_to_its_first_of_the_next() {
        let mut tally = Tally::default();
        assert_eq!(tally.unscheduled_until(1000), 0);
        tally.start(7);
        tally.begin_schedule(9);
        // Asked again and again whether the others have left it, too.
        for now in [100, 120, 140] {
            tally.leave_schedule(now);
        }
        assert_eq!(tally.return_to_schedule(155), 55);
        assert_eq!(tally.scheduled_until(310), 310);
        tally.leave_schedule(300);
        assert_eq!(tally.scheduled_until(310), 300);
        assert_eq!(tally.unscheduled_until(310), 2 + 55 + 10);
        assert_eq!(tally.unscheduled_until(290), 2 + 55);
        // What it returns to is nothing, after its last operation as well.
        assert_eq!(tally.return_to_schedule(400), 100);
        assert_eq!(tally.unscheduled_until(290), 2 + 55 + 100);
        tally.leave_schedule(400);
        assert_eq!(tally.unscheduled_until(290), 2 + 55);
        assert_eq!(tally.unscheduled_until(500), 2 + 55 + 200);
        tally.restart(305);
        assert_eq!(tally.unscheduled_until(400), 0);
    }
}
