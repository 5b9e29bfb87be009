//! Copies that share bytes: a file gets a second name, and only packed bytes are written again.

use super::core::{Core, Room};
use super::intake::{Intake, Parcel};
use super::reader::{self, Opened};
use super::records::{Body, Layout, LayoutPart, PartRecord};
use super::tables::Table;
use super::txn::Txn;
use super::versions::{self, NewVersion};
use super::{
    Content, CopyObject, CopyPart, ETag, ObjectReader as _, ObjectVersion, SourceObject,
    StorageError, StorageResult, UploadedPart, keys, lock, uploads,
};
use md5::{Digest as _, Md5};
use std::ops::Range;
use std::sync::Arc;

fn open(core: &Arc<Core>, source: &SourceObject) -> StorageResult<Opened> {
    let opened = reader::open(core, &source.bucket, &source.key, source.version)?;
    source
        .conditions
        .check(opened.record.etag, opened.record.modified_ms)?;
    Ok(opened)
}

pub(crate) fn object(core: &Arc<Core>, copy: CopyObject) -> StorageResult<ObjectVersion> {
    let Opened {
        record,
        layout,
        mut reader,
    } = open(core, &copy.source)?;
    // Bytes that are shared are damaged in both: what is damaged is not given a second owner that
    // seems whole.
    while reader.next_chunk()?.is_some() {}
    let parcel = reader.share(&(0..record.size))?;
    core.write(Room::Takes, parcel.files(), move |txn| {
        let bucket = versions::bucket(txn, &copy.bucket)?;
        versions::check(txn, bucket.id, &copy.key, &copy.conditions)?;
        lock::check_new(bucket.lock, &copy.lock, txn.now_ms())?;
        let body = own(txn, parcel, layout);
        let mut content: Content = record.content;
        if let Some((headers, user)) = copy.metadata {
            (content.headers, content.user) = (headers, user);
        }
        content.tags = copy.tags.unwrap_or(content.tags);
        (content.lock, content.acl) = (copy.lock, copy.acl);
        content.checksums = copy.checksums.unwrap_or(content.checksums);
        let new = NewVersion {
            size: record.size,
            etag: record.etag,
            body,
            content,
        };
        Ok(versions::put(txn, &bucket, &copy.key, new)?.into_version(&copy.key))
    })
}

/// A copy has the parts of its source, each with pieces of its own.
fn own(txn: &mut Txn<'_>, parcel: Parcel, layout: Option<Layout>) -> Body {
    let mut pieces = parcel.own(txn).into_iter();
    let Some(layout) = layout else {
        return pieces.next().map_or(Body::Empty, Body::Whole);
    };
    let part = |part: LayoutPart| LayoutPart {
        pieces: pieces.by_ref().take(part.pieces.len()).collect(),
        ..part
    };
    let layout = Layout {
        parts: layout.parts.into_iter().map(part).collect(),
    };
    let id = txn.next_id();
    txn.put(Table::Layouts, keys::id(id), layout.encode());
    Body::Assembled(id)
}

pub(crate) fn part(core: &Arc<Core>, copy: CopyPart) -> StorageResult<UploadedPart> {
    let mut opened = open(core, &copy.source)?;
    let size = opened.record.size;
    let range = copy.range.unwrap_or(0..size);
    if range.end > size || (range.start >= range.end && size > 0) {
        return Err(StorageError::InvalidRange { size });
    }
    let (parcel, etag) = take(core, &mut opened, &range)?;
    let (bucket, key, upload, number) = (copy.bucket, copy.key, copy.upload, copy.number);
    core.write(Room::Takes, parcel.files(), move |txn| {
        let id = versions::bucket(txn, &bucket)?.id;
        let (upload, _) = uploads::find(txn, id, &key, &upload)?;
        let pieces = parcel.own(txn);
        let part = PartRecord {
            size: range.end - range.start,
            etag,
            modified_ms: txn.now_ms(),
            pieces,
            checksums: copy.checksums,
        };
        uploads::put_part(txn, upload, number, &part)?;
        Ok(part.numbered(number))
    })
}

/// A short range is written again, so that it does not hold a long file; a long one is read for its
/// MD5 and shared.
fn take(
    core: &Arc<Core>,
    opened: &mut Opened,
    range: &Range<u64>,
) -> StorageResult<(Parcel, ETag)> {
    opened.reader.select(range.clone());
    if range.end - range.start <= core.options.packed_limit {
        let mut intake = Intake::new(core);
        while let Some(chunk) = opened.reader.next_chunk()? {
            intake.write(&chunk)?;
        }
        let sealed = intake.seal(None)?;
        return Ok((sealed.parcel, sealed.etag));
    }
    let mut md5 = Md5::new();
    while let Some(chunk) = opened.reader.next_chunk()? {
        md5.update(&chunk);
    }
    Ok((
        opened.reader.share(range)?,
        ETag {
            md5: md5.finalize().into(),
            parts: 0,
        },
    ))
}
