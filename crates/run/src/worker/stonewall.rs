//! The stonewall in the loop: outside of the turns that it takes at it, nothing of it is asked.

use super::{Loop, LoopStage, MEETING_LOOK_NS};
use crate::stonewall::Reached;
use engine::Engine;
use std::sync::atomic::Ordering::Relaxed;
use sys::Clock;

impl<E: Engine, C: Clock> Loop<'_, '_, E, C> {
    /// The time that was given is over, or somebody ended the run.
    #[cold]
    pub(super) fn end_of_time(&mut self) {
        if self.plan.halt.load(Relaxed) {
            // Nothing more is due, however long takes what is in flight.
            self.plan.stop.ends = self.plan.stop.ends.min(self.now);
            return self.finish();
        }
        if let Some(stonewall) = self.stonewall.take() {
            let reached = self.reached();
            stonewall.stop(reached, self.now);
            let Some(until) = self.plan.wears_out_until else {
                return self.end_work();
            };
            self.wears_out = Some((stonewall, reached.begun));
            self.plan.pace.owe_until(self.plan.stop.ends);
            self.plan.stop.ends = until;
            self.stage = LoopStage::Waiting;
            // What it still has to do is counted, which the direct path does not.
            self.direct_path = false;
            return;
        }
        if let Some((stonewall, _)) = self.wears_out.take() {
            stonewall.cut();
        }
        self.end_work();
    }

    /// Goes on when everybody has reported; else returns how long to wait.
    #[cold]
    pub(super) fn meet(&mut self) -> Option<u64> {
        if self.plan.halt.load(Relaxed) || self.now >= self.plan.stop.ends {
            self.stage = LoopStage::Running;
            self.end_of_time();
            return None;
        }
        let (stonewall, begun) = self.wears_out?;
        // Until an operation of its own had ended it waited for nobody else.
        self.tally.leave_schedule(self.now);
        let Some(most) = stonewall.most() else {
            return Some(MEETING_LOOK_NS);
        };
        self.stage = LoopStage::Running;
        // What is due from now on did not wait for the reports of others.
        let away_ns = self.tally.return_to_schedule(self.now);
        self.plan.pace.postpone(away_ns);
        self.may_begin(most.saturating_sub(begun));
        None
    }

    /// Of its present work, so many operations more.
    fn may_begin(&mut self, operations: u64) {
        if self.plan.source.is_scripted() {
            self.plan.source.cut(operations);
        } else {
            let unit = u64::from(self.plan.content.unit_bytes());
            self.bytes_left = self.bytes_left.min(operations.saturating_mul(unit));
        }
    }

    /// The work of this worker ends here; what follows takes what it reached.
    fn end_work(&mut self) {
        self.stage = LoopStage::Running;
        if self.plan.source.is_scripted() {
            // What follows has no end by time, and what was due by now is owed as if this had been the end.
            self.plan.pace.owe_until(self.plan.stop.ends);
            self.plan.source.cut(0);
            self.plan.stop.ends = u64::MAX;
        } else {
            self.finish();
        }
    }

    /// Says what the worker has done if it has not yet: it ends before the time comes. One that has worn out owes no
    /// more, while others go on.
    pub(super) fn report_once(&mut self) {
        if self.wears_out.is_some() {
            self.tally.leave_schedule(self.now);
        }
        if let Some(stonewall) = self.stonewall.take() {
            stonewall.report(self.reached());
        }
    }

    /// The first of several steps is over, and what follows has no end by time.
    pub(super) fn disarm(&mut self) {
        if self.plan.stonewall.is_some() && self.plan.source.is_scripted() {
            self.report_once();
            self.wears_out = None;
            self.plan.stop.ends = u64::MAX;
        }
    }

    fn reached(&self) -> Reached {
        let begun_only = self.slots.len() - self.idle.len();
        Reached::of(&self.plan.measured.snapshot(), begun_only)
    }

    /// Nothing is in flight while others are still to report. Virtual time stands still meanwhile.
    pub(super) fn rest(&self, wait_ns: u64) {
        if self.clock.is_virtual() {
            std::thread::yield_now();
        } else {
            self.clock.sleep_until(self.now + wait_ns);
        }
    }
}
