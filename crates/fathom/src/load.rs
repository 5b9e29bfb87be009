//! `fathom load`: one object or HTTP workload, with virtual users or an arrival rate.

pub(crate) mod arm;
mod keys;
mod knee;
mod options;
mod plan;

use crate::context;
use crate::exit::{OptionsRefused, unstarted};
use crate::group::{self, GroupWork};
use crate::keeper;
use crate::live::{self, Live, LiveView, WorkView};
use crate::output::Output;
use crate::target;
use crate::tell::say;
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::{Conductor, LoadTask, Row, Task};
use host::Context;
pub(crate) use knee::exit_code as knee_exit_code;
use lab::{Kept, LimitSearch, Turn, Unstarted, measure_once};
use object::{LoadError, LoadPlan};

/// The verb's arguments.
pub(crate) fn command() -> Command {
    options::command().arg(keeper::argument())
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    if let Some(code) = options::shown(matches)? {
        return Ok(code);
    }
    group::note_front(matches);
    let launch = group::Launch::read(matches)?;
    let read = || {
        group::FileReaders::checked(matches)?;
        let asked = options::asked(matches).map_err(usage)?;
        let search = knee::search(&asked)?;
        let scenario = matches.get_one::<String>("scenario").map(String::as_str);
        let mut plan = options::plan(scenario, asked).map_err(usage)?;
        if let Some(search) = &search {
            plan = search.first_step(plan);
        }
        plan.check().map_err(usage)?;
        let target = target::observed(matches)?;
        let given = target::beside(plan.measurable(), target.as_ref());
        plan.check_thresholds(&given).map_err(usage)?;
        Ok((plan, search, target, Output::new(matches)?))
    };
    let (plan, search, target, mut output) = match read() {
        Ok(read) => read,
        Err(error) => {
            let launch = launch.filter(|_| !matches.get_flag("dry-run"));
            return group::refuse(launch.as_ref(), OptionsRefused::of(error));
        }
    };
    let front = group::LaunchFront::read(matches)?;
    if let Some(front) = front {
        return front.run(matches);
    }
    match launch {
        Some(launch) if !matches.get_flag("dry-run") => {
            let search = search.map(knee::Search::limit);
            return together(matches, &launch, plan, search, output);
        }
        Some(launch) if !launch.is_root() => return Ok(0),
        Some(_) | None => {}
    }
    output.check_writable(&[])?;
    if matches.get_flag("dry-run") {
        let usual = options::usual_plan(matches, &plan).map_err(usage)?;
        return plan::show(matches, &plan, &usual, search.as_ref(), &output.places());
    }
    sys::catch_signals();
    let context = Context {
        target,
        ..context::context(output.interval_ns())?
    };
    let load = Load {
        context,
        live: Live::open(matches, &format!("fathom load: {}", plan.scenario.name))?,
        matches,
        output,
    };
    match search {
        Some(search) => load.find_knee(plan, search),
        None => load.once(plan),
    }
}

/// One load of all ranks that a launcher started.
fn together(
    matches: &ArgMatches,
    launch: &group::Launch,
    plan: LoadPlan,
    search: Option<LimitSearch>,
    output: Output,
) -> Result<i32> {
    let task = LoadTask {
        plan,
        asked: options::shown_as_asked(matches),
    };
    let asked = group::GroupAsked {
        works: vec![GroupWork::Load(Box::new(task))],
        course: None,
        output: Box::new(output),
        job: None,
        // Those of a scenario are part of its plan.
        thresholds: Ok(Vec::new()),
        search,
    };
    group::run(matches, launch, asked)
}

/// A mistake of the command line is told as one.
fn usage(error: LoadError) -> anyhow::Error {
    unstarted(Box::new(error))
}

/// What all steps of a command have in common.
struct Load<'a> {
    context: Context,
    live: Live,
    matches: &'a ArgMatches,
    output: Output,
}

impl Load<'_> {
    fn once(&self, plan: LoadPlan) -> Result<i32> {
        self.watched(&plan);
        let (rows, mut live) = (self.rows(plan), self.live.clone());
        let asked = options::shown_as_asked(self.matches);
        let measured = keeper::kept(self.matches, &[], Some(asked), &self.context, |context| {
            let mut conductor = Conductor::new(&rows, context, &mut live);
            measure_once(&mut conductor, Turn::default())
        });
        let mut record = match measured? {
            Ok(record) => record,
            Err(refused) => return self.refused(refused),
        };
        record.notices.extend(self.live.notice());
        self.live.keep(Kept::Record(&record));
        self.live.end(&live::ended(live::records(self.matches)));
        self.output.save(&record)?;
        let code = record.outcome.exit_code;
        self.output.finish(&[record], "")?;
        Ok(code)
    }

    /// The plan as the one task of an experiment.
    fn rows(&self, plan: LoadPlan) -> [Row; 1] {
        let task = LoadTask {
            plan,
            asked: options::shown_as_asked(self.matches),
        };
        [Row {
            name: task.plan.scenario.name.clone(),
            tasks: vec![Task::Load(Box::new(task))],
        }]
    }

    /// Has those who watch told of a load.
    fn watched(&self, plan: &LoadPlan) {
        let view = WorkView::of_load(plan, &self.context);
        self.live.begin_plain(LiveView::Work(Box::new(view)));
    }

    /// A load that did not start is a record too, unless it was asked wrongly.
    fn refused(&self, Unstarted { source, record }: Unstarted) -> Result<i32> {
        let code = record.outcome.exit_code;
        if code != 2 {
            self.output.save(&record)?;
        }
        if code > 2 {
            say(&format!("error: {source}"));
            return Ok(code);
        }
        Err(unstarted(source))
    }
}
