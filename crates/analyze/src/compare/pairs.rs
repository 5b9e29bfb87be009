//! Which records belong together.

use record::{Quantity, Record, Status};
use stats::{OrderedPair, PairArm, PlaceEffect, place_in_block, without_place};
use std::collections::BTreeMap;

/// One slot of each side, measured under the same circumstances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) base: &'a Record,
    /// The baseline a second time.
    pub(super) control: Option<&'a Record>,
    pub(super) candidate: &'a Record,
    /// Which of the two ran right before the block.
    pub(super) after: Option<PairArm>,
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

    /// Whether base and candidate ran one right after the other, with no control: in every block
    /// that is so where an experiment has no third arm.
    fn is_pair(&self) -> bool {
        let slot = |record: &Record| record.trial.as_ref().map(|trial| trial.slot);
        let next = slot(self.base).zip(slot(self.candidate));
        self.control.is_none()
            && next.is_some_and(|(base, candidate)| base.abs_diff(candidate) == 1)
    }

    fn ordered(&self, metric: &Quantity) -> Option<OrderedPair> {
        let (base, candidate) = self.values(metric)?;
        Some(OrderedPair {
            difference: candidate - base,
            base_first: slot_of(self.base) < slot_of(self.candidate),
            after: self.after,
        })
    }
}

/// What blocks say of candidate against base.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Differences {
    /// ln(candidate / base) of every block that has the metric, without what the place in the block
    /// does.
    pub(super) values: Vec<f64>,
    /// What the second slot of a block gains whatever arm runs there, where that can be told and
    /// the blocks are of one row.
    pub(super) place: Option<PlaceEffect>,
    /// The blocks as pairs, unless a third arm ran among them.
    pub(super) pairs: Option<Vec<OrderedPair>>,
}

/// The differences of blocks, each row by itself: rows have their own costs of going first.
pub(super) fn differences(blocks: &[Block<'_>], metric: &Quantity) -> Differences {
    let pairs: Vec<OrderedPair> = blocks
        .iter()
        .filter_map(|block| block.ordered(metric))
        .collect();
    if !blocks.iter().all(Block::is_pair) {
        return Differences {
            values: pairs.iter().map(|pair| pair.difference).collect(),
            place: None,
            pairs: None,
        };
    }
    let with: Vec<&Block<'_>> = blocks
        .iter()
        .filter(|block| block.values(metric).is_some())
        .collect();
    let (mut values, mut places, mut from) = (Vec::new(), Vec::new(), 0);
    for row in with.chunk_by(|a, b| row_of(a.base) == row_of(b.base)) {
        let of_row = &pairs[from..from + row.len()];
        let place = place_in_block(of_row);
        values.extend(without_place(of_row, place));
        places.push(place);
        from += row.len();
    }
    Differences {
        values,
        place: places.pop().flatten().filter(|_| places.is_empty()),
        pairs: Some(pairs),
    }
}

/// Whether all slots inherited from their own arm.
pub(super) fn are_led_in(blocks: &[Block<'_>]) -> bool {
    let is_led_in = |record: &Record| {
        let trial = record.trial.as_ref();
        trial.is_some_and(|trial| trial.lead_in_ns.is_some_and(|time| time > 0))
    };
    blocks
        .iter()
        .all(|block| is_led_in(block.base) && is_led_in(block.candidate))
}

/// The logarithm of a record's metric, if it has one above zero.
pub(crate) fn logarithm(record: &Record, metric: &Quantity) -> Option<f64> {
    metric
        .of(record)
        .known()
        .filter(|value| *value > 0.0)
        .map(f64::ln)
        .filter(|log| log.is_finite())
}

/// Which side ran in which slot, whatever its row and outcome.
pub(super) struct Turns<'a>(BTreeMap<(&'a str, u32), PairArm>);

impl<'a> Turns<'a> {
    pub(super) fn of(
        base: impl Iterator<Item = &'a Record>,
        candidate: impl Iterator<Item = &'a Record>,
    ) -> Self {
        let sides = base
            .map(|record| (record, PairArm::Base))
            .chain(candidate.map(|record| (record, PairArm::Candidate)));
        Self(
            sides
                .filter_map(|(record, arm)| Some((turn(record)?, arm)))
                .collect(),
        )
    }

    /// Which side ran right before both of these.
    pub(super) fn before(&self, base: &'a Record, candidate: &'a Record) -> Option<PairArm> {
        let (plan, slot) = turn(base)?.min(turn(candidate)?);
        self.0.get(&(plan, slot.checked_sub(1)?)).copied()
    }
}

fn turn(record: &Record) -> Option<(&str, u32)> {
    let trial = record.trial.as_ref()?;
    Some((trial.plan.as_str(), trial.slot))
}

/// Blocks of a row in the order of plans and of their numbers, complete attempts only.
pub(super) fn matched<'a>(sides: &[Vec<&'a Record>; 2], row: &str) -> Vec<Block<'a>> {
    let [base, candidate] = sides.each_ref().map(|side| side.iter().copied());
    let turns = Turns::of(base, candidate);
    let numbered = sides.iter().enumerate().flat_map(|(side, records)| {
        let of_row = records.iter().filter(|record| row_of(record) == row);
        of_row.map(move |record| (side, *record))
    });
    complete(numbered, |_| sides.len())
        .into_iter()
        .map(|slots| Block {
            base: slots[&0],
            candidate: slots[&1],
            control: None,
            after: turns.before(slots[&0], slots[&1]),
        })
        .collect()
}

/// The place of a record among the slots of its plan.
pub(super) fn slot_of(record: &Record) -> u32 {
    record.trial.as_ref().map_or(0, |trial| trial.slot)
}

/// When a record began; slots of an experiment in the same millisecond by their number.
pub(super) fn moment(record: &Record) -> (&str, u32) {
    (record.started_at.as_str(), slot_of(record))
}

/// Plan, number and row of a block.
type BlockName<'a> = (&'a str, u32, &'a str);

/// The slots of a block by the names of arms.
pub(super) type Slots<'a> = BTreeMap<&'a str, &'a Record>;

/// Of every block of every plan and row its last attempt, if that has a good slot of each of as
/// many arms as the row has: slots by arm, in the order of plans, block numbers and rows. Attempts follow each
/// other in time; one ends where a slot failed, and another has begun where an arm runs again.
pub(super) fn complete<'a, K: Ord + Copy>(
    slots: impl Iterator<Item = (K, &'a Record)>,
    arms: impl Fn(&str) -> usize,
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
        .into_iter()
        .map(|((_, _, row), slots)| (row, last_attempt(slots)))
        .filter(|(row, attempt)| attempt.len() == arms(row))
        .map(|(_, attempt)| attempt)
        .collect()
}

fn last_attempt<K: Ord + Copy>(mut slots: Vec<(K, &Record)>) -> BTreeMap<K, &Record> {
    // Of one plan: its own numbers, which no wall clock that is set turns round.
    slots.sort_by_key(|(_, record)| slot_of(record));
    let (mut attempt, mut number) = (BTreeMap::new(), None);
    for (arm, record) in slots {
        let of = record.trial.as_ref().map(|trial| trial.attempt);
        let is_another = number.replace(of) != Some(of);
        if record.outcome.status != Status::Ok || attempt.contains_key(&arm) || is_another {
            attempt.clear();
        }
        if record.outcome.status == Status::Ok {
            attempt.insert(arm, record);
        }
    }
    attempt
}

/// The row that a record is of.
pub(super) fn row_of(record: &Record) -> &str {
    record
        .trial
        .as_ref()
        .map_or(record.name.as_str(), |trial| trial.row.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Trial;

    #[test]
    fn a_clock_that_is_set_back_turns_no_attempts_round() {
        let slot = |arm: u32, attempt, slot, at: &str| {
            let record = Record {
                started_at: at.into(),
                trial: Some(Trial {
                    attempt,
                    slot,
                    ..Trial::default()
                }),
                ..Record::default()
            };
            (arm, record)
        };
        let slots = [
            slot(0, 0, 0, "2026-01-01T10:00:00Z"),
            slot(1, 1, 1, "2026-01-01T09:00:00Z"),
            slot(0, 1, 2, "2026-01-01T09:00:01Z"),
        ];
        let found = complete(slots.iter().map(|(arm, record)| (*arm, record)), |_| 2);
        assert_eq!(found.len(), 1);
        assert_eq!(slot_of(found[0][&0]), 2);
    }

    #[test]
    fn slots_of_two_attempts_are_no_pair() {
        let slot = |arm, attempt, slot| {
            let trial = Trial {
                attempt,
                slot,
                ..Trial::default()
            };
            let record = Record {
                trial: Some(trial),
                ..Record::default()
            };
            (arm, record)
        };
        let arms = |slots: &[(u32, Record)]| {
            let slots = slots.iter().map(|(arm, record)| (*arm, record));
            complete(slots, |_| 2).len()
        };
        // Interrupted after arm 0, resumed with arm 1 first.
        let mut slots = vec![slot(0, 0, 0), slot(1, 1, 1)];
        assert_eq!(arms(&slots), 0);
        slots.push(slot(0, 1, 2));
        assert_eq!(arms(&slots), 1);
        let old = [slot(0, 0, 0), slot(1, 0, 1)];
        assert_eq!(arms(&old), 1);
    }
}
