//! Loads on object stores and HTTP services as tables: who succeeded, how long the parts of a
//! request took, what users did, what it cost, and the arms side by side.
//!
//! The rows are those that people who measure with k6 or warp write by hand. Rates and latencies
//! are the study's own figures; what only a load has is read from its records here. A failure is
//! always shown as a number, beside a success that is not rounded to all of it.

use crate::plot::ValueUnit;
use crate::study::Table;
use analyze::{Cell, Study, StudyRow};

mod curve;
mod readings;
mod sides;
mod tables;

pub(crate) use curve::{curve_table, knee_text};

/// A table and what it is about.
pub(crate) struct Titled {
    pub(crate) title: String,
    pub(crate) table: Table,
}

/// The tables of one row; none where it is no load.
pub(crate) fn tables(study: &Study, row: &StudyRow) -> Vec<Titled> {
    if !row.is_load {
        return Vec::new();
    }
    let found = [
        (study.arms.len() > 1).then(|| sides::scenario(study, row)),
        Some(tables::success(study, row)),
        (study.arms.len() > 1).then(|| sides::parts(study, row)),
        Some(tables::parts(study, row)),
        Some(sides::conduct(study, row)),
        Some(tables::thresholds(study, row)),
        Some(tables::errors(study, row)),
    ];
    found
        .into_iter()
        .flatten()
        .filter(|titled| titled.table.lines.len() > 1)
        .collect()
}

/// The tables over all rows of several arms; none where there is only one.
pub(crate) fn overall_tables(study: &Study) -> Vec<Titled> {
    let loads: Vec<&StudyRow> = study
        .rows
        .iter()
        .filter(|row| row.is_load && !row.is_step)
        .collect();
    if study.arms.len() < 2 || loads.len() < 2 {
        return Vec::new();
    }
    let found = [
        sides::overview(study, &loads),
        sides::throughput(study, &loads),
        sides::iterations(study, &loads),
    ];
    found
        .into_iter()
        .filter(|titled| titled.table.lines.len() > 1)
        .collect()
}

/// Arms that have a cell in a row.
fn measured<'a>(study: &'a Study, row: &'a StudyRow) -> impl Iterator<Item = (&'a str, &'a Cell)> {
    let cells = study.arms.iter().zip(&row.cells);
    cells.filter_map(|(arm, cell)| Some((arm.name.as_str(), cell.as_ref()?)))
}

/// A share of successes that is 100 % only without a failure, with as many digits as the failures
/// need.
pub(crate) fn success_text(succeeded: u64, failed: u64) -> String {
    const MOST_DIGITS: usize = 6;
    if failed == 0 {
        return if succeeded == 0 {
            crate::study::NOTHING.to_owned()
        } else {
            "100 %".to_owned()
        };
    }
    let share = 100.0 * failed as f64 / succeeded.saturating_add(failed) as f64;
    (1..=MOST_DIGITS)
        .find(|digits| share >= 10_f64.powi(-i32::try_from(*digits).expect("six digits at most")))
        .map_or_else(
            || "under 100 %".to_owned(),
            |digits| format!("{:.digits$} %", 100.0 - share),
        )
}

/// A value with its unit, or that nobody knows it.
fn value_text(unit: ValueUnit, value: Option<f64>) -> String {
    value.map_or_else(
        || crate::study::NOTHING.to_owned(),
        |value| unit.text(value),
    )
}

#[cfg(test)]
pub(crate) mod example {
    use record::{
        Histogram, LoadAccount, Operations, PaceAccount, Record, RequestPhases, SCHEMA, Source,
        ThresholdResult,
    };

    fn of(ns: u64, count: u64) -> Histogram {
        let mut out = Histogram::default();
        out.record_many(ns, count);
        out
    }

    /// `gets` downloads of 10 KiB at `ns` each for 10 s, and half as many uploads, by users of whom
    /// most sleep.
    pub(crate) fn load(name: &str, gets: u64, ns: u64, failed: u64) -> Record {
        let seconds = 10;
        let operations = |count: u64, errors| Operations {
            count,
            bytes: count * 10_240,
            errors,
            latency: of(ns, count),
            ..Operations::default()
        };
        let phases = |count| RequestPhases {
            connecting: of(ns / 50, 5),
            sending: of(ns / 100, count),
            waiting: of(ns * 4 / 5, count),
            receiving: of(ns / 5, count),
        };
        let mut record = Record {
            schema: SCHEMA,
            id: format!("{name}-{gets}-{ns}"),
            kind: "load".into(),
            name: name.into(),
            elapsed_ns: seconds * 1_000_000_000,
            load: Some(LoadAccount {
                scenario: name.into(),
                users: vec![25, 50, 50, 25],
                phases: [
                    ("get".to_owned(), phases(gets)),
                    ("put".to_owned(), phases(gets / 2)),
                ]
                .into(),
                iterations: of(ns + 500_000_000, gets),
                connections_opened: 50,
                thresholds: vec![
                    ThresholdResult {
                        threshold: "get.p95<1s".into(),
                        holds: true,
                        measured: "80 ms".into(),
                        ..ThresholdResult::default()
                    },
                    ThresholdResult {
                        threshold: "put.p95<10ms".into(),
                        holds: false,
                        measured: "80 ms, 70 ms above the limit".into(),
                        ..ThresholdResult::default()
                    },
                ],
                ..LoadAccount::default()
            }),
            ..Record::default()
        };
        record.operations.insert("get", operations(gets, failed));
        record.operations.insert("put", operations(gets / 2, 0));
        record.loops.in_flight_ns = u128::from(ns) * u128::from(gets + gets / 2);
        record.generator_mut().process.user_ns = 100_000 * (gets + gets / 2);
        for (key, value) in [
            ("users", "50"),
            ("mix", "get 50, put 25"),
            ("scenario", name),
        ] {
            record.effective.insert(key.into(), value.into());
        }
        if failed > 0 {
            record.errors.push(record::ErrorCount {
                operation: "get".into(),
                error: "503 SlowDown".into(),
                count: failed,
                first_file: "http://a/b".into(),
                first_offset: 0,
                class: None,
            });
        }
        record
    }

    /// A step of a search: `rate` arrivals a second, of which some are slow.
    pub(crate) fn step(rate: f64, slow_ns: u64, holds: bool) -> Record {
        let mut record = load("get", 1000, 2_000_000, 0);
        record.name = format!("get@{rate:.0}/s");
        record.id.clone_from(&record.name);
        let mut gets = record.operations.kind("get").cloned().unwrap_or_default();
        gets.latency.record_many(slow_ns, 30);
        gets.count += 30;
        record.operations = record::Measurements::default();
        record.operations.insert("get", gets);
        record.pace = Some(PaceAccount {
            asked_per_second: Some(rate),
            achieved_per_second: rate,
            ..PaceAccount::default()
        });
        record.effective.remove("users");
        let load = record.load.get_or_insert_default();
        load.lateness = Some(of(50_000, 1000));
        load.thresholds = vec![ThresholdResult {
            threshold: "p99<50ms".into(),
            holds,
            measured: "x".into(),
            ..ThresholdResult::default()
        }];
        record
    }

    /// A load as a document tells it.
    pub(crate) fn told(arm: &str, row: &str) -> Record {
        Record {
            name: format!("{arm} | {row}"),
            source: Some(Source {
                tool: "document".into(),
                format: "document".into(),
                ..Source::default()
            }),
            ..Record::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_per_cent_never_stands_beside_a_failure() {
        for (succeeded, failed, text) in [
            (2604, 1, "99.96 %"),
            (6509, 1, "99.98 %"),
            (45_383, 1, "99.998 %"),
            (71_741, 1, "99.999 %"),
            (7788, 0, "100 %"),
            (0, 0, "-"),
            (0, 9, "0.0 %"),
            (90, 10, "90.0 %"),
            (u64::MAX - 1, 1, "under 100 %"),
        ] {
            assert_eq!(success_text(succeeded, failed), text);
        }
        for failed in 1..2000 {
            assert!(
                !success_text(1_000_000, failed).starts_with("100"),
                "{failed}"
            );
        }
    }
}
