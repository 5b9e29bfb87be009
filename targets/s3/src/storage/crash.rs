//! The store is stopped at every step of its writes and opened again: what was answered is there
//! byte for byte, what was not is wholly there or not at all, and nothing leaks.

use super::engine::{TransactionalStore, open_memory};
use super::files::{Faults, Naming, NoFaults, Step};
use super::testing::{assert_nothing_leaks, bytes, directory, open, open_with, options, put, read};
use super::{
    Acl, BucketDocument, BucketLock, Bypass, Complete, Content, CopyObject, CopyPart,
    DefaultRetention, DeleteTarget, ListedVersion, NewBucket, NewMultipart, ObjectStore,
    PartFinish, PartQuery, PartRef, PutFinish, Retention, RetentionMode, RetentionPeriod,
    SourceObject, StorageError, StorageResult, SyncPolicy, UploadEntry, UploadQuery, VersionEntry,
    VersionQuery, Versioning,
};
use std::fmt::Write as _;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Operation = Box<dyn Fn(&dyn ObjectStore) -> StorageResult<()>>;

fn write(key: &'static str, seed: u64, len: usize) -> Operation {
    Box::new(move |store| put(store, "b", key, &bytes(seed, len), PutFinish::default()).map(drop))
}

fn only_upload(store: &dyn ObjectStore) -> StorageResult<String> {
    let page = store.list_uploads(
        "b",
        &UploadQuery {
            max: 1,
            ..Default::default()
        },
    )?;
    match page.entries.into_iter().next() {
        Some(UploadEntry::Upload(listed)) => Ok(listed.upload),
        Some(UploadEntry::CommonPrefix(_)) | None => Err(StorageError::NoSuchUpload),
    }
}

fn part(number: u32, seed: u64, len: usize) -> Operation {
    Box::new(move |store| {
        let mut part = store.begin_part("b", "multi", &only_upload(store)?, number)?;
        part.write(&bytes(seed, len))?;
        part.finish(PartFinish::default()).map(drop)
    })
}

fn delete(key: &'static str) -> Operation {
    Box::new(move |store| {
        store
            .delete_object(
                "b",
                DeleteTarget {
                    key: key.into(),
                    ..Default::default()
                },
            )
            .map(drop)
    })
}

fn source(key: &str) -> SourceObject {
    SourceObject {
        bucket: "b".into(),
        key: key.into(),
        version: None,
        conditions: Default::default(),
    }
}

fn copy(from: &'static str, to: &'static str) -> Operation {
    Box::new(move |store| {
        let (source, bucket, key) = (source(from), "b".to_owned(), to.to_owned());
        let copy = CopyObject {
            source,
            bucket,
            key,
            metadata: None,
            tags: None,
            checksums: None,
            lock: Default::default(),
            acl: Some(Acl::private("copier")),
            conditions: Default::default(),
        };
        store.copy_object(copy).map(drop)
    })
}

fn complete() -> Operation {
    Box::new(|store| {
        let upload = only_upload(store)?;
        let parts = store
            .list_parts("b", "multi", &upload, &PartQuery { after: 0, max: 100 })?
            .parts;
        let named = |part: super::UploadedPart| PartRef {
            number: part.number,
            etag: part.etag.to_string(),
            checksums: vec![],
        };
        let parts = parts
            .into_iter()
            .filter(|part| part.number != 3)
            .map(named)
            .collect();
        store
            .complete_multipart(
                "b",
                "multi",
                &upload,
                Complete {
                    parts,
                    ..Default::default()
                },
            )
            .map(drop)
    })
}

fn locked(days: u32) -> BucketLock {
    BucketLock {
        default: Some(DefaultRetention {
            mode: RetentionMode::Governance,
            period: RetentionPeriod::Days(days),
        }),
    }
}

/// What only a bucket with a lock has, and that a version which is kept outlives a deletion.
fn lock_operations() -> Vec<Operation> {
    vec![
        Box::new(|store| {
            let documents = vec![(BucketDocument::Tags, b"tags".to_vec())];
            store.create_bucket(
                "locked",
                NewBucket {
                    lock: Some(BucketLock::default()),
                    documents,
                    ..Default::default()
                },
            )
        }),
        Box::new(|store| store.set_bucket_lock("locked", locked(5))),
        Box::new(|store| {
            put(store, "locked", "k", &bytes(14, 500), PutFinish::default()).map(drop)
        }),
        Box::new(|store| store.set_hold("locked", "k", None, true)),
        Box::new(|store| {
            let retention = Some(Retention {
                mode: RetentionMode::Compliance,
                until_ms: 900 * 86_400_000,
            });
            store.set_retention("locked", "k", None, retention, Bypass::Governance)
        }),
        Box::new(|store| store.set_hold("locked", "k", None, false)),
        Box::new(|store| {
            let version = Some(store.head("locked", "k", None)?.version);
            let target = DeleteTarget {
                key: "k".into(),
                version,
                bypass: Bypass::Governance,
                ..Default::default()
            };
            match store.delete_object("locked", target) {
                Err(StorageError::Locked) => Ok(()),
                Err(other) => Err(other),
                Ok(deleted) => panic!("{deleted:?}"),
            }
        }),
        Box::new(|store| {
            store
                .delete_object(
                    "locked",
                    DeleteTarget {
                        key: "k".into(),
                        ..Default::default()
                    },
                )
                .map(drop)
        }),
    ]
}

fn with_acl(owner: &str) -> Content {
    Content {
        acl: Some(Acl::private(owner)),
        ..Default::default()
    }
}

/// Access control lists of what is made, and of what there is.
fn list_operations() -> Vec<Operation> {
    vec![
        Box::new(|store| {
            let finish = PutFinish {
                content: with_acl("kim"),
                ..Default::default()
            };
            put(store, "b", "listed", &bytes(15, 40), finish).map(drop)
        }),
        Box::new(|store| {
            let acl = Some(Acl::private("lee"));
            store.set_acl("b", "listed", None, acl).map(drop)
        }),
        Box::new(|store| store.set_acl("b", "listed", None, None).map(drop)),
        Box::new(|store| store.set_document("b", BucketDocument::Acl, Some(b"list".to_vec()))),
        Box::new(|store| {
            let new = NewMultipart {
                content: with_acl("kim"),
                ..Default::default()
            };
            store.create_multipart("b", "multi", new).map(drop)
        }),
        part(1, 16, 300),
        complete(),
    ]
}

/// Every kind of write, small and large, over nothing and over something, without and with
/// versions.
fn operations() -> Vec<Operation> {
    let mut operations: Vec<Operation> = vec![
        Box::new(|store| store.create_bucket("b", NewBucket::default())),
        write("large", 1, 300_000),
        write("small", 2, 50),
        write("large", 3, 500),
        write("small", 4, 700),
        write("small", 5, 0),
        copy("large", "copied"),
        Box::new(|store| {
            store
                .create_multipart("b", "multi", NewMultipart::default())
                .map(drop)
        }),
        part(1, 6, 400),
        part(2, 7, 30),
        part(2, 8, 200),
        part(3, 9, 200),
        Box::new(|store| {
            let (bucket, key, upload) = ("b".to_owned(), "multi".to_owned(), only_upload(store)?);
            store
                .copy_part(CopyPart {
                    source: source("large"),
                    range: Some(100..300),
                    bucket,
                    key,
                    upload,
                    number: 4,
                    checksums: vec![],
                })
                .map(drop)
        }),
        complete(),
        copy("multi", "copied"),
        Box::new(|store| store.set_versioning("b", Versioning::On)),
        write("large", 10, 600),
        delete("multi"),
        delete("small"),
        write("small", 11, 20),
        Box::new(|store| store.set_versioning("b", Versioning::Suspended)),
        write("large", 12, 300),
        delete("large"),
        Box::new(|store| {
            store
                .create_multipart("b", "multi", NewMultipart::default())
                .map(drop)
        }),
        part(1, 13, 400),
        Box::new(|store| store.abort_multipart("b", "multi", &only_upload(store)?)),
    ];
    operations.extend(lock_operations());
    operations.extend(list_operations());
    operations
}

/// All that a store shows, in words that do not depend on the numbers it gave.
fn shown(store: &dyn ObjectStore) -> String {
    let mut out = String::new();
    for bucket in store.buckets().unwrap() {
        let document = |document| store.document(&bucket.name, document).unwrap();
        let (tags, acl) = (
            document(BucketDocument::Tags),
            document(BucketDocument::Acl),
        );
        writeln!(
            out,
            "bucket {} {:?} {:?} {tags:?} {acl:?}",
            bucket.name, bucket.versioning, bucket.lock
        )
        .unwrap();
        let query = VersionQuery {
            max: 1000,
            ..Default::default()
        };
        for entry in store.list_versions(&bucket.name, &query).unwrap().entries {
            let VersionEntry::Version(listed) = entry else {
                panic!("no delimiter was given")
            };
            out.push_str(&shown_version(store, &bucket.name, &listed));
        }
        out.push_str(&shown_uploads(store, &bucket.name));
    }
    out
}

fn shown_version(store: &dyn ObjectStore, bucket: &str, listed: &ListedVersion) -> String {
    let (key, version) = (listed.object.key.as_str(), listed.version);
    let null = version == super::VersionId::Null;
    let (latest, marker) = (listed.latest, listed.delete_marker);
    let head = format!("{key} null {null} latest {latest} marker {marker}");
    if listed.delete_marker {
        return head + "\n";
    }
    let bytes = read(store, bucket, key, Some(version)).unwrap();
    let parts = store.parts_of(bucket, key, Some(version)).unwrap();
    let Content { lock, acl, .. } = store.head(bucket, key, Some(version)).unwrap().content;
    let retention = lock
        .retention
        .map(|retention| (retention.mode, retention.until_ms / 86_400_000));
    format!(
        "{head} retention {retention:?} hold {:?} acl {acl:?} etag {} size {} crc {:x} {parts:?}\n",
        lock.hold,
        listed.object.etag,
        listed.object.size,
        super::extent::crc32c(&bytes)
    )
}

fn shown_uploads(store: &dyn ObjectStore, bucket: &str) -> String {
    let mut out = String::new();
    let query = UploadQuery {
        max: 1000,
        ..Default::default()
    };
    for entry in store.list_uploads(bucket, &query).unwrap().entries {
        let UploadEntry::Upload(upload) = entry else {
            panic!("no delimiter was given")
        };
        let query = PartQuery {
            after: 0,
            max: 1000,
        };
        let parts = store
            .list_parts(bucket, &upload.key, &upload.upload, &query)
            .unwrap();
        let parts: Vec<_> = parts
            .parts
            .iter()
            .map(|part| (part.number, part.size, part.etag))
            .collect();
        writeln!(out, "upload {} {:?} {parts:?}", upload.key, upload.owner).unwrap();
    }
    out
}

/// What a store shows before the first operation and after each.
fn history_of(operations: &[Operation]) -> Vec<String> {
    let store = open_memory(options(SyncPolicy::Never)).unwrap();
    let mut shows = vec![shown(&*store)];
    for operation in operations {
        operation(&*store).unwrap();
        shows.push(shown(&*store));
    }
    shows
}

/// From one step on nothing happens any more, or only that one step fails.
struct FailFrom {
    reached: AtomicU64,
    from: u64,
    to: u64,
    kind: io::ErrorKind,
}

impl FailFrom {
    fn crash_at(from: u64) -> Arc<Self> {
        Arc::new(Self {
            reached: AtomicU64::new(0),
            from,
            to: u64::MAX,
            kind: io::ErrorKind::Other,
        })
    }

    fn full_at(from: u64) -> Arc<Self> {
        Arc::new(Self {
            reached: AtomicU64::new(0),
            from,
            to: from,
            kind: io::ErrorKind::StorageFull,
        })
    }
}

impl Faults for FailFrom {
    fn reach(&self, _: Step) -> io::Result<()> {
        let at = self.reached.fetch_add(1, Ordering::SeqCst);
        if (self.from..=self.to).contains(&at) {
            Err(self.kind.into())
        } else {
            Ok(())
        }
    }
}

/// Runs operations until one fails; how many did not.
fn run(store: &TransactionalStore, operations: &[Operation]) -> usize {
    operations
        .iter()
        .position(|operation| operation(store).is_err())
        .unwrap_or(operations.len())
}

fn steps_of(operations: &[Operation], naming: Naming) -> u64 {
    let dir = directory();
    let faults = FailFrom::crash_at(u64::MAX);
    let store = open_with(dir.path(), Arc::<FailFrom>::clone(&faults), naming).unwrap();
    assert_eq!(run(&store, operations), operations.len());
    drop(store);
    faults.reached.load(Ordering::SeqCst)
}

fn crash_at_every_step(naming: Naming) {
    let operations = operations();
    let shows = history_of(&operations);
    let steps = steps_of(&operations, naming);
    assert!(steps > 60, "the seam is reached {steps} times");
    for step in 0..steps {
        let dir = directory();
        let store = open_with(dir.path(), FailFrom::crash_at(step), naming).unwrap();
        let done = run(&store, &operations);
        drop(store);
        let store = open(dir.path(), SyncPolicy::Always);
        let found = shown(&store);
        let wholly = shows.get(done + 1) == Some(&found);
        assert!(
            found == shows[done] || wholly,
            "crash at step {step} after {done} operations:\n{found}\nwanted:\n{}",
            shows[done]
        );
        assert_nothing_leaks(&store, Some(dir.path()));
    }
}

#[test]
fn a_crash_at_every_step_loses_nothing_that_was_answered_and_leaks_nothing() {
    crash_at_every_step(Naming::Unnamed);
}

#[test]
fn a_crash_with_temporary_names_loses_nothing_that_was_answered_and_leaks_nothing() {
    crash_at_every_step(Naming::Temporary);
}

#[test]
fn a_full_disk_at_any_step_is_no_space_and_leaves_the_store_as_it_was() {
    let operations = operations();
    let shows = history_of(&operations);
    for step in 0..steps_of(&operations, Naming::Unnamed) {
        let dir = directory();
        let store = open_with(dir.path(), FailFrom::full_at(step), Naming::Unnamed).unwrap();
        let mut failed = None;
        for (at, operation) in operations.iter().enumerate() {
            match operation(&store) {
                Ok(()) => {}
                Err(StorageError::NoSpace) => {
                    failed = Some(at);
                    break;
                }
                Err(other) => panic!("step {step}: {other:?}"),
            }
        }
        // A link or a removal that fails has a way around: then nothing failed at all.
        let done = failed.unwrap_or(operations.len());
        let found = shown(&store);
        assert!(
            found == shows[done] || shows.get(done + 1) == Some(&found),
            "step {step} after {done} operations:\n{found}"
        );
        if done > 0 {
            // The one step that fails may be this object's first.
            let again = || {
                put(
                    &store,
                    "b",
                    "afterwards",
                    &bytes(1, 200),
                    PutFinish::default(),
                )
            };
            again().or_else(|_| again()).unwrap();
        }
        drop(store);
        assert_nothing_leaks(&open(dir.path(), SyncPolicy::Always), Some(dir.path()));
    }
}

/// The size of the object that the killed process writes under a key.
fn size_of(thread: u64, number: u64) -> usize {
    [10, 64, 65, 5_000, 200_000][usize::try_from((thread + number) % 5).unwrap()]
}

/// Writes from several threads and says what was answered, until it is killed.
#[test]
#[ignore = "run by the test that kills it"]
fn child_that_is_killed() {
    let dir = std::env::var_os("FATHOM_S3_KILLED_DIR").expect("set by the test that runs this");
    let policy = if std::env::var_os("FATHOM_S3_KILLED_NEVER").is_some() {
        SyncPolicy::Never
    } else {
        SyncPolicy::Always
    };
    let store =
        TransactionalStore::on_disk(Path::new(&dir), options(policy), Arc::new(NoFaults), None)
            .unwrap();
    store.create_bucket("b", NewBucket::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                for number in 0u64.. {
                    let key = format!("{thread}-{number}");
                    put(
                        store,
                        "b",
                        &key,
                        &bytes(thread << 32 | number, size_of(thread, number)),
                        PutFinish::default(),
                    )
                    .unwrap();
                    // The same object again and again: what it held before is freed.
                    put(
                        store,
                        "b",
                        &format!("over-{thread}"),
                        &bytes(number, size_of(thread, number)),
                        PutFinish::default(),
                    )
                    .unwrap();
                    writeln!(io::stdout(), "answered {thread} {number}").unwrap();
                }
            });
        }
    });
}

fn killed_process_keeps_what_it_answered(never: bool) {
    let dir = directory();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "storage::crash::child_that_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .env("FATHOM_S3_KILLED_DIR", dir.path());
    if never {
        command.env("FATHOM_S3_KILLED_NEVER", "1");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = io::BufReader::new(child.stdout.take().unwrap()).lines();
    let parse = |line: String| {
        let mut words = line
            .strip_prefix("answered ")?
            .split(' ')
            .map(|word| word.parse::<u64>().unwrap());
        Some((words.next()?, words.next()?))
    };
    let answered: Vec<(u64, u64)> = lines
        .map_while(Result::ok)
        .filter_map(parse)
        .take(80)
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answered.len(), 80);
    let store = open(dir.path(), SyncPolicy::Always);
    for (thread, number) in answered {
        let found = read(&store, "b", &format!("{thread}-{number}"), None).unwrap();
        assert!(
            found == bytes(thread << 32 | number, size_of(thread, number)),
            "object {thread}-{number}"
        );
    }
    assert_nothing_leaks(&store, Some(dir.path()));
}

#[test]
fn a_killed_process_keeps_what_it_answered() {
    killed_process_keeps_what_it_answered(false);
}

#[test]
fn a_killed_process_keeps_what_it_answered_even_where_nothing_is_synced() {
    killed_process_keeps_what_it_answered(true);
}
