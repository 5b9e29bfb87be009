//! The parts of a group's ranks as one record, also where some of them are missing.
//!
//! Whoever joins parts has files from several machines, of which some may be of another trial, be
//! there twice or not at all. Each such fault is named, and the parts that do belong together are
//! joined all the same: as an incomplete record, because fewer ranks are another experiment.

mod fault;

use crate::{LostRank, Outcome, Record, Status};
pub use fault::{ChosenTrial, PartFault};
use std::collections::{BTreeMap, BTreeSet};

/// So many lost ranks are named one by one.
const MOST_NAMED: usize = 1000;

/// What parts become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// `None` where no two of them could be told to belong together.
    pub record: Option<Record>,
    pub faults: Vec<PartFault>,
}

/// A part, and where it stands.
struct Part {
    place: String,
    rank: u32,
    record: Record,
}

/// Joins the parts of one group; with each stands where it came from.
#[must_use]
pub fn join(given: Vec<(String, Record)>) -> Joined {
    let mut faults = Vec::new();
    let mut parts = Vec::new();
    for (place, record) in given {
        match rank_of(&record) {
            Ok(rank) => parts.push(Part {
                place,
                rank,
                record,
            }),
            Err(why) => faults.push(PartFault::NoPart { place, why }),
        }
    }
    let mut lost = BTreeMap::new();
    let parts = of_one_trial(parts, &mut faults, &mut lost);
    let parts = each_once(parts, &mut faults, &mut lost);
    let Some(size) = parts.first().and_then(|part| part.record.group.as_ref()) else {
        return Joined {
            record: None,
            faults,
        };
    };
    let size = size.size;
    let there: BTreeSet<u32> = parts.iter().map(|part| part.rank).collect();
    lost.retain(|rank, _| !there.contains(rank));
    let known = there.iter().chain(lost.keys());
    let known = known.filter(|rank| **rank < size).count();
    let missing: Vec<u32> = (0..size)
        .filter(|rank| !there.contains(rank) && !lost.contains_key(rank))
        .take(MOST_NAMED)
        .collect();
    let unnamed = (size as usize).saturating_sub(known + missing.len());
    if !missing.is_empty() {
        faults.push(PartFault::Missing {
            ranks: ranks(&missing, unnamed),
            size,
            several: missing.len() > 1,
        });
    }
    let no_part = missing.into_iter().map(|rank| LostRank {
        rank,
        host: None,
        why: "no part of it was given".into(),
        last_heard_ns: None,
    });
    let mut lost: Vec<LostRank> = lost.into_values().chain(no_part).collect();
    let mut told = |part| told(part, &mut faults, &mut lost);
    let records: Vec<Record> = parts.into_iter().map(&mut told).collect();
    match Record::merge_all(records) {
        Ok(mut record) => {
            // Of one part that is left the whole says the same.
            record.tell_of_group();
            Joined {
                record: Some(without(measured(record), lost, unnamed)),
                faults,
            }
        }
        Err(error) => {
            faults.push(error.into());
            Joined {
                record: None,
                faults,
            }
        }
    }
}

/// What a run that verifies says that has checked nothing.
pub const NOTHING_CHECKED: &str = "verification was asked for and nothing was checked; let the run read (--read-percent, or --verify-when passes with time for a pass), or write every block for a later run to check (--duration 0s), or say --verify-when later";

/// What only all of it shows: how a load ended; of a run, where each rank says that nothing fell to it, or that it has checked nothing, that is so of the whole,
/// and where only some say it, it is not.
fn measured(mut record: Record) -> Record {
    if record.load.is_some() {
        record.judge_load();
        return record;
    }
    let is_unchecked = record.notices.iter().any(|of| of == NOTHING_CHECKED);
    record.notices.retain(|of| of != NOTHING_CHECKED);
    let checked = record.verification.as_ref().map_or(0, |of| of.operations);
    if is_unchecked && checked == 0 && record.outcome == Outcome::default() {
        record.outcome = Outcome {
            status: Status::Incomplete,
            exit_code: 5,
            message: Some(NOTHING_CHECKED.into()),
        };
    }
    let nothing = record.operations.count() == 0 && record.operations.errors() == 0;
    if nothing && record.outcome == Outcome::default() {
        record.outcome = Outcome {
            status: Status::Incomplete,
            exit_code: 5,
            message: Some("no operation was measured; run longer".into()),
        };
    }
    record
}

/// The record of a part, attributed; what is incomplete of it is told.
fn told(part: Part, faults: &mut Vec<PartFault>, lost: &mut Vec<LostRank>) -> Record {
    let mut record = part.record;
    if record.outcome.status == Status::Ok {
        return record;
    }
    let why = record.outcome.message.clone().unwrap_or_default();
    attribute(&mut record);
    if record.outcome.status != Status::Incomplete {
        return record;
    }
    if record.elapsed_ns == 0 {
        lost.push(LostRank {
            rank: part.rank,
            host: Some(record.generator().machine_called().to_owned()),
            why: why.clone(),
            last_heard_ns: None,
        });
    }
    faults.push(PartFault::Incomplete {
        rank: part.rank,
        place: part.place,
        why,
    });
    record
}

/// The rank that a record is the part of.
fn rank_of(record: &Record) -> Result<u32, &'static str> {
    let Some(group) = &record.group else {
        return Err("is no part of a group; `fathom run --rank` writes parts");
    };
    if record.generators().count() > 1 {
        return Err("is joined already; give the parts that it was made of");
    }
    if !group.lost.is_empty() {
        return Err("says of other ranks that they are lost, which a rank's own part does not");
    }
    if record.outcome.contradicts_itself() {
        return Err("says one thing by its outcome and another by its exit code");
    }
    let rank = record.generator().rank;
    rank.filter(|rank| *rank < group.size)
        .ok_or("does not say which rank it is of")
}

/// Those that belong to the trial of which there are most.
fn of_one_trial(
    parts: Vec<Part>,
    faults: &mut Vec<PartFault>,
    lost: &mut BTreeMap<u32, LostRank>,
) -> Vec<Part> {
    let mut trials: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let same = |trial: &&mut Vec<Part>| {
            let first = trial.first();
            first.is_some_and(|first| differs(&first.record, &part.record).is_none())
        };
        match trials.iter_mut().find(same) {
            Some(trial) => trial.push(part),
            None => trials.push(vec![part]),
        }
    }
    let most = trials.iter().map(|parts| ranks_once(parts)).max();
    let chosen = trials
        .iter()
        .position(|parts| Some(ranks_once(parts)) == most);
    let Some(chosen) = chosen else {
        return Vec::new();
    };
    let chosen = trials.remove(chosen);
    let told = ChosenTrial {
        first: chosen
            .first()
            .map_or_else(String::new, |part| part.place.clone()),
        parts: chosen.len(),
        is_tie: trials.iter().any(|parts| Some(ranks_once(parts)) == most),
    };
    for part in trials.into_iter().flatten() {
        let of = chosen
            .first()
            .and_then(|first| differs(&first.record, &part.record));
        let what = of.unwrap_or("trial");
        lost.insert(
            part.rank,
            LostRank {
                rank: part.rank,
                host: Some(part.record.generator().machine_called().to_owned()),
                why: format!("its part has another {what}"),
                last_heard_ns: None,
            },
        );
        faults.push(PartFault::Other {
            options: other_options(&part.record, &chosen),
            place: part.place,
            what,
            chosen: told.clone(),
        });
    }
    chosen
}

/// The options of a part that are others than those of a trial, where all of its parts have them
/// alike.
fn other_options(part: &Record, trial: &[Part]) -> Vec<String> {
    let Some((first, others)) = trial.split_first() else {
        return Vec::new();
    };
    let (own, of_trial) = (&part.effective, &first.record.effective);
    let named: BTreeSet<&String> = own.keys().chain(of_trial.keys()).collect();
    let is_alike = |key: &&&String| {
        let mut others = others.iter().map(|other| other.record.effective.get(**key));
        others.all(|other| other == of_trial.get(**key))
    };
    let said = |value: Option<&String>| value.map_or("not there", String::as_str).to_owned();
    named
        .iter()
        .filter(|key| own.get(**key) != of_trial.get(**key))
        .filter(is_alike)
        .map(|key| {
            let [own, of_trial] = [own.get(*key), of_trial.get(*key)].map(said);
            format!("{key} is {own}, of the others {of_trial}")
        })
        .collect()
}

/// How many ranks stand in these parts once: of what is there twice none is used.
fn ranks_once(parts: &[Part]) -> usize {
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    for part in parts {
        *times.entry(part.rank).or_default() += 1;
    }
    times.into_values().filter(|times| *times == 1).count()
}

/// What of two parts says that they are not of one trial.
fn differs(one: &Record, other: &Record) -> Option<&'static str> {
    let version = |record: &Record| record.generator().environment.fathom.clone();
    let asked = [
        ("name", one.name == other.name),
        ("verb", one.kind == other.kind),
        ("version of fathom", version(one) == version(other)),
    ];
    let asked = asked.into_iter().find(|(_, same)| !same);
    let groups = || crate::GroupAccount::differ(one.group.as_ref(), other.group.as_ref());
    asked.map(|(what, _)| what).or_else(groups)
}

/// Those of ranks that are there once, and of no other rank's record.
fn each_once(
    parts: Vec<Part>,
    faults: &mut Vec<PartFault>,
    lost: &mut BTreeMap<u32, LostRank>,
) -> Vec<Part> {
    let (parts, several) = once(parts, |part| part.rank);
    for (rank, of_rank) in several {
        let why = "several parts of it were given".to_owned();
        lost.insert(
            rank,
            LostRank {
                rank,
                host: None,
                why,
                last_heard_ns: None,
            },
        );
        faults.push(PartFault::Twice {
            rank,
            places: places(&of_rank),
        });
    }
    let (mut parts, several) = once(parts, |part| part.record.id.clone());
    parts.sort_by_key(|part| part.rank);
    for (id, copies) in several {
        lost.extend(copies.iter().map(|part| {
            let why = "its part is that of another rank".to_owned();
            let lost = LostRank {
                rank: part.rank,
                host: None,
                why,
                last_heard_ns: None,
            };
            (part.rank, lost)
        }));
        faults.push(PartFault::Copied {
            id,
            places: places(&copies),
        });
    }
    parts
}

fn places(parts: &[Part]) -> String {
    let places: Vec<&str> = parts.iter().map(|part| part.place.as_str()).collect();
    places.join(" and ")
}

/// Those of which there is one, and the others by what they have in common.
fn once<K: Ord>(parts: Vec<Part>, of: impl Fn(&Part) -> K) -> (Vec<Part>, BTreeMap<K, Vec<Part>>) {
    let mut all: BTreeMap<K, Vec<Part>> = BTreeMap::new();
    for part in parts {
        all.entry(of(&part)).or_default().push(part);
    }
    let alone = all.extract_if(.., |_, parts| parts.len() == 1);
    let alone: Vec<Part> = alone.flat_map(|(_, parts)| parts).collect();
    (alone, all)
}

/// Says in its outcome whose it is.
fn attribute(record: &mut Record) {
    let called = record.generator().called().into_owned();
    if let Some(message) = &mut record.outcome.message {
        *message = format!("{called}: {message}");
    }
}

/// The record without what was lost, also without being named: incomplete where anything was.
fn without(mut record: Record, mut lost: Vec<LostRank>, unnamed: usize) -> Record {
    lost.sort();
    if lost.is_empty() {
        return record;
    }
    let numbers: Vec<u32> = lost.iter().map(|lost| lost.rank).collect();
    let size = record.group.as_ref().map_or(0, |group| group.size);
    let message = format!(
        "{} of {size} did not take part: this is what the others did",
        ranks(&numbers, unnamed)
    );
    let also = record.outcome.message.take();
    let message = also.map_or_else(|| message.clone(), |also| format!("{message}; {also}"));
    record.outcome = Outcome {
        status: Status::Incomplete,
        exit_code: 5,
        message: Some(message),
    };
    if let Some(group) = &mut record.group {
        group.lost = lost;
    }
    record
}

/// Ranks in words, neighbours as a range, and how many more: `ranks 1, 3 to 5 and 7 more`.
fn ranks(numbers: &[u32], more: usize) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(*number) => *end = *number,
            Some(_) | None => ranges.push((*number, *number)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    match (numbers.len(), more) {
        (1, 0) => format!("rank {words}"),
        (_, 0) => format!("ranks {words}"),
        (_, more) => format!("ranks {words} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupAccount, Operations};

    fn part(rank: u32, size: u32) -> Record {
        let mut record = Record {
            id: format!("id {rank}"),
            name: "run".into(),
            elapsed_ns: 1_000_000_000,
            group: Some(GroupAccount {
                size,
                launcher: "none".into(),
                plan: "p".into(),
                start_at: "2026-11-22T18:00:00Z".into(),
                ..GroupAccount::default()
            }),
            ..Record::default()
        };
        let read = Operations {
            count: 100,
            ..Operations::default()
        };
        record.operations.insert("read", read);
        record.effective = [
            ("block-size", "4k".into()),
            ("target", format!("/mnt/{rank}")),
        ]
        .map(|(key, value): (&str, String)| (key.to_owned(), value))
        .into();
        let host = record.generator_mut();
        (host.rank, host.late_ns) = (Some(rank), u64::from(rank) * 10);
        host.clock_bound_ns = Some(500 + u64::from(rank));
        host.clock_drift_ns = Some(-70 * i64::from(rank));
        host.environment.system.hostname = Some(format!("node{rank}"));
        record
    }

    fn given(parts: Vec<Record>) -> Vec<(String, Record)> {
        let numbered = parts.into_iter().zip(0..);
        numbered
            .map(|(part, number)| (format!("part-{number}"), part))
            .collect()
    }

    fn told(joined: &Joined) -> Vec<String> {
        joined.faults.iter().map(ToString::to_string).collect()
    }

    /// A rank that alone misses a threshold of all tolerates nothing by that.
    #[test]
    fn a_load_ends_as_all_of_its_ranks_together_did() {
        use crate::{LoadAccount, Threshold, Verification};
        let load = |rank, threshold: &str, errors: u64, checked: u64| {
            let mut part = part(rank, 2);
            part.load = Some(LoadAccount::default());
            part.verification = Some(Verification {
                operations: checked,
                ..Verification::default()
            });
            let get = Operations {
                count: 100,
                errors,
                ..Operations::default()
            };
            part.operations.insert("read", get);
            part.hold_against(&[Threshold::parse(threshold).unwrap()]);
            part
        };
        for (threshold, of_each, wanted) in [
            ("count>=300", [(0, 1), (0, 1)], (Status::Ok, 0)),
            ("count>=300", [(0, 1), (7, 1)], (Status::Failed, 1)),
            ("count>=500", [(0, 1), (0, 1)], (Status::Ok, 3)),
            ("errors<10%", [(0, 1), (7, 1)], (Status::Ok, 0)),
            ("errors<1%", [(0, 1), (7, 1)], (Status::Ok, 3)),
            ("count>=300", [(0, 0), (0, 1)], (Status::Ok, 0)),
            ("count>=300", [(0, 0), (0, 0)], (Status::Incomplete, 5)),
        ] {
            let parts = of_each.iter().zip(0..);
            let parts =
                parts.map(|((errors, checked), rank)| load(rank, threshold, *errors, *checked));
            let record = join(given(parts.collect())).record.unwrap();
            let ended = (record.outcome.status, record.outcome.exit_code);
            assert_eq!(
                ended,
                wanted,
                "{threshold} {of_each:?} {:?}",
                record.thresholds()
            );
        }
        // What was read back otherwise is told of all.
        let mut parts = [load(0, "count>=1", 0, 5), load(1, "count>=1", 0, 5)];
        for (part, failures) in parts.iter_mut().zip(1..) {
            part.verification.as_mut().unwrap().failures = failures;
        }
        let outcome = join(given(parts.into())).record.unwrap().outcome;
        let told = outcome.message.as_deref().unwrap();
        assert_eq!(
            (outcome.status, outcome.exit_code, told),
            (
                Status::Failed,
                1,
                "3 objects held other bytes than were written"
            )
        );
    }

    #[test]
    fn all_ranks_are_one_record_that_knows_how_well_they_began_together() {
        let joined = join(given((0..4).rev().map(|rank| part(rank, 4)).collect()));
        assert!(joined.faults.is_empty());
        let record = joined.record.unwrap();
        assert_eq!(record.operations.count(), 400);
        assert_eq!(record.outcome, Outcome::default());
        let group = record.group.as_ref().unwrap();
        assert_eq!((group.skew_ns, group.clock_bound_ns), (Some(30), Some(503)));
        assert_eq!(group.clock_drift_ns, Some(210));
        assert_eq!(group.machines, Some(4));
        let hosts = record.by_host();
        let names: Vec<String> = hosts
            .iter()
            .map(|host| host.generator().called().into_owned())
            .collect();
        assert_eq!(names[2], "node2 (rank 2)");
    }

    #[test]
    fn ranks_that_are_missing_or_twice_there_leave_an_incomplete_record_of_the_others() {
        let mut parts: Vec<Record> = [0, 2, 3, 6].map(|rank| part(rank, 8)).into();
        parts.push(Record {
            id: "another".into(),
            ..part(3, 8)
        });
        let joined = join(given(parts));
        assert_eq!(
            told(&joined),
            [
                "rank 3 stands in part-2 and part-4: nobody knows which of them counts; neither is used",
                "ranks 1, 4, 5, 7 of 8 are missing: the record is of the others"
            ]
        );
        assert_eq!(
            joined
                .faults
                .iter()
                .map(PartFault::exit_code)
                .collect::<Vec<_>>(),
            [2, 5]
        );
        let record = joined.record.unwrap();
        assert_eq!(record.operations.count(), 300);
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Incomplete, 5)
        );
        assert_eq!(
            record.outcome.message.as_deref(),
            Some("ranks 1, 3 to 5, 7 of 8 did not take part: this is what the others did")
        );
        let lost: Vec<u32> = record
            .group
            .unwrap()
            .lost
            .iter()
            .map(|lost| lost.rank)
            .collect();
        assert_eq!(lost, [1, 3, 4, 5, 7]);
    }

    #[test]
    fn what_is_of_another_trial_is_named_and_left_out() {
        let changed = |change: fn(&mut Record)| {
            let mut other = part(1, 3);
            change(&mut other);
            let joined = join(given(vec![part(0, 3), other, part(2, 3)]));
            assert_eq!(joined.record.as_ref().unwrap().operations.count(), 200);
            assert_eq!(joined.record.as_ref().unwrap().outcome.exit_code, 5);
            assert!(joined.faults.iter().all(|fault| fault.exit_code() == 2));
            told(&joined).join("; ")
        };
        assert_eq!(
            changed(|other| {
                other.group.as_mut().unwrap().plan = "q".into();
                other.effective.insert("block-size".into(), "8k".into());
            }),
            "part-1 has another plan than the 2 parts that belong together: block-size is 8k, of the others 4k"
        );
        assert!(
            changed(|other| other.group.as_mut().unwrap().start_at = "later".into())
                .contains("another common start")
        );
        assert!(
            changed(|other| other.group.as_mut().unwrap().size = 4)
                .contains("another number of ranks")
        );
        assert!(
            changed(|other| other.generator_mut().environment.fathom.version = "9".into())
                .contains("another version of fathom")
        );
        assert!(changed(|other| other.name = "b".into()).contains("another name"));
    }

    #[test]
    fn of_two_trials_the_one_is_joined_of_which_something_can_be_used() {
        let other = |rank: u32| {
            let mut other = part(rank, 2);
            other.group.as_mut().unwrap().plan = "q".into();
            other
        };
        let twice = Record {
            id: "again".into(),
            ..part(0, 2)
        };
        let joined = join(given(vec![part(0, 2), twice, other(1)]));
        let record = joined.record.as_ref().unwrap();
        assert_eq!(record.operations.count(), 100);
        assert_eq!(record.generator().rank, Some(1));
        assert_eq!(record.outcome.status, Status::Incomplete);
        assert!(
            told(&joined)[0].contains("part-0 has another plan than part-2"),
            "{:?}",
            told(&joined)
        );
        let joined = join(given(vec![part(0, 2), other(1)]));
        assert_eq!(joined.record.as_ref().unwrap().generator().rank, Some(0));
        assert_eq!(
            told(&joined),
            [
                "part-1 has another plan than part-0; no trial has more of these parts, and the first counts; lines of another trial, given alone, are merged: target is /mnt/1, of the others /mnt/0"
            ]
        );
    }

    #[test]
    fn what_is_no_part_is_told_from_one() {
        let alone = Record::default();
        let joined = join(given(vec![alone]));
        assert_eq!(joined.record, None);
        assert!(told(&joined)[0].contains("is no part of a group"));
        let whole = join(given(vec![part(0, 2), part(1, 2)])).record.unwrap();
        assert!(told(&join(given(vec![whole])))[0].contains("joined already"));
        let joined = join(given(vec![part(7, 4)]));
        assert!(told(&joined)[0].contains("which rank"));
        assert_eq!(join(Vec::new()), Joined::default());
    }

    /// What is said of the second of three parts that was changed so, and what the whole is then.
    fn with_one_changed(change: impl Fn(&mut Record)) -> (String, Record) {
        let mut parts: Vec<Record> = (0..3).map(|rank| part(rank, 3)).collect();
        change(&mut parts[1]);
        let joined = join(given(parts));
        assert_eq!(joined.faults[0].exit_code(), 2);
        (told(&joined)[0].clone(), joined.record.unwrap())
    }

    #[test]
    fn a_part_that_contradicts_itself_makes_no_success_of_the_whole() {
        for (status, exit_code) in [
            (Status::Failed, 0),
            (Status::Incomplete, 256),
            (Status::Interrupted, -1),
            (Status::Ok, 77),
        ] {
            let (said, whole) = with_one_changed(|part| {
                (part.outcome.status, part.outcome.exit_code) = (status, exit_code);
            });
            assert!(said.contains("by its exit code"), "{said}");
            assert_eq!(whole.outcome.exit_code, 5);
            assert_eq!(whole.operations.count(), 200);
        }
        let (said, whole) = with_one_changed(|part| {
            let lost = LostRank::default();
            part.group.as_mut().unwrap().lost.push(lost);
        });
        assert!(said.contains("says of other ranks"), "{said}");
        let lost = whole.group.unwrap().lost;
        assert_eq!((lost.len(), lost[0].rank), (1, 1));
    }

    #[test]
    fn a_record_that_is_there_as_two_ranks_is_neither_s_and_the_others_are_kept() {
        let (said, whole) = with_one_changed(|part| part.id = "id 2".into());
        assert_eq!(
            said,
            "part-1 and part-2 hold one record (id 2), and each says that it is of another rank: nobody knows whose it is; none is used"
        );
        assert_eq!(whole.operations.count(), 100);
        assert_eq!(whole.outcome.status, Status::Incomplete);
    }

    #[test]
    fn a_rank_to_which_nothing_fell_is_not_lost_and_all_of_them_have_measured_nothing() {
        let idle = |rank| Record {
            operations: crate::Measurements::default(),
            ..part(rank, 2)
        };
        let joined = join(given(vec![part(0, 2), idle(1)]));
        assert_eq!(joined.faults, []);
        let record = joined.record.unwrap();
        assert_eq!(record.outcome, Outcome::default());
        assert_eq!(record.group.unwrap().lost, []);
        let unchecked = |rank| Record {
            verification: Some(crate::Verification::default()),
            notices: vec![NOTHING_CHECKED.into()],
            ..part(rank, 2)
        };
        let mut other = part(1, 2);
        other.verification = Some(crate::Verification {
            operations: 3,
            ..crate::Verification::default()
        });
        let joined = join(given(vec![unchecked(0), other])).record.unwrap();
        assert_eq!((joined.outcome, joined.notices), <_>::default());
        let joined = join(given(vec![unchecked(0), unchecked(1)]))
            .record
            .unwrap();
        assert_eq!(joined.outcome.message.as_deref(), Some(NOTHING_CHECKED));
        let joined = join(given(vec![idle(0), idle(1)]));
        let outcome = joined.record.unwrap().outcome;
        assert_eq!((outcome.status, outcome.exit_code), (Status::Incomplete, 5));
    }

    #[test]
    fn a_load_s_rank_that_never_began_keeps_the_others_in_the_record() {
        let load = |rank| Record {
            load: Some(crate::LoadAccount {
                scenario: "mixed".into(),
                ..crate::LoadAccount::default()
            }),
            ..part(rank, 2)
        };
        let late = Record {
            operations: crate::Measurements::default(),
            elapsed_ns: 0,
            outcome: Outcome {
                status: Status::Incomplete,
                exit_code: 5,
                message: Some("it was late".into()),
            },
            ..part(1, 2)
        };
        for parts in [vec![load(0), late.clone()], vec![late, load(0)]] {
            let record = join(given(parts)).record.unwrap();
            assert_eq!(record.operations.count(), 100);
            assert_eq!(record.outcome.exit_code, 5);
            assert_eq!(record.group.unwrap().lost.len(), 1);
        }
    }

    #[test]
    fn a_rank_that_came_late_is_lost_and_says_why() {
        let mut late = part(1, 2);
        late.operations = crate::Measurements::default();
        late.elapsed_ns = 0;
        late.outcome = Outcome {
            status: Status::Incomplete,
            exit_code: 5,
            message: Some("it was 2s late".into()),
        };
        let joined = join(given(vec![part(0, 2), late]));
        assert_eq!(
            told(&joined),
            ["rank 1 (part-1) is incomplete: it was 2s late"]
        );
        let record = joined.record.unwrap();
        assert_eq!(
            record.outcome.message.as_deref(),
            Some(
                "rank 1 of 2 did not take part: this is what the others did; node1 (rank 1): it was 2s late"
            )
        );
        let group = record.group.unwrap();
        assert_eq!(group.lost[0].host.as_deref(), Some("node1"));
        assert_eq!(
            group.skew_ns, None,
            "who began alone began apart from nobody"
        );
        assert_eq!(group.machines, Some(2));
    }

    #[test]
    fn a_group_of_which_nearly_all_are_missing_is_told_in_short() {
        let joined = join(given(vec![part(0, 1 << 24)]));
        assert_eq!(
            told(&joined),
            [
                "ranks 1 to 1000 and 16776215 more of 16777216 are missing: the record is of the others"
            ]
        );
        let record = joined.record.unwrap();
        assert_eq!(
            record.outcome.message.as_deref(),
            Some(
                "ranks 1 to 1000 and 16776215 more of 16777216 did not take part: this is what the others did"
            )
        );
        assert_eq!(record.group.unwrap().lost.len(), MOST_NAMED);
    }
}
