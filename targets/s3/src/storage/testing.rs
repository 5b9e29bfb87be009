//! What the tests of the store share.

use super::engine::TransactionalStore;
use super::files::{Faults, Naming, NoFaults};
use super::records::{Body, Layout, ObjectRecord, PartRecord, Piece, Stored};
use super::tables::{Table, View};
use super::{
    ObjectReader, ObjectStore, ObjectVersion, PutFinish, StorageOptions, StorageResult, SyncPolicy,
    VersionId, WallClock, keys, versions,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Small limits, so that a few hundred bytes make a file; every reading of the clock is one second
/// later.
pub(crate) fn options(sync: SyncPolicy) -> StorageOptions {
    let now = AtomicU64::new(0);
    let clock: WallClock = Arc::new(move || now.fetch_add(1000, Ordering::Relaxed));
    StorageOptions {
        sync,
        packed_limit: 64,
        least_part: 10,
        reserve: Some(0),
        cache: 1 << 20,
        ..StorageOptions::new(clock)
    }
}

/// A directory in memory where there is one: what is tested survives the end of a process, and no
/// test waits for a disk.
pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(crate) fn open(dir: &Path, sync: SyncPolicy) -> TransactionalStore {
    TransactionalStore::on_disk(dir, options(sync), Arc::new(NoFaults), None).unwrap()
}

pub(crate) fn open_with(
    dir: &Path,
    faults: Arc<dyn Faults>,
    naming: Naming,
) -> StorageResult<TransactionalStore> {
    TransactionalStore::on_disk(dir, options(SyncPolicy::Always), faults, Some(naming))
}

/// Bytes that differ by seed and by place.
pub(crate) fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}

pub(crate) fn put(
    store: &dyn ObjectStore,
    bucket: &str,
    key: &str,
    bytes: &[u8],
    finish: PutFinish,
) -> StorageResult<ObjectVersion> {
    let mut upload = store.begin_put(bucket, key)?;
    for piece in bytes.chunks(100) {
        upload.write(piece)?;
    }
    upload.finish(finish)
}

pub(crate) fn drain(mut reader: Box<dyn ObjectReader>) -> StorageResult<Vec<u8>> {
    let mut out = Vec::new();
    while let Some(chunk) = reader.next_chunk()? {
        out.extend_from_slice(&chunk);
    }
    Ok(out)
}

pub(crate) fn read(
    store: &dyn ObjectStore,
    bucket: &str,
    key: &str,
    version: Option<VersionId>,
) -> StorageResult<Vec<u8>> {
    drain(store.get(bucket, key, version)?.1)
}

fn note(pieces: &[Piece], packed: &mut Vec<u64>, files: &mut Vec<u64>) {
    for piece in pieces {
        match piece.stored {
            Stored::Packed(id) => packed.push(id),
            Stored::File(id) => files.push(id),
        }
    }
}

fn ids(view: &dyn View, table: Table) -> Vec<u64> {
    view.range(table, &[], None)
        .map(|row| keys::read_id(&row.unwrap().0).unwrap())
        .collect()
}

fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}

/// Asserts that every packed row, layout and file has exactly one owner, and that every row of the
/// history has its place.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
pub(crate) fn assert_nothing_leaks(store: &TransactionalStore, dir: Option<&Path>) {
    let view = store.core.view();
    let (mut packed, mut files, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
    let buckets: BTreeSet<Vec<u8>> = {
        let rows = view.range(Table::Buckets, &[], None);
        rows.map(|row| {
            super::records::BucketRecord::decode(&row.unwrap().1)
                .unwrap()
                .id
                .to_be_bytes()
                .to_vec()
        })
        .collect()
    };
    for table in [Table::Live, Table::History] {
        for row in view.range(table, &[], None) {
            let (key, value) = row.unwrap();
            assert!(
                buckets.contains(&key[..8]),
                "a row of a bucket that is gone"
            );
            match ObjectRecord::decode(&value).unwrap().body {
                Body::Empty => {}
                Body::Whole(piece) => note(&[piece], &mut packed, &mut files),
                Body::Assembled(id) => {
                    let layout: Layout = versions::layout(&*view, id).unwrap();
                    note(
                        &layout.pieces().cloned().collect::<Vec<_>>(),
                        &mut packed,
                        &mut files,
                    );
                    layouts.push(id);
                }
            }
        }
    }
    let mut uploads = BTreeSet::new();
    for row in view.range(Table::Uploads, &[], None) {
        uploads.insert(keys::numbered_key_of(&row.unwrap().0).unwrap().1);
    }
    for row in view.range(Table::Parts, &[], None) {
        let (key, value) = row.unwrap();
        assert!(
            uploads.contains(&keys::read_id(&key[..8]).unwrap()),
            "a part of an upload that is gone"
        );
        note(
            &PartRecord::decode(&value).unwrap().pieces,
            &mut packed,
            &mut files,
        );
    }
    assert_eq!(
        sorted(packed),
        ids(&*view, Table::Packed),
        "packed rows have one owner each"
    );
    assert_eq!(
        sorted(layouts),
        ids(&*view, Table::Layouts),
        "layouts have one owner each"
    );
    let files = sorted(files);
    assert_eq!(
        files,
        ids(&*view, Table::Files),
        "files have one owner each"
    );
    if let Some(dir) = dir {
        assert_eq!(
            names_below(dir),
            files,
            "there are the files that are owned and no others"
        );
    }
    let scrubbed = store.scrub(&mut |found| panic!("{found:?}")).unwrap();
    assert_eq!(scrubbed.corrupt, 0);
}

fn names_below(dir: &Path) -> Vec<u64> {
    assert_eq!(
        fs::read_dir(dir.join("incoming")).unwrap().count(),
        0,
        "nothing unfinished is left"
    );
    let mut found = Vec::new();
    for below in fs::read_dir(dir.join("files")).unwrap() {
        for file in fs::read_dir(below.unwrap().path()).unwrap() {
            found.push(
                u64::from_str_radix(file.unwrap().file_name().to_str().unwrap(), 16).unwrap(),
            );
        }
    }
    sorted(found)
}
