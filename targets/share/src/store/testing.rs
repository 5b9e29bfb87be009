//! What the tests of the store have in common.

use super::{NewUpload, ShareStore};
use crate::content::Obstacle;
use crate::error::{ShareError, ShareResult};
use crate::index::KeptUpload;
use crate::options::{ShareLayout, ShareOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use units::Bytes;

/// Bytes that a seed gives.
pub(super) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let step = seed
        .wrapping_mul(2)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..length as u64)
        .map(|at| (at.wrapping_add(7).wrapping_mul(step) >> 32).to_le_bytes()[0])
        .collect()
}

/// Small pages and rows, so that little is already much.
pub(super) fn options(layout: ShareLayout) -> ShareOptions {
    ShareOptions {
        layout,
        page_size: Bytes(4096),
        chunk_size: Bytes(8192),
        keep_deleted: Duration::ZERO,
        reserve: Some(Bytes(0)),
        connections: 2,
        ..ShareOptions::default()
    }
}

pub(super) fn open(
    dir: &Path,
    layout: ShareLayout,
    obstacle: Arc<dyn Obstacle>,
) -> ShareResult<ShareStore> {
    let (store, settled) = ShareStore::attach_with(&dir.join("x.db"), options(layout), obstacle)?;
    assert!(
        settled.missing.is_empty(),
        "an upload has lost its bytes: {settled:?}"
    );
    Ok(store)
}

/// Writes a body, in the chunks that the store wants.
pub(super) fn written(
    store: &ShareStore,
    bytes: &[u8],
) -> ShareResult<Box<dyn crate::content::Draft>> {
    let mut draft = store.begin()?;
    let chunk = usize::try_from(draft.place().chunk).unwrap();
    if bytes.is_empty() {
        draft.append(b"")?;
    }
    for (at, chunk) in bytes.chunks(chunk).enumerate() {
        draft.append(chunk)?;
        if at % 2 == 1 {
            draft.rest()?;
        }
    }
    Ok(draft)
}

pub(super) fn put(
    store: &ShareStore,
    bytes: &[u8],
    expires: Option<u64>,
    now: u64,
) -> ShareResult<String> {
    let new = NewUpload {
        name: "n".into(),
        media: "m/m".into(),
        note: String::new(),
        expires,
        guest_link: None,
    };
    store.keep(written(store, bytes)?, bytes.len() as u64, new, now)
}

pub(super) fn replace(store: &ShareStore, id: &str, bytes: &[u8], now: u64) -> ShareResult<()> {
    let with = store.index.find(id, now)?.ok_or(ShareError::Missing)?;
    store.replace(written(store, bytes)?, bytes.len() as u64, with, None, now)
}

pub(super) fn read(store: &ShareStore, upload: &KeptUpload) -> Vec<u8> {
    let chunks = store.read(upload).unwrap().read(0, 1 << 20).unwrap();
    let bytes = chunks.concat();
    assert_eq!(store.size(upload).unwrap(), bytes.len() as u64);
    assert_eq!(
        store.bodies.size(upload.body.number).unwrap(),
        bytes.len() as u64
    );
    bytes
}

/// All uploads that a store shows at a moment, by id.
pub(super) fn shown(store: &ShareStore, now: u64) -> Vec<(String, Vec<u8>)> {
    let page = store.index.uploads(0, 1000).unwrap();
    let ids = page.uploads.into_iter().map(|upload| upload.id);
    let mut out: Vec<(String, Vec<u8>)> = ids
        .filter_map(|id| {
            Some((
                id.clone(),
                read(store, &store.index.find(&id, now).unwrap()?),
            ))
        })
        .collect();
    out.sort();
    out
}

/// No bytes are kept that no upload has.
pub(super) fn assert_nothing_leaks(store: &ShareStore, dir: &Path) {
    let owned = store.index.bodies().unwrap();
    let incoming = dir.join("x.db.shares/incoming");
    if incoming.is_dir() {
        assert_eq!(std::fs::read_dir(incoming).unwrap().count(), 0);
        let files = std::fs::read_dir(dir.join("x.db.shares")).unwrap().count();
        assert_eq!(files - 1, owned.len());
    } else {
        let bodies: u64 = store
            .index
            .read(|connection| {
                let query = "SELECT count(DISTINCT number >> 24) FROM chunk";
                Ok(connection.query_row(query, [], |row| row.get(0))?)
            })
            .unwrap();
        assert_eq!(bodies, owned.len() as u64);
    }
}
