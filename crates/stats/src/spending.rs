/// How much of the error budget alpha may have been used up after n units (Lan & DeMets 1983).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// `alpha (1 - 0.84 (8/n)^0.7)` from n = 8: never exhausted, so a run may always be extended.
    Open,
    /// `alpha (0.16 + 0.84 (n - 8) / (horizon - 8))` from n = 8: more power near the horizon, and
    /// no look beyond it.
    Horizon(u32),
}

/// No look comes before this many units: 8 equal signs, p = 2/256, are the first that fit into 16 %
/// of 5 %.
pub const FIRST_LOOK: u32 = 8;

impl Spending {
    /// The budget that may be spent by n units; 0 before [`FIRST_LOOK`].
    #[must_use]
    pub fn spent(self, alpha: f64, n: u32) -> f64 {
        if n < FIRST_LOOK {
            return 0.0;
        }
        let first = f64::from(FIRST_LOOK);
        match self {
            Self::Open => alpha * (1.0 - 0.84 * (first / f64::from(n)).powf(0.7)),
            Self::Horizon(horizon) => {
                let rest = f64::from(horizon.saturating_sub(FIRST_LOOK).max(1));
                alpha * (0.16 + 0.84 * ((f64::from(n) - first) / rest).min(1.0))
            }
        }
    }
}

/// What one test may spend of `alpha` at the last of `looks`, so that all looks together spend no
/// more than alpha whatever their dependence: each look gets what the open rule adds to its budget
/// (Bonferroni over looks). A look after which no sign test of `units` a block could
/// reach its share leaves that to the next.
pub(crate) fn share_of_look(looks: &[u32], units: u32, alpha: f64) -> f64 {
    let (mut spent, mut share) = (0.0, 0.0);
    for look in looks {
        share = Spending::Open.spent(alpha, *look) - spent;
        let least = 2.0 * 0.5f64.powf(f64::from(*look) * f64::from(units));
        spent += if least <= share { share } else { 0.0 };
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_looks_that_can_decide_add_up_to_what_the_rule_spends() {
        let looks: Vec<u32> = crate::open_looks(12);
        let shares: Vec<f64> = (1..=looks.len())
            .map(|n| share_of_look(&looks[..n], 20, 0.001))
            .collect();
        assert!(
            (shares.iter().sum::<f64>() - Spending::Open.spent(0.001, 90)).abs() < 1e-12,
            "{shares:?}"
        );
        // After 8 and 10 blocks of one row no p is below 0.001, after 12 one is, and it may use
        // what they could not.
        assert!(
            (share_of_look(&looks[..3], 1, 0.001) - Spending::Open.spent(0.001, 12)).abs() < 1e-12
        );
        assert_eq!(share_of_look(&[], 1, 0.001), 0.0);
    }

    #[test]
    fn both_rules_start_with_16_percent_at_block_8_and_never_overspend() {
        for rule in [Spending::Open, Spending::Horizon(90)] {
            assert_eq!(rule.spent(0.05, 7), 0.0);
            assert!((rule.spent(0.05, 8) - 0.008).abs() < 1e-12);
            let spent: Vec<f64> = (8..3000).map(|n| rule.spent(0.05, n)).collect();
            assert!(
                spent.windows(2).all(|pair| pair[0] <= pair[1])
                    && spent.iter().all(|s| *s <= 0.05 + 1e-12)
            );
        }
        assert!((Spending::Horizon(90).spent(0.05, 90) - 0.05).abs() < 1e-12);
        assert!(Spending::Open.spent(0.05, 1_000_000) < 0.05);
    }

    #[test]
    fn a_horizon_at_the_first_look_spends_no_more_than_alpha() {
        assert!(Spending::Horizon(8).spent(0.05, 8) <= 0.05);
    }
}
