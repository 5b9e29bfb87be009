//! The store is stopped at every step of its writes and opened again: what was answered is there
//! byte for byte, what was not is wholly there or not at all, and nothing leaks.

use super::ShareStore;
use super::testing::{assert_nothing_leaks, bytes, open, put, replace, shown};
use crate::content::{Effect, Obstacle, Unobstructed};
use crate::error::{ShareError, ShareResult};
use crate::options::ShareLayout;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const LAYOUTS: [ShareLayout; 2] = [ShareLayout::FilePerShare, ShareLayout::OneDatabase];

type Operation = Box<dyn Fn(&ShareStore, &mut Vec<String>) -> ShareResult<()>>;

fn add(seed: u64, length: usize, expires: Option<u64>) -> Operation {
    Box::new(move |store, ids| {
        ids.push(put(store, &bytes(seed, length), expires, 10)?);
        Ok(())
    })
}

/// Every kind of write, of small and large uploads.
fn operations() -> Vec<Operation> {
    vec![
        add(1, 30_000, None),
        add(2, 0, None),
        add(3, 100, Some(50)),
        Box::new(|store, ids| replace(store, &ids[0], &bytes(4, 20_000), 11)),
        Box::new(|store, ids| store.index.remove(&ids[1], 12)),
        Box::new(|store, _| store.sweep(20).map(drop)),
        add(5, 9_000, None),
        Box::new(|store, _| store.sweep(60).map(drop)),
        Box::new(|store, ids| store.index.remove(&ids[0], 61)),
        Box::new(|store, _| store.sweep(70).map(drop)),
    ]
}

/// From one effect on nothing happens any more, or that one alone fails.
struct FailFrom {
    reached: AtomicU64,
    from: u64,
    to: u64,
    kind: io::ErrorKind,
}

impl FailFrom {
    fn new(from: u64, to: u64, kind: io::ErrorKind) -> Arc<Self> {
        let reached = AtomicU64::new(0);
        Arc::new(Self {
            reached,
            from,
            to,
            kind,
        })
    }
}

impl Obstacle for FailFrom {
    fn reach(&self, _: Effect) -> io::Result<()> {
        let at = self.reached.fetch_add(1, Ordering::SeqCst);
        if (self.from..=self.to).contains(&at) {
            Err(self.kind.into())
        } else {
            Ok(())
        }
    }
}

/// Runs operations until one fails; how many did not, and the ids that were answered.
fn run(store: &ShareStore, operations: &[Operation]) -> (usize, Vec<String>, Option<ShareError>) {
    let mut ids = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        if let Err(error) = operation(store, &mut ids) {
            return (at, ids, Some(error));
        }
    }
    (operations.len(), ids, None)
}

/// The bytes that a store shows, without the ids that it gave.
fn contents(store: &ShareStore) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = shown(store, 0)
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    out.sort();
    out
}

/// What is shown before the first operation and after each, and how many effects all have.
fn history_of(layout: ShareLayout, operations: &[Operation]) -> (Vec<Vec<Vec<u8>>>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let obstacle = FailFrom::new(u64::MAX, u64::MAX, io::ErrorKind::Other);
    let store = open(dir.path(), layout, Arc::<FailFrom>::clone(&obstacle)).unwrap();
    let mut shows = vec![contents(&store)];
    let mut ids = Vec::new();
    for operation in operations {
        operation(&store, &mut ids).unwrap();
        shows.push(contents(&store));
    }
    (shows, obstacle.reached.load(Ordering::SeqCst))
}

#[test]
fn a_crash_at_every_step_loses_nothing_that_was_answered_and_leaks_nothing() {
    let operations = operations();
    for layout in LAYOUTS {
        let (shows, steps) = history_of(layout, &operations);
        assert!(steps > 40, "the hook is reached {steps} times");
        for step in 0..steps {
            let dir = tempfile::tempdir().unwrap();
            let obstacle = FailFrom::new(step, u64::MAX, io::ErrorKind::Other);
            let store = open(dir.path(), layout, obstacle).unwrap();
            let (done, ids, _) = run(&store, &operations);
            drop(store);
            let store = open(dir.path(), layout, Arc::new(Unobstructed)).unwrap();
            let found = contents(&store);
            assert!(
                found == shows[done] || shows.get(done + 1) == Some(&found),
                "{layout}: a crash at step {step} after {done} operations"
            );
            for (id, _) in shown(&store, 0) {
                assert!(
                    ids.contains(&id) || found.len() > shows[done].len(),
                    "{layout} {step}"
                );
            }
            store.purge(u64::MAX).unwrap();
            assert_nothing_leaks(&store, dir.path());
        }
    }
}

#[test]
fn a_full_disk_at_any_step_is_no_space_and_leaves_the_store_as_it_was() {
    let operations = operations();
    for layout in LAYOUTS {
        let (shows, steps) = history_of(layout, &operations);
        for step in 0..steps {
            let dir = tempfile::tempdir().unwrap();
            let obstacle = FailFrom::new(step, step, io::ErrorKind::StorageFull);
            let store = open(dir.path(), layout, obstacle).unwrap();
            let (done, _, error) = run(&store, &operations);
            assert!(
                matches!(error, None | Some(ShareError::NoSpace)),
                "{layout} {step}: {error:?}"
            );
            let found = contents(&store);
            assert!(
                found == shows[done] || shows.get(done + 1) == Some(&found),
                "{layout}: step {step} after {done} operations"
            );
            drop(store);
            let store = open(dir.path(), layout, Arc::new(Unobstructed)).unwrap();
            assert!(contents(&store) == found, "{layout}: step {step}");
            store.sweep(100).unwrap();
            assert_nothing_leaks(&store, dir.path());
        }
    }
}

/// Remembers in which order effects came.
#[derive(Default)]
struct Remembered(Mutex<Vec<Effect>>);

impl Obstacle for Remembered {
    fn reach(&self, effect: Effect) -> io::Result<()> {
        self.0.lock().unwrap().push(effect);
        Ok(())
    }
}

#[test]
fn an_upload_is_durable_under_its_name_before_a_row_names_it() {
    use Effect::{
        Commit, Committed, CreateBody, FinishBody, NameBody, SyncBody, SyncDirectory, WriteChunk,
    };
    let expected = [
        vec![
            CreateBody,
            WriteChunk,
            FinishBody,
            SyncBody,
            NameBody,
            SyncDirectory,
            Commit,
            Committed,
        ],
        vec![CreateBody, WriteChunk, FinishBody, Commit, Committed],
    ];
    for (layout, expected) in LAYOUTS.into_iter().zip(expected) {
        let dir = tempfile::tempdir().unwrap();
        let remembered = Arc::new(Remembered::default());
        let store = open(dir.path(), layout, Arc::<Remembered>::clone(&remembered)).unwrap();
        put(&store, b"x", None, 1).unwrap();
        assert_eq!(*remembered.0.lock().unwrap(), expected, "{layout}");
        assert!(store.counts().syncs >= 1 && store.counts().bytes_in == 1);
    }
}

/// Does something to the files of a store before one of its effects.
struct Before<F>(Effect, F);

impl<F: Fn() + Send + Sync> Obstacle for Before<F> {
    fn reach(&self, effect: Effect) -> io::Result<()> {
        if effect == self.0 {
            (self.1)();
        }
        Ok(())
    }
}

#[test]
fn an_upload_whose_bytes_are_not_all_there_is_not_answered() {
    for layout in LAYOUTS {
        for keeps in [0, 1] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().to_owned();
            let damage = move || {
                let shares = std::fs::read_dir(path.join("x.db.shares"));
                for file in shares.into_iter().flatten().flatten() {
                    if file.path().is_file() {
                        let file = std::fs::File::options().write(true).open(file.path());
                        file.unwrap().set_len(keeps * 4096).unwrap();
                    }
                }
                if layout == ShareLayout::OneDatabase {
                    let other = rusqlite::Connection::open(path.join("x.db")).unwrap();
                    let delete = "DELETE FROM chunk WHERE (number & 1) >= ?1";
                    other.execute(delete, [keeps]).unwrap();
                }
            };
            let effect = match layout {
                ShareLayout::FilePerShare => Effect::SyncDirectory,
                ShareLayout::OneDatabase => Effect::FinishBody,
            };
            let store = open(dir.path(), layout, Arc::new(Before(effect, damage))).unwrap();
            let refused = put(&store, &bytes(1, 30_000), None, 10);
            assert!(
                matches!(refused, Err(ShareError::Damaged(_))),
                "{layout} {keeps}: {refused:?}"
            );
            assert!(contents(&store).is_empty());
            assert_nothing_leaks(&store, dir.path());
        }
    }
}

#[test]
fn files_of_others_among_uploads_stay_and_are_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let layout = ShareLayout::FilePerShare;
    let first = open(dir.path(), layout, Arc::new(Unobstructed)).unwrap();
    let mark: String = first.index.setting("draft_mark").unwrap().unwrap();
    drop(first);
    let shares = dir.path().join("x.db.shares");
    let foreign = [
        "incoming/mine",
        "incoming/5.share",
        "incoming/0000000000000005.share",
        "incoming/0000000000000005.share-journal",
        "a.share",
        "000000000000000A.share",
        "000000000000000a.share",
    ];
    let ours = [
        &format!("incoming/0000000000000005.{mark}"),
        &format!("incoming/0000000000000005.{mark}-journal"),
    ];
    for name in foreign {
        std::fs::write(shares.join(name), "x").unwrap();
    }
    for name in ours {
        std::fs::write(shares.join(name), "x").unwrap();
    }
    let (store, settled) =
        ShareStore::attach(&dir.path().join("x.db"), super::testing::options(layout)).unwrap();
    assert_eq!(settled.removed, 2);
    for _ in 0..3 {
        put(&store, b"y", None, 1).unwrap();
    }
    drop(store);
    for name in foreign {
        assert_eq!(std::fs::read(shares.join(name)).unwrap(), b"x", "{name}");
    }
    // A database that was lost does not take the uploads with it.
    std::fs::remove_file(dir.path().join("x.db")).unwrap();
    let lost = ShareStore::attach(&dir.path().join("x.db"), super::testing::options(layout));
    let told = lost.err().expect("it is refused").to_string();
    assert!(told.contains("put that database back"), "{told}");
    assert!(shares.join("000000000000000b.share").is_file() && !dir.path().join("x.db").exists());
}
