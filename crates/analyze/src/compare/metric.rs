//! The one number of a record that is compared.

use crate::figures::{Figures, of_kind};
use record::{Operations, Record};

/// What is compared; latencies count from the intended start.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    OperationsPerSecond,
    BytesPerSecond,
    MeanLatency,
    /// Percent of operations below it, 99.9 for p99.9.
    LatencyPercentile(f64),
    /// CPU time of the process an operation.
    CpuPerOperation,
    /// A rate or latency of one kind of operation, such as the p99 of `get`.
    OfKind(String, Box<Metric>),
}

impl Metric {
    /// What [`Metric::parse`] reads, for help and refusals.
    pub const FORMS: &str = "iops (or rate), throughput, mean, median, cpu, or a percentile such as p99 or p99.9, all but cpu also of one kind of operation: read.p99, write.rate, get.p99, fsync.mean";

    /// Reads `iops` or `rate`, `throughput`, `mean`, `median`, `p99`, `p99.9`, `cpu`; and of one
    /// kind of operation `get.p99`, `write.rate`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let of_all = match text {
            "iops" | "rate" => Some(Self::OperationsPerSecond),
            "throughput" => Some(Self::BytesPerSecond),
            "mean" => Some(Self::MeanLatency),
            "median" => Some(Self::LatencyPercentile(50.0)),
            "cpu" => Some(Self::CpuPerOperation),
            _ => text
                .strip_prefix('p')
                .and_then(|percent| percent.parse().ok())
                .filter(|p: &f64| (0.0..100.0).contains(p))
                .map(Self::LatencyPercentile),
        };
        of_all.or_else(|| {
            let (kind, metric) = text.split_once('.')?;
            let is_word = !kind.is_empty()
                && kind
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'));
            match Self::parse(metric)? {
                Self::CpuPerOperation | Self::OfKind(..) => None,
                metric @ (Self::OperationsPerSecond
                | Self::BytesPerSecond
                | Self::MeanLatency
                | Self::LatencyPercentile(_)) => {
                    is_word.then(|| Self::OfKind(kind.to_owned(), Box::new(metric)))
                }
            }
        })
    }

    /// The text that [`Metric::parse`] reads as this.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::OperationsPerSecond => "iops".into(),
            Self::BytesPerSecond => "throughput".into(),
            Self::MeanLatency => "mean".into(),
            Self::LatencyPercentile(percent) => format!("p{percent}"),
            Self::CpuPerOperation => "cpu".into(),
            Self::OfKind(kind, metric) => format!("{kind}.{}", metric.key()),
        }
    }

    /// The kind of operation that it is of; `None`: all together.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::OfKind(kind, _) => Some(kind),
            Self::OperationsPerSecond
            | Self::BytesPerSecond
            | Self::MeanLatency
            | Self::LatencyPercentile(_)
            | Self::CpuPerOperation => None,
        }
    }

    /// Whether a record has operations that it is of.
    #[must_use]
    pub(crate) fn concerns(&self, record: &Record) -> bool {
        let is_counted = |kind: &str| {
            record
                .operations
                .kind(kind)
                .is_some_and(|operations| operations.count + operations.errors > 0)
        };
        self.kind()
            .is_none_or(|kind| is_counted(kind) || record.summaries.contains_key(kind))
    }

    /// What is measured, whatever the kind of operation.
    #[must_use]
    pub fn of_any_kind(&self) -> &Self {
        match self {
            Self::OfKind(_, metric) => metric.of_any_kind(),
            metric @ (Self::OperationsPerSecond
            | Self::BytesPerSecond
            | Self::MeanLatency
            | Self::LatencyPercentile(_)
            | Self::CpuPerOperation) => metric,
        }
    }

    /// Its name and unit.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::OperationsPerSecond => "operations a second".into(),
            Self::BytesPerSecond => "bytes a second".into(),
            Self::MeanLatency => "mean latency in ns".into(),
            Self::LatencyPercentile(percent) => format!("p{percent} latency in ns"),
            Self::CpuPerOperation => "CPU ns an operation".into(),
            Self::OfKind(kind, metric) => format!("{kind}: {}", metric.name()),
        }
    }

    #[must_use]
    pub fn higher_is_better(&self) -> bool {
        matches!(
            self.of_any_kind(),
            Self::OperationsPerSecond | Self::BytesPerSecond
        )
    }

    /// The metric of a record, over all kinds of operations or of one; `None` if the record does
    /// not say, or if a percentile has too few samples (trust: at least ten above it).
    #[must_use]
    pub fn of(&self, record: &Record) -> Option<f64> {
        // Only where a latency is asked for: histograms are large.
        let all = || {
            record
                .operations
                .kinds()
                .map(|(_, operations)| operations)
                .cloned()
                .reduce(|mut sum, part| {
                    sum.merge(&part);
                    sum
                })
        };
        match self {
            Self::OperationsPerSecond => record.operations_per_second().filter(|x| *x > 0.0),
            Self::BytesPerSecond => record.bytes_per_second().filter(|x| *x > 0.0),
            Self::MeanLatency => all()?.latency.mean(),
            Self::LatencyPercentile(percent) => {
                let (Operations { latency, .. }, q) = (all()?, percent / 100.0);
                stats::quantile_has_support(latency.count(), q)
                    .then(|| latency.quantile(q))
                    .flatten()
            }
            Self::CpuPerOperation => {
                let count = record.operations.count();
                (count > 0).then(|| {
                    (record.process.user_ns + record.process.system_ns) as f64 / count as f64
                })
            }
            Self::OfKind(kind, metric) => metric.of_figures(&of_kind(record, kind)?),
        }
    }

    fn of_figures(&self, figures: &Figures<'_>) -> Option<f64> {
        match self {
            Self::OperationsPerSecond => figures.per_second().filter(|x| *x > 0.0),
            Self::BytesPerSecond => figures.bytes_per_second().filter(|x| *x > 0.0),
            Self::MeanLatency => figures.mean_ns(),
            Self::LatencyPercentile(percent) => {
                let samples = figures.latencies().or_else(|| figures.samples())?;
                stats::quantile_has_support(samples, percent / 100.0)
                    .then(|| figures.percentile_ns(*percent))
                    .flatten()
            }
            Self::CpuPerOperation | Self::OfKind(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_nonsense_is_not() {
        assert_eq!(
            Metric::parse("p99.9"),
            Some(Metric::LatencyPercentile(99.9))
        );
        assert_eq!(
            Metric::parse("p99.9").map(|m| m.name()),
            Some("p99.9 latency in ns".into())
        );
        for text in [
            "",
            "p",
            "p101",
            "speed",
            "get.",
            ".p99",
            "get.cpu",
            "get.put.p99",
            "GET.p99",
            "get.speed",
        ] {
            assert_eq!(Metric::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_reads_back_as_its_metric() {
        for key in [
            "iops",
            "throughput",
            "mean",
            "p50",
            "p99.9",
            "cpu",
            "get.p99",
            "get.p99.9",
            "write.iops",
            "fsync.mean",
        ] {
            let metric = Metric::parse(key).unwrap();
            assert_eq!(
                (metric.key().as_str(), Metric::parse(&metric.key())),
                (key, Some(metric))
            );
        }
        assert_eq!(
            Metric::parse("put.rate").map(|m| m.key()),
            Some("put.iops".into())
        );
        assert_eq!(Metric::parse("median"), Metric::parse("p50"));
    }

    #[test]
    fn one_kind_is_measured_apart_from_the_others() {
        let mut record = Record {
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        for (kind, count, ns) in [("get", 4000_u64, 1_000_000), ("put", 2000, 9_000_000)] {
            let mut operations = Operations {
                count,
                bytes: count * 10,
                ..Operations::default()
            };
            operations.latency.record_many(ns, count);
            record.operations.insert(kind, operations);
        }
        let of = |key: &str| Metric::parse(key).unwrap().of(&record);
        assert_eq!(
            (of("iops"), of("get.rate"), of("put.rate")),
            (Some(3000.0), Some(2000.0), Some(1000.0))
        );
        assert_eq!(
            (of("get.throughput"), of("delete.rate"), of("delete.p99")),
            (Some(20_000.0), None, None)
        );
        let near = |key: &str, ns: f64| {
            assert!(
                (of(key).unwrap() / ns - 1.0).abs() < 0.02,
                "{key}: {:?}",
                of(key)
            )
        };
        near("get.p99", 1e6);
        near("put.p99", 9e6);
        near("p99", 9e6);
        assert_eq!(of("put.p99.9"), None, "too few above it");
        assert!(
            Metric::parse("get.rate").unwrap().higher_is_better()
                && !Metric::parse("get.p99").unwrap().higher_is_better()
        );
    }

    #[test]
    fn what_another_tool_says_of_a_kind_counts_with_the_samples_behind_it() {
        let summary = record::Summary {
            count: Some(5000),
            per_second: Some(100.0),
            percentiles_ns: [("99".to_owned(), 7e6)].into(),
            ..record::Summary::default()
        };
        let record = Record {
            summaries: [("get".to_owned(), summary)].into(),
            ..Record::default()
        };
        let of = |key: &str| Metric::parse(key).unwrap().of(&record);
        assert_eq!(
            (of("get.p99"), of("get.rate"), of("get.p95")),
            (Some(7e6), Some(100.0), None)
        );
    }
}
