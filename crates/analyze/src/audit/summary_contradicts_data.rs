//! What a source sums up must be what its data add to.

use super::finding;
use crate::figures::figures;
use crate::{Finding, Severity};
use record::Record;

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
        .map(|message| {
            finding(
                "summary_contradicts_data",
                Severity::Invalid,
                message,
                advice,
            )
        })
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
