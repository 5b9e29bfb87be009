//! What a document concludes must follow from its own tables.

use super::{Arm, Experiment, Located, claimed, is_baseline, typical};
use crate::Severity;
use crate::audit::summary_contradicts_data::RULE;
use record::Record;

const TOLERANCE: f64 = 0.01;
const ADVICE: &str =
    "recompute every derived number from the data, and quote none that does not follow from them";

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let claims = experiment.claims.iter();
    claims
        .flat_map(|(index, claim)| {
            let messages = [wins(experiment, claim), total(claim), effect(claim)];
            messages
                .into_iter()
                .flatten()
                .map(|message| RULE.about(Some(*index), Severity::Invalid, message, ADVICE))
        })
        .collect()
}

/// In how many rows the baseline is the best.
fn wins(experiment: &Experiment<'_>, claim: &Record) -> Option<String> {
    let (said, of) = (claimed(claim, "wins")?, claimed(claim, "of")?);
    let best = |arms: &[Arm<'_>]| {
        let levels: Option<Vec<(bool, f64)>> = arms
            .iter()
            .map(|(arm, slots)| Some((is_baseline(arm), typical(slots)?.1)))
            .collect();
        let levels = levels.filter(|levels| {
            levels.iter().filter(|(is_base, _)| *is_base).count() == 1 && levels.len() > 1
        })?;
        levels
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(is_base, _)| is_base)
    };
    let rows: Vec<bool> = experiment
        .rows()
        .iter()
        .filter_map(|(_, arms)| best(arms))
        .collect();
    let won = rows.iter().filter(|won| **won).count();
    // A claim of more rows than there are here is another rule's matter.
    (rows.len() as f64 == of && won as f64 != said)
        .then(|| format!("the baseline is best in {won} of {of} rows, not in {said}"))
}

/// A number of requests against its parts.
fn total(claim: &Record) -> Option<String> {
    let said = claimed(claim, "requests")?;
    let parts = claim
        .summaries
        .values()
        .flat_map(|summary| summary.figures.iter())
        .filter(|(name, _)| *name != "requests");
    let parts: Vec<f64> = parts.map(|(_, value)| *value).collect();
    let sum: f64 = parts.iter().sum();
    (parts.len() > 1 && sum < said * (1.0 - TOLERANCE))
        .then(|| format!("{said} requests are claimed, and their parts add to {sum}"))
}

/// A change in per cent against the two rates that it is of.
fn effect(claim: &Record) -> Option<String> {
    let (said, base, other) = (
        claimed(claim, "effect_percent")?,
        claimed(claim, "base_per_second")?,
        claimed(claim, "candidate_per_second")?,
    );
    let effect = (other / base - 1.0) * 100.0;
    ((effect - said).abs() > 1.0 + said.abs() * TOLERANCE)
        .then(|| format!("{said:+}% is claimed, and {base} to {other} is {effect:+.0}%"))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn claim(figures: &[(&str, f64)]) -> Record {
        let figures = figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        Record {
            kind: "claim".into(),
            ..quoted(
                "claim",
                Summary {
                    figures,
                    ..Summary::default()
                },
            )
        }
    }

    fn table() -> Vec<Record> {
        let cell = |name: &str, rate| Record {
            name: name.into(),
            ..quoted(
                "put",
                Summary {
                    bytes_per_second: Some(rate),
                    ..Summary::default()
                },
            )
        };
        vec![
            cell("baseline | 1G", 2.0),
            cell("new | 1G", 1.0),
            cell("baseline | 2G", 2.0),
            cell("new | 2G", 3.0),
        ]
    }

    #[test]
    fn wins_that_the_table_does_not_have_are_found() {
        let with = |wins| [table(), vec![claim(&[("wins", wins), ("of", 2.0)])]].concat();
        assert_eq!(
            only(&run_on(check, &with(2.0))),
            "the baseline is best in 1 of 2 rows, not in 2"
        );
        assert_eq!(run_on(check, &with(1.0)), []);
    }

    #[test]
    fn totals_and_changes_are_recomputed() {
        let parts = |said| {
            claim(&[
                ("requests", said),
                ("upload", 6510.0),
                ("download", 71_742.0),
                ("mixed", 15_387.0),
            ])
        };
        assert_eq!(
            only(&run_on(check, &[parts(1e5)])),
            "100000 requests are claimed, and their parts add to 93639"
        );
        assert_eq!(run_on(check, &[parts(93_000.0)]), []);
        let change = |said| {
            claim(&[
                ("effect_percent", said),
                ("base_per_second", 682.0),
                ("candidate_per_second", 1500.0),
            ])
        };
        assert_eq!(run_on(check, &[change(120.0)]), []);
        assert_eq!(
            only(&run_on(check, &[change(220.0)])),
            "+220% is claimed, and 682 to 1500 is +120%"
        );
    }
}
