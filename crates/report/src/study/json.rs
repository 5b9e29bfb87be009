//! A study as JSON: the join itself, with the values of every block. Times are ns, sizes bytes;
//! what is not known is null.

use crate::differing::with_differing;
use crate::document::{
    Breadth, CellValue, Conclusion, HOSTS, LEVELS, Label, RUNS, Section, TableLine, document,
    level_method, said_text, why_range,
};
use crate::sentence;
use crate::verdicts::verdict_fields;
use analyze::{Cell, Fact, Finding, Range, RowComparison, Study, StudyRow};
use record::ThresholdResult;
use serde_json::{Value, json};
use stats::Estimate;

/// The version of the form below.
const FORM: u32 = 1;

/// The study as one indented object; `fathom_report` is the version of its form.
#[must_use]
pub fn study_json(study: &Study) -> String {
    let arms: Vec<Value> = study
        .arms
        .iter()
        .map(|arm| json!({ "name": arm.name, "role": arm.role, "records": arm.records }))
        .collect();
    let findings: Vec<Value> = study
        .findings
        .iter()
        .map(|f| {
            let entry = json!({ "rule": f.rule, "severity": f.severity.to_string(), "message": f.message, "advice": f.advice, "records": f.records, "example": f.example, "of": f.of, "always": f.is_always });
            let mut entry = with_differing(entry, &f.differing);
            if !f.others.is_empty() {
                let other = |of: &Finding| {
                    let entry = json!({ "severity": of.severity.to_string(), "message": of.message, "advice": of.advice });
                    with_differing(entry, &of.differing)
                };
                entry["others"] = f.others.iter().map(other).collect();
            }
            entry
        })
        .collect();
    let left_out: Vec<Value> = study
        .left_out
        .iter()
        .map(|left| json!({ "record": left.record, "name": left.name, "reason": left.reason }))
        .collect();
    let curves: Vec<Value> = study
        .curves
        .iter()
        .map(|curve| json!({ "name": curve.name, "arm": study.arms[curve.arm].name, "points": points(study, &curve.points) }))
        .collect();
    let overall: serde_json::Map<String, Value> = study
        .arms
        .iter()
        .zip(&study.overall)
        .filter_map(|(arm, found)| {
            Some((arm.name.clone(), comparison_value(study, found.as_ref()?)))
        })
        .collect();
    let document = document(study, Breadth::Program);
    let whole = json!({
        "fathom_report": FORM,
        "answer": answer(study, &document.answer),
        "records": study.records,
        "arms": arms,
        "baseline": study.baseline.map(|baseline| &study.arms[baseline].name),
        "compared": { "quantity": study.metric.key(), "metric": study.metric.column(), "unit": study.metric.unit_name(), "margin": study.margin },
        "environments": facts(study, &study.environments),
        "overall": overall,
        "rows": document.rows().map(|(row, section)| row_value(study, row, section)).collect::<Vec<_>>(),
        "curves": curves,
        "findings": findings,
        "left_out": left_out,
        "ended_badly": study.ended_badly,
        "notes": study.notes,
    });
    let text = serde_json::to_string_pretty(&whole).expect("the value was made of JSON");
    crate::json_without_commands(&text)
}

/// The first sentences of every form.
fn answer(study: &Study, answer: &Conclusion) -> Value {
    let said: Vec<String> = answer
        .said
        .iter()
        .map(|said| said_text(study, said))
        .collect();
    json!({
        "question": answer.question, "said": said, "belief": answer.belief.text,
        "gravest": answer.belief.severity.map(|severity| severity.to_string()),
    })
}

/// Whether a text is what [`study_json`] writes.
pub(super) fn is_study_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("fathom_report").is_some())
}

fn points(study: &Study, points: &[(u64, usize)]) -> Vec<Value> {
    points
        .iter()
        .map(|(depth, row)| json!({ "in_flight": depth, "row": study.rows[*row].name }))
        .collect()
}

fn facts(study: &Study, facts: &[Fact]) -> Vec<Value> {
    let by_arm = |fact: &Fact| -> Value {
        study
            .arms
            .iter()
            .zip(&fact.values)
            .map(|(arm, value)| (arm.name.clone(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    facts
        .iter()
        .map(|fact| json!({ "fact": fact.key, "differs": fact.differs, "values": by_arm(fact) }))
        .collect()
}

fn row_value(study: &Study, row: &StudyRow, section: &Section<'_>) -> Value {
    let cells: Vec<Value> = study
        .arms
        .iter()
        .enumerate()
        .map(|(arm, of)| {
            let cell = row.cells[arm].as_ref();
            let levels = cell.map(|_| figures(section.lines(LEVELS, arm)));
            let mut out = json!({
                "arm": of.name,
                "blocks": cell.map_or(0, |cell| cell.blocks),
                "span_ns": cell.and_then(|cell| cell.span).map(|span| span.0),
                "records": cell.map(|cell| &cell.records),
                "figures": levels,
                "loads": cell.map(|cell| loads(cell, &runs(section, arm))),
                "comparison": row.comparisons[arm].as_ref().map(|comparison| comparison_value(study, comparison)),
            });
            // What few studies have stands in those alone.
            for (key, found) in [
                ("hosts", hosts(section, arm)),
                ("thresholds", cell.map(|cell| held(cell, &runs(section, arm))).unwrap_or_default()),
            ] {
                if !found.is_empty() {
                    out[key] = found.into();
                }
            }
            out
        })
        .collect();
    let drift = row.drift.as_ref().map(|d| {
        json!({
            "change_percent": d.change.map(|change| 100.0 * change.exp_m1()), "trend_p": d.trend_p, "runs_p": d.runs_p,
            "position_p": d.position_p, "spread_p": d.spread_p, "predecessor_p": d.predecessor_p,
            "variance_ratio": d.variance_ratio, "variance_p": d.variance_p,
        })
    });
    json!({ "name": row.name, "operations": row.operations, "workload": facts(study, &row.workload), "cells": cells, "drift": drift })
}

fn figures<'l>(lines: impl Iterator<Item = &'l TableLine<'l>>) -> Vec<Value> {
    lines
        .flat_map(|line| &line.cells)
        .filter_map(figure)
        .collect()
}

fn figure(value: &CellValue<'_>) -> Option<Value> {
    let CellValue::Figure(figure) = value else {
        return None;
    };
    let metric = &figure.metric;
    Some(json!({
        "operation": figure.kind, "quantity": metric.key(), "metric": metric.column(), "unit": metric.unit_name(), "value": figure.point,
        "estimate": figure.interval().map(estimate), "range": figure.range().map(range), "note": figure.note,
        "by_block": figure.values.iter().map(|(block, value)| json!([block, value])).collect::<Vec<_>>(),
    }))
}

/// What each host did, of records of several.
fn hosts(section: &Section<'_>, arm: usize) -> Vec<Value> {
    let host = |line: &TableLine<'_>| {
        let name = line.texts().next().unwrap_or_default().to_owned();
        let figures: Vec<Value> = line.cells.iter().filter_map(figure).collect();
        json!({ "host": name, "figures": figures })
    };
    section.lines(HOSTS, arm).map(host).collect()
}

/// What single runs say, each by its place in the cell.
fn runs<'l>(section: &'l Section<'_>, arm: usize) -> Vec<(usize, &'l CellValue<'l>)> {
    let lines = section.lines(RUNS, arm);
    let of = |line: &'l TableLine<'l>| {
        let Some(Label::Run { at, .. }) = line.labels.last() else {
            return None;
        };
        Some((*at, line.cells.first()?))
    };
    lines.filter_map(of).collect()
}

/// What only loads have, a list for each record of the cell that is one.
fn loads(cell: &Cell, runs: &[(usize, &CellValue<'_>)]) -> Vec<Value> {
    let of = |(at, index): (usize, &usize)| {
        let said = runs.iter().filter(|(run, _)| *run == at);
        let found = said.filter_map(|(_, value)| {
            let CellValue::OfRun(figure, value) = value else {
                return None;
            };
            let quantity = &figure.metric;
            Some(json!({ "operation": figure.kind, "quantity": quantity.key(), "metric": quantity.column(), "unit": quantity.unit_name(), "value": value }))
        });
        let found: Vec<Value> = found.collect();
        (!found.is_empty()).then(
            || json!({ "record": index, "readings": found, "thresholds": thresholds(at, runs) }),
        )
    };
    cell.records.iter().enumerate().filter_map(of).collect()
}

/// The thresholds of runs that are no loads.
fn held(cell: &Cell, runs: &[(usize, &CellValue<'_>)]) -> Vec<Value> {
    let of = |(at, index): (usize, &usize)| {
        let held = thresholds(at, runs);
        (!held.is_empty() && !cell.details[at].is_load)
            .then(|| json!({ "record": index, "thresholds": held }))
    };
    cell.records.iter().enumerate().filter_map(of).collect()
}

fn thresholds<'l>(at: usize, runs: &[(usize, &'l CellValue<'_>)]) -> Vec<&'l ThresholdResult> {
    let of_run = runs.iter().filter(|(run, _)| *run == at);
    let held = of_run.filter_map(|(_, value)| {
        let CellValue::Held(result) = value else {
            return None;
        };
        Some(*result)
    });
    held.collect()
}

fn estimate(estimate: &Estimate) -> Value {
    json!({
        "point": estimate.point, "low": estimate.low, "high": estimate.high, "level": estimate.level, "n": estimate.n,
        "method": level_method(estimate.method),
    })
}

fn range(range: &Range) -> Value {
    json!({ "low": range.low, "high": range.high, "n": range.n, "why": why_range(range.why), "p": range.p })
}

fn comparison_value(study: &Study, comparison: &RowComparison) -> Value {
    let percent = |log: f64| 100.0 * log.exp_m1();
    let effect = comparison.effect.as_ref().map(|effect| {
        json!({ "percent": percent(effect.point), "low": percent(effect.low), "high": percent(effect.high), "level": effect.level, "n": effect.n })
    });
    json!({
        "effect": effect, "pairs": comparison.blocks, "verdict": sentence(comparison, &study.metric, study.margin),
        "quantity": study.metric.key(), "judged": verdict_fields(comparison, &study.metric, study.margin),
    })
}
