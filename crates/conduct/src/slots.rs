//! The slots of a plan file, done: each gets an empty scratch directory and a free port, what its
//! arm needs around it, its work, and then everything is taken away again.

use crate::child::end_orphans;
use crate::command::{CommandTask, SlotDirs};
use crate::plan_experiment::PlanExperiment;
use crate::works::Works;
use crate::{LoadTask, Task, drain};
use host::{Context, Event, Watch};
use lab::{Builtins, CommandSpec, Conduct, Turn, Unstarted, Work, WorkSpec};
use record::{Outcome, Record, SlotPlace, Status};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use sys::Clock as _;
use units::Bytes;
use workload::{Workload, settings};

/// Makes a load of a scenario and options by the names of flags.
pub type LoadReader<'a> = dyn Fn(&str, &BTreeMap<String, String>) -> Result<LoadTask, String> + 'a;

/// Carries out the slots of a plan file.
pub struct SlotConductor<'a> {
    experiment: &'a PlanExperiment,
    context: &'a Context,
    watch: &'a mut dyn Watch,
    loads: &'a LoadReader<'a>,
    began_ns: u64,
    works: Works,
    open: Option<OpenSlot>,
    /// The task of the slot that ended last, for which the machine is waited.
    last: Option<Task>,
}

/// A slot under way.
struct OpenSlot {
    place: SlotDirs,
    task: Task,
    cleanup: Option<Vec<String>>,
}

impl<'a> SlotConductor<'a> {
    pub fn new(
        experiment: &'a PlanExperiment,
        context: &'a Context,
        watch: &'a mut dyn Watch,
        loads: &'a LoadReader<'a>,
    ) -> Self {
        Self {
            experiment,
            context,
            watch,
            loads,
            began_ns: context.clock.now(),
            works: Works::default(),
            open: None,
            last: None,
        }
    }

    fn open(&mut self, turn: Turn) -> Result<(), Unstarted> {
        let made = self.make(turn);
        made.map_err(|why| self.unstarted(turn, why))
    }

    fn make(&mut self, turn: Turn) -> Result<(), String> {
        let experiment = self.experiment;
        let place = experiment.place(turn, self.context)?;
        let port = free_port()?;
        let mut with = Builtins::unknown();
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
        let cell = experiment.cell(turn);
        let work = cell.work(&with).map_err(|e| e.to_string())?;
        let (mut before, mut cleanup) = (None, None);
        if let WorkSpec::Command(spec) = &work {
            (before, cleanup) = (spec.prepare.clone(), spec.cleanup.clone());
        }
        let task = task(work, &place, self.loads)?;
        if let Some(words) = before {
            place.run_around(self.context, "prepare", &words)?;
        }
        self.open = Some(OpenSlot {
            place,
            task,
            cleanup,
        });
        Ok(())
    }

    /// A slot that did not begin is a failed record.
    fn unstarted(&mut self, turn: Turn, why: String) -> Unstarted {
        let signal = sys::caught_signal();
        let row = &self.experiment.facts.rows[turn.row];
        let mut record = Record {
            outcome: Outcome {
                status: if signal.is_some() {
                    Status::Interrupted
                } else {
                    Status::Failed
                },
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
        let planned = &self.experiment.facts.rows[turn.row].workloads[turn.arm];
        // Ports and directories are new in every slot and no difference between arms.
        if self.experiment.kind() == "run" {
            record.effective.extend(planned.options.clone());
        }
        let Some(open) = self.open.take() else {
            self.experiment.remove_scratch(turn);
            return;
        };
        let mut failures = Vec::new();
        if let Some(words) = &open.cleanup {
            failures.extend(open.place.run_around(self.context, "cleanup", words).err());
        }
        let orphans = end_orphans(&open.place.mark);
        if orphans > 0 {
            record.notices.push(format!(
                "{orphans} processes had left their group and were ended"
            ));
        }
        failures.extend(self.experiment.remove_scratch(turn));
        self.last = Some(open.task);
        if let (Some(why), Status::Ok) = (failures.first(), record.outcome.status) {
            record.outcome = Outcome {
                status: Status::Failed,
                exit_code: 1,
                message: Some(why.clone()),
            };
        }
    }
}

impl Conduct for SlotConductor<'_> {
    fn tell(&mut self, place: &SlotPlace<'_>) {
        self.watch.on(&Event::Slot(*place));
    }

    fn elapsed_ns(&self) -> u64 {
        self.context.clock.now().saturating_sub(self.began_ns)
    }

    fn is_stopped(&self) -> bool {
        sys::caught_signal().is_some()
    }

    fn prepare(&mut self, turn: Turn) -> Result<(), Unstarted> {
        self.open(turn)?;
        let Some(open) = &self.open else {
            return Ok(());
        };
        let task = open.task.clone();
        let made = self.works.make(&task, self.context, &mut *self.watch);
        made.map_err(|mut unstarted| {
            self.close(turn, &mut unstarted.record);
            unstarted
        })
    }

    fn measure(&mut self, turn: Turn, work: Work) -> Result<Record, Unstarted> {
        let Some(open) = &self.open else {
            return Err(self.unstarted(turn, "the slot is not prepared".into()));
        };
        let row = &self.experiment.facts.rows[turn.row].name;
        let task = open.task.clone();
        self.works
            .measure(row, &task, turn, work, self.context, &mut *self.watch)
    }

    fn release(&mut self, turn: Turn, record: &mut Record) {
        self.close(turn, record);
    }

    fn settle(&mut self, _turn: Turn, longest_ns: u64) -> Option<String> {
        let open = self.open.as_ref().map(|open| &open.task);
        let task = open.or(self.last.as_ref())?;
        drain::settle(task, self.context, longest_ns)
    }
}

/// A port that nobody listens on.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let port = listener.and_then(|listener| listener.local_addr());
    port.map(|address| address.port())
        .map_err(|e| format!("no free port: {e}"))
}

/// What a slot is to do, as a task.
pub(crate) fn task(
    work: WorkSpec,
    place: &SlotDirs,
    loads: &LoadReader<'_>,
) -> Result<Task, String> {
    match work {
        WorkSpec::Run { target, options } => run_task(target, &options, &place.dir),
        WorkSpec::Load {
            scenario,
            target,
            options,
        } => {
            let mut options = options;
            options.extend(target.map(|target| ("target".to_owned(), target)));
            loads(&scenario, &options).map(|task| Task::Load(Box::new(task)))
        }
        WorkSpec::Command(spec) => Ok(Task::Command(Box::new(CommandTask {
            spec: from_file_s_directory(*spec, &place.dir),
            place: place.clone(),
            is_warmup: false,
        }))),
    }
}

/// A program that is named by a path is meant from the directory of the plan's file.
fn from_file_s_directory(mut spec: CommandSpec, dir: &Path) -> CommandSpec {
    for words in [
        Some(&mut spec.command),
        spec.prepare.as_mut(),
        spec.cleanup.as_mut(),
    ]
    .into_iter()
    .flatten()
    {
        if words[0].contains('/') {
            words[0] = dir.join(&words[0]).display().to_string();
        }
    }
    spec
}

fn run_task(
    target: Option<String>,
    options: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<Task, String> {
    let mut workload = Workload::default();
    for (key, value) in options {
        settings::apply(&mut workload, key, value).map_err(|e| e.to_string())?;
    }
    workload
        .targets
        .extend(target.map(|target| dir.join(target)));
    Ok(Task::from(workload))
}

/// The directories of a slot, made anew.
pub(crate) fn make_scratch(at: &Path, keep_free: u64) -> Result<[PathBuf; 2], String> {
    let told = |e: std::io::Error| format!("cannot make {}: {e}", at.display());
    match fs::remove_dir_all(at) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        Ok(()) | Err(_) => {}
    }
    let both = [at.join("scratch"), at.join("prints")];
    for dir in &both {
        fs::create_dir_all(dir).map_err(told)?;
    }
    if let Ok(Some(free)) = sys::free_bytes(at)
        && free < keep_free
    {
        return Err(format!(
            "{} are free in {}, and keep-free is {}",
            Bytes(free),
            at.display(),
            Bytes(keep_free)
        ));
    }
    Ok(both)
}
