//! The sides measured by ranks: the root has the experiment, and every slot is measured by all of them.

use super::experiment::{AskedOfExperiment, conclude};
use super::sides::Side;
use super::subject::needs_own;
use crate::exit::Usage;
use crate::group::{self, GroupAsked, GroupCourse, GroupWork, KeptByRoot, Launch, RootWork};
use crate::live::Live;
use anyhow::Result;
use clap::ArgMatches;
use conduct::{Experiment, Generator, Task};
use host::Context;
use record::TargetReach;
use workload::{Phase, Stage};

/// An experiment of ranks, of which only the root has more than the workloads.
struct CompareTogether {
    experiment: Experiment,
    asked: Option<AskedOfExperiment>,
}

/// Refuses what one process does alone.
///
/// # Errors
/// It is asked.
pub(super) fn check(matches: &ArgMatches) -> Result<()> {
    let alone = ["profile", "load"];
    let is_given = |key: &&&str| match **key {
        "profile" => matches.get_flag("profile"),
        key => matches.contains_id(key),
    };
    alone.iter().find(is_given).map_or(Ok(()), |key| {
        Err(Usage(format!(
            "--{key}: it is compared by one process; ranks compare workloads of `fathom run`, and `fathom lab` takes a whole `fathom load … --hosts` as an arm"
        ))
        .into())
    })
}

/// Refuses directories in which each rank would make a file of its own.
///
/// # Errors
/// One is given.
pub(super) fn check_files(sides: &[Side]) -> Result<()> {
    let mut phases = sides.iter().flat_map(|side| &side.phases);
    let needing = phases.find(|phase| needs_own(&phase.workload));
    needing.map_or(Ok(()), |phase| {
        let target = phase.workload.targets.first();
        let target = target.map_or("the target".into(), |path| path.display().to_string());
        Err(Usage(format!(
            "{target} is a directory, in which a file would be made for one process; ranks need the name of a file: --target {target}/NAME"
        ))
        .into())
    })
}

/// Measures on all ranks that a launcher started; what is asked is the root's.
pub(super) fn run(
    matches: &ArgMatches,
    launch: &Launch,
    experiment: &Experiment,
    asked: Option<AskedOfExperiment>,
) -> Result<i32> {
    let rows = experiment.rows().iter();
    let works = rows.flat_map(|row| row.tasks.iter().map(|task| work(&row.name, task)));
    let asked = GroupAsked {
        works: works.flatten().collect(),
        output: Box::new(KeptByRoot),
        course: Some(GroupCourse::Rows(Box::new(CompareTogether {
            experiment: experiment.clone(),
            asked,
        }))),
        search: None,
        job: None,
        thresholds: Ok(Vec::new()),
    };
    group::run(matches, launch, asked)
}

fn work(row: &str, task: &Task) -> Option<GroupWork> {
    match task {
        Task::Run(workload) => Some(GroupWork::Stage(Stage(vec![Phase {
            name: row.to_owned(),
            workload: (**workload).clone(),
        }]))),
        Task::Load(_) | Task::Command(_) => None,
    }
}

impl RootWork for CompareTogether {
    fn check_reach(&self, _reach: Option<TargetReach>) -> Result<()> {
        Ok(())
    }

    fn run(
        self: Box<Self>,
        _matches: &ArgMatches,
        _hosts: &[String],
        generator: &mut dyn Generator,
        context: &Context,
        live: &Live,
    ) -> Result<i32> {
        let Some(asked) = self.asked else {
            return Err(Usage("the root alone compares".into()).into());
        };
        conclude(&self.experiment, asked, generator, context, live)
    }
}
