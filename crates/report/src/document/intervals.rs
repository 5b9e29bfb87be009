//! Intervals as plots: what every arm changes, and the levels of a row.

use super::bounds::ends;
use super::plots::{cells, framed};
use super::rows::ALL;
use super::{CellValue, Plot};
use crate::comparison::{percent, shown};
use crate::plot::{IntervalLine, Reference, ValueUnit, intervals};
use analyze::{Cell, Study, StudyRow};
use record::Quantity;
use stats::Estimate;

/// How the mean over rows comes about.
pub(super) const MEAN: &str = "Geometric mean: in every pass the mean over rows of the logarithms of the ratios, each row with the same weight; its interval \
    is over passes (Fleming and Wallace, CACM 29(3), 1986).";

/// Metrics that have an interval plot of their own: those of every study, and what it judges.
pub(crate) fn plotted(study: &Study) -> Vec<Quantity> {
    let of_all = ["throughput", "iops", "mean", "p99", "cpu/op"].map(Quantity::named);
    let judged = study.metric.of_any_kind();
    let is_one = of_all.contains(&judged);
    of_all
        .into_iter()
        .chain((!is_one).then_some(judged))
        .collect()
}

/// What every arm changes: in all rows together where that is known, and in every row.
pub(crate) fn forest_lines(study: &Study) -> Vec<IntervalLine> {
    let several_rows = study.rows.len() > 1;
    let several_arms = study.arms.len() > 2;
    let mut lines = means(study);
    for row in &study.rows {
        for line in change_lines(study, row) {
            let arm = &line.name;
            let name = match (several_rows, several_arms) {
                (true, true) => format!("{}: {arm}", row.name),
                (true, false) => row.name.clone(),
                (false, _) => arm.clone(),
            };
            lines.push(IntervalLine { name, ..line });
        }
    }
    lines
}

/// Changes that have room in one picture with an interval each.
pub(super) const MOST: usize = 40;

/// What every arm changes in every row.
pub(super) fn forest(study: &Study) -> Option<Plot> {
    let mut lines = forest_lines(study);
    let is_mean_known = (0..study.arms.len()).any(|arm| study.geometric_mean(arm).is_some());
    let of = lines.len();
    lines.truncate(MOST);
    let mut notes = vec![(None, shaded(study))];
    if is_mean_known {
        notes.push((None, MEAN.to_owned()));
    }
    if of > MOST {
        notes.push((None, format!("The first {MOST} of {of} changes.")));
    }
    let metric = super::heading(study, &study.metric);
    let svg = change_plot(
        study,
        &format!("Change of {metric} against the baseline in every row"),
        &lines,
    )?;
    Some(Plot {
        caption: format!("{metric} against the baseline"),
        svg,
        notes,
        ..Plot::default()
    })
}

/// The geometric mean over rows of every arm that has one.
fn means(study: &Study) -> Vec<IntervalLine> {
    let several = study.arms.len() > 2;
    let line = |arm: usize| {
        let mean = study.geometric_mean(arm)?;
        let name = match several {
            true => format!("All rows, geometric mean: {}", study.arms[arm].name),
            false => "All rows, geometric mean".to_owned(),
        };
        Some(changed(arm, name, &mean))
    };
    (0..study.arms.len()).filter_map(line).collect()
}

fn changed(arm: usize, name: String, effect: &Estimate) -> IntervalLine {
    let ends = (effect.low.exp_m1(), effect.high.exp_m1());
    IntervalLine {
        arm,
        name,
        point: effect.point.exp_m1(),
        interval: Some(ends).filter(|(low, high)| low.is_finite() && high.is_finite()),
        text: shown(effect),
    }
}

fn shaded(study: &Study) -> String {
    format!("Shaded: within the margin of {}.", percent(study.margin))
}

fn change_lines(study: &Study, row: &StudyRow) -> Vec<IntervalLine> {
    let line = |(arm, comparison): (usize, &Option<analyze::RowComparison>)| {
        let effect = comparison.as_ref()?.effect.as_ref()?;
        Some(changed(arm, study.arms[arm].name.clone(), effect))
    };
    row.comparisons
        .iter()
        .enumerate()
        .filter_map(line)
        .collect()
}

fn change_plot(study: &Study, label: &str, lines: &[IntervalLine]) -> Option<String> {
    // The margin is a ratio: as far below as above on the scale of logarithms.
    let reference = Reference {
        at: Some(0.0),
        band: Some((1.0 / (1.0 + study.margin) - 1.0, study.margin)),
    };
    intervals(
        label,
        "change against the baseline",
        ValueUnit::Change,
        lines,
        &reference,
    )
}

/// The intervals of a row: of the changes, and of the levels by metric and kind.
pub(super) fn of_row(study: &Study, index: usize) -> Vec<Plot> {
    let row = &study.rows[index];
    let metric = super::heading(study, &study.metric);
    let label = format!(
        "Change of {metric} of each arm against the baseline in {} with intervals",
        row.name
    );
    // Of one row the answer has this picture.
    let changes = (study.rows.len() > 1)
        .then(|| change_plot(study, &label, &change_lines(study, row)))
        .flatten();
    let mut out: Vec<Plot> = changes
        .map(|svg| Plot {
            caption: format!("{metric} against the baseline"),
            row: None,
            notes: vec![(None, shaded(study))],
            ..framed(study, index, None, svg)
        })
        .into_iter()
        .collect();
    for metric in plotted(study) {
        let kinds = kinds_to_plot(row, &metric).into_iter();
        out.extend(kinds.filter_map(|kind| levels(study, index, kind, &metric)));
    }
    out
}

/// Rates and CPU over everything where that has one, latencies by kind: a mixed latency is neither.
fn kinds_to_plot<'a>(row: &'a StudyRow, metric: &Quantity) -> Vec<&'a str> {
    let known = |cell: &Cell| {
        cell.figure(ALL, metric)
            .is_some_and(|figure| figure.point.is_some())
    };
    let has_all = row.cells.iter().flatten().any(known);
    let wanted = |kind: &&str| {
        if metric.is_of_times() {
            *kind != ALL
        } else {
            !has_all || *kind == ALL
        }
    };
    row.operations
        .iter()
        .map(String::as_str)
        .filter(wanted)
        .collect()
}

fn levels(study: &Study, index: usize, kind: &str, metric: &Quantity) -> Option<Plot> {
    let row = &study.rows[index];
    let line = |(arm, name, cell): (usize, &str, &Cell)| {
        let figure = cell.figure(kind, metric)?;
        let value = CellValue::Figure(figure);
        let around = value
            .around()
            .map_or_else(String::new, |around| format!(" {around}"));
        Some(IntervalLine {
            arm,
            name: name.to_owned(),
            point: figure.point?,
            interval: ends(figure),
            text: format!("{}{around}", value.text()),
        })
    };
    let lines: Vec<IntervalLine> = cells(study, row).filter_map(line).collect();
    // One point alone shows nothing that its number does not say.
    if lines.len() < 2 {
        return None;
    }
    let baseline = study.baseline.and_then(|arm| row.cells.get(arm)?.as_ref());
    let at = baseline.and_then(|cell| cell.figure(kind, metric)?.point);
    let label = format!(
        "{} of each arm in {} with intervals",
        super::heading(study, metric),
        row.name
    );
    let reference = Reference { at, band: None };
    let svg = intervals(&label, "", metric.unit(), &lines, &reference)?;
    let of = if row.operations.len() > 1 {
        format!(" ({kind})")
    } else {
        String::new()
    };
    Some(Plot {
        caption: format!("{}{of}", super::heading(study, metric)),
        row: None,
        quantity: Some(metric.clone()),
        ..framed(study, index, None, svg)
    })
}
