//! `fathom load` through the binary, against a server whose behaviour is known.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what fails here fails the test, and the largest test says what it measured"
)]

#[path = "load/accounts.rs"]
mod accounts;
#[path = "load/arms.rs"]
mod arms;
#[allow(dead_code, reason = "the tests of the server use the rest")]
#[path = "serve_s3/client.rs"]
mod client;
#[path = "load/effects.rs"]
mod effects;
#[path = "load/endpoints.rs"]
mod endpoints;
#[path = "load/http2.rs"]
mod http2;
#[path = "load/interrupted.rs"]
mod interrupted;
#[path = "load/options.rs"]
mod options;
#[path = "load/own_server.rs"]
mod own_server;
#[path = "../../object/tests/store/server.rs"]
mod server;

use record::{Record, Status, read_records};
use server::{Act, Server};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use sys::{Clock, MachineClock};

const SECRET: &str = "a-secret-that-nobody-sees";

fn fathom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(arguments)
        .env_clear()
        .env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

fn load(arguments: &[&str]) -> Output {
    let mut all = vec!["load"];
    all.extend(arguments);
    fathom(&all).output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn records(file: &Path) -> Vec<Record> {
    read_records(file).unwrap().records
}

#[test]
fn a_load_is_summarised_recorded_and_audited() {
    let server = Server::start(|_| Act::Answer);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let arguments = [
        "get",
        "--target",
        &server.s3("bench"),
        "--users",
        "4",
        "--iterations",
        "300",
        "--seeds",
        "10",
        "--duration",
        "60s",
    ];
    let output = load(&[&arguments[..], &["--records", file.to_str().unwrap()]].concat());
    let said = text(&output);
    assert_eq!(code(&output), 0, "{said}");
    for part in [
        "get: get 1 on s3://bench@",
        "closed loop, at most 4 users",
        "300 turns of users",
        "waiting",
        "client cpu",
        "signing",
        "single_observation",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(
        said.lines().all(|line| line.chars().count() <= 110),
        "{said}"
    );
    let [record] = records(&file).try_into().unwrap();
    assert_eq!(
        (
            record.kind.as_str(),
            record.operations.count(),
            record.outcome.status
        ),
        ("load", 300, Status::Ok)
    );
    assert_eq!(record.asked.get("users").map(String::as_str), Some("4"));
    assert!(
        record
            .generator()
            .environment
            .system
            .kernel_release
            .is_some()
            && record.generator().process.user_ns + record.generator().process.system_ns > 0
    );
    assert_eq!(
        record.load.as_ref().unwrap().phases["get"].waiting.count(),
        300
    );
    let stored = std::fs::read_to_string(&file).unwrap();
    assert!(
        ![&stored, &said]
            .iter()
            .any(|text| text.contains(SECRET) || text.contains("AKIAVISIBLE"))
    );
    let audit = fathom(&["audit", file.to_str().unwrap()]).output().unwrap();
    assert!(matches!(code(&audit), 0 | 4), "{}", text(&audit));
}

#[test]
fn a_missed_threshold_is_exit_3_and_says_by_how_much() {
    let server = Server::start(|_| Act::Answer);
    let output = load(&[
        "put",
        "--target",
        &server.s3("bench"),
        "--iterations",
        "20",
        "--threshold",
        "put.count>100",
        "--threshold",
        "errors<1%",
    ]);
    let said = text(&output);
    assert_eq!(code(&output), 3, "{said}");
    assert!(
        said.contains("missed put.count>100: 20, 80 below the limit"),
        "{said}"
    );
    assert!(said.contains("met errors<1%: 0%"), "{said}");
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn what_is_asked_wrongly_is_exit_2_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("mine.toml");
    std::fs::write(
        &broken,
        "[users]\nstages = [{ for = \"1s\", to = 2 }]\n[[operation]]\nkind = \"pt\"\n",
    )
    .unwrap();
    let s3 = "s3://bench@http://127.0.0.1:1";
    for (arguments, told) in [
        (&["get"][..], "no --target"),
        (&["--target", s3], "no scenario"),
        (&["nothing", "--target", s3], "no built-in scenario"),
        (
            &["missing.toml", "--target", s3],
            "cannot read missing.toml",
        ),
        (
            &[broken.to_str().unwrap(), "--target", s3],
            "unknown variant `pt`",
        ),
        (&["get", "--target", "bench"], "examples: s3://bucket@"),
        (
            &["get", "--target", "s3://bench@http://key:secret@h:1"],
            "AWS_ACCESS_KEY_ID",
        ),
        (
            &["list", "--target", "http://127.0.0.1:1"],
            "operation of S3",
        ),
        (
            &["get", "--target", s3, "--users", "many"],
            "--users \"many\"",
        ),
        (
            &["get", "--target", s3, "--users", "0"],
            "--users must be 1 or more",
        ),
        (&["get", "--target", s3, "--scale", "-1"], "--scale -1"),
        (&["get", "--target", s3, "--duration", "5x"], "--duration"),
        (&["get", "--target", s3, "--rate", "0"], "--rate 0"),
        (
            &["get", "--target", s3, "--arrival", "constant"],
            "give --rate as well",
        ),
        (&["get", "--target", s3, "--object-size", "4KB"], "4KB"),
        (
            &["get", "--target", s3, "--keys", "hot"],
            "neither uniform nor zipf",
        ),
        (
            &["get", "--target", s3, "--data", "pi"],
            "random, text, zeros",
        ),
        (
            &["get", "--target", s3, "--payload", "half"],
            "signed, unsigned",
        ),
        (
            &["get", "--target", s3, "--threshold", "p95<5"],
            "has no unit",
        ),
        (
            &["get", "--target", s3, "--threshold", "gte.p95<5ms"],
            "no kind of operation",
        ),
        (&["get", "--target", s3, "--threads", "0"], "above 0"),
        (&["get", "--target", s3, "--timeout", "0s"], "above 0"),
        (
            &["get", "--target", s3, "--server-pid", "4194999"],
            "no such process",
        ),
        (
            &["get", "--target", s3, "--step-duration", "1s"],
            "belongs to --find-knee",
        ),
        (
            &["get", "--target", s3, "--find-knee", "p99"],
            "no <, <=, > or >=",
        ),
        (
            &["get", "--target", s3, "--insecure", "--cacert", "x.pem"],
            "give one of them",
        ),
        (
            &[
                "get",
                "--target",
                "s3://bench@https://127.0.0.1:1",
                "--cacert",
                "missing.pem",
            ],
            "PEM file",
        ),
        (&["--print-scenario", "nothing"], "no built-in scenario"),
    ] {
        let output = load(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}\n{}", text(&output));
        assert!(text(&output).contains(told), "{told}\n{}", text(&output));
    }
    let keyless = fathom(&["load", "get", "--target", s3])
        .env_remove("AWS_SECRET_ACCESS_KEY")
        .output()
        .unwrap();
    assert!(
        code(&keyless) == 2 && text(&keyless).contains("set both"),
        "{}",
        text(&keyless)
    );
}

#[test]
fn what_cannot_work_is_said_before_anything_is_measured() {
    let server = Server::start(|_| Act::Answer);
    let store = client::Server::start(&["--memory"]);
    let s3 = format!("s3://bench@http://{}", store.address);
    for (arguments, told) in [
        (
            &[
                "get",
                "--target",
                "s3://bench@http://nobody-has-this-name.invalid:9000",
            ][..],
            "cannot look up",
        ),
        // Keys that the server does not know, with the word that it has for that.
        (
            &["get", "--target", &s3, "--users", "1"],
            "InvalidAccessKeyId",
        ),
        (
            &["download", "--target", &server.s3("bench"), "--http2"],
            "leave --http2 out",
        ),
    ] {
        let output = load(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}\n{}", text(&output));
        assert!(text(&output).contains(told), "{told}\n{}", text(&output));
    }
}

#[test]
fn a_dead_server_is_exit_1_and_a_failed_record() {
    let target = { Server::start(|_| Act::Answer).s3("bench") };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let output = load(&[
        "get",
        "--target",
        &target,
        "--records",
        file.to_str().unwrap(),
    ]);
    assert_eq!(code(&output), 1, "{}", text(&output));
    assert!(
        text(&output).contains("is the server running"),
        "{}",
        text(&output)
    );
    let [record] = records(&file).try_into().unwrap();
    assert_eq!(
        (record.outcome.status, record.operations.count()),
        (Status::Failed, 0)
    );
}

#[test]
fn an_interrupted_load_keeps_what_it_measured_and_removes_what_it_made() {
    let server = Server::start(|_| Act::Answer);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let target = server.s3("bench");
    let arguments = [
        "load",
        "put",
        "--target",
        &target,
        "--duration",
        "120s",
        "--records",
        file.to_str().unwrap(),
    ];
    let running = fathom(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.requests() < 200 {
        std::thread::yield_now();
    }
    let sent = Command::new("kill")
        .args(["-INT", &running.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", text(&output));
    let [record] = records(&file).try_into().unwrap();
    assert!(record.outcome.status == Status::Interrupted && record.operations.count() > 100);
    assert_eq!(server.objects(), 0);
}

#[test]
fn users_that_sleep_are_told_that_they_measured_their_sleep() {
    let server = Server::start(|_| Act::Answer);
    let output = load(&[
        "get",
        "--target",
        &server.s3("bench"),
        "--users",
        "5",
        "--think-time",
        "50ms",
        "--seeds",
        "5",
        "--duration",
        "1s",
    ]);
    let said = text(&output);
    assert!(
        said.contains("invalid[pacing_bound]") && said.contains("of 5 users were waiting"),
        "{said}"
    );
}

#[test]
fn the_knee_is_below_what_the_server_can_do() {
    // One at a time, five milliseconds each: never more than 200 a second.
    let one_at_a_time = Mutex::new(());
    let server = Server::start(move |asked| {
        if asked.method == "GET" {
            let _turn = one_at_a_time.lock().unwrap();
            let clock = MachineClock::monotonic();
            clock.sleep_until(clock.now() + 5_000_000);
        }
        Act::Answer
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let search = [
        "--find-knee",
        "p50<60ms",
        "--rate",
        "20",
        "--step-duration",
        "700ms",
        "--arrival",
        "constant",
        "--most-rate",
        "3k",
    ];
    let start = [
        "get",
        "--target",
        &server.s3("bench"),
        "--seeds",
        "3",
        "--records",
        file.to_str().unwrap(),
    ];
    let output = load(&[&start[..], &search[..]].concat());
    let said = text(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(
        said.contains("knee: p50<60ms holds at") && said.contains("breaks"),
        "{said}"
    );
    let steps = records(&file);
    assert!(
        steps.len() >= 4
            && steps
                .iter()
                .all(|record| record.pace.is_some() && record.name.starts_with("get@"))
    );
    let best = steps
        .iter()
        .filter(|step| step.outcome.exit_code == 0)
        .filter_map(|step| step.pace.as_ref())
        .map(|pace| pace.achieved_per_second);
    assert!(best.fold(0.0, f64::max) < 320.0, "{said}");
}

#[test]
fn built_in_scenarios_are_shown_printed_and_read_again() {
    let listed = text(&load(&["--list-scenarios"]));
    for name in [
        "upload",
        "download",
        "mixed",
        "mixed-suite",
        "list",
        "delete",
        "stat",
        "multipart",
        "put-get-verify",
    ] {
        assert!(
            listed
                .lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{name}\n{listed}"
        );
    }
    let printed = load(&["--print-scenario", "mixed"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    std::fs::write(&file, &printed.stdout).unwrap();
    let output = load(&[
        file.to_str().unwrap(),
        "--target",
        "s3://bench@http://127.0.0.1:1",
        "--dry-run",
        "--scale",
        "0.1",
    ]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert!(
        text(&output).contains("duration = 11s")
            && text(&output).contains("mix = put 40, get 50, list 7, delete 3"),
        "{}",
        text(&output)
    );
}

#[test]
fn a_dry_run_says_what_is_not_as_usual_what_would_be_made_and_where_results_go() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept.jsonl");
    let kept = kept.to_str().unwrap();
    let dry = |words: &str| {
        let words: Vec<&str> = words.split(' ').chain(["--dry-run"]).collect();
        let output = load(&words);
        assert_eq!(code(&output), 0, "{}", text(&output));
        text(&output)
    };
    insta::assert_snapshot!(dry("get --target s3://bench@http://127.0.0.1:1 --users 3 --duration 5s --warmup 1s"), @"
    get: s3://bench@http://127.0.0.1:1
      GETs of 4 KiB objects as fast as 16 users can
      duration = 5s
      mix = get 1
      seeds = 100 x 4k weight 1
      stages = 3, 3 in 5s
      users = 3
      warmup = 1s
      all other options as the scenario has them, or as usual
      the objects of seeds are made before the measured time, in a bucket that is made where it is missing; what was made is removed at the end
      a warm-up of 1 s; ends after 5 s of measured time
    the result goes to the standard output
    no record is kept; --records FILE.jsonl keeps them
    nothing was done: this is a dry run
    ");
    let other = dry(&format!(
        "fetch --target http://127.0.0.1:1/x --iterations 10 --records {kept}"
    ));
    assert!(
        other.contains("nothing is made before")
            && other.contains("or after 10 turns of users\n")
            && other.contains(&format!("records are appended to {kept}\n"))
            && !other.contains("timeout ="),
        "{other}"
    );
    assert!(!std::path::Path::new(kept).exists());
}
