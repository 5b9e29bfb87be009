//! Connections to SQLite whose settings took effect.

use crate::error::{ShareError, ShareResult};
use crate::options::{JournalMode, Synchronous};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a lock that another process holds is waited for.
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 5000 });
/// Pages of a table that lead to those of one row.
const PAGES_BESIDE_ROW: u64 = 4;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Write,
    Read,
    /// Of a file that nobody changes, so that it needs no locks.
    ReadKept,
}

/// How a connection works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) page_size: u64,
    pub(crate) journal: JournalMode,
    pub(crate) synchronous: Synchronous,
    /// Bytes of the write-ahead log.
    pub(crate) checkpoint: u64,
    /// Bytes of the page cache.
    pub(crate) cache: u64,
    /// Bytes of the longest row that is written, if those of an upload are.
    pub(crate) row: u64,
    pub(crate) vacuum: Vacuum,
}

impl Tuning {
    /// The page cache of who writes rows of a length: as many pages as one row has and those above
    /// it, so that each is written to the file once, when it is full.
    pub(crate) fn writing_cache(&self) -> u64 {
        self.cache.max(self.row + PAGES_BESIDE_ROW * self.page_size)
    }
}

/// Whether freed pages can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vacuum {
    Never,
    Incremental,
}

/// Opens a database, and makes it where it is not there and is to be written.
///
/// # Errors
/// `Setting` where a pragma did not take effect.
pub(crate) fn connect(path: &Path, purpose: Purpose, tuning: &Tuning) -> ShareResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match purpose {
            Purpose::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Purpose::ReadKept => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        };
    let connection = match purpose {
        Purpose::Write | Purpose::Read => Connection::open_with_flags(path, flags)?,
        Purpose::ReadKept => Connection::open_with_flags(kept_uri(path), flags)?,
    };
    connection.busy_timeout(LOCK_WAIT)?;
    let with = Tuned { connection };
    if purpose == Purpose::Write {
        let vacuum = match tuning.vacuum {
            Vacuum::Never => 0,
            Vacuum::Incremental => 2,
        };
        // These two hold from the first table on; the page comes before the journal makes one.
        with.connection
            .pragma_update(None, "page_size", tuning.page_size)?;
        with.connection.pragma_update(None, "auto_vacuum", vacuum)?;
        with.word("journal_mode", tuning.journal.word())?;
        with.number("auto_vacuum", "given this vacuum", vacuum)?;
    }
    with.number("page_size", "given pages of this size", tuning.page_size)?;
    if purpose == Purpose::ReadKept {
        return with.cached(tuning.cache);
    }
    if purpose == Purpose::Read && tuning.journal == JournalMode::Wal {
        with.word("journal_mode", tuning.journal.word())?;
    }
    let synchronous = match tuning.synchronous {
        Synchronous::Off => 0,
        Synchronous::Normal => 1,
        Synchronous::Full => 2,
    };
    with.set("synchronous", "made so synchronous", synchronous)?;
    let pages = tuning.checkpoint / tuning.page_size;
    with.set("wal_autocheckpoint", "checkpointed so often", pages.max(1))?;
    with.set("foreign_keys", "held to its references", 1)?;
    with.cached(match purpose {
        Purpose::Write => tuning.writing_cache(),
        Purpose::Read | Purpose::ReadKept => tuning.cache,
    })
}

/// The address of a file that nobody changes. Everything but plain characters is escaped.
fn kept_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let escaped = percent_encoding::percent_encode(
        path.as_os_str().as_bytes(),
        percent_encoding::NON_ALPHANUMERIC,
    );
    format!("file:{escaped}?immutable=1")
}

/// A connection that is being set.
struct Tuned {
    connection: Connection,
}

impl Tuned {
    fn set(&self, pragma: &'static str, asked: &'static str, value: u64) -> ShareResult<()> {
        self.connection.pragma_update(None, pragma, value)?;
        self.number(pragma, asked, value)
    }

    fn number(&self, pragma: &'static str, asked: &'static str, value: u64) -> ShareResult<()> {
        let found: u64 = self
            .connection
            .pragma_query_value(None, pragma, |row| row.get(0))?;
        same(pragma, asked, value, found)
    }

    fn word(&self, pragma: &'static str, value: &str) -> ShareResult<()> {
        let found: String =
            self.connection
                .pragma_update_and_check(None, pragma, value, |row| row.get(0))?;
        if found == value {
            return Ok(());
        }
        Err(ShareError::Setting {
            what: pragma,
            asked: format!("set to {value}"),
            found,
        })
    }

    fn cached(self, bytes: u64) -> ShareResult<Connection> {
        // A negative number counts KiB.
        let kib = i64::try_from(bytes / 1024).unwrap_or(i64::MAX);
        self.connection.pragma_update(None, "cache_size", -kib)?;
        let found: i64 = self
            .connection
            .pragma_query_value(None, "cache_size", |row| row.get(0))?;
        same("cache_size", "given this cache", -kib, found)?;
        Ok(self.connection)
    }
}

fn same<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    asked: &'static str,
    value: T,
    found: T,
) -> ShareResult<()> {
    if value == found {
        return Ok(());
    }
    Err(ShareError::Setting {
        what,
        asked: format!("{asked} ({value})"),
        found: found.to_string(),
    })
}

/// Connections that are lent one at a time.
pub(crate) struct Pool {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Pool {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self {
            idle: Mutex::new(connections),
            returned: Condvar::new(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with one of them, once one is idle.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> ShareResult<T>,
    ) -> ShareResult<T> {
        let mut idle = self.idle();
        let connection = loop {
            match idle.pop() {
                Some(connection) => break connection,
                None => {
                    idle = self
                        .returned
                        .wait(idle)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(idle);
        let lent = Lent {
            pool: self,
            connection: Some(connection),
        };
        work(lent.connection.as_ref().expect("it is lent until the end"))
    }
}

/// A connection that goes back, whatever happens.
struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.idle().extend(self.connection.take());
        self.pool.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning() -> Tuning {
        Tuning {
            page_size: 65_536,
            journal: JournalMode::Wal,
            synchronous: Synchronous::Full,
            checkpoint: 1 << 20,
            cache: 1 << 20,
            row: 0,
            vacuum: Vacuum::Incremental,
        }
    }

    #[test]
    fn a_setting_that_did_not_take_effect_ends_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b?%.db");
        let first = connect(&path, Purpose::Write, &tuning()).unwrap();
        first.execute_batch("CREATE TABLE t(x)").unwrap();
        for purpose in [Purpose::Write, Purpose::Read] {
            connect(&path, purpose, &tuning()).unwrap();
            let other = Tuning {
                page_size: 4096,
                ..tuning()
            };
            let refused = connect(&path, purpose, &other).unwrap_err().to_string();
            assert!(
                refused.contains("page_size") && refused.contains("65536"),
                "{refused}"
            );
        }
        let other = Tuning {
            vacuum: Vacuum::Never,
            ..tuning()
        };
        let refused = connect(&path, Purpose::Write, &other)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("auto_vacuum"), "{refused}");
        // A second connection keeps the journal from being changed.
        let other = Tuning {
            journal: JournalMode::Delete,
            ..tuning()
        };
        assert!(connect(&path, Purpose::Write, &other).is_err());
    }

    #[test]
    fn a_file_that_nobody_changes_is_read_without_locks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b?%#.db");
        let off = Tuning {
            journal: JournalMode::Off,
            vacuum: Vacuum::Never,
            ..tuning()
        };
        let written = connect(&path, Purpose::Write, &off).unwrap();
        written
            .execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
            .unwrap();
        drop(written);
        let read = connect(&path, Purpose::ReadKept, &off).unwrap();
        let found: u64 = read
            .query_row("SELECT x FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, 7);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
