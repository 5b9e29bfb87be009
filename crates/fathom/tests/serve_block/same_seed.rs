//! What a run finds of writes that a device loses where an earlier run of the same seed wrote.

use crate::served::Served;
use crate::{record, tell};
use serde_json::Value;
use std::process::Command;

/// A verified run of the device with these words, and its record.
fn run(served: &Served, words: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("run.json");
    let target = served.uri();
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", &target, "--allow-destroy", &target, "--no-live"])
        .args(["--verify", "--seed", "5", "--continue-on-error"])
        .args(words)
        .arg("--json-output")
        .arg(&json)
        .output()
        .unwrap();
    let text = std::fs::read(&json).unwrap_or_else(|_| panic!("{output:?}"));
    record(&text)["verification"].clone()
}

#[test]
fn every_write_that_a_second_run_of_the_same_seed_lost_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let served = Served::start(&["--size", "1m", "--control", &control]);
    // Each block is written once and then read once.
    let whole = "--write-percent 100 --verify-when passes --duration 0s --block-size 4k";
    let words: Vec<&str> = whole.split(' ').collect();
    let first = run(&served, &words);
    assert_eq!(
        (&first["operations"], &first["failures"]),
        (&256.into(), &0.into())
    );
    tell(&control, "misbehave write.lost=100%");
    let second = run(&served, &words);
    assert_eq!(second["by_kind"], serde_json::json!({ "foreign run": 256 }));
    assert_eq!(served.end(), Some(0));
}

#[test]
fn what_an_earlier_run_of_another_id_wrote_is_verified_by_a_later_one() {
    let served = Served::start(&["--size", "1m"]);
    let written = "--write-percent 100 --verify-when later --duration 0s";
    run(&served, &written.split(' ').collect::<Vec<_>>());
    let read = run(&served, &["--duration", "0s"]);
    assert_eq!(
        (&read["operations"], &read["failures"]),
        (&256.into(), &0.into())
    );
    let mixed = ["--write-percent", "50", "--random", "--total-bytes", "8m"];
    assert_eq!(run(&served, &mixed)["failures"], 0);
    assert_eq!(served.end(), Some(0));
}
