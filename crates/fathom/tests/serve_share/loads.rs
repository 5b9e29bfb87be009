//! `fathom load` on a file share.

use crate::client::{SECRET, Server};
use record::Record;
use std::path::Path;
use std::process::Command;

/// The record of a load on a share, which must succeed.
fn load(server: &Server, dir: &Path, arguments: &[&str]) -> Record {
    let records = dir.join("load.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .arg("load")
        .args(arguments)
        .args(["--target", &format!("share+http://{}", server.address)])
        .args([
            "--users",
            "2",
            "--object-size",
            "20KiB",
            "--no-live",
            "--records",
        ])
        .arg(&records)
        .env("PS_SHARED_SECRET", SECRET)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut found = record::read_records(&records).unwrap().records;
    found.pop().unwrap()
}

fn count(record: &Record, kind: &str) -> u64 {
    record.operations.kind(kind).map_or(0, |of| of.count)
}

#[test]
fn what_a_load_uploads_to_a_share_is_read_back_as_it_was_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("share.db"), &[]);
    let record = load(
        &server,
        dir.path(),
        &["put-get-verify", "--iterations", "12", "--verify"],
    );
    for kind in ["put", "get", "delete"] {
        assert_eq!(count(&record, kind), 12, "{kind}");
    }
    assert_eq!(record.errors, []);
}

#[test]
fn a_load_puts_files_up_by_a_guest_link() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("share.db"), &[]);
    let link = server
        .owner()
        .json("POST", "/api/guest-links", r#"{"label":"l"}"#)
        .id();
    let record = load(
        &server,
        dir.path(),
        &["post", "--guest", &link, "--iterations", "7"],
    );
    assert_eq!(count(&record, "post"), 7);
    assert_eq!(record.asked["guest"], "(not recorded)", "it lets in");
}

#[test]
fn parts_of_uploads_are_read_and_verified_and_their_bytes_alone_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("share.db"), &[]);
    let words = [
        "get",
        "--seeds",
        "3",
        "--iterations",
        "40",
        "--verify",
        "--range",
    ];
    let record = load(&server, dir.path(), &[&words[..], &["8KiB"]].concat());
    assert_eq!(count(&record, "get"), 40);
    assert_eq!(record.operations.kind("get").unwrap().bytes, 40 * 8192);
    assert_eq!(record.effective["range"], "8 KiB");
    let verified = record.verification.as_ref().unwrap();
    assert_eq!(verified.failures, 0, "{verified:?}");
    // What is smaller than the part is read whole.
    let whole = load(&server, dir.path(), &[&words[..], &["1MiB"]].concat());
    assert_eq!(whole.operations.kind("get").unwrap().bytes, 40 * 20 * 1024);
}

#[test]
fn a_scenario_file_says_which_parts_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("parts.toml");
    let preset = |name| object::Scenario::preset_text(name).unwrap();
    std::fs::write(&scenario, format!("range = \"8KiB\"\n{}", preset("get"))).unwrap();
    let server = Server::start(&dir.path().join("share.db"), &[]);
    let words = [scenario.to_str().unwrap(), "--seeds", "4", "--iterations"];
    let record = load(&server, dir.path(), &[&words[..], &["10"]].concat());
    assert_eq!(record.operations.kind("get").unwrap().bytes, 10 * 8192);
    assert_eq!(record.effective["range"], "8 KiB");
}

#[test]
fn a_load_that_gets_nothing_has_no_parts_to_read() {
    for (scenario, size, expected) in [
        ("put", "8KiB", "--range: this load has no get"),
        (
            "get",
            "0",
            "--range: a part of an object has at least one byte",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["load", scenario, "--range", size])
            .args(["--target", "share+http://127.0.0.1:9"])
            .env("PS_SHARED_SECRET", SECRET)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
