//! Whether files that are to be verified are what an earlier run left: each named once, none of them
//! lost, and nobody writing to them meanwhile.

use super::{FilePlan, use_of};
use crate::error::RunError;
use crate::safety::{self, Access, FileId, Refusal};
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
            |_| Known::New(std::path::absolute(&plan.path).unwrap_or_else(|_| plan.path.clone())),
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

/// A file that is made anew would hide that it was lost.
fn check_none_lost(plans: &[FilePlan], workload: &Workload) -> Result<(), RunError> {
    let shared = || plans.iter().filter(|plan| plan.owner.is_none());
    let kept = shared().find(|plan| plan.content.is_of(workload));
    let lost = shared().find(|plan| plan.approval.is_new());
    let Some((kept, lost)) = kept.zip(lost) else {
        return Ok(());
    };
    Err(RunError::Unsuitable(format!(
        "{} is not there, and {} holds what an earlier run wrote: what is missing cannot be verified, and to write it again would hide that it was lost; write all of it anew with --refill",
        lost.path.display(),
        kept.path.display()
    )))
}

/// A reader of another process cannot know which writes are under way.
fn check_unwritten(plan: &FilePlan) -> Result<(), RunError> {
    if plan.access != Access::Read {
        return Ok(());
    }
    let by = safety::written_by(&plan.path);
    let path = plan.path.clone();
    by.map_or(Ok(()), |by| Err(Refusal::Written { path, by }.into()))
}
