//! Random operations on both backends and on a naive model of what S3 says they do.

use super::engine::{TransactionalStore, open_memory};
use super::testing::{assert_nothing_leaks, bytes, directory, open, options, put, read};
use super::{
    Acl, BucketLock, Complete, Conditions, CopyObject, DeleteTarget, EtagCondition, ListQuery,
    NewBucket, NewMultipart, ObjectEntry, ObjectStore, PartFinish, PartRef, PutFinish,
    SourceObject, StorageError, StorageResult, SyncPolicy, VersionEntry, VersionId, VersionQuery,
    Versioning,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const KEYS: [&str; 9] = [
    "a", "a/", "a/b", "a/b/c", "a/c", "a\u{1}", "b//", "..", "é/x",
];
const SIZES: [usize; 5] = [0, 5, 64, 65, 700];

#[derive(Debug, Clone)]
enum Operation {
    Put {
        key: usize,
        size: usize,
        only_new: bool,
    },
    PutOver {
        key: usize,
        matching: bool,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Assemble {
        key: usize,
        sizes: Vec<usize>,
        named: usize,
    },
    Delete {
        key: usize,
    },
    DeleteVersion {
        key: usize,
        which: usize,
    },
    Tag {
        key: usize,
        which: usize,
    },
    Hold {
        key: usize,
        which: usize,
        hold: bool,
    },
    Version(Versioning),
    List {
        prefix: usize,
        delimiter: bool,
        after: usize,
        max: usize,
    },
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = || 0..KEYS.len();
    prop_oneof![
        6 => (key(), 0..SIZES.len(), any::<bool>()).prop_map(|(key, size, only_new)| Operation::Put { key, size, only_new }),
        2 => (key(), any::<bool>()).prop_map(|(key, matching)| Operation::PutOver { key, matching }),
        2 => (key(), key()).prop_map(|(from, to)| Operation::Copy { from, to }),
        2 => (key(), proptest::collection::vec(10usize..200, 1..4), 1usize..4).prop_map(|(key, sizes, named)| Operation::Assemble { key, sizes, named }),
        4 => key().prop_map(|key| Operation::Delete { key }),
        4 => (key(), 0usize..4).prop_map(|(key, which)| Operation::DeleteVersion { key, which }),
        1 => (key(), 0usize..3).prop_map(|(key, which)| Operation::Tag { key, which }),
        2 => (key(), 0usize..3, any::<bool>()).prop_map(|(key, which, hold)| Operation::Hold { key, which, hold }),
        1 => prop_oneof![Just(Versioning::On), Just(Versioning::Suspended)].prop_map(Operation::Version),
        3 => (key(), any::<bool>(), 0..=KEYS.len(), 1usize..4).prop_map(|(prefix, delimiter, after, max)| Operation::List { prefix, delimiter, after, max }),
        1 => Just(Operation::Reopen),
    ]
}

/// What the model knows of a version; its number stands for the ids that the stores gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    number: u64,
    null: bool,
    /// `None` for a delete marker.
    bytes: Option<Vec<u8>>,
    tag: Option<u64>,
    /// Whose its access control list is, if it has one.
    listed: Option<u64>,
    held: bool,
}

/// Versions of each key, the oldest first.
#[derive(Default)]
struct Model {
    /// Whether the bucket has a lock.
    locks: bool,
    versioning: Versioning,
    keys: BTreeMap<String, Vec<Version>>,
    numbers: u64,
}

impl Model {
    fn latest(&self, key: &str) -> Option<&Version> {
        self.keys.get(key)?.last()
    }

    fn object(&self, key: &str) -> Option<&Version> {
        self.latest(key).filter(|version| version.bytes.is_some())
    }

    fn add(&mut self, key: &str, bytes: Option<Vec<u8>>, tag: Option<u64>) -> u64 {
        let null = self.versioning != Versioning::On;
        let versions = self.keys.entry(key.to_owned()).or_default();
        if null {
            versions.retain(|version| !version.null);
        }
        self.numbers += 1;
        versions.push(Version {
            number: self.numbers,
            null,
            bytes,
            tag,
            listed: None,
            held: false,
        });
        self.numbers
    }

    fn delete(&mut self, key: &str) -> Option<u64> {
        if self.versioning == Versioning::Off {
            self.keys.remove(key);
            return None;
        }
        Some(self.add(key, None, None))
    }

    /// The version at a place counted from the newest.
    fn nth(&self, key: &str, which: usize) -> Option<&Version> {
        self.keys.get(key)?.iter().rev().nth(which)
    }

    fn remove(&mut self, key: &str, number: u64) {
        if let Some(versions) = self.keys.get_mut(key) {
            versions.retain(|version| version.number != number);
            if versions.is_empty() {
                self.keys.remove(key);
            }
        }
    }

    /// Names that a listing shows: all keys that it is about, each cut behind the delimiter.
    fn listed(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
        after: &str,
        marked: bool,
    ) -> Vec<String> {
        let cut = |key: &str| match delimiter.and_then(|delimiter| {
            key[prefix.len()..]
                .find(delimiter)
                .map(|at| at + delimiter.len())
        }) {
            Some(end) => key[..prefix.len() + end].to_owned(),
            None => key.to_owned(),
        };
        let mut names = BTreeSet::new();
        for key in self
            .keys
            .keys()
            .filter(|key| key.starts_with(prefix) && self.object(key).is_some())
        {
            let name = cut(key);
            let skipped = marked
                && (key.as_str() <= after
                    || (name == after && name != *key)
                    || (delimiter.is_some() && name == after));
            if !skipped {
                names.insert(name);
            }
        }
        names.into_iter().collect()
    }
}

/// A store with the ids that it gave to the model's versions.
struct Subject {
    store: Box<dyn AsStore>,
    ids: HashMap<u64, VersionId>,
}

trait AsStore {
    fn store(&self) -> &dyn ObjectStore;
}

impl AsStore for std::sync::Arc<dyn ObjectStore> {
    fn store(&self) -> &dyn ObjectStore {
        &**self
    }
}

impl AsStore for TransactionalStore {
    fn store(&self) -> &dyn ObjectStore {
        self
    }
}

fn put_one(
    subject: &mut Subject,
    key: &str,
    bytes: &[u8],
    conditions: Conditions,
) -> StorageResult<VersionId> {
    put(
        subject.store.store(),
        "b",
        key,
        bytes,
        PutFinish {
            conditions,
            ..Default::default()
        },
    )
    .map(|made| made.version)
}

fn assemble(
    store: &dyn ObjectStore,
    key: &str,
    parts: &[Vec<u8>],
    named: usize,
) -> StorageResult<VersionId> {
    let upload = store.create_multipart("b", key, NewMultipart::default())?;
    let mut refs = Vec::new();
    for (number, bytes) in (1u32..).zip(parts) {
        // Each part twice: the second one counts.
        for bytes in [&parts[0], bytes] {
            let mut part = store.begin_part("b", key, &upload, number)?;
            part.write(bytes)?;
            let made = part.finish(PartFinish::default())?;
            refs.retain(|part: &PartRef| part.number != number);
            refs.push(PartRef {
                number,
                etag: made.etag.to_string(),
                checksums: vec![],
            });
        }
    }
    refs.truncate(named);
    store
        .complete_multipart(
            "b",
            key,
            &upload,
            Complete {
                parts: refs,
                ..Default::default()
            },
        )
        .map(|made| made.version)
}

struct Trial {
    dir: tempfile::TempDir,
    model: Model,
    subjects: [Subject; 2],
    seed: u64,
}

impl Trial {
    fn new(locks: bool) -> Self {
        let dir = directory();
        let disk = open(dir.path(), SyncPolicy::Never);
        let subject = |store: Box<dyn AsStore>| Subject {
            store,
            ids: HashMap::new(),
        };
        let subjects = [
            subject(Box::new(open_memory(options(SyncPolicy::Never)).unwrap())),
            subject(Box::new(disk)),
        ];
        let new = NewBucket {
            lock: locks.then(BucketLock::default),
            ..Default::default()
        };
        subjects.iter().for_each(|subject| {
            subject
                .store
                .store()
                .create_bucket("b", new.clone())
                .unwrap()
        });
        let versioning = if locks {
            Versioning::On
        } else {
            Versioning::Off
        };
        Self {
            dir,
            model: Model {
                locks,
                versioning,
                ..Default::default()
            },
            subjects,
            seed: 0,
        }
    }

    fn fresh(&mut self, size: usize) -> Vec<u8> {
        self.seed += 1;
        bytes(self.seed, size)
    }

    /// Does the same on both stores, and where the model says so notes the version that came of it.
    fn both(
        &mut self,
        number: Option<u64>,
        act: impl Fn(&mut Subject) -> StorageResult<VersionId>,
    ) {
        for subject in &mut self.subjects {
            let id = act(subject).unwrap();
            if let Some(number) = number {
                subject.ids.insert(number, id);
            }
        }
    }

    fn both_refuse(
        &mut self,
        act: impl Fn(&mut Subject) -> StorageResult<VersionId>,
        expected: fn(&StorageError) -> bool,
    ) {
        for subject in &mut self.subjects {
            let refused = act(subject).unwrap_err();
            assert!(expected(&refused), "{refused:?}");
        }
    }

    fn put(&mut self, key: &str, size: usize, only_new: bool) {
        let bytes = self.fresh(size);
        let conditions = Conditions {
            if_none_match: only_new.then_some(EtagCondition::Any),
            ..Default::default()
        };
        let act = |subject: &mut Subject| put_one(subject, key, &bytes, conditions.clone());
        if only_new && self.model.object(key).is_some() {
            self.both_refuse(act, |e| matches!(e, StorageError::PreconditionFailed));
        } else {
            let number = self.model.add(key, Some(bytes.clone()), None);
            self.both(Some(number), act);
        }
    }

    fn put_over(&mut self, key: &str, matching: bool) {
        let bytes = self.fresh(30);
        let act = |subject: &mut Subject| {
            let etag = subject
                .store
                .store()
                .head("b", key, None)
                .map_or_else(|_| "none".to_owned(), |found| found.etag.to_string());
            let etag = if matching { etag } else { "other".to_owned() };
            put_one(
                subject,
                key,
                &bytes,
                Conditions {
                    if_match: Some(EtagCondition::OneOf(vec![etag])),
                    ..Default::default()
                },
            )
        };
        match self.model.object(key) {
            None => self.both_refuse(act, |e| matches!(e, StorageError::NoSuchKey)),
            Some(_) if !matching => {
                self.both_refuse(act, |e| matches!(e, StorageError::PreconditionFailed))
            }
            Some(_) => {
                let number = self.model.add(key, Some(bytes.clone()), None);
                self.both(Some(number), act);
            }
        }
    }

    fn copy(&mut self, from: &str, to: &str) {
        let act = |subject: &mut Subject| {
            let source = SourceObject {
                bucket: "b".into(),
                key: from.into(),
                version: None,
                conditions: Default::default(),
            };
            let (bucket, key, conditions) = ("b".to_owned(), to.to_owned(), Conditions::default());
            let copy = CopyObject {
                source,
                bucket,
                key,
                metadata: None,
                tags: None,
                checksums: None,
                lock: Default::default(),
                acl: None,
                conditions,
            };
            subject
                .store
                .store()
                .copy_object(copy)
                .map(|made| made.version)
        };
        match self.model.object(from).cloned() {
            None => self.both_refuse(act, |e| {
                matches!(
                    e,
                    StorageError::NoSuchKey | StorageError::DeleteMarker { .. }
                )
            }),
            Some(source) => {
                let number = self.model.add(to, source.bytes, source.tag);
                self.both(Some(number), act);
            }
        }
    }

    fn delete_version(&mut self, key: &str, which: usize) {
        let Some(version) = self.model.nth(key, which).cloned() else {
            return;
        };
        if version.held {
            let target = |subject: &Subject| DeleteTarget {
                key: key.into(),
                version: Some(subject.ids[&version.number]),
                ..Default::default()
            };
            let act = |subject: &mut Subject| {
                subject
                    .store
                    .store()
                    .delete_object("b", target(subject))
                    .map(|_| VersionId::Null)
            };
            return self.both_refuse(act, |e| matches!(e, StorageError::Locked));
        }
        self.model.remove(key, version.number);
        self.both(None, |subject| {
            let target = DeleteTarget {
                key: key.into(),
                version: Some(subject.ids[&version.number]),
                ..Default::default()
            };
            let deleted = subject.store.store().delete_object("b", target)?;
            assert_eq!(deleted.delete_marker, version.bytes.is_none());
            Ok(deleted.version.unwrap())
        });
    }

    fn tag(&mut self, key: &str, which: usize) {
        let Some(number) = self
            .model
            .nth(key, which)
            .filter(|version| version.bytes.is_some())
            .map(|version| version.number)
        else {
            return;
        };
        self.seed += 1;
        let tag = self.seed;
        let versions = self.model.keys.get_mut(key).unwrap();
        versions
            .iter_mut()
            .filter(|version| version.number == number)
            .for_each(|version| (version.tag, version.listed) = (Some(tag), Some(tag)));
        self.both(None, |subject| {
            let version = Some(subject.ids[&number]);
            let acl = Some(Acl::private(&tag.to_string()));
            let store = subject.store.store();
            store.set_acl("b", key, version, acl)?;
            store.set_tags("b", key, version, vec![("t".into(), tag.to_string())])
        });
    }

    fn hold(&mut self, key: &str, which: usize, hold: bool) {
        let Some(number) = self
            .model
            .nth(key, which)
            .filter(|version| version.bytes.is_some())
            .map(|version| version.number)
        else {
            return;
        };
        let act = |subject: &mut Subject| {
            let version = Some(subject.ids[&number]);
            subject
                .store
                .store()
                .set_hold("b", key, version, hold)
                .map(|()| VersionId::Null)
        };
        if !self.model.locks {
            return self.both_refuse(act, |e| matches!(e, StorageError::NoObjectLock));
        }
        self.both(None, act);
        let versions = self.model.keys.get_mut(key).unwrap();
        versions
            .iter_mut()
            .filter(|version| version.number == number)
            .for_each(|version| version.held = hold);
    }

    fn version(&mut self, versioning: Versioning) {
        let act = |subject: &mut Subject| {
            subject
                .store
                .store()
                .set_versioning("b", versioning)
                .map(|()| VersionId::Null)
        };
        if self.model.locks && versioning != Versioning::On {
            return self.both_refuse(act, |e| matches!(e, StorageError::LockNeedsVersions));
        }
        self.both(None, act);
        self.model.versioning = versioning;
    }

    fn list(&self, prefix: &str, delimiter: Option<&str>, after: Option<&str>, max: usize) {
        let wanted = self.model.listed(
            prefix,
            delimiter,
            after.unwrap_or_default(),
            after.is_some(),
        );
        for subject in &self.subjects {
            let mut query = ListQuery {
                prefix: prefix.into(),
                delimiter: delimiter.map(Into::into),
                after: after.map(Into::into),
                max,
            };
            let mut names = Vec::new();
            loop {
                let page = subject.store.store().list_objects("b", &query).unwrap();
                assert!(page.entries.len() <= max);
                names.extend(page.entries.into_iter().map(|entry| match entry {
                    ObjectEntry::Object(object) => object.key,
                    ObjectEntry::CommonPrefix(prefix) => prefix,
                }));
                match page.next {
                    Some(next) => query.after = Some(next),
                    None => break,
                }
            }
            assert_eq!(names, wanted, "{query:?}");
        }
    }

    fn reopen(&mut self) {
        let [memory, disk] = &mut self.subjects;
        // The directory is let go before it is opened again.
        disk.store = Box::new(open_memory(options(SyncPolicy::Never)).unwrap());
        let store = open(self.dir.path(), SyncPolicy::Never);
        assert_nothing_leaks(&store, Some(self.dir.path()));
        disk.store = Box::new(store);
        assert_eq!(memory.ids.len(), disk.ids.len());
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Put {
                key,
                size,
                only_new,
            } => self.put(KEYS[key], SIZES[size], only_new),
            Operation::PutOver { key, matching } => self.put_over(KEYS[key], matching),
            Operation::Copy { from, to } => self.copy(KEYS[from], KEYS[to]),
            Operation::Assemble {
                key,
                ref sizes,
                named,
            } => {
                let parts: Vec<Vec<u8>> = sizes.iter().map(|size| self.fresh(*size)).collect();
                let whole = parts[..named.min(parts.len())].concat();
                let number = self.model.add(KEYS[key], Some(whole), None);
                self.both(Some(number), |subject| {
                    assemble(subject.store.store(), KEYS[key], &parts, named)
                });
            }
            Operation::Delete { key } => {
                let number = self.model.delete(KEYS[key]);
                self.both(number, |subject| {
                    let deleted = subject.store.store().delete_object(
                        "b",
                        DeleteTarget {
                            key: KEYS[key].into(),
                            ..Default::default()
                        },
                    )?;
                    assert_eq!(deleted.delete_marker, number.is_some());
                    Ok(deleted.version.unwrap_or(VersionId::Null))
                });
            }
            Operation::DeleteVersion { key, which } => self.delete_version(KEYS[key], which),
            Operation::Tag { key, which } => self.tag(KEYS[key], which),
            Operation::Hold { key, which, hold } => self.hold(KEYS[key], which, hold),
            Operation::Version(versioning) => self.version(versioning),
            Operation::List {
                prefix,
                delimiter,
                after,
                max,
            } => {
                let prefix = if prefix == 0 { "" } else { KEYS[prefix] };
                self.list(
                    prefix,
                    delimiter.then_some("/"),
                    KEYS.get(after).copied(),
                    max,
                );
            }
            Operation::Reopen => self.reopen(),
        }
    }

    /// Compares all versions, in pages of three, with the model.
    fn check(&self) {
        let wanted = self.model.keys.iter().flat_map(|(key, versions)| {
            let latest = versions.last().map(|version| version.number);
            versions
                .iter()
                .rev()
                .map(move |version| (key.clone(), version.clone(), latest == Some(version.number)))
        });
        let wanted: Vec<(String, Version, bool)> = wanted.collect();
        for subject in &self.subjects {
            let store = subject.store.store();
            let mut query = VersionQuery {
                max: 3,
                ..Default::default()
            };
            let mut found = Vec::new();
            loop {
                let page = store.list_versions("b", &query).unwrap();
                found.extend(page.entries);
                match page.next {
                    Some((key, version)) => {
                        (query.key_marker, query.version_marker) = (Some(key), version)
                    }
                    None => break,
                }
            }
            assert_eq!(found.len(), wanted.len(), "{found:?}\n{wanted:?}");
            for (entry, (key, version, latest)) in found.iter().zip(&wanted) {
                let VersionEntry::Version(listed) = entry else {
                    panic!("no delimiter was given")
                };
                assert_eq!(
                    (&listed.object.key, listed.latest, listed.delete_marker),
                    (key, *latest, version.bytes.is_none())
                );
                assert_eq!(
                    listed.version,
                    if version.null {
                        VersionId::Null
                    } else {
                        subject.ids[&version.number]
                    }
                );
                let Some(bytes) = &version.bytes else {
                    continue;
                };
                assert_eq!(read(store, "b", key, Some(listed.version)).unwrap(), *bytes);
                let head = store
                    .head("b", key, if *latest { None } else { Some(listed.version) })
                    .unwrap();
                let tags: Vec<(String, String)> = version
                    .tag
                    .iter()
                    .map(|tag| ("t".to_owned(), tag.to_string()))
                    .collect();
                assert_eq!(
                    (head.version, head.content.tags, head.size),
                    (listed.version, tags, bytes.len() as u64)
                );
                assert_eq!(head.content.lock.hold == Some(true), version.held);
                let owner = head.content.acl.map(|acl| acl.owner);
                assert_eq!(owner, version.listed.map(|tag| tag.to_string()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn both_backends_do_what_a_naive_model_does(locks: bool, operations in proptest::collection::vec(operation(), 1..50)) {
        let mut trial = Trial::new(locks);
        for operation in &operations {
            trial.apply(operation);
            trial.check();
        }
        trial.reopen();
        trial.check();
    }
}
