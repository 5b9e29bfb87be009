//! A study as CSV: one line a row, arm, kind of operation and metric, for data frames.
//!
//! Values are in the unit of the column `unit`. Effects are percent against the baseline, on the
//! lines of the compared metric over all kinds together. A cell is empty where a value is unknown.

use crate::csv::push_row;
use crate::document::{
    Breadth, CellValue, HOSTS, LEVELS, RUNS, TableLine, document, level_method, why_range,
};
use crate::sentence;
use analyze::{Bounds, Cell, Figure, RowComparison, Study};

/// With what the header begins in every version.
const FIRST: &str = "row,arm,operation,metric,unit,n,value,low,high,level,method,note,baseline,effect_percent,effect_low_percent,\
    effect_high_percent,pairs,verdict";
/// What `low` and `high` are (`interval`, `range`), and how many seconds the runs took from the
/// first to the last.
const LAST: &str = "bounds,within_s";

/// The figures of a study under one header line; after those of each cell what its hosts did, and
/// what only its runs say: a line a run, with the record's id as the note.
#[must_use]
pub fn study_csv(study: &Study) -> String {
    let mut out = format!("{FIRST},{LAST}\n");
    let document = document(study, Breadth::Program);
    for (row, section) in document.rows() {
        for (arm, cell) in row.cells.iter().enumerate() {
            let of = [row.name.clone(), study.arms[arm].name.clone()];
            let Some(cell) = cell else { continue };
            let lines = [LEVELS, HOSTS, RUNS].into_iter().flat_map(|table| {
                let lines = section.lines(table, arm);
                lines.flat_map(move |line| line.cells.iter().map(move |value| (table, line, value)))
            });
            for (table, line, value) in lines {
                let told = if let CellValue::Figure(figure) = value {
                    let is_level = table == LEVELS;
                    let compared = is_level
                        && figure.metric == study.metric
                        && Some(&figure.kind) == row.operations.last();
                    let comparison = row.comparisons[arm].as_ref().filter(|_| compared);
                    let host = line.texts().next().filter(|_| !is_level);
                    let mut told = figure_cells(figure);
                    if let Some(note) = told.last_mut() {
                        note_of(study, host, note);
                    }
                    told.extend(effect_cells(study, comparison));
                    told.extend(bounds_cells(cell, figure));
                    told
                } else {
                    let mut told = run_cells(study, line, value);
                    if let Some(note) = told.last_mut() {
                        note_of(study, None, note);
                    }
                    told
                };
                push_row(&mut out, &[of.as_slice(), &told].concat());
            }
        }
    }
    out
}

/// Leaves in a note what must be known of a figure: whose it is, and that it does not count.
fn note_of(study: &Study, host: Option<&str>, note: &mut String) {
    if let Some(host) = host {
        *note = format!("on {host}");
    }
    if let Some(ended) = &study.ended_badly {
        let before = if note.is_empty() { "" } else { "; " };
        *note = format!("{note}{before}does not count: {ended}");
    }
}

/// What one run says; its thresholds as 1 (met) and 0.
fn run_cells(study: &Study, line: &TableLine<'_>, said: &CellValue<'_>) -> Vec<String> {
    let kind = line.texts().next().unwrap_or_default().to_owned();
    let run = line.labels.last().map(|label| label.text(study));
    let run = run.unwrap_or_default();
    let (name, unit, value, note) = match said {
        CellValue::OfRun(figure, value) => {
            let metric = &figure.metric;
            (metric.column(), metric.unit_name(), *value, run)
        }
        CellValue::Held(result) => {
            let name = format!("threshold {}", result.threshold);
            let met = f64::from(u8::from(result.holds));
            (name, "met", met, format!("{run}: {}", result.measured))
        }
        CellValue::Failed(error) => {
            let name = format!("error {}", error.error);
            (name, "1", error.count as f64, run)
        }
        CellValue::Figure(_)
        | CellValue::Number(..)
        | CellValue::Count(_)
        | CellValue::Text(_)
        | CellValue::Judged(..)
        | CellValue::Missed(_)
        | CellValue::Nothing => (said.text(), "", f64::NAN, run),
    };
    let mut out = vec![kind, name, unit.to_owned(), "1".to_owned()];
    out.push(number(Some(value)));
    out.extend(std::iter::repeat_n(String::new(), 4));
    out.push(note);
    out.extend(std::iter::repeat_n(String::new(), 8));
    out
}

/// Whether a text begins as [`study_csv`] does.
pub(super) fn is_study_csv(text: &str) -> bool {
    text.starts_with(FIRST)
}

fn figure_cells(figure: &Figure) -> Vec<String> {
    let ends = figure.bounds.as_ref().map(Bounds::ends);
    vec![
        figure.kind.clone(),
        figure.metric.column(),
        figure.metric.unit_name().to_owned(),
        figure.values.len().to_string(),
        number(figure.point),
        number(ends.map(|(low, _)| low)),
        number(ends.map(|(_, high)| high)),
        number(figure.interval().map(|estimate| estimate.level)),
        method(figure),
        figure.note.clone().unwrap_or_default(),
    ]
}

fn method(figure: &Figure) -> String {
    match &figure.bounds {
        Some(Bounds::Interval(estimate)) => level_method(estimate.method),
        Some(Bounds::Range(range)) => {
            format!("least and greatest: {}", why_range(range.why))
        }
        None => String::new(),
    }
}

fn bounds_cells(cell: &Cell, figure: &Figure) -> [String; 2] {
    let kind = match &figure.bounds {
        Some(Bounds::Interval(_)) => "interval",
        Some(Bounds::Range(_)) => "range",
        None => "",
    };
    [
        kind.to_owned(),
        number(cell.span.map(|span| span.0 as f64 / 1e9)),
    ]
}

fn effect_cells(study: &Study, comparison: Option<&RowComparison>) -> Vec<String> {
    let Some((comparison, baseline)) = comparison.zip(study.baseline) else {
        return vec![String::new(); 6];
    };
    let percent = |end: fn(&stats::Estimate) -> f64| {
        number(
            comparison
                .effect
                .as_ref()
                .map(|effect| 100.0 * end(effect).exp_m1()),
        )
    };
    vec![
        study.arms[baseline].name.clone(),
        percent(|effect| effect.point),
        percent(|effect| effect.low),
        percent(|effect| effect.high),
        comparison.blocks.to_string(),
        sentence(comparison, &study.metric, study.margin),
    ]
}

fn number(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or_else(String::new, |value| value.to_string())
}
