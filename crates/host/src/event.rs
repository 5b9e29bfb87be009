//! What is told while something is measured.

use record::{Interval, Record, SlotPlace};

/// What progress, live metrics and pages are told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// So many bytes of what the measured time needs are there.
    Preparing {
        done: u64,
        to_do: u64,
        /// At which they are written at this moment; `None` where nobody took the time.
        bytes_per_second: Option<f64>,
    },
    /// A work is being warmed up for so long; what it does until then is in no interval.
    WarmingUp { for_ns: u64 },
    /// What was done since the last such event, by one of several works that run together.
    Interval {
        /// From 0, in the order in which they were asked for.
        part: usize,
        interval: &'a Interval,
    },
    /// A row of an experiment is tried once.
    Rehearsing {
        row: &'a str,
        number: usize,
        of: usize,
    },
    /// What a row gave when it was tried. It counts for nothing.
    Rehearsed { row: &'a str, record: &'a Record },
    /// A slot of an experiment is about to begin.
    Slot(SlotPlace<'a>),
}

/// Who is told. Works that run together tell one watch, one after the other.
pub trait Watch: Send {
    fn on(&mut self, event: &Event<'_>);

    /// Time between two intervals that it is told of; `None` where it wants none.
    fn every_ns(&self) -> Option<u64> {
        None
    }
}

/// A watch that looks away.
pub struct NoWatch;

impl Watch for NoWatch {
    fn on(&mut self, _event: &Event<'_>) {}
}
