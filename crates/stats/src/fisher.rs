use crate::special::ln_factorial;

/// Fisher's exact test of the table [[a, b], [c, d]], for example failed and complete slots of two
/// arms: the two-sided p, the sum over all tables with these margins that are no likelier than this
/// one.
#[must_use]
pub fn fisher_exact([[a, b], [c, d]]: [[u64; 2]; 2]) -> f64 {
    let (row, other_row, column) = (a + b, c + d, a + c);
    let ln_choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let ln_all = ln_choose(row + other_row, column);
    let ln_probability = |x: u64| ln_choose(row, x) + ln_choose(other_row, column - x) - ln_all;
    // Tables as likely as the observed one count; the slack is far above the error of the
    // logarithms and far below their distances.
    let observed = ln_probability(a) + 1e-7;
    (column.saturating_sub(other_row)..=row.min(column))
        .map(ln_probability)
        .filter(|p| *p <= observed)
        .map(f64::exp)
        .sum::<f64>()
        .min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_scipy_fisher_exact() {
        for (table, p) in [
            ([[8, 2], [1, 5]], 0.034_965_034_965_034_975),
            ([[0, 100], [7, 93]], 0.014_017_765_516_375_317),
            ([[3, 7], [4, 6]], 1.0),
            ([[1, 2604], [0, 7788]], 0.250_649_475_608_582_7),
            ([[12, 988], [40, 960]], 0.000_104_517_905_667_342_96),
        ] {
            assert!(
                (fisher_exact(table) / p - 1.0).abs() < 1e-6,
                "{table:?}: {} is not {p}",
                fisher_exact(table)
            );
        }
        assert!((fisher_exact([[0, 0], [0, 0]]) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn transposing_or_swapping_changes_nothing(a in 0u64..40, b in 0u64..40, c in 0u64..40, d in 0u64..40) {
            let p = fisher_exact([[a, b], [c, d]]);
            for other in [[[a, c], [b, d]], [[c, d], [a, b]], [[b, a], [d, c]]] {
                prop_assert!((p - fisher_exact(other)).abs() < 1e-9);
            }
            prop_assert!((0.0..=1.0).contains(&p));
        }
    }
}
