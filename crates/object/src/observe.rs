//! The series: snapshots of the live counters at interval edges, taken by the waiting main thread.

use crate::execute::LoadWatch;
use crate::worker::Shared;
use record::{Interval, LiveCounters, Measurements};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Beyond this many intervals neighbours are merged, so that memory does not grow with the length
/// of a run.
const MOST_INTERVALS: usize = 600;

/// What was measured over the whole run, and by interval.
pub(crate) struct Measured {
    pub(crate) total: Measurements,
    pub(crate) series: Vec<Interval>,
    /// Users that were there at the end of each interval.
    pub(crate) users: Vec<u64>,
    /// Length of an interval, longer than asked where neighbours were merged.
    pub(crate) interval_ns: u64,
}

/// Whether progress was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Somebody,
    Nobody,
}

pub(crate) struct Observer {
    shared: Arc<Shared>,
    live: Vec<Arc<LiveCounters>>,
    interval_ns: u64,
    next_edge: u64,
    last: (u64, Measurements, u64),
    /// Between two looks of who watches; without anybody the edge never comes.
    live_ns: u64,
    live_edge: u64,
    live_last: (u64, Measurements),
    series: Vec<Interval>,
    users: Vec<u64>,
}

impl Observer {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        live: Vec<Arc<LiveCounters>>,
        interval_ns: u64,
        live_ns: Option<u64>,
    ) -> Self {
        let start = shared.measured_from;
        let live_ns = live_ns.map_or(u64::MAX, |ns| ns.max(1));
        Self {
            shared: Arc::clone(shared),
            live,
            interval_ns,
            next_edge: start + interval_ns,
            last: (start, Measurements::default(), cpu_ns()),
            live_ns,
            live_edge: start.saturating_add(live_ns),
            live_last: (start, Measurements::default()),
            series: Vec::new(),
            users: Vec::new(),
        }
    }

    /// The warm-up is over: CPU time counts from here.
    pub(crate) fn begin(&mut self) {
        self.last.2 = cpu_ns();
    }

    pub(crate) fn next_edge(&self) -> u64 {
        self.next_edge.min(self.live_edge)
    }

    /// Takes what edges have passed; an interval is as long as it really was.
    pub(crate) fn look(&mut self, now: u64, watch: &mut dyn LoadWatch) -> Told {
        let mut told = Told::Nobody;
        if now >= self.live_edge {
            told = Told::Somebody;
            let (start, total) = (self.shared.measured_from, self.total());
            let operations = total.since(&self.live_last.1);
            watch.interval(&Interval {
                start_ns: self.live_last.0 - start,
                end_ns: now - start,
                operations,
                ..Interval::default()
            });
            self.live_last = (now, total);
            self.live_edge = self.live_edge.saturating_add(self.live_ns).max(now + 1);
        }
        if now >= self.next_edge {
            self.take(now);
            while self.next_edge <= now {
                self.next_edge += self.interval_ns;
            }
        }
        told
    }

    /// The series with its last, shorter interval.
    pub(crate) fn finish(mut self, elapsed_ns: u64) -> Measured {
        let total = self.total();
        if !total.since(&self.last.1).is_empty() {
            self.take((self.shared.measured_from + elapsed_ns).max(self.last.0 + 1));
        }
        Measured {
            total,
            series: self.series,
            users: self.users,
            interval_ns: self.interval_ns,
        }
    }

    fn total(&self) -> Measurements {
        let mut sum = Measurements::default();
        self.live
            .iter()
            .for_each(|live| sum.merge(&live.snapshot()));
        sum
    }

    fn take(&mut self, now: u64) {
        let (total, cpu) = (self.total(), cpu_ns());
        let start = self.shared.measured_from;
        self.series.push(Interval {
            start_ns: self.last.0 - start,
            end_ns: now - start,
            operations: total.since(&self.last.1),
            in_flight: self.live.iter().map(|live| live.in_flight()).sum(),
            cpu_ns: cpu.saturating_sub(self.last.2),
            ..Interval::default()
        });
        self.users.push(self.shared.users.load(Relaxed));
        self.last = (now, total, cpu);
        if self.series.len() > MOST_INTERVALS {
            (self.series, self.users) = halved(std::mem::take(&mut self.series), &self.users);
            self.interval_ns *= 2;
        }
    }
}

/// Every two neighbours as one; users are those at the end.
fn halved(series: Vec<Interval>, users: &[u64]) -> (Vec<Interval>, Vec<u64>) {
    let mut out: Vec<Interval> = Vec::with_capacity(series.len() / 2 + 1);
    for (index, interval) in series.into_iter().enumerate() {
        match out.last_mut().filter(|_| index % 2 == 1) {
            None => out.push(interval),
            Some(first) => {
                first.end_ns = interval.end_ns;
                first.operations.merge(&interval.operations);
                first.in_flight = interval.in_flight;
                first.cpu_ns += interval.cpu_ns;
            }
        }
    }
    let users = users.chunks(2).filter_map(<[u64]>::last).copied().collect();
    (out, users)
}

fn cpu_ns() -> u64 {
    let usage = sys::usage_of_process();
    usage.user_ns + usage.system_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_neighbours_keep_time_and_counts() {
        let interval = |index: u64| {
            let mut operations = Measurements::default();
            operations.insert(
                "get",
                record::Operations {
                    count: index,
                    ..record::Operations::default()
                },
            );
            Interval {
                start_ns: index * 10,
                end_ns: index * 10 + 10,
                operations,
                in_flight: index,
                cpu_ns: 1,
                ..Interval::default()
            }
        };
        let (series, users) = halved((0..5).map(interval).collect(), &[5, 6, 7, 8, 9]);
        let shown: Vec<_> = series
            .iter()
            .map(|i| {
                (
                    i.start_ns,
                    i.end_ns,
                    i.operations.count(),
                    i.in_flight,
                    i.cpu_ns,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [(0, 20, 1, 1, 2), (20, 40, 5, 3, 2), (40, 50, 4, 4, 1)]
        );
        assert_eq!(users, [6, 8, 9]);
    }
}
