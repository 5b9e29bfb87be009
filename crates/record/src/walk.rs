//! What a walk over directories saw.

use crate::Record;
use crate::merge::add_to;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::lossless::u64_to_f64;

/// What a walk looked at. Its operations are directories, each with all of its entries. Of ranks that
/// walk one tree together each counts its own directories and entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkAccount {
    /// Names in directories, those of directories among them.
    pub entries: u64,
    /// Those that are no directory and are what was looked for.
    pub matched: u64,
    /// Levels of directories that every rank read before it dealt out what lies below; `None`: nobody else
    /// walked, or it did not come so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<WalkLevels>,
}

/// Levels of directories from the first on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WalkLevels {
    /// The fewest and the most of any rank: where they differ, ranks saw different trees, and entries may
    /// have been counted twice or not at all.
    pub fewest: u32,
    pub most: u32,
}

impl WalkAccount {
    pub(crate) fn merge(&mut self, other: Self) {
        add_to(&mut self.entries, other.entries);
        add_to(&mut self.matched, other.matched);
        self.levels = match (self.levels, other.levels) {
            (Some(one), Some(other)) => Some(WalkLevels {
                fewest: one.fewest.min(other.fewest),
                most: one.most.max(other.most),
            }),
            (one, other) => one.or(other),
        };
    }
}

impl WalkLevels {
    /// Whether all ranks dealt the tree out below the same level.
    #[must_use]
    pub fn agree(self) -> bool {
        self.fewest == self.most
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_dealt_out_at_different_levels_are_told_from_those_that_did_not() {
        let of = |levels: Option<u32>| WalkAccount {
            entries: 1,
            matched: 1,
            levels: levels.map(|number| WalkLevels {
                fewest: number,
                most: number,
            }),
        };
        let together = |parts: &[Option<u32>]| {
            let mut all = WalkAccount::default();
            parts.iter().for_each(|part| all.merge(of(*part)));
            (all.entries, all.levels.map(WalkLevels::agree))
        };
        assert_eq!(together(&[None, None]), (2, None));
        assert_eq!(together(&[Some(2), Some(2), None]), (3, Some(true)));
        assert_eq!(together(&[Some(2), Some(3), Some(2)]), (3, Some(false)));
    }
}
