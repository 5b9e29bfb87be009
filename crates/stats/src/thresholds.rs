//! The p-values that a look must reach, so that all looks together err with probability alpha.

use crate::signed_rank::SignedRankLaw;
use crate::special::{normal_quantile, normal_two_sided};
use crate::spending::{FIRST_LOOK, Spending};
use units::random::Random;

mod shipped;

/// The blocks after which an open-ended comparison of two arms is looked at; each further look
/// comes after 1.25 times the blocks of the last.
pub const LOOKS: [u32; 12] = [8, 10, 12, 15, 19, 24, 30, 37, 46, 58, 72, 90];

/// Ranks are simulated up to this many units. Beyond, the statistic's normal score is carried on as
/// the Gaussian walk that it converges to (its correlation between n and m units tends to
/// sqrt(n/m)); a test compares the two.
const RANKED_UP_TO: u32 = 60;
const SHIPPED_RANKED_UP_TO: u32 = 220;

const SHIPPED_SEED: u64 = 20_260_201;
const SHIPPED_PATHS: u32 = 1_000_000;
const SHIPPED_ALPHA: f64 = 0.05;
const SHIPPED_FAMILY: u32 = 8;
const SHIPPED_LOOKS: usize = 22;
const PATHS: u32 = 100_000;

/// A threshold cannot exceed the budget spent by its look, except by the chance of the simulation:
/// no p above so many budgets is looked at.
const CONCEIVABLE: f64 = 1.5;

/// The looks of an experiment with the largest p that decides at each, for one comparison and for
/// the members of a Holm family.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    looks: Vec<u32>,
    /// `by_undecided[j - 1][k]`: the threshold at look k for error alpha / j.
    by_undecided: Vec<Vec<f64>>,
}

impl Thresholds {
    /// The open rule on [`LOOKS`] and its continuation up to 841 blocks, for 1 to 8 undecided
    /// comparisons at alpha = 5 %: the table that ships with this crate.
    #[must_use]
    pub fn open() -> Self {
        Self {
            looks: open_looks(SHIPPED_LOOKS),
            by_undecided: shipped::OPEN.iter().map(|row| row.to_vec()).collect(),
        }
    }

    /// The generator of the table behind [`Thresholds::open`]; takes a few seconds.
    #[must_use]
    pub fn regenerate_open() -> Self {
        let looks = open_looks(SHIPPED_LOOKS);
        simulate(
            NullPaths::new(&looks, SHIPPED_PATHS, SHIPPED_SEED, SHIPPED_RANKED_UP_TO),
            Spending::Open,
            SHIPPED_ALPHA,
            SHIPPED_FAMILY,
        )
    }

    /// Thresholds for any rising grid of looks, any rule and alpha, and up to `family` undecided
    /// comparisons, by simulation with 100,000 seeded paths (about a second). Adding looks at
    /// the end leaves the others unchanged, unless the rule has a horizon.
    ///
    /// # Panics
    /// If `looks` does not rise or `family` is 0.
    #[must_use]
    pub fn calibrated(looks: &[u32], rule: Spending, alpha: f64, family: u32) -> Self {
        simulate(
            NullPaths::new(looks, PATHS, SHIPPED_SEED, RANKED_UP_TO),
            rule,
            alpha,
            family,
        )
    }

    /// `--horizon N`: the looks of [`LOOKS`] and its continuation below `horizon`, and the horizon
    /// itself.
    #[must_use]
    pub fn horizon(horizon: u32, alpha: f64, family: u32) -> Self {
        let mut looks: Vec<u32> = open_looks(40)
            .into_iter()
            .take_while(|n| *n < horizon)
            .collect();
        looks.push(horizon);
        Self::calibrated(&looks, Spending::Horizon(horizon), alpha, family)
    }

    /// A matrix that is looked at after every pass: `configs` units, `2 configs`, …, `passes
    /// configs`, open rule.
    #[must_use]
    pub fn matrix(configs: u32, passes: u32, alpha: f64, family: u32) -> Self {
        let looks: Vec<u32> = (1..=passes).map(|pass| pass * configs).collect();
        Self::calibrated(&looks, Spending::Open, alpha, family)
    }

    /// `--blocks N`: one look, p <= alpha / undecided.
    #[must_use]
    pub fn fixed(blocks: u32, alpha: f64, family: u32) -> Self {
        Self {
            looks: vec![blocks],
            by_undecided: (1..=family).map(|j| vec![alpha / f64::from(j)]).collect(),
        }
    }

    /// The units at which the experiment may be looked at, ascending.
    #[must_use]
    pub fn looks(&self) -> &[u32] {
        &self.looks
    }

    /// The most comparisons that may be undecided.
    #[must_use]
    pub fn family(&self) -> usize {
        self.by_undecided.len()
    }

    /// The threshold at a look of exactly `n` units with `undecided` comparisons left; `None` if n
    /// is no look of this grid or nothing can be decided there. The interval to report is the
    /// one at level 1 - threshold.
    #[must_use]
    pub fn at(&self, n: usize, undecided: usize) -> Option<f64> {
        let look = self
            .looks
            .iter()
            .position(|look| usize::try_from(*look) == Ok(n))?;
        let threshold = *self
            .by_undecided
            .get(undecided.checked_sub(1)?)?
            .get(look)?;
        (threshold > 0.0).then_some(threshold)
    }

    /// The last look at or before `n` units: what an experiment that was stopped in between may
    /// still be judged by.
    #[must_use]
    pub fn last_look(&self, n: usize) -> Option<usize> {
        self.looks
            .iter()
            .filter_map(|look| usize::try_from(*look).ok())
            .take_while(|look| *look <= n)
            .last()
    }

    /// The next look after `n` units.
    #[must_use]
    pub fn next_look(&self, n: usize) -> Option<usize> {
        self.looks
            .iter()
            .filter_map(|look| usize::try_from(*look).ok())
            .find(|look| *look > n)
    }
}

/// The passes after which a matrix of so many rows may be looked at: every one, as soon as its blocks
/// of all rows together are as many as the first look needs.
#[must_use]
pub fn pass_looks(rows: u32, passes: u32) -> Vec<u32> {
    let is_enough = |pass: &u32| pass.saturating_mul(rows) >= FIRST_LOOK;
    (1..=passes).filter(is_enough).collect()
}

/// [`LOOKS`], continued by a factor of 1.25 rounded to the nearest integer.
#[must_use]
pub fn open_looks(count: usize) -> Vec<u32> {
    let further =
        std::iter::successors(Some(LOOKS[LOOKS.len() - 1]), |n| Some((5 * n + 2) / 4)).skip(1);
    LOOKS.into_iter().chain(further).take(count).collect()
}

/// Monte Carlo on the joint null of the signed-rank p-values: at each look the largest threshold
/// that does not overspend, among the paths that no earlier look decided. The first look that can
/// decide is not simulated: there p itself is the error. A threshold never exceeds that of the next
/// larger alpha, which Holm's step needs and costs nothing: what is not spent stays available to
/// later looks.
fn simulate(mut null: NullPaths<'_>, rule: Spending, alpha: f64, family: u32) -> Thresholds {
    assert!(family > 0, "a family of no comparisons has no thresholds");
    let (looks, paths) = (null.looks, null.paths);
    let mut by_undecided = vec![vec![0.0; looks.len()]; family as usize];
    let mut alive = vec![vec![true; paths as usize]; family as usize];
    let mut spent = vec![0.0; family as usize];
    for (k, n) in looks.iter().enumerate() {
        let p = null.p_values(k, CONCEIVABLE * alpha);
        let mut ceiling = f64::INFINITY;
        for j in 0..family as usize {
            let budget = rule.spent(alpha / (j as f64 + 1.0), *n) - spent[j];
            let first = spent[j] == 0.0;
            let within = if first {
                null.largest_attainable(*n, budget)
            } else {
                largest_within(&p, &alive[j], budget, spent[j])
            };
            let threshold = five_digits_up(within).min(ceiling);
            ceiling = threshold;
            by_undecided[j][k] = threshold;
            let decided = alive[j]
                .iter_mut()
                .zip(&p)
                .filter(|(alive, p)| **alive && **p <= threshold)
                .map(|(alive, _)| *alive = false)
                .count();
            spent[j] += if first {
                threshold
            } else {
                decided as f64 / f64::from(paths)
            };
        }
    }
    Thresholds {
        looks: looks.to_vec(),
        by_undecided,
    }
}

/// The largest p-value such that no more than a share `budget` of the paths are living and at or
/// below it. The paths that are at or below it, living or not, are then at most `budget + spent`,
/// so p itself is no more but for chance.
fn largest_within(p: &[f64], alive: &[bool], budget: f64, spent: f64) -> f64 {
    let conceivable = CONCEIVABLE * (budget + spent);
    let mut small: Vec<f64> = p
        .iter()
        .zip(alive)
        .filter(|(p, alive)| **alive && **p < conceivable)
        .map(|(p, _)| *p)
        .collect();
    small.sort_unstable_by(f64::total_cmp);
    let mut within = 0.0;
    let mut at_or_below = 0;
    for group in small.chunk_by(|a, b| a == b) {
        at_or_below += group.len();
        if at_or_below as f64 > budget * p.len() as f64 {
            break;
        }
        within = group[0];
    }
    within
}

/// The points of the discrete law lie further apart than five digits, so rounding decides nothing;
/// it makes the table independent of the last bits of a platform's `exp`.
fn five_digits_up(p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the decimal exponent of a p-value above 1e-300"
    )]
    let scale = 10f64.powi(4 - p.log10().floor() as i32);
    let digits = (p * scale).ceil();
    if digits / scale >= p {
        digits / scale
    } else {
        (digits + 1.0) / scale
    }
}

/// The null experiments: for each, one stream of its own, so more looks never change the earlier
/// ones.
struct NullPaths<'a> {
    looks: &'a [u32],
    paths: u32,
    ranked_up_to: u32,
    statistics: Vec<Vec<f32>>,
}

impl<'a> NullPaths<'a> {
    fn new(looks: &'a [u32], paths: u32, seed: u64, ranked_up_to: u32) -> Self {
        assert!(
            looks.windows(2).all(|pair| pair[0] < pair[1]),
            "looks must rise: {looks:?}"
        );
        let mut statistics = vec![Vec::with_capacity(paths as usize); looks.len()];
        let last_ranked = looks
            .iter()
            .copied()
            .filter(|n| *n <= ranked_up_to)
            .max()
            .unwrap_or(0);
        let scores = normal_scores(last_ranked);
        let mut keys = Vec::new();
        for path in 0..paths {
            let mut rng = Random::of(&[seed, u64::from(path)]);
            keys.clear();
            let mut walk = (last_ranked, 0.0f64);
            for (look, n) in statistics.iter_mut().zip(looks) {
                look.push(if *n <= ranked_up_to {
                    while keys.len() < *n as usize {
                        keys.push(rng.bits());
                    }
                    let w_plus = rank_sum_of_odd(&mut keys);
                    if *n == last_ranked {
                        walk.1 = scores
                            [usize::try_from(w_plus).expect("a rank sum of at most 220 units")];
                    }
                    w_plus as f32
                } else {
                    let (from, z) = walk;
                    let (before, after) = (f64::from(from), f64::from(*n));
                    walk = (
                        *n,
                        (before.sqrt() * z + (after - before).sqrt() * rng.normal()) / after.sqrt(),
                    );
                    single(walk.1)
                });
            }
        }
        Self {
            looks,
            paths,
            ranked_up_to,
            statistics,
        }
    }

    /// The largest p-value within `budget` that `n` units can give.
    fn largest_attainable(&self, n: u32, budget: f64) -> f64 {
        if n > self.ranked_up_to {
            return budget.max(0.0);
        }
        let law = SignedRankLaw::of(n as usize);
        law.critical(budget)
            .checked_sub(1)
            .map_or(0.0, |w| law.two_sided(w))
    }

    /// The two-sided p-values at look k, in the order of the paths; those of the walk above
    /// `largest`, which nobody will ask for, are 1.
    fn p_values(&mut self, k: usize, largest: f64) -> Vec<f64> {
        let n = self.looks[k];
        let statistics = std::mem::take(&mut self.statistics[k]);
        if n < FIRST_LOOK {
            return vec![1.0; statistics.len()];
        }
        if n > self.ranked_up_to {
            let uninteresting = normal_quantile(1.0 - 0.5 * largest.min(1.0));
            let p = |z: f64| {
                if z.abs() < uninteresting {
                    1.0
                } else {
                    normal_two_sided(z)
                }
            };
            return statistics.into_iter().map(|z| p(f64::from(z))).collect();
        }
        let law = SignedRankLaw::of(n as usize);
        let table: Vec<f64> = (0..=law.largest()).map(|w| law.two_sided(w)).collect();
        statistics
            .into_iter()
            .map(|w| table[crate::sample::floor_index(f64::from(w))])
            .collect()
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a simulated normal score needs no more than seven digits"
)]
fn single(z: f64) -> f32 {
    z as f32
}

/// For each value of W+ the standard normal number at the same place of its law.
fn normal_scores(n: u32) -> Vec<f64> {
    let law = SignedRankLaw::of(n as usize);
    let middle = |w: u64| 0.5 * (law.cdf(w) + if w == 0 { 0.0 } else { law.cdf(w - 1) });
    let lower: Vec<f64> = (0..=law.largest() / 2)
        .map(|w| normal_quantile(middle(w).min(0.5)))
        .collect();
    (0..=law.largest())
        .map(|w| {
            if w < lower.len() as u64 {
                w
            } else {
                law.largest() - w
            }
        })
        .zip(0..)
        .map(|(nearer, w): (u64, u64)| {
            lower[usize::try_from(nearer).expect("an index of `lower`")]
                * if nearer == w { 1.0 } else { -1.0 }
        })
        .collect()
}

/// W+ of one null experiment: each key is a magnitude in its upper 63 bits and a sign in the
/// lowest.
fn rank_sum_of_odd(keys: &mut [u64]) -> u64 {
    keys.sort_unstable();
    (1..)
        .zip(keys.iter())
        .map(|(rank, key): (u64, _)| rank * (key & 1))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_grid_goes_on_by_a_factor_of_1_25() {
        assert_eq!(open_looks(17)[11..], [90, 113, 141, 176, 220, 275]);
        assert_eq!(Thresholds::open().looks().last(), Some(&841));
    }

    #[test]
    fn the_shipped_table_agrees_with_the_reference_simulation() {
        // 100,000 paths of numpy, alpha 5 %: independent paths, so both tables carry Monte Carlo
        // error and steps of the discrete law.
        let reference = [
            0.0078, 0.0059, 0.0093, 0.0103, 0.0095, 0.0087, 0.0071, 0.0065, 0.0051, 0.0046, 0.0038,
            0.0034,
        ];
        let open = Thresholds::open();
        for (n, expected) in LOOKS.into_iter().zip(reference) {
            let found = open.at(n as usize, 1).unwrap();
            assert!(
                (found / expected - 1.0).abs() < 0.13,
                "look {n}: {found} against {expected}"
            );
        }
    }

    #[test]
    fn a_threshold_never_rises_with_the_number_undecided() {
        for row in Thresholds::open().by_undecided.windows(2) {
            assert!(
                row[0].iter().zip(&row[1]).all(|(few, many)| many <= few),
                "{row:?}"
            );
        }
    }

    #[test]
    fn a_small_run_of_the_generator_comes_close_to_the_shipped_table() {
        let small = simulate(
            NullPaths::new(&open_looks(6), 20_000, 99, RANKED_UP_TO),
            Spending::Open,
            0.05,
            2,
        );
        let shipped = Thresholds::open();
        for n in [8, 10, 12, 15, 19, 24] {
            let (a, b) = (small.at(n, 1).unwrap(), shipped.at(n, 1).unwrap());
            assert!((a / b - 1.0).abs() < 0.3, "look {n}: {a} {b}");
        }
    }

    #[test]
    fn the_generator_repeats_itself_and_more_looks_change_no_earlier_one() {
        let run = |looks: &[u32]| {
            simulate(
                NullPaths::new(looks, 3000, 7, RANKED_UP_TO),
                Spending::Open,
                0.05,
                3,
            )
        };
        let (few, more) = (run(&[20, 40, 60]), run(&[20, 40, 60, 80, 240, 300]));
        assert_eq!(few, run(&[20, 40, 60]));
        for (few, more) in few.by_undecided.iter().zip(&more.by_undecided) {
            assert_eq!(few[..], more[..3]);
        }
    }

    #[test]
    #[ignore = "regenerates the shipped table: 1,000,000 paths"]
    fn the_shipped_table_is_reproduced_bit_for_bit() {
        assert_eq!(Thresholds::regenerate_open(), Thresholds::open());
    }

    #[test]
    fn fresh_null_paths_are_rejected_at_most_5_percent_of_the_time() {
        let open = Thresholds::open();
        let looks = open_looks(SHIPPED_LOOKS);
        let paths = 20_000;
        let mut null = NullPaths::new(&looks, paths, 4711, RANKED_UP_TO);
        let mut rejected = vec![false; paths as usize];
        for (k, n) in looks.iter().enumerate() {
            let threshold = open.at(*n as usize, 1).unwrap();
            for (rejected, p) in rejected.iter_mut().zip(null.p_values(k, 1.0)) {
                *rejected |= p <= threshold;
            }
        }
        let rate = rejected.iter().filter(|r| **r).count() as f64 / f64::from(paths);
        let budget = Spending::Open.spent(0.05, 841);
        assert!(
            rate < budget + 0.005 && rate > budget - 0.008,
            "{rate} of {budget}"
        );
    }

    #[test]
    fn thresholds_beyond_60_units_hold_for_real_ranks() {
        let looks = [40, 80, 120, 160, 200];
        let walked = simulate(
            NullPaths::new(&looks, 60_000, 8, 60),
            Spending::Open,
            0.05,
            1,
        );
        let mut ranked = NullPaths::new(&looks, 20_000, 9, 200);
        let mut rejected = vec![false; 20_000];
        for (k, n) in looks.iter().enumerate() {
            let threshold = walked.at(*n as usize, 1).unwrap();
            rejected
                .iter_mut()
                .zip(ranked.p_values(k, 1.0))
                .for_each(|(rejected, p)| *rejected |= p <= threshold);
        }
        let rate = rejected.iter().filter(|r| **r).count() as f64 / 20_000.0;
        let budget = Spending::Open.spent(0.05, 200);
        assert!((rate - budget).abs() < 0.006, "{rate} of {budget}");
    }

    #[test]
    fn a_matrix_is_looked_at_after_every_pass_that_has_the_blocks_of_a_first_look() {
        assert_eq!(pass_looks(20, 3), [1, 2, 3]);
        assert_eq!(pass_looks(3, 5), [3, 4, 5]);
        assert_eq!(pass_looks(1, 9), [8, 9]);
        let matrix = Thresholds::matrix(3, 5, 0.05, 1);
        let decides = |pass: usize| matrix.at(3 * pass, 1).is_some();
        assert_eq!(
            [1, 2, 3, 4, 5].map(decides),
            [false, false, true, true, true]
        );
    }

    #[test]
    fn looks_are_found_and_what_lies_between_is_none() {
        let open = Thresholds::open();
        assert_eq!(
            (
                open.at(9, 1),
                open.at(8, 0),
                open.at(8, 9),
                open.last_look(7)
            ),
            (None, None, None, None)
        );
        assert_eq!(
            (open.last_look(11), open.next_look(11), open.next_look(841)),
            (Some(10), Some(12), None)
        );
        assert_eq!(
            open.at(8, 2),
            None,
            "p = 2/256 does not fit into half of the first budget"
        );
        assert_eq!(Thresholds::fixed(30, 0.05, 2).at(30, 2), Some(0.025));
    }

    #[test]
    fn a_horizon_is_the_last_look_and_spends_more_there_than_the_open_rule() {
        let horizon = simulate(
            NullPaths::new(&[8, 10, 12, 15, 19, 24, 30], 20_000, 5, RANKED_UP_TO),
            Spending::Horizon(30),
            0.05,
            1,
        );
        assert!(horizon.at(30, 1).unwrap() > 2.0 * Thresholds::open().at(30, 1).unwrap());
    }

    proptest! {
        #[test]
        fn rounding_up_to_five_digits_stays_at_or_above(p in 1e-12f64..0.06) {
            let up = five_digits_up(p);
            prop_assert!(up >= p && up <= p * 1.000_11);
        }
    }
}
