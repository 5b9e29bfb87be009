//! Options that are seen at the server, or on a terminal, and not only in the record.

use super::own_server::{command, ok};
use super::server::{Act, Asked, Server};
use super::{code, fathom, records, text};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

/// Whether a path is an object's, and not its bucket's or a page of the server's.
fn is_object(path: &str) -> bool {
    path.strip_prefix("/bench/")
        .is_some_and(|key| !key.is_empty())
}

/// The bodies of five objects as a server of ours received them.
fn uploaded(more: &[&str]) -> Vec<Vec<u8>> {
    let server = Server::start(|_| Act::Answer);
    let target = server.s3("bench");
    let arguments = [
        "put",
        "--target",
        &target,
        "--users",
        "1",
        "--iterations",
        "5",
        "--keep",
    ];
    let output = command(&[&arguments[..], more].concat()).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output));
    let objects = server.state.objects.lock().unwrap();
    let bodies: Vec<Vec<u8>> = objects
        .iter()
        .filter(|(path, _)| is_object(path))
        .map(|(_, body)| body.clone())
        .collect();
    assert_eq!(bodies.len(), 5);
    bodies
}

#[test]
fn content_is_what_was_asked_for() {
    let distinct = |body: &[u8]| body.iter().collect::<BTreeSet<_>>().len();
    for body in uploaded(&["--data", "zeros", "--object-size", "10KiB"]) {
        assert!(body.len() == 10 << 10 && body.iter().all(|byte| *byte == 0));
    }
    for body in uploaded(&["--data", "text", "--object-size", "10KiB"]) {
        assert!(
            body.iter()
                .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
                && distinct(&body) > 10
        );
    }
    let random = uploaded(&["--data", "random", "--object-size", "10KiB"]);
    assert!(random.iter().all(|body| distinct(body) == 256));
    assert_eq!(
        random.iter().collect::<BTreeSet<_>>().len(),
        5,
        "no object is like another"
    );
}

#[test]
fn a_seed_repeats_what_is_drawn_and_another_one_does_not() {
    let sizes = |seed: &str| {
        uploaded(&["--seed", seed, "--object-size", "1KiB-1MiB"])
            .iter()
            .map(Vec::len)
            .collect::<BTreeSet<_>>()
    };
    let first = sizes("1");
    assert_eq!((first.len(), &first), (5, &sizes("1")));
    assert_ne!(first, sizes("2"));
}

/// How often each object was read, the most read first.
fn reads(keys: &str) -> Vec<u64> {
    let seen = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let count = Arc::clone(&seen);
    let server = Server::start(move |asked: &Asked| {
        if asked.method == "GET" && is_object(&asked.path) {
            *count.lock().unwrap().entry(asked.path.clone()).or_default() += 1;
        }
        Act::Answer
    });
    let target = server.s3("bench");
    ok(&[
        "get",
        "--target",
        &target,
        "--users",
        "2",
        "--seeds",
        "20",
        "--iterations",
        "2000",
        "--keys",
        keys,
    ]);
    let mut counts: Vec<u64> = seen.lock().unwrap().values().copied().collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn keys_are_read_by_the_law_that_was_asked_for() {
    let (uniform, zipf) = (reads("uniform"), reads("zipf:1.2"));
    assert_eq!(
        (
            uniform.len(),
            uniform.iter().sum::<u64>(),
            zipf.iter().sum::<u64>()
        ),
        (20, 2000, 2000)
    );
    // 100 each; six standard deviations are 59.
    assert!(
        uniform.iter().all(|count| (41..=159).contains(count)),
        "{uniform:?}"
    );
    // The first of 20 has 1 / sum(k^-1.2) = 36.5 % of the reads, the second 15.9 %; six standard
    // deviations are 130 and 99.
    assert!(
        (600..=860).contains(&zipf[0]) && (219..=417).contains(&zipf[1]),
        "{zipf:?}"
    );
}

#[test]
fn a_request_that_takes_longer_than_its_time_has_failed() {
    let server = Server::start(|asked: &Asked| {
        if asked.method == "GET" && is_object(&asked.path) {
            Act::Late(60_000)
        } else {
            Act::Answer
        }
    });
    let (dir, target) = (tempfile::tempdir().unwrap(), server.s3("bench"));
    let file = dir.path().join("r.jsonl");
    let run = [
        "load",
        "get",
        "--target",
        &target,
        "--users",
        "2",
        "--seeds",
        "2",
        "--iterations",
        "4",
        "--timeout",
        "150ms",
        "--records",
    ];
    let output = fathom(&[&run[..], &[file.to_str().unwrap()]].concat())
        .output()
        .unwrap();
    assert_eq!(code(&output), 1, "{}", text(&output));
    let [record] = records(&file).try_into().unwrap();
    assert_eq!(
        (record.operations.count(), record.operations.errors()),
        (0, 4)
    );
    assert_eq!(
        record
            .errors
            .iter()
            .map(|error| (error.error.as_str(), error.count))
            .collect::<Vec<_>>(),
        [("timeout", 4)]
    );
    assert!(
        record.elapsed_ns < 30_000_000_000,
        "two turns of 150 ms took {} ns",
        record.elapsed_ns
    );
}

/// What a load of 1.5 s shows on a terminal.
fn on_a_terminal(more: &[&str]) -> String {
    let server = Server::start(|_| Act::Answer);
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let target = server.s3("bench");
    let run = [
        "get",
        "--target",
        &target,
        "--users",
        "1",
        "--seeds",
        "2",
        "--duration",
        "1500ms",
    ];
    // The command keeps the far end until it is dropped, and the near end is at its end when nobody
    // has the far one.
    let mut load = command(&run)
        .args(more)
        .env("TERM", "xterm")
        .stdout(Stdio::null())
        .stderr(far)
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut near = File::from(near);
    let reading = std::thread::spawn(move || {
        let mut piece = [0; 4096];
        // The end of a terminal whose last process has gone is an error.
        while let Ok(count @ 1..) = near.read(&mut piece) {
            shown.extend_from_slice(&piece[..count]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    assert!(load.wait().unwrap().success());
    reading.join().unwrap()
}

#[test]
fn progress_is_shown_on_a_terminal_as_often_as_was_asked_for() {
    // Each bar says the time, such as `get: 0.3 s of 1.5 s, 2 s left`.
    let lines = |shown: &str| {
        let times = shown
            .match_indices(" s of 1.5 s")
            .filter_map(|(at, _)| shown[..at].rsplit(' ').next())
            .map(str::to_owned);
        times.collect::<BTreeSet<_>>().len()
    };
    let (often, seldom) = (
        on_a_terminal(&["--live-interval", "100ms"]),
        on_a_terminal(&[]),
    );
    assert!(lines(&often) >= 5, "{often}");
    assert!((1..=2).contains(&lines(&seldom)), "{seldom}");
    assert_eq!(lines(&on_a_terminal(&["--no-live"])), 0);
}

#[test]
fn headers_and_the_query_go_with_every_request_and_records_keep_no_secret_of_them() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let server = Server::start(move |asked: &Asked| {
        let mut seen = seen.lock().unwrap();
        seen.push((asked.query.clone(), asked.head.clone()));
        Act::Answer
    });
    let s3 = server.s3("bench");
    // An object that is there for whoever asks for its path.
    let made = [
        "put",
        "--target",
        &s3,
        "--users",
        "1",
        "--iterations",
        "1",
        "--keep",
    ];
    ok(&made);
    let path = server
        .state
        .objects
        .lock()
        .unwrap()
        .keys()
        .next()
        .cloned()
        .unwrap();
    heads.lock().unwrap().clear();
    let target = format!(
        "http://127.0.0.1:{}{path}?view=1&token=hunter2",
        server.port
    );
    let given = [
        "Accept: text/plain",
        "X-Tenant: hunter5",
        "Cookie: sid=hunter3",
        "Authorization: Bearer hunter4",
    ];
    let mut fetch: Vec<&str> = "fetch --users 2 --iterations 6 --target"
        .split(' ')
        .collect();
    fetch.push(&target);
    fetch.extend(given.iter().flat_map(|header| ["--header", header]));
    let record = ok(&fetch);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 6);
    for (query, head) in heads.iter() {
        assert_eq!(query, "view=1&token=hunter2");
        for line in given {
            assert_eq!(
                head.lines()
                    .filter(|of| of.eq_ignore_ascii_case(line))
                    .count(),
                1,
                "{head}"
            );
        }
    }
    let kept = "Accept: text/plain, X-Tenant: (not recorded), Cookie: (not recorded), Authorization: (not recorded)";
    assert_eq!(record.asked["header"], kept);
    assert_eq!(record.effective["header"], kept);
    assert!(
        record.targets[0]
            .path
            .ends_with("?view=1&token=(not recorded)")
    );
    assert!(!format!("{record:?}").contains("hunter"), "{record:?}");
}
