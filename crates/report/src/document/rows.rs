//! The rows: one table over all rows of one arm, or what each arm changes in each; then row by row
//! verdicts, levels, what only loads have, intervals as plots, and options.

use super::answer::{only_verdict, verdicts};
use super::{
    Block, Breadth, CellValue, Column, Label, Section, Table, TableLine, VerdictMark, arrivals,
    bounds, hosts, intervals, loads, numbers,
};
use crate::comparison::{drift_lines, shown};
use crate::words::{MOST_NAMED, counted};
use analyze::{Cell, Figure, RowComparison, Study, StudyRow, is_told_apart};
use record::Quantity;
use stats::{Reason, Verdict};
use std::collections::BTreeSet;
use units::few;

/// The name that a study gives to all kinds of operations together.
pub(super) const ALL: &str = "all";

pub(super) fn section(study: &Study, room: Breadth) -> Option<Section<'_>> {
    if study.rows.is_empty() {
        return None;
    }
    let is_alone = study.arms.len() == 1;
    let mut blocks = vec![Block::Keys];
    if is_alone {
        let curves = study.arrivals.iter();
        blocks.extend(curves.map(|curve| Block::Table(arrivals::steps(study, curve))));
        blocks.extend(levels(study).map(Block::Table));
        let drifts = study.rows.iter().flat_map(|row| {
            let lines = row.drift.iter().flat_map(drift_lines);
            lines.map(|line| format!("{}: {line}", row.name))
        });
        blocks.extend(items(drifts.collect()));
    } else if study.rows.len() > 1 {
        blocks.push(Block::Table(changes(study)));
    }
    blocks.extend(loads::over_all_rows(study).into_iter().map(Block::Table));
    let with_verdicts = only_verdict(study).is_none();
    let parts = (0..study.rows.len()).map(|row| part(study, row, room, with_verdicts));
    let parts = parts.collect();
    Some(Section {
        parts,
        ..Section::new("rows", "Rows", blocks)
    })
}

/// One row.
fn part(study: &Study, index: usize, room: Breadth, with_verdicts: bool) -> Section<'_> {
    let row = &study.rows[index];
    let is_alone = study.arms.len() == 1;
    let mut blocks = Vec::new();
    if !is_alone {
        let verdicts = verdicts(study, &row.comparisons, "");
        if with_verdicts && !verdicts.is_empty() {
            blocks.push(Block::Verdicts(verdicts));
        }
        blocks.extend(items(stated_medians(study, row)));
        blocks.push(Block::Table(sides(study, index)));
        let drift = row.drift.iter().flat_map(drift_lines);
        blocks.extend(items(
            drift.map(|line| format!("machine: {line}")).collect(),
        ));
    }
    blocks.extend(loads::tables(study, index).into_iter().map(Block::Table));
    blocks.extend(hosts::table(study, index, room).map(Block::Table));
    if room == Breadth::Program {
        blocks.extend(numbers::tables(study, index).map(Block::Table));
    }
    if room == Breadth::Browser {
        blocks.extend(intervals::of_row(study, index).into_iter().map(Block::Plot));
    }
    if !row.workload.is_empty() {
        let room = if is_alone {
            Breadth::Browser
        } else {
            Breadth::Screen
        };
        blocks.push(Block::Options(index, room));
    }
    Section {
        row: Some(index),
        is_folded: row.is_step,
        ..Section::new(format!("row-{index}"), row.name.clone(), blocks)
    }
}

fn items<'s>(texts: Vec<String>) -> Option<Block<'s>> {
    (!texts.is_empty()).then_some(Block::Items(texts))
}

/// Where both sides lie by a number that only its source knows: no column of the tables is of it.
fn stated_medians(study: &Study, row: &StudyRow) -> Vec<String> {
    let name = |arm: usize| study.arms[arm].name.as_str();
    let base = study.baseline.filter(|_| study.metric.is_stated());
    let of = |(arm, found): (usize, &Option<RowComparison>)| {
        let found = found.as_ref().filter(|found| {
            !matches!(
                found.verdict,
                Verdict::Invalid(Reason::NotDrawnByLot { .. })
            )
        })?;
        Some(format!(
            "{}: medians {} ({}) and {} ({}) over {}",
            study.metric.name(),
            study.metric.number(found.base?),
            name(base?),
            study.metric.number(found.candidate?),
            name(arm),
            counted(found.blocks, "block")
        ))
    };
    row.comparisons.iter().enumerate().filter_map(of).collect()
}

/// Every row of the only arm; the steps of a search stand in the table of its curve.
fn levels(study: &Study) -> Option<Table<'_>> {
    let rows = study.rows.iter().enumerate();
    let rows = rows.filter(|(_, row)| !row.is_step);
    let mut lines: Vec<Measured<'_>> = rows
        .flat_map(|(index, row)| {
            let cell = row.cells.first().and_then(Option::as_ref);
            kinds(row).map(move |kind| Measured {
                labels: vec![Label::Row(index), Label::Text(kind.to_owned())],
                cell,
                kind,
                is_load: is_load(row),
            })
        })
        .collect();
    let first = lines.first().map(|line| line.kind);
    let is_one_kind = lines.iter().all(|line| Some(line.kind) == first);
    if lines.is_empty() && study.rows.iter().any(|row| row.is_step) {
        return None;
    }
    let labels: &[&str] = if is_one_kind {
        lines.iter_mut().for_each(|line| line.labels.truncate(1));
        &["Row"]
    } else {
        &["Row", "Operation"]
    };
    Some(Table {
        id: "table-rows".to_owned(),
        ..table(study, labels, lines)
    })
}

/// The arms side by side in one row.
fn sides(study: &Study, index: usize) -> Table<'_> {
    let row = &study.rows[index];
    let cells = || row.cells.iter().enumerate();
    let is_measured = |cell: &&Cell, kind: &str| cell.figures.iter().any(|of| of.kind == kind);
    let has_kinds = row.operations.len() > 1;
    let mut lines = Vec::new();
    for kind in kinds(row) {
        for (arm, cell) in cells() {
            let Some(cell) = cell.as_ref().filter(|cell| is_measured(cell, kind)) else {
                continue;
            };
            let named = has_kinds.then(|| Label::Text(kind.to_owned()));
            lines.push(Measured {
                labels: named.into_iter().chain([Label::Arm(arm)]).collect(),
                cell: Some(cell),
                kind,
                is_load: is_load(row),
            });
        }
    }
    let labels: &[&str] = if has_kinds {
        &["Operation", "Arm"]
    } else {
        &["Arm"]
    };
    let mut out = Table {
        id: format!("table-{index}"),
        ..table(study, labels, lines)
    };
    let absent = cells().filter(|(_, cell)| cell.is_none());
    let absent: Vec<String> = absent
        .map(|(arm, _)| study.arms[arm].name.clone())
        .collect();
    if !absent.is_empty() {
        let text = format!(
            "without a record that counts here: {}",
            few(&absent, MOST_NAMED)
        );
        out.notes.push(text);
    }
    out
}

/// Of the baseline the level of what is compared, of every other arm its change.
fn changes(study: &Study) -> Table<'_> {
    let arms = study.arms.iter().enumerate();
    let columns = arms.map(|(arm, of)| Column {
        arm: Some(arm),
        ..Column::of(of.name.clone())
    });
    let rows = study.rows.iter().enumerate();
    let lines = rows.map(|(index, row)| TableLine {
        labels: vec![Label::Row(index)],
        cells: (0..study.arms.len())
            .map(|arm| change(study, row, arm))
            .collect(),
    });
    let mut out = Table::new("", &["Row"]);
    out.id = "table-rows".to_owned();
    out.columns = columns.collect();
    out.lines = lines.collect();
    let verdicts = study
        .rows
        .iter()
        .flat_map(|row| row.comparisons.iter().flatten());
    let signs: BTreeSet<String> = verdicts
        .map(|found| VerdictMark::of(&found.verdict))
        .map(|mark| format!("{} {}", mark.sign, mark.word))
        .collect();
    let signs: Vec<String> = signs.into_iter().collect();
    out.notes.push(format!(
        "{}: of the baseline the level, of the others the change against it. {}.",
        super::heading(study, &study.metric),
        signs.join(", ")
    ));
    out
}

fn change<'s>(study: &'s Study, row: &'s StudyRow, arm: usize) -> CellValue<'s> {
    let level = || {
        let kind = leading_kind(row, &study.metric)?;
        let figure = row.cells[arm].as_ref()?.figure(kind, &study.metric)?;
        Some(CellValue::Figure(figure))
    };
    let changed = || {
        let comparison = row.comparisons[arm].as_ref()?;
        let effect = comparison.effect.as_ref()?;
        let mark = VerdictMark::of(&comparison.verdict);
        Some(CellValue::Judged(mark, shown(effect)))
    };
    changed().or_else(level).unwrap_or(CellValue::Nothing)
}

/// All kinds of operations together where they are counted together, else the first kind that has
/// the metric.
pub(super) fn leading_kind<'a>(row: &'a StudyRow, metric: &Quantity) -> Option<&'a str> {
    let has = |kind: &&String| {
        let mut figures = row.cells.iter().flatten();
        figures.any(|cell| {
            let figure = cell.figure(kind, metric);
            figure.is_some_and(|figure| figure.point.is_some())
        })
    };
    let known = || row.operations.iter().filter(has).map(String::as_str);
    known().find(|kind| *kind == ALL).or_else(|| known().next())
}

/// The kinds of operations that have a line of their own.
fn kinds(row: &StudyRow) -> impl Iterator<Item = &str> {
    let kinds = row.operations.iter().map(String::as_str);
    kinds.filter(|kind| !is_told_apart(kind))
}

/// Whether a row is a load of users or arrivals, whose readers ask for percentiles.
fn is_load(row: &StudyRow) -> bool {
    row.workload.iter().any(|fact| fact.key == "scenario")
}

/// One line of a table of figures.
struct Measured<'s> {
    labels: Vec<Label>,
    cell: Option<&'s Cell>,
    kind: &'s str,
    is_load: bool,
}

impl<'s> Measured<'s> {
    fn figure(&self, metric: &Quantity) -> Option<&'s Figure> {
        self.cell?.figure(self.kind, metric)
    }
}

/// A table of all that studies show and somebody knows.
fn table<'s>(study: &'s Study, labels: &[&str], lines: Vec<Measured<'s>>) -> Table<'s> {
    let is_known = |metric: &Quantity| {
        let mut figures = lines.iter().filter_map(|line| line.figure(metric));
        figures.any(|figure| figure.point.is_some())
    };
    let leading = leading(is_known, lines.iter().any(|line| line.is_load));
    let measure = interval_metric(study, is_known).of_any_kind();
    let measured = lines
        .iter()
        .filter_map(|line| Some((line.cell?, line.figure(&measure)?)));
    let mut out = Table::new("", labels);
    out.room = Breadth::Screen;
    out.notes = bounds::remarks(measured.clone());
    let heading = bounds::heading(measured.map(|(_, figure)| figure));
    let shown = Quantity::in_studies().into_iter();
    for metric in shown.filter(|metric| is_known(metric) || leading.contains(metric)) {
        let is_leading = metric == measure || leading.contains(&metric);
        if is_leading {
            out.notes.extend(missing(study, &lines, &metric));
        }
        out.columns.push(Column {
            room: if is_leading {
                Breadth::Screen
            } else {
                Breadth::Browser
            },
            bounds: (metric == measure)
                .then(|| format!("{heading} ({})", super::heading(study, &metric))),
            ..Column::of_quantity(study, &metric)
        });
    }
    let quantities: Vec<Quantity> = out
        .columns
        .iter()
        .flat_map(|column| column.quantity.clone())
        .collect();
    out.columns.push(Column::of("n"));
    out.lines = lines
        .into_iter()
        .map(|line| {
            let figures = quantities.iter().map(|metric| line.figure(metric));
            let mut cells: Vec<CellValue<'_>> = figures
                .map(|figure| figure.map_or(CellValue::Nothing, CellValue::Figure))
                .collect();
            let blocks = line.cell.map_or(0, |cell| cell.blocks);
            cells.push(CellValue::Count(u64::try_from(blocks).unwrap_or(u64::MAX)));
            TableLine {
                labels: line.labels,
                cells,
            }
        })
        .collect();
    out
}

/// Why a quantity is not known, and of which lines.
fn missing(study: &Study, lines: &[Measured<'_>], metric: &Quantity) -> Vec<String> {
    let mut out: Vec<(&str, Vec<String>)> = Vec::new();
    for line in lines {
        let figure = line.figure(metric).filter(|figure| figure.point.is_none());
        let Some(note) = figure.and_then(|figure| figure.note.as_deref()) else {
            continue;
        };
        let labels = line.labels.iter().map(|label| label.text(study));
        let name = labels.collect::<Vec<_>>().join(" ");
        match out.iter_mut().find(|(known, _)| *known == note) {
            Some((_, whose)) => whose.push(name),
            None => out.push((note, vec![name])),
        }
    }
    let texts = out
        .into_iter()
        .map(|(note, whose)| format!("{note}: {}", few(&whose, MOST_NAMED)));
    texts.collect()
}

/// The columns that every form has: always those of the usual comparison table; percentiles instead
/// of a mean that nobody knows, and of loads.
fn leading(is_known: impl Fn(&Quantity) -> bool, is_load: bool) -> Vec<Quantity> {
    let mut out: Vec<Quantity> = ["throughput", "iops", "mean"].map(Quantity::named).into();
    let has_mean = is_known(&Quantity::named("mean"));
    let tails: &[&str] = match (is_load, has_mean) {
        (true, _) => &["p50", "p95", "p99", "max"],
        (false, true) => &["p99"],
        (false, false) => &["p50", "p95", "p99", "p99.9", "max"],
    };
    let percentiles: Vec<Quantity> = tails
        .iter()
        .map(|name| Quantity::named(name))
        .filter(&is_known)
        .collect();
    if !percentiles.is_empty() && !has_mean {
        out.pop();
    }
    out.extend(percentiles);
    out.extend(Some(Quantity::named("cpu/op")).filter(is_known));
    out
}

/// The metric whose interval is shown: what is compared, else the first that is known.
fn interval_metric(study: &Study, is_known: impl Fn(&Quantity) -> bool) -> Quantity {
    let others = ["iops", "throughput", "mean", "p50"].map(Quantity::named);
    let candidates = std::iter::once(study.metric.clone()).chain(others);
    candidates
        .into_iter()
        .find(is_known)
        .unwrap_or(Quantity::named("iops"))
}
