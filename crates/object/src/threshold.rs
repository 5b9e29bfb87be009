//! Thresholds: `get.p95<50ms`, `errors<1%`, `put.count>=100`, `get.waiting.p99<20ms`.
//!
//! `[KIND.][PHASE.]METRIC OP LIMIT`. KIND is a kind of operation, `iteration`, or nothing for all
//! operations together; PHASE is `connecting`, `sending`, `waiting` or `receiving`, or nothing for
//! the latency. METRIC is a percentile (`p95`), `mean`, `median`, `min`, `max` (times);
//! `errors`, `success` (shares, or numbers without %); `count`, `bytes`; `rate` (operations a
//! second), `throughput` (bytes a second).

use crate::LoadError;
use record::{Histogram, Measurements, Operations, Record, RequestPhases, ThresholdResult};
use units::lossless::f64_to_u64_saturating;
use units::{ByteRate, Bytes, Nanos, Percent, Rate, format_count};

/// A condition on a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    /// `None`: all operations.
    kind: Option<String>,
    phase: Option<Part>,
    metric: Measure,
    comparison: Comparator,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Connecting,
    Sending,
    Waiting,
    Receiving,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// 0 to 1.
    Quantile(f64),
    Mean,
    Min,
    Max,
    ErrorShare,
    ErrorCount,
    SuccessShare,
    SuccessCount,
    Bytes,
    Rate,
    Throughput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
}

const PARTS: [(&str, Part); 4] = [
    ("connecting", Part::Connecting),
    ("sending", Part::Sending),
    ("waiting", Part::Waiting),
    ("receiving", Part::Receiving),
];
const COMPARATORS: [(&str, Comparator); 4] = [
    ("<=", Comparator::AtMost),
    (">=", Comparator::AtLeast),
    ("<", Comparator::Below),
    (">", Comparator::Above),
];

/// Kinds of operations that a load can have, and turns of users.
pub(crate) const ITERATION: &str = "iteration";

impl Threshold {
    /// Reads a threshold.
    ///
    /// # Errors
    /// The text is none; the error says what one looks like.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let refused = |why: &str| {
            LoadError::asked(format!(
                "threshold {text:?}: {why}; examples: get.p95<50ms, errors<1%, put.count>=100, get.waiting.p99<20ms, throughput>100MiB/s"
            ))
        };
        let (at, sign, comparison) = COMPARATORS
            .iter()
            .filter_map(|(sign, comparison)| Some((text.find(sign)?, *sign, *comparison)))
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))
            .ok_or_else(|| refused("no <, <=, > or >="))?;
        let (subject, limit) = (text[..at].trim(), text[at + sign.len()..].trim());
        let mut words: Vec<&str> = split_subject(subject);
        let metric = words.pop().unwrap_or_default();
        let phase = words
            .last()
            .and_then(|word| PARTS.iter().find(|(name, _)| name == word))
            .map(|(_, part)| *part);
        if phase.is_some() {
            words.pop();
        }
        let kind = words.pop().map(str::to_owned);
        if !words.is_empty() {
            return Err(refused("too many dots"));
        }
        if let Some(kind) = kind
            .as_deref()
            .filter(|kind| *kind != ITERATION && !crate::calls::NAMES.contains(kind))
        {
            return Err(refused(&format!(
                "{kind:?} is no kind of operation; kinds are {} and {ITERATION}",
                crate::calls::NAMES.join(", ")
            )));
        }
        let metric = measure(metric, limit.ends_with('%')).ok_or_else(|| {
            refused(&format!(
                "{metric:?} is no metric; metrics are p50 to p100, mean, median, min, max, errors, success, count, bytes, rate, throughput"
            ))
        })?;
        if (phase.is_some() || kind.as_deref() == Some(ITERATION)) && !metric.is_time() {
            return Err(refused("phases and iterations have times only"));
        }
        let limit = metric.read(limit).map_err(|why| refused(&why))?;
        Ok(Self {
            text: text.trim().to_owned(),
            kind,
            phase,
            metric,
            comparison,
            limit,
        })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Holds the record against the threshold. What cannot be computed, for want of any operation,
    /// misses.
    #[must_use]
    pub fn judge(&self, record: &Record) -> ThresholdResult {
        let measured = self.measure(record);
        let holds = measured.is_some_and(|value| match self.comparison {
            Comparator::Below => value < self.limit,
            Comparator::AtMost => value <= self.limit,
            Comparator::Above => value > self.limit,
            Comparator::AtLeast => value >= self.limit,
        });
        let text = match measured {
            None => "nothing was measured that it applies to".to_owned(),
            Some(value) if holds => self.metric.show(value),
            Some(value) => {
                let over = if value > self.limit { "above" } else { "below" };
                let by = match (value - self.limit).abs() {
                    by if by > 0.0 => format!("{} {over} the limit", self.metric.show(by)),
                    _ => "exactly the limit".to_owned(),
                };
                format!("{}, {by}", self.metric.show(value))
            }
        };
        ThresholdResult {
            threshold: self.text.clone(),
            holds,
            measured: text,
        }
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        if self.metric.is_time() {
            return self.metric.of_times(&self.times(record)?);
        }
        let sum = all(&record.operations, self.kind.as_deref());
        let (count, errors) = (sum.count as f64, sum.errors as f64);
        let seconds = record.elapsed_ns as f64 / 1e9;
        let share = |part: f64| (count + errors > 0.0).then(|| 100.0 * part / (count + errors));
        let rate = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
        match self.metric {
            Measure::ErrorShare => share(errors),
            Measure::SuccessShare => share(count),
            Measure::ErrorCount => Some(errors),
            Measure::SuccessCount => Some(count),
            Measure::Bytes => Some(sum.bytes as f64),
            Measure::Rate => rate(count),
            Measure::Throughput => rate(sum.bytes as f64),
            Measure::Quantile(_) | Measure::Mean | Measure::Min | Measure::Max => None,
        }
    }

    fn times(&self, record: &Record) -> Option<Histogram> {
        let load = record.load.as_ref();
        if self.kind.as_deref() == Some(ITERATION) {
            return load.map(|load| load.iterations.clone());
        }
        let Some(phase) = self.phase else {
            return Some(all(&record.operations, self.kind.as_deref()).latency);
        };
        let mut sum = Histogram::default();
        for (kind, phases) in load.into_iter().flat_map(|load| &load.phases) {
            if self.kind.as_ref().is_none_or(|wanted| wanted == kind) {
                sum.merge(of_part(phases, phase));
            }
        }
        Some(sum)
    }
}

/// The words of a subject between dots; the dot of `p99.9` divides nothing.
fn split_subject(subject: &str) -> Vec<&str> {
    let start = subject.rfind(".p").map_or(0, |at| at + 1);
    let is_percentile = |text: &str| {
        text.strip_prefix('p')
            .is_some_and(|digits| digits.parse::<f64>().is_ok())
    };
    match subject.get(start..).filter(|text| is_percentile(text)) {
        Some(percentile) => subject[..start]
            .split('.')
            .filter(|word| !word.is_empty())
            .chain([percentile])
            .collect(),
        None => subject.split('.').collect(),
    }
}

fn of_part(phases: &RequestPhases, part: Part) -> &Histogram {
    match part {
        Part::Connecting => &phases.connecting,
        Part::Sending => &phases.sending,
        Part::Waiting => &phases.waiting,
        Part::Receiving => &phases.receiving,
    }
}

fn all(measured: &Measurements, kind: Option<&str>) -> Operations {
    let mut sum = Operations::default();
    measured
        .kinds()
        .filter(|(name, _)| kind.is_none_or(|kind| kind == *name))
        .for_each(|(_, operations)| sum.merge(operations));
    sum
}

fn measure(word: &str, is_share: bool) -> Option<Measure> {
    Some(match (word, is_share) {
        ("mean" | "avg", _) => Measure::Mean,
        ("median" | "med", _) => Measure::Quantile(0.5),
        ("min", _) => Measure::Min,
        ("max", _) => Measure::Max,
        ("errors", true) => Measure::ErrorShare,
        ("errors", false) => Measure::ErrorCount,
        ("success", true) => Measure::SuccessShare,
        ("success", false) | ("count", _) => Measure::SuccessCount,
        ("bytes", _) => Measure::Bytes,
        ("rate", _) => Measure::Rate,
        ("throughput", _) => Measure::Throughput,
        _ => {
            let percent: f64 = word
                .strip_prefix('p')?
                .parse()
                .ok()
                .filter(|percent| (0.0..=100.0).contains(percent))?;
            Measure::Quantile(percent / 100.0)
        }
    })
}

impl Measure {
    fn is_time(self) -> bool {
        matches!(self, Self::Quantile(_) | Self::Mean | Self::Min | Self::Max)
    }

    fn of_times(self, histogram: &Histogram) -> Option<f64> {
        match self {
            Self::Quantile(q) => histogram.quantile(q),
            Self::Mean => histogram.mean(),
            Self::Min => histogram.min().map(|ns| ns as f64),
            Self::Max => histogram.max().map(|ns| ns as f64),
            Self::ErrorShare
            | Self::ErrorCount
            | Self::SuccessShare
            | Self::SuccessCount
            | Self::Bytes
            | Self::Rate
            | Self::Throughput => None,
        }
    }

    /// A limit in the unit of the metric: nanoseconds, percent, numbers, bytes, a second.
    fn read(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Quantile(_) | Self::Mean | Self::Min | Self::Max => {
                if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
                    return Err(format!("{text:?} has no unit; write 50ms or 0.05s"));
                }
                Nanos::parse(text)
                    .map(|time| time.0 as f64)
                    .map_err(|e| e.to_string())
            }
            Self::ErrorShare | Self::SuccessShare => Percent::parse(text)
                .map(|percent| percent.0)
                .map_err(|e| e.to_string()),
            Self::ErrorCount | Self::SuccessCount => text
                .parse::<u64>()
                .map(|n| n as f64)
                .map_err(|_not_a_number| format!("{text:?} is no whole number")),
            Self::Bytes => Bytes::parse(text)
                .map(|bytes| bytes.0 as f64)
                .map_err(|e| e.to_string()),
            Self::Rate => Rate::parse(text)
                .map(|rate| rate.0)
                .map_err(|e| e.to_string()),
            Self::Throughput => ByteRate::parse(text)
                .map(|rate| rate.0)
                .map_err(|e| e.to_string()),
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Quantile(_) | Self::Mean | Self::Min | Self::Max => {
                Nanos(f64_to_u64_saturating(value.round())).to_string()
            }
            Self::ErrorShare | Self::SuccessShare => share(value),
            Self::ErrorCount | Self::SuccessCount => format_count(value),
            Self::Bytes => Bytes(f64_to_u64_saturating(value)).to_string(),
            Self::Rate => Rate(value).to_string(),
            Self::Throughput => ByteRate(value).to_string(),
        }
    }
}

/// A percentage; only nothing is 0 % and only everything is 100 %.
fn share(percent: f64) -> String {
    match (percent * 100.0).round() / 100.0 {
        0.0 if percent > 0.0 => "under 0.01%".to_owned(),
        100.0 if percent < 100.0 => "over 99.99%".to_owned(),
        rounded => Percent(rounded).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::LoadAccount;

    fn record() -> Record {
        let mut record = Record {
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        let mut get = Operations {
            count: 99,
            bytes: 99 * 4096,
            errors: 1,
            ..Operations::default()
        };
        (1..=99).for_each(|ms: u64| get.latency.record(ms * 1_000_000));
        record.operations.insert("get", get);
        let mut put = Operations {
            count: 1,
            bytes: 4096,
            ..Operations::default()
        };
        put.latency.record(500_000_000);
        record.operations.insert("put", put);
        let mut load = LoadAccount::default();
        load.phases
            .entry("get".into())
            .or_default()
            .waiting
            .record(3_000_000);
        load.iterations.record(700_000_000);
        record.load = Some(load);
        record
    }

    fn judged(text: &str) -> ThresholdResult {
        Threshold::parse(text).unwrap().judge(&record())
    }

    #[test]
    fn each_metric_is_held_against_what_was_measured() {
        for (text, holds) in [
            ("get.p50<55ms", true),
            ("get.p99.9 < 10ms", false),
            ("p100<=500ms", true),
            ("max<500ms", false),
            ("min>0ns", true),
            ("get.mean<=50ms", true),
            ("get.waiting.p95<5ms", true),
            ("waiting.p95>5ms", false),
            ("iteration.median<1s", true),
            ("errors<1%", true),
            ("get.errors<1%", false),
            ("get.errors<=1%", true),
            ("get.errors<2", true),
            ("success>99%", true),
            ("put.count>=1", true),
            ("put.count>1", false),
            ("bytes>=409600", true),
            ("rate>=50", true),
            ("rate>50", false),
            ("throughput>100KiB/s", true),
            ("list.p95<1s", false),
        ] {
            assert_eq!(judged(text).holds, holds, "{text}: {:?}", judged(text));
        }
    }

    #[test]
    fn a_miss_says_by_how_much() {
        assert_eq!(
            judged("put.p95<50ms").measured,
            "500 ms, 450 ms above the limit"
        );
        assert_eq!(
            judged("get.success>=99.5%").measured,
            "99%, 0.5% below the limit"
        );
        assert_eq!(
            judged("rate>50").measured,
            "50, exactly the limit".replace("50,", &format!("{},", Rate(50.0)))
        );
        assert_eq!(
            judged("list.p95<1s").measured,
            "nothing was measured that it applies to"
        );
        assert_eq!(judged("put.count>=1").measured, "1");
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_examples() {
        for text in [
            "",
            "p95",
            "<5ms",
            "get<5ms",
            "p95<5",
            "p95<x",
            "p101<5ms",
            "fetchx.p95<5ms",
            "a.b.c.p95<1s",
            "errors<x%",
            "count>1.5",
            "get.waiting.count>1",
            "iteration.errors<1%",
            "bytes>1KB",
        ] {
            let error = Threshold::parse(text).unwrap_err();
            assert!(
                error.to_string().contains("examples: get.p95<50ms"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn those_that_limit_failures_are_known() {
        let judges = |text: &str| judged(text).limits_failures();
        assert!(
            judges("errors<1%")
                && judges("success>98%")
                && judges("get.errors<5")
                && !judges("count>1")
                && !judges("p95<1s")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z0-9.<>=% ]{0,30}|.{0,30}") {
            if let Ok(threshold) = Threshold::parse(&text) {
                let _any = threshold.judge(&record());
            }
        }
    }
}
