//! What is done to one request, from the seed and its number.

use crate::{Misbehaviour, Stall};
use units::Nanos;
use units::random::{split_mix, unit_of};

/// How long requests wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    Constant(Nanos),
    /// The logarithm is normal, with this deviation.
    LogNormal {
        median: Nanos,
        sigma: f64,
    },
    Uniform {
        low: Nanos,
        high: Nanos,
    },
    Exponential {
        mean: Nanos,
    },
}

/// A share of requests that are answered with an error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// 0 to 1.
    pub share: f64,
    /// A status of HTTP, or what else the target's protocol has.
    pub status: u16,
}

/// Where in a body something happens, from 0, its start, to below 1, its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BytePlace(pub f64);

impl BytePlace {
    /// The byte of a body of this length; `None` for an empty one.
    pub fn byte(self, length: u64) -> Option<u64> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place drawn in a body; its last digits do not matter"
        )]
        let at = (self.0 * length as f64) as u64;
        (length > 0).then(|| at.min(length - 1))
    }
}

/// What is done to one request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Treatment {
    /// How long it waits before it is answered.
    pub delay: Nanos,
    /// Answered with this status, without doing anything.
    pub error: Option<u16>,
    /// The body ends here.
    pub truncate: Option<BytePlace>,
    /// A bit of the body's byte here is flipped.
    pub corrupt: Option<BytePlace>,
}

/// The draws of one request, each by its own number so that one model does not move another.
#[derive(Clone, Copy)]
enum Draw {
    Latency = 1,
    Angle,
    Jitter,
    Error,
    Truncate,
    TruncateAt,
    Corrupt,
    CorruptAt,
}

/// In `[0, 1)`, from 53 bits.
fn uniform(seed: u64, number: u64, draw: Draw) -> f64 {
    unit_of(split_mix(split_mix(split_mix(seed) ^ number) ^ draw as u64))
}

impl Delay {
    fn draw(self, seed: u64, number: u64) -> Nanos {
        let u = || uniform(seed, number, Draw::Latency);
        match self {
            Self::Constant(span) => span,
            Self::Uniform { low, high } => Nanos::from_secs_f64(
                low.as_secs_f64() + u() * (high.as_secs_f64() - low.as_secs_f64()),
            ),
            Self::Exponential { mean } => {
                Nanos::from_secs_f64(-mean.as_secs_f64() * (1.0 - u()).ln())
            }
            Self::LogNormal { median, sigma } => {
                // Box and Muller (1958).
                let angle = std::f64::consts::TAU * uniform(seed, number, Draw::Angle);
                let normal = (-2.0 * (1.0 - u()).ln()).sqrt() * angle.cos();
                Nanos::from_secs_f64(median.as_secs_f64() * (sigma * normal).exp())
            }
        }
    }
}

impl Misbehaviour {
    /// What is done to the request of this number. The same seed, operation and number decide the
    /// same.
    pub fn decide(&self, operation: &str, number: u64) -> Treatment {
        let u = |draw| uniform(self.seed, number, draw);
        let latency = self
            .model(operation, |models| models.latency)
            .map_or(0, |latency| latency.draw(self.seed, number).0);
        let jitter = self
            .model(operation, |models| models.jitter)
            .map_or(0.0, |jitter| jitter.as_secs_f64() * u(Draw::Jitter));
        let error = self
            .model(operation, |models| models.errors)
            .filter(|fault| u(Draw::Error) < fault.share);
        let truncate = self
            .model(operation, |models| models.truncate)
            .filter(|share| u(Draw::Truncate) < *share);
        let corrupt = self
            .model(operation, |models| models.corrupt)
            .filter(|share| u(Draw::Corrupt) < *share);
        Treatment {
            delay: Nanos(latency.saturating_add(Nanos::from_secs_f64(jitter).0)),
            error: error.map(|fault| fault.status),
            truncate: truncate.map(|_| BytePlace(u(Draw::TruncateAt))),
            corrupt: corrupt.map(|_| BytePlace(u(Draw::CorruptAt))),
        }
    }

    /// How much longer a request that comes this long after the start stands still.
    pub fn stalled(&self, operation: &str, since_start: Nanos) -> Nanos {
        let Some(Stall { lasts, every }) = self.model(operation, |models| models.stall) else {
            return Nanos(0);
        };
        Nanos(lasts.0.saturating_sub(since_start.0 % every.0.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Misbehaviour {
        Misbehaviour::parse(text, &["get", "put"]).unwrap()
    }

    #[test]
    fn the_same_number_decides_the_same_and_another_seed_otherwise() {
        let text = "latency=exponential:5ms,errors=30%:503,truncate=20%,corrupt=10%";
        let (one, other) = (parsed(text), parsed(&format!("{text},seed=1")));
        assert!((0..100).all(|number| one.decide("get", number) == one.decide("get", number)));
        assert!((0..100).any(|number| one.decide("get", number) != other.decide("get", number)));
    }

    #[test]
    fn shares_are_what_was_asked() {
        let model = parsed("errors=1%:503,truncate=10%,get.errors=50%:500");
        let share = |operation, of: fn(&Treatment) -> bool| {
            (0..100_000)
                .filter(|number| of(&model.decide(operation, *number)))
                .count()
        };
        // Four deviations of a binomial with n = 100,000 are 126 at 1 %, 380 at 10 % and 633 at 50
        // %.
        assert!((874..=1126).contains(&share("put", |decision| decision.error == Some(503))));
        assert!((49_367..=50_633).contains(&share("get", |decision| decision.error == Some(500))));
        assert!((9_620..=10_380).contains(&share("put", |decision| decision.truncate.is_some())));
    }

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        let quantile = |text: &str, share: usize| {
            let model = parsed(text);
            let mut delays: Vec<u64> = (0..100_001)
                .map(|number| model.decide("get", number).delay.0)
                .collect();
            delays.sort_unstable();
            delays[share * 1000]
        };
        let near = |found: u64, expected: f64| (found as f64 / expected - 1.0).abs() < 0.03;
        assert!(near(quantile("latency=lognormal:5ms:0.5", 50), 5e6));
        // exp(0.5 * 1.6449), the 95th percentile of the normal.
        assert!(near(quantile("latency=lognormal:5ms:0.5", 95), 5e6 * 2.276));
        assert!(near(
            quantile("latency=exponential:10ms", 50),
            10e6 * std::f64::consts::LN_2
        ));
        assert!(near(quantile("latency=uniform:1ms:3ms", 25), 1.5e6));
        assert!(near(quantile("latency=4ms,jitter=2ms", 50), 5e6));
    }

    #[test]
    fn a_stall_ends_at_the_same_moment_for_all() {
        let model = parsed("stall=2s/every:30s");
        let at = |ms: u64| model.stalled("get", Nanos(ms * 1_000_000)).0 / 1_000_000;
        assert_eq!(
            [
                at(0),
                at(500),
                at(2_000),
                at(29_999),
                at(30_000),
                at(31_999)
            ],
            [2_000, 1_500, 0, 0, 2_000, 1]
        );
    }

    #[test]
    fn a_place_in_a_body_lies_inside_it() {
        assert_eq!(
            BytePlace(0.999_999_999_999)
                .byte(u64::MAX)
                .map(|at| at < u64::MAX),
            Some(true)
        );
        assert_eq!(
            [
                BytePlace(0.5).byte(10),
                BytePlace(0.0).byte(1),
                BytePlace(0.9).byte(0)
            ],
            [Some(5), Some(0), None]
        );
    }
}
