//! The plan of an experiment, from what the command line asks.

use super::cost::{ALPHA, usual_lead_in_ns};
use super::sides::Measured;
use crate::exit::Usage;
use crate::run::time;
use analyze::Question;
use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use conduct::Experiment;
use record::{PlanFacts, PlannedArm, PlannedQuestion, Role, Stopping};
use stats::{FIRST_LOOK, LOOKS, fewest_blocks};
use units::Nanos;

/// The sides in every row, and the control where there is one.
pub(super) fn experiment(
    matches: &ArgMatches,
    sides: Measured,
    slot: Nanos,
    question: &Question,
) -> Result<Experiment> {
    let Measured {
        names, mut rows, ..
    } = sides;
    let mut arms: Vec<PlannedArm> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        arms.push(PlannedArm {
            name: name.clone(),
            role: if index == 0 {
                Role::Baseline
            } else {
                Role::Candidate
            },
            ..PlannedArm::default()
        });
    }
    if matches.get_flag("aa") || names.len() > 2 && !matches.get_flag("no-aa") {
        arms.push(PlannedArm {
            name: format!("{} (control)", names[0]),
            role: Role::Control,
            ..PlannedArm::default()
        });
        for row in &mut rows {
            row.tasks.push(row.tasks[0].clone());
        }
    }
    let lead_in_ns = match time(matches, "lead-in")? {
        Some(asked) => asked.0,
        None => usual_lead_in_ns(&rows, slot),
    };
    let blocks = matches.get_one::<u32>("blocks").copied();
    if let Some(blocks) = blocks {
        if matches.value_source("budget") == Some(ValueSource::CommandLine) {
            return Err(Usage(
                "--blocks fixes the length and --budget leaves it open; give one of them".into(),
            )
            .into());
        }
        check_blocks(blocks, rows.len(), names.len() - 1)?;
    }
    let plan = PlanFacts {
        name: "compare".into(),
        arms,
        stopping: if blocks.is_some() {
            Stopping::Fixed
        } else {
            Stopping::Open
        },
        least_passes: blocks.unwrap_or(FIRST_LOOK),
        most_passes: blocks.or(LOOKS.last().copied()).unwrap_or(FIRST_LOOK),
        budget_ns: time(matches, "budget")?.map_or(180_000_000_000, |budget| budget.0),
        settle_ns: time(matches, "settle")?.map_or(2_000_000_000, |settle| settle.0),
        lead_in_ns,
        seed: matches
            .get_one::<u64>("order-seed")
            .copied()
            .unwrap_or_else(conduct::drawn_seed),
        question: Some(planned(question)),
        ..PlanFacts::default()
    };
    Ok(Experiment::new(plan, rows))
}

/// The question as the plan keeps it.
pub(super) fn planned(question: &Question) -> PlannedQuestion {
    PlannedQuestion {
        metric: question.metric.key(),
        margin: question.margin,
        ..PlannedQuestion::default()
    }
}

pub(super) fn check_blocks(blocks: u32, rows: usize, candidates: usize) -> Result<()> {
    let needed = fewest_blocks(u32::try_from(candidates).unwrap_or(u32::MAX), ALPHA);
    if (blocks as usize).saturating_mul(rows) < needed {
        let of = if rows == 1 {
            String::new()
        } else {
            format!(" of {rows} phases")
        };
        let with = if candidates == 1 {
            "a verdict".to_owned()
        } else {
            format!("verdicts on {candidates} candidates")
        };
        return Err(Usage(format!(
            "--blocks {blocks}{of}: {with} at 95 % need {needed} blocks or more in all"
        ))
        .into());
    }
    if blocks > 100_000 {
        return Err(Usage("--blocks: at most 100000".into()).into());
    }
    Ok(())
}
