//! The one number of a record that is compared.

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
}

impl Metric {
    /// Reads `iops`, `throughput`, `mean`, `p99`, `p99.9`, `cpu`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "iops" => Some(Self::OperationsPerSecond),
            "throughput" => Some(Self::BytesPerSecond),
            "mean" => Some(Self::MeanLatency),
            "cpu" => Some(Self::CpuPerOperation),
            _ => text.strip_prefix('p')?.parse().ok().filter(|p: &f64| (0.0..100.0).contains(p)).map(Self::LatencyPercentile),
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
        }
    }

    #[must_use]
    pub fn higher_is_better(&self) -> bool {
        matches!(self, Self::OperationsPerSecond | Self::BytesPerSecond)
    }

    /// The metric of a record over all kinds of operations; `None` if the record does not say, or if a percentile has too few samples
    /// (trust: at least ten above it).
    #[must_use]
    pub fn of(&self, record: &Record) -> Option<f64> {
        // Only where a latency is asked for: histograms are large.
        let all = || {
            record.operations.kinds().map(|(_, operations)| operations).cloned().reduce(|mut sum, part| {
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
                stats::quantile_has_support(latency.count(), q).then(|| latency.quantile(q)).flatten()
            }
            Self::CpuPerOperation => {
                let count = record.operations.count();
                (count > 0).then(|| (record.process.user_ns + record.process.system_ns) as f64 / count as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_nonsense_is_not() {
        assert_eq!(Metric::parse("p99.9"), Some(Metric::LatencyPercentile(99.9)));
        assert_eq!(Metric::parse("p99.9").map(|m| m.name()), Some("p99.9 latency in ns".into()));
        for text in ["", "p", "p101", "speed"] {
            assert_eq!(Metric::parse(text), None, "{text}");
        }
    }
}
