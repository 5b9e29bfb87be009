//! Rules over several records: what they say together that none says alone.

use crate::identity::Identity;
use crate::{Effective, Finding, Severity};
use levels::{level, median, typical};
use record::Record;
use stats::Drift;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

pub(super) mod ageing;
pub(super) mod arms_identical;
pub(super) mod baseline_is_outlier;
pub(super) mod cache_against_direct;
pub(super) mod carry_over;
pub(super) mod cells_missing;
pub(super) mod change_not_exercised;
pub(super) mod claim_contradicts_data;
pub(super) mod compared_with_nothing;
pub(super) mod control_fails;
pub(super) mod depth_inversion;
pub(super) mod device_log;
pub(super) mod drift;
pub(super) mod effect_below_mde;
pub(super) mod effect_flips_sign;
pub(super) mod environment_differs;
pub(super) mod environment_unrecorded;
pub(super) mod faster_than_medium;
pub(super) mod first_block_cold;
pub(super) mod latency_at_unequal_load;
mod levels;
pub(super) mod many_comparisons;
mod measured_again;
pub(super) mod no_repetition;
pub(super) mod one_sided;
pub(super) mod order_aliased;
pub(super) mod plan_contradicted;
pub(super) mod plan_missing;
pub(super) mod plan_unfinished;
pub(super) mod provenance_mismatch;
pub(super) mod pseudo_replication;
pub(super) mod same_setup_two_numbers;
pub(super) mod saturation_not_seen;
pub(super) mod several_machines;
pub(super) mod short_slots;
pub(super) mod size_mix;
pub(super) mod steady_state_not_shown;
pub(super) mod steal_unrecorded;
pub(super) mod unequal_durations;
pub(super) mod unit_mix;
pub(super) mod unregistered_stopping;
pub(super) mod verified_elsewhere;

/// A finding and the record that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Index among the records that were audited; `None`: about several of them together.
    pub record: Option<usize>,
    pub finding: Finding,
}

type Slot<'a> = (usize, &'a Record);
/// An arm and its slots.
type Arm<'a> = (&'a str, Vec<Slot<'a>>);

/// Records that may be compared: the slots of one plan, or all records that belong to none.
pub(super) struct Experiment<'a> {
    /// Whether a plan, or the document that they come from, compares them.
    is_placed: bool,
    pub(super) slots: Vec<Slot<'a>>,
    /// What the same sources conclude.
    claims: Vec<Slot<'a>>,
    /// What devices wrote down of what they did for those that are compared, with whom they are not.
    logs: Vec<Slot<'a>>,
    /// What [`drift::measured`] found, for all rules that ask.
    drift: OnceCell<Option<(Drift, usize)>>,
}

/// What records say against themselves and against each other: the gravest first, of one severity
/// in the order of the records, what is about several of them before what is about one.
#[must_use]
pub fn audit(records: &[Record]) -> Vec<Located> {
    let alone = records.iter().enumerate().flat_map(|(index, record)| {
        super::self_check(record)
            .into_iter()
            .map(move |finding| Located {
                record: Some(index),
                finding,
            })
    });
    let experiments = Experiment::all(records);
    let repeated: BTreeSet<usize> = experiments.iter().flat_map(Experiment::repeated).collect();
    // What is repeated is no single observation; whether it is repeated often enough is another
    // rule's matter.
    let alone = alone.filter(|located| {
        located.finding.rule != super::single_observation::RULE.id
            || located
                .record
                .is_none_or(|index| !repeated.contains(&index))
    });
    let alone = alone.map(|located| match located.record {
        Some(index) => measured_again::lowered(located, records, index),
        None => located,
    });
    let together = experiments
        .iter()
        .flat_map(|experiment| super::rule::together(experiment));
    let mut out: Vec<Located> = together.chain(alone).collect();
    out.sort_by_key(|located| (located.finding.severity, located.record));
    out
}

impl<'a> Experiment<'a> {
    pub(super) fn all(records: &'a [Record]) -> Vec<Self> {
        let mut plans: BTreeMap<Option<&str>, Vec<Slot<'a>>> = BTreeMap::new();
        for slot in records.iter().enumerate() {
            plans.entry(plan(slot.1)).or_default().push(slot);
        }
        let split = |(plan, slots): (Option<&str>, Vec<Slot<'a>>)| {
            let (claims, slots): (Vec<_>, Vec<_>) = slots
                .into_iter()
                .partition(|(_, record)| record.kind == super::CLAIM);
            let (logs, runs): (Vec<Slot<'a>>, Vec<_>) = slots
                .iter()
                .copied()
                .partition(|(_, record)| device_log::is_log(record));
            Self {
                is_placed: plan.is_some(),
                // Logs alone are compared with each other.
                slots: if runs.is_empty() { slots } else { runs },
                claims,
                logs,
                drift: OnceCell::new(),
            }
        };
        plans.into_iter().map(split).collect()
    }

    /// The same experiment with these records in place of its slots, without what its sources
    /// conclude.
    pub(super) fn of_slots<'b>(&self, slots: Vec<Slot<'b>>) -> Experiment<'b> {
        Experiment {
            is_placed: self.is_placed,
            slots,
            claims: Vec::new(),
            logs: Vec::new(),
            drift: OnceCell::new(),
        }
    }

    /// What is wrong with a comparison is grave only where a plan says that there is one.
    fn severity(&self) -> Severity {
        if self.is_placed {
            Severity::Invalid
        } else {
            Severity::Warning
        }
    }

    /// The slots of a plan.
    fn planned(&self) -> Vec<Slot<'a>> {
        let slots = self.slots.iter().copied();
        slots.filter(|(_, record)| record.trial.is_some()).collect()
    }

    /// The slots of a plan in the order in which they ran.
    fn in_order(&self) -> Vec<&'a Record> {
        let mut slots: Vec<&Record> = self
            .planned()
            .into_iter()
            .map(|(_, record)| record)
            .collect();
        slots.sort_by_key(|record| record.trial.as_ref().map(|trial| trial.slot));
        slots
    }

    /// The slots that stand beside another block of the same arm and row.
    fn repeated(&self) -> Vec<usize> {
        let is_declared = |record: &Record| record.trial.is_some() || record.repeat.is_some();
        let declared: Vec<Slot<'a>> = self
            .slots
            .iter()
            .filter(|(_, record)| is_declared(record))
            .copied()
            .collect();
        let cells = cells(&declared);
        cells
            .into_iter()
            .filter(|slots| repetitions(slots) > 1)
            .flatten()
            .map(|(index, _)| index)
            .collect()
    }

    /// Slots by arm, arms in the order of their first record.
    fn arms(&self) -> Vec<Arm<'a>> {
        grouped(&self.slots, arm)
    }

    /// Slots by row, and within a row by arm. Records without a place have no row in common.
    fn rows(&self) -> Vec<(&'a str, Vec<Arm<'a>>)> {
        if !self.is_placed {
            return Vec::new();
        }
        grouped(&self.slots, row)
            .into_iter()
            .map(|(row, slots)| (row, grouped(&slots, arm)))
            .collect()
    }
}

/// What a record is one of several of: the arm of its plan, else its name.
fn arm(record: &Record) -> &str {
    place(record).map_or(record.name.as_str(), |(arm, _)| arm)
}

fn row(record: &Record) -> &str {
    place(record).map_or("", |(_, row)| row)
}

/// Arm and row: of the plan, or as a document's figures are named, `arm | row`.
fn place(record: &Record) -> Option<(&str, &str)> {
    let planned = record
        .trial
        .as_ref()
        .map(|trial| (trial.arm.as_str(), trial.row.as_str()));
    planned.or_else(|| {
        record
            .name
            .split_once(" | ")
            .filter(|_| is_of_document(record))
    })
}

/// What holds records together: a plan, or one document.
fn plan(record: &Record) -> Option<&str> {
    let document = || {
        Some(record.source.as_ref()?.file.as_deref().unwrap_or_default())
            .filter(|_| is_of_document(record))
    };
    record
        .trial
        .as_ref()
        .map(|trial| trial.plan.as_str())
        .or_else(document)
}

fn is_of_document(record: &Record) -> bool {
    record
        .source
        .as_ref()
        .is_some_and(|source| source.tool == "document")
}

/// Slots with the same key, keys in the order of their first slot.
fn grouped<'a, K: Ord + Clone>(
    slots: &[Slot<'a>],
    key: impl Fn(&'a Record) -> K,
) -> Vec<(K, Vec<Slot<'a>>)> {
    let mut out: Vec<(K, Vec<Slot<'a>>)> = Vec::new();
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    for slot in slots {
        let of = key(slot.1);
        match places.get(&of) {
            Some(place) => out[*place].1.push(*slot),
            None => {
                places.insert(of.clone(), out.len());
                out.push((of, vec![*slot]));
            }
        }
    }
    out
}

/// Slots by arm and row; without a plan by name and what they are of, because records of other
/// targets and sources repeat nothing.
fn cells<'a>(slots: &[Slot<'a>]) -> Vec<Vec<Slot<'a>>> {
    let key = |record: &'a Record| {
        let thing = record.trial.is_none().then(|| Identity::of(record));
        (
            arm(record),
            row(record),
            thing.filter(|_| !is_of_document(record)),
        )
    };
    grouped(slots, key)
        .into_iter()
        .map(|(_, slots)| slots)
        .collect()
}

/// Whether an arm is what others are compared with, by its name.
fn is_baseline(arm: &str) -> bool {
    let arm = arm.to_ascii_lowercase();
    arm == "base" || arm.starts_with("baseline")
}

/// `ln(arm / base)` of each block that has both.
fn differences(base: &[Slot<'_>], arm: &[Slot<'_>]) -> Vec<f64> {
    let of = |slots: &[Slot<'_>]| -> BTreeMap<u32, (&'static str, f64)> {
        slots
            .iter()
            .filter_map(|(_, record)| Some((record.trial.as_ref()?.block, level(record)?)))
            .collect()
    };
    let (base, arm) = (of(base), of(arm));
    let pairs = arm
        .into_iter()
        .filter_map(|(block, arm)| Some((*base.get(&block)?, arm)));
    pairs
        .filter(|(base, arm)| base.0 == arm.0)
        .map(|(base, arm)| (arm.1 / base.1).ln())
        .collect()
}

/// Blocks, or repeated records where there is no plan.
fn repetitions(slots: &[Slot<'_>]) -> usize {
    let blocks: BTreeSet<u32> = slots
        .iter()
        .filter_map(|(_, r)| r.trial.as_ref().map(|trial| trial.block))
        .collect();
    if blocks.is_empty() {
        slots.len()
    } else {
        blocks.len()
    }
}

/// The effective options but those named.
fn settings<'a>(record: &'a Record, except: &[&str]) -> Vec<(&'a str, &'a str)> {
    let all = record.effective.iter();
    all.map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, _)| !except.contains(key))
        .collect()
}

/// Whether two records did the same work in the same place, but for the page cache between.
fn is_same_work(a: &Record, b: &Record) -> bool {
    const BUT: &[&str] = &["direct", "cache", "seed"];
    settings(a, BUT) == settings(b, BUT) && same_place(a, b)
}

/// Whether two records used the same target of the same machine, as far as both say.
fn same_place(a: &Record, b: &Record) -> bool {
    let same_paths = a
        .targets
        .iter()
        .map(|target| &target.path)
        .eq(b.targets.iter().map(|target| &target.path));
    let mut environments = a.environments().zip(b.environments());
    same_paths
        && a.environments().count() == b.environments().count()
        && environments.all(|(a, b)| crate::circumstances::is_same_but_for_the_moment(a, b))
}

/// The names of up to three records, and how many more.
fn names(slots: &[Slot<'_>]) -> String {
    let name = |record: &Record| match (place(record), record.name.is_empty()) {
        (Some((arm, row)), _) => format!("{row} of {arm}"),
        (None, false) => record.name.clone(),
        (None, true) => "a record without a name".to_owned(),
    };
    let mut all: Vec<String> = slots.iter().map(|(_, record)| name(record)).collect();
    all.dedup();
    units::few(&all, 3)
}

/// A number that a claim names.
fn claimed(claim: &Record, name: &str) -> Option<f64> {
    claim
        .summaries
        .values()
        .find_map(|summary| summary.figures.get(name).copied())
}

/// A number that a claim names by a word of its name.
fn claimed_like<'a>(claim: &'a Record, word: &str) -> Option<(&'a str, f64)> {
    let mut figures = claim
        .summaries
        .values()
        .flat_map(|summary| summary.figures.iter());
    figures
        .find(|(name, _)| name.contains(word))
        .map(|(name, value)| (name.as_str(), *value))
}

fn is_direct(record: &Record) -> Option<bool> {
    Effective::of(record).text("direct")?.parse().ok()
}

#[cfg(test)]
fn run_on(rule: fn(&Experiment<'_>) -> Vec<Located>, records: &[Record]) -> Vec<Finding> {
    Experiment::all(records)
        .iter()
        .flat_map(rule)
        .map(|located| located.finding)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{placed, sound};
    use super::*;
    use std::cmp::Ordering;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Two arms with the same result in eight randomised blocks.
    fn clean() -> Vec<Record> {
        let order = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0];
        let slots = order.into_iter().zip(0_u32..);
        slots
            .map(|(arm, slot)| {
                let mut record = sound();
                record.elapsed_ns += u64::from(slot % 5) * 1_000_000;
                placed(record, ["baseline", "candidate"][arm], slot / 2, slot)
            })
            .collect()
    }

    #[test]
    fn keys_are_compared_a_few_times_each_however_many_there_are() {
        static COMPARED: AtomicU64 = AtomicU64::new(0);
        #[derive(Clone, PartialEq, Eq)]
        struct Counted(String);
        impl PartialOrd for Counted {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Counted {
            fn cmp(&self, other: &Self) -> Ordering {
                COMPARED.fetch_add(1, Relaxed);
                self.0.cmp(&other.0)
            }
        }
        let records: Vec<Record> = (0..2000)
            .map(|n| Record {
                name: n.to_string(),
                ..Record::default()
            })
            .collect();
        let slots: Vec<Slot<'_>> = records.iter().enumerate().collect();
        let groups = grouped(&slots, |record| Counted(record.name.clone()));
        assert_eq!(groups.len(), 2000);
        // Each pair would be two millions.
        let compared = COMPARED.load(Relaxed);
        assert!(compared < 200_000, "{compared} comparisons");
    }

    #[test]
    fn a_sound_experiment_raises_nothing_but_notes() {
        let found: Vec<Located> = audit(&clean())
            .into_iter()
            .filter(|located| located.finding.severity != Severity::Note)
            .collect();
        assert!(
            found
                .iter()
                .all(|located| located.finding.rule == "effect_below_mde"),
            "{found:?}"
        );
    }

    #[test]
    fn a_slot_beside_others_of_its_arm_is_no_single_observation() {
        let single = |records: &[Record]| {
            audit(records)
                .iter()
                .filter(|located| located.finding.rule == "single_observation")
                .count()
        };
        assert_eq!(single(&clean()), 0);
        assert_eq!(single(&clean()[..2]), 2, "one block of two arms");
        assert_eq!(single(&[sound(), sound()]), 2, "records of no plan");
    }

    #[test]
    fn nothing_and_empty_records_accuse_nobody() {
        assert_eq!(audit(&[]), []);
        let rules: Vec<&str> = audit(&[Record::default(), Record::default()])
            .into_iter()
            .map(|l| l.finding.rule)
            .collect();
        assert_eq!(rules, ["single_observation"; 2]);
    }

    #[test]
    fn the_gravest_is_first_and_what_one_record_says_is_located() {
        let mut records = vec![sound(), sound()];
        records[1].generator_mut().devices[0].read_bytes /= 10;
        let found = audit(&records);
        assert!(found.is_sorted_by_key(|located| located.finding.severity));
        assert_eq!(
            (found[0].record, found[0].finding.rule),
            (Some(1), "device_disagrees")
        );
    }

    #[test]
    fn several_plans_are_several_experiments() {
        let mut records = clean();
        records[0].trial.as_mut().unwrap().plan = "other".into();
        records.push(sound());
        let all = Experiment::all(&records);
        assert_eq!(
            all.iter()
                .map(|e| (e.is_placed, e.slots.len()))
                .collect::<Vec<_>>(),
            [(false, 1), (true, 1), (true, 15)]
        );
    }
}
