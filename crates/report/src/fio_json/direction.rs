//! The groups `read`, `write`, `trim` and `sync` of a job.

use super::{latency, whole};
use crate::per_second;
use record::{Operations, Record};
use serde_json::{Value, json};

/// The group of operations that move bytes; several kinds are one direction.
pub(super) fn transfers(record: &Record, kinds: &[&str], bins: bool) -> Value {
    let operations = together(record, kinds);
    let own = kinds
        .iter()
        .filter(|kind| record.operations.kind(kind).is_some())
        .map(|kind| record.elapsed_of(kind))
        .max();
    let elapsed = own.filter(|_| operations.count > 0).unwrap_or(0);
    let bytes_per_second = whole(per_second(operations.bytes, elapsed));
    let short = record
        .errors
        .iter()
        .filter(|e| e.error == "short transfer" && kinds.contains(&e.operation.as_str()));
    let mut out = json!({
        "io_bytes": operations.bytes,
        "io_kbytes": operations.bytes / 1024,
        "bw_bytes": bytes_per_second,
        "bw": bytes_per_second / 1024,
        "iops": per_second(operations.count, elapsed),
        "runtime": elapsed / 1_000_000,
        "total_ios": operations.count,
        "short_ios": short.map(|e| e.count).sum::<u64>(),
        "drop_ios": 0,
        "slat_ns": latency::empty(),
        "clat_ns": latency::summary(operations.service.as_ref().unwrap_or(&operations.latency), bins),
        "lat_ns": latency::summary(&operations.latency, bins),
    });
    let fields = out.as_object_mut().expect("the literal above is an object");
    let samples = samples(record, kinds);
    let bw = Spread::of(samples.iter().map(|(bytes, _)| bytes / 1024.0));
    let iops = Spread::of(samples.iter().map(|(_, operations)| *operations));
    let aggregate = if bytes_per_second > 0 {
        (100.0 * bw.mean * 1024.0 / bytes_per_second as f64).min(100.0)
    } else {
        0.0
    };
    let spreads = json!({
        "bw_min": whole(bw.min), "bw_max": whole(bw.max), "bw_agg": aggregate, "bw_mean": bw.mean, "bw_dev": bw.deviation,
        "bw_samples": samples.len(),
        "iops_min": whole(iops.min), "iops_max": whole(iops.max), "iops_mean": iops.mean, "iops_stddev": iops.deviation,
        "iops_samples": samples.len(),
    });
    fields.extend(spreads.as_object().cloned().unwrap_or_default());
    out
}

/// The group of flushes.
pub(super) fn flushes(record: &Record, kinds: &[&str], bins: bool) -> Value {
    let operations = together(record, kinds);
    json!({"total_ios": operations.count, "lat_ns": latency::summary(&operations.latency, bins)})
}

fn together(record: &Record, kinds: &[&str]) -> Operations {
    let mut sum: Option<Operations> = None;
    for operations in kinds.iter().filter_map(|kind| record.operations.kind(kind)) {
        match &mut sum {
            Some(sum) => sum.merge(operations),
            None => sum = Some(operations.clone()),
        }
    }
    sum.unwrap_or_default()
}

/// Bytes and operations a second of each whole interval. A last interval that was cut short is no
/// sample.
fn samples(record: &Record, kinds: &[&str]) -> Vec<(f64, f64)> {
    if kinds
        .iter()
        .all(|kind| record.operations.kind(kind).is_none())
    {
        return Vec::new();
    }
    let lengths = record
        .series
        .iter()
        .map(|interval| (interval, interval.end_ns.saturating_sub(interval.start_ns)));
    let whole_ones = lengths.filter(|(_, length)| *length > 0 && *length >= record.interval_ns / 2);
    whole_ones
        .map(|(interval, length)| {
            let counted = || {
                kinds
                    .iter()
                    .filter_map(|kind| interval.operations.kind(kind))
            };
            let [bytes, count] = [
                counted().map(|o| o.bytes).sum(),
                counted().map(|o| o.count).sum(),
            ];
            (per_second(bytes, length), per_second(count, length))
        })
        .collect()
}

/// Zero throughout without samples, as fio has it.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    /// Of the sample: divided by n - 1.
    deviation: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = if values.len() > 1 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        };
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            deviation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use record::{Interval, Measurements};

    fn with_counts(counts: &[u64]) -> Record {
        let mut record = Record {
            interval_ns: 500_000_000,
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        for (i, &count) in (0_u64..).zip(counts) {
            let mut operations = Measurements::default();
            operations.insert(
                "write",
                Operations {
                    count,
                    bytes: count * 1024,
                    ..Operations::default()
                },
            );
            record.operations.merge(&operations);
            record.series.push(Interval {
                start_ns: i * 500_000_000,
                end_ns: (i + 1) * 500_000_000,
                operations,
                ..Interval::default()
            });
        }
        record
    }

    #[test]
    fn the_spread_is_over_the_intervals() {
        let group = transfers(&with_counts(&[100, 200, 300]), &["write"], false);
        assert_eq!(
            (&group["iops_min"], &group["iops_max"], &group["iops_mean"]),
            (&json!(200), &json!(600), &json!(400.0))
        );
        assert_eq!(
            (
                &group["iops_stddev"],
                &group["iops_samples"],
                &group["bw_mean"]
            ),
            (&json!(200.0), &json!(3), &json!(400.0))
        );
    }

    #[test]
    fn a_stall_counts_and_a_cut_interval_does_not() {
        let mut record = with_counts(&[100, 100, 100]);
        record.series[1].operations = Measurements::default();
        assert_eq!(transfers(&record, &["write"], false)["iops_min"], 0);
        record.series[2].end_ns = record.series[2].start_ns + 1_000_000;
        assert_eq!(transfers(&record, &["write"], false)["iops_samples"], 2);
    }

    #[test]
    fn two_kinds_of_flush_are_one_group() {
        let mut record = example::oltp();
        let before = record.operations.kind("fsync").map_or(0, |o| o.count);
        let fdatasync = record.operations.kind("fsync").cloned().unwrap_or_default();
        record.operations.insert("fdatasync", fdatasync);
        assert_eq!(
            flushes(&record, &["fsync", "fdatasync"], false)["total_ios"],
            2 * before
        );
    }
}
