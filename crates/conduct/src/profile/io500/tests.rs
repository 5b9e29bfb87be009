use super::*;
use record::{HostAccount, Outcome, Status, StonewallAccount};
use units::Nanos;

fn stonewall(fewest: u64, most: u64, cut: u32) -> Option<StonewallAccount> {
    Some(StonewallAccount {
        fewest,
        most,
        cut,
        at_ns: 10,
        wear_out_ns: Some(1),
        ..StonewallAccount::default()
    })
}

/// The record of ranks with these stonewalls.
fn of_ranks(parts: [StonewallAccount; 2]) -> Record {
    let part = |(stonewall, rank)| Record {
        id: format!("{rank}"),
        stonewall: Some(stonewall),
        hosts: vec![HostAccount {
            rank: Some(rank),
            ..HostAccount::default()
        }],
        ..Record::default()
    };
    Record::merge_all(parts.into_iter().zip(0..).map(part)).unwrap()
}

#[test]
fn what_every_worker_has_done_is_what_the_fastest_of_all_ranks_had() {
    let alone = |stonewall| Record {
        stonewall,
        ..Record::default()
    };
    assert_eq!(reached(&alone(stonewall(5, 9, 0)), 100), 9);
    assert_eq!(
        reached(&alone(stonewall(5, 9, 1)), 100),
        5,
        "the limit cut one"
    );
    assert_eq!(reached(&alone(None), 100), 100, "all of it");
    let of_two = |a: Option<StonewallAccount>, b: Option<StonewallAccount>| {
        reached(&of_ranks([a.unwrap(), b.unwrap()]), 100)
    };
    assert_eq!(of_two(stonewall(5, 9, 0), stonewall(1, 7, 0)), 9);
    assert_eq!(of_two(stonewall(5, 9, 0), stonewall(2, 70, 2)), 2);
    // One had nothing left to do when the time came.
    let early = StonewallAccount {
        at_ns: 0,
        fewest: 100,
        most: 100,
        ..StonewallAccount::default()
    };
    assert_eq!(of_two(stonewall(5, 9, 0), Some(early)), 100);
}

/// A course in a directory of its own, of so many ranks.
fn course(place: &std::path::Path, ranks: u32) -> Io500Course {
    let asked = Io500Asked {
        stonewall: Nanos(1_000_000_000),
        threads: 2,
        size: Some(Bytes(1 << 30)),
        files: Some(100),
    };
    let sizes = io500_sizes(&asked, ranks, Some(4 << 30)).unwrap();
    let phases = io500_phases(&io500_text(&asked, &sizes), "plan").unwrap();
    let dir = WorkDir::make(place, 4_194_305, "b").unwrap();
    let group = Io500Group { ranks, shift: 1 };
    Io500Course::new(phases, group, dir, "here")
}

#[test]
fn phases_follow_each_other_and_take_what_was_reached() {
    let place = tempfile::tempdir().unwrap();
    let mut course = course(place.path(), 3);
    let mut seen = Vec::new();
    while let Some(stage) = course.step().unwrap() {
        let phase = &stage.0[0];
        let files = &phase.workload.files;
        if Io500Phase::find(&phase.name).unwrap().role != Io500Role::Writes {
            let size = files.size.map(|size| size.0);
            seen.push((phase.name.clone(), size, files.total_files));
        }
        assert!(phase.workload.targets[0].starts_with(course.dir().data()));
        let mut record = Record {
            stonewall: stonewall(3, 10, 0),
            ..Record::default()
        };
        course.took(&mut record);
        let trial = record.trial.unwrap();
        assert_eq!(trial.row, phase.name);
        assert_eq!(trial.slot as usize, place_of_phase(&phase.name));
    }
    // Ten operations of each of six workers.
    let name = |text: &str| text.to_owned();
    assert_eq!(
        seen,
        [
            (name("find"), None, None),
            (name("ior-easy-read"), Some(10 * (2 << 20)), None),
            (name("mdtest-easy-stat"), None, Some(60)),
            (name("ior-hard-read"), Some(60 * 47_008), None),
            (name("mdtest-hard-stat"), None, Some(60)),
            (name("mdtest-easy-delete"), None, Some(60)),
            (name("mdtest-hard-read"), None, Some(60)),
            (name("mdtest-hard-delete"), None, Some(60)),
        ]
    );
    assert_eq!(course.plan().plan.name, IO500_LIKE);
    assert_eq!(course.plan().plan.rows.len(), 12);
}

fn place_of_phase(name: &str) -> usize {
    let mut phases = workload::IO500_PHASES.iter();
    phases.position(|phase| phase.name == name).unwrap()
}

#[test]
fn nothing_follows_a_phase_that_failed() {
    let place = tempfile::tempdir().unwrap();
    let mut course = course(place.path(), 1);
    assert!(course.step().unwrap().is_some());
    let mut failed = Record {
        outcome: Outcome {
            status: Status::Failed,
            exit_code: 1,
            message: None,
        },
        ..Record::default()
    };
    course.took(&mut failed);
    assert_eq!(
        failed.trial.map(|trial| trial.row).as_deref(),
        Some("ior-easy-write")
    );
    assert_eq!(course.step().unwrap(), None);
}

#[test]
fn what_nobody_wrote_is_not_read() {
    let place = tempfile::tempdir().unwrap();
    let mut course = course(place.path(), 1);
    let error = loop {
        match course.step() {
            Ok(step) => assert!(step.is_some(), "every phase that reads was let through"),
            Err(error) => break error.to_string(),
        }
        let mut record = Record {
            stonewall: stonewall(0, 0, 0),
            ..Record::default()
        };
        course.took(&mut record);
    };
    assert_eq!(
        error,
        "ior-easy-read: there is nothing that every worker of ior-easy-write has written"
    );
}
