//! How a server is called, and what it leaves where it does not begin.

use crate::served::Served;
use std::path::Path;
use std::process::Command;

#[test]
fn the_address_that_is_printed_is_taken_whatever_the_socket_and_the_export_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("a b&c?d%41.sock");
    let words = ["--unix", socket.to_str().unwrap(), "--tcp", "[::1]:0"];
    let named = ["--size", "1m", "--export", "x y?z#%41/ü"];
    let served = Served::start(&[&words[..], &named].concat());
    for uri in served.uris() {
        let run = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["run", uri, "--no-live", "--duration", "0s"])
            .output()
            .unwrap();
        let complained = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{uri}: {complained}");
        match Command::new("nbdinfo").args(["--size", uri]).output() {
            Err(_) => println!("SKIPPED: needs nbdinfo"),
            Ok(info) => assert_eq!(info.stdout, b"1048576\n", "{uri}: {info:?}"),
        }
    }
    assert_eq!(served.end(), Some(0));
    let long = "x".repeat(4097);
    let said = Served::refused(&["--size", "1m", "--unix", "/nowhere/s", "--export", &long]);
    assert!(said.contains("--export") && said.contains("4096"), "{said}");
}

#[test]
fn the_word_that_means_any_number_to_the_kernel_is_no_number_of_a_device() {
    for number in ["4294967295", "1048576"] {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args([
                "serve", "block", "--front", "ublk", "--size", "4m", "--number", number,
            ])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("0..=1048575"), "{said}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn who_may_not_run_before_others_is_told_so_before_anything_is_made() {
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("log");
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -r 0 && exec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice \"$@\"",
            "sh",
        ])
        .arg(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "block", "--front", "ublk", "--size", "4m"])
        .args(["--real-time", "--log"])
        .arg(&log)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if !sys::is_root() || said.contains("setpriv:") || said.contains("ulimit") {
        println!("SKIPPED: needs root and setpriv: {said}");
        return;
    }
    assert!(said.contains("CAP_SYS_NICE"), "{said}");
    assert!(said.contains("not permitted"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!log.exists());
}

#[test]
fn words_that_cannot_be_meant_are_a_mistake_and_make_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (socket, one) = (path("s"), path("one"));
    for (words, why) in [
        (&["--tcp", "0.0.0.0:0"][..], "loopback"),
        (&["--tcp", "localhost:1"], "127.0.0.1:10809"),
        (&["--unix", &one, "--control", &one], "also that of --unix"),
        (
            &["--unix", &socket, "--file", &one, "--log", &one],
            "also that of --",
        ),
        (
            &["--unix", &one, "--volatile", "--journal", &one],
            "also that of --unix",
        ),
    ] {
        let output = crate::served::command(&[&["--size", "1m"], words].concat())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{words:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert_eq!(left(dir.path()), [""; 0], "{words:?}");
    }
}

/// Names of what lies there.
fn left(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_server_that_does_not_begin_leaves_nothing_and_the_same_words_serve_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (log, journal, disk, control) =
        (path("log"), path("journal"), path("disk"), path("control"));
    let in_memory = ["--size", "1m", "--log", &log, "--control", &control];
    let in_memory = [&in_memory[..], &["--volatile", "--journal", &journal]].concat();
    let in_file = ["--size", "1m", "--log", &log, "--file", &disk];
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for words in [&in_memory[..], &in_file] {
        let said = Served::refused(&[words, &["--tcp", &address]].concat());
        assert!(said.contains("cannot be listened on"), "{said}");
        assert_eq!(left(dir.path()), [""; 0]);
        // What cannot be told stands before all sockets.
        let wrong = ["--unix", &path("s"), "--misbehave", "latency=NaN"];
        Served::refused(&[words, &wrong].concat());
        assert_eq!(left(dir.path()), [""; 0]);
    }
    let many = ["--log-requests", "18446744073709551615"];
    Served::refused(&[&in_memory[..], &many, &["--unix", &path("s")]].concat());
    let huge = ["--size", "7e", "--file", &disk, "--unix", &path("s")];
    Served::refused(&huge);
    assert_eq!(left(dir.path()), [""; 0]);
    // What somebody else made is not taken away.
    std::fs::write(&log, "theirs").unwrap();
    Served::refused(&[&in_memory[..], &["--unix", &path("s")]].concat());
    assert_eq!(left(dir.path()), ["log"]);
    assert_eq!(std::fs::read(&log).unwrap(), b"theirs");
    std::fs::remove_file(&log).unwrap();
    let served = Served::start(&in_memory);
    assert_eq!(served.end(), Some(0));
    assert_eq!(left(dir.path()), ["journal", "log"]);
}
