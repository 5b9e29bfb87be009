//! Downloads on their way into the history: several become one transaction, and none waits for it.

use crate::index::DownloadRow;
use crate::store::ShareStore;
use house::{LogLine, described};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most rows that wait; more are not remembered, and counted.
const MOST_WAITING: usize = 10_000;

/// Rows that wait to be written.
pub(crate) struct History {
    store: Arc<ShareStore>,
    waiting: Mutex<Vec<DownloadRow>>,
    log: LogLine,
}

impl History {
    pub(crate) fn new(store: Arc<ShareStore>, log: LogLine) -> Self {
        Self {
            store,
            waiting: Mutex::default(),
            log,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<DownloadRow>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, row: DownloadRow) {
        let mut waiting = self.waiting();
        if waiting.len() < MOST_WAITING {
            waiting.push(row);
        }
    }

    /// Writes what waits.
    pub(crate) fn write(&self) {
        let rows = std::mem::take(&mut *self.waiting());
        if rows.is_empty() {
            return;
        }
        if let Err(error) = self.store.index.add_downloads(&rows) {
            (self.log)(&format!(
                "{} downloads are not in the history: {}",
                rows.len(),
                self.store.told(&described(&error))
            ));
        }
    }
}
