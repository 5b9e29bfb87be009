//! Files that hold the bytes of large objects. They are named by number, written once and never
//! changed, so that a second name is a copy and an open file outlives its removal.

mod blocks;
mod disk;
mod memory;

pub(crate) use disk::{DiskFiles, Naming};
pub(crate) use memory::MemoryFiles;

use super::{Space, StorageResult};
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// The places where a crash can fall between two effects on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    CreateFile,
    WriteFile,
    SyncFile,
    LinkFile,
    SyncDirectory,
    Commit,
    Committed,
    RemoveFile,
}

/// What a test puts in the way: reached before each effect, it lets it happen or fails it.
pub(crate) trait Faults: Send + Sync {
    fn reach(&self, step: Step) -> io::Result<()>;
}

/// Nothing is in the way.
pub(crate) struct NoFaults;

impl Faults for NoFaults {
    fn reach(&self, _: Step) -> io::Result<()> {
        Ok(())
    }
}

/// A file that has no name yet; dropped, it is gone.
pub(crate) trait NewFile: Send {
    /// Errors: `NoSpace`, also where no more than the reserve is left.
    fn append(&mut self, bytes: Bytes) -> StorageResult<()>;
    /// Gives it its number. Its bytes are then as durable as the policy says; its name is once
    /// `sync_directories` has run.
    fn keep(self: Box<Self>, id: u64) -> StorageResult<()>;
}

/// Whether a read may wait for the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    ForDevice,
    /// What is not in memory is an error that `StorageError::would_wait` knows.
    Never,
}

/// A file by its number.
pub(crate) trait KeptFile: Send + Sync {
    fn len(&self) -> StorageResult<u64>;
    /// Exactly `len` bytes from `offset`.
    fn read_at(&self, offset: u64, len: usize, wait: Wait) -> StorageResult<Bytes>;
    /// The file of the operating system that these bytes lie in, at the same offsets.
    fn of_system(&self) -> Option<&Arc<File>>;
}

/// All files of a store.
pub(crate) trait Files: Send + Sync {
    fn create(&self) -> StorageResult<Box<dyn NewFile>>;
    /// Errors: `Corrupt` where there is none of this number.
    fn open(&self, id: u64) -> StorageResult<Arc<dyn KeptFile>>;
    /// Gives a file a second number. Errors: `Io` where the file system cannot.
    fn link(&self, from: u64, to: u64) -> StorageResult<()>;
    /// A file that is gone already is no error.
    fn remove(&self, id: u64) -> StorageResult<()>;
    /// Makes the names of these files durable.
    fn sync_directories(&self, ids: &[u64]) -> StorageResult<()>;
    /// Makes durable everything of the file system that the store lies on.
    fn sync_all(&self) -> StorageResult<()>;
    /// Whether more than the reserve is free.
    fn has_space(&self) -> StorageResult<bool>;
    /// What is free and what is kept free; `None` where nothing bounds it but memory.
    fn space(&self) -> StorageResult<Option<Space>>;
    /// Whether they are where they were opened.
    fn is_present(&self) -> bool;
}
