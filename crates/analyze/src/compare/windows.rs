//! Records of no experiment: nobody drew the order in which they ran.
//!
//! Whatever changed between two stretches of time looks like a difference between the sides, and no
//! number of repetitions within a stretch bounds that. The unit is therefore the window, a run of
//! one side after itself: each window is one number, and no test is made of them.

use super::pairs::{logarithm, moment};
use super::{Question, RowComparison};
use record::Record;
use stats::{Reason, Verdict, sample::median};

/// Where both sides of a row lie, without a verdict: for `invalid`, where that is known, else
/// because the order was not drawn.
pub(super) fn undrawn(
    name: &str,
    sides: [&[&Record]; 2],
    invalid: Option<Reason>,
    question: &Question,
) -> RowComparison {
    let mut in_time: Vec<(&str, usize, Option<f64>)> = Vec::new();
    for (side, records) in sides.iter().enumerate() {
        in_time.extend(
            records
                .iter()
                .map(|record| (moment(record).0, side, logarithm(record, &question.metric))),
        );
    }
    in_time.sort_by_key(|(moment, side, _)| (*moment, *side));
    let mut levels: [Vec<f64>; 2] = Default::default();
    let mut windows = [0; 2];
    for window in in_time.chunk_by(|a, b| a.1 == b.1) {
        let side = window[0].1;
        windows[side] += 1;
        let values: Vec<f64> = window.iter().filter_map(|(_, _, value)| *value).collect();
        levels[side].extend((!values.is_empty()).then(|| median(&values)));
    }
    let [base, candidate] =
        levels.map(|levels| (!levels.is_empty()).then(|| median(&levels).exp()));
    RowComparison {
        row: name.to_owned(),
        blocks: 0,
        unused_blocks: 0,
        base,
        candidate,
        effect: None,
        verdict: Verdict::Invalid(invalid.unwrap_or(Reason::NotDrawnByLot { windows })),
        differences: Vec::new(),
        sensitivity: None,
        interrupted: None,
        place: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use record::{Measurements, Operations, Quantity};
    use std::collections::BTreeSet;

    fn question() -> Question {
        Question {
            metric: Quantity::named("iops"),
            margin: 0.05,
            factors: BTreeSet::new(),
        }
    }

    /// Runs in the order of the letters, while the level falls to a third.
    fn sides(order: &str) -> [Vec<Record>; 2] {
        let mut out = [Vec::new(), Vec::new()];
        for (at, arm) in order.chars().enumerate() {
            let level = 9000.0 * (-(3f64.ln()) * at as f64 / order.len() as f64).exp();
            let count = units::lossless::f64_to_u64_saturating(level);
            let mut operations = Measurements::default();
            operations.insert(
                "read",
                Operations {
                    count,
                    bytes: count * 4096,
                    ..Operations::default()
                },
            );
            let record = Record {
                started_at: format!("2026-01-01T00:00:{at:02}.000Z"),
                elapsed_ns: 1_000_000_000,
                operations,
                ..Record::default()
            };
            out[usize::from(arm == 'B')].push(record);
        }
        out
    }

    #[test]
    fn no_order_that_nobody_drew_has_a_verdict_or_an_interval() {
        for (order, windows) in [
            ("AAAAABBBBBAAAAABBBBB", [2, 2]),
            ("AAAAAAAAABBBBBBBBBBA", [2, 1]),
            ("ABABABABABABABABABAB", [10, 10]),
            ("AAABBBBBBAAA", [2, 1]),
            ("AAAAAABBBBBB", [1, 1]),
        ] {
            let [base, candidate] = sides(order);
            let found = compare(&base, &candidate, &question());
            let row = &found.rows[0];
            assert_eq!(
                row.verdict,
                Verdict::Invalid(Reason::NotDrawnByLot { windows }),
                "{order}"
            );
            assert!(
                row.effect.is_none()
                    && row.differences.is_empty()
                    && row.base.is_some()
                    && row.candidate.is_some(),
                "{row:?}"
            );
        }
    }

    #[test]
    fn a_window_counts_once_however_many_runs_it_has() {
        let [base, candidate] = sides("AAAAAAAAABBBBBBBBBBA");
        let row = &compare(&base, &candidate, &question()).rows[0];
        let rate = |record: &Record| record.operations_per_second().unwrap().ln();
        let expected = 0.5 * (rate(&base[4]) + rate(&base[9]));
        assert!((row.base.unwrap().ln() - expected).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn a_side_of_an_experiment_beside_one_of_none_is_not_drawn_either() {
        let [mut base, candidate] = sides("ABABABABABAB");
        for (block, record) in (0..).zip(&mut base) {
            record.trial = Some(record::Trial {
                plan: "p".into(),
                block,
                ..record::Trial::default()
            });
        }
        let found = compare(&base, &candidate, &question());
        assert!(
            found
                .rows
                .iter()
                .all(|row| matches!(row.verdict, Verdict::Invalid(Reason::NotDrawnByLot { .. }))),
            "{:?}",
            found.rows
        );
    }
}
