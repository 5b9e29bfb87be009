//! Verification of what storage gives back: every block is compared with what its address must
//! hold, and a difference is named after the fault that leaves such a trace.
//!
//! | pattern | tells | cannot tell |
//! |---|---|---|
//! | zeros | changed bytes | holes, misdirected, torn and stale writes |
//! | ones | changed bytes, holes | misdirected, torn and stale writes |
//! | sequential | changed bytes, holes | torn and stale writes; misdirection by a multiple of 256 bytes |
//! | random | changed bytes, holes; misdirection, as corruption | torn and stale writes |
//! | header | all of these, each by its name | an older write of the same block where no generation is expected |

mod header;
mod judge;
mod log;
mod mismatch;
mod mixture;
mod rewrites;
mod searches;
mod self_check;
mod torn;

pub(crate) use header::{HEADER_UNIT, fill_header};
pub(crate) use log::FailureLog;
pub(crate) use mismatch::{Mismatch, MismatchClass, MismatchKind, Version};
pub(crate) use rewrites::{BlockState, MayHold, NUMBERS, Rewrites};
pub(crate) use searches::Searches;
pub(crate) use self_check::self_check;

use crate::data::{Fill, fill_addressed, scramble};
use serde::{Deserialize, Serialize};

/// How verified content is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pattern {
    Zeros,
    Ones,
    /// Each byte is its absolute offset modulo 256.
    Sequential,
    /// Each byte is a function of seed, file and absolute offset.
    Random,
    /// Each [`HEADER_UNIT`] bytes say what they are, where they belong and which write they are of;
    /// needs no seed.
    Header,
}

impl Pattern {
    /// # Errors
    /// The pattern cannot describe blocks of this length.
    pub(crate) fn check_block_len(self, bytes: usize) -> Result<(), UnsuitableBlock> {
        match self {
            _ if bytes == 0 => Err(UnsuitableBlock::Empty),
            Self::Header if !bytes.is_multiple_of(HEADER_UNIT) => {
                Err(UnsuitableBlock::NotWholeUnits { bytes })
            }
            Self::Zeros | Self::Ones | Self::Sequential | Self::Random | Self::Header => Ok(()),
        }
    }

    /// The content that address alone determines; nothing for the header pattern, whose content
    /// differs by write.
    pub(crate) fn fill(self) -> Option<Fill> {
        match self {
            Self::Zeros => Some(Fill::Zeros),
            Self::Ones => Some(Fill::Ones),
            Self::Sequential => Some(Fill::Sequential),
            Self::Random => Some(Fill::Random),
            Self::Header => None,
        }
    }
}

/// Whether never-written parts of a file read back as correct content.
pub(crate) fn cannot_tell_holes(pattern: Pattern) -> bool {
    pattern == Pattern::Zeros
}

/// Why a pattern and a block length do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnsuitableBlock {
    #[error("a block without bytes cannot be verified")]
    Empty,
    #[error("the header pattern needs blocks of a multiple of {HEADER_UNIT} bytes, not {bytes}")]
    NotWholeUnits { bytes: usize },
}

/// Where a block lies: `file` is its index in the layout, the same in the writing and in the
/// verifying run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockAddress {
    pub file: u32,
    /// Bytes from the start of the file.
    pub offset: u64,
}

/// Which writes a block may hold; only the header pattern looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The oldest generation that may be there.
    pub oldest: u64,
    /// The newest generation that may be there.
    pub newest: u64,
    pub run: ExpectedRun,
    pub tearing: Tearing,
}

/// Whose writes a block may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedRun {
    This(u64),
    Any,
}

/// What a mixture of several permitted writes within one block means.
///
/// Storage promises no atomicity above its sector to overlapping requests: a read that overlaps a
/// write, or two writes that overlap each other, make a mixture legal. Without overlap it is a torn
/// write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tearing {
    #[default]
    Fault,
    Allowed,
}

impl Expected {
    /// Exactly this write.
    pub(crate) fn exactly(generation: u64, run_id: u64) -> Self {
        Self::between(generation, generation, run_id)
    }

    /// One write of the closed range, whole.
    pub(crate) fn between(oldest: u64, newest: u64, run_id: u64) -> Self {
        Self {
            oldest,
            newest,
            run: ExpectedRun::This(run_id),
            tearing: Tearing::Fault,
        }
    }

    /// Any one whole write of any run: for a run that verifies what another one wrote.
    pub(crate) fn any_write() -> Self {
        Self {
            oldest: 0,
            newest: u64::MAX,
            run: ExpectedRun::Any,
            tearing: Tearing::Fault,
        }
    }

    /// The same for a block whose writes or reads overlap in flight.
    #[cfg(test)]
    pub(crate) fn overlapping(self) -> Self {
        Self {
            tearing: Tearing::Allowed,
            ..self
        }
    }
}

/// Makes and checks the blocks of one pattern; copies agree with each other, so each worker has its
/// own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verifier {
    pattern: Pattern,
    seed: u64,
    run_id: u64,
}

impl Verifier {
    /// A run that verifies another one's data needs the seed of that run for [`Pattern::Random`],
    /// and nothing else.
    pub(crate) fn new(pattern: Pattern, seed: u64, run_id: u64) -> Self {
        Self {
            pattern,
            seed,
            run_id,
        }
    }

    /// Fills `buf` with what is to be written at `at`; only the header pattern knows generations.
    pub(crate) fn fill(&self, buf: &mut [u8], at: BlockAddress, generation: u64) {
        match self.pattern.fill() {
            Some(fill) => fill_addressed(buf, fill, self.file_seed(at.file), at.offset),
            None => fill_header(buf, at, generation, self.run_id),
        }
    }

    /// Compares `buf`, read from `at`, with what must be there.
    ///
    /// The block need not have the length or the start it was written with: addressed content knows
    /// no blocks, and a header names the block it was written in. Tearing is then found among
    /// the parts of a write that were read.
    ///
    /// # Errors
    /// The first difference.
    #[inline]
    pub(crate) fn check(
        &self,
        buf: &[u8],
        at: BlockAddress,
        expected: Expected,
    ) -> Result<(), Mismatch> {
        self.check_among(buf, at, expected, &mut Searches::default())
    }

    /// The same of one of many blocks, in which not too much may be looked for in vain.
    #[inline]
    pub(crate) fn check_among(
        &self,
        buf: &[u8],
        at: BlockAddress,
        expected: Expected,
        searches: &mut Searches,
    ) -> Result<(), Mismatch> {
        match self.pattern.fill() {
            Some(fill) => judge::check_addressed(buf, fill, self.file_seed(at.file), at),
            None => judge::check_headers(buf, at, expected, searches),
        }
    }

    /// Files differ in their content, so that one written in the place of another is found.
    fn file_seed(&self, file: u32) -> u64 {
        self.seed ^ scramble(u64::from(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATTERNS: [Pattern; 5] = [
        Pattern::Zeros,
        Pattern::Ones,
        Pattern::Sequential,
        Pattern::Random,
        Pattern::Header,
    ];
    const RUN: u64 = 77;

    fn any_pattern() -> impl Strategy<Value = Pattern> {
        proptest::sample::select(PATTERNS.as_slice())
    }

    fn written(pattern: Pattern, len: usize, at: BlockAddress) -> (Verifier, Vec<u8>) {
        let verifier = Verifier::new(pattern, 5, RUN);
        let mut buf = vec![0xa5; len];
        verifier.fill(&mut buf, at, 1);
        (verifier, buf)
    }

    #[test]
    fn every_single_byte_of_a_block_is_guarded() {
        let at = BlockAddress {
            file: 2,
            offset: 3 * 4096,
        };
        for pattern in PATTERNS {
            let (verifier, mut buf) = written(pattern, 2048, at);
            for position in 0..buf.len() {
                for change in [0x01, 0x80, 0xff] {
                    buf[position] ^= change;
                    let mismatch = verifier
                        .check(&buf, at, Expected::exactly(1, RUN))
                        .unwrap_err();
                    let place = (mismatch.kind, mismatch.first_bad_byte);
                    assert_eq!(
                        place,
                        (MismatchKind::Corrupt, at.offset + position as u64),
                        "{pattern:?}"
                    );
                    assert_eq!(
                        (mismatch.expected ^ change, mismatch.found),
                        (buf[position], buf[position])
                    );
                    buf[position] ^= change;
                }
            }
            assert_eq!(verifier.check(&buf, at, Expected::exactly(1, RUN)), Ok(()));
        }
    }

    #[test]
    fn what_was_never_written_is_told_as_a_hole_except_by_zeros() {
        let at = BlockAddress {
            file: 0,
            offset: 1 << 33,
        };
        for pattern in PATTERNS {
            let (verifier, mut buf) = written(pattern, 4096, at);
            buf[1024..1536].fill(0);
            let outcome = verifier.check(&buf, at, Expected::exactly(1, RUN));
            if cannot_tell_holes(pattern) {
                assert_eq!(outcome, Ok(()));
                continue;
            }
            let mismatch = outcome.unwrap_err();
            assert_eq!(mismatch.kind, MismatchKind::Holes, "{pattern:?}");
            assert!(
                (at.offset + 1024..at.offset + 1028).contains(&mismatch.first_bad_byte),
                "{mismatch}"
            );
            assert_eq!(mismatch.found, 0);
        }
    }

    #[test]
    fn random_content_of_another_place_or_file_is_found() {
        let at = BlockAddress {
            file: 1,
            offset: 8192,
        };
        let (verifier, buf) = written(Pattern::Random, 4096, at);
        for wrong in [
            BlockAddress { file: 2, ..at },
            BlockAddress { offset: 4096, ..at },
        ] {
            let mismatch = verifier
                .check(&buf, wrong, Expected::any_write())
                .unwrap_err();
            assert_eq!(mismatch.kind, MismatchKind::Corrupt);
        }
    }

    #[test]
    fn random_content_of_another_seed_is_found() {
        let at = BlockAddress {
            file: 1,
            offset: 8192,
        };
        let (_, buf) = written(Pattern::Random, 4096, at);
        let other = Verifier::new(Pattern::Random, 6, RUN);
        assert!(other.check(&buf, at, Expected::any_write()).is_err());
    }

    #[test]
    fn headers_are_refused_in_blocks_they_do_not_divide() {
        assert_eq!(Pattern::Header.check_block_len(4096), Ok(()));
        assert_eq!(
            Pattern::Header.check_block_len(1000),
            Err(UnsuitableBlock::NotWholeUnits { bytes: 1000 })
        );
        assert_eq!(Pattern::Random.check_block_len(1000), Ok(()));
        assert_eq!(
            Pattern::Ones.check_block_len(0),
            Err(UnsuitableBlock::Empty)
        );
    }

    proptest! {
        #[test]
        fn data_verifies_with_any_other_block_size(
            pattern in any_pattern(), first in 0_u64..1 << 40, units in 1_usize..64,
            write_units in 1_usize..17, read_units in 1_usize..17, file in any::<u32>(),
        ) {
            let verifier = Verifier::new(pattern, 5, RUN);
            let start = first * 512;
            let mut content = vec![0xa5; units * 512];
            for (block, i) in content.chunks_mut(write_units * 512).zip(0_u64..) {
                let offset = start + i * (write_units as u64) * 512;
                verifier.fill(block, BlockAddress { file, offset }, i % 3);
            }
            for (block, i) in content.chunks(read_units * 512).zip(0_u64..) {
                let at = BlockAddress { file, offset: start + i * (read_units as u64) * 512 };
                prop_assert_eq!(verifier.check(block, at, Expected::between(0, 2, RUN)), Ok(()));
                prop_assert_eq!(verifier.check(block, at, Expected::any_write()), Ok(()));
            }
        }

        #[test]
        fn a_changed_byte_is_found_whatever_the_block_and_the_expectation(
            pattern in any_pattern(), first in 0_u64..1 << 40, units in 1_usize..40,
            position in any::<proptest::sample::Index>(), change in 1_u8..,
        ) {
            let at = BlockAddress { file: 9, offset: first * 512 };
            let (verifier, mut buf) = written(pattern, units * 512, at);
            let position = position.index(buf.len());
            buf[position] ^= change;
            for expected in [Expected::exactly(1, RUN), Expected::any_write()] {
                let mismatch = verifier.check(&buf, at, expected).unwrap_err();
                prop_assert_eq!(mismatch.kind, MismatchKind::Corrupt);
                prop_assert_eq!(mismatch.first_bad_byte / 512, (at.offset + position as u64) / 512);
            }
            // A write that was cut there, which nothing else of the block would tell, is no damage.
            let may_be_cut = pattern == Pattern::Header
                && ((40..48).contains(&position) || position + 3 >= buf.len());
            let told = verifier.check(&buf, at, Expected::any_write().overlapping());
            let kind = told.map_err(|mismatch| mismatch.kind);
            prop_assert!(may_be_cut || kind == Err(MismatchKind::Corrupt), "{:?}", kind);
        }
    }
}
