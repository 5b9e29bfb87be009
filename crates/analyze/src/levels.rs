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

/// One kind of operation in one row.
#[derive(Clone, Debug, PartialEq)]
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
        let Some(trial) = record.trial.as_ref() else {
            return;
        };
        if record.outcome.status != Status::Ok {
            return;
        }
        for (kind, _) in record.operations.kinds() {
            let place = (trial.row_number as usize, kind.to_owned());
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
