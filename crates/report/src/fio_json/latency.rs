//! Latency summaries and the shares of all operations by latency.

use super::whole;
use record::{Histogram, Record};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The percentiles of fio's default `percentile_list`.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// Upper bounds, exclusive, of the shares; in the unit of the group.
const FINE: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const COARSE: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];
const BEYOND: &str = ">=2000";

/// The summary of no operations.
pub(super) fn empty() -> Value {
    json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0})
}

/// Bounds, moments and percentiles in nanoseconds; with `bins` also the count of each bucket by its
/// midpoint.
pub(super) fn summary(latency: &Histogram, bins: bool) -> Value {
    let (Some(min), Some(max), Some(mean), Some(stddev)) = (
        latency.min(),
        latency.max(),
        latency.mean(),
        latency.stddev(),
    ) else {
        return empty();
    };
    let percentiles = PERCENTILES.iter().filter_map(|p| {
        Some((
            format!("{p:.6}"),
            Value::from(whole(latency.quantile(p / 100.0)?)),
        ))
    });
    let percentiles: Map<String, Value> = percentiles.collect();
    let mut out = json!({"min": min, "max": max, "mean": mean, "stddev": stddev, "N": latency.count(), "percentile": percentiles});
    if bins {
        let counts = latency
            .buckets()
            .map(|(low, width, count)| ((low + (width - 1) / 2).to_string(), Value::from(count)));
        out["bins"] = Value::Object(counts.collect());
    }
    out
}

/// `latency_ns`, `latency_us` and `latency_ms`: percent of all operations with bytes, by latency.
pub(super) fn shares(record: &Record) -> Map<String, Value> {
    let mut counts: BTreeMap<(usize, String), u64> = BTreeMap::new();
    let mut total = 0;
    for (_, operations) in record
        .operations
        .kinds()
        .filter(|(kind, _)| ["read", "write", "trim", "discard"].contains(kind))
    {
        for (low, width, count) in operations.latency.buckets() {
            *counts.entry(place(low + (width - 1) / 2)).or_default() += count;
            total += count;
        }
    }
    let share = |unit: usize, label: String| {
        let count = counts.get(&(unit, label.clone())).copied().unwrap_or(0);
        (
            label,
            Value::from(if total > 0 {
                count as f64 * 100.0 / total as f64
            } else {
                0.0
            }),
        )
    };
    let group = |unit, bounds: &[u64]| {
        bounds
            .iter()
            .map(|bound| share(unit, bound.to_string()))
            .collect::<Map<_, _>>()
    };
    let mut milliseconds = group(2, &COARSE);
    milliseconds.extend([share(2, BEYOND.to_owned())]);
    [
        ("latency_ns", group(0, &FINE)),
        ("latency_us", group(1, &FINE)),
        ("latency_ms", milliseconds),
    ]
    .into_iter()
    .map(|(name, shares)| (name.to_owned(), Value::Object(shares)))
    .collect()
}

/// The unit (0 ns, 1 us, 2 ms) and the label of a latency.
fn place(ns: u64) -> (usize, String) {
    let (unit, value, bounds) = match ns {
        0..1000 => (0, ns, FINE.as_slice()),
        1000..1_000_000 => (1, ns / 1000, FINE.as_slice()),
        _ => (2, ns / 1_000_000, COARSE.as_slice()),
    };
    let bound = bounds.iter().find(|bound| value < **bound);
    (
        unit,
        bound.map_or_else(|| BEYOND.to_owned(), u64::to_string),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::Operations;

    #[test]
    fn a_latency_falls_below_its_label() {
        for (ns, unit, label) in [
            (0, 0, "2"),
            (2, 0, "4"),
            (999, 0, "1000"),
            (1000, 1, "2"),
            (51_000, 1, "100"),
            (4_500_000, 2, "10"),
            (1_999_000_000, 2, "2000"),
            (2_000_000_000, 2, ">=2000"),
        ] {
            assert_eq!(place(ns), (unit, label.to_owned()), "{ns}");
        }
    }

    proptest! {
        #[test]
        fn shares_add_to_a_hundred(values in prop::collection::vec(any::<u64>(), 1..40)) {
            let mut record = Record::default();
            let mut operations = Operations::default();
            values.iter().for_each(|value| operations.latency.record(*value));
            record.operations.insert("read", operations);
            let total: f64 = shares(&record).values().flat_map(|group| group.as_object().unwrap().values().cloned()).map(|share| share.as_f64().unwrap()).sum();
            prop_assert!((total - 100.0).abs() < 1e-6);
        }
    }
}
