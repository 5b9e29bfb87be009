//! What writes carry: content that is fresh for every write, and content that its address alone
//! determines.

mod fresh;
mod words;

pub(crate) use fresh::{DataSpec, Filler};
pub(crate) use words::{WordField, scramble, within};

/// Sequential content from byte value 0 on, twice its period long, so that a whole period can be
/// taken at any phase.
const RAMP: [u8; 2 * RAMP_PERIOD] = ramp();
const RAMP_PERIOD: usize = 256;

/// What a write is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fill {
    /// Every byte 0x00.
    Zeros,
    /// Every byte 0xFF.
    Ones,
    /// Byte values 0x00, 0x01, … 0xFF, and again.
    Sequential,
    /// Incompressible bytes.
    Random,
}

/// Fills `buf` with the content of the addresses from `byte_offset` on, the same bytes whatever the
/// block size.
///
/// Sequential content is the absolute offset modulo 256. Random content is a function of `seed` and
/// the absolute offset, with a period of 2^64 words; the other contents ignore `seed`.
pub(crate) fn fill_addressed(buf: &mut [u8], fill: Fill, seed: u64, byte_offset: u64) {
    match fill {
        Fill::Zeros => buf.fill(0x00),
        Fill::Ones => buf.fill(0xff),
        Fill::Sequential => {
            let phase = within(byte_offset, RAMP_PERIOD);
            for part in buf.chunks_mut(RAMP_PERIOD) {
                part.copy_from_slice(&RAMP[phase..phase + part.len()]);
            }
        }
        Fill::Random => addressed_words(seed).fill_bytes(buf, byte_offset),
    }
}

/// Whether `buf` is what [`fill_addressed`] writes with the same arguments.
pub(crate) fn matches_addressed(buf: &[u8], fill: Fill, seed: u64, byte_offset: u64) -> bool {
    match fill {
        Fill::Zeros => is_all(buf, 0x00),
        Fill::Ones => is_all(buf, 0xff),
        Fill::Sequential => {
            let phase = within(byte_offset, RAMP_PERIOD);
            buf.chunks(RAMP_PERIOD)
                .all(|part| *part == RAMP[phase..phase + part.len()])
        }
        Fill::Random => addressed_words(seed).matches_bytes(buf, byte_offset),
    }
}

/// The first index at which `buf` is not what [`fill_addressed`] writes, with the byte that belongs
/// there.
pub(crate) fn first_difference(
    buf: &[u8],
    fill: Fill,
    seed: u64,
    byte_offset: u64,
) -> Option<(usize, u8)> {
    let words = addressed_words(seed);
    let belongs = |at: u64| match fill {
        Fill::Zeros => 0x00,
        Fill::Ones => 0xff,
        Fill::Sequential => RAMP[within(at, RAMP_PERIOD)],
        Fill::Random => words.byte(at),
    };
    let wanted = (byte_offset..).map(belongs);
    buf.iter()
        .zip(wanted)
        .enumerate()
        .find(|(_, (found, wanted))| *found != wanted)
        .map(|(i, (_, wanted))| (i, wanted))
}

/// Whether every byte of `buf` is `value`.
pub(crate) fn is_all(buf: &[u8], value: u8) -> bool {
    let wanted = u64::from_ne_bytes([value; 8]);
    let (words, rest) = buf.as_chunks::<8>();
    let differing = words
        .iter()
        .fold(0, |seen, word| seen | (u64::from_ne_bytes(*word) ^ wanted));
    differing == 0 && rest.iter().all(|byte| *byte == value)
}

fn addressed_words(seed: u64) -> WordField {
    WordField::new(seed, fresh::Stream::Addressed.number())
}

const fn ramp() -> [u8; 2 * RAMP_PERIOD] {
    let mut values = [0_u8; 2 * RAMP_PERIOD];
    let mut i = 1;
    while i < values.len() {
        values[i] = values[i - 1].wrapping_add(1);
        i += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILLS: [Fill; 4] = [Fill::Zeros, Fill::Ones, Fill::Sequential, Fill::Random];

    fn any_fill() -> impl Strategy<Value = Fill> {
        proptest::sample::select(FILLS.as_slice())
    }

    #[test]
    fn plain_content_is_as_documented() {
        let mut buf = [9; 300];
        fill_addressed(&mut buf, Fill::Zeros, 1, 5);
        assert_eq!(buf, [0x00; 300]);
        fill_addressed(&mut buf, Fill::Ones, 1, 5);
        assert_eq!(buf, [0xff; 300]);
        fill_addressed(&mut buf, Fill::Sequential, 1, 0x2_00fe);
        assert_eq!(buf[..4], [0xfe, 0xff, 0x00, 0x01]);
        assert_eq!(buf[256 + 2], 0x00);
    }

    #[test]
    fn random_content_depends_on_seed_and_offset() {
        let content = |seed, offset| {
            let mut buf = [0; 64];
            fill_addressed(&mut buf, Fill::Random, seed, offset);
            buf
        };
        assert_eq!(content(1, 0), content(1, 0));
        assert_ne!(content(1, 0), content(2, 0));
        assert_ne!(content(1, 0), content(1, 4096));
        assert_ne!(content(1, 0), content(1, 1 << 40));
    }

    #[test]
    fn content_at_the_last_addresses_does_not_overflow() {
        for fill in FILLS {
            let mut buf = [0; 24];
            fill_addressed(&mut buf, fill, 1, u64::MAX - 31);
            assert!(matches_addressed(&buf, fill, 1, u64::MAX - 31));
        }
    }

    proptest! {
        #[test]
        fn any_split_writes_the_same_bytes(
            fill in any_fill(), seed in any::<u64>(), offset in 0..u64::MAX / 2,
            len in 1_usize..3000, step in 1_usize..700,
        ) {
            let mut whole = vec![0xa5; len];
            fill_addressed(&mut whole, fill, seed, offset);
            let mut parts = vec![0x5a; len];
            for (part, i) in parts.chunks_mut(step).zip(0_u64..) {
                fill_addressed(part, fill, seed, offset + i * (step as u64));
            }
            prop_assert_eq!(&whole, &parts);
            prop_assert!(matches_addressed(&whole, fill, seed, offset));
            prop_assert_eq!(first_difference(&whole, fill, seed, offset), None);
        }

        #[test]
        fn every_changed_byte_is_found_where_it_is(
            fill in any_fill(), seed in any::<u64>(), offset in 0..u64::MAX / 2, len in 1_usize..1500,
            position in any::<proptest::sample::Index>(), change in 1_u8..,
        ) {
            let mut buf = vec![0; len];
            fill_addressed(&mut buf, fill, seed, offset);
            let position = position.index(len);
            let belongs = buf[position];
            buf[position] ^= change;
            prop_assert!(!matches_addressed(&buf, fill, seed, offset));
            prop_assert_eq!(first_difference(&buf, fill, seed, offset), Some((position, belongs)));
        }
    }
}
