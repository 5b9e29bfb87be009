//! The rules of multipart uploads.

use super::records::{Body, BucketRecord, Layout, LayoutPart, PartRecord, UploadRecord};
use super::tables::{Table, View};
use super::txn::Txn;
use super::versions::{self, NewVersion};
use super::{
    Complete, ETag, ObjectVersion, PartPage, PartQuery, PartRef, StorageError, StorageResult, keys,
};
use md5::{Digest as _, Md5};
use std::collections::BTreeMap;

/// The highest number of a part, as S3 has it.
const MOST_PARTS: u32 = 10_000;

/// The id of an upload as clients know it.
pub(crate) fn name_of(number: u64) -> String {
    format!("{number:032x}")
}

pub(crate) fn number_of(name: &str) -> Option<u64> {
    let number = u64::try_from(u128::from_str_radix(name, 16).ok()?).ok()?;
    (name_of(number) == name).then_some(number)
}

pub(crate) fn check_number(number: u32) -> StorageResult<()> {
    if (1..=MOST_PARTS).contains(&number) {
        Ok(())
    } else {
        Err(StorageError::InvalidPartNumber { number })
    }
}

/// The upload's number and record. Errors: `NoSuchUpload`.
pub(crate) fn find(
    view: &dyn View,
    bucket: u64,
    key: &str,
    upload: &str,
) -> StorageResult<(u64, UploadRecord)> {
    let number = number_of(upload).ok_or(StorageError::NoSuchUpload)?;
    match view.read(Table::Uploads, &keys::numbered(bucket, key, number))? {
        Some(row) => Ok((number, UploadRecord::decode(&row)?)),
        None => Err(StorageError::NoSuchUpload),
    }
}

/// Parts of an upload behind a number, one more than are wanted.
pub(crate) fn parts(view: &dyn View, upload: u64, query: PartQuery) -> StorageResult<PartPage> {
    let mut page = PartPage::default();
    let from = keys::part(upload, query.after.saturating_add(1));
    for row in view.range(
        Table::Parts,
        &from,
        keys::after_prefix(&keys::id(upload)).as_deref(),
    ) {
        let (row, value) = row?;
        if page.parts.len() == query.max {
            page.next = page.parts.last().map(|part| part.number);
            break;
        }
        page.parts
            .push(PartRecord::decode(&value)?.numbered(keys::part_number_of(&row)?));
    }
    Ok(page)
}

/// The record of one part, for a scrub.
pub(crate) fn part(view: &dyn View, upload: u64, number: u32) -> StorageResult<Option<PartRecord>> {
    view.read(Table::Parts, &keys::part(upload, number))?
        .map(|row| PartRecord::decode(&row))
        .transpose()
}

/// Keeps a part and frees the one of that number before.
pub(crate) fn put_part(
    txn: &mut Txn<'_>,
    upload: u64,
    number: u32,
    record: &PartRecord,
) -> StorageResult<()> {
    if let Some(old) = part(txn, upload, number)? {
        old.pieces.iter().for_each(|piece| txn.free(piece));
    }
    txn.put(Table::Parts, keys::part(upload, number), record.encode());
    Ok(())
}

fn take_parts(txn: &mut Txn<'_>, upload: u64) -> StorageResult<BTreeMap<u32, PartRecord>> {
    let end = keys::after_prefix(&keys::id(upload));
    let rows: Vec<_> = txn
        .range(Table::Parts, &keys::id(upload), end.as_deref())
        .collect::<StorageResult<_>>()?;
    let mut found = BTreeMap::new();
    for (row, value) in rows {
        found.insert(keys::part_number_of(&row)?, PartRecord::decode(&value)?);
        txn.remove(Table::Parts, row);
    }
    Ok(found)
}

/// Forgets an upload and frees its parts.
pub(crate) fn abort(txn: &mut Txn<'_>, bucket: u64, key: &str, upload: &str) -> StorageResult<()> {
    let (number, _) = find(txn, bucket, key, upload)?;
    for part in take_parts(txn, number)?.values() {
        part.pieces.iter().for_each(|piece| txn.free(piece));
    }
    txn.remove(Table::Uploads, keys::numbered(bucket, key, number));
    Ok(())
}

/// Makes an object of parts: their pieces change their owner, and none is read or written.
pub(crate) fn complete(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    upload: &str,
    complete: Complete,
    least_part: u64,
) -> StorageResult<ObjectVersion> {
    let (number, record) = find(txn, bucket.id, key, upload)?;
    versions::check(txn, bucket.id, key, &complete.conditions)?;
    let mut uploaded = take_parts(txn, number)?;
    let (layout, etag) = assemble(&mut uploaded, &complete.parts, least_part)?;
    let size = layout.parts.iter().map(|part| part.size).sum();
    if let Some(expected) = complete.expected_size.filter(|expected| *expected != size) {
        return Err(StorageError::SizeMismatch {
            expected,
            found: size,
        });
    }
    for unused in uploaded.values() {
        unused.pieces.iter().for_each(|piece| txn.free(piece));
    }
    txn.remove(Table::Uploads, keys::numbered(bucket.id, key, number));
    let id = txn.next_id();
    txn.put(Table::Layouts, keys::id(id), layout.encode());
    let mut content = record.new.content;
    content.checksums = complete.checksums;
    let record = versions::put(
        txn,
        bucket,
        key,
        NewVersion {
            size,
            etag,
            body: Body::Assembled(id),
            content,
        },
    )?;
    Ok(record.into_version(key))
}

/// Takes the parts that are named out of those uploaded.
fn assemble(
    uploaded: &mut BTreeMap<u32, PartRecord>,
    named: &[PartRef],
    least_part: u64,
) -> StorageResult<(Layout, ETag)> {
    let last = named.last().ok_or(StorageError::NoParts)?.number;
    if !named.is_sorted_by(|a, b| a.number < b.number) {
        return Err(StorageError::InvalidPartOrder);
    }
    let mut md5 = Md5::new();
    let mut layout = Layout::default();
    for part in named {
        let number = part.number;
        let record = uploaded
            .remove(&number)
            .ok_or(StorageError::InvalidPart { number })?;
        let same = record.etag.to_string() == part.etag
            && part
                .checksums
                .iter()
                .all(|one| record.checksums.contains(one));
        if !same {
            return Err(StorageError::InvalidPart { number });
        }
        if record.size < least_part && number != last {
            return Err(StorageError::EntityTooSmall {
                number,
                size: record.size,
                least: least_part,
            });
        }
        md5.update(record.etag.md5);
        layout.parts.push(LayoutPart {
            number,
            size: record.size,
            pieces: record.pieces,
            checksums: record.checksums,
        });
    }
    let parts = u32::try_from(named.len()).expect("part numbers are u32 and ascend");
    Ok((
        layout,
        ETag {
            md5: md5.finalize().into(),
            parts,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upload_ids_read_back_and_nothing_else_is_one() {
        assert_eq!(number_of(&name_of(77)), Some(77));
        for text in [
            "",
            "4d",
            "../x",
            "+000000000000000000000000000004d",
            "0000000000000000000000000000004D",
        ] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }

    #[test]
    fn the_etag_of_parts_is_the_md5_of_their_md5s() {
        // Two parts "a" and "b": md5(md5("a") md5("b")).
        let part = |text: &str| {
            let md5: [u8; 16] = Md5::digest(text.as_bytes()).into();
            PartRecord {
                size: 1,
                etag: ETag { md5, parts: 0 },
                modified_ms: 0,
                pieces: vec![],
                checksums: vec![],
            }
        };
        let mut uploaded = BTreeMap::from([(1, part("a")), (5, part("b"))]);
        let named: Vec<PartRef> = uploaded
            .iter()
            .map(|(number, part)| PartRef {
                number: *number,
                etag: part.etag.to_string(),
                checksums: vec![],
            })
            .collect();
        let (layout, etag) = assemble(&mut uploaded, &named, 0).unwrap();
        assert_eq!(etag.to_string(), "96e024ba2074fe77e8e965ba43a704be-2");
        assert_eq!(
            layout
                .parts
                .iter()
                .map(|part| part.number)
                .collect::<Vec<_>>(),
            [1, 5]
        );
    }
}
