//! An end by time that all workers look back at.

use units::Nanos;

/// An end by time that is looked back at: what all had done by then, and, if they go on, when each
/// had done what the fastest had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stonewall {
    /// From the start; `None`: there is none.
    pub at: Option<Nanos>,
    /// Each worker goes on until it has done as many operations as the fastest had by then.
    pub wear_out: bool,
    /// How long they may go on at most; `None`: ten times as long as until the stonewall.
    pub wear_out_limit: Option<Nanos>,
}

impl Stonewall {
    /// How long workers may go on after the stonewall; zero where they do not.
    #[must_use]
    pub fn longest_wear_out(&self) -> Nanos {
        let ten_times = self.at.map_or(0, |at| at.0.saturating_mul(10));
        let limit = self.wear_out_limit.map_or(ten_times, |limit| limit.0);
        Nanos(if self.wear_out { limit } else { 0 })
    }
}
