//! `fathom compare` as a gate: verdicts as files, exit codes, measures of one kind of operation.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, wanted: &[&str]) {
    let text = String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat())
        .into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is missing:\n{text}");
    }
}

/// Two models under virtual time, in an order that is always the same; with few bytes the noise is
/// large.
fn sim(latencies: [&str; 2], bytes: &str, more: &[&str]) -> Output {
    let side = |latency: &str, seed: u32| {
        format!("sim-model=latency={latency},jitter=exponential,seed={seed}")
    };
    let (base, candidate) = (side(latencies[0], 1), side(latencies[1], 1_000_000));
    let total = format!("total-bytes={bytes}");
    let common = [
        "--run",
        "--set",
        "engine=sim",
        "--set",
        "file-size=16M",
        "--set",
        &total,
        "--blocks",
        "8",
        "--order-seed",
        "1",
    ];
    fathom(&[&["compare", &base, &candidate][..], &common[..], more].concat())
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&read(&self.path(name))).unwrap()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_loss_fails_the_gate_in_every_form() {
    let place = Place::new();
    let (json, markdown, xml, records) = (
        place.name("v.json"),
        place.name("v.md"),
        place.name("v.xml"),
        place.name("r.jsonl"),
    );
    let files = ["-o", json.as_str(), "-o", &markdown, "-o", &xml];
    let output = sim(
        ["100us", "130us"],
        "16M",
        &[&files[..], &["--records", &records]].concat(),
    );
    assert_ends(&output, 3, &["Slower by"]);
    let found = place.json("v.json");
    assert_eq!(
        (&found["outcome"], &found["exit_code"]),
        (&Value::from("failed"), &Value::from(3))
    );
    let verdict = &found["verdicts"][0];
    assert_eq!(
        (&verdict["verdict"], &verdict["n"], &verdict["row"]),
        (&Value::from("slower"), &Value::from(8), &Value::from("run"))
    );
    assert!(
        verdict["estimate"]["percent"]
            .as_f64()
            .is_some_and(|percent| (-26.0..-20.0).contains(&percent)),
        "{verdict}"
    );
    assert!(read(&place.path("v.md")).contains("| ❌ | run | **slower** |"));
    assert!(
        read(&place.path("v.xml"))
            .contains("tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\"")
    );
    // The records alone give the same files, and those may be written anew.
    let before = [read(&place.path("v.json")), read(&place.path("v.xml"))];
    assert_ends(
        &fathom(&[&["compare", records.as_str()][..], &files[..]].concat()),
        3,
        &["Slower by"],
    );
    assert_eq!(
        before,
        [read(&place.path("v.json")), read(&place.path("v.xml"))]
    );
}

#[test]
fn a_threshold_that_a_candidate_misses_fails_the_gate_whatever_the_verdict() {
    let place = Place::new();
    let records = place.name("r.jsonl");
    let (json, markdown, xml) = (
        place.name("v.json"),
        place.name("v.md"),
        place.name("v.xml"),
    );
    let limits = ["--threshold", "mean<5ms", "--threshold", "read.mean<10us"];
    let more = [&limits[..], &["--records", &records]].concat();
    // The candidate is the faster one.
    let output = sim(["130us", "100us"], "16M", &more);
    let said = [
        "Faster by",
        "threshold mean<5ms met in run of ",
        "threshold read.mean<10us missed in run of ",
        " above the limit (median of 8 runs)",
    ];
    assert_ends(&output, 3, &said);
    let files = ["-o", json.as_str(), "-o", &markdown, "-o", &xml];
    let again = [&["compare", records.as_str()][..], &limits, &files].concat();
    assert_ends(&fathom(&again), 3, &said);
    let found = place.json("v.json");
    assert_eq!(
        (&found["outcome"], &found["exit_code"]),
        (&Value::from("failed"), &Value::from(3))
    );
    let results = &found["thresholds"];
    assert_eq!(
        (
            &results[0]["result"]["holds"],
            &results[1]["result"]["holds"]
        ),
        (&Value::from(true), &Value::from(false))
    );
    assert_eq!(results[1]["result"]["limit"], 10_000.0);
    let text = read(&place.path("v.md"));
    assert!(
        text.contains("a threshold is missed") && text.contains("- ❌ read.mean&lt;10us missed"),
        "{text}"
    );
    assert!(read(&place.path("v.xml")).contains("tests=\"3\" failures=\"1\" errors=\"0\""));
    let met = ["compare", records.as_str(), "--threshold", "mean<5ms"];
    assert_ends(&fathom(&met), 0, &["threshold mean<5ms met"]);
    let absent = ["compare", records.as_str(), "--threshold", "put.p99<5ms"];
    assert_ends(&fathom(&absent), 2, &["put"]);
    let no_limit = ["compare", records.as_str(), "--threshold", "p99<5"];
    assert_ends(&fathom(&no_limit), 2, &["has no unit; write 50ms or 0.05s"]);
}

#[test]
fn the_log_of_a_job_is_annotated_by_what_the_gate_makes_of_a_verdict() {
    for (latencies, code, level) in [
        (["100us", "130us"], 3, "::error title=fathom compare%3A "),
        (["130us", "100us"], 0, "::notice title=fathom compare%3A "),
    ] {
        let output = sim(latencies, "16M", &["--annotate"]);
        assert_ends(&output, code, &[level]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let commands: Vec<&str> = said.lines().filter(|line| line.starts_with("::")).collect();
        let first = commands.first().unwrap();
        assert!(
            first.starts_with(level) && first.contains(" blocks."),
            "{said}"
        );
    }
    let output = sim(["100us", "130us"], "16M", &[]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("::error"));
}

#[test]
fn cannot_tell_passes_unless_it_was_asked_to_fail() {
    let place = Place::new();
    let (json, xml) = (place.name("v.json"), place.name("v.xml"));
    let files = ["-o", json.as_str(), "-o", &xml];
    assert_ends(&sim(["100us", "103us"], "1M", &files), 0, &["Cannot tell"]);
    assert_eq!(place.json("v.json")["outcome"], "undecided");
    assert!(read(&place.path("v.xml")).contains("<skipped message=\"Cannot tell"));
    for asked in [
        &["--fail-on", "undecided"][..],
        &["--fail-on", "slower,undecided"],
        &["--fail-on", "slower", "--fail-on", "undecided"],
    ] {
        assert_ends(
            &sim(["100us", "103us"], "1M", &[&files[..], asked].concat()),
            3,
            &["Cannot tell"],
        );
        assert_eq!(
            place.json("v.json")["fail_on"],
            Value::from(vec!["slower", "undecided"])
        );
        assert!(read(&place.path("v.xml")).contains("<failure message=\"Cannot tell"));
    }
    assert_ends(
        &sim(["100us", "100us"], "16M", &["--fail-on", "undecided"]),
        0,
        &["Within 5.0 %"],
    );
    assert_ends(
        &sim(["100us", "130us"], "16M", &["--fail-on", "undecided"]),
        3,
        &["Slower by"],
    );
    assert_ends(
        &sim(["100us", "100us"], "16M", &["--fail-on", "faster"]),
        2,
        &["slower, undecided"],
    );
}

#[test]
fn verdicts_take_the_place_of_nothing_else() {
    let place = Place::new();
    let notes = place.name("notes.md");
    std::fs::write(&notes, "my notes\n").unwrap();
    let run = |more: &[&str]| sim(["100us", "100us"], "16M", more);
    assert_ends(
        &run(&["-o", &notes]),
        2,
        &["it exists and does not hold verdicts"],
    );
    assert_eq!(read(&place.path("notes.md")), "my notes\n");
    assert_ends(&run(&["-o", &notes, "--force"]), 0, &[]);
    assert!(read(&place.path("notes.md")).starts_with("<!-- fathom verdicts -->"));
    assert_ends(
        &run(&["-o", &place.name("v.txt")]),
        2,
        &["the ending says the form"],
    );
    assert_ends(
        &run(&["-o", &place.name("none/v.json")]),
        2,
        &["its directory does not exist"],
    );
    let records = place.name("r.json");
    assert_ends(&run(&["--records", &records]), 0, &[]);
    assert_ends(
        &fathom(&["compare", &records, "-o", &records]),
        2,
        &["is one of the sides"],
    );
}

#[test]
fn verdicts_are_never_written_over_what_is_measured() {
    let place = Place::new();
    let (target, link) = (place.name("data.json"), place.path("link.json"));
    std::fs::write(&target, [7; 1 << 16]).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for output in [target.as_str(), link.to_str().unwrap()] {
        for sides in [
            ["queue-depth=1", "block-size=8k", "--target", &target],
            ["block-size=4k", "block-size=8k", "--target", &target],
        ] {
            let asked = [
                &["compare"][..],
                &sides,
                &[
                    "--run", "--slot", "20ms", "--blocks", "8", "-o", output, "--force",
                ],
            ]
            .concat();
            assert_ends(&fathom(&asked), 2, &["it is the target of this run"]);
        }
    }
    assert_eq!(std::fs::read(&target).unwrap(), [7; 1 << 16]);
}

#[test]
fn one_kind_of_operation_is_compared_and_one_that_is_not_there_refused() {
    let mixed = ["--set", "read-percent=50"];
    assert_ends(
        &sim(
            ["100us", "130us"],
            "16M",
            &[&mixed[..], &["--metric", "read.mean"]].concat(),
        ),
        3,
        &["read: mean latency", "Slower"],
    );
    assert_ends(
        &sim(
            ["100us", "130us"],
            "16M",
            &[&mixed[..], &["--metric", "write.rate"]].concat(),
        ),
        3,
        &["write: operations a second"],
    );
    let absent = ["no operations of the kind \"put\"; the kinds there are read"];
    assert_ends(
        &sim(["100us", "130us"], "16M", &["--metric", "put.p99"]),
        2,
        &absent,
    );
    let place = Place::new();
    let records = place.name("r.jsonl");
    assert_ends(
        &sim(["100us", "130us"], "16M", &["--records", &records]),
        3,
        &[],
    );
    assert_ends(
        &fathom(&["compare", &records, "--metric", "read.p99"]),
        3,
        &["read: p99 latency"],
    );
    assert_ends(
        &fathom(&["compare", &records, "--metric", "put.p99"]),
        2,
        &absent,
    );
    assert_ends(
        &fathom(&["compare", &records, "--metric", "read.cpu"]),
        2,
        &[
            "--metric \"read.cpu\": \"cpu\" is no metric; metrics are throughput, iops or rate, mean",
        ],
    );
    // The report compares by the same measures.
    assert_ends(
        &fathom(&["report", &records, "--metric", "read.p99"]),
        0,
        &["Compared: read: p99 latency"],
    );
}
