//! A unit that several writes have left, each some of its bytes.

use super::header::{HEADER_UNIT, Header, Unit};

const WORD: usize = 8;

/// A unit, and which of its bytes are known to be some write's.
pub(super) struct Mixture<'a> {
    unit: &'a Unit,
    explained: [bool; HEADER_UNIT],
}

impl<'a> Mixture<'a> {
    pub(super) fn of(unit: &'a Unit) -> Self {
        Self {
            unit,
            explained: [false; HEADER_UNIT],
        }
    }

    pub(super) fn is_explained(&self) -> bool {
        self.explained.iter().all(|explained| *explained)
    }

    /// Each byte may be that of this write.
    pub(super) fn explain(&mut self, header: &Header) {
        let mut wanted = [0; HEADER_UNIT];
        header.write(&mut wanted);
        self.explained
            .iter_mut()
            .zip(wanted.iter().zip(self.unit))
            .for_each(|(explained, (wanted, found))| *explained |= wanted == found);
    }

    /// The same of those of many writes that have left a word of which nobody else is known: a piece that
    /// one has left reaches to an end of what is missing. Whether nothing is missing then.
    pub(super) fn explain_by_any(&mut self, writes: impl Iterator<Item = Header> + Clone) -> bool {
        while let Some(mut ends) = self.ends_of_missing() {
            let mut is_any_found = false;
            for header in writes.clone() {
                if ends.iter().any(|end| self.is_left_by(&header, *end)) {
                    is_any_found = true;
                    self.explain(&header);
                    match self.ends_of_missing() {
                        Some(left) => ends = left,
                        None => return self.is_explained(),
                    }
                }
            }
            if !is_any_found {
                break;
            }
        }
        self.is_explained()
    }

    /// The first and the last word of which so much is missing that no other write has it by chance.
    fn ends_of_missing(&self) -> Option<[usize; 2]> {
        let (words, _) = self.explained.as_chunks::<WORD>();
        let tells = |explained: &[bool; WORD]| {
            explained.iter().filter(|explained| !**explained).count() >= WORD / 2
        };
        Some([
            words.iter().position(tells)?,
            words.iter().rposition(tells)?,
        ])
    }

    /// Whether all that is missing of a word is this write's.
    fn is_left_by(&self, header: &Header, word: usize) -> bool {
        let at = word * WORD..(word + 1) * WORD;
        let wanted = header.word(word).to_le_bytes();
        let pairs = wanted.iter().zip(&self.unit[at.clone()]);
        pairs
            .zip(&self.explained[at])
            .all(|((wanted, found), explained)| *explained || wanted == found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{BlockAddress, Version};

    fn of(generation: u64) -> Header {
        Header {
            place: BlockAddress {
                file: 3,
                offset: 8192,
            },
            block_start: 8192,
            block_len: 512,
            version: Version {
                run_id: 9,
                generation,
            },
        }
    }

    fn unit(generation: u64) -> Unit {
        let mut unit = [0; HEADER_UNIT];
        of(generation).write(&mut unit);
        unit
    }

    fn explained(unit: &Unit) -> bool {
        Mixture::of(unit).explain_by_any((0..=100_000).rev().map(of))
    }

    #[test]
    fn words_are_those_of_the_unit() {
        for (index, word) in unit(7).as_chunks::<WORD>().0.iter().enumerate() {
            assert_eq!(of(7).word(index).to_le_bytes(), *word, "{index}");
        }
    }

    #[test]
    fn writes_of_any_time_are_found_by_what_each_has_left() {
        for cut in (0..=HEADER_UNIT).step_by(37) {
            for (one, other) in [(40_321, 70_123), (70_123, 40_321)] {
                let mut mixed = unit(one);
                mixed[cut..].copy_from_slice(&unit(other)[cut..]);
                assert!(explained(&mixed), "cut at {cut}");
            }
        }
        let mut three = unit(1);
        three[64..300].copy_from_slice(&unit(50_000)[64..300]);
        three[300..400].copy_from_slice(&unit(99_999)[300..400]);
        assert!(explained(&three));
        let mut foreign = unit(1);
        foreign[300..].copy_from_slice(&unit(100_001)[300..]);
        assert!(!explained(&foreign), "no write that may be there");
    }

    #[test]
    fn a_damaged_byte_of_a_mixture_is_nobodys() {
        for at in (0..HEADER_UNIT).step_by(61) {
            let mut mixed = unit(40_321);
            mixed[256..].copy_from_slice(&unit(70_123)[256..]);
            let theirs = unit(70_123)[at];
            mixed[at] = (1..=3)
                .map(|step| unit(40_321)[at].wrapping_add(step))
                .find(|byte| *byte != theirs && *byte != mixed[at])
                .unwrap();
            assert!(!explained(&mixed), "byte {at}");
        }
    }
}
