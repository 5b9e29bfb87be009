//! All rows and arms on one screen.

use super::rows::{column, figure_text, nothing};
use super::{ALL, leading_kind, role, words};
use crate::plot::ValueUnit;
use analyze::{Study, StudyRow};
use maud::{Markup, html};
use record::Quantity;

/// Of one arm every row with its levels; of several the level of the baseline, and every other
/// arm's change against it. `None` where one table says it all already.
pub(super) fn section(study: &Study) -> Option<Markup> {
    match study.arms.len() {
        _ if study.rows.len() < 2 => None,
        0 => None,
        1 => Some(levels(study)),
        _ => Some(changes(study)),
    }
}

/// What a reader looks for first.
const LEADING: [&str; 6] = ["throughput", "iops", "mean", "p50", "p99", "cpu/op"];

fn levels(study: &Study) -> Markup {
    let metrics = LEADING.map(Quantity::named);
    html! {
        section id="overview" {
            h2 { "Overview" }
            div class="scroll" { table id="table-overview" {
                thead { tr {
                    th scope="col" { "Row" }
                    th scope="col" { "Operation" }
                    @for metric in &metrics { (column(metric)) }
                } }
                tbody {
                    @for (index, row) in study.rows.iter().enumerate() {
                        @let cell = row.cells.first().and_then(Option::as_ref);
                        @for kind in &row.operations {
                            tr data-row=(index) {
                                (row_head(index, row))
                                td { (words::name(kind)) }
                                @for metric in &metrics {
                                    td class="num" data-metric=(words::id(metric)) {
                                        (figure_text(cell.and_then(|cell| cell.figure(kind, metric)), None, false))
                                    }
                                }
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn row_head(index: usize, row: &StudyRow) -> Markup {
    html! {
        th scope="row" { a href={ "#row-" (index) } { (words::name(&row.name)) } }
    }
}

fn changes(study: &Study) -> Markup {
    html! {
        section id="overview" {
            h2 { "Overview" }
            p {
                (study.metric.title())
                "; of the baseline the level, of the others the change against it with its interval. "
                "▲ faster, ▼ slower, ≈ equivalent, ? cannot tell, ✕ no verdict."
            }
            div class="scroll" { table {
                thead { tr {
                    th scope="col" { "Row" }
                    @for (index, arm) in study.arms.iter().enumerate() {
                        th scope="col" data-arm=(index) { (words::name(&arm.name)) (role(study, index)) }
                    }
                } }
                tbody {
                    @for (index, row) in study.rows.iter().enumerate() {
                        tr data-row=(index) {
                            (row_head(index, row))
                            @for arm in 0..study.arms.len() {
                                td class="num" data-arm=(arm) { (cell(study, row, arm)) }
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn cell(study: &Study, row: &StudyRow, arm: usize) -> Markup {
    let level = level(row, arm, &study.metric);
    let comparison = row.comparisons.get(arm).and_then(Option::as_ref);
    let change = comparison
        .and_then(|comparison| comparison.effect.as_ref())
        .map(words::change);
    html! {
        @if let Some(comparison) = comparison {
            @let (sign, word) = words::verdict(&comparison.verdict);
            span class="sign" title=(word) { (sign) } " "
        }
        @if let Some((point, interval)) = change {
            (ValueUnit::Change.text(point))
            @if let Some(bounds) = interval {
                small { (words::between(ValueUnit::Change, point, bounds)) }
            }
        } @else if let Some(level) = level {
            (level)
        } @else {
            (nothing())
        }
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
