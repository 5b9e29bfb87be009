//! What the order of slots may do to a verdict, as seeded tests; quick versions by default, the full
//! sizes ignored: `cargo test --release -p stats --test orders -- --ignored`. The tables: `cargo run
//! --release -p stats --example orders`.

#[path = "../examples/orders/experiments.rs"]
mod experiments;

use experiments::*;
use stats::simulate::Disturbance;

const LED: Rule = Rule::LeadIns { left: 0.0 };
const QUIET: Machine = Machine::Of(Disturbance::Quiet);

fn experiment(machine: Machine, cv: f64, carry: CarryOver, truth: f64, rule: Rule) -> Experiment {
    Experiment {
        machine,
        cv,
        carry,
        truth,
        rule,
    }
}

/// Equal arms called faster or slower, whatever the machine does.
fn equal_arms(runs: u32, seed: u64, limit: f64) {
    for machine in machines() {
        for cv in [0.05, 0.15] {
            for rule in [LED, Rule::WithoutLeadIns] {
                let ends = experiment(machine, cv, NONE, 0.0, rule).ends(runs, seed);
                let told = ends.faster + ends.slower;
                assert!(told <= limit, "{machine:?} CV {cv} {rule:?}: {ends:?}");
                assert!(
                    ends.withheld <= 0.05,
                    "{machine:?} CV {cv} {rule:?}: {ends:?}"
                );
            }
        }
    }
}

#[test]
fn equal_arms_are_told_apart_in_at_most_5_percent_also_where_the_place_matters() {
    equal_arms(120, 3, 0.11);
}

#[test]
#[ignore = "4,000 experiments in each of 64 cells"]
fn equal_arms_are_told_apart_in_at_most_5_percent_also_where_the_place_matters_in_full() {
    equal_arms(4000, 4, 0.06);
}

/// Equal arms of which one gains, or both gain and lose, right after the other.
fn carried_over(runs: u32, seed: u64, limit: f64) {
    for gain in [0.02f64, 0.05, 0.1].map(f64::ln_1p) {
        for (to_candidate, to_base) in [(gain, 0.0), (0.0, gain), (gain, -gain)] {
            for cv in [0.016, 0.05, 0.15] {
                let carry = CarryOver {
                    to_candidate,
                    to_base,
                };
                let told = |rule: Rule| {
                    let ends = experiment(QUIET, cv, carry, 0.0, rule).ends(runs, seed);
                    ends.faster + ends.slower
                };
                for rule in [LED, Rule::WithoutLeadIns] {
                    assert!(
                        told(rule) <= limit,
                        "{carry:?} CV {cv} {rule:?}: {}",
                        told(rule)
                    );
                }
                if gain > 0.04 && cv < 0.1 {
                    assert!(told(Rule::Differences) > 0.7, "the test has lost its power");
                }
            }
        }
    }
}

#[test]
fn carry_over_of_one_slot_is_called_a_difference_in_at_most_5_percent() {
    carried_over(80, 5, 0.13);
}

#[test]
#[ignore = "4,000 experiments in each of 54 cells"]
fn carry_over_of_one_slot_is_called_a_difference_in_at_most_5_percent_in_full() {
    carried_over(4000, 6, 0.06);
}

#[test]
fn lead_ins_cost_no_blocks_and_the_place_in_the_block_no_verdicts() {
    let ends = |machine, truth: f64, rule| {
        experiment(machine, 0.05, NONE, truth.ln_1p(), rule).ends(120, 7)
    };
    for truth in [0.05, 0.1] {
        let (before, led) = (
            ends(QUIET, truth, Rule::Differences),
            ends(QUIET, truth, LED),
        );
        assert!(led.faster >= before.faster - 0.03, "{before:?} {led:?}");
        assert!((led.mean_blocks - before.mean_blocks).abs() < 2.0);
        let warm = ends(Machine::SecondWarm, truth, LED);
        assert!(warm.faster >= led.faster - 0.05, "{led:?} {warm:?}");
        assert!(warm.mean_blocks < 1.2 * led.mean_blocks, "{led:?} {warm:?}");
    }
    let equal = ends(Machine::SecondWarm, 0.0, LED);
    assert!(equal.equivalent >= 0.85, "{equal:?}");
    assert!(ends(Machine::SecondWarm, 0.0, Rule::Differences).equivalent < 0.1);
}
