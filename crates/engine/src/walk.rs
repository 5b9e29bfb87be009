//! A walk over a directory and all below it, shared by engines: each reads one directory after the
//! other, and whoever is free takes the next.
//!
//! Nothing is opened but directories, nothing is changed, and no symlink is followed.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What an entry must be to be counted as a match; what is not given is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// `*` is any bytes, `?` any one.
    pub name: Option<Vec<u8>>,
    pub bytes: Option<u64>,
    /// Changed later than this time, in seconds and nanoseconds.
    pub newer: Option<(i64, i64)>,
}

impl Sought {
    /// The file system is asked about an entry only where its name is not reason enough.
    fn is_met_by(&self, entry: &DirEntry) -> io::Result<bool> {
        let name = entry.file_name();
        if self
            .name
            .as_ref()
            .is_some_and(|name_wanted| !matches_name(name_wanted, name.as_bytes()))
        {
            return Ok(false);
        }
        if self.bytes.is_none() && self.newer.is_none() {
            return Ok(true);
        }
        let facts = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        let has_length = self.bytes.is_none_or(|bytes| facts.len() == bytes);
        let changed = (facts.mtime(), facts.mtime_nsec());
        Ok(has_length && self.newer.is_none_or(|newer| changed > newer))
    }
}

/// Whether a name has the form of a pattern. Goes back to the last `*` alone, so that the time is at
/// most the product of the lengths.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            Some(_) | None => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// How far a walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkStage {
    /// A directory is the caller's to read.
    Taken,
    /// Others still read, and may find more.
    Waiting,
    Over,
}

/// What all engines of a walk share.
#[derive(Debug)]
pub struct Walk {
    wanted: Sought,
    /// Directories that nobody reads yet.
    found: Mutex<Vec<PathBuf>>,
    /// How many of them nobody has taken.
    free: AtomicU64,
    /// Directories that were not read to their end, taken or not.
    open: AtomicU64,
    entries: AtomicU64,
    matched: AtomicU64,
}

impl Walk {
    #[must_use]
    pub fn new(root: PathBuf, wanted: Sought) -> Self {
        Self {
            wanted,
            found: Mutex::new(vec![root]),
            free: AtomicU64::new(1),
            open: AtomicU64::new(1),
            entries: AtomicU64::new(0),
            matched: AtomicU64::new(0),
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

    /// Entries that were looked at, directories among them, and those of them that are no directory
    /// and are what is wanted.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (
            self.entries.load(Ordering::Relaxed),
            self.matched.load(Ordering::Relaxed),
        )
    }

    /// Reads a directory that was taken.
    pub(crate) fn read_next(&self) -> io::Result<()> {
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(dir) = found().pop() else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        let mut below = Vec::new();
        let outcome = self.look_through(&dir, &mut below);
        let more = below.len() as u64;
        self.open.fetch_add(more, Ordering::AcqRel);
        found().append(&mut below);
        self.free.fetch_add(more, Ordering::AcqRel);
        self.open.fetch_sub(1, Ordering::AcqRel);
        outcome
    }

    fn look_through(&self, dir: &Path, below: &mut Vec<PathBuf>) -> io::Result<()> {
        let (mut entries, mut matched) = (0, 0);
        let outcome = fs::read_dir(dir).and_then(|listed| {
            for entry in listed {
                let entry = entry?;
                entries += 1;
                if entry.file_type()?.is_dir() {
                    below.push(entry.path());
                } else if self.wanted.is_met_by(&entry)? {
                    matched += 1;
                }
            }
            Ok(())
        });
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.matched.fetch_add(matched, Ordering::Relaxed);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn walked(walk: &Walk) -> (u64, u64) {
        while walk.take() == WalkStage::Taken {
            walk.read_next().unwrap();
        }
        assert!(walk.is_over());
        walk.counts()
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
        let with = |wanted: Sought| walked(&Walk::new(root.path().to_owned(), wanted));
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
        let walk = Walk::new(root.path().to_owned(), Sought::default());
        assert_eq!(walk.take(), WalkStage::Taken);
        assert_eq!(walk.take(), WalkStage::Waiting);
        walk.read_next().unwrap();
        assert_eq!(
            (walk.take(), walk.take()),
            (WalkStage::Taken, WalkStage::Waiting)
        );
        walk.read_next().unwrap();
        assert_eq!(walk.take(), WalkStage::Over);
        let missing = Walk::new(root.path().join("none"), Sought::default());
        assert_eq!(missing.take(), WalkStage::Taken);
        assert_eq!(
            missing.read_next().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(missing.is_over());
    }

    #[test]
    fn names_have_the_form_of_a_pattern_or_not() {
        for (pattern, name, is_match) in [
            ("*01*", "file.000101", true),
            ("*01*", "01", true),
            ("*01*", "0", false),
            ("", "", true),
            ("", "a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
        ] {
            assert_eq!(
                matches_name(pattern.as_bytes(), name.as_bytes()),
                is_match,
                "{pattern} {name}"
            );
        }
        assert!(!matches_name(b"*a*a*a*a*a*b", &[b'a'; 4000]));
    }
}
