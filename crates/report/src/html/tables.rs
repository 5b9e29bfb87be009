//! Tables of a page.

use super::{id, name, role};
use crate::document::{Breadth, CellValue, Label, Table, TableLine};
use crate::plot::key;
use crate::words::counted;
use analyze::Study;
use maud::{Markup, PreEscaped, html};

/// Longer tables than this are folded at first.
const SHORT: usize = 16;
/// What is no longer than this needs no room to break.
const LONGEST_WORD: usize = 24;

/// A table under its title; a long one, or one for those who scroll, is folded.
pub(super) fn titled(study: &Study, of: &Table<'_>) -> Markup {
    html! {
        @if of.title.is_empty() {
            (table(study, of))
        } @else if of.room == Breadth::Browser || of.lines.len() >= SHORT {
            details {
                summary { (of.title) ": " (counted(of.lines.len(), "line")) }
                (table(study, of))
            }
        } @else {
            div class="titled" { h4 { (of.title) } (table(study, of)) }
        }
    }
}

fn table(study: &Study, table: &Table<'_>) -> Markup {
    let is_number = |column: usize| {
        let mut cells = table.lines.iter().filter_map(|line| line.cells.get(column));
        cells.any(|cell| {
            matches!(
                cell,
                CellValue::Figure(_) | CellValue::Number(..) | CellValue::Count(_)
            )
        })
    };
    let address = Some(&table.id).filter(|id| !id.is_empty());
    html! {
        div class="scroll" { table id=[address] class=[address.is_none().then_some("load")] {
            thead { tr {
                @for label in &table.labels { th scope="col" { (label) } }
                @for (index, column) in table.columns.iter().enumerate() {
                    @let metric = column.quantity.as_ref().map(id);
                    th scope="col" class=[is_number(index).then_some("num")] data-metric=[metric] data-arm=[column.arm] {
                        (name(&column.head))
                        @if let Some(bounds) = &column.bounds { small { (bounds) } }
                    }
                }
            } }
            tbody { @for of in &table.lines { (line(study, table, of)) } }
        } }
        @for note in &table.notes { p class="footnote" { (note) } }
        @if let Some(id) = address {
            button type="button" class="copy" value=(id) hidden { "Copy as Markdown" }
        }
    }
}

fn line(study: &Study, table: &Table<'_>, line: &TableLine<'_>) -> Markup {
    let row = line.labels.iter().find_map(|label| match label {
        Label::Row(row) => Some(*row),
        Label::Arm(_) | Label::Run { .. } | Label::Text(_) => None,
    });
    let arm = line.arm();
    html! {
        tr data-row=[row] data-arm=[arm] {
            @for label in &line.labels {
                th scope="row" {
                    @match label {
                        Label::Row(row) => a href={ "#row-" (row) } { (name(&label.text(study))) },
                        Label::Arm(arm) => { (PreEscaped(key(*arm))) " " (name(&label.text(study))) (role(study, *arm)) },
                        Label::Run { .. } => (name(&label.text(study))),
                        Label::Text(text) => @if !text.is_empty() { (name(text)) },
                    }
                }
            }
            @for (column, value) in table.columns.iter().zip(&line.cells) {
                @let metric = column.quantity.as_ref().map(id);
                td class=[class(value)] data-metric=[metric] data-arm=[column.arm] {
                    (cell(value, column.bounds.is_some()))
                }
            }
        }
    }
}

fn class(value: &CellValue<'_>) -> Option<&'static str> {
    match value {
        CellValue::Figure(_)
        | CellValue::OfRun(..)
        | CellValue::Failed(_)
        | CellValue::Number(..)
        | CellValue::Count(_)
        | CellValue::Nothing => Some("num"),
        CellValue::Text(text) if text.chars().count() > LONGEST_WORD => Some("long"),
        CellValue::Text(_) | CellValue::Missed(_) | CellValue::Held(_) => None,
    }
}

/// A value with what lies around it, or why nothing does where that was to be told.
fn cell(value: &CellValue<'_>, is_bounded: bool) -> Markup {
    let around = if is_bounded {
        Some(value.around_or_why()).filter(|text| text != crate::words::NOTHING)
    } else {
        value.around()
    };
    html! {
        @match value {
            CellValue::Missed(text) => b class="no" { (text) },
            CellValue::Nothing => span class="quiet" { "–" },
            CellValue::Figure(figure) if figure.point.is_none() => span class="quiet" title=[value.note()] { "–" },
            CellValue::Text(text) => (name(text)),
            CellValue::Figure(_) | CellValue::OfRun(..) | CellValue::Number(..) | CellValue::Count(_)
            | CellValue::Held(_) | CellValue::Failed(_) => (value.text()),
        }
        @if let Some(text) = around { small { (text) } }
    }
}
