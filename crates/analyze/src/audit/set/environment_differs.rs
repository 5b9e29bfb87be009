//! If several circumstances differ between arms, none of them is shown to be the cause.

use super::{Experiment, Located, about};
use crate::{Effective, Severity};
use record::Record;
use std::collections::BTreeSet;

/// A circumstance: its part of the machine, its name, and how to read it.
struct Fact {
    part: &'static str,
    key: &'static str,
    read: fn(&Record) -> Option<String>,
}

const FACTS: [Fact; 15] = [
    Fact {
        part: "machine",
        key: "machine",
        read: |r| r.environment.system.machine_fingerprint.clone().or(r.environment.system.hostname.clone()),
    },
    Fact { part: "cpu", key: "CPU", read: |r| r.environment.cpu.model.clone() },
    Fact { part: "cpu", key: "number of CPUs", read: |r| r.environment.cpu.logical.map(|n| n.to_string()) },
    Fact { part: "cpu", key: "governor", read: |r| r.environment.cpu.governor.clone() },
    Fact { part: "memory", key: "memory", read: |r| r.environment.memory.total_bytes.map(|n| units::Bytes(n).to_string()) },
    Fact { part: "system", key: "operating system", read: |r| r.environment.system.os_name.clone() },
    Fact { part: "system", key: "kernel", read: |r| r.environment.system.kernel_release.clone() },
    Fact { part: "system", key: "hypervisor", read: |r| r.environment.system.hypervisor.map(|on| on.to_string()) },
    Fact { part: "container", key: "container", read: |r| Some(r.environment.system.container_hints.join(" ")) },
    Fact { part: "storage", key: "file system", read: |r| named(&r.environment.storage.as_ref()?.file_system.as_ref()?.kind) },
    Fact { part: "storage", key: "mount options", read: |r| named(&r.environment.storage.as_ref()?.file_system.as_ref()?.options) },
    Fact { part: "storage", key: "device", read: |r| r.environment.storage.as_ref()?.device.as_ref()?.model.clone() },
    Fact { part: "storage", key: "firmware", read: |r| r.environment.storage.as_ref()?.device.as_ref()?.firmware.clone() },
    Fact { part: "storage", key: "scheduler", read: |r| r.environment.storage.as_ref()?.device.as_ref()?.scheduler.clone() },
    Fact { part: "storage", key: "medium is memory", read: |r| r.environment.storage.as_ref()?.is_memory.map(|on| on.to_string()) },
];
const ENGINE: Fact = Fact { part: "engine", key: "engine", read: |r| Effective::of(r).text("engine").map(str::to_owned) };

fn named(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let arms = experiment.arms();
    if arms.len() < 2 {
        return Vec::new();
    }
    let mut parts: BTreeSet<&str> = BTreeSet::new();
    let mut keys: Vec<String> = Vec::new();
    for fact in FACTS.iter().chain([&ENGINE]) {
        let values: Vec<BTreeSet<Option<String>>> =
            arms.iter().map(|(_, slots)| slots.iter().map(|(_, record)| (fact.read)(record)).collect()).collect();
        // The engine is a setting; it counts only beside a circumstance.
        if values.windows(2).any(|pair| pair[0] != pair[1]) && (fact.part != ENGINE.part || !parts.is_empty()) {
            parts.insert(fact.part);
            keys.push(format!("{} ({})", fact.key, shown(values)));
        }
    }
    let severity = match parts.len() {
        0 => return Vec::new(),
        1 => Severity::Warning,
        _ => experiment.severity(),
    };
    let message = format!("{} arms differ in {}: the cause of a difference is unknown", arms.len(), keys.join(", "));
    let advice =
        "change one thing at a time on one machine; where machines are what is compared, say so, and conclude nothing about their parts";
    vec![about(None, "environment_differs", severity, message, advice)]
}

fn shown(values: Vec<BTreeSet<Option<String>>>) -> String {
    let distinct: BTreeSet<Option<String>> = values.into_iter().flatten().collect();
    let (known, unknown): (Vec<_>, Vec<_>) = distinct.into_iter().partition(Option::is_some);
    let more = known.len().saturating_sub(3);
    let mut out: Vec<String> = known.into_iter().flatten().take(3).map(|text| if text.is_empty() { "none".into() } else { text }).collect();
    out.extend((more > 0).then(|| format!("{more} more")));
    out.extend((!unknown.is_empty()).then(|| "unknown".to_owned()));
    out.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, set, sound};
    use super::super::run_on;
    use super::*;

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
                record.environment.cpu.model = Some("M1 Max".into());
                record.environment.system.os_name = Some("macOS".into());
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
        let found = run_on(check, &two(|record| record.environment.cpu.governor = Some("powersave".into())));
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn settings_and_the_moment_may_differ() {
        let found = run_on(
            check,
            &two(|record| {
                set(record, "engine", "sync");
                record.environment.moment.uptime_seconds = Some(9);
            }),
        );
        assert_eq!(found, []);
        assert_eq!(run_on(check, &[sound()]), []);
    }
}
