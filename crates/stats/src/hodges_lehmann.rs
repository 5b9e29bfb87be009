use crate::estimate::{Estimate, Method};
use crate::sample::sorted;
use crate::signed_rank::SignedRankLaw;

/// The Hodges-Lehmann estimate of the centre of the finite differences `d`, with the interval that
/// inverts the signed-rank test.
///
/// The point is the median of all Walsh averages (d_i + d_j) / 2, i <= j; the interval runs from
/// the k-th smallest to the k-th largest of them, k = [`SignedRankLaw::critical`] of `1 - level`
/// (Hodges & Lehmann 1963). Without ties it excludes 0 exactly when p <= 1 - level. Below the
/// smallest n that allows the level the bounds are infinite.
///
/// # Panics
/// If `d` is empty.
#[must_use]
pub fn hodges_lehmann(d: &[f64], level: f64) -> Estimate {
    assert!(!d.is_empty(), "an estimate of nothing was asked for");
    let walsh = WalshAverages::new(d);
    let k = SignedRankLaw::of(d.len()).critical(1.0 - level);
    let (low, high) = if k == 0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (walsh.smallest(k), walsh.smallest(walsh.count() + 1 - k))
    };
    Estimate {
        point: walsh.median(),
        low,
        high,
        level,
        n: d.len(),
        method: Method::HodgesLehmann,
    }
}

/// The n (n + 1) / 2 averages of pairs, selected from without writing them down.
struct WalshAverages {
    ascending: Vec<f64>,
}

impl WalshAverages {
    fn new(d: &[f64]) -> Self {
        Self {
            ascending: sorted(d),
        }
    }

    fn count(&self) -> u64 {
        let n = self.ascending.len() as u64;
        n * (n + 1) / 2
    }

    fn median(&self) -> f64 {
        let count = self.count();
        let lower = self.smallest(count.div_ceil(2));
        if count % 2 == 1 {
            lower
        } else {
            0.5 * (lower + self.smallest(count / 2 + 1))
        }
    }

    /// The k-th smallest, k from 1: bisection over the ordered bit patterns of the sums d_i + d_j,
    /// so the answer is one of them to the last bit, in 64 passes of length 2 n.
    fn smallest(&self, k: u64) -> f64 {
        let (first, last) = (self.ascending[0], self.ascending[self.ascending.len() - 1]);
        let (mut low, mut high) = (ordered_bits(first + first), ordered_bits(last + last));
        while low < high {
            let middle = midpoint(low, high);
            if self.sums_up_to(from_ordered_bits(middle)) >= k {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        0.5 * from_ordered_bits(low)
    }

    /// How many pairs i <= j have d_i + d_j <= limit: as i grows, the last fitting j can only
    /// shrink.
    fn sums_up_to(&self, limit: f64) -> u64 {
        let mut fitting = self.ascending.len();
        let mut count = 0;
        for (i, x) in self.ascending.iter().enumerate() {
            while fitting > i && x + self.ascending[fitting - 1] > limit {
                fitting -= 1;
            }
            if fitting <= i {
                break;
            }
            count += (fitting - i) as u64;
        }
        count
    }
}

fn midpoint(low: i64, high: i64) -> i64 {
    (low & high) + ((low ^ high) >> 1)
}

/// Integers in the order of the finite floats, both zeros apart.
fn ordered_bits(x: f64) -> i64 {
    let bits = x.to_bits().cast_signed();
    if bits < 0 {
        i64::MIN.wrapping_sub(bits).wrapping_sub(1)
    } else {
        bits
    }
}

fn from_ordered_bits(ordered: i64) -> f64 {
    let bits = if ordered < 0 {
        i64::MIN.wrapping_sub(ordered.wrapping_add(1))
    } else {
        ordered
    };
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::signed_rank::signed_rank;
    use proptest::prelude::*;

    /// Sixty untied rounded normal differences, drawn with numpy.
    #[rustfmt::skip]
    pub(crate) const SIXTY: [f64; 60] = [
        0.0273, 0.0511, -0.0265, -0.0552, 0.0553, -0.0323, 0.0168, 0.0391, -0.0282, 0.0247, 0.0114, -0.0373, -0.0268, 0.0019, 0.0141,
        0.0399, -0.012, -0.0046, 0.0291, -0.0029, 0.0104, 0.0038, -0.0747, -0.0603, 0.1256, 0.0845, -0.0013, 0.0111, 0.0207, 0.0209,
        0.1159, 0.0456, 0.0089, -0.1121, 0.0423, -0.0432, 0.0157, 0.0724, -0.0184, 0.0155, -0.0514, 0.0242, 0.0064, 0.0372, 0.0051,
        0.0148, -0.0118, -0.0153, 0.0397, 0.0546, -0.026, 0.0309, 0.0466, 0.0151, 0.054, 0.0436, -0.0557, 0.009, -0.0524, 0.0057,
    ];
    const D: [f64; 10] = [
        0.031, -0.012, 0.054, 0.027, -0.043, 0.068, 0.019, 0.008, 0.091, -0.005,
    ];

    #[test]
    fn estimates_agree_with_the_reference_simulation() {
        // core.hl_ci(d, a) of the reference simulation, numpy 2.4 and scipy 1.17.1.
        for (d, alpha, point, low, high) in [
            (&D[..], 0.05, 0.024, -0.006, 0.054),
            (&D[..], 0.2, 0.024, 0.007, 0.0425),
            (&D[..], 0.0059, 0.024, -0.024, 0.0725),
            (&SIXTY[..], 0.05, 0.009_925, -0.00135, 0.0201),
        ] {
            let found = hodges_lehmann(d, 1.0 - alpha);
            for (found, expected) in [(found.point, point), (found.low, low), (found.high, high)] {
                assert!(
                    (found - expected).abs() < 1e-12,
                    "n {} alpha {alpha}: {found} is not {expected}",
                    d.len()
                );
            }
        }
    }

    #[test]
    fn five_differences_allow_no_95_percent_interval() {
        let found = hodges_lehmann(&D[..5], 0.95);
        assert_eq!((found.low, found.high), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(hodges_lehmann(&D[..6], 0.95).low.is_finite());
    }

    #[test]
    fn ordered_bits_follow_the_floats() {
        let ascending = [
            -1e300,
            -1.0,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            5e-324,
            0.1,
            7.0,
        ];
        assert!(
            ascending
                .windows(2)
                .all(|pair| ordered_bits(pair[0]) < ordered_bits(pair[1]))
        );
        assert!(
            ascending
                .iter()
                .all(|x| from_ordered_bits(ordered_bits(*x)).to_bits() == x.to_bits())
        );
    }

    fn differences() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-2.0f64..2.0, 6..40)
    }

    proptest! {
        #[test]
        fn selection_equals_sorting_all_walsh_averages(d in prop::collection::vec(-2.0f64..2.0, 1..25)) {
            let mut all: Vec<f64> = (0..d.len()).flat_map(|i| (i..d.len()).map(move |j| (i, j))).map(|(i, j)| 0.5 * (d[i] + d[j])).collect();
            all.sort_unstable_by(f64::total_cmp);
            let walsh = WalshAverages::new(&d);
            for (k, expected) in (1..).zip(&all) {
                prop_assert_eq!(walsh.smallest(k), *expected);
            }
        }

        #[test]
        fn the_interval_contains_the_point_and_grows_with_the_level(d in differences(), a in 0.5f64..0.99, b in 0.5f64..0.99) {
            let (narrow, wide) = (hodges_lehmann(&d, a.min(b)), hodges_lehmann(&d, a.max(b)));
            prop_assert!(narrow.contains(narrow.point));
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }

        #[test]
        fn shifting_and_scaling_the_differences_shifts_and_scales_the_estimate(d in differences(), shift in -3.0f64..3.0, scale in 0.1f64..9.0) {
            let plain = hodges_lehmann(&d, 0.95);
            let moved = hodges_lehmann(&d.iter().map(|x| scale * x + shift).collect::<Vec<_>>(), 0.95);
            for (found, expected) in [(moved.point, plain.point), (moved.low, plain.low), (moved.high, plain.high)] {
                prop_assert!((found - (scale * expected + shift)).abs() < 1e-9);
            }
        }

        #[test]
        fn swapping_the_arms_negates_the_estimate(d in differences()) {
            let swapped = hodges_lehmann(&d.iter().map(|x| -x).collect::<Vec<_>>(), 0.95);
            let plain = hodges_lehmann(&d, 0.95).negated();
            prop_assert!((swapped.point - plain.point).abs() < 1e-12 && swapped.low == plain.low && swapped.high == plain.high);
        }

        #[test]
        fn the_interval_excludes_zero_exactly_when_p_is_at_most_alpha(d in prop::collection::vec(-1.0f64..1.4, 6..130), alpha in 0.001f64..0.3) {
            let p = signed_rank(&d).p;
            prop_assume!((p / alpha - 1.0).abs() > 1e-6);
            prop_assert_eq!(!hodges_lehmann(&d, 1.0 - alpha).contains(0.0), p <= alpha);
        }
    }
}
