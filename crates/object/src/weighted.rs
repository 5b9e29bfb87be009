//! Draws by weight.

use units::random::Random;

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

    /// Five standard deviations of a binomial share.
    fn is_near(share: f64, expected: f64, n: f64) -> bool {
        (share - expected).abs() <= 5.0 * (expected * (1.0 - expected) / n).sqrt()
    }

    #[test]
    fn weights_are_kept_within_binomial_bounds() {
        let weights = [50.0, 30.0, 0.0, 15.0, 4.0, 1.0];
        let drawn = Weighted::new(weights.into_iter()).unwrap();
        let mut random = Random::stream(1, 2);
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
    fn nothing_can_be_drawn_from_no_weight() {
        assert!(
            Weighted::new([0.0, 0.0].into_iter()).is_none()
                && Weighted::new(std::iter::empty()).is_none()
        );
    }
}
