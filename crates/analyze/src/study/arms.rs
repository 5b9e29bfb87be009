//! Which arm a record belongs to.
//!
//! A plan names its arms, a document's record is named `arm | row`, and all else is told apart by
//! the file it came from. Files of one name of an arm may be several machines, or one before and
//! after a change: they are different arms, unless they are parts of one experiment. Where one file
//! holds the same row of several targets, hosts or sources, each of them is an arm: other drives
//! are no repetitions.

use super::{StudyArm, StudyOptions};
use crate::identity::Identity;
use record::{HostAccount, Record};
use std::collections::{BTreeMap, BTreeSet};
use units::{counted, few};

/// So many machines tell what ran on them.
const MOST_NAMED: usize = 3;

/// What a record is, before rows are divided.
pub(super) struct Placed<'a> {
    pub(super) index: usize,
    pub(super) record: &'a Record,
    pub(super) arm: usize,
    pub(super) row: &'a str,
    /// Records that belong to one experiment share it.
    pub(super) part: usize,
}

/// Files that are parts of one experiment, or one file.
#[derive(Default)]
struct Part<'a> {
    label: &'a str,
    plans: BTreeSet<&'a str>,
    hosts: BTreeSet<&'a str>,
    hostname: Option<&'a str>,
    slots: BTreeSet<Slot<'a>>,
    /// Names of arms.
    arms: BTreeSet<Option<&'a str>>,
    /// Whether a record belongs to no plan.
    has_unplanned: bool,
}

/// What makes an arm: the part, its name where anything names it, and what it is of where the part
/// holds several.
type Key<'a> = (usize, Option<&'a str>, Option<&'a Identity<'a>>);

type Slot<'a> = (&'a str, &'a str, &'a str, u32);

/// The place of every record of `indices`, and the arms in the order of their first record.
pub(super) fn placed<'a>(
    records: &'a [Record],
    indices: &[usize],
    options: &'a StudyOptions,
) -> (Vec<Placed<'a>>, Vec<StudyArm>) {
    let (parts, part_of) = parts(records, indices, options);
    let things = things(records, indices, options, &part_of);
    let mut arms: Vec<(Key<'_>, StudyArm)> = Vec::new();
    let mut out = Vec::new();
    for &index in indices {
        let record = &records[index];
        let (name, row) = arm_and_row(record);
        let part = part_of[label_of(options, index)];
        let thing = things[&part]
            .iter()
            .find(|(identity, _)| name.is_none() && *identity == Identity::of(record));
        let key = (part, name, thing.map(|(identity, _)| identity));
        let known = arms.iter().position(|(of, _)| *of == key);
        let arm = known.unwrap_or_else(|| {
            let role = record.trial.as_ref().map(|trial| trial.role);
            let of_part = shown(&parts, part, name);
            let name = match thing {
                Some((_, word)) if parts.len() > 1 => format!("{of_part}: {word}"),
                Some((_, word)) => word.clone(),
                None => of_part,
            };
            arms.push((
                key,
                StudyArm {
                    name,
                    role,
                    records: Vec::new(),
                },
            ));
            arms.len() - 1
        });
        out.push(Placed {
            index,
            record,
            arm,
            row,
            part,
        });
    }
    (out, arms.into_iter().map(|(_, arm)| arm).collect())
}

/// Of each part the things that its unplanned records are of, each with the words that tell it from
/// the others; none where no row of the part is of several things.
fn things<'a>(
    records: &'a [Record],
    indices: &[usize],
    options: &StudyOptions,
    part_of: &BTreeMap<&str, usize>,
) -> BTreeMap<usize, Vec<(Identity<'a>, String)>> {
    let mut out: BTreeMap<usize, Vec<(Identity<'a>, String)>> =
        part_of.values().map(|part| (*part, Vec::new())).collect();
    for (part, found) in &mut out {
        let unplanned = indices
            .iter()
            .filter(|index| part_of[label_of(options, **index)] == *part)
            .map(|index| &records[*index]);
        let unplanned: Vec<&Record> = unplanned
            .filter(|record| arm_and_row(record).0.is_none())
            .collect();
        let mut of_row: BTreeMap<&str, BTreeSet<Identity<'_>>> = BTreeMap::new();
        let mut all: Vec<(Identity<'a>, &Record)> = Vec::new();
        for record in unplanned {
            let identity = Identity::of(record);
            of_row
                .entry(arm_and_row(record).1)
                .or_default()
                .insert(identity.clone());
            if !all.iter().any(|(known, _)| *known == identity) {
                all.push((identity, record));
            }
        }
        if of_row.values().any(|of_row| of_row.len() > 1) {
            let words = words(&all);
            *found = all
                .into_iter()
                .map(|(identity, _)| identity)
                .zip(words)
                .collect();
        }
    }
    out
}

/// The fewest words that tell things and a record of each apart: the target, the file, the machines, how many ranks,
/// or all of these that differ.
fn words(all: &[(Identity<'_>, &Record)]) -> Vec<String> {
    type Word = fn(&Identity<'_>, &Record) -> String;
    let target: Word = |identity, _| identity.targets.join(", ");
    let source: Word = |_, record| {
        let source = record.source.as_ref();
        let file = source.and_then(|source| source.file.clone());
        file.unwrap_or_default()
    };
    let hosts: Word = |_, record| {
        let known = record
            .generators()
            .filter(|host| host.machine_name().is_some());
        let names: BTreeSet<&str> = known.map(HostAccount::machine_called).collect();
        few(&names.into_iter().collect::<Vec<_>>(), MOST_NAMED)
    };
    let ranks: Word = |_, record| counted(u64::from(record.ranks()), "rank");
    // Machines of one name.
    let machines: Word = |identity, _| {
        let machines: BTreeSet<&str> = identity.machines.iter().copied().collect();
        machines.into_iter().collect::<Vec<_>>().join("+")
    };
    let of_all = |word: Word| -> Vec<String> {
        all.iter()
            .map(|(identity, record)| word(identity, record))
            .collect()
    };
    let words = [target, source, hosts, ranks, machines].map(of_all);
    let tells_apart = |words: &&Vec<String>| {
        words.iter().all(|word| !word.is_empty())
            && words.iter().collect::<BTreeSet<_>>().len() == words.len()
    };
    if let Some(alone) = words.iter().find(tells_apart) {
        return alone.clone();
    }
    let differing = words
        .iter()
        .filter(|words| words.iter().any(|word| *word != words[0]));
    let joined = |words: &[&Vec<String>]| -> Vec<String> {
        let of_thing = |at: usize| {
            let words = words.iter().map(|words| words[at].as_str());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            match words.as_slice() {
                [] => "records".to_owned(),
                words => words.join(", "),
            }
        };
        (0..all.len()).map(of_thing).collect()
    };
    let mut differing: Vec<&Vec<String>> = differing.collect();
    differing.dedup();
    let prefixes = (1..=differing.len()).map(|count| joined(&differing[..count]));
    let told_apart = |words: &Vec<String>| words.iter().collect::<BTreeSet<_>>().len();
    // Of as many the shortest.
    let best = prefixes.reduce(|best, more| match told_apart(&more) > told_apart(&best) {
        true => more,
        false => best,
    });
    best.unwrap_or_else(|| joined(&[]))
}

/// The arm by name, if anything names it, and the row.
fn arm_and_row(record: &Record) -> (Option<&str>, &str) {
    if let Some(trial) = &record.trial {
        return (Some(&trial.arm), &trial.row);
    }
    let is_document = record
        .source
        .as_ref()
        .is_some_and(|source| source.tool == "document");
    record
        .name
        .split_once(" | ")
        .filter(|_| is_document)
        .map_or((None, &record.name), |(arm, row)| (Some(arm), row))
}

fn label_of(options: &StudyOptions, index: usize) -> &str {
    options.labels.get(index).map_or("", String::as_str)
}

/// The parts, and which of them each label is.
fn parts<'a>(
    records: &'a [Record],
    indices: &[usize],
    options: &'a StudyOptions,
) -> (Vec<Part<'a>>, BTreeMap<&'a str, usize>) {
    let mut files: Vec<Part<'a>> = Vec::new();
    let mut file_of: BTreeMap<&str, usize> = BTreeMap::new();
    for &index in indices {
        let (record, label) = (&records[index], label_of(options, index));
        let at = *file_of.entry(label).or_insert_with(|| {
            files.push(Part {
                label,
                ..Part::default()
            });
            files.len() - 1
        });
        let file = &mut files[at];
        file.arms.insert(arm_and_row(record).0);
        file.hosts.extend(record.machines());
        let name = record.generator().environment.system.hostname.as_deref();
        file.hostname = file.hostname.or(name);
        match &record.trial {
            Some(trial) => {
                file.plans.insert(&trial.plan);
                file.slots
                    .insert((&trial.plan, &trial.arm, &trial.row, trial.block));
            }
            None => file.has_unplanned = true,
        }
    }
    let mut out: Vec<Part<'a>> = Vec::new();
    let mut part_of = BTreeMap::new();
    for file in files {
        let label = file.label;
        let found = out.iter().position(|part| part.continues(&file));
        let part = found.unwrap_or(out.len());
        part_of.insert(label, part);
        match found {
            Some(part) => {
                out[part].slots.extend(file.slots);
                out[part].arms.extend(file.arms);
            }
            None => out.push(file),
        }
    }
    (out, part_of)
}

impl Part<'_> {
    /// Whether the other holds further slots of the same plan, measured on the same machine.
    fn continues(&self, other: &Self) -> bool {
        let planned = !self.has_unplanned && !other.has_unplanned;
        planned
            && self.plans == other.plans
            && self.hosts == other.hosts
            && self.slots.is_disjoint(&other.slots)
    }

    fn shown_label(&self) -> &str {
        if self.label.is_empty() {
            "records"
        } else {
            self.label
        }
    }
}

/// The name of an arm: its own where no other part has it, else that of the part, with its machine
/// where machines differ.
fn shown(parts: &[Part<'_>], part: usize, name: Option<&str>) -> String {
    let own = &parts[part];
    let others: Vec<&Part<'_>> = parts
        .iter()
        .enumerate()
        .filter(|(at, p)| *at != part && p.arms.contains(&name))
        .map(|(_, p)| p)
        .collect();
    let arm = name.filter(|arm| !arm.is_empty());
    if let Some(arm) = arm.filter(|_| others.is_empty()) {
        return arm.to_owned();
    }
    let label = own.shown_label();
    let place = match own.hostname.filter(|host| !label.contains(host)) {
        Some(host) if others.iter().any(|other| other.hosts != own.hosts) => {
            format!("{label} ({host})")
        }
        Some(_) | None => label.to_owned(),
    };
    arm.filter(|_| own.arms.len() > 1)
        .map_or(place.clone(), |arm| format!("{place}: {arm}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Source, Trial};

    fn trial(arm: &str, row: &str, block: u32, host: &str) -> Record {
        let trial = Trial {
            plan: "p".into(),
            arm: arm.into(),
            row: row.into(),
            block,
            ..Trial::default()
        };
        let mut record = Record {
            trial: Some(trial),
            ..Record::default()
        };
        record.generator_mut().environment.system.hostname = Some(host.into());
        record
    }

    fn names(records: &[Record], labels: &[&str]) -> Vec<String> {
        let options = StudyOptions {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            ..StudyOptions::default()
        };
        let all: Vec<usize> = (0..records.len()).collect();
        let (placed, arms) = placed(records, &all, &options);
        placed
            .into_iter()
            .map(|placed| arms[placed.arm].name.clone())
            .collect()
    }

    #[test]
    fn a_plan_names_its_arms() {
        assert_eq!(
            names(
                &[
                    trial("a", "r", 0, "h"),
                    trial("b", "r", 0, "h"),
                    trial("a", "r", 1, "h")
                ],
                &[]
            ),
            ["a", "b", "a"]
        );
    }

    #[test]
    fn one_arm_in_two_files_is_two_arms_named_by_file() {
        let records = [trial("this", "r", 0, "one"), trial("this", "r", 0, "two")];
        assert_eq!(
            names(&records, &["laptop", "server"]),
            ["laptop (one)", "server (two)"]
        );
        let same_host = [trial("this", "r", 0, "one"), trial("this", "r", 0, "one")];
        assert_eq!(names(&same_host, &["before", "after"]), ["before", "after"]);
    }

    #[test]
    fn files_of_one_experiment_are_joined_and_two_experiments_are_not() {
        let parts = [
            trial("a", "r1", 0, "h"),
            trial("b", "r1", 0, "h"),
            trial("a", "r2", 0, "h"),
            trial("b", "r2", 0, "h"),
        ];
        assert_eq!(names(&parts, &["1", "1", "2", "2"]), ["a", "b", "a", "b"]);
        let again = [
            trial("a", "r", 0, "h"),
            trial("b", "r", 0, "h"),
            trial("a", "r", 0, "h"),
            trial("b", "r", 0, "h"),
        ];
        assert_eq!(
            names(&again, &["1", "1", "2", "2"]),
            ["1: a", "1: b", "2: a", "2: b"]
        );
    }

    #[test]
    fn one_row_of_several_targets_or_sources_is_an_arm_of_each() {
        let of = |row: &str, file: &str, target: &str| Record {
            name: row.into(),
            source: Some(Source {
                tool: "fio".into(),
                file: Some(file.into()),
                ..Source::default()
            }),
            targets: vec![record::TargetFact {
                path: target.into(),
                ..record::TargetFact::default()
            }],
            ..Record::default()
        };
        let drives = [
            of("rw", "a.json", "/dev/sda"),
            of("rw", "b.json", "/dev/sdb"),
            of("rw", "b.json", "/dev/sdb"),
        ];
        assert_eq!(names(&drives, &[]), ["/dev/sda", "/dev/sdb", "/dev/sdb"]);
        assert_eq!(
            names(&[of("rw", "a.json", "x"), of("rw", "b.json", "x")], &[]),
            ["a.json", "b.json"]
        );
        let both = [
            of("rw", "a.json", "x"),
            of("rw", "b.json", "x"),
            of("rw", "b.json", "y"),
        ];
        assert_eq!(names(&both, &[]), ["x, a.json", "x, b.json", "y, b.json"]);
        assert_eq!(
            names(
                &[of("read", "a.json", "x"), of("write", "a.json", "y")],
                &[]
            ),
            ["records", "records"],
            "two rows are no two arms"
        );
        let own = |target: &str| Record {
            source: None,
            ..of("run", "", target)
        };
        assert_eq!(
            names(
                &[own("/mnt/a"), own("/mnt/b"), own("/mnt/a")],
                &["r", "r", "r"]
            ),
            ["/mnt/a", "/mnt/b", "/mnt/a"]
        );
    }

    #[test]
    fn without_a_plan_the_file_is_the_arm_and_a_document_names_its_own() {
        let run = Record {
            name: "run".into(),
            ..Record::default()
        };
        assert_eq!(names(&[run.clone(), run.clone()], &["x", "y"]), ["x", "y"]);
        assert_eq!(names(std::slice::from_ref(&run), &[]), ["records"]);
        let source = Some(Source {
            tool: "document".into(),
            ..Source::default()
        });
        let quoted = Record {
            name: "M1 | SEQ".into(),
            source,
            ..Record::default()
        };
        assert_eq!(names(std::slice::from_ref(&quoted), &[]), ["M1"]);
        let all = [quoted];
        let options = StudyOptions::default();
        assert_eq!(placed(&all, &[0], &options).0[0].row, "SEQ");
    }

    #[test]
    fn other_numbers_of_ranks_and_machines_of_one_name_are_arms_told_apart() {
        let of_ranks = |ranks: u32, machine: &str| {
            let host = |rank| {
                let mut host = HostAccount {
                    rank: Some(rank),
                    ..HostAccount::default()
                };
                let system = &mut host.environment.system;
                system.machine_fingerprint = Some(machine.into());
                system.hostname = Some("vm".into());
                host
            };
            Record {
                group: Some(record::GroupAccount {
                    size: ranks,
                    ..record::GroupAccount::default()
                }),
                hosts: (0..ranks).map(host).collect(),
                name: "run".into(),
                ..Record::default()
            }
        };
        let ranks = [of_ranks(4, "47b9"), of_ranks(16, "47b9")];
        assert_eq!(names(&ranks, &["r", "r"]), ["4 ranks", "16 ranks"]);
        let clones = [of_ranks(4, "47b9"), of_ranks(4, "5c00")];
        assert_eq!(names(&clones, &["r", "r"]), ["47b9", "5c00"]);
    }
}
