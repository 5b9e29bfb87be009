//! The record of a version begins with what listings show, so that they decode no more than that.

use super::{
    decode_checksums, decode_content, decode_form, decode_named, encode_checksums, encode_content,
    encode_named, form,
};
use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{
    Checksum, Content, ETag, ListedObject, ObjectVersion, StorageResult, VersionId,
};
use bytes::Bytes;

/// Where some bytes lie. Every piece has exactly one owner, and is freed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) stored: Stored,
    /// The first byte of it that belongs to the object.
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// In which form bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stored {
    /// A row beside the metadata.
    Packed(u64),
    File(u64),
}

/// Of what a version's bytes consist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Empty,
    Whole(Piece),
    /// The id of a [`Layout`].
    Assembled(u64),
}

/// What a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Object,
    DeleteMarker,
}

/// One version of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectRecord {
    pub(crate) kind: RecordKind,
    /// Whether its version id is `null`.
    pub(crate) null: bool,
    /// Higher than that of all earlier versions of the key.
    pub(crate) seq: u64,
    pub(crate) modified_ms: u64,
    pub(crate) size: u64,
    pub(crate) etag: ETag,
    pub(crate) body: Body,
    pub(crate) content: Content,
}

impl ObjectRecord {
    pub(crate) fn version(&self) -> VersionId {
        if self.null {
            VersionId::Null
        } else {
            VersionId::Numbered(self.seq)
        }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        out.u8(form(&self.content));
        out.u8(u8::from(self.kind == RecordKind::DeleteMarker) | u8::from(self.null) << 1);
        out.u64(self.seq);
        out.u64(self.modified_ms);
        out.u64(self.size);
        encode_etag(&mut out, self.etag);
        out.optional(self.content.headers.storage_class.as_deref());
        encode_named(
            &mut out,
            self.content
                .checksums
                .first()
                .map(|one| (one.algorithm, one.kind)),
        );
        match &self.body {
            Body::Empty => out.u8(0),
            Body::Whole(piece) => {
                out.u8(1);
                encode_piece(&mut out, piece);
            }
            Body::Assembled(layout) => {
                out.u8(2);
                out.u64(*layout);
            }
        }
        encode_content(&mut out, &self.content);
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the record of an object");
        let head = decode_head(&mut read)?;
        let body = match read.u8()? {
            0 => Body::Empty,
            1 => Body::Whole(decode_piece(&mut read)?),
            2 => Body::Assembled(read.u64()?),
            _ => return Err(read.wrong()),
        };
        let content = decode_content(&mut read, head.form)?;
        read.end()?;
        let Head {
            kind,
            null,
            seq,
            object:
                ListedObject {
                    modified_ms,
                    size,
                    etag,
                    ..
                },
            ..
        } = head;
        Ok(Self {
            kind,
            null,
            seq,
            modified_ms,
            size,
            etag,
            body,
            content,
        })
    }

    pub(crate) fn into_version(self, key: &str) -> ObjectVersion {
        ObjectVersion {
            key: key.to_owned(),
            version: self.version(),
            modified_ms: self.modified_ms,
            size: self.size,
            etag: self.etag,
            content: self.content,
        }
    }
}

/// What listings show.
pub(crate) struct Head {
    form: u8,
    pub(crate) kind: RecordKind,
    null: bool,
    pub(crate) seq: u64,
    pub(crate) object: ListedObject,
}

impl Head {
    pub(crate) fn version(&self) -> VersionId {
        if self.null {
            VersionId::Null
        } else {
            VersionId::Numbered(self.seq)
        }
    }
}

fn decode_head(read: &mut Decoder<'_>) -> StorageResult<Head> {
    let form = decode_form(read)?;
    let flags = read.u8()?;
    let kind = if flags & 1 == 0 {
        RecordKind::Object
    } else {
        RecordKind::DeleteMarker
    };
    let (seq, modified_ms, size) = (read.u64()?, read.u64()?, read.u64()?);
    let (etag, storage_class, checksum) =
        (decode_etag(read)?, read.optional()?, decode_named(read)?);
    let object = ListedObject {
        key: String::new(),
        modified_ms,
        size,
        etag,
        storage_class,
        checksum,
    };
    Ok(Head {
        form,
        kind,
        null: flags & 2 != 0,
        seq,
        object,
    })
}

/// The head of a record with the key that it lies under.
pub(crate) fn listed(key: &str, bytes: &[u8]) -> StorageResult<Head> {
    let mut head = decode_head(&mut Decoder::new(bytes, "the record of an object"))?;
    key.clone_into(&mut head.object.key);
    Ok(head)
}

pub(super) fn encode_etag(out: &mut Encoder, etag: ETag) {
    out.raw(&etag.md5);
    out.u32(etag.parts);
}

pub(super) fn decode_etag(read: &mut Decoder<'_>) -> StorageResult<ETag> {
    Ok(ETag {
        md5: read.array()?,
        parts: read.u32()?,
    })
}

fn encode_piece(out: &mut Encoder, piece: &Piece) {
    let (code, id) = match piece.stored {
        Stored::Packed(id) => (1, id),
        Stored::File(id) => (2, id),
    };
    out.u8(code);
    out.u64(id);
    out.u64(piece.start);
    out.u64(piece.len);
}

fn decode_piece(read: &mut Decoder<'_>) -> StorageResult<Piece> {
    let (code, id) = (read.u8()?, read.u64()?);
    let stored = match code {
        1 => Stored::Packed(id),
        2 => Stored::File(id),
        _ => return Err(read.wrong()),
    };
    Ok(Piece {
        stored,
        start: read.u64()?,
        len: read.u64()?,
    })
}

pub(super) fn encode_pieces(out: &mut Encoder, pieces: &[Piece]) {
    out.count(pieces.len());
    pieces.iter().for_each(|piece| encode_piece(out, piece));
}

pub(super) fn decode_pieces(read: &mut Decoder<'_>) -> StorageResult<Vec<Piece>> {
    let count = read.count()?;
    (0..count).map(|_| decode_piece(read)).collect()
}

/// The parts of an assembled object, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    pub(crate) parts: Vec<LayoutPart>,
}

/// One part of an assembled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayoutPart {
    pub(crate) number: u32,
    pub(crate) size: u64,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) checksums: Vec<Checksum>,
}

impl Layout {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        out.u8(1);
        out.count(self.parts.len());
        for part in &self.parts {
            out.u32(part.number);
            out.u64(part.size);
            encode_pieces(&mut out, &part.pieces);
            encode_checksums(&mut out, &part.checksums);
        }
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the parts of an object");
        if read.u8()? != 1 {
            return Err(read.wrong());
        }
        let count = read.count()?;
        let one = |read: &mut Decoder<'_>| {
            Ok(LayoutPart {
                number: read.u32()?,
                size: read.u64()?,
                pieces: decode_pieces(read)?,
                checksums: decode_checksums(read)?,
            })
        };
        let parts = (0..count)
            .map(|_| one(&mut read))
            .collect::<StorageResult<_>>()?;
        read.end()?;
        Ok(Self { parts })
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.parts.iter().flat_map(|part| &part.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{
        Acl, ChecksumAlgorithm, ChecksumKind, Headers, ObjectLock, Retention, RetentionMode,
    };

    fn record(body: Body) -> ObjectRecord {
        let checksums = vec![Checksum {
            algorithm: ChecksumAlgorithm::Crc64Nvme,
            kind: ChecksumKind::FullObject,
            value: "AAAA".into(),
        }];
        let headers = Headers {
            storage_class: Some("STANDARD_IA".into()),
            expires: Some("never".into()),
            ..Default::default()
        };
        ObjectRecord {
            kind: RecordKind::Object,
            null: true,
            seq: 7,
            modified_ms: 8,
            size: 9,
            etag: ETag {
                md5: [3; 16],
                parts: 2,
            },
            body,
            content: Content {
                headers,
                user: vec![("a".into(), "b".into())],
                tags: vec![("t".into(), String::new())],
                checksums,
                lock: ObjectLock::default(),
                acl: None,
            },
        }
    }

    #[test]
    fn records_read_back_and_every_shorter_prefix_is_corrupt() {
        let piece = Piece {
            stored: Stored::File(5),
            start: 1,
            len: 2,
        };
        for body in [Body::Empty, Body::Whole(piece.clone()), Body::Assembled(11)] {
            let record = record(body);
            let bytes = record.encode();
            assert_eq!(ObjectRecord::decode(&bytes).unwrap(), record);
            for cut in 0..bytes.len() {
                assert!(ObjectRecord::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
        let part = LayoutPart {
            number: 3,
            size: 2,
            pieces: vec![piece],
            checksums: vec![],
        };
        let layout = Layout {
            parts: vec![part.clone(), part],
        };
        assert_eq!(Layout::decode(&layout.encode()).unwrap(), layout);
    }

    #[test]
    fn a_lock_reads_back_and_a_record_without_one_is_as_before_there_were_any() {
        let plain = record(Body::Empty);
        let retention = Some(Retention {
            mode: RetentionMode::Compliance,
            until_ms: 77,
        });
        for (retention, hold) in [
            (retention, None),
            (None, Some(true)),
            (None, Some(false)),
            (retention, Some(true)),
        ] {
            let mut locked = plain.clone();
            locked.content.lock = ObjectLock { retention, hold };
            let bytes = locked.encode();
            assert_eq!(ObjectRecord::decode(&bytes).unwrap(), locked);
            assert_eq!((plain.encode()[0], bytes[0]), (1, 2));
            assert_eq!(bytes[1..bytes.len() - 10], plain.encode()[1..]);
            assert!((0..bytes.len()).all(|cut| ObjectRecord::decode(&bytes[..cut]).is_err()));
            assert_eq!(listed("k", &bytes).unwrap().object.size, 9);
        }
    }

    #[test]
    fn an_access_control_list_reads_back_with_a_lock_and_without() {
        let plain = record(Body::Empty);
        for hold in [None, Some(true)] {
            let mut owned = plain.clone();
            owned.content.lock.hold = hold;
            owned.content.acl = Some(Acl::private("kim"));
            let bytes = owned.encode();
            assert_eq!(ObjectRecord::decode(&bytes).unwrap(), owned);
            assert_eq!(bytes[0], 3);
            assert!((0..bytes.len()).all(|cut| ObjectRecord::decode(&bytes[..cut]).is_err()));
            assert_eq!(listed("k", &bytes).unwrap().object.size, 9);
        }
    }

    #[test]
    fn a_listing_shows_what_the_record_says() {
        let record = record(Body::Empty);
        let head = listed("k", &record.encode()).unwrap();
        assert_eq!(
            (head.kind, head.version(), head.seq),
            (RecordKind::Object, VersionId::Null, 7)
        );
        assert_eq!(head.object.storage_class.as_deref(), Some("STANDARD_IA"));
        assert_eq!(
            head.object.checksum,
            Some((ChecksumAlgorithm::Crc64Nvme, ChecksumKind::FullObject))
        );
        assert_eq!(
            (head.object.key.as_str(), head.object.size, head.object.etag),
            ("k", 9, record.etag)
        );
    }
}
