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

/// Five published documents, and what is wrong with each by its own figures.
const DOCUMENTS: [(&str, &[&str]); 5] = [
    (
        "quoted.toml",
        &["invalid[label_vs_pattern]", "warning[latency_below_io]"],
    ),
    (
        "four-systems.csv",
        &[
            "invalid[environment_differs]",
            "invalid[depth_not_reached]",
            "warning[little_law]",
            "warning[unit_mix]",
            "warning[depth_inversion]",
        ],
    ),
    ("object-store.csv", &["invalid[environment_differs]"]),
    (
        "picoshare-study.csv",
        &["warning[one_sided]", "warning[effect_flips_sign]"],
    ),
    ("tuning-guide.csv", &["invalid[served_from_cache]"]),
];

#[test]
fn figures_of_five_documents_are_entered_as_tables_and_found_out() {
    let place = Place::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    for (table, rules) in DOCUMENTS {
        let quoted = place.fathom(&format!(
            "quote {} --records {table}.jsonl",
            examples.join(table).display()
        ));
        assert_eq!(quoted.code, Some(0), "{table}: {}", quoted.complained);
        let audit = place.fathom(&format!("audit {table}.jsonl"));
        assert_eq!(audit.code, Some(4), "{table}: {}", audit.said);
        for rule in rules.iter().chain(&["invalid[no_repetition]"]) {
            assert!(
                audit.said.contains(rule),
                "{table}: {rule} in {}",
                audit.said
            );
        }
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
