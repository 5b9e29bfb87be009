//! Rows of one arm that differ in nothing but how many operations are in flight.

use super::facts::is_work;
use super::{Curve, StudyArm};
use crate::Effective;
use crate::study::rows::Row;
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

const FEWEST_POINTS: usize = 3;
/// What follows from how many operations are in flight.
const DEPTH: [&str; 4] = ["queue-depth", "threads", "submit-batch", "reap-batch"];

/// Options and their values.
type Options<'a> = Vec<(&'a str, &'a str)>;

/// All curves, arm by arm, in the order of their first row.
pub(super) fn curves(rows: &[Row<'_>], arms: &[StudyArm]) -> Vec<Curve> {
    let keys: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.slots.iter().filter_map(|slots| slots.first()))
        .flat_map(|slot| slot.record.effective.keys().map(String::as_str))
        .collect();
    let fixed: BTreeSet<&str> = keys
        .into_iter()
        .filter(|key| !DEPTH.contains(key) && is_work(key))
        .collect();
    (0..arms.len())
        .flat_map(|arm| of_arm(rows, arm, &fixed))
        .collect()
}

fn of_arm(rows: &[Row<'_>], arm: usize, fixed: &BTreeSet<&str>) -> Vec<Curve> {
    let mut order: Vec<Options<'_>> = Vec::new();
    let mut groups: BTreeMap<Options<'_>, Vec<(u64, usize)>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let Some((record, depth)) = row.slots[arm]
            .first()
            .and_then(|slot| Some((slot.record, in_flight(slot.record)?)))
        else {
            continue;
        };
        let key: Options<'_> = record
            .effective
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .filter(|(k, _)| fixed.contains(k))
            .collect();
        groups
            .entry(key.clone())
            .or_insert_with(|| {
                order.push(key);
                Vec::new()
            })
            .push((depth, at));
    }
    let points = order.into_iter().filter_map(|key| groups.remove(&key));
    points
        .filter(|points| {
            points
                .iter()
                .map(|(depth, _)| depth)
                .collect::<BTreeSet<_>>()
                .len()
                >= FEWEST_POINTS
        })
        .map(|mut points| {
            points.sort_unstable();
            let names: Vec<&str> = points
                .iter()
                .map(|(_, row)| rows[*row].name.as_str())
                .collect();
            Curve {
                name: common(&names),
                arm,
                points,
            }
        })
        .collect()
}

/// Operations in flight; `None` where a record says nothing of depth.
fn in_flight(record: &Record) -> Option<u64> {
    let effective = Effective::of(record);
    let depth = effective.number("queue-depth").filter(|depth| *depth > 0)?;
    depth.checked_mul(effective.number("threads").unwrap_or(1).max(1))
}

/// The words that all names begin with; the first name if there is none.
fn common(names: &[&str]) -> String {
    let first: Vec<&str> = names
        .first()
        .map(|name| name.split_whitespace().collect())
        .unwrap_or_default();
    let shared = |at: &usize| {
        names
            .iter()
            .all(|name| name.split_whitespace().nth(*at) == Some(first[*at]))
    };
    let words: Vec<&str> = (0..first.len())
        .take_while(shared)
        .map(|at| first[at])
        .collect();
    if words.is_empty() {
        first.join(" ")
    } else {
        words.join(" ")
    }
}
