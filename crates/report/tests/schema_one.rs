//! Records of schema 1 are judged and told as they were when they were written: what is told stands
//! beside the lines that the program of that time wrote, of a run, a run that watched a server, a load
//! that watched one, and a load whose server went away.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use report::{TerminalOptions, terminal};

#[test]
fn records_of_schema_one_are_told_as_they_were() {
    let read = record::parse_records(include_bytes!("schema_one/records.jsonl"));
    assert_eq!(read.damaged, []);
    let told: Vec<&str> = include_str!("schema_one/told.txt")
        .split("\n====\n")
        .collect();
    assert_eq!((read.records.len(), told.len()), (4, 4));
    for (record, told) in read.records.iter().zip(told) {
        let text = terminal(
            record,
            &analyze::self_check(record),
            &TerminalOptions::default(),
        );
        assert_eq!(text, told);
    }
}
