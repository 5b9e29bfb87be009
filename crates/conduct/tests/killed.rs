//! A runner that is killed at any step, and the next that goes on: no finished slot is lost or
//! changed, at most one slot is lost, and no process, directory or lock is left.

use conduct::{Places, PlanExperiment, PlanRun, StoreLock, carry_out, recover, write_plan};
use host::{Context, Machine, NoWatch};
use lab::{Kept, PlanFile, WhyEnded};
use record::{Calibration, FathomVersion, Record, Status, Store, read_records};
use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::process::Command;
use sys::MachineClock;

/// In which directory the runner works, and at which step it dies.
const AT: &str = "KILLED_RUNNER";
const SLOTS: usize = 2;

const PLAN: &str = r#"
metric = "time"
passes = 1
settle = "0s"
keep-free = "1MiB"
[server]
command = ["/bin/sh", "-c", "echo ready; sleep 1000 & sleep 1000"]
ready = { line = "ready" }
LIMITS
[workload]
command = "/bin/sh -c 'echo {word} > {scratch}/x'"
warmup = 0
[[arm]]
name = "a"
set = { word = "one" }
[[arm]]
name = "b"
set = { word = "two" }
"#;

fn context() -> Context {
    Context {
        clock: MachineClock::monotonic(),
        machine: Machine::at(Path::new("/")),
        fathom: FathomVersion::default(),
        calibration: Calibration::default(),
        interval_ns: 1_000_000_000,
        target: None,
        common_start: None,
        snapshots: None,
    }
}

/// The runner: this test binary once more, with its orders in the environment.
#[test]
fn runner() {
    let Ok(orders) = std::env::var(AT) else {
        return;
    };
    let (die_at, dir) = orders.split_once(' ').unwrap();
    let (die_at, dir): (u32, &Path) = (die_at.parse().unwrap(), Path::new(dir));
    let steps = Cell::new(0);
    let step = || {
        if steps.get() == die_at {
            sys::signal_process(std::process::id(), 9).unwrap();
        }
        steps.set(steps.get() + 1);
    };
    sys::adopt_orphans();
    let places = Places {
        dir: dir.to_owned(),
        records: dir.join("p.jsonl"),
        fathom: "fathom".into(),
    };
    let text = fs::read_to_string(dir.join("p.toml")).unwrap();
    let file = PlanFile::parse(&text, "p.toml").unwrap();
    let loads = |_: &str, _: &_| Err("no load".to_owned());
    let experiment = PlanExperiment::new(file, &places, &loads, None).unwrap();
    let (lock, context) = (StoreLock::take(&places.records).unwrap(), context());
    let run = PlanRun {
        experiment: &experiment,
        context: &context,
        loads: &loads,
        lock: &lock,
        hook: &|_| step(),
    };
    let mut done = records(dir);
    step();
    let store = RefCell::new(Store::open(&places.records).unwrap());
    if let Some(lost) = recover(&run, &done).unwrap().filter(|_| !is_empty(dir)) {
        store.borrow_mut().append(&lost).unwrap();
        done.push(lost);
    }
    step();
    if is_empty(dir) {
        write_plan(&run, &places.records).unwrap();
    }
    let mut keep = |line: Kept<'_>| {
        step();
        match line {
            Kept::Plan(plan) => store.borrow_mut().append_plan(plan)?,
            Kept::Record(record) => store.borrow_mut().append(record)?,
        }
        step();
        Ok(())
    };
    let ended = carry_out(&run, done, &mut NoWatch, &mut keep, &mut |_| false).unwrap();
    assert_eq!(ended.why, WhyEnded::Passes);
    step();
    drop(lock);
    fs::write(dir.join("ended"), "").unwrap();
}

fn is_empty(dir: &Path) -> bool {
    fs::read(dir.join("p.jsonl")).is_ok_and(|bytes| bytes.is_empty())
}

fn records(dir: &Path) -> Vec<Record> {
    let at = dir.join("p.jsonl");
    if at.is_file() {
        read_records(&at).expect("the test can do this").records
    } else {
        Vec::new()
    }
}

fn run(dir: &Path, die_at: u32) {
    let orders = format!("{die_at} {}", dir.display());
    let mut runner = Command::new(std::env::current_exe().expect("the test can do this"));
    let output = runner
        .args(["--exact", "runner", "--nocapture"])
        .env(AT, orders)
        .output()
        .expect("the test can do this");
    let is_dead = output.status.code().is_none();
    assert!(
        is_dead || output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Processes that slots of this directory left.
fn processes(dir: &Path) -> Vec<String> {
    let inside = dir.display().to_string();
    let entries = fs::read_dir("/proc")
        .expect("the test can do this")
        .flatten();
    let variables = entries.filter_map(|entry| {
        let variables = fs::read(entry.path().join("environ")).ok()?;
        let variables = String::from_utf8_lossy(&variables).into_owned();
        (variables.contains("FATHOM_LAB_SLOT=") && variables.contains(&inside)).then_some(variables)
    });
    variables.collect()
}

fn left_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the test can do this");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("the test can do this")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn killed_at_every_step(limits: &str) {
    let mut steps = 0;
    for die_at in 0_u32.. {
        let dir = tempfile::tempdir().expect("the test can do this");
        let dir = dir.path();
        fs::write(dir.join("p.toml"), PLAN.replace("LIMITS", limits))
            .expect("the test can do this");
        run(dir, die_at);
        if dir.join("ended").exists() {
            steps = die_at;
            break;
        }
        let before = fs::read(dir.join("p.jsonl")).unwrap_or_default();
        run(dir, u32::MAX);
        assert!(dir.join("ended").exists(), "step {die_at}");
        let after = fs::read(dir.join("p.jsonl")).expect("the test can do this");
        assert!(
            after.starts_with(&before),
            "step {die_at}: what was kept has changed"
        );
        let records = records(dir);
        let of = |status: Status| {
            records
                .iter()
                .filter(move |record| record.outcome.status == status)
                .count()
        };
        let (good, lost) = (of(Status::Ok), of(Status::Interrupted));
        assert!(
            lost <= 1 && good + lost == records.len(),
            "step {die_at}: {lost} lost"
        );
        let last = records
            .iter()
            .filter_map(|record| record.trial.as_ref())
            .map(|trial| trial.attempt)
            .max();
        let whole = records
            .iter()
            .filter(|record| record.trial.as_ref().map(|trial| trial.attempt) == last);
        assert_eq!(
            whole.count(),
            SLOTS,
            "step {die_at}: the block is complete in its last attempt"
        );
        assert_eq!(processes(dir), [""; 0], "step {die_at}");
        assert_eq!(
            left_in(dir),
            ["ended", "p.jsonl", "p.plan.toml", "p.toml"],
            "step {die_at}"
        );
    }
    assert!(steps > 20, "{steps} steps");
}

#[test]
fn a_runner_that_is_killed_at_any_step_loses_at_most_its_slot_and_leaves_nothing() {
    killed_at_every_step("");
}

#[test]
#[ignore = "needs control groups that this process may make"]
fn privileged_a_killed_runner_leaves_no_control_group() {
    killed_at_every_step("limits = { memory = \"64MiB\" }");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    for mount in mounts
        .lines()
        .filter(|line| line.contains("cgroup"))
        .filter_map(|line| line.split(' ').nth(1))
    {
        let mut waiting = vec![Path::new(mount).to_owned()];
        while let Some(at) = waiting.pop() {
            let inside = fs::read_dir(&at).into_iter().flatten().flatten();
            for entry in inside.filter(|entry| entry.path().is_dir()) {
                assert!(
                    !entry.file_name().to_string_lossy().starts_with("fathom-"),
                    "{:?}",
                    entry.path()
                );
                waiting.push(entry.path());
            }
        }
    }
}
