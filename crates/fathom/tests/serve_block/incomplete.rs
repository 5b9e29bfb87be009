//! What a server wrote down of itself, where that is not all.

use crate::served::Served;
use crate::{record, tell};
use std::process::Command;

fn fathom(args: &[&str]) -> (Option<i32>, Vec<u8>) {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(args)
        .output()
        .unwrap();
    (output.status.code(), output.stdout)
}

#[test]
fn a_log_without_room_is_incomplete_for_its_server_and_for_its_reader() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log").to_str().unwrap().to_owned();
    let served = Served::start(&["--size", "1m", "--log", &log, "--log-requests", "10"]);
    fathom(&["run", &served.uri(), "--no-live", "--total-bytes", "100k"]);
    let (code, words) = served.last_words();
    let said = "the log is incomplete: 25 requests came, and it has room for 10";
    assert!(words.contains(said), "{words}");
    assert_eq!(code, Some(0));
    let device = record(&fathom(&["import", &log]).1);
    assert_eq!(device["outcome"]["status"], "incomplete");
    let notice = device["notices"][0].as_str().unwrap();
    assert!(
        notice.contains("of 25 requests 10 are in this log"),
        "{notice}"
    );
    assert!(device["started_at"].as_str().unwrap().starts_with("20"));
    let host = &device["hosts"][0]["environment"]["system"]["hostname"];
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(host.as_str().unwrap(), own.trim());
}

#[test]
fn a_pipe_in_the_place_of_a_journal_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "block", "--crash-states"])
        .arg(&pipe)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("it is no file"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_states_of_a_damaged_journal_are_called_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (journal, control) = (path("journal"), path("control"));
    let own = ["--size", "1m", "--volatile", "--control", &control];
    let served = Served::start(&[&own[..], &["--journal", &journal]].concat());
    let target = served.uri();
    let write = ["run", &target, "--allow-destroy", &target, "--no-live"];
    fathom(
        &[
            &write[..],
            &["--write-percent", "100", "--total-bytes", "20k"],
        ]
        .concat(),
    );
    let (code, unended) = fathom(&["serve", "block", "--crash-states", &journal]);
    assert!(String::from_utf8(unended).unwrap().contains("serves still"));
    assert_eq!(code, Some(0));
    assert!(tell(&control, "seen").contains("\"write\""));
    assert_eq!(served.end(), Some(0));
    let (code, whole) = fathom(&["serve", "block", "--crash-states", &journal]);
    let whole = String::from_utf8(whole).unwrap();
    assert!(!whole.contains("notice"), "{whole}");
    assert_eq!(code, Some(0));
    // A state has its size and its place.
    for other in [&["--size", "2m"][..], &["--null"], &["--file", &path("f")]] {
        let state = [
            "serve",
            "block",
            "--crash-states",
            &journal,
            "--crash-state",
            "0",
        ];
        let named = ["--unix", &path("s")];
        let (code, _) = fathom(&[&state[..], other, &named].concat());
        assert_eq!(code, Some(2), "{other:?}");
    }
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes[28] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let (code, damaged) = fathom(&["serve", "block", "--crash-states", &journal]);
    let damaged = String::from_utf8(damaged).unwrap();
    assert!(
        damaged.contains("the journal is damaged at byte 24"),
        "{damaged}"
    );
    assert_eq!(code, Some(5));
}
