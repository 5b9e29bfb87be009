//! Content of writes that nobody verifies: new for every write, as compressible and as redundant as
//! asked.

use super::{Fill, WordField, fill_addressed};

/// Blocks in the pool from which duplicates are taken, shared by all workers of a seed.
pub(crate) const DEDUPE_POOL: usize = 64;
/// Blocks within which the share of duplicates is exact.
const DEDUPE_ROUND: u64 = 100;
/// The granularity at which content keeps its compressibility: the page, and the record of most
/// compressing stores.
const CHUNK: usize = 4096;
/// Random and constant parts alternate this often in a chunk, so that a half or a quarter of it
/// compresses alike.
const STRIPES: usize = 4;

/// What the unverified writes of one worker carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSpec {
    pub fill: Fill,
    /// Share of every 4 KiB that a compressor removes, in percent; only with [`Fill::Random`].
    pub compress_percent: Option<u8>,
    /// Share of the blocks that come from the pool of [`DEDUPE_POOL`] blocks, in percent; only
    /// with [`Fill::Random`].
    pub dedupe_percent: Option<u8>,
    /// Workers of one run share it, and with it the pool.
    pub seed: u64,
    /// The worker's own number: two streams of one seed share no fresh content.
    pub stream: u32,
}

/// Why a [`DataSpec`] has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DataSpecError {
    #[error("{share} of {percent} % is more than everything")]
    AboveHundred { share: &'static str, percent: u8 },
    #[error("a {share} share needs random content: {fill:?} content is one block over and over")]
    NeedsRandom { share: &'static str, fill: Fill },
}

/// The uses of random content; each reads words of its own.
pub(super) enum Stream {
    Addressed,
    Decisions(u32),
    Pool(u8),
    Fresh(u32),
}

impl Stream {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Addressed => 0,
            Self::Pool(block) => (1 << 32) | u64::from(*block),
            Self::Decisions(stream) => (2 << 32) | u64::from(*stream),
            Self::Fresh(stream) => (3 << 32) | u64::from(*stream),
        }
    }
}

/// Fills the blocks that one worker writes, without allocating.
///
/// Random content takes words of the worker's stream that no earlier write took. With a dedupe
/// share of D %, exactly D of every 100 consecutive blocks of the worker, at random places, are one
/// of the [`DEDUPE_POOL`] pool blocks, drawn uniformly; the others are unique. N blocks of all
/// workers of a seed thus hold N·(1 − D/100) unique blocks and at most [`DEDUPE_POOL`] others. With
/// a compress share of C %, C % of every 4 KiB repeats one random word.
#[derive(Clone, Debug)]
pub(crate) struct Filler {
    fill: Fill,
    compress_percent: u8,
    dedupe: Option<Dedupe>,
    fresh: WordField,
    next_word: u64,
}

#[derive(Clone, Debug)]
struct Dedupe {
    percent: u64,
    pool: [WordField; DEDUPE_POOL],
    decisions: WordField,
    block: u64,
    /// Duplicates still due in the running round.
    due: u64,
}

impl Filler {
    /// # Errors
    /// A share above 100 %, or a share with content that is not random.
    pub(crate) fn new(spec: DataSpec) -> Result<Self, DataSpecError> {
        let shares = [
            ("compress", spec.compress_percent),
            ("dedupe", spec.dedupe_percent),
        ];
        for (share, percent) in shares {
            let Some(percent) = percent else { continue };
            if percent > 100 {
                return Err(DataSpecError::AboveHundred { share, percent });
            }
            if spec.fill != Fill::Random {
                return Err(DataSpecError::NeedsRandom {
                    share,
                    fill: spec.fill,
                });
            }
        }
        Ok(Self {
            fill: spec.fill,
            compress_percent: spec.compress_percent.unwrap_or(0),
            dedupe: spec
                .dedupe_percent
                .map(|percent| Dedupe::new(percent, spec.seed, spec.stream)),
            fresh: WordField::new(spec.seed, Stream::Fresh(spec.stream).number()),
            next_word: 0,
        })
    }

    /// Fills `buf` with the next block.
    pub(crate) fn fill_fresh(&mut self, buf: &mut [u8]) {
        if self.fill != Fill::Random {
            return fill_addressed(buf, self.fill, 0, 0);
        }
        if let Some(words) = self.dedupe.as_mut().and_then(Dedupe::next) {
            fill_compressible(buf, &words, 0, self.compress_percent);
            return;
        }
        self.next_word = fill_compressible(buf, &self.fresh, self.next_word, self.compress_percent);
    }

    /// Whether all blocks of one length are equal, so that a buffer which nothing else changes
    /// needs one fill only.
    pub(crate) fn repeats(&self) -> bool {
        self.fill != Fill::Random
    }
}

impl Dedupe {
    fn new(percent: u8, seed: u64, stream: u32) -> Self {
        let mut number = 0_u8;
        let pool = std::array::from_fn(|_| {
            number += 1;
            WordField::new(seed, Stream::Pool(number).number())
        });
        let decisions = WordField::new(seed, Stream::Decisions(stream).number());
        Self {
            percent: u64::from(percent),
            pool,
            decisions,
            block: 0,
            due: 0,
        }
    }

    /// The pool block that comes next, or nothing if a fresh one does.
    ///
    /// Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S) places the duplicates of a round.
    fn next(&mut self) -> Option<WordField> {
        let left = DEDUPE_ROUND - self.block % DEDUPE_ROUND;
        if left == DEDUPE_ROUND {
            self.due = self.percent;
        }
        let draw = self.decisions.word(self.block);
        self.block += 1;
        if (draw >> 32) % left >= self.due {
            return None;
        }
        self.due -= 1;
        Some(self.pool[super::within(draw & 0xffff_ffff, DEDUPE_POOL)])
    }
}

/// Fills `buf` from word `first` on so that `percent` of each chunk is one word repeated; returns
/// the next unused word.
fn fill_compressible(buf: &mut [u8], words: &WordField, first: u64, percent: u8) -> u64 {
    if percent == 0 {
        words.fill_words(buf, first);
        return first.wrapping_add(word_count(buf.len()));
    }
    let mut next = first;
    for chunk in buf.chunks_mut(CHUNK) {
        let constant = words.word(next).to_le_bytes();
        next = next.wrapping_add(1);
        let stripe_len = chunk.len().div_ceil(STRIPES);
        for stripe in chunk.chunks_mut(stripe_len) {
            let random = stripe.len() * usize::from(100 - percent) / 100;
            let (random, repeated) = stripe.split_at_mut(random);
            words.fill_words(random, next);
            next = next.wrapping_add(word_count(random.len()));
            let (whole, rest) = repeated.as_chunks_mut();
            whole.fill(constant);
            rest.copy_from_slice(&constant[..rest.len()]);
        }
    }
    next
}

fn word_count(len: usize) -> u64 {
    len.div_ceil(8) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn random(compress_percent: Option<u8>, dedupe_percent: Option<u8>) -> Filler {
        stream(compress_percent, dedupe_percent, 0)
    }

    fn stream(compress_percent: Option<u8>, dedupe_percent: Option<u8>, stream: u32) -> Filler {
        Filler::new(DataSpec {
            fill: Fill::Random,
            compress_percent,
            dedupe_percent,
            seed: 42,
            stream,
        })
        .unwrap()
    }

    fn block(filler: &mut Filler, len: usize) -> Vec<u8> {
        let mut buf = vec![0; len];
        filler.fill_fresh(&mut buf);
        buf
    }

    /// Blocks with different heads are different blocks; the words of a fresh block are as unique
    /// as the block.
    fn head(buf: &[u8]) -> [u8; 16] {
        buf[..16].try_into().unwrap()
    }

    /// The order-0 entropy in bits a byte.
    fn entropy(buf: &[u8]) -> f64 {
        let mut counts = [0_u32; 256];
        for byte in buf {
            counts[usize::from(*byte)] += 1;
        }
        let total = buf.len() as f64;
        let share = |count: u32| f64::from(count) / total;
        counts
            .iter()
            .filter(|count| **count > 0)
            .map(|count| -share(*count) * share(*count).log2())
            .sum()
    }

    /// Bytes a greedy LZ coder with four-byte matches needs: literals, three bytes a match, one for
    /// each 255 bytes of length.
    fn compressed_len(buf: &[u8]) -> usize {
        let mut last_seen: HashMap<[u8; 4], usize> = HashMap::new();
        let (mut at, mut cost) = (0, 0);
        while at + 4 <= buf.len() {
            let key: [u8; 4] = buf[at..at + 4].try_into().unwrap();
            if let Some(from) = last_seen.insert(key, at) {
                let len = buf[at..]
                    .iter()
                    .zip(&buf[from..])
                    .take_while(|(a, b)| a == b)
                    .count();
                cost += 3 + len / 255;
                at += len;
            } else {
                cost += 1;
                at += 1;
            }
        }
        cost + (buf.len() - at)
    }

    fn removed_percent(buf: &[u8]) -> f64 {
        100.0 * (1.0 - compressed_len(buf) as f64 / buf.len() as f64)
    }

    #[test]
    fn no_two_of_65536_random_blocks_are_equal() {
        let mut filler = random(None, None);
        let mut buf = vec![0; 4096];
        let mut seen = HashSet::new();
        for _ in 0..65_536 {
            filler.fill_fresh(&mut buf);
            assert!(seen.insert(head(&buf)));
        }
    }

    #[test]
    fn random_content_is_incompressible() {
        let buf = block(&mut random(None, None), 1 << 20);
        assert!(entropy(&buf) > 7.999, "{}", entropy(&buf));
        assert!(removed_percent(&buf[..65_536]) < 0.5);
    }

    #[test]
    fn a_compress_share_is_what_a_compressor_removes_of_4k_and_of_quarters() {
        for percent in [0_u8, 1, 10, 25, 33, 50, 75, 90, 100] {
            let mut filler = random(Some(percent), None);
            for len in [4096, 8192, 65_536] {
                let buf = block(&mut filler, len);
                for part in buf.chunks(4096).chain(buf.chunks(1024)) {
                    let overhead = 100.0 * 24.0 / part.len() as f64;
                    let removed = removed_percent(part);
                    assert!(
                        (removed - f64::from(percent)).abs() < 1.0 + overhead,
                        "{percent} % of {len}: {removed}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_compress_share_holds_for_blocks_below_4k() {
        for len in [512, 1000, 4097] {
            let removed = removed_percent(&block(&mut random(Some(50), None), len));
            assert!((removed - 50.0).abs() < 6.0, "{len}: {removed}");
        }
    }

    #[test]
    fn compressible_blocks_are_distinct_even_when_nothing_random_is_left() {
        for percent in [50, 100] {
            let mut filler = random(Some(percent), None);
            let seen: HashSet<Vec<u8>> = (0..1000).map(|_| block(&mut filler, 4096)).collect();
            assert_eq!(seen.len(), 1000, "{percent} %");
        }
    }

    #[test]
    fn a_dedupe_share_leaves_the_documented_number_of_distinct_blocks() {
        for (percent, unique) in [
            (0_u8, 10_000),
            (1, 9900),
            (30, 7000),
            (50, 5000),
            (99, 100),
            (100, 0),
        ] {
            let mut filler = random(Some(50), Some(percent));
            let mut counts: HashMap<[u8; 16], u32> = HashMap::new();
            for _ in 0..10_000 {
                *counts.entry(head(&block(&mut filler, 512))).or_default() += 1;
            }
            let pool = counts.len() - unique;
            assert!(
                pool <= DEDUPE_POOL,
                "{percent} %: {} distinct",
                counts.len()
            );
            assert_eq!(pool > 0, percent > 0);
            if percent >= 30 {
                assert_eq!(pool, DEDUPE_POOL, "{percent} %");
                assert_eq!(counts.values().filter(|count| **count == 1).count(), unique);
            }
        }
    }

    #[test]
    fn every_round_of_100_blocks_has_its_exact_share_of_duplicates() {
        let mut pool_only = random(None, Some(100));
        let pool: HashSet<_> = (0..5000)
            .map(|_| head(&block(&mut pool_only, 64)))
            .collect();
        let mut filler = random(None, Some(37));
        for _ in 0..20 {
            let duplicates = (0..100)
                .filter(|_| pool.contains(&head(&block(&mut filler, 64))))
                .count();
            assert_eq!(duplicates, 37);
        }
    }

    #[test]
    fn streams_share_the_pool_and_nothing_else() {
        let heads = |number, percent| -> HashSet<[u8; 16]> {
            let mut filler = stream(None, percent, number);
            (0..5000).map(|_| head(&block(&mut filler, 64))).collect()
        };
        assert_eq!(heads(0, Some(100)), heads(1, Some(100)));
        assert!(heads(0, None).is_disjoint(&heads(1, None)));
        assert_eq!(heads(0, None), heads(0, None));
    }

    #[test]
    fn plain_content_repeats_and_random_content_does_not() {
        for (fill, byte_300) in [
            (Fill::Zeros, 0x00),
            (Fill::Ones, 0xff),
            (Fill::Sequential, 44),
        ] {
            let spec = DataSpec {
                fill,
                compress_percent: None,
                dedupe_percent: None,
                seed: 1,
                stream: 0,
            };
            let mut filler = Filler::new(spec).unwrap();
            let first = block(&mut filler, 512);
            assert_eq!(first[300], byte_300);
            assert_eq!(first, block(&mut filler, 512));
            assert!(filler.repeats());
        }
        assert!(!random(None, None).repeats());
    }

    #[test]
    fn a_share_without_meaning_is_refused() {
        let spec = DataSpec {
            fill: Fill::Zeros,
            compress_percent: None,
            dedupe_percent: Some(10),
            seed: 1,
            stream: 0,
        };
        let refused = Filler::new(spec).unwrap_err();
        assert_eq!(
            refused,
            DataSpecError::NeedsRandom {
                share: "dedupe",
                fill: Fill::Zeros
            }
        );
        let spec = DataSpec {
            fill: Fill::Random,
            compress_percent: Some(101),
            ..spec
        };
        let refused = Filler::new(spec).unwrap_err();
        assert_eq!(
            refused,
            DataSpecError::AboveHundred {
                share: "compress",
                percent: 101
            }
        );
    }

    proptest! {
        #[test]
        fn no_block_starts_as_another_does(lens in proptest::collection::vec(1_usize..600, 1..20), percent in 0_u8..100) {
            let mut filler = random(Some(percent), None);
            let mut seen = HashSet::new();
            for len in lens {
                let buf = block(&mut filler, len * 8);
                prop_assert!(seen.insert(u64::from_le_bytes(buf[..8].try_into().unwrap())));
            }
        }
    }
}
