//! Records: what is read is written and read back as the same, and damage costs only its own line.
#![no_main]

use record::{Record, Status, parse_records};

fn written(records: &[Record]) -> Vec<u8> {
    let lines = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("a record is JSON") + "\n");
    lines.collect::<String>().into_bytes()
}

fn ended(records: &[Record]) -> usize {
    let has_ended = |record: &&Record| record.outcome.status != Status::Incomplete;
    records.iter().filter(has_ended).count()
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let read = parse_records(bytes);
    assert!(read.damaged.is_sorted_by(|a, b| a.line < b.line));
    let first = written(&read.records);
    let again = parse_records(&first);
    assert_eq!((&again.records, again.damaged.len()), (&read.records, 0));
    assert_eq!(written(&again.records), first);

    let torn = [bytes, b"\n{\"schema\":1,\"id\":\"to", b"\n", &first].concat();
    let twice = parse_records(&torn).records;
    // What was written before its run ended gives its place to a later record with its id.
    assert!((read.records.len()..=2 * read.records.len()).contains(&twice.len()));
    assert_eq!(ended(&twice), 2 * ended(&read.records));
});
