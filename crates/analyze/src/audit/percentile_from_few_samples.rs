//! A percentile is only as good as the number of samples above it.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Effective, Finding, Severity};
use record::{Record, percentile_has_support};
use units::counted;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "percentile_from_few_samples",
    catalogue_number: Some(35),
    severity: Severity::Warning,
    title: "A percentile has fewer than ten samples above it",
    text: "\
For each percentile shown, N (1 - q) samples lie above it. Below ten the percentile is
found, from the counts of the record or of the source, where it shows percentiles.
The p99 of 234 deletes is decided by the two slowest: one more slow delete moves it to
another value. A p99 needs 1000 operations, a p99.9 needs 10,000. With fewer, a
difference of a factor of 2 between two such percentiles is ordinary luck.
What to do: run longer, or quote the highest percentile that has ten samples above it.",
    checks: &[Check::Alone(check)],
};

/// The percentiles that reports show unless told otherwise.
pub const SHOWN_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
pub(super) fn check(record: &Record) -> Vec<Finding> {
    if Effective::of(record).is_start_of_command() {
        return Vec::new();
    }
    // What a slot of an experiment lends to a comparison is at most its p99; nothing shows a higher
    // one.
    let highest = if record.trial.is_some() { 99.0 } else { 100.0 };
    let poor: Vec<String> = figures(record)
        .filter_map(|figures| unsupported(&figures, highest))
        .collect();
    if poor.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "fewer than 10 samples lie above these percentiles: {}",
        poor.join(", ")
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "run longer, or quote a lower percentile",
    )]
}

/// The first percentile shown that too few samples support.
fn unsupported(figures: &Figures<'_>, highest: f64) -> Option<String> {
    let samples = figures.samples().filter(|samples| *samples > 0)?;
    let stated = figures.stated_percentiles();
    let shown = if figures.is_counted() {
        &SHOWN_PERCENTILES[..]
    } else {
        &stated
    };
    let lowest = shown
        .iter()
        .filter(|percent| **percent <= highest)
        .find(|percent| !percentile_has_support(samples, **percent))?;
    Some(format!(
        "{} from p{lowest} on ({})",
        figures.kind,
        counted(samples, "operation")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, sound};
    use super::*;

    #[test]
    fn a_tail_of_two_samples_is_found() {
        let mut record = sound();
        record.operations.insert("unlink", blocks(234, 1000));
        assert_eq!(
            only(&check(&record)),
            "fewer than 10 samples lie above these percentiles: unlink from p99 on (234 operations)"
        );
    }

    #[test]
    fn ten_samples_above_are_enough() {
        assert_eq!(check(&sound()), []);
        for (count, percent, enough) in [
            (10_000, 99.9, true),
            (9_999, 99.9, false),
            (100, 90.0, true),
            (1000, 100.0, false),
            (20, 50.0, true),
        ] {
            assert_eq!(
                percentile_has_support(count, percent),
                enough,
                "{count} {percent}"
            );
        }
    }

    #[test]
    fn the_percentiles_of_a_document_are_held_against_its_counts() {
        let of = |count| {
            let percentiles_ns = ["50", "95", "99"].map(|p| (p.to_owned(), 1e6)).into();
            super::super::example::quoted(
                "delete",
                record::Summary {
                    count: Some(count),
                    percentiles_ns,
                    ..record::Summary::default()
                },
            )
        };
        assert!(only(&check(&of(234))).contains("delete from p99 on (234 operations)"));
        assert_eq!(check(&of(1000)), []);
    }

    #[test]
    fn a_slot_answers_for_its_p99_only() {
        let slot = |count| {
            let mut record = super::super::example::sound();
            record.operations = record::Measurements::default();
            record
                .operations
                .insert("read", super::super::example::blocks(count, 1000));
            super::super::example::placed(record, "a", 0, 0)
        };
        assert_eq!(check(&slot(8000)), []);
        assert_eq!(check(&slot(800)).len(), 1);
    }
}
