//! Records joined into one study, over whole experiments.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "study/synthetic.rs"]
mod synthetic;

use analyze::{StudyOptions, study};
use record::{Measurements, Quantity, Record, Status, TargetFact};
use stats::{Reason, Verdict};
use std::collections::BTreeMap;
use synthetic::{Shape, experiment};

const SMALL: Shape = Shape {
    arms: 2,
    rows: 2,
    blocks: 10,
    with_latency: true,
};

fn options() -> StudyOptions {
    StudyOptions::default()
}

#[test]
fn ten_thousand_slots_are_one_study() {
    let records = experiment(
        Shape {
            arms: 8,
            rows: 20,
            blocks: 63,
            with_latency: false,
        },
        1.1,
    );
    let found = study(&records, &options());
    assert_eq!(
        (
            found.records,
            found.arms.len(),
            found.rows.len(),
            found.left_out.len()
        ),
        (10_080, 8, 20, 0)
    );
    assert!(
        found
            .rows
            .iter()
            .all(|row| row.cells.iter().flatten().all(|cell| cell.blocks == 63))
    );
    let counted: usize = found.arms.iter().map(|arm| arm.records.len()).sum();
    assert_eq!(counted, 10_080, "a record counts once");
}

#[test]
fn a_tenth_more_is_found_and_equal_arms_are_not_told_apart() {
    let found = study(
        &experiment(
            Shape {
                arms: 3,
                blocks: 24,
                ..SMALL
            },
            1.1,
        ),
        &options(),
    );
    assert_eq!(
        found.baseline.map(|arm| found.arms[arm].name.as_str()),
        Some("arm 0")
    );
    for row in &found.rows {
        let verdict = |name: &str| {
            let arm = found.arms.iter().position(|arm| arm.name == name).unwrap();
            row.comparisons[arm]
                .as_ref()
                .map(|comparison| comparison.verdict.clone())
        };
        assert_eq!(verdict("arm 0"), None);
        assert!(
            matches!(verdict("arm 1"), Some(Verdict::Equivalent { .. })),
            "{:?}",
            verdict("arm 1")
        );
        assert_eq!(verdict("arm 2"), Some(Verdict::Faster { by_margin: true }));
    }
    assert_eq!(
        found
            .overall
            .iter()
            .filter(|verdict| verdict.is_some())
            .count(),
        2,
        "arms of one experiment are judged over all rows too"
    );
}

#[test]
fn the_interval_of_a_level_holds_the_truth() {
    let found = study(&experiment(SMALL, 1.0), &options());
    for cell in found.rows.iter().flat_map(|row| row.cells.iter().flatten()) {
        let rate = cell.figure("read", &Quantity::named("iops")).unwrap();
        let estimate = rate.interval().unwrap();
        assert!(
            estimate.contains(20_000.0) && estimate.half_width() < 400.0,
            "{estimate:?}"
        );
        assert_eq!(
            rate.values
                .iter()
                .map(|(block, _)| *block)
                .collect::<Vec<_>>(),
            (0..10).collect::<Vec<u32>>()
        );
    }
}

#[test]
fn the_order_of_the_records_does_not_move_a_number() {
    let records = experiment(SMALL, 1.1);
    let forward = study(&records, &options());
    let mut turned = records;
    turned.reverse();
    let backward = study(&turned, &options());
    let by_name = |study: &analyze::Study| -> BTreeMap<(String, String), Vec<analyze::Figure>> {
        let cells = study.rows.iter().flat_map(|row| {
            row.cells
                .iter()
                .zip(&study.arms)
                .map(move |(cell, arm)| (row, cell, arm))
        });
        cells
            .map(|(row, cell, arm)| {
                (
                    (row.name.clone(), arm.name.clone()),
                    cell.as_ref().unwrap().figures.clone(),
                )
            })
            .collect()
    };
    assert_eq!(by_name(&forward), by_name(&backward));
    assert_eq!(by_name(&forward).len(), 4);
}

#[test]
fn depths_of_one_work_are_a_curve() {
    let found = study(&experiment(Shape { rows: 5, ..SMALL }, 1.0), &options());
    assert_eq!(found.curves.len(), 2, "one an arm");
    assert_eq!(
        (
            found.curves[0].name.as_str(),
            found.curves[0].points.as_slice()
        ),
        ("row", [(1, 0), (2, 1), (4, 2), (8, 3), (16, 4)].as_slice())
    );
    let few = study(&experiment(SMALL, 1.0), &options());
    assert_eq!(few.curves, [], "two depths are no curve");
}

#[test]
fn failed_slots_are_named_and_a_record_counts_once() {
    let mut records = experiment(SMALL, 1.0);
    records[5].outcome.status = Status::Failed;
    records[5].outcome.message = Some("EIO".into());
    records.push(records[0].clone());
    let found = study(&records, &options());
    let reasons: Vec<(usize, &str)> = found
        .left_out
        .iter()
        .map(|left| (left.record, left.reason.as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            (5, "it did not end well: EIO"),
            (records.len() - 1, "it is record 1 a second time")
        ]
    );
    let counted: usize = found.arms.iter().map(|arm| arm.records.len()).sum();
    assert_eq!(counted, records.len() - 2);
}

#[test]
fn a_run_that_ended_badly_is_shown_if_it_is_all_that_there_is_and_counts_beside_nothing() {
    let mut records = experiment(SMALL, 1.0);
    records.truncate(2);
    let [stopped, sound] = records.as_mut_slice() else {
        panic!("an experiment has two slots");
    };
    stopped.outcome.status = Status::Interrupted;
    stopped.outcome.message = Some("stopped by signal 2".into());
    let slot = stopped.clone();
    (stopped.trial, sound.trial) = (None, None);

    let alone = study(std::slice::from_ref(stopped), &options());
    let told = alone.ended_badly.as_deref();
    assert_eq!(told, Some("it did not end well: stopped by signal 2"));
    assert_eq!((alone.rows.len(), alone.left_out.len()), (1, 0));
    assert_eq!(alone.arms[0].records, [0]);

    let beside = study(&[stopped.clone(), sound.clone()], &options());
    assert_eq!(beside.ended_badly, None);
    assert_eq!(beside.left_out.len(), 1);
    // A slot of an experiment is no run of its own, and what measured nothing shows nothing.
    let nothing = Record {
        outcome: stopped.outcome.clone(),
        ..Record::default()
    };
    for only in [slot, nothing] {
        let found = study(&[only], &options());
        let seen = (
            found.ended_badly.as_ref(),
            found.rows.len(),
            found.left_out.len(),
        );
        assert_eq!(seen, (None, 0, 1));
    }
}

#[test]
fn a_machine_that_slows_down_is_seen_and_a_steady_one_is_not() {
    let shape = Shape {
        rows: 1,
        blocks: 20,
        ..SMALL
    };
    let drift = |records: &[Record]| study(records, &options()).rows[0].drift.unwrap();
    assert!(drift(&experiment(shape, 1.0)).trend_p.unwrap() > 0.01);
    let mut slowing = experiment(shape, 1.0);
    for record in &mut slowing {
        record.elapsed_ns += u64::from(record.trial.as_ref().unwrap().block) * 20_000_000;
    }
    let found = drift(&slowing);
    assert!(
        found.trend_p.unwrap() < 0.001 && found.change.unwrap() < -0.2,
        "{found:?}"
    );
    let alone: Vec<Record> = slowing
        .into_iter()
        .filter(|record| record.trial.as_ref().unwrap().arm == "arm 0")
        .collect();
    assert!(
        drift(&alone).trend_p.unwrap() < 0.001,
        "one arm drifts as well"
    );
}

/// What an experiment compares may be its targets alone, which no option of a workload says: a
/// report may not take the verdict that the comparison gave for what they answer with.
#[test]
fn targets_that_are_compared_may_answer_with_other_sizes() {
    let mut records = experiment(SMALL, 1.3);
    for record in &mut records {
        let trial = record.trial.clone().unwrap();
        record.targets = vec![TargetFact {
            path: format!("http://127.0.0.1/{}", trial.arm),
            ..TargetFact::default()
        }];
        record.effective.remove("block-size");
        let mut reads = record.operations.kind("read").cloned().unwrap();
        reads.bytes *= if trial.arm == "arm 1" { 2 } else { 1 };
        record.operations = Measurements::default();
        record.operations.insert("read", reads);
    }
    let found = study(&records, &options());
    let verdicts = found
        .rows
        .iter()
        .flat_map(|row| row.comparisons.iter().flatten());
    for found in verdicts {
        let is_accused = matches!(&found.verdict, Verdict::Invalid(Reason::Audit(_)));
        assert!(!is_accused, "{:?}", found.verdict);
    }
}

#[test]
fn nothing_is_a_study_of_nothing() {
    let found = study(&[], &options());
    assert_eq!(
        (found.arms.len(), found.rows.len(), found.baseline),
        (0, 0, None)
    );
    let empty = study(&[Record::default()], &options());
    assert_eq!((empty.rows.len(), empty.left_out.len()), (0, 1));
}
