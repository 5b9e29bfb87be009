//! Who does not run measures nothing: what a stop of the generator delays looks like a stall of the
//! storage.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, Stoppage};
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "generator_stopped",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The generator itself stood still for a time",
    text: "\
The thread that watches the workers wakes up every 20 ms. Where a wait took 100 ms longer
than it should, and neither CPU time nor waiting for a CPU explains that (the scheduler's
account of the thread), or CLOCK_BOOTTIME moved away from CLOCK_MONOTONIC, nobody ran: the
process was stopped or frozen, the machine suspended or paused (stops).
At 1000 operations a second a stop of 3 s makes 3000 operations late, the p99 of a minute
2.95 s, and the storage had no part in it. In a closed loop it is one very long operation.
What to do: repeat the run undisturbed. Other rules leave such a time out.",
    checks: &[Check::Each(check)],
};

/// A longest latency within this many times the longest stop comes from it.
const ABOUT: f64 = 1.1;
/// An operation that began before the stop took its own time too.
const BESIDE_NS: f64 = 50e6;
const ADVICE: &str = "repeat the run; keep whoever stopped it (a signal, a freezer, the machine's sleep, a pause of the virtual machine) away from it";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(longest) = record.stops.iter().max_by_key(|stop| length(stop)) else {
        return Vec::new();
    };
    let how = if longest.suspended_ns > 0 {
        "the machine was suspended"
    } else {
        "the generator itself stood still"
    };
    let times = match record.stops.len() {
        1 => String::new(),
        n => format!("{n} times, the longest "),
    };
    let message = format!(
        "{how} {times}for {} from {} on: what waited meanwhile has a latency that is not the storage's",
        Nanos(length(longest)),
        Nanos(longest.start_ns)
    );
    vec![RULE.finding(Severity::Invalid, message, ADVICE)]
}

fn length(stop: &Stoppage) -> u64 {
    stop.end_ns
        .saturating_sub(stop.start_ns)
        .max(stop.suspended_ns)
}

/// Whether a latency of so many nanoseconds is no longer than what the generator's own stop
/// explains.
pub(super) fn explains(record: &Record, latency_ns: f64) -> bool {
    let stop = record.longest_stop_ns() as f64;
    stop > 0.0 && latency_ns <= ABOUT * stop + BESIDE_NS
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, only, sound};
    use super::*;

    #[test]
    fn a_stop_is_told_with_its_time_and_length() {
        let mut record = sound();
        assert_eq!(check(&record), []);
        record.stops = vec![Stoppage {
            start_ns: 2 * SECOND,
            end_ns: 5 * SECOND,
            suspended_ns: 0,
        }];
        let found = check(&record);
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(
            only(&found),
            "the generator itself stood still for 3 s from 2 s on: what waited meanwhile has a latency that is not the storage's"
        );
        record.stops.push(Stoppage {
            start_ns: 6 * SECOND,
            end_ns: 6 * SECOND,
            suspended_ns: 40 * SECOND,
        });
        assert!(
            only(&check(&record))
                .starts_with("the machine was suspended 2 times, the longest for 40 s from 6 s on")
        );
    }

    #[test]
    fn only_latencies_up_to_its_length_come_from_a_stop() {
        let mut record = sound();
        assert!(!explains(&record, 1e6));
        record.stops = vec![Stoppage {
            start_ns: 0,
            end_ns: 3 * SECOND,
            suspended_ns: 0,
        }];
        assert!(explains(&record, 3.01e9) && !explains(&record, 5e9));
    }
}
