//! Machines with a known truth: the disturbances under which the promises of this crate are tested.
//!
//! Everything is the logarithm of a throughput. What happens in a time slot does not depend on the
//! arm that runs there, except through its true effect (and carry-over), so two arms without effect
//! are identical in the strictest sense.

use units::random::Random;

/// What the machine does besides noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    Quiet,
    /// Log-linear decline by a factor of 3 over the run.
    Decline,
    /// Random walk, standard deviation 0.5 at the end.
    RandomWalk,
    /// One step by -40 % somewhere in the middle 80 %.
    Step,
    /// -30 % in every slot that is a multiple of the block length.
    InStepWithBlocks,
    /// -30 % in 9 of every 37 slots.
    Periodic37,
    /// Noise with autocorrelation 0.9.
    Autocorrelated,
    /// 2 % of the slots five times slower.
    Outliers,
    /// Noise that grows by a factor of 3.
    GrowingNoise,
    /// Clean-up before each block: +22 % in its first slot, decaying to nothing in its last.
    Sawtooth,
    /// The slot after the last arm is 8 % slower, unless it is that arm's own.
    CarryOver,
    /// Decline, walk, autocorrelation 0.5, busy 9 of 37 slots and 1 % outliers together.
    SeedLike,
}

impl Disturbance {
    pub const ALL: [Self; 12] = [
        Self::Quiet,
        Self::Decline,
        Self::RandomWalk,
        Self::Step,
        Self::InStepWithBlocks,
        Self::Periodic37,
        Self::Autocorrelated,
        Self::Outliers,
        Self::GrowingNoise,
        Self::Sawtooth,
        Self::CarryOver,
        Self::SeedLike,
    ];

    /// All but carry-over, which no randomisation removes.
    pub fn harmless() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|d| *d != Self::CarryOver)
    }
}

/// The standard deviation of the logarithm of a log-normal number with coefficient of variation
/// `cv`.
#[must_use]
pub fn sigma(cv: f64) -> f64 {
    (cv * cv).ln_1p().sqrt()
}

/// Log levels of `n` consecutive slots in blocks of `block`, noise included, effects excluded (and
/// without [`Disturbance::CarryOver`] and the decay of [`Disturbance::Sawtooth`], which depend on
/// the design).
#[must_use]
pub fn levels(what: Disturbance, n: usize, block: usize, cv: f64, rng: &mut Random) -> Vec<f64> {
    use Disturbance::{
        Autocorrelated, Decline, GrowingNoise, InStepWithBlocks, Outliers, Periodic37, RandomWalk,
        SeedLike, Step,
    };
    let last = n.saturating_sub(1).max(1) as f64;
    let phi: f64 = match_one(what, &[(Autocorrelated, 0.9), (SeedLike, 0.5)]);
    let walk_sd = match_one(what, &[(RandomWalk, 0.5), (SeedLike, 0.15)]) / (n as f64).sqrt();
    let outlier_rate = match_one(what, &[(Outliers, 0.02), (SeedLike, 0.01)]);
    let decline = match_one(what, &[(Decline, 3f64.ln()), (SeedLike, 3f64.ln())]);
    let busy_37 = matches!(what, Periodic37 | SeedLike);
    let (step_at, step_phase, phase_37) = (0.1 + 0.8 * rng.unit(), rng.index(block), rng.index(37));
    let (mut noise, mut walk) = (rng.normal(), 0.0);
    let mut level = |slot: usize| {
        let t = slot as f64 / last;
        noise = phi * noise + (1.0 - phi * phi).sqrt() * rng.normal();
        let mut x =
            sigma(cv) * noise * if what == GrowingNoise { 0.5 + t } else { 1.0 } - decline * t;
        if walk_sd > 0.0 {
            walk += walk_sd * rng.normal();
            x += walk;
        }
        if what == Step && t > step_at {
            x += 0.6f64.ln();
        }
        if (what == InStepWithBlocks && (slot + step_phase).is_multiple_of(block))
            || (busy_37 && (slot + phase_37) % 37 < 9)
        {
            x += 0.7f64.ln();
        }
        if outlier_rate > 0.0 && rng.unit() < outlier_rate {
            x -= 5f64.ln();
        }
        x
    };
    (0..n).map(&mut level).collect()
}

fn match_one(what: Disturbance, values: &[(Disturbance, f64)]) -> f64 {
    values
        .iter()
        .find(|(d, _)| *d == what)
        .map_or(0.0, |(_, value)| *value)
}

/// One simulated slot of a randomised complete block design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotRun {
    pub config: usize,
    pub arm: usize,
    pub log_level: f64,
}

/// A matrix of `passes` passes over `configs` configurations in blocks of one slot per arm, arms
/// and configurations in random order, as the slots ran in time. `effects[arm]` are logarithms of
/// ratios.
#[must_use]
pub fn matrix(
    what: Disturbance,
    configs: usize,
    passes: usize,
    cv: f64,
    effects: &[f64],
    rng: &mut Random,
) -> Vec<SlotRun> {
    let arms = effects.len();
    let heaviest = arms - 1;
    let base = levels(what, configs * passes * arms, arms, cv, rng);
    let mut out: Vec<SlotRun> = Vec::with_capacity(base.len());
    let mut order: Vec<usize> = (0..arms).collect();
    let mut config_order: Vec<usize> = (0..configs).collect();
    for _ in 0..passes {
        rng.shuffle(&mut config_order);
        for config in config_order.iter().copied() {
            rng.shuffle(&mut order);
            for (position, arm) in order.iter().copied().enumerate() {
                let mut log_level = base[out.len()] + effects[arm];
                if what == Disturbance::Sawtooth {
                    log_level += 0.2 * (1.0 - position as f64 / heaviest.max(1) as f64);
                }
                if what == Disturbance::CarryOver
                    && arm != heaviest
                    && out.last().is_some_and(|s| s.arm == heaviest)
                {
                    log_level += 0.92f64.ln();
                }
                out.push(SlotRun {
                    config,
                    arm,
                    log_level,
                });
            }
        }
    }
    out
}

/// Block differences `arm - arm 0` of a simulated matrix with `arms` arms, in the order in which
/// the blocks ran.
#[must_use]
pub fn differences(slots: &[SlotRun], arms: usize, arm: usize) -> Vec<f64> {
    let level = |block: &[SlotRun], arm: usize| {
        block
            .iter()
            .find(|s| s.arm == arm)
            .map_or(f64::NAN, |s| s.log_level)
    };
    slots
        .chunks_exact(arms)
        .map(|block| level(block, arm) - level(block, 0))
        .collect()
}

/// Block differences of `blocks` randomised pairs of a baseline and an arm with the true log ratio
/// `effect`.
#[must_use]
pub fn pairs(what: Disturbance, blocks: usize, cv: f64, effect: f64, rng: &mut Random) -> Vec<f64> {
    differences(&matrix(what, 1, blocks, cv, &[0.0, effect], rng), 2, 1)
}

/// A shape of the level within one slot, as a function of the second and the length in seconds.
pub type Shape = fn(f64, f64) -> f64;

/// One value a second: `exp(shape + 10 % noise)` with autocorrelation `phi`.
#[must_use]
pub fn seconds(length: usize, phi: f64, shape: Shape, rng: &mut Random) -> Vec<f64> {
    let mut noise = rng.normal();
    let mut second = |t: usize| {
        noise = phi * noise + (1.0 - phi * phi).sqrt() * rng.normal();
        (shape(t as f64, length as f64) + 0.10 * noise).exp()
    };
    (0..length).map(&mut second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{mean, variance};

    #[test]
    fn quiet_pairs_have_the_variance_of_two_runs_and_the_effect_as_mean() {
        let d = pairs(Disturbance::Quiet, 40_000, 0.15, -0.1, &mut Random::new(1));
        assert!(
            (mean(&d) + 0.1).abs() < 0.004
                && (variance(&d) / (2.0 * sigma(0.15).powi(2)) - 1.0).abs() < 0.04
        );
    }

    #[test]
    fn every_disturbance_moves_what_it_says() {
        let mut rng = Random::new(2);
        let mut run = |what| levels(what, 4000, 7, 0.01, &mut rng);
        let decline = run(Disturbance::Decline);
        assert!((decline[3999] - decline[0] + 3f64.ln()).abs() < 0.1);
        let low = |levels: &[f64]| levels.iter().filter(|x| **x < -0.2).count() as f64 / 4000.0;
        assert!((low(&run(Disturbance::InStepWithBlocks)) - 1.0 / 7.0).abs() < 0.001);
        assert!((low(&run(Disturbance::Periodic37)) - 9.0 / 37.0).abs() < 0.01);
        assert!((low(&run(Disturbance::Outliers)) - 0.02).abs() < 0.008);
        assert!((0.09..0.91).contains(&low(&run(Disturbance::Step))));
        let growing = run(Disturbance::GrowingNoise);
        assert!(variance(&growing[3000..]) > 4.0 * variance(&growing[..1000]));
        let slow = run(Disturbance::Autocorrelated);
        let rho = slow.windows(2).map(|w| w[0] * w[1]).sum::<f64>()
            / slow.iter().map(|x| x * x).sum::<f64>();
        assert!((rho - 0.9).abs() < 0.05, "{rho}");
    }

    #[test]
    fn a_matrix_runs_every_arm_once_a_block_and_carry_over_follows_the_heaviest() {
        let slots = matrix(
            Disturbance::CarryOver,
            3,
            50,
            1e-9,
            &[0.0; 4],
            &mut Random::new(3),
        );
        for block in slots.chunks_exact(4) {
            let mut arms: Vec<usize> = block.iter().map(|s| s.arm).collect();
            arms.sort_unstable();
            assert!(arms == [0, 1, 2, 3] && block.iter().all(|s| s.config == block[0].config));
        }
        for pair in slots.windows(2) {
            assert_eq!(
                pair[1].log_level < -0.05,
                pair[0].arm == 3 && pair[1].arm != 3
            );
        }
    }
}
