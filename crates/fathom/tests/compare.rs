//! `fathom compare` as a user runs it: known differences end in the right verdicts, and records
//! that cannot be compared in none.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use record::{Operations, Record, Role, SCHEMA, Status, Stopping, Store, Trial, read_records};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaints(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, wanted: &[&str]) {
    let text = format!("{}{}", out(output), complaints(output));
    assert_eq!(output.status.code(), Some(code), "{text}");
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is missing:\n{text}");
    }
}

/// Blocks that the first verdict of a text rests on.
fn blocks(text: &str) -> u32 {
    let before = text.split(" blocks.").next().unwrap();
    before
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap_or_else(|_| panic!("no number of blocks in\n{text}"))
}

/// Two models of the same kind under virtual time: about 1.6 % noise a slot, independent on both
/// sides.
fn sim(base: &str, candidate: &str, more: &[&str]) -> Output {
    let side = |latency: &str, seed: u32| {
        format!("sim-model=latency={latency},jitter=exponential,seed={seed}")
    };
    let (base, candidate) = (side(base, 1), side(candidate, 1_000_000));
    let common = [
        "--run",
        "--order-seed",
        "1",
        "--set",
        "engine=sim",
        "--set",
        "file-size=16M",
        "--set",
        "total-bytes=16M",
    ];
    fathom(&[&["compare", &base, &candidate], &common[..], more].concat())
}

#[test]
fn identical_settings_end_equivalent() {
    let output = sim("100us", "100us", &[]);
    assert_ends(&output, 0, &["Within 5.0 %"]);
    assert!(blocks(&out(&output)) <= 24, "{}", out(&output));
}

#[test]
fn a_tenth_more_latency_is_slower_within_twelve_blocks_and_so_is_a_twentieth() {
    for (latency, metric) in [
        ("110us", "iops"),
        ("110us", "mean"),
        ("105us", "iops"),
        ("105us", "mean"),
    ] {
        let output = sim("100us", latency, &["--metric", metric, "--margin", "3"]);
        assert_ends(&output, 3, &["Slower", "8 to 90 blocks of 2 slots"]);
        assert!(blocks(&out(&output)) <= 12, "{latency}: {}", out(&output));
        let reversed = sim(latency, "100us", &["--metric", metric, "--margin", "3"]);
        assert_ends(&reversed, 0, &["Faster"]);
    }
}

#[test]
fn a_delay_in_a_real_engine_is_found() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = directory.path().join("f");
    // Every operation is followed by a pause that is busy, so that no timer rounds it; the
    // candidate's is twice as long.
    let output = fathom(&[
        "compare",
        "think-time=100us",
        "think-time=200us",
        "--run",
        "--target",
        target.to_str().unwrap(),
        "--set",
        "think-mode=spin",
        "--set",
        "engine=sync",
        "--set",
        "block-size=16K",
        "--set",
        "file-size=2M",
        "--set",
        "total-bytes=4M",
        "--set",
        "cache=warm",
    ]);
    assert_ends(&output, 3, &["Slower"]);
}

#[test]
fn a_fixed_number_of_blocks_is_run_and_judged_at_95_percent() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.jsonl");
    let records = file.to_str().unwrap();
    assert_ends(
        &sim("100us", "120us", &["--blocks", "7", "--records", records]),
        3,
        &["7 blocks of 2 slots", "Slower"],
    );
    let found = read_records(&file).unwrap().records;
    assert_eq!(found.len(), 14);
    let trials: Vec<&Trial> = found
        .iter()
        .map(|record| record.trial.as_ref().unwrap())
        .collect();
    assert!(trials.iter().all(|trial| trial.stopping == Stopping::Fixed
        && trial.plan == trials[0].plan
        && trial.plan.len() == 16));
    let orders: Vec<bool> = trials
        .chunks(2)
        .map(|block| block[0].role == Role::Baseline)
        .collect();
    assert!(
        orders.contains(&true) && orders.contains(&false),
        "the order is drawn: {orders:?}"
    );
    // The file alone gives the same verdict, and the same experiment is not measured into it again.
    assert_ends(&fathom(&["compare", records]), 3, &["Slower"]);
    assert_ends(
        &sim("100us", "120us", &["--blocks", "7", "--records", records]),
        2,
        &["holds this very experiment already", "--order-seed"],
    );
    let of_another = sim("100us", "120us", &["--blocks", "8", "--records", records]);
    assert_ends(&of_another, 2, &["holds another experiment"]);
    assert_ends(
        &sim("100us", "120us", &["--blocks", "5"]),
        2,
        &["--blocks 5", "6 blocks"],
    );
    assert_ends(
        &sim("100us", "120us", &["--blocks", "8", "--budget", "1s"]),
        2,
        &["give one of them"],
    );
}

#[test]
fn several_candidates_are_one_family_with_a_control() {
    let side = |latency: &str, seed: u32| {
        format!("sim-model=latency={latency},jitter=exponential,seed={seed}")
    };
    let sides = [side("100us", 1), side("100us", 1000), side("130us", 2000)];
    let run = |more: &[&str]| {
        let common = [
            "compare",
            &sides[0],
            &sides[1],
            &sides[2],
            "--run",
            "--set",
            "engine=sim",
            "--set",
            "file-size=8M",
            "--set",
            "total-bytes=8M",
            "--order-seed",
            "7",
        ];
        fathom(&[&common[..], more].concat())
    };
    let output = run(&["--blocks", "14"]);
    assert_ends(&output, 3, &["14 blocks of 4 slots", "control: ", "agree"]);
    let text = out(&output);
    let (same, slow) = text.split_once("latency=130us").unwrap();
    assert!(
        same.contains("Within 5.0 %") && slow.contains("Slower by"),
        "{text}"
    );
    let without = run(&["--blocks", "8", "--no-aa"]);
    assert_ends(&without, 3, &["8 blocks of 3 slots"]);
    assert!(!out(&without).contains("control"), "{}", out(&without));
    assert_ends(
        &run(&["--blocks", "6"]),
        2,
        &["verdicts on 2 candidates", "7 blocks"],
    );
}

#[test]
fn phases_of_the_same_name_are_rows_and_others_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let toml = |latency: [&str; 2], names: [&str; 2], seed: u32| {
        let phase = |name: &str, latency: &str| {
            format!(
                "[[phase]]\nname = \"{name}\"\nsim-model = \"latency={latency},jitter=exponential\"\n"
            )
        };
        format!(
            "engine = \"sim\"\nfile-size = \"8M\"\ntotal-bytes = \"8M\"\nseed = {seed}\n{}{}",
            phase(names[0], latency[0]),
            phase(names[1], latency[1])
        )
    };
    let base = file("base.toml", &toml(["100us", "50us"], ["one", "two"], 1));
    let slower = file(
        "slower.toml",
        &toml(["65us", "130us"], ["two", "one"], 1000),
    );
    let fixed = ["--run", "--blocks", "6", "--order-seed", "3"];
    let output = fathom(&[&["compare", &base, &slower], &fixed[..]].concat());
    assert_ends(
        &output,
        3,
        &["all rows\n  Slower by", "12 blocks", "\none\n", "\ntwo\n"],
    );
    let open = fathom(&["compare", &base, &slower, "--run"]);
    assert_ends(&open, 3, &["all rows\n  Slower by", "16 blocks"]);
    let other = file("other.toml", &toml(["100us", "50us"], ["one", "three"], 1));
    assert_ends(
        &fathom(&["compare", &base, &other, "--run"]),
        2,
        &["lacks two", "has three as well", "same name"],
    );
    let twice = file("twice.toml", &toml(["100us", "50us"], ["one", "one"], 1));
    assert_ends(
        &fathom(&["compare", &twice, &base, "--run"]),
        2,
        &["two phases of the name \"one\""],
    );
}

#[test]
fn a_setting_that_cannot_work_is_an_error_of_the_command() {
    let output = fathom(&[
        "compare",
        "engine=sync",
        "engine=null",
        "--run",
        "--target",
        "/no/such/place/f",
    ]);
    assert_ends(&output, 2, &["/no/such/place"]);
    assert_ends(
        &fathom(&["compare", "engine=sync", "--run"]),
        2,
        &["nothing to compare with", "CANDIDATE"],
    );
    assert_ends(
        &fathom(&["compare", "no-file", "engine=sync", "--run"]),
        2,
        &["neither a file that exists nor KEY=VALUE"],
    );
    assert_ends(
        &fathom(&["compare", "a.jsonl", "b.jsonl", "--blocks", "8"]),
        2,
        &["--blocks is about a measurement", "--run"],
    );
}

#[test]
fn a_side_that_fails_every_time_ends_the_experiment_and_its_records_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.jsonl");
    let models = [
        "sim-model=latency=10us",
        "sim-model=latency=10us,error-every=5",
    ];
    let common = [
        "--run",
        "--set",
        "engine=sim",
        "--set",
        "total-bytes=1M",
        "--records",
        file.to_str().unwrap(),
    ];
    let output = fathom(&[&["compare", models[0], models[1]], &common[..]].concat());
    assert_ends(&output, 1, &["No verdict", "block 1 of run failed 3 times"]);
    let failed = read_records(&file)
        .unwrap()
        .records
        .iter()
        .filter(|record| record.outcome.status != Status::Ok)
        .count();
    assert_eq!(failed, 3);
}

#[test]
fn a_signal_ends_after_the_slot_with_what_was_measured() {
    use std::io::Read as _;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (file, target) = (directory.path().join("r.jsonl"), directory.path().join("f"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "compare",
            "engine=sync",
            "engine=mmap",
            "--run",
            "--slot",
            "50ms",
            "--set",
            "file-size=1M",
            "--blocks",
            "50000",
        ])
        .args([
            "--target",
            target.to_str().unwrap(),
            "--records",
            file.to_str().unwrap(),
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The first complete line is the plan, the second the first record.
    while !std::fs::read(&file)
        .is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() > 1)
    {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its first record"
        );
        std::thread::yield_now();
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    let read = read_records(&file).unwrap();
    assert!(!read.records.is_empty() && read.damaged.is_empty());
}

/// Reads of 4 KiB, each with its latency.
fn sound(arm: &str, role: Role, block: u32, slot: u32, per_second: u64) -> Record {
    let mut record = Record {
        schema: SCHEMA,
        id: format!("{arm} {block}"),
        name: "r".into(),
        started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 6, slot % 6 * 10),
        elapsed_ns: 10_000_000_000,
        trial: Some(Trial {
            plan: "p".into(),
            arm: arm.into(),
            row: "r".into(),
            block,
            slot,
            role,
            lead_in_ns: Some(5_000_000_000),
            ..Trial::default()
        }),
        ..Record::default()
    };
    let count = per_second * 10;
    let mut reads = Operations {
        count,
        bytes: count * 4096,
        smallest_bytes: Some(4096),
        largest_bytes: Some(4096),
        ..Operations::default()
    };
    reads.latency.record_many(1_000_000_000 / per_second, count);
    record.operations.insert("read", reads);
    record
}

/// Base and candidate of ten blocks in alternating order; the candidate is slower by a fifth.
fn experiment() -> [Vec<Record>; 2] {
    let base = |block: u32| {
        sound(
            "base",
            Role::Baseline,
            block,
            2 * block + block % 2,
            5000 + u64::from(block * 7 % 10),
        )
    };
    let candidate = |block: u32| {
        sound(
            "other",
            Role::Candidate,
            block,
            2 * block + 1 - block % 2,
            4000 + u64::from(block * 3 % 10),
        )
    };
    [
        (0..10).map(base).collect(),
        (0..10).map(candidate).collect(),
    ]
}

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn records(&self, name: &str, records: &[Record]) -> String {
        let path = self.path(name);
        let mut store = Store::open(&path).unwrap();
        records
            .iter()
            .for_each(|record| store.append(record).unwrap());
        shown(&path)
    }

    fn text(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        shown(&self.path(name))
    }
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn line(record: &Record) -> String {
    serde_json::to_string(record).unwrap()
}

#[test]
fn two_files_and_one_file_of_an_experiment_give_the_same_verdict() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let sides = [
        files.records("a.jsonl", &base),
        files.records("b.jsonl", &candidate),
    ];
    let both = files.records("both.jsonl", &[base, candidate].concat());
    let wanted = ["Slower by 20.0 % [19.9 to 20.1], 10 blocks."];
    assert_ends(&fathom(&["compare", &sides[0], &sides[1]]), 3, &wanted);
    assert_ends(&fathom(&["compare", &both]), 3, &wanted);
    assert_ends(&fathom(&["compare", &sides[1], &sides[0]]), 0, &["Faster"]);
    assert_ends(
        &fathom(&["compare", &both, &sides[1]]),
        2,
        &[
            "several arms of an experiment (base, other)",
            "fathom compare",
        ],
    );
    assert_ends(
        &fathom(&["compare", &sides[0]]),
        2,
        &["no arm beside its baseline \"base\""],
    );
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], &both]),
        2,
        &["two files at a time"],
    );
}

#[test]
fn no_records_are_a_mistake_and_one_is_too_few() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let (empty, good) = (
        files.text("empty.jsonl", "\n"),
        files.records("good.jsonl", &base),
    );
    assert_ends(
        &fathom(&["compare", &good, &empty]),
        2,
        &["empty.jsonl holds no record", "--records"],
    );
    assert_ends(
        &fathom(&["compare", &shown(&files.path("none.jsonl")), &good]),
        2,
        &["none.jsonl", "--run"],
    );
    let one = [
        files.records("a.jsonl", &base[..1]),
        files.records("b.jsonl", &candidate[..1]),
    ];
    assert_ends(
        &fathom(&["compare", &one[0], &one[1]]),
        4,
        &["No verdict: 1 complete pair; an interval needs 6"],
    );
}

#[test]
fn a_torn_line_costs_its_block_and_is_named() {
    let files = Files::new();
    let [base, candidate] = experiment();
    // The last slot of all: what a crash may tear.
    let mut lines: Vec<String> = base.iter().map(line).collect();
    let half = lines[9].len() / 2;
    lines[9].truncate(half);
    let sides = [
        files.text("a.jsonl", &lines.join("\n")),
        files.records("b.jsonl", &candidate),
    ];
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1]]),
        3,
        &["a.jsonl, line 10 is skipped: not a record", "9 blocks"],
    );
}

#[test]
fn an_unknown_schema_is_named_with_what_to_do() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let foreign: Vec<String> = candidate
        .iter()
        .map(|record| line(record).replacen(&format!("\"schema\":{SCHEMA}"), "\"schema\":99", 1))
        .collect();
    let sides = [
        files.records("a.jsonl", &base),
        files.text("b.jsonl", &foreign.join("\n")),
    ];
    let wanted = [
        "line 1 is skipped: schema 99 is newer than this version of fathom",
        "use the version of fathom that wrote it",
        "holds no record",
    ];
    assert_ends(&fathom(&["compare", &sides[0], &sides[1]]), 2, &wanted);
}

#[test]
fn numbers_that_are_none_and_times_that_run_backwards_are_not_averaged_in() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let base = files.records("a.jsonl", &base);
    for (name, from, to, wanted) in [
        (
            "negative",
            "\"elapsed_ns\":10000000000",
            "\"elapsed_ns\":-10000000000",
            "is skipped: not a record",
        ),
        (
            "nan",
            "\"elapsed_ns\":10000000000",
            "\"elapsed_ns\":NaN",
            "is skipped: not a record",
        ),
        (
            "null",
            "\"elapsed_ns\":10000000000",
            "\"elapsed_ns\":null",
            "is skipped: not a record",
        ),
    ] {
        let lines: Vec<String> = candidate
            .iter()
            .map(|record| line(record).replacen(from, to, 1))
            .collect();
        assert_ne!(lines[0], line(&candidate[0]), "{name} changes something");
        let bad = files.text(&format!("{name}.jsonl"), &lines.join("\n"));
        assert_ends(
            &fathom(&["compare", &base, &bad]),
            2,
            &[wanted, "holds no record"],
        );
    }
    // A time of zero is a number; a rate of it is none.
    let timeless: Vec<Record> = candidate
        .iter()
        .map(|record| Record {
            elapsed_ns: 0,
            ..record.clone()
        })
        .collect();
    let timeless = files.records("timeless.jsonl", &timeless);
    assert_ends(
        &fathom(&["compare", &base, &timeless]),
        4,
        &["10 of 10 blocks have no operations a second", "--metric"],
    );
}

#[test]
fn a_metric_that_a_side_does_not_have_is_no_zero() {
    let files = Files::new();
    let [base, mut candidate] = experiment();
    for record in &mut candidate {
        record.operations.insert("stat", Operations::default());
        record.generator_mut().process = record::ProcessAccount::default();
    }
    let sides = [
        files.records("a.jsonl", &base),
        files.records("b.jsonl", &candidate),
    ];
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], "--metric", "cpu"]),
        4,
        &["10 of 10 blocks have no CPU time an operation"],
    );
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], "--metric", "p99.9999"]),
        4,
        &["too few operations", "longer slots"],
    );
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], "--metric", "speed"]),
        2,
        &["--metric \"speed\": \"speed\" is no metric"],
    );
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], "--margin", "0"]),
        2,
        &["--margin must be above 0"],
    );
}

#[test]
fn different_workloads_and_hosts_have_no_verdict_unless_they_are_what_is_compared() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let with = |records: &[Record], key: &str, value: &str| -> Vec<Record> {
        let effective = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        records
            .iter()
            .map(|record| Record {
                effective: effective.clone(),
                ..record.clone()
            })
            .collect()
    };
    let sides = [
        files.records("a.jsonl", &with(&base, "engine", "sync")),
        files.records("b.jsonl", &with(&candidate, "engine", "mmap")),
    ];
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1]]),
        4,
        &[
            "different workloads: engine",
            "--factor",
            "engine: sync | mmap",
        ],
    );
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1], "--factor", "engine"]),
        3,
        &["Slower"],
    );
    let elsewhere: Vec<Record> = candidate
        .iter()
        .map(|record| {
            let mut moved = record.clone();
            moved.generator_mut().environment.system.hostname = Some("elsewhere".into());
            moved
        })
        .collect();
    let sides = [
        files.records("c.jsonl", &base),
        files.records("d.jsonl", &elsewhere),
    ];
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1]]),
        4,
        &["system.hostname"],
    );
}

#[test]
fn one_side_after_the_other_is_refused() {
    let files = Files::new();
    let [mut base, mut candidate] = experiment();
    for (hour, records) in [(1, &mut base), (2, &mut candidate)] {
        for record in records {
            record.started_at = record.started_at.replacen("T00", &format!("T{hour:02}"), 1);
            record.trial = None;
        }
    }
    let sides = [
        files.records("a.jsonl", &base),
        files.records("b.jsonl", &candidate),
    ];
    assert_ends(
        &fathom(&["compare", &sides[0], &sides[1]]),
        4,
        &[
            "the order was not drawn by lot: nothing bounds the error",
            "over 1 and 1 windows of time",
            "--run",
        ],
    );
}

#[test]
fn an_experiment_that_was_stopped_early_is_judged_by_its_last_look() {
    let files = Files::new();
    let [base, candidate] = experiment();
    let open = |records: &[Record], blocks: usize| -> Vec<Record> {
        let mut out = records[..blocks].to_vec();
        out.iter_mut()
            .for_each(|record| record.trial.as_mut().unwrap().stopping = Stopping::Open);
        out
    };
    let file = |name: &str, blocks: usize| {
        files.records(
            name,
            &[open(&base, blocks), open(&candidate, blocks)].concat(),
        )
    };
    assert_ends(
        &fathom(&["compare", &file("nine.jsonl", 9)]),
        3,
        &[
            "8 blocks.",
            "1 block after the last permitted look is left out",
        ],
    );
    assert_ends(
        &fathom(&["compare", &file("seven.jsonl", 7)]),
        4,
        &["whose first look is after 8"],
    );
}

#[test]
fn the_audit_is_told_once_a_rule_and_a_severe_finding_leaves_no_verdict() {
    let files = Files::new();
    let [mut base, mut candidate] = experiment();
    for record in base.iter_mut().chain(&mut candidate) {
        record
            .generator_mut()
            .environment
            .storage
            .get_or_insert_default()
            .is_memory = Some(true);
    }
    let both = files.records("both.jsonl", &[base.clone(), candidate.clone()].concat());
    let output = fathom(&["compare", &both]);
    assert_ends(
        &output,
        3,
        &["warning[memory_target] in 20 of 20 records: "],
    );
    assert_eq!(
        out(&output).matches("memory_target").count(),
        1,
        "{}",
        out(&output)
    );
    candidate[2].operations.insert(
        "read",
        Operations {
            bytes: 1 << 50,
            ..Operations::default()
        },
    );
    let bad = files.records("bad.jsonl", &[base, candidate].concat());
    assert_ends(
        &fathom(&["compare", &bad]),
        4,
        &[
            "No verdict: bytes_and_blocks",
            "Fix: ",
            "invalid[bytes_and_blocks] in 1 of 20 records",
        ],
    );
}

#[test]
fn the_first_example_of_the_help_ends_in_a_verdict() {
    let help = out(&fathom(&["compare", "--help"]));
    // A long example goes on after a backslash, as a shell reads it.
    let examples = help
        .split_once("Examples:\n")
        .unwrap()
        .1
        .replace("\\\n", " ");
    let example = examples.lines().next().unwrap().trim();
    let words: Vec<&str> = example.split_whitespace().collect();
    assert_eq!(words[..2], ["fathom", "compare"], "{example}");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // Short slots and few blocks: what is asked is whether it can say anything at all. The order is
    // not drawn, because one in 128 has all eight blocks alike.
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(&words[1..])
        .args(["--slot", "30ms", "--blocks", "8", "--settle", "0"])
        .args(["--order-seed", "2"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let text = format!("{}{}", out(&output), complaints(&output));
    // What is left without the blocks that stand out may be too little for a verdict of its own.
    assert!(
        matches!(output.status.code(), Some(0 | 3)) && !text.contains("\n  No verdict"),
        "{example}\n{text}"
    );
}

#[test]
fn every_experiment_has_an_order_of_its_own_and_says_how_to_repeat_it() {
    let seed = |output: &Output| -> String {
        let text = complaints(output);
        let (_, after) = text
            .split_once("(--order-seed ")
            .unwrap_or_else(|| panic!("no seed in {text}"));
        after.split_once(')').unwrap().0.to_owned()
    };
    let common = [
        "compare",
        "seed=1",
        "seed=2",
        "--run",
        "--set",
        "engine=sim",
        "--set",
        "total-bytes=64K",
        "--blocks",
        "8",
    ];
    let [one, two] = [(), ()].map(|()| seed(&fathom(&common)));
    assert_ne!(one, two);
    let again = fathom(&[&common[..], &["--order-seed", &one]].concat());
    assert_eq!(seed(&again), one);
}

#[test]
fn runs_whose_order_nobody_drew_have_no_verdict_in_any_form() {
    let files = Files::new();
    // In the order AAAAABBBBBAAAAABBBBB, while the level falls to a third: the sides are alike.
    let of = |arm: usize| -> Vec<Record> {
        let of_arm = (0_u32..20).filter(|at| (*at as usize / 5) % 2 == arm);
        of_arm
            .map(|at| Record {
                trial: None,
                ..sound("x", Role::Baseline, at, at, 9000 - 300 * u64::from(at))
            })
            .collect()
    };
    let sides = [
        files.records("a.jsonl", &of(0)),
        files.records("b.jsonl", &of(1)),
    ];
    let said = "the order was not drawn by lot: nothing bounds the error";
    let levels = "Medians 6.73K and 5.19K, a ratio of 0.770, over 2 and 2 windows of time";
    let compared = fathom(&["compare", &sides[0], &sides[1]]);
    assert_ends(&compared, 4, &[said, levels]);
    assert!(!out(&compared).contains(" % ["), "{}", out(&compared));
    for form in ["html", "md", "csv", "json"] {
        let report = shown(&files.path(&format!("report.{form}")));
        assert_ends(
            &fathom(&["report", &sides[0], &sides[1], "-o", &report]),
            0,
            &[],
        );
        let text = std::fs::read_to_string(&report).unwrap();
        assert!(text.contains(said) && text.contains(levels), "{form}");
        assert!(
            !text.contains("Slower") && !text.contains("Faster"),
            "{form}"
        );
    }
}

/// An experiment of so many blocks with a true difference of a tenth, as its file has it: the plan,
/// then two records a block.
fn lines_of_an_experiment(files: &Files, blocks: u32) -> Vec<String> {
    let file = shown(&files.path("whole.jsonl"));
    assert_ends(
        &sim(
            "100us",
            "110us",
            &["--blocks", &blocks.to_string(), "--records", &file],
        ),
        3,
        &["Slower by"],
    );
    std::fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_plan_is_the_first_line_and_every_verb_knows_it() {
    let files = Files::new();
    let lines = lines_of_an_experiment(&files, 12);
    assert_eq!(lines.len(), 25);
    for fact in [
        "\"kind\":\"plan\"",
        "\"stopping\":\"fixed\"",
        "\"most_passes\":12",
        "\"seed\":1",
        "\"margin\":0.05",
        "\"metric\":\"iops\"",
    ] {
        assert!(
            lines[0].contains(fact),
            "{fact} is missing: {}",
            &lines[0][..300]
        );
    }
    let whole = shown(&files.path("whole.jsonl"));
    for verb in ["compare", "audit", "report"] {
        let output = fathom(&[verb, &whole]);
        assert!(
            !complaints(&output).contains("skipped") && output.status.code() != Some(2),
            "{verb}: {}",
            complaints(&output)
        );
        assert!(
            !out(&output).contains("plan_contradicted") && !out(&output).contains("cells_missing"),
            "{verb}: {}",
            out(&output)
        );
    }
    // Without its plan a file is one of an earlier version.
    let older = files.text("older.jsonl", &lines[1..].join("\n"));
    assert_ends(&fathom(&["compare", &older]), 3, &["12 blocks."]);
}

#[test]
fn a_part_of_an_experiment_does_not_pass_for_the_whole() {
    let files = Files::new();
    let lines = lines_of_an_experiment(&files, 12);
    let file = |name: &str, blocks: &[usize]| {
        let kept = blocks
            .iter()
            .flat_map(|block| &lines[1 + 2 * block..3 + 2 * block]);
        files.text(
            name,
            &std::iter::once(&lines[0])
                .chain(kept)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n"),
        )
    };
    let chosen = file("chosen.jsonl", &[0, 2, 3, 5, 6, 7, 9, 11]);
    assert_ends(
        &fathom(&["compare", &chosen]),
        4,
        &["No verdict: cells_missing: 4 blocks of the experiment are missing"],
    );
    let report = shown(&files.path("r.md"));
    assert_ends(&fathom(&["report", &chosen, "-o", &report]), 0, &[]);
    assert!(
        std::fs::read_to_string(&report)
            .unwrap()
            .contains("No verdict: cells\\_missing")
            || std::fs::read_to_string(&report)
                .unwrap()
                .contains("No verdict: cells_missing")
    );
    let first = file("first.jsonl", &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_ends(
        &fathom(&["compare", &first]),
        3,
        &[
            "8 blocks. Interrupted after 9 of 12 planned blocks",
            "1 block after the last permitted look",
        ],
    );
    // Without the plan's line the records still say how many were planned.
    let text = std::fs::read_to_string(&first).unwrap();
    let bare = files.text("bare.jsonl", text.split_once('\n').unwrap().1);
    assert_ends(
        &fathom(&["compare", &bare]),
        3,
        &["Interrupted after 9 of 12 planned blocks"],
    );
    let few = file("few.jsonl", &[0, 1, 2, 3, 4, 5, 6]);
    assert_ends(
        &fathom(&["compare", &few]),
        4,
        &["interrupted after 7 of 12 planned blocks"],
    );
}

#[test]
fn an_edited_plan_is_noticed_wherever_it_was_edited() {
    let files = Files::new();
    let lines = lines_of_an_experiment(&files, 12);
    let edited = |name: &str, lines: &[String], from: &str, to: &str| {
        let text = lines.join("\n").replace(from, to);
        assert_ne!(text, lines.join("\n"), "{name} changes something");
        fathom(&["compare", &files.text(name, &text)])
    };
    let wanted = ["No verdict: plan_contradicted"];
    assert_ends(
        &edited(
            "open.jsonl",
            &lines[..],
            "\"stopping\":\"fixed\"",
            "\"stopping\":\"open\"",
        ),
        4,
        &wanted,
    );
    let nine = &lines[..19];
    assert_ends(
        &edited(
            "records.jsonl",
            nine,
            "\"planned_blocks\":12",
            "\"planned_blocks\":9",
        ),
        4,
        &wanted,
    );
    let records_and_plan = nine
        .join("\n")
        .replace("\"planned_blocks\":12", "\"planned_blocks\":9");
    let both: Vec<String> = records_and_plan.lines().map(str::to_owned).collect();
    assert_ends(
        &edited(
            "both.jsonl",
            &both,
            "\"least_passes\":12,\"most_passes\":12",
            "\"least_passes\":9,\"most_passes\":9",
        ),
        4,
        &wanted,
    );
    assert_ends(
        &edited("seed.jsonl", &lines[..], "\"seed\":1,", "\"seed\":2,"),
        4,
        &wanted,
    );
}

#[test]
fn an_experiment_that_a_signal_ends_says_so_and_is_judged_as_one_that_was_looked_at() {
    use std::io::Read as _;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join("r.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "compare",
            "sim-model=latency=100us,jitter=exponential",
            "sim-model=latency=200us,jitter=exponential",
            "--run",
        ])
        .args([
            "--set",
            "engine=sim",
            "--set",
            "total-bytes=16M",
            "--blocks",
            "5000",
            "--order-seed",
            "2",
            "--records",
            file.to_str().unwrap(),
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The plan and at least nine blocks of many.
    while !std::fs::read(&file)
        .is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() > 18)
    {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its ninth block"
        );
        std::thread::yield_now();
    }
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(
        text.contains("Interrupted after ") && text.contains(" of 5000 planned blocks"),
        "{text}"
    );
    assert_ends(
        &fathom(&["compare", file.to_str().unwrap()]),
        3,
        &["Slower by", " of 5000 planned blocks"],
    );
}
