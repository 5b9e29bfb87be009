use super::*;
use record::{
    HostAccount, Operations, Outcome, PlannedWorkload, Residency, StonewallAccount, Trial,
    WalkAccount, WalkLevels,
};
use std::sync::Arc;
use workload::{Workload, settings};

const GIB: u64 = 1 << 30;

/// Rates by hand, as IO500 orders the phases: GiB a second, and things a second.
const RATES: [u64; 12] = [4, 1000, 1, 2000, 8000, 4, 4000, 1, 8000, 1000, 4000, 2000];

fn planned(phase: &Io500Phase, stonewall: &str) -> PlannedRow {
    let mut workload = Workload::default();
    for (key, text) in phase.options {
        settings::apply(&mut workload, key, text).unwrap();
    }
    if phase.role == Io500Role::Writes {
        settings::apply(&mut workload, "stonewall", stonewall).unwrap();
    }
    let options = settings::shown(&workload).into_iter();
    PlannedRow {
        name: phase.name.into(),
        workloads: vec![PlannedWorkload {
            targets: Vec::new(),
            options: options.map(|(key, text)| (key.to_owned(), text)).collect(),
        }],
    }
}

/// A whole run of ten seconds a phase at [`RATES`].
fn run(stonewall: &str) -> Vec<Record> {
    let line = Arc::new(
        PlanFacts {
            name: IO500_LIKE.into(),
            rows: IO500_PHASES
                .iter()
                .map(|phase| planned(phase, stonewall))
                .collect(),
            ..PlanFacts::default()
        }
        .line(),
    );
    let record = |(phase, rate): (&Io500Phase, u64)| {
        let kind = phase.kind;
        let is_data = phase.mean == Io500Mean::Bandwidth;
        let mut record = Record {
            name: phase.name.into(),
            elapsed_ns: 10_000_000_000,
            hosts: vec![HostAccount::default()],
            trial: Some(Trial {
                plan: line.hash.clone(),
                row: phase.name.into(),
                written_plan: Some(Arc::clone(&line)),
                ..Trial::default()
            }),
            ..Record::default()
        };
        let of_all = 10 * rate;
        record.operations.insert(
            kind,
            Operations {
                count: if is_data { 10 } else { of_all },
                bytes: if is_data { of_all * GIB } else { 0 },
                ..Operations::default()
            },
        );
        if kind == "walk" {
            record.walk = Some(WalkAccount {
                entries: of_all,
                matched: 3,
                levels: None,
            });
        }
        if phase.role == Io500Role::Writes {
            record.stonewall = Some(StonewallAccount {
                wear_out_ns: Some(1),
                ..StonewallAccount::default()
            });
        }
        record
    };
    IO500_PHASES.iter().zip(RATES).map(record).collect()
}

fn only(records: &[Record]) -> Io500Result {
    let mut found = io500(records);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn the_score_is_the_one_that_is_worked_out_by_hand() {
    // 4 * 1 * 4 * 1 = 16, the fourth root of which is 2. In thousands 1, 2, 8, 4, 8, 1, 4 and 2 are
    // 2^0, 2^1, 2^3, 2^2, 2^3, 2^0, 2^2 and 2^1, together 2^12, of which the eighth root is 2^1.5.
    let score = only(&run("300s")).score.unwrap();
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 1e-12;
    assert!(near(score.gib_per_second, 2.0), "{score:?}");
    assert!(near(score.kiops, 8_f64.sqrt()), "{score:?}");
    assert!(near(score.score, (2.0 * 8_f64.sqrt()).sqrt()), "{score:?}");
    let twice: Vec<f64> = vec![2.0; 8];
    assert!(near(geometric_mean(&twice).unwrap(), 2.0));
    assert_eq!(geometric_mean(&[]), None);
}

#[test]
fn a_run_of_full_length_whose_reads_are_not_cached_has_no_bounds() {
    assert_eq!(only(&run("300s")).bounds, [""; 0]);
}

#[test]
fn no_score_leaves_a_phase_out_and_the_answer_says_which() {
    let missing = |records: &[Record]| {
        let result = only(records);
        assert_eq!(result.score, None);
        let missing = result.phases.into_iter().filter_map(|line| {
            let why = line.why_not?;
            Some(format!("{}: {why}", line.phase.name))
        });
        missing.collect::<Vec<_>>()
    };
    let whole = run("300s");
    assert_eq!(
        missing(&whole[..11]),
        ["mdtest-hard-delete: it did not run"]
    );
    let mut failed = whole.clone();
    failed[5].outcome = Outcome {
        status: Status::Failed,
        exit_code: 1,
        message: Some("the disk is full".into()),
    };
    assert_eq!(missing(&failed), ["ior-easy-read: the disk is full"]);
    let mut apart = whole.clone();
    apart[5].group = Some(record::GroupAccount {
        skew_ns: Some(2),
        ..record::GroupAccount::default()
    });
    apart[5].hold_to_start(units::Nanos(1));
    assert_eq!(
        missing(&apart),
        ["ior-easy-read: ranks began 2 ns apart, more than --max-skew 1 ns"]
    );
    let mut empty = whole;
    empty[6].operations = record::Measurements::default();
    assert_eq!(missing(&empty), ["mdtest-easy-stat: it has no number"]);
}

/// What is said of a whole run of full length that was changed.
#[track_caller]
fn with(change: &dyn Fn(&mut Vec<Record>), part: &str) {
    let mut records = run("300s");
    change(&mut records);
    let said = only(&records).bounds.join(" ");
    assert!(said.contains(part), "{part}: {said}");
}

#[test]
fn a_walk_that_looked_at_something_else_than_was_made_is_told() {
    // 30,000 files of two phases; and with 80,000 directories that it read, and one file of data.
    with(
        &|of| of[4].walk.as_mut().unwrap().entries = 29_999,
        "find looked at 29,999 entries, and 30,000 files had been made: ranks saw different",
    );
    with(
        &|of| {
            of[4].walk.as_mut().unwrap().levels = Some(WalkLevels { fewest: 1, most: 2 });
        },
        "Ranks of find saw different directories,",
    );
    with(
        &|of| of[4].walk.as_mut().unwrap().entries = 110_002,
        "find looked at 110,002 entries, and 110,001 at most had been made:",
    );
}

#[test]
fn what_makes_it_less_than_it_looks_is_said() {
    let said = |records: &[Record]| only(records).bounds.join(" ");
    assert!(
        said(&run("2s")).contains("its stonewall is 2 s, and IO500 demands 300 s"),
        "{}",
        said(&run("2s"))
    );
    with(
        &|of| of[1].stonewall = None,
        "all before the stonewall: mdtest-easy-write;",
    );
    with(
        &|of| of[0].stonewall.as_mut().unwrap().cut = 1,
        "before they had written as much as the fastest: ior-easy-write;",
    );
    with(
        &|of| {
            of[7].residency = Some(Residency {
                total_bytes: 200,
                before_bytes: Some(150),
                after_bytes: None,
            });
        },
        "own page cache, 75 % of ior-hard-read:",
    );
    with(
        &|of| {
            let system = &mut of[6].hosts[0].environment.system;
            system.hostname = Some("a".into());
        },
        "by the one machine that had made them",
    );
    with(
        &|of| {
            of[0].group = Some(record::GroupAccount {
                size: 4,
                ..record::GroupAccount::default()
            });
        },
        "find was done by one rank of 4",
    );
    with(
        &|of| of[4].walk.as_mut().unwrap().matched = 0,
        "find found nothing",
    );
    with(
        &|of| {
            let mut line = of[0]
                .trial
                .as_ref()
                .unwrap()
                .written_plan
                .as_deref()
                .cloned()
                .unwrap();
            let options = &mut line.plan.rows[0].workloads[0].options;
            options.insert("block-size".into(), "4096".into());
            let line = Arc::new(line);
            for trial in of.iter_mut().filter_map(|record| record.trial.as_mut()) {
                trial.written_plan = Some(Arc::clone(&line));
            }
        },
        "The plan was changed: block-size of ior-easy-write.",
    );
}

#[test]
fn records_of_other_plans_have_no_score() {
    let mut records = run("300s");
    for trial in records
        .iter_mut()
        .filter_map(|record| record.trial.as_mut())
    {
        trial.written_plan = None;
    }
    assert_eq!(io500(&records), []);
}
