//! Which arms of an experiment could not run in which rows, as its records say it.

use crate::{Record, Role, Status};
use std::fmt;

/// An arm in a row that failed in every attempt at a block and was left out from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCell {
    pub arm: String,
    pub row: String,
    pub arm_number: u32,
    pub row_number: u32,
    /// From 0.
    pub block: u32,
    /// Attempts at this block in which it failed.
    pub failures: u32,
    /// Its last failure, on one line.
    pub why: String,
}

impl fmt::Display for LostCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            arm,
            row,
            failures,
            why,
            ..
        } = self;
        write!(
            f,
            "{arm} in {row}: could not run: {why} ({failures} of {failures} attempts at block {})",
            self.block + 1
        )
    }
}

/// The cells of an experiment that are left out so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostCells(Vec<LostCell>);

impl LostCells {
    /// Of records in the order in which they were written.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut out = Self::default();
        records.into_iter().for_each(|record| out.add(record));
        out
    }

    /// Counts one record more. A cell that was tried again and ended well is lost no more.
    pub fn add(&mut self, record: &Record) {
        let Some(trial) = &record.trial else { return };
        let is_left_out = trial.left_out_after > 0;
        if is_left_out || record.outcome.status == Status::Ok {
            self.0
                .retain(|cell| cell.row != trial.row || cell.arm != trial.arm);
        }
        if is_left_out {
            let why = record.outcome.message.as_deref().unwrap_or_default();
            self.0.push(LostCell {
                arm: trial.arm.clone(),
                row: trial.row.clone(),
                arm_number: trial.arm_number,
                row_number: trial.row_number,
                block: trial.block,
                failures: trial.left_out_after,
                why: why.lines().next().unwrap_or_default().to_owned(),
            });
        }
    }

    /// In the order in which they were left out.
    #[must_use]
    pub fn cells(&self) -> &[LostCell] {
        &self.0
    }

    /// Why an arm is left out of a row, if it is.
    #[must_use]
    pub fn cell(&self, row: &str, arm: &str) -> Option<&LostCell> {
        let mut cells = self.0.iter();
        cells.find(|cell| cell.row == row && cell.arm == arm)
    }

    /// Why nothing is compared in a row, if so: what the others are compared with is left out there,
    /// or all others are.
    pub fn closing<'a>(
        &self,
        row: &str,
        arms: impl Iterator<Item = (Role, &'a str)>,
    ) -> Option<&LostCell> {
        let mut of_candidates = Vec::new();
        for (role, arm) in arms {
            match (role, self.cell(row, arm)) {
                (Role::Candidate, found) => of_candidates.push(found),
                (Role::Baseline | Role::Control, None) => {}
                (Role::Baseline | Role::Control, found) => return found,
            }
        }
        let all: Option<Vec<&LostCell>> = of_candidates.into_iter().collect();
        all.and_then(|all| all.last().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Trial};

    fn slot(row: &str, arm: &str, left_out_after: u32) -> Record {
        let mut out = Record {
            trial: Some(Trial {
                row: row.into(),
                arm: arm.into(),
                left_out_after,
                ..Trial::default()
            }),
            ..Record::default()
        };
        if left_out_after > 0 {
            out.outcome = Outcome {
                status: Status::Failed,
                message: Some("it broke\nin pieces".into()),
                ..Outcome::default()
            };
        }
        out
    }

    const ARMS: [(Role, &str); 4] = [
        (Role::Baseline, "a"),
        (Role::Control, "a again"),
        (Role::Candidate, "b"),
        (Role::Candidate, "c"),
    ];

    #[test]
    fn a_cell_is_lost_by_what_its_record_says_until_it_ends_well() {
        let mut of = LostCells::of(&[slot("r", "b", 0), slot("r", "b", 3)]);
        assert_eq!(
            of.cells()[0].to_string(),
            "b in r: could not run: it broke (3 of 3 attempts at block 1)"
        );
        assert!(of.cell("s", "b").is_none() && of.cell("r", "a").is_none());
        of.add(&slot("s", "b", 0));
        assert!(of.cell("r", "b").is_some());
        of.add(&slot("r", "b", 0));
        assert_eq!(of.cells(), []);
    }

    #[test]
    fn a_row_is_closed_by_what_others_are_compared_with_or_by_the_last_of_the_others() {
        let closing = |lost: &[&str]| {
            let records: Vec<Record> = lost.iter().map(|arm| slot("r", arm, 3)).collect();
            let of = LostCells::of(&records);
            of.closing("r", ARMS.into_iter())
                .map(|cell| cell.arm.clone())
        };
        assert_eq!(closing(&[]), None);
        assert_eq!(closing(&["b"]), None);
        assert_eq!(closing(&["b", "c"]), Some("c".into()));
        assert_eq!(closing(&["a again"]), Some("a again".into()));
        let of = LostCells::of(&[slot("r", "a", 0)]);
        assert_eq!(of.closing("r", ARMS[..1].iter().copied()), None, "one arm");
    }
}
