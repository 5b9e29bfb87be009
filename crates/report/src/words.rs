//! Small phrases that several forms share.

use units::Percent;
pub(crate) use units::{counted, grouped};

/// So many of several names are told.
pub(crate) const MOST_NAMED: usize = 4;

/// Shown where nothing is known.
pub(crate) const NOTHING: &str = "-";

/// A share as a percentage with at most one decimal.
pub(crate) fn share(part: f64) -> String {
    Percent((part * 1000.0).round() / 10.0).to_string()
}
