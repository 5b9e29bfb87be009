//! The published figures of five performance reports, each named in its file: they must raise at
//! least the rows of the catalogue of which they are the evidence, and nothing invalid beyond what
//! is listed.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use analyze::{Located, Severity, rules};
use record::read_records;
use std::collections::BTreeSet;
use std::path::Path;

/// What the catalogue says of one document.
struct Evidence {
    file: &'static str,
    /// Rows that name it.
    found: &'static [u8],
    /// The rules that find something invalid.
    invalid: &'static [&'static str],
}

const DOCUMENTS: [Evidence; 5] = [
    Evidence {
        file: "000.jsonl",
        found: &[
            2, 19, 20, 21, 22, 23, 24, 26, 27, 35, 48, 50, 51, 52, 57, 58, 59,
        ],
        invalid: &[
            "counts_inconsistent",
            "environment_differs",
            "errors_as_success",
            "no_repetition",
            "pacing_bound",
            "provenance_mismatch",
            "size_mix",
            "summary_contradicts_data",
        ],
    },
    Evidence {
        file: "001.jsonl",
        found: &[3, 5, 16, 17, 18, 31, 49, 50, 56],
        invalid: &["depth_not_reached", "environment_differs", "no_repetition"],
    },
    Evidence {
        file: "002.jsonl",
        found: &[
            14, 30, 32, 33, 34, 38, 39, 40, 41, 42, 44, 46, 48, 53, 55, 56, 57,
        ],
        invalid: &[
            "change_not_exercised",
            "control_fails",
            "errors_as_success",
            "no_repetition",
            "order_aliased",
            "summary_contradicts_data",
        ],
    },
    Evidence {
        file: "003.jsonl",
        found: &[2, 3, 5, 9, 11, 15, 28, 29, 31, 62],
        invalid: &["label_vs_pattern", "no_repetition", "verified_elsewhere"],
    },
    Evidence {
        file: "004.jsonl",
        found: &[1, 4, 7, 8, 9, 10, 11, 12, 28, 31, 43, 54],
        invalid: &[
            "faster_than_medium",
            "no_repetition",
            "served_from_cache",
            "verify_cannot_tell_holes",
        ],
    },
];

fn audited(file: &str) -> Vec<Located> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/documents")
        .join(file);
    let read = read_records(&path).unwrap();
    assert!(
        read.damaged.is_empty() && read.records.len() > 5,
        "{file}: {:?}",
        read.damaged
    );
    analyze::audit(&read.records)
}

fn catalogue_number(rule: &str) -> Option<u8> {
    rules()
        .iter()
        .find(|text| text.id == rule)
        .unwrap_or_else(|| panic!("{rule} has a text"))
        .catalogue_number
}

#[test]
fn each_document_raises_the_rows_that_it_is_the_evidence_of() {
    for Evidence { file, found, .. } in &DOCUMENTS {
        let rows: BTreeSet<u8> = audited(file)
            .iter()
            .filter_map(|located| catalogue_number(located.finding.rule))
            .collect();
        let silent: Vec<&u8> = found.iter().filter(|row| !rows.contains(row)).collect();
        assert!(silent.is_empty(), "{file}: rows {silent:?} found nothing");
    }
}

#[test]
fn nothing_else_is_invalid() {
    for Evidence { file, invalid, .. } in &DOCUMENTS {
        let located = audited(file);
        let rules: BTreeSet<&str> = located
            .iter()
            .map(|l| &l.finding)
            .filter(|f| f.severity == Severity::Invalid)
            .map(|f| f.rule)
            .collect();
        assert_eq!(rules.into_iter().collect::<Vec<_>>(), *invalid, "{file}");
    }
}

#[test]
fn the_figures_that_the_catalogue_quotes_are_in_the_messages() {
    let quoted = [
        ("000.jsonl", "3014 objects from 2605 requests"),
        ("000.jsonl", "delete from p99 on (234 operations)"),
        (
            "000.jsonl",
            "100000 requests are claimed, and their parts add to 93639",
        ),
        ("000.jsonl", "2.84 MiB in Windows"),
        (
            "000.jsonl",
            "recorded of Download of Linux is at most 4.4 of 100 users",
        ),
        (
            "000.jsonl",
            "MaxIOFS 0.9.0-beta is measured, and MaxIOFS 0.8.0-beta is said",
        ),
        (
            "000.jsonl",
            "latencies of 25 and of 100 users are in one percentile",
        ),
        (
            "001.jsonl",
            "asked for 8 operations in flight a worker, had 1.0 on average",
        ),
        (
            "001.jsonl",
            "asked for 8 operations in flight a worker, had 5.0 on average",
        ),
        ("001.jsonl", "a mean latency of 0.43 µs"),
        ("001.jsonl", "a mean latency of 1.38 µs"),
        (
            "001.jsonl",
            "7.83 K/s at depth 8 is 0.31 times the 24.9 K/s at depth 1",
        ),
        ("001.jsonl", "rate x latency is 0.79 times"),
        ("002.jsonl", "the baseline is best in 3 of 5 rows, not in 4"),
        ("002.jsonl", "ran in one window of time"),
        ("002.jsonl", "larger-chunk-size: +4, -43, +21, -20, -22 %"),
        (
            "002.jsonl",
            "500M: what batch-chunk-reading changes was not measured, and it is -35.2% beside the baseline",
        ),
        ("002.jsonl", "a loop device, an array (md1 raid1), sda, sdb"),
        (
            "002.jsonl",
            "18 results of 6 arms are slower than the baseline and 2 faster",
        ),
        ("003.jsonl", "were passed over 4710 times"),
        ("003.jsonl", "each taking 2.07 µs"),
        ("004.jsonl", "61 times the direct result of the same work"),
        ("004.jsonl", "is 630 times the best direct result here"),
        (
            "004.jsonl",
            "128 in flight on a volume of a provider take 21.48 ms each",
        ),
        ("004.jsonl", "5.96 K/s and 4.00 K/s, 33% less"),
    ];
    for (file, figure) in quoted {
        let messages: Vec<String> = audited(file)
            .into_iter()
            .map(|located| located.finding.message)
            .collect();
        assert!(
            messages.iter().any(|message| message.contains(figure)),
            "{file}: {figure:?} in none of {messages:#?}"
        );
    }
}
