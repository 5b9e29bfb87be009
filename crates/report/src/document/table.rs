//! Tables whose columns are quantities, or arms.

use super::{Breadth, VerdictMark, bounds_text};
use crate::words::NOTHING;
use analyze::{Figure, Study};
use record::{ErrorCount, Quantity, ThresholdResult};
use units::ValueUnit;
use units::lossless::u64_to_f64;

/// A table whose columns are quantities, or arms.
pub(crate) struct Table<'s> {
    /// Its address in the document; empty: nobody asks for it alone.
    pub(crate) id: String,
    /// Empty: the heading of its section says what it is.
    pub(crate) title: String,
    pub(crate) room: Breadth,
    /// Heads of the columns that name a line.
    pub(crate) labels: Vec<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<TableLine<'s>>,
    /// What is said below it.
    pub(crate) notes: Vec<String>,
}

/// A column of values.
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) room: Breadth,
    /// What its values are of, where all are of one quantity.
    pub(crate) quantity: Option<Quantity>,
    /// Of which arm its values are.
    pub(crate) arm: Option<usize>,
    /// What stands around its values, under a head of its own where a form has columns for it.
    pub(crate) bounds: Option<String>,
    /// How much it matters where there is no room for all, where neither quantity nor arm says it.
    pub(crate) weight: u8,
}

/// One line of a table.
pub(crate) struct TableLine<'s> {
    pub(crate) labels: Vec<Label>,
    pub(crate) cells: Vec<CellValue<'s>>,
}

/// What names a line.
#[derive(Clone, Debug)]
pub(crate) enum Label {
    Row(usize),
    Arm(usize),
    /// One record of a cell, by its place there.
    Run {
        row: usize,
        arm: usize,
        at: usize,
    },
    Text(String),
}

/// What stands in a cell.
#[derive(Clone, Debug)]
pub(crate) enum CellValue<'s> {
    /// A level over blocks, with what lies around it.
    Figure(&'s Figure),
    /// What one run says of a quantity.
    OfRun(&'s Figure, f64),
    /// A threshold that a run was held against.
    Held(&'s ThresholdResult),
    /// What failed in a run, and how often.
    Failed(&'s ErrorCount),
    Number(f64, ValueUnit),
    /// A number of things, exactly.
    Count(u64),
    Text(String),
    /// A change with its verdict.
    Judged(VerdictMark, String),
    /// What was asked for and did not come.
    Missed(String),
    Nothing,
}

impl<'s> Table<'s> {
    pub(crate) fn new(title: &str, labels: &[&str]) -> Self {
        Self {
            id: String::new(),
            title: title.to_owned(),
            room: Breadth::Paper,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            columns: Vec::new(),
            lines: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// How much each column of [`Table::as_text`] matters where there is no room for all; names
    /// always stay, and what is known around a level stays longer than other levels.
    pub(crate) fn priorities(&self, room: Breadth) -> Vec<u8> {
        let columns = self.columns.iter().enumerate();
        let shown = columns.filter(|(_, column)| column.room <= room);
        let values = shown.flat_map(|(at, column)| {
            let cells = || self.lines.iter().filter_map(|line| line.cells.get(at));
            let bounds = column.bounds.as_ref().map(|_| {
                let is_known = cells().any(|cell| cell.around().is_some());
                if is_known { BOUNDS } else { NO_BOUNDS }
            });
            std::iter::once(column.priority()).chain(bounds)
        });
        self.labels.iter().map(|_| u8::MAX).chain(values).collect()
    }

    /// The table as text for a form: a header, and lines of as many cells.
    pub(crate) fn as_text(&self, study: &Study, room: Breadth) -> Vec<Vec<String>> {
        let shown = |column: &&Column| column.room <= room;
        let mut header = self.labels.clone();
        for column in self.columns.iter().filter(shown) {
            header.push(column.head.clone());
            header.extend(column.bounds.clone());
        }
        let line = |line: &TableLine<'s>| {
            let labels = line.labels.iter().map(|label| label.text(study));
            let mut out: Vec<String> = labels.collect();
            let cells = self.columns.iter().zip(&line.cells);
            for (column, value) in cells.filter(|(column, _)| shown(column)) {
                out.push(value.text());
                out.extend(column.bounds.as_ref().map(|_| value.around_or_why()));
            }
            out
        };
        std::iter::once(header)
            .chain(self.lines.iter().map(line))
            .collect()
    }
}

/// How much columns of these quantities matter where there is no room for all: a level with its
/// interval says more than two levels.
const BOUNDS: u8 = 7;
/// Of what only says why nobody knows them.
const NO_BOUNDS: u8 = 1;
const PRIORITIES: [(&str, u8); 6] = [
    ("iops", 9),
    ("throughput", 8),
    ("p99", 6),
    ("p50", 5),
    ("mean", 4),
    ("cpu/op", 2),
];

impl Column {
    /// How much it matters where there is no room for all: arms more than quantities of which
    /// nobody says it.
    fn priority(&self) -> u8 {
        let of = self.quantity.as_ref();
        let known = PRIORITIES
            .iter()
            .find(|(name, _)| of.is_some_and(|of| of.is(name)));
        match (known, self.arm) {
            (Some((_, priority)), _) => *priority,
            (None, Some(_)) => 5,
            (None, None) => self.weight,
        }
    }

    pub(crate) fn of(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            room: Breadth::Screen,
            quantity: None,
            arm: None,
            bounds: None,
            weight: 3,
        }
    }

    pub(super) fn weighing(head: impl Into<String>, weight: u8) -> Self {
        Self {
            weight,
            ..Self::of(head)
        }
    }

    pub(super) fn of_quantity(study: &Study, quantity: &Quantity) -> Self {
        Self {
            quantity: Some(quantity.clone()),
            ..Self::of(super::heading(study, quantity))
        }
    }
}

impl Label {
    pub(crate) fn text(&self, study: &Study) -> String {
        match self {
            Self::Row(row) => study.rows[*row].name.clone(),
            Self::Arm(arm) => study.arms[*arm].name.clone(),
            Self::Run { row, arm, at } => {
                let cell = study.rows[*row].cells[*arm].as_ref();
                cell.map_or_else(String::new, |cell| cell.details[*at].id.clone())
            }
            Self::Text(text) => text.clone(),
        }
    }
}

impl TableLine<'_> {
    /// The arm that it is of, where it is of one.
    pub(crate) fn arm(&self) -> Option<usize> {
        self.labels.iter().find_map(|label| match label {
            Label::Arm(arm) => Some(*arm),
            Label::Row(_) | Label::Run { .. } | Label::Text(_) => None,
        })
    }

    /// The texts that name it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().filter_map(|label| match label {
            Label::Text(text) => Some(text.as_str()),
            Label::Row(_) | Label::Arm(_) | Label::Run { .. } => None,
        })
    }
}

impl CellValue<'_> {
    pub(super) fn of(value: Option<f64>, unit: ValueUnit) -> Self {
        value.map_or(Self::Nothing, |value| Self::Number(value, unit))
    }

    /// The value without what lies around it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Figure(figure) => match figure.point {
                Some(point) => figure.metric.number(point),
                None => NOTHING.to_owned(),
            },
            Self::OfRun(figure, value) => figure.metric.text(*value),
            Self::Held(result) => result.measured.clone(),
            Self::Failed(error) => error.count.to_string(),
            Self::Number(value, unit) => unit.text(*value),
            Self::Count(n) => n.to_string(),
            Self::Text(text) | Self::Missed(text) => text.clone(),
            Self::Judged(mark, text) => format!("{} {text}", mark.sign),
            Self::Nothing => NOTHING.to_owned(),
        }
    }

    /// The interval or range around it.
    pub(crate) fn around(&self) -> Option<String> {
        let Self::Figure(figure) = self else {
            return None;
        };
        let (point, bounds) = figure.point.zip(figure.bounds.as_ref())?;
        Some(bounds_text(&figure.metric, point, bounds))
    }

    /// What it is sorted by; a text is sorted as it reads.
    pub(crate) fn order(&self) -> Option<f64> {
        let value = match self {
            Self::Figure(figure) => figure.point,
            Self::OfRun(_, value) | Self::Number(value, _) => Some(*value),
            Self::Failed(error) => Some(u64_to_f64(error.count)),
            Self::Count(n) => Some(u64_to_f64(*n)),
            Self::Held(_) | Self::Text(_) | Self::Judged(..) | Self::Missed(_) | Self::Nothing => {
                None
            }
        };
        value.filter(|value| value.is_finite())
    }

    /// What its reader must know of it.
    pub(crate) fn note(&self) -> Option<&str> {
        match self {
            Self::Figure(figure) => figure.note.as_deref(),
            Self::OfRun(..)
            | Self::Held(_)
            | Self::Failed(_)
            | Self::Number(..)
            | Self::Count(_)
            | Self::Text(_)
            | Self::Judged(..)
            | Self::Missed(_)
            | Self::Nothing => None,
        }
    }

    /// What lies around it, or why nothing does.
    pub(crate) fn around_or_why(&self) -> String {
        match (self.around(), self.note()) {
            (Some(text), None) => text,
            (Some(text), Some(note)) => format!("{text} ({note})"),
            (None, Some(note)) => note.to_owned(),
            (None, None) => NOTHING.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::profile;
    use super::super::{Block, document};
    use super::*;
    use analyze::{StudyOptions, study};

    /// Heads of the columns of rows, those first that give way last.
    fn kept(passes: usize) -> Vec<String> {
        let rows = profile(&[("RND4K Q1T1", "read", true), ("RND4K Q8T1", "read", true)]);
        let study = study(&rows[..2 * passes], &StudyOptions::default());
        let document = document(&study, Breadth::Screen);
        let blocks = document.sections.iter().flat_map(|section| &section.blocks);
        let mut tables = blocks.filter_map(|block| {
            let Block::Table(table) = block else {
                return None;
            };
            table.id.starts_with("table-").then_some(table)
        });
        let table = tables.next().unwrap();
        let heads = table.as_text(&study, Breadth::Screen).remove(0);
        let priorities = table.priorities(Breadth::Screen);
        let mut heads: Vec<_> = heads.into_iter().zip(priorities).collect();
        heads.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
        heads.into_iter().map(|(head, _)| head).collect()
    }

    #[test]
    fn a_known_interval_stays_longer_than_another_level_and_no_interval_goes_first() {
        let place = |heads: &[String], of: &str| heads.iter().position(|head| head.contains(of));
        let six = kept(6);
        assert!(place(&six, "(IOPS)") < place(&six, "Mean"), "{six:?}");
        assert!(place(&six, "Bandwidth") < place(&six, "(IOPS)"), "{six:?}");
        let one = kept(1);
        assert_eq!(place(&one, "(IOPS)"), Some(one.len() - 1), "{one:?}");
    }
}
