//! Which block comes next: the blocks of a worker, their order, and how operations are drawn from
//! them.

#[cfg(test)]
pub(crate) mod fit;
pub(crate) mod gaussian;
pub(crate) mod pareto;
pub(crate) mod permutation;
pub(crate) mod zipf;

pub(crate) use gaussian::Gaussian;
pub(crate) use pareto::Pareto;
pub(crate) use permutation::Permutation;
pub(crate) use units::random::Random;
use units::random::split_mix;
use workload::ByTurns;
pub(crate) use zipf::Zipf;

/// The blocks of all files in one row, so that a single index names a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// First block index of each file, and one past the last block at the end.
    starts: Vec<u64>,
    /// First byte used of each file.
    offset: u64,
    unit: u64,
}

impl Space {
    /// Files of the given usable byte counts, cut into blocks of `unit` bytes from byte `offset`
    /// on; a tail shorter than a block is left out.
    #[must_use]
    pub(crate) fn new(bytes: &[u64], offset: u64, unit: u64) -> Self {
        let mut starts = Vec::with_capacity(bytes.len() + 1);
        let mut next = 0;
        starts.push(0);
        for len in bytes {
            next += len.saturating_sub(offset) / unit;
            starts.push(next);
        }
        Self {
            starts,
            offset,
            unit,
        }
    }

    /// Blocks over all files.
    #[must_use]
    pub(crate) fn blocks(&self) -> u64 {
        *self.starts.last().expect("starts is never empty")
    }

    /// File and byte offset of an operation of `len` bytes at block `index`, moved back where it
    /// would cross the end of its file.
    #[inline]
    #[must_use]
    pub(crate) fn place(&self, index: u64, len: u64) -> (u32, u64) {
        let file = if self.starts.len() == 2 {
            0
        } else {
            self.starts.partition_point(|start| *start <= index) - 1
        };
        let start = self.starts[file];
        let mut block = index - start;
        if len > self.unit {
            let fit = (self.starts[file + 1] - start).saturating_sub(len / self.unit);
            block = block.min(fit);
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "fewer files than u32::MAX are ever open"
        )]
        let file = file as u32;
        (file, self.offset + block * self.unit)
    }

    /// Indexes of the blocks that an operation covers.
    #[inline]
    #[must_use]
    pub(crate) fn blocks_at(&self, file: u32, offset: u64, len: u64) -> std::ops::Range<u64> {
        let first = self.starts[file as usize] + (offset - self.offset) / self.unit;
        first..first + len.div_ceil(self.unit)
    }
}

/// The part of a space that one worker uses: block indexes [low, high).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub low: u64,
    pub high: u64,
}

impl Share {
    /// Part `index` of `of` equal, disjoint parts that cover `blocks`.
    #[must_use]
    pub(crate) fn part(blocks: u64, index: u32, of: u32) -> Self {
        let part = workload::part(blocks, index, of);
        Self {
            low: part.start,
            high: part.end,
        }
    }

    #[must_use]
    pub(crate) fn len(&self) -> u64 {
        self.high - self.low
    }
}

/// How ranks become blocks in a random order.
#[derive(Clone, Debug)]
pub(crate) enum Draw {
    Uniform,
    Zipf(Zipf),
    Pareto(Pareto),
    Gaussian(Gaussian),
}

/// Random orders of the same blocks, one after the other: no block comes again before all have
/// come.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    blocks: u64,
    next: u64,
    seed: u64,
    order: Permutation,
}

impl Rounds {
    /// # Panics
    /// If there are no blocks.
    #[must_use]
    pub(crate) fn new(blocks: u64, seed: u64) -> Self {
        Self {
            blocks,
            next: 0,
            seed,
            order: Permutation::new(blocks, seed),
        }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.next == self.blocks {
            self.turn();
        }
        let block = self.order.at(self.next);
        self.next += 1;
        block
    }

    #[cold]
    fn turn(&mut self) {
        self.seed = split_mix(self.seed);
        self.order = Permutation::new(self.blocks, self.seed);
        self.next = 0;
    }
}

/// An endless or a complete order over a share.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// One after the other, from `start` around the share.
    Sequential { share: Share, next: u64 },
    /// Drawn with repetition; `scatter` spreads the hot set by a bijection.
    Random {
        share: Share,
        draw: Draw,
        scatter: Option<Permutation>,
    },
    /// Each block of the share once a round, in an order of its own for each round.
    Rounds { share: Share, rounds: Rounds },
    /// The blocks of one worker among others that take theirs by turns: once, or again and again.
    Turns {
        turns: ByTurns,
        taken: u64,
        is_once: bool,
    },
    /// Each block of the share once: `next` counts up; `shuffle` permutes the blocks from its base
    /// on, all of the space or the share alone.
    Once {
        share: Share,
        next: u64,
        shuffle: Option<(Permutation, u64)>,
    },
}

impl Order {
    /// Index of the next block for an operation of `units` blocks; `None` when a complete order is
    /// at its end.
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Random, units: u64) -> Option<u64> {
        match self {
            Self::Sequential { share, next } => {
                if *next >= share.high {
                    *next = share.low;
                }
                let index = *next;
                *next += units;
                Some(index)
            }
            Self::Random {
                share,
                draw,
                scatter,
            } => {
                let rank = match draw {
                    Draw::Uniform => rng.below(share.len()),
                    Draw::Zipf(zipf) => zipf.sample(rng),
                    Draw::Pareto(pareto) => pareto.sample(rng),
                    Draw::Gaussian(gaussian) => gaussian.sample(rng),
                };
                Some(
                    share.low
                        + scatter
                            .as_ref()
                            .map_or(rank, |permutation| permutation.at(rank)),
                )
            }
            Self::Rounds { share, rounds } => Some(share.low + rounds.next()),
            Self::Turns {
                turns,
                taken,
                is_once,
            } => {
                if *taken >= turns.count && !*is_once {
                    *taken = 0;
                }
                let index = turns.nth(*taken);
                *taken += 1;
                index
            }
            Self::Once {
                share,
                next,
                shuffle,
            } => {
                if share.low + *next >= share.high {
                    return None;
                }
                let index = share.low + *next;
                *next += 1;
                Some(shuffle.as_ref().map_or(index, |(permutation, base)| {
                    base + permutation.at(index - base)
                }))
            }
        }
    }
}

/// Returns the block of `0..n` that holds `position`, measured in blocks; what lies outside, by
/// rounding, goes to the nearer end.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast is the floor, and saturates at 0 and above n"
)]
pub(crate) fn block_of(position: f64, n: u64) -> u64 {
    (position as u64).min(n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Random;
    use proptest::prelude::*;

    #[test]
    fn a_long_operation_never_crosses_the_end_of_its_file() {
        let space = Space::new(&[40_960, 8192], 0, 4096);
        assert_eq!(space.blocks(), 12);
        assert_eq!(space.place(9, 16_384), (0, 24_576));
        assert_eq!(space.place(11, 4096), (1, 4096));
        assert_eq!(space.place(11, 8192), (1, 0));
    }

    #[test]
    fn complete_orders_of_several_workers_cover_every_block_exactly_once() {
        for shuffle in [None, Some((Permutation::new(1000, 7), 0))] {
            let mut seen = vec![0; 1000];
            for worker in 0..7 {
                let mut order = Order::Once {
                    share: Share::part(1000, worker, 7),
                    next: 0,
                    shuffle: shuffle.clone(),
                };
                while let Some(index) = order.next(&mut Random::stream(1, 1), 1) {
                    seen[usize::try_from(index).unwrap()] += 1;
                }
            }
            assert!(seen.iter().all(|n| *n == 1));
        }
    }

    #[test]
    fn each_round_takes_every_block_once_in_an_order_of_its_own() {
        let mut order = Order::Rounds {
            share: Share {
                low: 100,
                high: 1100,
            },
            rounds: Rounds::new(1000, 3),
        };
        let mut round = || -> Vec<u64> {
            (0..1000)
                .filter_map(|_| order.next(&mut Random::stream(1, 1), 1))
                .collect()
        };
        let rounds = [round(), round(), round()];
        for blocks in &rounds {
            let mut sorted = blocks.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (100..1100).collect::<Vec<u64>>());
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2] && rounds[0] != rounds[2]);
    }

    #[test]
    fn workers_that_take_turns_take_every_block_once_and_then_again_if_they_may() {
        let order = |worker, is_once| Order::Turns {
            turns: ByTurns::of(7, worker, 3),
            taken: 0,
            is_once,
        };
        let first = |mut order: Order, n| -> Vec<u64> {
            (0..n)
                .map_while(|_| order.next(&mut Random::stream(1, 1), 1))
                .collect()
        };
        assert_eq!(first(order(0, true), 9), [0, 3, 6]);
        assert_eq!(first(order(1, true), 9), [1, 4]);
        assert_eq!(first(order(2, false), 5), [2, 5, 2, 5, 2]);
    }

    #[test]
    fn sequential_order_wraps_at_the_end_of_its_share() {
        let mut order = Order::Sequential {
            share: Share { low: 5, high: 8 },
            next: 7,
        };
        let got: Vec<u64> = (0..5)
            .filter_map(|_| order.next(&mut Random::stream(1, 1), 1))
            .collect();
        assert_eq!(got, [7, 5, 6, 7, 5]);
    }

    proptest! {
        #[test]
        fn places_stay_inside_their_file_and_aligned(sizes in prop::collection::vec(1_u64..100, 1..6), offset in 0_u64..3, pick in any::<u64>(), units in 1_u64..4) {
            let unit = 512;
            let bytes: Vec<u64> = sizes.iter().map(|blocks| (blocks + offset + 3) * unit + 17).collect();
            let space = Space::new(&bytes, offset * unit, unit);
            let (file, at) = space.place(pick % space.blocks(), units * unit);
            prop_assert!(at >= offset * unit && at % unit == 0);
            prop_assert!(at + units * unit <= bytes[file as usize]);
        }

        #[test]
        fn parts_tile_the_space(blocks in 0_u64..u64::MAX, of in 1_u32..300) {
            let mut at = 0;
            for index in 0..of {
                let share = Share::part(blocks, index, of);
                prop_assert_eq!(share.low, at);
                at = share.high;
            }
            prop_assert_eq!(at, blocks);
        }
    }
}
