//! What is known of an object.

use super::{Acl, Bypass, Conditions, ObjectLock, SourceConditions, StorageError};
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// The ETag as AWS computes it: the MD5 of the bytes, or for an assembled object the MD5 of its
/// parts' MD5s and their count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ETag {
    pub md5: [u8; 16],
    /// 0 for an object that was put whole.
    pub parts: u32,
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(40);
        for byte in self.md5 {
            write!(text, "{byte:02x}")?;
        }
        if self.parts > 0 {
            write!(text, "-{}", self.parts)?;
        }
        f.write_str(&text)
    }
}

/// Which version of a key. `null` is the one that was written while versioning was not on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionId {
    Null,
    Numbered(u64),
}

impl VersionId {
    /// A version that nothing ever has.
    pub const NEVER: Self = Self::Numbered(u64::MAX);
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Numbered(number) => write!(f, "{number:032x}"),
        }
    }
}

impl FromStr for VersionId {
    type Err = StorageError;

    /// Errors: `NoSuchVersion` for a text that no version has as its id.
    fn from_str(text: &str) -> Result<Self, StorageError> {
        if text == "null" {
            return Ok(Self::Null);
        }
        let lower = text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        match u128::from_str_radix(text, 16).map(u64::try_from) {
            Ok(Ok(number)) if text.len() == 32 && lower => Ok(Self::Numbered(number)),
            _ => Err(StorageError::NoSuchVersion),
        }
    }
}

/// The checksums that S3 knows besides the MD5 of ETags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChecksumAlgorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha1,
    Sha256,
    Sha512,
    Md5,
    Xxhash64,
    Xxhash3,
    Xxhash128,
}

/// Over what the checksum of an assembled object was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChecksumKind {
    FullObject,
    /// Over the checksums of its parts.
    Composite,
}

/// A checksum that the protocol has verified, kept to be told again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Checksum {
    pub algorithm: ChecksumAlgorithm,
    pub kind: ChecksumKind,
    /// As the S3 headers carry it: base64, with `-N` after a composite one.
    pub value: String,
}

/// Tags in the order given.
pub type Tags = Vec<(String, String)>;

/// The headers that S3 keeps and gives back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers {
    pub cache_control: Option<String>,
    pub content_disposition: Option<String>,
    pub content_encoding: Option<String>,
    pub content_language: Option<String>,
    pub content_type: Option<String>,
    pub expires: Option<String>,
    pub website_redirect_location: Option<String>,
    pub storage_class: Option<String>,
}

/// All that is kept beside the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    pub headers: Headers,
    /// Names without `x-amz-meta-`, lower case.
    pub user: Vec<(String, String)>,
    pub tags: Tags,
    pub checksums: Vec<Checksum>,
    pub lock: ObjectLock,
    /// `None` is the list of what the bucket's owner has to itself.
    pub acl: Option<Acl>,
}

/// One version that is an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    pub key: String,
    pub version: VersionId,
    /// Milliseconds since 1970 UTC.
    pub modified_ms: u64,
    /// Bytes.
    pub size: u64,
    pub etag: ETag,
    pub content: Content,
}

/// With what an object is made of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutFinish {
    pub content: Content,
    pub conditions: Conditions,
    /// The MD5 that the client sent; another one is `BadDigest`.
    pub expected_md5: Option<[u8; 16]>,
}

/// From where a copy takes its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceObject {
    pub bucket: String,
    pub key: String,
    pub version: Option<VersionId>,
    pub conditions: SourceConditions,
}

/// A copy of a whole object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyObject {
    pub source: SourceObject,
    pub bucket: String,
    pub key: String,
    /// `None` takes the source's headers and user metadata.
    pub metadata: Option<(Headers, Vec<(String, String)>)>,
    /// `None` takes the source's.
    pub tags: Option<Tags>,
    /// `None` takes the source's.
    pub checksums: Option<Vec<Checksum>>,
    /// What protects the copy; the source's lock is its own.
    pub lock: ObjectLock,
    /// The list of the copy; the source's is its own, too.
    pub acl: Option<Acl>,
    pub conditions: Conditions,
}

/// What to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteTarget {
    pub key: String,
    /// `None` deletes the latest: for good where versioning is off, else by a delete marker.
    pub version: Option<VersionId>,
    pub conditions: Conditions,
    pub bypass: Bypass,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deleted {
    /// The version that was removed, or of the delete marker that was made.
    pub version: Option<VersionId>,
    /// Whether that version is a delete marker.
    pub delete_marker: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_ids_read_back_and_nothing_else_is_one() {
        for id in [
            VersionId::Null,
            VersionId::Numbered(0),
            VersionId::Numbered(u64::MAX),
        ] {
            assert_eq!(id.to_string().parse::<VersionId>().unwrap(), id);
        }
        for text in [
            "",
            "NULL",
            "1",
            "+0000000000000000000000000000001",
            "000000000000000000000000000000AB",
            "ffffffffffffffffffffffffffffffff",
        ] {
            assert!(
                matches!(text.parse::<VersionId>(), Err(StorageError::NoSuchVersion)),
                "{text}"
            );
        }
    }

    #[test]
    fn the_etag_of_an_assembled_object_ends_in_the_count_of_its_parts() {
        assert_eq!(
            ETag {
                md5: [0xab; 16],
                parts: 0
            }
            .to_string(),
            "ab".repeat(16)
        );
        assert_eq!(
            ETag {
                md5: [0xab; 16],
                parts: 12
            }
            .to_string(),
            format!("{}-12", "ab".repeat(16))
        );
    }
}
