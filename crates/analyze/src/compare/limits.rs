//! Thresholds on what is compared: each is held against the level of every row of the candidates.

use super::row_of;
use record::{Record, Status, Threshold, ThresholdResult};

/// A threshold in one row of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldThreshold {
    pub arm: String,
    /// Empty: no row has what it limits.
    pub row: String,
    /// Whose median was held against the limit.
    pub runs: usize,
    pub result: ThresholdResult,
}

/// Holds the medians of the rows of an arm, over its records that ended well, against thresholds;
/// rows that have no operation of the kind are passed over. What no row has misses, as in a run.
#[must_use]
pub fn hold_against(
    arm: &str,
    records: &[&Record],
    thresholds: &[Threshold],
) -> Vec<HeldThreshold> {
    let usable = || {
        let records = records.iter().copied();
        records.filter(|record| record.outcome.status == Status::Ok)
    };
    let mut rows: Vec<&str> = Vec::new();
    usable().for_each(|record| {
        if !rows.contains(&row_of(record)) {
            rows.push(row_of(record));
        }
    });
    let held = |row: &str, values: &[f64], threshold: &Threshold| HeldThreshold {
        arm: arm.to_owned(),
        row: row.to_owned(),
        runs: values.len(),
        result: threshold.judge_value((!values.is_empty()).then(|| stats::sample::median(values))),
    };
    let mut out = Vec::new();
    for threshold in thresholds {
        let before = out.len();
        for row in &rows {
            let of_row = usable().filter(|record| row_of(record) == *row);
            let of_row: Vec<&Record> = of_row
                .filter(|record| threshold.quantity().concerns(record))
                .collect();
            let values = of_row
                .iter()
                .filter_map(|record| threshold.judge(record).value);
            let values: Vec<f64> = values.collect();
            if !of_row.is_empty() {
                out.push(held(row, &values, threshold));
            }
        }
        if out.len() == before {
            out.push(held("", &[], threshold));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Operations;

    fn run(row: &str, kind: &str, count: u64) -> Record {
        let mut record = Record {
            name: row.to_owned(),
            elapsed_ns: 1_000_000_000,
            ..Record::default()
        };
        let operations = Operations {
            count,
            ..Operations::default()
        };
        record.operations.insert(kind, operations);
        record
    }

    fn held(records: &[Record], threshold: &str) -> Vec<(String, usize, Option<f64>, bool)> {
        let records: Vec<&Record> = records.iter().collect();
        let thresholds = [Threshold::parse(threshold).unwrap()];
        hold_against("b", &records, &thresholds)
            .into_iter()
            .map(|of| (of.row, of.runs, of.result.value, of.result.holds))
            .collect()
    }

    #[test]
    fn the_median_of_each_row_that_does_it_is_held_against_the_limit() {
        let mut failed = run("a", "read", 1);
        failed.outcome.status = Status::Failed;
        let records = [
            run("a", "read", 90),
            run("a", "read", 300),
            run("a", "read", 110),
            failed,
            run("w", "write", 5),
        ];
        assert_eq!(
            held(&records, "read.rate>=100"),
            [("a".to_owned(), 3, Some(110.0), true)]
        );
        assert_eq!(
            held(&records, "rate>200"),
            [
                ("a".to_owned(), 3, Some(110.0), false),
                ("w".to_owned(), 1, Some(5.0), false)
            ]
        );
    }

    #[test]
    fn what_no_row_has_misses() {
        let records = [run("a", "read", 90)];
        assert_eq!(
            held(&records, "put.p99<5ms"),
            [(String::new(), 0, None, false)]
        );
        assert!(!held(&records, "read.p99<5ms")[0].3, "there are no times");
    }
}
