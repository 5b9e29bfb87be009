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
mod traces;
mod words;

use crate::plot::{escape, key};
use analyze::{Study, StudyRow};
use record::{Quantity, Record, Role};
use std::fmt::Write as _;

/// The name that a study gives to all kinds of operations together.
const ALL: &str = "all";
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The page of a study; `records` are those that the study was made from, in the same order.
#[must_use]
pub fn html(study: &Study, records: &[Record]) -> String {
    let title = title(study);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    let mut body = String::new();
    let mut contents = Vec::new();
    let mut section = |id: &'static str, name: &'static str, text: Option<String>| {
        if let Some(text) = text {
            contents.push((id, name));
            body.push_str(&text);
        }
    };
    section("environments", "Environments", environment::section(study));
    section("findings", "Findings", findings::section(study, records));
    section("overview", "Overview", overview::section(study));
    section("scenarios", "Scenarios", load::section(study, records));
    section("rows", "Rows", rows::section(study, records));
    for part in sections::all(study, records) {
        section(part.id, part.name, part.text);
    }
    section("method", "Method", Some(method::section(study, records)));
    write_header(&mut out, study, records, &contents);
    write_tools(&mut out, study);
    let _infallible = write!(
        out,
        "<main>\n{body}</main>\n<footer>Written by Fathom from records alone.</footer>\n"
    );
    let _infallible = write!(
        out,
        "<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
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
        _ => escape(&format!("Storage report: {}{more}", names.join(", "))),
    }
}

fn write_header(out: &mut String, study: &Study, records: &[Record], contents: &[(&str, &str)]) {
    let counted = |n: usize, one: &str| words::counted(n, one);
    let _infallible = write!(
        out,
        "<header>\n<h1>{}</h1>\n<p>{} in {}, from {}{}.</p>\n",
        title(study),
        counted(study.arms.len(), "arm"),
        counted(study.rows.len(), "row"),
        counted(study.records, "record"),
        measured(records)
    );
    if let (Some(baseline), true) = (
        study.baseline.and_then(|arm| study.arms.get(arm)),
        study.arms.len() > 1,
    ) {
        let _infallible = writeln!(
            out,
            "<p>Compared with the baseline {} by {}; differences below {} do not matter.</p>",
            words::name(&baseline.name),
            escape(&study.metric.title()),
            words::percent(study.margin)
        );
    }
    if !study.left_out.is_empty() {
        let _infallible = writeln!(
            out,
            "<p>{} left out: see <a href=\"#method\">method</a>.</p>",
            counted(study.left_out.len(), "record")
        );
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>");
    for (id, name) in contents {
        let _infallible = write!(out, "<li><a href=\"#{id}\">{name}</a></li>");
    }
    out.push_str("</ul></nav>\n</header>\n");
}

/// Between which days the records were measured.
fn measured(records: &[Record]) -> String {
    let day = |record: &Record| {
        record
            .started_at
            .split('T')
            .next()
            .filter(|day| !day.is_empty())
            .map(escape)
    };
    let first = records
        .iter()
        .min_by(|a, b| a.started_at.cmp(&b.started_at))
        .and_then(day);
    let last = records
        .iter()
        .max_by(|a, b| a.started_at.cmp(&b.started_at))
        .and_then(day);
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!(", measured on {first}"),
        (Some(first), Some(last)) => format!(", measured from {first} to {last}"),
        _ => String::new(),
    }
}

/// What the script works with; hidden where there is none.
fn write_tools(out: &mut String, study: &Study) {
    out.push_str("<form id=\"tools\" class=\"tools\" aria-label=\"What to show\" onsubmit=\"return false\" hidden>\n");
    out.push_str("<input type=\"search\" id=\"filter\" placeholder=\"Filter rows\" aria-label=\"Show only rows whose name contains\">\n");
    let metrics = rows::metrics_with_figures(study);
    if metrics.len() > 1 {
        out.push_str("<fieldset><legend>Quantity</legend>");
        let first = metrics
            .iter()
            .position(|metric| *metric == study.metric)
            .unwrap_or(0);
        for (index, metric) in metrics.iter().enumerate() {
            let _infallible = write!(
                out,
                "<label><input type=\"radio\" name=\"metric\" value=\"{}\"{}> {}</label>",
                words::id(metric),
                if index == first { " checked" } else { "" },
                escape(&metric.title())
            );
        }
        out.push_str("</fieldset>\n");
    }
    if study.arms.len() > 1 {
        out.push_str("<fieldset><legend>Arms</legend>");
        for (index, arm) in study.arms.iter().enumerate() {
            let _infallible = write!(
                out,
                "<label><input type=\"checkbox\" name=\"arm\" value=\"{index}\" checked> {} {}</label>",
                key(index),
                words::name(&arm.name)
            );
        }
        out.push_str("</fieldset>\n");
    }
    out.push_str(
        "<button type=\"button\" id=\"fold\">Collapse plots</button>\n<button type=\"button\" id=\"theme\">Theme: auto</button>\n</form>\n",
    );
}

/// The arms with their signs, for those who read a print or have no script.
fn legend(study: &Study) -> String {
    if study.arms.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<ul class=\"keys\">");
    for (index, arm) in study.arms.iter().enumerate() {
        let _infallible = write!(
            out,
            "<li data-arm=\"{index}\">{} {}{}</li>",
            key(index),
            words::name(&arm.name),
            role(study, index)
        );
    }
    out.push_str("</ul>\n");
    out
}

/// What an arm is compared as, where that is not the usual.
fn role(study: &Study, arm: usize) -> &'static str {
    if study.arms.len() < 2 {
        return "";
    }
    let control = study
        .arms
        .get(arm)
        .is_some_and(|arm| arm.role == Some(Role::Control));
    match study.baseline == Some(arm) {
        true => " <span class=\"badge\">baseline</span>",
        false if control => " <span class=\"badge\">control</span>",
        false => "",
    }
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
