//! The one source of chance: xoshiro256++ (Blackman, Vigna: "Scrambled Linear Pseudorandom Number
//! Generators", ACM TOMS 47(4), 2021), seeded through SplitMix64 (Steele, Lea, Flood: "Fast
//! Splittable Pseudorandom Number Generators", OOPSLA 2014).
//!
//! Same seed and stream, same words, on every machine; what passes through a logarithm or a root
//! may differ in its last digit between C libraries. Nothing here reads a clock or the system's
//! entropy, and nothing is fit for secrets.

/// Increment of SplitMix64: the odd integer nearest to 2^64 divided by the golden ratio.
const SPLIT_MIX_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Distance between neighbouring values of [`Random::unit`].
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The SplitMix64 output for the state `x`: a bijection on 64-bit words that spreads every input
/// bit over the output (Stafford's variant 13).
#[inline]
#[must_use]
pub fn split_mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(SPLIT_MIX_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number uniform on `[0, 1)`, a multiple of 2^-53, of 64 uniform bits.
#[inline]
#[must_use]
pub fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 * UNIT_STEP
}

/// A xoshiro256++ generator: 256 bits of state, period 2^256 - 1.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
    spare_normal: Option<f64>,
}

impl Random {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of(&[seed])
    }

    /// The stream named by a sequence of words, for example (seed, pass, config): each word is
    /// folded in by SplitMix64.
    #[must_use]
    pub fn of(words: &[u64]) -> Self {
        Self::counting_from(words.iter().fold(0, |mixed, word| split_mix(mixed ^ word)))
    }

    /// The generator number `stream` of `seed`; a stream is one worker or one purpose. Two streams
    /// of one seed never start from the same state, and nothing relates their outputs.
    #[must_use]
    pub fn stream(seed: u64, stream: u64) -> Self {
        // The inner call separates the seeds, the outer one keeps streams that differ by a multiple
        // of the increment from walking the same SplitMix64 sequence.
        Self::counting_from(split_mix(split_mix(seed).wrapping_add(stream)))
    }

    fn counting_from(mut counter: u64) -> Self {
        let state = std::array::from_fn(|_| {
            let word = split_mix(counter);
            counter = counter.wrapping_add(SPLIT_MIX_GAMMA);
            word
        });
        Self {
            state,
            spare_normal: None,
        }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// An integer uniform on `0..n`, exactly: no value is favoured. `n` is at least 1.
    ///
    /// Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "no integer lies in 0..0");
        let (mut low, mut high) = self.bits().carrying_mul(n, 0);
        if low < n {
            let surplus = n.wrapping_neg() % n;
            while low < surplus {
                (low, high) = self.bits().carrying_mul(n, 0);
            }
        }
        high
    }

    /// An index uniform on `0..len`.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        assert!(len > 0, "an index of nothing was asked for");
        usize::try_from(self.below(len as u64)).expect("it is below a usize")
    }

    /// A number uniform on `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit_of(self.bits())
    }

    /// A number uniform on `(0, 1]`, a multiple of 2^-53: safe to take the logarithm of.
    #[inline]
    pub fn unit_open(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// An exponentially distributed number of mean 1, at most 53 ln 2 = 36.7: the gaps of a Poisson
    /// process of rate 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.unit_open().ln()
    }

    /// A fair coin.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// A standard normal number (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare_normal = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Puts `items` into a uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_words_differ_and_of_equal_words_agree() {
        assert_eq!(Random::of(&[1, 2]).bits(), Random::of(&[1, 2]).bits());
        assert_ne!(Random::of(&[1, 2]).bits(), Random::of(&[2, 1]).bits());
        assert_ne!(Random::of(&[1]).bits(), Random::of(&[1, 0]).bits());
    }

    #[test]
    fn integers_below_a_bound_are_uniform_by_chi_square() {
        let mut rng = Random::new(3);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.index(7)] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|c| (f64::from(*c) - 1e4).powi(2) / 1e4)
            .sum();
        assert!(
            chi < 22.5,
            "chi-square {chi} with 6 degrees of freedom has p < 0.001: {counts:?}"
        );
    }

    #[test]
    fn normal_numbers_have_mean_0_variance_1_and_5_percent_beyond_1_96() {
        let mut rng = Random::new(4);
        let sample: Vec<f64> = (0..200_000).map(|_| rng.normal()).collect();
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let tail = sample.iter().filter(|x| x.abs() > 1.959_964).count() as f64 / n;
        assert!(
            mean.abs() < 0.01 && (variance - 1.0).abs() < 0.015 && (tail - 0.05).abs() < 0.002,
            "{mean} {variance} {tail}"
        );
    }

    #[test]
    fn all_orders_of_four_are_equally_likely() {
        let mut rng = Random::new(5);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            rng.shuffle(&mut order);
            *counts.entry(order).or_insert(0u32) += 1;
        }
        let chi: f64 = counts
            .values()
            .map(|c| (f64::from(*c) - 1e3).powi(2) / 1e3)
            .sum();
        assert!(
            counts.len() == 24 && chi < 49.8,
            "chi-square {chi} with 23 degrees of freedom"
        );
    }

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
        let mut rng = Random {
            state: [1, 2, 3, 4],
            spare_normal: None,
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
            assert_eq!(rng.bits(), expected);
        }
    }

    #[test]
    fn the_same_seed_and_stream_repeat_and_every_other_pair_differs() {
        let first = |seed, stream| {
            let mut rng = Random::stream(seed, stream);
            [rng.bits(), rng.bits()]
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
    fn below_one_is_zero_and_the_whole_range_is_reached() {
        let mut rng = Random::stream(13, 0);
        assert!((0..1000).all(|_| rng.below(1) == 0));
        assert!(
            (0..1000)
                .map(|_| rng.below(u64::MAX))
                .any(|x| x > u64::MAX / 100 * 98)
        );
    }

    #[test]
    fn the_extreme_words_map_to_the_ends_of_the_intervals() {
        // a + rotl(a + d, 23) with a = 0 is rotl(d, 23): the state chooses the first output.
        let emitting = |word: u64| Random {
            state: [0, 1, 1, word.rotate_right(23)],
            spare_normal: None,
        };
        assert_eq!(emitting(0).unit(), 0.0);
        assert_eq!(emitting(0).unit_open(), UNIT_STEP);
        assert_eq!(emitting(u64::MAX).unit(), 1.0 - UNIT_STEP);
        assert_eq!(emitting(u64::MAX).unit_open(), 1.0);
        assert_eq!(emitting(u64::MAX).exponential(), 0.0);
        assert!((emitting(0).exponential() - 53.0 * std::f64::consts::LN_2).abs() < 1e-12);
    }
}
