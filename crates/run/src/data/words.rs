//! Random content as a field of 64-bit words: every word is a function of a key and its index
//! alone, so any part of the field can be written or checked without the parts before it.

/// The golden ratio in 64 bits: odd, so the counter visits all 2^64 states before it repeats.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const WORD: usize = 8;
/// Words a loop body writes: their multiplications are independent of each other and overlap.
const LANES: usize = 8;
const GROUP: usize = LANES * WORD;
/// Comparing with words made on the stack is faster than comparing each as it is made: the compiler
/// keeps the multiplications and the comparison apart.
const SCRATCH: usize = 512;
const SCRATCH_WORDS: u64 = (SCRATCH / WORD) as u64;

/// The words of one key.
///
/// Word `i` is the folded 128-bit product of a Weyl counter with itself under a keyed mask, the
/// output function of wyrand (Wang Yi, public domain): one multiplication for eight bytes and no
/// dependence between words. The key sets counter and mask, so the fields of two keys are no
/// shifted copies of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordField {
    base: u64,
    mask: u64,
}

impl WordField {
    /// The field of the pair (`key`, `stream`).
    pub(crate) fn new(key: u64, stream: u64) -> Self {
        let joined = scramble(key) ^ scramble(stream.wrapping_add(STEP)).rotate_left(32);
        let base = scramble(joined);
        Self {
            base,
            mask: scramble(base ^ STEP) | 1,
        }
    }

    pub(crate) fn word(&self, index: u64) -> u64 {
        self.output(self.base.wrapping_add(index.wrapping_mul(STEP)))
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the two halves of the product are wanted"
    )]
    fn output(&self, counter: u64) -> u64 {
        let product = u128::from(counter) * u128::from(counter ^ self.mask);
        (product as u64) ^ ((product >> 64) as u64)
    }

    /// Writes the words from `first` on; a last part shorter than a word takes the first bytes of
    /// one.
    pub(crate) fn fill_words(&self, buf: &mut [u8], first: u64) {
        let mut counter = self.base.wrapping_add(first.wrapping_mul(STEP));
        let (groups, rest) = buf.as_chunks_mut::<GROUP>();
        for group in groups {
            let (words, _) = group.as_chunks_mut::<WORD>();
            for word in words {
                *word = self.output(counter).to_le_bytes();
                counter = counter.wrapping_add(STEP);
            }
        }
        for part in rest.chunks_mut(WORD) {
            part.copy_from_slice(&self.output(counter).to_le_bytes()[..part.len()]);
            counter = counter.wrapping_add(STEP);
        }
    }

    /// Whether `buf` holds the words from `first` on.
    pub(crate) fn matches_words(&self, buf: &[u8], first: u64) -> bool {
        let mut wanted = [0; SCRATCH];
        buf.chunks(SCRATCH).zip(0_u64..).all(|(part, i)| {
            let wanted = &mut wanted[..part.len()];
            self.fill_words(wanted, first.wrapping_add(i * SCRATCH_WORDS));
            part == wanted
        })
    }

    /// Writes the bytes of the field from byte `offset` on.
    pub(crate) fn fill_bytes(&self, buf: &mut [u8], offset: u64) {
        let (head, first) = split(buf.len(), offset);
        let (unaligned, aligned) = buf.split_at_mut(head);
        for (byte, at) in unaligned.iter_mut().zip(offset..) {
            *byte = self.byte(at);
        }
        self.fill_words(aligned, first);
    }

    /// Whether `buf` holds the bytes of the field from byte `offset` on.
    pub(crate) fn matches_bytes(&self, buf: &[u8], offset: u64) -> bool {
        let (head, first) = split(buf.len(), offset);
        let (unaligned, aligned) = buf.split_at(head);
        let head_matches = unaligned
            .iter()
            .zip(offset..)
            .all(|(byte, at)| *byte == self.byte(at));
        head_matches && self.matches_words(aligned, first)
    }

    pub(crate) fn byte(&self, offset: u64) -> u8 {
        self.word(offset / 8).to_le_bytes()[within(offset, WORD)]
    }
}

/// How many bytes come before the first whole word, and the index of that word.
fn split(len: usize, offset: u64) -> (usize, u64) {
    let head = (WORD - within(offset, WORD)) % WORD;
    (head.min(len), offset.div_ceil(8))
}

/// `offset` modulo `period`, as an index.
pub(crate) fn within(offset: u64, period: usize) -> usize {
    usize::try_from(offset % (period as u64)).expect("a remainder is smaller than its divisor")
}

/// A bijection of 64 bits in which every input bit moves every output bit (the splitmix64
/// finaliser, constants of Stafford's variant 13).
pub(crate) fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn neighbouring_keys_and_streams_share_no_words() {
        let mut seen = HashSet::new();
        for key in 0..8 {
            for stream in 0..8 {
                let field = WordField::new(key, stream);
                for index in 0..64 {
                    assert!(
                        seen.insert(field.word(index)),
                        "key {key} stream {stream} index {index}"
                    );
                }
            }
        }
    }

    #[test]
    fn key_and_stream_are_not_interchangeable() {
        assert_ne!(WordField::new(1, 2).word(0), WordField::new(2, 1).word(0));
    }

    #[test]
    fn half_of_the_bits_change_from_word_to_word() {
        let field = WordField::new(7, 0);
        let words: u64 = 4096;
        let flipped: u32 = (0..words)
            .map(|i| (field.word(i) ^ field.word(i + 1)).count_ones())
            .sum();
        let share = f64::from(flipped) / 64.0 / 4096.0;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    proptest! {
        #[test]
        fn bulk_bytes_are_the_single_bytes(offset in any::<u64>(), len in 0_usize..200, key in any::<u64>()) {
            let offset = offset / 2;
            let field = WordField::new(key, 0);
            let mut buf = vec![0; len];
            field.fill_bytes(&mut buf, offset);
            let single: Vec<u8> = (offset..).take(len).map(|at| field.byte(at)).collect();
            prop_assert_eq!(&buf, &single);
            prop_assert!(field.matches_bytes(&buf, offset));
        }

        #[test]
        fn bulk_words_are_the_single_words(first in any::<u64>(), len in 0_usize..200) {
            let field = WordField::new(3, 9);
            let mut buf = vec![0; len];
            field.fill_words(&mut buf, first);
            for (part, i) in buf.chunks(8).zip(0_u64..) {
                prop_assert_eq!(part, &field.word(first.wrapping_add(i)).to_le_bytes()[..part.len()]);
            }
            prop_assert!(field.matches_words(&buf, first));
        }
    }
}
