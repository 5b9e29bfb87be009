//! What is known of a multipart upload.

use super::{Checksum, ChecksumAlgorithm, ChecksumKind, Conditions, Content, ETag, SourceObject};
use std::ops::Range;

/// What an upload is started with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewMultipart {
    /// What the object will have; the checksums come with [`Complete`].
    pub content: Content,
    /// What the client said of its checksums.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumKind)>,
    /// The access key of who started it.
    pub initiator: String,
}

/// One part of an upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedPart {
    pub number: u32,
    /// Bytes.
    pub size: u64,
    pub etag: ETag,
    /// Milliseconds since 1970 UTC.
    pub modified_ms: u64,
    pub checksums: Vec<Checksum>,
}

/// One part of an assembled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPart {
    pub number: u32,
    /// Which bytes of the object it is.
    pub range: Range<u64>,
    pub checksums: Vec<Checksum>,
}

/// With what a part is made of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartFinish {
    pub checksums: Vec<Checksum>,
    /// The MD5 that the client sent; another one is `BadDigest`.
    pub expected_md5: Option<[u8; 16]>,
}

/// A part made of a range of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPart {
    pub source: SourceObject,
    /// Bytes of the source; `None` takes all. Errors: `InvalidRange`.
    pub range: Option<Range<u64>>,
    pub bucket: String,
    pub key: String,
    pub upload: String,
    pub number: u32,
    /// Of the bytes of the range, computed by the protocol.
    pub checksums: Vec<Checksum>,
}

/// A part as the client names it to complete an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartRef {
    pub number: u32,
    /// Without quotes.
    pub etag: String,
    /// Checksums that the part must have.
    pub checksums: Vec<Checksum>,
}

/// With what an upload is completed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Complete {
    pub parts: Vec<PartRef>,
    /// The object's checksums, verified by the protocol.
    pub checksums: Vec<Checksum>,
    pub conditions: Conditions,
    /// The size that the client named; another one is `SizeMismatch`.
    pub expected_size: Option<u64>,
}
