//! Logs over time as fio writes them with `log_avg_msec`: `milliseconds, value, direction, 0, 0` a
//! line.

use crate::per_second;
use record::{Interval, Operations};

/// What a log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioLog {
    /// KiB a second.
    Bandwidth,
    /// Operations a second.
    Iops,
    /// Nanoseconds from the intended start.
    Latency,
    /// Nanoseconds from the issue.
    Completion,
}

impl FioLog {
    /// What stands behind the name that was asked for.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
            Self::Latency => "lat",
            Self::Completion => "clat",
        }
    }

    fn value(self, operations: &Operations, length_ns: u64) -> Option<f64> {
        match self {
            Self::Bandwidth => Some(per_second(operations.bytes, length_ns) / 1024.0),
            Self::Iops => Some(per_second(operations.count, length_ns)),
            Self::Latency => operations.latency.mean(),
            Self::Completion => operations
                .service
                .as_ref()
                .unwrap_or(&operations.latency)
                .mean(),
        }
    }
}

/// One line for each interval and direction, 0 for reads and 1 for writes, at the interval's end. A
/// direction that did nothing in an interval has no line there, as in fio.
#[must_use]
pub fn fio_log(series: &[Interval], log: FioLog) -> String {
    let mut out = String::new();
    for interval in series {
        let length = interval.end_ns.saturating_sub(interval.start_ns);
        for (direction, kind) in ["read", "write"].iter().enumerate() {
            let value = interval
                .operations
                .kind(kind)
                .filter(|operations| operations.count > 0);
            if let Some(value) = value.and_then(|operations| log.value(operations, length)) {
                out.push_str(&format!(
                    "{}, {value:.0}, {direction}, 0, 0\n",
                    interval.end_ns / 1_000_000
                ));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Measurements;

    #[test]
    fn a_line_is_an_interval_and_a_direction() {
        let mut read = Operations {
            count: 10,
            bytes: 10 * 4096,
            ..Operations::default()
        };
        read.latency.record_many(2000, 10);
        let mut operations = Measurements::default();
        operations.insert("read", read.clone());
        let first = Interval {
            start_ns: 0,
            end_ns: 500_000_000,
            operations: operations.clone(),
            ..Interval::default()
        };
        operations.insert("write", read);
        let second = Interval {
            start_ns: 500_000_000,
            end_ns: 1_000_000_000,
            operations,
            ..Interval::default()
        };
        let series = [first, second];
        assert_eq!(
            fio_log(&series, FioLog::Bandwidth),
            "500, 80, 0, 0, 0\n1000, 80, 0, 0, 0\n1000, 80, 1, 0, 0\n"
        );
        assert_eq!(
            fio_log(&series, FioLog::Iops),
            "500, 20, 0, 0, 0\n1000, 20, 0, 0, 0\n1000, 20, 1, 0, 0\n"
        );
        assert_eq!(
            fio_log(&series[..1], FioLog::Latency),
            "500, 2000, 0, 0, 0\n"
        );
        assert_eq!(
            fio_log(&series[..1], FioLog::Completion),
            fio_log(&series[..1], FioLog::Latency)
        );
        assert_eq!(fio_log(&[Interval::default()], FioLog::Iops), "");
    }
}
