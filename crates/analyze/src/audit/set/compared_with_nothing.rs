//! A baseline that no record holds cannot be compared with.

use super::{Experiment, Located, claimed};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use record::Record;
use units::ByteRate;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "compared_with_nothing",
    catalogue_number: Some(62),
    severity: Severity::Warning,
    title: "A baseline is named that no record holds",
    text: "\
A claim with a baseline in bytes a second (figure `baseline_bytes_per_second`): one
record of the same document must have that rate within 2 %.
\"A massive improvement over the earlier 25.4 MB/s\" is a ratio of 78 to a number whose
machine, settings and date are unknown. It may have been another disk, a debug build or
another unit.
What to do: measure the baseline in the same blocks as the candidate, or leave the
comparison out.",
    checks: &[Check::Together(check)],
};

const TOLERANCE: f64 = 0.02;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let claims = experiment
        .claims
        .iter()
        .filter_map(|(index, claim)| Some((*index, claimed(claim, "baseline_bytes_per_second")?)));
    claims
        .filter(|(_, rate)| !experiment.slots.iter().any(|(_, record)| has(record, *rate)))
        .map(|(index, rate)| {
            let message = format!("a baseline of {} is named, and no record here holds it", ByteRate(rate));
            let advice = "measure the baseline in the same blocks as the candidate, or leave the comparison out";
            RULE.about(Some(index), Severity::Warning, message, advice)
        })
        .collect()
}

fn has(record: &Record, rate: f64) -> bool {
    figures(record)
        .filter_map(|f| Figures::bytes_per_second(&f))
        .any(|known| (known / rate - 1.0).abs() < TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    #[test]
    fn a_baseline_without_a_record_is_found() {
        let figures = [("baseline_bytes_per_second".to_owned(), 25.4e6)].into();
        let claim = Record {
            kind: "claim".into(),
            ..quoted(
                "claim",
                Summary {
                    figures,
                    ..Summary::default()
                },
            )
        };
        assert_eq!(
            only(&run_on(check, std::slice::from_ref(&claim))),
            "a baseline of 24.2 MiB/s is named, and no record here holds it"
        );
        let measured = quoted(
            "read",
            Summary {
                bytes_per_second: Some(25.4e6),
                ..Summary::default()
            },
        );
        assert_eq!(run_on(check, &[claim, measured]), []);
    }
}
