//! Analyses a simulated matrix of 10,080 slots from raw numbers to verdicts; to be run under
//! `time`.
#![allow(
    clippy::print_stdout,
    reason = "the verdicts are this program's output"
)]

use stats::simulate::{Disturbance, SlotRun, differences, matrix};
use stats::{Better, BlockRun, Family, Thresholds};
use units::random::Random;

const ARMS: usize = 8;
const CONFIGS: usize = 20;
const PASSES: usize = 63;

fn main() {
    let mut effects = [0.0; ARMS];
    effects[7] = 0.97f64.ln();
    let slots = matrix(
        Disturbance::SeedLike,
        CONFIGS,
        PASSES,
        0.15,
        &effects,
        &mut Random::new(1),
    );
    let d: Vec<Vec<f64>> = (1..ARMS)
        .map(|arm| differences(&slots, ARMS, arm))
        .collect();
    let mut family = Family::new(Thresholds::matrix(20, 63, 0.05, 7), ARMS - 1);
    for pass in 1..=PASSES {
        let units = pass * CONFIGS;
        family.look(
            units,
            &d.iter()
                .map(|d| stats::signed_rank(&d[..units]).p)
                .collect::<Vec<_>>(),
        );
    }
    for (member, d) in d.iter().enumerate() {
        let units = family.decisions()[member].map_or(d.len(), |decision| decision.units);
        let level = family
            .level(member, units)
            .expect("the last pass is a look");
        let estimate = stats::effect(&d[..units], level);
        println!(
            "arm {} after {units} blocks: {:?}",
            member + 1,
            stats::judge(estimate.as_ref(), None, 0.05, Better::Higher)
        );
        let p = stats::kruskal_wallis(&by_config(&slots, member + 1));
        println!(
            "  depends on the configuration with p {p:?}, {} blocks stand out",
            stats::outlying(d).len()
        );
    }
    let cells: Vec<f64> = (1..ARMS)
        .flat_map(|arm| by_config(&slots, arm))
        .map(|d| stats::effect(&d, 0.95).map_or(1.0, |_| stats::signed_rank(&d).p))
        .collect();
    println!(
        "{} cells differ",
        stats::benjamini_hochberg(&cells)
            .iter()
            .filter(|q| **q <= 0.05)
            .count()
    );
    println!("{:?}", stats::drift(&blocks(&slots)));
}

fn by_config(slots: &[SlotRun], arm: usize) -> Vec<Vec<f64>> {
    let mut groups = vec![Vec::new(); CONFIGS];
    for block in slots.chunks_exact(ARMS) {
        groups[block[0].config].extend(differences(block, ARMS, arm));
    }
    groups
}

fn blocks(slots: &[SlotRun]) -> Vec<BlockRun> {
    let block = |b: &[SlotRun]| BlockRun {
        config: b[0].config,
        slots: b.iter().map(|s| (s.arm, s.log_level)).collect(),
    };
    slots.chunks_exact(ARMS).map(block).collect()
}
