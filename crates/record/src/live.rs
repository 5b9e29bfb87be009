//! Counters that a worker writes and others read while it runs.

use crate::histogram::LiveHistogram;
use crate::measurements::{Measurements, Operations};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one kind of operation of one worker, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub struct LiveOperations {
    bytes: AtomicU64,
    errors: AtomicU64,
    smallest: AtomicU64,
    largest: AtomicU64,
    latency: LiveHistogram,
    service: Option<LiveHistogram>,
}

impl LiveOperations {
    fn new(open_loop: bool) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            smallest: AtomicU64::new(u64::MAX),
            largest: AtomicU64::new(0),
            latency: LiveHistogram::default(),
            service: open_loop.then(LiveHistogram::default),
        }
    }

    /// One successful operation: `latency` from its intended start, `service` from its issue, both
    /// in nanoseconds.
    #[inline]
    pub fn succeeded(&self, bytes: u64, latency: u64, service: u64) {
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
        if bytes < self.smallest.load(Relaxed) {
            self.smallest.store(bytes, Relaxed);
        }
        if bytes > self.largest.load(Relaxed) {
            self.largest.store(bytes, Relaxed);
        }
        self.latency.record(latency);
        if let Some(histogram) = &self.service {
            histogram.record(service);
        }
    }

    /// One failed operation; its time enters no histogram.
    pub fn failed(&self) {
        self.errors.store(self.errors.load(Relaxed) + 1, Relaxed);
    }

    fn snapshot(&self) -> Operations {
        let latency = self.latency.snapshot();
        Operations {
            count: latency.count(),
            bytes: self.bytes.load(Relaxed),
            errors: self.errors.load(Relaxed),
            smallest_bytes: Some(self.smallest.load(Relaxed)).filter(|n| *n != u64::MAX),
            largest_bytes: Some(self.largest.load(Relaxed)).filter(|_| !latency.is_empty()),
            latency,
            service: self.service.as_ref().map(LiveHistogram::snapshot),
        }
    }
}

/// All counters of one worker: one place a kind of operation, made before the run.
///
/// Counters of several workers stand in one vector. Without cache lines of their own a worker that
/// publishes what it has in flight takes from its neighbour the line that says where the counters
/// are: two workers then did no more than one. 128 bytes, as processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct LiveCounters {
    kinds: Vec<(&'static str, Option<LiveOperations>)>,
    /// Operations in flight, by hand-over and end.
    in_flight: AtomicU64,
}

impl LiveCounters {
    /// Counters for the named kinds; a kind that cannot occur is `false` and costs nothing.
    /// `open_loop` keeps service times apart.
    #[must_use]
    pub fn new(kinds: &[(&'static str, bool)], open_loop: bool) -> Self {
        let kinds = kinds
            .iter()
            .map(|(name, occurs)| (*name, occurs.then(|| LiveOperations::new(open_loop))))
            .collect();
        Self {
            kinds,
            in_flight: AtomicU64::new(0),
        }
    }

    /// The counters of a kind by its index.
    ///
    /// # Panics
    /// The kind was declared not to occur.
    #[inline]
    #[must_use]
    pub fn kind(&self, index: usize) -> &LiveOperations {
        self.kinds[index]
            .1
            .as_ref()
            .expect("only kinds that occur are counted")
    }

    /// Publishes how many operations are in flight.
    #[inline]
    pub fn set_in_flight(&self, n: u64) {
        self.in_flight.store(n, Relaxed);
    }

    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    /// All kinds that occurred so far.
    #[must_use]
    pub fn snapshot(&self) -> Measurements {
        let mut out = Measurements::default();
        for (name, live) in &self.kinds {
            if let Some(live) = live {
                let operations = live.snapshot();
                if operations != Operations::default() {
                    out.insert(name, operations);
                }
            }
        }
        out
    }

    /// What several publish; whoever counts goes on meanwhile, so that the bytes of an operation may be
    /// seen without it. Only bytes that the counted operations can have moved are theirs.
    #[must_use]
    pub fn sum<'a>(counters: impl IntoIterator<Item = &'a Self>) -> Measurements {
        let mut seen = Measurements::default();
        let each = counters.into_iter().map(Self::snapshot);
        each.for_each(|counted| seen.merge(&counted));
        let mut out = Measurements::default();
        for (kind, operations) in seen.kinds() {
            let mut operations = operations.clone();
            let of = |bytes: Option<u64>| Some(operations.count.saturating_mul(bytes?));
            let (least, most) = (of(operations.smallest_bytes), of(operations.largest_bytes));
            operations.bytes = operations.bytes.max(least.unwrap_or(0));
            operations.bytes = operations.bytes.min(most.unwrap_or(u64::MAX));
            out.insert(kind, operations);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_seen_in_the_snapshot() {
        let live = LiveCounters::new(&[("read", true), ("write", false)], true);
        live.kind(0).succeeded(4096, 500, 300);
        live.kind(0).succeeded(8192, 700, 300);
        live.kind(0).failed();
        let read = live.snapshot().kind("read").cloned().unwrap();
        assert_eq!((read.count, read.bytes, read.errors), (2, 12_288, 1));
        assert_eq!(
            (read.smallest_bytes, read.largest_bytes),
            (Some(4096), Some(8192))
        );
        assert_eq!(read.latency.sum(), 1200);
        assert_eq!(read.service.unwrap().sum(), 600);
        assert!(live.snapshot().kind("write").is_none());
    }

    #[test]
    fn counters_of_two_workers_share_no_line_of_the_cache() {
        let workers: Vec<_> = (0..2)
            .map(|_| LiveCounters::new(&[("read", true)], false))
            .collect();
        let lines = |worker: &LiveCounters| {
            let kind = std::ptr::from_ref(worker.kind(0)).addr() / 128;
            [std::ptr::from_ref(worker).addr() / 128, kind]
        };
        let [first, second] = [lines(&workers[0]), lines(&workers[1])];
        assert!(first.iter().all(|line| !second.contains(line)));
        assert_eq!(size_of::<LiveCounters>() % 128, 0);
        assert_eq!(size_of::<LiveOperations>() % 128, 0);
    }
}
