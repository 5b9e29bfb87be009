use crate::estimate::{Estimate, Method};
use crate::sample::{quantile_of_sorted, sorted};
use crate::special::binomial_quantile;

/// The 1-based ranks of the order statistics that bound quantile `q` of `n` independent
/// observations at `level`: `l = binom.ppf(a/2, n, q)` and `u = binom.ppf(1 - a/2, n, q) + 1` with
/// a = 1 - level (David & Nagaraja 2003, 7.1). `None` stands for an end that so few observations
/// cannot bound.
#[must_use]
pub fn quantile_ranks(n: u64, q: f64, level: f64) -> (Option<u64>, Option<u64>) {
    let tail = 0.5 * (1.0 - level);
    let lower = binomial_quantile(tail, n, q);
    let upper = binomial_quantile(1.0 - tail, n, q) + 1;
    ((lower >= 1).then_some(lower), (upper <= n).then_some(upper))
}

/// Quantile `q` of a sample, by linear interpolation (type 7), with its order-statistic interval:
/// right only if the observations are independent, which requests of one slot are not. `None` for
/// an empty sample.
#[must_use]
pub fn quantile_estimate(sample: &[f64], q: f64, level: f64) -> Option<Estimate> {
    if sample.is_empty() {
        return None;
    }
    let ascending = sorted(sample);
    let (lower, upper) = quantile_ranks(sample.len() as u64, q, level);
    let at = |rank: Option<u64>, otherwise: f64| {
        rank.and_then(|r| usize::try_from(r).ok())
            .and_then(|r| ascending.get(r - 1))
            .copied()
            .unwrap_or(otherwise)
    };
    Some(Estimate {
        point: quantile_of_sorted(&ascending, q),
        low: at(lower, f64::NEG_INFINITY),
        high: at(upper, f64::INFINITY),
        level,
        n: sample.len(),
        method: Method::OrderStatistics,
    })
}

/// Whether `n` requests support quantile `q`: at least ten of them lie beyond it.
#[must_use]
pub fn quantile_has_support(n: u64, q: f64) -> bool {
    n as f64 * (1.0 - q) >= 10.0 - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn ranks_are_binomial_quantiles() {
        assert_eq!(quantile_ranks(1000, 0.99, 0.95), (Some(983), Some(997)));
        assert_eq!(quantile_ranks(200, 0.99, 0.95), (Some(195), None));
        assert_eq!(quantile_ranks(5, 0.5, 0.95), (None, None));
        // 368 requests are the fewest with a finite upper bound for p99, as the reference
        // simulation has it.
        assert_eq!(
            (
                quantile_ranks(367, 0.99, 0.95).1,
                quantile_ranks(368, 0.99, 0.95).1
            ),
            (None, Some(368))
        );
    }

    #[test]
    fn the_interval_covers_the_quantile_of_independent_observations() {
        let mut rng = Random::new(11);
        let covered = (0..1000).filter(|_| {
            let sample: Vec<f64> = (0..300).map(|_| rng.unit()).collect();
            quantile_estimate(&sample, 0.9, 0.95).unwrap().contains(0.9)
        });
        let covered = covered.count();
        assert!((940..=980).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn ten_requests_must_lie_beyond() {
        assert!(
            quantile_has_support(1000, 0.99)
                && !quantile_has_support(999, 0.99)
                && quantile_has_support(10_000, 0.999)
        );
        assert_eq!(quantile_estimate(&[], 0.5, 0.95), None);
    }
}
