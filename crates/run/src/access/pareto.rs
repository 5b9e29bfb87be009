//! The Pareto rule of fio's `random_distribution=pareto:h`: share h of the blocks takes share 1 - h
//! of the accesses.

use super::block_of;
use units::random::Random;

/// Blocks `0..n`, block 0 the hottest for h < 1/2, by the self-similar law that fio calls pareto.
///
/// A position is n u^p with u uniform on [0, 1) and p = ln h / ln(1 - h). It falls below x with
/// probability P(n u^p < x) = (x/n)^(1/p), so the first h n blocks receive h^(1/p) = h^(ln(1-h)/ln
/// h) = 1 - h of the accesses, the first h² n blocks (1 - h)², and so on. h = 0.2 is the 80/20
/// rule, h = 0.5 is uniform, and above 0.5 the last blocks are the hot ones. It is not the Pareto
/// law of the statistics books, which has no upper end.
///
/// fio scales by n - 1 and floors, which leaves the last block to the single outcome u = 1; scaling
/// by n gives each block its own stretch. Gray et al., "Quickly Generating Billion-Record Synthetic
/// Databases", SIGMOD 1994, has the law. With 53-bit uniform numbers neighbouring positions at the
/// cold end are n p 2^-53 blocks apart: below one block for every n up to 2^48 as long as p <= 32,
/// which is h >= 0.08.
#[derive(Clone, Debug)]
pub(crate) struct Pareto {
    n: u64,
    power: f64,
}

impl Pareto {
    /// Creates the law over `n` blocks with hot share `h`.
    ///
    /// # Panics
    /// If `n` is 0 or `h` is not strictly between 0 and 1.
    pub(crate) fn new(n: u64, h: f64) -> Self {
        assert!(n > 0, "Pareto over no blocks");
        assert!(h > 0.0 && h < 1.0, "Pareto with hot share {h}");
        Self {
            n,
            power: h.ln() / (-h).ln_1p(),
        }
    }

    /// Draws a block.
    #[inline]
    pub(crate) fn sample(&self, rng: &mut Random) -> u64 {
        block_of(self.n as f64 * rng.unit().powf(self.power), self.n)
    }

    /// Returns the share of all accesses that go to blocks `0..m`: (m/n)^(1/p), exactly the law
    /// that is sampled.
    #[cfg(test)]
    pub(crate) fn mass_of_first(&self, m: u64) -> f64 {
        (m.min(self.n) as f64 / self.n as f64).powf(self.power.recip())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit;
    use super::*;

    const SHARES: [f64; 8] = [0.01, 0.08, 0.1, 0.2, 0.3, 0.5, 0.8, 0.95];
    const SIZES: [u64; 7] = [1, 2, 3, 10, 1000, 26_000_000, 1 << 48];

    fn deviate_from(sampled: &Pareto, claimed: &Pareto) -> f64 {
        let edges = fit::edges(claimed.n);
        let mut rng = Random::stream(31, claimed.n);
        let counts = fit::tally(&edges, 100_000, || sampled.sample(&mut rng));
        let mass = |m: &u64| claimed.mass_of_first(*m);
        let masses: Vec<f64> = [0]
            .iter()
            .chain(&edges)
            .zip(&edges)
            .map(|(low, high)| mass(high) - mass(low))
            .collect();
        fit::deviate(&counts, &masses)
    }

    #[test]
    fn share_h_of_the_blocks_takes_the_rest_of_the_accesses() {
        let n = 1_000_000;
        let draws = 100_000;
        for (h, hot) in [
            (0.1, 100_000),
            (0.2, 200_000),
            (0.3, 300_000),
            (0.5, 500_000),
            (0.8, 800_000),
        ] {
            let law = Pareto::new(n, h);
            assert!((law.mass_of_first(hot) - (1.0 - h)).abs() < 1e-12, "h {h}");
            let mut rng = Random::stream(32, 0);
            let hits = (0..draws).filter(|_| law.sample(&mut rng) < hot).count();
            let (share, error) = (
                hits as f64 / f64::from(draws),
                (h * (1.0 - h) / f64::from(draws)).sqrt(),
            );
            assert!(
                (share - (1.0 - h)).abs() < fit::SIGMAS * error,
                "h {h}: {share}"
            );
        }
    }

    #[test]
    fn the_rule_repeats_inside_the_hot_share() {
        let law = Pareto::new(1_000_000, 0.2);
        assert!((law.mass_of_first(40_000) - 0.64).abs() < 1e-12);
        assert!((law.mass_of_first(8_000) - 0.512).abs() < 1e-12);
    }

    #[test]
    fn samples_follow_the_law_for_every_share_and_size() {
        for h in SHARES {
            for n in SIZES {
                let law = Pareto::new(n, h);
                let deviate = deviate_from(&law, &law);
                assert!(deviate.abs() < fit::SIGMAS, "h {h}, n {n}: {deviate}");
            }
        }
    }

    #[test]
    fn a_share_off_by_a_hundredth_is_noticed() {
        assert!(
            deviate_from(&Pareto::new(1_000_000, 0.21), &Pareto::new(1_000_000, 0.2)) > fit::SIGMAS
        );
    }

    #[test]
    fn one_half_is_uniform() {
        let law = Pareto::new(1000, 0.5);
        assert!((0..=1000).all(|m| (law.mass_of_first(m) - m as f64 / 1000.0).abs() < 1e-15));
    }

    #[test]
    fn mass_grows_from_nothing_to_all() {
        for h in SHARES {
            let law = Pareto::new(1000, h);
            let mass: Vec<f64> = (0..=1000).map(|m| law.mass_of_first(m)).collect();
            assert_eq!(
                (mass[0], mass[1000], law.mass_of_first(u64::MAX)),
                (0.0, 1.0, 1.0)
            );
            assert!(mass.windows(2).all(|pair| pair[0] < pair[1]), "h {h}");
        }
    }

    #[test]
    fn the_end_blocks_of_a_small_range_are_reached() {
        for h in [0.1, 0.2, 0.3, 0.5, 0.6] {
            for n in [1, 2, 3, 5, 8, 16] {
                let law = Pareto::new(n, h);
                for block in [0, n - 1] {
                    let mass = law.mass_of_first(block + 1) - law.mass_of_first(block);
                    // Missing it in 30 times the mean wait has probability e^-30.
                    let patience = block_of(30.0 / mass, u64::MAX);
                    let mut rng = Random::stream(33, n);
                    assert!(
                        (0..patience).any(|_| law.sample(&mut rng) == block),
                        "h {h}, n {n}, block {block}"
                    );
                }
            }
        }
    }

    #[test]
    fn extreme_shares_stay_in_range() {
        let mut rng = Random::stream(34, 0);
        for h in [f64::MIN_POSITIVE, 1e-9, 1.0 - f64::EPSILON] {
            let law = Pareto::new(26_000_000, h);
            assert!(
                (0..1000).all(|_| law.sample(&mut rng) < 26_000_000),
                "h {h}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "hot share 1")]
    fn a_hot_share_of_everything_is_refused() {
        Pareto::new(10, 1.0);
    }
}
