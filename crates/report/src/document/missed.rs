//! Thresholds that runs were held against and missed: the sentence that says so, and what bears
//! their mark.

use super::Sentence;
use super::rows::ALL;
use crate::words::MOST_NAMED;
use analyze::{Study, StudyRow};
use record::{Threshold, ThresholdResult};
use units::few;

/// Stands before what missed a threshold.
pub(super) const MISSED: &str = "✕";

/// A sentence an arm; what a search tries is to be missed once.
pub(super) fn sentences(study: &Study) -> impl Iterator<Item = Sentence> {
    let rows = || study.rows.iter().filter(|row| !row.is_step);
    (0..study.arms.len()).filter_map(move |arm| {
        let text = |row: &StudyRow, result: &ThresholdResult| {
            let ThresholdResult {
                threshold,
                measured,
                ..
            } = result;
            format!("{threshold} in {} ({measured})", row.name)
        };
        let texts = rows().flat_map(|row| missed(row, arm).map(move |result| text(row, result)));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| Sentence {
            arms: Some(arm)
                .filter(|_| study.arms.len() > 1)
                .into_iter()
                .collect(),
            scope: "",
            verdict: None,
            text: format!("Missed: {}.", few(&texts, MOST_NAMED)),
        })
    })
}

/// The thresholds that any arm of a row missed: those on a kind of operation, on `all` those on
/// nothing that has a line of its own, or without a kind all of them. Steps of a search have none.
pub(crate) fn missed_in<'s>(row: &'s StudyRow, kind: Option<&str>) -> Vec<&'s str> {
    let mut out: Vec<&str> = Vec::new();
    for arm in (0..row.cells.len()).filter(|_| !row.is_step) {
        for result in missed(row, arm) {
            let text = result.threshold.as_str();
            if kind.is_none_or(|kind| is_on(row, kind, text)) && !out.contains(&text) {
                out.push(text);
            }
        }
    }
    out
}

fn missed(row: &StudyRow, arm: usize) -> impl Iterator<Item = &ThresholdResult> {
    let runs = row.cells[arm].iter().flat_map(|cell| &cell.details);
    let results = runs.flat_map(|run| &run.thresholds);
    results.filter(|result| !result.holds)
}

fn is_on(row: &StudyRow, kind: &str, threshold: &str) -> bool {
    let threshold = Threshold::parse(threshold).ok();
    let on = threshold.as_ref().and_then(|of| of.quantity().kind());
    let has_line = |on: &&str| row.operations.iter().any(|kind| kind == on);
    on.filter(has_line).unwrap_or(ALL) == kind
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::{load, step};
    use analyze::{StudyOptions, study};

    #[test]
    fn what_was_missed_marks_its_kind_its_row_and_no_step_of_a_search() {
        let mut record = load("mixed", 400, 80_000_000, 0);
        let thresholds = &mut record.load.as_mut().unwrap().thresholds;
        for text in ["delete.p95<1s", "errors<0%"] {
            thresholds.push(ThresholdResult {
                threshold: text.into(),
                ..ThresholdResult::default()
            });
        }
        let study = study(&[record], &StudyOptions::default());
        let of = |kind| missed_in(&study.rows[0], kind);
        assert_eq!(of(Some("put")), ["put.p95<10ms"]);
        assert_eq!(of(Some("get")), Vec::<&str>::new());
        assert_eq!(of(Some(ALL)), ["delete.p95<1s", "errors<0%"]);
        assert_eq!(of(None).len(), 3);
    }

    #[test]
    fn a_step_of_a_search_bears_no_mark() {
        let steps = [
            step(100.0, 20_000_000, true),
            step(150.0, 20_000_000, true),
            step(200.0, 90_000_000, false),
        ];
        let study = study(&steps, &StudyOptions::default());
        assert!(study.rows.iter().all(|row| row.is_step));
        let marked = study.rows.iter().flat_map(|row| missed_in(row, None));
        assert_eq!(marked.count(), 0);
    }
}
