//! `fathom lab`: experiments that a plan file asks.

mod before;
mod plan;
mod run;
mod status;

use crate::exit::Usage;
use crate::run::{path, switch};
use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use conduct::{LoadTask, Places, PlanExperiment};
use lab::PlanFile;
use record::PlanFacts;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  fathom lab plan experiments/unpack.toml
  fathom lab run experiments/unpack.toml --ci
  fathom lab status experiments/unpack.toml
  fathom lab run experiments/unpack.toml --resume
  fathom compare unpack.jsonl

A plan is a TOML file: a question, arms, factors, and what is measured: `run`, `load`, or a command that is timed or whose
output is read. Slots run in blocks of random order until a look decides, the passes are run or the budget is spent.

An arm that fails in three attempts at a block is left out of that row, by name, and the others go on.

Exit codes: 0 equivalent, faster or undecided; 3 slower; 4 no verdict possible; 1 something could not run, whatever the others show;
2 usage, or this machine cannot; 5 ended before its first look; 129, 130 or 143 stopped by a signal";

/// The verb's arguments.
pub(crate) fn command() -> Command {
    Command::new("lab")
        .about("Experiments from a plan file: randomised blocks of arms until it is known which is faster")
        .after_help(AFTER_HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(plan::command())
        .subcommand(run::command())
        .subcommand(status::command())
        .subcommand(status::report_command())
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let done = match matches.subcommand() {
        Some(("plan", matches)) => plan::run(matches),
        Some(("run", matches)) => run::run(matches),
        Some(("status", matches)) => status::run(matches),
        Some(("report", matches)) => status::report(matches),
        Some(_) | None => unreachable!("clap requires one of the subcommands above"),
    };
    match (done, sys::caught_signal()) {
        // What was under way is what could not go on.
        (Err(error), Some(caught)) => {
            crate::compare::told(&format!("error: {}", crate::exit::told(&error)));
            Ok(caught.exit_code())
        }
        (done, _) => done,
    }
}

/// The arguments that say which experiment is meant.
fn which(command: Command) -> Command {
    command
        .arg(
            Arg::new("plan")
                .required(true)
                .value_name("PLAN.toml")
                .value_parser(value_parser!(PathBuf))
                .help("The plan file"),
        )
        .arg(path(
            "records",
            "FILE.jsonl",
            "Where its records are [default: its name here]",
        ))
}

/// The experiment of the arguments, and the file of its records. `known` is the plan of an earlier
/// beginning.
fn experiment(
    matches: &ArgMatches,
    known: Option<&PlanFacts>,
) -> Result<(PlanExperiment, PathBuf)> {
    let (at, file) = plan_file(matches)?;
    let records = records_of(matches, &file);
    let here = std::env::current_dir().context("the current directory cannot be read")?;
    let above = at.parent().unwrap_or(Path::new(""));
    let places = Places {
        dir: here.join(above),
        records: conduct::place_of(&records),
        fathom: std::env::current_exe().context("the program's own path cannot be read")?,
    };
    let experiment =
        PlanExperiment::new(file, &places, &load, known).map_err(crate::compare::of_lab)?;
    Ok((experiment, records))
}

fn records_of(matches: &ArgMatches, file: &PlanFile) -> PathBuf {
    match matches.get_one::<PathBuf>("records") {
        Some(records) => records.clone(),
        None => PathBuf::from(format!("{}.jsonl", file.name)),
    }
}

fn plan_file(matches: &ArgMatches) -> Result<(&PathBuf, PlanFile)> {
    let Some(at) = matches.get_one::<PathBuf>("plan") else {
        return Err(Usage("no plan file".into()).into());
    };
    let text = sys::text_at_most(at, sys::MOST_OF_A_TEXT)
        .map_err(|e| Usage(format!("cannot read {}: {e}", at.display())))?;
    let file =
        PlanFile::parse(&text, &at.display().to_string()).map_err(|e| Usage(e.to_string()))?;
    Ok((at, file))
}

/// A load of a plan file.
fn load(scenario: &str, options: &BTreeMap<String, String>) -> Result<LoadTask, String> {
    for key in options.keys() {
        crate::load::arm::check_key(key).map_err(|e| e.to_string())?;
    }
    crate::load::arm::task(scenario, options).map_err(|e| format!("{e:#}"))
}

/// The flag with which an experiment goes on.
fn resume() -> Arg {
    switch(
        "resume",
        "Go on with an experiment that was interrupted: finished slots stay",
    )
}
