//! `fathom profile`: what it measures, and above all what it leaves behind, which is nothing.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ended, Found, Ground, NOBODY, Running, is_root, skipped, until};
use record::{Record, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file and the shortest slots.
const SMALL: [&str; 4] = ["--size", "16M", "--budget", "1s"];
/// Names of the standard rows, as this test knows them.
const ROWS: usize = 24;

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["profile"], more, &SMALL[..]].concat()
}

/// The tree without one file that the command itself was told to write.
fn without(tree: BTreeMap<PathBuf, Found>, name: &str) -> BTreeMap<PathBuf, Found> {
    tree.into_iter()
        .filter(|(path, _)| !path.ends_with(name))
        .collect()
}

/// The file of a profile that runs in a directory.
fn own_file(dir: &Path) -> Option<PathBuf> {
    let is_own = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(".fathom-profile-"))
    };
    fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(is_own)
}

fn by_row(records: &[Record]) -> BTreeMap<String, BTreeSet<u32>> {
    let mut out: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for trial in records.iter().filter_map(|record| record.trial.as_ref()) {
        out.entry(trial.row.clone())
            .or_default()
            .insert(trial.block);
    }
    out
}

/// The text without the breaks between its lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A profile in the directory `d` of a ground, busy with its slots.
fn running(ground: &Ground, more: &[&str]) -> Running {
    let run = ground.start(&[&["profile", "d", "--size", "16M", "--budget", "10m"], more].concat());
    let dir = ground.path("d");
    until("the profile writes its file", || own_file(&dir));
    run.wait_until_busy();
    run
}

#[test]
fn every_standard_row_is_measured_in_six_passes_and_the_directory_is_as_it_was() {
    let ground = Ground::new();
    ground.write("foreign", "data");
    let before = ground.tree();
    let ended = ground.fathom(&args(&[".", "--passes", "6", "-o", "r.jsonl"]));
    ended.expect(0);
    assert_eq!(without(ground.tree(), "r.jsonl"), before);
    let records = ground.records("r.jsonl");
    let rows = by_row(&records);
    assert!(
        records
            .iter()
            .all(|record| record.outcome.status == Status::Ok),
        "{}",
        ended.stdout
    );
    if !ended.stdout.contains("not measured") {
        assert_eq!(rows.len(), ROWS, "{:?}", rows.keys());
    } else {
        skipped("direct I/O and io_uring");
    }
    assert!(rows.values().all(|blocks| blocks.len() >= 6), "{rows:?}");
    assert!(
        rows.keys().all(|row| ended.stdout.contains(row)),
        "{}",
        ended.stdout
    );
    let table: Vec<&str> = ended
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("Row "))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    let place = |row: &str| table.iter().position(|line| line.starts_with(row));
    assert_eq!(
        place("SEQ1M Q8T1 read"),
        Some(0),
        "rows stand in the order of the table, not of the lot: {}",
        ended.stdout
    );
    assert!(
        place("RND4K Q1T1 read cached") < place("curve RND4K Q1 read")
            || place("curve RND4K Q1 read").is_none(),
        "{}",
        ended.stdout
    );
    let plans: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| Some(record.trial.as_ref()?.plan.as_str()))
        .collect();
    assert_eq!(plans.len(), 1);
}

#[test]
fn the_page_of_a_quick_profile_is_at_most_200_kilobytes() {
    let ground = Ground::new();
    let quick = ["profile", ".", "--quick", "--size", "64M"];
    let ended = ground.fathom(&[&quick[..], &["--report", "p.html", "-o", "r.jsonl"]].concat());
    ended.expect(0);
    // Slots as long as theirs are outside of tests, so that histograms are as wide.
    let records = ground.records("r.jsonl");
    assert_eq!(records.len(), 54);
    let page = fs::metadata(ground.path("p.html")).unwrap().len();
    assert!((50_000..=200_000).contains(&page), "{page}");
}

#[test]
fn the_records_can_be_audited() {
    let ground = Ground::new();
    let ended = ground.fathom(&args(&[".", "--quick", "--passes", "1", "-o", "r.jsonl"]));
    ended.expect(0);
    let always = "fewer than 6 repetitions";
    assert!(ended.stdout.contains(always), "{}", ended.stdout);
    let audit = ground.fathom(&["audit", "r.jsonl"]);
    assert!(
        matches!(audit.code, Some(0 | 4)) && audit.stderr.is_empty(),
        "{audit:?}"
    );
    // What the profile says as always, audit says so too.
    let folded = audit
        .stdout
        .lines()
        .any(|line| line.starts_with("As always: "));
    let words: Vec<&str> = audit.stdout.split_whitespace().collect();
    assert!(
        folded && words.join(" ").contains(always),
        "{}",
        audit.stdout
    );
}

#[test]
fn a_signal_ends_it_with_what_was_measured_and_without_its_file() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let run = running(&ground, &["-o", "r.jsonl"]);
        // The plan is the first line, the first record the second.
        let lines = |bytes: &Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
        until("a slot has ended", || {
            fs::read(ground.path("r.jsonl"))
                .ok()
                .filter(|bytes| lines(bytes) > 1)
        });
        run.signal(signal);
        let ended = run.end();
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(
            in_one_line(&ended.stdout).contains("stopped by a signal after 0 complete passes"),
            "{}",
            ended.stdout
        );
        assert_eq!(fs::read_dir(ground.path("d")).unwrap().count(), 0);
        assert!(!ground.records("r.jsonl").is_empty());
        fs::remove_file(ground.path("r.jsonl")).unwrap();
    }
}

#[test]
fn a_signal_while_the_file_is_being_written_leaves_nothing() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    let run = ground.start(&["profile", "d", "--size", "2G"]);
    let file = until("the profile makes its file", || own_file(&ground.path("d")));
    run.wait_until_filling(&file);
    run.signal("INT");
    let ended = run.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""));
    assert_eq!(fs::read_dir(ground.path("d")).unwrap().count(), 0);
}

#[test]
fn what_a_killed_profile_left_is_removed_by_the_next_and_nothing_else() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    ground.write("d/.fathom-profile-7.dat", "foreign");
    let run = running(&ground, &[]);
    run.signal("KILL");
    assert_eq!(run.end().code, None);
    fs::rename(ground.path("d/.fathom-profile-7.dat"), ground.path("aside")).unwrap();
    let left = own_file(&ground.path("d")).expect("a killed profile cannot remove its file");
    fs::rename(ground.path("aside"), ground.path("d/.fathom-profile-7.dat")).unwrap();
    let ended = ground.fathom(&args(&["d", "--quick", "--passes", "1"]));
    ended.expect(0);
    let said = in_one_line(&ended.stdout);
    assert!(
        said.contains(&format!(
            "removed d/{}",
            left.file_name().unwrap().to_string_lossy()
        )),
        "{said}"
    );
    assert!(
        said.contains("d/.fathom-profile-7.dat is left alone"),
        "{said}"
    );
    assert_eq!(ground.read("d/.fathom-profile-7.dat"), b"foreign");
    assert_eq!(fs::read_dir(ground.path("d")).unwrap().count(), 1);
}

#[test]
fn a_profile_that_runs_keeps_its_file_when_another_begins() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    let first = running(&ground, &[]);
    let file = own_file(&ground.path("d")).unwrap();
    let second = ground.fathom(&args(&["d", "--quick", "--passes", "1"]));
    second.expect(0);
    assert!(
        second.stdout.contains("another profile (process "),
        "{}",
        second.stdout
    );
    assert!(file.exists());
    first.signal("INT");
    assert_eq!(first.end().code, Some(130));
    assert!(!file.exists());
}

#[test]
fn an_existing_file_is_read_and_keeps_every_byte_and_its_time() {
    let ground = Ground::new();
    ground.write(
        "f",
        (0..4 << 20)
            .map(|i: u32| (i % 251) as u8)
            .collect::<Vec<u8>>(),
    );
    let before = ground.tree();
    let ended = ground.fathom(&[
        "profile", "f", "--quick", "--passes", "1", "--budget", "1s", "-o", "r.jsonl",
    ]);
    ended.expect(0);
    assert_eq!(without(ground.tree(), "r.jsonl"), before);
    let records = ground.records("r.jsonl");
    assert!(!records.is_empty());
    assert!(
        records.iter().all(
            |record| record.operations.kind("write").is_none() && record.operations.count() > 0
        )
    );
    let said = in_one_line(&ended.stdout);
    assert!(
        said.contains("not measured: f holds 4194304 bytes that Fathom did not write"),
        "{said}"
    );
    let given_up = [
        "profile",
        "f",
        "--allow-destroy",
        "f",
        "--quick",
        "--passes",
        "1",
        "--budget",
        "1s",
        "-o",
        "w.jsonl",
    ];
    ground.fathom(&given_up).expect(0);
    assert!(
        ground
            .records("w.jsonl")
            .iter()
            .any(|record| record.operations.kind("write").is_some_and(|o| o.count > 0))
    );
    assert_eq!(
        fs::metadata(ground.path("f")).unwrap().len(),
        4 << 20,
        "what is given up is overwritten, not resized"
    );
}

#[test]
fn in_memory_the_cached_rows_are_measured_and_the_others_named_with_the_reason() {
    let memory = Path::new("/dev/shm");
    let kind = host::Machine::at(Path::new("/"))
        .storage(memory)
        .file_system
        .map(|found| found.kind);
    if kind.as_deref() != Some("tmpfs") {
        return skipped("a tmpfs at /dev/shm");
    }
    let ground = Ground::new();
    let dir = tempfile::tempdir_in(memory).unwrap();
    let ended = ground.fathom(&args(&[
        &dir.path().to_string_lossy(),
        "--passes",
        "1",
        "-o",
        "r.jsonl",
    ]));
    ended.expect(0);
    let rows = by_row(&ground.records("r.jsonl"));
    assert!(
        !rows.is_empty() && rows.keys().all(|row| row.ends_with("cached")),
        "{rows:?}"
    );
    let said = in_one_line(&ended.stdout);
    assert!(
        said.contains("not measured: tmpfs has no direct I/O"),
        "{said}"
    );
    assert!(said.contains("tmpfs lies in memory"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn rows_of_the_user_are_measured_as_written() {
    let ground = Ground::new();
    ground.write(
        "rows.toml",
        "random = true\n[[phase]]\nname = \"mine\"\nblock-size = \"16k\"\n[[phase]]\nname = \"deep\"\nengine = \"sync\"\nqueue-depth = 4\n",
    );
    let ended = ground.fathom(&args(&[
        ".",
        "--rows",
        "rows.toml",
        "--passes",
        "2",
        "-o",
        "r.jsonl",
        "--name",
        "my disk",
    ]));
    ended.expect(0);
    let records = ground.records("r.jsonl");
    assert_eq!(
        by_row(&records),
        BTreeMap::from([("mine".to_owned(), BTreeSet::from([0, 1]))])
    );
    assert!(
        records
            .iter()
            .all(|record| record.effective["block-size"] == "16k"
                && record.trial.as_ref().unwrap().arm == "my disk")
    );
    assert!(
        ended.stdout.contains("--queue-depth 4 cannot be reached"),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_cannot_be_profiled_is_refused_and_nothing_is_touched() {
    let ground = Ground::new();
    ground.write("empty", "");
    ground.write("rows.toml", "[[phase]]\nname = \"a\"\nnum-files = 3\n");
    ground.write("f", [1; 8192]);
    let refused = |line: &str| ground.refused(&line.split(' ').collect::<Vec<_>>());
    for (line, wanted) in [
        (
            "profile missing",
            "missing does not exist; name a directory",
        ),
        ("profile empty", "empty is empty: there is nothing to read"),
        (
            "profile /dev/null",
            "/dev/null is neither a directory nor a file nor a block device",
        ),
        ("profile /proc", "/proc"),
        (
            "profile . --size 5000",
            "--size 5000 is not a multiple of 1 MiB",
        ),
        ("profile . --size 900P", "is more than the"),
        ("profile . --budget 0", "--budget 0 leaves no time"),
        ("profile . --rows rows.toml", "row \"a\" has num-files"),
        ("profile . --rows nothing.toml", "cannot read nothing.toml"),
        ("profile . --engine uring", "did you mean \"io_uring\"?"),
        (
            "profile . --allow-destroy f",
            "in a directory a profile makes its own file",
        ),
        (
            "profile f --allow-destroy empty",
            "--allow-destroy empty names another target than f",
        ),
        ("profile . -o no/such/r.jsonl", "no/such/r.jsonl"),
    ] {
        let said = refused(line);
        assert!(said.contains(wanted), "{line}: {said}");
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_refused() {
    let ground = Ground::new();
    fs::create_dir(ground.path("d")).unwrap();
    fs::set_permissions(ground.path("d"), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = ground.command(&["profile", "d"]);
    if is_root() {
        if !reachable_by_others(&ground.path("")) {
            return skipped("a build directory that other users can reach");
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let said = ground.refused_by(&mut command);
    assert!(
        said.contains("cannot make a file in d: Permission denied"),
        "{said}"
    );
}

fn reachable_by_others(dir: &Path) -> bool {
    let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
    dir.ancestors()
        .chain(program.ancestors().skip(1))
        .all(|dir| fs::metadata(dir).is_ok_and(|facts| facts.permissions().mode() & 0o005 == 0o005))
}

#[test]
fn a_disk_that_is_full_fails_the_profile_and_its_file_goes() {
    let ground = Ground::new();
    // A limit on file sizes stands for the full disk: it can be set without one.
    fs::create_dir(ground.path("d")).unwrap();
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 8192; exec \"$0\" profile d --size 64M",
        env!("CARGO_BIN_EXE_fathom"),
    ]);
    let ended = Ended::of(shell.current_dir(ground.path("")).output().unwrap());
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(1), ""),
        "{}",
        ended.stderr
    );
    assert!(ended.error().contains("File too large"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(ground.path("d")).unwrap().count(), 0);
}
