//! Tables of a page.

use super::{id, mark, missed, name, role, verdict_class};
use crate::document::{Breadth, CellValue, Document, Label, Table, TableLine};
use crate::plot::key;
use crate::words::counted;
use maud::{Markup, PreEscaped, html};

/// Longer tables than this are folded at first.
const SHORT: usize = 16;
/// What is no longer than this needs no room to break.
const LONGEST_WORD: usize = 24;

/// A table under its title; a long one, or one for those who scroll, is folded.
pub(super) fn titled(document: &Document<'_>, of: &Table<'_>) -> Markup {
    html! {
        @if of.title.is_empty() {
            (table(document, of))
        } @else if of.room == Breadth::Browser || of.lines.len() >= SHORT {
            details {
                summary { (of.title) ": " (counted(of.lines.len(), "line")) }
                (table(document, of))
            }
        } @else {
            div class="titled" { h4 { (of.title) } (table(document, of)) }
        }
    }
}

fn table(document: &Document<'_>, table: &Table<'_>) -> Markup {
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
    let notes = Footnotes::of(table);
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
            tbody { @for of in &table.lines { (line(document, table, of, &notes)) } }
        } }
        @if !notes.texts.is_empty() {
            ol class="footnotes" {
                @for (index, note) in notes.texts.iter().enumerate() { li id=(notes.address(index)) { (note) } }
            }
        }
        @for note in &table.notes { p class="footnote" { (note) } }
        @if let Some(id) = address {
            button type="button" class="copy" value=(id) hidden { "Copy as Markdown" }
        }
    }
}

/// What stands below a table about some of its cells, each text once.
struct Footnotes<'t> {
    of: &'t str,
    texts: Vec<&'t str>,
}

impl<'t> Footnotes<'t> {
    fn of(table: &'t Table<'_>) -> Self {
        let mut texts = Vec::new();
        for line in &table.lines {
            let cells = table.columns.iter().zip(&line.cells);
            let bounded = cells.filter(|(column, _)| column.bounds.is_some());
            for note in bounded.filter_map(|(_, value)| value.note()) {
                if !texts.contains(&note) {
                    texts.push(note);
                }
            }
        }
        Self {
            of: &table.id,
            texts,
        }
    }

    fn address(&self, index: usize) -> String {
        format!("{}-note-{}", self.of, index + 1)
    }

    /// The sign of the note of a value.
    fn sign(&self, value: &CellValue<'_>) -> Markup {
        let note = value.note();
        let known = note.and_then(|note| self.texts.iter().position(|known| *known == note));
        html! {
            @if let Some(index) = known {
                sup { a href={ "#" (self.address(index)) } { (index + 1) } }
            }
        }
    }
}

fn line(
    document: &Document<'_>,
    table: &Table<'_>,
    line: &TableLine<'_>,
    notes: &Footnotes<'_>,
) -> Markup {
    let study = document.study;
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
                        Label::Row(row) => { a href={ "#row-" (row) } { (name(&label.text(study))) } (mark(document, *row)) (missed(study, *row, line.texts().next())) },
                        Label::Arm(arm) => { (PreEscaped(key(*arm))) " " (name(&label.text(study))) (role(study, *arm)) },
                        Label::Run { .. } => (name(&label.text(study))),
                        Label::Text(text) => @if !text.is_empty() { (name(text)) },
                    }
                }
            }
            @for (column, value) in table.columns.iter().zip(&line.cells) {
                @let metric = column.quantity.as_ref().map(id);
                td class=[class(value)] data-metric=[metric] data-arm=[column.arm] data-value=[value.order().map(|value| format!("{value:.5e}"))] {
                    (cell(value, column.bounds.is_some().then_some(notes)))
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
        CellValue::Judged(mark, _) => Some(verdict_class(*mark)),
        CellValue::Text(_) | CellValue::Missed(_) | CellValue::Held(_) => None,
    }
}

/// A value with what lies around it.
fn cell(value: &CellValue<'_>, notes: Option<&Footnotes<'_>>) -> Markup {
    let around = value.around();
    html! {
        @match value {
            CellValue::Missed(text) => b class="no" { (text) },
            CellValue::Nothing => span class="quiet" { "–" },
            CellValue::Figure(figure) if figure.point.is_none() => span class="quiet" title=[value.note()] { "–" },
            CellValue::Text(text) => (name(text)),
            CellValue::Figure(_) | CellValue::OfRun(..) | CellValue::Number(..) | CellValue::Count(_)
            | CellValue::Judged(..) | CellValue::Held(_) | CellValue::Failed(_) => (value.text()),
        }
        @let sign = notes.map(|notes| notes.sign(value));
        @match around {
            Some(text) => small { (unbroken(&text)) @if let Some(sign) = sign { (sign) } },
            None => @if let Some(sign) = sign { (sign) },
        }
    }
}

/// An interval that breaks between its ends and before them alone, so that columns can be narrow.
pub(super) fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
        .replace(",\u{a0}", ", ")
        .replace("range\u{a0}", "range ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_breaks_at_no_unit() {
        assert_eq!(
            unbroken("range [4.42 GiB/s, 4.67 GiB/s]"),
            "range [4.42\u{a0}GiB/s, 4.67\u{a0}GiB/s]"
        );
    }
}
