//! What a source sums up must be what its data add to.

use crate::audit::rule::{Check, Rule};
use crate::figures::figures;
use crate::{Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "summary_contradicts_data",
    catalogue_number: Some(48),
    severity: Severity::Invalid,
    title: "A summary says what its data do not",
    text: "\
Where a record has data and a summary of the same operations, counts must agree within 1
%. Of a document's claims, those are recomputed that name their parts: rows won by the
baseline, totals, changes in per cent of two rates.
\"Baseline wins 4 of 5\" over a table in which it wins 3, or \"100,000+ requests\" of
93,639: small errors, always in the direction of the story. Who sums up by hand has also
chosen by hand.
What to do: recompute every derived number from the data, best by a program, and quote
none that does not follow.",
    checks: &[
        Check::Alone(check),
        Check::Together(super::set::claim_contradicts_data::check),
    ],
};

const TOLERANCE: f64 = 0.01;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let both = figures(record).filter_map(|figures| Some((figures.kind, figures.both()?)));
    let wrong = both.flat_map(|(kind, (data, said))| {
        let pairs = [
            ("operations", said.count, data.count),
            ("bytes", said.bytes, data.bytes),
            ("errors", said.errors, data.errors),
        ];
        pairs.into_iter().filter_map(move |(what, said, counted)| {
            let said =
                said.filter(|said| said.abs_diff(counted) as f64 > counted as f64 * TOLERANCE)?;
            Some(format!(
                "{kind}: the summary says {said} {what}, the data have {counted}"
            ))
        })
    });
    let advice = "recompute every derived number from the data, and quote none that does not follow from them";
    wrong
        .map(|message| RULE.finding(Severity::Invalid, message, advice))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;
    use record::Summary;

    fn with_said(count: u64) -> Record {
        let mut record = sound();
        record.summaries.insert(
            "read".into(),
            Summary {
                count: Some(count),
                ..Summary::default()
            },
        );
        record
    }

    #[test]
    fn a_count_that_the_data_do_not_have_is_found() {
        assert_eq!(
            only(&check(&with_said(106_800))),
            "read: the summary says 106800 operations, the data have 100000"
        );
    }

    #[test]
    fn agreement_and_a_summary_without_data_are_silent() {
        assert_eq!(check(&with_said(100_400)), []);
        let mut alone = with_said(106_800);
        alone.operations = record::Measurements::default();
        assert_eq!(check(&alone), []);
    }
}
