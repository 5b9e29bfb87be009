//! The log of `fathom serve block --log`: what a device did, request by request
//! (docs/block-device.md has the bytes).
//!
//! It becomes the device's own record, of kind `device`: counts, bytes, errors and latencies by
//! kind of operation, from arrival to the end, beside which a client's record can be laid.

use crate::bins::Bins;
use crate::error::ImportError;
use crate::origin::fnv1a;
use record::{ErrorCount, Operations, Record, SCHEMA, Source, TargetFact};
use std::collections::BTreeMap;

const MAGIC: &[u8; 8] = b"FATHOMBD";
const KINDS: [&str; 5] = ["read", "write", "flush", "trim", "zero"];
const DONE: [&str; 10] = [
    "plain",
    "failed",
    "lost",
    "torn",
    "misdirected",
    "stale",
    "corrupted",
    "hung",
    "refused",
    "crashed",
];
const CHANGE: usize = 256;

/// Whether a file begins as such a log does.
pub(crate) fn is_log(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A number of eight bytes, the lowest first.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[derive(Default)]
struct Kind {
    operations: Operations,
    latency: Bins,
}

#[derive(Default)]
struct Reading {
    kinds: BTreeMap<&'static str, Kind>,
    done: BTreeMap<&'static str, u64>,
    /// By kind and number of the error.
    errors: BTreeMap<(&'static str, u64), (u64, u64)>,
    first: Option<u64>,
    last: u64,
}

impl Reading {
    /// One entry; `None` where it is none.
    fn entry(&mut self, entry: &[u8]) -> Option<()> {
        let (offset, length) = (word(entry, 8)?, word(entry, 16)?);
        let (arrived, committed) = (word(entry, 24)?, word(entry, 40)?);
        let tail = word(entry, 64)?;
        let error = tail >> 32 & 0xffff;
        let name = KINDS.get(usize::from(*entry.get(70)?))?;
        let done = DONE.get(usize::from(*entry.get(71)?))?;
        *self.done.entry(done).or_default() += 1;
        self.first = Some(self.first.map_or(arrived, |first| first.min(arrived)));
        self.last = self.last.max(committed);
        let kind = self.kinds.entry(name).or_default();
        if error > 0 {
            kind.operations.errors += 1;
            let (count, _) = self.errors.entry((name, error)).or_insert((0, offset));
            *count += 1;
            return Some(());
        }
        let operations = &mut kind.operations;
        operations.count += 1;
        if matches!(*name, "read" | "write") {
            operations.bytes = operations.bytes.checked_add(length)?;
            operations.smallest_bytes = Some(
                operations
                    .smallest_bytes
                    .map_or(length, |least| least.min(length)),
            );
            operations.largest_bytes = Some(
                operations
                    .largest_bytes
                    .map_or(length, |most| most.max(length)),
            );
        }
        kind.latency
            .add(committed.checked_sub(arrived)?, 1)
            .then_some(())
    }
}

/// Reads a log.
pub(crate) fn read(bytes: &[u8], name: &str) -> Result<Vec<Record>, ImportError> {
    let wrong = |why: &str| ImportError::Refused {
        file: name.to_owned(),
        what: format!("a log of a block device, but {why}"),
        advice: "copy it again, or serve with another --log",
    };
    let (Some(form), Some(head), Some(device)) = (word(bytes, 8), word(bytes, 16), word(bytes, 48))
    else {
        return Err(wrong("it ends in its head"));
    };
    if form != 1 | 80 << 32 {
        return Err(wrong("its version is not known"));
    }
    let head = usize::try_from(head)
        .ok()
        .filter(|head| *head >= CHANGE && *head <= bytes.len())
        .ok_or_else(|| wrong("it ends in its head"))?;
    let mut reading = Reading::default();
    for entry in bytes[head..].chunks_exact(80) {
        // What a killed server had under way has no end.
        if entry[72] & 1 == 1 && reading.entry(entry).is_none() {
            return Err(wrong("an entry makes no sense"));
        }
    }
    if reading.first.is_none() {
        return Err(wrong("it holds no requests"));
    }
    Ok(vec![record(reading, &bytes[..head], device, name)])
}

fn record(reading: Reading, head: &[u8], device: u64, name: &str) -> Record {
    let mut record = Record {
        schema: SCHEMA,
        id: format!("device-{:016x}", fnv1a(head) ^ reading.last),
        kind: "device".into(),
        name: "device".into(),
        elapsed_ns: reading.last.saturating_sub(reading.first.unwrap_or(0)),
        targets: vec![TargetFact {
            path: name.to_owned(),
            kind: "block device".into(),
            bytes: device,
            ..TargetFact::default()
        }],
        source: Some(Source {
            tool: "fathom serve block".into(),
            version: None,
            file: Some(name.to_owned()),
            format: "device-log".into(),
            elapsed_step_ns: None,
        }),
        ..Record::default()
    };
    for (
        kind,
        Kind {
            mut operations,
            latency,
        },
    ) in reading.kinds
    {
        operations.latency = latency.into_histogram();
        record.operations.insert(kind, operations);
    }
    for ((operation, error), (count, first_offset)) in reading.errors {
        record.errors.push(ErrorCount {
            operation: operation.to_owned(),
            error: format!("errno {error}"),
            count,
            first_file: String::new(),
            first_offset,
            class: None,
        });
    }
    for (done, count) in reading.done {
        let told = (format!("done {done}"), count.to_string());
        record.effective.extend([told]);
    }
    for change in head[CHANGE..].chunks_exact(CHANGE) {
        let length = word(change, 16).map_or(0, |word| word >> 32);
        let text = usize::try_from(length)
            .ok()
            .and_then(|length| change.get(24..24 + length))
            .filter(|text| !text.is_empty());
        if let (Some(text), Some(number)) = (text, word(change, 8)) {
            record.notices.push(format!(
                "from request {number} on: {}",
                String::from_utf8_lossy(text)
            ));
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(entries: &[[u64; 10]]) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&(1_u64 | 80 << 32).to_le_bytes());
        bytes[16..24].copy_from_slice(&(64_u64 << 10).to_le_bytes());
        bytes[48..56].copy_from_slice(&4096_u64.to_le_bytes());
        bytes[264..272].copy_from_slice(&2_u64.to_le_bytes());
        bytes[276..280].copy_from_slice(&4_u32.to_le_bytes());
        bytes[280..284].copy_from_slice(b"none");
        for entry in entries {
            bytes.extend(entry.iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes
    }

    /// Of this kind and error, from 100 to `end`.
    fn entry(kind: u64, error: u64, done: u64, end: u64) -> [u64; 10] {
        let tail = error << 32 | kind << 48 | done << 56;
        [0, 512, 4096, 100, 100, end, 0, 0, tail, 1]
    }

    #[test]
    fn a_log_is_the_record_of_a_device() {
        let bytes = log(&[
            entry(0, 0, 0, 150),
            entry(0, 5, 1, 900),
            entry(1, 0, 2, 300),
            [0; 10],
        ]);
        assert!(is_log(&bytes));
        let records = read(&bytes, "d.log").unwrap();
        let [record] = &records[..] else {
            panic!("one record");
        };
        assert_eq!((record.kind.as_str(), record.elapsed_ns), ("device", 800));
        let reads = record.operations.kind("read").unwrap();
        assert_eq!((reads.count, reads.bytes, reads.errors), (1, 4096, 1));
        assert_eq!(reads.latency.max(), Some(50));
        assert_eq!(record.errors[0].error, "errno 5");
        assert_eq!(record.effective["done lost"], "1");
        assert_eq!(record.notices, ["from request 2 on: none"]);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for bytes in [
            b"FATHOMBD".to_vec(),
            log(&[]),
            log(&[entry(9, 0, 0, 150)]),
            log(&[entry(0, 0, 0, 50)]),
            {
                let mut other = log(&[]);
                other[8] = 9;
                other
            },
        ] {
            assert!(read(&bytes, "d.log").is_err());
        }
    }
}
