//! The arms side by side: a line a quantity, a column an arm, and by how much each arm differs from
//! the baseline.
//!
//! A ratio is of what was measured and no verdict: it has an interval only where the study compares
//! the arms block by block, and says so where there is one run a side. Rates of bytes are not
//! divided where the arms moved objects of other sizes.

use super::rows::ALL;
use super::{CellValue, Column, Label, Table, TableLine};
use crate::words::NOTHING;
use analyze::{Cell, Figure, REQUEST_PARTS, REQUESTS, Study, StudyRow, is_aside};
use record::{Preference, Quantity};
use stats::Verdict;
use units::{Bytes, lossless::f64_to_u64_saturating};

/// Objects whose mean sizes differ by more than this share are other work.
const SAME_SIZE: f64 = 0.02;
const ONE_RUN: &str = "One run a side: no verdict.";
/// What is compared of each kind of operation.
const METRICS: [&str; 6] = ["p50", "p95", "p99", "max", "throughput", "iops"];

/// A table in the making.
struct Sides<'s> {
    study: &'s Study,
    table: Table<'s>,
    has_one_run: bool,
}

impl<'s> Sides<'s> {
    fn new(study: &'s Study, title: &str, labels: &[&str]) -> Self {
        let base = study
            .baseline
            .map_or("", |base| study.arms[base].name.as_str());
        let arms = study.arms.iter().enumerate().map(|(arm, of)| Column {
            arm: Some(arm),
            ..Column::of(of.name.clone())
        });
        let others = others(study).map(|arm| Column {
            arm: Some(arm),
            ..Column::of(format!("{} against {base}", study.arms[arm].name))
        });
        Self {
            study,
            table: Table {
                columns: arms.chain(others).collect(),
                ..Table::new(title, labels)
            },
            has_one_run: false,
        }
    }

    /// Adds a line unless no arm knows anything; `apart` says why two arms are not to be divided.
    fn push(
        &mut self,
        labels: Vec<Label>,
        row: &StudyRow,
        figures: &[Option<&'s Figure>],
        apart: impl Fn(usize, usize) -> Option<String>,
    ) {
        let point = |figure: &Option<&Figure>| figure.and_then(|figure| figure.point);
        let Some(quantity) = figures.iter().flatten().map(|figure| &figure.metric).next() else {
            return;
        };
        if figures.iter().all(|figure| point(figure).is_none()) {
            return;
        }
        let mut cells: Vec<CellValue<'s>> = figures
            .iter()
            .map(|figure| match (point(figure), figure) {
                (Some(point), Some(figure)) if figure.metric.stated_unit().is_some() => {
                    CellValue::Text(figure.metric.number(point))
                }
                (point, _) => CellValue::of(point, quantity.unit()),
            })
            .collect();
        for arm in others(self.study) {
            let base = self.study.baseline.unwrap_or(0);
            let ratio = || self.ratio(row, arm, figures[base], figures[arm]);
            let (text, is_one_run) = match apart(base, arm) {
                Some(reason) => (Some(reason), false),
                None => ratio(),
            };
            self.has_one_run |= is_one_run;
            cells.push(text.map_or(CellValue::Nothing, CellValue::Text));
        }
        self.table.lines.push(TableLine { labels, cells });
    }

    /// How many times an arm is above or below the baseline, and whether it is of one run a side.
    fn ratio(
        &self,
        row: &StudyRow,
        arm: usize,
        base: Option<&Figure>,
        other: Option<&Figure>,
    ) -> (Option<String>, bool) {
        let is_ratio = |value: &f64| value.is_finite() && *value > 0.0;
        let level = |figure: Option<&Figure>| figure.and_then(|of| of.point).filter(is_ratio);
        let (Some(base), Some(other)) = (base, other) else {
            return (None, false);
        };
        let (Some(from), Some(to)) = (level(Some(base)), level(Some(other))) else {
            return (None, false);
        };
        let point = (to / from).ln();
        let comparison = row.comparisons[arm].as_ref();
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
            let bounds = bounds(estimate.point, estimate.low, estimate.high);
            return (Some(format!("{} [{bounds}]", times(estimate.point))), false);
        }
        if base.values.len() == 1 && other.values.len() == 1 {
            return (Some(format!("{} (one run a side)", times(point))), true);
        }
        (Some(format!("{} (no interval)", times(point))), false)
    }

    fn finish(mut self) -> Table<'s> {
        if self.has_one_run {
            self.table.notes.push(ONE_RUN.to_owned());
        }
        self.table
    }
}

/// The arms beside the baseline.
fn others(study: &Study) -> impl Iterator<Item = usize> {
    let is_other = |arm: &usize| study.arms.len() > 1 && study.baseline != Some(*arm);
    (0..study.arms.len()).filter(is_other)
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

fn no_reason(_: usize, _: usize) -> Option<String> {
    None
}

fn texts(labels: &[&str]) -> Vec<Label> {
    let labels = labels.iter();
    labels
        .map(|label| Label::Text((*label).to_owned()))
        .collect()
}

/// By arm, a figure of the study.
fn figures<'s>(row: &'s StudyRow, kind: &str, metric: &Quantity) -> Vec<Option<&'s Figure>> {
    let cells = row.cells.iter();
    cells
        .map(|cell| cell.as_ref()?.figure(kind, metric))
        .collect()
}

/// By arm, what only loads have.
fn of_loads<'s>(row: &'s StudyRow, kind: &str, quantity: &Quantity) -> Vec<Option<&'s Figure>> {
    let cells = row.cells.iter();
    cells
        .map(|cell| cell.as_ref()?.of_load(kind, quantity))
        .collect()
}

/// What loads have of a kind of operation, in the order in which they tell it.
fn quantities<'s>(row: &'s StudyRow, kind: &str) -> Vec<&'s Quantity> {
    let mut out: Vec<&Quantity> = Vec::new();
    for figure in row.cells.iter().flatten().flat_map(|cell| &cell.of_loads) {
        if figure.kind == kind && !out.contains(&&figure.metric) {
            out.push(&figure.metric);
        }
    }
    out
}

/// One scenario: of each kind of operation latencies, throughput, rate, and what was counted.
pub(super) fn scenario<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let mut sides = Sides::new(study, "Side by side", &["Operation", "Quantity"]);
    let kinds = row.operations.iter();
    for kind in kinds.filter(|kind| !is_aside(kind) || *kind == REQUESTS) {
        for metric in &METRICS.map(Quantity::named) {
            let apart = |base, arm| other_sizes(row, kind, metric, base, arm);
            let labels = texts(&[kind, &super::heading(study, metric)]);
            sides.push(labels, row, &figures(row, kind, metric), apart);
        }
        let of = if kind == REQUESTS { ALL } else { kind };
        let is_part = |name: &str| REQUEST_PARTS.iter().any(|part| name.starts_with(part));
        for quantity in quantities(row, of) {
            let name = quantity.column();
            if !is_part(&name) {
                let found = of_loads(row, of, quantity);
                sides.push(texts(&[kind, &name]), row, &found, no_reason);
            }
        }
    }
    let iterations = Quantity::named("iterations");
    let found = of_loads(row, "", &iterations);
    sides.push(texts(&["", "iterations"]), row, &found, no_reason);
    sides.finish()
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
        let cell: &Cell = row.cells.get(arm)?.as_ref()?;
        cell.operation_bytes.get(kind).copied()
    };
    let (a, b) = (size(base)?, size(arm)?);
    let shown = |size: f64| Bytes(f64_to_u64_saturating(size.round())).to_string();
    ((b / a).ln().abs() > SAME_SIZE).then(|| format!("objects of {} and of {}", shown(a), shown(b)))
}

/// The p95 of the parts of all requests together.
pub(super) fn parts<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let only = row.operations.iter().find(|kind| !is_aside(kind));
    let kind = match only {
        Some(only) if quantities(row, ALL).is_empty() => only,
        Some(_) | None => ALL,
    };
    let mut sides = Sides::new(study, "HTTP requests, side by side", &["Quantity"]);
    for part in ["duration", "waiting", "receiving", "sending", "connecting"] {
        let quantity = Quantity::named(&format!("{part}.p95"));
        let found = of_loads(row, kind, &quantity);
        sides.push(texts(&[&quantity.column()]), row, &found, no_reason);
    }
    sides.finish()
}

/// Users, iterations and cost: of one arm its values, of several side by side.
pub(super) fn conduct<'s>(study: &'s Study, row: &'s StudyRow) -> Table<'s> {
    let mut sides = Sides::new(study, "Users, iterations and cost", &["Quantity"]);
    for quantity in quantities(row, "") {
        // A number of users or connections is a setting, or follows from one.
        let is_setting = quantity.better() == Preference::Unsaid;
        let apart = |_, _| is_setting.then(|| NOTHING.to_owned());
        let found = of_loads(row, "", quantity);
        sides.push(texts(&[&quantity.column()]), row, &found, apart);
    }
    sides.finish()
}

/// One quantity of every operation of every scenario.
pub(super) fn overview<'s>(study: &'s Study, rows: &[usize], name: &str, title: &str) -> Table<'s> {
    let metric = Quantity::named(name);
    let mut sides = Sides::new(study, title, &["Scenario", "Operation"]);
    for index in rows {
        let row = &study.rows[*index];
        for kind in row.operations.iter().filter(|kind| !is_aside(kind)) {
            let apart = |base, arm| other_sizes(row, kind, &metric, base, arm);
            let labels = vec![Label::Row(*index), Label::Text(kind.clone())];
            sides.push(labels, row, &figures(row, kind, &metric), apart);
        }
    }
    sides.finish()
}

/// The iteration time of every scenario.
pub(super) fn iterations<'s>(study: &'s Study, rows: &[usize]) -> Table<'s> {
    let quantity = Quantity::named("iteration.p95");
    let mut sides = Sides::new(study, "p95 of iteration time", &["Scenario"]);
    for index in rows {
        let row = &study.rows[*index];
        let found = of_loads(row, "", &quantity);
        sides.push(vec![Label::Row(*index)], row, &found, no_reason);
    }
    sides.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Breadth;
    use crate::document::example::load;
    use analyze::{StudyOptions, study};
    use record::{Record, Role, Trial};

    fn lines(study: &Study, table: &Table<'_>, name: &str) -> Vec<Vec<String>> {
        let lines = table.as_text(study, Breadth::Paper).into_iter();
        lines
            .filter(|line| line.iter().any(|cell| cell == name))
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
            found.as_text(&study, Breadth::Paper)[0],
            [
                "Operation",
                "Quantity",
                "before",
                "after",
                "after against before"
            ]
        );
        let p95 = lines(&study, &found, "p95 latency");
        assert_eq!(p95[0][0], "get");
        assert!(
            p95[0][4].starts_with("4.0") && p95[0][4].ends_with("x lower (one run a side)"),
            "{p95:?}"
        );
        assert_eq!(found.notes, [ONE_RUN]);
        let waiting = parts(&study, &study.rows[0]);
        assert!(
            lines(&study, &waiting, "waiting p95")[0][3].contains("x lower"),
            "{:?}",
            waiting.as_text(&study, Breadth::Paper)
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
        let p95 = &lines(&study, &found, "p95 latency")[0];
        assert!(
            p95[4].starts_with("1.9")
                && p95[4].contains("x lower [1.")
                && !p95[4].contains("one run"),
            "{p95:?}"
        );
        row.comparisons[1].as_mut().unwrap().verdict =
            Verdict::Invalid(stats::Reason::OrderAliasedWithArm);
        let refused = scenario(&study, &row);
        assert!(lines(&study, &refused, "p95 latency")[0][4].ends_with("(no interval)"));
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
        let bandwidth = lines(&study, &found, "Bandwidth");
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
