//! The readings of the records of a cell, gathered.

use crate::plot::ValueUnit;
use analyze::{LoadReading, RecordDetails};
use std::collections::BTreeMap;

/// All kinds of operations together.
pub(super) const ALL: &str = "all";

/// Every reading of records under its operation and name, one value a record.
pub(super) type Gathered = BTreeMap<(String, String), (ValueUnit, Vec<Option<f64>>)>;

pub(super) fn gathered(records: &[RecordDetails]) -> Gathered {
    let mut out = Gathered::new();
    for (at, record) in records.iter().enumerate() {
        for LoadReading {
            operation,
            name,
            unit,
            value,
        } in &record.readings
        {
            let (_, values) = out
                .entry((operation.clone(), name.clone()))
                .or_insert_with(|| (*unit, vec![None; records.len()]));
            values[at] = Some(*value);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::example::{load, step, told as of_document};
    use super::ALL;
    use analyze::{LoadReading, readings};
    use record::{Histogram, Summary};

    fn value(found: &[LoadReading], operation: &str, name: &str) -> Option<f64> {
        found
            .iter()
            .find(|reading| reading.operation == operation && reading.name == name)
            .map(|reading| reading.value)
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!(
            value.is_some_and(|value| (value / expected - 1.0).abs() < 0.01),
            "{value:?}, not {expected}"
        );
    }

    #[test]
    fn a_load_tells_its_parts_users_and_cost() {
        let found = readings(&load("mixed", 2000, 80_000_000, 3));
        near(value(&found, "get", "waiting p95"), 64e6);
        near(value(&found, ALL, "receiving p99"), 16e6);
        near(value(&found, ALL, "duration p50"), 80e6);
        assert_eq!(
            value(&found, "get", "connecting p95"),
            None,
            "five connections have no p95"
        );
        near(value(&found, "", "users asked"), 50.0);
        near(value(&found, "", "users there, mean"), 37.5);
        near(value(&found, "", "users waiting, mean"), 24.0);
        near(value(&found, "", "client CPU an operation"), 100_000.0);
        assert_eq!(
            value(&found, "", "server CPU an operation"),
            None,
            "unknown is not zero"
        );
        assert_eq!(
            (value(&found, "get", "failed"), value(&found, ALL, "failed")),
            (Some(3.0), Some(3.0))
        );
        near(value(&found, "", "iteration time p95"), 580e6);
    }

    #[test]
    fn in_an_open_loop_the_duration_is_that_of_the_request() {
        let mut record = step(100.0, 60_000_000, true);
        let mut gets = record.operations.kind("get").cloned().unwrap();
        let mut service = Histogram::default();
        service.record_many(1_000_000, gets.count);
        gets.service = Some(service);
        record.operations = record::Measurements::default();
        record.operations.insert("get", gets);
        let found = readings(&record);
        near(value(&found, "get", "duration p95"), 1e6);
        near(value(&found, "", "own lateness p99"), 50_000.0);
        near(value(&found, "", "arrivals asked"), 100.0);
        assert_eq!(value(&found, "", "users asked"), None);
    }

    #[test]
    fn what_a_document_tells_has_our_names() {
        let mut record = of_document("A", "Upload");
        assert_eq!(readings(&record), []);
        let p95 = |ns: f64| Summary {
            percentiles_ns: [("95".to_owned(), ns)].into(),
            ..Summary::default()
        };
        record
            .summaries
            .insert("http_req_waiting".into(), p95(191e6));
        record
            .summaries
            .insert("iteration_duration".into(), p95(5024e6));
        record.summaries.insert(
            "request".into(),
            Summary {
                count: Some(2604),
                errors: Some(1),
                ..Summary::default()
            },
        );
        let figures = [
            ("objects_created".to_owned(), 3014.0),
            ("share_percent".to_owned(), 40.0),
        ]
        .into();
        record.summaries.insert(
            "upload".into(),
            Summary {
                figures,
                ..Summary::default()
            },
        );
        let found = readings(&record);
        near(value(&found, ALL, "waiting p95"), 191e6);
        near(value(&found, "", "iteration time p95"), 5024e6);
        assert_eq!(
            (
                value(&found, ALL, "succeeded"),
                value(&found, ALL, "failed")
            ),
            (Some(2604.0), Some(1.0))
        );
        assert_eq!(
            (
                value(&found, "upload", "objects created"),
                value(&found, "upload", "share percent")
            ),
            (Some(3014.0), None)
        );
    }
}
