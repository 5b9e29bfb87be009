//! What is done to one request, from the seed and what is known of it.

use crate::{FaultPlace, Misbehaviour, Stall};
use std::ops::Range;
use units::Nanos;
use units::random::{split_mix, unit_of};

/// What a target says of a request.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    pub operation: &'a str,
    /// Its number among all requests of the target, from 0.
    pub number: u64,
    /// The bytes that it is about, where a target has places.
    pub extent: Option<Range<u64>>,
}

/// Which requests a fault hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Which {
    /// 0 to 1 of them.
    Share(f64),
    /// Every so many, counted from 1.
    Nth(u64),
    /// This one, counted from 1.
    Once(u64),
    /// Those that touch a place.
    At(FaultPlace),
}

/// Requests that are answered with an error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    pub which: Which,
    /// As the target numbers its errors.
    pub code: u16,
}

/// What becomes of the data of a request that is answered as if nothing were wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// Nothing of a write is kept.
    Lost,
    /// Of a write its first part, up to here.
    Torn(BytePlace),
    /// A write goes here, a place of the device.
    Misdirected(BytePlace),
    /// A read gives what was there before.
    Stale,
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
    /// Answered with this, without doing anything.
    pub error: Option<u16>,
    /// The error is cured where writing has been; the target keeps where that was.
    pub curable: Option<FaultPlace>,
    /// The body ends here.
    pub truncate: Option<BytePlace>,
    /// A bit of the body's byte here is flipped.
    pub corrupt: Option<BytePlace>,
    pub fate: Option<Fate>,
    /// Not answered until told.
    pub hangs: bool,
}

/// The draws of one request, each by its own number so that one model does not move another.
#[derive(Clone, Copy)]
enum Draw {
    Latency = 1,
    Jitter = 3,
    Error,
    Truncate,
    TruncateAt,
    Corrupt,
    CorruptAt,
    Stale,
    Lost,
    Torn,
    TornAt,
    Misdirected,
    MisdirectedTo,
    Hang,
}

/// In `[0, 1)`, from 53 bits.
fn uniform(seed: u64, number: u64, draw: Draw) -> f64 {
    unit_of(split_mix(split_mix(split_mix(seed) ^ number) ^ draw as u64))
}

impl Which {
    fn hits(self, ask: &Ask<'_>, drawn: impl Fn() -> f64) -> bool {
        match self {
            Self::Share(share) => drawn() < share,
            Self::Nth(n) => ask.number.wrapping_add(1).is_multiple_of(n),
            Self::Once(which) => ask.number.wrapping_add(1) == which,
            Self::At(place) => ask
                .extent
                .as_ref()
                .is_some_and(|extent| place.touches(extent)),
        }
    }
}

impl Misbehaviour {
    /// What is done to a request. The same seed and the same request decide the same.
    pub fn decide(&self, ask: &Ask<'_>) -> Treatment {
        let u = |draw| uniform(self.seed, ask.number, draw);
        let latency = self
            .latency(ask.operation)
            .map_or(0, |law| law.quantile(u(Draw::Latency)).0);
        let jitter = self
            .model(ask.operation, |models| models.jitter)
            .map_or(0.0, |jitter| jitter.as_secs_f64() * u(Draw::Jitter));
        let hits = |which: Option<Which>, draw: Draw| {
            which.is_some_and(|which| which.hits(ask, || u(draw)))
        };
        let error = self
            .model(ask.operation, |models| models.errors)
            .filter(|fault| hits(Some(fault.which), Draw::Error));
        let curable = error.and_then(|fault| match fault.which {
            Which::At(place) if place.until_written => Some(place),
            Which::At(_) | Which::Share(_) | Which::Nth(_) | Which::Once(_) => None,
        });
        let of = |choose: fn(&crate::Models) -> Option<Which>| self.model(ask.operation, choose);
        let truncate = hits(of(|models| models.truncate), Draw::Truncate);
        let corrupt = hits(of(|models| models.corrupt), Draw::Corrupt);
        let fate = if hits(of(|models| models.stale), Draw::Stale) {
            Some(Fate::Stale)
        } else if hits(of(|models| models.lost), Draw::Lost) {
            Some(Fate::Lost)
        } else if hits(of(|models| models.torn), Draw::Torn) {
            Some(Fate::Torn(BytePlace(u(Draw::TornAt))))
        } else if hits(of(|models| models.misdirected), Draw::Misdirected) {
            Some(Fate::Misdirected(BytePlace(u(Draw::MisdirectedTo))))
        } else {
            None
        };
        Treatment {
            delay: Nanos(latency.saturating_add(Nanos::from_secs_f64(jitter).0)),
            error: error.map(|fault| fault.code),
            curable,
            truncate: truncate.then(|| BytePlace(u(Draw::TruncateAt))),
            corrupt: corrupt.then(|| BytePlace(u(Draw::CorruptAt))),
            fate,
            hangs: hits(of(|models| models.hang), Draw::Hang),
        }
    }

    /// The place where errors are until it is written, of reads.
    pub fn curable(&self, operation: &str) -> Option<FaultPlace> {
        let fault = self.model(operation, |models| models.errors)?;
        match fault.which {
            Which::At(place) if place.until_written => Some(place),
            Which::At(_) | Which::Share(_) | Which::Nth(_) | Which::Once(_) => None,
        }
    }

    /// How much longer a request that comes this long after the start stands still by the clock.
    pub fn stalled(&self, operation: &str, since_start: Nanos) -> Nanos {
        match self.model(operation, |models| models.stall) {
            Some(Stall::Every { lasts, every }) => {
                Nanos(lasts.0.saturating_sub(since_start.0 % every.0.max(1)))
            }
            Some(Stall::After { .. }) | None => Nanos(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codes, Vocabulary};

    fn parsed(text: &str) -> Misbehaviour {
        Misbehaviour::parse(text, &Vocabulary::http(&["get", "put"])).unwrap()
    }

    fn ask(operation: &str, number: u64) -> Ask<'_> {
        Ask {
            operation,
            number,
            extent: None,
        }
    }

    #[test]
    fn the_same_number_decides_the_same_and_another_seed_otherwise() {
        let text = "latency=exponential:5ms,errors=30%:503,truncate=20%,corrupt=10%";
        let (one, other) = (parsed(text), parsed(&format!("{text},seed=1")));
        assert!(
            (0..100)
                .all(|number| one.decide(&ask("get", number)) == one.decide(&ask("get", number)))
        );
        assert!(
            (0..100)
                .any(|number| one.decide(&ask("get", number)) != other.decide(&ask("get", number)))
        );
    }

    #[test]
    fn shares_are_what_was_asked() {
        let model = parsed("errors=1%:503,truncate=10%,get.errors=50%:500");
        let share = |operation, of: fn(&Treatment) -> bool| {
            (0..100_000)
                .filter(|number| of(&model.decide(&ask(operation, *number))))
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
                .map(|number| model.decide(&ask("get", number)).delay.0)
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

    const DEVICE: Vocabulary<'_> = Vocabulary {
        operations: &["read", "write"],
        codes: Codes::Names(&[("EIO", 5), ("ENOSPC", 28)]),
        models: &[
            "latency",
            "errors",
            "lost",
            "torn",
            "misdirected",
            "stale",
            "corrupt",
            "hang",
        ],
        only: &[],
        placeless: &[],
        curing: &[],
        histogram: |_| Err("none".to_owned()),
    };

    fn device(text: &str) -> Misbehaviour {
        Misbehaviour::parse(text, &DEVICE).unwrap()
    }

    #[test]
    fn requests_are_hit_by_their_number() {
        let model = device("read.errors=nth:3:EIO,write.errors=once:5:ENOSPC,hang=once:2");
        let errors = |operation| -> Vec<Option<u16>> {
            (0..6)
                .map(|number| model.decide(&ask(operation, number)).error)
                .collect()
        };
        assert_eq!(errors("read"), [None, None, Some(5), None, None, Some(5)]);
        assert_eq!(errors("write"), [None, None, None, None, Some(28), None]);
        let hangs = |number| model.decide(&ask("read", number)).hangs;
        assert_eq!([0, 1, 2].map(hangs), [false, true, false]);
    }

    #[test]
    fn requests_are_hit_by_their_place() {
        let model = device("read.errors=EIO@4KiB+4KiB:until-written");
        let at = |operation, start: u64, end: u64| {
            model.decide(&Ask {
                operation,
                number: 0,
                extent: Some(start..end),
            })
        };
        assert_eq!(at("read", 0, 4096).error, None);
        assert_eq!(at("read", 0, 4097).error, Some(5));
        assert_eq!(at("write", 4096, 8192).error, None);
        assert_eq!(at("read", 8191, 8192).curable.unwrap().start, 4096);
        assert_eq!(model.curable("read").unwrap().bytes, 4096);
        assert_eq!(model.curable("write"), None);
    }

    #[test]
    fn a_write_has_one_fate() {
        let model = device("write.lost=30%,write.torn=30%,write.misdirected=30%,read.stale=10%");
        let mut counts = [0; 5];
        for number in 0..10_000 {
            let at = match model.decide(&ask("write", number)).fate {
                None => 0,
                Some(Fate::Lost) => 1,
                Some(Fate::Torn(_)) => 2,
                Some(Fate::Misdirected(_)) => 3,
                Some(Fate::Stale) => 4,
            };
            counts[at] += 1;
        }
        // 0.7 * 0.7 * 0.7, 0.3, 0.7 * 0.3, 0.49 * 0.3; four deviations are below 200.
        let expected = [3430_i32, 3000, 2100, 1470, 0];
        assert!(
            counts
                .iter()
                .zip(expected)
                .all(|(count, expected)| (count - expected).abs() < 200),
            "{counts:?}"
        );
        assert_eq!(model.decide(&ask("read", 0)).fate, None);
    }
}
