//! The clock of the run must agree with the kernel's.

use super::finding;
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;

/// A jump that an ordinary latency would show as an outlier.
const MOST_NS: u64 = 1_000_000;
/// The kernel slews its clock by at most 500 parts in a million (adjtimex(2)); two clocks further apart are broken.
const SLEW_DIVISOR: u64 = 2000;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(drift) = record.calibration.clock_drift_ns else { return Vec::new() };
    let drift = drift.unsigned_abs();
    if drift <= MOST_NS.max(record.elapsed_ns / SLEW_DIVISOR) {
        return Vec::new();
    }
    let message = format!("the clock of this run and CLOCK_MONOTONIC moved apart by {} within {}", Nanos(drift), Nanos(record.elapsed_ns));
    let advice =
        "latencies and rates are wrong by as much: check the clock source of this machine, and whether it was suspended or migrated";
    vec![finding("clock_drift", Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    #[test]
    fn clocks_that_part_are_found_in_either_direction() {
        let mut record = sound();
        for drift in [-40_000_000, 40_000_000] {
            record.calibration.clock_drift_ns = Some(drift);
            assert_eq!(only(&check(&record)), "the clock of this run and CLOCK_MONOTONIC moved apart by 40 ms within 10 s");
        }
    }

    #[test]
    fn a_slewed_clock_is_not_found() {
        let mut record = sound();
        record.calibration.clock_drift_ns = Some(4_000_000);
        assert_eq!(check(&record), []);
    }
}
