//! The figures of the reference documents, entered by hand as records: what the rules of the audit
//! are tried on. These tests hold the entries to the arithmetic of the documents, so that a finding
//! is about a document and not about a typing error.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use record::{Record, Summary, read_records};
use std::collections::BTreeSet;
use std::path::Path;

const DOCUMENTS: [(&str, usize); 5] = [
    ("000", 21),
    ("001", 15),
    ("002", 51),
    ("003", 8),
    ("004", 24),
];

fn records(document: &str) -> Vec<Record> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/documents/{document}.jsonl"));
    let read = read_records(&path).unwrap();
    assert!(read.damaged.is_empty(), "{:?}", read.damaged);
    read.records
}

fn named<'a>(records: &'a [Record], name: &str) -> &'a Record {
    records
        .iter()
        .find(|record| record.name == name)
        .unwrap_or_else(|| panic!("no record {name:?}"))
}

fn measured(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| record.kind == "document")
}

fn block(record: &Record) -> f64 {
    units::Bytes::parse(&record.effective["block-size"])
        .unwrap()
        .0 as f64
}

fn bandwidth_over_blocks(record: &Record, summary: &Summary) -> f64 {
    summary.bytes_per_second.unwrap() / (summary.per_second.unwrap() * block(record))
}

#[test]
fn every_record_names_its_document_section_and_arm() {
    for (document, count) in DOCUMENTS {
        let records = records(document);
        assert_eq!(records.len(), count, "{document}");
        let names: BTreeSet<&str> = records.iter().map(|record| record.name.as_str()).collect();
        assert_eq!(names.len(), records.len(), "a name is given once");
        for record in &records {
            let source = record.source.as_ref().unwrap();
            assert!(
                source.tool == "document" && source.file.as_ref().unwrap().starts_with(document)
            );
            assert!(
                record.name.contains(" | ") && record.notices[0].starts_with("section: "),
                "{}",
                record.name
            );
            assert!(!record.summaries.is_empty() && record.operations.is_empty());
            assert_eq!(
                record.kind == "claim",
                record.summaries.contains_key("claim")
            );
        }
    }
}

#[test]
fn document_001_mixes_two_units() {
    let records = records("001");
    let ratio = |name: &str| {
        let record = named(&records, name);
        bandwidth_over_blocks(record, &record.summaries["read"])
    };
    assert!((ratio("M1 Max (tmpfs) | SEQ1M Q8T1 read") - 0.954).abs() < 0.001);
    assert!((ratio("12700H (tmpfs) | SEQ1M Q8T1 read") - 1.0).abs() < 0.001);
    for record in measured(&records) {
        let ratio = bandwidth_over_blocks(record, &record.summaries["read"]);
        assert!(
            (ratio - 1.0).abs() < 0.005 || (ratio - 0.954).abs() < 0.005,
            "{} {ratio}",
            record.name
        );
    }
}

#[test]
fn document_001_did_not_reach_the_depth_that_it_names() {
    let records = records("001");
    for (arm, in_flight) in [
        ("M1 Max (tmpfs)", 8.0),
        ("12700H (tmpfs)", 8.0),
        ("12700H (imdisk mmap)", 1.0),
        ("12700H (imdisk windowsaio)", 5.0),
    ] {
        let read = &named(&records, &format!("{arm} | SEQ1M Q8T1 read")).summaries["read"];
        let mean = read.per_second.unwrap() * read.mean_ns.unwrap() / 1e9;
        assert!((mean - in_flight).abs() < 0.05, "{arm}: {mean}");
    }
}

#[test]
fn document_002_computes_its_percentages_from_its_own_table() {
    let records = records("002");
    let mut checked = 0;
    for record in measured(&records).filter(|record| record.effective["vm-memory"] == "2048 MB") {
        let (arm, size) = record.name.split_once(" | ").unwrap();
        let upload = &record.summaries["upload"];
        let base = named(&records, &format!("baseline | {size}")).summaries["upload"]
            .bytes_per_second
            .unwrap();
        let Some(said) = upload.figures.get("vs_baseline_percent") else {
            assert_eq!(arm, "baseline");
            continue;
        };
        let percent = (upload.bytes_per_second.unwrap() / base - 1.0) * 100.0;
        assert!(
            (percent - said).abs() < 0.06,
            "{}: {percent} is said to be {said}",
            record.name
        );
        checked += 1;
    }
    assert_eq!(checked, 30, "six branches, five sizes");
}

#[test]
fn document_002_ran_one_branch_after_the_other() {
    let records = records("002");
    let windows: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.effective.get("window"))
        .map(String::as_str)
        .collect();
    assert_eq!(windows.len(), 7);
    let ends: Vec<(&str, &str)> = windows
        .iter()
        .map(|window| window.split_once('/').unwrap())
        .collect();
    assert!(
        ends.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "no window overlaps with the next"
    );
}

#[test]
fn document_003_fits_itself() {
    let records = records("003");
    for (name, kind, seconds) in [
        ("4K Random Read (Single Queue, QD=1)", "read", 10),
        ("4K Random Write (Single Queue, QD=1)", "write", 5),
    ] {
        let record = named(&records, &format!("go-ublk memory backend | {name}"));
        let summary = &record.summaries[kind];
        assert!((bandwidth_over_blocks(record, summary) - 1.0).abs() < 0.001);
        let moved = summary.bytes.unwrap() as f64
            / (summary.bytes_per_second.unwrap() * f64::from(seconds));
        assert!((moved - 1.0).abs() < 0.005, "{moved}");
        assert_eq!(
            record.elapsed_ns,
            u64::try_from(seconds).unwrap() * 1_000_000_000
        );
        assert_eq!(
            (
                record.effective["random"].as_str(),
                record.asked["rw"].as_str()
            ),
            ("false", kind)
        );
    }
}

#[test]
fn document_004_gives_its_bandwidth_in_powers_of_two() {
    let records = records("004");
    let with_bandwidth =
        measured(&records).filter(|record| record.summaries["write"].bytes_per_second.is_some());
    let ratios: Vec<f64> = with_bandwidth
        .map(|record| bandwidth_over_blocks(record, &record.summaries["write"]))
        .collect();
    assert_eq!(ratios.len(), 8);
    assert!(
        ratios.iter().all(|ratio| (0.93..0.96).contains(ratio)),
        "{ratios:?}"
    );
}

#[test]
fn document_004_gives_two_numbers_for_one_command() {
    let records = records("004");
    let direct: Vec<&Record> = measured(&records)
        .filter(|record| record.effective["direct"] == "true")
        .collect();
    assert_eq!(direct.len(), 2);
    assert_eq!(direct[0].effective, direct[1].effective);
    assert_ne!(
        direct[0].summaries["write"].per_second,
        direct[1].summaries["write"].per_second
    );
}

#[test]
fn document_000_counts_its_failures_as_success() {
    let records = records("000");
    let mut requests = 0;
    for record in measured(&records) {
        let request = &record.summaries["request"];
        assert_eq!(
            request.count.unwrap() + request.errors.unwrap(),
            units_of(request)
        );
        assert_eq!(request.figures["success_percent"], 100.0);
        if record.name.starts_with("Linux") {
            requests += units_of(request);
        }
    }
    assert_eq!(requests, 93_639, "which its conclusion calls 100,000+");
}

fn units_of(request: &Summary) -> u64 {
    units::lossless::f64_to_u64_saturating(request.figures["requests"])
}
