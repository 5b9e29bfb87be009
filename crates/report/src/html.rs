//! A study as one HTML file: opens from disk, asks nobody for anything, and shows everything
//! without its script.
//!
//! Environments come first, then findings, then a table and intervals for every row, then the plots
//! over time, and the method last; the order within is that of the study, never that of the
//! results. Style and script stand in the file, and its content security policy permits no other
//! source. All text of records is foreign text and is escaped. The script hides and shows what is
//! there; it formats no number, so that a number reads the same with and without it.

mod environment;
mod findings;
mod load;
mod method;
mod overview;
mod rows;
mod sections;
mod words;

use crate::plot::{disturbs, key};
use analyze::{Study, StudyRow};
use maud::{Markup, PreEscaped, html};
use record::{Quantity, Role};
use sections::Part;

/// The name that a study gives to all kinds of operations together.
const ALL: &str = "all";
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The page of a study.
#[must_use]
pub fn html(study: &Study) -> String {
    let title = title(study);
    let sections = sections(study);
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(study, &title, &sections))
                (tools(study))
                main { @for part in &sections { @if let Some(text) = &part.text { (text) "\n" } } }
                footer { "Written by Fathom from records alone." }
                div id="tip" role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
        "\n"
    };
    // Texts of records may hold characters that change the look of other text.
    page.into_string()
        .replace(|c| c != '\n' && disturbs(c), "\u{fffd}")
}

/// All sections in their order; those without text have nothing to show.
fn sections(study: &Study) -> Vec<Part> {
    let part = |id, name, text| Part { id, name, text };
    let mut out = vec![
        part("environments", "Environments", environment::section(study)),
        part("findings", "Findings", Some(findings::section(study))),
        part("overview", "Overview", overview::section(study)),
        part("scenarios", "Scenarios", load::section(study)),
        part("rows", "Rows", rows::section(study)),
    ];
    out.extend(sections::all(study));
    out.push(part("method", "Method", Some(method::section(study))));
    out
}

/// Names of arms, as far as a title has room.
fn title(study: &Study) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = study
        .arms
        .iter()
        .take(MOST)
        .map(|arm| arm.name.as_str())
        .collect();
    let more = if study.arms.len() > MOST {
        format!(" and {} more", study.arms.len() - MOST)
    } else {
        String::new()
    };
    match names.as_slice() {
        [] => "Storage report".to_owned(),
        _ => format!("Storage report: {}{more}", names.join(", ")),
    }
}

fn header(study: &Study, title: &str, sections: &[Part]) -> Markup {
    let baseline = study
        .baseline
        .and_then(|arm| study.arms.get(arm))
        .filter(|_| study.arms.len() > 1);
    html! {
        header {
            h1 { (title) }
            p {
                (words::counted(study.arms.len(), "arm")) " in "
                (words::counted(study.rows.len(), "row")) ", from "
                (words::counted(study.records, "record")) (measured(study)) "."
            }
            @if let Some(baseline) = baseline {
                p {
                    "Compared with the baseline " (words::name(&baseline.name)) " by "
                    (study.metric.title()) "; differences below " (words::percent(study.margin))
                    " do not matter."
                }
            }
            @if !study.left_out.is_empty() {
                p {
                    (words::counted(study.left_out.len(), "record")) " left out: see "
                    a href="#method" { "method" } "."
                }
            }
            nav aria-label="Contents" { ul {
                @for part in sections.iter().filter(|part| part.text.is_some()) {
                    li { a href={ "#" (part.id) } { (part.name) } }
                }
            } }
        }
    }
}

/// Between which days the records were measured.
fn measured(study: &Study) -> String {
    let day = |time: &str| {
        let day = time.split('T').next().unwrap_or_default();
        (!day.is_empty()).then(|| day.to_owned())
    };
    let days = study.measured.as_ref();
    match days.map(|(first, last)| (day(first), day(last))) {
        Some((Some(first), Some(last))) if first == last => format!(", measured on {first}"),
        Some((Some(first), Some(last))) => format!(", measured from {first} to {last}"),
        _ => String::new(),
    }
}

/// What the script works with; hidden where there is none.
fn tools(study: &Study) -> Markup {
    let metrics = rows::metrics_with_figures(study);
    let compared = metrics.iter().position(|metric| *metric == study.metric);
    html! {
        form id="tools" class="tools" aria-label="What to show" onsubmit="return false" hidden {
            input type="search" id="filter" placeholder="Filter rows" aria-label="Show only rows whose name contains";
            @if metrics.len() > 1 {
                fieldset {
                    legend { "Quantity" }
                    @for (index, metric) in metrics.iter().enumerate() {
                        label {
                            input type="radio" name="metric" value=(words::id(metric)) checked[index == compared.unwrap_or(0)];
                            " " (metric.title())
                        }
                    }
                }
            }
            @if study.arms.len() > 1 {
                fieldset {
                    legend { "Arms" }
                    @for (index, arm) in study.arms.iter().enumerate() {
                        label {
                            input type="checkbox" name="arm" value=(index) checked;
                            " " (PreEscaped(key(index))) " " (words::name(&arm.name))
                        }
                    }
                }
            }
            button type="button" id="fold" { "Collapse plots" } "\n"
            button type="button" id="theme" { "Theme: auto" }
        }
    }
}

/// The arms with their signs, for those who read a print or have no script.
fn legend(study: &Study) -> Markup {
    html! {
        @if study.arms.len() > 1 {
            ul class="keys" {
                @for (index, arm) in study.arms.iter().enumerate() {
                    li data-arm=(index) {
                        (PreEscaped(key(index))) " " (words::name(&arm.name)) (role(study, index))
                    }
                }
            }
        }
    }
}

/// What an arm is compared as, where that is not the usual.
fn role(study: &Study, arm: usize) -> Markup {
    let is_control = study
        .arms
        .get(arm)
        .is_some_and(|arm| arm.role == Some(Role::Control));
    let word = match study.baseline == Some(arm) {
        true => Some("baseline"),
        false => is_control.then_some("control"),
    };
    let word = word.filter(|_| study.arms.len() > 1);
    html! { @if let Some(word) = word { " " span class="badge" { (word) } } }
}

/// All kinds of operations together where they are counted together, else the first kind that has
/// the metric.
fn leading_kind<'a>(row: &'a StudyRow, metric: &Quantity) -> Option<&'a str> {
    let has = |kind: &&String| {
        row.cells.iter().flatten().any(|cell| {
            cell.figure(kind, metric)
                .is_some_and(|figure| figure.point.is_some())
        })
    };
    let known = || row.operations.iter().filter(has).map(String::as_str);
    known().find(|kind| *kind == ALL).or_else(|| known().next())
}

/// Metrics that have an interval plot of their own.
fn plotted() -> [Quantity; 5] {
    ["throughput", "iops", "mean", "p99", "cpu/op"].map(Quantity::named)
}
