//! Works that start together and verify what they write, each by what it knows itself.

use super::PlannedRun;
use crate::error::RunError;
use crate::prepare::{real_name, use_of};
use std::collections::HashSet;
use std::path::PathBuf;

/// Refuses works that start together of which one writes to what another one verifies: neither knows
/// when the other writes.
pub(super) fn check_apart(planned: &[PlannedRun]) -> Result<(), RunError> {
    let works: Vec<(HashSet<PathBuf>, bool, bool)> = planned
        .iter()
        .map(|run| {
            let workload = &run.resolved.effective;
            (places(run), workload.verify.on, use_of(workload).writes)
        })
        .collect();
    for (number, (own, verifies, writes)) in works.iter().enumerate() {
        for (others, other_verifies, other_writes) in &works[number + 1..] {
            let is_in_doubt = (*verifies || *other_verifies) && (*writes || *other_writes);
            let Some(place) = own.intersection(others).next().filter(|_| is_in_doubt) else {
                continue;
            };
            return Err(RunError::Unsuitable(format!(
                "two works that start together use {}, one writes to it and one verifies it: neither knows when the other writes, and sound storage would be called damaged. Let one do both (--threads, numjobs), or let them run one after the other (stonewall, phases in turn)",
                place.display()
            )));
        }
    }
    Ok(())
}

/// What a work uses, by names without symlinks.
fn places(run: &PlannedRun) -> HashSet<PathBuf> {
    let files = run.resolved.layout.files.iter().map(|file| &file.path);
    let servers = run.resolved.effective.targets.iter();
    let servers = servers.filter(|target| crate::is_server(target));
    files.chain(servers).map(|path| real_name(path)).collect()
}
