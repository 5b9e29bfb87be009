//! A record whose every text is meant to do harm, through every form that is made of records: no
//! markup, no command to a terminal, to a job's runner or to a spreadsheet gets through, and nothing
//! turns the direction of what stands beside it.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use record::Record;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const HOSTILE: &str = "=1+1</title></script><script>steal()</script><img src=x onerror=steal()>\
    \u{1b}]0;t\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\u{0}\r\n::add-mask::x\n\
    ##[add-mask]x\n## x\n\u{2028}|`*[a](javascript:steal())]]>\"'&--";

/// Real records of a run, of loads and of a study, and an experiment of two arms.
fn sources(dir: &Path) -> Vec<Record> {
    let experiment = "compare engine=sim,sim-model=latency=100us engine=sim,sim-model=latency=120us --run \
        --set file-size=1M --set write-percent=50 --slot 50ms --blocks 6 --settle 0s --lead-in 0s --no-live --records raw.jsonl";
    let ended = fathom(dir, experiment);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{ended:?}");
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = [
        dir.join("raw.jsonl"),
        beside.join("report/tests/schema_one/records.jsonl"),
        beside.join("analyze/tests/documents/000.jsonl"),
    ];
    let read = |file| record::read_records(file).unwrap().records;
    let all = files.iter().map(|file| read(file));
    let most = [12, 20, 3];
    all.zip(most)
        .flat_map(|(records, most)| records.into_iter().take(most))
        .collect()
}

fn fathom(dir: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

/// The pointers of all texts and of what is not known, and those of all tables.
fn places(value: &Value, at: &str, texts: &mut Vec<String>, tables: &mut Vec<String>) {
    match value {
        Value::String(_) | Value::Null => texts.push(at.to_owned()),
        Value::Object(fields) => {
            tables.push(at.to_owned());
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{key}"), texts, tables);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{index}"), texts, tables);
            }
        }
        Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The record with hostile text before all that it says, where nothing was known, and as the name of
/// one thing more in each table.
fn made_hostile(mut record: Record) -> (Record, usize) {
    // What is read once need not be read a hundred times.
    record.series.truncate(1);
    record.notices.push("notice".into());
    record.differences.push(record::Difference {
        key: "queue-depth".into(),
        asked: Some("2".into()),
        effective: None,
        reason: "reason".into(),
    });
    let mut value = serde_json::to_value(&record).unwrap();
    let (mut texts, mut tables) = (Vec::new(), Vec::new());
    places(&value, "", &mut texts, &mut tables);
    let reads = |value: &Value| serde_json::from_value::<Record>(value.clone()).is_ok();
    let mut changed = 0;
    for at in texts {
        let place = value.pointer_mut(&at).unwrap();
        let hostile = format!("{HOSTILE}{}", place.as_str().unwrap_or_default());
        let before = std::mem::replace(place, hostile.into());
        if reads(&value) {
            changed += 1;
        } else {
            *value.pointer_mut(&at).unwrap() = before;
        }
    }
    for at in tables {
        let mut more = value.clone();
        let table = more.pointer_mut(&at).unwrap().as_object_mut().unwrap();
        if let Some(first) = table.values().next().cloned() {
            table.insert(HOSTILE.to_owned(), first);
            if reads(&more) {
                value = more;
            }
        }
    }
    (serde_json::from_value(value).unwrap(), changed)
}

/// What a form must not hold.
#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    let has_form = |form: &&str| !what.contains(' ') && what.ends_with(*form);
    let is_markup = [".html", ".svg", ".md", ".xml"].iter().any(has_form);
    for (index, line) in text.lines().enumerate() {
        let told = || {
            format!(
                "{what}, line {}: {:?}",
                index + 1,
                line.chars().take(400).collect::<String>()
            )
        };
        assert!(
            !line.chars().any(|c| c != '\t' && units::disturbs(c)),
            "{}",
            told()
        );
        let lower = line.to_ascii_lowercase();
        if is_markup {
            for markup in ["<script>steal", "<img", "</title></script>"] {
                assert!(!lower.contains(markup), "{markup} in {}", told());
            }
        }
        if has_form(&".md") {
            assert!(!line.contains("*[a](javascript:"), "a link in {}", told());
        }
        // What is said may stand in the log of a job; files do not. A runner takes a line for one
        // command, which is ours where it begins as one of ours.
        let is_said = what.contains(' ');
        let is_command = match line.trim_start().strip_prefix("::") {
            Some(rest) => !["error ", "warning ", "notice "]
                .iter()
                .any(|ours| rest.starts_with(ours)),
            None => line.contains("##["),
        };
        assert!(!(is_said && is_command), "{}", told());
        if has_form(&".csv") {
            assert!(
                !line.starts_with('=') && !line.contains(",=") && !line.contains("\"="),
                "{}",
                told()
            );
        }
    }
}

#[test]
fn no_text_of_a_record_does_harm_in_any_form() {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str| record::Store::open(&dir.path().join(name)).unwrap();
    let (mut store, mut experiment) = (open("h.jsonl"), open("e.jsonl"));
    let mut written = Vec::new();
    for source in sources(dir.path()) {
        let (hostile, changed) = made_hostile(source);
        assert!(changed > 20, "{changed} texts");
        store.append(&hostile).unwrap();
        if hostile.trial.is_some() {
            experiment.append(&hostile).unwrap();
        }
        written.push(hostile);
    }
    drop(store);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    // The file is harmless on a terminal, and says what was said.
    assert_harmless("h.jsonl", &read("h.jsonl"));
    let back = record::parse_lines(read("h.jsonl").lines());
    assert_eq!((back.records == written, back.damaged), (true, Vec::new()));

    std::fs::write(
        dir.path().join("other.json"),
        format!("{{\"x\": {HOSTILE:?}"),
    )
    .unwrap();
    let fio = json!({ "fio version": HOSTILE, "jobs": [{ "jobname": HOSTILE, "error": 1, "read": { "iops": HOSTILE } }] });
    std::fs::write(dir.path().join("fio.json"), fio.to_string()).unwrap();
    std::fs::write(
        dir.path().join("claims.csv"),
        format!("{HOSTILE:?},row\n1,2\n"),
    )
    .unwrap();
    let verbs: [(&str, &[&str]); 13] = [
        ("report h.jsonl", &[]),
        (
            "report h.jsonl --findings -o r.html -o r.md -o r.csv -o r.json --card c.svg",
            &["r.html", "r.md", "r.csv", "r.json", "c.svg"],
        ),
        (
            "compare e.jsonl --findings --annotate -o v.json -o v.md -o v.xml --card v.svg",
            &["v.json", "v.md", "v.xml", "v.svg"],
        ),
        (
            "audit h.jsonl --all --annotate -o a.json -o a.md -o a.xml",
            &["a.json", "a.md", "a.xml"],
        ),
        ("audit h.jsonl --json", &[]),
        ("export h.jsonl -o x.csv", &["x.csv"]),
        ("export h.jsonl -o x.jsonl", &["x.jsonl"]),
        ("export h.jsonl", &[]),
        ("check r.html --records again.jsonl", &["again.jsonl"]),
        ("merge h.jsonl", &[]),
        ("import other.json", &[]),
        ("import fio.json", &[]),
        ("quote claims.csv", &[]),
    ];
    for (verb, files) in verbs {
        let ended = fathom(dir.path(), verb);
        assert!(
            matches!(ended.status.code(), Some(0..=4)),
            "{verb}: {ended:?}"
        );
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8(said).unwrap());
        for text in &said {
            assert_harmless(verb, text);
        }
        for file in files {
            let text = std::fs::read_to_string(dir.path().join(file));
            let text = text.unwrap_or_else(|error| panic!("{verb}: {file}: {error}: {said:?}"));
            assert_harmless(file, &text);
        }
    }
}
