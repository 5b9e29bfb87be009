//! What was started once is one observation, however often it is counted.

use super::{Experiment, Located, Slot, claimed, names};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Record;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "pseudo_replication",
    catalogue_number: Some(37),
    severity: Severity::Invalid,
    title: "One start is counted as several repetitions",
    text: "\
Records of one arm and row with the same id, as when a file is given twice; parts beside
the record that was merged of them; ranks of one group as records of their own; and
documents that name more samples than starts.
What varies from start to start (layout, placement, caches, neighbours) is the same for
all seconds of one run. 60 seconds of one start are one observation: with a deviation of
2 % between starts, a t-test over the seconds calls 54 % of identical pairs different.
Ranks share the target and the moment: what disturbs one disturbs all of them.
What to do: count fresh starts, and of ranks the record that `fathom merge` makes of them.
Seconds show how a run went, not how the next would.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "count fresh starts as repetitions: seconds, requests and copies of one run show how it went, not how the next would";

const ADVICE_ON_PARTS: &str = "give the parts or the record that was merged of them, not both";
const ADVICE_ON_RANKS: &str =
    "`fathom merge` makes one record of the ranks, which is one observation";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out: Vec<Located> = copies(experiment).into_iter().collect();
    let parts = parts_beside_their_whole(experiment);
    out.extend(ranks_apart(experiment, &parts));
    out.extend(parts);
    out.extend(claims(experiment));
    out
}

fn copies(experiment: &Experiment<'_>) -> Option<Located> {
    // Whatever row a copy is said to be of.
    let mut starts: BTreeMap<(&str, &str), Vec<Slot<'_>>> = BTreeMap::new();
    for slot in &experiment.slots {
        if !slot.1.id.is_empty() {
            starts
                .entry((&slot.1.id, super::arm(slot.1)))
                .or_default()
                .push(*slot);
        }
    }
    let repeated: Vec<_> = starts
        .into_values()
        .filter(|slots| slots.len() > 1)
        .collect();
    let slots = repeated.first()?;
    let more = repeated.len() - 1;
    let others = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    let message = format!(
        "{} records are of one start ({}{others}): they count once",
        slots.len(),
        names(slots)
    );
    Some(RULE.about(None, experiment.severity(), message, ADVICE))
}

/// Records that were merged, and what of them stands here once more: a part, or another merge.
fn parts_beside_their_whole(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut wholes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for (index, record) in &experiment.slots {
        for part in parts_of(record) {
            match wholes.entry(part) {
                Entry::Vacant(place) => drop(place.insert(*index)),
                Entry::Occupied(place) => {
                    let message = format!(
                        "a part of it is merged into record {} of these as well: what it did counts twice",
                        place.get() + 1
                    );
                    out.push(about_parts(experiment, *index, message));
                    break;
                }
            }
        }
    }
    for (index, record) in &experiment.slots {
        if let Some(whole) = wholes.get(record.id.as_str()).filter(|_| !is_whole(record)) {
            let message = format!(
                "{} is a part of record {} of these, which was merged of it and others: what it did counts twice",
                record.generator().called(),
                whole + 1
            );
            out.push(about_parts(experiment, *index, message));
        }
    }
    out
}

fn about_parts(experiment: &Experiment<'_>, index: usize, message: String) -> Located {
    RULE.about(Some(index), experiment.severity(), message, ADVICE_ON_PARTS)
}

/// The ids of the records that a merged one was made of.
fn parts_of(record: &Record) -> impl Iterator<Item = &str> {
    let parts = record.generators().filter_map(|host| host.part.as_deref());
    parts
        .map(|part| part.id.as_str())
        .filter(|id| !id.is_empty())
}

fn is_whole(record: &Record) -> bool {
    parts_of(record).next().is_some()
}

/// Ranks of one trial that stand as if each were a trial, but for those that are told already.
fn ranks_apart(experiment: &Experiment<'_>, told: &[Located]) -> Vec<Located> {
    let mut groups: BTreeMap<_, Vec<&Record>> = BTreeMap::new();
    for (index, record) in &experiment.slots {
        let is_told = told.iter().any(|located| located.record == Some(*index));
        let rank = record.generator().rank;
        if let (Some(group), Some(_), false) = (&record.group, rank, is_told || is_whole(record)) {
            let of = (&group.plan, &group.start_at, &record.name, &record.kind);
            groups.entry(of).or_default().push(record);
        }
    }
    let apart = groups.into_values().filter_map(|ranks| {
        let ids: BTreeSet<&str> = ranks.iter().map(|rank| rank.id.as_str()).collect();
        let size = ranks.first()?.group.as_ref()?.size;
        let called = ranks.iter().map(|rank| rank.generator().called());
        let called: Vec<_> = called.collect();
        let message = format!(
            "{} of {size} ranks stand as records of their own: they are one trial, and none repeats another",
            units::few(&called, 3)
        );
        let found = RULE.about(None, experiment.severity(), message, ADVICE_ON_RANKS);
        (ids.len() > 1).then_some(found)
    });
    apart.collect()
}

fn claims(experiment: &Experiment<'_>) -> impl Iterator<Item = Located> {
    experiment.claims.iter().filter_map(|(index, claim)| {
        let (samples, starts) = (claimed(claim, "samples")?, claimed(claim, "starts")?);
        (samples > starts).then(|| {
            let message = format!(
                "{samples} samples of {starts} starts are treated as {samples} repetitions"
            );
            RULE.about(Some(*index), experiment.severity(), message, ADVICE)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{group, only, part, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use crate::Severity;
    use record::Summary;

    fn slot(id: &str, block: u32) -> Record {
        placed(
            Record {
                id: id.into(),
                ..sound()
            },
            "a",
            block,
            block,
        )
    }

    #[test]
    fn one_start_in_two_blocks_is_found() {
        let found = run_on(check, &[slot("x", 0), slot("x", 1), slot("y", 2)]);
        assert_eq!(
            only(&found),
            "2 records are of one start (row of a): they count once"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn parts_beside_the_record_that_was_merged_of_them_are_named_one_by_one() {
        let whole = group(3);
        let told = |records: &[Record]| -> Vec<(Option<usize>, String)> {
            let all = Experiment::all(records);
            let found = all.iter().flat_map(check);
            found
                .map(|located| (located.record, located.finding.message))
                .collect()
        };
        assert_eq!(told(std::slice::from_ref(&whole)), []);
        assert_eq!(
            told(&[part(0, 3), whole.clone(), part(2, 3)]),
            [0, 2].map(|at| (
                Some(at),
                format!("node{at} (rank {at}) is a part of record 2 of these, which was merged of it and others: what it did counts twice")
            ))
        );
        let two = group(2);
        assert_eq!(
            told(&[whole, two]),
            [(
                Some(1),
                "a part of it is merged into record 1 of these as well: what it did counts twice"
                    .to_owned()
            )]
        );
    }

    #[test]
    fn ranks_of_one_group_are_no_repetitions_of_each_other() {
        assert_eq!(
            only(&run_on(check, &[part(0, 3), part(1, 3)])),
            "node0 (rank 0), node1 (rank 1) of 3 ranks stand as records of their own: they are one trial, and none repeats another"
        );
        let mut later = part(1, 3);
        later.group.as_mut().unwrap().start_at = "later".into();
        assert_eq!(run_on(check, &[part(0, 3), later]), []);
        assert_eq!(run_on(check, &[part(0, 3)]), []);
    }

    #[test]
    fn samples_that_outnumber_their_starts_are_found() {
        let figures = [("samples".to_owned(), 60.0), ("starts".to_owned(), 1.0)].into();
        let mut claim = quoted(
            "claim",
            Summary {
                figures,
                ..Summary::default()
            },
        );
        claim.kind = super::super::super::CLAIM.into();
        assert_eq!(
            only(&run_on(check, &[claim])),
            "60 samples of 1 starts are treated as 60 repetitions"
        );
    }

    #[test]
    fn fresh_starts_and_unknown_ones_are_silent() {
        assert_eq!(run_on(check, &[slot("x", 0), slot("y", 1)]), []);
        assert_eq!(run_on(check, &[slot("", 0), slot("", 1)]), []);
    }
}
