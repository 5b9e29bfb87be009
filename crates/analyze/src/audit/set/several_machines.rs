//! An experiment that went on somewhere else, or after a restart.

use super::{Experiment, Located, Slot};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "several_machines",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The slots of one experiment come from several machines or boots",
    text: "\
The machine (environment.system.machine_fingerprint, else its host name) and the boot of
the slots of one plan. Blocks that are each whole on one of 2 machines are a warning: a
block that was begun on one and ended on another is invalid.
A block takes out what its slots have in common. The ratio of 8 blocks on one machine and
8 on another is that of a mixture: one may run 30 % faster with the change and the other
10 % slower. After a restart the page cache, the clock speed and what runs beside the
experiment are others, which whole blocks bear.
What to do: measure an experiment on one machine in one boot, or one experiment a machine,
and compare what each of them says.",
    checks: &[Check::Together(check)],
};

/// Machine and boot, as far as they are known.
type Place<'a> = (Vec<&'a str>, Vec<&'a str>);

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let slots = experiment.planned();
    let machines = different(&slots, Record::machines);
    let boots = different(&slots, boots);
    let what = match (machines.len(), boots.len()) {
        (0 | 1, 0 | 1) => return Vec::new(),
        (0 | 1, boots) => format!("{boots} boots of a machine"),
        (machines, _) => format!("{machines} machines"),
    };
    let torn = torn(&slots);
    let (severity, message) = if torn == 0 {
        let message = format!("the blocks come from {what}: a verdict is about their mixture");
        (Severity::Warning, message)
    } else {
        let message = format!(
            "the slots come from {what}, and {} begun on one and ended on another",
            if torn == 1 {
                "a block was".to_owned()
            } else {
                format!("{torn} blocks were")
            }
        );
        (Severity::Invalid, message)
    };
    let advice = "measure an experiment on one machine in one boot, or one experiment a machine, and compare what each of them says";
    vec![RULE.about(None, severity, message, advice)]
}

/// What is known of the slots: nothing is said of those that do not tell. A row that always was on
/// some of the machines that another had all of is the same group's, of which not all had to do it.
fn different<'a>(slots: &[Slot<'a>], of: fn(&'a Record) -> Vec<&'a str>) -> BTreeSet<Vec<&'a str>> {
    let mut by_row: BTreeMap<&str, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for (_, record) in slots {
        let row = record.trial.as_ref().map_or("", |trial| &trial.row);
        let names = Some(of(record)).filter(|names| !names.is_empty());
        by_row.entry(row).or_default().extend(names);
    }
    let all: BTreeSet<Vec<&str>> = by_row.values().flatten().cloned().collect();
    let some_of = |names: &[&str], others: &[&str]| {
        names.len() < others.len() && names.iter().all(|name| others.contains(name))
    };
    let is_part = |names: &[&str]| all.iter().any(|others| some_of(names, others));
    let rows = by_row.into_values();
    rows.filter(|places| places.len() > 1 || !places.iter().all(|names| is_part(names)))
        .flatten()
        .collect()
}

/// Blocks of which not all slots come from one boot of one machine.
fn torn(slots: &[Slot<'_>]) -> usize {
    let mut places: BTreeMap<(&str, u32), BTreeSet<Place<'_>>> = BTreeMap::new();
    for (_, record) in slots {
        if let Some(trial) = &record.trial {
            let place = (record.machines(), boots(record));
            let block = (trial.row.as_str(), trial.block);
            places.entry(block).or_default().insert(place);
        }
    }
    places.values().filter(|places| places.len() > 1).count()
}

/// The boots of the machines, as far as they are known.
fn boots(record: &Record) -> Vec<&str> {
    let systems = record.environments().map(|environment| &environment.system);
    systems
        .filter_map(|system| system.boot_id.as_deref())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;

    /// Two arms in four blocks, with the machine and the boot of each slot.
    fn experiment(place: impl Fn(u32) -> (&'static str, &'static str)) -> Vec<Record> {
        (0..8)
            .map(|slot| {
                let mut record = sound();
                let (machine, boot) = place(slot);
                record
                    .generator_mut()
                    .environment
                    .system
                    .machine_fingerprint = Some(machine.into());
                record.generator_mut().environment.system.boot_id = Some(boot.into());
                let arm = ["base", "candidate"][(slot % 2) as usize];
                placed(record, arm, slot / 2, slot)
            })
            .collect()
    }

    #[test]
    fn one_machine_in_one_boot_and_records_that_do_not_tell_are_silent() {
        assert_eq!(run_on(check, &experiment(|_| ("a", "1"))), []);
        let silent: Vec<Record> = (0..4)
            .map(|slot| placed(Record::default(), "base", slot, slot))
            .collect();
        assert_eq!(run_on(check, &silent), []);
    }

    #[test]
    fn whole_blocks_on_two_machines_or_in_two_boots_are_a_warning() {
        let moved = run_on(
            check,
            &experiment(|slot| if slot < 4 { ("a", "1") } else { ("b", "2") }),
        );
        assert_eq!(
            only(&moved),
            "the blocks come from 2 machines: a verdict is about their mixture"
        );
        assert_eq!(moved[0].severity, Severity::Warning);
        let restarted = run_on(
            check,
            &experiment(|slot| ("a", if slot < 4 { "1" } else { "2" })),
        );
        assert!(only(&restarted).starts_with("the blocks come from 2 boots of a machine"));
    }

    #[test]
    fn a_row_that_one_of_the_group_does_is_the_groups() {
        let on = |machines: &[&str], row: &str, block: u32| {
            let mut record = placed(sound(), "base", block, block);
            record.trial.as_mut().unwrap().row = row.into();
            let host = record.hosts[0].clone();
            record.hosts.clear();
            for machine in machines {
                let mut host = host.clone();
                host.environment.system.machine_fingerprint = Some((*machine).into());
                record.hosts.push(host);
            }
            record
        };
        let phases = [on(&["a", "b"], "write", 0), on(&["a"], "find", 0)];
        assert_eq!(run_on(check, &phases), []);
        let moved = [on(&["a", "b"], "write", 0), on(&["c"], "find", 0)];
        assert!(only(&run_on(check, &moved)).starts_with("the blocks come from 2 machines"));
        let one_left = [on(&["a", "b"], "write", 0), on(&["a"], "write", 1)];
        assert!(only(&run_on(check, &one_left)).starts_with("the blocks come from 2 machines"));
    }

    #[test]
    fn a_block_that_ended_elsewhere_is_invalid() {
        let found = run_on(
            check,
            &experiment(|slot| if slot < 3 { ("a", "1") } else { ("b", "2") }),
        );
        assert_eq!(
            only(&found),
            "the slots come from 2 machines, and a block was begun on one and ended on another"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }
}
