//! The index: who has put up what, in one database.
//!
//! One transaction at a time writes, and none waits for a network. What is written here is durable
//! as `synchronous` says when [`Index::write`] returns.

mod guests;
mod history;
mod schema;
mod sessions;
mod uploads;

pub(crate) use guests::{GuestLink, NewGuestLink};
pub(crate) use history::{DownloadRow, HistoryPage};
pub(crate) use sessions::SessionRow;
pub(crate) use uploads::{Amended, KeptUpload, UploadsPage};

use crate::content::{Effect, Footing};
use crate::database::{Pool, Purpose, Tuning, connect};
use crate::error::ShareResult;
use crate::options::{Switch, Synchronous};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The connections that write, of which one is used at a time.
pub(crate) struct Pair {
    /// Makes what it writes durable.
    linking: Connection,
    /// Writes what is durable with what is linked after it.
    pub(crate) staging: Connection,
}

/// Whose turn it is to write.
pub(crate) struct Writers(Mutex<Pair>);

impl Writers {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Pair) -> ShareResult<T>) -> ShareResult<T> {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The index of one store.
pub(crate) struct Index {
    pub(crate) writers: Arc<Writers>,
    pub(crate) readers: Arc<Pool>,
    ground: Arc<Footing>,
    synced: bool,
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
        schema::check_owner(path)?;
        let mut linking = connect(path, Purpose::Write, &tuning)?;
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
        let readers = (0..readers)
            .map(|_| connect(path, Purpose::Read, &tuning))
            .collect::<ShareResult<_>>()?;
        Ok(Self {
            writers: Arc::new(Writers(Mutex::new(Pair { linking, staging }))),
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

    /// Does all of it or nothing.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        self.commit(|pair| &pair.linking, self.synced, work)
    }

    /// The same for what may be lost in a crash, and costs no sync.
    pub(crate) fn jot<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        self.commit(|pair| &pair.staging, false, work)
    }

    fn commit<T>(
        &self,
        connection: impl FnOnce(&Pair) -> &Connection,
        synced: bool,
        work: impl FnOnce(&Transaction<'_>) -> ShareResult<T>,
    ) -> ShareResult<T> {
        self.writers.with(|pair| {
            let connection = connection(pair);
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let outcome = work(&transaction)?;
            self.ground.reach(Effect::Commit)?;
            transaction.commit()?;
            self.ground.count(|ground| &ground.commits, 1);
            self.ground.count(|ground| &ground.syncs, u64::from(synced));
            self.ground.reach(Effect::Committed)?;
            Ok(outcome)
        })
    }
}
