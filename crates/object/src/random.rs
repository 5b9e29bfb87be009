//! The one source of chance of a load: SplitMix64 (Steele, Lea, Flood 2014), a stream a user, so
//! that a seed repeats every choice.

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The finalizer of SplitMix64: a bijection that scatters neighbours.
pub(crate) fn scatter(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl Random {
    /// The stream of one part of a load.
    pub(crate) fn of(seed: u64, part: u64) -> Self {
        Self(scatter(
            seed ^ scatter(part.wrapping_add(0x9e37_79b9_7f4a_7c15)),
        ))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scatter(self.0)
    }

    /// From 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below `n`, by multiplication: biased by less than one part in 2^64 / `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(n)) >> 64)
            .expect("a product of two u64 shifted by 64 is a u64")
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Standard normal (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Draws indices by weight: an exact distribution over any number of items, one binary search a
/// draw.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// Cumulative sums.
    upto: Vec<f64>,
}

impl Weighted {
    /// `None` if no weight is above 0.
    pub(crate) fn new(weights: impl Iterator<Item = f64>) -> Option<Self> {
        let upto: Vec<f64> = weights
            .scan(0.0, |sum, weight| {
                *sum += weight.max(0.0);
                Some(*sum)
            })
            .collect();
        upto.last()
            .is_some_and(|sum| *sum > 0.0)
            .then_some(Self { upto })
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let total = self.upto.last().copied().unwrap_or(0.0);
        let at = random.unit() * total;
        self.upto
            .partition_point(|sum| *sum <= at)
            .min(self.upto.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Five standard deviations of a binomial share.
    fn is_near(share: f64, expected: f64, n: f64) -> bool {
        (share - expected).abs() <= 5.0 * (expected * (1.0 - expected) / n).sqrt()
    }

    #[test]
    fn weights_are_kept_within_binomial_bounds() {
        let weights = [50.0, 30.0, 0.0, 15.0, 4.0, 1.0];
        let drawn = Weighted::new(weights.into_iter()).unwrap();
        let mut random = Random::of(1, 2);
        let mut counts = [0_u32; 6];
        (0..100_000).for_each(|_| counts[drawn.draw(&mut random)] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            assert!(
                is_near(f64::from(count) / 100_000.0, weight / 100.0, 100_000.0),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let mut random = Random::of(7, 0);
        let n = 100_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 0.02);
        assert!(mean(&mut || random.normal()).abs() < 0.02);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.03);
    }

    #[test]
    fn nothing_can_be_drawn_from_no_weight() {
        assert!(
            Weighted::new([0.0, 0.0].into_iter()).is_none()
                && Weighted::new(std::iter::empty()).is_none()
        );
    }

    proptest! {
        #[test]
        fn draws_are_in_range_and_repeat_with_their_seed(seed in any::<u64>(), part in any::<u64>(), n in 1_u64..) {
            let [mut a, mut b] = [Random::of(seed, part), Random::of(seed, part)];
            for _ in 0..20 {
                let drawn = a.below(n);
                prop_assert!(drawn < n);
                prop_assert_eq!(drawn, b.below(n));
                prop_assert!((0.0..1.0).contains(&a.unit()));
                b.unit();
            }
        }
    }
}
