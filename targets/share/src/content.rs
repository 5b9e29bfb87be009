//! The bytes of uploads: two layouts behind one trait, and a hook at each effect on the disk.
//!
//! A **body** is the bytes of one upload under a number that no other body of this store has while
//! it lives. It is written once, in chunks of one length, of which only the last may be shorter.

mod files;
mod pages;
mod rows;
mod spare;

pub(crate) use files::BodyFiles;
pub(crate) use rows::BodyRows;
pub(crate) use spare::Spare;

use crate::error::{ShareError, ShareResult};
use bytes::Bytes;
use house::FileSpan;
use rusqlite::{Connection, MAIN_DB};
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The places where a crash can fall between two effects on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    CreateBody,
    WriteChunk,
    FinishBody,
    SyncBody,
    NameBody,
    SyncDirectory,
    Commit,
    Committed,
    RemoveBody,
}

/// What a test puts in the way: reached before each effect, it lets it happen or fails it.
pub(crate) trait Obstacle: Send + Sync {
    fn reach(&self, effect: Effect) -> io::Result<()>;
}

/// Nothing is in the way.
pub(crate) struct Unobstructed;

impl Obstacle for Unobstructed {
    fn reach(&self, _: Effect) -> io::Result<()> {
        Ok(())
    }
}

/// What all parts of a store share: what stands in their way, and what they count.
pub(crate) struct Footing {
    pub(crate) obstacle: Arc<dyn Obstacle>,
    /// A directory of each file system that something lies on.
    places: Vec<PathBuf>,
    spare: Spare,
    /// Bytes of it that uploads leave free.
    pub(crate) reserve: u64,
    pub(crate) commits: AtomicU64,
    pub(crate) syncs: AtomicU64,
    /// Bytes of uploads that were given to SQLite, and taken from it.
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) removed: AtomicU64,
}

/// The most that is kept free where nobody said how much.
const MOST_RESERVED: u64 = 256 << 20;

/// Free bytes of a file system, and all that it has.
fn space_of(place: &Path) -> ShareResult<(u64, u64)> {
    let found = statvfs(place).map_err(|e| ShareError::io("asking for free space", e.into()))?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok((bytes(found.f_bavail), bytes(found.f_blocks)))
}

impl Footing {
    /// Errors: `Io` where the file system cannot be asked.
    pub(crate) fn new(
        obstacle: Arc<dyn Obstacle>,
        places: Vec<PathBuf>,
        reserve: Option<u64>,
        spare: Spare,
    ) -> ShareResult<Self> {
        let reserve = match reserve {
            Some(reserve) => reserve,
            None => {
                let sizes = places.iter().map(|place| Ok(space_of(place)?.1));
                let sizes = sizes.collect::<ShareResult<Vec<_>>>()?;
                (sizes.into_iter().min().unwrap_or(0) / 20).min(MOST_RESERVED)
            }
        };
        Ok(Self {
            obstacle,
            places,
            spare,
            reserve,
            commits: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            removed: AtomicU64::new(0),
        })
    }

    pub(crate) fn reach(&self, effect: Effect) -> ShareResult<()> {
        self.obstacle
            .reach(effect)
            .map_err(|e| ShareError::io("a step of a write", e))
    }

    /// Free bytes of the file system that has least of them.
    pub(crate) fn free(&self) -> ShareResult<u64> {
        let mut least = u64::MAX;
        for place in &self.places {
            least = least.min(space_of(place)?.0);
        }
        Ok(least)
    }

    /// The place of those whose file system nobody can write to now: what SQLite says of it does not
    /// tell.
    pub(crate) fn read_only(&self) -> Option<&Path> {
        let is_read_only = |place: &&PathBuf| {
            statvfs(place.as_path()).is_ok_and(|of| of.f_flag.contains(StatVfsMountFlags::RDONLY))
        };
        self.places.iter().find(is_read_only).map(PathBuf::as_path)
    }

    /// Gives up the spare space where a database could not even be opened without it.
    pub(crate) fn open_up(&self) -> ShareResult<()> {
        if self.free()? < self.spare.bytes {
            self.spare.release();
        }
        Ok(())
    }

    /// Sets space aside again once there is any, before uploads get it. Without it, deleting needs
    /// space like all else.
    pub(crate) fn set_aside(&self) {
        if self.free().is_ok_and(|free| free > self.spare.bytes) {
            let _without = self.spare.keep();
        }
    }

    /// Gives up the spare space; whether there was any.
    pub(crate) fn relieve(&self) -> bool {
        self.spare.release()
    }

    /// Errors: `NoSpace` where so many more bytes would go below the reserve.
    pub(crate) fn room_for(&self, bytes: u64) -> ShareResult<()> {
        let needed = self.reserve.saturating_add(bytes);
        if self.free()? > needed {
            Ok(())
        } else {
            Err(ShareError::NoSpace)
        }
    }

    pub(crate) fn count(&self, counter: impl Fn(&Self) -> &AtomicU64, by: u64) {
        counter(self).fetch_add(by, Relaxed);
    }
}

/// Which body, and in pieces of which length it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyPlace {
    pub(crate) number: u64,
    pub(crate) chunk: u64,
}

/// A body that is being written. Dropped before it is kept by a row of the index, it is gone.
pub(crate) trait Draft: Send {
    fn place(&self) -> BodyPlace;
    /// Adds a chunk: of the length of [`BodyPlace::chunk`], or the last. Errors: `NoSpace`, also where no
    /// more than the reserve is left.
    fn append(&mut self, chunk: &[u8]) -> ShareResult<()>;
    /// Gives up the memory that writing takes; what is appended later takes it again.
    fn rest(&mut self) -> ShareResult<()> {
        Ok(())
    }
    /// Makes the body as durable as the store is, under its number, so that a row can name it.
    fn finish(&mut self) -> ShareResult<()>;
    /// Looks whether all that was appended is still there, and is so many bytes, in the transaction
    /// of the index that is about to name it. Errors: `Damaged`.
    fn check(&self, index: &Connection, size: u64) -> ShareResult<()>;
    /// A row names it: it stays.
    fn kept(self: Box<Self>);
}

/// A chunk as it is sent.
#[derive(Debug, Clone)]
pub(crate) enum ReadChunk {
    Bytes(Bytes),
    /// Where it lies in a file that is never changed.
    Spans(Vec<FileSpan>),
}

/// A body that is read.
pub(crate) trait BodyReader: Send {
    /// So many chunks from one on, or as many as there are.
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>>;
    /// Some bytes of one chunk, or as many as it has.
    fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes>;
    /// Whether its chunks lie in a file that the kernel can send from.
    fn has_places(&self) -> bool {
        false
    }
    /// Where a chunk lies in that file; `None` where there is none.
    fn place(&mut self, _: u64) -> ShareResult<Option<Vec<FileSpan>>> {
        Ok(None)
    }
}

/// The table of chunks and the column of their bytes.
const TABLE: (&CStr, &CStr) = (c"chunk", c"bytes");

/// The number of a row as SQLite has it.
fn row_of(number: u64) -> ShareResult<i64> {
    i64::try_from(number)
        .map_err(|_too_large| ShareError::Damaged(format!("row {number:x} of an upload")))
}

/// Adds a chunk. It is copied once, into its pages: as the value of a statement it would be copied
/// twice before that, whatever its length.
fn write_row(connection: &Connection, number: u64, chunk: &[u8]) -> ShareResult<()> {
    let insert = "INSERT INTO chunk VALUES (?1, zeroblob(?2))";
    connection
        .prepare_cached(insert)?
        .execute((number, chunk.len() as u64))?;
    if !chunk.is_empty() {
        let (table, column) = TABLE;
        let mut row = connection.blob_open(MAIN_DB, table, column, row_of(number)?, false)?;
        row.write_at(chunk, 0)?;
        row.close()?;
    }
    Ok(())
}

/// Why a body is not linked in.
fn not_whole(number: u64, found: u64, size: u64) -> ShareError {
    ShareError::Damaged(format!(
        "body {number:x} of an upload ({found} of {size} bytes)"
    ))
}

/// All bodies of a store.
pub(crate) trait Bodies: Send + Sync {
    fn begin(&self) -> ShareResult<Box<dyn Draft>>;
    /// Errors: `Damaged` where there is none of this number.
    fn open(&self, number: u64) -> ShareResult<Box<dyn BodyReader>>;
    /// The bytes of a body, added up.
    fn size(&self, number: u64) -> ShareResult<u64>;
    /// One that is gone already is no error.
    fn remove(&self, number: u64) -> ShareResult<()>;
    /// Removes all but these, and says how many that were and which of these are missing.
    fn settle(&self, kept: &BTreeSet<u64>) -> ShareResult<Settled>;
    /// Bytes of files that hold nothing but bodies.
    fn on_disk(&self) -> ShareResult<u64>;
    /// Gives what was freed back to the file system.
    fn give_back(&self) -> ShareResult<()>;
}

/// What was found at the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// Bodies that no upload had: of uploads that never ended.
    pub removed: u64,
    /// Bodies that are not there.
    pub missing: BTreeSet<u64>,
}
