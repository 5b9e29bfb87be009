//! Slots that fail, and what a job of continuous integration sees of them.

use super::{in_dir, names, stated, text, with_plan};
use std::fs;

#[test]
fn a_job_whose_slots_fail_has_a_summary_an_error_for_junit_and_an_annotation() {
    let calibrated =
        stated("10", "12").replace("echo speed: {value}.{pass}5", "echo no speed {value}");
    let not_calibrated = calibrated.replace("calibrate = 1", "calibrate = 0");
    for plan in [calibrated, not_calibrated] {
        let dir = with_plan(&plan);
        let words = ["lab", "run", "p.toml", "--ci", "-o", "verdict.json"];
        let output = in_dir(dir.path(), &words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let annotation = told.lines().find(|line| line.starts_with("::error"));
        assert!(
            annotation.is_some_and(|line| line.contains("speed")),
            "{told}"
        );
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        for (name, expected) in [
            ("p.md", "speed"),
            ("p.xml", "<error message="),
            ("verdict.json", "\"exit_code\""),
        ] {
            let text = read(name);
            assert!(
                text.contains(expected) && text.contains("it states no speed"),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn an_arm_that_always_fails_is_told_by_what_failed_and_not_by_its_environment() {
    for (arm, expected) in [
        (
            "second",
            "all 3 slots of second failed, the last because exit code 7",
        ),
        (
            "first",
            "all 3 slots of first failed, the last because exit code 7",
        ),
    ] {
        let plan = stated("10", "12")
            .replace("calibrate = 1", "calibrate = 0")
            .replace(
                "echo speed: {value}.{pass}5",
                &format!(
                    "sh -c 'test {{arm}} != {arm} || exit 7; echo speed: {{value}}.{{pass}}5'"
                ),
            );
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{told}{}",
            text(&output.stderr)
        );
        assert!(told.contains(&format!("No verdict: {expected}")), "{told}");
        assert!(!told.contains("environment"), "{told}");
        assert_eq!(names(dir.path()), ["p.jsonl", "p.plan.toml", "p.toml"]);
    }
}

#[test]
fn values_that_no_ratio_can_be_made_of_and_texts_that_are_no_number_are_told_as_such() {
    let told_of = |value: &str| {
        let plan = stated("10", "12")
            .replace(
                "echo speed: {value}.{pass}5",
                &format!("echo speed: {value} {{value}}"),
            )
            .replace("speed: ([0-9.]+)", "speed: (\\S+)")
            .replace("calibrate = 1", "calibrate = 0")
            .replace("[1, 30]", "6");
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        text(&output.stdout) + &text(&output.stderr)
    };
    for value in ["-3", "0"] {
        let told = told_of(value);
        assert!(
            told.contains("in 6 of 6 blocks speed is 0 or below"),
            "{told}"
        );
    }
    let told = told_of("fast");
    assert!(told.contains("is \"fast\", which is no number"), "{told}");
    assert!(told_of("NaN").contains("NaN is no finite number"));
}

#[test]
fn a_disk_that_is_too_full_is_no_failure_of_an_arm() {
    for calibrate in ["calibrate = 1", "calibrate = 0"] {
        let plan = stated("10", "12")
            .replace("keep-free = \"1MiB\"", "keep-free = \"1000TiB\"")
            .replace("calibrate = 1", calibrate);
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{told}");
        assert!(told.contains("and keep-free is 1000 TiB"), "{told}");
        assert!(!told.contains("failed 3 times"), "{told}");
    }
}
