//! The rules of versions: which version of a key is the latest, and what a write or a deletion
//! makes of the others.
//!
//! The live table holds the latest version where it is an object; everything else, and every delete
//! marker, is history. So a key without a live row does not exist or ends in a delete marker, and a
//! listing of objects reads nothing but what it shows.

use super::records::{Body, BucketRecord, Layout, ObjectRecord, Piece, RecordKind};
use super::tables::{Table, View};
use super::txn::Txn;
use super::{
    Bypass, Conditions, Content, DeleteTarget, Deleted, ETag, Retention, StorageError,
    StorageResult, VersionId, Versioning, keys, lock,
};

/// Where a version lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    Live,
    History(u64),
}

pub(crate) fn bucket(view: &dyn View, name: &str) -> StorageResult<BucketRecord> {
    match view.read(Table::Buckets, name.as_bytes())? {
        Some(row) => BucketRecord::decode(&row),
        None => Err(StorageError::NoSuchBucket),
    }
}

fn live(view: &dyn View, bucket: u64, key: &str) -> StorageResult<Option<ObjectRecord>> {
    view.read(Table::Live, &keys::object(bucket, key))?
        .map(|row| ObjectRecord::decode(&row))
        .transpose()
}

fn past(view: &dyn View, bucket: u64, key: &str, seq: u64) -> StorageResult<Option<ObjectRecord>> {
    view.read(Table::History, &keys::history(bucket, key, seq))?
        .map(|row| ObjectRecord::decode(&row))
        .transpose()
}

fn newest_past(view: &dyn View, bucket: u64, key: &str) -> StorageResult<Option<ObjectRecord>> {
    let (from, to) = (
        keys::numbered(bucket, key, 0),
        keys::after_numbered(bucket, key),
    );
    view.first(Table::History, &from, Some(&to))?
        .map(|(_, row)| ObjectRecord::decode(&row))
        .transpose()
}

/// The row of the history that is the version `null`.
pub(crate) fn null_seq(view: &dyn View, bucket: u64, key: &str) -> StorageResult<Option<u64>> {
    view.read(Table::Nulls, &keys::object(bucket, key))?
        .map(|row| keys::read_id(&row))
        .transpose()
}

fn find(
    view: &dyn View,
    bucket: u64,
    key: &str,
    version: Option<VersionId>,
) -> StorageResult<Option<(Spot, ObjectRecord)>> {
    let live = live(view, bucket, key)?;
    let in_history =
        |seq| Ok(past(view, bucket, key, seq)?.map(|record| (Spot::History(seq), record)));
    match (version, live) {
        (None, Some(record)) => Ok(Some((Spot::Live, record))),
        (None, None) => {
            Ok(newest_past(view, bucket, key)?.map(|record| (Spot::History(record.seq), record)))
        }
        (Some(version), Some(record)) if record.version() == version => {
            Ok(Some((Spot::Live, record)))
        }
        (Some(VersionId::Numbered(seq)), _) => {
            Ok(in_history(seq)?.filter(|(_, record)| !record.null))
        }
        (Some(VersionId::Null), _) => null_seq(view, bucket, key)?.map_or(Ok(None), in_history),
    }
}

/// One version or the latest, which is an object. Errors: `NoSuchKey`, `NoSuchVersion`,
/// `DeleteMarker`.
pub(crate) fn object(
    view: &dyn View,
    bucket: u64,
    key: &str,
    version: Option<VersionId>,
) -> StorageResult<ObjectRecord> {
    located(view, bucket, key, version).map(|(_, record)| record)
}

fn located(
    view: &dyn View,
    bucket: u64,
    key: &str,
    version: Option<VersionId>,
) -> StorageResult<(Spot, ObjectRecord)> {
    match find(view, bucket, key, version)? {
        Some((_, record)) if record.kind == RecordKind::DeleteMarker => {
            Err(StorageError::DeleteMarker {
                version: record.version(),
                modified_ms: record.modified_ms,
            })
        }
        Some(found) => Ok(found),
        None if version.is_some() => Err(StorageError::NoSuchVersion),
        None => Err(StorageError::NoSuchKey),
    }
}

pub(crate) fn layout(view: &dyn View, id: u64) -> StorageResult<Layout> {
    match view.read(Table::Layouts, &keys::id(id))? {
        Some(row) => Layout::decode(&row),
        None => Err(StorageError::corrupt("the parts of an object are missing")),
    }
}

fn free_body(txn: &mut Txn<'_>, body: &Body) -> StorageResult<()> {
    match body {
        Body::Empty => {}
        Body::Whole(piece) => txn.free(piece),
        Body::Assembled(id) => {
            let pieces: Vec<Piece> = layout(txn, *id)?.pieces().cloned().collect();
            pieces.iter().for_each(|piece| txn.free(piece));
            txn.remove(Table::Layouts, keys::id(*id));
        }
    }
    Ok(())
}

fn put_live(txn: &mut Txn<'_>, bucket: u64, key: &str, record: &ObjectRecord) {
    txn.put(Table::Live, keys::object(bucket, key), record.encode());
}

fn put_past(txn: &mut Txn<'_>, bucket: u64, key: &str, record: &ObjectRecord) {
    if record.null {
        txn.put(
            Table::Nulls,
            keys::object(bucket, key),
            keys::id(record.seq),
        );
    }
    txn.put(
        Table::History,
        keys::history(bucket, key, record.seq),
        record.encode(),
    );
}

fn remove_past(txn: &mut Txn<'_>, bucket: u64, key: &str, record: &ObjectRecord) {
    if record.null {
        txn.remove(Table::Nulls, keys::object(bucket, key));
    }
    txn.remove(Table::History, keys::history(bucket, key, record.seq));
}

/// Makes way for a new latest version: the live one becomes history, or is freed where it is `null`
/// and the new one is too.
fn displace(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    new_is_null: bool,
) -> StorageResult<()> {
    if let Some(old) = live(txn, bucket.id, key)? {
        txn.remove(Table::Live, keys::object(bucket.id, key));
        if old.null && new_is_null {
            free_body(txn, &old.body)?;
        } else {
            put_past(txn, bucket.id, key, &old);
        }
    }
    if bucket.versioning == Versioning::Suspended
        && new_is_null
        && let Some(seq) = null_seq(txn, bucket.id, key)?
        && let Some(old) = past(txn, bucket.id, key, seq)?
    {
        remove_past(txn, bucket.id, key, &old);
        free_body(txn, &old.body)?;
    }
    Ok(())
}

/// What a new version is made of.
pub(crate) struct NewVersion {
    pub(crate) size: u64,
    pub(crate) etag: ETag,
    pub(crate) body: Body,
    pub(crate) content: Content,
}

/// Checks the conditions against the latest version of a key.
pub(crate) fn check(
    view: &dyn View,
    bucket: u64,
    key: &str,
    conditions: &Conditions,
) -> StorageResult<()> {
    if *conditions == Conditions::default() {
        return Ok(());
    }
    conditions.check(live(view, bucket, key)?.map(|record| (record.etag, record.modified_ms)))
}

/// Makes the latest version of a key.
pub(crate) fn put(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    new: NewVersion,
) -> StorageResult<ObjectRecord> {
    let null = bucket.versioning != Versioning::On;
    displace(txn, bucket, key, null)?;
    let NewVersion {
        size,
        etag,
        body,
        mut content,
    } = new;
    content.lock = lock::begun(bucket.lock, content.lock, txn.now_ms());
    let record = ObjectRecord {
        kind: RecordKind::Object,
        null,
        seq: txn.next_id(),
        modified_ms: txn.now_ms(),
        size,
        etag,
        body,
        content,
    };
    put_live(txn, bucket.id, key, &record);
    Ok(record)
}

/// Deletes one version for good, or the latest as the bucket's versioning says.
pub(crate) fn delete(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    target: &DeleteTarget,
) -> StorageResult<Deleted> {
    let key = &target.key;
    keys::check_key(key)?;
    if let Some(version) = target.version {
        return delete_version(txn, bucket, key, version, target);
    }
    check(txn, bucket.id, key, &target.conditions)?;
    if bucket.versioning == Versioning::Off {
        if let Some(old) = live(txn, bucket.id, key)? {
            txn.remove(Table::Live, keys::object(bucket.id, key));
            free_body(txn, &old.body)?;
        }
        return Ok(Deleted::default());
    }
    let null = bucket.versioning == Versioning::Suspended;
    displace(txn, bucket, key, null)?;
    let marker = ObjectRecord {
        kind: RecordKind::DeleteMarker,
        null,
        seq: txn.next_id(),
        modified_ms: txn.now_ms(),
        size: 0,
        etag: ETag {
            md5: [0; 16],
            parts: 0,
        },
        body: Body::Empty,
        content: Content::default(),
    };
    put_past(txn, bucket.id, key, &marker);
    Ok(Deleted {
        version: Some(marker.version()),
        delete_marker: true,
    })
}

fn delete_version(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    version: VersionId,
    target: &DeleteTarget,
) -> StorageResult<Deleted> {
    let DeleteTarget {
        conditions, bypass, ..
    } = target;
    let found = find(txn, bucket.id, key, Some(version))?;
    if *conditions != Conditions::default() {
        let object = found
            .as_ref()
            .filter(|(_, record)| record.kind == RecordKind::Object);
        conditions.check(object.map(|(_, record)| (record.etag, record.modified_ms)))?;
    }
    let Some((spot, record)) = found else {
        return Ok(Deleted {
            version: Some(version),
            delete_marker: false,
        });
    };
    if record.content.lock.keeps(txn.now_ms(), *bypass) {
        return Err(StorageError::Locked);
    }
    match spot {
        Spot::Live => txn.remove(Table::Live, keys::object(bucket.id, key)),
        Spot::History(_) => remove_past(txn, bucket.id, key, &record),
    }
    free_body(txn, &record.body)?;
    promote(txn, bucket.id, key)?;
    Ok(Deleted {
        version: Some(version),
        delete_marker: record.kind == RecordKind::DeleteMarker,
    })
}

/// Where the latest version of a key is an object in the history, makes it live.
fn promote(txn: &mut Txn<'_>, bucket: u64, key: &str) -> StorageResult<()> {
    if live(txn, bucket, key)?.is_none()
        && let Some(newest) = newest_past(txn, bucket, key)?
        && newest.kind == RecordKind::Object
    {
        remove_past(txn, bucket, key, &newest);
        put_live(txn, bucket, key, &newest);
    }
    Ok(())
}

/// Changes what is known of one version where it lies. Errors: as for `object`.
pub(crate) fn change(
    txn: &mut Txn<'_>,
    bucket: u64,
    key: &str,
    version: Option<VersionId>,
    change: impl FnOnce(&mut Content) -> StorageResult<()>,
) -> StorageResult<VersionId> {
    let (spot, mut record) = located(txn, bucket, key, version)?;
    change(&mut record.content)?;
    match spot {
        Spot::Live => put_live(txn, bucket, key, &record),
        Spot::History(_) => put_past(txn, bucket, key, &record),
    }
    Ok(record.version())
}

fn locking(bucket: &BucketRecord) -> StorageResult<u64> {
    if bucket.lock.is_some() {
        Ok(bucket.id)
    } else {
        Err(StorageError::NoObjectLock)
    }
}

pub(crate) fn set_retention(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    version: Option<VersionId>,
    retention: Option<Retention>,
    bypass: Bypass,
) -> StorageResult<()> {
    let now_ms = txn.now_ms();
    lock::check_future(retention, now_ms)?;
    let id = locking(bucket)?;
    let changed = change(txn, id, key, version, |content| {
        lock::check_change(content.lock.retention, retention, now_ms, bypass)?;
        content.lock.retention = retention;
        Ok(())
    });
    changed.map(drop)
}

pub(crate) fn set_hold(
    txn: &mut Txn<'_>,
    bucket: &BucketRecord,
    key: &str,
    version: Option<VersionId>,
    hold: bool,
) -> StorageResult<()> {
    let changed = change(txn, locking(bucket)?, key, version, |content| {
        content.lock.hold = Some(hold);
        Ok(())
    });
    changed.map(drop)
}
