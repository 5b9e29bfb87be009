//! How a store is opened, and what it says of itself.

use super::VersionId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When a write is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before it is answered: bytes, directory and metadata.
    Always,
    /// All writes of this many milliseconds together, after they are answered.
    Interval(u64),
    /// When the operating system likes.
    Never,
}

/// Tells milliseconds since 1970 UTC.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How a store is opened.
#[derive(Clone)]
pub struct StorageOptions {
    pub clock: WallClock,
    pub sync: SyncPolicy,
    /// Objects and parts up to this many bytes are packed beside the metadata; larger ones have
    /// files.
    pub packed_limit: u64,
    /// The least size in bytes of all parts but the last.
    pub least_part: u64,
    /// Bytes of the file system that objects leave free, so that metadata can still be written;
    /// `None` for 5 % of it, at most 256 MiB.
    pub reserve: Option<u64>,
    /// Bytes of memory for cached metadata and packed objects.
    pub cache: u64,
    /// For how long bytes on disk that were compared with their checksum may be sent again without
    /// comparing.
    pub verify_every: Duration,
}

impl StorageOptions {
    /// The defaults: synced always, reads checked at most 5 s before, 64 KiB packed, parts of at
    /// least 5 MiB as AWS has it.
    pub fn new(clock: WallClock) -> Self {
        Self {
            clock,
            sync: SyncPolicy::Always,
            packed_limit: 64 << 10,
            least_part: 5 << 20,
            reserve: None,
            cache: 64 << 20,
            verify_every: Duration::from_secs(5),
        }
    }
}

impl fmt::Debug for StorageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageOptions")
            .field("sync", &self.sync)
            .field("packed_limit", &self.packed_limit)
            .finish_non_exhaustive()
    }
}

/// How much room a store has, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub free: u64,
    /// What objects leave free.
    pub reserve: u64,
}

/// Something that does not match its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubFinding {
    pub bucket: String,
    pub key: String,
    /// `None` for a part of an upload under way.
    pub version: Option<VersionId>,
    pub what: String,
}

/// What a scrub has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scrubbed {
    pub objects: u64,
    pub parts: u64,
    pub bytes: u64,
    pub corrupt: u64,
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageCounters {
    /// Writes that took effect.
    pub writes: u64,
    /// Groups of writes that were committed together.
    pub commits: u64,
    /// Times that metadata was made durable.
    pub syncs: u64,
    /// Bytes of objects and parts that were taken in.
    pub bytes_in: u64,
    /// Bytes of objects that were given out.
    pub bytes_out: u64,
    /// Of these, the bytes that were not copied but left to the kernel to send.
    pub bytes_handed: u64,
    /// Files of objects that were freed.
    pub files_removed: u64,
    /// Pieces that did not match their checksum when they were read.
    pub corrupt_reads: u64,
}
