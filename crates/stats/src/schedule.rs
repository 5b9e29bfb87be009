use units::random::Random;

/// The shape of an experiment whose order is to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Arms including the baseline, which is arm 0.
    pub arms: usize,
    pub configs: usize,
    pub control: Control,
    pub unit: Unit,
}

/// Whether the baseline runs twice per block, under a second name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The second baseline is arm number `arms`.
    BaselineTwice,
    None,
}

/// What is randomised, which is also what may be analysed as one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Every block of one config has its own order of arms; a block is a unit.
    Block,
    /// Starts are expensive: a pass starts each arm once, in random order, and runs all configs
    /// inside; the pass is the unit.
    Pass,
}

/// One start of one arm on one config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScheduledSlot {
    pub pass: usize,
    pub config: usize,
    pub arm: usize,
    /// Position among the arms of its block (or, if the unit is a pass, among the arms of the
    /// pass), from 0.
    pub position: usize,
}

impl Design {
    /// Arms and, where asked for, the second baseline.
    #[must_use]
    pub fn arms_per_block(&self) -> usize {
        self.arms
            + match self.control {
                Control::BaselineTwice => 1,
                Control::None => 0,
            }
    }

    /// The slots of one pass in the order in which they run, from `seed` and the number of the pass
    /// alone: a longer experiment begins with the same passes. Every order of arms and every
    /// order of configs is equally likely (Fisher-Yates).
    #[must_use]
    pub fn pass(&self, seed: u64, pass: usize) -> Vec<ScheduledSlot> {
        match self.unit {
            Unit::Block => self
                .order_of_configs(seed, pass, 0)
                .into_iter()
                .flat_map(|config| self.block(seed, pass, config, 0))
                .collect(),
            Unit::Pass => {
                let arms = self.order_of_arms(&[seed, pass as u64, WHOLE_PASS]);
                let within = |(position, arm): (usize, usize)| {
                    let configs = self.order_of_configs(seed, pass, 1 + position);
                    configs.into_iter().map(move |config| ScheduledSlot {
                        pass,
                        config,
                        arm,
                        position,
                    })
                };
                arms.into_iter().enumerate().flat_map(within).collect()
            }
        }
    }

    /// The slots of one block; `attempt` 0 is that of [`Design::pass`], higher ones redraw the
    /// order for a block that must be repeated as a whole.
    #[must_use]
    pub fn block(
        &self,
        seed: u64,
        pass: usize,
        config: usize,
        attempt: usize,
    ) -> Vec<ScheduledSlot> {
        let arms = self.order_of_arms(&[seed, pass as u64, config as u64, attempt as u64]);
        arms.into_iter()
            .enumerate()
            .map(|(position, arm)| ScheduledSlot {
                pass,
                config,
                arm,
                position,
            })
            .collect()
    }

    fn order_of_arms(&self, stream: &[u64]) -> Vec<usize> {
        let mut arms: Vec<usize> = (0..self.arms_per_block()).collect();
        Random::of(stream).shuffle(&mut arms);
        arms
    }

    fn order_of_configs(&self, seed: u64, pass: usize, within: usize) -> Vec<usize> {
        let mut configs: Vec<usize> = (0..self.configs).collect();
        Random::of(&[seed, pass as u64, CONFIGS, within as u64]).shuffle(&mut configs);
        configs
    }
}

/// Words that keep the streams of one pass apart from those of its blocks, whose third word is a
/// config.
const CONFIGS: u64 = u64::MAX;
const WHOLE_PASS: u64 = u64::MAX - 1;

/// Two arms whose order in time tells them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aliased {
    pub arms: (usize, usize),
    /// Probability that a random slot of the first arm ran before a random slot of the second.
    pub earlier: f64,
}

/// Whether arm and time can be separated, from the arms in the order in which their slots ran: the
/// first pair of arms with at least two slots each of which one lies before the other with
/// probability above 0.9 (area under the curve). Arm after arm is 1.0; randomised blocks are near
/// 0.5.
#[must_use]
pub fn aliased_with_order(arms_in_time: &[usize]) -> Option<Aliased> {
    let mut positions: std::collections::BTreeMap<usize, Vec<usize>> =
        std::collections::BTreeMap::new();
    for (time, arm) in arms_in_time.iter().enumerate() {
        positions.entry(*arm).or_default().push(time);
    }
    let arms: Vec<(usize, Vec<usize>)> = positions
        .into_iter()
        .filter(|(_, times)| times.len() >= 2)
        .collect();
    for (i, (a, times_a)) in arms.iter().enumerate() {
        for (b, times_b) in &arms[i + 1..] {
            let later: usize = times_a
                .iter()
                .map(|t| times_b.len() - times_b.partition_point(|other| other < t))
                .sum();
            let earlier = later as f64 / (times_a.len() * times_b.len()) as f64;
            if !(0.1..=0.9).contains(&earlier) {
                return Some(Aliased {
                    arms: (*a, *b),
                    earlier,
                });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MATRIX: Design = Design {
        arms: 7,
        configs: 20,
        control: Control::BaselineTwice,
        unit: Unit::Block,
    };

    fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
        items.sort();
        items
    }

    #[test]
    fn the_order_is_the_same_for_a_seed_forever() {
        let order = |seed| {
            Design {
                arms: 4,
                configs: 2,
                ..MATRIX
            }
            .pass(seed, 0)
            .iter()
            .map(|s| (s.config, s.arm))
            .collect::<Vec<_>>()
        };
        assert_eq!(order(1), FIRST_PASS_OF_SEED_1);
        assert_ne!(order(1), order(2));
    }

    const FIRST_PASS_OF_SEED_1: [(usize, usize); 10] = [
        (0, 3),
        (0, 0),
        (0, 4),
        (0, 1),
        (0, 2),
        (1, 3),
        (1, 4),
        (1, 0),
        (1, 2),
        (1, 1),
    ];

    #[test]
    fn a_pass_holds_every_arm_and_config_once_and_blocks_are_contiguous() {
        for unit in [Unit::Block, Unit::Pass] {
            let slots = Design { unit, ..MATRIX }.pass(9, 3);
            let expected: Vec<(usize, usize)> =
                (0..20).flat_map(|c| (0..8).map(move |a| (c, a))).collect();
            assert_eq!(
                sorted(slots.iter().map(|s| (s.config, s.arm)).collect()),
                expected
            );
            let run = if unit == Unit::Block { 8 } else { 20 };
            for chunk in slots.chunks(run) {
                let same = |s: &ScheduledSlot| {
                    if unit == Unit::Block {
                        s.config == chunk[0].config
                    } else {
                        s.arm == chunk[0].arm
                    }
                };
                assert!(chunk.iter().all(same));
            }
        }
    }

    #[test]
    fn the_first_attempt_is_that_of_the_pass_and_a_repetition_is_drawn_anew() {
        let slots = MATRIX.pass(9, 3);
        assert_eq!(slots[..8], MATRIX.block(9, 3, slots[0].config, 0));
        assert_ne!(MATRIX.block(9, 3, 0, 0), MATRIX.block(9, 3, 0, 1));
    }

    #[test]
    fn every_arm_is_equally_often_at_every_position() {
        let design = Design {
            arms: 4,
            configs: 1,
            control: Control::None,
            unit: Unit::Block,
        };
        let mut counts = [[0f64; 4]; 4];
        for pass in 0..8000 {
            for slot in design.pass(77, pass) {
                counts[slot.arm][slot.position] += 1.0;
            }
        }
        let chi: f64 = counts
            .iter()
            .flatten()
            .map(|c| (c - 2000.0).powi(2) / 2000.0)
            .sum();
        assert!(
            chi < 27.9,
            "chi-square {chi} with 9 degrees of freedom has p < 0.001"
        );
    }

    #[test]
    fn arm_after_arm_is_refused_in_every_case() {
        for repeats in 2..30 {
            let sequential: Vec<usize> = (0..7)
                .flat_map(|arm| std::iter::repeat_n(arm, repeats))
                .collect();
            assert_eq!(
                aliased_with_order(&sequential),
                Some(Aliased {
                    arms: (0, 1),
                    earlier: 1.0
                })
            );
            let reversed: Vec<usize> = sequential.into_iter().rev().collect();
            assert_eq!(
                aliased_with_order(&reversed),
                Some(Aliased {
                    arms: (0, 1),
                    earlier: 0.0
                })
            );
        }
    }

    #[test]
    fn randomised_blocks_and_alternation_are_not_aliased() {
        for seed in 0..200 {
            let arms: Vec<usize> = (0..6)
                .flat_map(|pass| {
                    Design {
                        configs: 1,
                        ..MATRIX
                    }
                    .pass(seed, pass)
                })
                .map(|s| s.arm)
                .collect();
            assert_eq!(aliased_with_order(&arms), None, "seed {seed}");
        }
        assert_eq!(
            aliased_with_order(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
            None
        );
        assert_eq!(
            aliased_with_order(&[0, 1]),
            None,
            "one slot an arm says nothing about order"
        );
    }

    proptest! {
        #[test]
        fn passes_of_different_numbers_or_seeds_are_independent_draws(seed in any::<u64>(), pass in 0usize..1000) {
            let slots = MATRIX.pass(seed, pass);
            prop_assert_eq!(&slots, &MATRIX.pass(seed, pass));
            prop_assert_ne!(slots.iter().map(|s| s.arm).collect::<Vec<_>>(), MATRIX.pass(seed, pass + 1).iter().map(|s| s.arm).collect::<Vec<_>>());
        }
    }
}
