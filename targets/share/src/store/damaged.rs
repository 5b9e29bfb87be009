//! Uploads of which the disk has lost pages in the middle: no answer ends as if it were whole.

use super::ShareStore;
use super::testing::{bytes, options, put, read};
use crate::content::Unobstructed;
use crate::flow::{FromStore, Stretch, Way};
use crate::options::ShareLayout;
use std::fs::{self, File};
use std::future::poll_fn;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn attached(dir: &Path, layout: ShareLayout) -> ShareStore {
    let path = dir.join("x.db");
    let attached = ShareStore::attach_with(&path, options(layout), Arc::new(Unobstructed));
    attached.unwrap().0
}

/// Where the bytes of the largest upload lie.
fn kept(dir: &Path, layout: ShareLayout) -> PathBuf {
    if layout == ShareLayout::OneDatabase {
        return dir.join("x.db");
    }
    let files = fs::read_dir(dir.join("x.db.shares")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap()
}

/// What comes of all of an upload, and whether that ends well; nothing where it does not begin.
async fn sent(store: &ShareStore, id: &str, batch: u64) -> Option<(Vec<u8>, bool)> {
    let upload = store.index.find(id, 1).unwrap().unwrap();
    let all = vec![Stretch::Upload(0..store.size(&upload).unwrap())];
    let reader = store.read(&upload).unwrap();
    let way = Way::Read(batch);
    let stream = FromStore::new(reader, all, upload.body.chunk, way)
        .begun()
        .await;
    let (mut stream, mut out) = (stream.ok()?, Vec::new());
    loop {
        match poll_fn(|context| stream.poll_next(context)).await {
            Some(Ok(piece)) => out.extend_from_slice(&piece),
            Some(Err(_)) => return Some((out, false)),
            None => return Some((out, true)),
        }
    }
}

#[tokio::test]
async fn pages_that_are_lost_in_the_middle_break_their_upload_there_and_no_other() {
    for layout in [ShareLayout::FilePerShare, ShareLayout::OneDatabase] {
        let dir = tempfile::tempdir().unwrap();
        let (large, other) = (bytes(1, 400_000), bytes(2, 30_000));
        let store = attached(dir.path(), layout);
        let (id, beside) = (put(&store, &large, None, 1), put(&store, &other, None, 1));
        let (id, beside) = (id.unwrap(), beside.unwrap());
        // What is in the log of the database is moved into it at the end.
        drop(store);
        let file = File::options().write(true).open(kept(dir.path(), layout));
        let file = file.unwrap();
        // More than one row: of the last page of a row only bytes would be lost, which nobody sees.
        file.write_all_at(&[0; 8 * 4096], 50 * 4096).unwrap();
        let store = attached(dir.path(), layout);
        for batch in [1, 3] {
            let (out, whole) = sent(&store, &id, batch).await.expect("it begins");
            assert!(!whole && !out.is_empty(), "{layout} {batch} {}", out.len());
            assert!(out.len() < large.len() && out[..100_000] == large[..100_000]);
            let found = store.index.find(&beside, 1).unwrap().unwrap();
            assert!(read(&store, &found) == other);
        }
        if layout == ShareLayout::FilePerShare {
            file.set_len(0).unwrap();
            let of_nothing = sent(&store, &id, 1).await;
            assert!(of_nothing.is_none(), "an answer of it would break off");
        }
    }
}
