//! The figures of one kind of operation, whoever gives them: our counters, or what a foreign source
//! says.

use crate::quantity::Times;
use crate::{Operations, Record, Summary};
use std::borrow::Cow;
use std::collections::BTreeSet;
use units::lossless::f64_to_u64_saturating;

/// What is known of one kind of operation of a record. Where our counters and a summary are both
/// there, the counters answer.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    pub kind: &'a str,
    operations: Option<&'a Operations>,
    summary: Option<&'a Summary>,
    measured_ns: u64,
    /// What a share of all requests comes to, where only the share of this kind is stated.
    shared: Option<u64>,
}

/// The figures of every kind that has a count, a rate or a latency, by the name of the kind.
pub fn figures(record: &Record) -> impl Iterator<Item = Figures<'_>> {
    let kinds: BTreeSet<&str> = record
        .operations
        .kinds()
        .map(|(kind, _)| kind)
        .chain(record.summaries.keys().map(String::as_str))
        .collect();
    kinds
        .into_iter()
        .filter_map(|kind| of_kind(record, kind))
        .filter(|figures| figures.says_something())
}

/// The figures of one kind, if the record has it.
pub fn of_kind<'a>(record: &'a Record, kind: &'a str) -> Option<Figures<'a>> {
    let (operations, summary) = (record.operations.kind(kind), record.summaries.get(kind));
    operations.is_some().then_some(()).or(summary.map(|_| ()))?;
    let own = record.spans.get(kind).map(|span| span.elapsed_ns);
    let measured_ns = own.or_else(|| record.measured_ns()).unwrap_or(0);
    Some(Figures {
        kind,
        operations,
        summary,
        measured_ns,
        shared: summary.and_then(|summary| share_of_requests(record, summary)),
    })
}

/// The figures of reads and writes.
pub fn transfers(record: &Record) -> impl Iterator<Item = Figures<'_>> {
    figures(record).filter(|figures| matches!(figures.kind, "read" | "write"))
}

/// The sum of a figure over reads and writes; `None` if no kind, or not every kind, has it.
pub fn sum_of_transfers(
    record: &Record,
    figure: impl Fn(&Figures<'_>) -> Option<f64>,
) -> Option<f64> {
    let values: Option<Vec<f64>> = transfers(record).map(|figures| figure(&figures)).collect();
    values
        .filter(|values| !values.is_empty())
        .map(|values| values.iter().sum())
}

/// Operations of a kind of which the source states only its share of all requests.
fn share_of_requests(record: &Record, summary: &Summary) -> Option<u64> {
    let share = summary
        .figures
        .get("share_percent")
        .filter(|percent| (0.0..=100.0).contains(*percent))?
        / 100.0;
    let all = record.summaries.get("request")?;
    Some(f64_to_u64_saturating(
        (share * (all.count?.saturating_add(all.errors.unwrap_or(0))) as f64).round(),
    ))
}

impl<'a> Figures<'a> {
    fn says_something(&self) -> bool {
        self.count().is_some()
            || self.per_second().is_some()
            || self.bytes_per_second().is_some()
            || self.mean_ns().is_some()
            || !self.stated_percentiles().is_empty()
    }

    /// Whether our counters answer.
    pub fn is_counted(&self) -> bool {
        self.operations.is_some()
    }

    /// Operations that succeeded.
    pub fn count(&self) -> Option<u64> {
        self.operations
            .map(|o| o.count)
            .or_else(|| self.summary?.count)
            .or(self.shared)
    }

    pub fn bytes(&self) -> Option<u64> {
        self.operations
            .map(|o| o.bytes)
            .or_else(|| self.summary?.bytes)
    }

    pub fn errors(&self) -> Option<u64> {
        self.operations
            .map(|o| o.errors)
            .or_else(|| self.summary?.errors)
    }

    /// Operations a second: as counted, else as the source says.
    pub fn per_second(&self) -> Option<f64> {
        let counted = self.operations.and_then(|o| self.over_time(o.count));
        counted
            .or_else(|| self.stated_per_second())
            .or_else(|| self.over_time(self.count()?))
    }

    /// Bytes a second: as counted, else as the source says.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let counted = self.operations.and_then(|o| self.over_time(o.bytes));
        counted
            .or_else(|| self.stated_bytes_per_second())
            .or_else(|| self.over_time(self.bytes()?))
    }

    /// The time over which the rates of this kind are.
    pub fn measured_ns(&self) -> Option<u64> {
        Some(self.measured_ns).filter(|ns| *ns > 0)
    }

    /// Operations a second, whether they succeeded or failed: what kept the target busy.
    pub fn tried_per_second(&self) -> Option<f64> {
        let rate = self.per_second()?;
        let both = self
            .count()
            .zip(self.errors())
            .filter(|(count, _)| *count > 0);
        Some(both.map_or(rate, |(count, errors)| {
            rate * (count as f64 + errors as f64) / count as f64
        }))
    }

    fn over_time(&self, amount: u64) -> Option<f64> {
        (self.measured_ns > 0).then(|| amount as f64 * 1e9 / self.measured_ns as f64)
    }

    /// Operations a second as a foreign source says them.
    pub fn stated_per_second(&self) -> Option<f64> {
        self.summary?
            .per_second
            .filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// Bytes a second as a foreign source says them.
    pub fn stated_bytes_per_second(&self) -> Option<f64> {
        self.summary?
            .bytes_per_second
            .filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// The latencies.
    #[must_use]
    pub fn times(&self) -> Times<'a> {
        let counted = self
            .operations
            .map(|o| &o.latency)
            .filter(|h| !h.is_empty());
        let histogram = counted.or_else(|| self.summary?.latency.as_ref());
        Times {
            histogram: histogram.map(Cow::Borrowed),
            summary: self.summary,
            samples: self
                .summary
                .and_then(|s| s.samples)
                .or_else(|| self.samples()),
        }
    }

    /// Mean latency in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let mean = self.times().mean().known();
        mean.filter(|mean| mean.is_finite() && *mean >= 0.0)
    }

    /// Mean time from issue to end, in nanoseconds: in a closed loop the latency.
    pub fn mean_service_ns(&self) -> Option<f64> {
        self.operations
            .and_then(|o| o.service.as_ref()?.mean())
            .or_else(|| self.mean_ns())
    }

    /// A percentile (0 to 100) of the latency in nanoseconds, where histogram or source have it.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<f64> {
        self.times()
            .percentile(&percent.to_string())
            .of_any_support()
    }

    /// The longest latency in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> Option<f64> {
        self.times().max().known()
    }

    /// How many latencies there are, where they are counted apart from operations.
    #[must_use]
    pub fn latencies(&self) -> Option<u64> {
        let histogram = self.times().histogram.map(|histogram| histogram.count());
        histogram.or_else(|| self.summary?.samples)
    }

    /// The percentiles that a foreign source shows.
    pub fn stated_percentiles(&self) -> Vec<f64> {
        let texts = self
            .summary
            .into_iter()
            .flat_map(|summary| summary.percentiles_ns.keys());
        let mut out: Vec<f64> = texts
            .filter_map(|text| text.parse().ok())
            .filter(|p| (0.0..=100.0).contains(p))
            .collect();
        out.sort_by(f64::total_cmp);
        out
    }

    /// How many latencies stand behind the percentiles.
    pub fn samples(&self) -> Option<u64> {
        self.operations
            .map(|o| o.count)
            .or_else(|| self.summary?.samples)
            .or_else(|| self.count())
    }

    /// Mean bytes of one operation: from amounts, else from rates.
    pub fn bytes_each(&self) -> Option<f64> {
        let quotient = |bytes: f64, count: f64| (count > 0.0 && bytes > 0.0).then(|| bytes / count);
        let amounts = self
            .bytes()
            .zip(self.count())
            .and_then(|(bytes, count)| quotient(bytes as f64, count as f64));
        amounts.or_else(|| quotient(self.bytes_per_second()?, self.per_second()?))
    }

    /// What the source says besides, and our counters where both are of the same operations.
    pub fn both(&self) -> Option<(&'a Operations, &'a Summary)> {
        self.operations.zip(self.summary)
    }

    /// Other numbers of the source, by its own names.
    pub fn others(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        self.summary.into_iter().flat_map(|summary| {
            summary
                .figures
                .iter()
                .map(|(name, value)| (name.as_str(), *value))
        })
    }

    /// What the source prints, by the name of the figure.
    pub fn as_written(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.summary.into_iter().flat_map(|summary| {
            summary
                .as_written
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    const SECOND: u64 = 1_000_000_000;

    fn blocks(count: u64, latency_ns: u64) -> Operations {
        let mut latency = Histogram::default();
        latency.record_many(latency_ns, count);
        Operations {
            count,
            bytes: count * 4096,
            latency,
            ..Operations::default()
        }
    }

    fn quoted(summary: Summary) -> Record {
        Record {
            summaries: [("read".to_owned(), summary)].into(),
            elapsed_ns: 10 * SECOND,
            ..Record::default()
        }
    }

    #[test]
    fn counters_and_words_give_the_same_figures() {
        let mut counted = Record {
            elapsed_ns: 10 * SECOND,
            ..Record::default()
        };
        counted.operations.insert("read", blocks(1000, 5000));
        let stated = quoted(Summary {
            count: Some(1000),
            bytes: Some(4_096_000),
            mean_ns: Some(5000.0),
            errors: Some(0),
            percentiles_ns: [("50".to_owned(), 5000.0)].into(),
            ..Summary::default()
        });
        for record in [counted, stated] {
            let figures = of_kind(&record, "read").unwrap();
            assert_eq!(
                (figures.count(), figures.samples(), figures.errors()),
                (Some(1000), Some(1000), Some(0))
            );
            assert_eq!(
                (figures.per_second(), figures.bytes_per_second()),
                (Some(100.0), Some(409_600.0))
            );
            assert_eq!(
                (figures.mean_ns(), figures.bytes_each()),
                (Some(5000.0), Some(4096.0))
            );
            assert!((figures.percentile_ns(50.0).unwrap() / 5000.0 - 1.0).abs() < 0.02);
        }
    }

    #[test]
    fn what_nobody_says_is_unknown() {
        let record = quoted(Summary {
            per_second: Some(5960.0),
            ..Summary::default()
        });
        let figures = of_kind(&record, "read").unwrap();
        assert_eq!(
            (
                figures.count(),
                figures.bytes_per_second(),
                figures.mean_ns(),
                figures.bytes_each()
            ),
            (None, None, None, None)
        );
        assert_eq!(figures.percentile_ns(99.0), None);
        assert_eq!(of_kind(&record, "write").map(|f| f.kind), None);
    }

    #[test]
    fn a_summary_of_other_things_is_no_kind_of_operation() {
        let mut record = quoted(Summary {
            figures: [("usr_cpu".to_owned(), 3.0)].into(),
            ..Summary::default()
        });
        assert_eq!(super::figures(&record).count(), 0);
        record.operations.insert("write", blocks(1, 1));
        assert_eq!(
            super::figures(&record).map(|f| f.kind).collect::<Vec<_>>(),
            ["write"]
        );
    }

    #[test]
    fn a_sum_over_kinds_needs_all_of_them() {
        let mut record = quoted(Summary {
            per_second: Some(70.0),
            ..Summary::default()
        });
        record.summaries.insert(
            "write".into(),
            Summary {
                per_second: Some(30.0),
                bytes_per_second: Some(1.0),
                ..Summary::default()
            },
        );
        assert_eq!(sum_of_transfers(&record, |f| f.per_second()), Some(100.0));
        assert_eq!(sum_of_transfers(&record, |f| f.bytes_per_second()), None);
    }

    #[test]
    fn a_share_of_all_requests_is_a_count() {
        let share = Summary {
            figures: [("share_percent".to_owned(), 3.0)].into(),
            ..Summary::default()
        };
        let mut record = quoted(share);
        assert_eq!(of_kind(&record, "read").unwrap().count(), None);
        record.summaries.insert(
            "request".into(),
            Summary {
                count: Some(7788),
                ..Summary::default()
            },
        );
        assert_eq!(of_kind(&record, "read").unwrap().samples(), Some(234));
    }
}
