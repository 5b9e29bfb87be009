//! Little's law (L = X W): the time of all operations together is the integral of the operations in flight, whatever the load.

use super::finding;
use crate::figures::sum_of_transfers;
use crate::{Effective, Finding, Severity};
use record::Record;

/// More than what operations across the edges of the measured time explain.
const TOLERANCE: f64 = 0.1;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if record.source.is_some() {
        return stated(record);
    }
    let in_flight = record.generator.in_flight_ns as f64;
    let slots = effective.number("queue-depth").unwrap_or(1).saturating_mul(effective.number("threads").unwrap_or(1));
    let (count, errors) = (record.operations.count(), record.operations.errors());
    // Failed operations were in flight but have no latency; few operations per slot are mostly edge.
    if in_flight == 0.0 || errors > count / 100 || count < slots.saturating_mul(20) {
        return Vec::new();
    }
    let service: f64 = record.operations.kinds().map(|(_, o)| o.service.as_ref().unwrap_or(&o.latency).sum() as f64).sum();
    let off = service / in_flight;
    if (off - 1.0).abs() <= TOLERANCE {
        return Vec::new();
    }
    let message =
        format!("rate, latency and concurrency do not fit: rate x latency is {off:.2} times the operations seen in flight (Little's law)");
    let advice = "some time is counted twice or not at all: trust the rate, not the latencies, and look at the worker accounts";
    vec![finding("little_law", Severity::Warning, message, advice)]
}

/// Nobody counted what was in flight; at depth 1 it was one a thread, and never more than the depth.
fn stated(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let Some((depth, threads)) = effective.real("queue-depth").zip(effective.real("threads")) else { return Vec::new() };
    let in_flight = sum_of_transfers(record, |f| Some(f.per_second()? * f.mean_ns()? / 1e9));
    let Some(in_flight) = in_flight.filter(|_| !effective.thinks() && !effective.is_open_loop()) else { return Vec::new() };
    let off = in_flight / (depth * threads);
    let too_few = depth == 1.0 && off < 1.0 - TOLERANCE;
    if !too_few && off <= 1.0 + TOLERANCE {
        return Vec::new();
    }
    let message =
        format!("rate, latency and depth do not fit: rate x latency is {off:.2} times the {} in flight (Little's law)", depth * threads);
    let advice = "the latency leaves out part of the time, or the rate is of another run: take both from one run, with the whole latency";
    vec![finding("little_law", Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, sound};
    use super::*;
    use record::{Measurements, Operations};

    fn with(operations: Operations) -> Record {
        let mut record = Record { operations: Measurements::default(), ..sound() };
        record.operations.insert("read", operations);
        record
    }

    #[test]
    fn latencies_that_begin_after_the_submission_are_found() {
        assert!(only(&check(&with(blocks(100_000, 1_600_000)))).contains("0.50 times"));
    }

    #[test]
    fn in_an_open_loop_the_service_time_counts() {
        let late = Operations { service: Some(blocks(100_000, 3_200_000).latency), ..blocks(100_000, 900_000_000) };
        assert_eq!(check(&with(late)), []);
    }

    #[test]
    fn failed_operations_have_no_latency_to_count() {
        assert_eq!(check(&with(Operations { errors: 50_000, ..blocks(50_000, 3_200_000) })), []);
    }

    #[test]
    fn stated_figures_are_held_against_the_depth() {
        let of = |per_second, mean_ns| {
            let summary = record::Summary { per_second: Some(per_second), mean_ns: Some(mean_ns), ..record::Summary::default() };
            let mut record = super::super::example::quoted("read", summary);
            super::super::example::set(&mut record, "queue-depth", "1");
            super::super::example::set(&mut record, "threads", "1");
            record
        };
        assert!(only(&check(&of(1_826_000.0, 430.0))).contains("rate x latency is 0.79 times the 1 in flight"));
        assert_eq!(check(&of(10_200.0, 98_020.0)), []);
        assert_eq!(check(&of(10_200.0, 120_000.0)).len(), 1);
    }
}
