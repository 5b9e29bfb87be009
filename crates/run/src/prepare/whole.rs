//! Whether files that are to be verified are what an earlier run left: each named once, none of them
//! lost, and nobody writing to them meanwhile.

use super::{FilePlan, use_of};
use crate::error::RunError;
use crate::safety::{self, Access, FileId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use workload::Workload;

/// What one file is known by, under whatever name.
#[derive(PartialEq, Eq, Hash)]
enum Known {
    File(u64, u64),
    New(PathBuf),
}

/// Refuses what cannot be verified.
pub(super) fn check(plans: &[FilePlan], workload: &Workload) -> Result<(), RunError> {
    if !workload.verify.on {
        return Ok(());
    }
    check_once(plans)?;
    if use_of(workload).reads && workload.files.fill.refill != Some(true) {
        check_none_lost(plans, workload)?;
    }
    plans.iter().try_for_each(check_unwritten)
}

/// Under two names the blocks of one file would each have two places.
fn check_once(plans: &[FilePlan]) -> Result<(), RunError> {
    let mut names: HashMap<Known, &Path> = HashMap::new();
    for plan in plans.iter().filter(|plan| !plan.is_device) {
        let known = std::fs::metadata(&plan.path).map_or_else(
            |_| Known::New(real_name(&plan.path)),
            |facts| {
                let FileId { dev, ino } = FileId::of(&facts);
                Known::File(dev, ino)
            },
        );
        if let Some(other) = names.insert(known, &plan.path) {
            return Err(RunError::Unsuitable(format!(
                "{} and {} are one file, and to verify it each block must have one place: name it once, with more --threads",
                other.display(),
                plan.path.display()
            )));
        }
    }
    Ok(())
}

/// A path without symlinks, as far as it exists.
pub(crate) fn real_name(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let known = whole.ancestors().find_map(|there| {
        let real = std::fs::canonicalize(there).ok()?;
        Some(real.join(whole.strip_prefix(there).ok()?))
    });
    // Without a slash at the end, which joining nothing leaves.
    known.unwrap_or(whole).components().collect()
}

/// A file that is made anew would hide that it was lost.
fn check_none_lost(plans: &[FilePlan], workload: &Workload) -> Result<(), RunError> {
    // More workers than before may write to files of their own.
    let writes = use_of(workload).writes;
    let asked = || plans.iter().filter(|plan| plan.owner.is_none() || !writes);
    let kept = asked().find(|plan| plan.content.is_of(workload));
    let lost = asked().find(|plan| plan.approval.is_new());
    let Some((kept, lost)) = kept.zip(lost) else {
        return Ok(());
    };
    Err(RunError::Unsuitable(format!(
        "{} is not there, and {} holds what an earlier run wrote: what is missing cannot be verified, and to write it again would hide that it was lost; write all anew with --refill or --write-percent 100 --duration 0s, or give --num-files as before",
        lost.path.display(),
        kept.path.display()
    )))
}

/// A reader of another process cannot know which writes are under way.
fn check_unwritten(plan: &FilePlan) -> Result<(), RunError> {
    if plan.access != Access::Read {
        return Ok(());
    }
    Ok(safety::check_unwritten(&plan.path)?)
}
