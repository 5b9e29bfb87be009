//! The first repetition of an experiment often pays for what the others find ready.

use super::{Experiment, Located, claimed, level, median};
use crate::Severity;
use crate::audit::warm_up_in_data::RULE;
use std::collections::BTreeMap;

/// Deviations of the other blocks, by the median absolute deviation of a normal law.
const MOST_DEVIATIONS: f64 = 5.0;
const NORMAL: f64 = 1.4826;
const LEAST_STEP: f64 = 0.1;
/// A scatter of the first repetition this many times that of the later ones is another population.
const MOST_SCATTER: f64 = 2.0;
const ADVICE: &str = "run one block that is not counted before the first, and say so in the plan; do not drop it afterwards";

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    told(experiment)
        .or_else(|| measured(experiment))
        .into_iter()
        .collect()
}

/// The first block of the first row against all later ones of it.
fn measured(experiment: &Experiment<'_>) -> Option<Located> {
    let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let first_row = experiment.rows().into_iter().next()?;
    for (_, record) in first_row.1.iter().flat_map(|(_, slots)| slots) {
        let block = record.trial.as_ref().map(|trial| trial.block);
        if let (Some(block), Some((_, rate))) = (block, level(record)) {
            levels.entry(block).or_default().push(rate.ln());
        }
    }
    let slots = levels.values().map(Vec::len).max()?;
    let complete: Vec<f64> = levels
        .values()
        .filter(|rates| rates.len() == slots)
        .map(|rates| stats::sample::mean(rates))
        .collect();
    let (first, later) = complete
        .split_first()
        .filter(|(_, later)| later.len() + 1 >= stats::FEWEST_BLOCKS)?;
    let middle = median(later.to_vec());
    let spread = NORMAL * median(later.iter().map(|level| (level - middle).abs()).collect());
    let step = (first - middle).exp_m1();
    (step.abs() > LEAST_STEP && (first - middle).abs() > MOST_DEVIATIONS * spread).then(|| {
        let message = format!(
            "{}: the first block is {:+.0}% beside the {} later ones",
            first_row.0,
            step * 100.0,
            later.len()
        );
        RULE.about(None, Severity::Warning, message, ADVICE)
    })
}

/// A document that shows the scatter of its first repetition apart and keeps it.
fn told(experiment: &Experiment<'_>) -> Option<Located> {
    experiment.claims.iter().find_map(|(index, claim)| {
        let (first, later) = (claimed(claim, "iteration_1_cv_percent")?, claimed(claim, "iterations_3_cv_high_percent")?);
        (first > MOST_SCATTER * later).then(|| {
            let message =
                format!("the first iteration scatters by {first}%, those from the third on by at most {later}%: the warm-up is counted");
            RULE.about(Some(*index), Severity::Warning, message, ADVICE)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn experiment(first: u64) -> Vec<Record> {
        let slots = (0..8_u32).flat_map(|block| {
            [
                ("baseline", 2 * block, block),
                ("new", 2 * block + 1, block),
            ]
        });
        slots
            .map(|(arm, slot, block)| {
                let mut record = sound();
                record.elapsed_ns += u64::from(slot % 5) * 1_000_000;
                record.elapsed_ns *= if block == 0 { first } else { 1 };
                placed(record, arm, block, slot)
            })
            .collect()
    }

    #[test]
    fn a_cold_first_block_is_found() {
        assert_eq!(
            only(&run_on(check, &experiment(2))),
            "row: the first block is -50% beside the 7 later ones"
        );
        assert_eq!(run_on(check, &experiment(1)), []);
    }

    #[test]
    fn a_first_iteration_that_a_document_shows_apart_is_found() {
        let figures = [
            ("iteration_1_cv_percent".to_owned(), 24.88),
            ("iterations_3_cv_high_percent".to_owned(), 5.0),
        ]
        .into();
        let mut claim = quoted(
            "claim",
            Summary {
                figures,
                ..Summary::default()
            },
        );
        claim.kind = super::super::super::CLAIM.into();
        assert!(
            only(&run_on(check, &[claim])).starts_with("the first iteration scatters by 24.88%")
        );
    }
}
