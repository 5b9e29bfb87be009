//! A random order of all blocks that takes no memory: every block exactly once, whatever the size
//! of the target.

use units::random::split_mix;

/// Pairs of Feistel rounds. Four rounds of ideal round functions look random (Luby, Rackoff 1988);
/// the third pair is for round functions that are merely good.
const PAIRS: usize = 3;

/// Pairs for halves of a few bits. Over many seeds three pairs visibly favour some orders of five
/// blocks, four still do, five hardly, and six do not in 200,000 seeds.
const PAIRS_OF_A_SMALL_RANGE: usize = 6;

/// Up to 256 blocks: eight times the largest network on which three pairs were seen to be uneven.
const SMALL_RANGE_BITS: u32 = 8;

/// A bijection on `0..n` chosen by a key.
///
/// A Feistel network over the fewest bits that hold n - 1, split into halves that differ by at most
/// one bit. What it sends outside the range is sent on until it falls inside (cycle walking: Black,
/// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002): fewer than two passes in the
/// mean, because the network is less than twice the range. Fit for spreading accesses, not for
/// secrets.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    right_bits: u32,
    left_mask: u64,
    right_mask: u64,
    keys: [[u64; 2]; PAIRS_OF_A_SMALL_RANGE],
    pairs: usize,
}

impl Permutation {
    /// Creates the permutation of `0..n` that belongs to `seed`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        assert!(n > 0, "a permutation of no blocks");
        let bits = u64::BITS - (n - 1).leading_zeros();
        let left_bits = bits / 2;
        let right_bits = bits - left_bits;
        let mut key = split_mix(seed);
        let mut next_key = || {
            key = split_mix(key);
            key
        };
        Self {
            n,
            right_bits,
            left_mask: (1 << left_bits) - 1,
            right_mask: (1 << right_bits) - 1,
            keys: std::array::from_fn(|_| [next_key(), next_key()]),
            pairs: if bits <= SMALL_RANGE_BITS {
                PAIRS_OF_A_SMALL_RANGE
            } else {
                PAIRS
            },
        }
    }

    /// Returns the block at place `index` of the order; `index` is below n.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.n, "place {index} of {}", self.n);
        let mut block = self.pass(index);
        while block >= self.n {
            block = self.pass(block);
        }
        block
    }

    #[inline]
    fn pass(&self, word: u64) -> u64 {
        let mut left = word >> self.right_bits;
        let mut right = word & self.right_mask;
        for keys in &self.keys[..self.pairs] {
            left ^= mix(right ^ keys[0]) & self.left_mask;
            right ^= mix(left ^ keys[1]) & self.right_mask;
        }
        left << self.right_bits | right
    }
}

/// The round function: two multiplications, each folded onto the low bits that are used.
///
/// The multipliers are those of SplitMix64; one multiplication alone would leave neighbouring words
/// a constant apart.
#[inline]
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 32)
}

#[cfg(test)]
mod tests {
    use super::super::fit;
    use super::*;
    use units::random::Random;

    const LARGE: [u64; 6] = [
        1 << 20,
        1_000_003,
        26_000_000,
        (1 << 32) + 1,
        1 << 48,
        u64::MAX,
    ];

    /// The stretch, of `stretches` equal ones, in which `block` of `0..n` lies.
    fn stretch(block: u64, n: u64, stretches: u64) -> u64 {
        u64::try_from(u128::from(block) * u128::from(stretches) / u128::from(n)).unwrap()
    }

    fn uniform_deviate(buckets: u64, draws: usize, sample: impl FnMut() -> u64) -> f64 {
        let edges: Vec<u64> = (1..=buckets).collect();
        fit::deviate(
            &fit::tally(&edges, draws, sample),
            &vec![1.0 / buckets as f64; edges.len()],
        )
    }

    #[test]
    fn every_block_of_every_small_range_comes_exactly_once() {
        for n in 1..=2000 {
            for seed in 0..3 {
                let order = Permutation::new(n, seed);
                let mut seen = vec![false; usize::try_from(n).unwrap()];
                for index in 0..n {
                    let block = usize::try_from(order.at(index)).unwrap();
                    assert!(
                        !std::mem::replace(&mut seen[block], true),
                        "n {n}, seed {seed}: block {block} twice"
                    );
                }
            }
        }
    }

    #[test]
    fn a_million_places_of_a_large_range_hold_different_blocks() {
        for n in [1_000_003, (1 << 32) + 1, u64::MAX] {
            let order = Permutation::new(n, 5);
            let mut blocks: Vec<u64> = (n - 1_000_000..n).map(|index| order.at(index)).collect();
            assert!(blocks.iter().all(|&block| block < n), "n {n}");
            blocks.sort_unstable();
            assert!(blocks.windows(2).all(|pair| pair[0] < pair[1]), "n {n}");
        }
    }

    #[test]
    fn blocks_are_spread_evenly_over_the_range() {
        for n in LARGE {
            for seed in 0..4 {
                let order = Permutation::new(n, seed);
                let mut index = 0..;
                let deviate = uniform_deviate(128, 50_000, || {
                    stretch(order.at(index.next().unwrap()), n, 128)
                });
                assert!(deviate.abs() < fit::SIGMAS, "n {n}, seed {seed}: {deviate}");
            }
        }
    }

    #[test]
    fn steps_between_places_a_fixed_distance_apart_are_spread_evenly() {
        for n in LARGE {
            for seed in 0..2 {
                let order = Permutation::new(n, seed);
                for distance in [1, 2, 3, 256, 1024, 4096, 65_536] {
                    let mut index = 0..;
                    let deviate = uniform_deviate(64, 30_000, || {
                        let place = index.next().unwrap();
                        let (here, there) = (order.at(place), order.at(place + distance));
                        let step = if there >= here {
                            there - here
                        } else {
                            n - (here - there)
                        };
                        stretch(step, n, 64)
                    });
                    assert!(
                        deviate.abs() < fit::SIGMAS,
                        "n {n}, seed {seed}, distance {distance}: {deviate}"
                    );
                }
            }
        }
    }

    #[test]
    fn successive_blocks_are_independent() {
        for n in LARGE {
            let order = Permutation::new(n, 6);
            let mut index = 0..;
            let deviate = uniform_deviate(16 * 16, 50_000, || {
                let place = index.next().unwrap();
                stretch(order.at(place), n, 16) * 16 + stretch(order.at(place + 1), n, 16)
            });
            assert!(deviate.abs() < fit::SIGMAS, "n {n}: {deviate}");
        }
    }

    #[test]
    fn every_bit_of_the_block_depends_on_every_bit_of_the_place() {
        for bits in [20u32, 25, 48] {
            let order = Permutation::new(1 << bits, 7);
            let mut rng = Random::stream(51, 0);
            let places: Vec<u64> = (0..1000).map(|_| rng.below(1 << bits)).collect();
            for input in 0..bits {
                let changes: Vec<u64> = places
                    .iter()
                    .map(|&place| order.at(place) ^ order.at(place ^ (1 << input)))
                    .collect();
                for output in 0..bits {
                    let flips: u64 = changes.iter().map(|change| change >> output & 1).sum();
                    let deviate = (flips as f64 - 500.0) / 250f64.sqrt();
                    assert!(
                        deviate.abs() < fit::SIGMAS,
                        "{bits} bits, {input} to {output}: {deviate}"
                    );
                }
            }
        }
    }

    #[test]
    fn over_the_seeds_each_place_holds_each_block_equally_often() {
        for n in [2, 3, 5, 6, 8, 13, 40, 100, 300] {
            for place in [0, n / 2, n - 1] {
                let mut seed = 0..;
                let deviate = uniform_deviate(n, 30_000, || {
                    Permutation::new(n, seed.next().unwrap()).at(place)
                });
                assert!(
                    deviate.abs() < fit::SIGMAS,
                    "n {n}, place {place}: {deviate}"
                );
            }
        }
    }

    #[test]
    fn a_random_permutation_has_one_fixed_point_in_the_mean() {
        let (n, seeds) = (1000, 1000);
        let fixed: usize = (0..seeds)
            .map(|seed| {
                let order = Permutation::new(n, seed);
                (0..n).filter(|&index| order.at(index) == index).count()
            })
            .sum();
        // Their number is Poisson with mean 1 for each permutation.
        let deviate = (fixed as f64 - seeds as f64) / (seeds as f64).sqrt();
        assert!(deviate.abs() < fit::SIGMAS, "{deviate}");
    }

    #[test]
    fn one_seed_is_one_order_and_another_seed_is_another() {
        let order = |seed| {
            let order = Permutation::new(1000, seed);
            (0..1000).map(|index| order.at(index)).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    #[should_panic(expected = "no blocks")]
    fn an_empty_range_is_refused() {
        Permutation::new(0, 1);
    }
}
