//! A latency that no device can answer in is that of a copy in memory.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, transfers};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "latency_below_io",
    catalogue_number: Some(5),
    severity: Severity::Invalid,
    title: "A latency shorter than any real I/O",
    text: "\
The mean latency of reads and writes, or one over the rate at depth 1: below 1 us, or
below 1.5 times the instrument's own null operation (calibration.null_operation_ns), it
is a copy. Direct or published figures below 3 us are found too. A record that says
memory or warm is warned only.
A PCIe round trip alone takes about 1 us and the fastest devices answer 4 KiB after
about 5 us. 0.43 us is 4 KiB copied within the CPU's caches; 482,000 direct reads a
second at depth 1 are 2.07 us each, which no flash can do.
What to do: for a device, use --direct on a file of at least twice the memory; otherwise
call it a test of memory or of software.",
    checks: &[Check::OfHost(check)],
};

/// A PCIe round trip alone takes about this long.
const COPY_NS: f64 = 1000.0;
/// The fastest NVMe devices (3D XPoint) answer 4 KiB after about 5 µs through the kernel.
const FASTEST_DEVICE_NS: f64 = 3000.0;
const NULL_FACTOR: f64 = 1.5;
const ADVICE: &str = "this is the speed of memory and of the instrument: for a device use --direct on a file of at least twice the memory";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if effective.has_no_target() {
        return Vec::new();
    }
    let null = record
        .generator()
        .calibration
        .null_operation_ns
        .iter()
        .filter(|(depth, _)| depth.as_str() == "1" || depth.ends_with(" 1"));
    let null_ns = null.map(|(_, ns)| *ns).next().unwrap_or_default();
    transfers(record)
        .filter_map(|figures| judge(record, &figures, null_ns))
        .collect()
}

fn judge(record: &Record, figures: &Figures<'_>, null_ns: f64) -> Option<Finding> {
    let effective = Effective::of(record);
    let (mean, how) = match figures.mean_ns().filter(|mean| *mean > 0.0) {
        Some(mean) => (mean, "a mean latency of"),
        None => (
            alone_ns(effective, figures)?,
            "one operation after the other, each taking",
        ),
    };
    let said = effective.text("cache") == Some("warm") || super::in_memory(record);
    let message = |limit: &str| format!("{}: {how} {} is {limit}", figures.kind, micros(mean));
    if mean < COPY_NS || mean < null_ns * NULL_FACTOR {
        let severity = if said {
            Severity::Warning
        } else {
            Severity::Invalid
        };
        return Some(RULE.finding(
            severity,
            message("that of a copy in memory, not of an I/O"),
            ADVICE,
        ));
    }
    let limit = "less than any storage device needs: memory answered";
    ((effective.is_on("direct") || record.source.is_some()) && mean < FASTEST_DEVICE_NS)
        .then(|| RULE.finding(Severity::Warning, message(limit), ADVICE))
}

/// The time of one operation where the settings say that only one was in flight and only one kind
/// ran.
fn alone_ns(effective: Effective<'_>, figures: &Figures<'_>) -> Option<f64> {
    let one = ["queue-depth", "threads"]
        .iter()
        .all(|key| effective.number(key) == Some(1));
    let rate = figures.per_second().filter(|rate| *rate > 0.0)?;
    let only = effective
        .read_share()
        .is_some_and(|share| share == if figures.kind == "read" { 1.0 } else { 0.0 });
    (one && only).then(|| 1e9 / rate)
}

fn micros(ns: f64) -> String {
    format!("{:.2} µs", ns / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, quoted, set, sound};
    use super::*;
    use record::{Measurements, Summary};

    fn of(mean_ns: f64) -> Record {
        quoted(
            "read",
            Summary {
                mean_ns: Some(mean_ns),
                ..Summary::default()
            },
        )
    }

    #[test]
    fn less_than_a_microsecond_is_a_copy() {
        let found = check(&of(430.0));
        assert_eq!(
            only(&found),
            "read: a mean latency of 0.43 µs is that of a copy in memory, not of an I/O"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn a_record_that_calls_itself_memory_is_warned_only() {
        let mut record = of(430.0);
        record
            .generator_mut()
            .environment
            .storage
            .get_or_insert_default()
            .is_memory = Some(true);
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn without_a_latency_the_rate_at_depth_1_tells() {
        let mut record = quoted(
            "read",
            Summary {
                per_second: Some(482_000.0),
                ..Summary::default()
            },
        );
        for (key, value) in [
            ("queue-depth", "1"),
            ("threads", "1"),
            ("read-percent", "100"),
        ] {
            set(&mut record, key, value);
        }
        assert_eq!(
            check(&Record {
                source: None,
                ..record.clone()
            }),
            []
        );
        set(&mut record, "direct", "true");
        assert!(
            only(&check(&record))
                .contains("each taking 2.07 µs is less than any storage device needs")
        );
        set(&mut record, "queue-depth", "2");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn the_cost_of_doing_nothing_is_a_limit_too() {
        let mut record = sound();
        record.operations = Measurements::default();
        record.operations.insert("read", blocks(1000, 4000));
        assert_eq!(check(&record), []);
        record
            .generator_mut()
            .calibration
            .null_operation_ns
            .insert("depth 1".into(), 3500.0);
        assert_eq!(check(&record).len(), 1);
    }

    #[test]
    fn a_disk_and_the_null_engine_are_silent() {
        assert_eq!(check(&sound()), []);
        let mut null = of(20.0);
        set(&mut null, "engine", "null");
        assert_eq!(check(&null), []);
    }
}
