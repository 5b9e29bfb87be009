//! The numeric promises of the statistics as experiments on simulated machines; shared by the tests
//! and by the table of results.

use stats::simulate::{Disturbance, Shape, SlotRun, differences, matrix, pairs, seconds, sigma};
use stats::warm_up::{mser5, regime_change, steady};
use stats::{
    Better, Family, Thresholds, Verdict, benjamini_hochberg, hodges_lehmann, judge, mde,
    signed_rank,
};
use units::random::Random;

pub(crate) const CVS: [f64; 3] = [0.05, 0.15, 0.30];
pub(crate) const ARMS: usize = 7;
pub(crate) const CONFIGS: usize = 20;
pub(crate) const MARGIN: f64 = 0.05;

/// Four identical arms, one 3 % and one 10 % slower.
pub(crate) fn mixed_effects() -> [f64; ARMS] {
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.97f64.ln(), 0.90f64.ln()]
}

pub(crate) fn stream(experiment: u64, what: Disturbance, cv: f64, further: u64) -> Random {
    Random::of(&[20_260_201, experiment, what as u64, cv.to_bits(), further])
}

fn share(count: usize, all: usize) -> f64 {
    count as f64 / all as f64
}

/// Goal 1: the share of identical pairs with p <= 5 % in matrices of 7 arms, 20 configurations and
/// 10 passes.
pub(crate) fn false_positives(what: Disturbance, cv: f64, matrices: usize) -> f64 {
    let mut rng = stream(1, what, cv, 0);
    let (mut flagged, mut all) = (0, 0);
    for _ in 0..matrices {
        let slots = matrix(what, CONFIGS, 10, cv, &[0.0; ARMS], &mut rng);
        for d in cells(&slots).iter().flatten() {
            flagged += usize::from(signed_rank(d).p <= 0.05);
            all += 1;
        }
    }
    share(flagged, all)
}

/// Block differences by configuration and arm (the baseline left out).
fn cells(slots: &[SlotRun]) -> Vec<Vec<Vec<f64>>> {
    let mut by_config: Vec<Vec<SlotRun>> = vec![Vec::new(); CONFIGS];
    for slot in slots {
        by_config[slot.config].push(*slot);
    }
    by_config
        .iter()
        .map(|slots| (1..ARMS).map(|arm| differences(slots, ARMS, arm)).collect())
        .collect()
}

/// Goal 2: the share of identical pairs that any look up to 90 blocks calls different.
pub(crate) fn sequential_false_positives(what: Disturbance, cv: f64, runs: usize) -> f64 {
    let thresholds = Thresholds::open();
    let mut rng = stream(2, what, cv, 0);
    let rejected = (0..runs)
        .filter(|_| first_rejection(&pairs(what, 90, cv, 0.0, &mut rng), &thresholds).is_some());
    share(rejected.count(), runs)
}

fn looks_to_90(thresholds: &Thresholds) -> impl Iterator<Item = usize> {
    thresholds
        .looks()
        .iter()
        .map(|n| *n as usize)
        .filter(|n| *n <= 90)
}

/// The look that finds a difference, and its sign.
fn first_rejection(d: &[f64], thresholds: &Thresholds) -> Option<(usize, f64)> {
    looks_to_90(thresholds).find_map(|n| {
        let test = signed_rank(&d[..n]);
        let centre = n as f64 * (n as f64 + 1.0) / 4.0;
        (test.p <= thresholds.at(n, 1)?).then_some((n, (test.w_plus - centre).signum()))
    })
}

/// Goal 3, fixed size: how often the 95 % interval after `n` blocks covers the truth.
pub(crate) fn coverage(what: Disturbance, cv: f64, n: usize, runs: usize) -> f64 {
    let mut rng = stream(3, what, cv, n as u64);
    let effect = 0.9f64.ln();
    let covered = (0..runs)
        .filter(|_| hodges_lehmann(&pairs(what, n, cv, effect, &mut rng), 0.95).contains(effect));
    share(covered.count(), runs)
}

/// Goal 4: how often, and on average after how many blocks (90 if never), a true decrease is found
/// by looking for a difference alone.
pub(crate) fn power(what: Disturbance, cv: f64, ratio: f64, runs: usize) -> Power {
    let thresholds = Thresholds::open();
    let mut rng = stream(4, what, cv, ratio.to_bits());
    let mut power = Power::default();
    for _ in 0..runs {
        let found = first_rejection(&pairs(what, 90, cv, ratio.ln(), &mut rng), &thresholds);
        power.found += share(usize::from(found.is_some_and(|(_, sign)| sign < 0.0)), runs);
        power.wrong_way += share(usize::from(found.is_some_and(|(_, sign)| sign > 0.0)), runs);
        power.within_10 += share(usize::from(found.is_some_and(|(n, _)| n <= 10)), runs);
        power.mean_blocks += found.map_or(90.0, |(n, _)| n as f64) / runs as f64;
    }
    power
}

/// The share of quiet experiments of exactly `n` blocks that find a true ratio at p <= 5 %.
pub(crate) fn power_at_fixed_size(cv: f64, ratio: f64, n: usize, runs: usize) -> f64 {
    let mut rng = stream(12, Disturbance::Quiet, cv, n as u64);
    let found = (0..runs)
        .filter(|_| signed_rank(&pairs(Disturbance::Quiet, n, cv, ratio.ln(), &mut rng)).p <= 0.05);
    share(found.count(), runs)
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Power {
    pub(crate) found: f64,
    pub(crate) wrong_way: f64,
    pub(crate) within_10: f64,
    pub(crate) mean_blocks: f64,
}

/// Goals 3 to 5: the verdicts of the open rule with a margin of 5 %, as shares.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Verdicts {
    pub(crate) slower: f64,
    pub(crate) faster: f64,
    pub(crate) equivalent: f64,
    pub(crate) inconclusive: f64,
    pub(crate) mean_blocks: f64,
    pub(crate) coverage: f64,
}

pub(crate) fn verdicts(what: Disturbance, cv: f64, ratio: f64, runs: usize) -> Verdicts {
    let thresholds = Thresholds::open();
    let mut rng = stream(5, what, cv, ratio.to_bits());
    let mut out = Verdicts::default();
    let one = share(1, runs);
    for _ in 0..runs {
        let d = pairs(what, 90, cv, ratio.ln(), &mut rng);
        for n in looks_to_90(&thresholds) {
            let threshold = thresholds
                .at(n, 1)
                .expect("every look of the open rule has a threshold for one comparison");
            let estimate = hodges_lehmann(&d[..n], 1.0 - threshold);
            let verdict = judge(Some(&estimate), None, MARGIN, Better::Higher);
            if n < 90 && matches!(verdict, Verdict::Inconclusive { .. }) {
                continue;
            }
            match verdict {
                Verdict::Slower { .. } => out.slower += one,
                Verdict::Faster { .. } => out.faster += one,
                Verdict::Equivalent { .. } => out.equivalent += one,
                Verdict::Inconclusive { .. } | Verdict::Invalid(_) => out.inconclusive += one,
            }
            out.mean_blocks += n as f64 * one;
            out.coverage += if estimate.contains(ratio.ln()) {
                one
            } else {
                0.0
            };
            break;
        }
    }
    out
}

/// Goal 6: a matrix looked at after every pass, Holm over its six variants.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct MatrixResult {
    /// Share of matrices in which an identical variant was called different.
    pub(crate) family_error: f64,
    /// Share found and mean passes (10 if never) of the last two arms.
    pub(crate) found: [f64; 2],
    pub(crate) mean_passes: [f64; 2],
    /// Mean share of false ones among the cells that Benjamini-Hochberg calls different at 5 %.
    pub(crate) cell_false_discoveries: f64,
}

pub(crate) const PASSES: usize = 10;

pub(crate) fn matrices(
    what: Disturbance,
    cv: f64,
    effects: &[f64; ARMS],
    thresholds: &Thresholds,
    runs: usize,
) -> MatrixResult {
    let mut rng = stream(6, what, cv, effects[6].to_bits());
    let mut out = MatrixResult::default();
    let one = share(1, runs);
    for _ in 0..runs {
        let slots = matrix(what, CONFIGS, PASSES, cv, effects, &mut rng);
        let mut family = Family::new(thresholds.clone(), ARMS - 1);
        let d: Vec<Vec<f64>> = (1..ARMS)
            .map(|arm| differences(&slots, ARMS, arm))
            .collect();
        for pass in 1..=PASSES {
            let units = pass * CONFIGS;
            let p: Vec<f64> = d.iter().map(|d| signed_rank(&d[..units]).p).collect();
            family.look(units, &p);
        }
        let decided = family.decisions();
        let wrong = (0..ARMS - 1).any(|i| effects[i + 1] == 0.0 && decided[i].is_some());
        out.family_error += if wrong { one } else { 0.0 };
        for (i, decision) in decided[4..].iter().enumerate() {
            out.found[i] += if decision.is_some() { one } else { 0.0 };
            out.mean_passes[i] +=
                one * decision.map_or(PASSES as f64, |d| (d.units / CONFIGS) as f64);
        }
        out.cell_false_discoveries += one * false_discoveries(&slots, effects);
    }
    out
}

fn false_discoveries(slots: &[SlotRun], effects: &[f64; ARMS]) -> f64 {
    let cells = cells(slots);
    let p: Vec<f64> = cells.iter().flatten().map(|d| signed_rank(d).p).collect();
    let called: Vec<usize> = benjamini_hochberg(&p)
        .iter()
        .enumerate()
        .filter(|(_, q)| **q <= 0.05)
        .map(|(i, _)| i)
        .collect();
    let wrong = called
        .iter()
        .filter(|i| effects[*i % (ARMS - 1) + 1] == 0.0)
        .count();
    if called.is_empty() {
        0.0
    } else {
        share(wrong, called.len())
    }
}

/// Goal 7: the effect that `n` quiet blocks find with 80 % power, by bisection on the same
/// simulated noise.
pub(crate) fn simulated_mde(cv: f64, n: usize, runs: usize) -> f64 {
    let mut rng = stream(7, Disturbance::Quiet, cv, n as u64);
    let noise: Vec<Vec<f64>> = (0..runs)
        .map(|_| pairs(Disturbance::Quiet, n, cv, 0.0, &mut rng))
        .collect();
    let power = |effect: f64| {
        let found = noise
            .iter()
            .filter(|d| signed_rank(&d.iter().map(|x| x + effect).collect::<Vec<_>>()).p <= 0.05);
        share(found.count(), runs)
    };
    let (mut low, mut high) = (0.0, 6.0 * sigma(cv));
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if power(middle) < 0.8 {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// Goal 7: how often the range of further blocks that a quiet pilot of 20 prints for `target`
/// contains those that 80 % power really takes.
pub(crate) fn planning(cv: f64, target: f64, blocks_needed: u64, runs: usize) -> f64 {
    let mut rng = stream(8, Disturbance::Quiet, cv, target.to_bits());
    let truth = blocks_needed.saturating_sub(20);
    let hit = (0..runs).filter(|_| {
        let pilot = hodges_lehmann(&pairs(Disturbance::Quiet, 20, cv, target, &mut rng), 0.95);
        mde::more_blocks(20, pilot.half_width(), target.abs())
            .is_some_and(|more| more.fewest <= truth && truth <= more.most)
    });
    share(hit.count(), runs)
}

/// The fewest quiet blocks with 80 % power against `target`.
pub(crate) fn blocks_for_80_percent(cv: f64, target: f64, runs: usize) -> u64 {
    let enough = |n: usize| {
        let mut rng = stream(9, Disturbance::Quiet, cv, n as u64);
        let found = (0..runs)
            .filter(|_| signed_rank(&pairs(Disturbance::Quiet, n, cv, target, &mut rng)).p <= 0.05);
        share(found.count(), runs) >= 0.8
    };
    let (mut low, mut high) = (5, 1000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if enough(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high as u64
}

/// Goal 8: the bias of the mean after the cut of MSER-5, in per cent of the level of the last 30 s,
/// and how often the gate passes the rest.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct WarmUp {
    pub(crate) bias_uncut: f64,
    pub(crate) bias: f64,
    pub(crate) at_limit: f64,
    pub(crate) passes: f64,
    pub(crate) change_seen: f64,
}

pub(crate) const SHAPES: [(&str, Shape); 7] = [
    ("none", |_, _| 0.0),
    ("ramp -40 %, tau T/15", |t, length| {
        -0.5 * (-15.0 * t / length).exp()
    }),
    ("ramp -40 %, tau T/6", |t, length| {
        -0.5 * (-6.0 * t / length).exp()
    }),
    ("burst x2 for T/8", |t, length| {
        if t < length / 8.0 { 2f64.ln() } else { 0.0 }
    }),
    ("cliff /3 at 2T/3", |t, length| {
        if t < length * 2.0 / 3.0 {
            0.0
        } else {
            -(3f64.ln())
        }
    }),
    ("cliff /1.5 at 2T/3", |t, length| {
        if t < length * 2.0 / 3.0 {
            0.0
        } else {
            -(1.5f64.ln())
        }
    }),
    ("V-shaped dip -30 %", |t, length| {
        0.7f64.ln() * (1.0 - (2.0 * t / length - 1.0).abs())
    }),
];

pub(crate) fn warm_up(shape: Shape, phi: f64, runs: usize) -> WarmUp {
    const LENGTH: usize = 120;
    let mut rng = Random::of(&[20_260_201, 10, phi.to_bits()]);
    let level = (LENGTH - 30..LENGTH)
        .map(|t| shape(t as f64, LENGTH as f64).exp())
        .sum::<f64>()
        / 30.0
        * 0.005f64.exp();
    let mut out = WarmUp::default();
    let one = share(1, runs);
    for _ in 0..runs {
        let series = seconds(LENGTH, phi, shape, &mut rng);
        let cut = mser5(&series);
        let rest = &series[cut.seconds..];
        out.bias_uncut += one * 100.0 * (stats::sample::mean(&series) / level - 1.0);
        out.bias += one * 100.0 * (stats::sample::mean(rest) / level - 1.0);
        out.at_limit += if cut.at_limit { one } else { 0.0 };
        out.passes += if steady(rest).is_some_and(|s| s.passes()) {
            one
        } else {
            0.0
        };
        out.change_seen += if regime_change(rest).is_some() {
            one
        } else {
            0.0
        };
    }
    out
}
