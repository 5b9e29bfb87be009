//! Location, spread and quantiles of a plain sample of finite numbers.

/// The arithmetic mean; NaN for an empty sample.
#[must_use]
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The unbiased variance (divisor n - 1); NaN below two values.
#[must_use]
pub fn variance(sample: &[f64]) -> f64 {
    let centre = mean(sample);
    sample.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (sample.len() as f64 - 1.0)
}

/// The sample in ascending order.
#[must_use]
pub fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut copy = sample.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// The quantile `q` in [0, 1] of an ascending sample: linear interpolation at position q (n - 1),
/// Hyndman & Fan (1996) type 7, the default of R and numpy. NaN for an empty sample.
#[must_use]
pub fn quantile_of_sorted(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = floor_index(position);
    let above = (below + 1).min(last);
    ascending[below] + (position - position.floor()) * (ascending[above] - ascending[below])
}

/// The median; NaN for an empty sample.
#[must_use]
pub fn median(sample: &[f64]) -> f64 {
    quantile_of_sorted(&sorted(sample), 0.5)
}

/// The median of the absolute distances to the median, unscaled (multiply by 1.4826 to estimate a
/// normal standard deviation).
#[must_use]
pub fn median_absolute_deviation(sample: &[f64]) -> f64 {
    let centre = median(sample);
    median(
        &sample
            .iter()
            .map(|x| (x - centre).abs())
            .collect::<Vec<_>>(),
    )
}

/// The whole part of a small non-negative number as an index.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of a slice: non-negative and far below 2^53"
)]
pub(crate) fn floor_index(position: f64) -> usize {
    position.floor().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: [f64; 13] = [
        3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.6, 5.3, 5.8, 9.7, 9.3, 2.3, 8.4,
    ];

    #[test]
    fn quantiles_agree_with_numpy_quantile() {
        let ascending = sorted(&SAMPLE);
        for (q, expected) in [
            (0.0, 1.0),
            (0.1, 1.66),
            (0.25, 2.6),
            (0.5, 5.0),
            (0.9, 9.24),
            (1.0, 9.7),
        ] {
            assert!(
                (quantile_of_sorted(&ascending, q) - expected).abs() < 1e-12,
                "{q}"
            );
        }
        assert!(quantile_of_sorted(&[], 0.5).is_nan());
    }

    #[test]
    fn spread_of_a_small_sample_is_as_by_hand() {
        assert_eq!(
            (mean(&[1.0, 2.0, 6.0]), variance(&[1.0, 2.0, 6.0])),
            (3.0, 7.0)
        );
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]), 1.0);
    }
}
