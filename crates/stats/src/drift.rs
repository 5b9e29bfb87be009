use crate::rank_tests::{friedman, mann_whitney};
use crate::ranks::ranks;
use crate::sample::{mean, variance};
use crate::special::f_upper;
use crate::trend::{mann_kendall, runs_test, theil_sen_change};
use std::collections::BTreeMap;
use units::random::Random;

/// One complete block as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRun {
    pub config: usize,
    /// (arm, logarithm of the metric) in the order in time.
    pub slots: Vec<(usize, f64)>,
}

/// What the machine did over the experiment. Each p is two-sided, to be held against 1 %; `None`
/// where the data do not allow the test.
///
/// Randomised blocks make the comparison valid under all of this; it says whether absolute numbers
/// are portable and what disturbed them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Variance of block levels over what the spread within blocks explains: about 1 on a quiet
    /// machine, and the p of the F test.
    pub variance_ratio: Option<f64>,
    pub variance_p: Option<f64>,
    /// Theil-Sen change of the block level over the run, as the logarithm of a ratio.
    pub change: Option<f64>,
    /// Mann-Kendall on block levels.
    pub trend_p: Option<f64>,
    /// Runs test on block levels.
    pub runs_p: Option<f64>,
    /// Friedman on the position in the block: interference in step with the blocks, clean-up
    /// before each.
    pub position_p: Option<f64>,
    /// Mann-Whitney on the spread within blocks, first against second half.
    pub spread_p: Option<f64>,
    /// Does it matter which arm ran before: carry-over.
    pub predecessor_p: Option<f64>,
}

/// |change| above 10 %: ratios are valid, absolute numbers are not portable.
pub const PORTABLE_CHANGE: f64 = 0.10;

/// Diagnoses complete blocks of the same arms, in the order in time. Effects of arms and levels of
/// configurations are taken out first.
#[must_use]
pub fn drift(blocks: &[BlockRun]) -> Drift {
    let residuals = Residuals::of(blocks);
    let levels = residuals.levels.as_slice();
    let spreads: Vec<f64> = residuals
        .within
        .iter()
        .map(|r| 0.5 * (variance(r) + 1e-24).ln())
        .collect();
    let (first, second) = spreads.split_at(spreads.len() / 2);
    let f = residuals.variance_ratio(blocks);
    Drift {
        variance_ratio: f.map(|(ratio, _)| ratio),
        variance_p: f.map(|(_, p)| p),
        change: theil_sen_change(levels),
        trend_p: mann_kendall(levels),
        runs_p: runs_test(levels),
        position_p: friedman(&residuals.within),
        spread_p: mann_whitney(first, second),
        predecessor_p: predecessor_test(blocks),
    }
}

/// Blocks without the effects of their arms: the level of each, less that of its configuration, and
/// the rest of each slot in the order in time.
struct Residuals {
    levels: Vec<f64>,
    within: Vec<Vec<f64>>,
}

impl Residuals {
    fn of(blocks: &[BlockRun]) -> Self {
        let effects = group_means(blocks.iter().flat_map(|b| {
            let level = b.level();
            b.slots.iter().map(move |(arm, y)| (*arm, y - level))
        }));
        let configs = group_means(blocks.iter().map(|b| (b.config, b.level())));
        let within = blocks
            .iter()
            .map(|b| {
                b.slots
                    .iter()
                    .map(|(arm, y)| y - b.level() - effects[arm])
                    .collect()
            })
            .collect();
        Self {
            levels: blocks
                .iter()
                .map(|b| b.level() - configs[&b.config])
                .collect(),
            within,
        }
    }

    /// K times the variance of block levels over the variance within blocks, and its p (one-way
    /// analysis of variance over blocks).
    fn variance_ratio(&self, blocks: &[BlockRun]) -> Option<(f64, f64)> {
        let k = blocks.first()?.slots.len();
        let configs = group_means(blocks.iter().map(|b| (b.config, 0.0))).len();
        if k < 2 || blocks.len() <= configs || blocks.iter().any(|b| b.slots.len() != k) {
            return None;
        }
        let (between_df, within_df) = (
            (blocks.len() - configs) as f64,
            ((blocks.len() - 1) * (k - 1)) as f64,
        );
        let between = k as f64 * self.levels.iter().map(|l| l * l).sum::<f64>() / between_df;
        let within = self.within.iter().flatten().map(|r| r * r).sum::<f64>() / within_df;
        let ratio = between / within;
        ratio
            .is_finite()
            .then(|| (ratio, f_upper(ratio, between_df, within_df)))
    }
}

impl BlockRun {
    fn level(&self) -> f64 {
        mean(&self.slots.iter().map(|(_, y)| *y).collect::<Vec<_>>())
    }
}

fn group_means(values: impl Iterator<Item = (usize, f64)>) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (group, value) in values {
        let entry = sums.entry(group).or_default();
        *entry = (entry.0 + value, entry.1 + 1.0);
    }
    sums.into_iter()
        .map(|(group, (sum, n))| (group, sum / n))
        .collect()
}

/// The p of "the arm that ran before does not matter"; `None` where there are not two groups of at
/// least three to compare.
///
/// With two arms: among blocks that began with the same arm, block differences by the last arm of
/// the block before (within a block the predecessor is the partner and says nothing), Mann-Whitney,
/// Bonferroni over the two arms. With more: ranks of all slots, without the effects of arms and
/// blocks, by predecessor; their Kruskal-Wallis sum of squares is held against 999 seeded redraws
/// of the orders within the blocks, because deviations from a block sum to zero and no textbook law
/// fits them.
#[must_use]
pub fn predecessor_test(blocks: &[BlockRun]) -> Option<f64> {
    let arms = blocks.iter().map(|b| b.slots.len()).min()?;
    if arms > 2 {
        predecessor_of_many(blocks)
    } else {
        predecessor_of_two(blocks)
    }
}

fn predecessor_of_two(blocks: &[BlockRun]) -> Option<f64> {
    let mut by_first: BTreeMap<usize, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for pair in blocks.windows(2) {
        if let (Some((before, _)), Some((arm, y))) = (pair[0].slots.last(), pair[1].slots.first()) {
            by_first
                .entry(*arm)
                .or_default()
                .entry(*before)
                .or_default()
                .push(y - pair[1].level());
        }
    }
    let p: Vec<f64> = by_first
        .into_values()
        .map(|groups| {
            groups
                .into_values()
                .filter(|g| g.len() >= 3)
                .collect::<Vec<_>>()
        })
        .filter_map(|groups| {
            if groups.len() == 2 {
                mann_whitney(&groups[0], &groups[1])
            } else {
                None
            }
        })
        .collect();
    p.iter()
        .copied()
        .reduce(f64::min)
        .map(|least| (least * p.len() as f64).min(1.0))
}

fn predecessor_of_many(blocks: &[BlockRun]) -> Option<f64> {
    const REDRAWS: u32 = 999;
    if blocks.len() < 3 {
        return None;
    }
    let all = ranks(&Residuals::of(blocks).within.concat());
    let mut orders: Vec<Vec<usize>> = blocks
        .iter()
        .map(|b| b.slots.iter().map(|(arm, _)| *arm).collect())
        .collect();
    let arms = 1 + orders.iter().flatten().copied().max()?;
    let observed = squares_by_predecessor(&orders, &all.ranks, arms);
    let mut rng = Random::new(u64::from(REDRAWS));
    let mut as_large = 1u32;
    for _ in 0..REDRAWS {
        orders.iter_mut().for_each(|order| rng.shuffle(order));
        as_large += u32::from(squares_by_predecessor(&orders, &all.ranks, arms) >= observed);
    }
    Some(f64::from(as_large) / f64::from(REDRAWS + 1))
}

/// Sum over predecessors of n times the squared distance of their slots' mean rank to the mean of
/// all; slots after their own arm are left out.
fn squares_by_predecessor(orders: &[Vec<usize>], ranks: &[f64], arms: usize) -> f64 {
    let centre = 0.5 * (ranks.len() as f64 + 1.0);
    let mut sums = vec![(0.0, 0.0); arms];
    let mut before = None;
    for (arm, rank) in orders.iter().flatten().zip(ranks) {
        if let Some(before) = before.filter(|b| b != arm) {
            let (sum, n) = &mut sums[before];
            *sum += rank - centre;
            *n += 1.0;
        }
        before = Some(*arm);
    }
    sums.into_iter()
        .filter(|(_, n)| *n > 0.0)
        .map(|(sum, n)| sum * sum / n)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Disturbance, matrix};

    fn blocks(
        what: Disturbance,
        configs: usize,
        passes: usize,
        effects: &[f64],
        rng: &mut Random,
    ) -> Vec<BlockRun> {
        let slots = matrix(what, configs, passes, 0.15, effects, rng);
        let block = |b: &[crate::simulate::SlotRun]| BlockRun {
            config: b[0].config,
            slots: b.iter().map(|s| (s.arm, s.log_level)).collect(),
        };
        slots.chunks_exact(effects.len()).map(block).collect()
    }

    fn share(what: Disturbance, flagged: impl Fn(&Drift) -> bool) -> f64 {
        let mut rng = Random::of(&[17, what as u64]);
        (0..60)
            .filter(|_| {
                flagged(&drift(&blocks(
                    what,
                    4,
                    20,
                    &[0.0, 0.0, -0.3, 0.2, 0.0, 0.0, 0.0],
                    &mut rng,
                )))
            })
            .count() as f64
            / 60.0
    }

    fn below_1_percent(p: Option<f64>) -> bool {
        p.is_some_and(|p| p < 0.01)
    }

    #[test]
    fn each_disturbance_is_seen_by_the_test_that_is_for_it() {
        assert_eq!(
            share(Disturbance::Decline, |d| below_1_percent(d.trend_p)
                && below_1_percent(d.runs_p)
                && below_1_percent(d.variance_p)),
            1.0
        );
        assert!(
            share(Disturbance::Decline, |d| d.change.is_some_and(|c| (c
                .exp()
                - 0.34)
                .abs()
                < 0.08))
                > 0.95
        );
        assert!(
            share(Disturbance::InStepWithBlocks, |d| below_1_percent(
                d.position_p
            )) > 0.95
        );
        assert!(share(Disturbance::Sawtooth, |d| below_1_percent(d.position_p)) > 0.95);
        assert!(share(Disturbance::GrowingNoise, |d| below_1_percent(d.spread_p)) > 0.95);
        assert!(share(Disturbance::Autocorrelated, |d| below_1_percent(d.runs_p)) > 0.9);
        assert!(share(Disturbance::CarryOver, |d| below_1_percent(d.predecessor_p)) > 0.5);
    }

    #[test]
    fn a_quiet_machine_with_unequal_arms_raises_no_flag_beyond_its_level() {
        let every = [
            |d: &Drift| d.variance_p,
            |d: &Drift| d.trend_p,
            |d: &Drift| d.runs_p,
            |d: &Drift| d.position_p,
            |d: &Drift| d.spread_p,
            |d: &Drift| d.predecessor_p,
        ];
        for p in every {
            assert!(share(Disturbance::Quiet, |d| below_1_percent(p(d))) <= 0.05);
        }
        assert!(
            share(Disturbance::Quiet, |d| d
                .variance_ratio
                .is_some_and(|r| (0.5..2.0).contains(&r)))
                > 0.95
        );
    }

    #[test]
    fn carry_over_between_two_arms_is_seen_in_90_blocks() {
        // The arm after the other is 8 % slower at CV 5 %: the reference simulation flags 93 % at 5
        // %.
        let mut rng = Random::new(23);
        let flagged = (0..60).filter(|_| {
            let slots = matrix(Disturbance::CarryOver, 1, 90, 0.05, &[0.0, 0.0], &mut rng);
            let blocks: Vec<BlockRun> = slots
                .chunks_exact(2)
                .map(|b| BlockRun {
                    config: 0,
                    slots: b.iter().map(|s| (s.arm, s.log_level)).collect(),
                })
                .collect();
            predecessor_test(&blocks).is_some_and(|p| p < 0.05)
        });
        let flagged = flagged.count();
        assert!(flagged >= 48, "{flagged} of 60");
    }

    #[test]
    fn predecessors_of_identical_slots_are_flagged_at_the_level_of_the_test() {
        for arms in [2, 3, 7] {
            let mut rng = Random::of(&[29, arms]);
            let effects = vec![0.0; usize::try_from(arms).unwrap()];
            let p = (0..400).filter_map(|_| {
                predecessor_test(&blocks(Disturbance::Quiet, 2, 10, &effects, &mut rng))
            });
            let (flagged, all) = p.fold((0, 0), |(flagged, all), p| {
                (flagged + i32::from(p < 0.05), all + 1)
            });
            assert!(
                all > 350 && (6..=34).contains(&flagged),
                "{arms} arms: {flagged} of {all} at 5 %"
            );
        }
    }

    #[test]
    fn too_little_data_gives_no_p_and_no_panic() {
        let none = drift(&[]);
        assert_eq!(
            (
                none.variance_p,
                none.change,
                none.position_p,
                none.predecessor_p
            ),
            (None, None, None, None)
        );
        let one = drift(&[BlockRun {
            config: 0,
            slots: vec![(0, 1.0), (1, 1.1)],
        }]);
        assert_eq!(
            (one.variance_p, one.trend_p, one.predecessor_p),
            (None, None, None)
        );
    }
}
