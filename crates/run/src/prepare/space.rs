//! Whether the file systems have room for what a run will write, told before it writes.

use super::{FilePlan, FillPlan, use_of};
use crate::error::RunError;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use units::Bytes;
use workload::Workload;

/// Bytes of a file that are not on the disk yet and will be: what is filled or reserved, and what
/// writes can reach.
pub(super) fn new_bytes(workload: &Workload, fill: FillPlan, bytes: u64, on_disk: u64) -> u64 {
    let missing = bytes.saturating_sub(on_disk);
    let written = if use_of(workload).writes && workload.files.fill.refill != Some(false) {
        workload.stop.total_bytes.map_or(u64::MAX, |total| total.0)
    } else {
        0
    };
    if fill != FillPlan::Nothing || workload.files.fill.preallocate {
        missing
    } else {
        missing.min(written)
    }
}

/// Refuses what would end with a full disk. A file system that does not say what is free is
/// believed to have enough.
pub(super) fn check_space(plans: &[FilePlan]) -> Result<(), RunError> {
    let grow = plans
        .iter()
        .filter(|plan| !plan.is_device && plan.new_bytes > 0);
    let new = grow.map(|plan| (plan.path.as_path(), plan.new_bytes));
    check_room(new, "--file-size")
}

/// The same of paths and the bytes that they will need; `smaller` is what to lower.
pub(super) fn check_room<'a>(
    new: impl Iterator<Item = (&'a Path, u64)>,
    smaller: &str,
) -> Result<(), RunError> {
    let mut wanted: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for (path, bytes) in new {
        let place = path
            .ancestors()
            .find(|place| place.exists())
            .filter(|place| !place.as_os_str().is_empty());
        let place = place.unwrap_or(Path::new("."));
        let Ok(facts) = std::fs::metadata(place) else {
            continue;
        };
        let sum = wanted.entry(facts.dev()).or_insert((place, 0));
        sum.1 = sum.1.saturating_add(bytes);
    }
    for (place, new) in wanted.into_values() {
        let free = sys::free_bytes(place).ok().flatten().unwrap_or(u64::MAX);
        if new > free {
            return Err(RunError::Unsuitable(format!(
                "{} more would be written, and {} are free where {} lies; free space, or give a smaller {smaller}",
                Bytes(new),
                Bytes(free),
                place.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_disk_or_cannot_be_reached_needs_no_room() {
        let mut workload = Workload::default();
        assert_eq!(
            new_bytes(&workload, FillPlan::Nothing, 100, 0),
            0,
            "it reads"
        );
        assert_eq!(new_bytes(&workload, FillPlan::Holes, 100, 40), 60);
        assert_eq!(new_bytes(&workload, FillPlan::Whole, 100, 400), 0);
        workload.access.read_percent = Some(units::Percent(0.0));
        assert_eq!(new_bytes(&workload, FillPlan::Nothing, 100, 0), 100);
        workload.stop.total_bytes = Some(Bytes(30));
        assert_eq!(new_bytes(&workload, FillPlan::Nothing, 100, 0), 30);
        workload.files.fill.refill = Some(false);
        assert_eq!(
            new_bytes(&workload, FillPlan::Nothing, 100, 0),
            0,
            "the user knows that it is thin"
        );
        workload.files.fill.preallocate = true;
        assert_eq!(new_bytes(&workload, FillPlan::Nothing, 100, 0), 100);
    }
}
