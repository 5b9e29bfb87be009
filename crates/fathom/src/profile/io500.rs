//! `fathom profile --io500-like`: the phases of IO500, on one host or on ranks.

use super::results::{INTERVAL_NS, Results};
use crate::context;
use crate::exit::{OptionsRefused, Usage};
use crate::group;
use crate::live::{self, Live, LiveView, WorkView};
use crate::run::{switch, time};
use crate::tell::{layout, tell};
use analyze::{Study, StudyOptions, study};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use conduct::profile::{
    Io500Asked, Io500Course, Io500Group, WorkDir, arm_name, check_room, io500_phases, io500_sizes,
    io500_text, remove_stale_dirs,
};
use host::Context;
use lab::Kept;
use record::{Record, Status};
use report::{closing_answer, study_text};
use run::{execute_stage, unstarted};
use std::path::{Path, PathBuf};
use sys::Clock as _;
use units::{Bytes, Nanos};
use workload::{IO500_STONEWALL, Phase, Stage};

mod together;

pub(crate) use together::Io500Together;

const HEADING: &str = "IO500-like";
/// What such a run cannot have: it has passes and rows of its own.
const OF_ROWS: [&str; 7] = [
    "quick",
    "thorough",
    "budget",
    "passes",
    "engine",
    "allow-destroy",
    "order-seed",
];
/// What only such a run has.
pub(super) const OWN: [&str; 4] = ["stonewall", "threads", "files", "dry-run"];
/// What a plan from a file says already.
const OF_PLAN: [&str; 4] = ["stonewall", "threads", "files", "size"];

/// The arguments of such a run, and of its ranks.
pub(super) fn arguments(command: Command) -> Command {
    let own = |name: &'static str, value: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name(value).help(help);
        arg.help_heading(HEADING)
    };
    let command = command
        .arg(
            switch("io500-like", "Instead of rows run the phases of IO500 in its order, in a new directory below PATH, and give their score, which is IO500-like and no IO500 score")
                .help_heading(HEADING)
                .conflicts_with_all(OF_ROWS),
        )
        .arg(own("stonewall", "TIME", "How long each phase writes; with less than 300s the answer says that it is of a shortened run [default: 300s]"))
        .arg(own("threads", "N", "Workers of each rank [default: as many as the CPUs of a rank]").value_parser(value_parser!(u32).range(1..=4096)))
        .arg(own("files", "N", "Files of each worker of each rank in a phase of small files, at most [default: up to 1000000]").value_parser(value_parser!(u64).range(1..)))
        .arg(
            switch("dry-run", "Print the plan in TOML, which --rows takes, also changed, and touch nothing; with --hosts print the launcher's line")
                .help_heading(HEADING),
        );
    group::add_connected(command)
}

/// What the command line says.
struct Asked {
    dir: PathBuf,
    /// A plan from a file, with its name.
    plan: Option<(String, String)>,
    stonewall: Nanos,
    threads: Option<u32>,
    size: Option<Bytes>,
    files: Option<u64>,
    name: Option<String>,
}

impl Asked {
    fn read(matches: &ArgMatches) -> Result<Self> {
        let dir = matches.get_one::<PathBuf>("path").cloned();
        let dir = dir.unwrap_or_else(|| ".".into());
        let stonewall = time(matches, "stonewall")?.unwrap_or(IO500_STONEWALL);
        if stonewall.0 == 0 {
            return Err(Usage("--stonewall is a time above zero, such as 30s".into()).into());
        }
        let plan = super::rows(matches)?;
        if let Some(given) = OF_PLAN.iter().find(|key| matches.contains_id(key))
            && plan.is_some()
        {
            return Err(Usage(format!(
                "--{given} makes a plan, and --rows gives one; say it there"
            ))
            .into());
        }
        Ok(Self {
            dir,
            plan,
            stonewall,
            threads: matches.get_one("threads").copied(),
            size: super::size(matches)?,
            files: matches.get_one("files").copied(),
            name: matches.get_one::<String>("name").cloned(),
        })
    }

    /// The plan as text, for so many ranks of which so many are on this host, and where it came from.
    fn text(&self, ranks: u32, ranks_here: u32) -> Result<(String, String)> {
        if let Some((name, text)) = &self.plan {
            return Ok((name.clone(), text.clone()));
        }
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        let asked = Io500Asked {
            stonewall: self.stonewall,
            threads: self.threads.unwrap_or((cpus / ranks_here.max(1)).max(1)),
            size: self.size,
            files: self.files,
        };
        let sizes = io500_sizes(&asked, ranks, self.free()).map_err(super::told)?;
        Ok(("the plan".into(), io500_text(&asked, &sizes)))
    }

    fn phases(&self, ranks: u32, ranks_here: u32) -> Result<Vec<Phase>> {
        let (name, text) = self.text(ranks, ranks_here)?;
        let phases = io500_phases(&text, &name).map_err(super::told)?;
        check_room(&phases, ranks, self.free()).map_err(super::told)?;
        Ok(phases)
    }

    fn free(&self) -> Option<u64> {
        sys::free_bytes(&self.dir).ok().flatten()
    }

    fn check_dir(&self) -> Result<()> {
        if self.dir.is_dir() {
            return Ok(());
        }
        Err(Usage(format!(
            "{} is no directory, and --io500-like works in a new one below it; give one that exists",
            self.dir.display()
        ))
        .into())
    }

    /// Makes the directory and the course in it; what was said of leftovers goes to `notes`.
    fn begin(
        &self,
        phases: Vec<Phase>,
        group: Io500Group,
        context: &Context,
        notes: &mut Vec<String>,
    ) -> Result<Io500Course> {
        let environment = context.machine.environment(None, context.fathom.clone());
        let boot = environment.system.boot_id.unwrap_or_default();
        let boot: String = boot
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(12)
            .collect();
        let process = std::process::id();
        notes.extend(remove_stale_dirs(&self.dir, process, &boot));
        let dir = WorkDir::make(&self.dir, process, &boot).map_err(super::told)?;
        let arm = arm_name(self.name.as_deref(), &self.dir, context);
        Ok(Io500Course::new(phases, group, dir, &arm))
    }
}

/// Says what came of it all, and returns the exit code.
fn finish(results: &Results, matches: &ArgMatches, told: &Told<'_>) -> Result<i32> {
    let found = studied(told.records);
    results.write_page(told.records)?;
    tell(&told.text(matches, &found))?;
    let code = exit_code(&found, told);
    results.cards.write(|| found)?;
    Ok(code)
}

/// What a run that has ended has to say.
struct Told<'a> {
    dir: &'a Path,
    notes: &'a [String],
    /// What ended it, where no record says so.
    faults: &'a [String],
    records: &'a [Record],
    /// Phases that were planned.
    planned: usize,
    elapsed: Nanos,
}

impl Told<'_> {
    fn text(&self, matches: &ArgMatches, found: &Study) -> String {
        let layout = layout(matches);
        let ranks = self
            .records
            .iter()
            .filter_map(|record| record.group.as_ref());
        let ranks = ranks.map(|group| group.size).max().unwrap_or(1);
        let threads = self
            .records
            .first()
            .and_then(|record| record.effective.get("threads"));
        let threads = threads.map_or("?", String::as_str);
        let workers = units::counted(threads, "worker");
        let who = match ranks {
            1 => workers,
            ranks => format!("{ranks} ranks of {workers} each"),
        };
        // One that was lost or is of no use has a record too, and no number.
        let ended = self.records.iter();
        let ended = ended.filter(|record| record.outcome.status == Status::Ok);
        let mut out = format!(
            "IO500-like run in {}: {} of {} phases, {who}, {}.\n",
            self.dir.display(),
            ended.count(),
            self.planned,
            self.elapsed
        );
        self.notes
            .iter()
            .chain(self.faults)
            .for_each(|note| out.push_str(&format!("- {note}\n")));
        out.push('\n');
        out.push_str(&study_text(found, layout));
        out.push('\n');
        if layout.columns.is_some() {
            out.push_str(&closing_answer(found, layout));
        }
        out.push_str(&match matches.get_one::<PathBuf>("records") {
            Some(file) => format!(
                "The plan and the records are in {0}; `fathom report {0} -o FILE.html` shows them.\n",
                file.display()
            ),
            None => "The records are not kept; -o FILE.jsonl keeps them and the plan.\n".to_owned(),
        });
        out
    }
}

fn studied(records: &[Record]) -> Study {
    study(records, &StudyOptions::default())
}

/// 0 where every phase that was planned ended well, 1 where one failed or cannot be kept, 4 where ranks began one too
/// far apart, 5 where one is missing.
fn exit_code(found: &Study, told: &Told<'_>) -> i32 {
    if let Some(caught) = sys::caught_signal() {
        return caught.exit_code();
    }
    let outcomes = || told.records.iter().map(|record| &record.outcome);
    let failed =
        outcomes().any(|outcome| outcome.status == Status::Failed && outcome.exit_code == 1);
    let lines = found.io500.iter().flat_map(|result| &result.phases);
    let counting = lines.filter(|line| line.rate.is_some()).count();
    let apart = outcomes().filter(|outcome| outcome.status == Status::Apart);
    match (failed, counting + apart.count() >= told.planned) {
        (true, _) => 1,
        (false, false) => 5,
        (false, true) if !told.faults.is_empty() => 1,
        (false, true) => outcomes()
            .map(|outcome| outcome.exit_code)
            .max()
            .unwrap_or(5),
    }
}

/// Runs the verb.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    group::note_front(matches);
    let launch = group::Launch::read(matches)?;
    let asked = match Asked::read(matches) {
        Ok(asked) => asked,
        Err(error) => {
            let launch = launch.filter(|_| !matches.get_flag("dry-run"));
            return group::refuse(launch.as_ref(), OptionsRefused::of(error));
        }
    };
    if let Some(front) = group::LaunchFront::read(matches)? {
        return front.run(matches);
    }
    let is_dry = matches.get_flag("dry-run");
    match launch {
        Some(launch) if !is_dry => together::run(matches, &launch, asked),
        Some(launch) if !launch.is_root() => Ok(0),
        Some(_) | None if is_dry => {
            asked.check_dir()?;
            let (_, text) = asked.text(1, 1)?;
            asked.phases(1, 1)?;
            tell(text.trim_end())?;
            Ok(0)
        }
        Some(_) | None => alone(matches, &asked),
    }
}

fn alone(matches: &ArgMatches, asked: &Asked) -> Result<i32> {
    asked.check_dir()?;
    let results = Results::new(matches, &[])?;
    let phases = asked.phases(1, 1)?;
    sys::catch_signals();
    let context = context::context(INTERVAL_NS)?;
    let began = context.clock.now();
    let (mut notes, planned) = (Vec::new(), phases.len());
    let group = Io500Group { ranks: 1, shift: 0 };
    let mut course = asked.begin(phases, group, &context, &mut notes)?;
    let live = Live::open(matches, &title(&asked.dir))?;
    results.keep(Kept::Plan(course.plan()))?;
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    let ended = phases_alone(&mut course, &context, &live, &results, &mut records);
    drop(course);
    live.end(&live::ended(live::records(matches)));
    match ended {
        Err(error) if records.is_empty() => return Err(error),
        Err(error) => faults.push(crate::exit::told(&error)),
        Ok(()) => {}
    }
    let told = Told {
        dir: &asked.dir,
        notes: &notes,
        faults: &faults,
        records: &records,
        planned,
        elapsed: Nanos(context.clock.now() - began),
    };
    finish(&results, matches, &told)
}

fn title(dir: &Path) -> String {
    format!("IO500-like: {}", dir.display())
}

/// One phase after the other, each kept before the next begins.
fn phases_alone(
    course: &mut Io500Course,
    context: &Context,
    live: &Live,
    results: &Results,
    records: &mut Vec<Record>,
) -> Result<()> {
    while let Some(stage) = course.step().map_err(super::told)? {
        let mut record = measured(&stage, context, live, records.is_empty())?;
        course.took(&mut record);
        let kept = results.keep(Kept::Record(&record));
        records.push(record);
        kept?;
        if sys::caught_signal().is_some() {
            course.end();
        }
    }
    Ok(())
}

/// The record of a phase on this host alone; what did not begin is one too, but for the first.
fn measured(stage: &Stage, context: &Context, live: &Live, is_first: bool) -> Result<Record> {
    live.begin_plain(LiveView::Work(Box::new(WorkView::of_stage(stage, context))));
    let mut record = match execute_stage(stage, context, &mut live.clone()) {
        Ok(mut records) => records.pop().unwrap_or_default(),
        Err(error) if is_first => return Err(error.into()),
        Err(error) => unstarted(&stage.0[0], context, &error),
    };
    record.notices.extend(live.notice());
    live.keep(Kept::Record(&record));
    Ok(record)
}
