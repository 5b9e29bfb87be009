//! Every number of a row in a line of its own: what forms for other programs write.

use super::{Breadth, CellValue, Column, Label, Table, TableLine};
use analyze::{Cell, Figure, Study};

/// The address of the levels over blocks.
pub(crate) const LEVELS: &str = "levels";
/// The address of what single runs say beyond them.
pub(crate) const RUNS: &str = "runs";

/// The levels of every arm, and what each of its runs says beyond them.
pub(super) fn tables(study: &Study, index: usize) -> [Table<'_>; 2] {
    let cells = || {
        let cells = study.rows[index].cells.iter().enumerate();
        cells.filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
    };
    let levels = cells().flat_map(|(arm, cell)| {
        let figures = cell.figures.iter();
        figures.map(move |figure| TableLine {
            labels: vec![Label::Arm(arm), Label::Text(figure.kind.clone())],
            cells: vec![CellValue::Figure(figure)],
        })
    });
    let runs = cells().flat_map(|(arm, cell)| {
        let of_run = move |at: usize| {
            let said = run(cell, at).into_iter();
            said.map(move |(kind, value)| TableLine {
                labels: vec![
                    Label::Arm(arm),
                    Label::Text(kind.to_owned()),
                    Label::Run {
                        row: index,
                        arm,
                        at,
                    },
                ],
                cells: vec![value],
            })
        };
        (0..cell.details.len()).flat_map(of_run)
    });
    [
        table(LEVELS, &["Arm", "Operation"], levels.collect()),
        table(RUNS, &["Arm", "Operation", "Run"], runs.collect()),
    ]
}

fn table<'s>(id: &str, labels: &[&str], lines: Vec<TableLine<'s>>) -> Table<'s> {
    Table {
        id: id.to_owned(),
        room: Breadth::Program,
        columns: vec![Column::of("Value")],
        lines,
        ..Table::new("", labels)
    }
}

/// What one run says, each with the kind of operation that it is of: what only loads have, the
/// thresholds that it was held against, and what failed in a load.
fn run(cell: &Cell, at: usize) -> Vec<(&str, CellValue<'_>)> {
    let details = &cell.details[at];
    let of_load = of_load(cell, at);
    let mut out: Vec<(&str, CellValue<'_>)> = of_load
        .map(|(figure, value)| (figure.kind.as_str(), CellValue::OfRun(figure, value)))
        .collect();
    let thresholds = details.thresholds.iter();
    out.extend(thresholds.map(|result| ("", CellValue::Held(result))));
    let errors = details.errors.iter().filter(|_| details.is_load);
    out.extend(errors.map(|error| (error.operation.as_str(), CellValue::Failed(error))));
    out
}

/// What only loads have, of one run of a cell.
fn of_load(cell: &Cell, at: usize) -> impl Iterator<Item = (&Figure, f64)> {
    let block = cell.numbers.get(at).copied();
    cell.of_loads.iter().filter_map(move |figure| {
        let (_, value) = figure.values.iter().find(|(of, _)| Some(*of) == block)?;
        Some((figure, *value))
    })
}
