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
    /// walked, or it did not come so far. Of ranks with targets of their own those of the target on which
    /// they lie furthest apart, else of the one that has the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<WalkLevels>,
}

/// Levels of directories from the first on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WalkLevels {
    /// The fewest and the most of any rank of one target: where they differ, ranks saw different trees, and
    /// entries may have been counted twice or not at all.
    pub fewest: u32,
    pub most: u32,
}

impl WalkAccount {
    pub(crate) fn merge(&mut self, other: Self) {
        add_to(&mut self.entries, other.entries);
        add_to(&mut self.matched, other.matched);
        // Which ranks walked one tree only the hosts tell: see `TargetUsers::levels`.
        self.levels = None;
    }
}

impl WalkLevels {
    /// Whether all ranks of a target dealt the tree out below the same level.
    #[must_use]
    pub fn agree(self) -> bool {
        self.fewest == self.most
    }

    /// Of ranks that walked one tree.
    pub(crate) fn of_one(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.reduce(|one, other| Self {
            fewest: one.fewest.min(other.fewest),
            most: one.most.max(other.most),
        })
    }

    /// Of several trees the levels of the one on which ranks lie furthest apart.
    pub(crate) fn of_several(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.max_by_key(|levels| (levels.most.saturating_sub(levels.fewest), levels.most))
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
    use crate::{GroupAccount, TargetReach};

    /// Entries and levels of ranks that each dealt out below such a level, with their target sets.
    fn together(parts: &[(Option<u32>, Option<u32>)]) -> (u64, Option<WalkLevels>) {
        let parts = (0_u32..).zip(parts).map(|(rank, (number, set))| {
            let levels = number.map(|number| WalkLevels {
                fewest: number,
                most: number,
            });
            let mut part = Record {
                id: rank.to_string(),
                elapsed_ns: 1,
                group: Some(GroupAccount {
                    target_is: set.map(|_| TargetReach::Local),
                    ..GroupAccount::default()
                }),
                walk: Some(WalkAccount {
                    entries: 1,
                    matched: 1,
                    levels,
                }),
                ..Record::default()
            };
            let host = part.generator_mut();
            (host.rank, host.target_set) = (Some(rank), *set);
            part
        });
        let walk = Record::merge_all(parts).unwrap().walk.unwrap();
        (walk.entries, walk.levels)
    }

    #[test]
    fn ranks_that_dealt_out_at_different_levels_are_told_from_those_that_did_not() {
        let agree = |numbers: &[Option<u32>]| {
            let parts: Vec<_> = numbers.iter().map(|number| (*number, None)).collect();
            let (entries, levels) = together(&parts);
            (entries, levels.map(WalkLevels::agree))
        };
        assert_eq!(agree(&[None, None]), (2, None));
        assert_eq!(agree(&[Some(2), Some(2), None]), (3, Some(true)));
        assert_eq!(agree(&[Some(2), Some(3), Some(2)]), (3, Some(false)));
    }

    #[test]
    fn levels_are_held_against_those_of_ranks_that_walked_the_same_tree() {
        let levels = |numbers: [u32; 4]| {
            let sets = numbers.into_iter().zip([0, 1, 0, 1]);
            let parts: Vec<_> = sets
                .map(|(number, set)| (Some(number), Some(set)))
                .collect();
            let (entries, levels) = together(&parts);
            assert_eq!(entries, 4);
            levels.map(|levels| (levels.fewest, levels.most))
        };
        assert_eq!(levels([1, 2, 1, 2]), Some((2, 2)));
        assert_eq!(levels([1, 2, 1, 3]), Some((2, 3)));
        assert_eq!(levels([1, 5, 3, 5]), Some((1, 3)));
    }
}
