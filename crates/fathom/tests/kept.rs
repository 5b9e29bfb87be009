//! What is left of a run that is killed.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

#[path = "ground/ranks.rs"]
mod ground;
#[path = "../../object/tests/store/server.rs"]
mod server;

use ground::{signal, wait_for};
use record::{Record, Status, read_records};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn fathom(dir: &Path, arguments: &str) -> Command {
    let mut out = Command::new(env!("CARGO_BIN_EXE_fathom"));
    out.args(arguments.split_whitespace()).current_dir(dir);
    out.stdout(Stdio::null()).stderr(Stdio::null());
    out
}

fn lines(dir: &Path) -> usize {
    let text = std::fs::read_to_string(dir.join("r.jsonl")).unwrap_or_default();
    text.matches('\n').count()
}

fn records(dir: &Path) -> Vec<Record> {
    let read = read_records(&dir.join("r.jsonl")).unwrap();
    assert!(read.damaged.is_empty());
    read.records
}

/// Runs until so many lines are written, and is killed.
fn killed(dir: &Path, arguments: &str, least: usize) {
    let mut child = fathom(dir, arguments).spawn().unwrap();
    while lines(dir) < least {
        assert_eq!(child.try_wait().unwrap(), None, "{arguments}");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

const LONG: &str =
    "run x --engine null --file-size 1G --no-live --records r.jsonl --save-every 200ms";

#[test]
fn what_was_measured_until_a_run_was_killed_is_its_record_and_says_that_it_is_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path(), &format!("{LONG} --duration 10min"), 3);
    let found = records(dir.path());
    assert_eq!(found.len(), 1, "each line took the place of the one before");
    let record = &found[0];
    assert_eq!(
        (record.outcome.status, record.outcome.exit_code),
        (Status::Incomplete, 5)
    );
    assert!(record.operations.count() > 0 && record.elapsed_ns >= 200_000_000);
    let read = record.operations.kind("read").unwrap();
    assert_eq!(
        read.bytes,
        read.count * 4096,
        "workers go on while they are looked at"
    );
    let report = fathom(dir.path(), "report r.jsonl")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(
        report.contains("had not ended when this was written"),
        "{report}"
    );

    // The next run appends its own.
    let status = fathom(dir.path(), &format!("{LONG} --duration 500ms")).status();
    assert!(status.unwrap().success());
    let found = records(dir.path());
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].outcome.status, Status::Ok);
    assert!(!found[1].series.is_empty() && !found[1].workers.is_empty());
}

#[test]
fn what_a_walk_had_looked_at_until_it_was_killed_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..40 {
        std::fs::create_dir_all(dir.path().join(format!("tree/{number}/below"))).unwrap();
    }
    let walk =
        "run tree --meta walk --think-time 100ms --no-live --records r.jsonl --save-every 200ms";
    killed(dir.path(), walk, 2);
    let found = records(dir.path());
    let walk = found[0].walk.unwrap();
    assert!((40..80).contains(&walk.entries), "{walk:?}");
}

#[test]
fn what_was_kept_in_one_file_and_its_record_in_another_count_once() {
    let dir = tempfile::tempdir().unwrap();
    let paced = format!("{LONG} --duration 700ms --rate-iops 1000");
    assert!(fathom(dir.path(), &paced).status().unwrap().success());
    let text = std::fs::read_to_string(dir.path().join("r.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() >= 3, "{} lines", lines.len());
    let [kept, done] = [lines[lines.len() - 2], lines[lines.len() - 1]];
    for (name, line) in [("kept.jsonl", kept), ("done.jsonl", done)] {
        std::fs::write(dir.path().join(name), line).unwrap();
    }
    let said = |arguments: &str| {
        let mut command = fathom(dir.path(), arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    let wanted = "kept.jsonl, record 1 does not count: done.jsonl, record 1 has more";
    for verb in ["audit", "report", "export"] {
        let (code, out, err) = said(&format!("{verb} kept.jsonl done.jsonl"));
        assert!(err.contains(wanted), "{verb}: {err}");
        assert_eq!(code, Some(0), "{verb}: {out}");
        assert!(!out.contains("not_ended"), "{verb}: {out}");
    }
    let (code, _, err) = said("compare kept.jsonl done.jsonl");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("kept.jsonl holds nothing of its own"), "{err}");

    // Alone it is what is left of a run that never ended, with its pace.
    let (code, out, _) = said("audit kept.jsonl");
    assert_eq!(code, Some(4), "{out}");
    assert!(
        out.contains("invalid[not_ended]: the run did not get to its end"),
        "{out}"
    );
    let read = read_records(&dir.path().join("kept.jsonl")).unwrap();
    let pace = read.records[0].pace.as_ref().unwrap();
    assert_eq!(pace.asked_per_second, Some(1000.0));
    assert!(pace.achieved_per_second > 0.0);
}

#[test]
fn a_run_that_does_not_say_how_long_it_takes_is_kept_as_well() {
    let dir = tempfile::tempdir().unwrap();
    killed(
        dir.path(),
        &format!("{LONG} --total-bytes 1125899906842624"),
        1,
    );
    assert!(records(dir.path())[0].operations.count() > 0);
}

/// Ranks of which one is killed would leave nothing of the first second.
#[test]
fn a_run_with_a_stonewall_leaves_word_that_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let seldom = LONG.replace("200ms", "1h");
    let words = format!("{seldom} --write-percent 100 --duration 0s --stonewall 3s --wear-out");
    killed(dir.path(), &words, 1);
    assert_eq!(records(dir.path())[0].outcome.status, Status::Incomplete);
}

#[test]
fn a_short_run_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let status = fathom(dir.path(), &format!("{LONG} --duration 100ms")).status();
    assert!(status.unwrap().success());
    assert_eq!(lines(dir.path()), 1);
}

/// Has a process stand still, and go on for a moment.
fn stand_still(process: u32) {
    let is_still = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let state = stat.rsplit_once(") ").unwrap().1;
        assert!(!state.starts_with('Z'), "it has ended");
        state.starts_with('T')
    };
    assert!(sys::signal_process(process, 19).unwrap());
    while !is_still() {
        std::thread::yield_now();
    }
    assert!(sys::signal_process(process, 18).unwrap());
    // What it does then nothing tells of.
    let clock = sys::MachineClock::monotonic();
    sys::Clock::sleep_until(&clock, sys::monotonic_ns() + 2_000_000);
}

/// Standing still and going on is a signal too, and calls that wait end by it: that is no error.
#[test]
fn what_stands_still_and_goes_on_again_and_again_has_no_error() {
    let dir = ground::place();
    let mut nbd = fathom(
        dir.path(),
        "serve block --front nbd --unix socket --size 1m",
    );
    let mut nbd = nbd.spawn().unwrap();
    let socket = dir.path().join("socket");
    wait_for("a socket", || socket.exists().then_some(()));
    let nbd_url = format!("nbd+unix:///?socket={}", socket.display());
    let on_nbd = format!("run {nbd_url} --allow-destroy {nbd_url} --queue-depth 4");
    let http = server::Server::start(|_| server::Act::Late(1));
    let target = http.s3("bench");
    let synced = "--file-size 1M --write-percent 50 --fsync 1";
    let mut each: Vec<String> = ["sync --lock-mode full", "mmap", "libaio", "io_uring"]
        .iter()
        .map(|engine| format!("run f {synced} --threads 2 --engine {engine}"))
        .collect();
    each.push("run f --file-size 1M --rate-iops 2000".to_owned());
    each.push("run names --meta create --total-files 20000 --think-time 1ms".to_owned());
    each.push(format!("{on_nbd} --write-percent 50"));
    each.push(format!("load put --target {target} --users 4"));
    for words in each {
        let mut child = begun(
            dir.path(),
            &format!("{words} --duration 10min --save-every 50ms"),
        );
        once(dir.path(), |record| record.operations.count() > 0);
        for _ in 0..10 {
            stand_still(child.id());
        }
        signal(child.id(), "INT");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{words}");
        let record = once(dir.path(), |_| true);
        assert_eq!(record.errors, [], "{words}");
        assert_eq!(record.operations.errors(), 0, "{words}");
        std::fs::remove_file(dir.path().join("r.jsonl")).unwrap();
    }
    signal(nbd.id(), "TERM");
    nbd.wait().unwrap();
}

fn begun(dir: &Path, words: &str) -> Child {
    let mut work = fathom(dir, &format!("{words} --no-live --records r.jsonl"));
    work.env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        .env("AWS_SECRET_ACCESS_KEY", "a-secret");
    work.spawn().unwrap()
}

fn load(dir: &Path, words: &str) -> Child {
    begun(dir, &format!("load {words}"))
}

#[test]
fn what_a_load_measured_until_it_was_killed_is_its_record_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = server::Server::start(|_| server::Act::Answer);
    let target = server.s3("bench");
    let mut load = fathom(
        dir.path(),
        &format!(
            "load put --target {target} --users 2 --duration 10min --no-live --records r.jsonl --save-every 200ms"
        ),
    );
    load.env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        .env("AWS_SECRET_ACCESS_KEY", "a-secret");
    let mut child = load.spawn().unwrap();
    while lines(dir.path()) < 3 {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let found = records(dir.path());
    assert_eq!(found.len(), 1, "each line took the place of the one before");
    let record = &found[0];
    let outcome = &record.outcome;
    assert_eq!((outcome.status, outcome.exit_code), (Status::Incomplete, 5));
    let notice = record.notices.first().unwrap();
    assert!(notice.contains("names begin with fathom-"), "{notice}");
    let puts = record.operations.kind("put").unwrap();
    assert!(puts.count > 0 && record.elapsed_ns >= 200_000_000);
    assert_eq!(record.asked["users"], "2");
    assert_eq!(record.load.as_ref().unwrap().scenario, "put");
}

/// The one record, once it is what is waited for.
fn once(dir: &Path, is_it: impl Fn(&Record) -> bool) -> Record {
    wait_for("a line of records", || {
        let read = read_records(&dir.join("r.jsonl")).ok()?;
        let [record] = read.records.as_slice() else {
            return None;
        };
        is_it(record).then(|| record.clone())
    })
}

#[test]
fn a_load_that_is_killed_or_interrupted_before_it_measured_tells_what_it_had_made() {
    for how in ["KILL", "INT"] {
        let dir = tempfile::tempdir().unwrap();
        let server = server::Server::start(|asked| match asked.method.as_str() {
            "PUT" => server::Act::Late(20),
            _ => server::Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!("get --target {target} --seeds 100000 --save-every 100ms");
        let mut child = load(dir.path(), &words);
        let made = |record: &Record| record.load.as_ref().map_or(0, |load| load.left_behind);
        let kept = once(dir.path(), |record| made(record) > 0);
        assert_eq!(kept.outcome.status, Status::Incomplete);
        assert!(kept.notices[0].contains("names begin with fathom-"));
        signal(child.id(), how);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), (how == "INT").then_some(130), "{how}");
        let status = once(dir.path(), |_| true).outcome.status;
        let wanted = match how {
            "INT" => Status::Interrupted,
            _ => Status::Incomplete,
        };
        assert_eq!(
            status, wanted,
            "{how}: it took the place of the lines before"
        );
        assert_eq!(server.objects() > 0, how == "KILL", "{how}");
    }
}

#[test]
fn a_short_load_that_is_killed_while_it_removes_what_it_made_has_measured() {
    let dir = tempfile::tempdir().unwrap();
    let server = server::Server::start(|asked| match asked.method.as_str() {
        "DELETE" => server::Act::Late(2000),
        _ => server::Act::Answer,
    });
    let target = server.s3("bench");
    let words = format!("put --target {target} --users 4 --rate 400 --duration 1s");
    let mut child = load(dir.path(), &words);
    let kept = once(dir.path(), |_| true);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = kept.operations.kind("put").unwrap().count;
    assert!(done > 100 && !kept.series.is_empty(), "{done}");
    assert_eq!(kept.outcome.status, Status::Ok);
    assert_eq!(kept.load.as_ref().unwrap().left_behind, done);
    let mut notices = kept.notices.iter();
    assert!(notices.any(|notice| notice.contains("names begin with fathom-")));
}

/// A server that stands still says nothing of how long the setup will take.
#[test]
fn a_load_that_is_killed_soon_after_it_began_its_setup_leaves_word_that_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let server = server::Server::start(|asked| match asked.number {
        0..9 => server::Act::Answer,
        _ => server::Act::Late(400_000),
    });
    let target = server.s3("bench");
    let words = format!("get --target {target} --seeds 1000 --timeout 5min --save-every 10min");
    let mut child = load(dir.path(), &words);
    let kept = once(dir.path(), |_| true);
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = &kept.outcome;
    assert_eq!((outcome.status, outcome.exit_code), (Status::Incomplete, 5));
    assert!(kept.notices[0].contains("names begin with fathom-"));
    assert_eq!(kept.load.unwrap().scenario, "get");
}

/// Asks a load that writes a line every tenth of a second twice for the end; its exit code.
fn told_twice(dir: &Path, child: &mut Child) -> Option<i32> {
    signal(child.id(), "INT");
    // What follows within half a second is the same wish.
    let seen = lines(dir);
    wait_for("more of it", || (lines(dir) > seen + 8).then_some(()));
    signal(child.id(), "INT");
    wait_for("its end", || child.try_wait().unwrap()).code()
}

/// Its requests would be waited for five minutes, one after another.
#[test]
fn who_asks_twice_for_the_end_does_not_wait_for_a_server_that_stands_still() {
    let dir = tempfile::tempdir().unwrap();
    let server = server::Server::start(|asked| match asked.number {
        0..300 => server::Act::Answer,
        _ => server::Act::Late(400_000),
    });
    let target = server.s3("bench");
    let words = format!(
        "put --target {target} --users 4 --duration 10min --timeout 5min --save-every 100ms"
    );
    let mut child = load(dir.path(), &words);
    once(dir.path(), |record| record.operations.count() > 200);
    assert_eq!(told_twice(dir.path(), &mut child), Some(130));
    let record = once(dir.path(), |_| true);
    assert_eq!(record.outcome.status, Status::Interrupted);
    let left = record.load.as_ref().unwrap().left_behind;
    assert!(left > 200, "{left}");
}

/// What was asked for and never begun is not left.
#[test]
fn a_setup_that_is_given_up_says_what_may_be_left_and_not_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = server::Server::start(|asked| match asked.number {
        0..200 => server::Act::Answer,
        _ => server::Act::Late(400_000),
    });
    let target = server.s3("bench");
    let words = format!("get --target {target} --seeds 100000 --timeout 5min --save-every 100ms");
    let mut child = load(dir.path(), &words);
    let made = |record: &Record| record.load.as_ref().map_or(0, |load| load.left_behind);
    once(dir.path(), |record| made(record) > 100);
    assert_eq!(told_twice(dir.path(), &mut child), Some(130));
    let message = once(dir.path(), |_| true).outcome.message.unwrap();
    let left = message.split("; ").find_map(|part| {
        let (count, _) = part.split_once(" objects that this load made")?;
        count.split(' ').next_back()?.parse::<u64>().ok()
    });
    let is_so_far = left.is_some_and(|left| (1..1000).contains(&left));
    assert!(is_so_far, "{message}");
}
