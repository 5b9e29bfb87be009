//! The line of a record as it stands on disk: what people compute on without this crate.
//!
//! It is the record and, beside it, what follows from it: the figures of each kind of operation and
//! the options as numbers. Reading a record leaves both out, so that they cannot contradict it.

use crate::{PlanLine, Quantity, Record, figures};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use units::lossless::f64_to_u64_saturating;

/// All kinds of operations together.
pub const ALL: &str = "all";

/// The figures of one kind of operation, or of all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct KindFigures {
    /// Operations that succeeded.
    pub count: Option<u64>,
    /// Operations that failed; they are not in `count`.
    pub errors: Option<u64>,
    pub bytes: Option<u64>,
    /// Operations a second over the time in which this kind ran.
    pub per_second: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub min_ns: Option<f64>,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p90_ns: Option<f64>,
    pub p95_ns: Option<f64>,
    /// `null`, as every percentile, where fewer than ten operations lie above it.
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    pub max_ns: Option<f64>,
}

/// An option as a number where it is one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OptionValue {
    Switch(bool),
    /// Bytes, nanoseconds, or a number of things.
    Whole(u64),
    /// A share in percent, a rate a second, or a parameter.
    Real(f64),
    Text(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(is_on) => write!(f, "{is_on}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// How an option of a record is read: its key and its text.
pub type Typing = fn(&Record, &str, &str) -> OptionValue;

/// Every option as it stands in the record.
pub(crate) fn untyped(_: &Record, _: &str, text: &str) -> OptionValue {
    OptionValue::Text(text.to_owned())
}

/// A record, and what follows from it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StoredRecord<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// By the name of the kind; `all` is all kinds together. What the record does not say is `null`.
    #[schemars(default)]
    summary: BTreeMap<String, KindFigures>,
    /// What `effective` says, as numbers: sizes in bytes, times in nanoseconds.
    #[schemars(default)]
    options: BTreeMap<String, OptionValue>,
}

impl<'a> StoredRecord<'a> {
    #[must_use]
    pub fn of(record: &'a Record, typing: Typing) -> Self {
        let typed = |(key, text): (&String, &String)| (key.clone(), typing(record, key, text));
        Self {
            record,
            summary: summary(record),
            options: record.effective.iter().map(typed).collect(),
        }
    }
}

/// The figures of a record, by kind of operation.
#[must_use]
pub fn summary(record: &Record) -> BTreeMap<String, KindFigures> {
    let kinds = figures::figures(record).map(|of| Some(of.kind.to_owned()));
    kinds
        .chain([None])
        .map(|kind| {
            let figures = KindFigures::of(record, kind.as_deref());
            (kind.unwrap_or_else(|| ALL.to_owned()), figures)
        })
        .collect()
}

impl KindFigures {
    fn of(record: &Record, kind: Option<&str>) -> Self {
        let value = |name: &str| {
            let quantity = Quantity::named(name);
            kind.map_or(quantity.clone(), |kind| quantity.of_kind(kind))
                .of(record)
                .known()
        };
        let number = |name: &str| value(name).map(f64_to_u64_saturating);
        Self {
            count: number("count"),
            errors: number("errors"),
            bytes: number("bytes"),
            per_second: value("iops"),
            bytes_per_second: value("throughput"),
            min_ns: value("min"),
            mean_ns: value("mean"),
            p50_ns: value("p50"),
            p90_ns: value("p90"),
            p95_ns: value("p95"),
            p99_ns: value("p99"),
            p999_ns: value("p99.9"),
            max_ns: value("max"),
        }
    }
}

/// A line of a file of records.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is there for its schema")]
enum Line<'a> {
    Record(StoredRecord<'a>),
    Plan(PlanLine),
}

/// The JSON Schema (draft 2020-12) of a line of a file of records.
#[must_use]
pub fn schema() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<Line<'_>>();
    schema.insert(
        "title".to_owned(),
        "A line of a file of records of Fathom".into(),
    );
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Operations};

    fn record() -> Record {
        let mut latency = Histogram::default();
        latency.record_many(5000, 1000);
        let mut record = Record {
            elapsed_ns: 10_000_000_000,
            effective: [("block-size".to_owned(), "4k".to_owned())].into(),
            ..Record::default()
        };
        record.operations.insert(
            "read",
            Operations {
                count: 1000,
                bytes: 4_096_000,
                latency,
                ..Operations::default()
            },
        );
        record
    }

    #[test]
    fn a_stored_line_has_the_figures_of_each_kind_and_of_all() {
        let record = record();
        let of = summary(&record);
        assert_eq!(of.keys().collect::<Vec<_>>(), ["all", "read"]);
        let read = &of["read"];
        assert_eq!(
            (read.count, read.errors, read.bytes),
            (Some(1000), Some(0), Some(4_096_000))
        );
        assert_eq!(
            (read.per_second, read.bytes_per_second),
            (Some(100.0), Some(409_600.0))
        );
        assert_eq!(
            (read.mean_ns, read.p50_ns, read.max_ns),
            (Some(5000.0), Some(5000.0), Some(5000.0))
        );
        assert_eq!(read.p999_ns, None, "one of a thousand lies above it");
        assert_eq!(&of["all"], read);
    }

    #[test]
    fn what_follows_from_a_record_is_left_out_when_it_is_read() {
        let record = record();
        let typing: Typing = |_, _, _| OptionValue::Whole(4096);
        let line = serde_json::to_string(&StoredRecord::of(&record, typing)).unwrap();
        assert!(line.starts_with(r#"{"schema":"#), "{line}");
        assert!(line.contains(r#""options":{"block-size":4096}"#), "{line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}
