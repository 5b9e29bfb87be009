//! Arms that are git refs.

use super::{FATHOM, names, records_in, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn git(dir: &Path, words: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "init.defaultBranch=main",
    ];
    let output = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(dir)
        .output()
        .expect("the test can do this");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

const REFS: &str = r#"
metric = "value:v"
better = "lower"
passes = 6
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[build]
repository = "."
command = "sh -c 'cp tool.sh built; echo built >> log'"
identity = "wc -l log"
[workload]
command = "sh {tree}/built {pass}"
read = { name = "v", regex = 'value ([0-9.]+)' }
[[arm]]
name = "old"
build = { ref = "old" }
[[arm]]
name = "new"
build = { ref = "main" }
"#;

/// A repository with two commits, the plan that compares them, and a cache of its own.
fn with_refs() -> (tempfile::TempDir, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("the test can do this");
    let at = dir.path();
    let write = |value: &str| {
        fs::write(at.join("tool.sh"), format!("echo value {value}\n"))
            .expect("the test can do this")
    };
    git(at, &["init", "-q"]);
    write("10.$1");
    git(at, &["add", "tool.sh"]);
    git(at, &["commit", "-qm", "first"]);
    git(at, &["tag", "old"]);
    write("12.$1");
    git(at, &["commit", "-qam", "second"]);
    fs::write(at.join("p.toml"), REFS).expect("the test can do this");
    let cache = tempfile::tempdir().expect("the test can do this");
    (dir, cache)
}

fn lab_with(dir: &Path, cache: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(FATHOM);
    command
        .arg("lab")
        .args(words)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", cache);
    command.output().expect("the test can do this")
}

#[test]
fn git_refs_are_arms_that_are_built_once_a_commit_and_stay_that_commit() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let shown = lab(&["plan", "p.toml"]);
    assert!(
        text(&shown.stdout).contains(", commit "),
        "{}{}",
        text(&shown.stdout),
        text(&shown.stderr)
    );
    assert_eq!(names(cache.path()), [""; 0], "a plan builds nothing");
    let output = lab(&["run", "p.toml"]);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    // The branch moves on; what was resolved stays.
    fs::write(at.join("tool.sh"), "echo value 1.$1\n").unwrap();
    git(at, &["commit", "-qam", "third"]);
    let again = lab(&["run", "p.toml", "--resume"]);
    assert_eq!(
        again.status.code(),
        Some(3),
        "{}{}",
        text(&again.stdout),
        text(&again.stderr)
    );
    let logs = Command::new("find")
        .arg(cache.path())
        .args(["-name", "log", "-path", "*tree*"])
        .output()
        .unwrap();
    let logs = text(&logs.stdout);
    assert_eq!(logs.lines().count(), 2, "one tree a commit: {logs}");
    assert!(
        logs.lines()
            .all(|log| fs::read_to_string(log).unwrap() == "built\n"),
        "built once"
    );
}

#[test]
fn slots_of_an_arm_whose_build_fails_are_failed_records_and_the_others_go_on() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let fails = REFS
        .replace(
            "cp tool.sh built",
            "grep -q 10 tool.sh || exit 1; cp tool.sh built",
        )
        .replace("\"main\"", "\"old\"")
        + "[[arm]]\nname = \"broken\"\nbuild = { ref = \"main\" }\n";
    fs::write(at.join("q.toml"), fails).unwrap();
    let output = lab(&["run", "q.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(
        told.contains("no slot of broken can run: the build of main"),
        "{told}"
    );
    assert!(
        told.contains("Cannot tell: +0.0 %") && told.contains("over 6 blocks"),
        "the others go on: {told}"
    );
    assert!(
        told.contains("slots of broken failed, the last because the build of main"),
        "{told}"
    );
    let records = records_in(&at.join("q.jsonl"));
    let statuses = |arm: &str| -> Vec<&str> {
        let of_arm = records
            .iter()
            .filter(|record| record["trial"]["arm"] == arm);
        of_arm
            .filter_map(|record| record["outcome"]["status"].as_str())
            .collect()
    };
    let broken = statuses("broken");
    assert_eq!(broken.len(), 6, "{told}");
    assert!(broken.iter().all(|status| *status == "failed"), "{told}");
    assert_eq!(broken.len(), statuses("old").len());
    let status = text(&lab(&["status", "q.toml"]).stdout);
    assert!(!status.contains("0 complete"), "{status}");
    let again = lab(&["run", "q.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    assert_eq!(records_in(&at.join("q.jsonl")).len(), records.len());
}

#[test]
fn an_experiment_of_which_one_of_two_arms_cannot_be_built_has_failed() {
    for (fine, word) in [("main", "10"), ("old", "12")] {
        let (dir, cache) = with_refs();
        let at = dir.path();
        // The baseline is `old`, which says 10, and the other `main`, which says 12.
        let fails = REFS.replace(
            "cp tool.sh built",
            &format!("grep -q {word} tool.sh && exit 1; cp tool.sh built"),
        );
        fs::write(at.join("q.toml"), fails).unwrap();
        let output = lab_with(at, cache.path(), &["run", "q.toml", "--ci"]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fine} can be built: {told}");
        assert!(told.contains("failed: exit code 1"), "{told}");
        assert!(!told.contains("no arm beside its baseline"), "{told}");
        let records = records_in(&at.join("q.jsonl"));
        let kept: Vec<_> = records
            .iter()
            .filter(|record| !record["trial"].is_null())
            .collect();
        assert_eq!(kept.len(), 1, "one slot stands for those that cannot run");
        assert_eq!(kept[0]["outcome"]["status"], "failed");
        let suites = fs::read_to_string(at.join("q.xml")).unwrap();
        assert!(suites.contains("<error message="), "{suites}");
    }
}

#[test]
fn a_ref_or_repository_that_is_not_there_is_refused() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let nowhere = lab(&["plan", "p.toml"]);
    assert_eq!(nowhere.status.code(), Some(0));
    fs::write(at.join("r.toml"), REFS.replace("\"main\"", "\"nowhere\"")).unwrap();
    let output = lab(&["plan", "r.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("has no ref \"nowhere\""),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_build_that_hangs_is_ended_at_its_time_and_leaves_no_process() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let mark = format!("1{:08}", std::process::id());
    let plan = REFS.replace(
        "command = \"sh -c 'cp tool.sh built; echo built >> log'\"",
        &format!(
            "command = \"sh -c 'grep -q 12 tool.sh && {{{{ sleep {mark} & sleep {mark}; }}}}; cp tool.sh built; echo built >> log'\"\nwithin = \"300ms\""
        ),
    );
    fs::write(at.join("p.toml"), plan).unwrap();
    let output = lab_with(at, cache.path(), &["run", "p.toml"]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("no slot of new can run") && told.contains("300 ms"),
        "{told}"
    );
    let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(
        !text(&processes.stdout).contains(&mark),
        "the build runs on"
    );
}

#[test]
fn a_factor_that_chooses_what_is_built_is_refused_because_an_arm_has_one_build() {
    let (dir, cache) = with_refs();
    let plan = REFS
        .replace(
            "[build]",
            "[factors]\nversion = [\"old\", \"main\"]\n[build]",
        )
        .replace("ref = \"old\"", "ref = \"{version}\"");
    fs::write(dir.path().join("p.toml"), plan).expect("the test can do this");
    for words in [["lab", "plan", "p.toml"], ["lab", "run", "p.toml"]] {
        let output = Command::new(FATHOM)
            .args(words)
            .current_dir(dir.path())
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .expect("the test can do this");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("the build of old is another in version=main than in version=old"),
            "{told}"
        );
    }
}
