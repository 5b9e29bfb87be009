//! Who runs an experiment, and what the running slot has on this machine: a file beside the records,
//! locked as long as the runner lives, from which the next one learns what to take away.

use crate::child::has_mark;
use crate::limits;
use lab::Turn;
use serde_json::{Value, json};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use sys::{Clock as _, MachineClock};

/// The block that is written at once.
const BLOCK: usize = 4096;
/// The longest wait until what was ended is gone.
const GONE_NS: u64 = 10_000_000_000;
const LOOK_NS: u64 = 2_000_000;

/// The lock of a store, held until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
    path: PathBuf,
    plan: String,
    left: Option<LostSlot>,
    /// The file at the path is the one that is locked.
    is_in_place: bool,
}

/// A slot that an earlier runner had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSlot {
    pub turn: Turn,
    pub number: u32,
}

impl StoreLock {
    /// Takes the lock of an experiment.
    ///
    /// # Errors
    /// Somebody else runs it, who is named, or the file cannot be written.
    pub fn take(path: &Path, plan: &str) -> Result<Self, String> {
        loop {
            let mut lock = Self::take_once(path, plan)?;
            // Whoever held it may have removed it meanwhile.
            let inode = |facts: std::io::Result<fs::Metadata>| facts.map(|facts| facts.ino()).ok();
            if inode(lock.file.metadata()) == inode(fs::metadata(path)) {
                lock.is_in_place = true;
                return Ok(lock);
            }
        }
    }

    fn take_once(path: &Path, plan: &str) -> Result<Self, String> {
        let told = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        let foreign = || {
            format!(
                "{} is no lock of an experiment, and is left as it is; give the records another name (--records)",
                path.display()
            )
        };
        if fs::symlink_metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return Err(foreign());
        }
        let options = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = options.map_err(told)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = read(&file).and_then(|note| note["process"].as_u64());
                let who =
                    who.map_or_else(|| "another process".into(), |pid| format!("process {pid}"));
                return Err(format!(
                    "{who} runs this experiment ({} is locked)",
                    path.display()
                ));
            }
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
            plan: plan.to_owned(),
            left,
            is_in_place: false,
        };
        Ok(out)
    }

    /// The slot that the last runner had begun.
    #[must_use]
    pub fn left(&self) -> Option<LostSlot> {
        self.left
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
        let group = group.map(|pid| json!({ "process": pid, "started": started(pid) }));
        let slot = slot.map(|LostSlot { turn, number }| {
            json!({ "pass": turn.pass, "row": turn.row, "arm": turn.arm, "attempt": turn.attempt, "number": number })
        });
        let note = json!({
            "process": std::process::id(), "boot": boot(), "plan": self.plan, "slot": slot, "group": group,
            "scratch": scratch.display().to_string(),
        });
        let mut block = note.to_string().into_bytes();
        block.resize(BLOCK.max(block.len() + 1), b' ');
        block[BLOCK - 1] = b'\n';
        let written = self
            .file
            .write_all_at(&block, 0)
            .and_then(|()| self.file.sync_data());
        written.map_err(|e| format!("cannot write {}: {e}", self.path.display()))
    }
}

impl Drop for StoreLock {
    /// Removes the file: nothing is under way. A runner that is killed leaves it, and one that
    /// panics, for the next to read.
    fn drop(&mut self) {
        if self.is_in_place && !std::thread::panicking() {
            let _nothing_depends_on_it = fs::remove_file(&self.path);
        }
    }
}

/// Whether a runner wrote a file, or was about to: a note begins like this even where the rest of its
/// block was lost, and a block of which nothing reached the disk is empty or zeros.
fn is_own(file: &File) -> std::io::Result<bool> {
    let mut block = [0; BLOCK];
    let read = file.read_at(&mut block, 0)?;
    let is_nothing =
        block[..read].iter().all(|byte| *byte == 0) && file.metadata()?.len() <= BLOCK as u64;
    Ok(is_nothing || block.starts_with(br#"{"boot":"#))
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

/// Takes away what an experiment left on this machine: processes by their mark, control groups by
/// their names, directories.
///
/// # Errors
/// Something stays.
pub(crate) fn clear(mark: &str, scratch: &Path, clock: &MachineClock) -> Result<(), String> {
    let until = clock.now().saturating_add(GONE_NS);
    loop {
        let left = marked(mark);
        if left.is_empty() {
            break;
        }
        if clock.now() >= until {
            return Err(format!(
                "processes {left:?} of an earlier runner do not end"
            ));
        }
        for pid in left {
            let _gone = sys::signal_process(pid, 9);
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
    limits::remove(&limits::left_behind(&format!("fathom-{mark}")), clock)?;
    match fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} is left behind: {error}", scratch.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Processes that were started for slots of this experiment and live.
fn marked(mark: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id() && has_mark(*pid, mark))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_lock_is_neither_written_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [path, other] = ["Cargo.lock", "other"].map(|name| dir.path().join(name));
        let precious = "# This file is automatically @generated by Cargo.\n";
        fs::write(&path, precious).unwrap();
        let why = StoreLock::take(&path, "p").unwrap_err();
        assert!(why.contains("no lock of an experiment"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), precious);
        fs::remove_file(&path).unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(StoreLock::take(&path, "p").is_err());
        assert!(path.is_symlink() && other.exists());
    }

    #[test]
    fn a_store_has_one_runner_and_the_next_learns_what_the_last_had_begun() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let lock = StoreLock::take(&path, "p").unwrap();
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
        let second = StoreLock::take(&path, "p").unwrap_err();
        assert!(
            second.contains(&format!("process {} runs this", std::process::id())),
            "{second}"
        );
        let note = fs::read(&path).unwrap();
        assert_eq!(note.len(), 4096);
        drop(lock);
        assert!(!path.exists());
        // As a killed runner leaves it.
        fs::write(&path, note).unwrap();
        let next = StoreLock::take(&path, "p").unwrap();
        assert_eq!(next.left(), Some(slot));
    }

    #[test]
    fn a_torn_block_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        fs::write(&path, b"{\"boot\":\"0\",\"group\":nu").unwrap();
        assert_eq!(StoreLock::take(&path, "p").unwrap().left(), None);
    }

    #[test]
    fn a_process_is_its_number_and_its_start() {
        let own = std::process::id();
        assert!(started(own).is_some());
        assert_eq!(started(0), None);
    }
}
