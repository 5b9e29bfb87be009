//! Every arm against the baseline, by the rules of [`crate::compare`] and [`compare_arms`].
//!
//! The arms of one experiment are one family, so they are judged together. Arms of different files
//! are compared one by one.

use super::arms::Placed;
use super::rows::{Row, Slot};
use super::{StudyArm, StudyOptions};
use crate::compare::compare_arms_audited;
use crate::{
    Located, Question, RowComparison, compare, compare_arms, compare_audited, factors_between,
};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// What is said of one arm.
#[derive(Clone, Default)]
pub(super) struct Verdicts {
    /// By the name of the row.
    pub(super) rows: BTreeMap<String, RowComparison>,
    /// Over all rows, where the arms are judged as one family.
    pub(super) overall: Option<RowComparison>,
}

/// What was placed, and where.
pub(super) struct Compared<'a> {
    pub(super) rows: &'a [Row<'a>],
    /// Records that count, and then those that failed: arms that fail unequally cannot be
    /// compared.
    pub(super) placed: &'a [Placed<'a>],
    pub(super) failed: &'a [Placed<'a>],
    pub(super) arms: &'a [StudyArm],
    pub(super) baseline: usize,
}

/// The verdicts on every arm; empty for the baseline.
pub(super) fn verdicts(
    of: &Compared<'_>,
    records: &[Record],
    findings: &[Located],
    options: &StudyOptions,
) -> Vec<Verdicts> {
    of.as_family(records, findings, options)
        .unwrap_or_else(|| of.one_by_one(options))
}

impl Compared<'_> {
    /// The verdicts on the arms of one experiment, if that is what the records are and its baseline
    /// is the one that was asked for.
    fn as_family(
        &self,
        records: &[Record],
        findings: &[Located],
        options: &StudyOptions,
    ) -> Option<Vec<Verdicts>> {
        let trials: Vec<_> = self
            .placed
            .iter()
            .map(|slot| slot.record.trial.as_ref())
            .collect::<Option<_>>()?;
        let plans: BTreeSet<&str> = trials.iter().map(|trial| trial.plan.as_str()).collect();
        let names: BTreeSet<&str> = trials.iter().map(|trial| trial.row.as_str()).collect();
        let parts: BTreeSet<usize> = self.placed.iter().map(|slot| slot.part).collect();
        let is_repeated = self
            .rows
            .iter()
            .flat_map(|row| row.slots.iter().flatten())
            .any(|slot| slot.repeat > 0);
        let are_rows_whole = self
            .rows
            .iter()
            .all(|row| names.contains(row.name.as_str()));
        if plans.len() != 1 || parts.len() != 1 || is_repeated || !are_rows_whole {
            return None;
        }
        let sides: Vec<Vec<&Record>> = (0..self.arms.len())
            .map(|arm| self.of_arm(arm).collect())
            .collect();
        let factors = sides
            .iter()
            .flat_map(|side| factors_between(&sides[self.baseline], side));
        let question = Question {
            metric: options.metric.clone(),
            margin: options.margin,
            factors: options.factors.iter().cloned().chain(factors).collect(),
        };
        let all = self.placed.len() == records.len();
        let found = if all {
            compare_arms_audited(records, &question, findings.to_vec())
        } else {
            compare_arms(
                &self
                    .placed
                    .iter()
                    .map(|slot| slot.record.clone())
                    .collect::<Vec<_>>(),
                &question,
            )
        };
        let found = found
            .ok()
            .filter(|found| found.base == self.arms[self.baseline].name)?;
        let mut out = vec![Verdicts::default(); self.arms.len()];
        for candidate in found.candidates {
            let arm = self
                .arms
                .iter()
                .position(|arm| arm.name == candidate.candidate)?;
            let is_whole = self.rows.len() > 1;
            out[arm] = Verdicts {
                rows: by_row(candidate.comparison.rows),
                overall: Some(candidate.pooled).filter(|_| is_whole),
            };
        }
        Some(out)
    }

    fn of_arm(&self, arm: usize) -> impl Iterator<Item = &Record> {
        self.placed
            .iter()
            .filter(move |slot| slot.arm == arm)
            .map(|slot| slot.record)
    }

    fn one_by_one(&self, options: &StudyOptions) -> Vec<Verdicts> {
        let base = self.side(self.baseline);
        let of = |arm: usize| {
            if arm == self.baseline {
                return Verdicts::default();
            }
            let other = self.side(arm);
            let sides = [&base, &other].map(|side| side.iter().collect::<Vec<&Record>>());
            let factors = options
                .factors
                .iter()
                .cloned()
                .chain(declared(&sides))
                .collect();
            let question = Question {
                metric: options.metric.clone(),
                margin: options.margin,
                factors,
            };
            let [base, arm] = sides.map(|side| side.into_iter().cloned().collect::<Vec<Record>>());
            let is_document = |record: &Record| {
                record
                    .source
                    .as_ref()
                    .is_some_and(|source| source.tool == "document")
            };
            let found = if base.iter().chain(&arm).any(is_document) {
                // Their names say arm and row to the audit, and here they must say the row.
                compare(&base, &arm, &question)
            } else {
                compare_audited(&base, &arm, &question).0
            };
            Verdicts {
                rows: by_row(found.rows),
                overall: None,
            }
        };
        (0..self.arms.len()).map(of).collect()
    }

    /// The records of an arm, each with its row for a name.
    fn side(&self, arm: usize) -> Vec<Record> {
        let counted = self
            .rows
            .iter()
            .flat_map(|row| row.slots[arm].iter().map(|slot| in_row(slot, &row.name)));
        let failed = self
            .failed
            .iter()
            .filter(|slot| slot.arm == arm)
            .map(|slot| named(slot.record, slot.row));
        counted.chain(failed).collect()
    }
}

fn by_row(rows: Vec<RowComparison>) -> BTreeMap<String, RowComparison> {
    rows.into_iter().map(|row| (row.row.clone(), row)).collect()
}

fn in_row(slot: &Slot<'_>, row: &str) -> Record {
    let mut out = named(slot.record, row);
    if let Some(trial) = out.trial.as_mut().filter(|_| slot.repeat > 0) {
        // The second time of the same place is no pair of the first.
        trial.plan.push_str(&format!(" again {}", slot.repeat));
    }
    out
}

fn named(record: &Record, row: &str) -> Record {
    let mut out = record.clone();
    row.clone_into(&mut out.name);
    if let Some(trial) = &mut out.trial {
        row.clone_into(&mut trial.row);
    }
    out
}

/// The options in which arms of one plan differ: the plan says that they are what is compared.
fn declared(sides: &[Vec<&Record>; 2]) -> Vec<String> {
    let plans: BTreeSet<Option<&str>> = sides
        .iter()
        .flatten()
        .map(|record| record.trial.as_ref().map(|trial| trial.plan.as_str()))
        .collect();
    if plans.len() != 1 || plans.contains(&None) {
        return Vec::new();
    }
    factors_between(&sides[0], &sides[1]).into_iter().collect()
}
