use crate::effect::FEWEST_BLOCKS;
use crate::estimate::{Estimate, Method};
use crate::mde::{self, MoreBlocks};

/// Which direction of the metric is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Higher,
    /// Latency.
    Lower,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// A check of severity "invalid" fired; its name.
    Audit(String),
    /// Arm and time cannot be separated: the arms ran one after the other.
    OrderAliasedWithArm,
    /// Nobody drew the order of the runs; in how many windows of time (runs of one side in a row)
    /// each side ran.
    NotDrawnByLot { windows: [usize; 2] },
    /// The two names of the baseline differ with this p.
    ControlFailed { p: f64 },
    /// The arms fail at different rates with this p.
    UnequalFailures { p: f64 },
    /// Later slots needed a longer warm-up than was cut, in this share of slots.
    WarmupTooLong { share: f64 },
    /// The worst arm was not in a steady state in this share of its slots.
    NotSteady { share: f64 },
    /// It matters, with this p, which arm ran before.
    CarryOver { p: f64 },
    /// Slots followed other arms, and what those left behind may be all of the difference.
    MayBeCarryOver,
    /// Nearly all blocks ran in one order, so the place in the block and the arm cannot be told
    /// apart.
    PlaceOrArm,
    /// Too few complete blocks.
    TooFewBlocks { n: usize },
    /// It is under way, and its numbers are judged after so many passes, of which so many are
    /// complete.
    Underway { passes: usize, judged_after: u32 },
}

/// What may be said about arm against baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Invalid(Reason),
    /// The whole interval lies within the margin; `different` if it nevertheless excludes zero.
    Equivalent {
        different: bool,
    },
    /// `by_margin`: the whole interval lies beyond the margin.
    Faster {
        by_margin: bool,
    },
    Slower {
        by_margin: bool,
    },
    /// `mde`: the effect that would have been seen with 80 % power, as the logarithm of a ratio.
    /// `more`: blocks still needed.
    Inconclusive {
        mde: f64,
        more: Option<MoreBlocks>,
    },
}

/// The p below which the A/A control invalidates the experiment.
pub const CONTROL_ALPHA: f64 = 0.001;

/// The p below which the test of predecessors leaves no verdict.
pub const CARRY_OVER_ALPHA: f64 = 0.01;

/// The p below which failures or outliers count as unequal between arms.
pub const UNEQUAL_ALPHA: f64 = 0.01;

/// The verdict on an effect given as the logarithm of arm / baseline; the first rule that matches
/// wins: invalid, equivalent, faster, slower, inconclusive. `margin` is a ratio, 0.05 for 5 %; on
/// the log scale it is `±ln(1 + margin)`.
///
/// One interval decides everything, so no correction for asking three questions is needed.
#[must_use]
pub fn judge(
    estimate: Option<&Estimate>,
    invalid: Option<Reason>,
    margin: f64,
    better: Better,
) -> Verdict {
    if let Some(reason) = invalid {
        return Verdict::Invalid(reason);
    }
    let Some(estimate) = estimate else {
        return Verdict::Invalid(Reason::TooFewBlocks { n: 0 });
    };
    let parametric = match estimate.method {
        Method::OfKinds | Method::PairedT => true,
        Method::HodgesLehmann => false,
    };
    if estimate.n < FEWEST_BLOCKS - usize::from(parametric) {
        return Verdict::Invalid(Reason::TooFewBlocks { n: estimate.n });
    }
    let gain = match better {
        Better::Higher => *estimate,
        Better::Lower => estimate.negated(),
    };
    let delta = margin.ln_1p();
    if gain.low > -delta && gain.high < delta {
        Verdict::Equivalent {
            different: !gain.contains(0.0),
        }
    } else if gain.low > 0.0 {
        Verdict::Faster {
            by_margin: gain.low >= delta,
        }
    } else if gain.high < 0.0 {
        Verdict::Slower {
            by_margin: gain.high <= -delta,
        }
    } else {
        let target = delta.max(gain.point.abs());
        Verdict::Inconclusive {
            mde: mde::after(gain.half_width()),
            more: mde::more_blocks(gain.n, gain.half_width(), target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(low: f64, high: f64) -> Estimate {
        Estimate {
            point: 0.5 * (low + high),
            low,
            high,
            level: 0.95,
            n: 20,
            method: Method::HodgesLehmann,
        }
    }

    fn verdict(low: f64, high: f64) -> Verdict {
        judge(Some(&interval(low, high)), None, 0.05, Better::Higher)
    }

    #[test]
    fn each_position_of_the_interval_has_its_verdict() {
        let delta = 0.05f64.ln_1p();
        assert_eq!(
            verdict(-0.01, 0.02),
            Verdict::Equivalent { different: false }
        );
        assert_eq!(verdict(0.01, 0.02), Verdict::Equivalent { different: true });
        assert_eq!(verdict(0.01, delta), Verdict::Faster { by_margin: false });
        assert_eq!(verdict(delta, 0.2), Verdict::Faster { by_margin: true });
        assert_eq!(verdict(-0.2, -0.01), Verdict::Slower { by_margin: false });
        assert_eq!(verdict(-0.2, -delta), Verdict::Slower { by_margin: true });
        assert!(
            matches!(verdict(0.0, 0.2), Verdict::Inconclusive { .. }),
            "touching zero decides nothing"
        );
        assert!(
            matches!(verdict(-delta, 0.01), Verdict::Inconclusive { .. }),
            "touching the margin is not within it"
        );
    }

    #[test]
    fn an_inconclusive_verdict_says_what_would_have_been_seen_and_what_it_needs() {
        let Verdict::Inconclusive { mde, more } = verdict(-0.08, 0.06) else {
            panic!("zero is inside")
        };
        assert!((mde - 1.43 * 0.07).abs() < 1e-12);
        assert_eq!(more, mde::more_blocks(20, 0.07, 0.05f64.ln_1p()));
    }

    #[test]
    fn no_interval_is_inconclusive_without_a_forecast() {
        assert_eq!(
            verdict(f64::NEG_INFINITY, f64::INFINITY),
            Verdict::Inconclusive {
                mde: f64::INFINITY,
                more: None
            }
        );
    }

    #[test]
    fn less_latency_is_faster() {
        assert_eq!(
            judge(Some(&interval(-0.3, -0.2)), None, 0.05, Better::Lower),
            Verdict::Faster { by_margin: true }
        );
    }

    #[test]
    fn a_reason_beats_any_interval_and_too_few_blocks_are_one() {
        let reason = Reason::OrderAliasedWithArm;
        assert_eq!(
            judge(
                Some(&interval(0.1, 0.2)),
                Some(reason.clone()),
                0.05,
                Better::Higher
            ),
            Verdict::Invalid(reason)
        );
        let few = Estimate {
            n: 5,
            ..interval(0.1, 0.2)
        };
        assert_eq!(
            judge(Some(&few), None, 0.05, Better::Higher),
            Verdict::Invalid(Reason::TooFewBlocks { n: 5 })
        );
        let parametric = Estimate {
            n: 5,
            method: Method::PairedT,
            ..interval(0.1, 0.2)
        };
        assert_eq!(
            judge(Some(&parametric), None, 0.05, Better::Higher),
            Verdict::Faster { by_margin: true }
        );
        assert_eq!(
            judge(None, None, 0.05, Better::Higher),
            Verdict::Invalid(Reason::TooFewBlocks { n: 0 })
        );
    }

    proptest! {
        #[test]
        fn swapping_the_arms_mirrors_the_verdict(low in -0.3f64..0.3, width in 0.0f64..0.3) {
            let estimate = interval(low, low + width);
            let mirrored = match judge(Some(&estimate.negated()), None, 0.05, Better::Higher) {
                Verdict::Faster { by_margin } => Verdict::Slower { by_margin },
                Verdict::Slower { by_margin } => Verdict::Faster { by_margin },
                same @ (Verdict::Invalid(_) | Verdict::Equivalent { .. } | Verdict::Inconclusive { .. }) => same,
            };
            prop_assert_eq!(judge(Some(&estimate), None, 0.05, Better::Higher), mirrored);
        }

        #[test]
        fn a_wider_interval_never_turns_faster_into_slower(low in 0.001f64..0.3, width in 0.0f64..0.3, wider in 0.0f64..1.0) {
            let slower = matches!(verdict(low - wider, low + width + wider), Verdict::Slower { .. });
            prop_assert!(!slower);
        }
    }
}
