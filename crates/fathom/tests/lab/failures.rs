//! Slots that fail, and what a job of continuous integration sees of them.

use super::{complained, in_dir, names, said, stated, text, with_plan};
use std::fs;

#[test]
fn a_job_whose_slots_fail_has_a_summary_an_error_for_junit_and_an_annotation() {
    let calibrated =
        stated("10", "12").replace("echo speed: {value}.{pass}5", "echo no speed {value}");
    let not_calibrated = calibrated.replace("calibrate = 1", "calibrate = 0");
    for plan in [calibrated, not_calibrated] {
        let dir = with_plan(&plan);
        let words = ["lab", "run", "p.toml", "--ci", "-o", "verdict.json"];
        let told = complained(&in_dir(dir.path(), &words), 1);
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
        let told = said(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 1);
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
    let nan = told_of("NaN");
    assert!(nan.contains("is \"NaN\", which is no number"), "{nan}");
    let large = told_of("1e400");
    let why = "is \"1e400\", which is no number that can be held: it is too large";
    assert!(large.contains(why), "{large}");
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
        assert!(!told.contains("0 of 0"), "{told}");
        assert!(!told.contains("failed 3 times"), "{told}");
    }
}

/// Three arms in two rows, of which commands fail where the test says so; arms state these values.
fn in_rows(fails: &str, values: [&str; 3]) -> String {
    let [base, other, third] = values;
    let values = format!(
        "[[arm]]\nname = \"base\"\nset = {{ value = \"{base}\" }}\n[[arm]]\nname = \"other\"\nset = {{ value = \"{other}\" }}\n[[arm]]\nname = \"third\"\nset = {{ value = \"{third}\" }}\n"
    );
    let arms = stated("", "").find("[[arm]]").unwrap_or(0);
    let head = stated("", "")[..arms]
        .replace("calibrate = 1", "calibrate = 1\ncontrol = false")
        .replace("[1, 30]", "8")
        .replace("[workload]", "[factors]\nsize = [\"small\", \"large\"]\n[workload]")
        .replace(
            "echo speed: {value}.{pass}5",
            &format!(
                "sh -c 'case {{arm}}-{{size}} in {fails}) echo no room >&2; exit 7;; esac; echo speed: {{value}}.{{pass}}5'"
            ),
        );
    head + &values
}

#[test]
fn a_cell_that_cannot_run_is_left_out_by_name_and_the_others_go_on_to_their_verdicts() {
    let dir = with_plan(&in_rows("third-large", ["10", "12", "12"]));
    let words = ["lab", "run", "p.toml", "--ci", "-o", "verdict.json"];
    let output = in_dir(dir.path(), &words);
    let (told, beside) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}{beside}");
    let why = "third in size=large: could not run: exit code 7; it printed: no room (3 of 3 attempts at block 1)";
    for part in [
        "other against base: speed, margin 5.0 %\n\nall rows\n  Slower by 19",
        "third against base: speed, margin 5.0 %\n\n1 of 2 rows\n  Slower by 19",
        &format!("size=large\n  No verdict: {why}"),
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for name in ["verdict.json", "p.md", "p.xml"] {
        let written = fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(written.contains("3 of 3 attempts"), "{name}: {written}");
    }
    assert!(
        beside.contains(&format!("error: {why}"))
            && beside.contains("::error")
            && beside.contains("could not run"),
        "{beside}"
    );
    // What is read again says the same; a slower arm beside one that could not run is no verdict.
    let again = in_dir(dir.path(), &["compare", "p.jsonl"]);
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(4), told));
    let status = text(&in_dir(dir.path(), &["lab", "status", "p.toml"]).stdout);
    assert!(
        status.contains("16 complete, 8 passes of at most 8") && status.contains(why),
        "{status}"
    );
}

#[test]
fn a_row_whose_baseline_cannot_run_is_closed_and_one_experiment_without_any_ends() {
    let dir = with_plan(&in_rows("base-large", ["10", "10", "12"]));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let (told, beside) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}{beside}");
    for part in [
        "other against base: speed, margin 5.0 %\n\n1 of 2 rows\n  Within 5.0 %",
        "size=large\n  No verdict: base in size=large: could not run",
    ] {
        assert!(told.contains(part), "{part}: {told}{beside}");
    }
    assert!(!told.contains("left out: row"), "{told}");
    assert!(
        beside.contains("in size=large a slot of the baseline failed: exit code 7"),
        "{beside}"
    );
    let everywhere = with_plan(&in_rows("base-*", ["10", "10", "12"]));
    let output = in_dir(everywhere.path(), &["lab", "run", "p.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("exit code 7"), "{output:?}");
    assert_eq!(names(everywhere.path()), ["p.plan.toml", "p.toml"]);
}

#[test]
fn what_was_left_out_stays_out_where_an_experiment_goes_on() {
    let plan = in_rows("third-large", ["10", "12", "12"]);
    let whole = with_plan(&plan);
    let asked = text(&in_dir(whole.path(), &["lab", "run", "p.toml"]).stdout);
    let lines = fs::read_to_string(whole.path().join("p.jsonl")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    // As after kills: within the first block of the row, after it, and later.
    for kept in [3, 5, 7, 9, 12, 20, lines.len() - 2] {
        let dir = with_plan(&plan);
        fs::write(dir.path().join("p.jsonl"), lines[..kept].join("\n")).unwrap();
        let output = in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let verdicts = |told: &str| -> Vec<String> {
            let lines = told
                .lines()
                .filter(|line| line.contains("Slower") || line.contains("could not run"));
            lines
                .map(|line| line.split(" (").next().unwrap_or_default().to_owned())
                .collect()
        };
        let told = text(&output.stdout);
        assert_eq!(verdicts(&told), verdicts(&asked), "{kept}: {told}");
    }
}

#[test]
fn a_report_of_an_experiment_in_which_a_block_was_repeated_has_its_verdict() {
    let once = "sh -c 'test {arm}-{pass} = second-2 && ! test -e once && touch once && exit 7; echo speed: {value}.{pass}5'";
    let dir = with_plan(&stated("10", "12").replace("echo speed: {value}.{pass}5", once));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let told = text(&in_dir(dir.path(), &["report", "p.jsonl"]).stdout);
    assert!(told.contains("- second: Slower by"), "{told}");
    assert!(!told.contains("No verdict"), "{told}");
}

#[test]
fn where_a_baseline_fails_late_the_verdict_says_so_instead_of_what_was_not_run() {
    for (arm, plan) in [
        ("first", stated("10", "10")),
        ("second", stated("10", "10").replace("[1, 30]", "8")),
    ] {
        let fails = format!(
            "sh -c 'test {{arm}}-{{pass}} = {arm}-3 && exit 7; echo speed: {{value}}.{{pass}}5'"
        );
        let dir = with_plan(&plan.replace("echo speed: {value}.{pass}5", &fails));
        let told = said(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 1);
        let expected = format!("No verdict: {arm} in run: could not run: exit code 7");
        assert!(told.contains(&expected), "{told}");
        assert!(!told.contains("no slot of"), "{told}");
    }
}

#[test]
fn slots_whose_plan_is_lost_are_not_added_to() {
    let dir = with_plan(&stated("10", "12"));
    let store = dir.path().join("p.jsonl");
    assert_eq!(
        in_dir(dir.path(), &["lab", "run", "p.toml"]).status.code(),
        Some(3)
    );
    let whole = fs::read_to_string(&store).unwrap();
    let (_plan, slots) = whole.split_once('\n').unwrap();
    fs::write(&store, slots).unwrap();
    for words in [
        &["lab", "run", "p.toml"][..],
        &["lab", "run", "p.toml", "--resume"],
    ] {
        let told = complained(&in_dir(dir.path(), words), 2);
        assert!(told.contains("not the line of its plan"), "{told}");
        assert_eq!(fs::read_to_string(&store).unwrap(), slots);
    }
    fs::write(&store, &whole).unwrap();
    let again = in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
}
