//! `fathom lab status` and `fathom lab report`: where an experiment stands, and its verdict so far.

use crate::compare::{VerdictFiles, judged, of_plan, told, verdict_arguments};
use crate::exit::Usage;
use crate::tell::tell;
use analyze::Question;
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::StoreLock;
use record::{PlanFacts, Record, Status, Stopping};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use units::Nanos;

pub(super) fn command() -> Command {
    let about = "Says how far an experiment is, and who runs it";
    super::which(Command::new("status").about(about))
}

pub(super) fn report_command() -> Command {
    let about = "Gives the verdicts of an experiment's records, as far as its looks allow";
    verdict_arguments(super::which(Command::new("report").about(about)))
        .arg(crate::written::force())
}

pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let (plan, records, file) = read(matches)?;
    tell(text(&plan, &records, &file).trim_end())?;
    Ok(0)
}

pub(super) fn report(matches: &ArgMatches) -> Result<i32> {
    let (plan, records, _) = read(matches)?;
    let Some(planned) = &plan.question else {
        return Err(Usage("the plan in the file asks nothing".into()).into());
    };
    let Some(metric) = crate::metric::registered(planned) else {
        return Err(Usage(format!("this version knows no metric {:?}", planned.metric)).into());
    };
    let question = Question {
        metric,
        margin: planned.margin,
        factors: BTreeSet::new(),
    };
    let files = VerdictFiles::new(matches, &[])?;
    let asked = of_plan(question, &records)?;
    let ended = lab::Ended {
        records,
        why: lab::WhyEnded::Passes,
    };
    let code = judged(&ended, &plan, &asked, &files)?;
    tell_placebos(&plan, &ended.records)?;
    Ok(code)
}

fn read(matches: &ArgMatches) -> Result<(PlanFacts, Vec<Record>, std::path::PathBuf)> {
    let (_, file) = super::plan_file(matches)?;
    let at = super::records_of(matches, &file);
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
    Ok((plan.plan.clone(), found.records, at))
}

fn text(plan: &PlanFacts, records: &[Record], file: &Path) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _infallible = writeln!(out, "{name:<12}{value}");
    };
    let (whole, failed) = (whole_blocks(plan, records), failures(records));
    let passes = whole / plan.rows.len().max(1);
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
            "{whole} complete, {passes} passes of at most {}",
            plan.most_passes
        ),
    );
    line("looks", looks(plan, passes).to_owned());
    line(
        "measured",
        format!("{} of {}", Nanos(spent), Nanos(plan.budget_ns)),
    );
    let runner = if StoreLock::is_held(file) {
        "running"
    } else if StoreLock::note_of(file).is_file() {
        "killed: go on with --resume"
    } else {
        "none"
    };
    line("runner", runner.to_owned());
    if let Some(why) = failed.last() {
        line(
            "last failure",
            why.lines().next().unwrap_or_default().to_owned(),
        );
    }
    out
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
fn whole_blocks(plan: &PlanFacts, records: &[Record]) -> usize {
    let mut attempts: BTreeMap<(u32, u32, u32), BTreeSet<u32>> = BTreeMap::new();
    let good = records
        .iter()
        .filter(|record| record.outcome.status == Status::Ok);
    for trial in good.filter_map(|record| record.trial.as_ref()) {
        let attempt = (trial.block, trial.row_number, trial.attempt);
        attempts
            .entry(attempt)
            .or_default()
            .insert(trial.arm_number);
    }
    // Of an arm that cannot be built no slot is good.
    let able: BTreeSet<u32> = attempts.values().flatten().copied().collect();
    let arms = if able.len() > 1 {
        able.len()
    } else {
        plan.arms.len()
    };
    attempts.retain(|_, of| of.len() == arms);
    let blocks: BTreeSet<(u32, u32)> = attempts
        .into_keys()
        .map(|(block, row, _)| (block, row))
        .collect();
    blocks.len()
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
        0 => ("notice", "equivalent, faster or undecided"),
        3 => ("error", "slower, or undecided where that fails"),
        4 => ("error", "no verdict is possible"),
        5 => ("warning", "ended before its first look"),
        _ => ("error", "slots failed"),
    };
    // An annotation is one line.
    let why = why.and_then(|why| why.lines().next());
    let why = why.map_or_else(String::new, |why| format!(": {}", why.replace("::", ": :")));
    told(&format!(
        "::{level} title=fathom lab {name}::{text} (exit code {code}){why}"
    ));
}
