//! Judging: from records alone to findings.
//!
//! A number is believed only after the record it stands in was checked against itself: its counters against each other, against the
//! kernel's, and against what was asked. [`self_check`] does that for one record, one rule a file under `audit`. A rule that lacks the
//! facts it needs stays silent; it never guesses.
//!
//! Nothing here reads a clock, a file or the environment: the same record gives the same findings.
#![forbid(unsafe_code)]

mod audit;
mod effective;
mod finding;

pub use audit::{SHOWN_PERCENTILES, percentile_has_support, self_check};
pub use effective::Effective;
pub use finding::{Finding, Severity};
