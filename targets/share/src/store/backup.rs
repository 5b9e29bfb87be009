//! Copies of a store that is in use, made as the documentation says, are whole.

use super::ShareStore;
use super::testing::{bytes, options, put, shown};
use crate::options::{ShareLayout, ShareOptions};
use std::path::Path;
use std::time::Duration;

fn kept(layout: ShareLayout) -> ShareOptions {
    ShareOptions {
        keep_deleted: Duration::from_secs(600),
        ..options(layout)
    }
}

/// A consistent copy of the database, as `sqlite3 share.db ".backup copy.db"` or Litestream make.
fn copy_database(store: &ShareStore, to: &Path) {
    let to = to.to_str().unwrap();
    let copied = store.index.read(|connection| {
        connection.execute("VACUUM INTO ?1", [to])?;
        Ok(())
    });
    copied.unwrap();
}

#[test]
fn an_index_that_was_copied_first_finds_all_files_that_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.db"), dir.path().join("y.db"));
    let (store, _) = ShareStore::attach(&from, kept(ShareLayout::FilePerShare)).unwrap();
    let first = put(&store, &bytes(1, 30_000), None, 1000).unwrap();
    put(&store, &bytes(2, 50), None, 1000).unwrap();
    let before = shown(&store, 1000);
    copy_database(&store, &to);
    // People go on while the files are copied.
    store.index.remove(&first, 1001).unwrap();
    put(&store, &bytes(3, 50), None, 1001).unwrap();
    store.sweep(2000).unwrap();
    let shares = dir.path().join("y.db.shares");
    std::fs::create_dir(&shares).unwrap();
    for file in std::fs::read_dir(dir.path().join("x.db.shares"))
        .unwrap()
        .flatten()
    {
        if file.path().is_file() {
            std::fs::copy(file.path(), shares.join(file.file_name())).unwrap();
        }
    }
    drop(store);
    let (restored, settled) = ShareStore::attach(&to, kept(ShareLayout::FilePerShare)).unwrap();
    assert!(
        settled.missing.is_empty() && settled.removed == 1,
        "{settled:?}"
    );
    assert!(shown(&restored, 2000) == before);
    put(&restored, &bytes(4, 9000), None, 2001).unwrap();
}

#[test]
fn a_store_that_was_closed_has_no_log_beside_it() {
    for layout in [ShareLayout::FilePerShare, ShareLayout::OneDatabase] {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = ShareStore::attach(&dir.path().join("x.db"), kept(layout)).unwrap();
        put(&store, &bytes(1, 30_000), None, 1000).unwrap();
        assert!(dir.path().join("x.db-wal").exists());
        drop(store);
        let copied = dir.path().join("copy.db");
        std::fs::copy(dir.path().join("x.db"), &copied).unwrap();
        for ending in ["-wal", "-shm"] {
            let path = dir.path().join(format!("x.db{ending}"));
            assert!(!path.exists(), "{layout} {ending}");
        }
        let copy = rusqlite::Connection::open(copied).unwrap();
        let count = "SELECT count(*) FROM upload";
        let uploads: u64 = copy.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(uploads, 1, "{layout}");
    }
}

#[test]
fn one_database_is_its_own_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.db"), dir.path().join("y.db"));
    let (store, _) = ShareStore::attach(&from, kept(ShareLayout::OneDatabase)).unwrap();
    let first = put(&store, &bytes(1, 30_000), None, 1000).unwrap();
    // An upload that is under way is no part of the copy.
    let mut draft = store.begin().unwrap();
    draft.append(&bytes(9, 9_177)).unwrap();
    let before = shown(&store, 1000);
    copy_database(&store, &to);
    store.index.remove(&first, 1001).unwrap();
    drop(draft);
    drop(store);
    let (restored, settled) = ShareStore::attach(&to, kept(ShareLayout::OneDatabase)).unwrap();
    assert!(
        settled.missing.is_empty() && settled.removed == 1,
        "{settled:?}"
    );
    assert!(shown(&restored, 2000) == before);
}

#[test]
fn a_file_that_is_gone_is_told_and_the_others_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    let (store, _) = ShareStore::attach(&path, kept(ShareLayout::FilePerShare)).unwrap();
    let lost = put(&store, &bytes(1, 30), None, 1).unwrap();
    let whole = put(&store, &bytes(2, 30), None, 1).unwrap();
    drop(store);
    std::fs::remove_file(dir.path().join("x.db.shares/0000000000000001.share")).unwrap();
    let (store, settled) = ShareStore::attach(&path, kept(ShareLayout::FilePerShare)).unwrap();
    assert_eq!(store.damaged(&settled).unwrap(), [format!("{lost} (n)")]);
    let upload = store.index.find(&whole, 1).unwrap().unwrap();
    assert_eq!(
        store.read(&upload).unwrap().read(0, 9).unwrap().concat(),
        bytes(2, 30)
    );
}

#[test]
fn a_second_server_is_kept_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    let (_store, _) = ShareStore::attach(&path, kept(ShareLayout::FilePerShare)).unwrap();
    let second = ShareStore::attach(&path, kept(ShareLayout::FilePerShare));
    assert!(second.is_err_and(|error| error.to_string().contains("in use")));
}
