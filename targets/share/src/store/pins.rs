//! Counts of what is under way.

use crate::content::BodyReader;
use crate::error::ShareResult;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) fn guarded<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes one from a count; a count of none is no entry.
pub(super) fn less<K: Ord>(counts: &Mutex<BTreeMap<K, u64>>, key: &K) {
    let mut counts = guarded(counts);
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// Keeps a body from being removed.
pub(super) struct Pin {
    pub(super) open: Arc<Mutex<BTreeMap<u64, u64>>>,
    pub(super) number: u64,
}

impl Drop for Pin {
    fn drop(&mut self) {
        less(&self.open, &self.number);
    }
}

pub(super) struct Pinned {
    pub(super) reader: Box<dyn BodyReader>,
    pub(super) _pin: Pin,
}

impl BodyReader for Pinned {
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<bytes::Bytes>> {
        self.reader.read(first, count)
    }

    fn part(&mut self, number: u64, range: std::ops::Range<u64>) -> ShareResult<bytes::Bytes> {
        self.reader.part(number, range)
    }

    fn has_places(&self) -> bool {
        self.reader.has_places()
    }

    fn place(&mut self, number: u64) -> ShareResult<Option<Vec<house::FileSpan>>> {
        self.reader.place(number)
    }
}
