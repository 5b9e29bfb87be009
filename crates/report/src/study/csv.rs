//! A study as CSV: one line a row, arm, kind of operation and metric, for data frames.
//!
//! Values are in the unit of the column `unit`. Effects are percent against the baseline, on the
//! lines of the compared metric over all kinds together. A cell is empty where a value is unknown.

use crate::csv::push_row;
use crate::document::{Breadth, document, level_method, why_range};
use crate::sentence;
use analyze::{Bounds, Cell, Figure, RowComparison, Study};

/// With what the header begins in every version.
const FIRST: &str = "row,arm,operation,metric,unit,n,value,low,high,level,method,note,baseline,effect_percent,effect_low_percent,\
    effect_high_percent,pairs,verdict";
/// What `low` and `high` are (`interval`, `range`), and how many seconds the runs took from the
/// first to the last.
const LAST: &str = "bounds,within_s";

/// The figures of a study under one header line, and after those of each cell what only its loads
/// have: a line a record, with the record's id as the note.
#[must_use]
pub fn study_csv(study: &Study) -> String {
    let mut out = format!("{FIRST},{LAST}\n");
    for row in document(study, Breadth::Screen).rows() {
        for (arm, cell) in row.cells.iter().enumerate() {
            let of = [row.name.clone(), study.arms[arm].name.clone()];
            let Some(cell) = cell else { continue };
            for figure in &cell.figures {
                let compared =
                    figure.metric == study.metric && Some(&figure.kind) == row.operations.last();
                let comparison = row.comparisons[arm].as_ref().filter(|_| compared);
                let mut line = of.to_vec();
                line.extend(figure_cells(figure));
                line.extend(effect_cells(study, comparison));
                line.extend(bounds_cells(cell, figure));
                push_row(&mut out, &line);
            }
            for line in load_lines(cell) {
                push_row(&mut out, &[of.as_slice(), &line].concat());
            }
        }
    }
    out
}

/// What only the loads of a cell have, record by record; their thresholds as 1 (met) and 0.
fn load_lines(cell: &Cell) -> Vec<Vec<String>> {
    let line = |of: [&str; 3], value: f64, note: &str| {
        let [operation, name, unit] = of;
        let mut line: Vec<String> = [operation, name, unit, "1"].map(str::to_owned).into();
        line.push(number(Some(value)));
        line.extend(std::iter::repeat_n(String::new(), 4));
        line.push(note.to_owned());
        line.extend(std::iter::repeat_n(String::new(), 8));
        line
    };
    let mut out = Vec::new();
    for (at, record) in cell.details.iter().enumerate() {
        for (figure, value) in of_load(cell, at) {
            let name = figure.metric.column();
            let of = [figure.kind.as_str(), &name, figure.metric.unit().name()];
            out.push(line(of, value, &record.id));
        }
        for result in &record.thresholds {
            let note = format!("{}: {}", record.id, result.measured);
            let name = format!("threshold {}", result.threshold);
            let met = f64::from(u8::from(result.holds));
            out.push(line(["", &name, "met"], met, &note));
        }
        for error in record.errors.iter().filter(|_| record.is_load) {
            let name = format!("error {}", error.error);
            let of = [error.operation.as_str(), &name, "1"];
            out.push(line(of, error.count as f64, &record.id));
        }
    }
    out
}

/// What only loads have, of one record of a cell.
pub(super) fn of_load(cell: &Cell, at: usize) -> impl Iterator<Item = (&Figure, f64)> {
    let block = cell.numbers.get(at).copied();
    cell.of_loads.iter().filter_map(move |figure| {
        let (_, value) = figure.values.iter().find(|(of, _)| Some(*of) == block)?;
        Some((figure, *value))
    })
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
        figure.metric.unit().name().to_owned(),
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
        sentence(comparison, study.metric.unit(), study.margin),
    ]
}

fn number(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or_else(String::new, |value| value.to_string())
}
