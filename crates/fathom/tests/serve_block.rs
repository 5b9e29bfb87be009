//! `fathom serve block` and what reaches it, through the binary.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it skipped"
)]

#[path = "serve_block/served.rs"]
mod served;

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
