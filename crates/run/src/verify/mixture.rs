//! A unit that several writes have left, each some of its bytes.

use super::header::{FIELDS, GENERATION, HEADER, HEADER_UNIT, Header, Unit, Writes};
use std::ops::RangeInclusive;

const WORD: usize = 8;
const LAST_WORD: usize = HEADER_UNIT / WORD - 1;

/// Writes that may have left some of a unit.
#[derive(Clone, Debug)]
pub(super) struct Suspects {
    pub(super) writes: Writes,
    pub(super) generations: RangeInclusive<u64>,
}

impl Suspects {
    fn count(&self) -> u64 {
        let (from, to) = (self.generations.start(), self.generations.end());
        to.saturating_sub(*from).saturating_add(1)
    }
}

/// A unit, and which of its bytes are known to be some write's.
pub(super) struct Mixture<'a> {
    unit: &'a Unit,
    explained: [bool; HEADER_UNIT],
    /// The write that has left the first word behind the header.
    behind_header: Option<Header>,
}

/// What is missing of a word: its number, what is found there, and the bits that matter.
#[derive(Clone, Copy)]
struct Missing {
    word: usize,
    found: u64,
    bits: u64,
}

impl Missing {
    /// Whether all of it is as in a write with this word.
    #[inline]
    fn is_of(self, word: u64) -> bool {
        (self.found ^ word) & self.bits == 0
    }
}

impl<'a> Mixture<'a> {
    pub(super) fn of(unit: &'a Unit) -> Self {
        Self {
            unit,
            explained: [false; HEADER_UNIT],
            behind_header: None,
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
        let first = HEADER..HEADER + WORD;
        if wanted[first.clone()] == self.unit[first] {
            self.behind_header = Some(*header);
        }
    }

    /// The same of those of many writes that have left a word of which nobody else is known: a piece that
    /// one has left reaches to an end of what is missing. How many were tried.
    pub(super) fn explain_by_any(
        &mut self,
        suspects: impl Iterator<Item = Suspects> + Clone,
    ) -> u64 {
        let mut tried = 0;
        while let Some(mut ends) = self.ends_of_missing() {
            let mut is_any_found = false;
            for suspects in suspects.clone() {
                for generation in suspects.generations.clone() {
                    let words = suspects.writes.words(generation, ends.map(|end| end.word));
                    if !ends[0].is_of(words[0]) && !ends[1].is_of(words[1]) {
                        continue;
                    }
                    is_any_found = true;
                    self.explain(&suspects.writes.header(generation));
                    match self.ends_of_missing() {
                        Some(left) => ends = left,
                        None => return tried,
                    }
                }
                tried += suspects.count();
            }
            if !is_any_found {
                break;
            }
        }
        tried
    }

    /// Whether all that is missing are the last bytes of the unit, fewer than tell a write for certain, and
    /// one of these has them.
    pub(super) fn ends_with_rest(&self, mut of: impl Iterator<Item = Suspects>) -> bool {
        let Some(first) = self.explained.iter().position(|explained| !explained) else {
            return false;
        };
        if first < LAST_WORD * WORD || self.ends_of_missing().is_some() {
            return false;
        }
        let rest = Missing {
            bits: u64::MAX << (8 * (first % WORD)),
            ..self.missing(LAST_WORD)
        };
        of.any(|suspects| {
            let mut generations = suspects.generations.clone();
            generations.any(|generation| {
                let [word] = suspects.writes.words(generation, [LAST_WORD]);
                rest.is_of(word)
            })
        })
    }

    /// The write that has left what is behind the header, as far as it is known.
    pub(super) fn behind_header(&self) -> Option<Header> {
        self.behind_header
    }

    /// Whether all that is missing are bytes of the header, and the unit begins with that of one of these,
    /// but not of this generation, up to the last of them.
    pub(super) fn begins_with_rest(&self, of: &Suspects, but: u64) -> bool {
        let missing = self.explained.iter().rposition(|explained| !explained);
        let Some(last) = missing.filter(|last| *last < HEADER) else {
            return false;
        };
        let field = GENERATION * WORD;
        if last < field {
            return false;
        }
        // The bytes of the generation that are before the cut.
        let whole = WORD - (last - field + 1).min(WORD);
        let begun = Missing {
            bits: u64::MAX >> (8 * whole),
            ..self.missing(GENERATION)
        };
        let is_like = |generation: &u64| {
            let mut wanted = [0; HEADER_UNIT];
            of.writes.header(*generation).write(&mut wanted);
            wanted[..=last] == self.unit[..=last]
        };
        let mut others = of.generations.clone().filter(|other| *other != but);
        others.any(|generation| begun.is_of(generation) && is_like(&generation))
    }

    /// The first and the last word of which so much is missing that no other write has it by chance. The
    /// fields of a header are no evidence, for they say themselves which write is meant.
    fn ends_of_missing(&self) -> Option<[Missing; 2]> {
        let (words, _) = self.explained.as_chunks::<WORD>();
        let tells = |word: &usize| {
            let missing = words[*word].iter().filter(|explained| !**explained);
            missing.count() >= WORD / 2
        };
        let mut evidence = FIELDS..words.len();
        let first = evidence.find(tells)?;
        let last = evidence.rev().find(tells).unwrap_or(first);
        Some([first, last].map(|word| self.missing(word)))
    }

    fn missing(&self, word: usize) -> Missing {
        let (found, _) = self.unit.as_chunks::<WORD>();
        let (explained, _) = self.explained.as_chunks::<WORD>();
        let bits = explained[word].map(|explained| if explained { 0 } else { u8::MAX });
        Missing {
            word,
            found: u64::from_le_bytes(found[word]),
            bits: u64::from_le_bytes(bits),
        }
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

    fn suspects() -> impl Iterator<Item = Suspects> + Clone {
        std::iter::once(Suspects {
            writes: Writes::like(of(0)),
            generations: 0..=100_000,
        })
    }

    fn explained(unit: &Unit) -> bool {
        let mut mixture = Mixture::of(unit);
        mixture.explain_by_any(suspects());
        mixture.is_explained()
    }

    #[test]
    fn words_are_those_of_the_unit() {
        for (index, word) in unit(7).as_chunks::<WORD>().0.iter().enumerate() {
            let [of_writes] = Writes::like(of(0)).words(7, [index]);
            assert_eq!(of_writes.to_le_bytes(), *word, "{index}");
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
