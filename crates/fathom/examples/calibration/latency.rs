//! What was injected, what the device logged and what the instrument reports of it.

use crate::log::{Asked, Entry};
use crate::sides::Sides;
use block::Misbehaviour;

/// The percentiles that are compared.
pub(crate) const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// One percentile, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percentile {
    pub(crate) share: f64,
    /// The quantile of the law.
    pub(crate) injected: u64,
    /// The quantiles of the law between which that of as many draws lies, but for one time in 16,000.
    pub(crate) bounds: (u64, u64),
    /// Of what was drawn for these very requests.
    pub(crate) drawn: u64,
    /// Of what the device logged, from arrival to end.
    pub(crate) logged: u64,
    /// Of the device's record, which `fathom import` made of the log.
    pub(crate) imported: f64,
    /// What `fathom run` reports.
    pub(crate) reported: f64,
}

/// One law, measured.
pub(crate) struct Calibrated {
    pub(crate) percentiles: Vec<Percentile>,
    /// Requests that ended before their time.
    pub(crate) early: usize,
    /// By how much requests ended after their time, in nanoseconds: the median and p99.
    pub(crate) late: [u64; 2],
    /// The share of requests that ended within 1 % of what was drawn for them.
    pub(crate) exact: f64,
}

/// The value below or at which the share of all sorted values lies.
fn order_statistic(sorted: &[u64], share: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the rank of one of some thousand values"
    )]
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn sorted(entries: &[Entry], asked: Asked, of: impl Fn(&Entry) -> u64) -> Vec<u64> {
    let entries = entries.iter().filter(|entry| entry.asked == asked);
    let mut values: Vec<u64> = entries.map(of).collect();
    values.sort_unstable();
    values
}

/// Lays the sides of a run of one kind of operation beside the law that was injected; without a
/// law, beside none.
///
/// # Errors
/// A side has none of them.
pub(crate) fn calibrated(
    asked: Asked,
    law: Option<&Misbehaviour>,
    sides: &Sides,
) -> Result<Calibrated, String> {
    let (kind, none) = (asked.name(), || format!("a side has no {}s", asked.name()));
    let drawn = sorted(&sides.entries, asked, |entry| entry.delay);
    let logged = sorted(&sides.entries, asked, Entry::took);
    if logged.is_empty() {
        return Err(none());
    }
    let quantile = |share: f64| {
        let law = law.and_then(|law| law.latency(kind));
        law.map_or(0, |law| law.quantile(share).0)
    };
    let of = |side: &record::Measurements, share: f64| {
        let measured = side.kind(kind);
        let found = measured.and_then(|measured| measured.latency.quantile(share));
        found.ok_or_else(none)
    };
    let percentiles = SHARES.map(|share| {
        #[allow(clippy::cast_precision_loss, reason = "some thousand requests")]
        let deviation = (share * (1.0 - share) / logged.len() as f64).sqrt();
        Ok(Percentile {
            share,
            injected: quantile(share),
            bounds: (
                quantile(share - 4.0 * deviation),
                quantile(share + 4.0 * deviation),
            ),
            drawn: order_statistic(&drawn, share),
            logged: order_statistic(&logged, share),
            imported: of(&sides.imported, share)?,
            reported: of(&sides.client, share)?,
        })
    });
    let late = sorted(&sides.entries, asked, Entry::late);
    let own = || sides.entries.iter().filter(|entry| entry.asked == asked);
    let exact = own().filter(|entry| entry.late() <= entry.delay / 100);
    Ok(Calibrated {
        late: [0.5, 0.99].map(|share| order_statistic(&late, share)),
        exact: lossy(exact.count() as u64) / lossy(own().count() as u64),
        percentiles: percentiles.into_iter().collect::<Result<_, String>>()?,
        early: sides
            .entries
            .iter()
            .filter(|entry| entry.took() < entry.delay)
            .count(),
    })
}

impl Calibrated {
    /// What cannot be, however busy the machine is: nothing where all is well.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        /// Values of a bucket lie closer together than this share of them.
        const BUCKET: f64 = 0.01;
        let mut out = Vec::new();
        if self.early > 0 {
            out.push(format!("{} requests ended before their time", self.early));
        }
        for percentile in &self.percentiles {
            let Percentile {
                share,
                injected,
                bounds,
                drawn,
                logged,
                imported,
                reported,
            } = *percentile;
            let name = format!("p{}", 100.0 * share);
            if !(bounds.0..=bounds.1).contains(&drawn) {
                out.push(format!(
                    "{name}: {drawn} ns were drawn, far from the {injected} ns of the law"
                ));
            }
            let exact = lossy(logged);
            if (imported / exact - 1.0).abs() > BUCKET {
                out.push(format!(
                    "{name}: the log says {logged} ns, and its import {imported:.0} ns"
                ));
            }
            if reported < exact * (1.0 - BUCKET) {
                out.push(format!(
                    "{name}: {reported:.0} ns are reported of what took the device {logged} ns"
                ));
            }
        }
        out
    }
}

#[allow(clippy::cast_precision_loss, reason = "times below a century")]
pub(crate) fn lossy(ns: u64) -> f64 {
    ns as f64
}

/// Why a law cannot be calibrated on a machine whose device without any delay has these
/// percentiles; `None` where it can.
pub(crate) fn below_the_floor(
    asked: Asked,
    law: &Misbehaviour,
    floor: &Calibrated,
) -> Option<String> {
    let median = law
        .latency(asked.name())
        .map_or(0, |law| law.quantile(0.5).0);
    let own = floor.percentiles.first()?.reported;
    (lossy(median) < own).then(|| {
        format!(
            "its median of {} lies below the floor of {own:.0} ns, what a request takes here without any delay: what is reported would be the floor",
            units::Nanos(median)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::VOCABULARY;

    fn floor(reported: f64) -> Calibrated {
        let percentile = Percentile {
            share: 0.5,
            injected: 1000,
            bounds: (900, 1100),
            drawn: 1000,
            logged: 2000,
            imported: 2000.0,
            reported,
        };
        Calibrated {
            percentiles: vec![percentile],
            early: 0,
            late: [0; 2],
            exact: 1.0,
        }
    }

    #[test]
    fn a_law_below_the_floor_is_refused_with_words() {
        let law = |text| Misbehaviour::parse(text, &VOCABULARY).unwrap();
        let floor = floor(60_000.0);
        let refused = below_the_floor(Asked::Read, &law("latency=20us"), &floor).unwrap();
        assert!(
            refused.contains("20 µs") && refused.contains("60000 ns"),
            "{refused}"
        );
        assert_eq!(
            below_the_floor(Asked::Read, &law("latency=exponential:1ms"), &floor),
            None
        );
    }

    #[test]
    fn only_what_cannot_be_contradicts() {
        assert_eq!(floor(2500.0).contradictions(), [""; 0]);
        let wrong = |change: fn(&mut Percentile)| {
            let mut calibrated = floor(2500.0);
            change(&mut calibrated.percentiles[0]);
            calibrated.contradictions().len()
        };
        assert_eq!(wrong(|percentile| percentile.drawn = 1200), 1);
        assert_eq!(wrong(|percentile| percentile.imported = 2100.0), 1);
        assert_eq!(wrong(|percentile| percentile.reported = 1900.0), 1);
        assert_eq!(
            wrong(|percentile| percentile.reported = 1e9),
            0,
            "a busy machine is slow"
        );
    }

    #[test]
    fn an_order_statistic_is_one_of_the_values() {
        let values: Vec<u64> = (1..=10).collect();
        let found = [0.0, 0.1, 0.5, 0.91, 1.0].map(|share| order_statistic(&values, share));
        assert_eq!(found, [1, 1, 5, 10, 10]);
    }
}
