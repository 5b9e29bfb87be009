//! Records as JSON for people and scripts: the stored form, indented.

use crate::json_without_commands;
use record::Record;
use serde_json::{Map, Value, json};

/// One record as an object, any other number as an array; fields are those of the record.
#[must_use]
pub fn json(records: &[Record]) -> String {
    let text = match records {
        [only] => serde_json::to_string_pretty(only),
        several => serde_json::to_string_pretty(several),
    };
    json_without_commands(&text.expect(
        "a record holds numbers, texts, lists and maps with text keys, all of which JSON has",
    ))
}

/// The latency histograms alone: `{NAME: {KIND: {"latency": …, "service": …}}}`, buckets as in a
/// record. Records of one name are told apart by a number behind it.
#[must_use]
pub fn histograms_json(records: &[Record]) -> String {
    let mut out = Map::new();
    for (index, record) in records.iter().enumerate() {
        let kinds: Map<String, Value> = record
            .operations
            .kinds()
            .map(|(kind, o)| {
                (
                    kind.to_owned(),
                    json!({ "latency": o.latency, "service": o.service }),
                )
            })
            .collect();
        let name = if out.contains_key(&record.name) {
            format!("{} ({})", record.name, index + 1)
        } else {
            record.name.clone()
        };
        out.insert(name, Value::Object(kinds));
    }
    json_without_commands(&Value::Object(out).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn one_record_is_an_object_and_reads_back() {
        let record = example::oltp();
        assert_eq!(
            serde_json::from_str::<Record>(&json(std::slice::from_ref(&record))).unwrap(),
            record
        );
    }

    #[test]
    fn no_name_is_a_command_to_the_runner_of_a_job_and_all_read_back() {
        for name in [
            "##[add-mask]x",
            "###[x",
            "\\##vso[task.x]",
            "\n::error::x",
            "##",
        ] {
            let mut record = example::oltp();
            record.name = name.into();
            let text = json(std::slice::from_ref(&record));
            assert_eq!(crate::without_commands(&text), text, "{text}");
            assert!(!text.contains("##"), "{text}");
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        }
    }

    #[test]
    fn histograms_of_every_record_are_kept_apart() {
        let record = example::oltp();
        let text = histograms_json(&[record.clone(), record.clone()]);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read.as_object().unwrap().len(), 2);
        let histogram: record::Histogram =
            serde_json::from_value(read[&record.name]["read"]["latency"].clone()).unwrap();
        assert_eq!(
            Some(&histogram),
            record.operations.kind("read").map(|o| &o.latency)
        );
    }

    #[test]
    fn several_records_are_an_array_and_so_are_none() {
        let records = vec![example::oltp(), Record::default()];
        assert_eq!(
            serde_json::from_str::<Vec<Record>>(&json(&records)).unwrap(),
            records
        );
        assert_eq!(json(&[]), "[]");
    }
}
