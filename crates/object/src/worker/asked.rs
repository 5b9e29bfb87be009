//! Until when the schedule of a thread asked for arrivals.

use super::Shared;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// Until when arrivals were asked for, and when the last turn of them began, from the start of the measured
/// time: answers that come after that change neither.
pub(super) struct AskedTime {
    from: u64,
    until: Cell<u64>,
    last: Cell<u64>,
}

impl AskedTime {
    /// As long as nothing ends it, to the end of its course.
    pub(super) fn of(shared: &Shared) -> Self {
        Self {
            from: shared.measured_from,
            until: Cell::new(shared.start + shared.total_ns()),
            last: Cell::new(shared.measured_from),
        }
    }

    /// No turn was left for what is `due`. An end for which somebody asked is at the moment in which it is
    /// seen, as a thread may be behind with what is due.
    pub(super) fn refused(&self, shared: &Shared, due: u64) {
        if !shared.stop.load(Relaxed) {
            self.ends(due);
        }
    }

    /// Whether somebody asked for the end is seen `now`.
    pub(super) fn look(&self, shared: &Shared, now: u64) {
        if shared.stop.load(Relaxed) {
            self.ends(now);
        }
    }

    fn ends(&self, at: u64) {
        self.until.set(self.until.get().min(at));
    }

    /// The turn of an arrival begins `now`.
    pub(super) fn begins(&self, due: u64, now: u64) {
        if due >= self.from {
            self.last.set(self.last.get().max(now));
        }
    }

    pub(super) fn until_ns(&self) -> u64 {
        self.until.get().saturating_sub(self.from)
    }

    pub(super) fn last_begun_ns(&self) -> u64 {
        self.last.get().saturating_sub(self.from)
    }
}
