//! Tables of one scenario with a line for each arm: successes, parts of requests, thresholds,
//! errors.

use super::readings::{ALL, Gathered, gathered};
use super::{Titled, measured, success_text, value_text};
use crate::plot::ValueUnit;
use crate::study::{NOTHING, Table};
use analyze::{PART_PERCENTILES, REQUEST_PARTS, Study, StudyRow, is_aside};
use record::ThresholdResult;
use std::collections::BTreeMap;
use units::lossless::f64_to_u64_saturating;

/// A table whose first columns name the line; the arm is one of them only where there are several.
fn titled(title: &str, study: &Study, labels: &[&str], columns: &[&str]) -> Titled {
    let arm = (study.arms.len() > 1).then_some("Arm");
    let head: Vec<String> = labels
        .iter()
        .copied()
        .chain(arm)
        .chain(columns.iter().copied())
        .map(str::to_owned)
        .collect();
    let labels = labels.len() + usize::from(arm.is_some());
    Titled {
        title: title.to_owned(),
        table: Table {
            labels,
            lines: vec![head],
            notes: Vec::new(),
        },
    }
}

fn line(
    study: &Study,
    labels: &[&str],
    arm: &str,
    cells: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let arm = (study.arms.len() > 1).then_some(arm);
    labels
        .iter()
        .copied()
        .chain(arm)
        .map(str::to_owned)
        .chain(cells)
        .collect()
}

/// The sum of a reading over the records of a cell; `None` if not every record knows it.
fn sum(readings: &Gathered, operation: &str, name: &str) -> Option<u64> {
    let (_, values) = readings.get(&(operation.to_owned(), name.to_owned()))?;
    let known: Option<Vec<f64>> = values.iter().copied().collect();
    known.map(|values| f64_to_u64_saturating(values.iter().sum::<f64>().round()))
}

/// How many operations of each kind succeeded and failed, exactly; the sum of an arm's runs.
pub(super) fn success(study: &Study, row: &StudyRow) -> Titled {
    let mut out = titled(
        "Success",
        study,
        &["Operation"],
        &["Requests", "Failed", "Success", "Failures"],
    );
    let by_arm: Vec<(&str, Gathered)> = measured(study, row)
        .map(|(arm, cell)| (arm, gathered(&cell.details)))
        .collect();
    let kinds = row
        .operations
        .iter()
        .map(String::as_str)
        .filter(|kind| !is_aside(kind) && *kind != ALL)
        .chain([ALL]);
    for kind in kinds {
        for (arm, readings) in &by_arm {
            let Some(succeeded) = sum(readings, kind, "succeeded") else {
                continue;
            };
            let Some(failed) = sum(readings, kind, "failed") else {
                continue;
            };
            let all = succeeded.saturating_add(failed);
            let share = if failed == 0 {
                NOTHING.to_owned()
            } else {
                format!("{failed} of {all}")
            };
            out.table.lines.push(line(
                study,
                &[kind],
                arm,
                [
                    all.to_string(),
                    failed.to_string(),
                    success_text(succeeded, failed),
                    share,
                ],
            ));
        }
    }
    out
}

/// The parts of requests: how many there are, and their percentiles; of several runs the median of
/// each.
pub(super) fn parts(study: &Study, row: &StudyRow) -> Titled {
    let heads: Vec<String> = PART_PERCENTILES
        .iter()
        .map(|percent| format!("p{percent}"))
        .collect();
    let heads: Vec<&str> = std::iter::once("n")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut out = titled("HTTP requests", study, &["Operation", "Part"], &heads);
    let by_arm: Vec<(&str, Gathered)> = measured(study, row)
        .map(|(arm, cell)| (arm, gathered(&cell.details)))
        .collect();
    let mut kinds: Vec<&str> = by_arm
        .iter()
        .flat_map(|(_, readings)| readings.keys())
        .map(|(operation, _)| operation.as_str())
        .collect();
    kinds.sort_unstable_by_key(|kind| (*kind == ALL, *kind));
    kinds.dedup();
    for kind in kinds.into_iter().filter(|kind| !kind.is_empty()) {
        for part in REQUEST_PARTS {
            for (arm, readings) in &by_arm {
                let cells: Vec<Option<f64>> = PART_PERCENTILES
                    .iter()
                    .map(|percent| median(readings, kind, &format!("{part} p{percent}")))
                    .collect();
                let n = sum(readings, kind, &format!("{part} n"));
                if cells.iter().any(Option::is_some) {
                    let n = n.map_or_else(|| NOTHING.to_owned(), |n| n.to_string());
                    let cells = std::iter::once(n).chain(
                        cells
                            .into_iter()
                            .map(|cell| value_text(ValueUnit::Time, cell)),
                    );
                    out.table.lines.push(line(study, &[kind, part], arm, cells));
                }
            }
        }
    }
    if out
        .table
        .lines
        .iter()
        .skip(1)
        .flatten()
        .any(|cell| cell == NOTHING)
    {
        out.table
            .notes
            .push("A percentile that fewer than ten requests lie above, or that the source does not tell, is not shown.".to_owned());
    }
    out
}

fn median(readings: &Gathered, operation: &str, name: &str) -> Option<f64> {
    let (_, values) = readings.get(&(operation.to_owned(), name.to_owned()))?;
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| stats::sample::median(&known))
}

/// Each threshold, whether it was met, and what was measured: by every run, or in how many of them.
pub(super) fn thresholds(study: &Study, row: &StudyRow) -> Titled {
    let mut out = titled("Thresholds", study, &["Threshold"], &["Result", "Measured"]);
    let mut asked: Vec<String> = Vec::new();
    let mut results: BTreeMap<(String, &str), Vec<&ThresholdResult>> = BTreeMap::new();
    for (arm, cell) in measured(study, row) {
        for result in cell.details.iter().flat_map(|record| &record.thresholds) {
            if !asked.contains(&result.threshold) {
                asked.push(result.threshold.clone());
            }
            let of_arm = results.entry((result.threshold.clone(), arm));
            of_arm.or_default().push(result);
        }
    }
    for threshold in asked {
        for (arm, _) in measured(study, row) {
            let Some(found) = results.get(&(threshold.clone(), arm)) else {
                continue;
            };
            let met = found.iter().filter(|result| result.holds).count();
            let word = match (met, found.len()) {
                (0, 1) => "missed".to_owned(),
                (1, 1) => "met".to_owned(),
                (met, n) => format!("met in {met} of {n} runs"),
            };
            // Of several runs the first that missed is what its reader asks for.
            let shown = found
                .iter()
                .find(|result| !result.holds)
                .or_else(|| found.first())
                .map_or("", |result| result.measured.as_str());
            out.table
                .lines
                .push(line(study, &[&threshold], arm, [word, shown.to_owned()]));
        }
    }
    out
}

/// What failed, and how often, over an arm's runs.
pub(super) fn errors(study: &Study, row: &StudyRow) -> Titled {
    let mut out = titled(
        "Errors",
        study,
        &["Operation", "Error"],
        &["Number", "First at"],
    );
    for (arm, cell) in measured(study, row) {
        let mut found: Vec<(&str, &str, u64, &str)> = Vec::new();
        for error in cell.details.iter().flat_map(|record| &record.errors) {
            match found
                .iter_mut()
                .find(|(operation, text, ..)| *operation == error.operation && *text == error.error)
            {
                Some((_, _, count, _)) => *count = count.saturating_add(error.count),
                None => found.push((
                    &error.operation,
                    &error.error,
                    error.count,
                    &error.first_file,
                )),
            }
        }
        for (operation, text, count, first) in found {
            let first = if first.is_empty() { NOTHING } else { first };
            out.table.lines.push(line(
                study,
                &[operation, text],
                arm,
                [count.to_string(), first.to_owned()],
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::example::load;
    use super::*;
    use analyze::{StudyOptions, study};

    #[test]
    fn failures_are_exact_and_stand_beside_what_failed() {
        let records = [load("mixed", 2604, 80_000_000, 1)];
        let study = study(&records, &StudyOptions::default());
        let row = &study.rows[0];
        let success = success(&study, row).table.lines;
        assert_eq!(
            success[0],
            ["Operation", "Requests", "Failed", "Success", "Failures"]
        );
        assert_eq!(success[1], ["get", "2605", "1", "99.96 %", "1 of 2605"]);
        assert_eq!(success[2], ["put", "1302", "0", "100 %", "-"]);
        assert_eq!(success[3], ["all", "3907", "1", "99.97 %", "1 of 3907"]);
        let errors = errors(&study, row).table.lines;
        assert_eq!(
            errors[1..],
            [["get", "503 SlowDown", "1", "http://a/b"]
                .map(str::to_owned)
                .to_vec()]
        );
    }

    #[test]
    fn a_threshold_says_whether_it_was_met_and_by_what() {
        let records = [load("mixed", 2000, 80_000_000, 0)];
        let study = study(&records, &StudyOptions::default());
        let lines = thresholds(&study, &study.rows[0]).table.lines;
        assert_eq!(lines[1], ["get.p95<1s", "met", "80 ms"]);
        assert_eq!(
            lines[2],
            ["put.p95<10ms", "missed", "80 ms, 70 ms above the limit"]
        );
    }

    #[test]
    fn several_runs_of_an_arm_are_counted_together() {
        let second = load("mixed", 2000, 2_000_000_000, 2);
        let records = [load("mixed", 3000, 80_000_000, 1), second];
        let study = study(&records, &StudyOptions::default());
        let row = &study.rows[0];
        assert_eq!(
            success(&study, row).table.lines[1][1..4],
            ["5003", "3", "99.94 %"]
        );
        assert_eq!(
            thresholds(&study, row).table.lines[1][1],
            "met in 1 of 2 runs"
        );
        assert_eq!(errors(&study, row).table.lines[1][2], "3");
    }

    #[test]
    fn parts_without_enough_requests_are_left_open() {
        let records = [load("mixed", 400, 80_000_000, 0)];
        let study = study(&records, &StudyOptions::default());
        let found = parts(&study, &study.rows[0]).table;
        let waiting = found
            .lines
            .iter()
            .find(|line| line[0] == "get" && line[1] == "waiting")
            .unwrap();
        assert!(
            waiting[2] == "400" && waiting[4].contains("ms") && waiting[5] == NOTHING,
            "{waiting:?}"
        );
        assert!(
            found.lines.iter().all(|line| line[1] != "connecting"),
            "{:?}",
            found.lines
        );
        assert_eq!(found.notes.len(), 1);
    }
}
