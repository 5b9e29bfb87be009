//! Parts of ranks, a line each, as the root and `fathom merge` join them: what is joined is written and read back as the same, is no success where a rank
//! is missing or another's part is not believed, and none of the parts is counted twice.

use record::{Record, Status, join};

pub fn run(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    let parts: Vec<Record> = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(|part: &Record| part.group.is_some())
        .take(8)
        .collect();
    let given = parts.iter().cloned().zip(0..);
    let given = given.map(|(part, number)| (format!("part {number}"), part));
    let joined = join(given.collect());
    for fault in &joined.faults {
        assert!(!fault.to_string().is_empty());
    }
    let Some(record) = joined.record else {
        return;
    };
    let all = parts.iter().map(|part| u128::from(part.operations.count()));
    assert!(u128::from(record.operations.count()) <= all.sum());
    if !joined.faults.is_empty() {
        assert_ne!(record.outcome.status, Status::Ok, "{:?}", joined.faults);
    }
    let text = serde_json::to_string(&record).expect("a record is JSON");
    let again: Record = serde_json::from_str(&text).expect("it reads its own form");
    assert_eq!(again, record);
}
