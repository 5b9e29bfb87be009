//! Who uses a file at this moment: locks between processes, and what this process knows of itself.
//!
//! What processes announce to each other is `sys::announce_use`. Phases of one process that use one
//! file were asked for together and share its lock.

use super::{Access, FileId, Probe as _, Refusal, Use, file_in_use};
use crate::probe::RealProbe;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use sys::FileUse;

/// What this process writes to, with the open file that has the lock.
static WRITTEN: Mutex<Vec<(FileId, Weak<File>)>> = Mutex::new(Vec::new());

/// The use of a file, announced to others as long as this is kept.
#[derive(Debug)]
pub(crate) struct Announced {
    /// What the reader of the result should know of others, or of a file system without locks.
    pub(crate) note: Option<String>,
    /// Held, not read: the open file that has the lock, of this phase or of another.
    _lock: Option<Arc<File>>,
}

/// Announces that an open file is read or written.
///
/// # Errors
/// Another process writes to it, and this one wants to as well.
pub(crate) fn announce(
    file: &Arc<File>,
    path: &Path,
    access: Access,
) -> Result<Announced, Refusal> {
    let unreadable = |source| Refusal::Unreadable {
        path: path.to_owned(),
        source,
    };
    let id = FileId::of(&file.metadata().map_err(unreadable)?);
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    written.retain(|(_, lock)| lock.strong_count() > 0);
    let own = written
        .iter()
        .find(|(other, _)| *other == id)
        .and_then(|(_, lock)| lock.upgrade());
    let taken = match (access, &own) {
        (Access::Write, Some(lock)) => {
            return Ok(Announced {
                note: None,
                _lock: Some(Arc::clone(lock)),
            });
        }
        (Access::Write, None) => sys::announce_use(file, FileUse::Writes),
        (Access::Read, _) => sys::announce_use(file, FileUse::Reads),
    };
    match taken {
        Ok(true) => {
            if access == Access::Write {
                written.push((id, Arc::downgrade(file)));
            }
            let others = if access == Access::Write {
                FileUse::Reads
            } else {
                FileUse::Writes
            };
            let note =
                (own.is_none() && sys::is_announced(file, others).unwrap_or(false)).then(|| {
                    let does = if access == Access::Write {
                        "reads"
                    } else {
                        "writes to"
                    };
                    format!(
                        "{} {does} {} at the same time: each of the two disturbs the other",
                        users(id),
                        path.display()
                    )
                });
            Ok(Announced {
                note,
                _lock: Some(Arc::clone(file)),
            })
        }
        Ok(false) => Err(Refusal::Written {
            path: path.to_owned(),
            by: users(id),
        }),
        Err(error) => {
            let note = format!(
                "{}: its file system gives no lock ({error}), so nothing keeps another run from writing to it",
                path.display()
            );
            Ok(Announced {
                note: Some(note),
                _lock: None,
            })
        }
    }
}

/// Whether this process writes to a file.
pub(super) fn is_written_here(id: FileId) -> bool {
    let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    written
        .iter()
        .any(|(other, lock)| *other == id && lock.strong_count() > 0)
}

/// The other process that writes to an open file, as words; `None` where there is none, or where
/// that cannot be told.
pub(super) fn other_writer(file: &File) -> Option<String> {
    let id = FileId::of(&file.metadata().ok()?);
    let is_locked =
        !is_written_here(id) && sys::is_announced(file, FileUse::Writes).unwrap_or(false);
    is_locked.then(|| users(id))
}

/// What the kernel does with a regular file: the backing of a loop device, or swap space.
pub fn kernels_use(path: &Path) -> Option<Use> {
    let uses = file_in_use(Path::new("/"), path, &|node| RealProbe.loop_backing(node));
    uses.into_iter().find(Use::is_certain)
}

/// Processes other than this one that have a file open, as far as this user may know.
fn users(id: FileId) -> String {
    let mut found: Vec<String> = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = process.file_name().to_string_lossy().parse::<u32>().ok();
        let Some(number) = number.filter(|number| *number != std::process::id()) else {
            continue;
        };
        let open = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let has_it =
            |at: &fs::DirEntry| fs::metadata(at.path()).is_ok_and(|facts| FileId::of(&facts) == id);
        if open.into_iter().any(|at| has_it(&at)) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.push(format!("process {number} ({})", name.trim()));
        }
    }
    if found.is_empty() {
        "another run, whose process cannot be told,".to_owned()
    } else {
        found.join(", ")
    }
}

/// Exclusive claims on devices that this process has, by what the kernel knows them by.
static CLAIMED: Mutex<Vec<(super::DeviceNumber, Weak<File>)>> = Mutex::new(Vec::new());

/// The claim on a device: the one that another phase of this process has, or a new one.
pub(super) fn claim_once(
    number: super::DeviceNumber,
    claim: impl FnOnce() -> io::Result<File>,
) -> io::Result<Arc<File>> {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    claimed.retain(|(_, held)| held.strong_count() > 0);
    if let Some(held) = claimed
        .iter()
        .find(|(other, _)| *other == number)
        .and_then(|(_, held)| held.upgrade())
    {
        return Ok(held);
    }
    let held = Arc::new(claim()?);
    claimed.push((number, Arc::downgrade(&held)));
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// An open file, and how somebody else would have it open: another description, of which this
    /// process knows nothing.
    fn opened() -> (tempfile::TempDir, PathBuf, Arc<File>, File) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        fs::write(&path, "x").unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (ours, theirs) = (Arc::new(open()), open());
        (place, path, ours, theirs)
    }

    #[test]
    fn a_second_writer_is_refused_until_the_first_has_ended() {
        let (_place, path, ours, theirs) = opened();
        assert!(sys::announce_use(&theirs, FileUse::Writes).unwrap());
        let refused = announce(&ours, &path, Access::Write).unwrap_err();
        assert!(matches!(refused, Refusal::Written { .. }), "{refused}");
        assert!(other_writer(&ours).is_some());
        drop(theirs);
        assert!(other_writer(&ours).is_none());
        assert!(
            announce(&ours, &path, Access::Write)
                .unwrap()
                .note
                .is_none()
        );
    }

    #[test]
    fn readers_share_and_a_writer_beside_a_reader_is_noted_by_both() {
        let (_place, path, ours, theirs) = opened();
        assert!(sys::announce_use(&theirs, FileUse::Reads).unwrap());
        let reading = announce(&ours, &path, Access::Read).unwrap();
        assert_eq!(reading.note, None);
        let writing = announce(&ours, &path, Access::Write).unwrap();
        assert!(writing.note.unwrap().contains(" reads "));
        assert!(
            sys::announce_use(&theirs, FileUse::Writes).is_ok_and(|taken| !taken),
            "it is ours"
        );
        let (_place, path, ours, theirs) = opened();
        assert!(sys::announce_use(&theirs, FileUse::Writes).unwrap());
        assert!(
            announce(&ours, &path, Access::Read)
                .unwrap()
                .note
                .unwrap()
                .contains(" writes to ")
        );
    }

    #[test]
    fn phases_of_one_process_share_what_it_writes_to() {
        let (_place, path, first, _) = opened();
        let second = Arc::new(File::options().read(true).write(true).open(&path).unwrap());
        let id = FileId::of(&first.metadata().unwrap());
        let one = announce(&first, &path, Access::Write).unwrap();
        let two = announce(&second, &path, Access::Write).unwrap();
        drop((one, first));
        assert!(is_written_here(id), "the second phase goes on");
        drop(two);
        assert!(!is_written_here(id));
    }

    #[test]
    fn locks_on_all_data_leave_the_announcements_alone() {
        let (_place, path, ours, theirs) = opened();
        sys::ofd_lock(&theirs, sys::LockKind::Exclusive, 0, sys::LOCKABLE).unwrap();
        announce(&ours, &path, Access::Write).unwrap();
        announce(&ours, &path, Access::Read).unwrap();
    }
}
