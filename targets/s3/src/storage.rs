//! Buckets and objects, kept in memory or on disk, behind one trait.
//!
//! Protocol and storage meet here and nowhere else: the protocol decides what a request means and
//! who may make it, the store decides what is true. Conditions (`If-Match`, `If-None-Match`) are
//! therefore decided inside the store, in the order in which writes take effect. All calls block;
//! those that only read metadata touch no disk when it is cached.

mod acl;
mod bucket;
mod claim;
mod codec;
mod conditions;
mod copy;
mod core;
mod engine;
mod error;
mod extent;
mod files;
mod handles;
mod intake;
mod keys;
mod listing;
mod lists;
mod lock;
mod multipart;
mod object;
mod options;
mod pins;
mod reader;
mod recent;
pub(crate) mod records;
mod scrub;
mod tables;
mod txn;
mod uploads;
mod versions;

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod model;
#[cfg(test)]
mod testing;

pub(crate) use acl::Public;
pub use acl::{Acl, Grant, Grantee, Right};
pub use bucket::{Bucket, BucketDocument, NewBucket, Versioning};
pub use conditions::{Conditions, EtagCondition, SourceConditions};
pub use engine::{open_disk, open_memory};
pub use error::StorageError;
pub use listing::{
    ListQuery, ListedObject, ListedUpload, ListedVersion, ObjectEntry, ObjectPage, PartPage,
    PartQuery, UploadEntry, UploadPage, UploadQuery, VersionEntry, VersionPage, VersionQuery,
};
pub use lock::{
    BucketLock, Bypass, DefaultRetention, ObjectLock, Retention, RetentionMode, RetentionPeriod,
};
pub use multipart::{
    Complete, CopyPart, NewMultipart, ObjectPart, PartFinish, PartRef, UploadedPart,
};
pub use object::{
    Checksum, ChecksumAlgorithm, ChecksumKind, Content, CopyObject, DeleteTarget, Deleted, ETag,
    Headers, ObjectVersion, PutFinish, SourceObject, Tags, VersionId,
};
pub use options::{
    ScrubFinding, Scrubbed, Space, StorageCounters, StorageOptions, SyncPolicy, WallClock,
};

pub use house::{FileSpan, SPAN};

use bytes::Bytes;
use std::ops::Range;

/// What every call of a store answers.
pub type StorageResult<T> = Result<T, StorageError>;

/// What is called with the outcome of a write, on a thread of the store: it must not block.
pub type Done<T> = Box<dyn FnOnce(StorageResult<T>) + Send>;

/// Buckets, objects with versions, and multipart uploads.
///
/// A write that was answered with `Ok` survives the end of the process; under
/// [`SyncPolicy::Always`] it survives the loss of power. A write is never half visible. Keys are at
/// most 1,024 bytes, not empty, without NUL, and never become paths.
pub trait ObjectStore: Send + Sync {
    /// Makes an empty bucket. Errors: `BucketAlreadyExists`, `BucketAlreadyOwnedByYou` when
    /// `new.owner` has it already.
    fn create_bucket(&self, bucket: &str, new: NewBucket) -> StorageResult<()>;
    /// Removes a bucket that holds no version, no delete marker and no multipart upload. Errors:
    /// `BucketNotEmpty`, `NoSuchBucket`.
    fn delete_bucket(&self, bucket: &str) -> StorageResult<()>;
    /// What is known of one bucket. Errors: `NoSuchBucket`, as for every call below that names a
    /// bucket.
    fn bucket(&self, bucket: &str) -> StorageResult<Bucket>;
    /// All buckets in the order of their names.
    fn buckets(&self) -> StorageResult<Vec<Bucket>>;
    /// Turns versioning on or suspends it; it is never off again. Errors: `VersioningStaysOn`,
    /// `LockNeedsVersions`.
    fn set_versioning(&self, bucket: &str, versioning: Versioning) -> StorageResult<()>;
    /// Gives a bucket with versions a lock, or another default to the lock it has. Errors:
    /// `NeedsVersions`.
    fn set_bucket_lock(&self, bucket: &str, lock: BucketLock) -> StorageResult<()>;
    /// Keeps one document of a bucket as it is, or with `None` removes it.
    fn set_document(
        &self,
        bucket: &str,
        document: BucketDocument,
        value: Option<Vec<u8>>,
    ) -> StorageResult<()>;
    /// One document of a bucket, or `None` where there is none.
    fn document(&self, bucket: &str, document: BucketDocument) -> StorageResult<Option<Bytes>>;

    /// Starts an object. Nothing is visible before its `finish`; dropping the handle leaves nothing
    /// behind.
    fn begin_put(&self, bucket: &str, key: &str) -> StorageResult<Box<dyn ObjectUpload>>;
    /// One version, or the latest. Errors: `NoSuchKey`, `NoSuchVersion`, and `DeleteMarker` where
    /// that is what is found.
    fn head(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<ObjectVersion>;
    /// As `head`, with a reader that stays on these bytes whatever is written or deleted
    /// afterwards.
    fn get(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<(ObjectVersion, Box<dyn ObjectReader>)>;
    /// The parts of which an object was assembled, in order; empty for an object that was put
    /// whole.
    fn parts_of(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<Vec<ObjectPart>>;
    /// Replaces the tags of one version. Errors: as for `head`.
    fn set_tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        tags: Tags,
    ) -> StorageResult<VersionId>;
    /// Replaces the access control list of one version. Errors: as for `head`.
    fn set_acl(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        acl: Option<Acl>,
    ) -> StorageResult<VersionId>;
    /// Changes until when one version is kept. Errors: as for `head`; `NoObjectLock`, `Locked`,
    /// `RetentionPassed`.
    fn set_retention(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        retention: Option<Retention>,
        bypass: Bypass,
    ) -> StorageResult<()>;
    /// Holds one version, or lets it go. Errors: as for `head`; `NoObjectLock`.
    fn set_hold(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        hold: bool,
    ) -> StorageResult<()>;
    /// Makes an object of the bytes of another, which are shared and not written again.
    fn copy_object(&self, copy: CopyObject) -> StorageResult<ObjectVersion>;
    /// Deletes objects in one commit, with one answer for each in the order given. A key that does
    /// not exist is deleted; a version that is kept is `Locked`.
    fn delete_objects(
        &self,
        bucket: &str,
        targets: Vec<DeleteTarget>,
    ) -> StorageResult<Vec<StorageResult<Deleted>>>;
    /// As `delete_objects` with one target, without waiting.
    fn delete_then(&self, bucket: &str, target: DeleteTarget, done: Done<Deleted>);

    /// Latest versions that are objects, in the order of their keys' bytes. The cost grows with the
    /// page, not with the bucket.
    fn list_objects(&self, bucket: &str, query: &ListQuery) -> StorageResult<ObjectPage>;
    /// All versions and delete markers, keys ascending and for each key the newest first.
    fn list_versions(&self, bucket: &str, query: &VersionQuery) -> StorageResult<VersionPage>;

    /// Starts a multipart upload and answers its id.
    fn create_multipart(&self, bucket: &str, key: &str, new: NewMultipart)
    -> StorageResult<String>;
    /// What an upload was started with. Errors: `NoSuchUpload`, as for every call below that names
    /// an upload.
    fn multipart(&self, bucket: &str, key: &str, upload: &str) -> StorageResult<NewMultipart>;
    /// Starts a part; a part of that number is replaced at its `finish`. Errors:
    /// `InvalidPartNumber` outside 1 to 10,000.
    fn begin_part(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        number: u32,
    ) -> StorageResult<Box<dyn PartUpload>>;
    /// Makes a part of a range of an object, whose bytes are read once for the ETag and shared, not
    /// written again.
    fn copy_part(&self, copy: CopyPart) -> StorageResult<UploadedPart>;
    /// The parts of an upload in the order of their numbers.
    fn list_parts(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        query: &PartQuery,
    ) -> StorageResult<PartPage>;
    /// Uploads under way, keys ascending and for each key the earliest first.
    fn list_uploads(&self, bucket: &str, query: &UploadQuery) -> StorageResult<UploadPage>;
    /// Makes an object of parts without copying them, and forgets the upload. Errors:
    /// `InvalidPart`, `InvalidPartOrder`, `EntityTooSmall`, `PreconditionFailed`; after an
    /// error the upload is as it was.
    fn complete_multipart(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        complete: Complete,
    ) -> StorageResult<ObjectVersion>;
    /// Forgets an upload and frees its parts.
    fn abort_multipart(&self, bucket: &str, key: &str, upload: &str) -> StorageResult<()>;

    /// Reads every object and part against its checksums and names those that are corrupt as they
    /// are found.
    fn scrub(&self, found: &mut dyn FnMut(ScrubFinding)) -> StorageResult<Scrubbed>;
    /// What the store has done since it was opened.
    fn counters(&self) -> StorageCounters;
    /// Makes durable all that was answered, whatever the policy.
    fn sync(&self) -> StorageResult<()>;
    /// How much room there is; `None` for what is kept in memory.
    fn space(&self) -> StorageResult<Option<Space>>;
    /// Whether the store can be written. Errors: `Lost`.
    fn check(&self) -> StorageResult<()>;

    /// Deletes one object; a version that is not there is deleted too. Errors:
    /// `PreconditionFailed`.
    fn delete_object(&self, bucket: &str, target: DeleteTarget) -> StorageResult<Deleted> {
        let mut answers = self.delete_objects(bucket, vec![target])?;
        answers.pop().expect("one answer for each target")
    }
}

/// An object on its way in.
pub trait ObjectUpload: Send {
    /// Takes the next bytes. Errors: `NoSpace`, `Io`; the upload is then lost.
    fn write(&mut self, bytes: &[u8]) -> StorageResult<()>;
    /// The count of the bytes so far.
    fn size(&self) -> u64;
    /// Makes the object and calls `done` once it is visible and as durable as the policy says. The
    /// bytes of an object above the packing limit are made durable before this returns; a small
    /// object returns at once.
    fn finish_then(self: Box<Self>, finish: PutFinish, done: Done<ObjectVersion>);
    /// As `finish_then`, and waits. Errors: `PreconditionFailed`, `NoSuchKey` for `If-Match` on
    /// nothing, `BadDigest`, `NoSpace`.
    fn finish(self: Box<Self>, finish: PutFinish) -> StorageResult<ObjectVersion> {
        wait(|done| self.finish_then(finish, done))
    }
}

/// A part on its way in.
pub trait PartUpload: Send {
    /// Takes the next bytes. Errors: `NoSpace`, `Io`; the part is then lost.
    fn write(&mut self, bytes: &[u8]) -> StorageResult<()>;
    /// The count of the bytes so far.
    fn size(&self) -> u64;
    /// Keeps the part and waits until it is as durable as the policy says. Errors: `NoSuchUpload`
    /// where it has ended meanwhile, `BadDigest`.
    fn finish(self: Box<Self>, finish: PartFinish) -> StorageResult<UploadedPart>;
}

/// The bytes of one version, from the start of the selected range to its end.
pub trait ObjectReader: Send {
    /// Reads from here on only these bytes of the object, counted from its start; a range past the
    /// end is cut.
    fn select(&mut self, range: Range<u64>);
    /// The next piece, at most 128 KiB, checked against its checksum before it is given; `None` at
    /// the end. Errors: `Corrupt`, `Io`.
    fn next_chunk(&mut self) -> StorageResult<Option<Bytes>>;
    /// The next piece where it is in memory; `None` at the end, or where `next_chunk` has to wait
    /// for it. Errors: `Corrupt`, `Io`.
    fn next_cached(&mut self) -> StorageResult<Option<Bytes>>;
    /// Where the next bytes lie, where they were compared with their checksums so lately that this
    /// counts; they are then read.
    fn next_span(&mut self) -> Option<FileSpan>;
}

/// Calls something that answers through a callback, and waits for the answer.
fn wait<T: Send + 'static>(call: impl FnOnce(Done<T>)) -> StorageResult<T> {
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    call(Box::new(move |outcome| drop(send.send(outcome))));
    receive.recv().unwrap_or(Err(StorageError::Closed))
}
