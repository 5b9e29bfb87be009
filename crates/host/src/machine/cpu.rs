//! Processors from /proc/cpuinfo and /sys/devices/system/cpu.

use std::collections::BTreeSet;

use record::{CpuFacts, CpuList};

use super::tree::{self, Tree};

const CPUS: &str = "/sys/devices/system/cpu";

/// The first processor's block fits; the whole file of a large machine is long and slow to produce.
const FIRST_PROCESSOR: u64 = 8 << 10;

/// What decides whether the time stamp counter is a clock, and whether it is a hypervisor that
/// answers.
const FLAGS: [&str; 6] = [
    "constant_tsc",
    "nonstop_tsc",
    "tsc_reliable",
    "tsc_known_freq",
    "rdtscp",
    "hypervisor",
];

/// The beginning of /proc/cpuinfo, without a line that was cut off.
pub(super) fn first_processor(tree: &Tree) -> String {
    let bytes = tree
        .head("/proc/cpuinfo", FIRST_PROCESSOR)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.rsplit_once('\n')
        .map(|(lines, _)| lines.to_owned())
        .unwrap_or_default()
}

/// The flags of interest among those of an x86 processor; `None` where there is no such line.
pub(super) fn flags(first_processor: &str) -> Option<Vec<String>> {
    let words: BTreeSet<&str> = tree::after(first_processor, "flags", ':')?
        .split_ascii_whitespace()
        .collect();
    Some(
        FLAGS
            .into_iter()
            .filter(|flag| words.contains(flag))
            .map(str::to_owned)
            .collect(),
    )
}

pub(super) fn list(tree: &Tree, at: impl AsRef<std::path::Path>) -> Option<CpuList> {
    tree.text(at)?.parse().ok()
}

pub(super) fn online(tree: &Tree) -> Option<CpuList> {
    list(tree, format!("{CPUS}/online")).filter(|cpus| !cpus.ids().is_empty())
}

/// What is known of the processors; `known` are facts of before, of which those that cannot have
/// changed stay.
pub(super) fn facts(tree: &Tree, first_processor: &str, known: Option<&CpuFacts>) -> CpuFacts {
    let online = online(tree);
    let known = known.filter(|known| known.online == online).cloned();
    let mut facts = known.unwrap_or_else(|| still(tree, first_processor, online));
    facts.isolated = list(tree, format!("{CPUS}/isolated"));
    facts.turbo = turbo(tree);
    add_frequency(tree, &mut facts);
    facts
}

/// What stays as it is as long as these processors are online.
fn still(tree: &Tree, first_processor: &str, online: Option<CpuList>) -> CpuFacts {
    let text = |key| {
        tree::after(first_processor, key, ':')
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
    };
    let present = list(tree, format!("{CPUS}/present"));
    let first = online.as_ref().and_then(|cpus| cpus.ids().first().copied());
    let cache = |level, kind| cache_bytes(tree, first?, level, kind);
    let mut facts = CpuFacts {
        model: text("model name"),
        microcode: text("microcode"),
        logical: present
            .and_then(|cpus| u32::try_from(cpus.ids().len()).ok())
            .filter(|&count| count > 0),
        l1d_bytes: cache("1", "Data"),
        l2_bytes: cache("2", "Unified"),
        l3_bytes: cache("3", "Unified"),
        flags: flags(first_processor),
        ..CpuFacts::default()
    };
    add_topology(tree, &mut facts, online.as_ref());
    facts.online = online;
    facts
}

/// Counts cores and sockets, leaving them unknown as soon as one CPU does not say where it belongs.
fn add_topology(tree: &Tree, facts: &mut CpuFacts, online: Option<&CpuList>) {
    let Some(online) = online else { return };
    let topology = |cpu: &u32, name: &str| tree.value(format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let siblings = |cpu: &u32| topology(cpu, "thread_siblings_list");
    // Some architectures have no packages and say so by -1.
    let package = |cpu: &u32| topology(cpu, "physical_package_id").filter(|id| id != "-1");
    if let Some(cores) = online
        .ids()
        .iter()
        .map(siblings)
        .collect::<Option<BTreeSet<String>>>()
    {
        let threads = |core: &String| {
            core.parse::<CpuList>()
                .ok()
                .and_then(|cpus| u32::try_from(cpus.ids().len()).ok())
        };
        facts.cores = u32::try_from(cores.len()).ok();
        facts.threads_per_core = cores
            .iter()
            .map(threads)
            .collect::<Option<Vec<u32>>>()
            .and_then(|all| all.into_iter().max());
    }
    let packages = online
        .ids()
        .iter()
        .map(package)
        .collect::<Option<BTreeSet<String>>>();
    facts.sockets = packages.and_then(|packages| u32::try_from(packages.len()).ok());
}

fn add_frequency(tree: &Tree, facts: &mut CpuFacts) {
    let policies = tree
        .names(format!("{CPUS}/cpufreq"))
        .into_iter()
        .filter(|name| name.starts_with("policy"));
    let policies: Vec<String> = policies
        .map(|name| format!("{CPUS}/cpufreq/{name}"))
        .collect();
    let words = |file: &str| {
        let distinct: BTreeSet<String> = policies
            .iter()
            .filter_map(|policy| tree.value(format!("{policy}/{file}")))
            .collect();
        (!distinct.is_empty()).then(|| distinct.into_iter().collect::<Vec<_>>().join(","))
    };
    let mhz = |file: &str| -> Vec<u32> {
        policies
            .iter()
            .filter_map(|policy| Some(tree.number::<u32>(format!("{policy}/{file}"))? / 1000))
            .collect()
    };
    facts.governor = words("scaling_governor");
    facts.frequency_driver = words("scaling_driver");
    facts.min_mhz = mhz("scaling_min_freq").into_iter().min();
    facts.max_mhz = mhz("scaling_max_freq").into_iter().max();
}

/// intel_pstate says whether turbo is off, other drivers whether boost is on.
fn turbo(tree: &Tree) -> Option<bool> {
    let off = tree.switch(format!("{CPUS}/intel_pstate/no_turbo"));
    off.map(|off| !off)
        .or_else(|| tree.switch(format!("{CPUS}/cpufreq/boost")))
}

fn cache_bytes(tree: &Tree, cpu: u32, level: &str, kind: &str) -> Option<u64> {
    let caches = format!("{CPUS}/cpu{cpu}/cache");
    let is = |name: &String, file: &str, wanted: &str| {
        tree.text(format!("{caches}/{name}/{file}"))
            .is_some_and(|text| text == wanted)
    };
    let mut names = tree
        .names(&caches)
        .into_iter()
        .filter(|name| name.starts_with("index"));
    let name = names.find(|name| is(name, "level", level) && is(name, "type", kind))?;
    // The kernel prints cache sizes in KiB, always with this suffix.
    tree.text(format!("{caches}/{name}/size"))?
        .strip_suffix('K')?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn two_sockets() -> Fixture {
        let fixture = Fixture::new();
        let base = "sys/devices/system/cpu";
        fixture.files(
            base,
            &[
                ("online", "0-3\n"),
                ("present", "0-7\n"),
                ("isolated", "\n"),
            ],
        );
        for (cpu, siblings, package) in [(0, "0,2", 0), (1, "1,3", 1), (2, "0,2", 0), (3, "1,3", 1)]
        {
            fixture.file(
                &format!("{base}/cpu{cpu}/topology/thread_siblings_list"),
                siblings,
            );
            fixture.file(
                &format!("{base}/cpu{cpu}/topology/physical_package_id"),
                package.to_string(),
            );
        }
        for (index, level, kind, size) in [
            (0, "1", "Data", "48K\n"),
            (1, "1", "Instruction", "32K\n"),
            (2, "2", "Unified", "2048K\n"),
        ] {
            let cache = format!("{base}/cpu0/cache/index{index}");
            fixture.files(&cache, &[("level", level), ("type", kind), ("size", size)]);
        }
        for (policy, governor, max) in [(0, "powersave", "3500000"), (1, "performance", "3600000")]
        {
            let policy = format!("{base}/cpufreq/policy{policy}");
            let files = [
                ("scaling_governor", governor),
                ("scaling_min_freq", "800000"),
                ("scaling_max_freq", max),
            ];
            fixture.files(&policy, &files);
        }
        fixture.file(&format!("{base}/intel_pstate/no_turbo"), "1");
        fixture
    }

    #[test]
    fn topology_caches_and_frequencies_are_counted() {
        let facts = facts(
            &two_sockets().tree(),
            "model name\t: A CPU\nflags\t\t: fpu nonstop_tsc constant_tsc tsc\n",
            None,
        );
        assert_eq!(facts.model.as_deref(), Some("A CPU"));
        assert_eq!(
            (
                facts.logical,
                facts.cores,
                facts.sockets,
                facts.threads_per_core
            ),
            (Some(8), Some(2), Some(2), Some(2))
        );
        assert_eq!(
            (facts.l1d_bytes, facts.l2_bytes, facts.l3_bytes),
            (Some(48 << 10), Some(2 << 20), None)
        );
        assert_eq!(facts.governor.as_deref(), Some("performance,powersave"));
        assert_eq!(
            (facts.min_mhz, facts.max_mhz, facts.turbo),
            (Some(800), Some(3600), Some(false))
        );
        assert_eq!(facts.flags.unwrap(), ["constant_tsc", "nonstop_tsc"]);
        assert_eq!(facts.isolated, Some(CpuList::default()));
    }

    #[test]
    fn one_cpu_of_unknown_place_leaves_the_counts_unknown() {
        let fixture = two_sockets();
        fixture.file(
            "sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
            "",
        );
        fixture.file(
            "sys/devices/system/cpu/cpu2/topology/physical_package_id",
            "-1",
        );
        let facts = facts(&fixture.tree(), "", None);
        assert_eq!(
            (facts.cores, facts.threads_per_core, facts.sockets),
            (None, None, None)
        );
        assert_eq!(facts.flags, None);
    }

    #[test]
    fn a_line_that_was_cut_off_is_not_read() {
        let fixture = Fixture::new();
        fixture.file(
            "proc/cpuinfo",
            format!("model name : A\nflags : {}", "constant_tsc ".repeat(900)),
        );
        let first = first_processor(&fixture.tree());
        assert_eq!(tree::after(&first, "model name", ':'), Some("A"));
        assert_eq!(flags(&first), None);
    }
}
