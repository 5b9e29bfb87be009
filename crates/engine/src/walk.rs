//! A walk over a directory and all below it, shared by engines: each reads one directory after the
//! other, and whoever is free takes the next. Several ranks do one walk together, each with a part of
//! it.
//!
//! Nothing is opened but directories, nothing is changed, and no symlink is followed.

mod dealing;
mod sought;

pub use dealing::WalkSeat;
pub use sought::Sought;

use dealing::Dir;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The result of an operation of a walk that read a directory which another rank counts.
pub const COUNTED_ELSEWHERE: i64 = 1;

/// How far a walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkStage {
    /// A directory is the caller's to read.
    Taken,
    /// Others still read, and may find more.
    Waiting,
    Over,
}

/// What a walk has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Entries, directories among them.
    pub entries: u64,
    /// Those that are no directory and are what is wanted.
    pub matched: u64,
    /// Levels of directories that all ranks have read, once they are known; the root is the first.
    pub levels: Option<u32>,
}

/// What all engines of a walk share.
#[derive(Debug)]
pub struct Walk {
    wanted: Sought,
    seat: WalkSeat,
    found: Mutex<FoundDirs>,
    /// How many of them nobody has taken.
    free: AtomicU64,
    /// Directories that were not read to their end, taken or not.
    open: AtomicU64,
    entries: AtomicU64,
    matched: AtomicU64,
    /// 0: not yet known, or nobody else walks.
    levels: AtomicU32,
}

/// Directories that were found.
#[derive(Debug)]
struct FoundDirs {
    /// Those that nobody reads yet.
    next: Vec<Dir>,
    shared: Option<SharedLevel>,
}

/// A level of directories that all ranks read; nobody reads one below it before it is over.
#[derive(Debug)]
struct SharedLevel {
    number: u32,
    /// Directories of it that were not read to their end.
    unread: u64,
    below: Vec<Dir>,
}

impl Walk {
    /// The part of it that has this seat.
    #[must_use]
    pub fn new(root: PathBuf, wanted: Sought, seat: WalkSeat) -> Self {
        let first = || SharedLevel {
            number: 1,
            unread: 1,
            below: Vec::new(),
        };
        Self {
            wanted,
            seat,
            found: Mutex::new(FoundDirs {
                next: vec![Dir::at(root)],
                shared: seat.has_others().then(first),
            }),
            free: AtomicU64::new(1),
            open: AtomicU64::new(1),
            entries: AtomicU64::new(0),
            matched: AtomicU64::new(0),
            levels: AtomicU32::new(0),
        }
    }

    /// Takes a directory, which [`Walk::read_next`] must then be called for.
    #[must_use]
    pub fn take(&self) -> WalkStage {
        let less = |free: u64| free.checked_sub(1);
        let taken = self
            .free
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        match taken {
            Ok(_) => WalkStage::Taken,
            Err(_) if self.is_over() => WalkStage::Over,
            Err(_) => WalkStage::Waiting,
        }
    }

    /// Whether every directory was read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0
    }

    #[must_use]
    pub fn walked(&self) -> Walked {
        let levels = self.levels.load(Ordering::Relaxed);
        Walked {
            entries: self.entries.load(Ordering::Relaxed),
            matched: self.matched.load(Ordering::Relaxed),
            levels: (levels > 0).then_some(levels),
        }
    }

    /// Reads a directory that was taken; returns 0, or [`COUNTED_ELSEWHERE`].
    pub(crate) fn read_next(&self) -> io::Result<i64> {
        let (dir, is_shared) = {
            let mut found = self.found();
            let Some(dir) = found.next.pop() else {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            };
            (dir, found.shared.is_some())
        };
        let mut below = Vec::new();
        let outcome = if is_shared {
            self.look_for_ours(&dir, &mut below)
        } else {
            self.look_through(&dir, &mut below)
        };
        let more = self.keep(below);
        self.open.fetch_add(more, Ordering::AcqRel);
        self.free.fetch_add(more, Ordering::AcqRel);
        self.open.fetch_sub(1, Ordering::AcqRel);
        outcome.map(|()| match !is_shared || self.seat.counts(dir.names) {
            true => 0,
            false => COUNTED_ELSEWHERE,
        })
    }

    fn found(&self) -> std::sync::MutexGuard<'_, FoundDirs> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a directory held; returns how many can be read that could not before.
    fn keep(&self, mut below: Vec<Dir>) -> u64 {
        let mut found = self.found();
        let Some(level) = &mut found.shared else {
            let more = below.len() as u64;
            found.next.append(&mut below);
            return more;
        };
        level.below.append(&mut below);
        level.unread -= 1;
        if level.unread > 0 {
            return 0;
        }
        let (number, mut dirs) = (level.number, std::mem::take(&mut level.below));
        let is_dealt = self.seat.deals(&dirs);
        if is_dealt {
            dirs.retain(|dir| self.seat.walks(dir));
        }
        if is_dealt || dirs.is_empty() {
            self.levels.store(number, Ordering::Relaxed);
        }
        let more = dirs.len() as u64;
        let next_level = || SharedLevel {
            number: number.saturating_add(1),
            unread: more,
            below: Vec::new(),
        };
        found.shared = (!is_dealt).then(next_level);
        found.next = dirs;
        more
    }

    /// Looks at all entries.
    fn look_through(&self, dir: &Dir, below: &mut Vec<Dir>) -> io::Result<()> {
        let (mut entries, mut matched) = (0, 0);
        let outcome = fs::read_dir(&dir.path).and_then(|listed| {
            for entry in listed {
                let entry = entry?;
                entries += 1;
                if entry.file_type()?.is_dir() {
                    below.push(Dir::at(entry.path()));
                } else if self.wanted.is_met_by(&entry)? {
                    matched += 1;
                }
            }
            Ok(())
        });
        self.count(entries, matched);
        outcome
    }

    /// Reads what all ranks read, and looks at the entries that are this one's.
    fn look_for_ours(&self, dir: &Dir, below: &mut Vec<Dir>) -> io::Result<()> {
        let (mut entries, mut matched) = (0, 0);
        let outcome = fs::read_dir(&dir.path).and_then(|listed| {
            for entry in listed {
                let entry = entry?;
                let name = entry.file_name();
                let is_ours = self.seat.counts(dir.names.to(name.as_bytes()));
                entries += u64::from(is_ours);
                if entry.file_type()?.is_dir() {
                    below.push(dir.shared_below(entry.path(), name.as_bytes()));
                } else if is_ours && self.wanted.is_met_by(&entry)? {
                    matched += 1;
                }
            }
            Ok(())
        });
        self.count(entries, matched);
        outcome
    }

    fn count(&self, entries: u64, matched: u64) {
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.matched.fetch_add(matched, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::Path;

    fn walked(walk: &Walk) -> (u64, u64) {
        while walk.take() == WalkStage::Taken {
            walk.read_next().unwrap();
        }
        assert!(walk.is_over());
        let walked = walk.walked();
        (walked.entries, walked.matched)
    }

    #[test]
    fn every_entry_is_looked_at_once_and_no_symlink_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("a/b/c")).unwrap();
        fs::create_dir(path("d")).unwrap();
        for (name, bytes) in [
            ("a/01", 3901),
            ("a/b/101x", 3901),
            ("a/b/c/01", 7),
            ("d/2", 3901),
        ] {
            fs::write(path(name), vec![1; bytes]).unwrap();
        }
        symlink(root.path(), path("d/round")).unwrap();
        let with = |wanted: Sought| {
            walked(&Walk::new(
                root.path().to_owned(),
                wanted,
                WalkSeat::alone(),
            ))
        };
        assert_eq!(
            with(Sought::default()),
            (9, 5),
            "four directories among them"
        );
        let named = Sought {
            name: Some(b"*01*".to_vec()),
            ..Sought::default()
        };
        assert_eq!(with(named.clone()), (9, 3));
        assert_eq!(
            with(Sought {
                bytes: Some(3901),
                ..named.clone()
            }),
            (9, 2)
        );
        let facts = fs::metadata(path("a/01")).unwrap();
        let now = (facts.mtime(), facts.mtime_nsec());
        assert_eq!(
            with(Sought {
                newer: Some((now.0 - 9, 0)),
                ..named.clone()
            }),
            (9, 3)
        );
        assert_eq!(
            with(Sought {
                newer: Some((now.0 + 9, 0)),
                ..named
            }),
            (9, 0)
        );
    }

    #[test]
    fn whoever_finds_nothing_free_waits_while_another_reads() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("below")).unwrap();
        let walk = Walk::new(root.path().to_owned(), Sought::default(), WalkSeat::alone());
        assert_eq!(walk.take(), WalkStage::Taken);
        assert_eq!(walk.take(), WalkStage::Waiting);
        walk.read_next().unwrap();
        assert_eq!(
            (walk.take(), walk.take()),
            (WalkStage::Taken, WalkStage::Waiting)
        );
        walk.read_next().unwrap();
        assert_eq!(walk.take(), WalkStage::Over);
        let missing = Walk::new(
            root.path().join("none"),
            Sought::default(),
            WalkSeat::alone(),
        );
        assert_eq!(missing.take(), WalkStage::Taken);
        assert_eq!(
            missing.read_next().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(missing.is_over());
    }

    /// Files of a tree of directories, by the numbers of the directories that they lie in.
    fn made(root: &Path, files: &[Vec<u8>]) -> Vec<String> {
        let mut names = Vec::new();
        for (number, dirs) in files.iter().enumerate() {
            let dirs = dirs.iter().map(|dir| format!("d{dir}"));
            let dir = dirs.fold(root.to_path_buf(), |path, dir| path.join(dir));
            fs::create_dir_all(&dir).unwrap();
            names.push(format!("file.{number}"));
            fs::write(dir.join(&names[number]), "x").unwrap();
        }
        names
    }

    /// What all of so many ranks did with workers of their own, one rank after the other: directories
    /// that each counted, and what each looked at.
    fn by_ranks(root: &Path, wanted: &Sought, of: u32, workers: u32) -> Vec<(u64, Walked)> {
        let by_rank = |number| {
            let seat = WalkSeat::new(number, of);
            let walk = Walk::new(root.to_owned(), wanted.clone(), seat);
            let counted = AtomicU64::new(0);
            let work = || {
                loop {
                    match walk.take() {
                        WalkStage::Taken if walk.read_next().unwrap() == 0 => {
                            counted.fetch_add(1, Ordering::Relaxed);
                        }
                        WalkStage::Taken => {}
                        WalkStage::Waiting => std::thread::yield_now(),
                        WalkStage::Over => return,
                    }
                }
            };
            std::thread::scope(|scope| {
                (0..workers).for_each(|_| drop(scope.spawn(work)));
            });
            (counted.into_inner(), walk.walked())
        };
        (0..of).map(by_rank).collect()
    }

    fn sum(ranks: &[(u64, Walked)]) -> (u64, u64, u64) {
        ranks.iter().fold((0, 0, 0), |sum, (dirs, walked)| {
            (sum.0 + dirs, sum.1 + walked.entries, sum.2 + walked.matched)
        })
    }

    fn named(name: &str) -> Sought {
        Sought {
            name: Some(name.into()),
            ..Sought::default()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn ranks_look_at_every_entry_once_whatever_the_tree_and_however_many_they_are(
            files in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..5), 0..40),
            wide in 0_u32..60,
            of in 1_u32..10,
            workers in 1_u32..5,
        ) {
            let root = tempfile::tempdir().unwrap();
            let names = made(root.path(), &files);
            for number in 0..wide {
                fs::create_dir(root.path().join(format!("empty{number}"))).unwrap();
            }
            symlink(root.path(), root.path().join("round")).unwrap();
            let alone = sum(&by_ranks(root.path(), &Sought::default(), 1, workers));
            let together = by_ranks(root.path(), &Sought::default(), of, workers);
            prop_assert_eq!(sum(&together), alone);
            prop_assert_eq!(alone.2, files.len() as u64 + 1);
            let levels: Vec<Option<u32>> = together.iter().map(|(_, walked)| walked.levels).collect();
            prop_assert!(levels.iter().all(|of_one| *of_one == levels[0] && of_one.is_some() == (of > 1)));
            for name in names.iter().step_by(7) {
                let found = sum(&by_ranks(root.path(), &named(name), of, workers)).2;
                prop_assert_eq!(found, 1, "{}", name);
            }
        }
    }

    #[test]
    fn one_large_directory_is_looked_at_by_all_ranks_in_equal_parts() {
        let root = tempfile::tempdir().unwrap();
        made(root.path(), &vec![Vec::new(); 4000]);
        let ranks = by_ranks(root.path(), &Sought::default(), 4, 2);
        assert_eq!(sum(&ranks), (1, 4000, 4000));
        for (_, walked) in ranks {
            assert!((850..1150).contains(&walked.matched), "{walked:?}");
        }
    }

    #[test]
    #[allow(
        clippy::print_stdout,
        reason = "a test that is skipped says what it needs"
    )]
    fn directories_of_workers_are_walked_by_one_rank_each_and_by_all_ranks_alike() {
        let root = tempfile::tempdir().unwrap();
        let dir = |number: u8| std::iter::repeat_n(vec![9, number], 20);
        made(root.path(), &(0..8).flat_map(dir).collect::<Vec<_>>());
        if fs::metadata(root.path().join("d9/d0")).unwrap().nlink() != 2 {
            println!("SKIPPED: needs a file system that counts the links of directories");
            return;
        }
        let ranks = by_ranks(root.path(), &Sought::default(), 4, 2);
        assert_eq!(sum(&ranks), (10, 169, 160));
        for (_, walked) in ranks {
            assert_eq!((walked.matched, walked.levels), (40, Some(2)));
        }
    }

    #[test]
    fn an_entry_that_comes_or_goes_moves_no_other_and_other_levels_are_told() {
        let root = tempfile::tempdir().unwrap();
        let dir = |number: u8| std::iter::repeat_n(vec![number], 3);
        let names = made(root.path(), &(0..40).flat_map(dir).collect::<Vec<_>>());
        let by = |number, wanted: Sought| {
            let walk = Walk::new(root.path().to_owned(), wanted, WalkSeat::new(number, 2));
            walked(&walk);
            walk.walked()
        };
        let before: Vec<u64> = names
            .iter()
            .map(|name| by(0, named(name)).matched)
            .collect();
        fs::write(root.path().join("a file"), "x").unwrap();
        fs::create_dir(root.path().join("a dir")).unwrap();
        fs::remove_dir_all(root.path().join("d7")).unwrap();
        for (name, before) in names.iter().zip(before) {
            let of_both = before + by(1, named(name)).matched;
            let is_there = !(21..24).contains(&name[5..].parse::<u32>().unwrap());
            assert_eq!(of_both, u64::from(is_there || before == 1), "{name}");
        }
        assert_eq!(by(0, Sought::default()).levels, Some(1));
        for number in 6..40 {
            fs::remove_dir_all(root.path().join(format!("d{number}"))).ok();
        }
        fs::create_dir_all(root.path().join("d1/below")).unwrap();
        assert_eq!(by(1, Sought::default()).levels, Some(3));
    }
}
