//! One part of a session while it runs: the edges of its warm-up and of its intervals, and when this
//! process stood still.

use super::{Participant, Session};
use crate::series::Series;
use crate::{CpuTimes, DiskCounters, Event, KernelFiles};
use record::{Interval, LiveCounters, Measurements, Stoppage};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::{Clock, Vigil};

/// The longest wait: so often signals are looked at.
const LOOK_NS: u64 = 20_000_000;

/// What a part counts while it runs.
#[derive(Default)]
pub struct Counted<'c> {
    /// Of each worker, in the measured time.
    pub measured: Vec<&'c LiveCounters>,
    /// Of each worker, before it.
    pub warmup: Vec<&'c LiveCounters>,
    /// Users that are there, where there are users.
    pub users: Option<&'c AtomicU64>,
    /// The kernel's ids of the workers' threads.
    pub threads: Vec<u32>,
    /// Whether each worker has a series of its own.
    pub worker_series: bool,
    /// The workers' time is not this machine's: there are no edges to see from here.
    pub virtual_time: bool,
}

/// What was measured; what is booked for all parts of the session is not in it.
#[derive(Debug, Default)]
pub struct Measured {
    pub operations: Measurements,
    pub warmup: Measurements,
    pub series: Vec<Interval>,
    /// Of each worker, where they were asked for.
    pub worker_series: Vec<Vec<Interval>>,
    /// Users that were there at the end of each interval.
    pub users: Vec<u64>,
    /// Length of an interval, longer than asked where neighbours were merged.
    pub interval_ns: u64,
    /// Times in which this process stood still.
    pub stops: Vec<Stoppage>,
    /// From when to when the counters were looked at; `None` in virtual time.
    pub watched: Option<(u64, u64)>,
}

/// A part that runs.
pub struct Observation<'s, 'a, 'c> {
    session: &'s Session<'a>,
    number: usize,
    counted: Counted<'c>,
    /// When the measured time begins.
    start: u64,
    is_warm: bool,
    next_edge: u64,
    live_edge: u64,
    live_last: (u64, Measurements),
    last: State,
    workers_last: Vec<Measurements>,
    series: Series,
    disk: Option<KernelFiles<DiskCounters>>,
    cpu: Option<KernelFiles<CpuTimes>>,
    /// CPU time of each of the part's threads; one that has ended used what it had.
    thread_cpu: Vec<u64>,
    vigil: Vigil,
    awake: u64,
    stops: Vec<Stoppage>,
}

/// What is known at an edge.
#[derive(Clone, Default)]
struct State {
    at: u64,
    total: Measurements,
    cpu_ns: u64,
    disk: Option<DiskCounters>,
    cpu: Option<CpuTimes>,
    target_cpu_ns: Option<u64>,
    target_resident_bytes: Option<u64>,
}

impl<'s, 'a, 'c> Observation<'s, 'a, 'c> {
    pub(super) fn new(
        part: &Participant<'s, 'a>,
        counted: Counted<'c>,
        start: u64,
        warmup_ns: u64,
    ) -> Self {
        let session = part.session;
        let context = session.context;
        let start = start + warmup_ns;
        let workers = if counted.worker_series {
            counted.measured.len()
        } else {
            0
        };
        let disk = part.devices.first();
        let mut out = Self {
            session,
            number: part.number,
            start,
            is_warm: warmup_ns == 0 || counted.virtual_time,
            next_edge: start.saturating_add(context.interval_ns),
            live_edge: start.saturating_add(session.every_ns),
            live_last: (start, Measurements::default()),
            last: State::default(),
            workers_last: vec![Measurements::default(); workers],
            series: Series {
                workers: vec![Vec::new(); workers],
                interval_ns: context.interval_ns,
                ..Series::default()
            },
            disk: disk.and_then(|disk| context.machine.watch_disk(disk.major, disk.minor)),
            cpu: context.machine.watch_cpu_times(),
            thread_cpu: vec![0; counted.threads.len()],
            vigil: Vigil::begin(),
            awake: context.clock.now(),
            stops: Vec::new(),
            counted,
        };
        out.begin();
        if !out.is_warm {
            session.tell(&Event::WarmingUp { for_ns: warmup_ns });
        }
        out
    }

    /// What is used from here on belongs to intervals. The workers may have begun, so that what
    /// they have counted belongs to the first: counters start empty.
    fn begin(&mut self) {
        self.last = State {
            total: Measurements::default(),
            ..self.state(self.start)
        };
    }

    /// How long to wait before [`Observation::woke`] is called: to the next edge, or until signals
    /// are looked at.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        if self.counted.virtual_time {
            return LOOK_NS;
        }
        let edge = if self.is_warm {
            self.next_edge.min(self.live_edge)
        } else {
            self.start
        };
        edge.saturating_sub(self.session.context.clock.now())
            .clamp(1, LOOK_NS)
    }

    /// The waiting thread is awake after it meant to wait so long; returns the time.
    pub fn woke(&mut self, meant_ns: u64) -> u64 {
        let now = self.session.context.clock.now();
        let still = self
            .vigil
            .woke(self.awake, self.awake + meant_ns, now)
            .filter(|_| !self.counted.virtual_time);
        self.stops.extend(still.and_then(|still| {
            Stoppage::since(self.start, still.from, still.to, still.suspended_ns)
        }));
        self.awake = now;
        if !self.is_warm && now >= self.start {
            self.is_warm = true;
            self.session.begin();
            self.begin();
        }
        if !self.counted.virtual_time {
            self.look(now);
        }
        now
    }

    /// Takes what edges have passed; an interval is as long as it really was.
    fn look(&mut self, now: u64) {
        if now >= self.live_edge {
            let total = self.total();
            let interval = Interval {
                start_ns: self.live_last.0 - self.start,
                end_ns: now - self.start,
                operations: total.since(&self.live_last.1),
                in_flight: self.in_flight(),
                ..Interval::default()
            };
            self.session.tell(&Event::Interval {
                part: self.number,
                interval: &interval,
            });
            self.live_last = (now, total);
            let every = self.session.every_ns;
            self.live_edge = self.live_edge.saturating_add(every).max(now + 1);
            // Whoever is told takes the time that it needs.
            self.awake = self.session.context.clock.now();
        }
        if now >= self.next_edge {
            self.take(now);
            while self.next_edge <= now {
                self.next_edge += self.series.interval_ns;
            }
        }
    }

    /// The work has ended, and its last, shorter interval ends at `end`.
    #[must_use]
    pub fn finish(mut self, end: u64) -> Measured {
        let operations = self.total();
        let is_behind = !operations.since(&self.last.total).is_empty();
        if is_behind && !self.counted.virtual_time {
            self.take(end.max(self.last.at + 1));
        }
        Measured {
            operations,
            warmup: sum(&self.counted.warmup),
            series: self.series.whole,
            worker_series: self.series.workers,
            users: self.series.users,
            interval_ns: self.series.interval_ns,
            stops: self.stops,
            watched: (!self.counted.virtual_time)
                .then(|| (self.start, self.session.context.clock.now())),
        }
    }

    fn total(&self) -> Measurements {
        sum(&self.counted.measured)
    }

    fn in_flight(&self) -> u64 {
        let live = self.counted.measured.iter();
        live.map(|live| live.in_flight()).sum()
    }

    /// CPU time of this process, or of the part's own threads where others run beside them.
    fn cpu_ns(&mut self) -> u64 {
        if self.session.parts == 1 {
            let usage = sys::usage_of_process();
            return usage.user_ns + usage.system_ns;
        }
        for (used, thread) in self.thread_cpu.iter_mut().zip(&self.counted.threads) {
            *used = sys::cpu_of_thread(*thread).map_or(*used, |now| now.max(*used));
        }
        self.thread_cpu.iter().sum()
    }

    fn state(&mut self, at: u64) -> State {
        let target = self.session.target();
        State {
            at,
            total: self.total(),
            cpu_ns: self.cpu_ns(),
            disk: self.disk.as_mut().and_then(KernelFiles::read),
            cpu: self.cpu.as_mut().and_then(KernelFiles::read),
            target_cpu_ns: target.map(|used| used.user_ns + used.system_ns),
            target_resident_bytes: target.and_then(|used| used.resident_bytes),
        }
    }

    fn take(&mut self, now: u64) {
        let state = self.state(now);
        let last = std::mem::replace(&mut self.last, state);
        let state = &self.last;
        let disk = state.disk.zip(last.disk);
        let disk = disk.and_then(|(now, before)| now.since(&before));
        let cpu = state.cpu.as_ref().zip(last.cpu.as_ref());
        let cpu = cpu.map(|(now, before)| now.since(before).total);
        let target = state.target_cpu_ns.zip(last.target_cpu_ns);
        let (start_ns, end_ns) = (
            last.at.saturating_sub(self.start),
            now.saturating_sub(self.start),
        );
        self.series.whole.push(Interval {
            start_ns,
            end_ns,
            operations: state.total.since(&last.total),
            in_flight: self.in_flight(),
            cpu_ns: state.cpu_ns.saturating_sub(last.cpu_ns),
            device_read_bytes: disk.map(|disk| disk.bytes_read()),
            device_written_bytes: disk.map(|disk| disk.bytes_written()),
            steal_share: cpu
                .filter(|cpu| cpu.elapsed() > 0)
                .map(|cpu| cpu.steal as f64 / cpu.elapsed() as f64),
            target_cpu_ns: target.map(|(now, before)| now.saturating_sub(before)),
            target_resident_bytes: state.target_resident_bytes,
        });
        self.session.saw_target(state.target_resident_bytes);
        let users = self.counted.users.map(|users| users.load(Relaxed));
        self.series.users.extend(users);
        self.take_workers(start_ns, end_ns);
        self.series.shorten();
    }

    fn take_workers(&mut self, start_ns: u64, end_ns: u64) {
        let live = self.counted.measured.iter();
        let lasts = self.workers_last.iter_mut();
        for ((live, last), series) in live.zip(lasts).zip(&mut self.series.workers) {
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

fn sum(counters: &[&LiveCounters]) -> Measurements {
    let mut out = Measurements::default();
    counters.iter().for_each(|live| out.merge(&live.snapshot()));
    out
}
