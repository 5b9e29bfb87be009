//! Counters of a running or finished run in the text exposition format 0.0.4 of Prometheus.
//!
//! Latencies are cumulative histograms in seconds over a fixed ladder of bounds, so that runs can
//! be added and compared. A bucket of the record that straddles a bound counts by its midpoint: a
//! bound is exact to 0.4 %.

use record::{Histogram, Measurements, Operations};
use std::fmt::Write;

/// Bounds in nanoseconds and as Prometheus writes them in seconds.
const LADDER: [(u64, &str); 25] = [
    (100, "1e-07"),
    (200, "2e-07"),
    (500, "5e-07"),
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1"),
    (2_000_000_000, "2"),
    (5_000_000_000, "5"),
    (10_000_000_000, "10"),
];

type Counter = (&'static str, &'static str, fn(&Operations) -> u64);

const COUNTERS: [Counter; 3] = [
    (
        "fathom_operations_total",
        "Operations that succeeded.",
        |operations| operations.count,
    ),
    (
        "fathom_bytes_total",
        "Bytes moved by operations that succeeded.",
        |operations| operations.bytes,
    ),
    (
        "fathom_errors_total",
        "Operations that failed.",
        |operations| operations.errors,
    ),
];

/// `snapshot` as an exposition; every sample carries `kind` and the given labels.
#[must_use]
pub fn prometheus(snapshot: &Measurements, labels: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let labels: String = labels
        .iter()
        .map(|(name, value)| format!(",{name}=\"{}\"", escaped(value)))
        .collect();
    for (name, help, value) in COUNTERS {
        head(&mut out, name, help, "counter");
        for (kind, operations) in snapshot.kinds() {
            line(
                &mut out,
                format_args!(
                    "{name}{{kind=\"{}\"{labels}}} {}",
                    escaped(kind),
                    value(operations)
                ),
            );
        }
    }
    let latencies = snapshot
        .kinds()
        .map(|(kind, operations)| (kind, &operations.latency));
    histograms(
        &mut out,
        "fathom_latency_seconds",
        "From the intended start of an operation to its end.",
        &labels,
        latencies,
    );
    let services: Vec<_> = snapshot
        .kinds()
        .filter_map(|(kind, operations)| Some((kind, operations.service.as_ref()?)))
        .collect();
    if !services.is_empty() {
        histograms(
            &mut out,
            "fathom_service_seconds",
            "From the issue of an operation to its end.",
            &labels,
            services.into_iter(),
        );
    }
    out
}

fn histograms<'a>(
    out: &mut String,
    name: &str,
    help: &str,
    labels: &str,
    kinds: impl Iterator<Item = (&'a str, &'a Histogram)>,
) {
    head(out, name, help, "histogram");
    for (kind, histogram) in kinds {
        let labels = format!("kind=\"{}\"{labels}", escaped(kind));
        let mut buckets = histogram.buckets().peekable();
        let mut below = 0;
        for (bound, text) in LADDER {
            while let Some((_, _, count)) =
                buckets.next_if(|(low, width, _)| low + (width - 1) / 2 <= bound)
            {
                below += count;
            }
            line(
                out,
                format_args!("{name}_bucket{{{labels},le=\"{text}\"}} {below}"),
            );
        }
        line(
            out,
            format_args!(
                "{name}_bucket{{{labels},le=\"+Inf\"}} {}",
                histogram.count()
            ),
        );
        line(
            out,
            format_args!("{name}_sum{{{labels}}} {}", histogram.sum() as f64 / 1e9),
        );
        line(
            out,
            format_args!("{name}_count{{{labels}}} {}", histogram.count()),
        );
    }
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    line(out, format_args!("# HELP {name} {help}"));
    line(out, format_args!("# TYPE {name} {kind}"));
}

fn line(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(out, "{arguments}").expect("writing to a string cannot fail");
}

/// A label value as the format wants it: backslash, quote and line feed escaped.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot(values: &[u64]) -> Measurements {
        let mut operations = Operations {
            count: values.len() as u64,
            bytes: values.len() as u64 * 4096,
            errors: 1,
            ..Operations::default()
        };
        values
            .iter()
            .for_each(|value| operations.latency.record(*value));
        let mut out = Measurements::default();
        out.insert("read", operations);
        out
    }

    #[test]
    fn counters_and_the_sum_are_there_under_their_labels() {
        let text = prometheus(
            &snapshot(&[80, 100, 150_000]),
            &[("phase", "warm \"up\"\n\\")],
        );
        for expected in [
            "# TYPE fathom_operations_total counter",
            r#"fathom_operations_total{kind="read",phase="warm \"up\"\n\\"} 3"#,
            r#"fathom_bytes_total{kind="read",phase="warm \"up\"\n\\"} 12288"#,
            r#"fathom_errors_total{kind="read",phase="warm \"up\"\n\\"} 1"#,
            r#"fathom_latency_seconds_sum{kind="read",phase="warm \"up\"\n\\"} 0.00015018"#,
        ] {
            assert!(
                text.lines().any(|line| line == expected),
                "{expected}\n{text}"
            );
        }
        assert!(!text.contains("service"));
    }

    #[test]
    fn a_bound_is_inclusive_and_the_ladder_cumulative() {
        let text = prometheus(&snapshot(&[80, 100, 150_000, 60_000_000_000]), &[]);
        for (bound, below) in [
            ("1e-07", 2),
            ("0.0001", 2),
            ("0.0002", 3),
            ("10", 3),
            ("+Inf", 4),
        ] {
            let expected =
                format!("fathom_latency_seconds_bucket{{kind=\"read\",le=\"{bound}\"}} {below}");
            assert!(
                text.lines().any(|line| line == expected),
                "{expected}\n{text}"
            );
        }
    }

    #[test]
    fn the_ladder_ascends_and_its_texts_are_its_numbers() {
        assert!(LADDER.is_sorted_by(|a, b| a.0 < b.0));
        for (ns, text) in LADDER {
            assert!(
                (text.parse::<f64>().unwrap() * 1e9 - ns as f64).abs() < 1e-6,
                "{text}"
            );
        }
    }

    #[test]
    fn nothing_measured_is_still_a_valid_exposition() {
        assert!(
            prometheus(&Measurements::default(), &[])
                .lines()
                .all(|line| line.starts_with("# "))
        );
    }

    proptest! {
        #[test]
        fn bucket_counts_never_fall_and_end_at_the_count(values in prop::collection::vec(any::<u64>(), 0..60)) {
            let text = prometheus(&snapshot(&values), &[]);
            let counts: Vec<u64> = text.lines().filter(|l| l.contains("_bucket")).map(|l| l.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
            prop_assert!(counts.is_sorted());
            prop_assert_eq!(counts.last().copied(), Some(values.len() as u64));
        }
    }
}
