//! What the store promises beyond its answers: who wins, what is grouped, what readers keep, what
//! is refused.

use super::engine::{TransactionalStore, open_disk, open_memory};
use super::files::{Faults, Step};
use super::tables::{Table, When};
use super::testing::{assert_nothing_leaks, bytes, directory, drain, open, options, put, read};
use super::{
    Conditions, Content, DeleteTarget, EtagCondition, NewBucket, NewMultipart, ObjectReader,
    ObjectStore, PartFinish, PutFinish, StorageError, StorageOptions, SyncPolicy, UploadQuery,
    Versioning,
};
use bytes::Bytes;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};

fn with_bucket(store: &dyn ObjectStore) {
    store.create_bucket("b", NewBucket::default()).unwrap();
}

fn only_new() -> PutFinish {
    PutFinish {
        conditions: Conditions {
            if_none_match: Some(EtagCondition::Any),
            ..Default::default()
        },
        ..Default::default()
    }
}

fn both() -> (tempfile::TempDir, [Arc<dyn ObjectStore>; 2]) {
    let dir = directory();
    let disk = open_disk(dir.path(), options(SyncPolicy::Never)).unwrap();
    let stores = [open_memory(options(SyncPolicy::Never)).unwrap(), disk];
    stores.iter().for_each(|store| with_bucket(&**store));
    (dir, stores)
}

#[test]
fn of_many_writers_that_want_to_be_the_first_one_is() {
    let (_dir, stores) = both();
    for store in stores {
        let won = std::thread::scope(|scope| {
            let store = &*store;
            let write = |seed| {
                scope.spawn(move || {
                    put(store, "b", "k", &bytes(seed, 200), only_new()).map(|_| seed)
                })
            };
            let threads: Vec<_> = (0..8).map(write).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        let winners: Vec<u64> = won
            .iter()
            .filter_map(|outcome| outcome.as_ref().ok())
            .copied()
            .collect();
        assert_eq!(winners.len(), 1);
        assert!(
            won.iter()
                .all(|outcome| matches!(outcome, Ok(_) | Err(StorageError::PreconditionFailed)))
        );
        assert_eq!(
            read(&*store, "b", "k", None).unwrap(),
            bytes(winners[0], 200)
        );
    }
}

/// Stops the first commit until it is told to go on.
struct Gate {
    reached: SyncSender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl Faults for Gate {
    fn reach(&self, step: Step) -> io::Result<()> {
        if step == Step::Commit {
            // Both ends are dropped when the test lets everything pass.
            let _ = self.reached.send(());
            let _ = self.go_on.lock().unwrap().recv();
        }
        Ok(())
    }
}

#[test]
fn writes_that_come_while_a_group_is_committed_share_the_next_sync() {
    let dir = directory();
    with_bucket(&open(dir.path(), SyncPolicy::Always));
    let (reached, at_commit) = mpsc::sync_channel(0);
    let (release, go_on) = mpsc::channel();
    let gate = Arc::new(Gate {
        reached,
        go_on: Mutex::new(go_on),
    });
    let store =
        TransactionalStore::on_disk(dir.path(), options(SyncPolicy::Always), gate, None).unwrap();
    let (answer, answers) = mpsc::channel();
    let start = |key: String| {
        let mut upload = store.begin_put("b", &key).unwrap();
        upload.write(b"small").unwrap();
        let answer = answer.clone();
        upload.finish_then(
            PutFinish::default(),
            Box::new(move |outcome| answer.send(outcome.unwrap().key).unwrap()),
        );
    };
    start("first".into());
    at_commit.recv().unwrap();
    (0..10).for_each(|number| start(number.to_string()));
    assert!(
        answers.try_recv().is_err(),
        "nothing is answered before it is durable"
    );
    release.send(()).unwrap();
    at_commit.recv().unwrap();
    drop(release);
    assert_eq!(answers.iter().take(11).count(), 11);
    let counters = store.counters();
    assert_eq!(
        (counters.writes, counters.commits, counters.syncs),
        (11, 2, 2)
    );
}

#[test]
fn a_reader_keeps_the_bytes_that_it_opened_and_they_are_freed_with_it() {
    for len in [50, 300_000] {
        let dir = directory();
        let store = open(dir.path(), SyncPolicy::Never);
        with_bucket(&store);
        put(&store, "b", "k", &bytes(1, len), PutFinish::default()).unwrap();
        let (_, first) = store.get("b", "k", None).unwrap();
        put(&store, "b", "k", &bytes(2, len), PutFinish::default()).unwrap();
        let (_, second) = store.get("b", "k", None).unwrap();
        store
            .delete_object(
                "b",
                DeleteTarget {
                    key: "k".into(),
                    ..Default::default()
                },
            )
            .unwrap();
        assert_eq!(drain(first).unwrap(), bytes(1, len));
        assert_eq!(drain(second).unwrap(), bytes(2, len));
        drop(store);
        assert_nothing_leaks_after(dir.path(), len);
    }
}

/// The store was closed, so that all removals have run, and what the next start would remove is
/// counted before it does.
fn assert_nothing_leaks_after(dir: &Path, len: usize) {
    let left: usize = fs::read_dir(dir.join("files"))
        .unwrap()
        .map(|below| fs::read_dir(below.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(left, 0, "objects of {len} bytes");
    assert_nothing_leaks(&open(dir, SyncPolicy::Never), Some(dir));
}

#[test]
fn readers_never_see_half_of_two_objects() {
    let (_dir, stores) = both();
    for store in stores {
        put(&*store, "b", "k", &[0; 200_000], PutFinish::default()).unwrap();
        std::thread::scope(|scope| {
            let store = &*store;
            let writer = scope.spawn(move || {
                (0..60u8).for_each(|fill| {
                    drop(put(store, "b", "k", &vec![fill; 200_000], PutFinish::default()).unwrap())
                })
            });
            while !writer.is_finished() {
                let seen = read(store, "b", "k", None).unwrap();
                assert!(seen.len() == 200_000 && seen.iter().all(|byte| *byte == seen[0]));
            }
        });
    }
}

#[test]
fn ranges_read_what_lies_in_them() {
    let (_dir, stores) = both();
    for store in stores {
        for len in [40usize, 300_000] {
            let all = bytes(9, len);
            put(&*store, "b", "k", &all, PutFinish::default()).unwrap();
            for (from, to) in [
                (0, 1),
                (5, 39),
                (len - 1, len),
                (len - 3, len + 9),
                (len, len + 1),
                (131_000, 132_000),
            ] {
                let (_, mut reader) = store.get("b", "k", None).unwrap();
                reader.select(from as u64..to as u64);
                assert_eq!(
                    drain(reader).unwrap(),
                    all[from.min(len)..to.min(len)],
                    "{from} to {to} of {len}"
                );
            }
        }
    }
}

fn only_file(dir: &Path) -> PathBuf {
    let below = fs::read_dir(dir.join("files"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::read_dir(below).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_changed_byte_ends_the_read_and_scrub_names_the_object() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "whole", b"fine", PutFinish::default()).unwrap();
    let made = put(
        &store,
        "b",
        "odd/../key",
        &bytes(1, 300_000),
        PutFinish::default(),
    )
    .unwrap();
    let mut damaged = fs::read(only_file(dir.path())).unwrap();
    damaged[200_000] ^= 1;
    fs::write(only_file(dir.path()), damaged).unwrap();
    let (_, mut reader) = store.get("b", "odd/../key", None).unwrap();
    let first = reader.next_chunk().unwrap().unwrap();
    assert_eq!(first, bytes(1, 300_000)[..first.len()]);
    assert!(matches!(
        reader.next_chunk(),
        Err(StorageError::Corrupt { .. })
    ));
    assert_eq!(store.counters().corrupt_reads, 1);
    let mut found = Vec::new();
    let scrubbed = store
        .scrub(&mut |one| found.push((one.bucket, one.key, one.version)))
        .unwrap();
    assert_eq!(
        found,
        [("b".to_owned(), "odd/../key".to_owned(), Some(made.version))]
    );
    assert_eq!((scrubbed.objects, scrubbed.corrupt), (2, 1));
    fs::remove_file(only_file(dir.path())).unwrap();
    assert!(matches!(
        read(&store, "b", "odd/../key", None),
        Err(StorageError::Corrupt { .. })
    ));
    assert_eq!(store.scrub(&mut |_| ()).unwrap().corrupt, 1);
}

/// What is handed over of an object from here on, as it lies in the file.
fn handed(reader: &mut dyn ObjectReader) -> Option<Vec<u8>> {
    let span = reader.next_span()?;
    let mut out = vec![0; span.len];
    span.file.read_exact_at(&mut out, span.offset).unwrap();
    Some(out)
}

fn reader(store: &dyn ObjectStore) -> Box<dyn ObjectReader> {
    store.get("b", "k", None).unwrap().1
}

#[tokio::test(start_paused = true)]
async fn bytes_that_were_compared_lately_are_handed_over_until_they_must_be_compared_again() {
    let (dir, all) = (directory(), bytes(3, 300_000));
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", &all, PutFinish::default()).unwrap();
    let mut first = reader(&store);
    assert!(handed(&mut *first).is_none());
    let block = first.next_chunk().unwrap().unwrap().len();
    assert!(
        handed(&mut *first).is_none(),
        "the next block was not compared"
    );
    let mut second = reader(&store);
    assert_eq!(handed(&mut *second).unwrap(), all[..block]);
    assert_eq!(
        drain(second).unwrap(),
        all[block..],
        "what is not handed over is read"
    );
    for (from, to) in [(0, 300_000), (7, 140_000), (299_999, 300_000)] {
        let mut part = reader(&store);
        part.select(from as u64..to as u64);
        assert_eq!(handed(&mut *part).unwrap(), all[from..to]);
        assert!(handed(&mut *part).is_none() && part.next_chunk().unwrap().is_none());
    }
    assert_eq!(
        store.counters().bytes_handed,
        (block + 300_000 + 139_993 + 1) as u64
    );
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    assert!(handed(&mut *reader(&store)).is_none());
    assert_eq!(drain(reader(&store)).unwrap(), all);
    assert_eq!(handed(&mut *reader(&store)).unwrap(), all);
}

#[test]
fn a_block_that_was_found_changed_is_handed_over_no_more() {
    let (dir, all) = (directory(), bytes(3, 300_000));
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", &all, PutFinish::default()).unwrap();
    assert_eq!(drain(reader(&store)).unwrap(), all);
    let mut damaged = fs::read(only_file(dir.path())).unwrap();
    damaged[200_000] ^= 1;
    fs::write(only_file(dir.path()), damaged).unwrap();
    assert!(drain(reader(&store)).is_err());
    let mut again = reader(&store);
    assert_eq!(handed(&mut *again).unwrap().len(), 128 << 10);
    assert!(handed(&mut *again).is_none() && again.next_chunk().is_err());
}

#[test]
fn nothing_is_handed_over_where_every_read_is_compared_or_there_is_no_file() {
    let dir = directory();
    let always = StorageOptions {
        verify_every: std::time::Duration::ZERO,
        ..options(SyncPolicy::Never)
    };
    for store in [
        open_disk(dir.path(), always).unwrap(),
        open_memory(options(SyncPolicy::Never)).unwrap(),
    ] {
        with_bucket(&*store);
        put(&*store, "b", "k", &bytes(3, 300_000), PutFinish::default()).unwrap();
        drain(reader(&*store)).unwrap();
        assert!(handed(&mut *reader(&*store)).is_none());
    }
}

#[test]
fn a_file_that_stays_open_for_readers_goes_with_its_object() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", &bytes(3, 300_000), PutFinish::default()).unwrap();
    drain(reader(&store)).unwrap();
    let open = || {
        let names = fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        names
            .filter(|name| name.starts_with(dir.path().join("files")))
            .count()
    };
    assert_eq!(open(), 1);
    store
        .delete_object(
            "b",
            DeleteTarget {
                key: "k".into(),
                ..Default::default()
            },
        )
        .unwrap();
    assert_eq!(open(), 0);
}

#[test]
fn a_changed_packed_byte_is_found() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", b"packed", PutFinish::default()).unwrap();
    let (key, value) = store
        .core
        .view()
        .first(Table::Packed, &[], None)
        .unwrap()
        .unwrap();
    let mut damaged = value.to_vec();
    damaged[5] ^= 1;
    store
        .core
        .tables
        .commit(
            vec![(Table::Packed, key.clone(), Some(Bytes::from(damaged)))],
            When::Later,
        )
        .unwrap();
    assert!(matches!(
        read(&store, "b", "k", None),
        Err(StorageError::Corrupt { .. })
    ));
    store
        .core
        .tables
        .commit(vec![(Table::Packed, key, None)], When::Later)
        .unwrap();
    assert_eq!(store.scrub(&mut |_| ()).unwrap().corrupt, 1);
}

#[test]
fn no_more_than_the_reserve_left_refuses_objects_and_allows_deletions() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", b"1", PutFinish::default()).unwrap();
    drop(store);
    let store = open_disk(
        dir.path(),
        StorageOptions {
            reserve: Some(u64::MAX),
            ..options(SyncPolicy::Never)
        },
    )
    .unwrap();
    for len in [10, 1000] {
        assert!(
            matches!(
                put(&*store, "b", "new", &bytes(1, len), PutFinish::default()),
                Err(StorageError::NoSpace)
            ),
            "{len} bytes"
        );
    }
    store
        .delete_object(
            "b",
            DeleteTarget {
                key: "k".into(),
                ..Default::default()
            },
        )
        .unwrap();
    store.delete_bucket("b").unwrap();
}

#[test]
fn a_digest_that_does_not_match_leaves_nothing() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Always);
    with_bucket(&store);
    for len in [10, 1000] {
        let wrong = PutFinish {
            expected_md5: Some([1; 16]),
            ..Default::default()
        };
        assert!(matches!(
            put(&store, "b", "k", &bytes(1, len), wrong),
            Err(StorageError::BadDigest)
        ));
        drop(store.begin_put("b", "k").unwrap());
    }
    assert!(matches!(
        store.head("b", "k", None),
        Err(StorageError::NoSuchKey)
    ));
    assert_nothing_leaks(&store, Some(dir.path()));
}

#[test]
fn a_condition_that_fails_frees_the_file_that_it_brought() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    put(&store, "b", "k", b"1", only_new()).unwrap();
    assert!(matches!(
        put(&store, "b", "k", &bytes(1, 1000), only_new()),
        Err(StorageError::PreconditionFailed)
    ));
    drop(store);
    assert_nothing_leaks_after(dir.path(), 1000);
}

#[test]
fn what_is_kept_beside_the_bytes_survives_a_restart() {
    let dir = directory();
    let content = Content {
        user: vec![("who".into(), "я".into())],
        tags: vec![("a".into(), "b".into())],
        ..Default::default()
    };
    let made = {
        let store = open(dir.path(), SyncPolicy::Always);
        with_bucket(&store);
        store.set_versioning("b", Versioning::On).unwrap();
        store
            .set_document("b", super::BucketDocument::Policy, Some(b"{}".to_vec()))
            .unwrap();
        put(
            &store,
            "b",
            "//../k",
            &bytes(1, 1000),
            PutFinish {
                content: content.clone(),
                ..Default::default()
            },
        )
        .unwrap()
    };
    let store = open(dir.path(), SyncPolicy::Always);
    assert_eq!(store.head("b", "//../k", Some(made.version)).unwrap(), made);
    assert_eq!(made.content, content);
    assert_eq!(
        store
            .document("b", super::BucketDocument::Policy)
            .unwrap()
            .as_deref(),
        Some(&b"{}"[..])
    );
    assert_eq!(
        store.document("b", super::BucketDocument::Cors).unwrap(),
        None
    );
    assert_eq!(store.bucket("b").unwrap().versioning, Versioning::On);
    let next = put(&store, "b", "//../k", b"2", PutFinish::default()).unwrap();
    assert_ne!(next.version, made.version);
    assert!(matches!(
        store.set_versioning("b", Versioning::Off),
        Err(StorageError::VersioningStaysOn)
    ));
}

#[test]
fn a_directory_of_other_things_or_one_in_use_is_refused() {
    let dir = directory();
    fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
    let refused = |found: Result<Arc<dyn ObjectStore>, StorageError>| {
        matches!(found, Err(StorageError::Unusable { .. }))
    };
    assert!(refused(open_disk(dir.path(), options(SyncPolicy::Never))));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let dir = directory();
    let _store = open(dir.path(), SyncPolicy::Never);
    assert!(refused(open_disk(dir.path(), options(SyncPolicy::Never))));
}

#[test]
fn a_handle_that_outlives_its_store_is_told_so() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    let upload = store.begin_put("b", "k").unwrap();
    drop(store);
    assert!(matches!(
        upload.finish(PutFinish::default()),
        Err(StorageError::Closed)
    ));
}

#[test]
fn what_an_interval_syncs_is_synced_once() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Interval(3_600_000));
    with_bucket(&store);
    assert_eq!(store.counters().syncs, 0);
    store.sync().unwrap();
    store.sync().unwrap();
    assert_eq!(store.counters().syncs, 1);
}

#[test]
fn a_bucket_ends_with_its_unfinished_uploads_but_not_with_objects() {
    let dir = directory();
    let store = open(dir.path(), SyncPolicy::Never);
    with_bucket(&store);
    for (key, len) in [("k", 20), ("k", 1000), ("z\u{ff}", 30)] {
        let id = store
            .create_multipart("b", key, NewMultipart::default())
            .unwrap();
        let mut part = store.begin_part("b", key, &id, 1).unwrap();
        part.write(&bytes(1, len)).unwrap();
        part.finish(PartFinish::default()).unwrap();
    }
    put(&store, "b", "object", b"1", PutFinish::default()).unwrap();
    assert!(matches!(
        store.delete_bucket("b"),
        Err(StorageError::BucketNotEmpty)
    ));
    store
        .delete_object(
            "b",
            DeleteTarget {
                key: "object".into(),
                ..Default::default()
            },
        )
        .unwrap();
    store.delete_bucket("b").unwrap();
    with_bucket(&store);
    let all = UploadQuery {
        prefix: String::new(),
        delimiter: None,
        key_marker: None,
        upload_marker: None,
        max: 10,
    };
    assert!(store.list_uploads("b", &all).unwrap().entries.is_empty());
    // Files are removed by a thread of the store, which ends with it.
    drop(store);
    assert_nothing_leaks(&open(dir.path(), SyncPolicy::Never), Some(dir.path()));
}
