//! Tables of another harness.

use super::{in_dir, text};
use std::fs;

/// Lines of twenty blocks of two arms, of which the second takes a fifth longer.
fn table() -> Vec<String> {
    let mut lines = Vec::new();
    for block in 0..20_u32 {
        let mut arms = [("old", 100), ("new", 120)];
        if (block * 7 / 3) % 2 == 1 {
            arms.reverse();
        }
        for ((arm, ms), place) in arms.into_iter().zip(0..) {
            let (order, ms) = (2 * block + place, ms + block * 13 % 7);
            lines.push(format!("{arm},{block},{order},{ms}"));
        }
    }
    lines
}

/// The verdict on such a table, and what was told.
fn judged_table(lines: &[String], columns: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("the test can do this");
    let text_of = format!("arm,block,order,ms\n{}\n", lines.join("\n"));
    fs::write(dir.path().join("t.csv"), text_of).expect("the test can do this");
    let import = [
        "import",
        "t.csv",
        "--format",
        "trials",
        "--baseline",
        "old",
        "--columns",
        columns,
        "--better",
        "lower",
        "--records",
        "t.jsonl",
    ];
    let output = in_dir(dir.path(), &import);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let judged = in_dir(dir.path(), &["compare", "t.jsonl"]);
    (
        judged.status.code(),
        text(&judged.stdout) + &text(&judged.stderr),
    )
}

#[test]
fn a_table_of_another_harness_is_judged_like_an_experiment() {
    let columns = "arm=arm,block=block,order=order,value=ms";
    let (code, told) = judged_table(&table(), columns);
    assert!(told.contains("Slower") && code == Some(3), "{told}");
    assert!(told.contains("new against old: ms,"), "{told}");
}

#[test]
fn a_table_with_a_byte_order_mark_is_read_and_one_in_another_encoding_refused() {
    let dir = tempfile::tempdir().expect("the test can do this");
    let table = format!("arm,block,order,ms\n{}\n", table().join("\n"));
    let marked = [b"\xef\xbb\xbf", table.as_bytes()].concat();
    let latin = table.replace("new", "n\u{e9}w");
    let latin = latin
        .chars()
        .map(|letter| u8::try_from(letter).expect("of Latin-1"));
    for (bytes, code, said) in [(marked, 0, ""), (latin.collect(), 2, "not UTF-8 text")] {
        fs::write(dir.path().join("t.csv"), bytes).expect("the test can do this");
        let import = "import t.csv --format trials --baseline old --better lower --columns arm=arm,block=block,order=order,value=ms";
        let words: Vec<&str> = import.split(' ').collect();
        let output = in_dir(dir.path(), &words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(said), "{told}");
    }
}

/// The same with every number of blocks and of the order larger.
fn counted_from(first: u32) -> Vec<String> {
    let later = |line: String| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().expect("a number") + first;
        format!("{},{},{},{}", cells[0], number(1), number(2), cells[3])
    };
    table().into_iter().map(later).collect()
}

#[test]
fn numbers_of_blocks_and_of_the_order_may_begin_anywhere() {
    for first in [1, 17] {
        let (code, told) = judged_table(
            &counted_from(first),
            "arm=arm,block=block,order=order,value=ms",
        );
        assert!(told.contains("Slower") && code == Some(3), "{told}");
    }
    let mut lines = counted_from(1);
    lines.drain(8..12);
    let (code, told) = judged_table(&lines, "arm=arm,block=block,order=order,value=ms");
    assert!(told.contains("cells_missing") && code == Some(4), "{told}");
}

#[test]
fn blocks_that_the_order_shows_need_no_column() {
    let (code, told) = judged_table(&table(), "arm=arm,order=order,value=ms");
    assert!(told.contains("Slower") && code == Some(3), "{told}");
}

#[test]
fn a_table_without_order_or_one_arm_after_the_other_has_no_verdict_and_is_told_why() {
    let windows = || {
        let mut lines = table();
        lines.sort();
        let renumbered = lines.iter().zip(1..).map(|(line, place)| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{place},{}", cells[0], cells[1], cells[3])
        });
        renumbered.collect::<Vec<_>>()
    };
    let aliased = "No verdict: order aliased with arm";
    for (lines, columns, expected) in [
        (
            table(),
            "arm=arm,value=ms",
            "order aliased with arm, no repetition: the table says neither",
        ),
        (table(), "arm=arm,block=block,value=ms", aliased),
        (
            windows(),
            "arm=arm,block=block,order=order,value=ms",
            aliased,
        ),
        (
            windows(),
            "arm=arm,order=order,value=ms",
            "No verdict: no repetition",
        ),
    ] {
        let (code, told) = judged_table(&lines, columns);
        assert!(
            told.contains(expected) && code == Some(4),
            "{columns}: {told}"
        );
    }
}

/// The 35 medians of the matrix that one branch after the other was measured by.
#[test]
fn the_medians_of_document_002_carry_an_aliased_order_and_no_more() {
    let document = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../analyze/tests/documents/002.jsonl"
    );
    let document = fs::read_to_string(document).expect("the document is there");
    let mut lines = Vec::new();
    for line in document.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record");
        let name = record["name"].as_str().unwrap_or_default();
        let median = record["summaries"]["upload"]["bytes_per_second"].as_f64();
        if let (Some((branch, size)), Some(median)) = (name.split_once(" | "), median)
            && !branch.contains("not named")
        {
            let start = record["started_at"].as_str().unwrap_or_default();
            lines.push(format!("{branch},{size},{median},{start}"));
        }
    }
    assert_eq!(lines.len(), 35);
    let dir = tempfile::tempdir().expect("the test can do this");
    let table = format!("branch,size,speed,start\n{}\n", lines.join("\n"));
    fs::write(dir.path().join("t.csv"), table).expect("the test can do this");
    for (columns, expected) in [
        (
            "arm=branch,row=size,value=speed,start=start",
            "No verdict: order aliased with arm, no repetition: one side ran after the other",
        ),
        (
            "arm=branch,row=size,value=speed",
            "No verdict: order aliased with arm, no repetition: the table says neither",
        ),
    ] {
        let records = format!("{}.jsonl", columns.len());
        let import = [
            "import",
            "t.csv",
            "--format",
            "trials",
            "--baseline",
            "baseline",
            "--better",
            "higher",
            "--columns",
            columns,
            "--records",
            &records,
        ];
        let output = in_dir(dir.path(), &import);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let judged = in_dir(dir.path(), &["compare", &records]);
        let told = text(&judged.stdout);
        assert_eq!(judged.status.code(), Some(4), "{told}");
        assert_eq!(told.matches("No verdict").count(), 36, "{told}");
        assert_eq!(told.matches(expected).count(), 36, "{told}");
    }
}
