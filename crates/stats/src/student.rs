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
    let point = mean(d);
    Some(Estimate {
        point,
        low: point - half_width,
        high: point + half_width,
        level,
        n,
        method: Method::PairedT,
    })
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
}
