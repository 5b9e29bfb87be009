//! What the server has done, for Prometheus and for a load generator's double entry.

use crate::access::{OPERATIONS, OperationCell};
use crate::storage::StorageCounters;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The statuses that are counted by themselves; others are together.
const STATUSES: [u16; 17] = [
    200, 204, 206, 304, 400, 403, 404, 405, 409, 411, 412, 416, 500, 501, 503, 507, 0,
];
/// Upper ends of the latency histogram, in microseconds: powers of two from 64 µs to 33 s.
const EDGES: usize = 20;
const FIRST_EDGE_US: u64 = 64;
const ROWS: usize = OPERATIONS.len() + 1;

#[derive(Default)]
struct Row {
    statuses: [AtomicU64; STATUSES.len()],
    buckets: [AtomicU64; EDGES + 1],
    micros: AtomicU64,
}

/// Counters of a server; adding to them takes no lock.
pub(crate) struct Metrics {
    rows: Vec<Row>,
    bytes_out: AtomicU64,
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) swept: AtomicU64,
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

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            rows: (0..ROWS).map(|_| Row::default()).collect(),
            bytes_out: AtomicU64::new(0),
            connections_open: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            misbehaved: Default::default(),
            delays: Delays::default(),
        }
    }

    /// One request that has been answered to its last byte, or as far as the client let it be.
    pub(crate) fn count(&self, operation: usize, status: u16, bytes_out: u64, took: Duration) {
        let row = &self.rows[operation.min(OperationCell::UNKNOWN)];
        let at = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        row.statuses[at].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = (0..EDGES)
            .find(|edge| micros <= FIRST_EDGE_US << edge)
            .unwrap_or(EDGES);
        row.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        row.micros.fetch_add(micros, Ordering::Relaxed);
        self.bytes_out.fetch_add(bytes_out, Ordering::Relaxed);
    }

    pub(crate) fn misbehaved(&self, how: Misbehaved) {
        self.misbehaved[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// One request that was made to wait, and did, since it came.
    pub(crate) fn delayed(&self, asked: Duration, given: Duration) {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.misbehaved(Misbehaved::Delayed);
        self.delays.asked.fetch_add(nanos(asked), Ordering::Relaxed);
        self.delays.given.fetch_add(nanos(given), Ordering::Relaxed);
        self.delays
            .latest
            .fetch_max(nanos(given.saturating_sub(asked)), Ordering::Relaxed);
    }

    /// All counters in the text format of Prometheus, version 0.0.4.
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    pub(crate) fn text(&self, storage: &StorageCounters, process: &Process) -> String {
        let mut out = String::with_capacity(8 << 10);
        self.requests(&mut out);
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let plain = [
            ("fathom_s3_sent_bytes_total", "counter", of(&self.bytes_out)),
            (
                "fathom_s3_connections_total",
                "counter",
                of(&self.connections),
            ),
            (
                "fathom_s3_connections_open",
                "gauge",
                of(&self.connections_open),
            ),
            ("fathom_s3_requests_in_flight", "gauge", of(&self.in_flight)),
            (
                "fathom_s3_lifecycle_removed_total",
                "counter",
                of(&self.swept),
            ),
            ("fathom_s3_storage_writes_total", "counter", storage.writes),
            (
                "fathom_s3_storage_commits_total",
                "counter",
                storage.commits,
            ),
            ("fathom_s3_storage_syncs_total", "counter", storage.syncs),
            (
                "fathom_s3_storage_bytes_in_total",
                "counter",
                storage.bytes_in,
            ),
            (
                "fathom_s3_storage_bytes_out_total",
                "counter",
                storage.bytes_out,
            ),
            (
                "fathom_s3_storage_bytes_handed_total",
                "counter",
                storage.bytes_handed,
            ),
            (
                "fathom_s3_storage_files_removed_total",
                "counter",
                storage.files_removed,
            ),
            (
                "fathom_s3_storage_corrupt_reads_total",
                "counter",
                storage.corrupt_reads,
            ),
            (
                "process_resident_memory_bytes",
                "gauge",
                process.resident_bytes,
            ),
        ];
        for (name, kind, value) in plain {
            line(
                &mut out,
                format_args!("# TYPE {name} {kind}\n{name} {value}"),
            );
        }
        line(
            &mut out,
            format_args!(
                "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {:.2}",
                process.cpu_seconds
            ),
        );
        let delays = [
            (
                "fathom_s3_delay_asked_seconds_total",
                "counter",
                &self.delays.asked,
            ),
            (
                "fathom_s3_delay_given_seconds_total",
                "counter",
                &self.delays.given,
            ),
            (
                "fathom_s3_delay_late_seconds_max",
                "gauge",
                &self.delays.latest,
            ),
        ];
        for (name, kind, nanos) in delays {
            let seconds = Duration::from_nanos(of(nanos)).as_secs_f64();
            line(
                &mut out,
                format_args!("# TYPE {name} {kind}\n{name} {seconds:.9}"),
            );
        }
        line(
            &mut out,
            format_args!("# TYPE fathom_s3_misbehaved_total counter"),
        );
        for (how, counter) in Misbehaved::NAMES.iter().zip(&self.misbehaved) {
            line(
                &mut out,
                format_args!(
                    "fathom_s3_misbehaved_total{{how=\"{how}\"}} {}",
                    of(counter)
                ),
            );
        }
        out
    }

    fn requests(&self, out: &mut String) {
        let named = |index: usize| {
            OPERATIONS
                .get(index)
                .map_or("Other", |operation| operation.name)
        };
        line(out, format_args!("# TYPE fathom_s3_requests_total counter"));
        for (index, row) in self.rows.iter().enumerate() {
            for (status, counter) in STATUSES.iter().zip(&row.statuses) {
                let count = counter.load(Ordering::Relaxed);
                if count > 0 {
                    let status = if *status == 0 {
                        "other".to_owned()
                    } else {
                        status.to_string()
                    };
                    line(
                        out,
                        format_args!(
                            "fathom_s3_requests_total{{operation=\"{}\",status=\"{status}\"}} {count}",
                            named(index)
                        ),
                    );
                }
            }
        }
        line(
            out,
            format_args!("# TYPE fathom_s3_request_seconds histogram"),
        );
        for (index, row) in self.rows.iter().enumerate() {
            let counts: Vec<u64> = row
                .buckets
                .iter()
                .map(|bucket| bucket.load(Ordering::Relaxed))
                .collect();
            let total: u64 = counts.iter().sum();
            if total == 0 {
                continue;
            }
            let name = named(index);
            let mut sum = 0;
            for (edge, count) in counts.iter().take(EDGES).enumerate() {
                sum += count;
                let seconds = Duration::from_micros(FIRST_EDGE_US << edge).as_secs_f64();
                line(
                    out,
                    format_args!(
                        "fathom_s3_request_seconds_bucket{{operation=\"{name}\",le=\"{seconds}\"}} {sum}"
                    ),
                );
            }
            line(
                out,
                format_args!(
                    "fathom_s3_request_seconds_bucket{{operation=\"{name}\",le=\"+Inf\"}} {total}"
                ),
            );
            let seconds = Duration::from_micros(row.micros.load(Ordering::Relaxed)).as_secs_f64();
            line(
                out,
                format_args!("fathom_s3_request_seconds_sum{{operation=\"{name}\"}} {seconds}"),
            );
            line(
                out,
                format_args!("fathom_s3_request_seconds_count{{operation=\"{name}\"}} {total}"),
            );
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

/// What the kernel says of this process; zeros where it says nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Process {
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: u64,
    /// Names and CPU seconds.
    pub(crate) threads: Vec<(String, f64)>,
}

/// The kernel counts CPU time for user space in hundredths of a second (`USER_HZ`) on every
/// architecture.
const TICKS: f64 = 100.0;

impl Process {
    pub(crate) fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (_, cpu_seconds) = stat(&read("/proc/self/stat")).unwrap_or_default();
        let mut threads = Vec::new();
        for task in std::fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten()
        {
            threads.extend(stat(
                &std::fs::read_to_string(task.path().join("stat")).unwrap_or_default(),
            ));
        }
        Self {
            cpu_seconds,
            resident_bytes: resident(&read("/proc/self/status")).unwrap_or(0),
            threads,
        }
    }

    /// CPU by thread and memory, as text.
    pub(crate) fn profile(&self, metrics: &Metrics) -> String {
        let mut out = String::new();
        line(
            &mut out,
            format_args!("cpu_seconds {:.2}", self.cpu_seconds),
        );
        line(
            &mut out,
            format_args!("resident_bytes {}", self.resident_bytes),
        );
        line(
            &mut out,
            format_args!(
                "connections_open {}",
                metrics.connections_open.load(Ordering::Relaxed)
            ),
        );
        line(
            &mut out,
            format_args!(
                "requests_in_flight {}",
                metrics.in_flight.load(Ordering::Relaxed)
            ),
        );
        let mut threads = self.threads.clone();
        threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (name, seconds) in threads {
            line(
                &mut out,
                format_args!("thread_cpu_seconds {seconds:.2} {name}"),
            );
        }
        out
    }
}

/// Name and CPU seconds of a line of `stat` (proc_pid_stat(5)): the name stands in the last
/// parentheses, user and system ticks are 14 and 15.
fn stat(text: &str) -> Option<(String, f64)> {
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((name, (ticks(11)? + ticks(12)?) / TICKS))
}

fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_found_under_its_operation_status_and_latency() {
        let metrics = Metrics::new();
        metrics.count(0, 200, 10, Duration::from_micros(100));
        metrics.count(0, 200, 5, Duration::from_secs(100));
        metrics.count(usize::MAX, 418, 0, Duration::ZERO);
        metrics.misbehaved(Misbehaved::Truncated);
        metrics.delayed(Duration::from_millis(5), Duration::from_micros(5070));
        metrics.delayed(Duration::from_millis(1), Duration::from_micros(1030));
        let text = metrics.text(
            &StorageCounters {
                writes: 3,
                ..Default::default()
            },
            &Process::default(),
        );
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
    fn the_kernels_lines_are_read() {
        let line = "1 (a) b) S 0 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(stat(line), Some(("a) b".to_owned(), 2.0)));
        assert_eq!(stat(""), None);
        assert_eq!(
            resident("VmPeak:\t 9 kB\nVmRSS:\t  12 kB\n"),
            Some(12 << 10)
        );
    }
}
