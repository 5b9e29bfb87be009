//! `fathom audit` and `fathom explain` as a user runs them.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use record::{Operations, Record, SCHEMA, Store};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaints(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Reads of 4 KiB of which each has its latency.
fn sound(name: &str) -> Record {
    let mut record = Record {
        schema: SCHEMA,
        id: name.into(),
        name: name.into(),
        elapsed_ns: 10_000_000_000,
        ..Record::default()
    };
    let mut reads = Operations {
        count: 50_000,
        bytes: 50_000 * 4096,
        smallest_bytes: Some(4096),
        largest_bytes: Some(4096),
        ..Operations::default()
    };
    reads.latency.record_many(200_000, 50_000);
    record.operations.insert("read", reads);
    record
}

fn stored(directory: &Path, records: &[Record]) -> PathBuf {
    let path = directory.join("r.jsonl");
    let mut store = Store::open(&path).unwrap();
    records
        .iter()
        .for_each(|record| store.append(record).unwrap());
    path
}

#[test]
fn sound_records_end_with_0_and_invalid_ones_with_4() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(directory.path(), &[sound("a")]);
    let output = fathom(&["audit", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", complaints(&output));
    assert!(
        out(&output).contains("1 record: 0 invalid, 0 warning, 1 note"),
        "{}",
        out(&output)
    );

    let mut lost = sound("b");
    lost.operations.insert(
        "read",
        Operations {
            bytes: 1,
            ..Operations::default()
        },
    );
    let path = stored(directory.path(), &[lost]);
    // In full, so that also the sound one has a heading.
    let output = fathom(&["audit", "--all", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4));
    let text = out(&output);
    let (first, second) = (text.find("a (").unwrap(), text.find("b (").unwrap());
    assert!(
        first < second
            && text[second..].contains("invalid[bytes_and_blocks]: read: 204800001 bytes"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn how_a_run_ended_badly_is_told_and_what_is_found_of_it_is_no_doubt_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let named = |name: &str, record: Record| {
        let path = directory.path().join(name);
        std::fs::rename(stored(directory.path(), &[record]), &path).unwrap();
        path
    };
    let good = named("a.jsonl", sound("run"));
    let mut stopped = sound("run");
    stopped.id = "another".into();
    stopped.outcome.status = record::Status::Interrupted;
    stopped.outcome.message = Some("stopped by signal 2".into());
    let ended = "it did not end well: stopped by signal 2";
    // What it measured contradicts itself, too.
    stopped.operations.insert(
        "read",
        Operations {
            bytes: 1,
            ..Operations::default()
        },
    );
    let bad = named("b.jsonl", stopped);
    let [good, bad] = [&good, &bad].map(|path| path.to_str().unwrap());
    let text = out(&fathom(&["audit", bad]));
    assert!(
        text.contains(&format!("it counts beside no other: {ended}")),
        "{text}"
    );
    assert!(!out(&fathom(&["audit", good])).contains("counts beside no other"));
    let text = out(&fathom(&["report", good, bad]));
    for said in [
        "- run: 19.5 MiB/s, 5.00K IOPS",
        "No record of b counts; why stands under Method and limits.",
        "As single observations: nothing that the audit looks at speaks against them",
        "- invalid `bytes_and_blocks` (record 2)",
        ended,
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_damaged_line_is_told_and_the_rest_is_audited() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(directory.path(), &[sound("a")]);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"schema\":1,\"id\n");
    std::fs::write(&path, text).unwrap();
    let output = fathom(&["audit", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        complaints(&output).contains("line 2 is skipped: not a record"),
        "{}",
        complaints(&output)
    );
    assert!(out(&output).contains("1 record:"));
}

#[test]
fn what_many_records_say_is_said_once_unless_all_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let short = |name: &str| {
        let mut record = sound(name);
        record.elapsed_ns = 1_000_000_000;
        record
    };
    let path = stored(directory.path(), &["a", "b", "c", "d", "e"].map(short));
    let count = |arguments: &[&str]| {
        let text = out(&fathom(
            &[&["audit", path.to_str().unwrap()], arguments].concat(),
        ));
        assert!(
            text.contains("5 records: 0 invalid, 0 warning, 10 note"),
            "{text}"
        );
        let of = |rule: &str| text.matches(&format!("note[{rule}]")).count();
        let always = "As always: single observation: no interval (5 of 5 records, so or alike)";
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        (
            of("short_run"),
            words.contains("(5 of 5 records, so or alike; --all shows each)"),
            of("single_observation"),
            text.contains(always),
        )
    };
    // What is always so says nothing of these records: a line for all of it, on pipes too.
    assert_eq!(count(&[]), (1, true, 0, true));
    assert_eq!(count(&["--all"]), (5, false, 5, false));
}

#[test]
fn json_holds_every_finding_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(directory.path(), &[sound("a"), sound("b")]);
    let output = fathom(&["audit", "--json", path.to_str().unwrap()]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["single_observation", "single_observation"]);
    assert_eq!(
        (
            found[1]["record"].as_u64(),
            found[1]["id"].as_str(),
            found[1]["severity"].as_str()
        ),
        (Some(1), Some("b"), Some("note"))
    );
    assert!(
        found[1]["place"]
            .as_str()
            .unwrap()
            .ends_with("r.jsonl, record 2")
    );
}

#[test]
fn a_job_gets_the_findings_in_the_forms_that_it_reads_and_nothing_else_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let hostile = "\n::set-output name=a::b\n##[add-mask]x <b>|";
    let mut broken = sound(hostile);
    let lost = Operations {
        bytes: 1,
        ..Operations::default()
    };
    broken.operations.insert("read", lost);
    let path = stored(directory.path(), &[broken]);
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (json, markdown, xml) = (file("a.json"), file("a.md"), file("a.xml"));
    let words = [
        &["audit", path.to_str().unwrap(), "--annotate"][..],
        &["-o", &json, "-o", &markdown, "-o", &xml],
    ]
    .concat();
    // A second time: what an audit wrote may be written anew.
    for _ in 0..2 {
        let output = fathom(&words);
        assert_eq!(output.status.code(), Some(4), "{}", complaints(&output));
        let annotations = complaints(&output);
        assert!(annotations.contains("::error title=fathom invalid%3A "));
        for line in out(&output).lines().chain(annotations.lines()) {
            let is_ours = [
                "::error title=fathom ",
                "::warning title=fathom ",
                "::notice title=fathom ",
            ]
            .iter()
            .any(|start| line.starts_with(start));
            assert!(is_ours || !line.trim_start().starts_with("::"), "{line}");
            assert!(is_ours || !line.contains("##["), "{line}");
        }
    }
    let read = |name: &str| std::fs::read_to_string(name).unwrap();
    let found: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    assert_eq!(found[0]["severity"], "invalid");
    assert!(read(&markdown).contains("- ❌ invalid `") && !read(&markdown).contains("<b>"));
    assert!(read(&xml).contains("<failure message=\"invalid[") && !read(&xml).contains("<b>"));
    std::fs::write(&markdown, "my thesis").unwrap();
    for (name, why) in [
        (markdown.as_str(), "does not hold what an audit found"),
        (path.to_str().unwrap(), "the ending says the form"),
        (&file("a.txt"), "the ending says the form"),
        (&file("a.html"), "`fathom report RECORDS -o FILE.html`"),
    ] {
        let output = fathom(&["audit", path.to_str().unwrap(), "-o", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(complaints(&output).contains(why), "{}", complaints(&output));
    }
    assert_eq!(read(&markdown), "my thesis");
}

#[test]
fn files_that_are_missing_or_hold_nothing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let missing = fathom(&["audit", directory.path().join("none").to_str().unwrap()]);
    assert_eq!(missing.status.code(), Some(2));
    let said = complaints(&missing);
    assert!(
        said.contains("none") && said.contains("--records FILE"),
        "{said}"
    );
    let empty = directory.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let output = fathom(&["audit", empty.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaints(&output).contains("holds no records"));
    assert_eq!(fathom(&["audit"]).status.code(), Some(2));
}

#[test]
fn every_rule_is_listed_and_explained() {
    let list = out(&fathom(&["explain"]));
    assert_eq!(list.lines().count(), analyze::rules().len());
    for rule in analyze::rules() {
        assert!(list.contains(rule.id) && list.contains(rule.title));
    }
    let output = fathom(&["explain", "order_aliased"]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    assert!(text.starts_with("order_aliased: Time and arm cannot be separated\n(invalid at worst, no. 32 of the catalogue)"), "{text}");
}

#[test]
fn an_unknown_rule_is_refused_with_those_that_are_alike() {
    let output = fathom(&["explain", "cache-served"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaints(&output).contains("did you mean served_from_cache, own_cache?"),
        "{}",
        complaints(&output)
    );
}
