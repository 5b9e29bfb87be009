//! What the machine did over the blocks of a row.

use super::rows::{Row, Slot};
use record::Quantity;
use stats::{BlockRun, Drift};
use std::collections::{BTreeMap, BTreeSet};

/// From this many complete blocks on the machine's behaviour over them is diagnosed: the first
/// permitted look.
const FEWEST_FOR_DRIFT: usize = stats::FIRST_LOOK as usize;

/// Diagnoses the blocks that every arm of the row completed in one experiment.
pub(super) fn drift(row: &Row<'_>, metric: &Quantity) -> Option<Drift> {
    let arms: Vec<(usize, &Vec<Slot<'_>>)> = row
        .slots
        .iter()
        .enumerate()
        .filter(|(_, slots)| !slots.is_empty())
        .collect();
    let parts: BTreeSet<usize> = row.slots.iter().flatten().map(|slot| slot.part).collect();
    if parts.len() != 1
        || row
            .slots
            .iter()
            .flatten()
            .any(|slot| slot.record.trial.is_none())
    {
        return None;
    }
    let mut blocks: BTreeMap<u32, Vec<(&Slot<'_>, usize, f64)>> = BTreeMap::new();
    for (arm, slots) in &arms {
        for slot in *slots {
            if let Some(value) = metric.of(slot.record).known().filter(|value| *value > 0.0) {
                blocks
                    .entry(slot.block)
                    .or_default()
                    .push((slot, *arm, value.ln()));
            }
        }
    }
    let mut complete: Vec<_> = blocks
        .into_values()
        .filter(|slots| slots.len() == arms.len())
        .collect();
    let when = |slot: &Slot<'_>| {
        (
            slot.record.started_at.clone(),
            slot.record.trial.as_ref().map(|trial| trial.slot),
        )
    };
    complete
        .iter_mut()
        .for_each(|slots| slots.sort_by_key(|(slot, ..)| when(slot)));
    complete.sort_by_key(|slots| slots.first().map(|(slot, ..)| when(slot)));
    let runs: Vec<BlockRun> = complete
        .iter()
        .map(|slots| BlockRun {
            config: 0,
            slots: slots.iter().map(|(_, arm, value)| (*arm, *value)).collect(),
        })
        .collect();
    (runs.len() >= FEWEST_FOR_DRIFT).then(|| stats::drift(&runs))
}
