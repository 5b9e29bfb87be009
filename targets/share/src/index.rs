//! The index: who has put up what, in one database.
//!
//! One transaction at a time writes, and none waits for a network. What is written here is durable
//! as `synchronous` says when [`Index::write`] returns.

mod guests;
mod head;
mod history;
mod schema;
mod sessions;
mod uploads;

pub(crate) use guests::{GuestLink, NewGuestLink};
pub(crate) use head::check_head;
pub(crate) use history::{DownloadRow, HistoryPage};

pub(crate) use sessions::SessionRow;
pub(crate) use uploads::{Amended, KeptUpload, UploadsPage};

use crate::content::{Effect, Footing};
use crate::database::{LOCK_WAIT, Pool, Purpose, Tuning, connect};
use crate::error::{ShareError, ShareResult};
use crate::options::{JournalMode, Switch, Synchronous};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The connections that write, of which one is used at a time.
pub(crate) struct Pair {
    /// Makes what it writes durable.
    linking: Connection,
    /// Writes what is durable with what is linked after it.
    pub(crate) staging: Connection,
}

/// Whose turn it is to write.
pub(crate) struct Writers {
    pair: Mutex<Pair>,
    log: Option<Log>,
}

impl Writers {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Pair) -> ShareResult<T>) -> ShareResult<T> {
        let pair = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = work(&pair);
        if let Some(log) = &self.log {
            log.shorten(&pair.staging);
        }
        outcome
    }

    /// The same for what must also be done on a full disk: where there is no space, the log is
    /// emptied, so that it is written from its beginning again, and then the spare space given up.
    pub(crate) fn in_need<T>(
        &self,
        ground: &Footing,
        mut work: impl FnMut(&Pair) -> ShareResult<T>,
    ) -> ShareResult<T> {
        match self.with(&mut work) {
            Err(ShareError::NoSpace) => {}
            other => return other,
        }
        // A log that somebody reads stays as it is.
        let _emptied = self.with(|pair| {
            let checkpoint = "PRAGMA wal_checkpoint(RESTART)";
            Ok(pair.staging.query_row(checkpoint, [], |_| Ok(()))?)
        });
        match self.with(&mut work) {
            Err(ShareError::NoSpace) if ground.relieve() => self.with(work),
            other => other,
        }
    }
}

/// A write-ahead log that is kept from growing.
///
/// SQLite begins its log again where nobody reads from it. Where reads overlap without a pause,
/// that never is, and the log has all that was ever written.
struct Log {
    path: PathBuf,
    /// Bytes that SQLite lets it have.
    usual: u64,
    /// Bytes from which on readers are waited for.
    most: AtomicU64,
}

/// How many times as long as usual a log may be before anybody waits.
const LONG: u64 = 4;
/// How long that may take. Reads take less; who copies the database takes longer.
const READS_WAIT: Duration = Duration::from_millis(250);

impl Log {
    fn new(database: &Path, tuning: &Tuning) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self {
            path: path.into(),
            usual: tuning.checkpoint,
            most: AtomicU64::new(LONG * tuning.checkpoint),
        }
    }

    /// Empties it where it has become long, once who reads from it has ended.
    fn shorten(&self, connection: &Connection) {
        let length = || std::fs::metadata(&self.path).map_or(0, |found| found.len());
        if length() <= self.most.load(Relaxed) {
            return;
        }
        // What cannot be moved now is moved later: nothing is lost by it.
        let _waits = connection.busy_timeout(READS_WAIT);
        let _emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _waits = connection.busy_timeout(LOCK_WAIT);
        // Whoever reads for long is waited for now and then, not at each write.
        self.most.store(length() + LONG * self.usual, Relaxed);
    }
}

/// The index of one store.
pub(crate) struct Index {
    // Before the others: the last that is closed moves the log into the database, if it may write.
    pub(crate) readers: Arc<Pool>,
    pub(crate) writers: Arc<Writers>,
    ground: Arc<Footing>,
    synced: bool,
}

/// What a database keeps from its first table on.
fn kept_as_made(error: ShareError) -> ShareError {
    let ShareError::Setting { what, .. } = error else {
        return error;
    };
    let option = match what {
        "auto_vacuum" => "--layout",
        "page_size" => "--page-size",
        _ => return error,
    };
    ShareError::Refused(format!(
        "the database was made with another {option}, and keeps it: start it so"
    ))
}

/// Page cache of all connections that only read.
const ALL_READERS: u64 = 4 << 20;
/// The least pages that one of them has.
const LEAST_PAGES: u64 = 4;

/// The page cache of one of so many.
fn reading_cache(tuning: &Tuning, readers: usize) -> u64 {
    let share = ALL_READERS / (readers as u64).max(1);
    share.clamp(LEAST_PAGES * tuning.page_size, tuning.cache)
}

impl Index {
    /// Opens the database, and makes it where it is not there.
    pub(crate) fn open(
        path: &Path,
        tuning: Tuning,
        readers: usize,
        downloads: Switch,
        ground: Arc<Footing>,
    ) -> ShareResult<Self> {
        let links = Tuning { row: 0, ..tuning };
        let mut linking = connect(path, Purpose::Write, &links).map_err(kept_as_made)?;
        schema::make(&mut linking, downloads)?;
        let staged = Tuning {
            synchronous: match tuning.synchronous {
                Synchronous::Full => Synchronous::Normal,
                Synchronous::Normal => Synchronous::Normal,
                Synchronous::Off => Synchronous::Off,
            },
            ..tuning
        };
        let staging = connect(path, Purpose::Write, &staged)?;
        let reads = Tuning {
            cache: reading_cache(&tuning, readers),
            ..tuning
        };
        let readers = (0..readers)
            .map(|_| connect(path, Purpose::Read, &reads))
            .collect::<ShareResult<_>>()?;
        Ok(Self {
            writers: Arc::new(Writers {
                pair: Mutex::new(Pair { linking, staging }),
                log: (tuning.journal == JournalMode::Wal).then(|| Log::new(path, &tuning)),
            }),
            readers: Arc::new(Pool::new(readers)),
            ground,
            synced: tuning.synchronous == Synchronous::Full,
        })
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> ShareResult<T>,
    ) -> ShareResult<T> {
        self.readers.with(work)
    }

    /// Does all of it or nothing, also where the disk is full.
    pub(crate) fn write<T>(
        &self,
        mut work: impl FnMut(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        let outcome = self.writers.in_need(&self.ground, |pair| {
            self.commit(&pair.linking, self.synced, &mut work)
        })?;
        self.committed(outcome)
    }

    /// The same for what adds bytes to the disk, and so leaves the spare space to the others.
    pub(crate) fn link<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        let outcome = self
            .writers
            .with(|pair| self.commit(&pair.linking, self.synced, work))?;
        self.committed(outcome)
    }

    /// The same for what may be lost in a crash, and costs no sync.
    pub(crate) fn jot<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        let outcome = self
            .writers
            .with(|pair| self.commit(&pair.staging, false, work))?;
        self.committed(outcome)
    }

    /// What is committed is done, whatever comes after it.
    fn committed<T>(&self, outcome: T) -> ShareResult<T> {
        self.ground.reach(Effect::Committed)?;
        Ok(outcome)
    }

    fn commit<T>(
        &self,
        connection: &Connection,
        synced: bool,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let outcome = work(&transaction)?;
        self.ground.reach(Effect::Commit)?;
        transaction.commit()?;
        self.ground.count(|ground| &ground.commits, 1);
        self.ground.count(|ground| &ground.syncs, u64::from(synced));
        Ok(outcome)
    }
}
