//! How far a target reaches: whether all hosts see the same one, or each has its own.

use super::options::text;
use clap::ArgMatches;
use host::Machine;
use record::{FileSystem, TargetReach};
use std::path::Path;
use workload::Workload;

/// How far the target reaches, where the command line says it.
pub(super) fn target_is(matches: &ArgMatches) -> Option<TargetReach> {
    match text(matches, "target-is") {
        Some("shared") => Some(TargetReach::Shared),
        Some("local") => Some(TargetReach::Local),
        Some(_) | None => None,
    }
}

/// Whether other hosts see the target, as far as its file system tells.
pub(super) fn reach(workload: &Workload) -> TargetReach {
    let target = workload.targets.first();
    if target.is_some_and(|target| run::is_server(target)) {
        return TargetReach::Unknown;
    }
    let place = target.and_then(|target| target.ancestors().find(|path| path.exists()));
    let kind = kind_of(place.unwrap_or(Path::new(".")));
    if kind.is_some_and(|kind| FileSystem::may_be_of_several_hosts(&kind)) {
        TargetReach::Shared
    } else {
        TargetReach::Local
    }
}

/// The kind of the file system at this place.
pub(super) fn kind_of(place: &Path) -> Option<String> {
    let storage = Machine::at(Path::new("/")).storage(place);
    Some(storage.file_system?.kind)
}
