//! Verification that finds nothing proves nothing: each run first shows that its verifier finds
//! what is wrong.

use super::header::HEADER_UNIT;
use super::judge::SHORTEST_HOLE;
use super::{BlockAddress, Expected, Mismatch, MismatchClass, Pattern, UnsuitableBlock, Verifier};

/// A fault put into a block to see it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// One bit of this byte of the block is changed.
    FlippedBit { byte: usize },
    /// The block was never written.
    NeverWritten,
    /// The block is read where another one belongs.
    OtherOffset,
    /// The block is read from another file.
    OtherFile,
    /// The first and the last unit change places.
    SwappedUnits,
    /// The block is of the write before.
    OlderWrite,
    /// The last unit is of the write before.
    HalfWritten,
    /// The block is of another run.
    OtherRun,
}

/// How a verifier failed to prove itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SelfCheckFailure {
    #[error(transparent)]
    Unsuitable(#[from] UnsuitableBlock),
    #[error("verifying {pattern:?} content reports a fault in a sound block: {mismatch}")]
    FalseAlarm {
        pattern: Pattern,
        mismatch: Mismatch,
    },
    #[error("verifying {pattern:?} content does not find a planted fault ({probe:?})")]
    Missed { pattern: Pattern, probe: Probe },
    #[error(
        "verifying {pattern:?} content takes a planted fault ({probe:?}) for another one: {mismatch}"
    )]
    Mistaken {
        pattern: Pattern,
        probe: Probe,
        mismatch: Mismatch,
    },
}

const GENERATION: u64 = 7;
const RUN: u64 = 0x5e1f;
const FILE: u32 = 3;

/// Plants faults into a block of `block_len` bytes and demands that each is found and named.
///
/// It shows that the verifier works, not that the pattern tells everything: see
/// [`super::cannot_tell_holes`].
///
/// # Errors
/// The first fault that was missed or mistaken, an alarm without a fault, or a block the pattern
/// cannot describe.
pub(crate) fn self_check(
    pattern: Pattern,
    seed: u64,
    block_len: usize,
) -> Result<(), SelfCheckFailure> {
    pattern.check_block_len(block_len)?;
    let verifier = Verifier::new(pattern, seed, RUN);
    let check = |buf: &[u8], at, expected| verifier.check(buf, at, expected);
    demand_all(pattern, seed, block_len, &check)
}

type Check<'a> = dyn Fn(&[u8], BlockAddress, Expected) -> Result<(), Mismatch> + 'a;

fn demand_all(
    pattern: Pattern,
    seed: u64,
    block_len: usize,
    check: &Check,
) -> Result<(), SelfCheckFailure> {
    let at = BlockAddress {
        file: FILE,
        offset: (block_len as u64).saturating_mul(4096),
    };
    let verifier = Verifier::new(pattern, seed, RUN);
    let mut sound = vec![0; block_len];
    verifier.fill(&mut sound, at, GENERATION);
    let expected = Expected::exactly(GENERATION, RUN);
    check(&sound, at, expected)
        .map_err(|mismatch| SelfCheckFailure::FalseAlarm { pattern, mismatch })?;
    for (probe, class) in probes(pattern, block_len) {
        let mut buf = sound.clone();
        let read_at = plant(probe, &mut buf, at, &verifier, seed);
        let mismatch = check(&buf, read_at, expected)
            .err()
            .ok_or(SelfCheckFailure::Missed { pattern, probe })?;
        let located = match probe {
            Probe::FlippedBit { byte } => mismatch.first_bad_byte == at.offset + byte as u64,
            Probe::NeverWritten
            | Probe::OtherOffset
            | Probe::OtherFile
            | Probe::SwappedUnits
            | Probe::OlderWrite
            | Probe::HalfWritten
            | Probe::OtherRun => true,
        };
        if mismatch.kind.class() != class || !located {
            return Err(SelfCheckFailure::Mistaken {
                pattern,
                probe,
                mismatch,
            });
        }
    }
    Ok(())
}

/// The faults that the pattern can tell, and what it has to call them.
fn probes(pattern: Pattern, block_len: usize) -> Vec<(Probe, MismatchClass)> {
    let flipped = |byte| (Probe::FlippedBit { byte }, MismatchClass::Corrupt);
    let mut probes = vec![flipped(0), flipped(block_len / 2), flipped(block_len - 1)];
    if !super::cannot_tell_holes(pattern) && block_len >= SHORTEST_HOLE {
        probes.push((Probe::NeverWritten, MismatchClass::Holes));
    }
    match pattern {
        Pattern::Zeros | Pattern::Ones | Pattern::Sequential => {}
        Pattern::Random => {
            // Eight bytes and more are never equal by chance.
            if block_len >= 8 {
                probes.push((Probe::OtherOffset, MismatchClass::Corrupt));
                probes.push((Probe::OtherFile, MismatchClass::Corrupt));
            }
        }
        Pattern::Header => {
            // A place, a generation and a checksum.
            probes.extend([8, 40, 56].map(flipped));
            probes.extend([
                (Probe::OtherOffset, MismatchClass::Misdirected),
                (Probe::OtherFile, MismatchClass::Misdirected),
                (Probe::OlderWrite, MismatchClass::Stale),
                (Probe::OtherRun, MismatchClass::ForeignRun),
            ]);
            if block_len > HEADER_UNIT {
                probes.push((Probe::SwappedUnits, MismatchClass::Misdirected));
                probes.push((Probe::HalfWritten, MismatchClass::Torn));
            }
        }
    }
    probes
}

/// Puts the fault into `buf` and returns the address to check it at.
fn plant(
    probe: Probe,
    buf: &mut [u8],
    at: BlockAddress,
    verifier: &Verifier,
    seed: u64,
) -> BlockAddress {
    let last_unit = buf.len().saturating_sub(HEADER_UNIT);
    match probe {
        Probe::FlippedBit { byte } => buf[byte] ^= 0x10,
        Probe::NeverWritten => buf.fill(0),
        Probe::OtherOffset => {
            return BlockAddress {
                offset: at.offset + buf.len() as u64,
                ..at
            };
        }
        Probe::OtherFile => {
            return BlockAddress {
                file: at.file + 1,
                ..at
            };
        }
        Probe::SwappedUnits => {
            let (front, back) = buf.split_at_mut(last_unit);
            front[..HEADER_UNIT].swap_with_slice(back);
        }
        Probe::OlderWrite => verifier.fill(buf, at, GENERATION - 1),
        Probe::HalfWritten => {
            let mut older = buf.to_vec();
            verifier.fill(&mut older, at, GENERATION - 1);
            buf[last_unit..].copy_from_slice(&older[last_unit..]);
        }
        Probe::OtherRun => Verifier::new(verifier.pattern, seed, RUN + 1).fill(buf, at, GENERATION),
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::MismatchKind;
    use super::*;

    const PATTERNS: [Pattern; 5] = [
        Pattern::Zeros,
        Pattern::Ones,
        Pattern::Sequential,
        Pattern::Random,
        Pattern::Header,
    ];

    #[test]
    fn every_pattern_proves_itself_at_every_usual_block_length() {
        for pattern in PATTERNS {
            for block_len in [512, 4096, 8192, 65_536, 1 << 20] {
                for seed in [0, 1, u64::MAX] {
                    assert_eq!(
                        self_check(pattern, seed, block_len),
                        Ok(()),
                        "{pattern:?} {block_len}"
                    );
                }
            }
        }
    }

    #[test]
    fn patterns_without_headers_prove_themselves_at_any_length() {
        for pattern in PATTERNS
            .into_iter()
            .filter(|pattern| *pattern != Pattern::Header)
        {
            for block_len in (1..70).chain([511, 513, 1000]) {
                for seed in 0..8 {
                    assert_eq!(
                        self_check(pattern, seed, block_len),
                        Ok(()),
                        "{pattern:?} {block_len} {seed}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_blind_verifier_is_caught() {
        for pattern in PATTERNS {
            let failure = demand_all(pattern, 1, 4096, &|_, _, _| Ok(())).unwrap_err();
            assert_eq!(
                failure,
                SelfCheckFailure::Missed {
                    pattern,
                    probe: Probe::FlippedBit { byte: 0 }
                }
            );
        }
    }

    #[test]
    fn a_verifier_that_looks_at_headers_alone_is_caught() {
        let verifier = Verifier::new(Pattern::Header, 1, RUN);
        let headers_only = |buf: &[u8], at: BlockAddress, expected| {
            let mut mended = buf.to_vec();
            verifier.fill(&mut mended, at, GENERATION);
            for (mended, found) in mended.chunks_mut(HEADER_UNIT).zip(buf.chunks(HEADER_UNIT)) {
                mended[..64].copy_from_slice(&found[..64]);
            }
            verifier.check(&mended, at, expected)
        };
        let failure = demand_all(Pattern::Header, 1, 4096, &headers_only).unwrap_err();
        let probe = Probe::FlippedBit { byte: 4095 };
        assert_eq!(
            failure,
            SelfCheckFailure::Missed {
                pattern: Pattern::Header,
                probe
            }
        );
    }

    #[test]
    fn a_verifier_that_calls_everything_corrupt_is_caught_where_the_pattern_knows_better() {
        let verifier = Verifier::new(Pattern::Header, 1, RUN);
        let coarse = |buf: &[u8], at: BlockAddress, expected| {
            let outcome = verifier.check(buf, at, expected);
            outcome.map_err(|mismatch| Mismatch {
                kind: MismatchKind::Corrupt,
                ..mismatch
            })
        };
        let failure = demand_all(Pattern::Header, 1, 4096, &coarse).unwrap_err();
        assert!(
            matches!(
                failure,
                SelfCheckFailure::Mistaken {
                    probe: Probe::NeverWritten,
                    ..
                }
            ),
            "{failure}"
        );
    }

    #[test]
    fn a_verifier_that_cries_wolf_is_caught() {
        let mismatch = Mismatch::at(
            BlockAddress { file: 0, offset: 0 },
            0,
            MismatchKind::Corrupt,
            0,
            1,
        );
        let failure = demand_all(Pattern::Ones, 1, 4096, &|_, _, _| Err(mismatch)).unwrap_err();
        assert_eq!(
            failure,
            SelfCheckFailure::FalseAlarm {
                pattern: Pattern::Ones,
                mismatch
            }
        );
    }

    #[test]
    fn a_block_the_pattern_cannot_describe_is_refused() {
        let refused = self_check(Pattern::Header, 1, 4000).unwrap_err();
        assert_eq!(
            refused,
            SelfCheckFailure::Unsuitable(UnsuitableBlock::NotWholeUnits { bytes: 4000 })
        );
    }
}
