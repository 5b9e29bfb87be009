//! What shells complete, and manual pages, as their readers see them. A shell or formatter that this
//! machine lacks is passed over by name.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that does not work, and says what it lacks"
)]

use std::process::{Command, Output};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

fn script(shell: &str) -> String {
    let output = fathom(&["completions", shell]);
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a program is there; its absence is told.
fn is_there(program: &str) -> bool {
    let there = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .unwrap()
        .status
        .success();
    if !there {
        println!("SKIPPED: needs {program}");
    }
    there
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Words before the one that is completed, how that begins, what must be offered and what not.
const CALLS: [(&str, &str, &[&str], &[&str]); 9] = [
    ("fathom run --engine", "io", &["io_uring"], &["sync"]),
    (
        "fathom run --distribution",
        "",
        &["zipf", "pareto"],
        &["sync"],
    ),
    ("fathom load", "put", &["put", "put-get-verify"], &["get"]),
    (
        "fathom explain",
        "star",
        &["starved", "start_skew"],
        &["drift"],
    ),
    (
        "fathom compare a b --metric",
        "p99",
        &["p99", "p99.9"],
        &["p50"],
    ),
    (
        "fathom compare a b --factor",
        "queue",
        &["queue-depth"],
        &["engine"],
    ),
    ("fathom serve s3 --sync", "a", &["always"], &["never"]),
    ("fathom compare a b --load", "mi", &["mixed"], &["get"]),
    ("fathom completions", "z", &["zsh"], &["bash"]),
];

#[test]
fn bash_completes_engines_scenarios_rules_and_metrics() {
    if !is_there("bash") {
        return;
    }
    for (before, begun, offered, not) in CALLS {
        let last = before.rsplit(' ').next().unwrap();
        let asked = format!(
            "{}\nCOMP_WORDS=({before} \"{begun}\"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_fathom fathom \"{begun}\" {last}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            script("bash")
        );
        let said = said("bash", &["--norc", "-c", &asked]);
        let words: Vec<&str> = said.split_whitespace().collect();
        for word in offered {
            assert!(words.contains(word), "{before} {begun}: {word}: {said}");
        }
        for word in not {
            assert!(!words.contains(word), "{before} {begun}: {word}: {said}");
        }
    }
}

#[test]
fn fish_completes_engines_scenarios_rules_and_metrics() {
    if !is_there("fish") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fathom.fish");
    std::fs::write(&file, script("fish")).unwrap();
    for (before, begun, offered, not) in CALLS {
        let asked = format!("source {}; complete -C '{before} {begun}'", file.display());
        let said = said("fish", &["--no-config", "-c", &asked]);
        let words: Vec<&str> = said.split_whitespace().collect();
        for word in offered {
            assert!(words.contains(word), "{before} {begun}: {word}: {said}");
        }
        for word in not {
            assert!(!words.contains(word), "{before} {begun}: {word}: {said}");
        }
    }
}

#[test]
fn zsh_reads_its_script_which_has_the_values() {
    let script = script("zsh");
    for part in ["(auto sync io_uring", "compadd -- upload download", "p99.9"] {
        assert!(script.contains(part), "{part}");
    }
    if !is_there("zsh") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("_fathom");
    std::fs::write(&file, script).unwrap();
    let said = said("zsh", &["-n", file.to_str().unwrap()]);
    assert!(said.is_empty(), "{said}");
}

#[test]
fn manual_pages_render_without_a_complaint_and_keep_their_examples() {
    let dir = tempfile::tempdir().unwrap();
    let output = fathom(&["man", dir.path().to_str().unwrap()]);
    assert!(output.status.success());
    let pages: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        let page = page.to_str().unwrap();
        let text = std::fs::read_to_string(page).unwrap();
        let long = text
            .lines()
            .find(|line| line.starts_with('.') && line.len() > 400);
        assert_eq!(long, None, "{page}");
        if is_there("groff") {
            let words = ["-man", "-Tutf8", "-ww", "-rLL=80n", "-P-cbou", page];
            let output = Command::new("groff").args(words).output().unwrap();
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(complaints.is_empty(), "{page}: {complaints}");
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            if page.ends_with("/fathom-audit.1") {
                let example = "fathom audit records.jsonl --annotate -o summary.md -o junit.xml";
                assert!(shown.lines().any(|line| line.trim() == example), "{shown}");
            }
        }
        if is_there("mandoc") {
            let complaints = said("mandoc", &["-Tlint", "-Werror", page]);
            assert!(complaints.is_empty(), "{page}: {complaints}");
        }
    }
}
