//! The arrivals of a thread: when they are given out, and when no other will be.

use super::timer::Timer;
use super::{LOOK_NS, Running, Shared};
use crate::ramp::{Schedule, Spacing};
use crate::scenario::Arrivals;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use sys::Clock as _;

/// How far before the edge of the measured time rounding may put an arrival that falls on it.
const ROUNDED_NS: u64 = 10;

/// When an arrival is due: of ranks that divide the turns, each must know the first that is measured.
pub(crate) fn rounded(due: u64, measured_from: u64) -> u64 {
    if measured_from.saturating_sub(due) < ROUNDED_NS {
        due.max(measured_from)
    } else {
        due
    }
}

impl Shared {
    /// When arrivals that were counted out are over where all of them have begun: evenly spaced ones when the next of
    /// all would be due, those by chance with their last answer. `None` where none are counted out, or turns are left.
    pub(crate) fn arrivals_over(&self) -> Option<u64> {
        let Arrivals::Open { rate, spacing, .. } = &self.scenario.arrivals else {
            return None;
        };
        let total = self.start + self.total_ns();
        // The course may end where the next would be due; where its rate sinks to nothing, none would ever be.
        let ends_at_a_rate = rate.legs.last().map_or(rate.start, |leg| leg.to) > 0.0;
        let over = match spacing {
            Spacing::Constant if ends_at_a_rate => self.turns_over.unwrap_or(total).min(total),
            Spacing::Constant => self.turns_over.unwrap_or(0).min(total),
            Spacing::Poisson => 0,
        };
        self.has_no_turn_left().then_some(over)
    }
}

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
            let due = rounded(self.shared.start + due, self.shared.measured_from);
            self.until_due(due, &timer).await;
            if !self.shared.may_begin(due) {
                self.asked.refused(&self.shared, due);
                break;
            }
            self.handoff.give(due);
        }
        // Whoever was woken for the last takes it first.
        tokio::task::yield_now().await;
        let total = self.shared.start + self.shared.total_ns();
        // What became due last may still find a free connection.
        loop {
            let over = self.shared.arrivals_over();
            let end = over.filter(|_| self.handoff.is_empty()).unwrap_or(total);
            if self.shared.stop.load(Relaxed) || self.clock.now() >= end {
                break;
            }
            tokio::time::sleep(Duration::from_nanos(self.look_ns(end))).await;
        }
        self.close();
        self.schedule_over.set(true);
        self.ended.notify_one();
    }

    /// Waits until an arrival is due, or there is no turn left for it.
    async fn until_due(&self, due: u64, timer: &std::io::Result<Timer>) {
        while !self.shared.has_no_turn_left() {
            let left = self.look_ns(due);
            if left == 0 {
                return;
            }
            match timer {
                Ok(timer) => timer.wait(left).await,
                Err(_) => tokio::time::sleep(Duration::from_nanos(left)).await,
            }
        }
    }

    /// How long nothing is to do until then: other threads take turns, too, and at a known moment none is left.
    fn look_ns(&self, until: u64) -> u64 {
        let now = self.clock.now();
        let over = self.shared.turns_over.filter(|over| *over > now);
        let until = over.map_or(until, |over| over.min(until));
        until.saturating_sub(now).min(LOOK_NS)
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
