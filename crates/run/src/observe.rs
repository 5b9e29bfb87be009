//! The series: snapshots of the live counters at interval edges, taken by the waiting main thread.

use crate::account::Accounts;
use crate::execute::{Context, Watch};
use crate::setup::Shared;
use host::{CpuTimes, DiskCounters, KernelFiles};
use record::{Interval, Measurements};

/// Beyond this many intervals neighbours are merged, so that memory does not grow with the length
/// of a run.
const MOST_INTERVALS: usize = 2048;

/// Whether progress was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Somebody,
    Nobody,
}

pub(crate) struct Observer<'a> {
    shared: &'a Shared,
    start: u64,
    interval_ns: u64,
    next_edge: u64,
    live_ns: Option<u64>,
    live_edge: u64,
    live_last: (u64, Measurements),
    last: State,
    series: Vec<Interval>,
    workers: WorkerSeries,
    disk: Option<KernelFiles<DiskCounters>>,
    cpu: Option<KernelFiles<CpuTimes>>,
    asleep: bool,
}

#[derive(Clone, Default)]
struct State {
    at: u64,
    total: Measurements,
    cpu_ns: u64,
    disk: Option<DiskCounters>,
    cpu: Option<CpuTimes>,
}

impl<'a> Observer<'a> {
    pub(crate) fn new(
        context: &Context,
        shared: &'a Shared,
        accounts: &Accounts,
        start: u64,
        asleep: bool,
    ) -> Self {
        let start = start + shared.workload.stop.warmup.0;
        let device = accounts.first_device();
        let mut out = Self {
            shared,
            start,
            interval_ns: context.interval_ns,
            next_edge: start + context.interval_ns,
            live_ns: None,
            live_edge: u64::MAX,
            live_last: (start, Measurements::default()),
            last: State::default(),
            series: Vec::new(),
            workers: WorkerSeries::new(shared),
            disk: device.and_then(|(major, minor)| context.machine.watch_disk(major, minor)),
            cpu: context.machine.watch_cpu_times(),
            asleep,
        };
        // The workers have begun, so what they have counted by now belongs to the first interval:
        // counters start empty.
        out.last = State {
            total: Measurements::default(),
            ..out.state(start)
        };
        out
    }

    /// The warm-up has ended: what it used belongs to no interval.
    pub(crate) fn begin_again(&mut self) {
        self.last = State {
            total: Measurements::default(),
            ..self.state(self.start)
        };
    }

    /// Nanoseconds until the next edge.
    pub(crate) fn until_edge(&self, now: u64) -> u64 {
        if self.asleep {
            u64::MAX
        } else {
            self.next_edge.min(self.live_edge).saturating_sub(now)
        }
    }

    /// Takes what edges have passed; an interval is as long as it really was.
    pub(crate) fn look(&mut self, now: u64, watch: &mut dyn Watch) -> Told {
        if self.asleep {
            return Told::Nobody;
        }
        let mut told = Told::Nobody;
        if self.live_ns.is_none() && now >= self.start {
            self.live_ns = Some(watch.live_interval_ns().unwrap_or(u64::MAX));
            self.live_edge = self.start.saturating_add(self.live_ns.unwrap_or(u64::MAX));
        }
        if now >= self.live_edge {
            let total = self.total();
            let operations = total.since(&self.live_last.1);
            watch.interval(&Interval {
                start_ns: self.live_last.0 - self.start,
                end_ns: now - self.start,
                operations,
                in_flight: self.in_flight(),
                ..Interval::default()
            });
            told = Told::Somebody;
            self.live_last = (now, total);
            let step = self.live_ns.unwrap_or(u64::MAX);
            self.live_edge = self.live_edge.saturating_add(step).max(now + 1);
        }
        if now >= self.next_edge {
            self.take(now);
            while self.next_edge <= now {
                self.next_edge += self.interval_ns;
            }
        }
        told
    }

    /// The series with its last, shorter interval, which ends at `now`; and those of each worker,
    /// if they are kept.
    pub(crate) fn finish(mut self, now: u64) -> (Vec<Interval>, Vec<Vec<Interval>>) {
        if !self.total().since(&self.last.total).is_empty() {
            self.take(now.max(self.last.at + 1));
        }
        (self.series, self.workers.series)
    }

    fn total(&self) -> Measurements {
        let mut sum = Measurements::default();
        self.shared
            .measured
            .iter()
            .for_each(|live| sum.merge(&live.snapshot()));
        sum
    }

    fn in_flight(&self) -> u64 {
        self.shared
            .measured
            .iter()
            .map(record::LiveCounters::in_flight)
            .sum()
    }

    fn state(&mut self, at: u64) -> State {
        let usage = sys::usage_of_process();
        State {
            at,
            total: self.total(),
            cpu_ns: usage.user_ns + usage.system_ns,
            disk: self.disk.as_mut().and_then(KernelFiles::read),
            cpu: self.cpu.as_mut().and_then(KernelFiles::read),
        }
    }

    fn take(&mut self, now: u64) {
        let state = self.state(now);
        let last = std::mem::replace(&mut self.last, state);
        let state = &self.last;
        let disk = state
            .disk
            .zip(last.disk)
            .and_then(|(now, before)| now.since(&before));
        let cpu = state
            .cpu
            .as_ref()
            .zip(last.cpu.as_ref())
            .map(|(now, before)| now.since(before).total);
        self.series.push(Interval {
            start_ns: last.at.saturating_sub(self.start),
            end_ns: now.saturating_sub(self.start),
            operations: state.total.since(&last.total),
            in_flight: self
                .shared
                .measured
                .iter()
                .map(record::LiveCounters::in_flight)
                .sum(),
            cpu_ns: state.cpu_ns.saturating_sub(last.cpu_ns),
            device_read_bytes: disk.map(|d| d.bytes_read()),
            device_written_bytes: disk.map(|d| d.bytes_written()),
            steal_share: cpu
                .filter(|c| c.elapsed() > 0)
                .map(|c| c.steal as f64 / c.elapsed() as f64),
        });
        let span = (
            last.at.saturating_sub(self.start),
            now.saturating_sub(self.start),
        );
        self.workers.take(self.shared, span);
        if self.series.len() >= MOST_INTERVALS {
            self.series = coarser(std::mem::take(&mut self.series));
            self.workers
                .series
                .iter_mut()
                .for_each(|series| *series = coarser(std::mem::take(series)));
            self.interval_ns *= 2;
        }
    }
}

/// What each worker counted in each interval; empty where nobody asked for it.
struct WorkerSeries {
    last: Vec<Measurements>,
    series: Vec<Vec<Interval>>,
}

impl WorkerSeries {
    fn new(shared: &Shared) -> Self {
        let workers = if shared.workload.worker_series {
            shared.measured.len()
        } else {
            0
        };
        Self {
            last: vec![Measurements::default(); workers],
            series: vec![Vec::new(); workers],
        }
    }

    fn take(&mut self, shared: &Shared, (start_ns, end_ns): (u64, u64)) {
        for ((live, last), series) in shared
            .measured
            .iter()
            .zip(&mut self.last)
            .zip(&mut self.series)
        {
            let now = live.snapshot();
            let operations = now.since(last);
            *last = now;
            series.push(Interval {
                start_ns,
                end_ns,
                operations,
                in_flight: live.in_flight(),
                ..Interval::default()
            });
        }
    }
}

/// Every two neighbours as one.
fn coarser(series: Vec<Interval>) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::with_capacity(series.len());
    for (index, interval) in series.into_iter().enumerate() {
        match out.last_mut().filter(|_| index % 2 == 1) {
            Some(left) => join(left, &interval),
            None => out.push(interval),
        }
    }
    out
}

fn join(left: &mut Interval, right: &Interval) {
    left.steal_share = left
        .steal_share
        .zip(right.steal_share)
        .map(|(a, b)| (a + b) / 2.0);
    left.end_ns = right.end_ns;
    left.operations.merge(&right.operations);
    left.in_flight = right.in_flight;
    left.cpu_ns += right.cpu_ns;
    left.device_read_bytes = left
        .device_read_bytes
        .zip(right.device_read_bytes)
        .map(|(a, b)| a + b);
    left.device_written_bytes = left
        .device_written_bytes
        .zip(right.device_written_bytes)
        .map(|(a, b)| a + b);
}

/// Series of several workers under virtual clocks, interval by interval.
pub(crate) fn merge_series<'a>(parts: impl Iterator<Item = &'a [Interval]>) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::new();
    for part in parts {
        for (index, interval) in part.iter().enumerate() {
            match out.get_mut(index) {
                Some(sum) => {
                    sum.operations.merge(&interval.operations);
                    sum.in_flight += interval.in_flight;
                    sum.end_ns = sum.end_ns.max(interval.end_ns);
                }
                None => out.push(interval.clone()),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Operations;

    fn interval(start_ns: u64, end_ns: u64, count: u64) -> Interval {
        let mut operations = Measurements::default();
        operations.insert(
            "read",
            Operations {
                count,
                ..Operations::default()
            },
        );
        Interval {
            start_ns,
            end_ns,
            operations,
            ..Interval::default()
        }
    }

    #[test]
    fn coarser_intervals_lose_no_operation() {
        let out = coarser(vec![
            interval(0, 1, 5),
            interval(1, 2, 6),
            interval(2, 3, 7),
        ]);
        assert_eq!(out, [interval(0, 2, 11), interval(2, 3, 7)]);
    }
}
