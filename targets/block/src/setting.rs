//! How the device misbehaves from one change to the next.

use crate::replaced::Replaced;
use crate::request::{BlockOperation, Errno};
use misbehave::{Codes, Cured, Misbehaviour, Shaper, Vocabulary};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The smallest piece of a device that is written whole or not at all.
pub(crate) const SECTOR: usize = 512;

/// What a block device can be told to do, in the words of `misbehave`.
pub const VOCABULARY: Vocabulary<'static> = Vocabulary {
    operations: &BlockOperation::NAMES,
    codes: Codes::Names(&Errno::NAMES),
    models: &[
        "latency",
        "jitter",
        "rate",
        "bandwidth",
        "channels",
        "errors",
        "stall",
        "corrupt",
        "stale",
        "lost",
        "torn",
        "misdirected",
        "hang",
    ],
    only: &[
        ("bandwidth", &["read", "write"]),
        ("corrupt", &["read", "write"]),
        ("stale", &["read"]),
        ("lost", &["write"]),
        ("torn", &["write"]),
        ("misdirected", &["write"]),
    ],
    placeless: &["flush"],
    curing: &["write", "trim", "zero"],
    histogram: |_| Err("histograms cannot be read here".to_owned()),
};

/// One generation of misbehaviour, and what it has to remember.
#[derive(Default)]
pub(crate) struct StandingOrders {
    pub(crate) generation: u32,
    pub(crate) models: Option<Misbehaviour>,
    /// When it began.
    pub(crate) since: u64,
    pub(crate) shaper: Mutex<Shaper>,
    pub(crate) cured: Mutex<Cured>,
    /// What was there before the last write.
    before: Mutex<Replaced>,
}

/// What a thread that panicked has left is as good as what it found.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StandingOrders {
    pub(crate) fn new(generation: u32, models: Option<Misbehaviour>, since: u64) -> Self {
        Self {
            generation,
            models,
            since,
            ..Self::default()
        }
    }

    /// Keeps what a write is about to replace.
    pub(crate) fn remember(&self, offset: u64, old: Vec<u8>) {
        held(&self.before).remember(offset, old);
    }

    /// Puts what was there before in the place of what is; whether that is another thing.
    pub(crate) fn recall(&self, offset: u64, found: &mut [u8]) -> bool {
        held(&self.before).recall(offset, found)
    }

    /// Whether writing has taken away the errors of this place.
    pub(crate) fn is_cured(&self, place: &misbehave::FaultPlace, extent: &Range<u64>) -> bool {
        held(&self.cured).covers(place, extent)
    }
}
