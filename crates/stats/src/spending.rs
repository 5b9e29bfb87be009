/// How much of the error budget alpha may have been used up after n units (Lan & DeMets 1983).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// `alpha (1 - 0.84 (8/n)^0.7)` from n = 8: never exhausted, so a run may always be extended.
    Open,
    /// `alpha (0.16 + 0.84 (n - 8) / (horizon - 8))` from n = 8: more power near the horizon, and no look beyond it.
    Horizon(u32),
}

/// No look comes before this many units: 8 equal signs, p = 2/256, are the first that fit into 16 % of 5 %.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_start_with_16_percent_at_block_8_and_never_overspend() {
        for rule in [Spending::Open, Spending::Horizon(90)] {
            assert_eq!(rule.spent(0.05, 7), 0.0);
            assert!((rule.spent(0.05, 8) - 0.008).abs() < 1e-12);
            let spent: Vec<f64> = (8..3000).map(|n| rule.spent(0.05, n)).collect();
            assert!(spent.windows(2).all(|pair| pair[0] <= pair[1]) && spent.iter().all(|s| *s <= 0.05 + 1e-12));
        }
        assert!((Spending::Horizon(90).spent(0.05, 90) - 0.05).abs() < 1e-12);
        assert!(Spending::Open.spent(0.05, 1_000_000) < 0.05);
    }

    #[test]
    fn a_horizon_at_the_first_look_spends_no_more_than_alpha() {
        assert!(Spending::Horizon(8).spent(0.05, 8) <= 0.05);
    }
}
