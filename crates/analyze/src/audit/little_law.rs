//! Little's law (L = X W): the time of all operations together is the integral of the operations in
//! flight, whatever the load.

use crate::audit::rule::{Check, Rule};
use crate::figures::{figures, sum_of_transfers};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "little_law",
    catalogue_number: Some(17),
    severity: Severity::Warning,
    title: "Rate, latency and concurrency do not fit each other",
    text: "\
By Little's law (L = X W) the rate times the mean latency is the mean number of
operations in flight. For our records that number was counted (generator.in_flight_ns);
for foreign ones it is 1 at depth 1, flushes included and unless a rate or pauses were
asked for, and at most depth times threads times hosts. More than 10 % off is found.
The law needs no assumption, so a gap is an error of measurement. 1,826,000 operations
of 0.43 us a second are 0.79 in flight at depth 1: a fifth of the time belongs to no
operation, so the latency leaves out part of it, or the rate is of another run.
What to do: trust the rate rather than the latency, use the whole latency of a tool and
not its completion part, and take both from one run.",
    checks: &[Check::Each(check)],
};

/// More than what operations across the edges of the measured time explain.
const TOLERANCE: f64 = 0.1;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if record.source.is_some() {
        return stated(record);
    }
    let in_flight = record.loops.in_flight_ns as f64;
    let slots = effective
        .number("queue-depth")
        .unwrap_or(1)
        .saturating_mul(effective.number("threads").unwrap_or(1));
    let (count, errors) = (record.operations.count(), record.operations.errors());
    // Failed operations were in flight but have no latency; few operations per slot are mostly
    // edge.
    if in_flight == 0.0 || errors > count / 100 || count < slots.saturating_mul(20) {
        return Vec::new();
    }
    let service: f64 = record
        .operations
        .kinds()
        .map(|(_, o)| o.service.as_ref().unwrap_or(&o.latency).sum() as f64)
        .sum();
    let off = service / in_flight;
    if (off - 1.0).abs() <= TOLERANCE {
        return Vec::new();
    }
    let message = format!(
        "rate, latency and concurrency do not fit: rate x latency is {off:.2} times the operations seen in flight (Little's law)"
    );
    let advice = "some time is counted twice or not at all: trust the rate, not the latencies, and look at the worker accounts";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

/// Nobody counted what was in flight; at depth 1 it was one a thread, and never more than the
/// depth. A flush occupies its worker as a write does; where a tool flushed and does not say for
/// how long, less than one a thread was in flight by what is known.
fn stated(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let Some((depth, threads)) = effective.real("queue-depth").zip(effective.workers()) else {
        return Vec::new();
    };
    let Some(transfers) = sum_of_transfers(record, |f| Some(f.per_second()? * f.mean_ns()? / 1e9))
    else {
        return Vec::new();
    };
    let flushes = flushing(record);
    let off = (transfers + flushes.unwrap_or(0.0)) / (depth * threads);
    // Pauses between operations leave less in flight, and what a worker does besides.
    let is_whole = !effective.thinks() && !effective.is_limited() && flushes.is_some();
    let too_few = depth == 1.0 && off < 1.0 - TOLERANCE && is_whole;
    if !too_few && off <= 1.0 + TOLERANCE {
        return Vec::new();
    }
    let message = format!(
        "rate, latency and depth do not fit: rate x latency is {off:.2} times the {} in flight (Little's law)",
        depth * threads
    );
    let advice = "the latency leaves out part of the time, or the rate is of another run: take both from one run, with the whole latency";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

/// Flushes in flight; `None` where there were some and their time is not known.
fn flushing(record: &Record) -> Option<f64> {
    let effective = Effective::of(record);
    let found = figures(record).filter(|f| matches!(f.kind, "fsync" | "fdatasync" | "sync"));
    let times: Option<Vec<f64>> = found
        .map(|f| Some(f.per_second()? * f.mean_ns()? / 1e9))
        .collect();
    let asked = ["fsync", "fdatasync"]
        .iter()
        .any(|key| effective.number(key).is_some_and(|every| every > 0));
    times
        .filter(|times| !asked || !times.is_empty())
        .map(|times| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, sound};
    use super::*;
    use record::{Measurements, Operations};

    fn with(operations: Operations) -> Record {
        let mut record = Record {
            operations: Measurements::default(),
            ..sound()
        };
        record.operations.insert("read", operations);
        record
    }

    #[test]
    fn latencies_that_begin_after_the_submission_are_found() {
        assert!(only(&check(&with(blocks(100_000, 1_600_000)))).contains("0.50 times"));
    }

    #[test]
    fn in_an_open_loop_the_service_time_counts() {
        let late = Operations {
            service: Some(blocks(100_000, 3_200_000).latency),
            ..blocks(100_000, 900_000_000)
        };
        assert_eq!(check(&with(late)), []);
    }

    #[test]
    fn failed_operations_have_no_latency_to_count() {
        assert_eq!(
            check(&with(Operations {
                errors: 50_000,
                ..blocks(50_000, 3_200_000)
            })),
            []
        );
    }

    #[test]
    fn stated_figures_are_held_against_the_depth() {
        let of = |per_second, mean_ns| {
            let summary = record::Summary {
                per_second: Some(per_second),
                mean_ns: Some(mean_ns),
                ..record::Summary::default()
            };
            let mut record = super::super::example::quoted("read", summary);
            super::super::example::set(&mut record, "queue-depth", "1");
            super::super::example::set(&mut record, "threads", "1");
            record
        };
        assert!(
            only(&check(&of(1_826_000.0, 430.0)))
                .contains("rate x latency is 0.79 times the 1 in flight")
        );
        assert_eq!(check(&of(10_200.0, 98_020.0)), []);
        assert_eq!(check(&of(10_200.0, 120_000.0)).len(), 1);
    }

    fn alone(per_second: f64, mean_ns: f64, options: &[(&str, &str)]) -> Record {
        let summary = record::Summary {
            per_second: Some(per_second),
            mean_ns: Some(mean_ns),
            ..record::Summary::default()
        };
        let mut record = super::super::example::quoted("write", summary);
        for (key, value) in [("queue-depth", "1"), ("threads", "1")]
            .iter()
            .chain(options)
        {
            super::super::example::set(&mut record, key, value);
        }
        record
    }

    #[test]
    fn workers_of_all_hosts_are_in_flight() {
        assert_eq!(check(&alone(4000.0, 1e6, &[("hosts", "4")])), []);
        assert!(
            only(&check(&alone(8000.0, 1e6, &[("hosts", "4")])))
                .contains("2.00 times the 4 in flight")
        );
    }

    #[test]
    fn a_rate_and_flushes_leave_less_in_flight() {
        assert_eq!(check(&alone(60.0, 1e6, &[])).len(), 1);
        assert_eq!(check(&alone(60.0, 1e6, &[("rate-iops", "60")])), []);
        assert_eq!(check(&alone(60.0, 1e6, &[("rate-bytes", "1MiB")])), []);
        assert_eq!(
            check(&alone(100.0, 1e6, &[("fsync", "1")])),
            [],
            "nobody says how long the flushes took"
        );
        let mut record = alone(100.0, 1e6, &[("fsync", "1")]);
        let flushes = record::Summary {
            per_second: Some(100.0),
            mean_ns: Some(8.8e6),
            ..record::Summary::default()
        };
        record.summaries.insert("fsync".into(), flushes);
        assert_eq!(check(&record), []);
        record.summaries.get_mut("fsync").unwrap().mean_ns = Some(3e6);
        assert_eq!(check(&record).len(), 1);
    }

    #[test]
    fn more_than_fits_is_found_whatever_the_pauses() {
        assert_eq!(
            check(&alone(2000.0, 1e6, &[("rate-iops", "2000")])).len(),
            1
        );
    }
}
