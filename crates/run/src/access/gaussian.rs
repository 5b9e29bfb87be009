//! A bell of accesses around one place of the range, cut off at its ends.

use std::f64::consts::PI;

use super::block_of;
use units::random::Random;

/// Blocks `0..n` under a normal law truncated to the range.
///
/// A position, in blocks, is normal with mean `center * n` and standard deviation `stddev * n`,
/// given that it lies in `[0, n)`: what falls outside is drawn again, so that the first and the
/// last block receive their own share and no more. A deviation below the rounding of the mean
/// (`stddev` under about 1e-15) puts every access on the block that holds the mean.
#[derive(Clone, Debug)]
pub(crate) struct Gaussian {
    n: u64,
    mean: f64,
    deviation: f64,
    /// The ends of the range in standard deviations from the mean.
    low: f64,
    high: f64,
    proposal: Proposal,
}

/// Where candidates come from; the choice keeps about half of them or more at every width.
#[derive(Clone, Copy, Debug)]
enum Proposal {
    /// A normal number, kept if it lies in the range.
    Bell,
    /// A place in the range, kept in proportion to the density: for bells as wide as the range.
    Range,
}

impl Gaussian {
    /// Creates the law over `n` blocks; `center` and `stddev` are shares of the range.
    ///
    /// # Panics
    /// If `n` is 0, `center` is not in `0.0..=1.0`, or `stddev` is not positive and finite.
    pub(crate) fn new(n: u64, center: f64, stddev: f64) -> Self {
        assert!(n > 0, "Gaussian over no blocks");
        assert!(
            (0.0..=1.0).contains(&center),
            "Gaussian centred at {center} of the range"
        );
        let (mean, deviation) = (center * n as f64, stddev * n as f64);
        assert!(
            stddev > 0.0 && deviation.is_finite(),
            "Gaussian with standard deviation {stddev} of the range"
        );
        // Both keep the area under the bell inside the range, the one out of the whole bell, the
        // other out of the box around it: the smaller of the two areas wastes less.
        let proposal = if stddev * (2.0 * PI).sqrt() < 1.0 {
            Proposal::Bell
        } else {
            Proposal::Range
        };
        Self {
            n,
            mean,
            deviation,
            low: -mean / deviation,
            high: (n as f64 - mean) / deviation,
            proposal,
        }
    }

    /// Draws a block.
    #[inline]
    pub(crate) fn sample(&self, rng: &mut Random) -> u64 {
        let position = match self.proposal {
            Proposal::Bell => self.draw_from_bell(rng),
            Proposal::Range => self.draw_from_range(rng),
        };
        block_of(position, self.n)
    }

    /// Returns the share of all accesses that go to blocks `a..b`, with an absolute error of about
    /// 1e-15.
    #[cfg(test)]
    pub(crate) fn mass_between(&self, a: u64, b: u64) -> f64 {
        let deviations = |block: u64| (block.min(self.n) as f64 - self.mean) / self.deviation;
        if a >= b {
            return 0.0;
        }
        closed_form::bell_area(deviations(a), deviations(b))
            / closed_form::bell_area(self.low, self.high)
    }

    fn draw_from_bell(&self, rng: &mut Random) -> f64 {
        loop {
            // Compared before it is scaled: a bell much narrower than a block must not round onto
            // the end itself.
            let z = standard_normal(rng);
            if z >= self.low && z < self.high {
                return self.mean + z * self.deviation;
            }
        }
    }

    fn draw_from_range(&self, rng: &mut Random) -> f64 {
        loop {
            let position = rng.unit() * self.n as f64;
            let z = (position - self.mean) / self.deviation;
            if rng.unit() < (-0.5 * z * z).exp() {
                return position;
            }
        }
    }
}

/// Just above 2 sqrt(2/e), the height of the region that the ratio of uniforms accepts.
const RATIO_HEIGHT: f64 = 1.7156;
const SURELY_INSIDE: f64 = 0.27597;
const SURELY_OUTSIDE: f64 = 0.27846;

/// Draws from the normal law of mean 0 and deviation 1: the ratio of uniforms with quadratic
/// bounds, which seldom takes a logarithm.
///
/// Leva, "A Fast Normal Random Number Generator", ACM TOMS 18(4), 1992 (algorithm 712).
#[inline]
fn standard_normal(rng: &mut Random) -> f64 {
    loop {
        let u = rng.unit_open();
        let v = RATIO_HEIGHT * (rng.unit() - 0.5);
        let bound = quadratic_bound(u, v);
        if bound < SURELY_INSIDE || (bound <= SURELY_OUTSIDE && is_inside(u, v)) {
            return v / u;
        }
    }
}

#[inline]
fn quadratic_bound(u: f64, v: f64) -> f64 {
    let x = u - 0.449871;
    let y = v.abs() + 0.386595;
    x * x + y * (0.19600 * y - 0.25472 * x)
}

fn is_inside(u: f64, v: f64) -> bool {
    v * v <= -4.0 * u * u * u.ln()
}

/// The exact law, against which samples are tested.
#[cfg(test)]
mod closed_form {
    use std::f64::consts::{FRAC_1_SQRT_2, PI};

    /// The area of the standard normal density between `low` and `high`, without cancellation in
    /// either tail.
    pub(super) fn bell_area(low: f64, high: f64) -> f64 {
        let (low, high) = (low * FRAC_1_SQRT_2, high * FRAC_1_SQRT_2);
        let twice = if low >= 0.5 {
            erfc(low) - erfc(high)
        } else if high <= -0.5 {
            erfc(-high) - erfc(-low)
        } else {
            erf(high) - erf(low)
        };
        twice / 2.0
    }

    /// Where the series hands over to the continued fraction.
    pub(super) const SERIES_END: f64 = 2.0;

    /// Enough terms of the continued fraction for full precision at [`SERIES_END`], its slowest
    /// point.
    pub(super) const FRACTION_TERMS: u32 = 80;

    pub(super) fn erf(x: f64) -> f64 {
        if x.abs() < SERIES_END {
            erf_series(x)
        } else {
            (1.0 - erfc_fraction(x.abs())).copysign(x)
        }
    }

    /// The complement of [`erf`], precise in the tail; `x` is not negative.
    pub(super) fn erfc(x: f64) -> f64 {
        if x < SERIES_END {
            1.0 - erf_series(x)
        } else {
            erfc_fraction(x)
        }
    }

    /// Abramowitz, Stegun 7.1.6: all terms have one sign, so nothing cancels.
    pub(super) fn erf_series(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        let mut odd = 1.0;
        while term.abs() > sum.abs() * (f64::EPSILON / 4.0) {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        2.0 / PI.sqrt() * (-x * x).exp() * sum
    }

    /// Abramowitz, Stegun 7.1.14, evaluated from the innermost term outwards.
    pub(super) fn erfc_fraction(x: f64) -> f64 {
        let tail = (1..=FRACTION_TERMS)
            .rev()
            .fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
        (-x * x).exp() / (PI.sqrt() * tail)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit;
    use super::closed_form::*;
    use super::*;

    const CENTERS: [f64; 5] = [0.0, 0.1, 0.5, 0.73, 1.0];
    const DEVIATIONS: [f64; 8] = [1e-9, 0.001, 0.05, 0.2, 0.39, 0.4, 1.5, 1e9];
    const SIZES: [u64; 7] = [1, 2, 3, 10, 1000, 26_000_000, 1 << 48];

    /// Up to 64 equal stretches, the first and the last block, and the neighbourhood of the centre.
    fn edges(law: &Gaussian) -> Vec<u64> {
        let stretches = (1..=64).map(|k| law.n / 64 * k + law.n % 64 * k / 64);
        let bell =
            (-40..=40).map(|k| block_of(law.mean + f64::from(k) / 8.0 * law.deviation, law.n));
        let mut edges: Vec<u64> = stretches
            .chain(bell)
            .chain([1, law.n - 1, law.n])
            .filter(|edge| (1..=law.n).contains(edge))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn deviate_from(sampled: &Gaussian, claimed: &Gaussian, draws: usize) -> f64 {
        let edges = edges(claimed);
        let mut rng = Random::stream(41, claimed.n);
        let counts = fit::tally(&edges, draws, || sampled.sample(&mut rng));
        let masses: Vec<f64> = [0]
            .iter()
            .chain(&edges)
            .zip(&edges)
            .map(|(&low, &high)| claimed.mass_between(low, high))
            .collect();
        fit::deviate(&counts, &masses)
    }

    #[test]
    fn samples_follow_the_truncated_law_for_every_centre_width_and_size() {
        for center in CENTERS {
            for stddev in DEVIATIONS {
                for n in SIZES {
                    let law = Gaussian::new(n, center, stddev);
                    let deviate = deviate_from(&law, &law, 20_000);
                    assert!(
                        deviate.abs() < fit::SIGMAS,
                        "center {center}, stddev {stddev}, n {n}: {deviate}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_end_blocks_receive_no_more_than_their_neighbours() {
        let n = 100;
        for (center, stddev) in [(0.0, 0.3), (0.5, 0.39), (1.0, 0.3), (1.0, 2.0)] {
            let law = Gaussian::new(n, center, stddev);
            let mut rng = Random::stream(42, 0);
            let edges: Vec<u64> = (1..=n).collect();
            let counts = fit::tally(&edges, 200_000, || law.sample(&mut rng));
            for (block, inner) in [(0, 1), (99, 98)] {
                let (end, neighbour) = (counts[block] as f64, counts[inner] as f64);
                let excess = (end - neighbour) / (end + neighbour).max(1.0).sqrt();
                assert!(
                    excess.abs() < fit::SIGMAS,
                    "center {center}, stddev {stddev}: {end} beside {neighbour}"
                );
            }
        }
    }

    #[test]
    fn a_centre_off_by_a_hundredth_or_a_width_off_by_a_twentieth_is_noticed() {
        let claimed = Gaussian::new(1_000_000, 0.5, 0.2);
        for (center, stddev) in [(0.51, 0.2), (0.5, 0.21)] {
            let deviate =
                deviate_from(&Gaussian::new(1_000_000, center, stddev), &claimed, 100_000);
            assert!(
                deviate > fit::SIGMAS,
                "center {center}, stddev {stddev}: {deviate}"
            );
        }
    }

    #[test]
    fn both_proposals_give_one_law_where_they_meet() {
        for center in CENTERS {
            let law = Gaussian::new(1000, center, 0.4);
            for proposal in [Proposal::Bell, Proposal::Range] {
                let deviate = deviate_from(
                    &Gaussian {
                        proposal,
                        ..law.clone()
                    },
                    &law,
                    100_000,
                );
                assert!(
                    deviate.abs() < fit::SIGMAS,
                    "{proposal:?}, center {center}: {deviate}"
                );
            }
        }
    }

    #[test]
    fn about_half_of_the_candidates_or_more_are_kept_at_every_width() {
        for center in CENTERS {
            for stddev in (0..60).map(|k| 0.001 * 1.25f64.powi(k)) {
                let law = Gaussian::new(1000, center, stddev);
                let kept = bell_area(law.low, law.high)
                    * match law.proposal {
                        Proposal::Bell => 1.0,
                        Proposal::Range => stddev * (2.0 * PI).sqrt(),
                    };
                assert!(
                    (0.49..=1.0 + 1e-12).contains(&kept),
                    "center {center}, stddev {stddev}: {kept}"
                );
            }
        }
    }

    #[test]
    fn sixty_eight_percent_lie_within_one_deviation() {
        let law = Gaussian::new(1_000_000, 0.5, 0.05);
        assert!((law.mass_between(450_000, 550_000) - 0.682_689_492_137_085_9).abs() < 1e-14);
        assert!((law.mass_between(400_000, 600_000) - 0.954_499_736_103_641_6).abs() < 1e-14);
    }

    #[test]
    fn mass_adds_up_and_is_mirrored() {
        for stddev in DEVIATIONS {
            let (left, right) = (
                Gaussian::new(1000, 0.25, stddev),
                Gaussian::new(1000, 0.75, stddev),
            );
            assert!((left.mass_between(0, 1000) - 1.0).abs() < 1e-15);
            assert_eq!(left.mass_between(7, 7), 0.0);
            assert_eq!(left.mass_between(1000, u64::MAX), 0.0);
            for block in 0..1000 {
                let split = left.mass_between(0, block) + left.mass_between(block, 1000);
                assert!(
                    (split - 1.0).abs() < 1e-14,
                    "stddev {stddev}, block {block}: {split}"
                );
                let mirror = right.mass_between(1000 - block, 1000);
                assert!(
                    (left.mass_between(0, block) - mirror).abs() < 1e-14,
                    "stddev {stddev}, block {block}"
                );
            }
        }
    }

    #[test]
    fn the_quadratic_bounds_enclose_the_boundary_of_the_normal_law() {
        let steps = 1000;
        let half = RATIO_HEIGHT / 2.0;
        assert!(half > (2.0 / std::f64::consts::E).sqrt());
        for (i, j) in (1..=steps).flat_map(|i| (0..=steps).map(move |j| (i, j))) {
            let (u, v) = (
                f64::from(i) / f64::from(steps),
                half * f64::from(j) / f64::from(steps),
            );
            let bound = quadratic_bound(u, v);
            assert!(
                bound >= SURELY_INSIDE || is_inside(u, v),
                "kept without cause: {u} {v}"
            );
            assert!(
                bound <= SURELY_OUTSIDE || !is_inside(u, v),
                "dropped without cause: {u} {v}"
            );
        }
    }

    #[test]
    fn the_error_function_has_its_tabulated_values() {
        // Abramowitz, Stegun table 7.1, continued to the digits a double holds.
        for (x, expected) in [
            (0.1, 0.112_462_916_018_284_9),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
        ] {
            assert!((erf(x) - expected).abs() < 4e-16, "{x}");
            assert_eq!(erf(-x), -erf(x));
        }
        for (x, expected) in [
            (2.0, 4.677_734_981_047_265e-3),
            (3.0, 2.209_049_699_858_544e-5),
            (10.0, 2.088_487_583_762_545e-45),
        ] {
            assert!((erfc(x) / expected - 1.0).abs() < 3e-14, "{x}: {}", erfc(x));
        }
        assert!((erf_series(SERIES_END) + erfc_fraction(SERIES_END) - 1.0).abs() < 1e-15);
        assert_eq!(
            (erf(0.0), erfc(f64::INFINITY), erf(f64::NEG_INFINITY)),
            (0.0, 0.0, -1.0)
        );
    }

    #[test]
    fn a_bell_narrower_than_a_block_at_the_far_end_still_ends_in_the_last_block() {
        let law = Gaussian::new(1 << 48, 1.0, f64::MIN_POSITIVE);
        let mut rng = Random::stream(43, 0);
        assert!((0..100).all(|_| law.sample(&mut rng) == (1 << 48) - 1));
    }

    #[test]
    #[should_panic(expected = "standard deviation 0")]
    fn a_bell_without_width_is_refused() {
        Gaussian::new(10, 0.5, 0.0);
    }

    #[test]
    #[should_panic(expected = "centred at 1.5")]
    fn a_centre_outside_the_range_is_refused() {
        Gaussian::new(10, 1.5, 0.1);
    }
}
