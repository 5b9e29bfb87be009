//! One article a row: verdicts, the table as the reference documents have it, and intervals.

use super::{ALL, environment, load, plotted, role, words};
use crate::plot::{IntervalLine, Reference, ValueUnit, intervals, key};
use crate::sentence;
use crate::study::span_text;
use analyze::{Cell, Figure, RowComparison, Study, StudyRow, is_told_apart};
use maud::{Markup, PreEscaped, html};
use record::Quantity;

pub(super) fn section(study: &Study) -> Option<Markup> {
    (!study.rows.is_empty()).then(|| {
        html! {
            section id="rows" {
                h2 { "Rows" }
                p id="none" hidden { "No row has such a name." }
                @for (index, row) in study.rows.iter().enumerate() {
                    (article(study, row, index))
                }
            }
        }
    })
}

/// The metrics with a plot of their own of which some record says something.
pub(super) fn metrics_with_figures(study: &Study) -> Vec<Quantity> {
    plotted()
        .into_iter()
        .filter(|metric| {
            study
                .figures()
                .any(|figure| figure.metric == *metric && figure.point.is_some())
        })
        .collect()
}

fn article(study: &Study, row: &StudyRow, index: usize) -> Markup {
    html! {
        article id={ "row-" (index) } data-row=(index) data-name=(row.name) {
            h3 { (words::name(&row.name)) }
            (verdicts(study, row))
            (table(study, row, index))
            (load::tables(study, row))
            div class="figures" {
                @if let Some(figure) = changes(study, row) { (figure) }
                @for metric in plotted() {
                    @for kind in kinds_to_plot(row, &metric) {
                        @if let Some(figure) = levels(study, row, kind, &metric) { (figure) }
                    }
                }
            }
            (workload(study, row))
        }
    }
}

fn verdicts(study: &Study, row: &StudyRow) -> Markup {
    let arms = study.arms.iter().zip(&row.comparisons).enumerate();
    let found: Vec<(usize, &str, &RowComparison)> = arms
        .filter_map(|(arm, (of, found))| Some((arm, of.name.as_str(), found.as_ref()?)))
        .collect();
    html! {
        @if !found.is_empty() {
            ul class="verdicts" {
                @for (arm, name, comparison) in found {
                    li data-arm=(arm) {
                        span class="sign" { (words::verdict(&comparison.verdict).0) } " "
                        (words::name(name)) ": "
                        (sentence(comparison, study.metric.unit(), study.margin))
                    }
                }
            }
        }
    }
}

/// Metrics of which any arm has a figure here.
fn metrics(row: &StudyRow) -> Vec<Quantity> {
    let mut out: Vec<Quantity> = Vec::new();
    for figure in row.cells.iter().flatten().flat_map(|cell| &cell.figures) {
        if !out.contains(&figure.metric) {
            out.push(figure.metric.clone());
        }
    }
    out.sort_by(|a, b| {
        a.place()
            .partial_cmp(&b.place())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    out
}

fn table(study: &Study, row: &StudyRow, index: usize) -> Markup {
    let metrics = metrics(row);
    let several = row.operations.len() > 1;
    html! {
        div class="scroll" { table id={ "table-" (index) } {
            thead { tr {
                th scope="col" { "Arm" }
                @if several { th scope="col" { "Operation" } }
                th scope="col" class="num" { "Blocks" }
                @for metric in &metrics { (column(metric)) }
            } }
            tbody {
                @for (arm, cell) in row.cells.iter().enumerate() {
                    @match cell {
                        Some(cell) => @for kind in row.operations.iter().filter(|kind| !is_told_apart(kind)) {
                            tr data-arm=(arm) {
                                (arm_head(study, arm))
                                @if several { td { (words::name(kind)) } }
                                td class="num" { (blocks(cell)) }
                                @for metric in &metrics {
                                    td class="num" data-metric=(words::id(metric)) {
                                        (figure_text(cell.figure(kind, metric), common_note(cell), true))
                                    }
                                }
                            }
                        },
                        None => tr data-arm=(arm) {
                            (arm_head(study, arm))
                            td colspan=(metrics.len() + 1 + usize::from(several)) class="quiet" { "not measured" }
                        },
                    }
                }
            }
        } }
        button type="button" class="copy" value={ "table-" (index) } hidden { "Copy as Markdown" }
    }
}

/// The head of a column of figures.
pub(super) fn column(metric: &Quantity) -> Markup {
    html! {
        th scope="col" class="num" data-metric=(words::id(metric)) { (metric.title()) }
    }
}

fn arm_head(study: &Study, arm: usize) -> Markup {
    html! {
        th scope="row" {
            (PreEscaped(key(arm))) " " (words::name(&study.arms[arm].name)) (role(study, arm))
        }
    }
}

/// Stands where nothing is known.
pub(super) fn nothing() -> Markup {
    html! { span class="quiet" { "–" } }
}

/// What all figures of a cell have to say, such as that they are single observations.
fn common_note(cell: &Cell) -> Option<&str> {
    cell.figures
        .iter()
        .find(|figure| figure.point.is_some())?
        .note
        .as_deref()
}

/// How many blocks, and what that means for all figures of the cell.
fn blocks(cell: &Cell) -> Markup {
    let bounded = cell.figures.iter().any(|figure| figure.bounds.is_some());
    html! {
        (cell.blocks)
        @if let Some(span) = cell.span.filter(|_| bounded) { small { "within " (span_text(span)) } }
        @if let Some(note) = common_note(cell) { small class="note" { (note) } }
    }
}

/// Point and interval, and with `notes` what is to be said of this figure beyond `common`.
pub(super) fn figure_text(figure: Option<&Figure>, common: Option<&str>, notes: bool) -> Markup {
    let point = figure.and_then(|figure| Some(figure.metric.unit().text(figure.point?)));
    let note = figure
        .and_then(|figure| figure.note.as_deref())
        .filter(|note| notes && Some(*note) != common);
    html! {
        @if let Some(point) = point { (point) } @else { (nothing()) }
        @if let Some(text) = figure.and_then(words::around) { small { (text) } }
        @if let Some(note) = note { small class="note" { (note) } }
    }
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

fn levels(study: &Study, row: &StudyRow, kind: &str, metric: &Quantity) -> Option<Markup> {
    let unit = metric.unit();
    let figure = |cell: &Option<Cell>| cell.as_ref()?.figure(kind, metric).cloned();
    let line = |(arm, cell): (usize, &Option<Cell>)| {
        let figure = figure(cell)?;
        let point = figure.point?;
        let interval = words::ends(&figure);
        let text = words::around(&figure).map_or_else(
            || unit.text(point),
            |around| format!("{} {around}", unit.text(point)),
        );
        Some(IntervalLine {
            arm,
            name: study.arms[arm].name.clone(),
            point,
            interval,
            text,
        })
    };
    let lines: Vec<IntervalLine> = row.cells.iter().enumerate().filter_map(line).collect();
    // One point alone shows nothing that its number does not say.
    if matches!(lines.as_slice(), [only] if only.interval.is_none()) {
        return None;
    }
    let at = study
        .baseline
        .and_then(|arm| figure(row.cells.get(arm)?)?.point)
        .filter(|_| lines.len() > 1);
    let label = format!(
        "{} of each arm in {} with intervals",
        metric.title(),
        row.name
    );
    let plot = intervals(&label, "", unit, &lines, &Reference { at, band: None })?;
    Some(html! {
        figure data-metric=(words::id(metric)) {
            figcaption {
                (metric.title())
                @if row.operations.len() > 1 { " (" (kind) ")" }
            }
            (PreEscaped(plot))
        }
    })
}

fn changes(study: &Study, row: &StudyRow) -> Option<Markup> {
    let line = |(arm, comparison): (usize, &Option<RowComparison>)| {
        let effect = comparison.as_ref()?.effect.as_ref()?;
        let (point, interval) = words::change(effect);
        Some(IntervalLine {
            arm,
            name: study.arms[arm].name.clone(),
            point,
            interval,
            text: words::change_text(effect),
        })
    };
    let lines: Vec<IntervalLine> = row
        .comparisons
        .iter()
        .enumerate()
        .filter_map(line)
        .collect();
    // The margin is a ratio: as far below as above on the scale of logarithms.
    let reference = Reference {
        at: Some(0.0),
        band: Some((1.0 / (1.0 + study.margin) - 1.0, study.margin)),
    };
    let metric = study.metric.title();
    let label = format!(
        "Change of {metric} of each arm against the baseline in {} with intervals",
        row.name
    );
    let plot = intervals(
        &label,
        "change against the baseline",
        ValueUnit::Change,
        &lines,
        &reference,
    )?;
    Some(html! {
        figure {
            figcaption { (metric) " against the baseline" }
            (PreEscaped(plot))
            p { "Shaded: within the margin of " (words::percent(study.margin)) "." }
        }
    })
}

fn workload(study: &Study, row: &StudyRow) -> Markup {
    let differing = row.workload.iter().filter(|fact| fact.differs).count();
    html! {
        @if !row.workload.is_empty() {
            details {
                summary {
                    "Workload: " (words::counted(row.workload.len(), "option"))
                    @if differing > 0 && study.arms.len() > 1 { ", " (differing) " of them differ" }
                }
                (environment::options(study, &row.workload))
            }
        }
    }
}
