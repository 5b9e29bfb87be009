//! `fathom lab run`: the slots of an experiment, and the verdict.

use crate::compare::{Progress, VerdictFiles, is_decided, judged, of_lab, told};
use crate::context;
use crate::exit::Usage;
use crate::written::{RECORDS, RecordFile};
use analyze::{Question, compare_arms};
use anyhow::Result;
use clap::{ArgMatches, Command};
use conduct::{PlanExperiment, SlotConductor};
use lab::{Ended, WhyEnded};
use record::Record;
use run::safety::OutputFile;
use std::path::Path;

pub(super) fn command() -> Command {
    let command = super::which(
        Command::new("run").about("Runs an experiment, or goes on with one, and gives the verdict"),
    );
    crate::compare::verdict_arguments(command)
        .arg(super::resume())
        .arg(crate::written::force())
}

pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let (experiment, records) = super::experiment(matches)?;
    let plan = matches
        .get_one::<std::path::PathBuf>("plan")
        .map(|plan| plan.display().to_string());
    let files = VerdictFiles::new(matches, &[plan.as_deref().unwrap_or_default()])?;
    let done = done(&experiment, &records, matches.get_flag("resume"))?;
    let output = OutputFile::new(&records, RECORDS).forced(matches.get_flag("force"));
    let store = RecordFile::checked(output)?;
    sys::catch_signals();
    sys::adopt_orphans();
    let context = context::context(1_000_000_000)?;
    told(
        super::plan::text(&experiment, &records.display().to_string())
            .split("\n\n")
            .next()
            .unwrap_or_default(),
    );
    let question = question(&experiment);
    let ended = measured(&experiment, &context, &store, done, &question)?;
    let code = judged(&ended, &experiment.facts, &question, &files)?;
    Ok(exit_code(&ended, code, &experiment))
}

fn measured(
    experiment: &PlanExperiment,
    context: &host::Context,
    store: &RecordFile,
    done: Vec<Record>,
    question: &Question,
) -> Result<Ended> {
    let mut progress = Progress::new();
    let mut conductor = SlotConductor::new(experiment, context, &mut progress, &super::load);
    let mut decided =
        |records: &[Record]| compare_arms(records, question).is_ok_and(|found| is_decided(&found));
    let ended = lab::run(
        &experiment.facts,
        done,
        &mut conductor,
        &mut |line| Ok(store.keep(line)?),
        &mut decided,
    );
    ended.map_err(of_lab)
}

/// What is asked, and the options in which arms differ: that is what is compared.
pub(super) fn question(experiment: &PlanExperiment) -> Question {
    Question {
        metric: experiment.metric.clone(),
        margin: experiment.file.margin,
        factors: experiment.factors(),
    }
}

/// Records of the experiment so far.
fn done(experiment: &PlanExperiment, file: &Path, is_resumed: bool) -> Result<Vec<Record>> {
    if !file.is_file() {
        if is_resumed {
            return Err(Usage(format!(
                "there is no {} to go on with; leave --resume out",
                file.display()
            ))
            .into());
        }
        return Ok(Vec::new());
    }
    let found = record::read_records(file)?;
    let hash = experiment.facts.hash();
    let plans = found.plans.iter().map(|plan| plan.hash.as_str());
    let of_records = found
        .records
        .iter()
        .filter_map(|record| Some(record.trial.as_ref()?.plan.as_str()));
    let plans: std::collections::BTreeSet<&str> = plans.chain(of_records).collect();
    let shown = file.display();
    match (plans.contains(hash.as_str()), plans.is_empty(), is_resumed) {
        (true, _, true) => Ok(found.records),
        (true, _, false) => Err(Usage(format!("{shown} holds this experiment already; go on with it by --resume, or give another --records")).into()),
        (false, true, false) => Ok(Vec::new()),
        (false, true, true) => Err(Usage(format!("{shown} holds no experiment to go on with")).into()),
        (false, false, _) => Err(Usage(format!("{shown} holds another experiment, and a file of two cannot be judged; give another --records")).into()),
    }
}

fn exit_code(ended: &Ended, code: i32, experiment: &PlanExperiment) -> i32 {
    let blocks = ended
        .records
        .iter()
        .filter_map(|record| record.trial.as_ref());
    let passes = blocks.map(|trial| trial.block + 1).max().unwrap_or(0);
    let was_looked_at = lab::has_look(&experiment.facts, passes);
    match &ended.why {
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
