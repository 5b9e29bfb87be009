//! The one file that a profile makes: marked as Fathom's, locked while it is in use, and removed
//! with its owner.
//!
//! A profile that is killed cannot remove its file. The next one in the same directory does, if
//! everything agrees that it may: the name, the mark, a content that nobody touched since, no
//! process of that number that runs, and a lock that nobody holds. The lock is what counts between
//! containers, which do not see each other's processes.

use super::ProfileError;
use run::safety::{FileId, Mark, Stale, read_mark, remove_own, write_mark};
use run::{RealProbe, RunError};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const BEFORE: &str = ".fathom-profile-";
const AFTER: &str = ".dat";

/// A file of this process; dropped, it is removed.
#[derive(Debug)]
pub struct OwnFile {
    path: PathBuf,
    id: FileId,
    /// Held: what says to others that the file is in use.
    lock: File,
}

impl OwnFile {
    /// Makes an empty file in `dir`, of which nobody else has the name, and marks it.
    ///
    /// # Errors
    /// It cannot be made or marked.
    pub fn make(dir: &Path, process: u32) -> Result<Self, ProfileError> {
        let path = Self::path_in(dir, process);
        let failed = |what, source| {
            ProfileError::Run(RunError::Io {
                what,
                path: path.clone(),
                source,
            })
        };
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let file = opened.map_err(|source| {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return ProfileError::Unsuitable(format!(
                    "{} exists and is not a file that a profile left behind; move it away, or profile another directory",
                    path.display()
                ));
            }
            failed("cannot create", source)
        })?;
        let facts = file
            .metadata()
            .map_err(|source| failed("cannot look at", source))?;
        // Without locks the number of the process alone tells whether the file is in use.
        let _some_file_systems_have_no_locks = file.try_lock();
        let own = Self {
            id: FileId::of(&facts),
            path: path.clone(),
            lock: file,
        };
        let mark = Mark::new(concat!("fathom ", env!("CARGO_PKG_VERSION")), 0);
        write_mark(&own.lock, &path, &mark, &RealProbe).map_err(RunError::from)?;
        Ok(own)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where that of a process lies.
    pub(super) fn path_in(dir: &Path, process: u32) -> PathBuf {
        dir.join(format!("{BEFORE}{process}{AFTER}"))
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let _the_next_profile_tries_again = remove_own(&self.path, self.id);
    }
}

/// Removes what killed profiles left in a directory and says so; says also what is left alone that
/// looks like it.
#[must_use]
pub fn remove_stale(dir: &Path, process: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| Some((path, owner(path)?)))
        .filter_map(|(path, owner)| judge(path, owner, process))
        .collect()
}

/// The process that a name speaks of.
fn owner(path: &Path) -> Option<u32> {
    let number = path
        .file_name()?
        .to_str()?
        .strip_prefix(BEFORE)?
        .strip_suffix(AFTER)?;
    number
        .parse()
        .ok()
        .filter(|process: &u32| process.to_string() == number)
}

fn judge(path: &Path, owner: u32, process: u32) -> Option<String> {
    let left = |why: &str| Some(format!("{} is left alone: {why}", path.display()));
    let owner = FileOwner {
        process: owner,
        is_here: true,
    };
    let file = match abandoned(path, owner, process) {
        Ok(file) => file,
        Err(why) => return left(&why),
    };
    let removed = file
        .metadata()
        .and_then(|facts| remove_own(path, FileId::of(&facts)));
    match removed {
        Ok(true) => {}
        Ok(false) => return left("another file took its place"),
        Err(error) => return left(&format!("it cannot be removed: {error}")),
    }
    Some(format!(
        "removed {}, which a profile that was killed had left behind",
        path.display()
    ))
}

/// Whose file it is, by its name.
#[derive(Clone, Copy)]
pub(super) struct FileOwner {
    pub(super) process: u32,
    /// On this machine, where its processes are known; of others only a lock tells.
    pub(super) is_here: bool,
}

/// The file of a profile that was killed, locked as long as it is open, or why it is none.
pub(super) fn abandoned(path: &Path, owner: FileOwner, process: u32) -> Result<File, String> {
    let words = |error: io::Error| error.to_string();
    let facts = fs::symlink_metadata(path).map_err(words)?;
    if !facts.is_file() {
        return Err("it has the name of a profile's file and is no file".into());
    }
    let file = File::open(path).map_err(words)?;
    let mark = read_mark(&file, path, &RealProbe).map_err(|error| error.to_string())?;
    let mark = mark.ok_or("it has the name of a profile's file and not its mark")?;
    // A profile that was killed while it wrote left no seal; nobody else writes to a file of such a
    // name.
    match mark.still_describes(&file.metadata().map_err(words)?) {
        Ok(()) | Err(Stale::Unsealed) => {}
        Err(why) => return Err(why.to_string()),
    }
    let is_alive = owner.is_here && owner.process != process && is_running(owner.process);
    let locked = file.try_lock();
    if is_alive || matches!(locked, Err(TryLockError::WouldBlock)) {
        return Err(format!(
            "another profile (process {}) seems to run in {}, and the two disturb each other",
            owner.process,
            shown_parent(path)
        ));
    }
    if !owner.is_here && locked.is_err() {
        return Err("it is of another machine, and its file system has no locks to tell whether that still uses it".into());
    }
    Ok(file)
}

/// Whether there is such a process and it has not ended: one that was killed has a number until its
/// parent asks for it, and its threads may go on for a moment after the first.
fn is_running(process: u32) -> bool {
    let place = PathBuf::from(format!("/proc/{process}"));
    let threads = match fs::read_dir(place.join("task")) {
        Ok(threads) => threads,
        Err(_) => return place.exists(),
    };
    let mut states = threads.map(|thread| {
        let stat = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        let (_, after) = stat.rsplit_once(')')?;
        after.trim_start().chars().next()
    });
    !states.all(|state| matches!(state, Some('Z' | 'X')))
}

fn shown_parent(path: &Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// No process has this number: the kernel's largest is 2^22.
    const NOBODY: u32 = 4_194_305;

    fn names(dir: &Path) -> Vec<String> {
        let mut out: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        out.sort();
        out
    }

    /// What a killed profile of that number leaves.
    fn abandoned(dir: &Path, process: u32) -> PathBuf {
        let own = OwnFile::make(dir, process).unwrap();
        let (path, beside) = (own.path().to_owned(), dir.join("kept"));
        fs::rename(&path, &beside).unwrap();
        drop(own);
        fs::rename(&beside, &path).unwrap();
        path
    }

    #[test]
    fn the_file_is_gone_with_its_owner_also_after_a_panic() {
        let place = tempfile::tempdir().unwrap();
        let own = OwnFile::make(place.path(), NOBODY).unwrap();
        assert!(own.path().exists());
        drop(own);
        assert_eq!(names(place.path()), [""; 0]);
        let dir = place.path().to_owned();
        let panicked = std::panic::catch_unwind(|| {
            let _own = OwnFile::make(&dir, NOBODY).unwrap();
            panic!("in the middle of a profile");
        });
        assert!(panicked.is_err());
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn a_file_that_took_its_place_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let own = OwnFile::make(place.path(), NOBODY).unwrap();
        let path = own.path().to_owned();
        fs::rename(&path, place.path().join("moved")).unwrap();
        fs::write(&path, "foreign").unwrap();
        drop(own);
        assert_eq!(fs::read_to_string(&path).unwrap(), "foreign");
    }

    #[test]
    fn what_a_killed_profile_left_is_removed_and_said() {
        let place = tempfile::tempdir().unwrap();
        abandoned(place.path(), NOBODY);
        fs::write(place.path().join("other"), "x").unwrap();
        let said = remove_stale(place.path(), std::process::id());
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("removed ") && said[0].contains(".fathom-profile-4194305.dat"),
            "{said:?}"
        );
        assert_eq!(names(place.path()), ["other"]);
        assert_eq!(remove_stale(place.path(), std::process::id()), [""; 0]);
    }

    #[test]
    fn what_a_killed_profile_left_whose_parent_has_not_asked_for_it_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        abandoned(place.path(), child.id());
        let said = remove_stale(place.path(), std::process::id());
        assert!(said[0].contains("seems to run"), "{said:?}");
        child.kill().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        let said = remove_stale(place.path(), std::process::id());
        assert!(said[0].starts_with("removed "), "{said:?}");
        assert_eq!(names(place.path()), [""; 0]);
        child.wait().unwrap();
    }

    #[test]
    fn what_is_in_use_or_foreign_or_changed_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let locked = OwnFile::make(place.path(), NOBODY).unwrap();
        let alive = abandoned(place.path(), 1);
        let foreign = place.path().join(".fathom-profile-4194306.dat");
        fs::write(&foreign, "data").unwrap();
        let grown = abandoned(place.path(), NOBODY + 2);
        fs::write(&grown, "more than was marked").unwrap();
        let link = place.path().join(".fathom-profile-4194308.dat");
        std::os::unix::fs::symlink(&grown, &link).unwrap();
        fs::write(place.path().join(".fathom-profile-x.dat"), "").unwrap();
        let said = remove_stale(place.path(), std::process::id());
        assert_eq!(said.len(), 5, "{said:?}");
        assert!(
            [locked.path(), &alive, &foreign, &grown, &link]
                .iter()
                .all(|path| path.exists()),
            "{said:?}"
        );
        assert_eq!(
            said.iter()
                .filter(|text| text.contains("seems to run"))
                .count(),
            2,
            "{said:?}"
        );
    }

    #[test]
    fn a_name_that_is_taken_is_refused_and_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let taken = place.path().join(".fathom-profile-4194305.dat");
        fs::write(&taken, "data").unwrap();
        let error = OwnFile::make(place.path(), NOBODY).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("exists and is not a file that a profile left behind"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(taken).unwrap(), "data");
    }
}
