//! The series as an HdrHistogram interval log (V2, deflated), which HdrHistogram's own tools and
//! plotters read.
//!
//! One line an interval and kind of operation, tagged with the kind; times count from the start of
//! the run, values are nanoseconds and the maximum in a line's third field is milliseconds. A
//! record without a series gives one line a kind. The values are bucket midpoints: they are within
//! 0.4 % of the recorded latencies, and HdrHistogram's three digits add 0.1 %.

use crate::moment;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use hdrhistogram::{CreationError, RecordError};
use record::{Histogram, Interval, Record};
use std::time::Duration;

type WriteError = IntervalLogWriterError<hdrhistogram::serialization::V2DeflateSerializeError>;

const DIGITS: u8 = 3;
const NS_PER_MS: f64 = 1e6;

/// Why a record is no interval log.
#[derive(thiserror::Error, Debug)]
pub enum HdrLogError {
    #[error("the kind of operation {0:?} cannot be a tag: it has a space, a comma or a line break")]
    Tag(String),
    #[error("HdrHistogram took no histogram of {DIGITS} digits")]
    Creation(#[source] CreationError),
    #[error("HdrHistogram took no latency of {value} ns")]
    Value {
        value: u64,
        #[source]
        source: RecordError,
    },
    #[error("the interval log could not be written")]
    Write(#[source] WriteError),
}

/// The series of `record` as an interval log.
///
/// # Errors
/// A kind of operation whose name cannot be a tag, or a value that HdrHistogram refuses.
pub fn hdr_log(record: &Record) -> Result<String, HdrLogError> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment(&format!(
        "Fathom {}: latencies in nanoseconds, maxima in milliseconds",
        record.fathom_version()
    ));
    builder
        .add_comment("[Histogram log format version 1.3]")
        .with_max_value_divisor(NS_PER_MS);
    if let Some(start) = moment::system_time(&record.started_at) {
        builder.with_start_time(start).with_base_time(start);
    }
    let io = |error: std::io::Error| HdrLogError::Write(error.into());
    let mut log = builder
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(io)?;
    let whole = Interval {
        end_ns: record.elapsed_ns,
        operations: record.operations.clone(),
        ..Interval::default()
    };
    let intervals = if record.series.is_empty() {
        std::slice::from_ref(&whole)
    } else {
        &record.series
    };
    for interval in intervals {
        let start = Duration::from_nanos(interval.start_ns);
        let length = Duration::from_nanos(interval.end_ns.saturating_sub(interval.start_ns));
        for (kind, operations) in interval.operations.kinds() {
            let tag = Tag::new(kind).ok_or_else(|| HdrLogError::Tag(kind.to_owned()))?;
            log.write_histogram(&converted(&operations.latency)?, start, length, Some(tag))
                .map_err(HdrLogError::Write)?;
        }
    }
    Ok(String::from_utf8(bytes).expect("an interval log is text and base64"))
}

fn converted(latency: &Histogram) -> Result<hdrhistogram::Histogram<u64>, HdrLogError> {
    let mut out = hdrhistogram::Histogram::new(DIGITS).map_err(HdrLogError::Creation)?;
    out.auto(true);
    let (least, most) = (
        latency.min().unwrap_or(0),
        latency.max().unwrap_or(u64::MAX),
    );
    for (low, width, count) in latency.buckets() {
        let value = (low + (width - 1) / 2).clamp(least, most);
        out.record_n(value, count)
            .map_err(|source| HdrLogError::Value { value, source })?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{
        IntervalLogHistogram, IntervalLogIterator, LogEntry,
    };
    use proptest::prelude::*;
    use record::Operations;

    /// Base64 (RFC 4648) without the crate, as a second reader.
    fn decode(text: &str) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = Vec::new();
        let (mut bits, mut held) = (0_u32, 0);
        for c in text.bytes().filter(|c| *c != b'=') {
            let six = alphabet.iter().position(|a| *a == c).unwrap();
            (bits, held) = (bits << 6 | u32::try_from(six).unwrap(), held + 6);
            if held >= 8 {
                held -= 8;
                out.push(u8::try_from(bits >> held & 0xff).unwrap());
            }
        }
        out
    }

    fn intervals(log: &str) -> Vec<IntervalLogHistogram<'_>> {
        let entries = IntervalLogIterator::new(log.as_bytes()).map(Result::unwrap);
        entries
            .filter_map(|entry| {
                if let LogEntry::Interval(histogram) = entry {
                    Some(histogram)
                } else {
                    None
                }
            })
            .collect()
    }

    fn assert_same_quantiles(line: &IntervalLogHistogram<'_>, truth: &Histogram) {
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut decode(line.encoded_histogram()).as_slice())
            .unwrap();
        assert_eq!(read.len(), truth.count());
        for q in [0.5, 0.9, 0.99, 0.999, 1.0] {
            let (got, expected) = (read.value_at_quantile(q) as f64, truth.quantile(q).unwrap());
            assert!(
                (got - expected).abs() <= expected * 0.01 + 1.0,
                "q {q}: {got} against {expected}"
            );
        }
    }

    #[test]
    fn each_interval_and_kind_reads_back_with_its_quantiles() {
        let record = example::oltp();
        let log = hdr_log(&record).unwrap();
        let lines = intervals(&log);
        let mut expected = Vec::new();
        for interval in &record.series {
            expected.extend(
                interval
                    .operations
                    .kinds()
                    .map(|(kind, operations)| (interval.start_ns, kind, &operations.latency)),
            );
        }
        assert_eq!(lines.len(), expected.len());
        for (line, (start, kind, latency)) in lines.iter().zip(expected) {
            assert_eq!(
                (line.start_timestamp(), line.tag()),
                (Duration::from_nanos(start), Tag::new(kind))
            );
            assert_same_quantiles(line, latency);
        }
    }

    #[test]
    fn the_header_names_the_start() {
        let log = hdr_log(&example::oltp()).unwrap();
        assert!(
            log.contains(
                "#[StartTime: 1795172821.601 (seconds since epoch)]\n#[BaseTime: 1795172821.601 "
            ),
            "{log}"
        );
        assert!(log.contains("\nTag=read,0.000,0.500,"), "{log}");
    }

    #[test]
    fn without_a_series_the_totals_are_one_line_a_kind() {
        let record = Record {
            series: Vec::new(),
            ..example::oltp()
        };
        let log = hdr_log(&record).unwrap();
        let lines = intervals(&log);
        assert_eq!(
            lines
                .iter()
                .map(|line| line.tag().unwrap().as_str())
                .collect::<Vec<_>>(),
            ["fsync", "read", "write"]
        );
        assert_eq!(lines[0].duration(), Duration::from_secs(2));
        assert_eq!(intervals(&hdr_log(&Record::default()).unwrap()), []);
    }

    #[test]
    fn a_kind_that_is_no_tag_is_refused() {
        let mut record = Record::default();
        record.operations.insert("two words", Operations::default());
        assert!(
            hdr_log(&record)
                .unwrap_err()
                .to_string()
                .contains("\"two words\"")
        );
    }

    proptest! {
        #[test]
        fn any_latencies_read_back_within_one_percent(values in prop::collection::vec((0_u64..=1 << 52, 1_u64..1000), 1..50)) {
            let mut operations = Operations::default();
            values.iter().for_each(|(value, n)| operations.latency.record_many(*value, *n));
            let mut record = Record::default();
            record.operations.insert("read", operations.clone());
            let log = hdr_log(&record).unwrap();
            // A quantile may fall between two values, where HdrHistogram takes the upper and ours the lower.
            let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut decode(intervals(&log)[0].encoded_histogram()).as_slice()).unwrap();
            prop_assert_eq!(read.len(), operations.latency.count());
            let (mean, truth) = (read.mean(), operations.latency.mean().unwrap());
            prop_assert!((mean - truth).abs() <= truth * 0.01 + 1.0, "{} against {}", mean, truth);
        }
    }
}
