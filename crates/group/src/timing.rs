//! How long a group waits for what.

/// How long a group waits for what; all in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTiming {
    /// From the agreement to the common start, at first.
    pub lead_ns: u64,
    /// A rank that is not heard of for so long is lost.
    pub lost_after_ns: u64,
    /// A clock that is known so well is known well enough.
    pub wanted_bound_ns: u64,
    /// After so long it must do as it is known.
    pub clocks_for_ns: u64,
    /// What has not become better by a tenth for so long must do, too.
    pub clocks_still_ns: u64,
    /// After so long at the end what a clock did since the start is as it is known.
    pub compare_for_ns: u64,
    /// Between two questions for the time.
    pub ask_every_ns: u64,
    /// Between two words of how far a rank is.
    pub tell_every_ns: u64,
}

impl Default for GroupTiming {
    fn default() -> Self {
        Self {
            lead_ns: 200_000_000,
            lost_after_ns: 10_000_000_000,
            wanted_bound_ns: 50_000,
            clocks_for_ns: 2_000_000_000,
            clocks_still_ns: 100_000_000,
            compare_for_ns: 500_000_000,
            ask_every_ns: 5_000_000,
            tell_every_ns: 1_000_000_000,
        }
    }
}

impl GroupTiming {
    /// Processes of one launcher begin one after another, over many hosts minutes apart.
    pub(crate) fn come_within_ns(&self) -> u64 {
        self.lost_after_ns.saturating_mul(6)
    }
}
