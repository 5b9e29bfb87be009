use crate::estimate::{Estimate, Method};
use crate::sample::{mean, variance};
use crate::special::student_quantile;

/// The mean of the differences `d` with Student's t interval; `None` below two values.
#[must_use]
pub fn paired_t(d: &[f64], level: f64) -> Option<Estimate> {
    let n = d.len();
    if n < 2 {
        return None;
    }
    let half_width =
        student_quantile(0.5 + 0.5 * level, n as f64 - 1.0) * (variance(d) / n as f64).sqrt();
    Some(around(mean(d), half_width, level, n, Method::PairedT))
}

/// The difference of arm `arm` to arm 0 in complete blocks `blocks[i][arm]`, with the residual
/// variance of all arms (analysis of variance of a randomised complete block design). `None` below
/// two blocks or three arms, or if the blocks are not equally long.
#[must_use]
pub fn pooled_t(blocks: &[Vec<f64>], arm: usize, level: f64) -> Option<Estimate> {
    let (n, k) = (blocks.len(), blocks.first()?.len());
    if n < 2 || k < 3 || arm >= k || blocks.iter().any(|b| b.len() != k) {
        return None;
    }
    let of_arm: Vec<f64> = (0..k)
        .map(|a| blocks.iter().map(|b| b[a]).sum::<f64>() / n as f64)
        .collect();
    let grand = mean(&of_arm);
    let residual = |b: &[f64]| {
        let block = mean(b);
        b.iter()
            .zip(&of_arm)
            .map(|(y, a)| (y - block - a + grand).powi(2))
            .sum::<f64>()
    };
    let df = ((n - 1) * (k - 1)) as f64;
    let residual_variance = blocks.iter().map(|b| residual(b)).sum::<f64>() / df;
    let half_width =
        student_quantile(0.5 + 0.5 * level, df) * (2.0 * residual_variance / n as f64).sqrt();
    Some(around(
        of_arm[arm] - of_arm[0],
        half_width,
        level,
        n,
        Method::PooledT,
    ))
}

fn around(point: f64, half_width: f64, level: f64, n: usize, method: Method) -> Estimate {
    Estimate {
        point,
        low: point - half_width,
        high: point + half_width,
        level,
        n,
        method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_estimate(found: Estimate, point: f64, low: f64, high: f64) {
        for (found, expected) in [(found.point, point), (found.low, low), (found.high, high)] {
            assert!((found - expected).abs() < 1e-7, "{found} is not {expected}");
        }
    }

    #[test]
    fn paired_t_agrees_with_scipy() {
        let found = paired_t(&[0.031, -0.012, 0.054, 0.027, -0.043], 0.95).unwrap();
        assert_estimate(found, 0.0114, -0.036_485_43, 0.059_285_43);
        assert_eq!(paired_t(&[1.0], 0.95), None);
    }

    #[test]
    fn pooled_t_agrees_with_the_reference_simulation() {
        let blocks = [
            [1.524, -1.525, -2.466],
            [0.617, 2.548, -1.001],
            [-1.251, 0.589, -0.841],
            [-0.506, -0.348, 0.532],
            [-0.405, 0.278, -0.177],
        ];
        let blocks: Vec<Vec<f64>> = blocks.iter().map(|b| b.to_vec()).collect();
        assert_estimate(
            pooled_t(&blocks, 1, 0.95).unwrap(),
            0.3126,
            -1.653_716_5,
            2.278_916_5,
        );
        assert_estimate(
            pooled_t(&blocks, 2, 0.95).unwrap(),
            -0.7864,
            -2.752_716_5,
            1.179_916_5,
        );
        assert_eq!(pooled_t(&blocks, 3, 0.95), None);
    }
}
