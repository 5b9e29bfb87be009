//! The numbers that only a load has, of one record.

use super::cells::ALL;
use record::{
    Histogram, LoadAccount, Quantity, QuantityValue, Record, Summary, percentile_has_support,
};
use units::ValueUnit;
use units::lossless::u64_to_f64;

/// What a source counts of all its requests.
pub const REQUESTS: &str = "request";
/// The percentiles of parts of requests and of iterations.
pub const PART_PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];
/// The parts of a request in the order of its life, and the whole.
pub const REQUEST_PARTS: [&str; 5] = ["connecting", "sending", "waiting", "receiving", "duration"];
/// A whole turn of a user.
pub const ITERATION_TIME: &str = "iteration time";

/// What k6 calls it.
const ITERATIONS_TOLD: &str = "iteration_duration";

/// One number of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReading {
    /// A kind of operation, `all`, or empty for what the load has as a whole.
    pub operation: String,
    pub name: String,
    pub unit: ValueUnit,
    pub value: f64,
}

/// What a k6 metric of requests is called here.
fn part_of(kind: &str) -> Option<&'static str> {
    let name = kind.strip_prefix("http_req_")?;
    REQUEST_PARTS.into_iter().find(|part| *part == name)
}

/// Whether a record is a load: one of ours, or one of which a source tells the parts of requests.
pub(super) fn is_load(record: &Record) -> bool {
    record.load.is_some() || record.summaries.keys().any(|kind| part_of(kind).is_some())
}

/// Whether a kind of a foreign record has a table of its own, and none of operations.
#[must_use]
pub fn is_told_apart(kind: &str) -> bool {
    part_of(kind).is_some() || kind == ITERATIONS_TOLD
}

/// Whether a kind of a foreign record is neither an operation nor counted with them.
#[must_use]
pub fn is_aside(kind: &str) -> bool {
    kind.starts_with("http_req") || kind.starts_with("iteration") || kind == REQUESTS
}

/// The numbers of a record; of one that is no load, none. What is not known is missing.
#[must_use]
pub fn readings(record: &Record) -> Vec<LoadReading> {
    let mut out = Vec::new();
    if let Some(load) = &record.load {
        counted(&mut out, record);
        for (kind, parts) in parts(record, load) {
            for (part, histogram) in REQUEST_PARTS.into_iter().zip(&parts) {
                if !histogram.is_empty() {
                    push(
                        &mut out,
                        &kind,
                        &format!("{part} n"),
                        ValueUnit::Whole,
                        u64_to_f64(histogram.count()),
                    );
                }
                percentiles(&mut out, &kind, part, histogram);
            }
        }
        conduct(&mut out, record, load);
    } else if is_load(record) {
        told(&mut out, record);
    }
    out
}

fn push(out: &mut Vec<LoadReading>, operation: &str, name: &str, unit: ValueUnit, value: f64) {
    if value.is_finite() {
        out.push(LoadReading {
            operation: operation.to_owned(),
            name: name.to_owned(),
            unit,
            value,
        });
    }
}

fn percentiles(out: &mut Vec<LoadReading>, operation: &str, name: &str, histogram: &Histogram) {
    for percent in PART_PERCENTILES
        .into_iter()
        .filter(|percent| percentile_has_support(histogram.count(), *percent))
    {
        if let Some(ns) = histogram.quantile(percent / 100.0) {
            push(
                out,
                operation,
                &format!("{name} p{percent}"),
                ValueUnit::Time,
                ns,
            );
        }
    }
}

fn counted(out: &mut Vec<LoadReading>, record: &Record) {
    let all = record.operations.together();
    let kinds = record.operations.kinds();
    let together = (kinds.count() > 1).then_some((ALL, &all));
    for (kind, operations) in record.operations.kinds().chain(together) {
        push(
            out,
            kind,
            "succeeded",
            ValueUnit::Whole,
            u64_to_f64(operations.count),
        );
        push(
            out,
            kind,
            "failed",
            ValueUnit::Whole,
            u64_to_f64(operations.errors),
        );
        if operations.bytes > 0 {
            push(
                out,
                kind,
                "data",
                ValueUnit::Bytes,
                u64_to_f64(operations.bytes),
            );
        }
    }
}

/// The parts of requests by kind, and of all kinds together where there are several; in the order
/// of [`REQUEST_PARTS`].
fn parts(record: &Record, load: &LoadAccount) -> Vec<(String, [Histogram; 5])> {
    let mut all: [Histogram; 5] = Default::default();
    let mut out: Vec<(String, [Histogram; 5])> = Vec::new();
    for (kind, phases) in &load.phases {
        // In an open loop the latency holds a wait that is no part of the request.
        let whole = record
            .operations
            .kind(kind)
            .map(|o| o.service.as_ref().unwrap_or(&o.latency).clone())
            .unwrap_or_default();
        let parts = [
            &phases.connecting,
            &phases.sending,
            &phases.waiting,
            &phases.receiving,
            &whole,
        ]
        .map(Histogram::clone);
        all.iter_mut()
            .zip(&parts)
            .for_each(|(sum, part)| sum.merge(part));
        out.push((kind.clone(), parts));
    }
    if out.len() > 1 {
        out.push((ALL.to_owned(), all));
    }
    out
}

fn conduct(out: &mut Vec<LoadReading>, record: &Record, load: &LoadAccount) {
    for quantity in Quantity::of_loads() {
        if let QuantityValue::Known(value) = quantity.of(record) {
            push(out, "", &quantity.title(), quantity.unit(), value);
        }
    }
    percentiles(out, "", ITERATION_TIME, &load.iterations);
    if let Some(lateness) = &load.lateness {
        percentiles(out, "", "own lateness", lateness);
    }
}

/// What a source tells of its requests, under the names of our own.
fn told(out: &mut Vec<LoadReading>, record: &Record) {
    for (kind, summary) in &record.summaries {
        if let Some(part) = part_of(kind) {
            percentiles_told(out, ALL, part, summary);
        } else if kind == ITERATIONS_TOLD {
            percentiles_told(out, "", ITERATION_TIME, summary);
        } else if kind == "iterations" {
            push(
                out,
                "",
                "iterations",
                ValueUnit::Whole,
                summary.count.map_or(f64::NAN, u64_to_f64),
            );
        } else if !is_aside(kind) || kind == REQUESTS {
            amounts_told(out, kind, summary);
        }
    }
}

fn percentiles_told(out: &mut Vec<LoadReading>, operation: &str, name: &str, summary: &Summary) {
    for percent in PART_PERCENTILES {
        let counted = summary
            .latency
            .as_ref()
            .filter(|histogram| percentile_has_support(histogram.count(), percent));
        let ns = counted.and_then(|histogram| histogram.quantile(percent / 100.0));
        if let Some(ns) = ns.or_else(|| summary.percentiles_ns.get(&percent.to_string()).copied()) {
            push(
                out,
                operation,
                &format!("{name} p{percent}"),
                ValueUnit::Time,
                ns,
            );
        }
    }
}

fn amounts_told(out: &mut Vec<LoadReading>, kind: &str, summary: &Summary) {
    let operation = if is_aside(kind) { ALL } else { kind };
    let mut one = |name: &str, unit, value: Option<u64>| {
        push(
            out,
            operation,
            name,
            unit,
            value.map_or(f64::NAN, u64_to_f64),
        )
    };
    one("succeeded", ValueUnit::Whole, summary.count);
    one("failed", ValueUnit::Whole, summary.errors);
    one("data", ValueUnit::Bytes, summary.bytes);
    if !is_aside(kind) {
        // Shares are of something else, and everything else that a source counts of an operation is
        // a number of things.
        let counts = summary
            .figures
            .iter()
            .filter(|(name, _)| !name.ends_with("percent"));
        counts.for_each(|(name, value)| {
            push(
                out,
                operation,
                &name.replace('_', " "),
                ValueUnit::Whole,
                *value,
            )
        });
    }
}
