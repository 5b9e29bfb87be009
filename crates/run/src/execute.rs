//! One workload from preparation to record.

use crate::account::{Accounts, Ended};
use crate::error::RunError;
use crate::observe::{Observer, Told};
use crate::prepare::{check, leave_unsealed, prepare, residency, seal, use_of};
use crate::resolve::{Resolved, resolve, shown};
use crate::setup::Shared;
use crate::steps::WritePasses;
use crate::thread::{Gate, WorkerReport, WorkerTask};
use host::Machine;
use record::{Calibration, Environment, FathomVersion, Interval, Outcome, Record, SCHEMA, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use sys::{Clock, MachineClock, Vigil};
use workload::{EngineName, Phase};

/// How often signals are looked at.
const LOOK_NS: u64 = 20_000_000;
/// How long workers may take to end once a signal or an error has stopped the run.
const GRACE_NS: u64 = 6_000_000_000;

/// What every run of a process has in common.
#[derive(Clone)]
pub struct Context {
    pub clock: MachineClock,
    pub machine: Machine,
    pub fathom: FathomVersion,
    pub calibration: Calibration,
    /// Length of one interval of the series.
    pub interval_ns: u64,
    /// Runs that start together wait here for each other.
    pub together: Option<Arc<Barrier>>,
}

/// What is told while a run goes on.
pub trait Watch {
    /// `done` of `to_do` bytes were written before the run.
    fn filling(&mut self, done: u64, to_do: u64) {
        let _nobody_looks = (done, to_do);
    }

    /// An interval has ended.
    fn interval(&mut self, interval: &Interval) {
        let _nobody_looks = interval;
    }

    /// Time between two calls of `interval`.
    fn live_interval_ns(&self) -> Option<u64> {
        None
    }
}

/// A watch that looks away.
pub struct NoWatch;

impl Watch for NoWatch {}

/// Checks a workload without touching its target.
///
/// # Errors
/// As [`execute`], before anything is touched.
pub fn dry_run(phase: &Phase, context: &Context) -> Result<Resolved, RunError> {
    let resolved = resolve(&phase.workload, &context.machine)?;
    check_file_limit(&resolved, sys::raise_file_limit())?;
    check(&resolved)?;
    Ok(resolved)
}

/// Runs one workload and returns its record, whatever happened after the start.
///
/// # Errors
/// The run did not start: nothing was measured.
pub fn execute(
    phase: &Phase,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Record, RunError> {
    let mut turn = Turn(context.together.clone());
    let resolved = resolve(&phase.workload, &context.machine)?;
    let clock = context.clock;
    let file_limit = sys::raise_file_limit();
    check_file_limit(&resolved, file_limit)?;
    let mut prepared = prepare(&resolved, &|| clock.now(), &mut |done, to_do| {
        watch.filling(done, to_do)
    })?;
    let environment = environment(&resolved, context);
    let shared = Shared::new(&resolved, &prepared)?;
    let run = Run {
        context,
        resolved: &resolved,
        shared: &shared,
    };
    let started_at = sys::clock::wall_time();
    let (accounts, reports) = run.measure(&mut turn, watch)?;
    prepared.undo.keep();
    let completed = finished(&shared, &reports);
    // What stopped a worker for good may stop a writer of marks as well; a mark that is not sealed
    // says that the run did not end.
    if reports.len() == resolved.effective.threads as usize {
        seal(
            &mut prepared,
            &resolved.effective,
            completed,
            write_passes(&reports),
        );
    } else {
        leave_unsealed(&mut prepared);
    }
    let residency = residency(&prepared);
    let ended = Ended {
        phase,
        context,
        resolved: &resolved,
        prepared: &prepared,
        environment,
        shared: &shared,
        accounts,
        reports,
        residency,
        started_at,
        completed,
    };
    Ok(ended.record())
}

/// The record of a run that failed before its clock started; nothing was measured.
#[must_use]
pub fn unstarted(phase: &Phase, context: &Context, error: &RunError) -> Record {
    let started_at = humantime::format_rfc3339_millis(sys::clock::wall_time()).to_string();
    let status = if sys::caught_signal().is_some() {
        Status::Interrupted
    } else {
        Status::Failed
    };
    Record {
        schema: SCHEMA,
        id: format!("{started_at}-{}", std::process::id()),
        kind: "run".into(),
        name: phase.name.clone(),
        started_at,
        asked: shown(&phase.workload),
        environment: context.machine.environment(
            phase.workload.targets.first().map(AsRef::as_ref),
            context.fathom.clone(),
        ),
        calibration: context.calibration.clone(),
        outcome: Outcome {
            status,
            exit_code: error.exit_code(),
            message: Some(error.to_string()),
        },
        ..Record::default()
    }
}

/// Whether every block was written: a complete run that nothing cut short, or passes of which one
/// has ended.
fn finished(shared: &Shared, reports: &[(u32, WorkerReport)]) -> bool {
    let workload = &shared.workload;
    let whole = reports.len() == workload.threads as usize
        && reports.iter().all(|(_, report)| {
            report.error.is_none() && report.tally.failures() == 0 && report.tally.abandoned == 0
        });
    let passed = workload.reads_back() && write_passes(reports).ended > 0;
    let ended = workload.stop.complete
        && workload.stop.duration.is_none()
        && workload.stop.total_bytes.is_none()
        && !shared.halt.load(Relaxed);
    whole && use_of(workload).writes && (passed || ended)
}

/// Passes of writes that some worker has begun, and those that every worker has ended.
fn write_passes(reports: &[(u32, WorkerReport)]) -> WritePasses {
    let of = || reports.iter().map(|(_, report)| report.tally.write_passes);
    WritePasses {
        begun: of().map(|passes| passes.begun).max().unwrap_or(0),
        ended: of().map(|passes| passes.ended).min().unwrap_or(0),
    }
}

fn check_file_limit(resolved: &Resolved, limit: u64) -> Result<(), RunError> {
    let files = resolved.layout.files.len() as u64;
    let workload = &resolved.effective;
    let shared_by = if resolved
        .layout
        .files
        .first()
        .is_some_and(|file| file.owner.is_some())
    {
        1
    } else {
        u64::from(workload.threads)
    };
    let locks = if workload.lock_mode == workload::LockMode::None {
        1
    } else {
        2
    };
    // One more is open as long as the run lasts.
    let needed = files * (shared_by * locks + 1) + 64;
    if needed > limit && workload.files.meta.is_empty() {
        return Err(RunError::Unsuitable(format!(
            "{files} files opened by {} workers are more than the {limit} open files that `ulimit -n` allows; use fewer files or threads, or raise the limit",
            workload.threads
        )));
    }
    Ok(())
}

fn environment(resolved: &Resolved, context: &Context) -> Environment {
    let target = resolved
        .layout
        .files
        .first()
        .map(|file| file.path.as_path());
    context
        .machine
        .environment(target.map(|path: &Path| path), context.fathom.clone())
}

/// A run's place among those that start together: taken when it is ready, or given up when it
/// cannot start, so that the others do not wait.
struct Turn(Option<Arc<Barrier>>);

impl Turn {
    fn take(&mut self) {
        if let Some(barrier) = self.0.take() {
            barrier.wait();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.take();
    }
}

struct Run<'a> {
    context: &'a Context,
    resolved: &'a Resolved,
    shared: &'a Arc<Shared>,
}

enum Message {
    Ready,
    Done(u32, Box<Result<WorkerReport, RunError>>),
}

impl Run<'_> {
    fn measure(
        &self,
        turn: &mut Turn,
        watch: &mut dyn Watch,
    ) -> Result<(Accounts, Vec<(u32, WorkerReport)>), RunError> {
        let workers = self.resolved.effective.threads;
        let (send, receive) = channel();
        let mut gates = Vec::new();
        for index in 0..workers {
            let (open, gate) = channel();
            gates.push(open);
            self.spawn(index, send.clone(), gate)?;
        }
        drop(send);
        if let Err(error) = wait_until_ready(&receive, workers) {
            for gate in &gates {
                let _already_gone = gate.send(Gate::Cancelled);
            }
            return Err(error);
        }
        turn.take();
        let mut accounts = Accounts::begin(&self.context.machine, self.resolved);
        let start = self.context.clock.now();
        let warmup = self.resolved.effective.stop.warmup.0;
        for gate in &gates {
            let _already_gone = gate.send(Gate::Open(start));
        }
        let virtual_time = self.resolved.effective.engine == EngineName::Sim;
        let mut observer = Observer::new(self.context, self.shared, &accounts, start, virtual_time);
        accounts.watched = (!virtual_time).then_some((start + warmup, start + warmup));
        accounts.warm_until = (warmup > 0 && !virtual_time).then_some(start + warmup);
        let reports = self.observe(&receive, workers, &mut observer, &mut accounts, watch)?;
        accounts.end(&self.context.machine);
        accounts.watched = accounts
            .watched
            .map(|(from, _)| (from, self.context.clock.now()));
        (accounts.series, accounts.worker_series) = if virtual_time {
            let mut each = vec![Vec::new(); workers as usize];
            reports
                .iter()
                .for_each(|(index, report)| each[*index as usize].clone_from(&report.series));
            (
                crate::observe::merge_series(each.iter().map(Vec::as_slice)),
                each,
            )
        } else {
            observer.finish(self.context.clock.now())
        };
        Ok((accounts, reports))
    }

    fn spawn(
        &self,
        index: u32,
        send: Sender<Message>,
        gate: Receiver<Gate>,
    ) -> Result<(), RunError> {
        let task = WorkerTask {
            shared: Arc::clone(self.shared),
            index,
            placement: self
                .resolved
                .placement
                .get(index as usize)
                .cloned()
                .unwrap_or_default(),
            clock: self.context.clock,
            interval_ns: self.context.interval_ns,
        };
        let body = move || {
            let ready = || {
                let _observer_waits = send.send(Message::Ready);
                gate.recv().unwrap_or(Gate::Cancelled)
            };
            let outcome =
                catch_unwind(AssertUnwindSafe(|| task.run(ready))).unwrap_or_else(|panic| {
                    task.shared.halt.store(true, Relaxed);
                    let text = panic
                        .downcast_ref::<String>()
                        .cloned()
                        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                    Ok(WorkerReport {
                        error: Some(format!("the worker panicked: {}", text.unwrap_or_default())),
                        ..WorkerReport::default()
                    })
                });
            let _observer_may_have_given_up = send.send(Message::Done(index, Box::new(outcome)));
        };
        std::thread::Builder::new()
            .name(format!("fathom-{index}"))
            .stack_size(256 << 10)
            .spawn(body)
            .map(drop)
            .map_err(|e| RunError::Unsuitable(format!("cannot start worker {index}: {e}; lower --threads or raise the limit of processes")))
    }

    /// Watches the workers until all have ended, or until those that were told to stop have had
    /// their time.
    fn observe(
        &self,
        receive: &Receiver<Message>,
        workers: u32,
        observer: &mut Observer<'_>,
        accounts: &mut Accounts,
        watch: &mut dyn Watch,
    ) -> Result<Vec<(u32, WorkerReport)>, RunError> {
        let clock = self.context.clock;
        let mut reports = Vec::new();
        let mut halted_at = None;
        let mut vigil = Vigil::begin();
        let mut awake = clock.now();
        while reports.len() < workers as usize {
            let wait = observer.until_edge(clock.now()).min(LOOK_NS);
            match receive.recv_timeout(Duration::from_nanos(wait.max(1))) {
                Ok(Message::Done(index, outcome)) => reports.push((index, (*outcome)?)),
                Ok(Message::Ready) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = clock.now();
            accounts.note_stop(vigil.woke(awake, awake + wait, now));
            awake = now;
            if accounts.warm_until.take_if(|end| now >= *end).is_some() {
                accounts.begin_again(&self.context.machine);
                observer.begin_again();
            }
            if observer.look(now, watch) == Told::Somebody {
                // Whoever is told takes the time that it needs.
                awake = clock.now();
            }
            let signal = sys::caught_signal();
            if signal.is_some() {
                self.shared.halt.store(true, Relaxed);
            }
            if self.shared.halt.load(Relaxed) {
                let since = *halted_at.get_or_insert(now);
                let impatient = signal.is_some_and(|caught| caught.impatient);
                if impatient || now.saturating_sub(since) > GRACE_NS {
                    break;
                }
            }
        }
        Ok(reports)
    }
}

fn wait_until_ready(receive: &Receiver<Message>, workers: u32) -> Result<(), RunError> {
    let mut ready = 0;
    while ready < workers {
        match receive.recv() {
            Ok(Message::Ready) => ready += 1,
            Ok(Message::Done(_, outcome)) => {
                (*outcome)?;
                return Err(RunError::Unsuitable(
                    "a worker ended before it began".into(),
                ));
            }
            Err(_) => {
                return Err(RunError::Unsuitable(
                    "the workers ended before they began".into(),
                ));
            }
        }
    }
    Ok(())
}
