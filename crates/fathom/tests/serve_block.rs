//! `fathom serve block` and what reaches it, through the binary.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it skipped"
)]

#[path = "serve_block/audited.rs"]
mod audited;
#[path = "serve_block/beginning.rs"]
mod beginning;
#[path = "serve_block/foreign.rs"]
mod foreign;
#[path = "serve_block/hardship.rs"]
mod hardship;
#[path = "serve_block/incomplete.rs"]
mod incomplete;
#[path = "ground/limited.rs"]
mod limited;
#[path = "serve_block/owners.rs"]
mod owners;
#[path = "serve_block/raw.rs"]
mod raw;
#[path = "serve_block/same_seed.rs"]
mod same_seed;
#[path = "serve_block/served.rs"]
mod served;
#[path = "serve_block/short.rs"]
mod short;
#[path = "serve_block/tls.rs"]
mod tls;

use served::Served;
use std::os::unix::net::UnixListener;
use std::process::Command;

#[test]
fn what_our_engine_writes_over_nbd_is_verified() {
    let served = Served::start(&["--size", "16m"]);
    let target = served.uri();
    let run = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", &target, "--allow-destroy", &target, "--no-live"])
        .args(["--write-percent", "100", "--random", "--queue-depth", "8"])
        .args(["--verify", "--verify-when", "passes", "--duration", "1s"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let complained = String::from_utf8_lossy(&run.stderr);
    assert!(
        said.contains("Failures: 0, Success: 100.00%"),
        "{said}{complained}"
    );
    assert_eq!(served.end(), Some(0));
}

#[test]
fn a_socket_of_a_dead_server_is_taken_and_one_of_a_live_server_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "what a killed server leaves");
    let path = socket.to_str().unwrap();
    let first = Served::start(&["--size", "1m", "--unix", path]);
    let second = Served::refused(&["--size", "1m", "--unix", path]);
    assert!(second.contains("in use by another server"), "{second}");
    assert_eq!(first.end(), Some(0));
    assert!(!socket.exists());
    std::fs::write(&socket, "a file").unwrap();
    let third = Served::refused(&["--size", "1m", "--unix", path]);
    assert!(third.contains("is no socket"), "{third}");
}

/// The guest of `make vm-test` has the driver; here it is told what is missing.
#[test]
fn without_the_driver_a_ublk_device_is_refused_with_the_reason_and_another_way() {
    if std::path::Path::new("/dev/ublk-control").exists() {
        println!("SKIPPED: needs a machine without ublk");
        return;
    }
    for words in [
        &["--front", "ublk", "--size", "4m"][..],
        &["list"],
        &["stop", "0"],
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["serve", "block"])
            .args(words)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("ublk_drv"), "{said}");
        assert!(
            said.contains("--front nbd works without a driver"),
            "{said}"
        );
    }
}

/// What a device answers to a line at its control socket.
fn tell(control: &str, line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "block", "--control", control, "--tell", line])
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn record(bytes: &[u8]) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    match value.get(0) {
        Some(first) => first.clone(),
        None => value,
    }
}

/// A run of reads, and the record of the device that served it, with the models of `spec`.
fn both_sides(spec: &str) -> (serde_json::Value, serde_json::Value) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (log, control, json) = (path("log"), path("control"), path("run.json"));
    let served = Served::start(&[
        "--size",
        "16m",
        "--misbehave",
        spec,
        "--log",
        &log,
        "--control",
        &control,
    ]);
    let run = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", &served.uri(), "--no-live", "--random"])
        .args(["--total-bytes", "2m", "--json-output", &json])
        .args(["--continue-on-error"])
        .output()
        .unwrap();
    let seen: serde_json::Value = serde_json::from_str(&tell(&control, "seen")).unwrap();
    assert_eq!(served.end(), Some(0));
    let client = record(&std::fs::read(&json).unwrap_or_else(|_| panic!("{run:?}")));
    let import = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["import", &log])
        .output()
        .unwrap();
    let device = record(&import.stdout);
    for count in ["count", "bytes", "errors"] {
        let of_device = &device["operations"]["read"][count];
        assert_eq!(of_device, &client["operations"]["read"][count], "{count}");
        assert_eq!(of_device, &seen["operations"]["read"][count], "{count}");
    }
    (client, device)
}

#[test]
fn nothing_is_cut_off_the_file_of_a_running_device_unless_it_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (control, file) = (path("control"), path("disk"));
    let served = Served::start(&["--file", &file, "--size", "4m", "--control", &control]);
    let length = || std::fs::metadata(&file).unwrap().len();
    let refused = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "block", "--control", &control])
        .args(["--tell", "resize 1m"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(length(), 4 << 20);
    assert!(tell(&control, "resize 1m discard").contains("1048576 bytes"));
    assert_eq!(length(), 1 << 20);
    assert_eq!(served.end(), Some(0));
}

#[test]
fn client_device_and_log_count_the_same() {
    let (client, device) = both_sides("latency=mix:90%:100us:10%:1ms,read.errors=nth:50:EIO");
    assert_eq!(device["effective"]["done failed"], "10");
    assert_eq!(client["operations"]["read"]["errors"], 10);
}

#[test]
fn what_is_lost_with_the_power_is_one_of_the_states_of_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (control, journal) = (path("control"), path("journal"));
    let served = Served::start(&[
        "--size",
        "16m",
        "--volatile",
        "--control",
        &control,
        "--journal",
        &journal,
    ]);
    let target = served.uri();
    let run = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", &target, "--allow-destroy", &target, "--no-live"])
        .args(["--write-percent", "100", "--total-bytes", "64k"])
        .output()
        .unwrap();
    assert!(run.status.code() != Some(2), "{run:?}");
    let told = tell(&control, "crash drop");
    assert!(told.starts_with("0 of 16 unstable writes live"), "{told}");
    assert_eq!(served.end(), Some(0));
    let listed = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "block", "--crash-states", &journal])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.starts_with("epoch 0: 16 writes; states 0 to 4095 drawn"),
        "{listed}"
    );
    let state = Served::start(&["--crash-states", &journal, "--crash-state", "1"]);
    let said = state.said();
    assert!(
        said.starts_with("state 1: all before epoch 0, and of its 16 writes 16; until byte"),
        "{said}"
    );
    assert_eq!(state.end(), Some(0));
}
