//! The one source of randomness for offsets, mixes and arrival times: xoshiro256++ seeded through
//! SplitMix64.
//!
//! Same seed and stream, same words, on every machine; what passes through a logarithm or a power
//! may differ in its last digit between C libraries. Nothing here reads a clock or the system's
//! entropy, and nothing is fit for secrets.

/// Increment of SplitMix64: the odd integer nearest to 2^64 divided by the golden ratio.
const SPLIT_MIX_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Distance between neighbouring values of [`Rng::unit`].
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// Returns the SplitMix64 output for the state `x`: a bijection on 64-bit words that spreads every
/// input bit over the output.
///
/// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014; constants of
/// Stafford's variant 13.
#[inline]
pub(crate) fn split_mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(SPLIT_MIX_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A xoshiro256++ generator: 256 bits of state, period 2^256 - 1.
///
/// Blackman, Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4), 2021.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Creates the generator number `stream` of `seed`; a stream is one worker or one purpose.
    ///
    /// Two streams of one seed never start from the same state, and nothing relates their outputs.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // The inner call separates the seeds, the outer one keeps streams that differ by a multiple
        // of the increment from walking the same SplitMix64 sequence.
        let start = split_mix(split_mix(seed).wrapping_add(stream));
        let mut counter = start;
        let state = std::array::from_fn(|_| {
            let word = split_mix(counter);
            counter = counter.wrapping_add(SPLIT_MIX_GAMMA);
            word
        });
        Self { state }
    }

    /// Returns 64 random bits.
    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Returns an integer uniform on `0..n`, exactly: no value is favoured. `n` is at least 1.
    ///
    /// Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "no integer lies in 0..0");
        let (mut low, mut high) = self.next_u64().carrying_mul(n, 0);
        if low < n {
            let surplus = n.wrapping_neg() % n;
            while low < surplus {
                (low, high) = self.next_u64().carrying_mul(n, 0);
            }
        }
        high
    }

    /// Returns a number uniform on `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIT_STEP
    }

    /// Returns a number uniform on `(0, 1]`, a multiple of 2^-53: safe to take the logarithm of.
    #[inline]
    pub(crate) fn unit_open(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// Returns an exponentially distributed number of mean 1, at most 53 ln 2 = 36.7: the gaps of a
    /// Poisson process of rate 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit_open().ln()
    }
}

/// Returns the block of `0..n` that holds `position`, measured in blocks; what lies outside, by
/// rounding, goes to the nearer end.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast is the floor, and saturates at 0 and above n"
)]
pub(super) fn block_of(position: f64, n: u64) -> u64 {
    (position as u64).min(n - 1)
}

#[cfg(test)]
pub(super) mod fit {
    /// Deviations beyond this many standard errors fail: one true hypothesis in 1.7 million.
    pub(crate) const SIGMAS: f64 = 5.0;

    /// Fewer expected hits than this in a bucket, and the chi-square law is no longer a good
    /// approximation.
    const LEAST_EXPECTED: f64 = 25.0;

    /// Returns Pearson's chi-square of `counts` against `masses` as a standard normal deviate
    /// (Wilson-Hilferty). Neighbouring buckets are merged until each expects enough hits.
    pub(crate) fn deviate(counts: &[u64], masses: &[f64]) -> f64 {
        assert_eq!(counts.len(), masses.len());
        let total: u64 = counts.iter().sum();
        let mass: f64 = masses.iter().sum();
        assert!((mass - 1.0).abs() < 1e-9, "the masses sum to {mass}");
        let mut merged: Vec<(f64, f64)> = Vec::new();
        let mut open = (0.0, 0.0);
        for (&count, &mass) in counts.iter().zip(masses) {
            open = (open.0 + count as f64, open.1 + mass * total as f64);
            if open.1 >= LEAST_EXPECTED {
                merged.push(open);
                open = (0.0, 0.0);
            }
        }
        if let Some(last) = merged.last_mut() {
            *last = (last.0 + open.0, last.1 + open.1);
        }
        if merged.len() < 2 {
            return 0.0;
        }
        let chi_square: f64 = merged
            .iter()
            .map(|(seen, expected)| (seen - expected).powi(2) / expected)
            .sum();
        let freedom = (merged.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        ((chi_square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
    }

    /// Counts how many of `draws` samples fall below each edge but not below the one before;
    /// `edges` ascend to n.
    pub(crate) fn tally(edges: &[u64], draws: usize, mut sample: impl FnMut() -> u64) -> Vec<u64> {
        let mut counts = vec![0; edges.len()];
        for _ in 0..draws {
            let block = sample();
            let bucket = edges.partition_point(|&edge| edge <= block);
            assert!(bucket < edges.len(), "block {block} lies beyond {edges:?}");
            counts[bucket] += 1;
        }
        counts
    }

    /// Returns edges that isolate the first blocks, then grow by a quarter, and end at `n`.
    pub(crate) fn edges(n: u64) -> Vec<u64> {
        std::iter::successors(Some(1), |&edge| Some(edge + (edge / 4).max(1)))
            .take_while(|&edge| edge < n)
            .chain([n])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_sequence() {
        // The first outputs of the authors' C program for the state 1234567.
        let expected = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
        ];
        for (step, expected) in (0..).zip(expected) {
            assert_eq!(
                split_mix(SPLIT_MIX_GAMMA.wrapping_mul(step).wrapping_add(1234567)),
                expected
            );
        }
    }

    #[test]
    fn xoshiro_gives_the_published_sequence() {
        // The first outputs of the authors' C program for the state 1, 2, 3, 4.
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        let expected = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
        ];
        for expected in expected {
            assert_eq!(rng.next_u64(), expected);
        }
    }

    #[test]
    fn the_same_seed_and_stream_repeat_and_every_other_pair_differs() {
        let first = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            [rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(first(7, 3), first(7, 3));
        let mut seen: Vec<_> = (0..50)
            .flat_map(|seed| (0..50).map(move |stream| first(seed, stream)))
            .chain((1..50).map(|k| first(0, SPLIT_MIX_GAMMA.wrapping_mul(k))))
            .chain((0..50).map(|seed| first(seed, u64::MAX)))
            .collect();
        let drawn = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), drawn);
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated_bit_by_bit() {
        let draws = 4000;
        for stream in 0..20 {
            let (mut one, mut other) = (Rng::new(1, stream), Rng::new(1, stream + 1));
            let equal: u32 = (0..draws)
                .map(|_| (one.next_u64() ^ other.next_u64()).count_zeros())
                .sum();
            let bits = f64::from(draws) * 64.0;
            let deviate = (f64::from(equal) - bits / 2.0) / (bits / 4.0).sqrt();
            assert!(
                deviate.abs() < fit::SIGMAS,
                "streams {stream} and {}: {deviate}",
                stream + 1
            );
        }
    }

    #[test]
    fn below_is_in_range_and_uniform() {
        let mut rng = Rng::new(11, 0);
        for n in [1, 2, 3, 7, 10, 64, 1000] {
            let edges: Vec<u64> = (1..=n).collect();
            let masses = vec![1.0 / n as f64; edges.len()];
            let deviate = fit::deviate(&fit::tally(&edges, 100_000, || rng.below(n)), &masses);
            assert!(deviate.abs() < fit::SIGMAS, "n {n}: {deviate}");
        }
    }

    #[test]
    fn below_rejects_what_would_favour_some_values() {
        // Without rejection 2^63 + 2^62 outcomes of 2^64 words would make every third value twice
        // as likely.
        let n = 3 << 62;
        let mut rng = Rng::new(12, 0);
        let counts = fit::tally(&[1 << 62, 2 << 62, n], 100_000, || rng.below(n));
        let thirds = fit::deviate(&counts, &[1.0 / 3.0; 3]);
        assert!(thirds.abs() < fit::SIGMAS, "{thirds}");
        let mut residues = [0; 3];
        for _ in 0..100_000 {
            residues[usize::try_from(rng.below(n) % 3).unwrap()] += 1;
        }
        let residues = fit::deviate(&residues, &[1.0 / 3.0; 3]);
        assert!(residues.abs() < fit::SIGMAS, "{residues}");
    }

    #[test]
    fn below_one_is_zero_and_the_whole_range_is_reached() {
        let mut rng = Rng::new(13, 0);
        assert!((0..1000).all(|_| rng.below(1) == 0));
        assert!(
            (0..1000)
                .map(|_| rng.below(u64::MAX))
                .any(|x| x > u64::MAX / 100 * 98)
        );
    }

    #[test]
    fn unit_numbers_stay_in_their_intervals_and_are_uniform() {
        let mut rng = Rng::new(14, 0);
        let edges: Vec<u64> = (1..=100).collect();
        let masses = [0.01; 100];
        let closed = fit::tally(&edges, 200_000, || {
            let x = rng.unit();
            assert!((0.0..1.0).contains(&x));
            block_of(x * 100.0, u64::MAX)
        });
        let open = fit::tally(&edges, 200_000, || {
            let x = rng.unit_open();
            assert!(x > 0.0 && x <= 1.0);
            block_of((1.0 - x) * 100.0, u64::MAX)
        });
        for counts in [closed, open] {
            let deviate = fit::deviate(&counts, &masses);
            assert!(deviate.abs() < fit::SIGMAS, "{deviate}");
        }
    }

    #[test]
    fn the_extreme_words_map_to_the_ends_of_the_intervals() {
        // a + rotl(a + d, 23) with a = 0 is rotl(d, 23): the state chooses the first output.
        let emitting = |word: u64| Rng {
            state: [0, 1, 1, word.rotate_right(23)],
        };
        assert_eq!(emitting(0).unit(), 0.0);
        assert_eq!(emitting(0).unit_open(), UNIT_STEP);
        assert_eq!(emitting(u64::MAX).unit(), 1.0 - UNIT_STEP);
        assert_eq!(emitting(u64::MAX).unit_open(), 1.0);
        assert_eq!(emitting(u64::MAX).exponential(), 0.0);
        assert!((emitting(0).exponential() - 53.0 * std::f64::consts::LN_2).abs() < 1e-12);
    }

    #[test]
    fn exponential_numbers_follow_the_exponential_law() {
        let mut rng = Rng::new(15, 0);
        let edges: Vec<u64> = (1..=20).chain([u64::MAX]).collect();
        let counts = fit::tally(&edges, 200_000, || {
            block_of(rng.exponential() * 5.0, u64::MAX)
        });
        let survival = |edge: u64| {
            if edge == u64::MAX {
                0.0
            } else {
                (-(edge as f64) / 5.0).exp()
            }
        };
        let masses: Vec<f64> = [0]
            .iter()
            .chain(&edges)
            .zip(&edges)
            .map(|(&low, &high)| survival(low) - survival(high))
            .collect();
        let deviate = fit::deviate(&counts, &masses);
        assert!(deviate.abs() < fit::SIGMAS, "{deviate}");
    }

    #[test]
    fn the_fit_notices_a_bias_of_a_tenth() {
        let mut rng = Rng::new(16, 0);
        let counts = fit::tally(&[1, 2], 20_000, || u64::from(rng.unit() < 0.55));
        assert!(fit::deviate(&counts, &[0.5, 0.5]) > fit::SIGMAS);
    }

    #[test]
    fn positions_beyond_the_ends_go_to_the_end_blocks() {
        assert_eq!(block_of(-0.5, 10), 0);
        assert_eq!(block_of(9.99, 10), 9);
        assert_eq!(block_of(10.0, 10), 9);
        assert_eq!(block_of(f64::INFINITY, 10), 9);
    }
}
