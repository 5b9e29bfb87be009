//! Who runs an experiment, and what the running slot has on this machine.
//!
//! The file of records itself is locked as long as the runner lives, because it has one inode
//! whatever its names are. A file beside it says what the next runner has to take away.

use crate::build::digest;
use lab::Turn;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The block that is written at once.
const BLOCK: usize = 4096;

/// The lock of a store, held until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    /// Dropped first: whoever takes the records next finds the note of this runner gone.
    note: NoteFile,
    /// `None` where the records go to a pipe or a terminal.
    _records: Option<RecordsLock>,
}

/// The file of records, locked.
#[derive(Debug)]
struct RecordsLock {
    file: File,
    path: PathBuf,
    /// It was not there before.
    is_made: bool,
}

/// The file beside the records.
#[derive(Debug)]
struct NoteFile {
    file: File,
    path: PathBuf,
    plan: String,
    left: Option<LostSlot>,
    /// The file at the path is the one that is locked.
    is_in_place: bool,
    /// What the last runner left is taken away, or there was nothing.
    is_settled: Cell<bool>,
}

/// A slot that an earlier runner had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSlot {
    pub turn: Turn,
    pub number: u32,
}

/// The place of a file of records, whatever symlinks lead to it: the same for all of its names but
/// hard links.
#[must_use]
pub fn place_of(records: &Path) -> PathBuf {
    if let Ok(place) = fs::canonicalize(records) {
        return place;
    }
    let parent = records
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match (
        fs::canonicalize(parent.unwrap_or(Path::new("."))),
        records.file_name(),
    ) {
        (Ok(parent), Some(name)) => parent.join(name),
        (Ok(_) | Err(_), _) => records.to_owned(),
    }
}

impl StoreLock {
    /// Takes the lock of an experiment by the file of its records, which is made where there is
    /// none.
    ///
    /// # Errors
    /// Somebody else runs it, who is named, or the file cannot be written.
    pub fn take(records: &Path) -> Result<Self, String> {
        let place = place_of(records);
        let beside = place.with_extension("lock");
        Ok(Self {
            _records: RecordsLock::take(&place, &beside)?,
            note: NoteFile::take(&beside)?,
        })
    }

    /// Whether somebody runs the experiment of these records.
    #[must_use]
    pub fn is_held(records: &Path) -> bool {
        let file = File::open(records);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Where a runner of these records says what is under way.
    #[must_use]
    pub fn note_of(records: &Path) -> PathBuf {
        place_of(records).with_extension("lock")
    }

    /// With the plan that is run.
    #[must_use]
    pub fn of_plan(mut self, hash: &str) -> Self {
        hash.clone_into(&mut self.note.plan);
        self
    }

    /// The slot that the last runner had begun.
    #[must_use]
    pub fn left(&self) -> Option<LostSlot> {
        self.note.left
    }

    /// What the last runner left is taken away: its note may go.
    pub(crate) fn settled(&self) {
        self.note.is_settled.set(true);
    }

    /// Says what is under way, before it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn note(
        &self,
        slot: Option<LostSlot>,
        group: Option<u32>,
        scratch: &Path,
    ) -> Result<(), String> {
        self.note.write(slot, group, scratch)
    }
}

impl RecordsLock {
    fn take(path: &Path, note: &Path) -> Result<Option<Self>, String> {
        let told = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        loop {
            let facts = fs::metadata(path).ok();
            if facts.as_ref().is_some_and(|facts| !facts.is_file()) {
                return Ok(None);
            }
            let mut options = File::options();
            let file = options
                .read(true)
                .append(true)
                .create(true)
                .open(path)
                .map_err(told)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(path, note)),
                Err(TryLockError::Error(error)) => return Err(told(error)),
            }
            // Whoever held it may have removed it meanwhile.
            if inode(file.metadata()) == inode(fs::metadata(path)) {
                return Ok(Some(Self {
                    file,
                    path: path.to_owned(),
                    is_made: facts.is_none(),
                }));
            }
        }
    }
}

impl Drop for RecordsLock {
    /// Removes a file that was made for the lock and into which nothing came.
    fn drop(&mut self) {
        let is_empty = self.file.metadata().is_ok_and(|facts| facts.len() == 0);
        if self.is_made && is_empty {
            let _nothing_depends_on_it = fs::remove_file(&self.path);
        }
    }
}

fn inode(facts: std::io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    facts.map(|facts| (facts.dev(), facts.ino())).ok()
}

/// Who holds a lock, as far as the note beside the records says it.
fn held(path: &Path, note: &Path) -> String {
    let note = File::open(note).ok().and_then(|file| read(&file));
    let who = note.and_then(|note| note["process"].as_u64());
    let who = who.map_or_else(|| "another process".into(), |pid| format!("process {pid}"));
    format!("{who} runs this experiment ({} is locked)", path.display())
}

impl NoteFile {
    fn take(path: &Path) -> Result<Self, String> {
        loop {
            let Some(mut lock) = Self::take_once(path)? else {
                continue;
            };
            // Whoever held it may have removed it meanwhile.
            if inode(lock.file.metadata()) == inode(fs::metadata(path)) {
                lock.is_in_place = true;
                return Ok(lock);
            }
        }
    }

    /// `None`: it is to be tried again.
    fn take_once(path: &Path) -> Result<Option<Self>, String> {
        let told = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        let foreign = || {
            format!(
                "{} is no lock of an experiment, and is left as it is; give the records another name (--records)",
                path.display()
            )
        };
        let file = match fs::symlink_metadata(path) {
            Ok(facts) if !facts.is_file() => return Err(foreign()),
            Ok(_) => File::options().read(true).write(true).open(path),
            Err(_) => made(path),
        };
        let file = match file {
            Ok(file) => file,
            // Somebody was faster, or has removed it meanwhile.
            Err(error) if matches!(error.kind(), AlreadyExists | NotFound) && has_parent(path) => {
                return Ok(None);
            }
            Err(error) => return Err(told(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(path, path)),
            Err(TryLockError::Error(error)) => return Err(told(error)),
        }
        if !is_own(&file).map_err(told)? {
            return Err(foreign());
        }
        let note = read(&file);
        let left = note.as_ref().and_then(|note| lost(&note["slot"]));
        if let Some(note) = note.filter(|note| note["boot"] == json!(boot())) {
            end_group(&note["group"]);
        }
        let out = Self {
            file,
            path: path.to_owned(),
            plan: String::new(),
            left,
            is_in_place: false,
            is_settled: Cell::new(left.is_none()),
        };
        Ok(Some(out))
    }

    fn write(
        &self,
        slot: Option<LostSlot>,
        group: Option<u32>,
        scratch: &Path,
    ) -> Result<(), String> {
        let written = write_note(&self.file, &self.plan, slot, group, scratch);
        written.map_err(|e| format!("cannot write {}: {e}", self.path.display()))
    }
}

impl Drop for NoteFile {
    /// Removes the file: nothing is under way. A runner that is killed leaves it, one that panics,
    /// and one that is refused before it has taken away what another left, for the next to read.
    fn drop(&mut self) {
        if self.is_in_place && self.is_settled.get() && !std::thread::panicking() {
            let _nothing_depends_on_it = fs::remove_file(&self.path);
        }
    }
}

/// A new file for notes, locked and with a first one before it has its name: what is empty under that
/// name is somebody else's.
fn made(path: &Path) -> std::io::Result<File> {
    // A name that is nobody's: whoever was killed here left it.
    let mark = digest(&path.display().to_string());
    let before = path.with_extension(format!("{mark}.lock"));
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&before)?;
    let named = file
        .try_lock()
        .map_err(std::io::Error::from)
        .and_then(|()| write_note(&file, "", None, None, Path::new("")))
        .and_then(|()| fs::hard_link(&before, path));
    fs::remove_file(&before)?;
    named.map(|()| file)
}

fn has_parent(path: &Path) -> bool {
    let parent = path.parent().filter(|at| !at.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).is_dir()
}

/// Writes a note, one block at once, and syncs it.
fn write_note(
    file: &File,
    plan: &str,
    slot: Option<LostSlot>,
    group: Option<u32>,
    scratch: &Path,
) -> std::io::Result<()> {
    let group = group.map(|pid| json!({ "process": pid, "started": started(pid) }));
    let slot = slot.map(|LostSlot { turn, number }| {
        json!({ "pass": turn.pass, "row": turn.row, "arm": turn.arm, "attempt": turn.attempt, "number": number })
    });
    let note = json!({
        "process": std::process::id(), "boot": boot(), "plan": plan, "slot": slot, "group": group,
        "scratch": scratch.display().to_string(),
    });
    let mut block = note.to_string().into_bytes();
    block.resize(BLOCK.max(block.len() + 1), b' ');
    block[BLOCK - 1] = b'\n';
    file.write_all_at(&block, 0)?;
    file.sync_data()
}

/// Whether a runner wrote a file: a note begins like this even where the rest of its block was lost.
fn is_own(file: &File) -> std::io::Result<bool> {
    let mut block = [0; BLOCK];
    let read = file.read_at(&mut block, 0)?;
    Ok(block[..read].starts_with(br#"{"boot":"#))
}

fn read(file: &File) -> Option<Value> {
    let mut block = [0; BLOCK];
    let read = file.read_at(&mut block, 0).ok()?;
    serde_json::from_slice(block[..read].trim_ascii()).ok()
}

fn lost(slot: &Value) -> Option<LostSlot> {
    let small = |key: &str| u32::try_from(slot[key].as_u64()?).ok();
    let index = |key: &str| usize::try_from(slot[key].as_u64()?).ok();
    Some(LostSlot {
        turn: Turn {
            pass: small("pass")?,
            row: index("row")?,
            arm: index("arm")?,
            attempt: small("attempt")?,
        },
        number: small("number")?,
    })
}

fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// When a process was started, in ticks since the boot: with it a number is one process for ever.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Ends a group whose first process is the one that was written down.
fn end_group(group: &Value) {
    let pid = group["process"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    let Some(pid) = pid else { return };
    let is_the_same = started(pid).is_some() && started(pid) == group["started"].as_u64();
    if is_the_same {
        let _none_is_left = sys::signal_group(pid, 9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(records: &Path) -> String {
        StoreLock::take(records).expect_err("somebody holds it")
    }

    #[test]
    fn what_is_no_lock_is_neither_written_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [path, other, records] =
            ["Cargo.lock", "other", "Cargo.jsonl"].map(|name| dir.path().join(name));
        let precious = "# This file is automatically @generated by Cargo.\n";
        fs::write(&path, precious).unwrap();
        let why = refused(&records);
        assert!(why.contains("no lock of an experiment"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), precious);
        assert!(!records.exists(), "a refusal leaves nothing");
        // As flock(1) leaves them, and a disk that lost what was in them.
        for theirs in [&b""[..], &[0; 4096]] {
            fs::write(&path, theirs).unwrap();
            refused(&records);
            assert_eq!(fs::read(&path).unwrap(), theirs);
        }
        fs::remove_file(&path).unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        refused(&records);
        assert!(path.is_symlink() && other.exists());
    }

    #[test]
    fn a_store_has_one_runner_and_the_next_learns_what_the_last_had_begun() {
        let dir = tempfile::tempdir().unwrap();
        let [path, records] = ["x.lock", "x.jsonl"].map(|name| dir.path().join(name));
        let lock = StoreLock::take(&records).unwrap();
        assert_eq!(lock.left(), None);
        let slot = LostSlot {
            turn: Turn {
                pass: 1,
                row: 2,
                arm: 3,
                attempt: 4,
            },
            number: 5,
        };
        lock.note(Some(slot), None, dir.path()).unwrap();
        let second = refused(&records);
        assert!(
            second.contains(&format!("process {} runs this", std::process::id())),
            "{second}"
        );
        let note = fs::read(&path).unwrap();
        assert_eq!(note.len(), 4096);
        drop(lock);
        assert!(!path.exists() && !records.exists());
        // As a killed runner leaves it.
        fs::write(&path, note).unwrap();
        for _refused_before_it_was_settled in 0..2 {
            let next = StoreLock::take(&records).unwrap();
            assert_eq!(next.left(), Some(slot));
        }
        StoreLock::take(&records).unwrap().settled();
        assert_eq!(StoreLock::take(&records).unwrap().left(), None);
    }

    #[test]
    fn a_store_has_one_runner_whatever_names_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let [records, symlink, hard, below] =
            ["x.jsonl", "s.jsonl", "h.jsonl", "d"].map(|name| dir.path().join(name));
        fs::write(&records, "").unwrap();
        std::os::unix::fs::symlink(&records, &symlink).unwrap();
        fs::hard_link(&records, &hard).unwrap();
        fs::create_dir(&below).unwrap();
        let lock = StoreLock::take(&records).unwrap();
        let round = below.join("../x.jsonl");
        for name in [&symlink, &hard, &round] {
            assert!(refused(name).contains("runs this experiment"), "{name:?}");
            assert!(StoreLock::is_held(name));
        }
        for name in [&symlink, &round] {
            assert_eq!(StoreLock::note_of(name), dir.path().join("x.lock"));
        }
        drop(lock);
        assert!(records.exists(), "what was there before stays");
        let lock = StoreLock::take(&hard).unwrap();
        assert!(refused(&records).contains("runs this experiment"));
        drop(lock);
        assert!(!StoreLock::is_held(&records));
    }

    #[test]
    fn a_note_has_content_before_it_has_its_name_and_what_a_killed_runner_left_before_is_no_matter()
    {
        let dir = tempfile::tempdir().unwrap();
        let [path, records] = ["x.lock", "x.jsonl"].map(|name| dir.path().join(name));
        let before = path.with_extension(format!("{}.lock", digest(&path.display().to_string())));
        fs::write(&before, "torn").unwrap();
        let lock = StoreLock::take(&records).unwrap();
        assert!(is_own(&File::open(&path).unwrap()).unwrap());
        assert!(!before.exists());
        drop(lock);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_block_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        fs::write(&path, b"{\"boot\":\"0\",\"group\":nu").unwrap();
        let lock = StoreLock::take(&dir.path().join("x.jsonl")).unwrap();
        assert_eq!(lock.left(), None);
    }

    #[test]
    fn a_process_is_its_number_and_its_start() {
        let own = std::process::id();
        assert!(started(own).is_some());
        assert_eq!(started(0), None);
    }
}
