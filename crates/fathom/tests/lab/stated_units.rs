//! The unit of a number that a command or a table states stays with it to the end.

use super::{in_dir, said, text, with_plan};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn plan(unit: &str) -> String {
    format!(
        r#"
metric = "value:speed"
better = "higher"
passes = 6
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[workload]
command = "echo speed: {{value}}{{pass}}5"
read = {{ name = "speed", regex = 'speed: ([0-9]+)', unit = "{unit}" }}
[[arm]]
name = "first"
set = {{ value = "53100" }}
[[arm]]
name = "second"
set = {{ value = "70200" }}
"#
    )
}

fn json(path: &Path) -> Value {
    let bytes = fs::read(path).expect("the file is there");
    serde_json::from_slice(&bytes).expect("the file is JSON")
}

#[test]
fn what_a_command_states_keeps_its_unit_in_every_form_of_a_verdict() {
    let dir = with_plan(&plan("KB/s"));
    let run = [
        "lab",
        "run",
        "p.toml",
        "-o",
        "verdict.json",
        "-o",
        "verdict.md",
    ];
    let told = said(&in_dir(dir.path(), &run), 0);
    let medians = "medians 5.31M KB/s and 7.02M KB/s over 6 blocks";
    assert!(told.contains(medians), "{told}");
    let again = [
        "compare",
        "p.jsonl",
        "--metric",
        "value:speed",
        "--better",
        "higher",
    ];
    let told = said(&in_dir(dir.path(), &again), 0);
    assert!(told.contains(medians), "{told}");
    let verdict = json(&dir.path().join("verdict.json"));
    assert_eq!(verdict["metric"]["unit"], "KB/s", "{verdict}");
    let summary = fs::read_to_string(dir.path().join("verdict.md")).expect("it was written");
    assert!(summary.contains("| 5.31M KB/s | 7.02M KB/s |"), "{summary}");
    let report = "report p.jsonl --metric value:speed --better higher -o report.json -o report.html -o report.md";
    let report: Vec<&str> = report.split(' ').collect();
    said(&in_dir(dir.path(), &report), 0);
    for form in ["report.html", "report.md"] {
        let page = fs::read_to_string(dir.path().join(form)).expect("it was written");
        assert!(page.contains("Compared: speed in KB/s, each arm"), "{form}");
        let levels = "speed: medians 5.31M KB/s (first) and 7.02M KB/s (second) over 6 blocks";
        assert!(page.contains(levels), "{form}");
    }
    let report = json(&dir.path().join("report.json"));
    assert_eq!(report["compared"]["unit"], "KB/s");
}

#[test]
fn a_unit_in_the_words_of_markdown_is_no_markdown() {
    let dir = with_plan(&plan("<b>KB|s"));
    let run = ["lab", "run", "p.toml", "-o", "verdict.md"];
    said(&in_dir(dir.path(), &run), 0);
    let summary = fs::read_to_string(dir.path().join("verdict.md")).expect("it was written");
    let cell = r"| 5.31M &lt;b&gt;KB\|s |";
    assert!(summary.contains(cell), "{summary}");
}

#[test]
fn a_table_keeps_the_unit_that_is_said_of_it_and_two_units_have_no_verdict() {
    let dir = tempfile::tempdir().expect("the test can do this");
    let lines = (0..20).map(|block| {
        let (first, second) = match (block * 7 / 3) % 2 {
            0 => (("old", 100), ("new", 120)),
            _ => (("new", 120), ("old", 100)),
        };
        let line = |place: i32, (arm, speed): (&str, i32)| {
            format!(
                "{arm},{block},{},{}\n",
                2 * block + place,
                speed + block * 13 % 7
            )
        };
        line(0, first) + &line(1, second)
    });
    let table = "arm,block,order,speed\n".to_owned() + &lines.collect::<String>();
    fs::write(dir.path().join("t.csv"), table).expect("the test can do this");
    let import = "import t.csv --format trials --baseline old --better higher --unit MB/s --columns arm=arm,block=block,order=order,value=speed --records t.jsonl";
    said(
        &in_dir(dir.path(), &import.split(' ').collect::<Vec<_>>()),
        0,
    );
    let told = said(
        &in_dir(dir.path(), &["compare", "t.jsonl", "-o", "v.json"]),
        0,
    );
    assert!(told.contains("medians 103 MB/s and 123 MB/s"), "{told}");
    let verdict = json(&dir.path().join("v.json"));
    assert_eq!(verdict["metric"]["unit"], "MB/s", "{verdict}");
    let records = fs::read_to_string(dir.path().join("t.jsonl")).expect("it was written");
    let mixed = records
        .lines()
        .map(|line| match line.contains(r#""arm":"new""#) {
            true => line.replace("MB/s", "KB/s") + "\n",
            false => line.to_owned() + "\n",
        });
    fs::write(dir.path().join("m.jsonl"), mixed.collect::<String>()).expect("the test can do this");
    let judged = in_dir(dir.path(), &["compare", "m.jsonl"]);
    let told = text(&judged.stdout) + &text(&judged.stderr);
    assert_eq!(judged.status.code(), Some(4), "{told}");
    assert!(
        told.contains("speed is stated in different units: KB/s, MB/s"),
        "{told}"
    );
}
