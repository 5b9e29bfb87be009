//! Pages of what a bucket holds.
//!
//! `after` and the markers are exclusive. One that is itself a common prefix of the listing skips
//! all keys that it stands for, so the `next` of a page is the `after` of the following one.

use super::{ChecksumAlgorithm, ChecksumKind, ETag, UploadedPart, VersionId};

/// Which objects to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    pub prefix: String,
    /// Keys with this text after the prefix are listed once for each text up to it.
    pub delimiter: Option<String>,
    pub after: Option<String>,
    /// The most entries of a page, common prefixes counted.
    pub max: usize,
}

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    pub key: String,
    /// Milliseconds since 1970 UTC.
    pub modified_ms: u64,
    /// Bytes.
    pub size: u64,
    pub etag: ETag,
    pub storage_class: Option<String>,
    pub checksum: Option<(ChecksumAlgorithm, ChecksumKind)>,
}

/// One entry of a listing of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectEntry {
    Object(ListedObject),
    CommonPrefix(String),
}

/// A page of objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectPage {
    pub entries: Vec<ObjectEntry>,
    /// The `after` of the next page; `None` where this is the last.
    pub next: Option<String>,
}

/// Which versions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionQuery {
    pub prefix: String,
    pub delimiter: Option<String>,
    pub key_marker: Option<String>,
    /// Begins after this version of the key marker; without it, after all versions of that key.
    pub version_marker: Option<VersionId>,
    pub max: usize,
}

/// One version or delete marker of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedVersion {
    pub object: ListedObject,
    pub version: VersionId,
    pub latest: bool,
    /// A delete marker has size 0 and no meaningful ETag.
    pub delete_marker: bool,
}

/// One entry of a listing of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionEntry {
    Version(ListedVersion),
    CommonPrefix(String),
}

/// A page of versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionPage {
    pub entries: Vec<VersionEntry>,
    /// The markers of the next page; a common prefix has no version.
    pub next: Option<(String, Option<VersionId>)>,
}

/// Which uploads to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UploadQuery {
    pub prefix: String,
    pub delimiter: Option<String>,
    pub key_marker: Option<String>,
    /// Begins after this upload of the key marker; without it, after all uploads of that key.
    pub upload_marker: Option<String>,
    pub max: usize,
}

/// One upload of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedUpload {
    pub key: String,
    pub upload: String,
    /// Milliseconds since 1970 UTC.
    pub started_ms: u64,
    pub initiator: String,
    /// Of what it becomes; `None` is the owner of the bucket.
    pub owner: Option<String>,
    pub storage_class: Option<String>,
    pub checksum: Option<(ChecksumAlgorithm, ChecksumKind)>,
}

/// One entry of a listing of uploads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadEntry {
    Upload(ListedUpload),
    CommonPrefix(String),
}

/// A page of uploads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UploadPage {
    pub entries: Vec<UploadEntry>,
    /// The markers of the next page; a common prefix has no upload.
    pub next: Option<(String, Option<String>)>,
}

/// Which parts to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartQuery {
    /// Part numbers above this one.
    pub after: u32,
    pub max: usize,
}

/// A page of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartPage {
    pub parts: Vec<UploadedPart>,
    /// The `after` of the next page; `None` where this is the last.
    pub next: Option<u32>,
}
