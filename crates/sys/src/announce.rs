//! Where processes announce that they use a file, whatever it is for.
//!
//! Locks lie on two bytes at the far end of the range that a file can have, where no data are: one
//! belongs to writers, of whom there is one process at a time, the other to readers. They are locks
//! of the open file, so that the kernel drops them with the process.

use crate::{LockKind, ofd_is_locked, ofd_try_lock};
use std::fs::File;
use std::io;

/// What lies beyond every byte that a lock on data covers.
pub const LOCKABLE: u64 = u64::MAX / 2 - 2;

/// What a process does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Writes,
    Reads,
}

impl FileUse {
    fn byte(self) -> u64 {
        match self {
            Self::Writes => LOCKABLE,
            Self::Reads => LOCKABLE + 1,
        }
    }
}

/// Announces the use of an open file for as long as it is open; `false` where another writes to it
/// and this one wants to as well.
///
/// # Errors
/// The file system has no locks.
pub fn announce_use(file: &File, used: FileUse) -> io::Result<bool> {
    let kind = match used {
        FileUse::Writes => LockKind::Exclusive,
        FileUse::Reads => LockKind::Shared,
    };
    ofd_try_lock(file, kind, used.byte(), 1)
}

/// Whether another open file announces such a use.
///
/// # Errors
/// The file system has no locks.
pub fn is_announced(file: &File, used: FileUse) -> io::Result<bool> {
    ofd_is_locked(file, LockKind::Exclusive, used.byte(), 1)
}
