//! Records joined into one study: arms side by side in every row, each figure with its interval
//! over blocks.
//!
//! A record counts once or is named among those left out, with the reason. Nothing is averaged that
//! is not the same work: where records of one name did different work, the row is divided. The
//! order is that of the plan or of the records, never that of the results.

use crate::io500::{Io500Result, io500};
use crate::{DifferingFact, Finding, RowComparison, Severity};
use record::{Histogram, Quantity, Record, Role};
use sorted::Sorted;
use stats::Drift;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

mod arms;
mod arrivals;
mod bounds;
mod cells;
mod comparisons;
mod course;
mod curves;
mod details;
mod drift;
mod facts;
mod figure;
mod findings;
mod geometric_mean;
mod hosts;
mod loads;
mod options;
mod origin;
mod rows;
mod sorted;
mod thinned;

pub use arrivals::{ArrivalCurve, ArrivalPoint};
pub use course::{Course, Settling};
pub use details::RecordDetails;
pub use figure::{Bounds, Figure, Range};
pub use hosts::HostFigures;
pub use loads::{PART_PERCENTILES, REQUEST_PARTS, REQUESTS, is_aside, is_told_apart};
pub use options::StudyOptions;
pub use sorted::{LeftOut, ended_badly};
pub use thinned::RateColumn;

/// What records say together, and all that a report shows of them: nobody who has it needs the
/// records. Indices of records are those of the slice it was made from, indices of arms those of
/// `arms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// In the order of the plan, else of their first record.
    pub arms: Vec<StudyArm>,
    /// Index of the arm that the others are compared with; `None` with fewer than two arms.
    pub baseline: Option<usize>,
    /// What is compared, and the ratio below which a difference does not matter.
    pub metric: Quantity,
    pub margin: f64,
    /// As the options have it.
    pub question: String,
    /// By arm, over all rows together, where the arms of one experiment of several rows are judged
    /// as one family.
    pub overall: Vec<Option<RowComparison>>,
    /// In the order of the plan, else of their first record.
    pub rows: Vec<StudyRow>,
    pub curves: Vec<Curve>,
    /// Latency by arrival rate, scenario by scenario.
    pub arrivals: Vec<ArrivalCurve>,
    /// What runs of IO500's phases make of them.
    pub io500: Vec<Io500Result>,
    /// Machine, system and storage, those known of no arm left out.
    pub environments: Vec<Fact>,
    /// The gravest first.
    pub findings: Vec<GroupedFinding>,
    pub left_out: Vec<LeftOut>,
    /// How the run ended, if it ended badly and is all that there is: then it is shown, and counts in
    /// nothing else.
    pub ended_badly: Option<String>,
    /// What the reader must know of how the records were joined.
    pub notes: Vec<String>,
    /// How many records it was made from, with those left out.
    pub records: usize,
    /// When the first and the last of them began, as they say it.
    pub measured: Option<(String, String)>,
    /// What measured them, with versions.
    pub tools: BTreeSet<String>,
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
    /// The rate that is shown over time.
    pub rate: Quantity,
    /// Whether some record is a load: one of ours, or one of which a source tells the parts of
    /// requests.
    pub is_load: bool,
    /// Whether it is one of several arrival rates that a curve shows.
    pub is_step: bool,
}

/// One arm in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Those that count, in the order of their blocks.
    pub records: Vec<usize>,
    /// Of each of them the number of its block.
    pub numbers: Vec<u32>,
    /// Blocks; repeated records where there is no plan.
    pub blocks: usize,
    /// From the beginning of the first to the end of the last; `None` where a record does not say
    /// when it began.
    pub span: Option<Nanos>,
    /// By kind of operation in the order of the row, and within a kind: bytes a second, operations
    /// a second, mean latency, p50, p95, p99, p99.9, maximum, CPU an operation. What no record
    /// says is missing.
    pub figures: Vec<Figure>,
    /// What only loads have: amounts and parts of requests by kind of operation, `all` of them
    /// together; of no kind what a load has as a whole.
    pub of_loads: Vec<Figure>,
    /// By kind of operation, over all records that have them.
    pub latencies: BTreeMap<String, Histogram>,
    pub course: Course,
    /// Bytes of the range that operations went to, and uses of its equal parts.
    pub accesses: Option<(u64, Vec<u64>)>,
    /// Mean bytes of an operation by kind, of the first record.
    pub operation_bytes: BTreeMap<String, f64>,
    /// In the order of `records`.
    pub details: Vec<RecordDetails>,
    /// What each host did, where records are of several: the slow ones first, and by their numbers.
    pub hosts: Vec<HostFigures>,
    /// How many ranks there were on how many machines, in words; several where records differ, and
    /// `None` of one that does not say it, as that of one host.
    pub ranks: BTreeSet<Option<String>>,
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
    pub differing: Vec<DifferingFact>,
    /// What else the rule says of the record that the message is about, the gravest first.
    pub others: Vec<Finding>,
    /// Empty: about several records together.
    pub records: Vec<usize>,
    /// Of those records, each name once.
    pub names: BTreeSet<String>,
    /// The record that the message is about; `None`: about several together.
    pub example: Option<usize>,
    /// How many records were audited.
    pub of: usize,
    /// Whether it holds of the whole way of measuring: [`crate::is_always`].
    pub is_always: bool,
}

/// Joins records into one study.
#[must_use]
pub fn study(records: &[Record], options: &StudyOptions) -> Study {
    let found = crate::audit(records);
    let sorted = Sorted::of(records);
    let failed = sorted.failed(records);
    let counting = in_order_of_plans(records, sorted.counting);
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
    let arrivals = arrivals::arrivals(records, &arms, &sorted.left_out);
    let shown = Shown {
        metric: &options.metric,
        time_parts: time_parts(&rows),
        arrivals: &arrivals,
    };
    let mut study_rows: Vec<StudyRow> = rows
        .iter()
        .map(|row| study_row(row, baseline, &verdicts, &shown))
        .collect();
    bounds::ranges_where_runs_depend_on_time(&rows, &mut study_rows);
    Study {
        baseline,
        metric: options.metric.clone().measured_in(records),
        margin: options.margin,
        question: options.question.clone(),
        curves: curves::curves(&rows, &arms),
        arrivals,
        io500: io500(records),
        overall: verdicts
            .iter()
            .map(|of_arm| of_arm.overall.clone())
            .collect(),
        rows: study_rows,
        environments,
        findings: findings::grouped(found, records),
        arms,
        left_out: sorted.left_out,
        ended_badly: sorted.ended_badly,
        notes,
        records: records.len(),
        measured: origin::measured(records),
        tools: records.iter().map(origin::tool).collect(),
    }
}

/// What is asked of every row.
struct Shown<'a> {
    metric: &'a Quantity,
    /// The most parts of time that latencies are told in.
    time_parts: u32,
    arrivals: &'a [ArrivalCurve],
}

/// The more cells, the coarser: what is known of a whole matrix stays small.
fn time_parts(rows: &[rows::Row<'_>]) -> u32 {
    let slots = rows.iter().flat_map(|row| &row.slots);
    match slots.filter(|slots| !slots.is_empty()).count() {
        0..=12 => 60,
        13..=40 => 36,
        _ => 18,
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
    shown: &Shown<'_>,
) -> StudyRow {
    let records = || row.slots.iter().flatten().map(|slot| slot.record);
    let rate = course::rate_of(records(), shown.metric);
    let is_of_curve = |scenario: &str| {
        let mut curves = shown.arrivals.iter();
        scenario != row.name && curves.any(|curve| curve.scenario == scenario)
    };
    let is_step = |record: &Record| arrivals::scenario_of_step(record).is_some_and(is_of_curve);
    let operations = cells::kinds(records());
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
            .map(|slots| cells::cell(slots, &operations, &rate, shown.time_parts))
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
        drift: drift::drift(row, shown.metric),
        workload: facts::workload(&by_arm),
        operations,
        rate,
        is_load: records().any(loads::is_load),
        is_step: records().next().is_some() && records().all(is_step),
    }
}
