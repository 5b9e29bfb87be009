//! The seam between deciding and measuring.

use record::{Record, SlotPlace};
use std::error::Error;

/// One slot of a plan: the numbers of its row and arm, and when its turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub pass: u32,
    pub row: usize,
    pub arm: usize,
    /// How often this block was begun before.
    pub attempt: u32,
}

/// What is to be measured of a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Its own work, for no longer than this and than the slot itself, and of which nobody uses
    /// the numbers. Work that has no time is done once whole.
    LeadIn {
        longest_ns: u64,
    },
    Slot,
    /// Its work at so many operations a second, for this time.
    AtRate {
        per_second: f64,
        for_ns: u64,
    },
}

/// Who carries out what a slot says. For each turn: `prepare`, then `measure` once or several
/// times, then `release`, and `settle` after everything that wrote.
pub trait Conduct {
    /// Tells whoever watches that a slot is about to begin.
    fn tell(&mut self, place: &SlotPlace<'_>);

    /// Time since this conduct began.
    fn elapsed_ns(&self) -> u64;

    /// Whether a signal asks for the end.
    fn is_stopped(&self) -> bool;

    /// Why an arm can never run: its build failed. Its slots are failed records that break no block.
    fn lost(&self, _arm: usize) -> Option<&str> {
        None
    }

    /// What keeps any slot from beginning, whatever its arm: no space.
    fn obstacle(&mut self) -> Option<String> {
        None
    }

    /// Makes what the arm of this turn needs before it can be measured.
    ///
    /// # Errors
    /// It cannot be made.
    fn prepare(&mut self, turn: Turn) -> Result<(), Unstarted>;

    /// Measures; a failure of what is measured is a record.
    ///
    /// # Errors
    /// Nothing was measured.
    fn measure(&mut self, turn: Turn, work: Work) -> Result<Record, Unstarted>;

    /// Takes away what `prepare` made, and tells the last record of the turn what became of it.
    fn release(&mut self, turn: Turn, record: &mut Record);

    /// Waits, at most so long, until what the turn wrote is where it belongs. What is left then is
    /// said in words.
    fn settle(&mut self, turn: Turn, longest_ns: u64) -> Option<String>;
}

/// What did not start, as an error and as the record that stands for it.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct Unstarted {
    pub source: Box<dyn Error + Send + Sync>,
    /// Its outcome says whether it was asked wrongly, failed or was interrupted.
    pub record: Box<Record>,
}

/// One turn by itself, from preparing to release.
///
/// # Errors
/// Nothing was measured.
pub fn measure_once(conduct: &mut dyn Conduct, turn: Turn) -> Result<Record, Unstarted> {
    conduct.prepare(turn)?;
    let mut outcome = conduct.measure(turn, Work::Slot);
    match &mut outcome {
        Ok(record) => conduct.release(turn, record),
        Err(unstarted) => conduct.release(turn, &mut unstarted.record),
    }
    outcome
}
