//! What could not run: an arm in a row is left out by name, and the verdicts are those of the rows
//! that are left.
//!
//! Leaving out depends on failures alone and on no measured value, so that the tests of what is left
//! hold as they would had the plan been without it. That one arm fails where another does not is a
//! difference by itself, which no verdict on the other rows answers: the arm has none over all rows.

use super::cast::Cast;
use super::judged::Judgement;
use super::pairs::Slots;
use super::{Question, RowComparison, judged, row_of};
use record::{LostCell, LostCells, Record, Role, Status};
use stats::Reason;
use std::collections::{BTreeMap, BTreeSet};
use units::counted;

/// Cells of an experiment that are left out, and rows in which nothing is left to compare.
pub(super) struct Lost<'a> {
    cells: LostCells,
    /// By row the cell that closed it.
    closed: BTreeMap<&'a str, LostCell>,
    /// Good slots that are left out with their cells.
    good_slots: usize,
}

impl<'a> Lost<'a> {
    /// Of an experiment's records. An arm of which no slot ended well is no matter of rows.
    pub(super) fn of(records: &'a [Record], cast: &Cast<'_>) -> Self {
        let mut in_time: Vec<&Record> = records.iter().collect();
        in_time.sort_by_key(|record| record.trial.as_ref().map(|trial| trial.slot));
        let usable = in_time.into_iter().filter(|record| {
            let trial = record.trial.as_ref();
            trial.is_some_and(|trial| cast.is_usable(&trial.arm))
        });
        let cells = LostCells::of(usable);
        let rows: BTreeSet<&str> = records.iter().map(row_of).collect();
        let candidates = cast.candidates.iter().filter(|arm| cast.is_usable(arm));
        let arms: Vec<(Role, &str)> = std::iter::once((Role::Baseline, cast.base))
            .chain(cast.control.map(|arm| (Role::Control, arm)))
            .chain(candidates.map(|arm| (Role::Candidate, *arm)))
            .collect();
        let closing = |row: &&'a str| {
            let cell = cells.closing(row, arms.iter().copied())?;
            Some((*row, cell.clone()))
        };
        let closed: BTreeMap<&str, LostCell> = rows.iter().filter_map(closing).collect();
        let mut out = Self {
            cells,
            closed,
            good_slots: 0,
        };
        let is_dropped = |record: &&Record| {
            let trial = record.trial.as_ref();
            let is_good = record.outcome.status == Status::Ok;
            is_good && trial.is_some_and(|trial| out.leaves_out(&trial.row, &trial.arm))
        };
        out.good_slots = records.iter().filter(is_dropped).count();
        out
    }

    pub(super) fn cells(&self) -> &[LostCell] {
        self.cells.cells()
    }

    pub(super) fn is_closed(&self, row: &str) -> bool {
        self.closed.contains_key(row)
    }

    /// The name of a closed row.
    pub(super) fn one_closed(&self) -> Option<&str> {
        self.closed.keys().next().copied()
    }

    pub(super) fn closed_rows(&self) -> usize {
        self.closed.len()
    }

    /// Why an arm is left out of an open row.
    pub(super) fn cell(&self, row: &str, arm: &str) -> Option<&LostCell> {
        self.cells.cell(row, arm)
    }

    /// The last that was left out of what an arm could have been compared in.
    pub(super) fn last_of(&self, arm: &str) -> Option<&LostCell> {
        let is_of = |cell: &&LostCell| cell.arm == arm || self.is_closed(&cell.row);
        self.cells().iter().rev().find(is_of)
    }

    /// Whether a slot of this arm in this row counts for nothing.
    pub(super) fn leaves_out(&self, row: &str, arm: &str) -> bool {
        self.is_closed(row) || self.cell(row, arm).is_some()
    }

    /// Whether a slot may be part of a block.
    pub(super) fn counts(&self, record: &Record) -> bool {
        let trial = record.trial.as_ref();
        trial.is_none_or(|trial| !self.leaves_out(&trial.row, &trial.arm))
    }

    /// How many of so many arms a complete block of a row has.
    pub(super) fn arms_in(&self, row: &str, arms: usize) -> usize {
        let lost = self.cells().iter().filter(|cell| cell.row == row);
        arms.saturating_sub(lost.count())
    }

    /// Good slots that count for nothing, in words.
    pub(super) fn said_of_slots(&self) -> Option<String> {
        (self.good_slots > 0).then(|| {
            format!(
                "{} of arms and rows that could not be gone on with",
                counted(self.good_slots, "good record")
            )
        })
    }

    /// Rows of an arm with those that are closed, in the order of their names.
    pub(super) fn with_closed(
        &self,
        rows: impl Iterator<Item = RowComparison>,
        question: &Question,
    ) -> Vec<RowComparison> {
        let unable = |(name, cell): (&&str, &LostCell)| unable(name, cell, question);
        let mut out: Vec<RowComparison> = rows.chain(self.closed.iter().map(unable)).collect();
        out.sort_by(|a, b| a.row.cmp(&b.row));
        out
    }
}

/// The row of an arm that could not run there, or with which nothing could be compared.
pub(super) fn unable(row: &str, cell: &LostCell, question: &Question) -> RowComparison {
    let how = Judgement {
        level: 1.0,
        unused_blocks: 0,
        interrupted: None,
        invalid: Some(Reason::Audit(cell.to_string())),
    };
    judged(row, &[], &how, question)
}

/// The slots of arms that every one of these blocks has, in which alone blocks of different rows
/// are alike.
pub(super) fn common_arms<'a>(blocks: impl Iterator<Item = &'a Slots<'a>>) -> BTreeSet<&'a str> {
    let arms = blocks.map(|slots| slots.keys().copied().collect::<BTreeSet<&str>>());
    arms.reduce(|all, of| &all & &of).unwrap_or_default()
}
