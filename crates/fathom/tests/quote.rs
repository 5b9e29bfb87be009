//! Published figures become records that are audited like any others.

mod support;

use std::path::Path;
use support::Place;

#[test]
fn a_page_that_calls_sequential_reads_random_is_found_out() {
    let place = Place::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/quoted.toml");
    let quoted = place.fathom(&format!("quote {} --records page.jsonl", example.display()));
    assert_eq!(quoted.code, Some(0), "{}", quoted.complained);
    let audit = place.fathom("audit page.jsonl");
    assert_eq!(audit.code, Some(4), "{}", audit.said);
    for rule in [
        "invalid[label_vs_pattern]",
        "invalid[no_repetition]",
        "warning[latency_below_io]",
    ] {
        assert!(audit.said.contains(rule), "{rule} in {}", audit.said);
    }
}

#[test]
fn a_table_that_cannot_be_read_is_told_with_file_line_and_column_and_writes_nothing() {
    let place = Place::new();
    place.write("page.csv", b"name,read.iops\na,fast\n");
    let refused = place.fathom("quote page.csv --records page.jsonl");
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.complained.contains("page.csv: line 2: read.iops:"),
        "{}",
        refused.complained
    );
    assert!(!place.path("page.jsonl").exists());
    let unknown = place.fathom("quote page.xlsx");
    assert!(
        unknown.complained.contains(".csv or .toml"),
        "{}",
        unknown.complained
    );
}
