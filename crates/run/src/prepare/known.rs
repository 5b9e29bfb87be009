//! How a rank knows a file that another one made.

use super::{FileContent, ReadyFile};
use crate::error::RunError;
use crate::probe::RealProbe;
use crate::safety::{self, Approval, Referent};
use std::fs::File;
use std::path::Path;
use sys::{Clock as _, MachineClock};
use workload::Workload;

/// So long a host may hold an older view of a directory than the one in which the root made files.
const SEEN_WITHIN_NS: u64 = 3_000_000_000;
const LOOK_AGAIN_NS: u64 = 100_000_000;

/// How a rank knows a file that the root made.
pub(super) enum KnownBy {
    /// Nothing is to be written to it.
    Name,
    /// The root's mark, seen on what this is.
    Mark(Referent),
    /// It does not see that mark, and has found that this is its own to write.
    Approval(Box<Approval>),
}

impl KnownBy {
    /// Whether an open file is the one on which the root's mark was seen.
    fn is(&self, file: &File, path: &Path, writers: &str) -> bool {
        let found = file.metadata().map(|facts| Referent::of(&facts));
        match self {
            Self::Mark(seen) => {
                found.is_ok_and(|found| found == *seen) && says(file, path, writers)
            }
            Self::Name | Self::Approval(_) => false,
        }
    }

    /// Opens a file to fill it, if it is the one that the root marked.
    pub(super) fn open(&self, path: &Path, writers: &str) -> Result<File, RunError> {
        let file = sys::open_without_waiting(File::options().read(true).write(true), 0, path)
            .map_err(RunError::io("cannot open for writing", path))?;
        match self.is(&file, path, writers) {
            true => Ok(file),
            false => Err(exchanged(path)),
        }
    }

    /// What this host's own file held is known no longer: its mark is open from now on.
    pub(super) fn give_up(&self, ready: &ReadyFile, workload: &Workload) -> Result<(), RunError> {
        match self {
            Self::Name | Self::Mark(_) => Ok(()),
            Self::Approval(_) => {
                let open = FileContent::default().begin(workload, ready.bytes, ready.bytes);
                safety::write_mark(&ready.file, &ready.path, &open, &RealProbe)?;
                Ok(())
            }
        }
    }

    /// What is opened for the run must be what was looked at.
    pub(super) fn check_same(&self, ready: &ReadyFile, writers: &str) -> Result<(), RunError> {
        match self {
            Self::Name => Ok(()),
            Self::Mark(_) if self.is(&ready.file, &ready.path, writers) => Ok(()),
            Self::Mark(_) => Err(exchanged(&ready.path)),
            Self::Approval(approval) => Ok(safety::recheck(&ready.file, approval)?),
        }
    }
}

/// Until when files that the root has just made are looked for.
pub(super) fn seen_until() -> u64 {
    let now = MachineClock::monotonic().now();
    now.saturating_add(SEEN_WITHIN_NS)
}

/// The file that a path leads to, where it says so of its writers, which a host may see a moment
/// later than another wrote it.
pub(super) fn sees(path: &Path, writers: &str, until: u64) -> Option<Referent> {
    let clock = MachineClock::monotonic();
    loop {
        // A directory that is opened is looked up anew.
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let _what_is_in_it_is_asked_below = File::open(dir.unwrap_or(Path::new(".")));
        let file = sys::open_without_waiting(File::options().read(true), 0, path);
        let seen = file.ok().filter(|file| says(file, path, writers));
        let seen = seen.and_then(|file| file.metadata().ok());
        if let Some(facts) = seen {
            return Some(Referent::of(&facts));
        }
        let now = clock.now();
        if now >= until || sys::caught_signal().is_some() {
            return None;
        }
        clock.sleep_until(until.min(now + LOOK_AGAIN_NS));
    }
}

fn says(file: &File, path: &Path, writers: &str) -> bool {
    let is_file = file.metadata().is_ok_and(|facts| facts.is_file());
    let found = || safety::read_writers(file, path, &RealProbe);
    is_file && matches!(found(), Ok(Some(found)) if found == writers)
}

fn exchanged(path: &Path) -> RunError {
    RunError::Unsuitable(format!(
        "{} was exchanged for another file while it was made: nothing was written to it; run again",
        path.display()
    ))
}
