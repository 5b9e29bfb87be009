//! What makes the numbers of a group doubtful and can be changed before anything is measured.

use super::alive::process_word;
use super::work::GroupWork;
use host::Machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use units::few;
use workload::EngineTarget;

/// So many of several ranks are named.
const MOST_NAMED: usize = 4;

/// What a rank says of the place where it runs.
pub(super) fn place_word(machine: &Machine, works: &[GroupWork]) -> Value {
    let allowed = machine.allowed_cpus().map(|cpus| cpus.ids().len());
    let there = machine.online_cpus().map(|cpus| cpus.ids().len());
    let phases = GroupWork::phases_of(works);
    let workers = phases.map(|phase| phase.workload.threads).max();
    json!({
        "target": identity(works),
        "paths": paths(works),
        "boot": machine.boot_id(),
        "process": process_word(),
        "allowed_cpus": allowed,
        "cpus": there,
        "workers": workers,
    })
}

/// Where the targets are for this rank, from the root of its file system.
fn paths(works: &[GroupWork]) -> Vec<String> {
    let phases = GroupWork::phases_of(works);
    let on_files = phases.filter(|phase| phase.workload.engine.target() == EngineTarget::Files);
    let targets = on_files.flat_map(|phase| &phase.workload.targets);
    let targets = targets.filter(|target| !run::is_server(target));
    let whole =
        targets.map(|target| std::path::absolute(target).unwrap_or_else(|_| target.clone()));
    whole.map(|path| path.display().to_string()).collect()
}

/// What tells the targets of two ranks of one machine apart: the files and devices that are there, or
/// what is there and lies nearest above them.
fn identity(works: &[GroupWork]) -> String {
    let phases = GroupWork::phases_of(works);
    let targets = phases.flat_map(|phase| &phase.workload.targets);
    let known = targets.map(|target| {
        let whole = std::path::absolute(target).unwrap_or_else(|_| target.clone());
        let mut above = whole.ancestors();
        above.find_map(|path| {
            let facts = std::fs::metadata(path).ok()?;
            let below = whole.strip_prefix(path).ok()?.display().to_string();
            let numbers = (facts.dev(), facts.ino(), facts.rdev());
            Some(format!("{numbers:?} {below}"))
        })
    });
    known.flatten().collect::<Vec<_>>().join("; ")
}

/// The number of the target of each rank: ranks of one machine that have the same have one number.
pub(super) fn target_sets(places: &[Value]) -> Vec<u32> {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let sets = places.iter().map(|place| {
        let key = (place.get("boot"), place.get("target"));
        let next = u32::try_from(known.len()).expect("there are no more ranks than that");
        *known.entry(format!("{key:?}")).or_insert(next)
    });
    sets.collect()
}

/// Of each rank its number among those that have its target, and how many these are.
pub(super) fn at_targets(sets: &[u32]) -> Vec<(u32, u32)> {
    let mut users: BTreeMap<u32, u32> = BTreeMap::new();
    let numbers: Vec<u32> = sets
        .iter()
        .map(|set| {
            let users = users.entry(*set).or_default();
            std::mem::replace(users, *users + 1)
        })
        .collect();
    let all = sets.iter().map(|set| users.get(set).copied().unwrap_or(1));
    numbers.into_iter().zip(all).collect()
}

/// The number of the target of each rank, in what the root has said to all.
pub(super) fn sets_of(answer: &Value) -> Vec<u32> {
    let sets = answer.get("target_sets").cloned().unwrap_or_default();
    serde_json::from_value(sets).unwrap_or_default()
}

/// What people are told beforehand of the places of all ranks.
pub(super) fn notes(places: &[Value], called: impl Fn(u32) -> String) -> Vec<String> {
    let ranked = || places.iter().zip(0_u32..);
    let number = |place: &Value, key: &str| place.get(key).and_then(Value::as_u64);
    let bound = ranked().filter_map(|(place, rank)| {
        let [allowed, there, workers] =
            ["allowed_cpus", "cpus", "workers"].map(|key| number(place, key));
        let (allowed, there, workers) = (allowed?, there?, workers?);
        (allowed < workers && allowed < there).then(|| {
            format!(
                "{} has {allowed} of {there} CPUs for {workers} workers",
                called(rank)
            )
        })
    });
    let bound: Vec<String> = bound.collect();
    let mut machines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (place, rank) in ranked() {
        if let Some(boot) = place.get("boot").and_then(Value::as_str) {
            machines.entry(boot).or_default().push(called(rank));
        }
    }
    let shared = machines.into_values().filter(|ranks| ranks.len() > 1);
    let shared: Vec<String> = shared.map(|ranks| few(&ranks, MOST_NAMED)).collect();
    let bound = (!bound.is_empty()).then(|| {
        format!(
            "the launcher left fewer CPUs than there are workers: {}; tell it not to bind: --bind-to none (Open MPI), -bind-to none (MPICH), --cpu-bind=none --whole (Slurm)",
            few(&bound, MOST_NAMED)
        )
    });
    let shared = (!shared.is_empty()).then(|| {
        format!(
            "ranks share a machine, its CPUs and its page cache: {}",
            shared.join("; ")
        )
    });
    bound.into_iter().chain(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(boot: &str, allowed: u64) -> Value {
        json!({ "boot": boot, "allowed_cpus": allowed, "cpus": 8, "workers": 4 })
    }

    fn told(places: &[Value]) -> Vec<String> {
        notes(places, |rank| format!("n{rank}"))
    }

    #[test]
    fn ranks_that_are_bound_or_on_one_machine_are_named_before_the_start() {
        assert_eq!(told(&[place("a", 8), place("b", 4)]), [""; 0]);
        let notes = told(&[place("a", 8), place("b", 1)]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].contains("n1 has 1 of 8 CPUs for 4 workers"),
            "{notes:?}"
        );
        let all: Vec<Value> = (0..9).map(|_| place("a", 8)).collect();
        let notes = told(&all);
        assert!(
            notes[0].ends_with(": n0, n1, n2, n3 and 5 more"),
            "{notes:?}"
        );
    }

    #[test]
    fn ranks_of_one_machine_that_have_one_target_share_it() {
        let of = |boot: &str, target: &str| json!({ "boot": boot, "target": target });
        let places = [of("a", "f"), of("b", "f"), of("a", "f"), of("a", "g")];
        let sets = target_sets(&places);
        assert_eq!(sets, [0, 1, 0, 2]);
        assert_eq!(at_targets(&sets), [(0, 2), (0, 1), (1, 2), (0, 1)]);
        assert_eq!(sets_of(&json!({ "target_sets": sets })), sets);
        assert_eq!(sets_of(&json!({})), [0_u32; 0]);
    }

    #[test]
    fn of_what_a_rank_does_not_say_nothing_is_told() {
        assert_eq!(told(&[json!({}), json!({ "workers": 9 })]), [""; 0]);
    }
}
