//! A plan file's experiment from its beginning, or what an interrupted runner left of it.

use crate::left_behind::clear;
use crate::lock::{LostSlot, StoreLock};
use crate::plan_experiment::PlanExperiment;
use crate::slots::{LoadReader, SlotConductor, SlotStep};
use host::{Context, Watch};
use lab::{Conduct as _, Ended, KeepError, Kept, LabError, Turn, Unstarted};
use record::{Outcome, PlanLine, Quantity, Record, Status, Trial};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What carries an experiment out, beside its plan.
pub struct PlanRun<'a> {
    pub experiment: &'a PlanExperiment,
    pub context: &'a Context,
    pub loads: &'a LoadReader<'a>,
    pub lock: &'a StoreLock,
    /// Told after each step of a slot.
    pub hook: &'a dyn Fn(SlotStep),
}

/// What slots of the baseline showed before the first pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rehearsal {
    pub slots: u32,
    /// Of one slot, with what stands around it.
    pub slot_ns: u64,
    /// The standard deviation of the logarithms of the metric within rows; `None` where too few
    /// slots had it.
    pub spread: Option<f64>,
    /// Rows in which a slot failed, and why. The experiment finds out whether it always does.
    pub failed: Vec<(String, String)>,
}

/// Takes away what an earlier runner of this store left on the machine, and returns the record that
/// stands for the slot that it had begun, unless that has one.
///
/// # Errors
/// Something stays, or the record cannot be kept.
pub fn recover(run: &PlanRun<'_>, done: &[Record]) -> Result<Option<Record>, LabError> {
    let experiment = run.experiment;
    clear(experiment.mark(), experiment.scratch(), &run.context.clock).map_err(LabError::Plan)?;
    run.lock.settled();
    let lost = run.lock.left().filter(|lost| !has_record(done, lost));
    Ok(lost.and_then(|lost| interrupted(run, &lost)))
}

fn has_record(done: &[Record], lost: &LostSlot) -> bool {
    let mut trials = done.iter().filter_map(|record| record.trial.as_ref());
    trials.any(|trial| {
        let place = (
            trial.block,
            trial.row_number as usize,
            trial.arm_number as usize,
            trial.attempt,
        );
        place
            == (
                lost.turn.pass,
                lost.turn.row,
                lost.turn.arm,
                lost.turn.attempt,
            )
    })
}

/// The record of a slot that began and did not end.
fn interrupted(run: &PlanRun<'_>, lost: &LostSlot) -> Option<Record> {
    let facts = &run.experiment.facts;
    // A rehearsal is no slot of the plan.
    if lost.turn.attempt == REHEARSAL {
        return None;
    }
    let written: Arc<PlanLine> = Arc::new(facts.clone().line());
    let trial: Trial = lab::trial(facts, &written, lost.turn, lost.number, None)?;
    let mut record = Record {
        outcome: Outcome {
            status: Status::Interrupted,
            exit_code: 1,
            message: Some("interrupted: the runner ended during this slot".into()),
        },
        ..run.context.record(run.experiment.kind(), &trial.row, None)
    };
    record.trial = Some(trial);
    Some(record)
}

/// The attempt that marks slots before the first pass.
const REHEARSAL: u32 = u32::MAX;
/// Exit code of what was asked wrongly.
const USAGE: i32 = 2;

/// Runs slots of the baseline in every row, of which no number is analysed. A row ends with the
/// first that fails.
///
/// # Errors
/// A slot was asked wrongly, or one failed in every row: the experiment would not get further.
pub fn rehearse(run: &PlanRun<'_>, watch: &mut dyn Watch) -> Result<Rehearsal, LabError> {
    let (experiment, context) = (run.experiment, run.context);
    if let Some(why) = experiment.lacks_space() {
        return Err(LabError::Plan(why));
    }
    let mut conductor = SlotConductor::new(run, watch);
    let mut out = Rehearsal::default();
    let (mut spent, mut failure) = (0, None);
    let (mut squares, mut freedom) = (0.0, 0);
    for row in 0..experiment.facts.rows.len() {
        let turn = Turn {
            row,
            arm: experiment.baseline(),
            attempt: REHEARSAL,
            ..Turn::default()
        };
        let mut values: Vec<f64> = Vec::new();
        for _ in 0..experiment.file.calibrate {
            if conductor.is_stopped() {
                return Ok(Rehearsal::default());
            }
            let began = sys::Clock::now(&context.clock);
            let outcome = lab::rehearse(&experiment.facts, &mut conductor, turn);
            spent += sys::Clock::now(&context.clock).saturating_sub(began);
            match rehearsed(outcome) {
                Ok(record) => values.extend(logarithm(&experiment.metric, &record)),
                Err(Unrehearsed::Interrupted) => return Ok(Rehearsal::default()),
                Err(Unrehearsed::Failed(why)) => {
                    let name = experiment.facts.rows[row].name.clone();
                    out.failed.push((name, why.to_string()));
                    failure = Some((turn, why));
                    break;
                }
                Err(Unrehearsed::Asked(why)) => return Err(experiment.of_slot(turn, why)),
            }
            out.slots += 1;
        }
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        squares += values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        freedom += values.len().saturating_sub(1);
    }
    if let Some((turn, why)) = failure.filter(|_| out.slots == 0) {
        return Err(experiment.of_slot(turn, why));
    }
    out.slot_ns = spent / u64::from(out.slots.max(1));
    out.spread = (freedom > 0).then(|| (squares / freedom as f64).sqrt());
    Ok(out)
}

/// Why a slot before the first pass has no number.
enum Unrehearsed {
    Interrupted,
    Failed(Box<dyn Error + Send + Sync>),
    /// What the user can mend.
    Asked(Box<dyn Error + Send + Sync>),
}

fn rehearsed(outcome: Result<Record, Unstarted>) -> Result<Record, Unrehearsed> {
    let record = match outcome {
        Ok(record) => record,
        Err(Unstarted { source, record }) => {
            let Outcome {
                status, exit_code, ..
            } = record.outcome;
            return Err(if status == Status::Interrupted {
                Unrehearsed::Interrupted
            } else if exit_code == USAGE {
                Unrehearsed::Asked(source)
            } else {
                Unrehearsed::Failed(source)
            });
        }
    };
    match record.outcome.status {
        Status::Ok | Status::Apart => Ok(record),
        Status::Interrupted => Err(Unrehearsed::Interrupted),
        Status::Failed | Status::Incomplete => {
            let why = record.outcome.message.unwrap_or_default();
            Err(Unrehearsed::Failed(why.into()))
        }
    }
}

fn logarithm(metric: &Quantity, record: &Record) -> Option<f64> {
    metric
        .of(record)
        .known()
        .filter(|value| *value > 0.0)
        .map(f64::ln)
}

/// Carries out what is left of the plan.
///
/// # Errors
/// The plan cannot begin.
pub fn carry_out(
    run: &PlanRun<'_>,
    done: Vec<Record>,
    watch: &mut dyn Watch,
    keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
    decided: &mut dyn FnMut(&[Record]) -> bool,
) -> Result<Ended, LabError> {
    let mut conductor = SlotConductor::new(run, watch);
    lab::run(&run.experiment.facts, done, &mut conductor, keep, decided)
}

/// Whether a path is free, or has a plan that was written by [`write_plan`] or was about to be.
fn may_be_plan(at: &Path) -> bool {
    let Ok(facts) = fs::symlink_metadata(at) else {
        return true;
    };
    let begins = |text: String| {
        let is_whole = text.starts_with("schema = ") && text.contains("kind = \"plan\"");
        text.is_empty() || is_whole
    };
    facts.is_file() && fs::read_to_string(at).is_ok_and(begins)
}

/// Writes the effective plan, with everything filled in, beside the records, and syncs it.
///
/// # Errors
/// It cannot be written.
pub fn write_plan(run: &PlanRun<'_>, records: &Path) -> Result<PathBuf, LabError> {
    let at = records.with_extension("plan.toml");
    let line = run.experiment.facts.clone().line();
    let failed = |why: String| LabError::Plan(format!("cannot write {}: {why}", at.display()));
    if !may_be_plan(&at) {
        return Err(failed(
            "it is there and is no plan that an experiment has written; it is left as it is, so give the records another name (--records)".into(),
        ));
    }
    let text = toml::to_string_pretty(&line).map_err(|e| failed(e.to_string()))?;
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&at)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        let parent = at.parent().filter(|parent| !parent.as_os_str().is_empty());
        fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|e| failed(e.to_string()))?;
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_written_where_nothing_is_or_a_plan_that_was_written_before() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("x.plan.toml");
        assert!(may_be_plan(&at));
        for (text, may) in [
            ("", true),
            ("schema = 2\nkind = \"plan\"\n", true),
            ("name = \"mine\"\n", false),
            ("schema = 1\n", false),
        ] {
            fs::write(&at, text).unwrap();
            assert_eq!(may_be_plan(&at), may, "{text:?}");
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("not there"), &link).unwrap();
        assert!(
            !may_be_plan(&link),
            "what it names would be made or written over"
        );
    }
}
