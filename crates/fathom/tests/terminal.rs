//! What a terminal shows, and what a pipe gets instead.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use record::{Record, Store};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn fathom(arguments: &[&str], said: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .env("TERM", "xterm")
        .envs(said.iter().copied())
        .stdin(Stdio::null());
    command
}

/// What a command writes on a terminal of so many columns.
fn on_a_terminal(columns: u16, arguments: &[&str], said: &[(&str, &str)]) -> String {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&near, size).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let mut running = fathom(arguments, said)
        .stdout(far.try_clone().unwrap())
        .stderr(far)
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut near = File::from(near);
    let mut piece = [0; 4096];
    // The end of a terminal whose last process has gone is an error.
    while let Ok(count @ 1..) = near.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    running.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

fn in_a_pipe(arguments: &[&str], said: &[(&str, &str)]) -> String {
    String::from_utf8(fathom(arguments, said).output().unwrap().stdout).unwrap()
}

/// The text without what changes colours.
fn bare(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap_or((part, ""));
        let digits = code.strip_prefix('[').unwrap_or("no colour");
        assert!(digits.bytes().all(|c| c.is_ascii_digit()), "ESC{code:?}");
        out.push_str(rest);
    }
    out
}

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../analyze/tests/documents")
        .join(name)
}

const WIDTHS: [u16; 4] = [60, 80, 120, 200];

#[test]
fn every_line_of_a_report_fits_the_terminal_and_its_words_are_whole() {
    let files = ["000.jsonl", "001.jsonl"].map(document);
    let files = files.each_ref().map(|file| file.to_str().unwrap());
    let report = [["report"].as_slice(), &files].concat();
    let widest = bare(&on_a_terminal(200, &report, &[]));
    let words: Vec<&str> = widest.split_whitespace().map(bare_word).collect();
    for columns in WIDTHS {
        let shown = bare(&on_a_terminal(columns, &report, &[]));
        assert!(shown.contains("Can it be believed?"), "{shown}");
        for line in shown.lines() {
            let is_one_word = line.split_whitespace().count() == 1;
            assert!(
                line.chars().count() <= columns.into() || is_one_word,
                "{columns}: {line}"
            );
        }
        let is_whole = |word: &&str| words.contains(word) || word.contains('…');
        let broken: Vec<&str> = shown
            .split_whitespace()
            .map(bare_word)
            .filter(|word| !is_whole(word) && !["room", "here", "for:"].contains(word))
            .collect();
        assert_eq!(broken, [] as [&str; 0], "{columns}:\n{shown}");
    }
}

/// The plan of an experiment of which each arm is told by a hash.
const PLAN: &str = r#"
question = "Does an argument of sh cost time?"
metric = "time"
passes = [4, 8]
[workload]
command = "sh -c {what}"
[[arm]]
name = "none"
set = { what = "exit" }
[[arm]]
name = "zero"
set = { what = "exit" }
"#;

#[test]
fn a_hash_fits_the_terminal_and_is_whole_in_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, PLAN).unwrap();
    let plan = ["lab", "plan", file.to_str().unwrap()];
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let digits_of = |text: &str| {
        let (_, hash) = text.split_once("sha256:").expect("the arm has a hash");
        hash.chars().take_while(|c| is_digit(*c)).count()
    };
    assert_eq!(digits_of(&in_a_pipe(&plan, &[])), 64);
    for columns in WIDTHS {
        let shown = bare(&on_a_terminal(columns, &plan, &[]));
        assert_eq!(digits_of(&shown), 12, "{shown}");
        let directory = directory.path().display().to_string();
        for line in shown.lines().filter(|line| !line.contains(&directory)) {
            assert!(line.chars().count() <= columns.into(), "{columns}: {line}");
        }
    }
}

/// A word as it stands in a heading, where names follow each other behind commas.
fn bare_word(word: &str) -> &str {
    word.trim_end_matches(',')
}

/// A file of one record that ran too short to be believed, under a name.
fn record_called(name: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.jsonl");
    let mut record = Record {
        schema: record::SCHEMA,
        id: "1".into(),
        kind: "run".into(),
        name: name.into(),
        elapsed_ns: 1_000_000,
        ..Record::default()
    };
    let mut reads = record::Operations {
        count: 100,
        bytes: 409_600,
        ..record::Operations::default()
    };
    reads.latency.record_many(10_000, 100);
    record.operations.insert("read", reads);
    Store::open(&file).unwrap().append(&record).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

#[test]
fn a_terminal_has_colours_and_a_pipe_none_unless_somebody_says_otherwise() {
    let (_directory, file) = record_called("row");
    let of_it = ["audit", &file];
    let coloured = |text: &str| text.contains("\u{1b}[");
    let shown = on_a_terminal(80, &of_it, &[]);
    assert!(coloured(&shown), "{shown}");
    for quiet in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
        assert!(!coloured(&on_a_terminal(80, &of_it, &[quiet])), "{quiet:?}");
    }
    let piped = in_a_pipe(&of_it, &[]);
    assert!(!coloured(&piped), "{piped}");
    let forced = in_a_pipe(&of_it, &[("CLICOLOR_FORCE", "1")]);
    assert!(coloured(&forced) && bare(&forced) == piped, "{forced}");
    let refused = on_a_terminal(80, &["audit", "/nonexistent"], &[]);
    assert!(
        refused.starts_with("\u{1b}[31merror:\u{1b}[0m "),
        "{refused}"
    );
}

/// The line of usage is one line in any terminal.
#[test]
fn no_help_is_wider_than_the_terminal() {
    let verbs = "run load profile compare lab serve report audit check export merge quote import explain calibrate completions man";
    for verb in verbs.split(' ') {
        for (help, columns) in [("-h", 60), ("--help", 60), ("--help", 80)] {
            let shown = bare(&on_a_terminal(columns, &[verb, help], &[]));
            let wide = shown.lines().find(|line| {
                line.chars().count() > usize::from(columns) && !line.starts_with("Usage:")
            });
            assert_eq!(wide, None, "{verb} {help} at {columns}");
        }
    }
}

#[test]
fn no_escape_of_a_name_reaches_the_terminal() {
    let hostile = "n\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J\u{202e}";
    let (_directory, file) = record_called(hostile);
    for verb in ["report", "audit"] {
        let shown = bare(&on_a_terminal(80, &[verb, &file], &[]));
        assert!(shown.contains("n\u{fffd}]0;title"), "{shown}");
        assert!(!shown.contains(['\u{7}', '\u{9b}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn a_finding_is_a_line_on_a_terminal_and_findings_shows_it_in_full() {
    let (_directory, file) = record_called("row");
    let folded = bare(&on_a_terminal(60, &["report", &file], &[]));
    let found = folded.lines().filter(|line| line.starts_with("warning["));
    assert!(found.clone().count() > 0, "{folded}");
    assert!(!folded.contains("help: "), "{folded}");
    assert!(folded.contains("--findings shows each in full"), "{folded}");
    let full = bare(&on_a_terminal(60, &["report", &file, "--findings"], &[]));
    assert!(
        full.contains("help: ") && !full.contains("--findings shows"),
        "{full}"
    );
}

#[test]
fn an_error_and_what_a_plan_will_do_end_their_lines_between_words() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("plan.toml");
    let text = r#"
        question = "Does a program that says yes take as long to start as another one that says no?"
        metric = "time"
        passes = [2]
        budget = "20s"
        [workload]
        command = "{program}"
        [[arm]]
        name = "yes"
        set = { program = "true" }
        [[arm]]
        name = "no, which cannot be started because it is not there"
        set = { program = "no-such-program" }
    "#;
    std::fs::write(&plan, text).unwrap();
    let records = directory.path().join("records.jsonl");
    let run = [
        "lab",
        "run",
        plan.to_str().unwrap(),
        "--records",
        records.to_str().unwrap(),
        "--no-live",
    ];
    let missing =
        "a-file/that is not there, whose name has words, and more than a narrow line holds";
    for of in [run.as_slice(), &["audit", missing], &["report", missing]] {
        for columns in WIDTHS {
            let _left_by_the_run_before = std::fs::remove_file(&records);
            let shown = bare(&on_a_terminal(columns, of, &[]));
            assert!(!shown.is_empty());
            for line in shown.lines() {
                let is_one_word = line.split_whitespace().count() <= 2;
                assert!(
                    line.chars().count() <= columns.into() || is_one_word,
                    "{columns}: {line:?} of\n{shown}"
                );
            }
        }
    }
}
