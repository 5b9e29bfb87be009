//! A figure from elsewhere is worth what is known of where it was measured.

use super::{Experiment, Located, grouped, names};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "environment_unrecorded",
    catalogue_number: Some(51),
    severity: Severity::Warning,
    title: "It is not known where a figure was measured",
    text: "\
For records from elsewhere: CPU, number of CPUs, memory, operating system, file system,
disk, version of the tool, date. What is missing is named once for all records that lack
the same.
\"Disk: unknown (likely SSD)\" makes a figure an anecdote. The same command gives 300
operations a second on a disk, 100,000 on flash and 1,000,000 in a page cache; without
the facts nobody can repeat it, and nobody can tell an improvement from another machine.
What to do: ask for the facts, or repeat the run with a tool that records them.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let foreign: Vec<_> = experiment
        .slots
        .iter()
        .filter(|(_, record)| record.source.is_some())
        .copied()
        .collect();
    let groups = grouped(&foreign, missing)
        .into_iter()
        .filter(|(missing, _)| !missing.is_empty());
    groups
        .map(|(missing, slots)| {
            let message = format!("unknown: {} ({})", missing.join(", "), names(&slots));
            let advice = "ask for it, or repeat the run with a tool that records it: without these facts nobody can reproduce the figure";
            let record = if let [(index, _)] = slots[..] { Some(index) } else { None };
            RULE.about(record, Severity::Warning, message, advice)
        })
        .collect()
}

fn missing(record: &Record) -> Vec<&'static str> {
    let environment = &record.generator().environment;
    let storage = environment.storage.as_ref();
    let device = storage
        .and_then(|s| s.device.as_ref())
        .and_then(|device| device.model.as_ref().or(device.name.as_ref()));
    let is_memory = storage.and_then(|s| s.is_memory) == Some(true);
    let system = &environment.system;
    let facts = [
        ("CPU", environment.cpu.model.is_none()),
        ("number of CPUs", environment.cpu.logical.is_none()),
        ("memory", environment.memory.total_bytes.is_none()),
        (
            "operating system",
            system.os_name.is_none() && system.kernel_release.is_none(),
        ),
        (
            "file system",
            storage.is_none_or(|s| s.file_system.is_none() && s.device.is_none()),
        ),
        ("disk", device.is_none() && !is_memory),
        (
            "version of the tool",
            record
                .source
                .as_ref()
                .is_none_or(|source| source.version.is_none()),
        ),
        ("date", record.started_at.is_empty()),
    ];
    let local = Effective::of(record).uses_local_storage();
    facts
        .into_iter()
        .filter(|(key, missing)| *missing && (local || !matches!(*key, "disk" | "file system")))
        .map(|(key, _)| key)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    #[test]
    fn what_an_imported_record_lacks_is_named_once() {
        let mut one = Record {
            name: "a".into(),
            ..quoted("read", Summary::default())
        };
        one.generator_mut().environment.cpu.model = Some("i7".into());
        one.started_at = "2024-11-30T00:00:00Z".into();
        let two = Record {
            name: "b".into(),
            ..one.clone()
        };
        assert_eq!(
            only(&run_on(check, &[one, two])),
            "unknown: number of CPUs, memory, operating system, file system, disk, version of the tool (a, b)"
        );
    }

    #[test]
    fn our_own_records_say_what_the_machine_says() {
        assert_eq!(run_on(check, &[sound(), Record::default()]), []);
    }
}
