//! Circumstances and options, arm by arm.

use super::Fact;
use crate::{environment_differences, workload_differences};
use record::{Environment, Limit, Moment, Record, StorageLayer};
use std::collections::{BTreeMap, BTreeSet};
use units::Bytes;

/// A circumstance: what it is called, its place in a stored environment, and how to read it.
struct Circumstance {
    name: &'static str,
    path: &'static str,
    read: fn(&Environment) -> Option<String>,
}

const fn circumstance(
    name: &'static str,
    path: &'static str,
    read: fn(&Environment) -> Option<String>,
) -> Circumstance {
    Circumstance { name, path, read }
}

/// What readers ask for first; what else differs is shown by its place in the record.
const CIRCUMSTANCES: [Circumstance; 26] = [
    circumstance("host", "system.hostname", |e| {
        text(e.system.hostname.as_deref())
    }),
    circumstance("machine", "system.machine_fingerprint", |e| {
        text(e.system.machine_fingerprint.as_deref())
    }),
    circumstance("product", "system.product", |e| {
        text(e.system.product.as_deref())
    }),
    circumstance("CPU", "cpu.model", |e| text(e.cpu.model.as_deref())),
    circumstance("CPUs", "cpu.logical", |e| {
        e.cpu.logical.map(|n| n.to_string())
    }),
    circumstance("governor", "cpu.governor", |e| {
        text(e.cpu.governor.as_deref())
    }),
    circumstance("turbo", "cpu.turbo", |e| e.cpu.turbo.map(on_off)),
    circumstance("memory", "memory.total_bytes", |e| {
        e.memory.total_bytes.map(|n| Bytes(n).to_string())
    }),
    circumstance("operating system", "system.os_name", |e| {
        text(e.system.os_name.as_deref())
    }),
    circumstance("kernel", "system.kernel_release", |e| {
        text(e.system.kernel_release.as_deref())
    }),
    circumstance("architecture", "system.architecture", |e| {
        text(e.system.architecture.as_deref())
    }),
    circumstance("hypervisor", "system.hypervisor", |e| {
        text(e.system.hypervisor_name.as_deref()).or_else(|| e.system.hypervisor.map(yes_no))
    }),
    circumstance("container", "system.container_hints", |e| {
        Some(e.system.container_hints.join(", "))
            .filter(|hints| !hints.is_empty())
            .or_else(|| e.system.os_name.as_ref().map(|_| "none seen".into()))
    }),
    circumstance("CPU quota", "cgroup.cpu_quota_us", |e| {
        let group = e.cgroup.as_ref()?;
        Some(limit(group.cpu_quota_us?, |us| {
            group
                .cpu_period_us
                .map_or(format!("{us} us"), |period| format!("{us} of {period} us"))
        }))
    }),
    circumstance("memory limit", "cgroup.memory_max_bytes", |e| {
        Some(limit(e.cgroup.as_ref()?.memory_max_bytes?, |bytes| {
            Bytes(bytes).to_string()
        }))
    }),
    circumstance("file system", "storage.file_system.kind", |e| {
        text(Some(&storage(e)?.file_system.as_ref()?.kind))
    }),
    circumstance("mount options", "storage.file_system.options", |e| {
        text(Some(&storage(e)?.file_system.as_ref()?.options))
    }),
    circumstance("device", "storage.device.model", |e| {
        let device = storage(e)?.device.as_ref()?;
        text(device.model.as_deref()).or_else(|| text(device.name.as_deref()))
    }),
    circumstance("device size", "storage.device.size_bytes", |e| {
        storage(e)?
            .device
            .as_ref()?
            .size_bytes
            .map(|n| Bytes(n).to_string())
    }),
    circumstance("firmware", "storage.device.firmware", |e| {
        text(storage(e)?.device.as_ref()?.firmware.as_deref())
    }),
    circumstance("device is rotational", "storage.device.rotational", |e| {
        storage(e)?.device.as_ref()?.rotational.map(yes_no)
    }),
    circumstance("scheduler", "storage.device.scheduler", |e| {
        text(storage(e)?.device.as_ref()?.scheduler.as_deref())
    }),
    circumstance("write cache", "storage.device.write_cache", |e| {
        text(storage(e)?.device.as_ref()?.write_cache.as_deref())
    }),
    circumstance("medium is memory", "storage.is_memory", |e| {
        storage(e)?.is_memory.map(yes_no)
    }),
    circumstance("fathom", "fathom.version", |e| {
        text(Some(&e.fathom.version))
    }),
    circumstance("fathom commit", "fathom.commit", |e| {
        text(e.fathom.commit.as_deref())
    }),
];

/// How the kernel numbers devices, which says nothing about them.
const NUMBERING: [&str; 2] = [".major", ".minor"];

fn storage(environment: &Environment) -> Option<&StorageLayer> {
    environment.storage.as_ref()
}

fn text(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn yes_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn limit(limit: Limit, shown: impl FnOnce(u64) -> String) -> String {
    match limit {
        Limit::AtMost(most) => shown(most),
        Limit::Unlimited => "none".to_owned(),
    }
}

/// The circumstances of the arms, each given by its records. What no arm knows is left out.
pub(super) fn environments(arms: &[Vec<&Record>]) -> Vec<Fact> {
    let arms: Vec<Vec<&Record>> = arms
        .iter()
        .map(|records| of_distinct_environment(records))
        .collect();
    let mut out: Vec<Fact> = CIRCUMSTANCES
        .iter()
        .map(|c| {
            fact(
                c.name,
                arms.iter().map(|records| of_environments(records, c.read)),
            )
        })
        .collect();
    out.push(fact(
        "measured with",
        arms.iter().map(|records| set(records, measured_with)),
    ));
    out.retain(|fact| fact.values.iter().any(Option::is_some));
    out.extend(others(&arms));
    out
}

/// One record for each environment, the moment aside.
fn of_distinct_environment<'a>(records: &[&'a Record]) -> Vec<&'a Record> {
    let still = |environment: &Environment| Environment {
        moment: Moment::default(),
        ..environment.clone()
    };
    let mut out: Vec<(&'a Record, Vec<Environment>, Option<String>)> = Vec::new();
    for record in records {
        let environment: Vec<Environment> = record.environments().map(still).collect();
        let tool = measured_with(record);
        if !out
            .iter()
            .any(|(_, known, known_tool)| *known == environment && *known_tool == tool)
        {
            out.push((record, environment, tool));
        }
    }
    out.into_iter().map(|(record, ..)| record).collect()
}

fn measured_with(record: &Record) -> Option<String> {
    let Some(source) = &record.source else {
        return Some("fathom".to_owned());
    };
    Some(
        [Some(source.tool.clone()), source.version.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// What else differs between the first arm and any other, by its place in the record.
fn others(arms: &[Vec<&Record>]) -> Vec<Fact> {
    let Some((first, rest)) = arms.split_first() else {
        return Vec::new();
    };
    let known = |text: String| Some(text).filter(|text| text != "unknown" && !text.is_empty());
    let differing: Vec<BTreeMap<String, [Option<String>; 2]>> = rest
        .iter()
        .map(|records| {
            environment_differences(first, records)
                .into_iter()
                .map(|d| (d.key, [known(d.base), known(d.candidate)]))
                .collect()
        })
        .collect();
    let named: BTreeSet<&str> = CIRCUMSTANCES
        .iter()
        .map(|c| c.path)
        .chain(["system.hypervisor_name"])
        .collect();
    let keys: BTreeSet<&String> = differing
        .iter()
        .flat_map(BTreeMap::keys)
        .filter(|key| !named.contains(key.as_str()))
        .collect();
    let of = |key: &String| {
        let base = differing
            .iter()
            .find_map(|of_arm| of_arm.get(key))
            .and_then(|[base, _]| base.clone());
        // An arm that does not differ from the first has its value.
        let values = differing.iter().map(|of_arm| {
            of_arm
                .get(key)
                .map_or_else(|| base.clone(), |[_, value]| value.clone())
        });
        Fact {
            key: key.clone(),
            values: std::iter::once(base.clone()).chain(values).collect(),
            differs: true,
        }
    };
    let is_telling = |fact: &Fact| {
        fact.values.iter().any(Option::is_some)
            && !NUMBERING.iter().any(|end| fact.key.ends_with(end))
    };
    keys.into_iter().map(of).filter(is_telling).collect()
}

/// The options of each arm in one row.
pub(super) fn workload(arms: &[Vec<&Record>]) -> Vec<Fact> {
    let keys: BTreeSet<&str> = arms
        .iter()
        .flatten()
        .flat_map(|record| record.effective.keys().map(String::as_str))
        .collect();
    let of = |key: &str| {
        fact(
            key,
            arms.iter()
                .map(|records| set(records, |record| record.effective.get(key).cloned())),
        )
    };
    let mut out: Vec<Fact> = keys.into_iter().map(of).collect();
    // An arm that is not in the row does not differ.
    let present: Vec<usize> = (0..arms.len())
        .filter(|arm| !arms[*arm].is_empty())
        .collect();
    for fact in &mut out {
        let differs = present
            .windows(2)
            .any(|pair| fact.values[pair[0]] != fact.values[pair[1]]);
        fact.differs = differs && is_work(&fact.key);
    }
    out
}

/// Whether an option changes what is measured: as a comparison sees it.
pub(super) fn is_work(key: &str) -> bool {
    let with = |value: &str| Record {
        effective: [(key.to_owned(), value.to_owned())].into(),
        ..Record::default()
    };
    !workload_differences(&[&with("a")], &[&with("b")]).is_empty()
}

fn fact(key: &str, arms: impl Iterator<Item = BTreeSet<Option<String>>>) -> Fact {
    let sets: Vec<BTreeSet<Option<String>>> = arms.collect();
    let differs =
        sets.windows(2).any(|pair| pair[0] != pair[1]) || sets.iter().any(|set| set.len() > 1);
    Fact {
        key: key.to_owned(),
        values: sets.into_iter().map(joined).collect(),
        differs,
    }
}

fn set(records: &[&Record], read: impl Fn(&Record) -> Option<String>) -> BTreeSet<Option<String>> {
    records.iter().map(|record| read(record)).collect()
}

fn of_environments(
    records: &[&Record],
    read: impl Fn(&Environment) -> Option<String>,
) -> BTreeSet<Option<String>> {
    let all = records.iter().flat_map(|record| record.environments());
    all.map(read).collect()
}

/// Up to three values, and how many more; `None` if none is known.
fn joined(values: BTreeSet<Option<String>>) -> Option<String> {
    const MOST: usize = 3;
    let unknown = values.contains(&None);
    let known: Vec<String> = values.into_iter().flatten().collect();
    let more = known.len().saturating_sub(MOST);
    let mut shown: Vec<String> = known.into_iter().take(MOST).collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    shown.extend((unknown && !shown.is_empty()).then(|| "unknown".to_owned()));
    (!shown.is_empty()).then(|| shown.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::example::{set, sound};

    fn found<'f>(facts: &'f [Fact], key: &str) -> &'f Fact {
        facts
            .iter()
            .find(|fact| fact.key == key)
            .unwrap_or_else(|| panic!("{key} in {facts:?}"))
    }

    #[test]
    fn known_facts_stand_side_by_side_and_the_moment_is_none() {
        let (mut a, mut b) = (sound(), sound());
        a.generator_mut().environment.cpu.model = Some("M1".into());
        b.generator_mut().environment.memory.total_bytes = Some(16 << 30);
        b.generator_mut().environment.moment.uptime_seconds = Some(9);
        let facts = environments(&[vec![&a], vec![&b]]);
        assert_eq!(
            *found(&facts, "CPU"),
            Fact {
                key: "CPU".into(),
                values: vec![Some("M1".into()), None],
                differs: true
            }
        );
        assert_eq!(
            found(&facts, "memory").values,
            [None, Some("16 GiB".to_owned())]
        );
        assert!(!found(&facts, "measured with").differs);
        assert!(
            facts
                .iter()
                .all(|fact| fact.key != "kernel" && !fact.key.contains("uptime")),
            "{facts:?}"
        );
    }

    #[test]
    fn what_has_no_plain_name_is_shown_by_its_place() {
        let (a, b, mut c) = (sound(), sound(), sound());
        c.generator_mut()
            .environment
            .system
            .sysctls
            .insert("vm.dirty_ratio".into(), "20".into());
        let facts = environments(&[vec![&a], vec![&b], vec![&c]]);
        let fact = found(&facts, "system.sysctls.vm.dirty_ratio");
        assert_eq!(fact.values, [None, None, Some("20".to_owned())]);
    }

    #[test]
    fn an_arm_of_several_values_differs_from_itself() {
        let (mut a, mut b) = (sound(), sound());
        a.generator_mut().environment.cpu.governor = Some("powersave".into());
        b.generator_mut().environment.cpu.governor = Some("performance".into());
        let facts = environments(&[vec![&a, &b]]);
        assert_eq!(
            found(&facts, "governor").values,
            [Some("performance | powersave".to_owned())]
        );
        assert!(found(&facts, "governor").differs);
    }

    #[test]
    fn options_that_only_keep_results_do_not_differ() {
        let (mut a, mut b) = (sound(), sound());
        set(&mut a, "seed", "1");
        set(&mut b, "seed", "2");
        set(&mut b, "engine", "sync");
        let facts = workload(&[vec![&a], vec![&b], Vec::new()]);
        assert!(
            found(&facts, "engine").differs
                && !found(&facts, "seed").differs
                && !found(&facts, "block-size").differs
        );
    }
}
