//! The clock of the run must agree with the kernel's, and those of ranks with each other.

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
Ranks that a launcher connects compare their clocks with that of rank 0 at the start and
at the end (hosts[].clock_drift_ns). A change beyond what neither comparison knew
(hosts[].clock_drift_bound_ns) and beyond 200 parts in a million, by which sound clocks
may part, is found: the bounds of the start do not hold for the rest of the run.
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
/// Two clocks that are each within 100 parts in a million of the truth.
const SOUND_DIVISOR: u64 = 5000;

/// Clocks that are read across a bus, about a microsecond each time
/// (Documentation/timers/hpet.rst), or that tick in milliseconds.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

pub(super) fn check(record: &Record) -> Vec<Finding> {
    moved_apart(record)
        .into_iter()
        .chain(slow_source(record))
        .chain(left_the_root(record))
        .collect()
}

/// A rank's clock against that of rank 0.
fn left_the_root(record: &Record) -> Option<Finding> {
    let host = record.generator();
    let drift = host.clock_drift_ns?.unsigned_abs();
    let unknown = host.clock_drift_bound_ns.unwrap_or(0);
    if drift <= unknown.saturating_add(record.elapsed_ns / SOUND_DIVISOR) {
        return None;
    }
    let message = format!(
        "this rank's clock and that of rank 0 moved apart by {} within {}, and what was not known of them is {}",
        Nanos(drift),
        Nanos(record.elapsed_ns),
        Nanos(unknown)
    );
    let advice = "intervals of the series are of other moments on each host, and rates are wrong by as much: check the clock sources of both machines, and whether one was suspended or migrated";
    Some(RULE.finding(Severity::Warning, message, advice))
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
    fn a_rank_whose_clock_leaves_that_of_the_root_is_found_beyond_what_is_known() {
        let mut record = sound();
        let host = record.generator_mut();
        host.clock_drift_bound_ns = Some(100_000);
        // 200 parts in a million of 10 s, and what is not known.
        for drift in [2_100_000, -2_100_000] {
            record.generator_mut().clock_drift_ns = Some(drift);
            assert_eq!(check(&record), []);
        }
        for drift in [2_100_001, -40_000_000] {
            record.generator_mut().clock_drift_ns = Some(drift);
            let found = check(&record);
            let said = only(&found);
            assert!(said.starts_with("this rank's clock"), "{said}");
            assert!(said.ends_with("is 100 \u{b5}s"), "{said}");
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
