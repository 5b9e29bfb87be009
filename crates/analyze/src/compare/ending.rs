//! When an experiment may be judged, and by how many of its blocks.

use super::Interrupted;
use super::arms::ALPHA;
use super::judged::Judgement;
use record::{Record, Stopping};
use stats::{Reason, Spending, Thresholds};
use units::counted;

/// The blocks that may be judged, and the level at which.
pub(super) struct Allowed {
    pub(super) blocks: usize,
    level: f64,
    too_early: bool,
    ending: PermittedLooks,
}

/// When an experiment was allowed to end, and when it did.
#[derive(Clone, Copy, Debug)]
pub(super) struct PermittedLooks {
    /// Whether it is judged at looks: because it may stop at one, or because whoever stopped a
    /// fixed length before its end chose when.
    pub(super) at_looks: bool,
    /// Whether these are after every pass, of all rows together.
    pub(super) each_pass: bool,
    pub(super) interrupted: Option<Interrupted>,
}

impl PermittedLooks {
    /// Of records in which so many blocks of each row are complete.
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a Record>, complete: usize) -> Self {
        let (mut is_open, mut each_pass, mut planned) = (false, false, 0);
        for trial in records.filter_map(|record| record.trial.as_ref()) {
            is_open |= trial.stopping != Stopping::Fixed;
            each_pass |= trial.stopping == Stopping::EachPass;
            planned = planned.max(trial.planned_blocks.unwrap_or(0));
        }
        let falls_short = !is_open && complete < planned as usize;
        Self {
            at_looks: is_open || falls_short,
            each_pass,
            interrupted: falls_short.then_some(Interrupted { complete, planned }),
        }
    }

    /// The passes after which so many rows may be looked at, up to the present one.
    pub(super) fn looks(&self, rows: usize, passes: usize) -> Vec<u32> {
        let [rows, passes] = [rows, passes].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        if self.each_pass {
            return stats::pass_looks(rows, passes);
        }
        let looks = stats::LOOKS.into_iter();
        looks.take_while(|look| *look <= passes).collect()
    }

    /// The largest p that decides at the passes so far, over so many rows and candidates.
    pub(super) fn thresholds(&self, rows: usize, looked: usize, candidates: usize) -> Thresholds {
        let whole = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (of_rows, family) = (whole(rows), whole(candidates));
        let shipped = Thresholds::open();
        if !self.at_looks {
            return Thresholds::fixed(of_rows * whole(looked), ALPHA, family);
        }
        if self.each_pass {
            return Thresholds::matrix(of_rows, whole(looked), ALPHA, family);
        }
        if rows == 1 && candidates <= shipped.family() {
            return shipped;
        }
        // Later looks leave earlier ones unchanged, so those to come need not be drawn.
        let looks = self.looks(rows, looked.max(stats::FIRST_LOOK as usize));
        let looks: Vec<u32> = looks.into_iter().map(|look| of_rows * look).collect();
        Thresholds::calibrated(&looks, Spending::Open, ALPHA, family)
    }

    /// The largest p that decides about a single row; `None` where no look does.
    pub(super) fn of_cell(&self, looked: usize) -> Option<f64> {
        if !self.at_looks {
            return Some(ALPHA);
        }
        if self.each_pass {
            let passes = u32::try_from(looked).unwrap_or(u32::MAX);
            return Thresholds::matrix(1, passes, ALPHA, 1).at(looked, 1);
        }
        Thresholds::open().at(looked, 1)
    }

    /// Why nothing may be said before the first look.
    pub(super) fn too_early(&self, measured: usize) -> Reason {
        let first = stats::FIRST_LOOK;
        if self.each_pass {
            return Reason::Audit(format!(
                "{} of an experiment that is looked at after every pass with {first} blocks or more in all; let it run on",
                counted(measured, "complete pass")
            ));
        }
        Reason::Audit(match self.interrupted {
            Some(Interrupted { complete, planned }) => {
                format!(
                    "interrupted after {complete} of {planned} planned blocks, and before {first} nothing may be said; let it end"
                )
            }
            None => format!(
                "{} of an experiment that stops when it knows, whose first look is after {first}; let it run on, or fix its length (--blocks, in a plan file passes = N)",
                counted(measured, "complete block")
            ),
        })
    }
}

impl Allowed {
    /// One row, one comparison: all blocks at 95 % where a fixed length was reached; those of the
    /// last permitted look, at its level, where the experiment may stop or was stopped. Before
    /// its first look nothing may be said.
    pub(super) fn of_one(measured: usize, ending: &PermittedLooks) -> Self {
        let ending = *ending;
        if !ending.at_looks {
            return Self {
                blocks: measured,
                level: 0.95,
                too_early: false,
                ending,
            };
        }
        let thresholds = Thresholds::open();
        let look = thresholds.last_look(measured);
        let level = look
            .and_then(|look| thresholds.at(look, 1))
            .map(|p| 1.0 - p);
        Self {
            blocks: look.unwrap_or(0),
            level: level.unwrap_or(0.95),
            too_early: level.is_none(),
            ending,
        }
    }

    pub(super) fn judgement(&self, measured: usize, invalid: Option<Reason>) -> Judgement {
        let invalid = invalid.or_else(|| self.too_early.then(|| self.ending.too_early(measured)));
        Judgement {
            level: self.level,
            unused_blocks: measured - self.blocks,
            interrupted: self.ending.interrupted,
            invalid,
        }
    }
}
