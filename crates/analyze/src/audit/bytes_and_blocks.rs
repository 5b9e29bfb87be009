//! Bytes must lie between operations times the smallest and operations times the largest transfer,
//! and each operation has one latency.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{Operations, Record};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "bytes_and_blocks",
    catalogue_number: Some(59),
    severity: Severity::Invalid,
    title: "Bytes, operations and latencies of a kind contradict each other",
    text: "\
For each kind of operation: the bytes must lie between the count times the smallest and
times the largest transfer, no transfer may exceed the one block size, and every
operation must have exactly one latency in the histogram.
These counters are kept apart on purpose, so that one can catch the other. 100,001
operations of 4096 bytes are 409,604,096 bytes; a record with 409,604,095 has lost a
byte somewhere, and then no other number of it can be trusted either: the same fault may
have lost an operation in ten.
What to do: do not use the record, and report it as a bug with the record attached.",
    checks: &[Check::Each(check)],
};

const ADVICE: &str =
    "the counters contradict each other: do not use these numbers, and report the record as a bug";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let block = Effective::of(record).transfer_bytes();
    let contradictions = record
        .operations
        .kinds()
        .flat_map(|(kind, operations)| contradictions(kind, operations, block));
    contradictions
        .map(|message| RULE.finding(Severity::Invalid, message, ADVICE))
        .collect()
}

fn contradictions(kind: &str, operations: &Operations, block: Option<u64>) -> Vec<String> {
    let Operations { count, bytes, .. } = *operations;
    let mut out = Vec::new();
    // Without a smallest and a largest nobody looked; without operations there is none.
    let sizes = operations.smallest_bytes.zip(operations.largest_bytes);
    let bound = |size: u64| u128::from(count) * u128::from(size);
    if let Some((smallest, largest)) =
        sizes.filter(|(least, most)| !(bound(*least)..=bound(*most)).contains(&u128::from(bytes)))
    {
        out.push(format!(
            "{kind}: {bytes} bytes do not fit {count} operations of {smallest} to {largest} bytes"
        ));
    }
    if let (Some(block), Some(largest)) = (
        block,
        operations
            .largest_bytes
            .filter(|largest| block.is_some_and(|block| *largest > block)),
    ) {
        out.push(format!(
            "{kind}: an operation of {largest} bytes where each transfers {block} bytes"
        ));
    }
    if count == 0 && bytes > 0 {
        out.push(format!("{kind}: {bytes} bytes of no operation"));
    }
    let samples = operations.latency.count();
    if samples != count {
        out.push(format!(
            "{kind}: {count} operations have {samples} latencies"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, set, sound};
    use super::*;

    #[test]
    fn a_lost_byte_is_found_where_all_blocks_are_equal() {
        let mut record = sound();
        record.operations.insert(
            "read",
            Operations {
                bytes: 4095,
                ..blocks(1, 3_200_000)
            },
        );
        assert_eq!(
            only(&check(&record)),
            "read: 409604095 bytes do not fit 100001 operations of 4096 to 4096 bytes"
        );
    }

    #[test]
    fn mixed_sizes_have_bounds_and_operations_without_bytes_none() {
        let mut record = sound();
        set(&mut record, "block-size", "4k/50:64k/50");
        record.operations.insert(
            "read",
            Operations {
                bytes: 65_536,
                largest_bytes: Some(65_536),
                ..blocks(1, 3_200_000)
            },
        );
        record.operations.insert(
            "fsync",
            Operations {
                bytes: 0,
                smallest_bytes: Some(0),
                largest_bytes: Some(0),
                ..blocks(3, 1000)
            },
        );
        assert_eq!(check(&record), []);
    }

    #[test]
    fn unknown_sizes_accuse_nobody_and_bytes_need_an_operation() {
        let mut imported = sound();
        imported.operations = record::Measurements::default();
        set(&mut imported, "block-size", "4k/50:64k/50");
        imported.operations.insert(
            "read",
            Operations {
                bytes: 9_000_000,
                smallest_bytes: None,
                largest_bytes: None,
                ..blocks(1000, 1000)
            },
        );
        assert_eq!(check(&imported), []);
        imported.operations.insert(
            "write",
            Operations {
                bytes: 1,
                ..Operations::default()
            },
        );
        assert_eq!(only(&check(&imported)), "write: 1 bytes of no operation");
    }

    #[test]
    fn an_operation_above_the_only_block_size_is_found() {
        let mut record = sound();
        set(&mut record, "block-size", "2k");
        assert_eq!(
            only(&check(&record)),
            "read: an operation of 4096 bytes where each transfers 2048 bytes"
        );
    }

    #[test]
    fn an_operation_without_latency_is_found() {
        let mut record = sound();
        record.operations.insert(
            "read",
            Operations {
                latency: record::Histogram::default(),
                ..blocks(7, 1)
            },
        );
        assert_eq!(
            only(&check(&record)),
            "read: 100007 operations have 100000 latencies"
        );
    }
}
