use std::fmt;

/// A number with its uncertainty: no number leaves this crate without one.
///
/// Effects are natural logarithms of ratios (`ln(arm / baseline)`), so `100 * point.exp_m1()` is
/// per cent; quantiles are in the unit of their sample. `low` and `high` are infinite where `n` is
/// too small for an interval of this level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub point: f64,
    pub low: f64,
    pub high: f64,
    /// Nominal coverage, for example 0.95.
    pub level: f64,
    /// Units of analysis: blocks, never samples within a slot.
    pub n: usize,
    pub method: Method,
}

/// Where an [`Estimate`] comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Hodges-Lehmann point with the interval of the signed-rank law.
    HodgesLehmann,
    /// Means of the kinds of blocks by their order, with Student's t: assumes normal differences.
    OfKinds,
    /// Mean with Student's t: assumes normal differences.
    PairedT,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HodgesLehmann => "Hodges-Lehmann, signed-rank interval",
            Self::OfKinds => "parametric, means by order",
            Self::PairedT => "parametric, paired t",
        })
    }
}

impl Estimate {
    /// Half the width of the interval, in the unit of the point; infinite without an interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// Whether `value` lies in the closed interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The same estimate of the quantity with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            point: -self.point,
            low: -self.high,
            high: -self.low,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_swaps_and_flips_the_bounds() {
        let estimate = Estimate {
            point: 1.0,
            low: -2.0,
            high: 3.0,
            level: 0.95,
            n: 6,
            method: Method::PairedT,
        };
        let negated = estimate.negated();
        assert_eq!(
            (negated.point, negated.low, negated.high),
            (-1.0, -3.0, 2.0)
        );
        assert_eq!(
            (
                negated.half_width(),
                negated.contains(2.0),
                negated.contains(2.1)
            ),
            (2.5, true, false)
        );
    }
}
