//! What the blocks of an experiment say of the machine: the baseline against itself, and drift.

use super::Course;
use crate::compare::ControlCheck;
use crate::compare::lost::common_arms;
use crate::compare::pairs::{Slots, logarithm, slot_of};
use record::Record;
use stats::{BlockRun, Drift, FIRST_LOOK, control_p, control_p_by_pass, drift};

impl<'a> Course<'a> {
    pub(super) fn control(&self) -> Option<ControlCheck> {
        let arm = self.cast.control?;
        let differences = |blocks: &[Slots<'a>]| -> Vec<f64> {
            let of = |slots: &Slots<'a>, arm: &str| logarithm(slots[arm], &self.question.metric);
            blocks
                .iter()
                .filter_map(|slots| Some(of(slots, arm)? - of(slots, self.cast.base)?))
                .collect()
        };
        let by_row: Vec<Vec<f64>> = self
            .rows
            .values()
            .map(|blocks| differences(&blocks[..self.looked]))
            .collect();
        let p = if self.ending.each_pass {
            control_p_by_pass(&by_row, u32::try_from(self.looked).unwrap_or(u32::MAX))
        } else {
            let looks = self.ending.at_looks.then(|| self.looks());
            control_p(&by_row, looks.as_deref())
        };
        Some(ControlCheck {
            arm: arm.to_owned(),
            p,
            blocks: by_row.iter().map(Vec::len).sum(),
        })
    }

    pub(super) fn drift(&self) -> Option<Drift> {
        let common = common_arms(self.judged_blocks().map(|(_, slots)| slots));
        let mut blocks: Vec<(usize, Vec<&Record>)> = self
            .judged_blocks()
            .map(|(row, slots)| {
                let of_all = slots.iter().filter(|(arm, _)| common.contains(*arm));
                let mut in_time: Vec<&Record> = of_all.map(|(_, record)| *record).collect();
                in_time.sort_by_key(|record| slot_of(record));
                (row, in_time)
            })
            .collect();
        blocks.sort_by_key(|(_, slots)| slots.first().map(|record| slot_of(record)));
        let arms: Vec<&str> = [Some(self.cast.base), self.cast.control]
            .into_iter()
            .flatten()
            .chain(self.cast.candidates.iter().copied())
            .collect();
        let slot = |record: &&Record| {
            let arm = record
                .trial
                .as_ref()
                .and_then(|trial| arms.iter().position(|name| *name == trial.arm))?;
            Some((arm, logarithm(record, &self.question.metric)?))
        };
        let runs: Option<Vec<BlockRun>> = blocks
            .iter()
            .map(|(row, slots)| {
                Some(BlockRun {
                    config: *row,
                    slots: slots.iter().map(slot).collect::<Option<_>>()?,
                })
            })
            .collect();
        runs.filter(|runs| runs.len() >= FIRST_LOOK as usize)
            .map(|runs| drift(&runs))
    }
}
