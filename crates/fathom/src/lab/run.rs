//! `fathom lab run`: the slots of an experiment, and the verdict.

use super::before::found;
use crate::compare::{
    VerdictFiles, effect_seen, is_decided, judged, of_lab, of_plan, sees_nothing, tell_lost, told,
    watched,
};
use crate::context;
use crate::exit::{self, Usage};
use crate::live::{self, Live};
use crate::written::{RECORDS, RecordFile};
use analyze::{Question, compare_arms};
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::{
    PlanExperiment, PlanRun, Rehearsal, StoreLock, carry_out, recover, rehearse, write_plan,
};
use lab::{Ended, Kept, WhyEnded};
use record::{PlanFacts, Record, Stopping};
use report::VerdictFailure;
use run::safety::OutputFile;
use stats::LOOKS;
use std::collections::BTreeSet;
use std::path::Path;
use units::{Nanos, counted};

const AFTER_HELP: &str = "\
Examples:
  fathom lab run experiments/unpack.toml --ci
  fathom lab run experiments/unpack.toml --resume

Exit codes: 0 equivalent, faster or undecided; 3 slower; 4 no verdict possible; 1 slots failed; 2 usage, or this machine cannot;
5 ended before its first look; 129, 130 or 143 stopped by a signal";

pub(super) fn command() -> Command {
    let about = "Runs an experiment, or goes on with one, and gives the verdict";
    let command = super::which(Command::new("run").about(about).after_help(AFTER_HELP));
    live::arguments(crate::compare::verdict_arguments(command))
        .arg(super::resume())
        .arg(crate::run::switch(
            "ci",
            "Also write the verdicts beside the records as .md (summary) and .xml (JUnit), and annotate the job's log",
        ))
        .arg(crate::written::force())
}

pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let (plan, file) = super::plan_file(matches)?;
    let records = super::records_of(matches, &file);
    let is_ci = matches.get_flag("ci");
    let files = verdict_files(matches, plan, &records)?;
    let output = OutputFile::new(&records, RECORDS).forced(matches.get_flag("force"));
    let store = RecordFile::checked(output)?;
    let is_resumed = matches.get_flag("resume");
    if is_resumed && !records.exists() {
        let shown = records.display();
        let text = format!("there is no {shown} to go on with; leave --resume out");
        return Err(Usage(text).into());
    }
    sys::catch_signals();
    sys::adopt_orphans();
    // Before the records are read: a runner that ends meanwhile has added to them.
    let lock = StoreLock::take(&records).map_err(Usage)?;
    let ended = from_lock_to_verdict(matches, lock, &store, &files);
    match &ended {
        // Verdicts have been annotated one by one.
        Ok((code, why)) if is_ci && (why.is_some() || !matches!(code, 0 | 3 | 4)) => {
            super::status::annotate(&file.name, *code, why.as_deref());
        }
        // What was asked wrongly says nothing of the experiment, whose verdicts may lie there.
        Err(error) if exit::code_of(error) != 2 => {
            let (why, exit_code) = (exit::told(error), exit::code_of(error));
            files.fail(&VerdictFailure {
                name: &file.name,
                why: &why,
                exit_code,
            })?;
        }
        Ok(_) | Err(_) => {}
    }
    ended.map(|(code, _)| code)
}

/// Runs what is left of the experiment. Returns the exit code, and what ended it early.
fn from_lock_to_verdict(
    matches: &ArgMatches,
    lock: StoreLock,
    store: &RecordFile,
    files: &VerdictFiles,
) -> Result<(i32, Option<String>)> {
    let found = found(store.path(), matches.get_flag("resume"))?;
    let (mut experiment, records) = super::experiment(matches, found.plan.as_ref())?;
    let context = context::context(1_000_000_000)?;
    let lost = experiment.build(&context).map_err(of_lab)?;
    lost.iter().for_each(|text| told(text));
    let is_begun = found.is_this(&experiment, &records)?;
    let lock = lock.of_plan(&experiment.facts.hash());
    let run = PlanRun {
        experiment: &experiment,
        context: &context,
        loads: &super::load,
        lock: &lock,
        hook: &|_| {},
    };
    let mut done = if is_begun { found.records } else { Vec::new() };
    if let Some(lost) = recover(&run, &done).map_err(of_lab)?.filter(|_| is_begun) {
        store.keep(Kept::Record(&lost))?;
        done.push(lost);
    }
    if !is_begun {
        write_plan(&run, &records).map_err(of_lab)?;
        say_plan(&experiment, &records);
    }
    let question = question(&experiment);
    let live = Live::open(matches, &title(&experiment.facts))?;
    watched(&live, &experiment.facts, &question);
    live.knows(&done);
    if !is_begun {
        rehearsed(&run, &live)?;
    }
    let ended = measured(&run, store, done, &question, &live)?;
    live.end(&live::ended(Some(&records)));
    let asked = of_plan(question, &ended.records)?;
    let code = judged(&ended, &experiment.facts, &asked, files)?;
    super::status::tell_placebos(&experiment.facts, &ended.records)?;
    let code = exit_code(&ended, code, &experiment, !lost.is_empty());
    let lost = ended.lost.first().map(ToString::to_string);
    let why = match ended.why {
        WhyEnded::Failed(why) => Some(why),
        WhyEnded::Decided | WhyEnded::Passes | WhyEnded::Budget | WhyEnded::Signal => lost,
    };
    Ok((code, why))
}

/// Where the verdicts go.
fn verdict_files(matches: &ArgMatches, plan: &Path, records: &Path) -> Result<VerdictFiles> {
    let files = VerdictFiles::new(matches, &[&plan.display().to_string()])?;
    if !matches.get_flag("ci") {
        return Ok(files);
    }
    let beside = ["md", "xml"].map(|ending| records.with_extension(ending));
    Ok(files.and(&beside, matches)?.annotating())
}

fn say_plan(experiment: &PlanExperiment, records: &Path) {
    let text = super::plan::text(experiment, &records.display().to_string());
    told(text.split("\n\n").next().unwrap_or_default());
}

/// Slots of the baseline before the first pass, and what they say of what is to come.
fn rehearsed(run: &PlanRun<'_>, live: &Live) -> Result<()> {
    let is_baseline_lost = run.experiment.lost(run.experiment.baseline()).is_some();
    if run.experiment.file.calibrate == 0 || is_baseline_lost {
        return Ok(());
    }
    live.waits("slots of the baseline before the first pass, whose numbers are not used");
    let rehearsal = rehearse(run, &mut live.clone()).map_err(of_lab)?;
    if rehearsal.slots > 0 {
        told(&said(&rehearsal, &run.experiment.facts));
    }
    for (row, why) in &rehearsal.failed {
        let why = why.lines().next().unwrap_or_default();
        told(&format!(
            "{:<12}in {row} a slot of the baseline failed: {why}",
            ""
        ));
    }
    Ok(())
}

fn said(rehearsal: &Rehearsal, facts: &PlanFacts) -> String {
    let pass_ns = rehearsal
        .slot_ns
        .saturating_mul(u64::from(lab::slots_per_pass(facts)));
    let fit = facts.budget_ns / pass_ns.max(1) + 1;
    let passes = u32::try_from(fit)
        .unwrap_or(u32::MAX)
        .clamp(facts.least_passes, facts.most_passes);
    let mut out = format!(
        "{:<12}{} of the baseline took {} each, with all around them; a pass takes about {}, and {passes} fit the budget",
        "rehearsal",
        counted(rehearsal.slots, "slot"),
        Nanos(rehearsal.slot_ns),
        Nanos(pass_ns)
    );
    let first_look = LOOKS[0];
    if facts.stopping == Stopping::Open && passes < first_look {
        let enough = pass_ns.saturating_mul(u64::from(first_look - 1));
        out.push_str(&format!(
            "\n{:<12}it is first looked at after {first_look} passes, so that no verdict can come: a budget of {} has room for them",
            "",
            Nanos(enough.div_ceil(1_000_000_000).saturating_mul(1_000_000_000))
        ));
    }
    if let Some(spread) = rehearsal.spread {
        let shown = sees_nothing(facts).map_or_else(
            || {
                format!(
                    "{} {} a loss of about {}",
                    counted(passes, "pass"),
                    if passes == 1 { "shows" } else { "show" },
                    effect_seen(facts, spread, passes)
                )
            },
            |why| format!("no verdict can come, for {why}"),
        );
        out.push_str(&format!(
            "\n{:<12}slots vary by {:.1} %: {shown}",
            "",
            100.0 * spread
        ));
    }
    out
}

fn measured(
    run: &PlanRun<'_>,
    store: &RecordFile,
    done: Vec<Record>,
    question: &Question,
    live: &Live,
) -> Result<Ended> {
    let mut decided = |records: &[Record]| {
        let asked = of_plan(question.clone(), records);
        let found = asked
            .ok()
            .and_then(|asked| compare_arms(records, &asked).ok());
        found.iter().for_each(|found| live.looked(found));
        found.is_some_and(|found| is_decided(&found))
    };
    let mut keep = |line: Kept<'_>| {
        store.keep(line)?;
        live.keep(line);
        Ok(())
    };
    carry_out(run, done, &mut live.clone(), &mut keep, &mut decided).map_err(of_lab)
}

/// What a page of the experiment is called.
fn title(facts: &PlanFacts) -> String {
    let question = facts.question.as_ref().map_or("", |of| of.text.trim());
    if question.is_empty() {
        return facts.name.clone();
    }
    format!("{}: {}", facts.name, units::on_one_line(question))
}

/// What is asked; the options in which arms differ are what is compared.
fn question(experiment: &PlanExperiment) -> Question {
    Question {
        metric: experiment.metric.clone(),
        margin: experiment.file.margin,
        factors: BTreeSet::new(),
    }
}

fn exit_code(ended: &Ended, code: i32, experiment: &PlanExperiment, has_lost: bool) -> i32 {
    let trials = ended
        .records
        .iter()
        .filter_map(|record| record.trial.as_ref());
    let passes = trials.map(|trial| trial.block + 1).max().unwrap_or(0);
    let was_looked_at = lab::has_look(&experiment.facts, passes);
    // There is no whole verdict on an arm that cannot be built, or cannot run in a row, and that is
    // known why.
    let has_lost = has_lost || !ended.lost.is_empty();
    tell_lost(ended);
    match &ended.why {
        WhyEnded::Decided | WhyEnded::Passes if has_lost => 1,
        WhyEnded::Budget if has_lost && was_looked_at => 1,
        WhyEnded::Decided | WhyEnded::Passes => code,
        WhyEnded::Budget if was_looked_at => code,
        WhyEnded::Budget => 5,
        WhyEnded::Signal => sys::caught_signal().map_or(5, sys::CaughtSignal::exit_code),
        WhyEnded::Failed(why) => {
            told(&format!("error: the experiment ended early: {why}"));
            1
        }
    }
}
