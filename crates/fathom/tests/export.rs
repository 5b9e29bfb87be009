//! Records leave Fathom as tables, which other programs read.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Place;
use support::skip::skipped;

/// A place with `runs.jsonl`: a file read at two depths.
fn measured() -> Place {
    let place = Place::new();
    for depth in ["1", "8"] {
        let ran = place.fathom(&format!(
            "run f --file-size 1M --random --engine sync --threads {depth} --queue-depth 1 --write-percent 20 --total-bytes 256k --records runs.jsonl"
        ));
        assert_eq!(ran.code, Some(0), "{}", ran.complained);
    }
    place
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn a_table_has_a_row_a_record_and_kind_and_options_as_numbers() {
    let place = measured();
    let ran = place.fathom("export runs.jsonl -o runs.ndjson");
    assert_eq!(ran.code, Some(0), "{}", ran.complained);
    let text = fs::read_to_string(place.path("runs.ndjson")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = rows
        .iter()
        .map(|row| row["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["read", "write", "all", "read", "write", "all"]);
    for row in &rows {
        assert_eq!(row["option_block_size"], 4096);
        assert_eq!(row["option_random"], true);
        assert_eq!(row["option_total_bytes"], 256 << 10);
        assert_eq!(row["option_write_percent"], 20.0);
        let [bytes, count] = ["bytes", "count"].map(|key| row[key].as_u64().unwrap());
        assert_eq!(bytes, count * 4096);
    }
    let threads: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["option_threads"].as_u64().unwrap())
        .collect();
    assert_eq!(threads, [1, 8].into());
}

#[test]
fn the_stored_record_says_the_same_as_the_table_and_reads_back() {
    let place = measured();
    let csv = place.fathom("export runs.jsonl").said;
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let first: Vec<&str> = lines.next().unwrap().split(',').collect();
    let text = fs::read_to_string(place.path("runs.jsonl")).unwrap();
    let stored: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let read = &stored["summary"]["read"];
    for column in ["count", "per_second", "p50_ns", "max_ns"] {
        assert_eq!(
            first[at(column)],
            read[column].to_string().trim_end_matches(".0"),
            "{column}"
        );
    }
    assert_eq!(stored["options"]["block-size"], 4096);
    // A short run on a busy machine may be doubted, which is 4; it is read in any case.
    let audit = place.fathom("audit runs.jsonl");
    assert!(
        matches!(audit.code, Some(0 | 4)) && audit.complained.is_empty(),
        "{}",
        audit.said
    );
}

#[test]
fn foreign_files_are_kept_and_earlier_tables_are_replaced() {
    let place = measured();
    fs::write(place.path("mine.csv"), "a,b\n1,2\n").unwrap();
    let refused = place.fathom("export runs.jsonl -o mine.csv");
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        fs::read_to_string(place.path("mine.csv")).unwrap(),
        "a,b\n1,2\n"
    );
    for name in ["runs.csv", "table.jsonl"] {
        for _ in 0..2 {
            assert_eq!(
                place.fathom(&format!("export runs.jsonl -o {name}")).code,
                Some(0)
            );
        }
    }
    let onto_itself = place.fathom("export runs.jsonl -o runs.jsonl");
    assert_eq!(onto_itself.code, Some(2));
    assert!(
        onto_itself.complained.contains("one of the records"),
        "{}",
        onto_itself.complained
    );
    let unknown = place.fathom("export runs.jsonl -o runs.xlsx");
    assert!(
        unknown.complained.contains(".csv, .jsonl or .parquet"),
        "{}",
        unknown.complained
    );
}

#[test]
fn the_printed_schema_is_the_one_in_the_documents() {
    let printed = Place::new().fathom("export --schema").said;
    let there = fs::read_to_string(repository().join("docs/record.schema.json")).unwrap();
    assert_eq!(printed, there);
}

/// The cells run as they stand in the notebook, by a Python that has polars and duckdb.
#[test]
fn the_notebook_opens_an_export() {
    let python = repository().join("target/tools/notebook/bin/python");
    let python = std::env::var_os("FATHOM_NOTEBOOK_PYTHON").map_or(python, PathBuf::from);
    let has = |python: &Path| {
        let asked = Command::new(python)
            .args(["-c", "import polars, duckdb"])
            .output();
        asked.is_ok_and(|answer| answer.status.success())
    };
    if !has(&python) {
        skipped(
            "a Python with polars and duckdb (python3 -m venv target/tools/notebook && target/tools/notebook/bin/pip install polars duckdb)",
        );
        return;
    }
    let place = measured();
    assert_eq!(place.fathom("export runs.jsonl -o runs.csv").code, Some(0));
    let text = fs::read_to_string(repository().join("docs/records.ipynb")).unwrap();
    let notebook: Value = serde_json::from_str(&text).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter();
    let code: Vec<String> = cells
        .filter(|cell| cell["cell_type"] == "code")
        .flat_map(|cell| cell["source"].as_array().unwrap())
        .map(|line| line.as_str().unwrap().trim_end().to_owned())
        .collect();
    assert!(code.len() <= 10, "ten lines");
    let ran = Command::new(&python)
        .args(["-c", &code.join("\n")])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(said.matches("per_second").count(), 2, "{said}");
}
