//! Tables that only loads have, and the curve of arrival rates.

use super::words;
use crate::load::{self, ArrivalCurve, Titled};
use crate::plot::{self, KneeLine, KneePoint, escape};
use analyze::{Study, StudyRow};
use record::{Record, percentile_has_support};
use std::fmt::Write as _;

/// Longer tables than this are folded at first, but for the leading one.
const SHORT: usize = 16;

/// What a curve shows, for those who read it for the first time.
pub(super) const ARRIVALS: &str = "Operations arrive at a rate, whatever the answers do; latency counts from the intended start. Filled marks held what was \
    asked, hollow ones did not; the dashed line is at the highest rate below the first that broke. Fainter: p50.";

/// The tables of one row, to stand in its article.
pub(super) fn write_row(out: &mut String, study: &Study, row: &StudyRow, records: &[Record]) {
    let tables = load::tables(study, row, records);
    if tables.is_empty() {
        return;
    }
    let is_step = load::is_step(row, records);
    out.push_str("<div class=\"tables\">\n");
    for (index, titled) in tables.into_iter().enumerate() {
        if is_step || (index > 0 && titled.table.lines.len() > SHORT) {
            let lines = words::counted(titled.table.lines.len() - 1, "line");
            let _infallible = writeln!(
                out,
                "<details><summary>{}: {lines}</summary>",
                escape(&titled.title)
            );
            write_table(out, &titled);
            out.push_str("</details>\n");
        } else {
            write_titled(out, &titled);
        }
    }
    out.push_str("</div>\n");
}

/// The tables over all scenarios, as a section of their own.
pub(super) fn section(study: &Study, records: &[Record]) -> Option<String> {
    let tables = load::overall_tables(study, records);
    if tables.is_empty() {
        return None;
    }
    let mut out =
        String::from("<section id=\"scenarios\">\n<h2>Scenarios</h2>\n<div class=\"tables\">\n");
    tables
        .iter()
        .for_each(|titled| write_titled(&mut out, titled));
    out.push_str("</div>\n</section>\n");
    Some(out)
}

fn write_titled(out: &mut String, titled: &Titled) {
    let _infallible = writeln!(
        out,
        "<div class=\"titled\"><h4>{}</h4>",
        escape(&titled.title)
    );
    write_table(out, titled);
    out.push_str("</div>\n");
}

fn write_table(out: &mut String, titled: &Titled) {
    let Some((head, lines)) = titled.table.lines.split_first() else {
        return;
    };
    let classes: Vec<&str> = (0..head.len())
        .map(|column| {
            if column < titled.table.labels {
                ""
            } else {
                class(lines, column)
            }
        })
        .collect();
    out.push_str("<div class=\"scroll\"><table class=\"load\"><thead><tr>");
    for (cell, class) in head.iter().zip(&classes) {
        let _infallible = write!(out, "<th scope=\"col\"{class}>{}</th>", text(cell));
    }
    out.push_str("</tr></thead><tbody>\n");
    for line in lines {
        out.push_str("<tr>");
        for (column, (cell, class)) in line.iter().zip(&classes).enumerate() {
            let _infallible = match (column < titled.table.labels, cell.as_str()) {
                (true, _) => write!(out, "<th scope=\"row\">{}</th>", text(cell)),
                (false, "missed" | "breaks") => {
                    write!(out, "<td{class}><b class=\"no\">{cell}</b></td>")
                }
                (false, _) => write!(out, "<td{class}>{}</td>", text(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    for note in &titled.table.notes {
        let _infallible = writeln!(out, "<p><small>{}</small></p>", escape(note));
    }
}

fn text(cell: &str) -> String {
    if cell.is_empty() {
        String::new()
    } else {
        words::name(cell)
    }
}

/// What is no longer than this needs no room to break.
const LONGEST_WORD: usize = 24;

/// A column is set as figures unless most of its cells are sentences.
fn class(lines: &[Vec<String>], column: usize) -> &'static str {
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
        (true, _) => " class=\"num\"",
        (false, true) => " class=\"long\"",
        (false, false) => "",
    }
}

/// The curves of all arms, by scenario: plots first, then their steps as tables.
pub(super) fn arrivals(study: &Study, records: &[Record]) -> (String, String) {
    let curves = load::arrival_curves(study, records);
    let mut scenarios: Vec<&str> = curves.iter().map(|curve| curve.scenario.as_str()).collect();
    scenarios.dedup();
    let mut figures = String::new();
    for scenario in scenarios {
        let of: Vec<&ArrivalCurve> = curves
            .iter()
            .filter(|curve| curve.scenario == scenario)
            .collect();
        let lines: Vec<KneeLine> = of.iter().flat_map(|curve| lines(study, curve)).collect();
        let label = format!("Latency of {scenario} by arrivals a second");
        if let Some(plot) = plot::knee(&label, &lines) {
            let said: Vec<String> = of
                .iter()
                .map(|curve| {
                    format!(
                        "<p>{}{}</p>",
                        whose(study, curve),
                        escape(&load::knee_text(curve))
                    )
                })
                .collect();
            let _infallible = writeln!(
                figures,
                "<figure><figcaption>{}: p50 and {}</figcaption>{plot}{}</figure>",
                words::name(scenario),
                tails(&of),
                said.concat()
            );
        }
    }
    let mut tables = String::new();
    for curve in &curves {
        let mut titled = load::curve_table(study, curve);
        // It stands below the plot.
        titled.table.notes.clear();
        write_titled(&mut tables, &titled);
    }
    (figures, tables)
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

fn whose(study: &Study, curve: &ArrivalCurve) -> String {
    study
        .arms
        .get(curve.arm)
        .filter(|_| study.arms.len() > 1)
        .map_or_else(String::new, |arm| format!("{}: ", words::name(&arm.name)))
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
