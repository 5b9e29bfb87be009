//! What an experiment could have seen: the effect that it finds with probability 80 %, as the
//! logarithm of a ratio `x`: an increase of `x.exp() - 1` or a decrease of `1 - (-x).exp()`.

use crate::special::{normal_quantile, student_quantile};

const POWER: f64 = 0.8;

/// (1.96 + 0.84) / 1.96: the effect seen with 80 % power, in half-widths of the 95 % interval.
const HALF_WIDTHS: f64 = 1.43;

/// Before one comparison of `n` blocks at error alpha, from the standard deviation `sigma` of the
/// logarithm of one run: `(t_{1-alpha/2, n-1} + t_{0.8, n-1}) sigma sqrt(2/n)`. Infinite below two
/// blocks.
#[must_use]
pub fn before(sigma: f64, n: usize, alpha: f64) -> f64 {
    if n < 2 {
        return f64::INFINITY;
    }
    let df = n as f64 - 1.0;
    (student_quantile(1.0 - 0.5 * alpha, df) + student_quantile(POWER, df))
        * sigma
        * (2.0 / n as f64).sqrt()
}

/// Before a matrix of `units` (passes times configurations) and `variants` Holm-corrected
/// comparisons: `(z_{1-alpha/(2 variants)} + z_0.8) sigma sqrt(2/units)`.
#[must_use]
pub fn before_matrix(sigma: f64, units: usize, variants: usize, alpha: f64) -> f64 {
    (normal_quantile(1.0 - 0.5 * alpha / variants as f64) + normal_quantile(POWER))
        * sigma
        * (2.0 / units as f64).sqrt()
}

/// After the experiment: 1.43 half-widths of its final interval.
#[must_use]
pub fn after(half_width: f64) -> f64 {
    HALF_WIDTHS * half_width
}

/// How many more blocks to plan for, as a range: a pilot of 8 to 20 blocks knows its own spread no
/// better than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoreBlocks {
    pub fewest: u64,
    pub most: u64,
}

/// More blocks until an effect of `target` would be found with 80 % power: with `N = n (1.43 h /
/// target)^2` and `k = N - n`, the range [k/2, 2k], widened to [0.6 N - n, 1.7 N - n], rounded up
/// and not below 0. `None` without a finite half-width or a positive target.
///
/// The widening is for small k: the half-width of 20 blocks is wrong by 17 % and N by a third,
/// which [k/2, 2k] cannot hold while k is small against n (simulated: it contains the truth in 58 %
/// at k = 14, n = 20).
#[must_use]
pub fn more_blocks(n: usize, half_width: f64, target: f64) -> Option<MoreBlocks> {
    if !half_width.is_finite() || target.is_nan() || target <= 0.0 {
        return None;
    }
    let n = n as f64;
    let total = n * (after(half_width) / target).powi(2);
    let k = total - n;
    Some(MoreBlocks {
        fewest: whole_blocks((0.5 * k).min(0.6 * total - n)),
        most: whole_blocks((2.0 * k).max(1.7 * total - n)),
    })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not below 0, and the cast saturates"
)]
fn whole_blocks(k: f64) -> u64 {
    k.max(0.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_specification_is_reproduced() {
        // Decrease in per cent for a coefficient of variation of one run; sigma = sqrt(ln(1 +
        // cv^2)).
        for (cv, n, expected) in [
            (0.02f64, 6, 3.9),
            (0.05, 10, 6.8),
            (0.05, 90, 2.1),
            (0.10, 15, 10.0),
            (0.15, 20, 13.0),
            (0.30, 6, 45.0),
            (0.30, 200, 7.9),
        ] {
            let sigma = (cv * cv).ln_1p().sqrt();
            let found = -100.0 * (-before(sigma, n, 0.05)).exp_m1();
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "cv {cv} n {n}: {found} against {expected}"
            );
        }
    }

    #[test]
    fn a_matrix_pays_for_its_family_and_gains_from_its_configs() {
        assert!(before_matrix(0.05, 80, 6, 0.05) > before_matrix(0.05, 80, 1, 0.05));
        assert!(before_matrix(0.05, 80, 6, 0.05) < before(0.05, 10, 0.05));
        let expected = (2.638_257 + 0.841_621) * 0.05 * (2.0f64 / 80.0).sqrt();
        assert!((before_matrix(0.05, 80, 6, 0.05) - expected).abs() < 1e-6);
    }

    #[test]
    fn more_blocks_follow_the_square_of_the_width() {
        // 1.43 * 0.1 / 0.071501 is just below 2, so four times the blocks: 60 more for 20, and 0.6
        // * 80 - 20 = 28.
        assert_eq!(
            more_blocks(20, 0.1, 0.071_501),
            Some(MoreBlocks {
                fewest: 28,
                most: 120
            })
        );
        // Seven times 200 blocks: the range is [k/2, 2k] = [600, 2400].
        assert_eq!(
            more_blocks(200, 0.1, 0.143 / 7f64.sqrt() * 1.000_001),
            Some(MoreBlocks {
                fewest: 600,
                most: 2400
            })
        );
        // Enough by the estimate, but the estimate may be wrong: 20 * 0.81 * 1.7 - 20 = 7.5.
        assert_eq!(
            more_blocks(20, 0.9 / 1.43, 1.0),
            Some(MoreBlocks { fewest: 0, most: 8 })
        );
        assert_eq!(
            more_blocks(20, 0.01, 0.05),
            Some(MoreBlocks { fewest: 0, most: 0 })
        );
        assert_eq!(
            (
                more_blocks(5, f64::INFINITY, 0.05),
                more_blocks(5, 0.1, 0.0)
            ),
            (None, None)
        );
    }
}
