//! What a user meets on the way: how far an experiment is, what came of it, and what goes wrong around
//! its slots.

use super::{FATHOM, in_dir, names, records, said, stated, text, with_plan};
use std::fs;
use std::process::Command;

#[test]
fn status_and_report_say_where_an_experiment_stands_at_any_time() {
    let dir = with_plan(&stated("10", "12"));
    let lab = |verb: &str, more: &[&str]| {
        let output = in_dir(dir.path(), &[&["lab", verb, "p.toml"], more].concat());
        let told = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), told)
    };
    for verb in ["status", "report"] {
        let (code, told) = lab(verb, &[]);
        assert_eq!(code, Some(2));
        assert!(told.contains("has not begun"), "{told}");
    }
    assert_eq!(lab("run", &[]).0, Some(3));
    let (code, told) = lab("status", &[]);
    assert_eq!(code, Some(0));
    for part in [
        "16, of which 0 did not end well",
        "8 complete, 8 passes of at most 30",
        "ended: a look decided",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let whole = lab("report", &[]);
    assert!(
        whole.0 == Some(3) && whole.1.contains("Slower by"),
        "{whole:?}"
    );
    let lines = fs::read_to_string(dir.path().join("p.jsonl")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    for (kept, state, verdict) in [
        (
            1,
            "0 complete, 0 passes",
            "No verdict: no slot has ended so far",
        ),
        (
            8,
            "3 complete, 3 passes",
            "No verdict: 3 complete blocks of an experiment that stops when it knows",
        ),
    ] {
        fs::write(dir.path().join("half.jsonl"), lines[..kept].join("\n")).unwrap();
        let (code, told) = lab("status", &["--records", "half.jsonl"]);
        assert!(code == Some(0) && told.contains(state), "{told}");
        assert!(told.contains("not running: go on with"), "{told}");
        let (code, told) = lab("report", &["--records", "half.jsonl"]);
        assert!(code == Some(4) && told.contains(verdict), "{told}");
    }
    // Whoever has changed the plan since is told what the records are of.
    assert!(!lab("status", &[]).1.contains("note:"));
    fs::write(dir.path().join("p.toml"), stated("10", "13")).unwrap();
    for verb in ["status", "report"] {
        let told = lab(verb, &[]).1;
        let expected = "note: p.toml has changed since: rows.0.workloads.1.options.command was";
        assert!(told.contains(expected), "{verb}: {told}");
    }
    fs::write(dir.path().join("other.jsonl"), "hello\n").unwrap();
    for (file, expected) in [
        ("other.jsonl", "other.jsonl holds no experiment"),
        (".", ". is no file of records"),
        ("nowhere.jsonl", "there is no nowhere.jsonl"),
    ] {
        for verb in ["status", "report"] {
            let (code, told) = lab(verb, &["--records", file]);
            assert!(
                code == Some(2) && told.contains(expected),
                "{verb} {file}: {told}"
            );
        }
    }
}

/// A number around that of the arm, by a law whose seed is the arm and the pass: up to 10 % more.
fn by_lot(first: &str, second: &str, seed: u32) -> String {
    let command = "sh -c 'n=$(echo {arm} {pass} {seed} | cksum | cut -d\\\" \\\" -f1); echo speed: $(( {value} * (1000 + n % 101) ))'";
    stated(first, second)
        .replace("echo speed: {value}.{pass}5", command)
        .replace(
            "better = \"lower\"",
            &format!("better = \"lower\"\nseed = {seed}"),
        )
        .replace("[1, 30]", "[1, 90]")
}

#[test]
fn commands_of_10_and_12_with_noise_are_told_apart_and_equal_ones_are_not() {
    for seed in [1, 20, 300] {
        for (second, code) in [("12", 3), ("10", 0)] {
            let dir = with_plan(&by_lot("10", second, seed));
            let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
            let told = text(&output.stdout);
            let (is_slower, is_faster) = (told.contains("Slower"), told.contains("Faster"));
            assert_eq!(
                output.status.code(),
                Some(code),
                "{seed}: {told}{}",
                text(&output.stderr)
            );
            assert_eq!((is_slower, is_faster), (code == 3, false), "{seed}: {told}");
        }
    }
}

#[test]
fn placebos_of_an_experiment_of_equal_arms_are_reported_as_what_they_are() {
    let plan = by_lot("10", "10", 1)
        .replace("[1, 90]", "8")
        .replace(
            "name = \"second\"",
            "name = \"second\"\nexpects = [\"get\"]",
        )
        .replace("settle", "control = true\nsettle");
    let dir = with_plan(&plan);
    let told = said(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 0);
    for part in [
        "placebo: second is to change get, and run ran: what it differs by is error",
        "control: first and first (control) agree",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        !told.contains("Slower") && !told.contains("Faster"),
        "{told}"
    );
}

#[test]
fn a_disk_that_fills_while_records_are_appended_ends_it_and_nothing_is_lost() {
    let dir = with_plan(&stated("10", "12"));
    // As a full disk: no file may grow beyond so many blocks of 512 bytes, and that is no signal.
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    let full = Command::new("sh")
        .args(["-c", script, "sh", "60", FATHOM, "lab", "run", "p.toml"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let told = text(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{told}");
    assert!(told.contains("a record cannot be kept"), "{told}");
    let kept = records(dir.path());
    assert!(kept.len() > 2, "{told}");
    assert_eq!(names(dir.path()), ["p.jsonl", "p.plan.toml", "p.toml"]);
    let again = in_dir(dir.path(), &["lab", "run", "p.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    assert_eq!(records(dir.path())[..kept.len()], kept[..]);
}

#[test]
fn surroundings_that_this_machine_does_not_have_or_reach_are_refused_or_fail_the_slot() {
    let with = |environment: &str| {
        let plan = stated("10", "12").replace(
            "[workload]",
            &format!("[environment]\n{environment}\n[workload]"),
        );
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        (
            output.status.code(),
            text(&output.stderr),
            names(dir.path()),
        )
    };
    let (code, told, left) = with("governor = \"no-such-governor\"");
    assert_eq!((code, left.len()), (Some(2), 1), "{told}");
    assert!(told.contains("governor:"), "{told}");
    let (code, told, _) = with("wait-idle = \"forever\"");
    assert!(code == Some(2) && told.contains("wait-idle"), "{told}");
    let (code, told, _) = with("drop-cashes = true");
    assert!(
        code == Some(2) && told.contains("did you mean \"drop-caches\"?"),
        "{told}"
    );
}
