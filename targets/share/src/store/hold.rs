//! The file of a database, held by one server under whatever name it was opened.

use super::remains::{ENDINGS, check_beside_database, check_beside_nothing};
use crate::error::{ShareError, ShareResult};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name that goes on.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The file of a database, locked. It lasts as long as the lock, and the lock is the file's own:
/// whoever comes by another name of it finds the same.
///
/// A start that fails before [`Hold::keep`] removes what it has made.
pub(super) struct Hold {
    pub(super) file: Arc<File>,
    /// Its own name, whatever links led to it.
    pub(super) path: PathBuf,
    is_new: bool,
    had_shares: bool,
    kept: bool,
}

impl Hold {
    /// Opens the file, and makes it where there is none.
    ///
    /// # Errors
    /// `InUse` where another server has it, `Refused` where it is no file or has several names.
    /// Nothing is made or changed then.
    pub(super) fn take(given: &Path) -> ShareResult<Self> {
        let wrong = |e| ShareError::io("opening the database", e);
        let is_new = match fs::metadata(given) {
            Ok(found) if !found.is_file() => {
                return Err(ShareError::Refused(
                    "this is no file: give the name of a database, or of none to make one".into(),
                ));
            }
            Ok(_) => false,
            Err(e) if e.kind() == io::ErrorKind::NotFound => true,
            Err(e) => return Err(wrong(e)),
        };
        let mut options = File::options();
        options.read(true).write(true).create(is_new);
        let file = options.open(given).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(ShareError::InUse(given.to_owned())),
            Err(fs::TryLockError::Error(e)) => return Err(wrong(e)),
        }
        let path = fs::canonicalize(given).map_err(wrong)?;
        let is_nothing = file.metadata().map_err(wrong)?.len() == 0;
        let checked = match is_nothing {
            true => check_beside_nothing(&path),
            false => check_beside_database(&path),
        };
        if checked.is_err() && is_new {
            let _ = fs::remove_file(&path);
        }
        checked?;
        let hold = Self {
            file: Arc::new(file),
            had_shares: beside(&path, ".shares").exists(),
            path,
            is_new,
            kept: false,
        };
        hold.check_names()?;
        Ok(hold)
    }

    /// SQLite looks for the log of a database under the name by which it was opened: under another
    /// one, what was acknowledged before a crash is not found.
    fn check_names(&self) -> ShareResult<()> {
        let wrong = |e| ShareError::io("opening the database", e);
        let (held, named) = (
            self.file.metadata().map_err(wrong)?,
            fs::metadata(&self.path).map_err(wrong)?,
        );
        if (held.dev(), held.ino()) != (named.dev(), named.ino()) {
            return Err(ShareError::InUse(self.path.clone()));
        }
        if held.nlink() > 1 {
            return Err(ShareError::Refused(format!(
                "the database has {} names (hard links), and its write-ahead log belongs to one of them: \
                 remove the others, or serve a copy",
                held.nlink()
            )));
        }
        Ok(())
    }

    /// Whether nothing was kept in it so far.
    pub(super) fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == 0)
    }

    /// Where it lies.
    pub(super) fn directory(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// The start succeeded: what was made stays.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.kept || !self.is_new {
            return;
        }
        // What cannot be removed stays; that the start failed is told anyway.
        let _ = fs::remove_file(&self.path);
        for ending in ENDINGS {
            let _ = fs::remove_file(beside(&self.path, ending));
        }
        if !self.had_shares {
            let shares = beside(&self.path, ".shares");
            let _ = fs::remove_dir(shares.join("incoming"));
            let _ = fs::remove_dir(shares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ShareStore;
    use super::super::testing::{bytes, options, put, read};
    use super::*;
    use crate::options::ShareLayout;
    use std::collections::{BTreeMap, BTreeSet};

    fn names_in(dir: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_a_database_left_that_was_moved_away_is_kept_until_it_is_back() {
        for ending in ["-wal", "-shm", "-journal"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.db");
            let left = beside(&path, ending);
            fs::write(&left, "acknowledged").unwrap();
            for given in [path.clone(), {
                let link = dir.path().join("link.db");
                std::os::unix::fs::symlink("a.db", &link).unwrap();
                link
            }] {
                assert!(
                    refusal(&given).contains("put that database back"),
                    "{ending}"
                );
                assert_eq!(fs::read_to_string(&left).unwrap(), "acknowledged");
                assert!(!path.exists());
            }
        }
    }

    fn refusal(path: &Path) -> String {
        refusal_of(path, ShareLayout::OneDatabase)
    }

    fn refusal_of(path: &Path, layout: ShareLayout) -> String {
        let refused = ShareStore::attach(path, options(layout));
        house::described(&refused.err().expect("it is refused"))
    }

    const LAYOUTS: [ShareLayout; 2] = [ShareLayout::FilePerShare, ShareLayout::OneDatabase];

    /// All files below a directory with their bytes.
    fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(dir).unwrap().flatten() {
            if entry.path().is_dir() {
                found.extend(files(&entry.path()));
            } else {
                found.insert(entry.path(), fs::read(entry.path()).unwrap());
            }
        }
        found
    }

    /// A store with an upload as a kill leaves it: what was answered is in its log alone.
    fn killed(layout: ShareLayout) -> (tempfile::TempDir, String) {
        let (alive, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (store, _) = ShareStore::attach(&alive.path().join("a.db"), options(layout)).unwrap();
        let id = put(&store, &bytes(1, 30_000), None, 1).unwrap();
        for (path, bytes) in files(alive.path()) {
            let copy = dead.path().join(path.strip_prefix(alive.path()).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, bytes).unwrap();
        }
        (dead, id)
    }

    fn assert_has(path: &Path, layout: ShareLayout, id: &str) {
        let (store, _) = ShareStore::attach(path, options(layout)).unwrap();
        let upload = store.index.find(id, 1).unwrap().expect("it was answered");
        assert!(read(&store, &upload) == bytes(1, 30_000), "{layout}");
    }

    #[test]
    fn a_start_that_is_refused_leaves_a_killed_database_as_it_was() {
        for layout in LAYOUTS {
            let (dir, id) = killed(layout);
            let path = dir.path().join("a.db");
            let before = files(dir.path());
            let other = LAYOUTS.into_iter().find(|one| *one != layout).unwrap();
            assert!(refusal_of(&path, other).contains(&format!("--layout {layout}")));
            assert!(files(dir.path()) == before, "{layout}");
            // Moved away, asked for, and put back as the refusal says.
            fs::rename(&path, dir.path().join("b.db")).unwrap();
            let without = files(dir.path());
            for asked in LAYOUTS {
                assert!(refusal_of(&path, asked).contains("put that database back"));
            }
            fs::write(&path, "").unwrap();
            assert!(refusal_of(&path, layout).contains("put that database back"));
            fs::remove_file(&path).unwrap();
            assert!(files(dir.path()) == without, "{layout}");
            fs::rename(dir.path().join("b.db"), &path).unwrap();
            assert_has(&path, layout, &id);
        }
    }

    #[test]
    fn the_database_of_another_program_is_as_it_was_after_a_start_that_was_refused() {
        for journal in ["wal", "delete"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("hot.db");
            let foreign = rusqlite::Connection::open(&path).unwrap();
            foreign
                .pragma_update(None, "journal_mode", journal)
                .unwrap();
            // A change that is not there before the log is read, or there until it is taken back.
            let tables = "CREATE TABLE mine (x); INSERT INTO mine VALUES (zeroblob(100000));
                          PRAGMA cache_size = 2; BEGIN; UPDATE mine SET x = zeroblob(200000);";
            foreign.execute_batch(tables).unwrap();
            let before = files(dir.path());
            assert!(before.len() > 1, "{journal}");
            for layout in LAYOUTS {
                let told = refusal_of(&path, layout);
                assert!(told.contains("another program"), "{journal}: {told}");
                assert!(files(dir.path()) == before, "{journal} {layout}");
            }
        }
    }

    #[test]
    fn files_of_others_that_have_names_of_sqlites_stay_beside_a_database() {
        for layout in LAYOUTS {
            for ending in ENDINGS {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("a.db");
                drop(ShareStore::attach(&path, options(layout)).unwrap());
                fs::write(beside(&path, ending), "mine").unwrap();
                let before = files(dir.path());
                let told = refusal_of(&path, layout);
                assert!(told.contains("somebody else"), "{ending}: {told}");
                assert!(files(dir.path()) == before, "{ending}");
            }
        }
    }

    #[test]
    fn a_database_has_one_server_whatever_name_it_is_called_by() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str| dir.path().join(name);
        let (served, _) =
            ShareStore::attach(&of("a.db"), options(ShareLayout::OneDatabase)).unwrap();
        std::os::unix::fs::symlink("a.db", of("soft.db")).unwrap();
        assert!(refusal(&of("soft.db")).contains("in use"));
        fs::hard_link(of("a.db"), of("hard.db")).unwrap();
        assert!(refusal(&of("hard.db")).contains("in use"));
        drop(served);
        // Its log would be looked for beside the other name.
        assert!(refusal(&of("hard.db")).contains("2 names"));
        fs::remove_file(of("hard.db")).unwrap();
        ShareStore::attach(&of("soft.db"), options(ShareLayout::OneDatabase)).unwrap();
    }

    #[test]
    fn what_is_no_file_is_refused_and_a_failed_start_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str| dir.path().join(name);
        fs::create_dir(of("dir")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            of("fifo"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        fs::write(of("text"), "mine").unwrap();
        fs::write(of("new.db.shares"), "in the way").unwrap();
        let before = names_in(dir.path());
        for name in ["dir", "fifo"] {
            assert!(refusal(&of(name)).contains("no file"), "{name}");
        }
        assert!(refusal(Path::new("/dev/null")).contains("no file"));
        assert!(!refusal(&of("text")).is_empty());
        let refused = ShareStore::attach(&of("new.db"), options(ShareLayout::FilePerShare));
        assert!(refused.is_err());
        assert_eq!(names_in(dir.path()), before);
        assert_eq!(fs::read(of("text")).unwrap(), b"mine");
    }
}
