//! The clock of the run must agree with the kernel's.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "clock_drift",
    catalogue_number: Some(61),
    severity: Severity::Warning,
    title: "The clock of the run and the kernel's clock moved apart",
    text: "\
The clock that timed the operations is compared with CLOCK_MONOTONIC at both ends of the
run (calibration.clock_drift_ns). More than 1 ms, and more than the 500 parts in a
million by which the kernel slews its clock, is found.
Rates and latencies are differences of this clock. If it stepped by 40 ms within 10 s,
the rate is wrong by 0.4 %, and one operation seems to have taken 40 ms: enough to move
a p99.9. Suspended laptops, migrated virtual machines and broken time stamp counters do
it.
What to do: check the clock source of the machine (clocksource in sysfs), keep it from
sleeping or migrating, and repeat the run.",
    checks: &[Check::OfHost(check)],
};

/// A jump that an ordinary latency would show as an outlier.
const MOST_NS: u64 = 1_000_000;
/// The kernel slews its clock by at most 500 parts in a million (adjtimex(2)); two clocks further
/// apart are broken.
const SLEW_DIVISOR: u64 = 2000;

/// Clocks that are read across a bus, about a microsecond each time
/// (Documentation/timers/hpet.rst), or that tick in milliseconds.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

pub(super) fn check(record: &Record) -> Vec<Finding> {
    moved_apart(record)
        .into_iter()
        .chain(slow_source(record))
        .collect()
}

fn moved_apart(record: &Record) -> Option<Finding> {
    let drift = record
        .generator()
        .calibration
        .clock_drift_ns?
        .unsigned_abs();
    if drift <= MOST_NS.max(record.elapsed_ns / SLEW_DIVISOR) {
        return None;
    }
    let message = format!(
        "the clock of this run and CLOCK_MONOTONIC moved apart by {} within {}",
        Nanos(drift),
        Nanos(record.elapsed_ns)
    );
    let advice = "latencies and rates are wrong by as much: check the clock source of this machine, and whether it was suspended or migrated";
    Some(RULE.finding(Severity::Warning, message, advice))
}

fn slow_source(record: &Record) -> Option<Finding> {
    let source = record
        .generator()
        .environment
        .system
        .clocksource
        .as_deref()
        .filter(|source| SLOW.contains(source))?;
    let message = format!(
        "the clock source is {source}: each reading costs about a microsecond, or is no finer than a millisecond"
    );
    Some(RULE.finding(Severity::Warning,
        message,
        "boot with clocksource=tsc where the CPU has a constant one; otherwise trust no latency below 10 µs",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    #[test]
    fn clocks_that_part_are_found_in_either_direction() {
        let mut record = sound();
        for drift in [-40_000_000, 40_000_000] {
            record.generator_mut().calibration.clock_drift_ns = Some(drift);
            assert_eq!(
                only(&check(&record)),
                "the clock of this run and CLOCK_MONOTONIC moved apart by 40 ms within 10 s"
            );
        }
    }

    #[test]
    fn a_clock_across_a_bus_is_found() {
        let mut record = sound();
        record.generator_mut().environment.system.clocksource = Some("tsc".into());
        assert_eq!(check(&record), []);
        record.generator_mut().environment.system.clocksource = Some("hpet".into());
        assert!(only(&check(&record)).starts_with("the clock source is hpet"));
    }

    #[test]
    fn a_slewed_clock_is_not_found() {
        let mut record = sound();
        record.generator_mut().calibration.clock_drift_ns = Some(4_000_000);
        assert_eq!(check(&record), []);
    }
}
