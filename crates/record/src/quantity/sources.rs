//! Where the values of measures come from: counters, times, accounts, and what other tools state.

use super::{ITERATION, LATENESS, QuantityValue, RequestPart};
use crate::figures::{figures, of_kind, sum_of_transfers};
use crate::{Histogram, LoadAccount, Operations, Record, RequestPhases, Summary};
use std::borrow::Cow;
use units::lossless::u64_to_f64;

/// Fewer operations above a percentile do not support it.
const LEAST_ABOVE: f64 = 10.0;
/// What k6 calls whole turns of users, and what it counts of all its requests.
const ITERATIONS_TOLD: &str = "iteration_duration";
const REQUESTS: &str = "request";

/// Whether a percentile (0 to 100) of so many operations has at least ten of them above it.
#[must_use]
pub fn percentile_has_support(count: u64, percent: f64) -> bool {
    // 100 - 99.9 is not exact in binary.
    u64_to_f64(count) * (100.0 - percent) / 100.0 >= LEAST_ABOVE - 1e-6
}

/// Counters of one kind of operation, or of all together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) count: Option<f64>,
    pub(super) errors: Option<f64>,
    pub(super) bytes: Option<f64>,
    pub(super) per_second: Option<f64>,
    pub(super) bytes_per_second: Option<f64>,
}

impl Counts {
    pub(super) fn of(record: &Record, kind: Option<&str>) -> Self {
        match kind {
            Some(kind) => Self::of_kind(record, kind),
            None => Self::of_all(record),
        }
    }

    fn of_kind(record: &Record, kind: &str) -> Self {
        let number = |n: Option<u64>| n.map(u64_to_f64);
        of_kind(record, kind).map_or_else(Self::default, |figures| Self {
            count: number(figures.count()),
            errors: number(figures.errors()),
            bytes: number(figures.bytes()),
            per_second: figures.per_second(),
            bytes_per_second: figures.bytes_per_second(),
        })
    }

    /// As counted; of a source that counts no operations, what it says of all its requests, and the
    /// rates of reads and writes.
    fn of_all(record: &Record) -> Self {
        let all = &record.operations;
        if all.is_empty() && !record.summaries.is_empty() {
            return Self {
                per_second: sum_of_transfers(record, |figures| figures.per_second()),
                bytes_per_second: sum_of_transfers(record, |figures| figures.bytes_per_second()),
                ..Self::of_kind(record, REQUESTS)
            };
        }
        // A kind that only a source tells of is not among the counters.
        let told = |of: fn(&crate::figures::Figures<'_>) -> Option<f64>| {
            let beside = all.kinds().count() == 1 && figures(record).nth(1).is_some();
            beside.then(|| sum_of_transfers(record, of)).flatten()
        };
        Self {
            count: Some(u64_to_f64(all.count())),
            errors: Some(u64_to_f64(all.errors())),
            bytes: Some(u64_to_f64(all.bytes())),
            per_second: told(|figures| figures.per_second()).or(record.operations_per_second()),
            bytes_per_second: told(|figures| figures.bytes_per_second())
                .or(record.bytes_per_second()),
        }
    }

    /// A part of all operations, in percent.
    pub(super) fn share(&self, part: Option<f64>) -> Option<f64> {
        let all = self.count? + self.errors?;
        (all > 0.0).then_some(100.0 * part? / all)
    }
}

/// Times of operations: every one of them, or what a source says of them.
#[derive(Clone, Debug, Default)]
pub struct Times<'a> {
    pub(crate) histogram: Option<Cow<'a, Histogram>>,
    pub(crate) summary: Option<&'a Summary>,
    /// How many there are, where no histogram says it.
    pub(crate) samples: Option<u64>,
}

impl<'a> Times<'a> {
    fn counted(histogram: impl Into<Option<Cow<'a, Histogram>>>) -> Self {
        Self {
            histogram: histogram.into().filter(|histogram| !histogram.is_empty()),
            ..Self::default()
        }
    }

    fn told(summary: &'a Summary) -> Self {
        Self {
            histogram: summary.latency.as_ref().map(Cow::Borrowed),
            summary: Some(summary),
            samples: summary.samples,
        }
    }

    pub(crate) fn number(&self) -> QuantityValue {
        let counted = self.histogram.as_ref().map(|histogram| histogram.count());
        QuantityValue::of(counted.or(self.samples).map(u64_to_f64))
    }

    pub(crate) fn mean(&self) -> QuantityValue {
        let counted = self
            .histogram
            .as_ref()
            .and_then(|histogram| histogram.mean());
        QuantityValue::of(counted.or_else(|| self.summary?.mean_ns))
    }

    pub(crate) fn min(&self) -> QuantityValue {
        let counted = self
            .histogram
            .as_ref()
            .and_then(|histogram| histogram.min());
        QuantityValue::of(counted.map(u64_to_f64).or_else(|| self.summary?.min_ns))
    }

    pub(crate) fn max(&self) -> QuantityValue {
        let counted = self
            .histogram
            .as_ref()
            .and_then(|histogram| histogram.max());
        let stated = || {
            let summary = self.summary?;
            summary
                .percentiles_ns
                .get("100")
                .copied()
                .or(summary.max_ns)
        };
        QuantityValue::of(counted.map(u64_to_f64).or_else(stated))
    }

    /// The percentile of this text, such as `99.9`.
    pub(crate) fn percentile(&self, text: &str) -> QuantityValue {
        let Ok(percent) = text.parse::<f64>() else {
            return QuantityValue::Unknown;
        };
        let counted = self
            .histogram
            .as_ref()
            .and_then(|histogram| histogram.quantile(percent / 100.0));
        let value = counted.or_else(|| self.summary?.percentiles_ns.get(text).copied());
        let count = self.histogram.as_ref().map(|histogram| histogram.count());
        match (value, count.or(self.samples)) {
            (Some(value), Some(count)) if !percentile_has_support(count, percent) => {
                QuantityValue::TooFew(value)
            }
            (value, _) => QuantityValue::of(value),
        }
    }
}

/// The times that a quantity is of.
pub(super) fn times<'a>(
    record: &'a Record,
    kind: Option<&'a str>,
    part: Option<RequestPart>,
) -> Times<'a> {
    let load = record.load.as_ref();
    let told = |name: &str| {
        record
            .summaries
            .get(name)
            .map(Times::told)
            .unwrap_or_default()
    };
    match (kind, part, load) {
        (Some(ITERATION), _, Some(load)) => Times::counted(Cow::Borrowed(&load.iterations)),
        (Some(ITERATION), _, None) => told(ITERATIONS_TOLD),
        (Some(LATENESS), ..) => Times::counted(
            load.and_then(|load| load.lateness.as_ref())
                .map(Cow::Borrowed),
        ),
        (None, Some(part), None) if record.operations.is_empty() => {
            told(&format!("http_req_{}", part.name()))
        }
        (kind, Some(part), _) => Times::counted(Cow::Owned(of_part(record, kind, part))),
        (Some(kind), None, _) => of_kind(record, kind)
            .map(|figures| figures.times())
            .unwrap_or_default(),
        (None, None, _) => of_all(record),
    }
}

/// Every kind that was counted, together.
fn of_all(record: &Record) -> Times<'_> {
    let mut kinds = record
        .operations
        .kinds()
        .map(|(_, operations)| &operations.latency);
    let Some(first) = kinds.next() else {
        return Times::default();
    };
    let mut all = Cow::Borrowed(first);
    kinds.for_each(|latency| all.to_mut().merge(latency));
    Times::counted(all)
}

/// The times of a part of requests, of one kind or of all of them.
fn of_part(record: &Record, kind: Option<&str>, part: RequestPart) -> Histogram {
    let is_meant = |name: &str| kind.is_none_or(|kind| kind == name);
    let mut sum = Histogram::default();
    if part == RequestPart::Duration {
        // In an open loop the latency holds a wait that is no part of the request.
        let whole = |operations: &Operations| {
            operations
                .service
                .as_ref()
                .unwrap_or(&operations.latency)
                .clone()
        };
        let kinds = record.operations.kinds().filter(|(name, _)| is_meant(name));
        kinds.for_each(|(_, operations)| sum.merge(&whole(operations)));
        return sum;
    }
    let phases = record.load.iter().flat_map(|load| &load.phases);
    for (_, phases) in phases.filter(|(name, _)| is_meant(name)) {
        sum.merge(of_phase(phases, part));
    }
    sum
}

fn of_phase(phases: &RequestPhases, part: RequestPart) -> &Histogram {
    match part {
        RequestPart::Connecting => &phases.connecting,
        RequestPart::Sending => &phases.sending,
        RequestPart::Waiting => &phases.waiting,
        RequestPart::Receiving | RequestPart::Duration => &phases.receiving,
    }
}

/// A number above zero; what a record counts from zero on was not there.
pub(super) fn seen(n: u64) -> Option<f64> {
    Some(u64_to_f64(n)).filter(|n| *n > 0.0)
}

pub(super) fn option(record: &Record, key: &str) -> Option<f64> {
    record.effective.get(key)?.parse().ok()
}

fn each(record: &Record, ns: u64) -> Option<f64> {
    let count = match figures(record)
        .next()
        .filter(|_| record.operations.is_empty())
    {
        Some(only) if figures(record).nth(1).is_none() => only.count()?,
        Some(_) | None => record.operations.count(),
    };
    Some(u64_to_f64(ns) / seen(count)?)
}

/// CPU time of the process an operation.
pub(super) fn cpu_each(record: &Record) -> Option<f64> {
    let used = Some(record.process().cpu_ns()).filter(|ns| *ns > 0)?;
    if record.operations.is_empty() {
        return each(record, used);
    }
    Some(u64_to_f64(used) / seen(record.operations_by_cpu_time())?)
}

/// Unknown where the server worked for other jobs as well.
pub(super) fn server_cpu_each(record: &Record) -> Option<f64> {
    if !record.companions.is_empty() {
        return None;
    }
    each(record, record.target()?.process.cpu_ns())
}

/// How long the work took; of a command that ran several times, one of them.
pub(super) fn elapsed(record: &Record) -> Option<f64> {
    let is_command = record.targets.iter().any(|target| target.kind == "command");
    let times = record.operations.count() + record.operations.errors();
    let times = if is_command { times.max(1) } else { 1 };
    Some(seen(record.elapsed_ns)? / u64_to_f64(times))
}

pub(super) fn server_memory(record: &Record) -> Option<f64> {
    seen(record.target()?.process.max_resident_bytes)
}

pub(super) fn signing_each(record: &Record) -> Option<f64> {
    let signing = record.load.as_ref()?.signing;
    Some(u64_to_f64(signing.total_ns) / seen(signing.requests)?)
}

/// Bytes that the nearest device of each host moved for each that operations moved, those of a device
/// that ranks of one machine share once; unknown where it moved them for other jobs as well.
pub(super) fn device_bytes_each(record: &Record) -> Option<f64> {
    if !record.companions.is_empty() {
        return None;
    }
    let mut moved = None;
    for sharing in crate::by_nearest_device(record.generators(), |host| host) {
        let bytes = crate::nearest_of_all(&sharing)?.bytes();
        moved = Some(bytes.saturating_add(moved.unwrap_or(0)));
    }
    Some(u64_to_f64(moved?) / seen(record.operations.bytes())?)
}

pub(super) fn in_flight(record: &Record) -> Option<f64> {
    if option(record, "users").is_some() {
        return None;
    }
    waiting(record)
}

pub(super) fn users_waiting(record: &Record) -> Option<f64> {
    option(record, "users")?;
    waiting(record)
}

fn waiting(record: &Record) -> Option<f64> {
    record.load.as_ref()?;
    Some(record.loops.in_flight_ns as f64 / seen(record.elapsed_ns)?)
}

/// How many users were there on average: those at the end of each interval, weighted with its
/// length.
pub(super) fn users_there(record: &Record) -> Option<f64> {
    option(record, "users")?;
    let load: &LoadAccount = record.load.as_ref()?;
    let lengths: Vec<f64> = record
        .series
        .iter()
        .map(|interval| u64_to_f64(interval.end_ns.saturating_sub(interval.start_ns)))
        .collect();
    let lengths = if lengths.len() == load.users.len() {
        lengths
    } else {
        vec![1.0; load.users.len()]
    };
    let weighted = load.users.iter().zip(&lengths);
    let sum: f64 = weighted
        .map(|(users, length)| u64_to_f64(*users) * length)
        .sum();
    Some(sum / lengths.iter().sum::<f64>()).filter(|mean| mean.is_finite())
}

pub(super) fn iterations(record: &Record) -> Option<f64> {
    match &record.load {
        Some(load) => seen(load.iterations.count()),
        None => record.summaries.get("iterations")?.count.map(u64_to_f64),
    }
}

pub(super) fn unsent(record: &Record) -> Option<f64> {
    record.load.as_ref()?;
    Some(u64_to_f64(record.pace.as_ref()?.unsent))
}

pub(super) fn queued(record: &Record) -> Option<f64> {
    record.pace.as_ref()?;
    Some(u64_to_f64(record.load.as_ref()?.queued))
}

pub(super) fn connections_opened(record: &Record) -> Option<f64> {
    Some(u64_to_f64(record.load.as_ref()?.connections_opened))
}

/// What a source states under a name, of one kind or of the only one that has it.
pub(super) fn stated(record: &Record, kind: Option<&str>, name: &str) -> Option<f64> {
    let mut found = record
        .summaries
        .iter()
        .filter(|(of, _)| kind.is_none_or(|kind| kind == of.as_str()))
        .filter_map(|(_, summary)| summary.figures.get(name).copied());
    let only = found.next()?;
    found.next().is_none().then_some(only)
}
