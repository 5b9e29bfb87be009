//! How long requests wait: laws with a known truth.
//!
//! A wait is the law's quantile of one uniform number, so that what is drawn and what is true of it
//! are one formula.

use std::sync::Arc;
use units::Nanos;

/// How long requests wait.
#[derive(Debug, Clone, PartialEq)]
pub enum Delay {
    Constant(Nanos),
    /// The logarithm is normal, with this deviation.
    LogNormal {
        median: Nanos,
        sigma: f64,
    },
    /// Below 0 it is 0.
    Normal {
        mean: Nanos,
        deviation: Nanos,
    },
    Uniform {
        low: Nanos,
        high: Nanos,
    },
    Exponential {
        mean: Nanos,
    },
    /// Waits with their shares, which add up to 1; the shortest wait goes first.
    Mix(Vec<(f64, Nanos)>),
    /// What was measured once, evenly within each of its pieces.
    Empirical(Arc<[LawPiece]>),
}

/// Values of a histogram from `low` on, `width` of them, and the share of values below `low` and
/// in here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawPiece {
    pub(crate) low: u64,
    pub(crate) width: u64,
    pub(crate) before: f64,
    pub(crate) share: f64,
}

impl Delay {
    /// Of buckets of a histogram, from the lowest: lowest value, number of values, count. `None`
    /// where nothing was counted.
    pub fn empirical(buckets: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<Self> {
        let buckets: Vec<_> = buckets
            .into_iter()
            .filter(|(_, _, count)| *count > 0)
            .collect();
        let all = lossy(buckets.iter().map(|(_, _, count)| count).sum());
        let mut before = 0.0;
        let pieces = buckets.into_iter().map(|(low, width, count)| {
            let piece = LawPiece {
                low,
                width,
                before,
                share: lossy(count) / all,
            };
            before += piece.share;
            piece
        });
        let pieces: Arc<[LawPiece]> = pieces.collect();
        (!pieces.is_empty()).then_some(Self::Empirical(pieces))
    }

    /// The wait that this share of requests, from 0 to below 1, does not exceed.
    pub fn quantile(&self, share: f64) -> Nanos {
        let share = share.clamp(0.0, 1.0 - f64::EPSILON);
        match self {
            Self::Constant(span) => *span,
            Self::Uniform { low, high } => Nanos::from_secs_f64(
                low.as_secs_f64() + share * (high.as_secs_f64() - low.as_secs_f64()),
            ),
            Self::Exponential { mean } => {
                Nanos::from_secs_f64(-mean.as_secs_f64() * (1.0 - share).ln())
            }
            Self::LogNormal { median, sigma } => {
                Nanos::from_secs_f64(median.as_secs_f64() * (sigma * normal(share)).exp())
            }
            Self::Normal { mean, deviation } => Nanos::from_secs_f64(
                (mean.as_secs_f64() + deviation.as_secs_f64() * normal(share)).max(0.0),
            ),
            Self::Mix(parts) => {
                let mut below = 0.0;
                let part = parts.iter().find(|(part, _)| {
                    below += part;
                    share < below
                });
                part.or(parts.last()).map_or(Nanos(0), |(_, span)| *span)
            }
            Self::Empirical(pieces) => {
                let at = pieces.partition_point(|piece| piece.before + piece.share <= share);
                let Some(piece) = pieces.get(at).or(pieces.last()) else {
                    return Nanos(0);
                };
                let inside = ((share - piece.before) / piece.share).clamp(0.0, 1.0);
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a place within a bucket, below its width"
                )]
                let inside = (inside * lossy(piece.width)) as u64;
                Nanos(piece.low + inside.min(piece.width.saturating_sub(1)))
            }
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "shares of counts; their last digits do not matter"
)]
fn lossy(count: u64) -> f64 {
    count as f64
}

/// The quantile of the normal distribution, to about one part in 10^7 (M. J. Wichura, AS 241,
/// routine PPND7).
fn normal(share: f64) -> f64 {
    let ratio = |above: &[f64], below: &[f64], at: f64| {
        let sum = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * at + term);
        sum(above) / sum(below)
    };
    let q = share - 0.5;
    if q.abs() <= 0.425 {
        let above = [
            3.387_132_717_9,
            50.434_271_938,
            159.291_132_02,
            59.109_374_720,
        ];
        let below = [1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600];
        return q * ratio(&above, &below, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { share } else { 1.0 - share };
    let r = (-tail.max(f64::MIN_POSITIVE).ln()).sqrt();
    let z = if r <= 5.0 {
        let above = [
            1.423_437_277_7,
            2.756_819_900_0,
            1.306_728_481_6,
            0.170_238_211_03,
        ];
        let below = [1.0, 0.737_001_642_50, 0.120_211_329_75];
        ratio(&above, &below, r - 1.6)
    } else {
        let above = [
            6.657_905_115_0,
            3.081_226_386_0,
            0.428_682_943_37,
            0.017_337_203_997,
        ];
        let below = [1.0, 0.241_978_942_25, 0.012_258_202_635];
        ratio(&above, &below, r - 5.0)
    };
    z.copysign(q)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn laws() -> Vec<Delay> {
        vec![
            Delay::Constant(Nanos(5 * MS)),
            Delay::LogNormal {
                median: Nanos(5 * MS),
                sigma: 0.5,
            },
            Delay::Normal {
                mean: Nanos(5 * MS),
                deviation: Nanos(4 * MS),
            },
            Delay::Uniform {
                low: Nanos(MS),
                high: Nanos(3 * MS),
            },
            Delay::Exponential { mean: Nanos(MS) },
            Delay::Mix(vec![(0.99, Nanos(100_000)), (0.01, Nanos(20 * MS))]),
            Delay::empirical([(1000, 1000, 3), (2000, 1000, 0), (5000, 10, 1)]).unwrap(),
        ]
    }

    #[test]
    fn the_quantiles_of_the_normal_distribution_are_those_of_the_tables() {
        for (share, z) in [
            (0.5, 0.0),
            (0.841_344_746, 1.0),
            (0.95, 1.644_853_627),
            (0.99, 2.326_347_874),
            (0.999, 3.090_232_306),
            (0.025, -1.959_963_985),
            (1e-9, -5.997_807_015),
            (1e-13, -7.348_796_103),
        ] {
            assert!(
                (normal(share) - z).abs() < 1e-5,
                "{share}: {}",
                normal(share)
            );
        }
    }

    #[test]
    fn what_was_measured_is_drawn_again() {
        let law = Delay::empirical([(1000, 1000, 3), (5000, 10, 1)]).unwrap();
        assert_eq!(
            [0.0, 0.375, 0.749_999, 0.75, 0.999_999].map(|share| law.quantile(share).0),
            [1000, 1500, 1999, 5000, 5009]
        );
        assert_eq!(Delay::empirical([(1, 1, 0)]), None);
    }

    #[test]
    fn a_mixture_has_each_wait_by_its_share() {
        let law = Delay::Mix(vec![(0.99, Nanos(100)), (0.01, Nanos(2000))]);
        assert_eq!(
            [0.5, 0.989, 0.991, 1.0].map(|share| law.quantile(share).0),
            [100, 100, 2000, 2000]
        );
    }

    proptest! {
        #[test]
        fn a_higher_share_never_waits_less(one in 0.0..1.0_f64, other in 0.0..1.0_f64) {
            for law in laws() {
                prop_assert!(law.quantile(one.min(other)) <= law.quantile(one.max(other)), "{law:?}");
            }
        }
    }
}
