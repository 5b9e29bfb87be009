//! One article a row: verdicts, the table as the reference documents have it, and intervals.

use super::{ALL, environment, load, plotted, role, words};
use crate::load::is_told_apart;
use crate::plot::{IntervalLine, Reference, ValueUnit, escape, intervals, key};
use crate::sentence;
use crate::study::span_text;
use analyze::{Cell, Fact, Figure, Study, StudyRow};
use record::{Quantity, Record};
use std::fmt::Write as _;

pub(super) fn section(study: &Study, records: &[Record]) -> Option<String> {
    if study.rows.is_empty() {
        return None;
    }
    let mut out = String::from(
        "<section id=\"rows\">\n<h2>Rows</h2>\n<p id=\"none\" hidden>No row has such a name.</p>\n",
    );
    for index in 0..study.rows.len() {
        write_row(&mut out, study, index, records);
    }
    out.push_str("</section>\n");
    Some(out)
}

/// The metrics with a plot of their own of which some record says something.
pub(super) fn metrics_with_figures(study: &Study) -> Vec<Quantity> {
    let figures = || {
        study
            .rows
            .iter()
            .flat_map(|row| row.cells.iter().flatten())
            .flat_map(|cell| &cell.figures)
    };
    plotted()
        .into_iter()
        .filter(|metric| figures().any(|figure| figure.metric == *metric && figure.point.is_some()))
        .collect()
}

fn write_row(out: &mut String, study: &Study, index: usize, records: &[Record]) {
    let row = &study.rows[index];
    let _infallible = write!(
        out,
        "<article id=\"row-{index}\" data-row=\"{index}\" data-name=\"{}\">\n<h3>{}</h3>\n",
        escape(&row.name),
        words::name(&row.name)
    );
    write_verdicts(out, study, row);
    write_table(out, study, row, index);
    load::write_row(out, study, row, records);
    out.push_str("<div class=\"figures\">\n");
    if let Some(figure) = changes(study, row) {
        out.push_str(&figure);
    }
    for metric in plotted() {
        for kind in kinds_to_plot(row, &metric) {
            out.push_str(&levels(study, row, kind, &metric).unwrap_or_default());
        }
    }
    out.push_str("</div>\n");
    write_workload(out, study, row);
    out.push_str("</article>\n");
}

fn write_verdicts(out: &mut String, study: &Study, row: &StudyRow) {
    let verdicts: Vec<(usize, &analyze::RowComparison)> = row
        .comparisons
        .iter()
        .enumerate()
        .filter_map(|(arm, comparison)| Some((arm, comparison.as_ref()?)))
        .collect();
    if verdicts.is_empty() {
        return;
    }
    out.push_str("<ul class=\"verdicts\">\n");
    for (arm, comparison) in verdicts {
        let (sign, _) = words::verdict(&comparison.verdict);
        let name = study.arms.get(arm).map_or("", |arm| arm.name.as_str());
        let _infallible = writeln!(
            out,
            "<li data-arm=\"{arm}\"><span class=\"sign\">{sign}</span> {}: {}</li>",
            words::name(name),
            escape(&sentence(comparison, study.metric.unit(), study.margin))
        );
    }
    out.push_str("</ul>\n");
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

fn write_table(out: &mut String, study: &Study, row: &StudyRow, index: usize) {
    let metrics = metrics(row);
    let several = row.operations.len() > 1;
    let _infallible = write!(
        out,
        "<div class=\"scroll\"><table id=\"table-{index}\"><thead><tr><th scope=\"col\">Arm</th>"
    );
    if several {
        out.push_str("<th scope=\"col\">Operation</th>");
    }
    out.push_str("<th scope=\"col\" class=\"num\">Blocks</th>");
    for metric in &metrics {
        let _infallible = write!(
            out,
            "<th scope=\"col\" class=\"num\" data-metric=\"{}\">{}</th>",
            words::id(metric),
            escape(&metric.title())
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for (arm, cell) in row.cells.iter().enumerate() {
        let name = format!(
            "{} {}{}",
            key(arm),
            words::name(&study.arms[arm].name),
            role(study, arm)
        );
        let Some(cell) = cell else {
            let span = metrics.len() + 1 + usize::from(several);
            let _infallible = writeln!(
                out,
                "<tr data-arm=\"{arm}\"><th scope=\"row\">{name}</th><td colspan=\"{span}\" class=\"quiet\">not measured</td></tr>"
            );
            continue;
        };
        for kind in row.operations.iter().filter(|kind| !is_told_apart(kind)) {
            let operation = if several {
                format!("<td>{}</td>", words::name(kind))
            } else {
                String::new()
            };
            let _infallible = write!(
                out,
                "<tr data-arm=\"{arm}\"><th scope=\"row\">{name}</th>{operation}<td class=\"num\">{}</td>",
                blocks(cell)
            );
            for metric in &metrics {
                let _infallible = write!(
                    out,
                    "<td class=\"num\" data-metric=\"{}\">{}</td>",
                    words::id(metric),
                    cell.figure(kind, metric).map_or_else(
                        || NOTHING.to_owned(),
                        |figure| figure_text(figure, common_note(cell), true)
                    )
                );
            }
            out.push_str("</tr>\n");
        }
    }
    let _infallible = write!(
        out,
        "</tbody></table></div>\n<button type=\"button\" class=\"copy\" value=\"table-{index}\" hidden>Copy as Markdown</button>\n"
    );
}

pub(super) const NOTHING: &str = "<span class=\"quiet\">–</span>";

/// What all figures of a cell have to say, such as that they are single observations.
fn common_note(cell: &Cell) -> Option<&str> {
    cell.figures
        .iter()
        .find(|figure| figure.point.is_some())?
        .note
        .as_deref()
}

/// How many blocks, and what that means for all figures of the cell.
fn blocks(cell: &Cell) -> String {
    let note = common_note(cell)
        .map(|note| format!("<small class=\"note\">{}</small>", escape(note)))
        .unwrap_or_default();
    let bounded = cell.figures.iter().any(|figure| figure.bounds.is_some());
    let within = cell
        .span
        .filter(|_| bounded)
        .map(|span| format!("<small>within {}</small>", span_text(span)))
        .unwrap_or_default();
    format!("{}{within}{note}", cell.blocks)
}

/// Point and interval, and with `notes` what is to be said of this figure beyond `common`.
pub(super) fn figure_text(figure: &Figure, common: Option<&str>, notes: bool) -> String {
    let unit = figure.metric.unit();
    let point = figure
        .point
        .map_or_else(|| NOTHING.to_owned(), |point| escape(&unit.text(point)));
    let between = words::around(figure);
    let note = figure
        .note
        .as_deref()
        .filter(|note| notes && Some(*note) != common);
    let between = between
        .map(|text| format!("<small>{}</small>", escape(&text)))
        .unwrap_or_default();
    let note = note
        .map(|note| format!("<small class=\"note\">{}</small>", escape(note)))
        .unwrap_or_default();
    format!("{point}{between}{note}")
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

fn levels(study: &Study, row: &StudyRow, kind: &str, metric: &Quantity) -> Option<String> {
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
    let kind = if row.operations.len() > 1 {
        format!(" ({})", escape(kind))
    } else {
        String::new()
    };
    let heading = format!("{}{kind}", escape(&metric.title()));
    let label = format!(
        "{} of each arm in {} with intervals",
        metric.title(),
        row.name
    );
    let plot = intervals(&label, "", unit, &lines, &Reference { at, band: None })?;
    Some(format!(
        "<figure data-metric=\"{}\"><figcaption>{heading}</figcaption>{plot}</figure>\n",
        words::id(metric)
    ))
}

fn changes(study: &Study, row: &StudyRow) -> Option<String> {
    let line = |(arm, comparison): (usize, &Option<analyze::RowComparison>)| {
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
    Some(format!(
        "<figure><figcaption>{} against the baseline</figcaption>{plot}<p>Shaded: within the margin of {}.</p></figure>\n",
        escape(&metric),
        words::percent(study.margin)
    ))
}

fn write_workload(out: &mut String, study: &Study, row: &StudyRow) {
    if row.workload.is_empty() {
        return;
    }
    let facts: Vec<&Fact> = row.workload.iter().collect();
    let differing = facts.iter().filter(|fact| fact.differs).count();
    let differs = if differing > 0 && study.arms.len() > 1 {
        format!(", {differing} of them differ")
    } else {
        String::new()
    };
    let _infallible = writeln!(
        out,
        "<details><summary>Workload: {}{differs}</summary>",
        words::counted(facts.len(), "option")
    );
    environment::write_options(out, study, &facts);
    out.push_str("</details>\n");
}
