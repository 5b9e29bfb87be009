//! How often equal arms are told apart, and unequal ones found, where the order of slots matters:
//! `cargo run --release -p stats --example orders [RUNS [SEED]]`.
#![allow(clippy::print_stdout, reason = "the tables are this program's output")]

mod experiments;

use experiments::{CarryOver, Ends, Experiment, Machine, NONE, Rule, machines};
use stats::simulate::Disturbance;

const RULES: [(&str, Rule); 3] = [
    ("differences alone", Rule::Differences),
    ("no lead-ins", Rule::WithoutLeadIns),
    ("lead-ins", Rule::LeadIns { left: 0.0 }),
];

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse::<u64>().ok());
    let runs = arguments
        .next()
        .and_then(|runs| u32::try_from(runs).ok())
        .unwrap_or(1000);
    let seed = arguments.next().unwrap_or(1);
    println!("{runs} experiments a cell, at most 90 blocks, seed {seed}; per cent\n");
    harmless(runs, seed);
    carried(runs, seed);
    found(runs, seed);
}

fn of(machine: Machine, cv: f64, carry: CarryOver, truth: f64, rule: Rule) -> Experiment {
    Experiment {
        machine,
        cv,
        carry,
        truth,
        rule,
    }
}

fn shown(ends: &Ends) -> String {
    format!(
        "{:5.1} / {:5.1} / {:5.1} / {:5.1} @ {:4.1}",
        100.0 * ends.faster,
        100.0 * ends.slower,
        100.0 * ends.equivalent,
        100.0 * ends.withheld,
        ends.mean_blocks
    )
}

fn harmless(runs: u32, seed: u64) {
    println!("Equal arms: faster / slower / equivalent / withheld @ mean blocks");
    for cv in [0.05, 0.15] {
        for machine in machines() {
            let cells = RULES.map(|(name, rule)| {
                format!(
                    "{name}: {}",
                    shown(&of(machine, cv, NONE, 0.0, rule).ends(runs, seed))
                )
            });
            println!("CV {cv:4} {machine:?} | {}", cells.join(" | "));
        }
    }
}

fn carried(runs: u32, seed: u64) {
    println!("\nEqual arms, carry-over: faster / slower / equivalent / withheld @ mean blocks");
    let quiet = Machine::Of(Disturbance::Quiet);
    for cv in [0.016, 0.05] {
        for gain in [0.02f64, 0.05, 0.1] {
            let gain = gain.ln_1p();
            for (name, to_candidate, to_base) in [
                ("B after A", gain, 0.0),
                ("A after B", 0.0, gain),
                ("B gains, A loses", gain, -gain),
            ] {
                let carry = CarryOver {
                    to_candidate,
                    to_base,
                };
                let half = ("half outlasts the lead-in", Rule::LeadIns { left: 0.5 });
                let cells = RULES.into_iter().chain([half]).map(|(rule_name, rule)| {
                    format!(
                        "{rule_name}: {}",
                        shown(&of(quiet, cv, carry, 0.0, rule).ends(runs, seed))
                    )
                });
                let cells: Vec<String> = cells.collect();
                println!(
                    "CV {cv} {name} {:.0} % | {}",
                    100.0 * gain.exp_m1(),
                    cells.join(" | ")
                );
            }
        }
    }
}

fn found(runs: u32, seed: u64) {
    println!("\nTrue differences: faster / slower / equivalent / withheld @ mean blocks");
    for machine in [
        Machine::Of(Disturbance::Quiet),
        Machine::SecondWarm,
        Machine::ColdFirst,
    ] {
        for cv in [0.016, 0.05] {
            for truth in [0.0f64, 0.02, 0.05, 0.1] {
                let cells = RULES.map(|(name, rule)| {
                    let ends = of(machine, cv, NONE, truth.ln_1p(), rule).ends(runs, seed);
                    format!("{name}: {}", shown(&ends))
                });
                println!(
                    "CV {cv} {machine:?} {:+.0} % | {}",
                    100.0 * truth,
                    cells.join(" | ")
                );
            }
        }
    }
}
