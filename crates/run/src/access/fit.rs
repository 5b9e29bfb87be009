//! Whether drawn numbers follow a law: what the tests of distributions are held against.

/// Deviations beyond this many standard errors fail: one true hypothesis in 1.7 million.
pub(crate) const SIGMAS: f64 = 5.0;

/// Fewer expected hits than this in a bucket, and the chi-square law is no longer a good
/// approximation.
const LEAST_EXPECTED: f64 = 25.0;

/// Returns Pearson's chi-square of `counts` against `masses` as a standard normal deviate
/// (Wilson-Hilferty). Neighbouring buckets are merged until each expects enough hits.
pub(crate) fn deviate(counts: &[u64], masses: &[f64]) -> f64 {
    assert_eq!(counts.len(), masses.len());
    let total: u64 = counts.iter().sum();
    let mass: f64 = masses.iter().sum();
    assert!((mass - 1.0).abs() < 1e-9, "the masses sum to {mass}");
    let mut merged: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (&count, &mass) in counts.iter().zip(masses) {
        open = (open.0 + count as f64, open.1 + mass * total as f64);
        if open.1 >= LEAST_EXPECTED {
            merged.push(open);
            open = (0.0, 0.0);
        }
    }
    if let Some(last) = merged.last_mut() {
        *last = (last.0 + open.0, last.1 + open.1);
    }
    if merged.len() < 2 {
        return 0.0;
    }
    let chi_square: f64 = merged
        .iter()
        .map(|(seen, expected)| (seen - expected).powi(2) / expected)
        .sum();
    let freedom = (merged.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    ((chi_square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Counts how many of `draws` samples fall below each edge but not below the one before;
/// `edges` ascend to n.
pub(crate) fn tally(edges: &[u64], draws: usize, mut sample: impl FnMut() -> u64) -> Vec<u64> {
    let mut counts = vec![0; edges.len()];
    for _ in 0..draws {
        let block = sample();
        let bucket = edges.partition_point(|&edge| edge <= block);
        assert!(bucket < edges.len(), "block {block} lies beyond {edges:?}");
        counts[bucket] += 1;
    }
    counts
}

/// Returns edges that isolate the first blocks, then grow by a quarter, and end at `n`.
pub(crate) fn edges(n: u64) -> Vec<u64> {
    std::iter::successors(Some(1), |&edge| Some(edge + (edge / 4).max(1)))
        .take_while(|&edge| edge < n)
        .chain([n])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::block_of;
    use super::*;
    use units::random::Random;

    #[test]
    fn neighbouring_streams_are_uncorrelated_bit_by_bit() {
        let draws = 4000;
        for stream in 0..20 {
            let (mut one, mut other) = (Random::stream(1, stream), Random::stream(1, stream + 1));
            let equal: u32 = (0..draws)
                .map(|_| (one.bits() ^ other.bits()).count_zeros())
                .sum();
            let bits = f64::from(draws) * 64.0;
            let deviate = (f64::from(equal) - bits / 2.0) / (bits / 4.0).sqrt();
            assert!(
                deviate.abs() < SIGMAS,
                "streams {stream} and {}: {deviate}",
                stream + 1
            );
        }
    }

    #[test]
    fn below_is_in_range_and_uniform() {
        let mut rng = Random::stream(11, 0);
        for n in [1, 2, 3, 7, 10, 64, 1000] {
            let edges: Vec<u64> = (1..=n).collect();
            let masses = vec![1.0 / n as f64; edges.len()];
            let deviate = deviate(&tally(&edges, 100_000, || rng.below(n)), &masses);
            assert!(deviate.abs() < SIGMAS, "n {n}: {deviate}");
        }
    }

    #[test]
    fn below_rejects_what_would_favour_some_values() {
        // Without rejection 2^63 + 2^62 outcomes of 2^64 words would make every third value twice
        // as likely.
        let n = 3 << 62;
        let mut rng = Random::stream(12, 0);
        let counts = tally(&[1 << 62, 2 << 62, n], 100_000, || rng.below(n));
        let thirds = deviate(&counts, &[1.0 / 3.0; 3]);
        assert!(thirds.abs() < SIGMAS, "{thirds}");
        let mut residues = [0; 3];
        for _ in 0..100_000 {
            residues[usize::try_from(rng.below(n) % 3).unwrap()] += 1;
        }
        let residues = deviate(&residues, &[1.0 / 3.0; 3]);
        assert!(residues.abs() < SIGMAS, "{residues}");
    }

    #[test]
    fn unit_numbers_stay_in_their_intervals_and_are_uniform() {
        let mut rng = Random::stream(14, 0);
        let edges: Vec<u64> = (1..=100).collect();
        let masses = [0.01; 100];
        let closed = tally(&edges, 200_000, || {
            let x = rng.unit();
            assert!((0.0..1.0).contains(&x));
            block_of(x * 100.0, u64::MAX)
        });
        let open = tally(&edges, 200_000, || {
            let x = rng.unit_open();
            assert!(x > 0.0 && x <= 1.0);
            block_of((1.0 - x) * 100.0, u64::MAX)
        });
        for counts in [closed, open] {
            let deviate = deviate(&counts, &masses);
            assert!(deviate.abs() < SIGMAS, "{deviate}");
        }
    }

    #[test]
    fn exponential_numbers_follow_the_exponential_law() {
        let mut rng = Random::stream(15, 0);
        let edges: Vec<u64> = (1..=20).chain([u64::MAX]).collect();
        let counts = tally(&edges, 200_000, || {
            block_of(rng.exponential() * 5.0, u64::MAX)
        });
        let survival = |edge: u64| {
            if edge == u64::MAX {
                0.0
            } else {
                (-(edge as f64) / 5.0).exp()
            }
        };
        let masses: Vec<f64> = [0]
            .iter()
            .chain(&edges)
            .zip(&edges)
            .map(|(&low, &high)| survival(low) - survival(high))
            .collect();
        let deviate = deviate(&counts, &masses);
        assert!(deviate.abs() < SIGMAS, "{deviate}");
    }

    #[test]
    fn the_fit_notices_a_bias_of_a_tenth() {
        let mut rng = Random::stream(16, 0);
        let counts = tally(&[1, 2], 20_000, || u64::from(rng.unit() < 0.55));
        assert!(deviate(&counts, &[0.5, 0.5]) > SIGMAS);
    }

    #[test]
    fn positions_beyond_the_ends_go_to_the_end_blocks() {
        assert_eq!(block_of(-0.5, 10), 0);
        assert_eq!(block_of(9.99, 10), 9);
        assert_eq!(block_of(10.0, 10), 9);
        assert_eq!(block_of(f64::INFINITY, 10), 9);
    }
}
