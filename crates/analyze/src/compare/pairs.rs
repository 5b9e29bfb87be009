//! Which records belong together.

use record::{Quantity, Record, Status};
use std::collections::BTreeMap;

/// One slot of each side, measured under the same circumstances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) base: &'a Record,
    /// The baseline a second time.
    pub(super) control: Option<&'a Record>,
    pub(super) candidate: &'a Record,
}

impl Block<'_> {
    /// Logarithms of the metric of the baseline (the mean of both, where it ran twice) and of the
    /// candidate; `None` where one has none.
    pub(super) fn values(&self, metric: &Quantity) -> Option<(f64, f64)> {
        let base = logarithm(self.base, metric)?;
        let base = match self.control {
            Some(control) => 0.5 * (base + logarithm(control, metric)?),
            None => base,
        };
        Some((base, logarithm(self.candidate, metric)?))
    }
}

/// The logarithm of a record's metric, if it has one above zero.
pub(super) fn logarithm(record: &Record, metric: &Quantity) -> Option<f64> {
    metric
        .of(record)
        .known()
        .filter(|value| *value > 0.0)
        .map(f64::ln)
        .filter(|log| log.is_finite())
}

/// Blocks in the order of plans and of their numbers, complete attempts only.
pub(super) fn matched<'a>(base: &[&'a Record], candidate: &[&'a Record]) -> Vec<Block<'a>> {
    let sides = [base, candidate];
    let numbered = sides
        .iter()
        .enumerate()
        .flat_map(|(side, records)| records.iter().map(move |record| (side, *record)));
    complete(numbered, sides.len())
        .into_iter()
        .map(|slots| Block {
            base: slots[&0],
            candidate: slots[&1],
            control: None,
        })
        .collect()
}

/// When a record began; slots of an experiment in the same millisecond by their number.
pub(super) fn moment(record: &Record) -> (&str, u32) {
    (
        record.started_at.as_str(),
        record.trial.as_ref().map_or(0, |trial| trial.slot),
    )
}

/// Plan, number and row of a block.
type BlockName<'a> = (&'a str, u32, &'a str);

/// Of every block of every plan and row its last attempt, if that has a good slot of each of so
/// many arms: slots by arm, in the order of plans, block numbers and rows. Attempts follow each
/// other in time; one ends where a slot failed, and another has begun where an arm runs again.
pub(super) fn complete<'a, K: Ord + Copy>(
    slots: impl Iterator<Item = (K, &'a Record)>,
    arms: usize,
) -> Vec<BTreeMap<K, &'a Record>> {
    let mut blocks: BTreeMap<BlockName<'a>, Vec<(K, &'a Record)>> = BTreeMap::new();
    for (arm, record) in slots {
        if let Some(trial) = &record.trial {
            blocks
                .entry((trial.plan.as_str(), trial.block, trial.row.as_str()))
                .or_default()
                .push((arm, record));
        }
    }
    blocks
        .into_values()
        .map(last_attempt)
        .filter(|attempt| attempt.len() == arms)
        .collect()
}

fn last_attempt<K: Ord + Copy>(mut slots: Vec<(K, &Record)>) -> BTreeMap<K, &Record> {
    slots.sort_by_key(|(_, record)| moment(record));
    let mut attempt = BTreeMap::new();
    for (arm, record) in slots {
        if record.outcome.status != Status::Ok || attempt.contains_key(&arm) {
            attempt.clear();
        }
        if record.outcome.status == Status::Ok {
            attempt.insert(arm, record);
        }
    }
    attempt
}
