//! The slots of a plan file, done: each gets an empty scratch directory and a free port, what its
//! arm needs around it, its work, and then everything is taken away again.

use crate::child::end_orphans;
use crate::clock_step::ClockEdge;
use crate::command::SlotDirs;
use crate::drain::Drain;
use crate::limits::{self, LimitGroup};
use crate::lock::{LostSlot, StoreLock};
use crate::plan_experiment::PlanExperiment;
use crate::plan_run::PlanRun;
use crate::server::Server;
use crate::spec_task::task;
use crate::surroundings;
use crate::works::Works;
use crate::{LoadTask, Task};
use host::{Context, Event, Observed, Watch};
use lab::{Builtins, Conduct, Reset, ServerSpec, Turn, Unstarted, Work, WorkSpec};
use record::{Outcome, Record, SlotPlace, Status};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use sys::Clock as _;

/// Makes a load of a scenario and options by the names of flags.
pub type LoadReader<'a> = dyn Fn(&str, &BTreeMap<String, String>) -> Result<LoadTask, String> + 'a;

/// What a slot has done so far: where a runner may be killed, and the next must take away what it
/// left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotStep {
    Noted,
    ScratchMade,
    ServerStarted,
    Prepared,
    Measured,
    ServerStopped,
    Cleared,
}

/// Carries out the slots of a plan file.
pub(crate) struct SlotConductor<'a> {
    experiment: &'a PlanExperiment,
    context: &'a Context,
    watch: &'a mut dyn Watch,
    loads: &'a LoadReader<'a>,
    lock: &'a StoreLock,
    /// Told after each step.
    hook: &'a dyn Fn(SlotStep),
    began_ns: u64,
    works: Works<'a>,
    open: Option<OpenSlot>,
    /// Number of the slot under way.
    number: u32,
    /// The task of the slot that ended last, for which the machine is waited.
    last: Option<Task>,
    drain: Drain,
    /// When the slot under way began, by both clocks.
    edge: ClockEdge,
}

/// A slot under way.
struct OpenSlot {
    place: SlotDirs,
    server: Option<(Server, ServerSpec)>,
    /// With the server as what is observed.
    context: Context,
    task: Option<Task>,
    cleanup: Option<Vec<String>>,
}

impl<'a> SlotConductor<'a> {
    pub(crate) fn new(run: &PlanRun<'a>, watch: &'a mut dyn Watch) -> Self {
        Self {
            experiment: run.experiment,
            context: run.context,
            watch,
            loads: run.loads,
            lock: run.lock,
            hook: run.hook,
            began_ns: run.context.clock.now(),
            works: Works::default(),
            open: None,
            number: 0,
            last: None,
            drain: Drain::default(),
            edge: ClockEdge::now(run.context),
        }
    }

    fn make(&mut self, turn: Turn) -> Result<(), String> {
        let experiment = self.experiment;
        let slot = LostSlot {
            turn,
            number: self.number,
        };
        self.lock.note(Some(slot), None, experiment.scratch())?;
        (self.hook)(SlotStep::Noted);
        self.edge = ClockEdge::now(self.context);
        self.drain.begin(&self.context.machine);
        experiment.check_unexchanged(turn)?;
        surroundings::prepare(&experiment.file.surroundings, self.context)?;
        let place = experiment.place(turn, self.context)?;
        (self.hook)(SlotStep::ScratchMade);
        self.open = Some(OpenSlot {
            place: place.clone(),
            server: None,
            context: self.context.clone(),
            task: None,
            cleanup: None,
        });
        let mut with = self.builtins(turn, &place)?;
        self.serve(turn, &place, &mut with, slot)?;
        let work = experiment
            .cell(turn)
            .work(&with)
            .map_err(|e| e.to_string())?;
        let before = match &work {
            WorkSpec::Command(spec) => spec.prepare.clone(),
            WorkSpec::Run { .. } | WorkSpec::Load { .. } => None,
        };
        if let (WorkSpec::Command(spec), Some(open)) = (&work, &mut self.open) {
            open.cleanup.clone_from(&spec.cleanup);
        }
        let task = task(work, &place, self.loads)?;
        if let Some(words) = before {
            place.run_around(self.context, "prepare", &words)?;
        }
        if let Some(open) = &mut self.open {
            open.task = Some(task);
        }
        (self.hook)(SlotStep::Prepared);
        Ok(())
    }

    fn builtins(&self, turn: Turn, place: &SlotDirs) -> Result<Builtins, String> {
        let experiment = self.experiment;
        let port = free_port()?;
        let mut with = experiment.builtins(turn.arm);
        for (name, value) in [
            ("pass", turn.pass.to_string()),
            ("seed", experiment.seed(turn.pass).to_string()),
            ("fathom", experiment.fathom.display().to_string()),
            ("scratch", place.scratch.display().to_string()),
            ("port", port.to_string()),
            ("url", format!("http://127.0.0.1:{port}")),
        ] {
            with.set(name, value);
        }
        Ok(with)
    }

    /// Starts the server of an arm, if it has one.
    fn serve(
        &mut self,
        turn: Turn,
        place: &SlotDirs,
        with: &mut Builtins,
        slot: LostSlot,
    ) -> Result<(), String> {
        let spec = self
            .experiment
            .cell(turn)
            .server(with)
            .map_err(|e| e.to_string())?;
        let Some(mut spec) = spec else { return Ok(()) };
        // It runs in a directory of its own, and is named from that of the plan.
        if spec.command[0].contains('/') {
            let named = place.dir.join(&spec.command[0]);
            spec.command[0] = named.display().to_string();
        }
        if let Some(words) = &spec.prepare {
            place.run_around(self.context, "server.prepare", words)?;
        }
        let group = if limits::is_none(&spec.limits) {
            None
        } else {
            let name = format!("fathom-{}-{}", place.mark, self.number);
            let version = limits::tried(&spec.limits, &format!("{name}-try"), &self.context.clock)?;
            Some(LimitGroup::make(&version, &spec.limits, &name)?)
        };
        let server = Server::start(&spec, place, group, self.context)?;
        with.set("pid", server.pid().to_string());
        let noted = self
            .lock
            .note(Some(slot), Some(server.pid()), self.experiment.scratch());
        if let Some(open) = &mut self.open {
            open.context.target = Some(Observed::Process(server.pid()));
            open.server = Some((server, spec));
        }
        (self.hook)(SlotStep::ServerStarted);
        noted
    }

    /// A slot that did not begin is a failed record.
    fn unstarted(&mut self, turn: Turn, why: String) -> Unstarted {
        let signal = sys::caught_signal();
        let row = &self.experiment.facts.rows[turn.row];
        let status = if signal.is_some() {
            Status::Interrupted
        } else {
            Status::Failed
        };
        let mut record = Record {
            outcome: Outcome {
                status,
                exit_code: signal.map_or(1, sys::CaughtSignal::exit_code),
                message: Some(why.clone()),
            },
            ..self.context.record(self.experiment.kind(), &row.name, None)
        };
        self.close(turn, &mut record);
        Unstarted {
            source: why.into(),
            record: Box::new(record),
        }
    }

    /// Ends and removes all that the slot has.
    fn close(&mut self, turn: Turn, record: &mut Record) {
        self.works.remove(record);
        self.experiment.describe(turn, record);
        let now = ClockEdge::now(self.context);
        record.notices.extend(self.edge.step_until(&now));
        let mut failures = Vec::new();
        // Before what fills it is removed.
        let full = self.experiment.is_full();
        if let Some(open) = self.open.take() {
            if let Some(words) = &open.cleanup {
                failures.extend(open.place.run_around(self.context, "cleanup", words).err());
            }
            failures.extend(stop(open.server, &open.place, self.context, record));
            (self.hook)(SlotStep::ServerStopped);
            let orphans = end_orphans(&open.place.mark);
            match orphans {
                0 => {}
                1 => record
                    .notices
                    .push("a process had left its group and was ended".to_owned()),
                several => record.notices.push(format!(
                    "{several} processes had left their group and were ended"
                )),
            }
            self.last = open.task;
            failures.extend(self.experiment.check_unexchanged(turn).err());
        }
        failures.extend(self.experiment.remove_scratch(turn));
        (self.hook)(SlotStep::Cleared);
        if !failures.is_empty() || record.outcome.status == Status::Failed {
            failures.extend(full);
        }
        // What happened to the server explains what happened to its clients.
        if !failures.is_empty() && record.outcome.status != Status::Interrupted {
            let all = failures.into_iter().chain(record.outcome.message.take());
            record.outcome = Outcome {
                status: Status::Failed,
                exit_code: 1,
                message: Some(all.collect::<Vec<_>>().join("; ")),
            };
        }
    }
}

/// Stops a server and resets what it worked on. Returns what makes the slot a failed one.
fn stop(
    server: Option<(Server, ServerSpec)>,
    place: &SlotDirs,
    context: &Context,
    record: &mut Record,
) -> Vec<String> {
    let Some((server, spec)) = server else {
        return Vec::new();
    };
    let end = server.stop(context);
    record.notices.extend(end.notices);
    let mut failures: Vec<String> = end.failure.into_iter().collect();
    if let Reset::Command(words) = &spec.reset {
        failures.extend(place.run_around(context, "reset", words).err());
    }
    failures
}

impl Conduct for SlotConductor<'_> {
    fn tell(&mut self, place: &SlotPlace<'_>) {
        self.number = place.slot;
        self.watch.on(&Event::Slot(*place));
    }

    fn elapsed_ns(&self) -> u64 {
        self.context.clock.now().saturating_sub(self.began_ns)
    }

    fn is_stopped(&self) -> bool {
        sys::caught_signal().is_some()
    }

    fn lost(&self, arm: usize) -> Option<&str> {
        self.experiment.lost(arm)
    }

    fn obstacle(&mut self) -> Option<String> {
        self.experiment.lacks_space()
    }

    fn prepare(&mut self, turn: Turn) -> Result<(), Unstarted> {
        if let Some(why) = self.experiment.lost(turn.arm) {
            let why = why.to_owned();
            return Err(self.unstarted(turn, why));
        }
        let made = self.make(turn);
        made.map_err(|why| self.unstarted(turn, why))?;
        let Some((task, context)) = self.task() else {
            return Ok(());
        };
        let made = self.works.make(&task, &context, &mut *self.watch);
        made.map_err(|mut unstarted| {
            self.close(turn, &mut unstarted.record);
            unstarted
        })
    }

    fn measure(&mut self, turn: Turn, work: Work) -> Result<Record, Unstarted> {
        let Some((task, context)) = self.task() else {
            return Err(self.unstarted(turn, "the slot is not prepared".into()));
        };
        let row = &self.experiment.facts.rows[turn.row].name;
        let measured = self
            .works
            .measure(row, &task, turn, work, &context, &mut *self.watch);
        (self.hook)(SlotStep::Measured);
        measured
    }

    fn release(&mut self, turn: Turn, record: &mut Record) {
        self.close(turn, record);
    }

    fn settle(&mut self, _turn: Turn, longest_ns: u64) -> Option<String> {
        let open = self.open.as_ref().and_then(|open| open.task.as_ref());
        let task = open.or(self.last.as_ref())?;
        self.drain.settle(task, self.context, longest_ns)
    }
}

impl Drop for SlotConductor<'_> {
    /// What the slots' directories lie in stays between them: making it anew for each would be a
    /// write to the disk.
    fn drop(&mut self) {
        let _not_there_or_not_empty = fs::remove_dir(self.experiment.scratch());
    }
}

impl SlotConductor<'_> {
    fn task(&self) -> Option<(Task, Context)> {
        let open = self.open.as_ref()?;
        Some((open.task.clone()?, open.context.clone()))
    }
}

/// A port that nobody listens on.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let port = listener.and_then(|listener| listener.local_addr());
    port.map(|address| address.port())
        .map_err(|e| format!("no free port: {e}"))
}

/// The directories of a slot, made anew.
pub(crate) fn make_scratch(at: &Path) -> Result<[PathBuf; 2], String> {
    let told = |e: std::io::Error| format!("cannot make {}: {e}", at.display());
    match fs::remove_dir_all(at) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        Ok(()) | Err(_) => {}
    }
    let both = [at.join("scratch"), at.join("prints")];
    for dir in &both {
        fs::create_dir_all(dir).map_err(told)?;
    }
    Ok(both)
}
