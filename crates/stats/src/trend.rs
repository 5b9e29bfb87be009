//! Does a series change with time?

use crate::sample::median;
use crate::special::normal_two_sided;

/// Up to this length the Theil-Sen slope looks at all pairs; beyond, at the pairs half a series
/// apart (Theil's incomplete method).
const ALL_PAIRS_UP_TO: usize = 2000;

/// The Theil-Sen slope (median of all pairwise slopes; Sen 1968) times the length of the series
/// less one: the change from first to last. `None` below two values.
#[must_use]
pub fn theil_sen_change(series: &[f64]) -> Option<f64> {
    let n = series.len();
    if n < 2 {
        return None;
    }
    let slope = |i: usize, j: usize| (series[j] - series[i]) / (j - i) as f64;
    let slopes: Vec<f64> = if n <= ALL_PAIRS_UP_TO {
        (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .map(|(i, j)| slope(i, j))
            .collect()
    } else {
        (0..n / 2).map(|i| slope(i, i + n.div_ceil(2))).collect()
    };
    Some(median(&slopes) * (n as f64 - 1.0))
}

/// The two-sided Mann-Kendall p of "no monotone trend" (normal law with continuity and tie
/// correction), for independent values. `None` below three values or if all are equal.
#[must_use]
pub fn mann_kendall(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    let mut concordance = 0i64;
    for (i, x) in series.iter().enumerate() {
        for y in &series[i + 1..] {
            concordance += i64::from(y > x) - i64::from(y < x);
        }
    }
    let mut ascending = crate::sample::sorted(series);
    let ties: f64 = ascending
        .chunk_by_mut(|a, b| a == b)
        .map(|g| g.len() as f64)
        .map(|t| t * (t - 1.0) * (2.0 * t + 5.0))
        .sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    let distance = (concordance.unsigned_abs() as f64 - 1.0).max(0.0);
    (series.len() >= 3 && variance > 0.0).then(|| normal_two_sided(distance / variance.sqrt()))
}

/// The two-sided p of the runs test above and below the median (Wald & Wolfowitz 1940, normal law):
/// too few runs mean slow waves, too many alternation. `None` if one side is empty.
#[must_use]
pub fn runs_test(series: &[f64]) -> Option<f64> {
    let centre = median(series);
    let above: Vec<bool> = series.iter().map(|x| *x > centre).collect();
    let n = series.len() as f64;
    let n1 = above.iter().filter(|a| **a).count() as f64;
    let n2 = n - n1;
    let runs = above.chunk_by(|a, b| a == b).count() as f64;
    let product = 2.0 * n1 * n2;
    let variance = product * (product - n) / (n * n * (n - 1.0));
    (n1 > 0.0 && n2 > 0.0 && variance > 0.0)
        .then(|| normal_two_sided((runs - 1.0 - product / n) / variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: [f64; 13] = [
        3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.6, 5.3, 5.8, 9.7, 9.3, 2.3, 8.4,
    ];

    #[test]
    fn theil_sen_agrees_with_scipy_theilslopes() {
        assert!((theil_sen_change(&SERIES).unwrap() - 0.5 * 12.0).abs() < 1e-12);
        assert_eq!(theil_sen_change(&[1.0]), None);
    }

    #[test]
    fn a_long_line_has_its_own_slope_by_the_incomplete_method_too() {
        for n in [ALL_PAIRS_UP_TO, ALL_PAIRS_UP_TO + 1, 10_001] {
            let line: Vec<f64> = (0..n).map(|i| 3.0 * i as f64).collect();
            assert!(
                (theil_sen_change(&line).unwrap() / (3.0 * (n as f64 - 1.0)) - 1.0).abs() < 1e-12
            );
        }
    }

    #[test]
    fn mann_kendall_and_runs_agree_with_the_reference_simulation() {
        // mk_p and runs_p of the reference simulation on the same series.
        assert!((mann_kendall(&SERIES).unwrap() - 0.044_083_78).abs() < 1e-8);
        assert!((runs_test(&SERIES).unwrap() - 0.394_066_21).abs() < 1e-8);
    }

    #[test]
    fn constant_or_empty_series_have_no_p() {
        assert_eq!(
            (
                mann_kendall(&[2.0; 9]),
                runs_test(&[2.0; 9]),
                mann_kendall(&[]),
                runs_test(&[])
            ),
            (None, None, None, None)
        );
    }
}
