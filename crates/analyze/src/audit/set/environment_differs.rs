//! If several circumstances differ between arms, none of them is shown to be the cause.

use super::{Experiment, Located, Slot};
use crate::audit::rule::{Check, Rule};
use crate::circumstances::environment_facts;
use crate::compare::is_storage_compared;
use crate::{Effective, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "environment_differs",
    catalogue_number: Some(50),
    severity: Severity::Invalid,
    title: "Arms differ in more than one circumstance",
    text: "\
Machine, CPU, governor, memory, operating system, kernel, container, file system, mount
options, device, firmware, scheduler, and the engine beside them, compared between arms;
unknown differs from known. One part that differs is a warning, several are invalid in a
comparison.
A notebook against a server with 80 cores differs in CPU, disk, system and load at once.
The ratio of 29 is real, its cause is unknown: \"Windows is slow\", \"the disk is slow\" and
\"4 cores are few\" all fit.
What to do: change one thing at a time on one machine. If machines are what is compared,
say so, and conclude nothing about their parts.",
    checks: &[Check::Together(check)],
};

/// A circumstance: its part of the machine, what people call it, and its field in the environment.
const FACTS: [(&str, &str, &str); 15] = [
    ("machine", "machine", "system.hostname"),
    ("cpu", "CPU", "cpu.model"),
    ("cpu", "number of CPUs", "cpu.logical"),
    ("cpu", "governor", "cpu.governor"),
    ("memory", "memory", "memory.total_bytes"),
    ("system", "operating system", "system.os_name"),
    ("system", "kernel", "system.kernel_release"),
    ("system", "hypervisor", "system.hypervisor"),
    ("container", "container", "system.container_hints"),
    ("storage", "file system", "storage.file_system.kind"),
    ("storage", "mount options", "storage.file_system.options"),
    ("storage", "device", "storage.device.model"),
    ("storage", "firmware", "storage.device.firmware"),
    ("storage", "scheduler", "storage.device.scheduler"),
    ("storage", "medium is memory", "storage.is_memory"),
];
/// Says better than a name which machine it was, where it is known.
const FINGERPRINT: &str = "system.machine_fingerprint";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let arms = experiment.arms();
    if arms.len() < 2 {
        return Vec::new();
    }
    let facts: Vec<BTreeMap<String, BTreeSet<String>>> = arms
        .iter()
        .map(|(_, slots)| {
            environment_facts(&slots.iter().map(|(_, record)| *record).collect::<Vec<_>>())
        })
        .collect();
    let mut parts: BTreeSet<&str> = BTreeSet::new();
    let mut keys: Vec<String> = Vec::new();
    // The storage below targets or engines that a plan compares is what it compares.
    let is_storage_compared = is_storage_compared(
        &arms
            .iter()
            .map(|(_, slots)| slots.iter().map(|(_, r)| *r).collect())
            .collect::<Vec<_>>(),
    );
    for (part, name, field) in FACTS
        .into_iter()
        .filter(|(part, ..)| *part != "storage" || !is_storage_compared)
    {
        let values: Vec<BTreeSet<String>> =
            facts.iter().map(|facts| values(facts, field)).collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            parts.insert(part);
            keys.push(format!("{name} ({})", shown(values)));
        }
    }
    let engines: Vec<BTreeSet<String>> = arms.iter().map(|(_, slots)| engines(slots)).collect();
    // The engine is a setting; it counts only beside a circumstance.
    if !parts.is_empty() && engines.windows(2).any(|pair| pair[0] != pair[1]) {
        parts.insert("engine");
        keys.push(format!("engine ({})", shown(engines)));
    }
    let severity = match parts.len() {
        0 => return Vec::new(),
        1 => Severity::Warning,
        _ => experiment.severity(),
    };
    let message = format!(
        "{} arms differ in {}: the cause of a difference is unknown",
        arms.len(),
        keys.join(", ")
    );
    let advice = "change one thing at a time on one machine; where machines are what is compared, say so, and conclude nothing about their parts";
    vec![RULE.about(None, severity, message, advice)]
}

/// The values of a field, as people write them; empty where it is unknown.
fn values(facts: &BTreeMap<String, BTreeSet<String>>, field: &str) -> BTreeSet<String> {
    let better = facts
        .get(FINGERPRINT)
        .filter(|_| field == "system.hostname");
    let texts = better.or_else(|| facts.get(field)).into_iter().flatten();
    let worded = texts.map(|text| match (field, text.parse()) {
        ("memory.total_bytes", Ok(bytes)) => units::Bytes(bytes).to_string(),
        ("system.container_hints", _) => serde_json::from_str::<Vec<String>>(text)
            .unwrap_or_default()
            .join(" "),
        _ => text.clone(),
    });
    worded
        .filter(|text| !text.is_empty() || field == "system.container_hints")
        .collect()
}

fn engines(slots: &[Slot<'_>]) -> BTreeSet<String> {
    slots
        .iter()
        .filter_map(|(_, record)| Effective::of(record).text("engine"))
        .map(str::to_owned)
        .collect()
}

/// The distinct values, at most three of them; an arm without any does not know.
fn shown(values: Vec<BTreeSet<String>>) -> String {
    let unknown = values.iter().any(BTreeSet::is_empty);
    let known: BTreeSet<String> = values.into_iter().flatten().collect();
    let more = known.len().saturating_sub(3);
    let mut out: Vec<String> = known
        .into_iter()
        .take(3)
        .map(|text| if text.is_empty() { "none".into() } else { text })
        .collect();
    out.extend((more > 0).then(|| format!("{more} more")));
    out.extend(unknown.then(|| "unknown".to_owned()));
    out.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, set, sound};
    use super::super::run_on;
    use super::*;
    use record::Record;

    fn two(change: impl Fn(&mut Record)) -> Vec<Record> {
        let mut second = sound();
        change(&mut second);
        vec![placed(sound(), "a", 0, 0), placed(second, "b", 0, 1)]
    }

    #[test]
    fn several_differences_are_named_and_invalidate() {
        let found = run_on(
            check,
            &two(|record| {
                record.generator_mut().environment.cpu.model = Some("M1 Max".into());
                record.generator_mut().environment.system.os_name = Some("macOS".into());
                set(record, "engine", "sync");
            }),
        );
        assert_eq!(
            only(&found),
            "2 arms differ in CPU (M1 Max; unknown), operating system (macOS; unknown), engine (io_uring; sync): the cause of a difference is unknown"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn one_difference_may_be_what_is_compared() {
        let found = run_on(
            check,
            &two(|record| {
                record.generator_mut().environment.cpu.governor = Some("powersave".into())
            }),
        );
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn the_storage_below_an_engine_that_a_plan_compares_is_no_other_cause() {
        let other = |record: &mut Record| {
            record.generator_mut().environment.system.boot_id = Some("b".into());
            record
                .generator_mut()
                .environment
                .storage
                .get_or_insert_default()
                .is_memory = Some(true);
            set(record, "engine", "null");
        };
        let mut records = two(other);
        assert_eq!(
            run_on(check, &records).len(),
            1,
            "of the other nobody knows the boot"
        );
        records[0].generator_mut().environment.system.boot_id = Some("b".into());
        assert_eq!(run_on(check, &records), []);
    }

    #[test]
    fn settings_and_the_moment_may_differ() {
        let found = run_on(
            check,
            &two(|record| {
                set(record, "engine", "sync");
                record.generator_mut().environment.moment.uptime_seconds = Some(9);
            }),
        );
        assert_eq!(found, []);
        assert_eq!(run_on(check, &[sound()]), []);
    }
}
