//! A verdict between a base and a candidate, from records alone.
//!
//! Records are paired by the blocks of their experiment, complete attempts only. Where they come
//! from none, nobody drew their order and there is no verdict: the error of every test rests on
//! that draw. Differences are logarithms of ratios (trust is about ratios, and drift multiplies);
//! estimate, interval and verdict are those of crate `stats`. An experiment that stops when it
//! knows is judged by the blocks of its last permitted look and by no later ones.

mod accused;
mod alike;
mod arms;
mod cast;
mod differences;
mod ending;
mod judged;
mod limits;
mod lost;
mod pairs;
mod standing;
mod stated_units;
mod subject;
mod unplaced;
mod windows;

pub use alike::same_arms;
pub(crate) use arms::compare_arms_audited;
pub use arms::{ArmComparison, ArmsComparison, compare_arms};
pub use cast::{ControlCheck, NoExperiment};
pub(crate) use differences::RANKS;
use differences::foreign_host;
pub use differences::{
    Disagreement, environment_differences, factors_between, workload_differences,
};
pub use limits::{HeldThreshold, hold_against};
pub(crate) use pairs::logarithm;
pub use standing::{ArmStanding, Standing};
pub(crate) use subject::is_storage_compared;

use crate::Located;
use ending::{Allowed, PermittedLooks};
use judged::{Judgement, judged};
use pairs::{Block, matched, row_of};
use record::{Quantity, Record, Status};
use stated_units::unlike_units;
use stats::{Estimate, Reason, Verdict, aliased_with_order, fisher_exact};
use std::collections::BTreeSet;
use units::few;
use unplaced::nothing_usable;

/// So many of several options are named.
const MOST_NAMED: usize = 6;

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub metric: Quantity,
    /// Differences below this ratio do not matter, 0.05 for 5 %.
    pub margin: f64,
    /// Options that are meant to differ between the two sides.
    pub factors: BTreeSet<String>,
}

/// One row (one workload) compared.
#[derive(Clone, Debug, PartialEq)]
pub struct RowComparison {
    pub row: String,
    /// Complete blocks that are judged.
    pub blocks: usize,
    /// Complete blocks after the last permitted look, which are not.
    pub unused_blocks: usize,
    /// Medians of the metric over blocks.
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    /// Effect as the logarithm of candidate / base.
    pub effect: Option<Estimate>,
    pub verdict: Verdict,
    /// The logarithms of candidate / base, block by block, without what the place in the block
    /// does.
    pub differences: Vec<f64>,
    /// What the second slot of a block gained whatever arm ran there, as a logarithm; `None` where
    /// it cannot be told from nothing.
    pub place: Option<f64>,
    /// What the verdict would be without outlying blocks; `None` where no block stands out.
    pub sensitivity: Option<Sensitivity>,
    /// Where a fixed number of blocks was planned and fewer are complete: it is then judged as
    /// what may stop at a look.
    pub interrupted: Option<Interrupted>,
}

/// A fixed plan that was not carried out whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Complete blocks of each row.
    pub complete: usize,
    pub planned: u32,
}

/// A comparison without the blocks that stand out. It shows what hangs on them; the verdict uses
/// all.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Indices of the outlying blocks among the differences.
    pub outlying: Vec<usize>,
    pub effect: Option<Estimate>,
    pub verdict: Verdict,
}

/// Base and candidate over all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub question: Question,
    pub rows: Vec<RowComparison>,
    /// Rows that only one side has, which nothing is compared with.
    pub lone_rows: Vec<LoneRow>,
    /// What comes with the targets or engines that are compared.
    pub with_subject: Vec<Disagreement>,
    /// What differs beside that.
    pub environment: Vec<Disagreement>,
    pub workload: Vec<Disagreement>,
    /// Records that were left out, and why.
    pub left_out: Vec<String>,
}

/// A row of one side alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoneRow {
    pub row: String,
    /// Whether the base has it, else the candidate.
    pub is_of_base: bool,
}

/// Compares two sets of records.
#[must_use]
pub fn compare(base: &[Record], candidate: &[Record], question: &Question) -> Comparison {
    let sides = [base.iter().collect::<Vec<_>>(), candidate.iter().collect()];
    let question = &question.in_units_of(base.iter().chain(candidate));
    let ground = Ground::of(&sides, ["base", "candidate"], question);
    let [of_base, of_candidate] = sides.each_ref().map(|side| {
        side.iter()
            .map(|record| row_of(record))
            .collect::<BTreeSet<&str>>()
    });
    let usable = ground.usable.iter().flatten().map(|record| row_of(record));
    let names: BTreeSet<&str> = usable
        .filter(|row| of_base.contains(row) && of_candidate.contains(row))
        .collect();
    let aside = set_aside(names.iter().copied(), &sides.concat(), &question.metric);
    let lone_rows = of_base
        .symmetric_difference(&of_candidate)
        .map(|row| LoneRow {
            row: (*row).to_owned(),
            is_of_base: of_base.contains(row),
        })
        .collect();
    let row = |name: &str| {
        let [base, candidate] = ground.usable.each_ref().map(|side| of_row(side, name));
        // Failed ones say where an attempt at a block ended.
        if !is_drawn_by_lot(&base) || !is_drawn_by_lot(&candidate) {
            return windows::undrawn(name, [&base, &candidate], ground.invalid.clone(), question);
        }
        let blocks = matched(&sides, name);
        let allowed = Allowed::of_one(
            blocks.len(),
            &PermittedLooks::of(base.iter().chain(&candidate).copied(), blocks.len()),
        );
        let invalid = ground
            .invalid
            .clone()
            .or_else(|| aliased(&[&base, &candidate]))
            .or_else(|| unpaired(&base, &candidate, &blocks));
        judged(
            name,
            &blocks[..allowed.blocks],
            &allowed.judgement(blocks.len(), invalid),
            question,
        )
    };
    let rows = names
        .into_iter()
        .filter(|name| !aside.contains(name))
        .map(row)
        .collect();
    let mut left_out = ground.left_out;
    left_out.extend(aside.iter().map(|row| said_of_aside(row, &question.metric)));
    Comparison {
        question: question.clone(),
        rows,
        lone_rows,
        with_subject: ground.with_subject,
        environment: ground.environment,
        workload: ground.workload,
        left_out,
    }
}

/// The rows of which no record has the kind of operation that the question is about: they were
/// measured for another one. Where no row has it, none is set aside, so that each says what is
/// missing.
fn set_aside<'a>(
    rows: impl Iterator<Item = &'a str>,
    records: &[&Record],
    metric: &Quantity,
) -> BTreeSet<&'a str> {
    let lacks = |row: &&str| {
        !records
            .iter()
            .any(|record| row_of(record) == *row && metric.concerns(record))
    };
    let all: Vec<&str> = rows.collect();
    let lacking: BTreeSet<&str> = all.iter().copied().filter(lacks).collect();
    if lacking.len() == all.len() {
        BTreeSet::new()
    } else {
        lacking
    }
}

fn said_of_aside(row: &str, metric: &Quantity) -> String {
    format!(
        "row {row}: it has no operations of the kind {}",
        metric.kind().unwrap_or_default()
    )
}

/// As [`compare`], and what the audit of the records says: a severe finding leaves no verdict.
#[must_use]
pub fn compare_audited(
    base: &[Record],
    candidate: &[Record],
    question: &Question,
) -> (Comparison, Vec<Located>) {
    let mut found = compare(base, candidate, question);
    let records: Vec<Record> = base.iter().chain(candidate).cloned().collect();
    let findings = accused::findings(crate::audit(&records), question);
    for row in &mut found.rows {
        let counts = |index: usize| {
            records[index].outcome.status == Status::Ok && row_of(&records[index]) == row.row
        };
        if let Some(reason) = accused::accused(&findings, counts) {
            accused::bar(row, reason);
        }
    }
    (found, findings)
}

/// What is true of two sides whatever their rows.
struct Ground<'a> {
    usable: [Vec<&'a Record>; 2],
    with_subject: Vec<Disagreement>,
    environment: Vec<Disagreement>,
    workload: Vec<Disagreement>,
    left_out: Vec<String>,
    invalid: Option<Reason>,
}

impl<'a> Ground<'a> {
    fn of(sides: &[Vec<&'a Record>; 2], names: [&str; 2], question: &Question) -> Self {
        let mut left_out = Vec::new();
        let usable = [0, 1].map(|side| usable(&sides[side], names[side], &mut left_out));
        if let Some(invalid) = nothing_usable(sides, &usable, names) {
            // What is known of one side differs from the nothing that is known of the other, and of
            // a side without a good slot the reason says everything.
            left_out.clear();
            return Self {
                usable,
                with_subject: Vec::new(),
                environment: Vec::new(),
                workload: Vec::new(),
                left_out,
                invalid: Some(invalid),
            };
        }
        let found = environment_differences(&usable[0], &usable[1]);
        let [with_subject, environment] = subject::divided(found, &usable, &question.factors);
        let workload = workload_differences(&usable[0], &usable[1]);
        let undeclared: Vec<&str> = workload
            .iter()
            .map(|d| d.key.as_str())
            .filter(|key| !question.factors.contains(*key))
            .collect();
        let invalid = (!undeclared.is_empty())
            .then(|| {
                Reason::Audit(format!(
                    "different workloads: {}; declare them with --factor if they are what is compared",
                    few(&undeclared, MOST_NAMED)
                ))
            })
            .or_else(|| unlike_units(&question.metric, usable.iter().flatten().copied()))
            .or_else(|| foreign_host(&environment))
            .or_else(|| unequal_failures(&sides[0], &sides[1]));
        Self {
            usable,
            with_subject,
            environment,
            workload,
            left_out,
            invalid,
        }
    }
}

fn of_row<'a>(records: &[&'a Record], row: &str) -> Vec<&'a Record> {
    records
        .iter()
        .copied()
        .filter(|record| row_of(record) == row)
        .collect()
}

fn usable<'a>(records: &[&'a Record], side: &str, left_out: &mut Vec<String>) -> Vec<&'a Record> {
    let mut out = Vec::new();
    for record in records {
        if record.outcome.status == Status::Ok {
            out.push(*record);
        } else {
            let why = record
                .outcome
                .message
                .as_deref()
                .unwrap_or("it did not end well");
            left_out.push(format!(
                "{side} {} ({}): {why}",
                record.name, record.started_at
            ));
        }
    }
    out
}

fn unequal_failures(base: &[&Record], candidate: &[&Record]) -> Option<Reason> {
    let count = |records: &[&Record]| {
        let failed = records
            .iter()
            .filter(|record| !record.outcome.status.has_done_all())
            .count() as u64;
        [failed, records.len() as u64 - failed]
    };
    let p = fisher_exact([count(base), count(candidate)]);
    (p < stats::UNEQUAL_ALPHA).then_some(Reason::UnequalFailures { p })
}

/// Whether each record has its place in an experiment: only there the order of the runs was drawn.
fn is_drawn_by_lot(records: &[&Record]) -> bool {
    records.iter().all(|record| record.trial.is_some())
}

/// Blocks that no attempt of any experiment completed have their reason in how the records came
/// about.
fn unpaired(base: &[&Record], candidate: &[&Record], blocks: &[Block<'_>]) -> Option<Reason> {
    let plans = |records: &[&Record]| -> BTreeSet<String> {
        records
            .iter()
            .filter_map(|record| record.trial.as_ref().map(|trial| trial.plan.clone()))
            .collect()
    };
    let (of_base, of_candidate) = (plans(base), plans(candidate));
    let strangers = blocks.is_empty()
        && !of_base.is_empty()
        && !of_candidate.is_empty()
        && of_base.is_disjoint(&of_candidate);
    let list = |plans: &BTreeSet<String>| plans.iter().cloned().collect::<Vec<_>>().join(", ");
    strangers.then(|| {
        Reason::Audit(format!(
            "the sides come from different experiments (plans {} and {}), so no block holds both; measure them in one: fathom compare --run",
            list(&of_base),
            list(&of_candidate)
        ))
    })
}

/// Whether one of the arms ran before another, from all their records.
fn aliased(arms: &[&[&Record]]) -> Option<Reason> {
    let mut in_time: Vec<((&str, u32), usize)> = Vec::new();
    for (arm, records) in arms.iter().enumerate() {
        in_time.extend(records.iter().map(|record| (pairs::moment(record), arm)));
    }
    in_time.sort_unstable();
    let arms: Vec<usize> = in_time.into_iter().map(|(_, arm)| arm).collect();
    aliased_with_order(&arms).map(|_| Reason::OrderAliasedWithArm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations, SCHEMA, Stopping, Trial};
    use stats::Thresholds;

    fn trial(arm: &str, block: u32, slot: u32, per_second: u64) -> Record {
        let mut operations = Measurements::default();
        operations.insert(
            "read",
            Operations {
                count: per_second,
                bytes: per_second * 4096,
                ..Operations::default()
            },
        );
        Record {
            schema: SCHEMA,
            name: "row".into(),
            started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 60, slot % 60),
            elapsed_ns: 1_000_000_000,
            operations,
            trial: Some(Trial {
                plan: "fixed/1".into(),
                arm: arm.into(),
                row: "row".into(),
                block,
                slot,
                lead_in_ns: Some(500_000_000),
                ..Trial::default()
            }),
            ..Record::default()
        }
    }

    /// Interleaved blocks with a candidate that is faster by `ratio`; levels wander.
    fn experiment(blocks: u32, ratio: f64) -> (Vec<Record>, Vec<Record>) {
        let level = |block: u32| 10_000.0 * (1.0 + f64::from(block % 5) / 10.0);
        let noise = |block: u32| 1.0 + (f64::from(block * 7 % 11) - 5.0) / 1000.0;
        let whole = units::lossless::f64_to_u64_saturating;
        let swap = |block: u32| u32::from(block % 3 == 1);
        let base = (0..blocks)
            .map(|b| trial("base", b, 2 * b + swap(b), whole(level(b))))
            .collect();
        let candidate = (0..blocks)
            .map(|b| {
                trial(
                    "candidate",
                    b,
                    2 * b + 1 - swap(b),
                    whole(level(b) * ratio * noise(b)),
                )
            })
            .collect();
        (base, candidate)
    }

    fn question() -> Question {
        Question {
            metric: Quantity::named("iops"),
            margin: 0.05,
            factors: BTreeSet::new(),
        }
    }

    #[test]
    fn a_tenth_more_throughput_is_faster_and_none_is_equivalent() {
        let (base, candidate) = experiment(10, 1.1);
        let found = compare(&base, &candidate, &question());
        assert_eq!(found.rows[0].verdict, Verdict::Faster { by_margin: true });
        let (base, candidate) = experiment(10, 1.0);
        assert!(matches!(
            compare(&base, &candidate, &question()).rows[0].verdict,
            Verdict::Equivalent { .. }
        ));
    }

    #[test]
    fn one_arm_after_the_other_is_refused() {
        let (base, mut candidate) = experiment(10, 1.1);
        for record in &mut candidate {
            record.started_at = record.started_at.replace("T00", "T05");
        }
        assert_eq!(
            compare(&base, &candidate, &question()).rows[0].verdict,
            Verdict::Invalid(Reason::OrderAliasedWithArm)
        );
    }

    #[test]
    fn too_few_blocks_and_failed_records_give_no_verdict() {
        let (base, mut candidate) = experiment(6, 1.1);
        candidate[0].outcome.status = Status::Failed;
        let found = compare(&base, &candidate, &question());
        assert_eq!(
            found.rows[0].verdict,
            Verdict::Invalid(Reason::TooFewBlocks { n: 5 })
        );
        assert_eq!(found.left_out.len(), 1);
    }

    fn open(records: &mut [Record]) {
        for record in records {
            record.trial.as_mut().unwrap().stopping = Stopping::Open;
        }
    }

    #[test]
    fn an_open_experiment_is_judged_by_its_last_permitted_look_alone() {
        let (mut base, mut candidate) = experiment(14, 1.1);
        open(&mut base);
        open(&mut candidate);
        let row = &compare(&base, &candidate, &question()).rows[0];
        assert_eq!(
            (row.blocks, row.unused_blocks, row.differences.len()),
            (12, 2, 12)
        );
        let level = row.effect.as_ref().map(|effect| effect.level);
        assert_eq!(level, Thresholds::open().at(12, 1).map(|p| 1.0 - p));
        assert_eq!(row.verdict, Verdict::Faster { by_margin: true });
    }

    #[test]
    fn before_its_first_look_an_open_experiment_has_no_verdict() {
        let (mut base, mut candidate) = experiment(7, 1.5);
        assert_eq!(
            compare(&base, &candidate, &question()).rows[0].verdict,
            Verdict::Faster { by_margin: true }
        );
        open(&mut base);
        open(&mut candidate);
        let row = &compare(&base, &candidate, &question()).rows[0];
        assert!(
            matches!(&row.verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("first look is after 8")),
            "{row:?}"
        );
        assert_eq!((row.effect.as_ref(), row.unused_blocks), (None, 7));
    }

    #[test]
    fn of_a_repeated_block_only_the_last_complete_attempt_is_paired() {
        let (mut base, mut candidate) = experiment(6, 1.1);
        // A first attempt at block 5 in which the base was ten times as fast and the candidate
        // failed.
        let (mut early, mut failed) = (trial("base", 5, 10, 120_000), trial("candidate", 5, 11, 1));
        failed.outcome.status = Status::Failed;
        for (record, seconds) in [
            (&mut early, 41),
            (&mut failed, 42),
            (base.last_mut().unwrap(), 43),
            (candidate.last_mut().unwrap(), 44),
        ] {
            record.started_at = format!("2026-01-01T00:00:{seconds}.000Z");
        }
        for (record, slot) in [(&mut base, 12), (&mut candidate, 13)] {
            let trial = record.last_mut().unwrap().trial.as_mut();
            trial.unwrap().slot = slot;
        }
        base.insert(0, early);
        candidate.push(failed);
        let row = &compare(&base, &candidate, &question()).rows[0];
        assert_eq!(
            (row.blocks, &row.verdict),
            (6, &Verdict::Faster { by_margin: true })
        );
        // Without its second attempt the block does not count, though each side has a good record
        // of it.
        base.pop();
        let row = &compare(&base, &candidate, &question()).rows[0];
        assert_eq!(row.verdict, Verdict::Invalid(Reason::TooFewBlocks { n: 5 }));
    }

    #[test]
    fn a_block_without_the_metric_is_no_reason_to_leave_it_out() {
        let (base, mut candidate) = experiment(10, 1.1);
        candidate[3].elapsed_ns = 0;
        let found = compare(&base, &candidate, &question());
        assert!(
            matches!(&found.rows[0].verdict, Verdict::Invalid(Reason::Audit(text)) if text.starts_with("1 of 10 blocks have no operations"))
        );
    }

    #[test]
    fn an_outlying_block_stays_in_the_verdict_and_is_shown_beside_it() {
        let (base, mut candidate) = experiment(10, 1.0);
        assert_eq!(
            compare(&base, &candidate, &question()).rows[0].sensitivity,
            None
        );
        candidate[4] = trial("candidate", 4, 9, 100);
        let row = &compare(&base, &candidate, &question()).rows[0];
        let sensitivity = row.sensitivity.as_ref().unwrap();
        assert_eq!(
            (row.differences.len(), sensitivity.outlying.as_slice()),
            (10, [4].as_slice())
        );
        assert!(matches!(sensitivity.verdict, Verdict::Equivalent { .. }));
    }

    #[test]
    fn sides_of_two_experiments_share_no_block() {
        let (base, mut candidate) = experiment(10, 1.1);
        candidate
            .iter_mut()
            .for_each(|record| record.trial.as_mut().unwrap().plan = "another".into());
        let found = compare(&base, &candidate, &question());
        assert!(
            matches!(&found.rows[0].verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("another")),
            "{:?}",
            found.rows
        );
    }

    #[test]
    fn what_the_audit_calls_invalid_has_no_verdict() {
        let (mut base, candidate) = experiment(10, 1.1);
        base[2].operations.insert(
            "read",
            Operations {
                count: 10,
                bytes: 1 << 40,
                ..Operations::default()
            },
        );
        let (found, findings) = compare_audited(&base, &candidate, &question());
        assert!(
            matches!(found.rows[0].verdict, Verdict::Invalid(Reason::Audit(_))),
            "{:?}",
            found.rows[0].verdict
        );
        assert!(!findings.is_empty());
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
        let declared = Question {
            factors: ["queue-depth".to_owned()].into(),
            ..question()
        };
        assert_eq!(
            compare(&base, &candidate, &declared).rows[0].verdict,
            Verdict::Faster { by_margin: true }
        );
    }

    #[test]
    fn two_targets_under_one_plan_are_compared_with_all_that_comes_with_them() {
        let (mut base, mut candidate) = experiment(10, 1.1);
        let place = |records: &mut [Record], path: &str, kind: &str| {
            for record in records {
                record.targets = vec![record::TargetFact {
                    path: path.into(),
                    ..record::TargetFact::default()
                }];
                record.generator_mut().environment.system.boot_id = Some("boot".into());
                let storage = record
                    .generator_mut()
                    .environment
                    .storage
                    .get_or_insert_default();
                storage.file_system.get_or_insert_default().kind = kind.into();
            }
        };
        place(&mut base, "/mnt/a", "ext4");
        place(&mut candidate, "/mnt/b", "xfs");
        let found = compare(&base, &candidate, &question());
        assert_eq!(found.rows[0].verdict, Verdict::Faster { by_margin: true });
        let keys = |of: &[Disagreement]| of.iter().map(|d| d.key.clone()).collect::<Vec<_>>();
        assert_eq!(
            (keys(&found.with_subject), keys(&found.environment)),
            (vec!["storage.file_system.kind".to_owned()], vec![])
        );
        // The same path on another file system is nobody's treatment, and another machine is no
        // target.
        place(&mut candidate, "/mnt/a", "xfs");
        let barred = |candidate: &[Record]| {
            let Verdict::Invalid(Reason::Audit(text)) = compare(&base, candidate, &question()).rows
                [0]
            .verdict
            .clone() else {
                panic!("a verdict")
            };
            text
        };
        assert!(barred(&candidate).contains("storage.file_system.kind"));
        place(&mut candidate, "/mnt/b", "xfs");
        candidate
            .iter_mut()
            .for_each(|record| record.generator_mut().environment.cpu.model = Some("other".into()));
        assert!(barred(&candidate).contains("cpu.model"));
    }

    #[test]
    fn a_row_of_one_side_is_named_and_says_nothing_of_the_others() {
        let (mut base, candidate) = experiment(10, 1.1);
        let mut more = base.clone();
        for record in &mut more {
            record.trial.as_mut().unwrap().row = "extra".into();
            record.effective.insert("queue-depth".into(), "8".into());
        }
        base.append(&mut more);
        let found = compare(&base, &candidate, &question());
        assert_eq!(
            found
                .rows
                .iter()
                .map(|row| row.verdict.clone())
                .collect::<Vec<_>>(),
            [Verdict::Faster { by_margin: true }]
        );
        assert_eq!(
            found.lone_rows,
            [LoneRow {
                row: "extra".into(),
                is_of_base: true
            }]
        );
        assert_eq!(found.workload, []);
    }

    #[test]
    fn a_row_without_the_kind_that_is_asked_for_is_set_aside_and_named() {
        let (mut base, mut candidate) = experiment(10, 1.1);
        for side in [&mut base, &mut candidate] {
            let mut writes: Vec<Record> = side.clone();
            for record in &mut writes {
                record.trial.as_mut().unwrap().row = "writes".into();
                let operations = record.operations.kind("read").cloned().unwrap();
                record.operations = Measurements::default();
                record.operations.insert("write", operations);
            }
            side.append(&mut writes);
        }
        let of = |metric: &str| Question {
            metric: Quantity::parse(metric).unwrap(),
            ..question()
        };
        let found = compare(&base, &candidate, &of("write.rate"));
        assert_eq!(
            found
                .rows
                .iter()
                .map(|row| (row.row.as_str(), row.verdict.clone()))
                .collect::<Vec<_>>(),
            [("writes", Verdict::Faster { by_margin: true })]
        );
        assert_eq!(
            found.left_out,
            ["row row: it has no operations of the kind write"]
        );
        assert_eq!(compare(&base, &candidate, &of("rate")).rows.len(), 2);
        assert_eq!(
            compare(&base, &candidate, &of("stat.rate")).rows.len(),
            2,
            "what nobody has is missing everywhere"
        );
    }

    #[test]
    fn another_machine_is_no_comparison() {
        let (base, mut candidate) = experiment(10, 1.1);
        candidate.iter_mut().for_each(|record| {
            record.generator_mut().environment.system.hostname = Some("other".into())
        });
        assert!(
            matches!(&compare(&base, &candidate, &question()).rows[0].verdict, Verdict::Invalid(Reason::Audit(text)) if text.contains("hostname"))
        );
    }
}
