//! Experiments from plan files, through the binary.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// A plan whose command states a number: that of its arm, and a little that the pass brings.
fn stated(first: &str, second: &str) -> String {
    format!(
        r#"
question = "Is one of them less?"
better = "lower"
passes = [1, 30]
settle = "0s"
keep-free = "1MiB"
[workload]
command = "echo speed: {{value}}.{{pass}}5"
read = {{ name = "speed", regex = 'speed: ([0-9.]+)', unit = "ms" }}
[[arm]]
name = "first"
set = {{ value = "{first}" }}
[[arm]]
name = "second"
set = {{ value = "{second}" }}
"#
    )
}

fn in_dir(dir: &Path, words: &[&str]) -> Output {
    Command::new(FATHOM)
        .args(words)
        .current_dir(dir)
        .output()
        .expect("the test can do this")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the test can do this");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("the test can do this")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn with_plan(plan: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("the test can do this");
    fs::write(dir.path().join("p.toml"), plan).expect("the test can do this");
    dir
}

#[test]
fn commands_that_state_10_and_12_are_told_apart_and_the_file_is_judged_alike() {
    let dir = with_plan(&stated("10", "12"));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml", "-o", "verdict.json"]);
    let told = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{told}{}",
        text(&output.stderr)
    );
    assert!(
        told.contains("second against first: speed, margin 5.0 %") && told.contains("Slower"),
        "{told}"
    );
    assert_eq!(names(dir.path()), ["p.jsonl", "p.toml", "verdict.json"]);
    let again = in_dir(dir.path(), &["compare", "p.jsonl"]);
    assert_eq!(text(&again.stdout), told, "the file holds the question");
    let other = in_dir(dir.path(), &["compare", "p.jsonl", "--metric", "iops"]);
    assert!(
        text(&other.stderr).contains("registered"),
        "{}",
        text(&other.stderr)
    );
}

#[test]
fn equal_commands_are_not_told_apart() {
    let dir = with_plan(&stated("10", "10"));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let told = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{told}{}",
        text(&output.stderr)
    );
    assert!(told.contains("Within 5.0 %"), "{told}");
}

#[test]
#[ignore = "measures time: it needs an idle machine"]
fn commands_of_10_and_12_ms_are_told_apart_and_equal_ones_are_not() {
    for (second, code, word) in [("0.012", 3, "Slower"), ("0.010", 0, "")] {
        let plan = stated("0.010", second)
            .replace(
                "command = \"echo speed: {value}.{pass}5\"",
                "command = \"sleep {value}\"\nrepeat = 10",
            )
            .replace("better = \"lower\"", "metric = \"time\"")
            .replace("[1, 30]", "[1, 90]");
        let plan: String = plan
            .lines()
            .filter(|line| !line.starts_with("read"))
            .map(|line| format!("{line}\n"))
            .collect();
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{told}{}",
            text(&output.stderr)
        );
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn a_plan_is_shown_before_anything_happens_and_leaves_no_file() {
    let dir = with_plan(&stated("10", "12"));
    let output = in_dir(dir.path(), &["lab", "plan", "p.toml"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for part in [
        "Is one of them less?",
        "first (baseline)",
        "second (candidate)",
        "command = echo speed: 12.{pass}5",
        "seed 1; first pass: ",
        "looked at after 8",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(names(dir.path()), ["p.toml"]);
}

#[test]
fn a_plan_that_leads_nowhere_is_refused_with_its_line() {
    for (from, to, expected) in [
        (
            "passes",
            "pases",
            "p.toml:4: a plan has no key \"pases\", did you mean \"passes\"?",
        ),
        (
            "{value}",
            "{valu}",
            "p.toml:8: the placeholder {valu} has no value",
        ),
        (
            "regex = 'speed: ([0-9.]+)'",
            "regex = 'speed'",
            "has 0 groups",
        ),
        (
            "better = \"lower\"",
            "",
            "nobody says whether more or less of value:speed is better",
        ),
    ] {
        let dir = with_plan(&stated("10", "12").replace(from, to));
        for verb in ["plan", "run"] {
            let output = in_dir(dir.path(), &["lab", verb, "p.toml"]);
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{told}");
            assert!(told.contains(expected), "{expected}: {told}");
            assert_eq!(names(dir.path()), ["p.toml"]);
        }
    }
}

#[test]
fn a_command_that_fails_states_nothing_or_hangs_is_a_failed_slot_with_its_reason() {
    for (command, expected) in [
        (
            "sh -c 'echo {value} is wrong >&2; exit 7'",
            "exit code 7; it printed: 1",
        ),
        (
            "echo nothing {value}",
            "it states no speed: nothing matches",
        ),
        ("/no/such/program {value}", "cannot start /no/such/program"),
        ("sh -c 'kill -9 $$ {value}'", "ended by signal 9"),
    ] {
        let plan = stated("10", "12").replace("echo speed: {value}.{pass}5", command);
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("failed 3 times") && told.contains(expected),
            "{expected}: {told}"
        );
        assert_eq!(
            names(dir.path()),
            ["p.jsonl", "p.toml"],
            "no directory is left"
        );
    }
    let hangs = stated("10", "12")
        .replace(
            "echo speed: {value}.{pass}5",
            "sh -c 'sleep 1000 & sleep 1000 {value}'",
        )
        .replace("keep-free", "slot-limit = \"50ms\"\nkeep-free");
    let output = in_dir(with_plan(&hangs).path(), &["lab", "run", "p.toml"]);
    assert!(
        text(&output.stderr).contains("not ended after"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_experiment_is_not_begun_twice_in_one_file_and_goes_on_where_it_is_asked_to() {
    let dir = with_plan(&stated("10", "12").replace("[1, 30]", "6"));
    let run = |more: &[&str]| in_dir(dir.path(), &[&["lab", "run", "p.toml"], more].concat());
    let early = run(&["--resume"]);
    assert_eq!(early.status.code(), Some(2), "{}", text(&early.stderr));
    assert_eq!(run(&[]).status.code(), Some(3));
    let lines = fs::read_to_string(dir.path().join("p.jsonl")).unwrap();
    let twice = run(&[]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        text(&twice.stderr).contains("go on with it by --resume"),
        "{}",
        text(&twice.stderr)
    );
    // As after a kill: the last slots are gone.
    let all: Vec<&str> = lines.lines().collect();
    fs::write(dir.path().join("p.jsonl"), all[..all.len() - 3].join("\n")).unwrap();
    let again = run(&["--resume"]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    assert!(
        text(&again.stdout).contains("6 blocks"),
        "{}",
        text(&again.stdout)
    );
    fs::write(dir.path().join("p.toml"), stated("11", "12")).unwrap();
    let other = run(&["--resume"]);
    assert!(
        text(&other.stderr).contains("holds another experiment"),
        "{}",
        text(&other.stderr)
    );
}
