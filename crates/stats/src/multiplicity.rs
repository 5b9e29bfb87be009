//! Many comparisons at once.

/// Holm's (1979) adjusted p-values, in the order given: rejecting those at most alpha keeps the
/// chance of any false rejection at most alpha, under any dependence.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![0.0; m];
    let mut largest: f64 = 0.0;
    for (rank, index) in ascending(p).into_iter().enumerate() {
        largest = largest.max(p[index] * (m - rank) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Benjamini & Hochberg's (1995) adjusted p-values, in the order given: rejecting those at most q
/// keeps the expected share of false rejections at most q, for independent or positively dependent
/// tests.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![0.0; m];
    let mut smallest: f64 = 1.0;
    for (rank, index) in ascending(p).into_iter().enumerate().rev() {
        smallest = smallest.min(p[index] * m as f64 / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

/// The fewest complete blocks with which `m` Holm-corrected exact tests can reject at all: 1 +
/// ceil(log2(m / alpha)).
#[must_use]
pub fn fewest_blocks(m: u32, alpha: f64) -> usize {
    (1..64)
        .find(|n| 2.0f64.powi(1 - n) * f64::from(m) <= alpha)
        .map_or(64, |n| usize::try_from(n).expect("from 1 to 63"))
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn adjusted_values_agree_with_the_reference_simulation() {
        // core.holm and core.bh of the reference simulation.
        let p = [0.01, 0.04, 0.03, 0.005, 0.2];
        let close = |found: Vec<f64>, expected: [f64; 5]| {
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(
            close(holm(&p), [0.04, 0.09, 0.09, 0.025, 0.2]),
            "{:?}",
            holm(&p)
        );
        assert!(
            close(benjamini_hochberg(&p), [0.025, 0.05, 0.05, 0.025, 0.2]),
            "{:?}",
            benjamini_hochberg(&p)
        );
    }

    #[test]
    fn fewest_blocks_are_those_of_the_specification() {
        assert_eq!(
            [1, 6, 20, 120].map(|m| fewest_blocks(m, 0.05)),
            [6, 8, 10, 13]
        );
    }

    proptest! {
        #[test]
        fn corrections_keep_the_order_and_never_shrink_p(p in prop::collection::vec(0.0f64..1.0, 0..30)) {
            let (holm, bh) = (holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(p[i] <= bh[i] + 1e-15 && bh[i] <= holm[i] + 1e-15 && holm[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (holm[i] <= holm[j] && bh[i] <= bh[j]));
                }
            }
        }
    }
}
