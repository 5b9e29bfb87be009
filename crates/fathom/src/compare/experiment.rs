//! `--run`: the sides measured as one experiment.

use super::cost::cost;
use super::factors;
use super::files::VerdictFiles;
use super::plan::experiment;
use super::sides::{of_workloads, sides};
use super::subject::OwnFiles;
use super::{compare_arms, kinds, loads, together};
use crate::context;
use crate::exit::{OptionsRefused, Usage};
use crate::group;
use crate::live::{self, ExperimentView, Live, LiveView};
use crate::run::time;
use crate::tell::say;
use crate::written::{RECORDS, RecordFile};
use analyze::{ArmsComparison, Question, Standing, StudyOptions, study};
use anyhow::Result;
use clap::ArgMatches;
use conduct::{Alone, Experiment, Generator, Task};
use host::Context;
use lab::{Ended, Kept, LabError, WhyEnded};
use record::{PlanFacts, Record};
use report::VerdictFailure;
use run::safety::OutputFile;
use stats::{Reason, Verdict};
use std::collections::BTreeSet;
use std::path::PathBuf;
use units::Nanos;

/// Measures and compares.
pub(super) fn run(
    matches: &ArgMatches,
    base: &str,
    candidates: &[String],
    question: Question,
) -> Result<i32> {
    if candidates.is_empty() {
        return Err(Usage(format!(
            "nothing to compare with {}: name a CANDIDATE, as a TOML file or KEY=VALUE; example: engine=io_uring",
            loads::shown(base)
        ))
        .into());
    }
    let names: Vec<String> = std::iter::once(base.to_owned())
        .chain(candidates.iter().cloned())
        .collect();
    group::note_front(matches);
    let launch = group::Launch::read(matches)?;
    if let Err(error) = group::FileReaders::checked(matches) {
        return group::refuse(launch.as_ref(), OptionsRefused::of(error));
    }
    if let Some(launch) = &launch
        && let Err(wrong) = together::check(matches)
    {
        // All were asked the same; the first says it.
        return if launch.is_root() { Err(wrong) } else { Ok(0) };
    }
    let files = VerdictFiles::new(
        matches,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    if let Some(front) = group::LaunchFront::read(matches)? {
        return front.run(matches);
    }
    sys::catch_signals();
    if matches.get_flag("profile") {
        return super::profile::run(matches, &names, files, question);
    }
    let mut own = OwnFiles::default();
    let asked = (names.as_slice(), files, question);
    let (experiment, asked) = match planned(matches, asked, launch.as_ref(), &mut own) {
        Ok(planned) => planned,
        Err(error) => return group::refuse(launch.as_ref(), error),
    };
    let asked = match (&launch, asked) {
        (Some(launch), asked) => return together::run(matches, launch, &experiment, asked),
        (None, Some(asked)) => asked,
        (None, None) => return Ok(0),
    };
    let context = context::context(1_000_000_000)?;
    let live = Live::open(matches, &title(matches, &names))?;
    conclude(&experiment, asked, &mut Alone, &context, &live)
}

/// What a page of it is called.
fn title(matches: &ArgMatches, names: &[String]) -> String {
    let shown = |name: &String| match matches.contains_id("load") {
        true => loads::shown(name),
        false => name.clone(),
    };
    names.iter().map(shown).collect::<Vec<_>>().join(" | ")
}

/// What is to be measured; where it goes is asked of whoever keeps the records.
fn planned(
    matches: &ArgMatches,
    (names, files, mut question): (&[String], VerdictFiles, Question),
    launch: Option<&group::Launch>,
    own: &mut OwnFiles,
) -> Result<(Experiment, Option<AskedOfExperiment>)> {
    let slot = time(matches, "slot")?.unwrap_or(Nanos(1_000_000_000));
    let sides = match matches.get_one::<String>("load") {
        Some(scenario) => loads::sides(matches, scenario, names, slot)?,
        None => {
            let mut sides = sides(matches, names, slot)?;
            if launch.is_some() {
                together::check_files(&sides)?;
                let phases = sides.iter().flat_map(|side| &side.phases);
                group::FileReaders::of(matches).check_phases(phases)?;
            }
            own.give(&mut sides)?.iter().for_each(|said| told(said));
            of_workloads(&sides)
        }
    };
    let given = sides.differing.clone();
    let experiment = experiment(matches, sides, slot, &question)?;
    if launch.is_some_and(|launch| !launch.is_root()) {
        return Ok((experiment, None));
    }
    question.factors = expected(&experiment, given, &question)?;
    let mut asked_of = files.quantities(&question);
    asked_of.try_for_each(|of| kinds::check_plan(of, &experiment))?;
    drop(asked_of);
    let store = store(matches, &experiment)?;
    let asked = AskedOfExperiment {
        store,
        question,
        files,
    };
    Ok((experiment, Some(asked)))
}

/// What is asked of an experiment, and where what comes of it goes.
pub(super) struct AskedOfExperiment {
    pub(super) store: Option<RecordFile>,
    pub(super) question: Question,
    pub(super) files: VerdictFiles,
}

/// Runs the plan and says what came of it.
pub(super) fn conclude(
    experiment: &Experiment,
    asked: AskedOfExperiment,
    generator: &mut dyn Generator,
    context: &Context,
    live: &Live,
) -> Result<i32> {
    let AskedOfExperiment {
        store,
        question,
        files,
    } = asked;
    let files = files.apart_from(&targets(experiment))?;
    told(&cost(experiment));
    let how = (generator, context);
    let ended = measure(experiment, how, store, &question, live)?;
    if ended.records.is_empty() {
        return Ok(signal_code().unwrap_or(1));
    }
    let code = judged(&ended, &experiment.plan, &question, &files)?;
    tell_lost(&ended);
    let has_lost = !ended.lost.is_empty();
    Ok(match ended.why {
        WhyEnded::Decided | WhyEnded::Passes | WhyEnded::Budget if has_lost => 1,
        WhyEnded::Decided | WhyEnded::Passes | WhyEnded::Budget => code,
        WhyEnded::Signal => signal_code().unwrap_or(code),
        WhyEnded::Failed(why) => {
            told(&format!("error: the experiment ended early: {why}"));
            1
        }
    })
}

/// Tells what could not run, where the others went on without it.
pub(crate) fn tell_lost(ended: &Ended) {
    if matches!(ended.why, WhyEnded::Failed(_)) {
        return;
    }
    for lost in &ended.lost {
        told(&format!("error: {lost}; the others went on without it"));
    }
}

/// Tells the verdicts of an experiment that has ended, and returns their exit code.
pub(crate) fn judged(
    ended: &Ended,
    plan: &PlanFacts,
    question: &Question,
    files: &VerdictFiles,
) -> Result<i32> {
    match compare_arms(&ended.records, question).map(|found| ordered(found, plan)) {
        Ok(found) => files.conclude_arms(&found, &ended.records),
        // A side without a single record, because the experiment ended before its first slot.
        Err(nothing) => {
            let why = if ended.records.is_empty() {
                "No verdict: no slot was run".to_owned()
            } else {
                format!("No verdict: {nothing}")
            };
            told(&why);
            files.fail(&VerdictFailure {
                name: &plan.name,
                why: &why,
                exit_code: 4,
            })?;
            Ok(4)
        }
    }
}

/// The options that are expected to differ: those of the sides, and those that were declared and
/// do. That every side can work is known then.
pub(super) fn expected(
    experiment: &Experiment,
    given: BTreeSet<String>,
    question: &Question,
) -> Result<BTreeSet<String>> {
    let ready = experiment.ready(&context::bare_context()).map_err(of_lab)?;
    let declared: BTreeSet<String> = given.union(&question.factors).cloned().collect();
    let differing = factors::undeclared(experiment, &ready, &declared)?;
    factors::check(
        &question.factors,
        &given.union(&differing).cloned().collect(),
        &[],
    )?;
    Ok(declared)
}

fn signal_code() -> Option<i32> {
    sys::caught_signal().map(sys::CaughtSignal::exit_code)
}

/// Beside the result, which alone is on standard output.
pub(crate) fn told(text: &str) {
    say(text);
}

/// The files that a plan measures.
fn targets(experiment: &Experiment) -> Vec<PathBuf> {
    experiment.tasks().flat_map(Task::files).collect()
}

/// The file of records, which must not hold an experiment already: blocks of the same plan have the
/// same numbers, and a file of two plans has no verdict.
pub(super) fn store(matches: &ArgMatches, experiment: &Experiment) -> Result<Option<RecordFile>> {
    let Some(file) = matches.get_one::<PathBuf>("records") else {
        return Ok(None);
    };
    let output = OutputFile::new(file, RECORDS)
        .forced(matches.get_flag("force"))
        .apart_from(&targets(experiment));
    let store = RecordFile::checked(output)?;
    if file.is_file() {
        let (hash, found) = (experiment.plan.hash(), record::read_records(file)?);
        crate::records::tell_damage(file, &found);
        let mut trials = found
            .records
            .iter()
            .filter_map(|record| record.trial.as_ref());
        if let Some(trial) = trials.next() {
            let is_same = trial.plan == hash || trials.any(|trial| trial.plan == hash);
            let file = file.display();
            return Err(Usage(if is_same {
                format!(
                    "{file} holds this very experiment already; give another --records, or no --order-seed for an independent one"
                )
            } else {
                format!(
                    "{file} holds another experiment, and a file of two cannot be judged; give another --records"
                )
            })
            .into());
        }
    }
    Ok(Some(store))
}

fn measure(
    experiment: &Experiment,
    (generator, context): (&mut dyn Generator, &Context),
    store: Option<RecordFile>,
    question: &Question,
    live: &Live,
) -> Result<Ended> {
    watched(live, &experiment.plan, question);
    let mut keep = |line: Kept<'_>| {
        store.as_ref().map_or(Ok(()), |store| store.keep(line))?;
        live.keep(line);
        Ok(())
    };
    let mut decided = |records: &[Record]| {
        let found = compare_arms(records, question).ok();
        found.iter().for_each(|found| live.looked(found));
        found.is_some_and(|found| is_decided(&found))
    };
    let ended = experiment.run_by(
        generator,
        context,
        &mut live.clone(),
        &mut keep,
        &mut decided,
    );
    live.end(&live::ended(store.as_ref().map(RecordFile::path)));
    ended.map_err(of_lab)
}

/// Has those who watch told of an experiment.
pub(crate) fn watched(live: &Live, plan: &PlanFacts, question: &Question) {
    let (metric, margin) = (&question.metric, question.margin);
    let words = plan.question.as_ref().map(|of| of.text.clone());
    let options = StudyOptions {
        metric: metric.clone(),
        margin,
        question: words.unwrap_or_default(),
        factors: question.factors.clone(),
        ..StudyOptions::default()
    };
    let fresh = Standing::new(plan, metric);
    let of_records = move |records: &[Record], is_over: bool| {
        if is_over {
            return Some(study(records, &options));
        }
        let mut standing = fresh.clone();
        records.iter().for_each(|record| standing.add(record));
        // Without all arms it would be the study of something else.
        let has_all = standing.has_all_arms();
        has_all.then(|| study(records, &options).while_it_runs(&standing))
    };
    let view = ExperimentView::new(plan, metric, margin);
    live.begin(LiveView::Experiment(Box::new(view)), of_records);
}

/// An error in the form that decides the exit code: that of a slot is the run's.
pub(crate) fn of_lab(error: LabError) -> anyhow::Error {
    match error {
        LabError::Slot { arm, row, source } => {
            crate::exit::unstarted(source).context(if row == "run" {
                arm
            } else {
                format!("{arm}, phase {row}")
            })
        }
        LabError::Plan(text) => Usage(text).into(),
        error @ (LabError::Keep(_) | LabError::Step(_)) => error.into(),
    }
}

/// More blocks change nothing. What is called carry-over may be chance, and more blocks tell; an arm
/// that is left out of some rows has its blocks later than others.
pub(crate) fn is_decided(found: &ArmsComparison) -> bool {
    found.candidates.iter().all(|of| match &of.pooled.verdict {
        Verdict::Inconclusive { .. } => false,
        // An arm without a block never ran.
        Verdict::Invalid(Reason::TooFewBlocks { n }) => *n == 0,
        Verdict::Invalid(reason) => !matches!(
            reason,
            Reason::CarryOver { .. } | Reason::MayBeCarryOver | Reason::PlaceOrArm
        ),
        Verdict::Equivalent { .. } | Verdict::Faster { .. } | Verdict::Slower { .. } => true,
    })
}

/// Candidates in the order of the plan: an order by result or by name says something that nobody
/// asked.
fn ordered(mut found: ArmsComparison, plan: &PlanFacts) -> ArmsComparison {
    found
        .candidates
        .sort_by_key(|of| plan.arms.iter().position(|arm| arm.name == of.candidate));
    found
}
