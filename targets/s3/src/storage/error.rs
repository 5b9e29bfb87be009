//! Why a call did not do what it was asked.

use super::VersionId;
use rustix::io::Errno;
use std::io;

/// What went wrong, in the terms of S3 where S3 has one.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("there is no bucket of this name")]
    NoSuchBucket,
    #[error("another owner has a bucket of this name")]
    BucketAlreadyExists,
    #[error("you have a bucket of this name")]
    BucketAlreadyOwnedByYou,
    #[error("the bucket holds objects, versions, delete markers or uploads")]
    BucketNotEmpty,
    #[error("there is no object of this key")]
    NoSuchKey,
    #[error("there is no such version of this key")]
    NoSuchVersion,
    /// The version asked for, or the latest where none was, is a delete marker.
    #[error("version {version} is a delete marker")]
    DeleteMarker {
        version: VersionId,
        modified_ms: u64,
    },
    #[error("there is no such upload of this key")]
    NoSuchUpload,
    #[error("a condition of the request does not hold")]
    PreconditionFailed,
    #[error("part {number} was not uploaded, or its ETag or checksum is another")]
    InvalidPart { number: u32 },
    #[error("the parts are not in ascending order")]
    InvalidPartOrder,
    #[error("a part has a number from 1 to 10,000, not {number}")]
    InvalidPartNumber { number: u32 },
    #[error("no parts are named")]
    NoParts,
    #[error("part {number} has {size} bytes; all but the last have at least {least}")]
    EntityTooSmall { number: u32, size: u64, least: u64 },
    #[error("the parts have {found} bytes together, not {expected}")]
    SizeMismatch { expected: u64, found: u64 },
    #[error("the bytes do not have the digest that was sent with them")]
    BadDigest,
    #[error("the range lies outside the {size} bytes of the object")]
    InvalidRange { size: u64 },
    #[error("a key has 1 to 1,024 bytes and no NUL")]
    InvalidKey,
    #[error("a key has at most 1,024 bytes, not {bytes}")]
    KeyTooLong { bytes: usize },
    #[error("versioning cannot be turned off again, only suspended")]
    VersioningStaysOn,
    #[error("the bucket has a lock, under which versioning stays on")]
    LockNeedsVersions,
    #[error("a lock needs versioning to be on")]
    NeedsVersions,
    #[error("the bucket has no lock")]
    NoObjectLock,
    #[error("the version is kept by its retention or a hold")]
    Locked,
    #[error("a retention ends in the future")]
    RetentionPassed,
    #[error("no space is left for objects")]
    NoSpace,
    /// What is kept does not match its checksum or cannot be decoded.
    #[error("kept data is corrupt: {what}")]
    Corrupt { what: String },
    #[error("the store is closed")]
    Closed,
    /// The directory was removed, or is another than the one that was opened: nothing is written
    /// until the next start.
    #[error(
        "the directory of the store is gone: nothing is written until the server is started again"
    )]
    Lost,
    /// The directory is not one that this store can open.
    #[error("{path} cannot be opened as a store: {why}")]
    Unusable { path: String, why: String },
    #[error("{what}")]
    Io {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("metadata store")]
    Metadata(#[source] fjall::Error),
}

impl StorageError {
    /// An error of the operating system: `NoSpace` where that is what it says.
    pub(crate) fn io(what: &'static str, source: io::Error) -> Self {
        let full = matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        if full {
            Self::NoSpace
        } else {
            Self::Io { what, source }
        }
    }

    /// Whether a read that was not to wait for the device would have had to.
    pub(crate) fn would_wait(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the process, or the system, has as many files open as it may.
    pub(crate) fn too_many_files(&self) -> bool {
        matches!(self, Self::Io { source, .. } if [Errno::MFILE, Errno::NFILE].iter().any(|full| source.raw_os_error() == Some(full.raw_os_error())))
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}

impl From<fjall::Error> for StorageError {
    fn from(error: fjall::Error) -> Self {
        if let fjall::Error::Io(source) = error {
            Self::io("metadata store", source)
        } else {
            Self::Metadata(error)
        }
    }
}
