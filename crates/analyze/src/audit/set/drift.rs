//! Levels that move over an experiment.

use super::order_aliased::is_unsaid;
use super::{Experiment, Located, claimed, level};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::UnsaidPlace;
use stats::{BlockRun, Drift, PORTABLE_CHANGE};
use std::collections::BTreeMap;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "drift",
    catalogue_number: Some(33),
    severity: Severity::Warning,
    title: "The level moved over the experiment",
    text: "\
The levels of complete blocks, without the effects of arms and rows, over time: a Theil-
Sen change of more than 10 % with a Mann-Kendall p below 1 %. In a document: the levels
that it gives for its first and its last results.
The same upload that took 5 s in the evening took 17 s a day later. In randomised blocks
both arms meet every state of the machine and their ratio holds; \"92 MB/s\" does not.
What to do: compare only within blocks, quote no absolute number, and look for what
fills, heats or wears.",
    checks: &[Check::Together(check)],
};

/// Of each diagnostic test.
const ALPHA: f64 = 0.01;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let moved = measured(experiment)
        .and_then(|(drift, blocks)| moved(&drift, blocks))
        .or_else(|| told(experiment));
    moved.into_iter().collect()
}

/// What the levels of the complete blocks did over time, and how many blocks there are.
pub(super) fn measured(experiment: &Experiment<'_>) -> Option<(Drift, usize)> {
    *experiment.drift.get_or_init(|| {
        let blocks = blocks(experiment);
        (blocks.len() >= stats::FEWEST_BLOCKS).then(|| (stats::drift(&blocks), blocks.len()))
    })
}

/// Place in the order, arm, and logarithm of the rate.
type Placed = (u32, usize, f64);

/// Complete blocks in the order of their first slot.
fn blocks(experiment: &Experiment<'_>) -> Vec<BlockRun> {
    if is_unsaid(experiment, UnsaidPlace::Order) {
        return Vec::new();
    }
    let arms: Vec<&str> = experiment.arms().into_iter().map(|(arm, _)| arm).collect();
    let mut configs: Vec<&str> = Vec::new();
    let mut by_block: BTreeMap<(usize, u32), Vec<Placed>> = BTreeMap::new();
    for (_, record) in &experiment.slots {
        let (Some(trial), Some((_, rate))) = (&record.trial, level(record)) else {
            continue;
        };
        let config = configs
            .iter()
            .position(|row| *row == trial.row)
            .unwrap_or_else(|| {
                configs.push(&trial.row);
                configs.len() - 1
            });
        let arm = arms
            .iter()
            .position(|arm| *arm == trial.arm)
            .unwrap_or_default();
        by_block
            .entry((config, trial.block))
            .or_default()
            .push((trial.slot, arm, rate.ln()));
    }
    let mut out: Vec<(u32, BlockRun)> = by_block
        .into_iter()
        .filter(|(_, slots)| slots.len() == arms.len() && arms.len() > 1)
        .map(|((config, _), mut slots)| {
            slots.sort_by_key(|(slot, ..)| *slot);
            (
                slots[0].0,
                BlockRun {
                    config,
                    slots: slots.into_iter().map(|(_, arm, y)| (arm, y)).collect(),
                },
            )
        })
        .collect();
    out.sort_by_key(|(first, _)| *first);
    out.into_iter().map(|(_, block)| block).collect()
}

fn moved(drift: &Drift, blocks: usize) -> Option<Located> {
    let change = drift
        .change
        .map(f64::exp_m1)
        .filter(|change| change.abs() > PORTABLE_CHANGE)?;
    drift.trend_p.filter(|p| *p < ALPHA)?;
    Some(drifted(None, change, &format!("over {blocks} blocks")))
}

/// A document that says itself how the levels fell.
fn told(experiment: &Experiment<'_>) -> Option<Located> {
    experiment.claims.iter().find_map(|(index, claim)| {
        let middle = |name: &str| {
            Some(f64::midpoint(
                claimed(claim, &format!("{name}_low"))?,
                claimed(claim, &format!("{name}_high"))?,
            ))
        };
        let change = middle("last")? / middle("first")? - 1.0;
        (change.abs() > PORTABLE_CHANGE && change.is_finite()).then(|| {
            drifted(
                Some(*index),
                change,
                "between the first and the last of its results",
            )
        })
    })
}

fn drifted(record: Option<usize>, change: f64, over: &str) -> Located {
    let message = format!(
        "the level moved by {:+.0}% {over}: ratios within a block are valid, levels are not portable",
        change * 100.0
    );
    let advice = "compare only within randomised blocks, quote no absolute number, and look for what fills, heats or wears";
    RULE.about(record, Severity::Warning, message, advice)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{SECOND, only, placed, quoted, sound};
    use super::super::{carry_over, run_on};
    use super::*;
    use record::{Record, Summary};

    /// Two arms in blocks of random order, with the time that each slot took by slot and arm
    /// before.
    fn experiment(blocks: u32, factor: impl Fn(u32, usize) -> f64) -> Vec<Record> {
        let (mut before, mut coin) = (0, 7_u32);
        let mut out = Vec::new();
        for block in 0..blocks {
            coin = coin.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let first = usize::from(coin >> 31 == 1);
            for (place, arm) in [(0, first), (1, 1 - first)] {
                let mut record = sound();
                let noise = 1.0 + f64::from((coin >> (8 + 4 * place)) % 16) / 1000.0;
                record.elapsed_ns = units::lossless::f64_to_u64_saturating(
                    10e9 * factor(2 * block + place, before) * noise,
                );
                out.push(placed(
                    record,
                    ["baseline", "new"][arm],
                    block,
                    2 * block + place,
                ));
                before = arm;
            }
        }
        out
    }

    #[test]
    fn a_level_that_falls_is_found_and_a_steady_one_is_silent() {
        let found = run_on(
            check,
            &experiment(12, |slot, _| 1.0 + f64::from(slot) / 12.0),
        );
        assert!(
            only(&found).starts_with("the level moved by -6"),
            "{found:?}"
        );
        assert_eq!(run_on(check, &experiment(12, |_, _| 1.0)), []);
    }

    #[test]
    fn what_one_arm_leaves_to_the_next_is_found() {
        let found = run_on(
            carry_over::check,
            &experiment(60, |_, before| if before == 1 { 1.2 } else { 1.0 }),
        );
        assert!(
            only(&found).starts_with("a slot's result depends on which arm ran before it"),
            "{found:?}"
        );
    }

    #[test]
    fn writes_of_the_slot_before_are_found() {
        let mut records = experiment(6, |_, _| 1.0);
        records.iter_mut().for_each(|record| {
            record.generator_mut().machine.dirty_before_bytes = Some(10 << 20);
            record.generator_mut().machine.dirty_after_bytes = Some(500 << 20);
        });
        assert_eq!(
            run_on(carry_over::undrained, &records),
            [],
            "what was written was drained"
        );
        records[3].generator_mut().machine.dirty_before_bytes = Some(300 << 20);
        assert_eq!(
            only(&run_on(carry_over::undrained, &records)),
            "1 of 12 slots began with about 290 MiB of the slot before still to be written"
        );
    }

    #[test]
    fn a_decline_that_a_document_tells_is_found() {
        let figures = [
            ("first_low", 120.0),
            ("first_high", 131.0),
            ("last_low", 29.0),
            ("last_high", 45.0),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value)).into();
        let mut claim = quoted(
            "claim",
            Summary {
                figures,
                ..Summary::default()
            },
        );
        claim.kind = super::super::super::CLAIM.into();
        claim.elapsed_ns = SECOND;
        assert!(only(&run_on(check, &[claim])).starts_with("the level moved by -71%"));
    }
}
