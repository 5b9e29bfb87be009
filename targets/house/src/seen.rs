//! What a target saw, by kind of operation, in the words of a load generator's records: its counts
//! can be compared with a client's one by one.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use units::buckets::{BUCKETS, LAYOUT, bucket_edges, bucket_of};

/// One kind of operation, counted without locks.
#[derive(Default)]
pub struct Tally {
    count: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
    sum_ns: AtomicU64,
    /// Made by the first operation of its kind.
    buckets: OnceLock<Box<[AtomicU64]>>,
}

impl Tally {
    pub fn succeeded(&self, bytes: u64, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let buckets = self
            .buckets
            .get_or_init(|| (0..BUCKETS).map(|_| AtomicU64::new(0)).collect());
        buckets[bucket_of(ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.count.fetch_add(1, Relaxed);
    }

    pub fn failed(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// As it stands; `None` where nothing was counted.
    pub fn operations(&self) -> Option<SeenOperations> {
        let operations = SeenOperations {
            count: self.count.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            errors: self.errors.load(Relaxed),
            latency: self.latency(),
        };
        (operations.count + operations.errors > 0).then_some(operations)
    }

    fn latency(&self) -> Latency {
        let buckets: Vec<(usize, u64)> = self
            .buckets
            .get()
            .into_iter()
            .flatten()
            .map(|counter| counter.load(Relaxed))
            .enumerate()
            .filter(|(_, count)| *count > 0)
            .collect();
        let edges = |place: Option<&(usize, u64)>| place.map(|(bucket, _)| bucket_edges(*bucket));
        Latency {
            unit: "ns",
            layout: LAYOUT,
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum: self.sum_ns.load(Relaxed),
            min: edges(buckets.first()).map(|(low, _)| low),
            max: edges(buckets.last()).map(|(low, width)| low + (width - 1)),
            buckets,
        }
    }
}

/// One kind of operation, as records have it.
#[derive(Serialize)]
pub struct SeenOperations {
    /// Those that succeeded: answered without an error and to the last byte.
    count: u64,
    /// Bytes that they moved.
    bytes: u64,
    errors: u64,
    /// From the request's arrival to the last byte of its answer.
    latency: Latency,
}

/// A histogram as records have it. The least and the most are known to the width of a bucket.
#[derive(Serialize)]
struct Latency {
    unit: &'static str,
    layout: &'static str,
    count: u64,
    sum: u64,
    min: Option<u64>,
    max: Option<u64>,
    buckets: Vec<(usize, u64)>,
}

/// What a target saw since it started.
#[derive(Serialize)]
pub struct Seen<'a> {
    pub target: &'a str,
    /// A server whose time is shorter than before is another one.
    pub running_ns: u64,
    /// With the request that asks for this.
    pub requests_in_flight: u64,
    pub operations: BTreeMap<&'a str, SeenOperations>,
    /// All that only grows, by the names that the metrics have for it.
    pub counters: BTreeMap<String, u64>,
}
