//! What a walk over directories saw.

use crate::Record;
use crate::merge::add_to;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::lossless::u64_to_f64;

/// What a walk looked at. Its operations are directories, each with all of its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkAccount {
    /// Names in directories, those of directories among them.
    pub entries: u64,
    /// Those that are no directory and are what was looked for.
    pub matched: u64,
}

impl WalkAccount {
    pub(crate) fn merge(&mut self, other: Self) {
        add_to(&mut self.entries, other.entries);
        add_to(&mut self.matched, other.matched);
    }
}

/// Entries a second over the time of the walk.
pub(crate) fn entries_per_second(record: &Record) -> Option<f64> {
    let walk = record.walk?;
    let time = record.spans.get("walk")?.elapsed_ns;
    (time > 0).then(|| u64_to_f64(walk.entries) * 1e9 / u64_to_f64(time))
}

/// Entries that were what was looked for.
pub(crate) fn matched(record: &Record) -> Option<f64> {
    record.walk.map(|walk| u64_to_f64(walk.matched))
}
