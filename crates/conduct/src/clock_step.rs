//! Whether the wall clock was set while a slot ran. Durations are of the monotonic clock, so that only
//! the times of day in records are wrong; readers are told.

use host::Context;
use std::time::{Duration, SystemTime};
use sys::Clock as _;
use units::Nanos;

/// What time servers do by and by is far less, in the longest of slots.
const LEAST_STEP_NS: u64 = 1_000_000_000;

/// A moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockEdge {
    wall: SystemTime,
    passed_ns: u64,
}

impl ClockEdge {
    pub(crate) fn now(context: &Context) -> Self {
        Self {
            wall: sys::clock::wall_time(),
            passed_ns: context.clock.now(),
        }
    }

    /// How far the wall clock went beside the time that passed, in words, where that is much.
    pub(crate) fn step_until(&self, later: &Self) -> Option<String> {
        let passed = Duration::from_nanos(later.passed_ns.saturating_sub(self.passed_ns));
        let expected = self.wall.checked_add(passed)?;
        let (step, words) = match later.wall.duration_since(expected) {
            Ok(ahead) => (ahead, "ahead: it was set, or the machine slept"),
            Err(behind) => (behind.duration(), "back: it was set"),
        };
        let step_ns = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        (step_ns >= LEAST_STEP_NS).then(|| {
            format!(
                "the wall clock went {} {words}; durations are of another clock",
                Nanos(step_ns)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_told_with_its_direction_and_a_slew_is_not() {
        let edge = |wall_ms: u64, passed_ms: u64| ClockEdge {
            wall: SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + wall_ms),
            passed_ns: passed_ms * 1_000_000,
        };
        let told = |wall_ms, passed_ms| edge(5000, 0).step_until(&edge(wall_ms, passed_ms));
        assert_eq!(told(7000, 2000), None);
        assert_eq!(told(7900, 2000), None);
        let ahead = told(3_607_000, 2000).unwrap();
        assert!(
            ahead.starts_with("the wall clock went 1 h ahead"),
            "{ahead}"
        );
        let back = told(2000, 2000).unwrap();
        assert!(back.starts_with("the wall clock went 5 s back"), "{back}");
    }
}
