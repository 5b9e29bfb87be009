//! Works that start together and verify what they write, each by what it knows itself.

use super::PlannedRun;
use crate::error::RunError;
use crate::prepare::{real_name, use_of};
use crate::safety::FileId;
use std::collections::HashMap;
use std::path::PathBuf;

/// Refuses works that start together of which one writes to what another one verifies: neither knows
/// when the other writes.
pub(super) fn check_apart(planned: &[PlannedRun]) -> Result<(), RunError> {
    let works: Vec<(HashMap<Place, PathBuf>, bool, bool)> = planned
        .iter()
        .map(|run| {
            let workload = &run.resolved.effective;
            (places(run), workload.verify.on, use_of(workload).writes)
        })
        .collect();
    for (number, (own, verifies, writes)) in works.iter().enumerate() {
        for (others, other_verifies, other_writes) in &works[number + 1..] {
            let is_in_doubt = (*verifies || *other_verifies) && (*writes || *other_writes);
            let both = own.iter().find(|(place, _)| others.contains_key(place));
            let Some((_, path)) = both.filter(|_| is_in_doubt) else {
                continue;
            };
            return Err(RunError::Unsuitable(format!(
                "two works that start together use {}, one writes to it and one verifies it: neither knows when the other writes, and sound storage would be called damaged. Let one do both (--threads, numjobs), or let them run one after the other (stonewall, phases in turn)",
                path.display()
            )));
        }
    }
    Ok(())
}

/// What two works have in common where both use it: a file that is there has any number of names.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    Is(FileId),
    Named(PathBuf),
}

/// What a work uses, and a name of it without symlinks.
fn places(run: &PlannedRun) -> HashMap<Place, PathBuf> {
    let files = run.resolved.layout.files.iter().map(|file| &file.path);
    let servers = run.resolved.effective.targets.iter();
    let servers = servers.filter(|target| crate::is_server(target));
    let named = files.chain(servers).map(|path| {
        let is = std::fs::metadata(path).map(|facts| FileId::of(&facts));
        let name = real_name(path);
        (
            is.map_or_else(|_| Place::Named(name.clone()), Place::Is),
            name,
        )
    });
    named.collect()
}
