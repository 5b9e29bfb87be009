//! Whether the file systems have room for what a run will write, told before it writes.

use super::among::Among;
use super::{FilePlan, FillPlan, use_of};
use crate::error::RunError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
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

/// What of one file system something will take.
#[derive(Debug, Serialize, Deserialize)]
struct Room {
    place: PathBuf,
    new: u64,
    free: u64,
}

impl Room {
    /// # Errors
    /// There is less; `smaller` is what to lower.
    fn check(&self, smaller: &str) -> Result<(), String> {
        if self.new <= self.free {
            return Ok(());
        }
        Err(format!(
            "{} more would be written, and {} are free where {} lies; free space, or give a smaller {smaller}",
            Bytes(self.new),
            Bytes(self.free),
            self.place.display()
        ))
    }
}

/// What there is of a path: itself, or where it is to be made.
pub(super) fn there(path: &Path) -> &Path {
    let mut above = path.ancestors();
    let there = above.find(|place| place.exists());
    let named = there.filter(|place| !place.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// The number of the file system of this place on this host.
fn device(place: &Path) -> Option<u64> {
    let facts = std::fs::metadata(place);
    facts.ok().map(|facts| facts.dev())
}

/// What all who share targets call a file system of this host: the first of the targets that lies on it, for what
/// else there is may lie there for one of them alone.
fn shared_name<'a>(targets: &'a [PathBuf], of: u64, place: &'a Path) -> &'a Path {
    let on_it = |target: &&PathBuf| device(there(target)) == Some(of);
    targets.iter().find(on_it).map_or(place, PathBuf::as_path)
}

/// Paths and the bytes that they will need by their file systems. One that does not say what is free is
/// believed to have enough.
fn rooms<'a>(new: impl Iterator<Item = (&'a Path, u64)>) -> BTreeMap<u64, Room> {
    let mut wanted: BTreeMap<u64, Room> = BTreeMap::new();
    for (path, bytes) in new.filter(|(_, bytes)| *bytes > 0) {
        let place = there(path);
        let Some(device) = device(place) else {
            continue;
        };
        let room = wanted.entry(device).or_insert_with(|| Room {
            place: place.to_owned(),
            new: 0,
            free: sys::free_bytes(place).ok().flatten().unwrap_or(u64::MAX),
        });
        room.new = room.new.saturating_add(bytes);
    }
    wanted
}

fn growing(plans: &[FilePlan]) -> impl Iterator<Item = (&Path, u64)> {
    let grow = plans.iter().filter(|plan| !plan.is_device);
    grow.map(|plan| (plan.path.as_path(), plan.new_bytes))
}

/// What to lower where files of data do not find room.
const OF_FILES: &str = "--file-size";

/// Refuses what would end with a full disk.
pub(super) fn check_space(plans: &[FilePlan]) -> Result<(), RunError> {
    check_room(growing(plans), OF_FILES)
}

/// The same of paths and the bytes that they will need; `smaller` is what to lower.
pub(super) fn check_room<'a>(
    new: impl Iterator<Item = (&'a Path, u64)>,
    smaller: &str,
) -> Result<(), RunError> {
    let mut rooms = rooms(new).into_values();
    let checked = rooms.try_for_each(|room| room.check(smaller));
    checked.map_err(RunError::Unsuitable)
}

/// The same of what all ranks will write together, each of what it makes itself; a meeting of all.
pub(super) fn check_space_of_all(
    among: &Among<'_>,
    targets: &[PathBuf],
    own: &[FilePlan],
) -> Result<(), RunError> {
    check_room_of_all(among, targets, growing(own), OF_FILES)
}

pub(super) fn check_room_of_all<'a>(
    among: &Among<'_>,
    targets: &[PathBuf],
    new: impl Iterator<Item = (&'a Path, u64)>,
    smaller: &str,
) -> Result<(), RunError> {
    // Who is alone was held to it by itself.
    if !among.has_peers() {
        return Ok(());
    }
    let own: Vec<(String, Room)> = rooms(new)
        .into_iter()
        .map(|(device, room)| {
            let shared = shared_name(targets, device, &room.place);
            (among.file_system(shared, device), room)
        })
        .collect();
    let judge = |all: Vec<Vec<(String, Room)>>| {
        let ranks = all.iter().filter(|own| !own.is_empty()).count();
        let mut together: BTreeMap<String, Room> = BTreeMap::new();
        for (of, room) in all.into_iter().flatten() {
            let sum = together.entry(of).or_insert(Room { new: 0, ..room });
            sum.new = sum.new.saturating_add(room.new);
            sum.free = sum.free.min(room.free);
        }
        let checked = together.values().try_for_each(|room| room.check(smaller));
        let by_all = |why: String| format!("{ranks} ranks together: {why}");
        checked.map_err(by_all).err()
    };
    let refused = among.confer(own, judge)?;
    refused.map_or(Ok(()), |why| Err(RunError::Unsuitable(why)))
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
