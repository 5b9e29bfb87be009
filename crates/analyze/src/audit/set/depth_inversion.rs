//! More operations in flight do not make a target slower; another path does.

use super::{Experiment, Located, arm, median, place, row, same_place};
use crate::audit::rule::{Check, Rule};
use crate::figures::{sum_of_transfers, transfers};
use crate::{Effective, Severity};
use record::Record;
use units::Rate;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "depth_inversion",
    catalogue_number: Some(18),
    severity: Severity::Warning,
    title: "A deeper queue is slower than depth 1",
    text: "\
Records of one arm and place with equal block size, order, direct flag and threads: the
middle rate at each depth above 1 is compared with that at depth 1. Below 90 % is found.
More operations in flight give a target more choice, never less work. 7,831 a second at
depth 8 beside 24,900 at depth 1 on one machine means that two paths were measured: a
cache in one, a split, copy or lock in the other.
What to do: compare engines, file sizes and device counters of the two rows, and find
the cache at depth 1 or the throttle at depth.",
    checks: &[Check::Together(check)],
};

const LEAST_SHARE: f64 = 0.9;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let known: Vec<(usize, &Record, u64)> = experiment
        .slots
        .iter()
        .filter_map(|(index, record)| {
            Some((
                *index,
                *record,
                Effective::of(record).number("queue-depth")?,
            ))
        })
        .collect();
    let deep = known
        .iter()
        .filter(|(index, record, depth)| *depth > 1 && is_first(&known, *index, record, *depth));
    deep.filter_map(|(index, record, depth)| {
        let (shallow, one) = of_depth(&known, record, 1)?;
        let (at_depth, _) = of_depth(&known, record, *depth)?;
        (at_depth < LEAST_SHARE * shallow).then(|| {
            let name = if place(record).is_some() { format!("{}: ", arm(record)) } else { String::new() };
            let message = format!(
                "{name}{} at depth {depth} is {:.2} times the {} at depth 1 ({}): a deeper queue is slower, so these may be different paths",
                Rate(at_depth),
                at_depth / shallow,
                Rate(shallow),
                one
            );
            let advice = "look for caches that answer at depth 1 and for a split or throttle at depth; compare engines, sizes and what the device counted";
            RULE.about(Some(*index), Severity::Warning, message, advice)
        })
    })
    .collect()
}

/// The middle rate of the records like this one at a depth, and the name of one of them.
fn of_depth(known: &[(usize, &Record, u64)], like: &Record, depth: u64) -> Option<(f64, String)> {
    let alike: Vec<&Record> = known
        .iter()
        .filter(|(_, r, d)| *d == depth && is_like(r, like))
        .map(|(_, r, _)| *r)
        .collect();
    let rates: Vec<f64> = alike
        .iter()
        .filter_map(|record| sum_of_transfers(record, |f| f.per_second()))
        .collect();
    let name = alike.first().map(|first| {
        if row(first).is_empty() {
            first.name.clone()
        } else {
            row(first).to_owned()
        }
    })?;
    Some((median(rates), name)).filter(|(rate, _)| *rate > 0.0)
}

fn is_first(known: &[(usize, &Record, u64)], index: usize, record: &Record, depth: u64) -> bool {
    !known
        .iter()
        .any(|(other, r, d)| *other < index && *d == depth && is_like(r, record))
}

/// The same access to the same place, whatever the depth.
fn is_like(a: &Record, b: &Record) -> bool {
    const ACCESS: [&str; 4] = ["block-size", "random", "direct", "threads"];
    let paced =
        |record: &Record| Effective::of(record).thinks() || Effective::of(record).is_open_loop();
    // What is cheap to see first: all records of an experiment are held against each other.
    place(a).map(|(arm, _)| arm) == place(b).map(|(arm, _)| arm)
        && a.effective.contains_key("block-size")
        && ACCESS
            .iter()
            .all(|key| a.effective.get(*key) == b.effective.get(*key))
        && transfers(a)
            .map(|f| f.kind)
            .eq(transfers(b).map(|f| f.kind))
        && a.source.as_ref().map(|s| &s.file) == b.source.as_ref().map(|s| &s.file)
        && same_place(a, b)
        && !paced(a)
        && !paced(b)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn at(depth: &str, per_second: f64) -> Record {
        let mut record = quoted(
            "read",
            Summary {
                per_second: Some(per_second),
                ..Summary::default()
            },
        );
        record.name = format!("Q{depth}");
        set(&mut record, "queue-depth", depth);
        set(&mut record, "block-size", "1M");
        record
    }

    #[test]
    fn a_deep_queue_below_depth_1_is_found_once() {
        let records = [at("8", 7831.0), at("1", 24_900.0), at("8", 7800.0)];
        let found = run_on(check, &records);
        assert!(
            only(&found)
                .starts_with("7.82 K/s at depth 8 is 0.31 times the 24.9 K/s at depth 1 (Q1)"),
            "{found:?}"
        );
    }

    #[test]
    fn nearly_equal_rates_and_other_sizes_are_silent() {
        assert_eq!(run_on(check, &[at("8", 4061.0), at("1", 4120.0)]), []);
        let mut small = at("1", 647_000.0);
        set(&mut small, "block-size", "4k");
        assert_eq!(run_on(check, &[at("8", 7831.0), small]), []);
    }
}
