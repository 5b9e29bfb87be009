//! Tables that only loads have, and the curve of arrival rates.

use super::words;
use crate::load::{self, Titled};
use crate::plot::{self, KneeLine, KneePoint};
use crate::study::Table;
use analyze::{ArrivalCurve, Study, StudyRow};
use maud::{Markup, PreEscaped, html};
use record::percentile_has_support;

/// Longer tables than this are folded at first, but for the leading one.
const SHORT: usize = 16;

/// What a curve shows, for those who read it for the first time.
pub(super) const ARRIVALS: &str = "Operations arrive at a rate, whatever the answers do; latency counts from the intended start. Filled marks held what was \
    asked, hollow ones did not; the dashed line is at the highest rate below the first that broke. Fainter: p50.";

/// The tables of one row, to stand in its article.
pub(super) fn tables(study: &Study, row: &StudyRow) -> Markup {
    let tables = load::tables(study, row);
    html! {
        @if !tables.is_empty() {
            div class="tables" {
                @for (index, titled) in tables.iter().enumerate() {
                    @let lines = titled.table.lines.len() - 1;
                    @if row.is_step || (index > 0 && lines >= SHORT) {
                        details {
                            summary { (titled.title) ": " (words::counted(lines, "line")) }
                            (table(&titled.table))
                        }
                    } @else {
                        (with_title(titled))
                    }
                }
            }
        }
    }
}

/// The tables over all scenarios, as a section of their own.
pub(super) fn section(study: &Study) -> Option<Markup> {
    let tables = load::overall_tables(study);
    (!tables.is_empty()).then(|| {
        html! {
            section id="scenarios" {
                h2 { "Scenarios" }
                div class="tables" { @for titled in &tables { (with_title(titled)) } }
            }
        }
    })
}

fn with_title(titled: &Titled) -> Markup {
    html! {
        div class="titled" { h4 { (titled.title) } (table(&titled.table)) }
    }
}

fn table(table: &Table) -> Markup {
    let Some((head, lines)) = table.lines.split_first() else {
        return Markup::default();
    };
    let class = |column: usize| {
        (column >= table.labels)
            .then(|| class(lines, column))
            .flatten()
    };
    let classes: Vec<Option<&str>> = (0..head.len()).map(class).collect();
    html! {
        div class="scroll" { table class="load" {
            thead { tr {
                @for (cell, class) in head.iter().zip(&classes) {
                    th scope="col" class=[class] { (text(cell)) }
                }
            } }
            tbody {
                @for line in lines {
                    tr {
                        @for (column, (cell, class)) in line.iter().zip(&classes).enumerate() {
                            @if column < table.labels {
                                th scope="row" { (text(cell)) }
                            } @else if matches!(cell.as_str(), "missed" | "breaks") {
                                td class=[class] { b class="no" { (cell) } }
                            } @else {
                                td class=[class] { (text(cell)) }
                            }
                        }
                    }
                }
            }
        } }
        @for note in &table.notes { p { small { (note) } } }
    }
}

fn text(cell: &str) -> Markup {
    html! { @if !cell.is_empty() { (words::name(cell)) } }
}

/// What is no longer than this needs no room to break.
const LONGEST_WORD: usize = 24;

/// A column is set as figures unless most of its cells are sentences.
fn class(lines: &[Vec<String>], column: usize) -> Option<&'static str> {
    let is_figure = |cell: &str| {
        (cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(", "))
            || cell == crate::study::NOTHING
    };
    let figures = lines
        .iter()
        .filter(|line| line.get(column).is_some_and(|cell| is_figure(cell)))
        .count();
    let has_sentences = lines
        .iter()
        .filter_map(|line| line.get(column))
        .any(|cell| cell.chars().count() > LONGEST_WORD);
    match (2 * figures >= lines.len(), has_sentences) {
        (true, _) => Some("num"),
        (false, true) => Some("long"),
        (false, false) => None,
    }
}

/// The curves of all arms, by scenario: plots first, then their steps as tables.
pub(super) fn arrivals(study: &Study) -> (Vec<Markup>, Markup) {
    let curves = &study.arrivals;
    let mut scenarios: Vec<&str> = curves.iter().map(|curve| curve.scenario.as_str()).collect();
    scenarios.dedup();
    let figure = |scenario: &str| {
        let of: Vec<&ArrivalCurve> = curves
            .iter()
            .filter(|curve| curve.scenario == scenario)
            .collect();
        let lines: Vec<KneeLine> = of.iter().flat_map(|curve| lines(study, curve)).collect();
        let label = format!("Latency of {scenario} by arrivals a second");
        let plot = plot::knee(&label, &lines)?;
        Some(html! {
            figure {
                figcaption { (words::name(scenario)) ": p50 and " (tails(&of)) }
                (PreEscaped(plot))
                @for curve in &of { p { (whose(study, curve)) (load::knee_text(curve)) } }
            }
        })
    };
    let figures = scenarios.into_iter().filter_map(figure).collect();
    let steps = html! {
        @for curve in curves {
            @let titled = load::curve_table(study, curve);
            // The note of the table stands below the plot.
            div class="titled" {
                h4 { (titled.title) }
                (table(&Table { notes: Vec::new(), ..titled.table }))
            }
        }
    };
    (figures, steps)
}

/// The tail percentiles of curves, each once.
fn tails(curves: &[&ArrivalCurve]) -> String {
    let mut names: Vec<String> = curves
        .iter()
        .map(|curve| format!("p{}", curve.tail))
        .collect();
    names.dedup();
    names.join(", ")
}

fn whose(study: &Study, curve: &ArrivalCurve) -> Markup {
    let arm = study.arms.get(curve.arm).filter(|_| study.arms.len() > 1);
    html! { @if let Some(arm) = arm { (words::name(&arm.name)) ": " } }
}

fn lines(study: &Study, curve: &ArrivalCurve) -> [KneeLine; 2] {
    let arm = study
        .arms
        .get(curve.arm)
        .map_or("", |arm| arm.name.as_str());
    let of = |percent: f64, secondary| KneeLine {
        arm: curve.arm,
        name: format!("{arm}, p{percent}"),
        secondary,
        knee: curve.knee,
        points: curve
            .points
            .iter()
            .filter(|point| percentile_has_support(point.latency.count(), percent))
            .filter_map(|point| {
                Some(KneePoint {
                    rate: point.rate,
                    latency: point.latency.quantile(percent / 100.0)?,
                    holds: point.holds,
                })
            })
            .collect(),
    };
    [of(50.0, true), of(curve.tail, false)]
}
