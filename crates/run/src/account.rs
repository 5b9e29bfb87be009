//! From what workers and the machine report to a record.

mod outcome;
mod targets;

use crate::execute::Context;
use crate::prepare::{Prepared, pattern_label};
use crate::resolve::{Resolved, shown};
use crate::setup::Shared;
use crate::steps::{KindTime, together};
use crate::tally::Tally;
use crate::thread::WorkerReport;
use crate::verify::MismatchClass;
use host::{CgroupThrottle, CpuTimes, DiskCounters, Machine, MemoryPressure, Pressure, ProcessIo};
use record::{
    Calibration, Coverage, DeviceAccount, Environment, Interval, LockAccount, LoopAccount,
    MachineAccount, Measurements, PaceAccount, ProcessAccount, Record, Residency, SCHEMA, Span,
    Stoppage, StorageLayer, Verification, VerificationFailure, WorkerAccount, WorkerMeasured,
};
use std::collections::BTreeMap;
use std::time::SystemTime;
use sys::Standstill;
use sys::Usage;
use targets::targets;
use workload::{LockMode, Phase};

/// The machine's counters at one moment.
#[derive(Clone, Default)]
struct Reading {
    usage: Usage,
    io: Option<ProcessIo>,
    cpu: Option<CpuTimes>,
    pressure: Option<Pressure>,
    throttle: Option<CgroupThrottle>,
    memory: Option<MemoryPressure>,
    disks: Vec<Option<DiskCounters>>,
}

/// Counters around the measured time, and the series within it.
pub(crate) struct Accounts {
    devices: Vec<(String, u32, u32)>,
    before: Reading,
    after: Reading,
    pub(crate) series: Vec<Interval>,
    /// Of each worker, where `--worker-series` asks for them.
    pub(crate) worker_series: Vec<Vec<Interval>>,
    /// When the warm-up that is still going on ends, on the workers' clock.
    pub(crate) warm_until: Option<u64>,
    /// Times in which this process stood still.
    pub(crate) stops: Vec<Stoppage>,
    /// From when to when the workers' counters were looked at, on their clock; `None` in virtual
    /// time.
    pub(crate) watched: Option<(u64, u64)>,
}

impl Accounts {
    pub(crate) fn begin(machine: &Machine, resolved: &Resolved) -> Self {
        let mut devices = Vec::new();
        if let Some(storage) = &resolved.storage {
            collect_devices(storage, &mut devices);
        }
        let before = Reading::take(machine, &devices);
        Self {
            devices,
            before,
            after: Reading::default(),
            series: Vec::new(),
            worker_series: Vec::new(),
            warm_until: None,
            stops: Vec::new(),
            watched: None,
        }
    }

    /// The measured time begins later than the run: what the warm-up used is left out.
    pub(crate) fn begin_again(&mut self, machine: &Machine) {
        self.before = Reading::take(machine, &self.devices);
    }

    /// The process stood still; in virtual time nothing was lost by it.
    pub(crate) fn note_stop(&mut self, still: Option<Standstill>) {
        let stop = |(still, (start, _)): (Standstill, (u64, u64))| {
            Stoppage::since(start, still.from, still.to, still.suspended_ns)
        };
        self.stops.extend(still.zip(self.watched).and_then(stop));
    }

    pub(crate) fn first_device(&self) -> Option<(u32, u32)> {
        self.devices
            .first()
            .map(|(_, major, minor)| (*major, *minor))
    }

    pub(crate) fn end(&mut self, machine: &Machine) {
        self.after = Reading::take(machine, &self.devices);
    }

    fn process(&self) -> ProcessAccount {
        let usage = self.after.usage.since(&self.before.usage);
        let io = self
            .after
            .io
            .as_ref()
            .zip(self.before.io.as_ref())
            .and_then(|(after, before)| after.since(before));
        ProcessAccount {
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            major_faults: usage.major_faults,
            minor_faults: usage.minor_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            max_resident_bytes: usage.max_resident_kib * 1024,
            storage_read_bytes: io.as_ref().map(|io| io.read_bytes),
            storage_written_bytes: io.as_ref().map(|io| io.write_bytes),
        }
    }

    fn machine(&self) -> MachineAccount {
        let cpu = self
            .after
            .cpu
            .as_ref()
            .zip(self.before.cpu.as_ref())
            .map(|(after, before)| after.since(before).total)
            .filter(|ticks| ticks.elapsed() > 0);
        let share = |part: fn(&host::CpuTicks) -> u64| {
            cpu.as_ref()
                .map(|ticks| part(ticks) as f64 / ticks.elapsed() as f64)
        };
        let pressure = self
            .after
            .pressure
            .as_ref()
            .zip(self.before.pressure.as_ref())
            .map(|(after, before)| after.since(before));
        let memory = self.after.memory.as_ref().zip(self.before.memory.as_ref());
        MachineAccount {
            busy_share: share(host::CpuTicks::busy),
            steal_share: share(|ticks| ticks.steal),
            iowait_share: share(|ticks| ticks.iowait),
            pressure_cpu_ns: pressure.as_ref().and_then(|p| some_ns(p.cpu.as_ref())),
            pressure_io_ns: pressure.as_ref().and_then(|p| some_ns(p.io.as_ref())),
            pressure_memory_ns: pressure.as_ref().and_then(|p| some_ns(p.memory.as_ref())),
            throttled_ns: self
                .after
                .throttle
                .as_ref()
                .zip(self.before.throttle.as_ref())
                .and_then(|(after, before)| after.since(before))
                .map(|t| t.throttled_ns),
            dirty_before_bytes: memory.and_then(|(_, before)| dirty(before)),
            dirty_after_bytes: memory.and_then(|(after, _)| dirty(after)),
            swapped_pages: memory
                .map(|(after, before)| after.since(before))
                .and_then(|m| Some(m.swapped_in_pages? + m.swapped_out_pages?)),
        }
    }

    fn devices(&self) -> Vec<DeviceAccount> {
        let both = self
            .devices
            .iter()
            .zip(self.after.disks.iter().zip(&self.before.disks));
        both.filter_map(|((name, _, _), (after, before))| {
            let counters = (*after)?.since(&(*before)?)?;
            Some(DeviceAccount {
                name: name.clone(),
                reads: counters.reads,
                read_bytes: counters.bytes_read(),
                writes: counters.writes,
                written_bytes: counters.bytes_written(),
                flushes: counters.flushes,
                busy_ns: counters.busy_ms * 1_000_000,
                queue_ns: counters.queue_ms * 1_000_000,
                reads_merged: Some(counters.reads_merged),
                writes_merged: Some(counters.writes_merged),
                read_ns: Some(counters.read_ms * 1_000_000),
                write_ns: Some(counters.write_ms * 1_000_000),
            })
        })
        .collect()
    }
}

fn dirty(memory: &MemoryPressure) -> Option<u64> {
    Some(memory.dirty_bytes? + memory.writeback_bytes?)
}

fn some_ns(stalls: Option<&host::Stalls>) -> Option<u64> {
    stalls
        .and_then(|stalls| stalls.some.as_ref())
        .map(|some| some.total_us * 1000)
}

impl Reading {
    fn take(machine: &Machine, devices: &[(String, u32, u32)]) -> Self {
        Self {
            usage: sys::usage_of_process(),
            io: machine.process_io(),
            cpu: machine.cpu_times(),
            pressure: machine.pressure(),
            throttle: machine.throttle(),
            memory: machine.memory_pressure(),
            disks: devices
                .iter()
                .map(|(_, major, minor)| machine.disk_counters(*major, *minor))
                .collect(),
        }
    }
}

fn collect_devices(layer: &StorageLayer, out: &mut Vec<(String, u32, u32)>) {
    if let Some(device) = &layer.device {
        let name = device
            .name
            .clone()
            .unwrap_or_else(|| format!("{}:{}", device.major, device.minor));
        if !out
            .iter()
            .any(|(_, major, minor)| (*major, *minor) == (device.major, device.minor))
        {
            out.push((name, device.major, device.minor));
        }
    }
    layer
        .layers
        .iter()
        .for_each(|below| collect_devices(below, out));
}

/// What a run hands over to become a record.
pub(crate) struct Ended<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) context: &'a Context,
    pub(crate) resolved: &'a Resolved,
    pub(crate) prepared: &'a Prepared,
    pub(crate) environment: Environment,
    pub(crate) shared: &'a Shared,
    pub(crate) accounts: Accounts,
    pub(crate) reports: Vec<(u32, WorkerReport)>,
    pub(crate) residency: Option<Residency>,
    pub(crate) started_at: SystemTime,
    /// Every block was written.
    pub(crate) completed: bool,
}

impl Ended<'_> {
    /// The record of the run.
    pub(crate) fn record(mut self) -> Record {
        self.reports.sort_by_key(|(index, _)| *index);
        let operations = sum(&self.shared.measured);
        let elapsed_ns = self.elapsed_ns();
        let mut generator = LoopAccount::default();
        self.reports
            .iter()
            .for_each(|(_, report)| report.tally.add_to(&mut generator));
        let verification = self.verification();
        let errors = self.errors();
        let outcome = self.outcome(&operations, verification.as_ref(), &errors);
        let workers = (0..self.resolved.effective.threads)
            .map(|index| self.worker(index))
            .collect();
        let started = humantime::format_rfc3339_millis(self.started_at).to_string();
        Record {
            schema: SCHEMA,
            id: format!("{started}-{}", std::process::id()),
            kind: "run".into(),
            name: self.phase.name.clone(),
            started_at: started,
            asked: shown(&self.phase.workload),
            effective: shown(&self.resolved.effective),
            differences: self.resolved.differences.clone(),
            notices: self
                .resolved
                .notices
                .iter()
                .chain(&self.prepared.notices)
                .cloned()
                .collect(),
            targets: targets(self.resolved, self.prepared),
            calibration: Calibration {
                clock_drift_ns: Some(self.context.clock.drift_ns()),
                ..self.context.calibration.clone()
            },
            elapsed_ns,
            pace: self.pace(&operations, elapsed_ns),
            operations,
            spans: self.spans(),
            warmup: sum(&self.shared.warmup),
            interval_ns: self.context.interval_ns,
            workers,
            generator,
            verification,
            coverage: self.coverage(),
            locks: self.locks(),
            fill: self.prepared.fill.clone(),
            process: self.accounts.process(),
            machine: self.accounts.machine(),
            devices: self.accounts.devices(),
            stops: std::mem::take(&mut self.accounts.stops),
            errors,
            outcome,
            series: self.accounts.series,
            residency: self.residency,
            environment: self.environment,
            ..Record::default()
        }
    }

    fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.reports
            .iter()
            .map(|(_, report)| &report.tally)
            .filter(|tally| tally.started > 0 || tally.ended > 0)
    }

    /// From the first worker's start to the last worker's end. A worker that was given up has
    /// counted as long as it was looked at.
    fn elapsed_ns(&self) -> u64 {
        let given_up = if self.reports.len() < self.shared.measured.len() {
            self.accounts.watched
        } else {
            None
        };
        let start = self
            .tallies()
            .map(|tally| tally.started)
            .chain(given_up.map(|(from, _)| from))
            .min()
            .unwrap_or(0);
        let end = self
            .tallies()
            .map(|tally| tally.ended)
            .chain(given_up.map(|(_, to)| to))
            .max()
            .unwrap_or(0);
        end.saturating_sub(start)
    }

    fn spans(&self) -> BTreeMap<String, Span> {
        let start = self.tallies().map(|tally| tally.started).min().unwrap_or(0);
        let span = |time: KindTime| Span {
            start_ns: time.start.saturating_sub(start),
            end_ns: time.end.saturating_sub(start),
            elapsed_ns: time.elapsed,
        };
        let times = together(self.tallies().flat_map(|tally| &tally.kind_times));
        times
            .into_iter()
            .map(|time| (time.op.name().to_owned(), span(time)))
            .collect()
    }

    fn worker(&self, index: u32) -> WorkerAccount {
        let placement = self
            .resolved
            .placement
            .get(index as usize)
            .cloned()
            .unwrap_or_default();
        let counted = self.shared.measured[index as usize].snapshot();
        let series = self
            .accounts
            .worker_series
            .get(index as usize)
            .cloned()
            .unwrap_or_default();
        let base = WorkerAccount {
            index,
            cpus: placement.cpus,
            nodes: placement.nodes,
            operations: counted.count(),
            bytes: counted.bytes(),
            measured: self
                .shared
                .workload
                .worker_series
                .then_some(WorkerMeasured {
                    operations: counted,
                    series,
                }),
            ..WorkerAccount::default()
        };
        let Some((_, report)) = self.reports.iter().find(|(i, _)| *i == index) else {
            return WorkerAccount {
                error: Some("the worker did not end in time and was given up".into()),
                ..base
            };
        };
        let start = self.tallies().map(|tally| tally.started).min().unwrap_or(0);
        WorkerAccount {
            started_ns: report.tally.started.saturating_sub(start),
            ended_ns: report.tally.ended.saturating_sub(start),
            user_ns: report.usage.user_ns,
            system_ns: report.usage.system_ns,
            run_queue_wait_ns: report.run_queue_wait_ns,
            voluntary_switches: report.usage.voluntary_switches,
            involuntary_switches: report.usage.involuntary_switches,
            engine_features: report.features.clone(),
            error: report.error.clone(),
            ..base
        }
    }

    fn pace(&self, operations: &Measurements, elapsed_ns: u64) -> Option<PaceAccount> {
        let pace = &self.resolved.effective.pace;
        if pace.rate_iops.is_none() && pace.rate_bytes.is_none() {
            return None;
        }
        let is_paced = |kind: &str| !matches!(kind, "fsync" | "fdatasync");
        let paced: u64 = operations
            .kinds()
            .filter(|(kind, _)| is_paced(kind))
            .map(|(_, kind)| kind.count + kind.errors)
            .sum();
        let achieved = if elapsed_ns > 0 {
            paced as f64 * 1e9 / elapsed_ns as f64
        } else {
            0.0
        };
        Some(PaceAccount {
            asked_per_second: pace.rate_iops.map(|rate| rate.0),
            asked_bytes_per_second: pace.rate_bytes.map(|rate| rate.0),
            achieved_per_second: achieved,
            unsent: self.tallies().map(|tally| tally.unsent).sum(),
        })
    }

    fn file_name(&self, worker: u32, file: u32) -> String {
        let (group, _, _) = self.shared.group_of(worker);
        group
            .files
            .get(file as usize)
            .map(|file| file.path.display().to_string())
            .unwrap_or_default()
    }

    fn verification(&self) -> Option<Verification> {
        let workload = &self.resolved.effective;
        if !workload.verify.on {
            return None;
        }
        let mut log = crate::verify::FailureLog::new();
        self.tallies()
            .for_each(|tally| log.merge(&tally.verification));
        let name = |id: u32| {
            self.prepared
                .files
                .get(id as usize)
                .map(|file| file.path.display().to_string())
                .unwrap_or_default()
        };
        Some(Verification {
            pattern: pattern_label(workload),
            operations: log.operations(),
            failures: log.failures(),
            by_kind: MismatchClass::ALL
                .iter()
                .map(|class| (class.name().to_owned(), log.count(*class)))
                .filter(|(_, n)| *n > 0)
                .collect(),
            first: log
                .first()
                .iter()
                .map(|m| VerificationFailure {
                    file: name(m.file),
                    offset: m.first_bad_byte,
                    kind: m.kind.class().name().into(),
                    detail: m.to_string(),
                })
                .collect(),
            self_check: "every corruption made on purpose was found".into(),
        })
    }

    fn coverage(&self) -> Option<Coverage> {
        let parts: Vec<Coverage> = self
            .shared
            .groups
            .iter()
            .filter_map(|group| group.heat.as_ref().map(crate::heat::Heat::coverage))
            .collect();
        let (first, rest) = parts.split_first()?;
        let mut sum = first.clone();
        for part in rest {
            sum.blocks += part.blocks;
            sum.touched += part.touched;
            sum.hottest_fifth_share = (sum.hottest_fifth_share * sum.uses as f64
                + part.hottest_fifth_share * part.uses as f64)
                / ((sum.uses + part.uses).max(1)) as f64;
            sum.uses += part.uses;
            sum.buckets
                .iter_mut()
                .zip(&part.buckets)
                .for_each(|(mine, theirs)| *mine += theirs);
        }
        Some(sum)
    }

    fn locks(&self) -> Option<LockAccount> {
        let mode = self.resolved.effective.lock_mode;
        if mode == LockMode::None {
            return None;
        }
        let mut account = LockAccount {
            mode: mode.word().into(),
            ..LockAccount::default()
        };
        self.reports
            .iter()
            .filter_map(|(_, report)| report.lock_wait.as_ref())
            .for_each(|wait| account.wait.merge(wait));
        Some(account)
    }
}

fn sum(counters: &[record::LiveCounters]) -> Measurements {
    let mut out = Measurements::default();
    counters.iter().for_each(|live| out.merge(&live.snapshot()));
    out
}
