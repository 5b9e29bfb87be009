//! What of an experiment cannot run: arms as a whole, and arms in single rows.

use super::{Broken, Course, MOST_FAILURES};
use crate::order::block;
use crate::slot::fault;
use crate::{LabError, Turn};
use record::{LostCell, LostCells, Record, Role, Status};

impl Course<'_> {
    /// Where the baseline cannot run, or nothing that is compared with it: the slots of those that
    /// cannot, as failed records, and why.
    pub(super) fn nothing_to_compare(&mut self) -> Result<Option<String>, LabError> {
        let arms = &self.plan.arms;
        let lost = |role: Role| -> Vec<Option<&str>> {
            let of_role = (0..arms.len()).filter(|arm| arms[*arm].role == role);
            of_role.map(|arm| self.conduct.lost(arm)).collect()
        };
        let [base, others] = [Role::Baseline, Role::Candidate].map(lost);
        let is_nothing_left = !others.is_empty() && others.iter().all(Option::is_some);
        let why = base.into_iter().flatten().next();
        let why = why.or_else(|| {
            others
                .into_iter()
                .flatten()
                .next()
                .filter(|_| is_nothing_left)
        });
        let Some(why) = why.map(str::to_owned) else {
            return Ok(None);
        };
        let attempt = self.next_attempt(0, 0).unwrap_or(0);
        for turn in block(self.plan, 0, 0, attempt) {
            if self.conduct.lost(turn.arm).is_some() {
                let record = self.slot(turn)?;
                self.kept(record)?;
            }
        }
        Ok(Some(why))
    }

    /// Whether an arm can run in a row.
    pub(super) fn is_able(&self, row: usize, arm: usize) -> bool {
        let turn = Turn {
            row,
            arm,
            ..Turn::default()
        };
        self.conduct.lost(arm).is_none() && !self.is_left_out(turn)
    }

    /// Whether the arm of a turn is left out of its row.
    pub(super) fn is_left_out(&self, turn: Turn) -> bool {
        let (row, arm) = (&self.plan.rows[turn.row], &self.plan.arms[turn.arm]);
        self.lost.cell(&row.name, &arm.name).is_some()
    }

    /// Why nothing is compared in a row any more.
    pub(super) fn closing(&self, row: usize) -> Option<&LostCell> {
        let arms = self.plan.arms.iter().enumerate();
        let able = arms.filter(|(arm, _)| self.conduct.lost(*arm).is_none());
        let able = able.map(|(_, arm)| (arm.role, arm.name.as_str()));
        self.lost.closing(&self.plan.rows[row].name, able)
    }

    /// Where every row is closed, the last failure.
    pub(super) fn nothing_left(&self) -> Option<String> {
        let mut rows = 0..self.plan.rows.len();
        if !rows.all(|row| self.closing(row).is_some()) {
            return None;
        }
        let LostCell {
            arm,
            row,
            block,
            failures,
            why,
            ..
        } = self.lost.cells().last()?;
        Some(format!(
            "block {} of {row} failed {failures} times, the last time because {arm}: {why}",
            block + 1
        ))
    }

    /// Where an earlier beginning ended because nothing was left to compare, whoever goes on may have
    /// mended it: what was left out is tried again.
    pub(super) fn try_all_again(&mut self) {
        if self.nothing_left().is_some() {
            self.lost = LostCells::default();
        }
    }

    /// How a slot broke its block; `None` if it did not, as those of an arm that can never run.
    pub(super) fn broken(&self, record: &Record, turn: Turn) -> Option<Broken> {
        if self.conduct.lost(turn.arm).is_some() {
            return None;
        }
        let why = fault(record)?;
        Some(match record.outcome.status {
            Status::Ok | Status::Apart => {
                Broken::Stood(format!("{}: {why}", self.plan.arms[turn.arm].name))
            }
            Status::Failed | Status::Incomplete | Status::Interrupted => Broken::Failed,
        })
    }

    /// Counts one more failure of an arm at a block; the last that is allowed leaves it out.
    pub(super) fn count_failure(&self, record: &mut Record, failures: &mut u32) {
        // Whoever interrupts a slot says nothing of its arm.
        if self.conduct.is_stopped() {
            return;
        }
        *failures += 1;
        if *failures < MOST_FAILURES {
            return;
        }
        let said = record.outcome.message.get_or_insert_default();
        if said.is_empty() {
            "its run did not end well".clone_into(said);
        }
        if let Some(trial) = &mut record.trial {
            trial.left_out_after = *failures;
            record.notices.push(format!(
                "{} failed in {failures} of {failures} attempts at block {} of {} and is left out there from here on",
                trial.arm,
                trial.block + 1,
                trial.row
            ));
        }
    }
}
