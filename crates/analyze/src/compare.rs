//! A verdict between a base and a candidate, from records alone.
//!
//! Records are paired by the blocks of their experiment. Where they come from none, they must at least not have run one arm after the other:
//! then time and arm cannot be separated, and there is no verdict. Differences are logarithms of ratios (trust is about ratios, and drift
//! multiplies); estimate, interval and verdict are those of crate `stats`.

mod differences;
mod metric;

pub use differences::{Disagreement, environment_differences, workload_differences};
pub use metric::Metric;

use record::{Record, Status, Stopping};
use stats::{Better, Estimate, Reason, Thresholds, Verdict, aliased_with_order, effect, fisher_exact, judge};
use std::collections::{BTreeMap, BTreeSet};

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub metric: Metric,
    /// Differences below this ratio do not matter, 0.05 for 5 %.
    pub margin: f64,
    /// Options that are meant to differ between the two sides.
    pub factors: BTreeSet<String>,
}

/// One row (one workload) compared.
#[derive(Clone, Debug, PartialEq)]
pub struct RowComparison {
    pub row: String,
    /// Complete blocks.
    pub blocks: usize,
    /// Medians of the metric over blocks.
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    /// Effect as the logarithm of candidate / base.
    pub effect: Option<Estimate>,
    pub verdict: Verdict,
    /// The logarithms of candidate / base, block by block.
    pub differences: Vec<f64>,
}

/// Base and candidate over all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub question: Question,
    pub rows: Vec<RowComparison>,
    pub environment: Vec<Disagreement>,
    pub workload: Vec<Disagreement>,
    /// Records that were left out, and why.
    pub left_out: Vec<String>,
}

/// Compares two sets of records.
#[must_use]
pub fn compare(base: &[Record], candidate: &[Record], question: &Question) -> Comparison {
    let mut left_out = Vec::new();
    let sides = [usable(base, "base", &mut left_out), usable(candidate, "candidate", &mut left_out)];
    let environment = environment_differences(&sides[0], &sides[1]);
    let workload = workload_differences(&sides[0], &sides[1]);
    let undeclared: Vec<&str> = workload.iter().map(|d| d.key.as_str()).filter(|key| !question.factors.contains(*key)).collect();
    let invalid = (!undeclared.is_empty())
        .then(|| {
            Reason::Audit(format!(
                "different workloads: {}; declare them with --factor if they are what is compared",
                undeclared.join(", ")
            ))
        })
        .or_else(|| foreign_host(&environment))
        .or_else(|| unequal_failures(base, candidate));
    let names: BTreeSet<&str> = sides.iter().flatten().map(|record| row_of(record)).collect();
    let rows = names.into_iter().map(|row| row_comparison(row, &sides, question, invalid.clone())).collect();
    Comparison { question: question.clone(), rows, environment, workload, left_out }
}

fn row_of(record: &Record) -> &str {
    record.trial.as_ref().map_or(record.name.as_str(), |trial| trial.row.as_str())
}

fn usable<'a>(records: &'a [Record], side: &str, left_out: &mut Vec<String>) -> Vec<&'a Record> {
    let mut out = Vec::new();
    for record in records {
        if record.outcome.status == Status::Ok {
            out.push(record);
        } else {
            let why = record.outcome.message.as_deref().unwrap_or("it did not end well");
            left_out.push(format!("{side} {} ({}): {why}", record.name, record.started_at));
        }
    }
    out
}

/// Hosts that differ explain any difference.
fn foreign_host(environment: &[Disagreement]) -> Option<Reason> {
    let telling = ["system.machine_fingerprint", "system.hostname", "cpu.model", "storage.device.model", "storage.file_system.kind"];
    let found: Vec<&str> = environment.iter().map(|d| d.key.as_str()).filter(|key| telling.contains(key)).collect();
    (!found.is_empty()).then(|| Reason::Audit(format!("the environments differ ({}), so the cause is unknown", found.join(", "))))
}

fn unequal_failures(base: &[Record], candidate: &[Record]) -> Option<Reason> {
    let count = |records: &[Record]| {
        let failed = records.iter().filter(|record| record.outcome.status != Status::Ok).count() as u64;
        [failed, records.len() as u64 - failed]
    };
    let p = fisher_exact([count(base), count(candidate)]);
    (p < stats::UNEQUAL_ALPHA).then_some(Reason::UnequalFailures { p })
}

fn row_comparison(row: &str, sides: &[Vec<&Record>; 2], question: &Question, invalid: Option<Reason>) -> RowComparison {
    let of = |side: usize| -> Vec<&Record> { sides[side].iter().copied().filter(|record| row_of(record) == row).collect() };
    let (base, candidate) = (of(0), of(1));
    let pairs = pairs(&base, &candidate);
    let values: Vec<(f64, f64)> = pairs
        .iter()
        .filter_map(|(a, b)| Some((question.metric.of(a)?, question.metric.of(b)?)))
        .filter(|(a, b)| a.is_finite() && b.is_finite() && *a > 0.0 && *b > 0.0)
        .collect();
    let differences: Vec<f64> = values.iter().map(|(a, b)| (b / a).ln()).collect();
    let level = level(&base, differences.len());
    let effect = effect(&differences, level);
    let reason = invalid
        .or_else(|| aliased(&base, &candidate))
        .or_else(|| (differences.len() < stats::FEWEST_BLOCKS).then_some(Reason::TooFewBlocks { n: differences.len() }));
    let better = if question.metric.higher_is_better() { Better::Higher } else { Better::Lower };
    let median =
        |side: fn(&(f64, f64)) -> f64| (!values.is_empty()).then(|| stats::sample::median(&values.iter().map(side).collect::<Vec<_>>()));
    RowComparison {
        row: row.to_owned(),
        blocks: differences.len(),
        base: median(|v| v.0),
        candidate: median(|v| v.1),
        verdict: judge(effect.as_ref(), reason, question.margin, better),
        effect,
        differences,
    }
}

/// Level of the interval: that of the look, where the experiment was stopped by looking; 95 % where its length was fixed.
fn level(base: &[&Record], blocks: usize) -> f64 {
    let sequential = base.iter().any(|record| record.trial.as_ref().is_some_and(|trial| trial.stopping == Stopping::Open));
    let threshold = if sequential { Thresholds::open().at(blocks, 1) } else { None };
    1.0 - threshold.unwrap_or(0.05)
}

/// Records of one block belong together; without an experiment, neighbours in time do.
fn pairs<'a>(base: &[&'a Record], candidate: &[&'a Record]) -> Vec<(&'a Record, &'a Record)> {
    let block = |record: &Record| record.trial.as_ref().map(|trial| (trial.plan.clone(), trial.block));
    if base.iter().chain(candidate).all(|record| record.trial.is_some()) {
        let by_block: BTreeMap<_, &Record> = candidate.iter().map(|record| (block(record), *record)).collect();
        return base.iter().filter_map(|a| by_block.get(&block(a)).map(|b| (*a, *b))).collect();
    }
    let in_time = |records: &[&'a Record]| {
        let mut sorted = records.to_vec();
        sorted.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        sorted
    };
    in_time(base).into_iter().zip(in_time(candidate)).collect()
}

fn aliased(base: &[&Record], candidate: &[&Record]) -> Option<Reason> {
    let mut in_time: Vec<(&str, usize)> = Vec::new();
    for (arm, records) in [base, candidate].into_iter().enumerate() {
        in_time.extend(records.iter().map(|record| (record.started_at.as_str(), arm)));
    }
    in_time.sort_unstable();
    let arms: Vec<usize> = in_time.into_iter().map(|(_, arm)| arm).collect();
    aliased_with_order(&arms).map(|_| Reason::OrderAliasedWithArm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations, SCHEMA, Trial};

    fn trial(arm: &str, block: u32, slot: u32, per_second: u64) -> Record {
        let mut operations = Measurements::default();
        operations.insert("read", Operations { count: per_second, bytes: per_second * 4096, ..Operations::default() });
        Record {
            schema: SCHEMA,
            name: "row".into(),
            started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 60, slot % 60),
            elapsed_ns: 1_000_000_000,
            operations,
            trial: Some(Trial { plan: "fixed/1".into(), arm: arm.into(), row: "row".into(), block, slot, ..Trial::default() }),
            ..Record::default()
        }
    }

    /// Interleaved blocks with a candidate that is faster by `ratio`; levels wander.
    fn experiment(blocks: u32, ratio: f64) -> (Vec<Record>, Vec<Record>) {
        let level = |block: u32| 10_000.0 * (1.0 + f64::from(block % 5) / 10.0);
        let noise = |block: u32| 1.0 + (f64::from(block * 7 % 11) - 5.0) / 1000.0;
        let whole = units::lossless::f64_to_u64_saturating;
        let swap = |block: u32| u32::from(block % 3 == 1);
        let base = (0..blocks).map(|b| trial("base", b, 2 * b + swap(b), whole(level(b)))).collect();
        let candidate = (0..blocks).map(|b| trial("candidate", b, 2 * b + 1 - swap(b), whole(level(b) * ratio * noise(b)))).collect();
        (base, candidate)
    }

    fn question() -> Question {
        Question { metric: Metric::OperationsPerSecond, margin: 0.05, factors: BTreeSet::new() }
    }

    #[test]
    fn a_tenth_more_throughput_is_faster_and_none_is_equivalent() {
        let (base, candidate) = experiment(10, 1.1);
        let found = compare(&base, &candidate, &question());
        assert_eq!(found.rows[0].verdict, Verdict::Faster { by_margin: true });
        let (base, candidate) = experiment(10, 1.0);
        assert!(matches!(compare(&base, &candidate, &question()).rows[0].verdict, Verdict::Equivalent { .. }));
    }

    #[test]
    fn one_arm_after_the_other_is_refused() {
        let (base, mut candidate) = experiment(10, 1.1);
        for record in &mut candidate {
            record.started_at = record.started_at.replace("T00", "T05");
            record.trial = None;
        }
        assert_eq!(compare(&base, &candidate, &question()).rows[0].verdict, Verdict::Invalid(Reason::OrderAliasedWithArm));
    }

    #[test]
    fn too_few_blocks_and_failed_records_give_no_verdict() {
        let (base, mut candidate) = experiment(6, 1.1);
        candidate[0].outcome.status = Status::Failed;
        let found = compare(&base, &candidate, &question());
        assert_eq!(found.rows[0].verdict, Verdict::Invalid(Reason::TooFewBlocks { n: 5 }));
        assert_eq!(found.left_out.len(), 1);
    }

    #[test]
    fn workloads_that_differ_must_be_declared() {
        let (mut base, candidate) = experiment(10, 1.1);
        base.iter_mut().for_each(|record| {
            record.effective.insert("queue-depth".into(), "1".into());
        });
        let found = compare(&base, &candidate, &question());
        assert!(
            matches!(&found.rows[0].verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("queue-depth")),
            "{:?}",
            found.rows
        );
        let declared = Question { factors: ["queue-depth".to_owned()].into(), ..question() };
        assert_eq!(compare(&base, &candidate, &declared).rows[0].verdict, Verdict::Faster { by_margin: true });
    }

    #[test]
    fn another_machine_is_no_comparison() {
        let (base, mut candidate) = experiment(10, 1.1);
        candidate.iter_mut().for_each(|record| record.environment.system.hostname = Some("other".into()));
        assert!(
            matches!(&compare(&base, &candidate, &question()).rows[0].verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("hostname"))
        );
    }
}
