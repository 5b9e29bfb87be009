//! The arrivals of a thread: when they are given out, and when no other will be.

use super::timer::Timer;
use super::{LOOK_NS, Running};
use crate::ramp::Schedule;
use crate::scenario::Arrivals;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use sys::Clock as _;

impl Running {
    /// Whether an open loop has not given out all that was due.
    pub(super) fn has_arrivals(&self) -> bool {
        matches!(self.shared.scenario.arrivals, Arrivals::Open { .. }) && !self.schedule_over.get()
    }

    /// Gives out arrivals as they become due; a timer of the kernel, since the runtime's own have
    /// milliseconds.
    pub(super) async fn dispatch(self: Rc<Self>, mut schedule: Schedule) {
        let timer = Timer::new();
        while let Some(due) = schedule.next() {
            let due = self.shared.start + due;
            self.until_due(due, &timer).await;
            if !self.shared.may_begin(due) {
                self.asked.refused(&self.shared, due);
                break;
            }
            self.handoff.give(due);
        }
        let total = self.shared.start + self.shared.total_ns();
        // What became due last may still find a free connection.
        loop {
            let now = self.clock.now();
            let turns_over = self.shared.turns_over.unwrap_or(now).min(total);
            let is_used_up = self.shared.has_no_turn_left() && self.handoff.is_empty();
            let end = if is_used_up { turns_over } else { total };
            if self.shared.stop.load(Relaxed) || now >= end {
                break;
            }
            tokio::time::sleep(Duration::from_nanos((end - now).min(LOOK_NS))).await;
        }
        self.close();
        self.schedule_over.set(true);
        self.ended.notify_one();
    }

    /// Waits until an arrival is due, or there is no turn left for it.
    async fn until_due(&self, due: u64, timer: &std::io::Result<Timer>) {
        while !self.shared.has_no_turn_left() {
            let left = due.saturating_sub(self.clock.now()).min(LOOK_NS);
            if left == 0 {
                return;
            }
            match timer {
                Ok(timer) => timer.wait(left).await,
                Err(_) => tokio::time::sleep(Duration::from_nanos(left)).await,
            }
        }
    }

    /// What was due and has not begun never will.
    pub(super) fn close(&self) {
        let now = self.clock.now();
        let due = self
            .handoff
            .close()
            .into_iter()
            .filter(|due| *due >= self.shared.measured_from);
        self.unsent
            .borrow_mut()
            .extend(due.map(|due| now.saturating_sub(due)));
    }
}
