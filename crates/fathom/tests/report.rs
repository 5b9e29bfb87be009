//! `fathom report` as a user runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use record::{
    Histogram, LoadAccount, Operations, Record, RequestPhases, Role, SCHEMA, Store,
    ThresholdResult, Trial,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use units::{ByteRate, Nanos};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .unwrap()
}

fn report(files: &[&Path], more: &[&str]) -> Output {
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    fathom(&[&["report"], files.as_slice(), more].concat())
}

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", complaints(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaints(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", complaints(output));
    assert!(
        complaints(output).contains(why),
        "{why:?} is not in {}",
        complaints(output)
    );
}

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../analyze/tests/documents")
        .join(name)
}

fn stored(directory: &Path, name: &str, records: &[Record]) -> PathBuf {
    let path = directory.join(name);
    let mut store = Store::open(&path).unwrap();
    records
        .iter()
        .for_each(|record| store.append(record).unwrap());
    path
}

/// One slot of an experiment of one row.
fn slot(arm: &str, block: u32, slot: u32, per_second: u64) -> Record {
    let mut record = Record {
        schema: SCHEMA,
        id: format!("{arm}-{block}"),
        name: "row".into(),
        started_at: format!("2026-01-01T00:00:{slot:02}.000Z"),
        elapsed_ns: 1_000_000_000,
        trial: Some(Trial {
            plan: "plan".into(),
            arm: arm.into(),
            row: "row".into(),
            block,
            slot,
            ..Trial::default()
        }),
        ..Record::default()
    };
    let mut reads = Operations {
        count: per_second,
        bytes: per_second * 4096,
        ..Operations::default()
    };
    reads.latency.record_many(100_000, per_second);
    record.operations.insert("read", reads);
    record
}

fn run(name: &str, per_second: u64) -> Record {
    Record {
        trial: None,
        name: name.into(),
        id: format!("{name}-{per_second}"),
        ..slot("", 0, 0, per_second)
    }
}

/// The cells of the first table below a heading, without its rule.
fn table(markdown: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = markdown
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("{heading} in {markdown}"));
    let lines = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect::<Vec<_>>()
    };
    lines
        .map(cells)
        .filter(|cells| !cells[0].starts_with("---"))
        .collect()
}

fn near(shown: f64, published: f64) -> bool {
    (shown / published - 1.0).abs() < 0.006
}

/// A count with a prefix: `7.83K`.
fn count(text: &str) -> f64 {
    let (number, scale) = match text.chars().last() {
        Some('K') => (&text[..text.len() - 1], 1e3),
        Some('M') => (&text[..text.len() - 1], 1e6),
        Some(_) | None => (text, 1.0),
    };
    number.parse::<f64>().unwrap() * scale
}

/// A byte rate with two decimals, which the strict parser would refuse as no whole number of bytes.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    number.parse::<f64>().unwrap() * ByteRate::parse(&format!("1 {unit}")).unwrap().0
}

/// Bandwidth, operations a second and mean latency of one arm, as printed.
type Published = (f64, f64, f64);

const ARMS: [&str; 4] = [
    "M1 Max (tmpfs)",
    "12700H (tmpfs)",
    "12700H (imdisk mmap)",
    "12700H (imdisk windowsaio)",
];
/// Bytes a second, operations a second and ns as the document publishes them, row by row and arm by
/// arm.
const PUBLISHED: [(&str, [Published; 4]); 3] = [
    (
        "### SEQ1M Q8T1 read",
        [
            (7831e6, 7831.0, 1.02e6),
            (3372e6, 3216.0, 2.49e6),
            (4259e6, 4061.0, 0.25e6),
            (5886e6, 5613.0, 0.89e6),
        ],
    ),
    (
        "### SEQ1M Q1T1 read",
        [
            (26.1e9, 24_900.0, 0.04e6),
            (2.13e9, 2029.0, 0.49e6),
            (4.32e9, 4120.0, 0.24e6),
            (5.67e9, 5407.0, 0.18e6),
        ],
    ),
    (
        "### RND4K Q1T1 read",
        [
            (2527e6, 647e3, 1380.0),
            (39.7e6, 10_200.0, 98_020.0),
            (7131e6, 1826e3, 430.0),
            (302e6, 77_200.0, 12_560.0),
        ],
    ),
];

#[test]
fn the_tables_of_the_fio_study_come_out_of_its_records() {
    let text = out(&report(&[&document("001.jsonl")], &[]));
    for (heading, published) in PUBLISHED {
        let table = table(&text, heading);
        assert_eq!(table[0][..3], ["Arm", "Bandwidth", "IOPS"]);
        assert_eq!(table[0][4], "Mean latency");
        assert_eq!(table.len(), 5, "{table:?}");
        for ((line, arm), (bandwidth, iops, latency)) in table[1..].iter().zip(ARMS).zip(published)
        {
            assert_eq!(line[0], arm);
            assert!(near(bytes(&line[1]), bandwidth), "{line:?}");
            assert!(near(count(&line[2]), iops), "{line:?}");
            assert!(
                near(
                    Nanos::parse(&line[4].replace(' ', "")).unwrap().0 as f64,
                    latency
                ),
                "{line:?}"
            );
            assert_eq!(line[3], "single observation");
        }
    }
    assert!(
        !text.contains("MB/s |") && !text.contains("**"),
        "one unit system, and nobody wins"
    );
    let differing = &text[text.find("## Environments").unwrap()..];
    for fact in [
        "Apple M1 Max",
        "Intel i7-12700H",
        "Docker container",
        "ImDisk",
    ] {
        assert!(differing.contains(fact), "{fact} in {differing}");
    }
    for rule in [
        "`unit_mix`",
        "`depth_inversion`",
        "`depth_not_reached`",
        "`memory_target`",
        "`environment_differs`",
        "`no_repetition`",
    ] {
        assert!(text.contains(rule), "{rule}");
    }
}

#[test]
fn the_tables_of_the_object_store_study_come_out_of_its_records() {
    let text = out(&report(&[&document("000.jsonl")], &[]));
    // Median, p95, p99 and maximum in ms of the mixed test; a p99 of 234 deletions is not shown.
    let published = [
        ("delete", "Windows", ["32 ms", "86 ms", "-", "205 ms"]),
        ("delete", "Linux", ["4 ms", "7 ms", "-", "15 ms"]),
        (
            "download",
            "Windows",
            ["88 ms", "221 ms", "335 ms", "530 ms"],
        ),
        ("download", "Linux", ["4 ms", "7 ms", "10 ms", "54 ms"]),
        ("list", "Linux", ["13 ms", "28 ms", "34 ms", "74 ms"]),
        (
            "upload",
            "Windows",
            ["713 ms", "2.105 s", "2.954 s", "4.441 s"],
        ),
        ("upload", "Linux", ["4 ms", "9 ms", "13 ms", "43 ms"]),
    ];
    let mixed = table(&text, "### Mixed");
    let column = |name: &str| {
        mixed[0]
            .iter()
            .position(|head| head == name)
            .unwrap_or_else(|| panic!("{name} in {:?}", mixed[0]))
    };
    let columns = ["p50 latency", "p95 latency", "p99 latency", "Max latency"].map(column);
    for (operation, arm, figures) in published {
        let line = mixed
            .iter()
            .find(|line| line[0] == operation && line[1] == arm)
            .unwrap();
        assert_eq!(
            columns.map(|at| line[at].as_str()),
            figures,
            "{operation} {arm}"
        );
    }
    let upload = table(&text, "### Upload");
    let rate = |arm: &str| {
        bytes(
            &upload
                .iter()
                .find(|line| line[0] == "upload" && line[1] == arm)
                .unwrap()[2],
        )
    };
    assert!(
        near(rate("Windows"), 731e3) && near(rate("Linux"), 2.43e6),
        "{upload:?}"
    );
    assert!(
        text.contains("No verdict"),
        "one run on two machines decides nothing"
    );
}

/// The cells of the table below a heading within the part below another.
fn table_within(markdown: &str, part: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = markdown
        .split_once(&format!("\n{part}\n"))
        .unwrap_or_else(|| panic!("{part} in {markdown}"));
    let end = rest.find("\n### ").unwrap_or(rest.len());
    table(&rest[..end], heading)
}

/// A time in ns, a byte rate or amount in bytes, or a count, as printed.
fn value(text: &str) -> f64 {
    if let Ok(time) = Nanos::parse(&text.replace(' ', "")) {
        return time.0 as f64;
    }
    match text.split_once(' ') {
        Some((number, "/s")) => number.parse().unwrap(),
        Some((_, unit)) if unit.ends_with("/s") => bytes(text),
        Some((_, unit)) => bytes(&format!("{} {unit}/s", text.split(' ').next().unwrap())),
        None => count(text),
    }
}

/// `29.4x lower` as the factor 29.4, and whether it is lower.
fn ratio(text: &str) -> (f64, bool) {
    let (number, rest) = text
        .split_once('x')
        .unwrap_or_else(|| panic!("no ratio: {text}"));
    assert!(
        rest.ends_with("(one run a side)"),
        "one run on each machine has no interval and no verdict: {text}"
    );
    (number.parse().unwrap(), rest.starts_with(" lower"))
}

/// What stands at the end of a line, after its names: two arms and their ratio.
fn sides(lines: &[Vec<String>], names: &[&str]) -> [String; 3] {
    let line = lines
        .iter()
        .find(|line| line.iter().zip(names).all(|(cell, name)| cell == name));
    let line = line.unwrap_or_else(|| panic!("{names:?} in {lines:?}"));
    assert_eq!(line.len(), names.len() + 3, "{line:?}");
    [0, 1, 2].map(|at| line[names.len() + at].clone())
}

/// Scenario, operation, metric, Windows, Linux, and by how many times they differ, as the document
/// publishes them (ns, bytes, counts).
const OBJECT_STORE: [(&str, &str, &str, f64, f64, f64); 21] = [
    ("Upload", "upload", "p95 latency", 412e6, 14e6, 29.4),
    ("Upload", "upload", "p99 latency", 567e6, 29e6, 19.5),
    ("Upload", "upload", "p50 latency", 147e6, 5e6, 29.4),
    ("Upload", "upload", "Max latency", 1139e6, 59e6, 19.3),
    ("Upload", "upload", "Bandwidth", 731e3, 2.43e6, 3.32),
    ("Upload", "upload", "objects created", 3014.0, 6012.0, 1.99),
    ("Upload", "request", "Ops/s", 10.9, 23.2, 2.13),
    ("Download", "download", "p95 latency", 189e6, 13e6, 14.5),
    ("Download", "download", "p99 latency", 331e6, 23e6, 14.4),
    ("Download", "download", "p50 latency", 73e6, 3e6, 24.3),
    ("Download", "download", "Max latency", 748e6, 343e6, 2.18),
    ("Download", "download", "Bandwidth", 150.8e6, 172e6, 1.14),
    ("Download", "download", "data", 29.9e9, 36e9, 1.2),
    ("Download", "request", "Ops/s", 229.0, 342.0, 1.49),
    ("Download", "", "iterations", 45_383.0, 71_730.0, 1.58),
    ("Mixed", "upload", "p95 latency", 2105e6, 9e6, 234.0),
    ("Mixed", "download", "p95 latency", 221e6, 7e6, 31.6),
    ("Mixed", "list", "p95 latency", 1008e6, 28e6, 36.0),
    ("Mixed", "delete", "p95 latency", 86e6, 7e6, 12.3),
    ("Mixed", "list", "Max latency", 1847e6, 74e6, 25.0),
    ("Mixed", "upload", "Max latency", 4441e6, 43e6, 103.0),
];

/// The p95 of the parts of requests.
const OBJECT_STORE_PARTS: [(&str, &str, f64, f64, f64); 10] = [
    ("Upload", "duration p95", 265e6, 11.5e6, 23.0),
    ("Upload", "waiting p95", 191e6, 8.6e6, 22.2),
    ("Upload", "receiving p95", 57e6, 3.9e6, 14.6),
    // The document calls it 6 times; its figures are 15.6 times apart.
    ("Upload", "sending p95", 0.16e6, 2.5e6, 15.6),
    ("Download", "duration p95", 189e6, 12.4e6, 15.2),
    ("Download", "waiting p95", 118e6, 5.7e6, 20.7),
    ("Download", "receiving p95", 61e6, 7.3e6, 8.36),
    ("Mixed", "duration p95", 662e6, 19e6, 34.8),
    ("Mixed", "waiting p95", 495e6, 13.2e6, 37.5),
    ("Mixed", "receiving p95", 153e6, 5.4e6, 28.3),
];

#[test]
fn the_object_store_study_stands_side_by_side_row_by_row() {
    let text = out(&report(&[&document("000.jsonl")], &[]));
    let check = |found: [String; 3], windows: f64, linux: f64, times: f64| {
        assert!(
            near(value(&found[0]), windows) && near(value(&found[1]), linux),
            "{found:?}"
        );
        let (shown, is_lower) = ratio(&found[2]);
        assert!(
            near(shown, times) && is_lower == (linux < windows),
            "{found:?}"
        );
    };
    for (scenario, operation, metric, windows, linux, times) in OBJECT_STORE {
        let lines = table_within(&text, &format!("### {scenario}"), "#### Side by side");
        assert_eq!(
            lines[0],
            [
                "Operation",
                "Quantity",
                "Windows",
                "Linux",
                "Linux against Windows"
            ]
        );
        check(sides(&lines, &[operation, metric]), windows, linux, times);
    }
    for (scenario, part, windows, linux, times) in OBJECT_STORE_PARTS {
        let lines = table_within(
            &text,
            &format!("### {scenario}"),
            "#### HTTP requests, side by side",
        );
        check(sides(&lines, &[part]), windows, linux, times);
    }
    for (scenario, windows, linux, times) in [
        ("Upload", 5024e6, 5244e6, 1.04),
        ("Download", 526e6, 523e6, 1.01),
        ("Mixed", 1590e6, 689e6, 2.31),
    ] {
        let lines = table_within(&text, "## Rows", "#### p95 of iteration time");
        check(sides(&lines, &[scenario]), windows, linux, times);
    }
    assert!(text.contains("One run a side: no verdict."));
    let results = &text[text.find("## Rows").unwrap()..text.find("## Findings").unwrap()];
    assert!(
        !results.contains("faster") && !results.contains("MB/s"),
        "no verdict and one unit system"
    );
}

#[test]
fn the_object_store_study_shows_its_failures_and_what_cannot_be_compared() {
    let text = out(&report(&[&document("000.jsonl")], &[]));
    let failed = [
        ("Upload", "Windows", 2605, "99.96 %"),
        ("Upload", "Linux", 6510, "99.98 %"),
        ("Download", "Windows", 45_384, "99.998 %"),
        ("Download", "Linux", 71_742, "99.999 %"),
        ("Mixed", "Linux", 15_387, "99.994 %"),
    ];
    for (scenario, arm, requests, share) in failed {
        let lines = table_within(&text, &format!("### {scenario}"), "#### Success");
        let line = lines
            .iter()
            .find(|line| line[0] == "all" && line[1] == arm)
            .unwrap();
        assert_eq!(
            line[2..],
            [
                requests.to_string(),
                "1".into(),
                share.into(),
                format!("1 of {requests}")
            ],
            "{scenario}"
        );
    }
    let mixed = table_within(&text, "### Mixed", "#### Success");
    let windows = mixed.iter().find(|line| line[1] == "Windows").unwrap();
    assert_eq!(windows[2..], ["7788", "0", "100 %", "-"]);
    let lines = table_within(&text, "## Rows", "#### Throughput");
    let apart = [
        // 48 times slower, says the document.
        (
            "download",
            107.5e6,
            2.23e6,
            "objects of 2.84 MiB and of 30.6 KiB",
        ),
        // 2.9 times faster, says the document.
        (
            "upload",
            606e3,
            1.74e6,
            "objects of 20.5 KiB and of 29.8 KiB",
        ),
    ];
    for (operation, windows, linux, why) in apart {
        let found = sides(&lines, &["Mixed", operation]);
        assert!(
            near(bytes(&found[0]), windows) && near(bytes(&found[1]), linux),
            "{found:?}"
        );
        assert_eq!(found[2], why);
    }
    let at = |heading: &str| text.find(heading).unwrap();
    let order = [
        "## Answer",
        "## Can it be believed?",
        "## Rows",
        "## Findings",
        "## Method",
    ];
    assert!(
        order.map(at).is_sorted() && at("## Method") < at("## Environments"),
        "{text}"
    );
    assert!(text[at("## Environments")..].contains("Windows 11"));
}

/// A load whose users wait for the target, on the machine `host`.
fn load(host: &str, ns: u64, failed: u64) -> Record {
    let times = |ns: u64| {
        let mut out = Histogram::default();
        out.record_many(ns, 2000);
        out
    };
    let mut record = Record {
        schema: SCHEMA,
        id: format!("{host}-{ns}"),
        kind: "load".into(),
        name: "upload".into(),
        elapsed_ns: 10_000_000_000,
        effective: [
            ("scenario".to_owned(), "upload".to_owned()),
            ("users".to_owned(), "50".to_owned()),
        ]
        .into(),
        load: Some(LoadAccount {
            scenario: "upload".into(),
            users: vec![50; 10],
            phases: [(
                "put".to_owned(),
                RequestPhases {
                    waiting: times(ns),
                    ..RequestPhases::default()
                },
            )]
            .into(),
            iterations: times(ns + 500_000_000),
            thresholds: vec![ThresholdResult {
                threshold: "put.p95<10ms".into(),
                holds: ns < 10_000_000,
                measured: "measured".into(),
                ..ThresholdResult::default()
            }],
            ..LoadAccount::default()
        }),
        ..Record::default()
    };
    record.operations.insert(
        "put",
        Operations {
            count: 2000,
            bytes: 2000 << 10,
            errors: failed,
            latency: times(ns),
            ..Operations::default()
        },
    );
    record.generator_mut().environment.system.hostname = Some(host.into());
    record.loops.in_flight_ns = u128::from(2000 * ns);
    record
}

#[test]
fn loads_of_two_machines_have_the_same_rows() {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        stored(
            directory.path(),
            "notebook.jsonl",
            &[load("one", 80_000_000, 1)],
        ),
        stored(
            directory.path(),
            "server.jsonl",
            &[load("two", 8_000_000, 0)],
        ),
    ];
    let csv = directory.path().join("loads.csv");
    let text = out(&report(&[&files[0], &files[1]], &[]));
    out(&report(
        &[&files[0], &files[1]],
        &["-o", csv.to_str().unwrap()],
    ));
    let lines = table_within(&text, "### upload", "#### Side by side");
    assert_eq!(
        lines[0][2..],
        [
            "notebook (one)",
            "server (two)",
            "server (two) against notebook (one)"
        ]
    );
    let p95 = sides(&lines, &["put", "p95 latency"]);
    assert!(near(ratio(&p95[2]).0, 10.0) && ratio(&p95[2]).1, "{p95:?}");
    let conduct = table_within(&text, "### upload", "#### Users, iterations and cost");
    assert_eq!(
        sides(&conduct, &["users waiting, mean"])[..2],
        ["16", "1.60"],
        "{conduct:?}"
    );
    let success = table_within(&text, "### upload", "#### Success");
    assert_eq!(
        success[1],
        ["put", "notebook (one)", "2001", "1", "99.95 %", "1 of 2001"]
    );
    assert_eq!(
        success[2],
        ["put", "server (two)", "2000", "0", "100 %", "-"]
    );
    let met: Vec<String> = table_within(&text, "### upload", "#### Thresholds")[1..]
        .iter()
        .map(|line| line[2].clone())
        .collect();
    assert_eq!(met, ["missed", "met"]);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(
        csv.contains("upload,notebook (one),put,failed,1,1,1,")
            && csv.contains(",put,waiting p95,ns,1,"),
        "{csv}"
    );
    let columns = csv.lines().map(|line| line.split(',').count()).min();
    assert!(columns >= Some(18), "{csv}");
}

#[test]
fn the_form_is_that_of_the_ending_and_reports_may_be_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let records = stored(directory.path(), "r.jsonl", &[run("a", 1000)]);
    let paths: Vec<PathBuf> = ["s.html", "s.md", "s.csv", "s.json"]
        .iter()
        .map(|name| directory.path().join(name))
        .collect();
    let arguments: Vec<&str> = paths
        .iter()
        .flat_map(|path| ["-o", path.to_str().unwrap()])
        .collect();
    for _ in 0..2 {
        assert_eq!(out(&report(&[&records], &arguments)), "");
        let text = |at: usize| std::fs::read_to_string(&paths[at]).unwrap();
        assert!(
            text(0).starts_with("<!doctype html>")
                && text(1).contains("# Storage study")
                && text(2).starts_with("row,arm,")
        );
        assert!(
            serde_json::from_str::<serde_json::Value>(&text(3)).unwrap()["fathom_report"].is_u64()
        );
    }
    refused(
        &report(&[&records], &["-o", "study.pdf"]),
        "the ending says the form",
    );
}

#[test]
fn what_is_no_report_is_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let records = stored(directory.path(), "r.json", &[run("a", 1000)]);
    let before = std::fs::read(&records).unwrap();
    refused(
        &report(&[&records], &["-o", records.to_str().unwrap(), "--force"]),
        "is one of the records",
    );
    let other = stored(directory.path(), "other.json", &[run("b", 1000)]);
    refused(
        &report(&[&records], &["-o", other.to_str().unwrap()]),
        "does not hold a report",
    );
    let notes = directory.path().join("notes.md");
    std::fs::write(&notes, "# Mine\n").unwrap();
    refused(
        &report(&[&records], &["-o", notes.to_str().unwrap()]),
        "--force",
    );
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "# Mine\n");
    out(&report(
        &[&records],
        &["-o", notes.to_str().unwrap(), "--force"],
    ));
    assert!(
        std::fs::read_to_string(&notes)
            .unwrap()
            .contains("Storage study")
    );
    assert_eq!(std::fs::read(&records).unwrap(), before);
}

#[test]
fn damaged_lines_are_told_and_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored(directory.path(), "r.jsonl", &[run("a", 1000)]);
    let mut text = std::fs::read_to_string(&path).unwrap();
    let newer = text.replace(&format!("\"schema\":{SCHEMA}"), "\"schema\":7");
    let not_a_number = text.replace("\"elapsed_ns\":1000000000", "\"elapsed_ns\":NaN");
    let negative = text.replace("\"elapsed_ns\":1000000000", "\"elapsed_ns\":-5");
    assert!(not_a_number != text && negative != text);
    text.push_str(&newer);
    text.push_str(&not_a_number);
    text.push_str(&negative);
    text.push_str("{\"schema\":1,\"id");
    std::fs::write(&path, text).unwrap();
    let output = report(&[&path], &[]);
    assert!(
        out(&output).contains("1 record, 1 arm, 1 row."),
        "{}",
        out(&output)
    );
    let told = complaints(&output);
    assert!(
        told.contains("line 2 is skipped: schema 7 is newer than this version of fathom"),
        "{told}"
    );
    assert_eq!(
        told.lines()
            .filter(|line| line.contains("is skipped"))
            .count(),
        4,
        "{told}"
    );
}

#[test]
fn records_that_cannot_count_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let timeless = Record {
        elapsed_ns: 0,
        ..run("timeless", 1000)
    };
    let mut failed = run("failed", 1000);
    failed.outcome.status = record::Status::Failed;
    let path = stored(
        directory.path(),
        "r.jsonl",
        &[timeless, failed, run("sound", 1000)],
    );
    let text = out(&report(&[&path], &[]));
    assert!(
        text.contains("3 records, 1 arm, 1 row; 2 left out."),
        "{text}"
    );
    assert!(
        text.contains("no time passed") && text.contains("it did not end well"),
        "{text}"
    );
}

#[test]
fn different_work_under_one_name_is_never_averaged() {
    let directory = tempfile::tempdir().unwrap();
    let sized = |size: &str, per_second| {
        let mut record = run("run", per_second);
        record.effective.insert("block-size".into(), size.into());
        record
    };
    let path = stored(
        directory.path(),
        "r.jsonl",
        &[sized("4k", 1000), sized("64k", 500)],
    );
    let text = out(&report(&[&path], &[]));
    let table = table(&text, "## Rows");
    assert_eq!(
        (table[1][0].as_str(), table[2][0].as_str()),
        ("run (block-size 4k)", "run (block-size 64k)")
    );
    assert_eq!(
        (table[1][2].as_str(), table[2][2].as_str()),
        ("1.00K", "500")
    );
    assert!(
        text.contains("did different work and are apart by block-size"),
        "{text}"
    );
}

#[test]
fn files_without_records_are_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    refused(&report(&[&file("empty", "")], &[]), "fathom run --records");
    refused(
        &report(&[&file("words", "no JSON at all\n")], &[]),
        "holds no records",
    );
    refused(
        &report(&[&directory.path().join("missing")], &[]),
        "missing",
    );
    assert_eq!(fathom(&["report"]).status.code(), Some(2));
}

#[test]
fn two_machines_are_two_arms_named_by_their_files() {
    let directory = tempfile::tempdir().unwrap();
    let on = |host: &str, per_second| {
        let mut record = slot("this machine", 0, 0, per_second);
        record.generator_mut().environment.system.hostname = Some(host.into());
        record
    };
    let files = [
        stored(directory.path(), "laptop.jsonl", &[on("one", 1000)]),
        stored(directory.path(), "server.jsonl", &[on("two", 2000)]),
    ];
    let text = out(&report(&[&files[0], &files[1]], &[]));
    let table = table(&text, "### row");
    assert_eq!(
        (table[1][0].as_str(), table[2][0].as_str()),
        ("laptop (one)", "server (two)")
    );
}

#[test]
fn the_baseline_is_by_name_else_by_role_and_an_unknown_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut records: Vec<Record> = (0..8)
        .flat_map(|b| [slot("new", b, 2 * b, 1000), slot("old", b, 2 * b + 1, 1100)])
        .collect();
    for record in &mut records {
        let trial = record.trial.as_mut().unwrap();
        trial.role = if trial.arm == "old" {
            Role::Baseline
        } else {
            Role::Candidate
        };
    }
    let path = stored(directory.path(), "r.jsonl", &records);
    assert!(out(&report(&[&path], &[])).contains("each arm with old"));
    assert!(out(&report(&[&path], &["--baseline", "new"])).contains("each arm with new"));
    refused(
        &report(&[&path], &["--baseline", "newer"]),
        "is none of the arms: new, old",
    );
    refused(&report(&[&path], &["--metric", "speed"]), "--metric");
}
