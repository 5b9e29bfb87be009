//! The numeric promises as seeded tests. Quick versions run by default, with limits that a true
//! value at its promise would pass; the full sizes are ignored by default: `cargo test -p stats
//! --test goals -- --ignored`. The tables behind them: `cargo run --release -p stats --example
//! goals`.

#[path = "../examples/goals/experiments.rs"]
mod experiments;

use experiments::*;
use stats::simulate::{Disturbance, sigma};
use stats::{Thresholds, Verdict, aliased_with_order, judge, mde};

/// Goal 1: at most 5 % false positives at a fixed number of blocks, whatever the machine does.
fn fixed_size_false_positives(matrices: usize, limit: f64) {
    for what in Disturbance::harmless() {
        for cv in CVS {
            let rate = false_positives(what, cv, matrices);
            assert!(rate <= limit, "{what:?} at CV {cv}: {rate}");
            assert!(
                rate > 0.035,
                "{what:?} at CV {cv}: {rate}, so the test has lost its power"
            );
        }
    }
}

#[test]
fn identical_arms_in_randomised_blocks_are_told_apart_in_at_most_5_percent() {
    fixed_size_false_positives(60, 0.0605);
}

#[test]
#[ignore = "100,000 pairs in each of 33 cells"]
fn identical_arms_in_randomised_blocks_are_told_apart_in_at_most_5_percent_in_full() {
    fixed_size_false_positives(834, 0.055);
}

/// Goal 2: at most 5 % false positives over all looks.
fn optional_stopping(runs: usize, limit: f64) {
    for what in Disturbance::harmless() {
        for cv in CVS {
            let rate = sequential_false_positives(what, cv, runs);
            assert!(rate <= limit, "{what:?} at CV {cv}: {rate}");
        }
    }
}

#[test]
fn looking_twelve_times_still_errs_in_at_most_5_percent() {
    optional_stopping(600, 0.075);
}

#[test]
#[ignore = "4,000 runs in each of 33 cells"]
fn looking_twelve_times_still_errs_in_at_most_5_percent_in_full() {
    optional_stopping(4000, 0.06);
}

/// Goal 3: the interval covers the truth in at least 94 %.
fn interval_covers(runs: usize, limit: f64) {
    for what in Disturbance::harmless() {
        for cv in CVS {
            for n in [6, 10, 30, 90] {
                let covered = coverage(what, cv, n, runs);
                assert!(
                    covered >= limit,
                    "{what:?} at CV {cv}, {n} blocks: {covered}"
                );
            }
        }
    }
}

#[test]
fn intervals_of_6_to_90_blocks_cover_the_truth() {
    interval_covers(300, 0.90);
}

#[test]
#[ignore = "10,000 runs in each of 132 cells"]
fn intervals_of_6_to_90_blocks_cover_the_truth_in_full() {
    interval_covers(10_000, 0.94);
}

/// Goals 3 and 5 on the rule that stops.
fn stopped_verdicts(runs: usize, slack: f64) {
    for cv in CVS {
        for what in [Disturbance::Quiet, Disturbance::SeedLike] {
            for ratio in [1.0, 0.95, 0.9, 0.8] {
                let v = verdicts(what, cv, ratio, runs);
                assert!(
                    v.coverage >= 0.94 - slack,
                    "{what:?} CV {cv} ratio {ratio}: {v:?}"
                );
                assert!(
                    ratio == 1.0 || v.faster <= 0.01 + slack,
                    "{what:?} CV {cv} ratio {ratio}: {v:?}"
                );
                assert!(
                    ratio != 0.95 || v.equivalent <= 0.025 + slack,
                    "{what:?} CV {cv} ratio {ratio}: {v:?}"
                );
            }
        }
    }
    let same = verdicts(Disturbance::Quiet, 0.05, 1.0, runs);
    assert!(
        same.equivalent >= 0.95 - slack && same.mean_blocks <= 35.0,
        "{same:?}"
    );
}

#[test]
fn stopped_runs_cover_the_truth_never_point_the_wrong_way_and_can_say_equivalent() {
    stopped_verdicts(250, 0.03);
}

#[test]
#[ignore = "4,000 runs in each of 24 cells"]
fn stopped_runs_cover_the_truth_never_point_the_wrong_way_and_can_say_equivalent_in_full() {
    stopped_verdicts(4000, 0.005);
}

/// Goal 4. "-10 % at CV 5 % within 10 blocks" holds for a plan of ten blocks; the open rule has
/// spent too little by then and takes 9.5 on average.
fn finds_what_it_promises(runs: usize, slack: f64) {
    let quiet = |cv, ratio| power(Disturbance::Quiet, cv, ratio, runs);
    assert!(power_at_fixed_size(0.05, 0.9, 10, runs) >= 0.95 - slack);
    let small = quiet(0.05, 0.9);
    assert!(
        small.found >= 0.98 - slack && small.mean_blocks <= 10.0,
        "{small:?}"
    );
    let five = quiet(0.05, 0.95);
    assert!(
        five.found >= 0.98 - slack && five.mean_blocks <= 22.0,
        "{five:?}"
    );
    let noisy = quiet(0.15, 0.9);
    assert!(noisy.found >= 0.90 - slack, "{noisy:?}");
    let large = quiet(0.15, 0.8);
    assert!(large.mean_blocks <= 14.0, "{large:?}");
    for (cv, ratio) in [(0.05, 0.95), (0.05, 0.9), (0.15, 0.9), (0.15, 0.8)] {
        let disturbed = power(Disturbance::SeedLike, cv, ratio, runs).mean_blocks;
        let quiet = quiet(cv, ratio).mean_blocks;
        assert!(
            disturbed <= 1.35 * quiet,
            "CV {cv} ratio {ratio}: {disturbed} blocks against {quiet}"
        );
    }
}

#[test]
fn real_differences_are_found_in_the_promised_blocks() {
    finds_what_it_promises(300, 0.03);
}

#[test]
#[ignore = "4,000 runs in each of 12 cells"]
fn real_differences_are_found_in_the_promised_blocks_in_full() {
    finds_what_it_promises(4000, 0.0);
}

/// Goal 6.
fn whole_matrices(runs: usize, slack: f64) {
    let thresholds = Thresholds::matrix(20, 10, 0.05, 6);
    let run = |what, cv, effects: &[f64; ARMS]| matrices(what, cv, effects, &thresholds, runs);
    for (what, cv) in [
        (Disturbance::Quiet, 0.05),
        (Disturbance::RandomWalk, 0.15),
        (Disturbance::SeedLike, 0.05),
    ] {
        let same = run(what, cv, &[0.0; ARMS]);
        assert!(same.family_error <= 0.05 + slack, "{what:?} {same:?}");
    }
    let mixed = mixed_effects();
    let (quiet, disturbed) = (
        run(Disturbance::Quiet, 0.05, &mixed),
        run(Disturbance::SeedLike, 0.05, &mixed),
    );
    assert!(
        quiet.found[0] >= 0.95 - slack && quiet.mean_passes[0] <= 4.5,
        "{quiet:?}"
    );
    assert!(
        disturbed.found[0] >= 0.80 - slack && disturbed.mean_passes[0] <= 6.5,
        "{disturbed:?}"
    );
    let noisy = run(Disturbance::Quiet, 0.15, &mixed);
    assert!(
        quiet.mean_passes[1] <= 2.0
            && disturbed.mean_passes[1] <= 2.0
            && noisy.mean_passes[1] <= 4.0,
        "{quiet:?} {disturbed:?} {noisy:?}"
    );
    for result in [quiet, disturbed, noisy] {
        assert!(
            result.family_error <= 0.05 + slack && result.cell_false_discoveries <= 0.05 + slack,
            "{result:?}"
        );
    }
}

#[test]
fn a_matrix_of_six_variants_keeps_its_family_error_and_finds_3_percent() {
    whole_matrices(60, 0.07);
}

#[test]
#[ignore = "1,000 matrices in each of 6 cells"]
fn a_matrix_of_six_variants_keeps_its_family_error_and_finds_3_percent_in_full() {
    whole_matrices(1000, 0.01);
}

/// Goal 7.
#[test]
fn an_experiment_run_variant_by_variant_is_refused_whatever_it_shows() {
    let estimate = stats::effect(&[0.3; 20], 0.95);
    for arms in 2..8 {
        for repeats in 2..20 {
            let order: Vec<usize> = (0..arms)
                .flat_map(|arm| std::iter::repeat_n(arm, repeats))
                .collect();
            let reason = aliased_with_order(&order).map(|_| stats::Reason::OrderAliasedWithArm);
            assert!(matches!(
                judge(estimate.as_ref(), reason, MARGIN, stats::Better::Higher),
                Verdict::Invalid(_)
            ));
        }
    }
}

/// The formula assumes t, so it is too optimistic where the exact test cannot use its whole 5 %: at
/// six blocks the real figure is 1.26 times larger.
fn forecasts(runs: usize, tolerance: f64) {
    for cv in CVS {
        for n in [8, 10, 20, 60] {
            let ratio = mde::before(sigma(cv), n, 0.05) / simulated_mde(cv, n, runs);
            assert!(
                (ratio - 1.0).abs() <= tolerance,
                "CV {cv}, {n} blocks: {ratio}"
            );
        }
    }
    for (cv, ratio) in [(0.05, 0.97), (0.15, 0.90), (0.15, 0.95)] {
        let target = f64::ln(ratio);
        let hit = planning(cv, target, blocks_for_80_percent(cv, target, runs), runs);
        assert!(
            hit >= 0.80,
            "CV {cv}, ratio {ratio}: the range contains the truth in {hit}"
        );
    }
}

#[test]
fn the_minimum_detectable_effect_and_the_blocks_still_needed_are_forecast() {
    forecasts(400, 0.15);
}

#[test]
#[ignore = "4,000 runs a cell"]
fn the_minimum_detectable_effect_and_the_blocks_still_needed_are_forecast_in_full() {
    forecasts(4000, 0.12);
}

/// Goal 8.
#[test]
fn the_cut_leaves_at_most_2_percent_bias_and_a_late_cliff_never_passes() {
    for phi in [0.0, 0.6] {
        for (name, shape) in SHAPES {
            let w = warm_up(shape, phi, 400);
            if name.starts_with("ramp") || name.starts_with("burst") {
                assert!(
                    w.bias.abs() <= 2.0 && w.bias.abs() < w.bias_uncut.abs(),
                    "{name}: {w:?}"
                );
            }
            if name.starts_with("cliff") {
                assert!(w.passes == 0.0 && w.change_seen > 0.97, "{name}: {w:?}");
            }
            if name == "none" {
                assert!(w.passes > 0.93 && w.change_seen < 0.01, "{name}: {w:?}");
            }
        }
    }
}

/// Goal 10.
#[test]
fn plans_and_thresholds_are_the_same_every_time() {
    assert_eq!(
        Thresholds::matrix(3, 5, 0.05, 2),
        Thresholds::matrix(3, 5, 0.05, 2)
    );
    assert_eq!(Thresholds::open().looks()[..12], stats::LOOKS);
}
