//! What is found before the first slot.

use super::{complained, in_dir, names, stated, with_plan};

/// What `lab plan` and `lab run` say of a plan that cannot work; nothing has begun.
fn refused(plan: &str) -> String {
    let dir = with_plan(plan);
    let told =
        ["plan", "run"].map(|verb| complained(&in_dir(dir.path(), &["lab", verb, "p.toml"]), 2));
    assert_eq!(names(dir.path()), ["p.toml"]);
    assert_eq!(told[0], told[1]);
    told[0].clone()
}

#[test]
fn a_metric_that_no_slot_can_have_is_refused() {
    for (metric, expected) in [
        (
            "put.throughput",
            "no operations of the kind \"put\"; the kinds there are run",
        ),
        ("throughput", "a command that is timed has time"),
        ("value:sped", "no number \"sped\"; it states speed"),
        ("server.rss.max", "a command that is timed has time"),
        ("p99", "at most 1 operation a slot, and p99 needs 1000"),
    ] {
        let better = if metric.starts_with("value") {
            "better = \"lower\"\n"
        } else {
            ""
        };
        let plan = stated("10", "12").replace(
            "better = \"lower\"\n",
            &format!("metric = \"{metric}\"\n{better}"),
        );
        let told = refused(&plan);
        assert!(told.contains(expected), "{metric}: {told}");
    }
    let load = stated("10", "12");
    let (head, arms) = load.split_once("[workload]").expect("the plan has one");
    let arms = arms.split_once("[[arm]]").expect("the plan has one").1;
    let load = format!(
        "{}[workload]\nload = \"get\"\ntarget = \"http://127.0.0.1:9/x\"\nset = {{ users = \"{{value}}\" }}\n[[arm]]{arms}",
        head.replace("better = \"lower\"\n", "metric = \"put.p99\"\n")
    );
    let told = refused(&load);
    assert!(
        told.contains("no operations of the kind \"put\"; the kinds there are get"),
        "{told}"
    );
}

#[test]
fn a_threshold_of_operations_that_a_load_does_not_do_is_refused() {
    let dir = tempfile::tempdir().expect("the test can do this");
    for flag in ["--threshold=put.p99<1s", "--find-knee=put.p99<1s"] {
        let words = ["load", "get", "--target", "http://127.0.0.1:9/x", flag];
        let told = complained(&in_dir(dir.path(), &words), 2);
        assert!(
            told.contains("no operations of the kind \"put\"; the kinds there are get"),
            "{told}"
        );
    }
}

#[test]
fn what_is_not_there_and_what_nothing_is_called_is_refused() {
    let with = |from: &str, to: &str| {
        let plan = stated("10", "12");
        assert!(plan.contains(from), "{from}");
        plan.replace(from, to)
    };
    for (plan, expected) in [
        (
            with(
                "name = \"second\"",
                "name = \"second\"\nexpects = [\"fly\"]",
            ),
            "second: expects: \"fly\" is no operation; there are ",
        ),
        (
            with(
                "name = \"second\"",
                "name = \"second\"\nexpects = [\"reed\"]",
            ),
            "did you mean \"read\"?",
        ),
        (
            with("echo speed", "no-such-program speed"),
            "first in run: cannot start no-such-program: no directory of PATH has it",
        ),
        (
            with("echo speed", "/no/such/program speed"),
            "cannot start /no/such/program: there is no such file",
        ),
        (
            with("echo speed", "./p.toml speed"),
            "p.toml: it is not executable",
        ),
        (
            with("read = {", "input = \"not-there\"\nread = {"),
            "input: there is no file ",
        ),
        (with("{pass}5", "{pass}5 {y"), "the brace at \"{y\""),
    ] {
        let told = refused(&plan);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
