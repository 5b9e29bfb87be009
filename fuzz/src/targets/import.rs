//! Results of other tools, recognised and as every format: whatever is read can be stored and is the same when read again.

use import::{Format, import, import_as};

pub fn run(bytes: &[u8]) {
    let forced = Format::ALL
        .iter()
        .map(|format| import_as(*format, bytes, "fuzz"));
    for records in std::iter::once(import(bytes, "fuzz"))
        .chain(forced)
        .flatten()
    {
        assert!(!records.is_empty());
        for record in records {
            let text = serde_json::to_string(&record).unwrap();
            let read: record::Record = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (read.id, read.operations.count()),
                (record.id, record.operations.count())
            );
        }
    }
}
