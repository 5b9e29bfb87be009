//! Zipf's law over ranks: rank k is asked for in proportion to k^-theta.

use super::block_of;
use units::random::Random;

/// Terms of the normalising sum that are added one by one before the Euler-Maclaurin expansion
/// takes over. With 32 the first neglected term stays below 2e-16 for every exponent allowed.
#[cfg(test)]
const SUMMED_TERMS: u64 = 32;

/// Exponents nearer to 1 than this need `ln_1p`, three times the cost of `ln`; at it, `ln` still
/// places a point to one part in 2^45.
const PRECISE_LOGARITHM: f64 = 1.0 / 128.0;

/// Ranks `0..n`, rank 0 the hottest, with P(rank k-1) = k^-theta / (1^-theta + … + n^-theta).
///
/// Memory and set-up cost do not depend on `n`, and no rank is approximated: sampling is by
/// rejection-inversion, Hörmann, Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996. The arithmetic has 53 bits: a rank of
/// probability below 2^-53 (one operation in 9e15) may never come up, and above 2^45 blocks neither
/// may some of the coldest ranks while their neighbours take their share.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    n: u64,
    theta: f64,
    /// H at n + 1/2 and at 3/2 less the mass of rank 1: the interval to draw from.
    area_end: f64,
    area_start: f64,
    /// A candidate k at most this far above the inverted point lies under the histogram without a
    /// further look.
    sure_distance: f64,
}

impl Zipf {
    /// The largest range accepted: an exbibyte of 4 KiB blocks.
    pub(crate) const MAX_BLOCKS: u64 = 1 << 48;

    /// Creates the law over `n` ranks with exponent `theta`; 0 is uniform.
    ///
    /// # Panics
    /// If `n` is not in `1..=MAX_BLOCKS` or `theta` not in `0.0..=3.0`.
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        assert!((1..=Self::MAX_BLOCKS).contains(&n), "Zipf over {n} blocks");
        assert!((0.0..=3.0).contains(&theta), "Zipf with exponent {theta}");
        Self {
            n,
            theta,
            area_end: area(n as f64 + 0.5, theta),
            area_start: area(1.5, theta) - 1.0,
            sure_distance: 2.0 - point(area(2.5, theta) - 2f64.powf(-theta), theta),
        }
    }

    /// Draws a rank.
    #[inline]
    pub(crate) fn sample(&self, rng: &mut Random) -> u64 {
        if self.theta == 0.0 {
            return rng.below(self.n);
        }
        loop {
            let drawn = self.area_end + rng.unit() * (self.area_start - self.area_end);
            let x = point(drawn, self.theta);
            let rank = block_of(x - 0.5, self.n);
            let k = (rank + 1) as f64;
            if k - x <= self.sure_distance
                || drawn >= area(k + 0.5, self.theta) - k.powf(-self.theta)
            {
                return rank;
            }
        }
    }

    /// Returns the share of all accesses that go to the `m` hottest ranks, with a relative error of
    /// about 1e-15.
    #[cfg(test)]
    pub(crate) fn mass_of_first(&self, m: u64) -> f64 {
        power_sum(m.min(self.n), self.theta) / power_sum(self.n, self.theta)
    }
}

/// The integral of t^-theta from 1 to `x`, which is ln x for theta = 1.
#[inline]
fn area(x: f64, theta: f64) -> f64 {
    scaled_exp(x.ln(), 1.0 - theta)
}

/// The inverse of [`area`]: the x up to which the integral is `area`.
#[inline]
fn point(area: f64, theta: f64) -> f64 {
    let a = 1.0 - theta;
    if a == 0.0 {
        return area.exp();
    }
    // Rounding can carry the argument just below -1, where the logarithm ends; -1 means the far end
    // of the range.
    let power = (area * a).max(-1.0);
    let log = if a.abs() < PRECISE_LOGARITHM {
        power.ln_1p()
    } else {
        (1.0 + power).ln()
    };
    (log / a).exp()
}

/// (e^(ay) - 1) / a, and y for a = 0. Accurate for every a, however small, because `exp_m1` is.
#[inline]
fn scaled_exp(y: f64, a: f64) -> f64 {
    if a == 0.0 { y } else { (a * y).exp_m1() / a }
}

/// 1^-theta + … + m^-theta: the head term by term, the rest by Euler-Maclaurin (DLMF 2.10.1) up to
/// the fifth derivative.
#[cfg(test)]
fn power_sum(m: u64, theta: f64) -> f64 {
    if theta == 0.0 {
        return m as f64;
    }
    let head: f64 = (1..=m.min(SUMMED_TERMS))
        .rev()
        .map(|k| (k as f64).powf(-theta))
        .sum();
    if m <= SUMMED_TERMS {
        return head;
    }
    let (from, to) = (SUMMED_TERMS as f64, m as f64);
    // From `from` on the integral is from^(1-theta) times that of the ratio, which does not cancel.
    let integral = from.powf(1.0 - theta) * scaled_exp((to / from).ln(), 1.0 - theta);
    head + (integral - correction(from, theta) + correction(to, theta))
}

/// What an Euler-Maclaurin sum of f(t) = t^-theta adds to the integral at its end `x`, and takes
/// off at its beginning: half of f, and B2/2!, B4/4! and B6/6! times its first, third and fifth
/// derivative.
#[cfg(test)]
fn correction(x: f64, theta: f64) -> f64 {
    let square = x * x;
    let first = -theta / x;
    let third = first * (theta + 1.0) * (theta + 2.0) / square;
    let fifth = third * (theta + 3.0) * (theta + 4.0) / square;
    x.powf(-theta) * (0.5 + first / 12.0 - third / 720.0 + fifth / 30240.0)
}

#[cfg(test)]
mod tests {
    use super::super::fit;
    use super::*;

    const THETAS: [f64; 13] = [
        0.0,
        1e-9,
        0.5,
        0.8,
        0.99,
        0.995,
        1.0 - 1e-12,
        1.0,
        1.0 + f64::EPSILON,
        1.001,
        1.2,
        2.0,
        3.0,
    ];
    const DRAWS: usize = 100_000;

    fn deviate_from(sampled: &Zipf, claimed: &Zipf, seed: u64) -> f64 {
        let edges = fit::edges(claimed.n);
        let masses: Vec<f64> = [0]
            .iter()
            .chain(&edges)
            .zip(&edges)
            .map(|(&low, &high)| claimed.mass_of_first(high) - claimed.mass_of_first(low))
            .collect();
        let mut rng = Random::stream(seed, 0);
        fit::deviate(
            &fit::tally(&edges, DRAWS, || sampled.sample(&mut rng)),
            &masses,
        )
    }

    #[test]
    fn samples_follow_the_law_for_every_exponent_and_size() {
        for theta in THETAS {
            for n in [1, 2, 3, 10, 1000, 1_000_000, 26_000_000, Zipf::MAX_BLOCKS] {
                let law = Zipf::new(n, theta);
                let deviate = deviate_from(&law, &law, n ^ theta.to_bits());
                assert!(
                    deviate.abs() < fit::SIGMAS,
                    "theta {theta}, n {n}: {deviate}"
                );
            }
        }
    }

    #[test]
    fn every_single_rank_of_a_small_range_follows_the_plain_formula() {
        for theta in THETAS {
            for n in [2, 5, 40] {
                let law = Zipf::new(n, theta);
                let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-theta)).collect();
                let total: f64 = weights.iter().sum();
                let masses: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
                let edges: Vec<u64> = (1..=n).collect();
                let mut rng = Random::stream(21, n);
                let deviate =
                    fit::deviate(&fit::tally(&edges, DRAWS, || law.sample(&mut rng)), &masses);
                assert!(
                    deviate.abs() < fit::SIGMAS,
                    "theta {theta}, n {n}: {deviate}"
                );
            }
        }
    }

    #[test]
    fn an_exponent_off_by_a_fiftieth_is_noticed() {
        for theta in [0.5, 0.99, 1.2] {
            let deviate = deviate_from(
                &Zipf::new(1_000_000, theta + 0.02),
                &Zipf::new(1_000_000, theta),
                22,
            );
            assert!(deviate > fit::SIGMAS, "theta {theta}: {deviate}");
        }
    }

    #[test]
    fn exponent_zero_draws_what_the_uniform_generator_draws() {
        let law = Zipf::new(1_000_003, 0.0);
        let (mut one, mut other) = (Random::stream(23, 0), Random::stream(23, 0));
        assert!((0..10_000).all(|_| law.sample(&mut one) == other.below(1_000_003)));
        assert_eq!(law.mass_of_first(500_000), 500_000.0 / 1_000_003.0);
    }

    #[test]
    fn the_mass_is_the_plain_sum() {
        for theta in THETAS {
            for n in [1, 2, 31, 32, 33, 34, 100, 5000, 300_000] {
                let plain =
                    |m: u64| -> f64 { (1..=m).rev().map(|k| (k as f64).powf(-theta)).sum() };
                let law = Zipf::new(n, theta);
                for m in [1, n / 5, n / 2, n] {
                    let (mass, expected) = (law.mass_of_first(m), plain(m) / plain(n));
                    assert!(
                        (mass - expected).abs() <= 1e-12 * expected,
                        "theta {theta}, {m} of {n}: {mass} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_sum_approaches_the_known_constants() {
        let pi = std::f64::consts::PI;
        let euler_gamma = 0.577_215_664_901_532_9;
        let apery = 1.202_056_903_159_594_2;
        let m = Zipf::MAX_BLOCKS;
        let tail = 1.0 / m as f64;
        assert!((power_sum(m, 2.0) - (pi * pi / 6.0 - tail)).abs() < 2e-15);
        assert!((power_sum(m, 3.0) - apery).abs() < 2e-15);
        assert!((power_sum(m, 1.0) - ((m as f64).ln() + euler_gamma)).abs() < 1e-13);
    }

    #[test]
    fn mass_grows_with_the_ranks_and_no_rank_outweighs_a_hotter_one() {
        for theta in THETAS {
            let law = Zipf::new(1000, theta);
            let mass: Vec<f64> = (0..=1000).map(|m| law.mass_of_first(m)).collect();
            assert_eq!(
                (mass[0], mass[1000], law.mass_of_first(u64::MAX)),
                (0.0, 1.0, 1.0)
            );
            assert!(
                mass.windows(2).all(|pair| pair[0] < pair[1]),
                "theta {theta}"
            );
            let slack = 1e-13;
            assert!(
                mass.windows(3)
                    .all(|of| of[2] - of[1] <= of[1] - of[0] + slack),
                "theta {theta}"
            );
        }
    }

    #[test]
    fn a_larger_exponent_makes_the_hot_ranks_hotter() {
        for pair in THETAS.windows(2) {
            let (flat, steep) = (
                Zipf::new(26_000_000, pair[0]),
                Zipf::new(26_000_000, pair[1]),
            );
            assert!(
                flat.mass_of_first(1000) <= steep.mass_of_first(1000) + 1e-12,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn the_coldest_block_is_reached() {
        for theta in THETAS {
            for n in [1, 2, 3, 5, 8, 16] {
                let law = Zipf::new(n, theta);
                let coldest = 1.0 - law.mass_of_first(n - 1);
                // Missing it in 30 times the mean wait has probability e^-30.
                let patience = block_of(30.0 / coldest, u64::MAX);
                let mut rng = Random::stream(24, n);
                assert!(
                    (0..patience).any(|_| law.sample(&mut rng) == n - 1),
                    "theta {theta}, n {n}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_drawn_interval_are_the_end_ranks() {
        for theta in THETAS {
            for n in [1, 2, 1000, 1_000_000] {
                let law = Zipf::new(n, theta);
                let first = point(law.area_start, theta);
                assert!(first < 1.5 && first > 0.4, "theta {theta}, n {n}: {first}");
                let last = point(law.area_end, theta);
                assert!(
                    (last / (n as f64 + 0.5) - 1.0).abs() < 1e-3,
                    "theta {theta}, n {n}: {last}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "exponent NaN")]
    fn an_exponent_that_is_no_number_is_refused() {
        Zipf::new(10, f64::NAN);
    }

    #[test]
    #[should_panic(expected = "over 0 blocks")]
    fn an_empty_range_is_refused() {
        Zipf::new(0, 1.0);
    }
}
