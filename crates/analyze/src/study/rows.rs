//! Rows: records of one name that did the same work, arm by arm and block by block.

use super::arms::Placed;
use crate::compare::{RANKS, workload_differences};
use crate::figures::figures;
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// The records of one row.
pub(super) struct Row<'a> {
    pub(super) name: String,
    /// By arm, in the order of blocks.
    pub(super) slots: Vec<Vec<Slot<'a>>>,
}

/// A record in its row.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    pub(super) index: usize,
    pub(super) record: &'a Record,
    /// From 0 over all plans of the row.
    pub(super) block: u32,
    /// How often the same place in the same plan was measured before.
    pub(super) repeat: u32,
    pub(super) part: usize,
}

/// What tells rows of one name apart: options and their values, and what was counted.
type Work = Vec<(String, String)>;

/// All rows in the order of their first record, and what was done to get them.
pub(super) fn rows<'a>(placed: &[Placed<'a>], arms: usize) -> (Vec<Row<'a>>, Vec<String>) {
    let mut order: Vec<&str> = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<&Placed<'a>>> = BTreeMap::new();
    for slot in placed {
        by_name
            .entry(slot.row)
            .or_insert_with(|| {
                order.push(slot.row);
                Vec::new()
            })
            .push(slot);
    }
    let mut out = Vec::new();
    let mut notes = Vec::new();
    for name in order {
        let keys = varying(&by_name[name], arms);
        let mut works: Vec<(Work, Vec<&Placed<'a>>)> = Vec::new();
        for slot in &by_name[name] {
            let work = work(slot.record, &keys);
            match works.iter_mut().find(|(known, _)| *known == work) {
                Some((_, slots)) => slots.push(slot),
                None => works.push((work, vec![slot])),
            }
        }
        if works.len() > 1 {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            notes.push(format!(
                "records named {name:?} did different work and are apart by {}",
                keys.join(", ")
            ));
        }
        out.extend(works.into_iter().map(|(work, slots)| Row {
            name: shown(name, &work),
            slots: by_arm(&slots, arms),
        }));
    }
    (out, notes)
}

/// Stands among the options for what was counted.
const COUNTED: &str = "what is counted";

/// What differs between records of one arm: options, and what was counted.
fn varying(slots: &[&Placed<'_>], arms: usize) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for arm in 0..arms {
        let mut of_arm = slots
            .iter()
            .filter(|slot| slot.arm == arm)
            .map(|slot| slot.record);
        let Some(first) = of_arm.next() else { continue };
        let others: Vec<&Record> = of_arm.collect();
        let differing: Vec<&Record> = others
            .iter()
            .copied()
            .filter(|other| (&other.effective, other.ranks()) != (&first.effective, first.ranks()))
            .collect();
        if !differing.is_empty() {
            out.extend(
                workload_differences(&[first], &differing)
                    .into_iter()
                    .map(|d| d.key),
            );
        }
        let counted = counted(first);
        if others.iter().any(|other| self::counted(other) != counted) {
            out.insert(COUNTED.to_owned());
        }
    }
    out
}

/// The kinds of operations that move bytes; where none does, all.
fn counted(record: &Record) -> Vec<&str> {
    let all: Vec<_> = figures(record).collect();
    let moving: Vec<&str> = all
        .iter()
        .filter(|f| f.bytes_per_second().is_some_and(|rate| rate > 0.0))
        .map(|f| f.kind)
        .collect();
    if moving.is_empty() {
        all.iter().map(|f| f.kind).collect()
    } else {
        moving
    }
}

fn work(record: &Record, keys: &BTreeSet<String>) -> Work {
    let value = |key: &String| {
        let of_options = || record.effective.get(key).cloned();
        match key.as_str() {
            COUNTED => counted(record).join(" and "),
            RANKS => record.ranks().to_string(),
            _ => of_options().unwrap_or_else(|| "unknown".into()),
        }
    };
    keys.iter().map(|key| (key.clone(), value(key))).collect()
}

fn shown(name: &str, work: &Work) -> String {
    let name = if name.is_empty() {
        "without a name"
    } else {
        name
    };
    let parts: Vec<String> = work
        .iter()
        .map(|(key, value)| {
            if key == COUNTED {
                value.clone()
            } else {
                format!("{key} {value}")
            }
        })
        .collect();
    if parts.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({})", parts.join(", "))
    }
}

/// The slots of each arm with the number of their block, which is that of the other arms' slots of
/// the same block. Of a block that was begun again, those of its last attempt.
fn by_arm<'a>(slots: &[&Placed<'a>], arms: usize) -> Vec<Vec<Slot<'a>>> {
    let mut seen: BTreeMap<(usize, &str, u32), u32> = BTreeMap::new();
    let mut plans: BTreeMap<&str, usize> = BTreeMap::new();
    let place = |slot: &Placed<'a>| {
        let trial = slot.record.trial.as_ref();
        trial.map_or(("", 0, 0), |of| (of.plan.as_str(), of.block, of.attempt))
    };
    let mut last: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for (plan, block, attempt) in slots.iter().map(|slot| place(slot)) {
        let known = last.entry((plan, block)).or_insert(attempt);
        *known = attempt.max(*known);
    }
    let mut keyed = Vec::with_capacity(slots.len());
    for slot in slots {
        let (plan, block, attempt) = place(slot);
        if attempt < last[&(plan, block)] {
            continue;
        }
        let next = plans.len();
        let plan_number = *plans.entry(plan).or_insert(next);
        let times = seen.entry((slot.arm, plan, block)).or_insert(0);
        keyed.push(((plan_number, *times, block), *slot));
        *times += 1;
    }
    let distinct: BTreeSet<(usize, u32, u32)> = keyed.iter().map(|(key, _)| *key).collect();
    let number: BTreeMap<(usize, u32, u32), u32> = distinct.into_iter().zip(0..).collect();
    let mut out: Vec<Vec<Slot<'a>>> = vec![Vec::new(); arms];
    for (key, slot) in keyed {
        let Placed {
            index,
            record,
            part,
            ..
        } = *slot;
        out[slot.arm].push(Slot {
            index,
            record,
            block: number[&key],
            repeat: key.1,
            part,
        });
    }
    out.iter_mut()
        .for_each(|slots| slots.sort_by_key(|slot| slot.block));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::example::{blocks, placed as trial, set, sound, writing};

    fn placed(records: &[Record]) -> Vec<Placed<'_>> {
        let of = |(index, record): (usize, &'_ Record)| {
            (
                index,
                usize::from(record.trial.as_ref().is_some_and(|t| t.arm == "b")),
            )
        };
        records
            .iter()
            .enumerate()
            .map(|(index, record)| Placed {
                index,
                record,
                arm: of((index, record)).1,
                row: "row",
                part: 0,
            })
            .collect()
    }

    fn shape(records: &[Record]) -> Vec<(String, Vec<Vec<u32>>)> {
        let found = rows(&placed(records), 2).0;
        found
            .into_iter()
            .map(|row| {
                (
                    row.name,
                    row.slots
                        .iter()
                        .map(|s| s.iter().map(|s| s.block).collect())
                        .collect(),
                )
            })
            .collect()
    }

    #[test]
    fn of_a_block_that_was_begun_again_the_last_attempt_counts_and_is_no_repetition() {
        let mut records = vec![
            trial(sound(), "a", 0, 0),
            trial(sound(), "b", 0, 1),
            trial(sound(), "a", 1, 2),
            trial(sound(), "a", 1, 4),
            trial(sound(), "b", 1, 5),
        ];
        for record in &mut records[3..] {
            record.trial.as_mut().unwrap().attempt = 1;
        }
        assert_eq!(shape(&records)[0].1, [vec![0, 1], vec![0, 1]]);
        let found = rows(&placed(&records), 2).0;
        assert!(found[0].slots.iter().flatten().all(|slot| slot.repeat == 0));
    }

    #[test]
    fn records_of_more_ranks_are_a_row_of_their_own() {
        let alone = || trial(sound(), "a", 0, 0);
        let together = || Record {
            group: Some(record::GroupAccount {
                size: 2,
                ..record::GroupAccount::default()
            }),
            ..alone()
        };
        let names = |records: &[Record]| -> Vec<String> {
            shape(records).into_iter().map(|(name, _)| name).collect()
        };
        let apart = ["row (ranks 1)", "row (ranks 2)"];
        assert_eq!(names(&[alone(), together()]), apart);
        let mut other = together();
        set(&mut other, "threads", "9");
        assert_eq!(names(&[alone(), other]).len(), 2);
        assert_eq!(names(&[together(), together()]), ["row"]);
    }

    #[test]
    fn blocks_have_one_number_in_all_arms() {
        let records = [
            trial(sound(), "a", 4, 0),
            trial(sound(), "b", 4, 1),
            trial(sound(), "b", 2, 2),
            trial(sound(), "a", 7, 3),
        ];
        assert_eq!(
            shape(&records),
            [("row".to_owned(), vec![vec![1, 2], vec![0, 1]])]
        );
    }

    #[test]
    fn a_place_that_was_measured_twice_is_two_blocks() {
        let records = [
            trial(sound(), "a", 0, 0),
            trial(sound(), "b", 0, 1),
            trial(sound(), "a", 0, 0),
            trial(sound(), "b", 0, 1),
        ];
        assert_eq!(
            shape(&records),
            [("row".to_owned(), vec![vec![0, 1], vec![0, 1]])]
        );
    }

    #[test]
    fn different_work_under_one_name_is_apart() {
        let mut large = trial(sound(), "a", 1, 1);
        set(&mut large, "block-size", "8k");
        let mut seeded = trial(sound(), "a", 2, 2);
        set(&mut seeded, "seed", "9");
        let records = [trial(sound(), "a", 0, 0), large, seeded];
        let rows = shape(&records);
        assert_eq!(
            rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["row (block-size 4k)", "row (block-size 8k)"]
        );
        assert_eq!(rows[0].1[0].len(), 2, "a seed is no other work");
    }

    #[test]
    fn reads_are_never_averaged_with_writes() {
        let mut write = trial(sound(), "a", 1, 1);
        write.operations = writing().operations;
        let records = [trial(sound(), "a", 0, 0), write];
        assert_eq!(
            shape(&records)
                .into_iter()
                .map(|row| row.0)
                .collect::<Vec<_>>(),
            ["row (read)", "row (write)"]
        );
    }

    #[test]
    fn a_flush_now_and_then_is_the_same_work() {
        let mut flushed = trial(sound(), "a", 1, 1);
        flushed.operations.insert(
            "fsync",
            record::Operations {
                bytes: 0,
                ..blocks(3, 9)
            },
        );
        assert_eq!(shape(&[trial(sound(), "a", 0, 0), flushed]).len(), 1);
    }

    #[test]
    fn arms_may_do_different_work_in_one_row() {
        let mut other = trial(sound(), "b", 0, 1);
        set(&mut other, "engine", "sync");
        assert_eq!(
            shape(&[trial(sound(), "a", 0, 0), other]),
            [("row".to_owned(), vec![vec![0], vec![0]])]
        );
    }
}
