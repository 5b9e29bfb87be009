//! Where a worker's loop begins, and what it tells of itself when it has ended.

use super::Loop;
use engine::Engine;
use record::{ScheduleEnd, WorkerSchedule};
use sys::Clock;

/// Operations that were due and never started are counted so far.
const MOST_UNSENT: u64 = 1 << 24;

impl<E: Engine, C: Clock> Loop<'_, '_, E, C> {
    #[cold]
    pub(super) fn begin_of_loop(&mut self) {
        let now = self.clock.now();
        self.now = now;
        if self.plan.stop.warmup_ends > now {
            self.counters = self.plan.warmup;
        } else {
            self.plan.pace.count_from(self.plan.stop.warmup_ends);
        }
        if let Some(tick) = &self.plan.tick {
            self.next_tick = now + tick.every_ns;
        }
        self.tally.start(now);
    }

    /// The warm-up is over. What is asked of the kernel here takes a little of the measured time and none of
    /// its first operation's.
    #[cold]
    pub(super) fn begin_measured_time(&mut self) {
        if let Some(wait) = &mut self.plan.run_queue_wait {
            wait.begin_anew(self.now);
        }
        self.counters = self.plan.measured;
        self.tally.restart(self.now);
        self.plan.pace.count_from(self.plan.stop.warmup_ends);
        self.plan.source.restart(self.now);
        self.bytes_left = if self.bytes_left == u64::MAX {
            u64::MAX
        } else {
            self.bytes_left.saturating_sub(self.bytes_begun())
        };
        self.pass_time();
    }

    /// A step has begun: nothing was due while this worker waited for it.
    pub(super) fn begin_to_pace(&mut self, is_first: bool) {
        if is_first {
            self.tally.begin_schedule(self.now);
        } else {
            self.pass_time();
            let first_due = self.plan.pace.start_again(self.now);
            self.tally.return_to_schedule(first_due);
        }
    }

    /// A step is over for this worker.
    pub(super) fn leave_step(&mut self) {
        self.disarm();
        self.tally.leave_schedule(self.now);
        self.plan.pace.leave();
    }

    #[cold]
    pub(super) fn end_of_loop(&mut self) {
        if let Some(wait) = &mut self.plan.run_queue_wait {
            wait.end(self.clock);
        }
        self.tally.end_usage();
        let in_flight = self.in_flight();
        self.tally.abandoned = in_flight as u64;
        self.tally.is_idle = self.complete && in_flight == 0 && !self.has_measured();
        if self.now >= self.plan.stop.ends {
            self.tally.ended = self.tally.ended.max(self.plan.stop.ends);
        }
        let end = self.plan.stop.ends.min(self.now);
        if !self.complete && in_flight == 0 {
            // Told to stop while nothing was due: the pause belongs to the measured time.
            self.tally.ended = self.tally.ended.max(end);
        }
        self.tally.write_passes = self.plan.source.write_passes();
        self.tally.kind_times = self.plan.source.kind_times(self.tally.ended);
        let due_until = self.tally.scheduled_until(end);
        // The last may be in flight, so that nobody has asked for another.
        let all_begun = self.complete || self.bytes_left == 0;
        if all_begun {
            self.plan.pace.leave();
        } else {
            let unit = u64::from(self.plan.content.unit_bytes());
            let most = match self.bytes_left {
                u64::MAX => MOST_UNSENT,
                left => left.div_ceil(unit.max(1)).min(MOST_UNSENT),
            };
            self.tally.unsent = self.plan.pace.unsent(due_until, unit, most);
        }
        self.tally.schedule = self.schedule(due_until, all_begun);
    }

    /// How the schedule was followed until then.
    fn schedule(&self, due_until: u64, all_begun: bool) -> Option<(u64, WorkerSchedule)> {
        let (since, mut followed) = self.plan.pace.followed(due_until)?;
        if all_begun {
            followed.end = ScheduleEnd::Done;
        }
        Some((since, followed))
    }

    /// Whether it did anything in the measured time: what had ended in the warm-up belongs to that.
    fn has_measured(&self) -> bool {
        std::ptr::eq(self.counters, self.plan.measured) && self.tally.has_worked()
    }
}
