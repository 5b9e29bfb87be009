use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Expected, UnitError, excerpt};
use crate::lossless::to_u64;

/// Ids of processors or memory nodes in the order in which they were written; serialised as a list
/// of numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdList(pub Vec<u32>);

/// Far above the processors of any machine, far below what would exhaust memory.
const MOST_IDS: u64 = 65_536;

impl IdList {
    /// Reads ids and ranges such as `0-31` or `0,2,4-7`: at least one id, each at most once, at
    /// most 65536 in all.
    ///
    /// The order is kept, since workers are placed round-robin along the list.
    pub fn parse(text: &str) -> Result<IdList, UnitError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(UnitError::Empty {
                what: Expected::IdList,
            });
        }
        if text.starts_with('-') {
            return Err(Expected::IdList.negative(text));
        }
        let mut ids = Vec::new();
        let mut seen = BTreeSet::new();
        for part in text.split(',') {
            let (low, high) = ends(part, text)?;
            if to_u64(ids.len()) + u64::from(high - low) >= MOST_IDS {
                return Err(Expected::IdList.out_of_range(text));
            }
            for id in low..=high {
                if !seen.insert(id) {
                    return Err(UnitError::Duplicate {
                        read: excerpt(text),
                        id,
                    });
                }
                ids.push(id);
            }
        }
        Ok(IdList(ids))
    }
}

/// The ends of one id or range, the first never above the second.
fn ends(part: &str, text: &str) -> Result<(u32, u32), UnitError> {
    let (low, high) = match part.split_once('-') {
        Some((low, high)) => (id(low, text)?, id(high, text)?),
        None => {
            let only = id(part, text)?;
            (only, only)
        }
    };
    if low > high {
        return Err(UnitError::Reversed {
            read: excerpt(text),
            part: excerpt(part.trim()),
            upwards: format!("{high}-{low}"),
        });
    }
    Ok((low, high))
}

fn id(digits: &str, text: &str) -> Result<u32, UnitError> {
    let digits = digits.trim();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Expected::IdList.malformed(text));
    }
    // Digits alone fail to parse only by being too large.
    digits
        .parse()
        .ok()
        .ok_or_else(|| Expected::IdList.out_of_range(text))
}

/// Ascending neighbours folded into ranges, the order kept: `0,2,4-7`; `none` for an empty list.
impl fmt::Display for IdList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.pad("none");
        }
        let runs: Vec<String> = self
            .0
            .chunk_by(|&before, &after| before.checked_add(1) == Some(after))
            .map(|run| match run {
                [first, .., last] => format!("{first}-{last}"),
                [only] => only.to_string(),
                [] => String::new(),
            })
            .collect();
        f.pad(&runs.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::value::{Error, SeqDeserializer};

    use super::*;
    use crate::error::kind_of;

    #[test]
    fn ids_and_ranges_keep_their_order() {
        let table: [(&str, &[u32]); 6] = [
            ("0", &[0]),
            ("0-3", &[0, 1, 2, 3]),
            ("0,2,4-7", &[0, 2, 4, 5, 6, 7]),
            ("4-5,0", &[4, 5, 0]),
            (" 1 , 3 - 4 ", &[1, 3, 4]),
            ("4294967294-4294967295", &[u32::MAX - 1, u32::MAX]),
        ];
        for (text, ids) in table {
            assert_eq!(IdList::parse(text), Ok(IdList(ids.to_vec())), "{text}");
        }
        assert_eq!(IdList::parse("0-31").map(|list| list.0.len()), Ok(32));
        assert_eq!(
            IdList::parse("0-65535").map(|list| list.0.len()),
            Ok(65_536)
        );
    }

    #[test]
    fn what_is_no_list_is_refused_by_its_kind() {
        let table: [(&str, &str); 16] = [
            ("", "Empty"),
            (",", "Malformed"),
            ("0,,1", "Malformed"),
            ("0,", "Malformed"),
            ("4-", "Malformed"),
            ("1-2-3", "Malformed"),
            ("a", "Malformed"),
            ("+1", "Malformed"),
            ("-3", "Negative"),
            ("0-3,2", "Duplicate"),
            ("5,5", "Duplicate"),
            ("7-4", "Reversed"),
            ("0-65536", "OutOfRange"),
            ("0-65535,70000", "OutOfRange"),
            ("0-4294967295", "OutOfRange"),
            ("4294967296", "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = IdList::parse(text).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
    }

    #[test]
    fn messages_name_the_part_at_fault() {
        assert_eq!(
            IdList::parse("0,7-4").unwrap_err().to_string(),
            "the range `7-4` in `0,7-4` runs downwards; write it as 4-7"
        );
        assert_eq!(
            IdList::parse("0-3,2").unwrap_err().to_string(),
            "`0-3,2` names 2 more than once, and each id counts once; write for example 0-31 or 0,2,4-7"
        );
    }

    #[test]
    fn display_folds_ascending_neighbours() {
        let table: [(&[u32], &str); 5] = [
            (&[], "none"),
            (&[3], "3"),
            (&[0, 1], "0-1"),
            (&[0, 2, 4, 5, 6, 7], "0,2,4-7"),
            (&[5, 4, u32::MAX, 0], "5,4,4294967295,0"),
        ];
        for (ids, shown) in table {
            assert_eq!(IdList(ids.to_vec()).to_string(), shown);
        }
    }

    #[test]
    fn a_plain_sequence_deserialises() {
        let numbers = SeqDeserializer::<_, Error>::new([4u32, 5, 0].into_iter());
        assert_eq!(IdList::deserialize(numbers), Ok(IdList(vec![4, 5, 0])));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(
            ids in prop::collection::btree_set(0u32..200, 1..120).prop_map(Vec::from_iter),
            turn in any::<prop::sample::Index>(),
        ) {
            let mut ids = ids;
            let turn = turn.index(ids.len());
            ids.rotate_left(turn);
            let list = IdList(ids);
            prop_assert_eq!(IdList::parse(&list.to_string()), Ok(list));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = IdList::parse(&text);
        }

        #[test]
        fn what_is_read_has_no_duplicates_and_reads_back(text in "[0-9,-]{0,12}") {
            if let Ok(list) = IdList::parse(&text) {
                let unique: BTreeSet<u32> = list.0.iter().copied().collect();
                prop_assert_eq!(unique.len(), list.0.len());
                prop_assert_eq!(IdList::parse(&list.to_string()), Ok(list));
            }
        }
    }
}
