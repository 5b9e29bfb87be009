//! CPUs and memory of workers, from ids that the machine may lack.

use super::{Changes, WorkerPlacement, is_best_effort, unsuitable};
use crate::error::RunError;
use crate::machine::Machine;
use units::IdList;
use workload::Workload;

/// One place a worker, round-robin over the lists; empty without lists.
pub(super) fn place(effective: &mut Workload, machine: &Machine, changes: &mut Changes) -> Result<Vec<WorkerPlacement>, RunError> {
    let best_effort = is_best_effort(effective);
    let nodes: Vec<(u32, Vec<u32>)> = machine.nodes().into_iter().map(|node| (node.id, node.cpus.ids().to_vec())).collect();
    let allowed: Vec<u32> = machine.allowed_cpus().or_else(|| machine.online_cpus()).map(|list| list.ids().to_vec()).unwrap_or_default();
    if let Some(asked) = effective.placement.numa_zones.clone() {
        let present: Vec<u32> = nodes.iter().map(|(id, _)| *id).collect();
        effective.placement.numa_zones = Some(fit("numa-zones", "NUMA nodes", &asked, &present, best_effort, changes)?);
    }
    if let Some(asked) = effective.placement.cpu_cores.clone() {
        effective.placement.cpu_cores = Some(fit("cpu-cores", "CPUs", &asked, &allowed, best_effort, changes)?);
    }
    let zones = effective.placement.numa_zones.as_ref().map(|list| list.0.as_slice()).unwrap_or_default();
    let cores = effective.placement.cpu_cores.as_ref().map(|list| list.0.as_slice()).unwrap_or_default();
    if zones.is_empty() && cores.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for worker in 0..effective.threads as usize {
        let node = (!zones.is_empty()).then(|| zones[worker % zones.len()]);
        let cpus = match node {
            _ if !cores.is_empty() => vec![cores[worker % cores.len()]],
            Some(node) => {
                nodes.iter().filter(|(id, _)| *id == node).flat_map(|(_, cpus)| cpus).copied().filter(|cpu| allowed.contains(cpu)).collect()
            }
            None => Vec::new(),
        };
        if cpus.is_empty() {
            return unsuitable(format!("--numa-zones {}: none of its CPUs is allowed to this process", IdList(zones.to_vec())));
        }
        out.push(WorkerPlacement { cpus, nodes: node.into_iter().collect() });
    }
    Ok(out)
}

/// The ids that exist; those that do not are refused, or mapped round-robin onto those that do.
fn fit(key: &str, what: &str, asked: &IdList, present: &[u32], best_effort: bool, changes: &mut Changes) -> Result<IdList, RunError> {
    let missing: Vec<u32> = asked.0.iter().copied().filter(|id| !present.contains(id)).collect();
    if missing.is_empty() {
        return Ok(asked.clone());
    }
    let has = if present.is_empty() { "none".to_owned() } else { IdList(present.to_vec()).to_string() };
    if !best_effort || present.is_empty() {
        return unsuitable(format!(
            "--{key} {asked}: this machine has {what} {has}, not {}; choose among them, or map the list onto them with --affinity best-effort",
            IdList(missing)
        ));
    }
    let mut mapped: Vec<u32> = asked.0.iter().map(|id| present[*id as usize % present.len()]).collect();
    let mut seen = std::collections::BTreeSet::new();
    mapped.retain(|id| seen.insert(*id));
    let mapped = IdList(mapped);
    changes.differ(key, asked.to_string(), mapped.to_string(), format!("--affinity best-effort: this machine has {what} {has}"));
    Ok(mapped)
}
