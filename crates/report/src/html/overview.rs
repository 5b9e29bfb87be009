//! All rows and arms on one screen.

use super::rows::NOTHING;
use super::{ALL, leading_kind, role, words};
use crate::plot::escape;
use analyze::{Study, StudyRow};
use record::Quantity;
use std::fmt::Write as _;

/// Of one arm every row with its levels; of several the level of the baseline, and every other
/// arm's change against it. `None` where one table says it all already.
pub(super) fn section(study: &Study) -> Option<String> {
    match study.arms.len() {
        _ if study.rows.len() < 2 => None,
        0 => None,
        1 => Some(levels(study)),
        _ => Some(changes(study)),
    }
}

/// What a reader looks for first.
const LEADING: [&str; 6] = ["throughput", "iops", "mean", "p50", "p99", "cpu/op"];

fn levels(study: &Study) -> String {
    let mut out = "<section id=\"overview\">\n<h2>Overview</h2>\n<div class=\"scroll\"><table id=\"table-overview\"><thead><tr>\
                   <th scope=\"col\">Row</th><th scope=\"col\">Operation</th>"
        .to_owned();
    for metric in &LEADING.map(Quantity::named) {
        let _infallible = write!(
            out,
            "<th scope=\"col\" class=\"num\" data-metric=\"{}\">{}</th>",
            words::id(metric),
            escape(&metric.title())
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for (index, row) in study.rows.iter().enumerate() {
        for kind in &row.operations {
            let name = words::name(&row.name);
            let _infallible = write!(
                out,
                "<tr data-row=\"{index}\"><th scope=\"row\"><a href=\"#row-{index}\">{name}</a></th><td>{}</td>",
                words::name(kind)
            );
            let cell = row.cells.first().and_then(Option::as_ref);
            for metric in &LEADING.map(Quantity::named) {
                let figure = cell.and_then(|cell| cell.figure(kind, metric));
                let text = figure.map_or_else(
                    || NOTHING.to_owned(),
                    |figure| super::rows::figure_text(figure, None, false),
                );
                let _infallible = write!(
                    out,
                    "<td class=\"num\" data-metric=\"{}\">{text}</td>",
                    words::id(metric)
                );
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody></table></div>\n</section>\n");
    out
}

fn changes(study: &Study) -> String {
    let mut out = format!(
        "<section id=\"overview\">\n<h2>Overview</h2>\n<p>{}; of the baseline the level, of the others the change against it with its interval. \
         ▲ faster, ▼ slower, ≈ equivalent, ? cannot tell, ✕ no verdict.</p>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Row</th>",
        escape(&study.metric.title())
    );
    for (index, arm) in study.arms.iter().enumerate() {
        let _infallible = write!(
            out,
            "<th scope=\"col\" data-arm=\"{index}\">{}{}</th>",
            words::name(&arm.name),
            role(study, index)
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for (index, row) in study.rows.iter().enumerate() {
        let _infallible = write!(
            out,
            "<tr data-row=\"{index}\"><th scope=\"row\"><a href=\"#row-{index}\">{}</a></th>",
            words::name(&row.name)
        );
        for arm in 0..study.arms.len() {
            let _infallible = write!(
                out,
                "<td class=\"num\" data-arm=\"{arm}\">{}</td>",
                cell(study, row, arm)
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</section>\n");
    out
}

fn cell(study: &Study, row: &StudyRow, arm: usize) -> String {
    let level = || level(row, arm, &study.metric).unwrap_or_else(|| NOTHING.to_owned());
    let Some(comparison) = row.comparisons.get(arm).and_then(Option::as_ref) else {
        return level();
    };
    let (sign, word) = words::verdict(&comparison.verdict);
    match &comparison.effect {
        Some(effect) => {
            let (point, interval) = words::change(effect);
            let unit = crate::plot::ValueUnit::Change;
            let between = interval
                .map(|bounds| format!("<small>{}</small>", words::between(unit, point, bounds)))
                .unwrap_or_default();
            format!(
                "<span class=\"sign\" title=\"{word}\">{sign}</span> {}{between}",
                unit.text(point)
            )
        }
        None => format!(
            "<span class=\"sign\" title=\"{word}\">{sign}</span> {}",
            level()
        ),
    }
}

/// The compared metric over all kinds of operations, or of one kind, which is named where it is not
/// the only one.
fn level(row: &StudyRow, arm: usize, metric: &Quantity) -> Option<String> {
    let kind = leading_kind(row, metric)?;
    let figure = row.cells.get(arm)?.as_ref()?.figure(kind, metric)?;
    let of = if kind == ALL || row.operations.len() == 1 {
        String::new()
    } else {
        format!(" ({kind})")
    };
    figure
        .point
        .map(|point| format!("{}{of}", metric.unit().text(point)))
}
