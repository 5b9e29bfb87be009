//! CPUs and memory of workers, from ids that the machine may lack.

use super::permits::Permits;
use super::{Changes, WorkerPlacement, is_best_effort, unsuitable};
use crate::error::RunError;
use host::Machine;
use units::IdList;
use workload::Workload;

/// NUMA nodes, and the CPUs of each that this process may use.
type Nodes = Vec<(u32, Vec<u32>)>;

/// One place a worker, round-robin over the lists; empty without lists.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
pub(super) fn place(
    effective: &mut Workload,
    machine: &Machine,
    permits: &dyn Permits,
    changes: &mut Changes,
) -> Result<Vec<WorkerPlacement>, RunError> {
    let best_effort = is_best_effort(effective);
    let allowed: Vec<u32> = machine
        .allowed_cpus()
        .or_else(|| machine.online_cpus())
        .map(|list| list.ids().to_vec())
        .unwrap_or_default();
    let usable = |cpus: &[u32]| {
        cpus.iter()
            .copied()
            .filter(|cpu| allowed.contains(cpu))
            .collect()
    };
    let mut nodes: Nodes = machine
        .nodes()
        .into_iter()
        .map(|node| (node.id, usable(node.cpus.ids())))
        .collect();
    if best_effort {
        nodes.retain(|(_, cpus)| !cpus.is_empty());
    }
    let binds_memory = zones(effective, &nodes, permits, changes)?;
    if let Some(asked) = effective.placement.cpu_cores.clone() {
        effective.placement.cpu_cores = Some(fit(
            "cpu-cores",
            &told_cpus(&allowed, machine),
            &asked,
            &allowed,
            best_effort,
            changes,
        )?);
    }
    let zones = effective
        .placement
        .numa_zones
        .as_ref()
        .map(|list| list.0.as_slice())
        .unwrap_or_default();
    let cores = effective
        .placement
        .cpu_cores
        .as_ref()
        .map(|list| list.0.as_slice())
        .unwrap_or_default();
    if zones.is_empty() && cores.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for worker in 0..effective.threads as usize {
        let node = (!zones.is_empty()).then(|| zones[worker % zones.len()]);
        let cpus = match node {
            _ if !cores.is_empty() => vec![cores[worker % cores.len()]],
            Some(node) => nodes
                .iter()
                .filter(|(id, _)| *id == node)
                .flat_map(|(_, cpus)| cpus)
                .copied()
                .collect(),
            None => Vec::new(),
        };
        if cpus.is_empty() {
            return unsuitable(format!(
                "--numa-zones {}: none of its CPUs is allowed to this process",
                IdList(zones.to_vec())
            ));
        }
        out.push(WorkerPlacement {
            cpus,
            nodes: node.into_iter().filter(|_| binds_memory).collect(),
        });
    }
    Ok(out)
}

/// Decides on the nodes asked for, and whether memory is bound to them; best effort does without
/// what the kernel does not give.
fn zones(
    effective: &mut Workload,
    nodes: &Nodes,
    permits: &dyn Permits,
    changes: &mut Changes,
) -> Result<bool, RunError> {
    const KEY: &str = "numa-zones";
    let Some(asked) = effective.placement.numa_zones.clone() else {
        return Ok(false);
    };
    let best_effort = is_best_effort(effective);
    if best_effort && nodes.is_empty() {
        effective.placement.numa_zones = None;
        let reason =
            "--affinity best-effort: the kernel tells of no NUMA nodes with CPUs for this process";
        changes.leave_out(KEY, asked.to_string(), reason);
        return Ok(false);
    }
    let present: Vec<u32> = nodes.iter().map(|(id, _)| *id).collect();
    let has = format!("NUMA nodes {}", ids(&present));
    let fitting = fit(KEY, &has, &asked, &present, best_effort, changes)?;
    let refused = fitting
        .0
        .iter()
        .find_map(|node| permits.bind_memory(&[*node]).err());
    let binds_memory = refused.is_none();
    if let Some(error) = refused {
        let why =
            format!("this process may not bind memory to NUMA nodes (set_mempolicy: {error})");
        if !best_effort {
            return unsuitable(format!(
                "--{KEY} {asked}: {why}; drop the option, or bind CPUs alone with --affinity best-effort"
            ));
        }
        changes.differ(
            KEY,
            asked.to_string(),
            format!("CPUs of {fitting}, memory of any node"),
            format!("--affinity best-effort: {why}"),
        );
    }
    effective.placement.numa_zones = Some(fitting);
    Ok(binds_memory)
}

/// Ids in words.
fn ids(list: &[u32]) -> String {
    match list {
        [] => "none".to_owned(),
        list => IdList(list.to_vec()).to_string(),
    }
}

/// The CPUs of the machine in words, and those of them that this process may use where it is bound.
fn told_cpus(allowed: &[u32], machine: &Machine) -> String {
    let online = machine.online_cpus().map(|list| list.ids().to_vec());
    let online = online.unwrap_or_default();
    if online.iter().all(|cpu| allowed.contains(cpu)) {
        return format!("CPUs {}", ids(allowed));
    }
    format!(
        "CPUs {}, of which this process may use {} alone (a launcher, a container or taskset has bound it; `mpirun --bind-to none` and `srun --cpu-bind=none` bind nothing)",
        ids(&online),
        ids(allowed)
    )
}

/// The ids that exist; those that do not are refused, or mapped round-robin onto those that do.
fn fit(
    key: &str,
    has: &str,
    asked: &IdList,
    present: &[u32],
    best_effort: bool,
    changes: &mut Changes,
) -> Result<IdList, RunError> {
    let missing: Vec<u32> = asked
        .0
        .iter()
        .copied()
        .filter(|id| !present.contains(id))
        .collect();
    if missing.is_empty() {
        return Ok(asked.clone());
    }
    if !best_effort || present.is_empty() {
        return unsuitable(format!(
            "--{key} {asked}: this machine has {has}, not {}; choose among them, or map the list onto them with --affinity best-effort",
            IdList(missing)
        ));
    }
    let mut mapped: Vec<u32> = asked
        .0
        .iter()
        .map(|id| present[*id as usize % present.len()])
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    mapped.retain(|id| seen.insert(*id));
    let mapped = IdList(mapped);
    changes.differ(
        key,
        asked.to_string(),
        mapped.to_string(),
        format!("--affinity best-effort: this machine has {has}"),
    );
    Ok(mapped)
}

#[cfg(test)]
mod tests {
    use super::super::permits::fixture::Forbidden;
    use super::*;
    use std::path::Path;
    use tempfile::TempDir;
    use workload::Affinity;

    const EPERM: i32 = 1;
    const ENOSYS: i32 = 38;

    /// A machine of four CPUs that this process may all use, with these nodes: id and CPUs.
    fn machine(nodes: &[(u32, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("proc/self/status", "Cpus_allowed_list:\t0-3\n");
        file("sys/devices/system/cpu/online", "0-3\n");
        if !nodes.is_empty() {
            let ids: Vec<String> = nodes.iter().map(|(id, _)| id.to_string()).collect();
            file("sys/devices/system/node/online", &ids.join(","));
        }
        nodes.iter().for_each(|(id, cpus)| {
            file(&format!("sys/devices/system/node/node{id}/cpulist"), cpus)
        });
        root
    }

    fn placed(
        nodes: &[(u32, &str)],
        zones: &str,
        affinity: Affinity,
        permits: &Forbidden,
    ) -> (Result<Vec<WorkerPlacement>, RunError>, Changes, Workload) {
        let root = machine(nodes);
        let mut workload = Workload {
            threads: 2,
            ..Workload::default()
        };
        workload.placement.numa_zones = Some(IdList::parse(zones).unwrap());
        workload.placement.affinity = affinity;
        let mut changes = Changes::default();
        let places = place(
            &mut workload,
            &Machine::at(Path::new(root.path())),
            permits,
            &mut changes,
        );
        (places, changes, workload)
    }

    #[test]
    fn best_effort_runs_on_a_machine_that_tells_of_no_nodes_and_says_so() {
        let (places, changes, effective) =
            placed(&[], "0,1", Affinity::BestEffort, &Forbidden::default());
        assert_eq!(
            (places.unwrap(), effective.placement.numa_zones),
            (Vec::new(), None)
        );
        let [difference] = changes.differences.as_slice() else {
            panic!("{:?}", changes.differences)
        };
        assert_eq!(
            (
                difference.key.as_str(),
                difference.asked.as_deref(),
                difference.effective.as_deref()
            ),
            ("numa-zones", Some("0-1"), None)
        );
        let (places, ..) = placed(&[], "0,1", Affinity::Strict, &Forbidden::default());
        assert_eq!(
            places.unwrap_err().exit_code(),
            2,
            "without best effort it is refused"
        );
    }

    #[test]
    fn best_effort_binds_cpus_alone_where_memory_may_not_be_bound() {
        let nodes = [(0, "0-1"), (1, "2-3")];
        for errno in [EPERM, ENOSYS] {
            let forbidden = Forbidden {
                binding: Some(errno),
                ..Forbidden::default()
            };
            let (places, changes, _) = placed(&nodes, "0,1", Affinity::BestEffort, &forbidden);
            let at = |cpus: &[u32]| WorkerPlacement {
                cpus: cpus.to_vec(),
                nodes: Vec::new(),
            };
            assert_eq!(places.unwrap(), [at(&[0, 1]), at(&[2, 3])]);
            let [difference] = changes.differences.as_slice() else {
                panic!("{:?}", changes.differences)
            };
            assert_eq!(
                difference.effective.as_deref(),
                Some("CPUs of 0-1, memory of any node")
            );
            assert!(
                difference.reason.contains("set_mempolicy"),
                "{difference:?}"
            );
            let error = placed(&nodes, "0,1", Affinity::Strict, &forbidden)
                .0
                .unwrap_err();
            assert!(
                error.exit_code() == 2 && error.to_string().contains("--affinity best-effort"),
                "{error}"
            );
        }
    }

    #[test]
    fn best_effort_maps_onto_nodes_whose_cpus_may_be_used() {
        // The CPUs of node 1 belong to others, and node 2 is memory alone.
        let (places, changes, _) = placed(
            &[(0, "0-3"), (1, "8-9"), (2, "")],
            "1,2",
            Affinity::BestEffort,
            &Forbidden::default(),
        );
        let place = WorkerPlacement {
            cpus: vec![0, 1, 2, 3],
            nodes: vec![0],
        };
        assert_eq!(places.unwrap(), [place.clone(), place]);
        assert_eq!(changes.differences.len(), 1);
    }

    #[test]
    fn cpus_that_only_others_may_use_are_told_from_those_that_are_not_there() {
        let refused = |allowed: &str, asked: &str| {
            let root = machine(&[]);
            let status = root.path().join("proc/self/status");
            std::fs::write(status, format!("Cpus_allowed_list:\t{allowed}\n")).unwrap();
            let mut workload = Workload::default();
            workload.placement.cpu_cores = Some(IdList::parse(asked).unwrap());
            let machine = Machine::at(root.path());
            let permits = Forbidden::default();
            let placed = place(&mut workload, &machine, &permits, &mut Changes::default());
            placed.unwrap_err().to_string()
        };
        assert_eq!(
            refused("0", "0,1"),
            "--cpu-cores 0-1: this machine has CPUs 0-3, of which this process may use 0 alone (a launcher, a container or taskset has bound it; `mpirun --bind-to none` and `srun --cpu-bind=none` bind nothing), not 1; choose among them, or map the list onto them with --affinity best-effort"
        );
        let why = refused("0-3", "4");
        assert!(why.contains("has CPUs 0-3, not 4; choose"), "{why}");
    }

    #[test]
    fn nodes_that_exist_are_taken_as_asked() {
        let (places, changes, _) = placed(
            &[(0, "0-1"), (1, "2-3")],
            "1",
            Affinity::Strict,
            &Forbidden::default(),
        );
        let place = WorkerPlacement {
            cpus: vec![2, 3],
            nodes: vec![1],
        };
        assert_eq!(
            (places.unwrap(), changes.differences),
            (vec![place.clone(), place], Vec::new())
        );
    }
}
