//! The write-ahead log is emptied as the store goes on, and a database that somebody else has locked
//! is told from one that is broken.

use super::ShareStore;
use super::testing::{assert_nothing_leaks, bytes, options, put, read, shown};
use crate::error::ShareError;
use crate::options::{ShareLayout, ShareOptions};
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use units::Bytes;

const LAYOUTS: [ShareLayout; 2] = [ShareLayout::FilePerShare, ShareLayout::OneDatabase];

#[test]
fn a_database_that_another_has_locked_is_busy_and_works_again_afterwards() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let (store, _) = ShareStore::attach(&path, options(layout)).unwrap();
        let kept = put(&store, &bytes(1, 30_000), None, 1).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = put(&store, &bytes(2, 30_000), None, 1);
        assert!(matches!(refused, Err(ShareError::Busy)), "{refused:?}");
        assert!(matches!(
            store.index.remove(&kept, 2),
            Err(ShareError::Busy)
        ));
        // Who only reads does not wait.
        let upload = store.index.find(&kept, 1).unwrap().unwrap();
        assert!(read(&store, &upload) == bytes(1, 30_000));
        other.execute_batch("COMMIT").unwrap();
        drop(other);
        put(&store, &bytes(3, 30_000), None, 1).unwrap();
        drop(store);
        let (store, _) = ShareStore::attach(&path, options(layout)).unwrap();
        assert_eq!(shown(&store, 1).len(), 2, "{layout}");
        assert_nothing_leaks(&store, dir.path());
    }
}

#[test]
fn the_log_is_emptied_also_while_others_read_without_a_pause() {
    const CHECKPOINT: u64 = 256 << 10;
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let options = ShareOptions {
            checkpoint: Bytes(CHECKPOINT),
            connections: 4,
            ..options(layout)
        };
        let (store, _) = ShareStore::attach(&path, options).unwrap();
        let id = put(&store, &bytes(1, 200_000), None, 1).unwrap();
        let (ends, mut longest) = (AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !ends.load(SeqCst) {
                        let upload = store.index.find(&id, 1).unwrap().unwrap();
                        assert!(read(&store, &upload) == bytes(1, 200_000));
                    }
                });
            }
            for number in 0..60 {
                put(&store, &bytes(number, 100_000), None, 1).unwrap();
                let log = std::fs::metadata(dir.path().join("x.db-wal")).unwrap();
                longest = longest.max(log.len());
            }
            ends.store(true, SeqCst);
        });
        assert!(longest < 8 * CHECKPOINT, "{layout}: {longest} bytes");
    }
}
