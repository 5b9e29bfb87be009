/// A seeded generator: xoshiro256++ (Blackman & Vigna 2021, "Scrambled linear pseudorandom number
/// generators"), its state filled by SplitMix64.
///
/// The same seed gives the same stream on every machine; [`Rng::below`] and [`Rng::bits`] use
/// integers only.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
    spare_normal: Option<f64>,
}

impl Rng {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of(&[seed])
    }

    /// The stream named by a sequence of words, for example (seed, pass, config): each word is
    /// folded in by SplitMix64.
    #[must_use]
    pub fn of(words: &[u64]) -> Self {
        let mut mixed = 0;
        for word in words {
            mixed ^= word;
            mixed = split_mix(&mut mixed);
        }
        Self {
            state: std::array::from_fn(|_| split_mix(&mut mixed)),
            spare_normal: None,
        }
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A uniform integer in `0..bound`, without bias (Lemire 2019, multiply and reject).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "an integer below 0 was asked for");
        let bound = bound as u64;
        let reject_under = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the low half of the product is what the rejection looks at"
            )]
            let low = product as u64;
            if low >= reject_under {
                return usize::try_from(product >> 64)
                    .expect("the high half is below `bound`, which is a usize");
            }
        }
    }

    /// A uniform number in [0, 1) with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
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
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
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
            items.swap(last, self.below(last + 1));
        }
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_first_outputs_of_seed_1234567() {
        let mut state = 1_234_567;
        assert_eq!(
            [split_mix(&mut state), split_mix(&mut state)],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn xoshiro_gives_the_published_first_outputs_of_state_1_2_3_4() {
        let mut rng = Rng {
            state: [1, 2, 3, 4],
            spare_normal: None,
        };
        assert_eq!(
            [rng.bits(), rng.bits(), rng.bits()],
            [41_943_041, 58_720_359, 3_588_806_011_781_223]
        );
    }

    #[test]
    fn streams_of_different_words_differ_and_of_equal_words_agree() {
        assert_eq!(Rng::of(&[1, 2]).bits(), Rng::of(&[1, 2]).bits());
        assert_ne!(Rng::of(&[1, 2]).bits(), Rng::of(&[2, 1]).bits());
        assert_ne!(Rng::of(&[1]).bits(), Rng::of(&[1, 0]).bits());
    }

    #[test]
    fn integers_below_a_bound_are_uniform_by_chi_square() {
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7)] += 1;
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
        let mut rng = Rng::new(4);
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
        let mut rng = Rng::new(5);
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
}
