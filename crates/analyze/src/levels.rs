//! Levels of rows while they are measured again and again.

use crate::compare::logarithm;
use record::{Quantity, Record, Status};
use stats::{Estimate, hodges_lehmann};
use std::collections::BTreeMap;

/// Levels so far of the rows of one arm. Nothing of a record is kept but the numbers that are shown.
#[derive(Clone, Debug, Default)]
pub struct LevelsSoFar {
    rows: Vec<String>,
    /// By row, and kind of operation: the logarithms of [`LevelsSoFar::SHOWN`].
    values: BTreeMap<(usize, String), [Vec<f64>; 3]>,
}

/// What rows gave when each was tried for a moment before anything counted. It is a first idea of a
/// number, and no level is ever made of it.
#[derive(Clone, Debug, Default)]
pub struct TriedRows(LevelsSoFar);

impl TriedRows {
    /// Of several arms that try one row the last counts.
    pub fn add(&mut self, row: &str, record: &Record) {
        let of = &mut self.0;
        let known = of.rows.iter().position(|known| known == row);
        let number = known.unwrap_or(of.rows.len());
        if known.is_none() {
            of.rows.push(row.to_owned());
        }
        of.values.retain(|(at, _), _| *at != number);
        of.count(number, record);
    }

    #[must_use]
    pub fn rows(&self) -> &[String] {
        self.0.rows()
    }

    /// What a row gave, a line a kind; none where nothing ended in that moment.
    #[must_use]
    pub fn lines_of(&self, row: &str) -> Vec<LevelLine> {
        let of_row = |line: &LevelLine| self.0.rows[line.row] == row && !line.kind.is_empty();
        self.0.lines().into_iter().filter(of_row).collect()
    }
}

/// One kind of operation in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelLine {
    /// The number of its row.
    pub row: usize,
    /// Empty: nothing has been measured of this row.
    pub kind: String,
    /// Of [`LevelsSoFar::SHOWN`], as logarithms; an interval from the sixth value on.
    pub levels: [Option<Estimate>; 3],
}

impl LevelsSoFar {
    /// What is shown of a kind of operation.
    pub const SHOWN: [&'static str; 3] = ["throughput", "iops", "p99"];

    /// Rows of which nothing has been measured.
    #[must_use]
    pub fn new(rows: Vec<String>) -> Self {
        Self {
            rows,
            values: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// Counts a slot that ended well.
    pub fn add(&mut self, record: &Record) {
        if let Some(trial) = record.trial.as_ref() {
            self.count(trial.row_number as usize, record);
        }
    }

    fn count(&mut self, row: usize, record: &Record) {
        if record.outcome.status != Status::Ok {
            return;
        }
        for (kind, _) in record.operations.kinds() {
            let place = (row, kind.to_owned());
            let values = self.values.entry(place).or_default();
            for (name, values) in Self::SHOWN.iter().zip(values) {
                let quantity = Quantity::parse(&format!("{kind}.{name}")).ok();
                values.extend(quantity.and_then(|quantity| logarithm(record, &quantity)));
            }
        }
    }

    /// A line a row and kind, in the order of the rows.
    #[must_use]
    pub fn lines(&self) -> Vec<LevelLine> {
        let of_row = |row: usize| {
            let of = self.values.iter().filter(move |((of, _), _)| *of == row);
            let lines: Vec<LevelLine> = of
                .map(|((_, kind), values)| LevelLine {
                    row,
                    kind: kind.clone(),
                    levels: values
                        .each_ref()
                        .map(|values| (!values.is_empty()).then(|| hodges_lehmann(values, 0.95))),
                })
                .collect();
            if lines.is_empty() {
                return vec![LevelLine {
                    row,
                    kind: String::new(),
                    levels: [None; 3],
                }];
            }
            lines
        };
        (0..self.rows.len()).flat_map(of_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations, Trial};

    #[test]
    fn what_a_row_gave_when_it_was_tried_is_the_last_of_it_and_a_failure_gives_nothing() {
        let of = |count: u64, status: Status| {
            let mut record = Record {
                elapsed_ns: 1_000_000_000,
                ..Record::default()
            };
            let read = Operations {
                count,
                ..Operations::default()
            };
            record.operations.insert("read", read);
            record.outcome.status = status;
            record
        };
        let mut tried = TriedRows::default();
        tried.add("a", &of(100, Status::Ok));
        tried.add("a", &of(200, Status::Ok));
        tried.add("b", &of(300, Status::Failed));
        assert_eq!(tried.rows(), ["a", "b"]);
        let lines = tried.lines_of("a");
        let rate = lines[0].levels[1].unwrap();
        assert_eq!((lines.len(), rate.n), (1, 1));
        assert!((rate.point.exp() - 200.0).abs() < 1e-6);
        assert!(tried.lines_of("b").is_empty() && tried.lines_of("c").is_empty());
    }

    #[test]
    fn a_level_comes_with_the_first_slot_and_its_interval_with_the_sixth() {
        let mut levels = LevelsSoFar::new(vec!["a".into(), "b".into()]);
        assert_eq!(levels.lines().len(), 2);
        for block in 0..6 {
            let mut operations = Measurements::default();
            let read = Operations {
                count: 1000 + block,
                bytes: 4096 * (1000 + block),
                ..Operations::default()
            };
            operations.insert("read", read);
            levels.add(&Record {
                elapsed_ns: 1_000_000_000,
                operations,
                trial: Some(Trial {
                    row_number: 1,
                    ..Trial::default()
                }),
                ..Record::default()
            });
            let lines = levels.lines();
            assert_eq!((lines[0].levels[1], lines[1].kind.as_str()), (None, "read"));
            let rate = lines[1].levels[1].unwrap();
            assert!((rate.point.exp() - 1000.0).abs() < 10.0);
            assert_eq!(rate.high.is_finite(), block == 5);
        }
    }
}
