//! What is kept of buckets, objects, parts and uploads, and as which bytes.

mod acl;
mod bucket;
mod lock;
mod object;
mod upload;

pub(crate) use acl::{bucket_acl, read_bucket_acl};
pub(crate) use bucket::BucketRecord;
pub(crate) use object::{
    Body, Head, Layout, LayoutPart, ObjectRecord, Piece, RecordKind, Stored, listed,
};
pub(crate) use upload::{PartRecord, UploadRecord};

use super::codec::{Decoder, Encoder};
use super::{
    Checksum, ChecksumAlgorithm, ChecksumKind, Content, Headers, ObjectLock, StorageResult,
};

fn algorithm_code(algorithm: ChecksumAlgorithm) -> u8 {
    match algorithm {
        ChecksumAlgorithm::Crc32 => 1,
        ChecksumAlgorithm::Crc32c => 2,
        ChecksumAlgorithm::Crc64Nvme => 3,
        ChecksumAlgorithm::Sha1 => 4,
        ChecksumAlgorithm::Sha256 => 5,
        ChecksumAlgorithm::Sha512 => 6,
        ChecksumAlgorithm::Md5 => 7,
        ChecksumAlgorithm::Xxhash64 => 8,
        ChecksumAlgorithm::Xxhash3 => 9,
        ChecksumAlgorithm::Xxhash128 => 10,
    }
}

fn kind_code(kind: ChecksumKind) -> u8 {
    match kind {
        ChecksumKind::FullObject => 1,
        ChecksumKind::Composite => 2,
    }
}

fn decode_algorithm(read: &mut Decoder<'_>) -> StorageResult<ChecksumAlgorithm> {
    match read.u8()? {
        1 => Ok(ChecksumAlgorithm::Crc32),
        2 => Ok(ChecksumAlgorithm::Crc32c),
        3 => Ok(ChecksumAlgorithm::Crc64Nvme),
        4 => Ok(ChecksumAlgorithm::Sha1),
        5 => Ok(ChecksumAlgorithm::Sha256),
        6 => Ok(ChecksumAlgorithm::Sha512),
        7 => Ok(ChecksumAlgorithm::Md5),
        8 => Ok(ChecksumAlgorithm::Xxhash64),
        9 => Ok(ChecksumAlgorithm::Xxhash3),
        10 => Ok(ChecksumAlgorithm::Xxhash128),
        _ => Err(read.wrong()),
    }
}

fn decode_kind(read: &mut Decoder<'_>) -> StorageResult<ChecksumKind> {
    match read.u8()? {
        1 => Ok(ChecksumKind::FullObject),
        2 => Ok(ChecksumKind::Composite),
        _ => Err(read.wrong()),
    }
}

fn encode_checksums(out: &mut Encoder, checksums: &[Checksum]) {
    out.count(checksums.len());
    for checksum in checksums {
        out.u8(algorithm_code(checksum.algorithm));
        out.u8(kind_code(checksum.kind));
        out.text(&checksum.value);
    }
}

fn decode_checksums(read: &mut Decoder<'_>) -> StorageResult<Vec<Checksum>> {
    let count = read.count()?;
    let one = |read: &mut Decoder<'_>| {
        Ok(Checksum {
            algorithm: decode_algorithm(read)?,
            kind: decode_kind(read)?,
            value: read.text()?,
        })
    };
    (0..count).map(|_| one(read)).collect()
}

/// The checksum that listings name: 0, or its algorithm and kind.
fn encode_named(out: &mut Encoder, named: Option<(ChecksumAlgorithm, ChecksumKind)>) {
    match named {
        None => out.u8(0),
        Some((algorithm, kind)) => {
            out.u8(1);
            out.u8(algorithm_code(algorithm));
            out.u8(kind_code(kind));
        }
    }
}

fn decode_named(
    read: &mut Decoder<'_>,
) -> StorageResult<Option<(ChecksumAlgorithm, ChecksumKind)>> {
    match read.u8()? {
        0 => Ok(None),
        1 => Ok(Some((decode_algorithm(read)?, decode_kind(read)?))),
        _ => Err(read.wrong()),
    }
}

/// The first byte of a record that holds a content: with a lock it is another one, and with an
/// access control list a third.
fn form(content: &Content) -> u8 {
    if content.acl.is_some() {
        WITH_ACL
    } else if content.lock.is_empty() {
        1
    } else {
        WITH_LOCK
    }
}

const WITH_LOCK: u8 = 2;
/// With a lock, be it an empty one, before the list.
const WITH_ACL: u8 = 3;

fn decode_form(read: &mut Decoder<'_>) -> StorageResult<u8> {
    match read.u8()? {
        form @ (1 | WITH_LOCK | WITH_ACL) => Ok(form),
        _ => Err(read.wrong()),
    }
}

fn encode_content(out: &mut Encoder, content: &Content) {
    let h = &content.headers;
    for header in [
        &h.cache_control,
        &h.content_disposition,
        &h.content_encoding,
        &h.content_language,
        &h.content_type,
        &h.expires,
        &h.website_redirect_location,
        &h.storage_class,
    ] {
        out.optional(header.as_deref());
    }
    out.pairs(&content.user);
    out.pairs(&content.tags);
    encode_checksums(out, &content.checksums);
    if form(content) >= WITH_LOCK {
        lock::encode_lock(out, &content.lock);
    }
    if let Some(acl) = &content.acl {
        acl::encode_acl(out, acl);
    }
}

fn decode_content(read: &mut Decoder<'_>, form: u8) -> StorageResult<Content> {
    let headers = Headers {
        cache_control: read.optional()?,
        content_disposition: read.optional()?,
        content_encoding: read.optional()?,
        content_language: read.optional()?,
        content_type: read.optional()?,
        expires: read.optional()?,
        website_redirect_location: read.optional()?,
        storage_class: read.optional()?,
    };
    let (user, tags, checksums) = (read.pairs()?, read.pairs()?, decode_checksums(read)?);
    let lock = if form >= WITH_LOCK {
        lock::decode_lock(read)?
    } else {
        ObjectLock::default()
    };
    let acl = if form == WITH_ACL {
        Some(acl::decode_acl(read)?)
    } else {
        None
    };
    Ok(Content {
        headers,
        user,
        tags,
        checksums,
        lock,
        acl,
    })
}
