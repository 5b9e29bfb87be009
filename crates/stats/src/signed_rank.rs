use crate::ranks::ranks;
use crate::special::{normal_cdf, normal_two_sided};
use std::sync::OnceLock;

/// Up to this many differences the law of the statistic is counted out; beyond, the normal
/// approximation with continuity correction.
pub const EXACT_UP_TO: usize = 100;

/// The law of W+, the sum of the ranks of the positive ones among `n` untied differences whose
/// signs are fair coins.
///
/// That is the law under the hypothesis "both arms are the same" whenever the order inside each
/// block was drawn at random, whatever the machine did: no assumption about noise is in it
/// (Wilcoxon 1945; Lehmann & Romano 2005, 5.8).
#[derive(Debug, Clone, Copy)]
pub struct SignedRankLaw {
    n: u64,
    lower_half: Option<&'static [f64]>,
}

impl SignedRankLaw {
    #[must_use]
    pub fn of(n: usize) -> Self {
        static EXACT: [OnceLock<Vec<f64>>; EXACT_UP_TO + 1] =
            [const { OnceLock::new() }; EXACT_UP_TO + 1];
        let lower_half = EXACT
            .get(n)
            .map(|cell| cell.get_or_init(|| exact_lower_half(n)).as_slice());
        Self {
            n: n as u64,
            lower_half,
        }
    }

    /// The largest value of W+, n (n + 1) / 2.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.n * (self.n + 1) / 2
    }

    /// P(W+ <= w).
    #[must_use]
    pub fn cdf(&self, w: u64) -> f64 {
        let Some(lower_half) = self.lower_half else {
            return normal_cdf(standardised(w as f64 + 0.5, self.n as f64));
        };
        if w >= self.largest() {
            return 1.0;
        }
        let at = |w: u64| lower_half[usize::try_from(w).expect("at most half of 5050")];
        if w <= self.largest() / 2 {
            at(w)
        } else {
            1.0 - at(self.largest() - w - 1)
        }
    }

    /// P(W+ is at least as far from its mean as `w_plus`).
    #[must_use]
    pub fn two_sided(&self, w_plus: u64) -> f64 {
        (2.0 * self.cdf(w_plus.min(self.largest() - w_plus))).min(1.0)
    }

    /// The largest k with P(W+ <= k - 1) <= alpha / 2, or 0: the k-th Walsh average from either end
    /// bounds the interval of level 1 - alpha.
    #[must_use]
    pub fn critical(&self, alpha: f64) -> u64 {
        // A threshold is often itself a point of this discrete law; the slack keeps it on its own
        // side.
        let allowed = 0.5 * alpha * (1.0 + 1e-9);
        let (mut low, mut high) = (0, self.largest() / 2 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.cdf(middle) <= allowed {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// (w - mean) / sd of W+ for `n` differences.
fn standardised(w: f64, n: f64) -> f64 {
    (w - n * (n + 1.0) / 4.0) / (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt()
}

/// P(W+ <= w) for w up to half of the largest value, by adding one rank at a time with probability
/// one half.
fn exact_lower_half(n: usize) -> Vec<f64> {
    let half = n * (n + 1) / 4;
    let mut weights: Vec<u32> = Vec::with_capacity(n);
    weights.extend((1u32..).take(n));
    let mut law = subset_sum_law(&weights, half);
    let mut sum = 0.0;
    for p in &mut law {
        sum += *p;
        *p = sum;
    }
    law
}

/// P(S = s) for s in 0..=most, where S is the sum of a random half of `weights`, each taken by a
/// fair coin.
fn subset_sum_law(weights: &[u32], most: usize) -> Vec<f64> {
    let mut law = vec![0.0; most + 1];
    law[0] = 1.0;
    for weight in weights {
        let weight = *weight as usize;
        for s in (0..=most).rev() {
            let taken = if s >= weight { law[s - weight] } else { 0.0 };
            law[s] = 0.5 * (law[s] + taken);
        }
    }
    law
}

/// The Wilcoxon signed-rank test of "the sign of each difference is a fair coin".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of |d| over the positive differences; zeros are ranked and then give
    /// nothing to either side (Pratt 1959).
    pub w_plus: f64,
    /// Two-sided.
    pub p: f64,
    pub n: usize,
}

/// Tests the finite differences `d`. Exact to 100 differences, also with ties and zeros (the law of
/// the mid-ranks at hand, given |d|); beyond that normal with continuity correction and the
/// variance of the mid-ranks at hand. No differences give p = 1.
#[must_use]
pub fn signed_rank(d: &[f64]) -> SignedRank {
    let magnitudes = ranks(&d.iter().map(|x| x.abs()).collect::<Vec<_>>());
    let w_plus = d
        .iter()
        .zip(&magnitudes.ranks)
        .filter(|(x, _)| **x > 0.0)
        .map(|(_, r)| r)
        .sum();
    let p = if magnitudes.tie_sum == 0.0 && d.iter().all(|x| *x != 0.0) {
        SignedRankLaw::of(d.len()).two_sided(doubled(w_plus) / 2)
    } else {
        let moving: Vec<f64> = d
            .iter()
            .zip(&magnitudes.ranks)
            .filter(|(x, _)| **x != 0.0)
            .map(|(_, r)| *r)
            .collect();
        if d.len() <= EXACT_UP_TO {
            conditional_exact(w_plus, &moving)
        } else {
            conditional_normal(w_plus, &moving)
        }
    };
    SignedRank {
        w_plus,
        p,
        n: d.len(),
    }
}

/// Mid-ranks are multiples of one half, so the sums of doubled ranks are counted out.
fn conditional_exact(w_plus: f64, moving: &[f64]) -> f64 {
    let weights: Vec<u32> = moving
        .iter()
        .map(|r| u32::try_from(doubled(*r)).expect("a doubled rank is at most 200"))
        .collect();
    let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let observed = doubled(w_plus);
    let nearer_end = usize::try_from(observed.min(total - observed)).expect("at most 5050");
    (2.0 * subset_sum_law(&weights, nearer_end).iter().sum::<f64>()).min(1.0)
}

fn conditional_normal(w_plus: f64, moving: &[f64]) -> f64 {
    let distance = (w_plus - 0.5 * moving.iter().sum::<f64>()).abs() - 0.5;
    let variance = 0.25 * moving.iter().map(|r| r * r).sum::<f64>();
    if distance <= 0.0 {
        1.0
    } else {
        normal_two_sided(distance / variance.sqrt())
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank sum is a non-negative multiple of one half below 2^52"
)]
fn doubled(rank_sum: f64) -> u64 {
    (2.0 * rank_sum).round() as u64
}

/// Expected values: `scipy.stats.wilcoxon(d, method="exact").pvalue` of scipy 1.17.1; criticals
/// from `core.w_k` of the reference simulation.
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const D: [f64; 10] = [
        0.031, -0.012, 0.054, 0.027, -0.043, 0.068, 0.019, 0.008, 0.091, -0.005,
    ];

    #[test]
    fn p_values_agree_with_scipy_from_6_to_10_differences() {
        for (n, p) in [
            (6, 0.3125),
            (7, 0.21875),
            (8, 0.1953125),
            (9, 0.09765625),
            (10, 0.10546875),
        ] {
            assert_eq!(signed_rank(&D[..n]).p, p, "{n}");
        }
    }

    #[test]
    fn p_agrees_with_scipy_at_60_differences() {
        let found = signed_rank(&crate::hodges_lehmann::tests::SIXTY);
        assert_eq!(found.w_plus, 1150.0);
        assert!(
            (found.p - 0.084_311_879_885_263_79).abs() < 1e-13,
            "{found:?}"
        );
    }

    #[test]
    fn criticals_agree_with_the_reference_simulation() {
        for (n, alpha, k) in [
            (5, 0.05, 0),
            (6, 0.05, 1),
            (8, 0.007_812_5, 1),
            (10, 0.05, 9),
            (30, 0.0071, 104),
            (90, 0.0034, 1326),
            (100, 0.05, 1956),
        ] {
            assert_eq!(
                SignedRankLaw::of(n).critical(alpha),
                k,
                "n {n} alpha {alpha}"
            );
        }
    }

    #[test]
    fn the_normal_law_continues_the_exact_one() {
        let z = |n| SignedRankLaw {
            n,
            lower_half: None,
        };
        for w in (1500..2500).step_by(100) {
            let (exact, normal) = (SignedRankLaw::of(100).cdf(w), z(100).cdf(w));
            assert!((exact - normal).abs() < 1e-3, "{w}: {exact} {normal}");
            assert!(
                w > 1900 || exact <= normal,
                "in the tail the approximation errs to the safe side: {w}: {exact} {normal}"
            );
        }
    }

    #[test]
    fn ties_and_zeros_use_the_law_of_the_mid_ranks_at_hand() {
        // All 2^7 sign flips of the mid-ranks of |t| enumerated in Python: 0.125.
        let tied = [0.02, -0.02, 0.02, 0.03, -0.01, 0.05, 0.0, 0.03];
        assert_eq!(
            signed_rank(&tied),
            SignedRank {
                w_plus: 29.0,
                p: 0.125,
                n: 8
            }
        );
        assert_eq!(signed_rank(&[0.0; 9]).p, 1.0);
        assert_eq!(signed_rank(&[]).p, 1.0);
    }

    #[test]
    fn many_ties_beyond_100_differences_stay_close_to_the_exact_law() {
        let pattern: Vec<f64> = (0..100i32)
            .map(|i| f64::from(i % 10 + 1) * if i % 3 == 0 { -1.0 } else { 1.0 })
            .collect();
        let magnitudes = ranks(&pattern.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let found = signed_rank(&pattern);
        let normal = conditional_normal(found.w_plus, &magnitudes.ranks);
        assert!(
            (found.p / normal - 1.0).abs() < 0.1 && found.p < 0.01,
            "{found:?} {normal}"
        );
    }

    proptest! {
        #[test]
        fn p_is_symmetrical_in_the_arms(d in prop::collection::vec(-1.0f64..1.0, 1..150)) {
            let swapped: Vec<f64> = d.iter().map(|x| -x).collect();
            prop_assert!((signed_rank(&d).p - signed_rank(&swapped).p).abs() < 1e-12);
        }

        #[test]
        fn conditional_and_untied_laws_agree_without_ties(d in prop::collection::vec(-1.0f64..1.0, 1..40)) {
            let all = ranks(&d.iter().map(|x| x.abs()).collect::<Vec<_>>());
            prop_assume!(all.tie_sum == 0.0 && d.iter().all(|x| *x != 0.0));
            let found = signed_rank(&d);
            prop_assert!((found.p - conditional_exact(found.w_plus, &all.ranks)).abs() < 1e-12);
        }

        #[test]
        fn the_law_is_a_distribution(n in 1usize..130, w in 0u64..5000) {
            let law = SignedRankLaw::of(n);
            prop_assert!(law.cdf(w) <= law.cdf(w + 1) + 1e-15 && law.cdf(law.largest()) > 0.9999);
        }
    }
}
