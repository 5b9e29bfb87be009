//! One workload from preparation to record.

mod apart;
mod file_limit;
mod finished;
mod reports;

use crate::account::Ended;
use crate::common_start;
use crate::error::RunError;
use crate::prepare::{Among, beside_unknown, check, prepare_among, residency};
use crate::resolve::{Resolved, resolve, shown};
use crate::setup::Shared;
use crate::snapshot::Snapshots;
use crate::thread::{Gate, WorkerReport, WorkerTask};
use apart::check_apart;
use file_limit::check_file_limit;
use finished::{WrittenEnd, end_together, end_unbegun};
use host::{
    Context, Counted, Event, Measured, Observation, Participant, Session, Watch, fresh_run,
};
use record::{Outcome, Record, Status};
use reports::{side_by_side, used_by, wait_until_ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use sys::Clock;
use workload::{EngineFeature, Phase, Stage};

/// How long workers may take to end once a signal or an error has stopped the run.
const GRACE_NS: u64 = 6_000_000_000;

/// Checks a workload without touching its target.
///
/// # Errors
/// As [`execute`], before anything is touched.
pub fn dry_run(phase: &Phase, context: &Context) -> Result<PlannedRun, RunError> {
    let resolved = resolve(&phase.workload, &context.machine)?;
    check_file_limit(&resolved, sys::raise_file_limit())?;
    let fill_bytes = check(&resolved)?;
    Ok(PlannedRun {
        resolved,
        fill_bytes,
    })
}

/// What a run would do.
pub struct PlannedRun {
    pub resolved: Resolved,
    /// Bytes that are written before the measured time, so that there is something to read.
    pub fill_bytes: u64,
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
    let session = Session::open(context, 1, watch);
    let mut record = conduct(phase, session.part(0), fresh_run())?;
    session.close(std::slice::from_mut(&mut record));
    Ok(record)
}

/// Runs the workloads of a stage at the same time, in one session. Of several, each is checked
/// before the first touches anything.
///
/// # Errors
/// As [`execute`], of any of them.
pub fn execute_stage(
    stage: &Stage,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Vec<Record>, RunError> {
    let phases = stage.0.as_slice();
    if let [phase] = phases {
        return Ok(vec![execute(phase, context, watch)?]);
    }
    let planned = phases.iter().map(|phase| dry_run(phase, context));
    check_apart(&planned.collect::<Result<Vec<_>, _>>()?)?;
    let session = Session::open(context, phases.len(), watch);
    let outcomes: Vec<Result<Record, RunError>> = std::thread::scope(|scope| {
        let running: Vec<_> = phases
            .iter()
            .enumerate()
            .map(|(number, phase)| {
                let part = session.part(number);
                // Blocks of one's file are told from those of another's.
                scope.spawn(move || conduct(phase, part, fresh_run()))
            })
            .collect();
        let ended = running.into_iter().map(|thread| {
            thread
                .join()
                .expect("a panic of a run is caught in its worker")
        });
        ended.collect()
    });
    let mut records = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    session.close(&mut records);
    Ok(records)
}

/// One work; what it cannot do is said to the other ranks where there are any, for they wait.
fn conduct(phase: &Phase, part: Participant<'_, '_>, fresh_run: u64) -> Result<Record, RunError> {
    let context = part.context();
    let among = Among::of(context, fresh_run);
    let outcome = conduct_own(phase, part, &among);
    if let Err(error) = &outcome {
        among.tell(error);
    }
    outcome.map_err(|error| beside_unknown(error, context.common_start.as_ref()))
}

fn conduct_own(
    phase: &Phase,
    mut part: Participant<'_, '_>,
    among: &Among<'_>,
) -> Result<Record, RunError> {
    let context = part.context();
    common_start::check_in_time(context)?;
    let resolved = resolve(&phase.workload, &context.machine)?;
    let clock = context.clock;
    let file_limit = sys::raise_file_limit();
    check_file_limit(&resolved, file_limit)?;
    let mut tell = |done, to_do| {
        part.tell(&Event::Preparing {
            done,
            to_do,
            bytes_per_second: None,
        });
    };
    let mut prepared = prepare_among(among, &resolved, &|| clock.now(), &mut tell)?;
    let shared = Shared::new(&resolved, &prepared, context.shared_peers())?;
    let run = Run {
        context,
        resolved: &resolved,
        shared: &shared,
    };
    let file = resolved.layout.files.first();
    let record = context.record("run", &phase.name, file.map(|file| file.path.as_path()));
    let asked = &phase.workload;
    let mut snapshots = Snapshots::of(context, &record, asked, &resolved, &prepared, &shared);
    let (measured, reports, start) = match run.measure(&mut part, &mut snapshots) {
        Ok(measured) => measured,
        Err(error) => {
            end_unbegun(among, &mut prepared, &resolved.effective, &error);
            return Err(error);
        }
    };
    let own = WrittenEnd::of(&shared, &reports);
    let end = end_together(among, &mut prepared, &resolved.effective, own);
    let residency = residency(&prepared);
    let ended = Ended {
        common_start: context.common_start.as_ref().map(|_| start),
        phase,
        resolved: &resolved,
        prepared: &prepared,
        shared: &shared,
        measured,
        reports,
        residency,
        completed: end.writes.completed,
        ended_by_peers: context.peers().is_some_and(|peers| peers.is_halted()),
    };
    Ok(ended.complete(record))
}

/// The record of a run that failed before its clock started; nothing was measured.
#[must_use]
pub fn unstarted(phase: &Phase, context: &Context, error: &RunError) -> Record {
    let status = if matches!(error, RunError::Late { .. } | RunError::Missed { .. }) {
        Status::Incomplete
    } else if sys::caught_signal().is_some() {
        Status::Interrupted
    } else {
        Status::Failed
    };
    let target = phase.workload.targets.first().map(AsRef::as_ref);
    Record {
        asked: shown(&phase.workload),
        outcome: Outcome {
            status,
            exit_code: error.exit_code(),
            message: Some(error.to_string()),
        },
        ..context.record("run", &phase.name, target)
    }
}

struct Run<'a> {
    context: &'a Context,
    resolved: &'a Resolved,
    shared: &'a Arc<Shared>,
}

enum Message {
    /// With the kernel's id of the worker's thread.
    Ready(u32),
    Done(u32, Box<Result<WorkerReport, RunError>>),
}

/// What workers report, by their index.
type Reports = Vec<(u32, WorkerReport)>;

impl Run<'_> {
    fn measure(
        &self,
        part: &mut Participant<'_, '_>,
        snapshots: &mut Option<Snapshots<'_>>,
    ) -> Result<(Measured, Reports, u64), RunError> {
        let workload = &self.resolved.effective;
        let (send, receive) = channel();
        let mut gates = Vec::new();
        for index in 0..workload.threads {
            let (open, gate) = channel();
            gates.push(open);
            self.spawn(index, send.clone(), gate)?;
        }
        drop(send);
        let warmup_ns = workload.stop.warmup.0;
        let begun = wait_until_ready(&receive, workload.threads)
            .and_then(|threads| Ok((threads, self.begin(part, warmup_ns)?)));
        let (threads, start) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                for gate in &gates {
                    let _already_gone = gate.send(Gate::Cancelled);
                }
                return Err(error);
            }
        };
        for gate in &gates {
            let _already_gone = gate.send(Gate::Open(start));
        }
        let counted = Counted {
            measured: self.shared.measured.iter().collect(),
            warmup: self.shared.warmup.iter().collect(),
            users: None,
            threads,
            worker_series: workload.worker_series,
            virtual_time: workload.engine.has(EngineFeature::VirtualTime),
        };
        let mut observation = part.observe(counted, start, warmup_ns);
        snapshots.iter_mut().for_each(|own| own.begin(start));
        let reports = self.observe(&receive, &mut observation, snapshots)?;
        part.end(used_by(&reports));
        let mut measured = observation.finish(self.context.clock.now());
        if workload.engine.has(EngineFeature::VirtualTime) {
            let mut each = vec![Vec::new(); workload.threads as usize];
            reports
                .iter()
                .for_each(|(index, report)| each[*index as usize].clone_from(&report.series));
            measured.series = side_by_side(&each);
            measured.worker_series = each;
        }
        Ok((measured, reports, start))
    }

    /// Takes the place of this part in the session; returns when its workers begin, which is a
    /// moment ahead where others begin elsewhere.
    fn begin(&self, part: &mut Participant<'_, '_>, warmup_ns: u64) -> Result<u64, RunError> {
        let start = common_start::await_start(self.context)?;
        part.ready(self.resolved.storage.as_ref(), warmup_ns);
        let clock = self.context.clock;
        let common = self.context.common_start.as_ref().zip(start);
        common.map_or(Ok(()), |(common, start)| {
            common_start::still_ahead(common, clock, start)
        })?;
        Ok(start.unwrap_or_else(|| clock.now()))
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
                let _observer_waits = send.send(Message::Ready(sys::thread_id()));
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
        observation: &mut Observation<'_, '_, '_>,
        snapshots: &mut Option<Snapshots<'_>>,
    ) -> Result<Reports, RunError> {
        let mut reports = Vec::new();
        let mut halted_at = None;
        while reports.len() < self.resolved.effective.threads as usize {
            let wait = observation.wait_ns();
            match receive.recv_timeout(Duration::from_nanos(wait)) {
                Ok(Message::Done(index, outcome)) => reports.push((index, (*outcome)?)),
                Ok(Message::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = observation.woke(wait);
            snapshots.iter_mut().for_each(|own| own.look(now));
            let signal = sys::caught_signal();
            if signal.is_some() {
                self.shared.halt.store(true, Relaxed);
            }
            self.halt_together();
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

impl Run<'_> {
    /// What ends early on one rank ends on all.
    fn halt_together(&self) {
        let Some(peers) = self.context.peers() else {
            return;
        };
        if peers.is_halted() {
            self.shared.halt.store(true, Relaxed);
        } else if self.shared.halt.load(Relaxed) {
            peers.halt();
        }
    }
}
