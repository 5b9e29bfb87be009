//! The verdict on blocks.

use super::pairs::{Block, Differences, are_led_in, differences};
use super::{Interrupted, Question, RowComparison, Sensitivity, accused};
use record::{Preference, Record};
use stats::{Better, Reason, Verdict, effect, judge, outlying, unless_carry_over};

/// How blocks are judged, beside the question.
pub(super) struct Judgement {
    pub(super) level: f64,
    pub(super) unused_blocks: usize,
    pub(super) interrupted: Option<Interrupted>,
    pub(super) invalid: Option<Reason>,
}

/// The verdict on blocks, of one row or of several. A block without the metric makes it invalid:
/// leaving it out would be a choice by result.
pub(super) fn judged(
    name: &str,
    blocks: &[Block<'_>],
    how: &Judgement,
    question: &Question,
) -> RowComparison {
    let values: Vec<(f64, f64)> = blocks
        .iter()
        .filter_map(|block| block.values(&question.metric))
        .collect();
    let Differences {
        values: differences,
        place,
        pairs,
    } = differences(blocks, &question.metric);
    let estimate = effect(&differences, how.level);
    let better = if question.metric.better() == Preference::Higher {
        Better::Higher
    } else {
        Better::Lower
    };
    let invalid = how
        .invalid
        .clone()
        .or_else(|| (values.len() < blocks.len()).then(|| without_metric(blocks, question)))
        .or_else(|| accused::undirected(&question.metric))
        .or_else(|| {
            (differences.len() < stats::FEWEST_BLOCKS).then_some(Reason::TooFewBlocks {
                n: differences.len(),
            })
        });
    let aliased = place.filter(|place| !place.is_separable);
    let invalid = invalid.or(aliased.map(|_| Reason::PlaceOrArm));
    let median = |side: fn(&(f64, f64)) -> f64| {
        (!values.is_empty())
            .then(|| stats::sample::median(&values.iter().map(side).collect::<Vec<_>>()).exp())
    };
    let mut verdict = judge(estimate.as_ref(), invalid, question.margin, better);
    if let (false, Some(pairs), Some(estimate)) = (are_led_in(blocks), pairs, &estimate) {
        verdict = unless_carry_over(verdict, &pairs, estimate);
    }
    let sensitivity = if matches!(verdict, Verdict::Invalid(_)) {
        None
    } else {
        sensitivity(&differences, how.level, question.margin, better)
    };
    RowComparison {
        row: name.to_owned(),
        blocks: differences.len(),
        unused_blocks: how.unused_blocks,
        interrupted: how.interrupted,
        base: median(|v| v.0),
        candidate: median(|v| v.1),
        verdict,
        effect: estimate,
        differences,
        place: place
            .filter(|place| place.is_separable)
            .map(|place| place.gain),
        sensitivity,
    }
}

fn without_metric(blocks: &[Block<'_>], question: &Question) -> Reason {
    let lacking = blocks
        .iter()
        .filter(|block| block.values(&question.metric).is_none())
        .count();
    // Quantities know no negative numbers, and logarithms no zero.
    let stated = |record: &Record| {
        let figures = record.summaries.values().map(|of| &of.figures);
        question
            .metric
            .stated()
            .and_then(|name| figures.filter_map(|of| of.get(name)).copied().next())
    };
    let is_low = |record: &Record| {
        let value = question.metric.of(record).of_any_support();
        value
            .or_else(|| stated(record))
            .is_some_and(|value| value <= 0.0)
    };
    let low = blocks
        .iter()
        .filter(|block| is_low(block.base) || is_low(block.candidate))
        .count();
    if low > 0 {
        return Reason::Audit(format!(
            "in {low} of {} blocks {} is 0 or below: changes are ratios, which such values have not",
            blocks.len(),
            question.metric.name()
        ));
    }
    Reason::Audit(format!(
        "{lacking} of {} blocks have no {}, or too few operations for it; choose another --metric, or longer slots",
        blocks.len(),
        question.metric.name()
    ))
}

fn sensitivity(
    differences: &[f64],
    level: f64,
    margin: f64,
    better: Better,
) -> Option<Sensitivity> {
    let outlying = outlying(differences);
    if outlying.is_empty() {
        return None;
    }
    let rest: Vec<f64> = (0..differences.len())
        .filter(|i| !outlying.contains(i))
        .map(|i| differences[i])
        .collect();
    let effect = effect(&rest, level);
    let too_few =
        (rest.len() < stats::FEWEST_BLOCKS).then_some(Reason::TooFewBlocks { n: rest.len() });
    Some(Sensitivity {
        outlying,
        verdict: judge(effect.as_ref(), too_few, margin, better),
        effect,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Question, RowComparison, compare, compare_arms};
    use record::{Measurements, Operations, Quantity, Record, Role, SCHEMA, Trial};
    use stats::{Reason, Verdict};
    use std::collections::BTreeSet;
    use units::random::Random;

    /// What slots of two arms give besides 2 % of noise.
    #[derive(Clone, Copy, Default)]
    struct World {
        /// ln(candidate / base).
        truth: f64,
        /// What the candidate gains right after the base.
        carried: f64,
        /// What the second slot of a block gains.
        second: f64,
        lead_in_ns: Option<u64>,
    }

    impl World {
        fn records(&self, blocks: u32, seed: u64) -> Vec<Record> {
            let mut rng = Random::of(&[71, seed]);
            let (mut out, mut before) = (Vec::new(), None);
            for block in 0..blocks {
                let base_first = rng.coin();
                for place in [0, 1] {
                    let is_candidate = base_first == (place == 1);
                    let mut log = 2000f64.ln() + 0.02 * rng.normal();
                    log += f64::from(place) * self.second;
                    if is_candidate {
                        log += self.truth;
                        log += if before == Some(false) {
                            self.carried
                        } else {
                            0.0
                        };
                    }
                    before = Some(is_candidate);
                    out.push(self.slot(is_candidate, block, 2 * block + place, log.exp()));
                }
            }
            out
        }

        fn slot(&self, is_candidate: bool, block: u32, slot: u32, per_second: f64) -> Record {
            let count = units::lossless::f64_to_u64_saturating(per_second);
            let mut read = Operations {
                count,
                bytes: count * 4096,
                smallest_bytes: Some(4096),
                largest_bytes: Some(4096),
                ..Operations::default()
            };
            read.latency.record_many(1_000_000, count);
            let mut operations = Measurements::default();
            operations.insert("read", read);
            let (arm, role) = if is_candidate {
                ("b", Role::Candidate)
            } else {
                ("a", Role::Baseline)
            };
            Record {
                schema: SCHEMA,
                name: "row".into(),
                started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 60, slot % 60),
                elapsed_ns: 1_000_000_000,
                operations,
                trial: Some(Trial {
                    plan: "p".into(),
                    arm: arm.into(),
                    row: "row".into(),
                    block,
                    slot,
                    role,
                    lead_in_ns: self.lead_in_ns,
                    ..Trial::default()
                }),
                ..Record::default()
            }
        }

        /// Judged as one experiment, and as two files of it.
        fn judged(&self, blocks: u32, seed: u64) -> [RowComparison; 2] {
            let question = Question {
                metric: Quantity::named("iops"),
                margin: 0.05,
                factors: BTreeSet::new(),
            };
            let records = self.records(blocks, seed);
            let whole = compare_arms(&records, &question).unwrap();
            let [base, candidate] = ["a", "b"].map(|arm| {
                let of = |record: &&Record| record.trial.as_ref().is_some_and(|t| t.arm == arm);
                records.iter().filter(of).cloned().collect::<Vec<_>>()
            });
            let mut halves = compare(&base, &candidate, &question);
            [whole.candidates[0].pooled.clone(), halves.rows.remove(0)]
        }
    }

    const LED: Option<u64> = Some(500_000_000);

    #[test]
    fn what_one_side_leaves_to_the_next_is_not_called_a_difference() {
        let world = World {
            carried: 0.1f64.ln_1p(),
            ..World::default()
        };
        for found in (0..40).flat_map(|seed| world.judged(12, seed)) {
            assert!(
                matches!(
                    found.verdict,
                    Verdict::Invalid(Reason::MayBeCarryOver | Reason::CarryOver { .. })
                        | Verdict::Equivalent { different: false }
                        | Verdict::Inconclusive { .. }
                ),
                "{:?}",
                found.verdict
            );
        }
    }

    #[test]
    fn a_difference_stands_at_once_with_lead_ins_and_without_them_where_the_orders_tell() {
        let of = |lead_in_ns: Option<u64>, blocks: u32| {
            let world = World {
                truth: 0.1f64.ln_1p(),
                lead_in_ns,
                ..World::default()
            };
            let faster = |found: &RowComparison| matches!(found.verdict, Verdict::Faster { .. });
            let all = (0..30).flat_map(|seed| world.judged(blocks, seed));
            all.filter(faster).count()
        };
        assert_eq!(of(LED, 8), 60);
        assert!(of(None, 8) < 30, "{}", of(None, 8));
        assert!(of(None, 40) > 55, "{}", of(None, 40));
    }

    #[test]
    fn the_place_in_the_block_is_taken_out_and_said() {
        let world = World {
            second: 1.3f64.ln(),
            lead_in_ns: LED,
            ..World::default()
        };
        for found in (0..20).flat_map(|seed| world.judged(20, seed)) {
            assert!(
                found
                    .place
                    .is_some_and(|gain| (gain - world.second).abs() < 0.05)
            );
            assert!(
                found
                    .effect
                    .is_some_and(|effect| effect.half_width() < 0.03)
            );
        }
        let none = World {
            lead_in_ns: LED,
            ..World::default()
        };
        let placed = (0..100).filter(|seed| none.judged(20, *seed)[0].place.is_some());
        assert!(placed.count() <= 5);
    }

    #[test]
    fn carry_over_that_outlasts_lead_ins_and_is_seen_leaves_no_verdict() {
        let world = World {
            carried: 0.3,
            lead_in_ns: LED,
            ..World::default()
        };
        let [found, _] = world.judged(60, 1);
        assert!(
            matches!(found.verdict, Verdict::Invalid(Reason::CarryOver { p }) if p < 0.01),
            "{:?}",
            found.verdict
        );
    }
}
