//! Records: what is read is written and read back as the same, and damage costs only its own line.

use record::{Record, parse_records};

fn written(records: &[Record]) -> Vec<u8> {
    let lines = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("a record is JSON") + "\n");
    lines.collect::<String>().into_bytes()
}

pub fn run(bytes: &[u8]) {
    let read = parse_records(bytes);
    assert!(read.damaged.is_sorted_by(|a, b| a.line < b.line));
    let first = written(&read.records);
    let again = parse_records(&first);
    assert_eq!((&again.records, again.damaged.len()), (&read.records, 0));
    assert_eq!(written(&again.records), first);

    let torn = [bytes, b"\n{\"schema\":1,\"id\":\"to", b"\n", &first].concat();
    let twice = parse_records(&torn).records;
    // A later record takes the place of an earlier one with its id; what has no id replaces nothing.
    let nameless = read.records.iter().filter(|record| record.id.is_empty());
    assert_eq!(twice.len(), read.records.len() + nameless.count());
}
