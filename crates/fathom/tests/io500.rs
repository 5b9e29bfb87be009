//! `fathom profile --io500-like`: twelve phases, a score that follows from their records, and nothing
//! left behind.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ended, Ground, Running, until};
use record::{Record, Status, read_records};
use std::fs;
use std::path::{Path, PathBuf};

/// The phases as IO500 orders them, as this test knows them.
const PHASES: [&str; 12] = [
    "ior-easy-write",
    "mdtest-easy-write",
    "ior-hard-write",
    "mdtest-hard-write",
    "find",
    "ior-easy-read",
    "mdtest-easy-stat",
    "ior-hard-read",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
];

/// Two workers with little to write.
const SMALL: [&str; 8] = [
    "--threads",
    "2",
    "--size",
    "32M",
    "--files",
    "150",
    "--stonewall",
    "10s",
];

fn ground() -> Ground {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    ground.write("d/mine", "somebody's");
    ground
}

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["profile", "d", "--io500-like"], more].concat()
}

fn count(record: &Record, kind: &str) -> u64 {
    record.operations.kind(kind).map_or(0, |of| of.count)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The score by its formula, from what the records counted and how long that took.
fn score(records: &[Record]) -> f64 {
    let rate = |record: &Record| {
        let seconds = record.elapsed_ns as f64 / 1e9;
        match record.name.as_str() {
            name if name.starts_with("ior") => {
                record.operations.bytes() as f64 / seconds / f64::from(1 << 30)
            }
            "find" => record.walk.unwrap().entries as f64 / seconds / 1e3,
            _ => record.operations.count() as f64 / seconds / 1e3,
        }
    };
    let mean = |is_data: bool, of: i32| {
        let rates = records
            .iter()
            .filter(|record| record.name.starts_with("ior") == is_data);
        rates.map(rate).product::<f64>().powf(1.0 / f64::from(of))
    };
    (mean(true, 4) * mean(false, 8)).sqrt()
}

/// What the text says the score is.
fn said_score(text: &str) -> f64 {
    let (_, rest) = text.split_once("IO500-like score ").unwrap();
    rest.split(':').next().unwrap().parse().unwrap()
}

#[test]
fn twelve_phases_make_a_score_that_follows_from_their_records_and_leave_nothing() {
    let ground = ground();
    let ended = ground.fathom(&args(&[&SMALL[..], &["-o", "r.jsonl"]].concat()));
    ended.expect(0);
    assert_eq!(names(&ground.path("d")), ["mine"]);
    let records = ground.records("r.jsonl");
    let of: Vec<&str> = records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(of, PHASES);
    assert!(
        records
            .iter()
            .all(|record| record.outcome.status == Status::Ok)
    );
    let kinds = [
        "create", "create", "stat", "stat", "unlink", "read", "unlink",
    ];
    let counted: Vec<u64> = [1, 3, 6, 8, 9, 10, 11]
        .iter()
        .zip(kinds)
        .map(|(at, kind)| count(&records[*at], kind))
        .collect();
    assert_eq!(
        counted, [300; 7],
        "every file is made, looked at, read and removed once"
    );
    let bytes = |at: usize| records[at].operations.bytes();
    assert_eq!(
        (bytes(0), bytes(2)),
        (bytes(5), bytes(7)),
        "what was written is read"
    );
    assert_eq!(bytes(10), 300 * 3901);
    let walk = records[4].walk.unwrap();
    // file.000001, .000010 to .000019, .000100 to .000199 and .000201.
    assert_eq!(walk.matched, 1 + 10 + 100 + 1);
    assert!(walk.entries >= 600, "{walk:?}");
    let text = one_line(&ended.stdout);
    let (said, own) = (said_score(&text), score(&records));
    assert!((said / own - 1.0).abs() < 0.01, "{said} is not {own}");
    for part in [
        "It is no IO500 score.",
        "It is of a shortened run: its stonewall is 10 s, and IO500 demands 300 s.",
        "Had written all before the stonewall: ior-easy-write,",
        "one machine that had made them",
    ] {
        assert!(text.contains(part), "{part}: {}", ended.stdout);
    }
    let report = ground.fathom(&["report", "r.jsonl", "-o", "r.md", "-o", "r.html"]);
    report.expect(0);
    let page = String::from_utf8(ground.read("r.md")).unwrap();
    assert_eq!(said_score(&one_line(&page)), said, "from records alone");
    assert!(page.contains("mdtest-hard-delete"));
    ground.fathom(&["check", "r.html"]).expect(0);
}

#[test]
fn a_stonewall_ends_what_is_written_and_what_follows_takes_what_was_reached() {
    let ground = ground();
    let more = [
        "--threads",
        "2",
        "--size",
        "2G",
        "--stonewall",
        "150ms",
        "--files",
        "40000",
        "-o",
        "r.jsonl",
    ];
    ground.fathom(&args(&more)).expect(0);
    let records = ground.records("r.jsonl");
    let created = count(&records[1], "create");
    let stonewall = records[1].stonewall.as_ref().unwrap();
    assert_eq!(created, 2 * stonewall.most, "both did what the faster had");
    assert_eq!(count(&records[6], "stat"), created);
    assert_eq!(count(&records[9], "unlink"), created);
    assert_eq!(names(&ground.path("d")), ["mine"]);
}

#[test]
fn the_plan_that_is_printed_can_be_changed_and_run() {
    let ground = ground();
    let before = ground.tree();
    let dry = ground.fathom(&args(&[&SMALL[..], &["--dry-run"]].concat()));
    dry.expect(0);
    assert_eq!(ground.tree(), before);
    assert_eq!(dry.stdout.matches("[[phase]]").count(), 12);
    let (kept, _) = dry
        .stdout
        .split_once("[[phase]]\nname = \"ior-hard-write\"")
        .unwrap();
    ground.write("short.toml", kept.replace("\"2M\"", "\"1M\""));
    let ended = ground.fathom(&args(&["--rows", "short.toml", "-o", "r.jsonl"]));
    ended.expect(0);
    let text = one_line(&ended.stdout);
    assert!(
        text.contains("No IO500-like score: ior-hard-write to mdtest-hard-delete (it is not in the plan) missing"),
        "{text}"
    );
    assert!(
        text.contains("The plan was changed: block-size of ior-easy-write."),
        "{text}"
    );
    assert_eq!(ground.records("r.jsonl").len(), 2);
    let both = ground.refused(&args(&["--rows", "short.toml", "--threads", "2"]));
    assert!(both.contains("--threads makes a plan"), "{both}");
}

#[test]
fn what_cannot_work_is_refused_and_nothing_is_touched() {
    let ground = ground();
    let refused = |more: &[&str]| ground.refused(&args(more));
    let much = refused(&["--size", "900T"]);
    assert!(
        much.contains("up to 900 TiB would be written, and "),
        "{much}"
    );
    assert!(refused(&["--stonewall", "0s"]).contains("above zero"));
    assert!(refused(&["--quick"]).contains("--quick"));
    assert!(refused(&["--size", "1M"]).contains("too little"));
    let file = ground.refused(&["profile", "d/mine", "--io500-like"]);
    assert!(file.contains("is no directory"), "{file}");
    let shifted = ground.refused(&["run", "d/x", "--shift", "1"]);
    assert!(shifted.contains("--shift"), "{shifted}");
}

#[test]
fn a_phase_that_fails_ends_the_run_without_a_score_and_keeps_what_was_measured() {
    let ground = ground();
    let dry = ground.fathom(&args(&[&SMALL[..], &["--dry-run"]].concat()));
    // It reads more than was written.
    let (before, after) = dry.stdout.split_once("meta = \"read\"").unwrap();
    let after = after.replacen("payload = 3901", "payload = 3902", 1);
    ground.write("more.toml", format!("{before}meta = \"read\"{after}"));
    let ended = ground.fathom(&args(&["--rows", "more.toml", "-o", "r.jsonl"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let text = one_line(&ended.stdout);
    assert!(
        text.contains("No IO500-like score: mdtest-hard-read ("),
        "{text}"
    );
    assert!(
        text.contains("mdtest-hard-delete (it did not run) missing"),
        "{text}"
    );
    let records = ground.records("r.jsonl");
    assert_eq!(records.len(), 11);
    assert_eq!(records[10].outcome.status, Status::Failed);
    assert_eq!(names(&ground.path("d")), ["mine"]);
}

/// A run that writes until it is stopped, and its directory.
fn running(ground: &Ground) -> (Running, PathBuf) {
    let more = [
        "--threads",
        "1",
        "--size",
        "1G",
        "--stonewall",
        "10m",
        "-o",
        "r.jsonl",
    ];
    let run = ground.start(&args(&more));
    let own = until("the run has a directory", || {
        let entries = fs::read_dir(ground.path("d")).unwrap().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.find(|path| path.to_string_lossy().contains(".fathom-io500-"))
    });
    // The data of the first phase are written when names are made.
    let easy = own.join("data/mdtest-easy/worker0");
    until("a phase of names is under way", || {
        fs::read_dir(&easy).ok()?.next().map(|_| ())
    });
    (run, own)
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_leaves_nothing() {
    let ground = ground();
    let (run, _) = running(&ground);
    run.signal("INT");
    let ended: Ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(names(&ground.path("d")), ["mine"]);
    let text = one_line(&ended.stdout);
    assert!(
        text.contains("No IO500-like score: mdtest-easy-write ("),
        "{text}"
    );
    let records = ground.records("r.jsonl");
    let last = records.last().unwrap();
    assert_eq!(
        (records.len(), last.outcome.status),
        (2, Status::Interrupted)
    );
    assert!(count(last, "create") > 0);
}

#[test]
fn what_a_killed_run_leaves_the_next_one_removes() {
    let ground = ground();
    let (run, own) = running(&ground);
    run.signal("KILL");
    assert_eq!(run.end().code, None);
    assert!(own.exists());
    let kept = read_records(&ground.path("r.jsonl")).unwrap();
    assert_eq!(kept.records.len(), 1, "the phase that had ended");
    let ended = ground.fathom(&args(&SMALL));
    ended.expect(0);
    assert!(one_line(&ended.stdout).contains("which a run that was killed had left behind"));
    assert_eq!(names(&ground.path("d")), ["mine"]);
}

#[test]
fn two_at_once_leave_each_other_alone() {
    let ground = ground();
    let (run, own) = running(&ground);
    let second = ground.fathom(&args(&SMALL));
    second.expect(0);
    let text = one_line(&second.stdout);
    assert!(
        text.contains("is left alone: another profile (process "),
        "{text}"
    );
    assert!(own.join("data/mdtest-easy/worker0").exists());
    run.signal("INT");
    assert_eq!(run.end().code, Some(130));
    assert_eq!(names(&ground.path("d")), ["mine"]);
}
