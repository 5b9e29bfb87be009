//! The arms side by side: a line a metric, a column an arm, and by how much each arm differs from
//! the baseline.
//!
//! A ratio is of what was measured and no verdict: it has an interval only where the study compares
//! the arms block by block, and says so where there is one run a side. Rates of bytes are not
//! divided where the arms moved objects of other sizes.

use super::readings::{ALL, Gathered, gathered};
use super::{Titled, value_text};
use crate::plot::ValueUnit;
use crate::study::{NOTHING, Table};
use analyze::{Cell, ITERATION_TIME, REQUEST_PARTS, REQUESTS, Study, StudyRow, is_aside};
use record::Quantity;
use stats::Verdict;
use units::{Bytes, lossless::f64_to_u64_saturating};

/// Objects whose mean sizes differ by more than this share are other work.
const SAME_SIZE: f64 = 0.02;
const ONE_RUN: &str = "One run a side: no verdict.";
/// What is compared of each kind of operation.
const METRICS: [&str; 6] = ["p50", "p95", "p99", "max", "throughput", "iops"];

/// One number of one arm, over its blocks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Level {
    point: Option<f64>,
    values: Vec<(u32, f64)>,
}

impl Level {
    fn of_figure(cell: &Cell, kind: &str, metric: &Quantity) -> Self {
        cell.figure(kind, metric)
            .map_or_else(Self::default, |figure| Self {
                point: figure.point,
                values: figure.values.clone(),
            })
    }

    /// Readings in the order of the records of a cell.
    fn of_readings(cell: &Cell, readings: &Gathered, operation: &str, name: &str) -> Self {
        let Some((_, found)) = readings.get(&(operation.to_owned(), name.to_owned())) else {
            return Self::default();
        };
        let blocks = blocks(cell);
        let values: Vec<(u32, f64)> = found
            .iter()
            .zip(blocks)
            .filter_map(|(value, block)| Some((block, (*value)?)))
            .collect();
        let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let point = match numbers.as_slice() {
            [] => None,
            [only] => Some(*only),
            several => Some(stats::sample::median(several)),
        };
        Self { point, values }
    }
}

/// The numbers of the blocks of a cell, in the order of its records.
fn blocks(cell: &Cell) -> Vec<u32> {
    let known = cell
        .figures
        .iter()
        .find(|figure| figure.values.len() == cell.records.len());
    known.map_or_else(
        || (0..).take(cell.records.len()).collect(),
        |figure| figure.values.iter().map(|(block, _)| *block).collect(),
    )
}

/// A table in the making.
struct Sides<'a> {
    study: &'a Study,
    lines: Vec<Vec<String>>,
    labels: usize,
    has_one_run: bool,
}

impl<'a> Sides<'a> {
    fn new(study: &'a Study, labels: &[&str]) -> Self {
        let base = study
            .baseline
            .and_then(|base| study.arms.get(base))
            .map_or("", |arm| arm.name.as_str());
        let mut head: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        head.extend(study.arms.iter().map(|arm| arm.name.clone()));
        head.extend(others(study).map(|(_, name)| format!("{name} against {base}")));
        Self {
            study,
            lines: vec![head],
            labels: labels.len(),
            has_one_run: false,
        }
    }

    /// Adds a line unless no arm knows anything; `apart` says why two arms are not to be divided.
    fn push(
        &mut self,
        labels: &[&str],
        row: &StudyRow,
        unit: ValueUnit,
        levels: &[Level],
        apart: impl Fn(usize, usize) -> Option<String>,
    ) {
        if levels.iter().all(|level| level.point.is_none()) {
            return;
        }
        let mut line: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        line.extend(levels.iter().map(|level| value_text(unit, level.point)));
        for (arm, _) in others(self.study) {
            let base = self.study.baseline.unwrap_or(0);
            let text =
                apart(base, arm).or_else(|| self.ratio(row, arm, &levels[base], &levels[arm]));
            line.push(text.unwrap_or_else(|| NOTHING.to_owned()));
        }
        self.lines.push(line);
    }

    fn ratio(&mut self, row: &StudyRow, arm: usize, base: &Level, other: &Level) -> Option<String> {
        let is_ratio = |value: &f64| value.is_finite() && *value > 0.0;
        let (from, to) = (base.point.filter(is_ratio)?, other.point.filter(is_ratio)?);
        let point = (to / from).ln();
        let comparison = row.comparisons.get(arm).and_then(Option::as_ref);
        let judged =
            comparison.filter(|comparison| !matches!(comparison.verdict, Verdict::Invalid(_)));
        let logs: Vec<f64> = base
            .values
            .iter()
            .filter_map(|(block, a)| {
                let (_, b) = other.values.iter().find(|(other, _)| other == block)?;
                (is_ratio(a) && is_ratio(b)).then(|| (b / a).ln())
            })
            .collect();
        let estimate =
            judged.and_then(|comparison| stats::effect(&logs, comparison.effect.as_ref()?.level));
        if let Some(estimate) = estimate {
            return Some(format!(
                "{} [{}]",
                times(estimate.point),
                bounds(estimate.point, estimate.low, estimate.high)
            ));
        }
        if base.values.len() == 1 && other.values.len() == 1 {
            self.has_one_run = true;
            return Some(format!("{} (one run a side)", times(point)));
        }
        Some(format!("{} (no interval)", times(point)))
    }

    fn finish(self, title: &str) -> Titled {
        let notes = self
            .has_one_run
            .then(|| ONE_RUN.to_owned())
            .into_iter()
            .collect();
        Titled {
            title: title.to_owned(),
            table: Table {
                labels: self.labels,
                lines: self.lines,
                notes,
            },
        }
    }
}

/// The arms beside the baseline.
fn others(study: &Study) -> impl Iterator<Item = (usize, &str)> {
    study
        .arms
        .iter()
        .enumerate()
        .filter(|(arm, _)| study.arms.len() > 1 && study.baseline != Some(*arm))
        .map(|(arm, of)| (arm, of.name.as_str()))
}

/// A ratio, given as its logarithm: `29.4x lower`.
fn times(log: f64) -> String {
    let text = three_digits(log.abs().exp());
    match text.as_str() {
        "1.00" => "1.00x".to_owned(),
        _ if log < 0.0 => format!("{text}x lower"),
        _ => format!("{text}x higher"),
    }
}

/// The bounds of a ratio in the direction of its point.
fn bounds(point: f64, low: f64, high: f64) -> String {
    let [low, high] = if point < 0.0 {
        [-high, -low]
    } else {
        [low, high]
    };
    format!("{}, {}", three_digits(low.exp()), three_digits(high.exp()))
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// What a heading calls a metric of a load.
fn name(metric: &Quantity) -> String {
    if metric.is("iops") {
        "Operations/s".to_owned()
    } else {
        metric.title()
    }
}

fn no_reason(_: usize, _: usize) -> Option<String> {
    None
}

/// By arm, a figure of the study.
fn figures(study: &Study, row: &StudyRow, kind: &str, metric: &Quantity) -> Vec<Level> {
    (0..study.arms.len())
        .map(|arm| {
            row.cells[arm]
                .as_ref()
                .map(|cell| Level::of_figure(cell, kind, metric))
                .unwrap_or_default()
        })
        .collect()
}

/// By arm, all readings.
fn all_readings(study: &Study, row: &StudyRow) -> Vec<Gathered> {
    let gather = |arm: usize| {
        row.cells[arm]
            .as_ref()
            .map(|cell| gathered(&cell.details))
            .unwrap_or_default()
    };
    (0..study.arms.len()).map(gather).collect()
}

fn levels(row: &StudyRow, readings: &[Gathered], operation: &str, name: &str) -> Vec<Level> {
    let cells = row.cells.iter().zip(readings);
    cells
        .map(|(cell, found)| {
            cell.as_ref()
                .map(|cell| Level::of_readings(cell, found, operation, name))
                .unwrap_or_default()
        })
        .collect()
}

/// Names and units of readings of one kind of operation.
fn named<'a>(readings: &'a [Gathered], operation: &'a str) -> Vec<(&'a str, ValueUnit)> {
    let mut out: Vec<(&str, ValueUnit)> = Vec::new();
    for ((_, name), (unit, _)) in readings
        .iter()
        .flatten()
        .filter(|((of, _), _)| of == operation)
    {
        if !out.iter().any(|(known, _)| known == name) {
            out.push((name, *unit));
        }
    }
    out
}

/// One scenario: of each kind of operation latencies, throughput, rate, and what was counted.
pub(super) fn scenario(study: &Study, row: &StudyRow) -> Titled {
    let readings = all_readings(study, row);
    let mut sides = Sides::new(study, &["Operation", "Quantity"]);
    for kind in row
        .operations
        .iter()
        .filter(|kind| !is_aside(kind) || *kind == REQUESTS)
    {
        for metric in &METRICS.map(Quantity::named) {
            let apart = |base, arm| other_sizes(row, kind, metric, base, arm);
            sides.push(
                &[kind, &name(metric)],
                row,
                metric.unit(),
                &figures(study, row, kind, metric),
                apart,
            );
        }
        let shown = if kind == REQUESTS { ALL } else { kind };
        let counts = named(&readings, shown)
            .into_iter()
            .filter(|(name, _)| !REQUEST_PARTS.iter().any(|part| name.starts_with(part)));
        for (name, unit) in counts {
            sides.push(
                &[kind, name],
                row,
                unit,
                &levels(row, &readings, shown, name),
                no_reason,
            );
        }
    }
    sides.push(
        &["", "iterations"],
        row,
        ValueUnit::Whole,
        &levels(row, &readings, "", "iterations"),
        no_reason,
    );
    sides.finish("Side by side")
}

/// Why the throughput of two arms is not to be divided.
fn other_sizes(
    row: &StudyRow,
    kind: &str,
    metric: &Quantity,
    base: usize,
    arm: usize,
) -> Option<String> {
    if !metric.is("throughput") || kind == ALL {
        return None;
    }
    let size = |arm: usize| {
        let cell = row.cells.get(arm)?.as_ref()?;
        cell.operation_bytes.get(kind).copied()
    };
    let (a, b) = (size(base)?, size(arm)?);
    let shown = |size: f64| Bytes(f64_to_u64_saturating(size.round())).to_string();
    ((b / a).ln().abs() > SAME_SIZE).then(|| format!("objects of {} and of {}", shown(a), shown(b)))
}

/// The p95 of the parts of all requests together.
pub(super) fn parts(study: &Study, row: &StudyRow) -> Titled {
    let readings = all_readings(study, row);
    let together = readings
        .iter()
        .flatten()
        .any(|((operation, _), _)| operation == ALL);
    let only = row
        .operations
        .iter()
        .find(|kind| !is_aside(kind))
        .map_or(ALL, String::as_str);
    let operation = if together { ALL } else { only };
    let mut sides = Sides::new(study, &["Quantity"]);
    for part in ["duration", "waiting", "receiving", "sending", "connecting"] {
        let name = format!("{part} p95");
        sides.push(
            &[&name],
            row,
            ValueUnit::Time,
            &levels(row, &readings, operation, &name),
            no_reason,
        );
    }
    sides.finish("HTTP requests, side by side")
}

/// Users, iterations and cost: of one arm its values, of several side by side.
pub(super) fn conduct(study: &Study, row: &StudyRow) -> Titled {
    let readings = all_readings(study, row);
    let mut sides = Sides::new(study, &["Quantity"]);
    for name in CONDUCT {
        let Some((_, (unit, _))) = readings
            .iter()
            .flatten()
            .find(|((operation, of), _)| operation.is_empty() && of == name)
        else {
            continue;
        };
        // A number of users or connections is a setting, or follows from one.
        let apart = |_, _| (*unit != ValueUnit::Time).then(|| NOTHING.to_owned());
        sides.push(
            &[name],
            row,
            *unit,
            &levels(row, &readings, "", name),
            apart,
        );
    }
    sides.finish("Users, iterations and cost")
}

/// In the order of a reader's questions.
const CONDUCT: [&str; 23] = [
    "users asked",
    "users there, mean",
    "users waiting, mean",
    "arrivals asked",
    "arrivals begun",
    "due and never begun",
    "due while every connection waited",
    "requests in flight, mean",
    "own lateness p50",
    "own lateness p95",
    "own lateness p99",
    "iterations",
    "iteration time p50",
    "iteration time p95",
    "iteration time p99",
    "turns with nothing to act on",
    "connections opened",
    "connections refused",
    "retries",
    "objects left behind",
    "client CPU an operation",
    "server CPU an operation",
    "signing a request",
];

/// The p95 of every operation of every scenario.
pub(super) fn overview(study: &Study, rows: &[&StudyRow]) -> Titled {
    let p95 = Quantity::named("p95");
    let mut sides = Sides::new(study, &["Scenario", "Operation"]);
    for row in rows {
        for kind in row.operations.iter().filter(|kind| !is_aside(kind)) {
            sides.push(
                &[&row.name, kind],
                row,
                ValueUnit::Time,
                &figures(study, row, kind, &p95),
                no_reason,
            );
        }
    }
    sides.finish("p95 latency")
}

/// The throughput of every operation of every scenario.
pub(super) fn throughput(study: &Study, rows: &[&StudyRow]) -> Titled {
    let metric = Quantity::named("throughput");
    let mut sides = Sides::new(study, &["Scenario", "Operation"]);
    for row in rows {
        for kind in row.operations.iter().filter(|kind| !is_aside(kind)) {
            let apart = |base, arm| other_sizes(row, kind, &metric, base, arm);
            sides.push(
                &[&row.name, kind],
                row,
                ValueUnit::BytesPerSecond,
                &figures(study, row, kind, &metric),
                apart,
            );
        }
    }
    sides.finish("Throughput")
}

/// The iteration time of every scenario.
pub(super) fn iterations(study: &Study, rows: &[&StudyRow]) -> Titled {
    let name = format!("{ITERATION_TIME} p95");
    let mut sides = Sides::new(study, &["Scenario"]);
    for row in rows {
        let readings = all_readings(study, row);
        sides.push(
            &[&row.name],
            row,
            ValueUnit::Time,
            &levels(row, &readings, "", &name),
            no_reason,
        );
    }
    sides.finish("p95 of iteration time")
}

#[cfg(test)]
mod tests {
    use super::super::example::load;
    use super::*;
    use analyze::{StudyOptions, study};
    use record::{Record, Role, Trial};

    fn lines<'t>(titled: &'t Titled, name: &str) -> Vec<&'t [String]> {
        titled
            .table
            .lines
            .iter()
            .filter(|line| line.iter().any(|cell| cell == name))
            .map(Vec::as_slice)
            .collect()
    }

    fn two_files(records: &[Record]) -> Study {
        let labels = (0..records.len())
            .map(|at| ["before", "after"][at % 2].to_owned())
            .collect();
        study(
            records,
            &StudyOptions {
                labels,
                ..StudyOptions::default()
            },
        )
    }

    #[test]
    fn one_run_a_side_has_a_ratio_and_no_verdict() {
        let records = [
            load("mixed", 2000, 80_000_000, 0),
            load("mixed", 2000, 20_000_000, 0),
        ];
        let study = two_files(&records);
        let found = scenario(&study, &study.rows[0]);
        assert_eq!(
            found.table.lines[0],
            [
                "Operation",
                "Quantity",
                "before",
                "after",
                "after against before"
            ]
        );
        let p95 = lines(&found, "p95 latency");
        assert_eq!(p95[0][0], "get");
        assert!(
            p95[0][4].starts_with("4.0") && p95[0][4].ends_with("x lower (one run a side)"),
            "{p95:?}"
        );
        assert_eq!(found.table.notes, [ONE_RUN]);
        let waiting = parts(&study, &study.rows[0]);
        assert!(
            lines(&waiting, "waiting p95")[0][3].contains("x lower"),
            "{:?}",
            waiting.table.lines
        );
    }

    #[test]
    fn blocks_give_a_ratio_its_interval() {
        let slot = |arm: usize, block: u64| {
            let mut record = load(
                "mixed",
                2000 + 10 * (block * 7 % 5),
                [80_000_000, 40_000_000][arm] + 1_000_000 * (block * 3 % 4),
                0,
            );
            let number = u32::try_from(2 * block).unwrap()
                + u32::from((arm == 0) == block.is_multiple_of(3));
            record.id = format!("{number}");
            record.started_at = format!("2026-01-01T00:00:{number:02}.000Z");
            record.trial = Some(Trial {
                plan: "p".into(),
                arm: ["a", "b"][arm].into(),
                row: "mixed".into(),
                block: u32::try_from(block).unwrap(),
                slot: number,
                role: [Role::Baseline, Role::Candidate][arm],
                ..Trial::default()
            });
            record
        };
        let records: Vec<Record> = (0..8)
            .flat_map(|block| [slot(0, block), slot(1, block)])
            .collect();
        let study = study(&records, &StudyOptions::default());
        let mut row = study.rows[0].clone();
        // The example's users sleep, so that the audit permits no verdict: what is tried here is
        // the ratio.
        let comparison = row.comparisons[1].as_mut().unwrap();
        comparison.verdict = Verdict::Equivalent { different: false };
        comparison.effect = stats::effect(&[0.1; 8], 0.97);
        let found = scenario(&study, &row);
        let p95 = lines(&found, "p95 latency")[0];
        assert!(
            p95[4].starts_with("1.9")
                && p95[4].contains("x lower [1.")
                && !p95[4].contains("one run"),
            "{p95:?}"
        );
        row.comparisons[1].as_mut().unwrap().verdict =
            Verdict::Invalid(stats::Reason::OrderAliasedWithArm);
        let refused = scenario(&study, &row);
        assert!(lines(&refused, "p95 latency")[0][4].ends_with("(no interval)"));
    }

    #[test]
    fn throughput_of_other_objects_is_not_divided() {
        let mut records = [
            load("mixed", 2000, 80_000_000, 0),
            load("mixed", 2000, 80_000_000, 0),
        ];
        let mut larger = records[1].operations.kind("get").cloned().unwrap();
        larger.bytes = 2000 * 10_240 * 95;
        let put = records[1].operations.kind("put").cloned().unwrap();
        records[1].operations = record::Measurements::default();
        records[1].operations.insert("get", larger);
        records[1].operations.insert("put", put);
        let study = two_files(&records);
        let found = scenario(&study, &study.rows[0]);
        let bandwidth = lines(&found, "Bandwidth");
        assert_eq!(bandwidth[0][4], "objects of 10 KiB and of 950 KiB");
        assert!(bandwidth[1][4].starts_with("1.00x"), "{bandwidth:?}");
    }

    #[test]
    fn a_ratio_says_its_direction_and_keeps_three_digits() {
        for (ratio, text) in [
            (14.0 / 412.0, "29.4x lower"),
            (9.0 / 2105.0, "234x lower"),
            (172.0 / 150.8, "1.14x higher"),
            (1.001, "1.00x"),
        ] {
            assert_eq!(times(f64::ln(ratio)), text);
        }
        assert_eq!(
            bounds(f64::ln(0.5), f64::ln(0.4), f64::ln(0.625)),
            "1.60, 2.50"
        );
        assert_eq!(
            bounds(f64::ln(2.0), f64::ln(1.6), f64::ln(2.5)),
            "1.60, 2.50"
        );
    }
}
