//! Loads on object stores and HTTP services as tables: who succeeded, how long the parts of a
//! request took, thresholds, errors, and the arms side by side.
//!
//! The rows are those that people who measure with k6 or warp write by hand. A failure is always
//! shown as a number, beside a success that is not rounded to all of it.

use super::rows::ALL;
use super::{Breadth, CellValue, Column, Label, Table, TableLine, sides};
use analyze::{Cell, Figure, PART_PERCENTILES, REQUEST_PARTS, Study, StudyRow, is_aside};
use record::{Quantity, ThresholdResult};
use std::collections::BTreeMap;
use units::lossless::f64_to_u64_saturating;

/// The tables of one row; where it is no load, of the thresholds that it was held against alone.
pub(super) fn tables(study: &Study, index: usize) -> Vec<Table<'_>> {
    let row = &study.rows[index];
    if !row.is_load {
        let of_run = Some(thresholds(study, row));
        return of_run
            .into_iter()
            .filter(|table| !table.lines.is_empty())
            .collect();
    }
    let several = study.arms.len() > 1;
    let found = [
        several.then(|| sides::scenario(study, row)),
        Some(success(study, row)),
        several.then(|| sides::parts(study, row)),
        Some(parts(study, row)),
        Some(sides::conduct(study, row)),
        Some(thresholds(study, row)),
        Some(errors(study, row)),
    ];
    let found = found
        .into_iter()
        .flatten()
        .filter(|table| !table.lines.is_empty());
    // A curve shows the steps of a search; their tables are for those who scroll.
    let room = if row.is_step {
        Breadth::Browser
    } else {
        Breadth::Paper
    };
    found.map(|table| Table { room, ..table }).collect()
}

/// The tables over all rows of several arms; none where there is only one.
pub(super) fn over_all_rows(study: &Study) -> Vec<Table<'_>> {
    let rows = study.rows.iter().enumerate();
    let loads: Vec<usize> = rows
        .filter(|(_, row)| row.is_load && !row.is_step)
        .map(|(index, _)| index)
        .collect();
    if study.arms.len() < 2 || loads.len() < 2 {
        return Vec::new();
    }
    let found = [
        sides::overview(study, &loads, "p95", "p95 latency"),
        sides::overview(study, &loads, "throughput", "Throughput"),
        sides::iterations(study, &loads),
    ];
    found
        .into_iter()
        .filter(|table| !table.lines.is_empty())
        .collect()
}

/// Arms that have a cell in a row.
fn measured(row: &StudyRow) -> impl Iterator<Item = (usize, &Cell)> {
    let cells = row.cells.iter().enumerate();
    cells.filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
}

/// A share of successes that is 100 % only without a failure, with as many digits as the failures
/// need.
pub(super) fn success_text(succeeded: u64, failed: u64) -> String {
    const MOST_DIGITS: usize = 6;
    if failed == 0 {
        return if succeeded == 0 {
            crate::words::NOTHING.to_owned()
        } else {
            "100 %".to_owned()
        };
    }
    let share = 100.0 * failed as f64 / succeeded.saturating_add(failed) as f64;
    (1..=MOST_DIGITS)
        .find(|digits| share >= 10_f64.powi(-i32::try_from(*digits).expect("six digits at most")))
        .map_or_else(
            || "under 100 %".to_owned(),
            |digits| format!("{:.digits$} %", 100.0 - share),
        )
}

/// A table whose first columns name the line; the arm is one of them only where there are several.
fn titled<'s>(title: &str, study: &Study, labels: &[&str], columns: &[&str]) -> Table<'s> {
    let arm = (study.arms.len() > 1).then_some("Arm");
    let labels: Vec<&str> = labels.iter().copied().chain(arm).collect();
    Table {
        columns: columns.iter().map(|head| Column::of(*head)).collect(),
        ..Table::new(title, &labels)
    }
}

fn line<'s>(
    study: &Study,
    labels: &[&str],
    arm: usize,
    cells: Vec<CellValue<'s>>,
) -> TableLine<'s> {
    let arm = (study.arms.len() > 1).then_some(Label::Arm(arm));
    let labels = labels.iter().map(|label| Label::Text((*label).to_owned()));
    TableLine {
        labels: labels.chain(arm).collect(),
        cells,
    }
}

/// The sum of a number of things over the runs of a cell; `None` if not every run knows it.
fn sum(cell: &Cell, kind: &str, quantity: &str) -> Option<u64> {
    let figure = cell.of_load(kind, &Quantity::named(quantity))?;
    let sum: f64 = figure.values.iter().map(|(_, value)| value).sum();
    (figure.values.len() == cell.records.len()).then(|| f64_to_u64_saturating(sum.round()))
}

/// How many operations of each kind succeeded and failed, exactly; the sum of an arm's runs.
fn success<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let heads = ["Requests", "Failed", "Success", "Failures"];
    let mut out = titled("Success", study, &["Operation"], &heads);
    let kinds = row.operations.iter().map(String::as_str);
    let kinds = kinds.filter(|kind| !is_aside(kind) && *kind != ALL);
    for kind in kinds.chain([ALL]) {
        for (arm, cell) in measured(row) {
            let Some(succeeded) = sum(cell, kind, "count") else {
                continue;
            };
            let Some(failed) = sum(cell, kind, "errors") else {
                continue;
            };
            let all = succeeded.saturating_add(failed);
            let share = match failed {
                0 => CellValue::Nothing,
                failed => CellValue::Text(format!("{failed} of {all}")),
            };
            let text = CellValue::Text(success_text(succeeded, failed));
            let cells = vec![CellValue::Count(all), CellValue::Count(failed), text, share];
            out.lines.push(line(study, &[kind], arm, cells));
        }
    }
    out
}

/// The parts of requests: how many there are, and their percentiles.
fn parts<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let heads: Vec<&str> = std::iter::once("n").chain(PART_PERCENTILES).collect();
    let mut out = titled("HTTP requests", study, &["Operation", "Part"], &heads);
    let figures = measured(row).flat_map(|(_, cell)| &cell.of_loads);
    let mut kinds: Vec<&str> = figures
        .map(|figure| figure.kind.as_str())
        .filter(|kind| !kind.is_empty())
        .collect();
    kinds.sort_unstable_by_key(|kind| (*kind == ALL, *kind));
    kinds.dedup();
    for kind in kinds {
        for part in REQUEST_PARTS {
            for (arm, cell) in measured(row) {
                let figure = |name: &str| {
                    let quantity = Quantity::named(&format!("{part}.{name}"));
                    cell.of_load(kind, &quantity)
                };
                let percentiles = PART_PERCENTILES.map(figure);
                if percentiles.iter().any(Option::is_some) {
                    let n = sum(cell, kind, &format!("{part}.n"));
                    let cells = std::iter::once(n.map_or(CellValue::Nothing, CellValue::Count));
                    let of = |found: Option<&'s Figure>| {
                        found.map_or(CellValue::Nothing, CellValue::Figure)
                    };
                    let cells = cells.chain(percentiles.map(of)).collect();
                    out.lines.push(line(study, &[kind, part], arm, cells));
                }
            }
        }
    }
    let mut cells = out.lines.iter().flat_map(|line| &line.cells);
    if cells.any(|cell| matches!(cell, CellValue::Nothing)) {
        out.notes.push("A percentile that fewer than ten requests lie above, or that the source does not tell, is not shown.".to_owned());
    }
    out
}

/// Each threshold, whether it was met, and what was measured: by every run, or in how many of them.
fn thresholds<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let mut out = titled("Thresholds", study, &["Threshold"], &["Result", "Measured"]);
    let mut asked: Vec<&str> = Vec::new();
    let mut results: BTreeMap<(&str, usize), Vec<&ThresholdResult>> = BTreeMap::new();
    for (arm, cell) in measured(row) {
        for result in cell.details.iter().flat_map(|record| &record.thresholds) {
            if !asked.contains(&result.threshold.as_str()) {
                asked.push(&result.threshold);
            }
            let of_arm = results.entry((&result.threshold, arm));
            of_arm.or_default().push(result);
        }
    }
    for threshold in asked {
        for (arm, _) in measured(row) {
            let Some(found) = results.get(&(threshold, arm)) else {
                continue;
            };
            let met = found.iter().filter(|result| result.holds).count();
            let word = match (met, found.len()) {
                (0, 1) => CellValue::Missed("missed".to_owned()),
                (1, 1) => CellValue::Text("met".to_owned()),
                (met, n) => CellValue::Text(format!("met in {met} of {n} runs")),
            };
            // Of several runs the first that missed is what its reader asks for.
            let missed = found.iter().find(|result| !result.holds);
            let shown = missed.or_else(|| found.first());
            let shown = shown.map_or(String::new(), |result| result.measured.clone());
            out.lines.push(line(
                study,
                &[threshold],
                arm,
                vec![word, CellValue::Text(shown)],
            ));
        }
    }
    out
}

/// What failed, and how often, over an arm's runs.
fn errors<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let labels = ["Operation", "Error"];
    let mut out = titled("Errors", study, &labels, &["Number", "First at"]);
    for (arm, cell) in measured(row) {
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
            let first = match first {
                "" => CellValue::Nothing,
                first => CellValue::Text(first.to_owned()),
            };
            out.lines.push(line(
                study,
                &[operation, text],
                arm,
                vec![CellValue::Count(count), first],
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::load;
    use analyze::{StudyOptions, study};

    #[test]
    fn failures_are_exact_and_stand_beside_what_failed() {
        let records = [load("mixed", 2604, 80_000_000, 1)];
        let study = study(&records, &StudyOptions::default());
        let row = &study.rows[0];
        let success = success(&study, row).as_text(&study, Breadth::Paper);
        assert_eq!(
            success[0],
            ["Operation", "Requests", "Failed", "Success", "Failures"]
        );
        assert_eq!(success[1], ["get", "2605", "1", "99.96 %", "1 of 2605"]);
        assert_eq!(success[2], ["put", "1302", "0", "100 %", "-"]);
        assert_eq!(success[3], ["all", "3907", "1", "99.97 %", "1 of 3907"]);
        let errors = errors(&study, row).as_text(&study, Breadth::Paper);
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
        let lines = thresholds(&study, &study.rows[0]).as_text(&study, Breadth::Paper);
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
            success(&study, row).as_text(&study, Breadth::Paper)[1][1..4],
            ["5003", "3", "99.94 %"]
        );
        assert_eq!(
            thresholds(&study, row).as_text(&study, Breadth::Paper)[1][1],
            "met in 1 of 2 runs"
        );
        assert_eq!(
            errors(&study, row).as_text(&study, Breadth::Paper)[1][2],
            "3"
        );
    }

    #[test]
    fn parts_without_enough_requests_are_left_open() {
        let records = [load("mixed", 400, 80_000_000, 0)];
        let study = study(&records, &StudyOptions::default());
        let found = parts(&study, &study.rows[0]);
        let lines = found.as_text(&study, Breadth::Paper);
        let waiting = lines
            .iter()
            .find(|line| line[0] == "get" && line[1] == "waiting")
            .unwrap();
        assert!(
            waiting[2] == "400" && waiting[4].contains("ms") && waiting[5] == crate::words::NOTHING,
            "{waiting:?}"
        );
        assert!(
            lines.iter().all(|line| line[1] != "connecting"),
            "{:?}",
            lines
        );
        assert_eq!(found.notes.len(), 1);
    }

    #[test]
    fn a_hundred_per_cent_never_stands_beside_a_failure() {
        for (succeeded, failed, text) in [
            (2604, 1, "99.96 %"),
            (6509, 1, "99.98 %"),
            (45_383, 1, "99.998 %"),
            (71_741, 1, "99.999 %"),
            (7788, 0, "100 %"),
            (0, 0, "-"),
            (0, 9, "0.0 %"),
            (90, 10, "90.0 %"),
            (u64::MAX - 1, 1, "under 100 %"),
        ] {
            assert_eq!(success_text(succeeded, failed), text);
        }
        for failed in 1..2000 {
            assert!(
                !success_text(1_000_000, failed).starts_with("100"),
                "{failed}"
            );
        }
    }
}
