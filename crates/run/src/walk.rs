//! The walk of a run: where it begins and what it looks for.

use crate::error::RunError;
use engine::{Sought, Walk, WalkSeat};
use record::{WalkAccount, WalkLevels};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use workload::{MetaOp, Workload};

/// The walk that all workers share, and this rank's part of it; `None` where there is none.
pub(crate) fn walk(workload: &Workload) -> Result<Option<Arc<Walk>>, RunError> {
    let files = &workload.files;
    let Some(root) = workload
        .targets
        .first()
        .filter(|_| files.meta.contains(&MetaOp::Walk))
    else {
        return Ok(None);
    };
    let find = files.find.clone().unwrap_or_default();
    let changed = |file: &Path| {
        let facts =
            fs::symlink_metadata(file).map_err(RunError::io("--where newer: cannot look at", file));
        facts.map(|facts| (facts.mtime(), facts.mtime_nsec()))
    };
    let wanted = Sought {
        name: find.name.map(String::into_bytes),
        bytes: find.size.map(|size| size.0),
        newer: find.newer.as_deref().map(changed).transpose()?,
    };
    let (number, of) = workload.rank.place_at_target();
    let seat = WalkSeat::new(number, of);
    Ok(Some(Arc::new(Walk::new(root.clone(), wanted, seat))))
}

/// What is said of one that something ended, such as its time; of ranks each has its own part.
pub(crate) fn left_unseen(walk: &Walk) -> Option<String> {
    let text = "the walk ended before all of the tree was seen: its entries are those of a part";
    (!walk.is_over()).then(|| text.to_owned())
}

/// What it has looked at so far.
pub(crate) fn walk_account(walk: &Walk) -> WalkAccount {
    let walked = walk.walked();
    let level = |number| WalkLevels {
        fewest: number,
        most: number,
    };
    WalkAccount {
        entries: walked.entries,
        matched: walked.matched,
        levels: walked.levels.map(level),
    }
}
