//! What a server has done, for Prometheus and for a load generator's double entry.

use crate::process::Process;
use crate::seen::{Seen, Tally};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// The statuses that are counted by themselves; others are together.
const STATUSES: [u16; 17] = [
    200, 204, 206, 304, 400, 403, 404, 405, 409, 411, 412, 416, 500, 501, 503, 507, 0,
];
/// Upper ends of the latency histogram, in microseconds: powers of two from 64 µs to 33 s.
const EDGES: usize = 20;
const FIRST_EDGE_US: u64 = 64;
/// As what requests are counted of which it is not known what they are.
const OTHER: &str = "Other";

/// An operation of a target, as it counts it, and the kind as which load generators know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationName {
    pub name: &'static str,
    pub kind: &'static str,
}

/// A number of a target's own that only grows, by its name without the target's.
pub type Counter = (&'static str, u64);

struct Row {
    name: &'static str,
    kind: &'static str,
    statuses: [AtomicU64; STATUSES.len()],
    buckets: [AtomicU64; EDGES + 1],
    micros: AtomicU64,
    seen: Tally,
}

impl Row {
    fn new(OperationName { name, kind }: OperationName) -> Self {
        Self {
            name,
            kind,
            statuses: Default::default(),
            buckets: Default::default(),
            micros: AtomicU64::new(0),
            seen: Tally::default(),
        }
    }
}

/// Nobody has said how many bytes an operation is about.
const NOT_TOLD: u64 = u64::MAX;

/// Where a request leaves which operation it is, and how many bytes it took.
#[derive(Debug, Clone)]
pub struct Sighting(Arc<(AtomicUsize, AtomicU64)>);

impl Sighting {
    pub(crate) fn new() -> Self {
        Self(Arc::new((
            AtomicUsize::new(usize::MAX),
            AtomicU64::new(NOT_TOLD),
        )))
    }

    /// The operation, by its place among those of the target.
    pub fn is(&self, operation: usize) {
        self.0.0.store(operation, Relaxed);
    }

    /// More bytes of what the operation is about, 0 too: of a form its file alone, of an answer what
    /// it is about without what is around it. Where nothing is told the bytes of the answer count.
    pub fn took(&self, bytes: u64) {
        let add = |before| {
            Some(if before == NOT_TOLD {
                bytes
            } else {
                before + bytes
            })
        };
        // It always gives a number, so that it always succeeds.
        let _before = self.0.1.fetch_update(Relaxed, Relaxed, add);
    }

    /// The bytes that were told, if any were.
    fn told(&self) -> Option<u64> {
        Some(self.0.1.load(Relaxed)).filter(|bytes| *bytes != NOT_TOLD)
    }

    pub(crate) fn operation(&self) -> usize {
        self.0.0.load(Relaxed)
    }
}

/// A request that has been answered, or as far as the client let it be.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// The operation, by its place among those of the target; beyond them where it is not known.
    pub operation: usize,
    pub status: u16,
    /// Bytes of the answer's body.
    pub bytes: u64,
    pub took: Duration,
    /// Whether all of the answer went out.
    pub whole: bool,
    /// Whether it was to be cut on command.
    pub cut: bool,
}

/// Counters of a server; adding to them takes no lock.
pub struct Metrics {
    target: &'static str,
    started: Instant,
    /// One an operation, and the last for all others.
    rows: Vec<Row>,
    bytes_out: AtomicU64,
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections: AtomicU64,
    in_flight: AtomicU64,
    /// Requests that were made to misbehave, by how.
    misbehaved: [AtomicU64; Misbehaved::NAMES.len()],
    delays: Delays,
}

/// The waits of requests that were made to wait: what was asked, and what was given. Nanoseconds.
#[derive(Default)]
struct Delays {
    asked: AtomicU64,
    given: AtomicU64,
    latest: AtomicU64,
}

/// How a request was made to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misbehaved {
    Delayed,
    Failed,
    Truncated,
    Corrupted,
}

impl Misbehaved {
    const NAMES: [&'static str; 4] = ["delayed", "failed", "truncated", "corrupted"];
}

/// A request as long as it is in flight.
pub(crate) struct Flight(Arc<Metrics>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    /// `target` stands in the names of all counters; each of its operations has a kind of its own.
    pub fn new(target: &'static str, operations: impl IntoIterator<Item = OperationName>) -> Self {
        let other = OperationName {
            name: OTHER,
            kind: OTHER,
        };
        Self {
            target,
            started: Instant::now(),
            rows: operations
                .into_iter()
                .chain([other])
                .map(Row::new)
                .collect(),
            bytes_out: AtomicU64::new(0),
            connections_open: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            misbehaved: Default::default(),
            delays: Delays::default(),
        }
    }

    /// Requests that have come and are not yet answered.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Flight {
        self.in_flight.fetch_add(1, Relaxed);
        Flight(Arc::clone(self))
    }

    /// Counts a request. `kind` is what its line says that it is, where it is an operation at all.
    pub(crate) fn count(&self, kind: Option<&str>, sighting: &Sighting, answered: &Answered) {
        let last = self.rows.len() - 1;
        let row = &self.rows[answered.operation.min(last)];
        let at = STATUSES
            .iter()
            .position(|known| *known == answered.status)
            .unwrap_or(STATUSES.len() - 1);
        row.statuses[at].fetch_add(1, Relaxed);
        let micros = u64::try_from(answered.took.as_micros()).unwrap_or(u64::MAX);
        let bucket = (0..EDGES)
            .find(|edge| micros <= FIRST_EDGE_US << edge)
            .unwrap_or(EDGES);
        row.buckets[bucket].fetch_add(1, Relaxed);
        row.micros.fetch_add(micros, Relaxed);
        self.bytes_out.fetch_add(answered.bytes, Relaxed);
        let failed = answered.status >= 400 || !answered.whole;
        match (failed, answered.operation < last) {
            (false, true) => {
                let moved = sighting.told().unwrap_or(answered.bytes);
                row.seen.succeeded(moved, answered.took);
            }
            // The target's own pages and the questions of browsers are no operations.
            (false, false) => {}
            (true, true) => row.seen.failed(),
            // Who is refused before it is known what is asked for has failed at what the line says.
            (true, false) => {
                let named = self.rows.iter().find(|row| Some(row.kind) == kind);
                if let Some(row) = named {
                    row.seen.failed();
                }
            }
        }
    }

    pub(crate) fn misbehaved(&self, how: Misbehaved) {
        self.misbehaved[how as usize].fetch_add(1, Relaxed);
    }

    /// One request that was made to wait, and did, since it came.
    pub(crate) fn delayed(&self, asked: Duration, given: Duration) {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.misbehaved(Misbehaved::Delayed);
        self.delays.asked.fetch_add(nanos(asked), Relaxed);
        self.delays.given.fetch_add(nanos(given), Relaxed);
        self.delays
            .latest
            .fetch_max(nanos(given.saturating_sub(asked)), Relaxed);
    }

    /// Counters without labels by their names, with those of the target after them.
    fn totals(&self, own: &[Counter]) -> Vec<(String, u64)> {
        let all = [
            ("sent_bytes_total", self.bytes_out.load(Relaxed)),
            ("connections_total", self.connections.load(Relaxed)),
        ];
        all.iter()
            .chain(own)
            .map(|(name, value)| (format!("fathom_{}_{name}", self.target), *value))
            .collect()
    }

    fn gauges(&self) -> [(&'static str, u64); 2] {
        [
            ("connections_open", self.connections_open.load(Relaxed)),
            ("requests_in_flight", self.in_flight()),
        ]
    }

    /// What this target saw, by kind of operation, as JSON.
    pub(crate) fn seen(&self, own: &[Counter]) -> String {
        let operations: BTreeMap<_, _> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.kind, row.seen.operations()?)))
            .collect();
        let seen = Seen {
            target: self.target,
            running_ns: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            requests_in_flight: self.in_flight(),
            operations,
            counters: self.totals(own).into_iter().collect(),
        };
        serde_json::to_string(&seen).expect("numbers and names can be written")
    }

    /// CPU by thread, memory and what is open, as text.
    pub(crate) fn profile(&self) -> String {
        Process::now().profile(&self.gauges())
    }

    /// All counters in the text format of Prometheus, version 0.0.4.
    pub(crate) fn text(&self, own: &[Counter]) -> String {
        let mut out = String::with_capacity(8 << 10);
        let target = self.target;
        self.requests(&mut out);
        for (name, value) in self.totals(own) {
            line(
                &mut out,
                format_args!("# TYPE {name} counter\n{name} {value}"),
            );
        }
        for (name, value) in self.gauges() {
            let name = format!("fathom_{target}_{name}");
            line(
                &mut out,
                format_args!("# TYPE {name} gauge\n{name} {value}"),
            );
        }
        let process = Process::now();
        line(
            &mut out,
            format_args!(
                "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}",
                process.resident_bytes
            ),
        );
        line(
            &mut out,
            format_args!(
                "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {:.2}",
                process.cpu_seconds
            ),
        );
        self.misbehaviour(&mut out);
        out
    }

    fn misbehaviour(&self, out: &mut String) {
        let target = self.target;
        let delays = [
            ("asked_seconds_total", "counter", &self.delays.asked),
            ("given_seconds_total", "counter", &self.delays.given),
            ("late_seconds_max", "gauge", &self.delays.latest),
        ];
        for (name, kind, nanos) in delays {
            let name = format!("fathom_{target}_delay_{name}");
            let seconds = Duration::from_nanos(nanos.load(Relaxed)).as_secs_f64();
            line(
                out,
                format_args!("# TYPE {name} {kind}\n{name} {seconds:.9}"),
            );
        }
        let name = format!("fathom_{target}_misbehaved_total");
        line(out, format_args!("# TYPE {name} counter"));
        for (how, counter) in Misbehaved::NAMES.iter().zip(&self.misbehaved) {
            let count = counter.load(Relaxed);
            line(out, format_args!("{name}{{how=\"{how}\"}} {count}"));
        }
    }

    fn requests(&self, out: &mut String) {
        let name = format!("fathom_{}_requests_total", self.target);
        line(out, format_args!("# TYPE {name} counter"));
        for row in &self.rows {
            for (status, counter) in STATUSES.iter().zip(&row.statuses) {
                let count = counter.load(Relaxed);
                if count == 0 {
                    continue;
                }
                let status = match status {
                    0 => "other".to_owned(),
                    status => status.to_string(),
                };
                let operation = row.name;
                line(
                    out,
                    format_args!("{name}{{operation=\"{operation}\",status=\"{status}\"}} {count}"),
                );
            }
        }
        let name = format!("fathom_{}_request_seconds", self.target);
        line(out, format_args!("# TYPE {name} histogram"));
        self.rows.iter().for_each(|row| row.histogram(&name, out));
    }
}

impl Row {
    fn histogram(&self, name: &str, out: &mut String) {
        let counts: Vec<u64> = self.buckets.iter().map(|n| n.load(Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return;
        }
        let label = format!("operation=\"{}\"", self.name);
        let mut sum = 0;
        for (edge, count) in counts.iter().take(EDGES).enumerate() {
            sum += count;
            let seconds = Duration::from_micros(FIRST_EDGE_US << edge).as_secs_f64();
            line(
                out,
                format_args!("{name}_bucket{{{label},le=\"{seconds}\"}} {sum}"),
            );
        }
        line(
            out,
            format_args!("{name}_bucket{{{label},le=\"+Inf\"}} {total}"),
        );
        let seconds = Duration::from_micros(self.micros.load(Relaxed)).as_secs_f64();
        line(out, format_args!("{name}_sum{{{label}}} {seconds}"));
        line(out, format_args!("{name}_count{{{label}}} {total}"));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Metrics {
        let of = |name, kind| OperationName { name, kind };
        Metrics::new(
            "s3",
            [
                of("GetObject", "get"),
                of("PutObject", "put"),
                of("Copy", "Copy"),
            ],
        )
    }

    fn answered(operation: usize, status: u16, bytes: u64, took: Duration) -> Answered {
        Answered {
            operation,
            status,
            bytes,
            took,
            whole: true,
            cut: false,
        }
    }

    #[test]
    fn a_request_is_found_under_its_operation_status_and_latency() {
        let metrics = metrics();
        for one in [
            answered(0, 200, 10, Duration::from_micros(100)),
            answered(0, 200, 5, Duration::from_secs(100)),
            answered(usize::MAX, 418, 0, Duration::ZERO),
        ] {
            metrics.count(Some("get"), &Sighting::new(), &one);
        }
        metrics.misbehaved(Misbehaved::Truncated);
        metrics.delayed(Duration::from_millis(5), Duration::from_micros(5070));
        metrics.delayed(Duration::from_millis(1), Duration::from_micros(1030));
        let text = metrics.text(&[("storage_writes_total", 3)]);
        for expected in [
            "fathom_s3_requests_total{operation=\"GetObject\",status=\"200\"} 2\n",
            "fathom_s3_requests_total{operation=\"Other\",status=\"other\"} 1\n",
            "fathom_s3_request_seconds_bucket{operation=\"GetObject\",le=\"0.000128\"} 1\n",
            "fathom_s3_request_seconds_bucket{operation=\"GetObject\",le=\"+Inf\"} 2\n",
            "fathom_s3_request_seconds_count{operation=\"GetObject\"} 2\n",
            "fathom_s3_sent_bytes_total 15\n",
            "fathom_s3_storage_writes_total 3\n",
            "fathom_s3_misbehaved_total{how=\"truncated\"} 1\n",
            "fathom_s3_misbehaved_total{how=\"delayed\"} 2\n",
            "fathom_s3_delay_asked_seconds_total 0.006000000\n",
            "fathom_s3_delay_given_seconds_total 0.006100000\n",
            "fathom_s3_delay_late_seconds_max 0.000070000\n",
        ] {
            assert!(text.contains(expected), "{expected}{text}");
        }
        assert!(
            !text.contains("PutObject"),
            "what did not happen is not listed"
        );
    }

    #[test]
    fn what_was_seen_is_told_by_kind_and_what_was_cut_or_refused_is_an_error() {
        let metrics = metrics();
        let count = |kind, operation, status, bytes, whole| {
            let one = Answered {
                whole,
                ..answered(operation, status, bytes, Duration::from_nanos(300))
            };
            metrics.count(kind, &Sighting::new(), &one);
        };
        count(Some("get"), 0, 200, 10, true);
        count(Some("get"), 0, 206, 4, false);
        count(Some("get"), 0, 404, 99, true);
        let put = Sighting::new();
        put.took(7);
        metrics.count(Some("put"), &put, &answered(1, 200, 0, Duration::ZERO));
        // Not known any further, but a PUT by its line; and pages of the target's own.
        count(Some("put"), usize::MAX, 503, 99, true);
        count(None, usize::MAX, 403, 99, true);
        count(None, usize::MAX, 200, 99, true);
        let seen: serde_json::Value =
            serde_json::from_str(&metrics.seen(&[("x_total", 3)])).unwrap();
        let of = |kind: &str| {
            ["count", "bytes", "errors"].map(|what| seen["operations"][kind][what].as_u64())
        };
        assert_eq!(of("get"), [Some(1), Some(10), Some(2)]);
        assert_eq!(of("put"), [Some(1), Some(7), Some(1)]);
        assert_eq!([of("Copy"), of(OTHER)], [[None; 3]; 2]);
        assert_eq!(
            seen["operations"]["get"]["latency"].to_string(),
            r#"{"buckets":[[278,1]],"count":1,"layout":"log-linear/7","max":301,"min":300,"sum":300,"unit":"ns"}"#
        );
        assert_eq!(seen["counters"]["fathom_s3_x_total"], 3);
    }
}
