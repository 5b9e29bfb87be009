//! What stands beside a database under its name and an ending.
//!
//! SQLite takes such files for its own: it reads them into the database, or removes them. Beside a
//! database that is not there they are of one that was, with uploads that had been acknowledged;
//! or of anybody.

use super::hold::beside;
use crate::error::{ShareError, ShareResult};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// What SQLite puts beside a database.
pub(super) const ENDINGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How a journal begins (SQLite's file format, 3); until it is synced, by zeros.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// How a log begins, but for its last bit.
const LOG: [u8; 4] = [0x37, 0x7f, 0x06, 0x82];
/// The version in the index of a log, in the order of this machine.
const LOG_INDEX: u32 = 3_007_000;

/// What a file begins with.
struct Remains {
    path: PathBuf,
    ending: &'static str,
    /// No bytes where it is none that has any, as a directory.
    begin: Option<Vec<u8>>,
}

impl Remains {
    /// What is there of all that there can be.
    fn of(path: &Path) -> ShareResult<Vec<Self>> {
        let wrong = |e| ShareError::io("reading what is beside the database", e);
        let mut found = Vec::new();
        for ending in ENDINGS {
            let path = beside(path, ending);
            let begin = match fs::symlink_metadata(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(wrong(e)),
                Ok(found) if !found.is_file() => None,
                Ok(_) => {
                    let mut begin = Vec::new();
                    let file = File::open(&path).map_err(wrong)?;
                    file.take(28).read_to_end(&mut begin).map_err(wrong)?;
                    Some(begin)
                }
            };
            found.push(Self {
                path,
                ending,
                begin,
            });
        }
        Ok(found)
    }

    /// Whether SQLite can have written it.
    fn is_of_sqlite(&self) -> bool {
        let Some(begin) = &self.begin else {
            return false;
        };
        let is_zero = |most: usize| begin.iter().take(most).all(|byte| *byte == 0);
        match self.ending {
            "-journal" => is_zero(JOURNAL.len()) || begin.starts_with(&JOURNAL),
            "-wal" => {
                is_zero(28)
                    || begin.starts_with(&LOG[..3])
                        && begin.get(3).is_some_and(|last| last & !1 == LOG[3])
            }
            _ => is_zero(4) || begin.starts_with(&LOG_INDEX.to_ne_bytes()),
        }
    }

    /// Whether it is of a database that was being made when it was left: SQLite makes that one empty
    /// again, and loses nothing.
    fn is_of_beginning(&self) -> bool {
        let pages = self.begin.as_ref().and_then(|begin| begin.get(16..20));
        self.ending == "-journal" && self.is_of_sqlite() && pages == Some(&[0; 4])
    }
}

/// Looks at what is beside a database that is not there, or has nothing in it.
///
/// # Errors
/// `Refused` where it is more than of one that was just being made.
pub(super) fn check_beside_nothing(path: &Path) -> ShareResult<()> {
    let found = Remains::of(path)?;
    match found.iter().find(|remains| !remains.is_of_beginning()) {
        None => Ok(()),
        Some(left) => Err(ShareError::Refused(format!(
            "there is no database, and {} is of one that was here: put that database back, which may have \
             its newest uploads there, or move that file away",
            left.path.display()
        ))),
    }
}

/// Looks at what is beside a database.
///
/// # Errors
/// `Refused` where something there is not SQLite's.
pub(super) fn check_beside_database(path: &Path) -> ShareResult<()> {
    let found = Remains::of(path)?;
    match found.iter().find(|remains| !remains.is_of_sqlite()) {
        None => Ok(()),
        Some(stranger) => Err(ShareError::Refused(format!(
            "{} has a name that is SQLite's here, which would remove it, and is of somebody else: move that \
             file away",
            stranger.path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn what_sqlite_leaves_is_known_and_what_others_leave_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let log = Connection::open(&path).unwrap();
        log.pragma_update(None, "journal_mode", "wal").unwrap();
        log.execute_batch("CREATE TABLE a (x)").unwrap();
        assert_eq!(Remains::of(&path).unwrap().len(), 2);
        check_beside_database(&path).unwrap();
        assert!(check_beside_nothing(&path).is_err());
        drop(log);
        assert!(Remains::of(&path).unwrap().is_empty());
        for ending in ENDINGS {
            let stranger = beside(&path, ending);
            fs::write(&stranger, "mine").unwrap();
            let told = check_beside_database(&path).unwrap_err().to_string();
            assert!(told.contains("somebody else"), "{told}");
            fs::remove_file(&stranger).unwrap();
            fs::create_dir(&stranger).unwrap();
            assert!(check_beside_database(&path).is_err(), "{ending}");
            fs::remove_dir(&stranger).unwrap();
        }
    }

    #[test]
    fn a_database_that_was_being_made_is_told_from_one_that_was_moved_away() {
        for tables in [0, 1] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.db");
            let open = Connection::open(&path).unwrap();
            for table in 0..tables {
                open.execute_batch(&format!("CREATE TABLE t{table} (x)"))
                    .unwrap();
            }
            // Little memory, so that the journal is on the disk before the end.
            open.pragma_update(None, "cache_spill", 1).unwrap();
            open.pragma_update(None, "cache_size", 1).unwrap();
            open.execute_batch(
                "BEGIN; CREATE TABLE a (x); INSERT INTO a VALUES (zeroblob(1000000));",
            )
            .unwrap();
            assert!(Remains::of(&path).unwrap()[0].is_of_sqlite());
            assert_eq!(check_beside_nothing(&path).is_ok(), tables == 0);
        }
    }
}
