//! A study as CSV: one line a row, arm, kind of operation and metric, for data frames.
//!
//! Values are in the unit of the column `unit`. Effects are percent against the baseline, on the lines of the compared metric over all
//! kinds together. A cell is empty where a value is unknown.

use crate::csv::push_row;
use crate::sentence;
use analyze::{Figure, Metric, RowComparison, Study};

const HEADER: &str = "row,arm,operation,metric,unit,n,value,low,high,level,method,note,baseline,effect_percent,effect_low_percent,\
    effect_high_percent,pairs,verdict";

/// The figures of a study under one header line.
#[must_use]
pub fn study_csv(study: &Study) -> String {
    let mut out = format!("{HEADER}\n");
    for row in &study.rows {
        for (arm, cell) in row.cells.iter().enumerate() {
            for figure in cell.iter().flat_map(|cell| &cell.figures) {
                let mut line = vec![row.name.clone(), study.arms[arm].name.clone()];
                line.extend(figure_cells(figure));
                let compared = figure.metric == study.metric && Some(&figure.kind) == row.operations.last();
                line.extend(effect_cells(study, row.comparisons[arm].as_ref().filter(|_| compared)));
                push_row(&mut out, &line);
            }
        }
    }
    out
}

/// Whether a text begins as [`study_csv`] does.
pub(super) fn is_study_csv(text: &str) -> bool {
    text.starts_with(HEADER)
}

fn figure_cells(figure: &Figure) -> Vec<String> {
    let (name, unit) = names(&figure.metric);
    let bound = |end: fn(&stats::Estimate) -> f64| number(figure.estimate.as_ref().map(end));
    vec![
        figure.kind.clone(),
        name,
        unit.to_owned(),
        figure.values.len().to_string(),
        number(figure.point),
        bound(|estimate| estimate.low),
        bound(|estimate| estimate.high),
        number(figure.estimate.map(|estimate| estimate.level)),
        figure.estimate.map_or_else(String::new, |estimate| super::level_method(estimate.method)),
        figure.note.clone().unwrap_or_default(),
    ]
}

fn effect_cells(study: &Study, comparison: Option<&RowComparison>) -> Vec<String> {
    let Some((comparison, baseline)) = comparison.zip(study.baseline) else { return vec![String::new(); 6] };
    let percent = |end: fn(&stats::Estimate) -> f64| number(comparison.effect.as_ref().map(|effect| 100.0 * end(effect).exp_m1()));
    vec![
        study.arms[baseline].name.clone(),
        percent(|effect| effect.point),
        percent(|effect| effect.low),
        percent(|effect| effect.high),
        comparison.blocks.to_string(),
        sentence(comparison, study.margin),
    ]
}

/// A metric's name and unit for machines.
pub(super) fn names(metric: &Metric) -> (String, &'static str) {
    match metric {
        Metric::BytesPerSecond => ("bandwidth".into(), "bytes/s"),
        Metric::OperationsPerSecond => ("operations".into(), "1/s"),
        Metric::MeanLatency => ("latency mean".into(), "ns"),
        Metric::LatencyPercentile(100.0) => ("latency max".into(), "ns"),
        Metric::LatencyPercentile(percent) => (format!("latency p{percent}"), "ns"),
        Metric::CpuPerOperation => ("cpu per operation".into(), "ns"),
    }
}

fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}
