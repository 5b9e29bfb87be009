//! `fathom lab status` and `fathom lab report`: where an experiment stands, and its verdict so far.

use crate::compare::{VerdictFiles, is_decided, judged, of_plan, told, verdict_arguments};
use crate::exit::Usage;
use crate::tell::tell;
use analyze::{Question, compare_arms};
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::{PlanExperiment, StoreLock};
use lab::PlanFile;
use record::{LostCells, PlanFacts, PlannedRow, Record, Status, Stopping};
use report::{AnnotationLevel, VerdictFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use units::{Nanos, counted};

pub(super) fn command() -> Command {
    let about = "Says how far an experiment is, and who runs it";
    super::which(
        Command::new("status")
            .about(about)
            .after_help("Examples:\n  fathom lab status experiments/unpack.toml"),
    )
}

pub(super) fn report_command() -> Command {
    let about = "Gives the verdicts of an experiment's records, as far as its looks allow";
    verdict_arguments(super::which(Command::new("report").about(about).after_help("Examples:\n  fathom lab report experiments/unpack.toml\n\nExit codes: 0 equivalent, faster or undecided; 3 slower; 4 no verdict possible; 2 usage")))
        .arg(crate::written::force())
}

pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let (plan, records, file) = read(matches)?;
    tell(text(&plan, &records, &file).trim_end())?;
    Ok(0)
}

pub(super) fn report(matches: &ArgMatches) -> Result<i32> {
    let (plan, records, _) = read(matches)?;
    let question = question(&plan)?;
    let files = VerdictFiles::new(matches, &[])?;
    if records.is_empty() {
        let why = "No verdict: no slot has ended so far";
        told(why);
        files.fail(&VerdictFailure {
            name: &plan.name,
            why,
            exit_code: 4,
        })?;
        return Ok(4);
    }
    let asked = of_plan(question, &records)?;
    let ended = lab::Ended {
        records,
        why: lab::WhyEnded::Passes,
        lost: Vec::new(),
    };
    let code = judged(&ended, &plan, &asked, &files)?;
    tell_placebos(&plan, &ended.records)?;
    Ok(code)
}

/// What the plan in a file asks.
fn question(plan: &PlanFacts) -> Result<Question, Usage> {
    let Some(planned) = &plan.question else {
        return Err(Usage("the plan in the file asks nothing".into()));
    };
    let Some(metric) = crate::metric::registered(planned) else {
        let text = format!("this version knows no metric {:?}", planned.metric);
        return Err(Usage(text));
    };
    Ok(Question {
        metric,
        margin: planned.margin,
        factors: BTreeSet::new(),
    })
}

fn read(matches: &ArgMatches) -> Result<(PlanFacts, Vec<Record>, std::path::PathBuf)> {
    let (asked_in, file) = super::plan_file(matches)?;
    let at = super::records_of(matches, &file);
    if at.exists() && !at.is_file() {
        return Err(Usage(format!("{} is no file of records", at.display())).into());
    }
    if !at.is_file() {
        return Err(Usage(format!(
            "there is no {}: the experiment has not begun",
            at.display()
        ))
        .into());
    }
    let found = record::read_records(&at)?;
    crate::records::tell_damage(&at, &found);
    let Some(plan) = found.plans.first() else {
        return Err(Usage(format!("{} holds no experiment", at.display())).into());
    };
    tell_change(asked_in, &file, &plan.plan);
    Ok((plan.plan.clone(), found.records, at))
}

/// Says where the plan's file asks something else than what was run.
fn tell_change(at: &Path, file: &PlanFile, ran: &PlanFacts) {
    let mut ran = ran.clone();
    ran.arms.iter_mut().for_each(|arm| arm.identity.clear());
    let above = at.parent().unwrap_or(Path::new(""));
    let dir = std::env::current_dir().unwrap_or_default().join(above);
    // What cannot be asked any more is another thing in any case.
    let difference = match PlanExperiment::asked(file, &dir, &super::load) {
        Ok(asked) => super::before::differing(&ran, &asked),
        Err(why) => Some(why.to_string()),
    };
    if let Some(difference) = difference {
        told(&format!(
            "note: {} has changed since: {difference}; this is of the plan that ran",
            at.display()
        ));
    }
}

fn text(plan: &PlanFacts, records: &[Record], file: &Path) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _infallible = writeln!(out, "{name:<12}{value}");
    };
    let (lost, failed) = (LostCells::of(records), failures(records));
    let whole = whole_blocks(plan, records, &lost);
    let open = plan
        .rows
        .iter()
        .filter(|row| !is_closed(plan, &row.name, &lost));
    let of_row = |row: &PlannedRow| whole.iter().filter(|(_, of)| *of == row.name).count();
    let passes = open.map(of_row).min().unwrap_or(0);
    let whole = whole.len();
    let spent: u64 = records.iter().map(|record| record.elapsed_ns).sum();
    line(
        "experiment",
        format!("{} (plan {})", plan.name, plan.hash()),
    );
    line(
        "slots",
        format!(
            "{}, of which {} did not end well",
            records.len(),
            failed.len()
        ),
    );
    line(
        "blocks",
        format!(
            "{whole} complete, {} of at most {}",
            counted(passes, "pass"),
            plan.most_passes
        ),
    );
    for lost in lost.cells() {
        line("left out", lost.to_string());
    }
    line("looks", looks(plan, passes).to_owned());
    line(
        "measured",
        format!("{} of {}", Nanos(spent), Nanos(plan.budget_ns)),
    );
    let state = if StoreLock::is_held(file) {
        "running"
    } else if StoreLock::note_of(file).is_file() {
        "killed: go on with `fathom lab run --resume`"
    } else {
        ended(plan, records, passes, spent)
    };
    line("state", state.to_owned());
    if let Some(why) = failed.last() {
        line("failure", why.lines().next().unwrap_or_default().to_owned());
    }
    out
}

/// What ended an experiment that nobody runs, as far as its records tell.
fn ended(plan: &PlanFacts, records: &[Record], passes: usize, spent_ns: u64) -> &'static str {
    let is_decided = || {
        let asked = of_plan(question(plan).ok()?, records).ok()?;
        Some(is_decided(&compare_arms(records, &asked).ok()?))
    };
    let seen = u32::try_from(passes).unwrap_or(u32::MAX);
    let is_open = plan.stopping != Stopping::Fixed && lab::has_look(plan, seen);
    if passes >= plan.most_passes as usize {
        "ended: all passes are run"
    } else if is_open && is_decided() == Some(true) {
        "ended: a look decided"
    } else if spent_ns >= plan.budget_ns {
        "ended: the budget is spent"
    } else {
        "not running: go on with `fathom lab run --resume`"
    }
}

fn looks(plan: &PlanFacts, passes: usize) -> &'static str {
    let is_begun = lab::has_look(plan, u32::try_from(passes).unwrap_or(u32::MAX));
    match (plan.stopping, is_begun) {
        (Stopping::Fixed, false) => "one, at the end",
        (Stopping::Open | Stopping::EachPass, false) => "none so far",
        (Stopping::Fixed | Stopping::Open | Stopping::EachPass, true) => {
            "begun: `fathom lab report` gives the verdict so far"
        }
    }
}

/// Blocks of which one attempt is complete.
fn whole_blocks<'a>(
    plan: &PlanFacts,
    records: &'a [Record],
    lost: &LostCells,
) -> BTreeSet<(u32, &'a str)> {
    let mut attempts: BTreeMap<(u32, &str, u32), BTreeSet<&str>> = BTreeMap::new();
    let good = records
        .iter()
        .filter(|record| record.outcome.status == Status::Ok);
    for trial in good.filter_map(|record| record.trial.as_ref()) {
        let attempt = (trial.block, trial.row.as_str(), trial.attempt);
        attempts.entry(attempt).or_default().insert(&trial.arm);
    }
    // Of an arm that cannot be built no slot is good.
    let built: BTreeSet<&str> = attempts.values().flatten().copied().collect();
    let of_plan = plan.arms.iter().map(|arm| arm.name.as_str());
    let arms: Vec<&str> = of_plan
        .filter(|arm| built.len() < 2 || built.contains(arm))
        .collect();
    attempts.retain(|(_, row, _), of| {
        let mut needed = arms.iter().filter(|arm| lost.cell(row, arm).is_none());
        needed.all(|arm| of.contains(arm))
    });
    attempts
        .into_keys()
        .map(|(block, row, _)| (block, row))
        .collect()
}

/// Whether nothing is compared in a row any more.
fn is_closed(plan: &PlanFacts, row: &str, lost: &LostCells) -> bool {
    let arms = plan.arms.iter().map(|arm| (arm.role, arm.name.as_str()));
    lost.closing(row, arms).is_some()
}

fn failures(records: &[Record]) -> Vec<&str> {
    let failed = records
        .iter()
        .filter(|record| record.outcome.status != Status::Ok);
    failed
        .filter_map(|record| record.outcome.message.as_deref())
        .collect()
}

/// Tells of each placebo of a plan what it is to change and what ran instead.
pub(super) fn tell_placebos(plan: &PlanFacts, records: &[Record]) -> Result<()> {
    match placebos(plan, records).trim_end() {
        "" => Ok(()),
        text => tell(text),
    }
}

fn placebos(plan: &PlanFacts, records: &[Record]) -> String {
    let kinds = records.iter().flat_map(|record| record.operations.kinds());
    let ran: BTreeSet<&str> = kinds.map(|(kind, _)| kind).collect();
    let is_placebo = |arm: &&record::PlannedArm| {
        let expected = arm.expects.iter().map(String::as_str);
        !arm.expects.is_empty() && !expected.into_iter().any(|kind| ran.contains(kind))
    };
    let ran = ran.iter().copied().collect::<Vec<_>>().join(", ");
    let told = |arm: &record::PlannedArm| {
        let (name, expects) = (&arm.name, arm.expects.join(", "));
        format!(
            "placebo: {name} is to change {expects}, and {ran} ran: what it differs by is error\n"
        )
    };
    plan.arms.iter().filter(is_placebo).map(told).collect()
}

/// What a job of continuous integration shows beside its log; `why` is what ended it early.
pub(super) fn annotate(name: &str, code: i32, why: Option<&str>) {
    let (level, text) = match code {
        0 => (AnnotationLevel::Notice, "equivalent, faster or undecided"),
        3 => (
            AnnotationLevel::Error,
            "slower, or undecided where that fails",
        ),
        4 => (AnnotationLevel::Error, "no verdict is possible"),
        5 => (AnnotationLevel::Warning, "ended before its first look"),
        _ => (AnnotationLevel::Error, "slots failed"),
    };
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    let text = format!("{text} (exit code {code}){why}");
    crate::tell::annotate(&report::annotation(
        level,
        &format!("fathom lab {name}"),
        &text,
    ));
}
