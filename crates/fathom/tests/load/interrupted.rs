//! Loads that are stopped while uploads are open, and objects larger than memory.

use super::client::Server;
use super::own_server::{command, ok, target};
use super::server::{Act, Server as FakeServer};
use super::{code, fathom, records, text};
use record::Status;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Open uploads of the bucket, as the server lists them.
fn uploads(server: &Server) -> Vec<String> {
    server
        .client()
        .call("GET", "/bench?uploads=")
        .ok()
        .fields("UploadId")
}

#[test]
fn an_interrupted_load_leaves_no_open_upload() {
    // `timeout` sends a signal to the process and another to its group; of two that wait the kernel
    // gives the lower number first.
    const KEPT: &str = "; what was measured until then is here";
    for (signals, expected, more, said) in [
        ("kill -INT", [130, 130], "", KEPT),
        ("kill -TERM $0; kill -INT", [143, 130], "", KEPT),
        (
            "kill -HUP",
            [129, 129],
            "--warmup 60s",
            "stopped by signal 1 before anything had been measured",
        ),
    ] {
        // Parts are slow, so that uploads are open for seconds.
        let server = Server::start(&["--memory", "--misbehave", "put.latency=300ms"]);
        server.client().call("PUT", "/bench").ok();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("r.jsonl");
        let run = [
            "multipart",
            "--target",
            &target("http", &[&server.address]),
            "--users",
            "6",
            "--object-size",
            "200MiB",
        ]
        .map(str::to_owned);
        let how = ["--duration", "120s", "--records", file.to_str().unwrap()];
        let mut arguments: Vec<&str> = run.iter().map(String::as_str).chain(how).collect();
        arguments.extend(more.split_whitespace());
        let mut running = command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while uploads(&server).len() < 6 {
            assert!(
                running.try_wait().unwrap().is_none(),
                "it ended before its uploads were open"
            );
        }
        let sent = Command::new("sh")
            .args(["-c", &format!("{signals} $0"), &running.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let output = running.wait_with_output().unwrap();
        assert!(expected.contains(&code(&output)), "{}", text(&output));
        let [record] = records(&file).try_into().unwrap();
        let load = record.load.unwrap();
        let message = record.outcome.message.unwrap();
        assert!(message.ends_with(said), "{message}");
        assert_eq!(
            (record.outcome.status, load.uploads_left_behind),
            (Status::Interrupted, 0),
            "{}",
            text(&output)
        );
        assert_eq!(
            load.teardown
                .kind("multipart_abort")
                .map(|abort| abort.count),
            Some(6)
        );
        assert_eq!(uploads(&server), [""; 0]);
    }
}

#[test]
fn an_interrupted_step_of_a_search_is_no_evidence_of_the_knee() {
    let server = FakeServer::start(|_| Act::Answer);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let target = server.s3("bench");
    let search = "--arrival constant --rate 100 --step-duration 1s --find-knee errors<50%";
    let mut arguments = vec!["load", "get", "--target", &target, "--seeds", "4"];
    arguments.extend(search.split(' '));
    arguments.extend(["--records", file.to_str().unwrap()]);
    let mut running = fathom(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains('\n')) {
        std::thread::yield_now();
    }
    let before = server.requests();
    while server.requests() < before + 30 {
        assert!(running.try_wait().unwrap().is_none(), "it goes on");
        std::thread::yield_now();
    }
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &running.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let output = running.wait_with_output().unwrap();
    let said = text(&output);
    assert_eq!(code(&output), 130, "{said}");
    let steps = records(&file);
    let last = steps.last().unwrap();
    assert_eq!(last.outcome.status, Status::Interrupted, "{said}");
    let search = last.load.as_ref().unwrap().search.as_ref().unwrap();
    let of_whole = steps[steps.len() - 2].load.as_ref().unwrap();
    assert_eq!(Some(search), of_whole.search.as_ref(), "{said}");
    assert_eq!(search.points.len(), steps.len() - 1);
    let part = "was interrupted, and says nothing of the threshold";
    assert!(said.contains(part) && !said.contains("breaks"), "{said}");
    assert!(!said.contains("rate tried"), "{said}");
}

#[test]
fn uploads_that_cannot_be_aborted_are_counted() {
    let server = Server::start(&[
        "--memory",
        "--misbehave",
        "put.latency=300ms,delete.errors=100%:503",
    ]);
    server.client().call("PUT", "/bench").ok();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("r.jsonl");
    let run = [
        "multipart",
        "--target",
        &target("http", &[&server.address]),
        "--users",
        "3",
        "--object-size",
        "200MiB",
    ]
    .map(str::to_owned);
    let how = ["--duration", "120s", "--records", file.to_str().unwrap()];
    let arguments: Vec<&str> = run.iter().map(String::as_str).chain(how).collect();
    let mut running = command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while uploads(&server).len() < 3 {
        assert!(
            running.try_wait().unwrap().is_none(),
            "it ended before its uploads were open"
        );
    }
    assert!(
        Command::new("kill")
            .args(["-TERM", &running.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let output = running.wait_with_output().unwrap();
    let [record] = records(&file).try_into().unwrap();
    assert_eq!(
        (
            record.load.unwrap().uploads_left_behind,
            uploads(&server).len()
        ),
        (3, 3),
        "{}",
        text(&output)
    );
    assert!(
        text(&output).contains("3 multipart uploads that this load began could not be aborted"),
        "{}",
        text(&output)
    );
}

/// All was measured by then, and half of what it made is left.
#[test]
fn a_removal_that_is_given_up_is_no_success_and_says_how_much_is_left_and_where() {
    for (signals, expected) in [(["INT", "INT"], 130), (["TERM", "INT"], 143)] {
        // They are removed 32 at a time.
        let server = FakeServer::start(|asked| match asked.method.as_str() {
            "DELETE" => Act::Late(100),
            _ => Act::Answer,
        });
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("r.jsonl");
        let target = server.s3("bench");
        let mut arguments = vec!["load", "put", "--target", &target, "--users", "4"];
        arguments.extend(["--object-size", "1KiB", "--iterations", "3000", "--no-live"]);
        arguments.extend(["--records", file.to_str().unwrap()]);
        let mut running = fathom(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while server.requests() < 3032 {
            assert!(running.try_wait().unwrap().is_none(), "it goes on");
            std::thread::yield_now();
        }
        for signal in signals {
            // What follows within half a second is the same wish, and ten times 32 take a second.
            let before = server.requests();
            while server.requests() < before + 320 {
                assert!(running.try_wait().unwrap().is_none(), "it goes on");
                std::thread::yield_now();
            }
            let mut kill = Command::new("kill");
            let sent = kill.args([&format!("-{signal}"), &running.id().to_string()]);
            assert!(sent.status().unwrap().success());
        }
        let output = running.wait_with_output().unwrap();
        let said = text(&output);
        assert_eq!(code(&output), expected, "{said}");
        let [record] = records(&file).try_into().unwrap();
        let outcome = &record.outcome;
        assert_eq!(outcome.status, Status::Interrupted, "{said}");
        let message = outcome.message.as_deref().unwrap();
        assert!(
            message.contains("all was measured, and the removal was given up"),
            "{message}"
        );
        assert_eq!(record.operations.kind("put").unwrap().count, 3000);
        let left = record.load.as_ref().unwrap().left_behind;
        assert!((1000..3000).contains(&left), "{left}");
        let left = units::counted(left, "object");
        let notice = format!(
            "at most {left} that this load made could not be removed: the removal was given up at a second signal; their names begin with fathom-"
        );
        let [told] = record.left_over.as_slice() else {
            panic!("{said}");
        };
        assert!(told.to_string().starts_with(&notice), "{said}");
        assert!(
            said.contains(&format!("{left} that this load made")),
            "{said}"
        );
    }
}

/// The most memory that a process has had, in bytes (proc_pid_status(5)).
fn most_resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim()
        .strip_suffix(" kB")
        .unwrap()
        .trim()
        .parse::<u64>()
        .unwrap()
        << 10
}

#[test]
#[ignore = "writes and reads 5 GiB three times: needs as much disk and minutes"]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn five_gib_travel_through_a_quarter_of_a_gib() {
    const SIZE: u64 = 5 << 30;
    const MOST: u64 = 256 << 20;
    let dir = tempfile::tempdir_in(
        std::env::var("FATHOM_LARGE_DIR")
            .unwrap_or_else(|_| std::env::temp_dir().display().to_string()),
    )
    .unwrap();
    for (how, kind, more) in [
        ("one PUT", "put-get-verify", &[][..]),
        ("parts", "multipart", &[]),
        ("one PUT over HTTP/2", "put-get-verify", &["--http2"]),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args([
                "serve",
                "s3",
                "--listen",
                "127.0.0.1:0",
                "--sync",
                "never",
                "--data",
                dir.path().join("data").to_str().unwrap(),
            ])
            .env("AWS_ACCESS_KEY_ID", super::client::ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", super::client::SECRET)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let target = target("http", &[line.trim().rsplit_once("//").unwrap().1]);
        let run = [
            kind,
            "--target",
            &target,
            "--users",
            "1",
            "--object-size",
            "5GiB",
            "--iterations",
            "1",
            "--duration",
            "2h",
        ];
        let record = ok(&[
            &run[..],
            &[
                "--timeout",
                "1h",
                "--payload",
                "unsigned",
                "--no-thresholds",
            ],
            more,
        ]
        .concat());
        let server = most_resident(child.id());
        assert!(
            Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        child.wait().unwrap();
        let client = record.generator().process.max_resident_bytes;
        let words = format!(
            "{how}: generator {} MiB, server {} MiB, {} s",
            client >> 20,
            server >> 20,
            record.elapsed_ns / 1_000_000_000
        );
        println!("{words}");
        let moved = if kind == "multipart" {
            "multipart_part"
        } else {
            "put"
        };
        assert_eq!(
            record
                .operations
                .kind(moved)
                .map(|operations| operations.bytes),
            Some(SIZE),
            "{words}"
        );
        if kind != "multipart" {
            assert_eq!(
                record.operations.kind("get").map(|get| get.bytes),
                Some(SIZE),
                "{words}"
            );
        }
        assert!(client < MOST && server < MOST, "{words}");
    }
}
