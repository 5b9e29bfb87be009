//! Records joined into one study: arms side by side in every row, each figure with its interval
//! over blocks.
//!
//! A record counts once or is named among those left out, with the reason. Nothing is averaged that
//! is not the same work: where records of one name did different work, the row is divided. The
//! order is that of the plan or of the records, never that of the results.

use crate::{RowComparison, Severity};
use record::{Quantity, Record, Role, Status};
use stats::{BlockRun, Dependence, Drift, Estimate};
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

mod arms;
mod bounds;
mod cells;
mod comparisons;
mod curves;
mod facts;
mod findings;
mod rows;
mod unusable;

/// From this many complete blocks on the machine's behaviour over them is diagnosed: the first
/// permitted look.
const FEWEST_FOR_DRIFT: usize = stats::FIRST_LOOK as usize;

/// What is asked of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyOptions {
    /// Where each record comes from, such as the name of its file; empty: nobody says.
    pub labels: Vec<String>,
    /// The arm that the others are compared with; else the one whose role it is, else the first.
    pub baseline: Option<String>,
    /// What is compared.
    pub metric: Quantity,
    /// Differences below this ratio do not matter, 0.05 for 5 %.
    pub margin: f64,
    /// Options that are meant to differ between arms, beyond those in which arms of one plan
    /// differ.
    pub factors: BTreeSet<String>,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            baseline: None,
            metric: Quantity::named("iops"),
            margin: 0.05,
            factors: BTreeSet::new(),
        }
    }
}

/// What records say together. Indices of records are those of the slice it was made from, indices
/// of arms those of `arms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// In the order of the plan, else of their first record.
    pub arms: Vec<StudyArm>,
    /// Index of the arm that the others are compared with; `None` with fewer than two arms.
    pub baseline: Option<usize>,
    /// What is compared, and the ratio below which a difference does not matter.
    pub metric: Quantity,
    pub margin: f64,
    /// By arm, over all rows together, where the arms of one experiment of several rows are judged
    /// as one family.
    pub overall: Vec<Option<RowComparison>>,
    /// In the order of the plan, else of their first record.
    pub rows: Vec<StudyRow>,
    pub curves: Vec<Curve>,
    /// Machine, system and storage, those known of no arm left out.
    pub environments: Vec<Fact>,
    /// The gravest first.
    pub findings: Vec<GroupedFinding>,
    pub left_out: Vec<LeftOut>,
    /// What the reader must know of how the records were joined.
    pub notes: Vec<String>,
    /// How many records it was made from, with those left out.
    pub records: usize,
}

/// One of the things that are set side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyArm {
    pub name: String,
    /// What a plan calls it; `None` outside experiments.
    pub role: Option<Role>,
    /// Those that count.
    pub records: Vec<usize>,
}

/// One workload, or circumstance, over all arms. Every list by arm has one entry an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRow {
    pub name: String,
    /// Kinds of operations: `read`, `write`, …; `all` last, where they are also counted together.
    pub operations: Vec<String>,
    /// `None`: the arm has no record that counts in this row.
    pub cells: Vec<Option<Cell>>,
    /// Against the baseline; `None` for the baseline itself, and where one of the two has no cell.
    pub comparisons: Vec<Option<RowComparison>>,
    /// What the machine did over the blocks that every arm completed, by the compared metric;
    /// `None` below eight of them.
    pub drift: Option<Drift>,
    /// The effective options.
    pub workload: Vec<Fact>,
}

/// One arm in one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Those that count, in the order of their blocks.
    pub records: Vec<usize>,
    /// Blocks; repeated records where there is no plan.
    pub blocks: usize,
    /// From the beginning of the first to the end of the last; `None` where a record does not say
    /// when it began.
    pub span: Option<Nanos>,
    /// By kind of operation in the order of the row, and within a kind: bytes a second, operations
    /// a second, mean latency, p50, p95, p99, p99.9, maximum, CPU an operation. What no record
    /// says is missing.
    pub figures: Vec<Figure>,
}

impl Cell {
    /// The figure of a kind of operation; of the metric's own kind where it has one.
    #[must_use]
    pub fn figure(&self, kind: &str, metric: &Quantity) -> Option<&Figure> {
        let (kind, metric) = (metric.kind().unwrap_or(kind), metric.of_any_kind());
        self.figures
            .iter()
            .find(|figure| figure.kind == kind && figure.metric == metric)
    }
}

/// One metric of one kind of operation, over the blocks of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `read`, `write`, …, or `all`.
    pub kind: String,
    /// [`Quantity::LatencyPercentile`] of 100 is the maximum.
    pub metric: Quantity,
    /// Blocks, numbered from 0 over all plans of the cell, and their values in the unit of the
    /// metric: ns, bytes or operations a second.
    pub values: Vec<(u32, f64)>,
    /// The estimate's point; without an estimate the Hodges-Lehmann point of the few values there
    /// are; of maxima the largest.
    pub point: Option<f64>,
    /// What lies around the point; `None` below five blocks.
    pub bounds: Option<Bounds>,
    /// What its reader must know: `single observation`, `n = 4: too few for an interval`, `too few
    /// operations for p99`.
    pub note: Option<String>,
}

/// What is known of a level beyond its point, in the unit of the metric. Both are of the runs that
/// were made and of their time alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Estimated on logarithms, as runs in no order in time.
    Interval(Estimate),
    /// Runs depend on when they ran, so that no interval over them has its level.
    Range(Range),
}

/// The least and the greatest of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Runs.
    pub n: usize,
    /// Why this is no interval, and the p of it over all rows of the arm.
    pub why: Dependence,
    pub p: f64,
}

impl Bounds {
    /// The lower and the upper end.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Self::Interval(estimate) => (estimate.low, estimate.high),
            Self::Range(range) => (range.low, range.high),
        }
    }
}

impl Figure {
    /// The interval, where the runs allow one.
    #[must_use]
    pub fn interval(&self) -> Option<&Estimate> {
        match &self.bounds {
            Some(Bounds::Interval(estimate)) => Some(estimate),
            Some(Bounds::Range(_)) | None => None,
        }
    }

    /// The range that stands where runs depend on when they ran.
    #[must_use]
    pub fn range(&self) -> Option<&Range> {
        match &self.bounds {
            Some(Bounds::Range(range)) => Some(range),
            Some(Bounds::Interval(_)) | None => None,
        }
    }
}

/// A circumstance or option, arm by arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name in plain words; of an option, the option.
    pub key: String,
    /// Several values within an arm are joined; `None` is unknown.
    pub values: Vec<Option<String>>,
    /// Whether arms differ, or only some are known, or an arm has several values.
    pub differs: bool,
}

/// Rows of one arm that differ in nothing but how many operations are in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    pub name: String,
    /// Index of the arm.
    pub arm: usize,
    /// Operations in flight (queue depth times threads) and the index of the row, ascending.
    pub points: Vec<(u64, usize)>,
}

/// A rule and all records that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupedFinding {
    pub rule: &'static str,
    /// The gravest.
    pub severity: Severity,
    /// Of the gravest.
    pub message: String,
    pub advice: String,
    /// Empty: about several records together.
    pub records: Vec<usize>,
    /// The record that the message is about; `None`: about several together.
    pub example: Option<usize>,
    /// How many records were audited.
    pub of: usize,
}

/// A record that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub record: usize,
    /// Its name, and when it was measured.
    pub name: String,
    pub reason: String,
}

/// Joins records into one study.
#[must_use]
pub fn study(records: &[Record], options: &StudyOptions) -> Study {
    let found = crate::audit(records);
    let (counting, left_out) = sorted_out(records);
    let failed: Vec<usize> = left_out
        .iter()
        .map(|left| left.record)
        .filter(|index| records[*index].outcome.status != Status::Ok)
        .collect();
    let counting = in_order_of_plans(records, counting);
    let placed_all: Vec<usize> = counting.iter().chain(&failed).copied().collect();
    let (placed, mut arms) = arms::placed(records, &placed_all, options);
    let (counted, lost) = placed.split_at(counting.len());
    for slot in counted {
        arms[slot.arm].records.push(slot.index);
    }
    let (rows, mut notes) = rows::rows(counted, arms.len());
    let baseline = baseline(&arms, options, &mut notes);
    let verdicts = match baseline {
        Some(baseline) => {
            let compared = comparisons::Compared {
                rows: &rows,
                placed: &placed,
                failed: lost,
                arms: &arms,
                baseline,
            };
            comparisons::verdicts(&compared, records, &found, options)
        }
        None => vec![comparisons::Verdicts::default(); arms.len()],
    };
    let of_arm = |arm: usize| {
        arms[arm]
            .records
            .iter()
            .map(|index| &records[*index])
            .collect::<Vec<_>>()
    };
    let environments = facts::environments(&(0..arms.len()).map(of_arm).collect::<Vec<_>>());
    let mut study_rows: Vec<StudyRow> = rows
        .iter()
        .map(|row| study_row(row, baseline, &verdicts, &options.metric))
        .collect();
    bounds::ranges_where_runs_depend_on_time(&rows, &mut study_rows);
    Study {
        baseline,
        metric: options.metric.clone(),
        margin: options.margin,
        curves: curves::curves(&rows, &arms),
        overall: verdicts
            .iter()
            .map(|of_arm| of_arm.overall.clone())
            .collect(),
        rows: study_rows,
        environments,
        findings: findings::grouped(found, records.len()),
        arms,
        left_out,
        notes,
        records: records.len(),
    }
}

/// Slots of a plan in the order of its own lists, in the place of its first slot: in which order
/// they ran was drawn by lot.
fn in_order_of_plans(records: &[Record], mut indices: Vec<usize>) -> Vec<usize> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for &index in &indices {
        if let Some(trial) = &records[index].trial {
            first.entry(&trial.plan).or_insert(index);
        }
    }
    indices.sort_by_key(|&index| match &records[index].trial {
        Some(trial) => (
            first[trial.plan.as_str()],
            trial.row_number,
            trial.arm_number,
            index,
        ),
        None => (index, 0, 0, index),
    });
    indices
}

/// Indices of the records that count, and the others with the reason.
fn sorted_out(records: &[Record]) -> (Vec<usize>, Vec<LeftOut>) {
    let mut counting = Vec::new();
    let mut left_out = Vec::new();
    let mut seen: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let same = seen
            .entry((&record.id, &record.started_at, &record.name))
            .or_default();
        let twin = same
            .iter()
            .find(|other| !record.id.is_empty() && records[**other] == *record);
        let reason = twin
            .map(|other| format!("it is record {} a second time", other + 1))
            .or_else(|| unusable::unusable(record));
        match reason {
            Some(reason) => left_out.push(LeftOut {
                record: index,
                name: named(record),
                reason,
            }),
            None => {
                counting.push(index);
                same.push(index);
            }
        }
    }
    (counting, left_out)
}

fn named(record: &Record) -> String {
    let name = match &record.trial {
        Some(trial) => format!("{} of {}, block {}", trial.row, trial.arm, trial.block),
        None => record.name.clone(),
    };
    if record.started_at.is_empty() {
        name
    } else {
        format!("{name} ({})", record.started_at)
    }
}

fn baseline(arms: &[StudyArm], options: &StudyOptions, notes: &mut Vec<String>) -> Option<usize> {
    if arms.len() < 2 {
        return None;
    }
    let named = options
        .baseline
        .as_ref()
        .and_then(|name| arms.iter().position(|arm| arm.name == *name));
    if let (Some(name), None) = (&options.baseline, named) {
        notes.push(format!("no arm is called {name:?}"));
    }
    named
        .or_else(|| arms.iter().position(|arm| arm.role == Some(Role::Baseline)))
        .or(Some(0))
}

fn study_row(
    row: &rows::Row<'_>,
    baseline: Option<usize>,
    verdicts: &[comparisons::Verdicts],
    metric: &Quantity,
) -> StudyRow {
    let operations = cells::kinds(row.slots.iter().flatten().map(|slot| slot.record));
    let both = |arm: usize| {
        baseline.is_some_and(|base| !row.slots[base].is_empty() && !row.slots[arm].is_empty())
    };
    let by_arm: Vec<Vec<&Record>> = row
        .slots
        .iter()
        .map(|slots| slots.iter().map(|slot| slot.record).collect())
        .collect();
    StudyRow {
        name: row.name.clone(),
        cells: row
            .slots
            .iter()
            .map(|slots| cells::cell(slots, &operations))
            .collect(),
        comparisons: (0..row.slots.len())
            .map(|arm| {
                verdicts[arm]
                    .rows
                    .get(&row.name)
                    .filter(|_| both(arm))
                    .cloned()
            })
            .collect(),
        drift: row_drift(row, metric),
        workload: facts::workload(&by_arm),
        operations,
    }
}

/// Diagnoses the blocks that every arm of the row completed in one experiment.
fn row_drift(row: &rows::Row<'_>, metric: &Quantity) -> Option<Drift> {
    let arms: Vec<(usize, &Vec<rows::Slot<'_>>)> = row
        .slots
        .iter()
        .enumerate()
        .filter(|(_, slots)| !slots.is_empty())
        .collect();
    let parts: BTreeSet<usize> = row.slots.iter().flatten().map(|slot| slot.part).collect();
    if parts.len() != 1
        || row
            .slots
            .iter()
            .flatten()
            .any(|slot| slot.record.trial.is_none())
    {
        return None;
    }
    let mut blocks: BTreeMap<u32, Vec<(&rows::Slot<'_>, usize, f64)>> = BTreeMap::new();
    for (arm, slots) in &arms {
        for slot in *slots {
            if let Some(value) = metric.of(slot.record).known().filter(|value| *value > 0.0) {
                blocks
                    .entry(slot.block)
                    .or_default()
                    .push((slot, *arm, value.ln()));
            }
        }
    }
    let mut complete: Vec<_> = blocks
        .into_values()
        .filter(|slots| slots.len() == arms.len())
        .collect();
    let when = |slot: &rows::Slot<'_>| {
        (
            slot.record.started_at.clone(),
            slot.record.trial.as_ref().map(|trial| trial.slot),
        )
    };
    complete
        .iter_mut()
        .for_each(|slots| slots.sort_by_key(|(slot, ..)| when(slot)));
    complete.sort_by_key(|slots| slots.first().map(|(slot, ..)| when(slot)));
    let runs: Vec<BlockRun> = complete
        .iter()
        .map(|slots| BlockRun {
            config: 0,
            slots: slots.iter().map(|(_, arm, value)| (*arm, *value)).collect(),
        })
        .collect();
    (runs.len() >= FEWEST_FOR_DRIFT).then(|| stats::drift(&runs))
}
