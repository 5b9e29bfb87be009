//! Which arm a record belongs to.
//!
//! A plan names its arms, a document's record is named `arm | row`, and all else is told apart by the file it came from. Files of one name
//! of an arm may be several machines, or one before and after a change: they are different arms, unless they are parts of one experiment.

use super::{StudyArm, StudyOptions};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

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

type Slot<'a> = (&'a str, &'a str, &'a str, u32);

/// The place of every record of `indices`, and the arms in the order of their first record.
pub(super) fn placed<'a>(records: &'a [Record], indices: &[usize], options: &'a StudyOptions) -> (Vec<Placed<'a>>, Vec<StudyArm>) {
    let (parts, part_of) = parts(records, indices, options);
    let mut arms: Vec<((usize, Option<&str>), StudyArm)> = Vec::new();
    let mut out = Vec::new();
    for &index in indices {
        let record = &records[index];
        let (name, row) = arm_and_row(record);
        let part = part_of[label_of(options, index)];
        let known = arms.iter().position(|(key, _)| *key == (part, name));
        let arm = known.unwrap_or_else(|| {
            let role = record.trial.as_ref().map(|trial| trial.role);
            arms.push(((part, name), StudyArm { name: shown(&parts, part, name), role, records: Vec::new() }));
            arms.len() - 1
        });
        out.push(Placed { index, record, arm, row, part });
    }
    (out, arms.into_iter().map(|(_, arm)| arm).collect())
}

/// The arm by name, if anything names it, and the row.
fn arm_and_row(record: &Record) -> (Option<&str>, &str) {
    if let Some(trial) = &record.trial {
        return (Some(&trial.arm), &trial.row);
    }
    let is_document = record.source.as_ref().is_some_and(|source| source.tool == "document");
    record.name.split_once(" | ").filter(|_| is_document).map_or((None, &record.name), |(arm, row)| (Some(arm), row))
}

fn label_of(options: &StudyOptions, index: usize) -> &str {
    options.labels.get(index).map_or("", String::as_str)
}

fn host(record: &Record) -> Option<&str> {
    let system = &record.environment.system;
    system.machine_fingerprint.as_deref().or(system.hostname.as_deref())
}

/// The parts, and which of them each label is.
fn parts<'a>(records: &'a [Record], indices: &[usize], options: &'a StudyOptions) -> (Vec<Part<'a>>, BTreeMap<&'a str, usize>) {
    let mut files: Vec<Part<'a>> = Vec::new();
    let mut file_of: BTreeMap<&str, usize> = BTreeMap::new();
    for &index in indices {
        let (record, label) = (&records[index], label_of(options, index));
        let at = *file_of.entry(label).or_insert_with(|| {
            files.push(Part { label, ..Part::default() });
            files.len() - 1
        });
        let file = &mut files[at];
        file.arms.insert(arm_and_row(record).0);
        file.hosts.extend(host(record));
        file.hostname = file.hostname.or(record.environment.system.hostname.as_deref());
        match &record.trial {
            Some(trial) => {
                file.plans.insert(&trial.plan);
                file.slots.insert((&trial.plan, &trial.arm, &trial.row, trial.block));
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
        planned && self.plans == other.plans && self.hosts == other.hosts && self.slots.is_disjoint(&other.slots)
    }

    fn shown_label(&self) -> &str {
        if self.label.is_empty() { "records" } else { self.label }
    }
}

/// The name of an arm: its own where no other part has it, else that of the part, with its machine where machines differ.
fn shown(parts: &[Part<'_>], part: usize, name: Option<&str>) -> String {
    let own = &parts[part];
    let others: Vec<&Part<'_>> = parts.iter().enumerate().filter(|(at, p)| *at != part && p.arms.contains(&name)).map(|(_, p)| p).collect();
    let arm = name.filter(|arm| !arm.is_empty());
    if let Some(arm) = arm.filter(|_| others.is_empty()) {
        return arm.to_owned();
    }
    let label = own.shown_label();
    let place = match own.hostname.filter(|host| !label.contains(host)) {
        Some(host) if others.iter().any(|other| other.hosts != own.hosts) => format!("{label} ({host})"),
        Some(_) | None => label.to_owned(),
    };
    arm.filter(|_| own.arms.len() > 1).map_or(place.clone(), |arm| format!("{place}: {arm}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Source, Trial};

    fn trial(arm: &str, row: &str, block: u32, host: &str) -> Record {
        let trial = Trial { plan: "p".into(), arm: arm.into(), row: row.into(), block, ..Trial::default() };
        let mut record = Record { trial: Some(trial), ..Record::default() };
        record.environment.system.hostname = Some(host.into());
        record
    }

    fn names(records: &[Record], labels: &[&str]) -> Vec<String> {
        let options = StudyOptions { labels: labels.iter().map(|label| (*label).to_owned()).collect(), ..StudyOptions::default() };
        let all: Vec<usize> = (0..records.len()).collect();
        let (placed, arms) = placed(records, &all, &options);
        placed.into_iter().map(|placed| arms[placed.arm].name.clone()).collect()
    }

    #[test]
    fn a_plan_names_its_arms() {
        assert_eq!(names(&[trial("a", "r", 0, "h"), trial("b", "r", 0, "h"), trial("a", "r", 1, "h")], &[]), ["a", "b", "a"]);
    }

    #[test]
    fn one_arm_in_two_files_is_two_arms_named_by_file() {
        let records = [trial("this", "r", 0, "one"), trial("this", "r", 0, "two")];
        assert_eq!(names(&records, &["laptop", "server"]), ["laptop (one)", "server (two)"]);
        let same_host = [trial("this", "r", 0, "one"), trial("this", "r", 0, "one")];
        assert_eq!(names(&same_host, &["before", "after"]), ["before", "after"]);
    }

    #[test]
    fn files_of_one_experiment_are_joined_and_two_experiments_are_not() {
        let parts = [trial("a", "r1", 0, "h"), trial("b", "r1", 0, "h"), trial("a", "r2", 0, "h"), trial("b", "r2", 0, "h")];
        assert_eq!(names(&parts, &["1", "1", "2", "2"]), ["a", "b", "a", "b"]);
        let again = [trial("a", "r", 0, "h"), trial("b", "r", 0, "h"), trial("a", "r", 0, "h"), trial("b", "r", 0, "h")];
        assert_eq!(names(&again, &["1", "1", "2", "2"]), ["1: a", "1: b", "2: a", "2: b"]);
    }

    #[test]
    fn without_a_plan_the_file_is_the_arm_and_a_document_names_its_own() {
        let run = Record { name: "run".into(), ..Record::default() };
        assert_eq!(names(&[run.clone(), run.clone()], &["x", "y"]), ["x", "y"]);
        assert_eq!(names(std::slice::from_ref(&run), &[]), ["records"]);
        let source = Some(Source { tool: "document".into(), ..Source::default() });
        let quoted = Record { name: "M1 | SEQ".into(), source, ..Record::default() };
        assert_eq!(names(std::slice::from_ref(&quoted), &[]), ["M1"]);
        let all = [quoted];
        let options = StudyOptions::default();
        assert_eq!(placed(&all, &[0], &options).0[0].row, "SEQ");
    }
}
