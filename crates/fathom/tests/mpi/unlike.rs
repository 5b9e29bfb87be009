//! Ranks that are not alike: of another plan or version, with another directory under the name that all
//! have, or more of them than there is to deal out. All are refused, the ranks named, and nothing is
//! written.

use super::{FATHOM, SHORT, launchers, may_unshare, nobody_is_left, place, record};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The names that lie in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Whether the one refusal names the second and the last of four ranks beside the first, and no other.
#[track_caller]
fn are_named(told: &str, what: &str, name: &str) {
    let mut errors = told.lines().filter(|line| line.contains("error: "));
    let (error, more) = (errors.next().unwrap_or_default(), errors.count());
    assert_eq!(more, 0, "{name}: {told}");
    let error = error.split_once(what);
    let Some((_, error)) = error else {
        panic!("{name}: no {what}: {told}");
    };
    let (first, others) = error.split_once(": ").unwrap();
    assert!(first.contains("(rank 0)"), "{name}: {told}");
    let is_named = |rank: u32| others.contains(&format!("(rank {rank})"));
    assert_eq!(
        [0, 1, 2, 3].map(is_named),
        [false, true, false, true],
        "{name}: {told}"
    );
}

#[test]
fn ranks_that_were_asked_for_something_else_are_named_and_nothing_is_written() {
    let write = SHORT.replace("--random", "--random --write-percent 100");
    for odd in ["--block-size 8k", "--seed 7", "--threads 2"] {
        for launcher in launchers() {
            let (dir, name) = (place(), format!("{} {odd}", launcher.name));
            let own = format!(": -n 1 {FATHOM} {write}");
            let words = format!("{write} {own} {odd} {own} {own} {odd}");
            let (code, told) = launcher.ended_of("1", dir.path(), &words);
            assert_eq!(code, Some(2), "{name}: {told}");
            are_named(&told, "another plan than on ", &name);
            assert_eq!(names(dir.path()), [""; 0], "{name}");
            nobody_is_left(dir.path(), &name);
        }
    }
}

/// This program under another version, which is as long: a copy in which the version is replaced wherever
/// it stands.
fn of_another_version(path: &Path) -> String {
    let own = env!("CARGO_PKG_VERSION");
    let other = format!("{}x", &own[..own.len() - 1]);
    let replace = format!("s/{}/{other}/g", own.replace('.', "\\."));
    // Another process writes it: where this one has it open for that, a child that another test begins
    // meanwhile has it too, and nobody may run it.
    let copy = r#"LC_ALL=C sed "$1" "$2" > "$3" && chmod +x "$3""#;
    let made = Command::new("sh")
        .args(["-c", copy, "sh", &replace, FATHOM])
        .arg(path)
        .status();
    assert!(made.unwrap().success());
    let says = Command::new(path).arg("--version").output().unwrap();
    let says = String::from_utf8(says.stdout).unwrap();
    assert!(says.contains(&other), "{says}");
    other
}

#[test]
fn ranks_of_another_version_are_named_and_nothing_is_written() {
    let script = r#"case "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" in
        1|3) shift; exec ../program/fathom "$@";;
        *) exec "$@";; esac"#;
    let all = place();
    let [program, dir] = ["program", "run"].map(|name| all.path().join(name));
    fs::create_dir(&program).unwrap();
    fs::create_dir(&dir).unwrap();
    let write = SHORT.replace("--random", "--random --write-percent 100");
    of_another_version(&program.join("fathom"));
    for launcher in launchers() {
        let name = launcher.name;
        let (code, told) = launcher.wrapped_ended("4", &dir, script, &write);
        assert_eq!(code, Some(2), "{name}: {told}");
        are_named(&told, "another version of fathom than on ", name);
        assert_eq!(names(&dir), [""; 0], "{name}");
        nobody_is_left(&dir, name);
    }
}

/// Three ranks on hosts of their own, of which one has a file system in memory where the others have a
/// directory that they share; what is left in it is told.
fn mounted_alone(rank: u32) -> String {
    r#"rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} exec unshare --uts --mount sh -c 'hostname "node$rank"
        [ "$rank" != ALONE ] || mount -t tmpfs own own
        "$@"; code=$?
        find own -mindepth 1 | sed "s/^/left: /"
        exit $code' sh "$@""#
        .replace("ALONE", &rank.to_string())
}

#[test]
fn a_host_that_alone_has_something_mounted_there_is_named_before_anything_is_written() {
    if !may_unshare(&["--uts", "--mount"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return;
    }
    let write = SHORT.replace("run x", "run own/x --write-percent 100");
    let meta = "run own --meta create,stat,unlink --num-files 30 --no-live --records r.jsonl";
    for launcher in launchers() {
        for (rank, words, wanted) in [
            (
                1,
                write.as_str(),
                "own is not the same directory on node1 (rank 1) (not mounted?)",
            ),
            (
                2,
                meta,
                "own is not the same directory on node2 (rank 2) (not mounted?)",
            ),
            // The others have theirs together.
            (0, &write, "node1 (rank 1), node2 (rank 2) have one target"),
        ] {
            let (dir, name) = (place(), format!("{} {rank}: {words}", launcher.name));
            fs::create_dir(dir.path().join("own")).unwrap();
            let script = mounted_alone(rank);
            let (code, told) = launcher.wrapped_ended("3", dir.path(), &script, words);
            assert_eq!(code, Some(2), "{name}: {told}");
            let errors = told.lines().filter(|line| line.contains("error: "));
            assert_eq!(errors.count(), 1, "{name}: {told}");
            assert!(told.contains(wanted), "{name}: {told}");
            assert!(!told.contains("left: "), "{name}: {told}");
            assert_eq!(names(dir.path()), ["own"], "{name}");
            assert_eq!(names(&dir.path().join("own")), [""; 0], "{name}");
            nobody_is_left(dir.path(), &name);
        }
    }
}

#[test]
fn ranks_that_are_more_than_what_is_dealt_out_are_refused_and_what_all_use_is_for_any_number() {
    let run = |more: &str| {
        format!(
            "run x --block-size 4k {more} --no-live --lead 1s --max-skew 60s --lost-after 30s --records r.jsonl"
        )
    };
    let written = "--write-percent 100 --duration 0s";
    for launcher in launchers() {
        for (words, wanted) in [
            (
                run("--file-size 12k --file-distribution partitioned --duration 1s"),
                "3 blocks of 4 KiB are fewer than the 4 workers",
            ),
            (
                run(&format!("--file-size 12k {written}")),
                "3 blocks of 4 KiB are fewer than the 4 workers",
            ),
            (
                run(&format!("--file-size 28k --threads 2 {written}")),
                "7 blocks of 4 KiB are fewer than the 8 workers",
            ),
            (
                "run x --meta create,stat,unlink --total-files 3 --no-live --records r.jsonl"
                    .into(),
                "4 ranks share 3 files",
            ),
        ] {
            let (dir, name) = (place(), format!("{}: {words}", launcher.name));
            let (code, told) = launcher.ended(dir.path(), &words);
            assert_eq!(code, Some(2), "{name}: {told}");
            assert_eq!(told.matches(wanted).count(), 1, "{name}: {told}");
            assert_eq!(names(dir.path()), [""; 0], "{name}");
            nobody_is_left(dir.path(), &name);
        }
        for (words, operations) in [
            // One block for all of them.
            (run("--file-size 4k --random --duration 1s"), None),
            // Files fewer than ranks have blocks enough.
            (
                run(&format!("--num-files 2 --file-size 64k {written}")).replace(" x ", " d "),
                Some(32),
            ),
        ] {
            let (dir, name) = (place(), format!("{}: {words}", launcher.name));
            fs::create_dir(dir.path().join("d")).unwrap();
            let (code, told) = launcher.ended(dir.path(), &words);
            assert_eq!(code, Some(0), "{name}: {told}");
            let record = record(dir.path(), &name);
            let counts = record.by_host();
            let mut counts = counts.iter().map(|host| host.operations.count());
            assert!(counts.all(|count| count > 0), "{name}: {told}");
            let done = record.operations.count();
            assert!(operations.is_none_or(|all| all == done), "{name}: {done}");
            nobody_is_left(dir.path(), &name);
        }
    }
}
