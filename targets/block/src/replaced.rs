//! What was in a place before it was written last.

use std::collections::BTreeMap;

/// Bytes that were replaced, each at its own place: pieces that lie apart from each other, by where
/// they begin.
#[derive(Default)]
pub(crate) struct Replaced {
    pieces: BTreeMap<u64, Vec<u8>>,
}

/// How far into a piece a place lies.
fn inside(from: u64, to: u64) -> usize {
    usize::try_from(to - from).expect("a piece lies in memory")
}

impl Replaced {
    /// Keeps what was there, in the place of what was there still earlier.
    pub(crate) fn remember(&mut self, offset: u64, old: Vec<u8>) {
        let end = offset + old.len() as u64;
        if old.is_empty() {
            return;
        }
        let before = self.pieces.range(..offset).next_back();
        let first = before
            .filter(|(at, piece)| **at + piece.len() as u64 > offset)
            .map_or(offset, |(at, _)| *at);
        let met: Vec<u64> = self.pieces.range(first..end).map(|(at, _)| *at).collect();
        for at in met {
            let Some(mut piece) = self.pieces.remove(&at) else {
                continue;
            };
            if at + piece.len() as u64 > end {
                self.pieces.insert(end, piece.split_off(inside(at, end)));
            }
            if at < offset {
                piece.truncate(inside(at, offset));
                self.pieces.insert(at, piece);
            }
        }
        self.pieces.insert(offset, old);
    }

    /// Puts what was there before in the place of what is; whether that is another thing.
    pub(crate) fn recall(&self, offset: u64, found: &mut [u8]) -> bool {
        let end = offset + found.len() as u64;
        let before = self.pieces.range(..offset).next_back();
        let mut differs = false;
        for (at, piece) in before.into_iter().chain(self.pieces.range(offset..end)) {
            let (from, to) = ((*at).max(offset), (*at + piece.len() as u64).min(end));
            if from < to {
                let old = &piece[inside(*at, from)..inside(*at, to)];
                let now = &mut found[inside(offset, from)..inside(offset, to)];
                differs |= now != old;
                now.copy_from_slice(old);
            }
        }
        differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_is_what_was_at_that_very_place_before_its_last_write(
            writes in proptest::collection::vec((0_u64..200, 0_usize..90), 0..20),
            asked in (0_u64..200, 0_usize..120),
        ) {
            let (mut replaced, mut now) = (Replaced::default(), vec![0_u8; 400]);
            let mut before: Vec<Option<u8>> = vec![None; 400];
            for (number, (at, length)) in writes.into_iter().enumerate() {
                let extent = inside(0, at)..inside(0, at) + length;
                replaced.remember(at, now[extent.clone()].to_vec());
                for byte in extent {
                    before[byte] = Some(now[byte]);
                    now[byte] = u8::try_from(number + 1).unwrap();
                }
            }
            let extent = inside(0, asked.0)..inside(0, asked.0) + asked.1;
            let mut found = now[extent.clone()].to_vec();
            let expected: Vec<u8> = extent.clone().map(|at| before[at].unwrap_or(now[at])).collect();
            prop_assert_eq!(replaced.recall(asked.0, &mut found), expected != now[extent]);
            prop_assert_eq!(found, expected);
        }
    }
}
