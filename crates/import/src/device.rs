//! The log of `fathom serve block --log`: what a device did, request by request
//! (docs/block-device.md has the bytes).
//!
//! It becomes the device's own record, of kind `device`: counts, bytes, errors and latencies by
//! kind of operation, from arrival to the end, beside which a client's record can be laid.

use crate::bins::Bins;
use crate::error::ImportError;
use record::{ErrorCount, Operations, Record, SCHEMA, Source, Status, TargetFact};
use std::collections::BTreeMap;
use units::{fnv1a, time};

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
const ENTRY: usize = 80;
/// Where the head says how the log ended, and on which host.
const END: usize = 56;
const HOST: usize = 88;
/// Where it says what its beginning and its end were, in the versions that do.
const SEALS: usize = 160;
const SEALED_END: usize = SEALS + 8;

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
    /// Entries, and those that a number below the highest does not have.
    whole: u64,
    holes: u64,
    /// Numbers since the last entry.
    since: u64,
}

impl Reading {
    /// What stands at the place of a number: an entry, or none of a request that was under way when
    /// the server was killed, or that the disk did not take. `None` where it makes no sense.
    fn place(&mut self, number: u64, entry: &[u8]) -> Option<()> {
        if entry[72] & 1 == 0 || word(entry, 0)? != number {
            self.since += 1;
            return Some(());
        }
        self.holes += std::mem::take(&mut self.since);
        self.whole += 1;
        self.entry(entry)
    }

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
    let version = form & 0xffff_ffff;
    if form >> 32 != ENTRY as u64 || !(1..=3).contains(&version) {
        return Err(wrong("its version is not known"));
    }
    if !is_as_sealed(bytes, version) {
        return Err(wrong(
            "its head is not the one that was written: it was changed or damaged",
        ));
    }
    let head = usize::try_from(head)
        .ok()
        .filter(|head| *head >= CHANGE && *head <= bytes.len())
        .ok_or_else(|| wrong("it ends in its head"))?;
    let mut reading = Reading::default();
    let (entries, rest) = bytes[head..].as_chunks::<ENTRY>();
    for (number, entry) in (0..).zip(entries) {
        if reading.place(number, entry).is_none() {
            return Err(wrong("an entry makes no sense"));
        }
    }
    if reading.first.is_none() {
        return Err(wrong("it holds no requests"));
    }
    let extent = Extent {
        version,
        places: entries.len() as u64,
        is_torn: !rest.is_empty(),
    };
    let missing = extent.missing(&reading, &bytes[..head]);
    let mut record = record(reading, &bytes[..head], device, name);
    if !missing.is_empty() {
        record.outcome.status = Status::Incomplete;
        record.outcome.exit_code = 5;
        record.outcome.message = Some(missing.join("; "));
    }
    record.notices.splice(0..0, missing);
    Ok(vec![record])
}

/// Whether what the head says of the beginning, and of the end if it has one, was not changed since.
/// Versions before the third have nothing there.
fn is_as_sealed(bytes: &[u8], version: u64) -> bool {
    let Some(head) = bytes.get(..SEALED_END + 8) else {
        return false;
    };
    let seals = [SEALS, SEALED_END].map(|at| word(head, at));
    if version < 3 {
        return seals == [Some(0); 2];
    }
    let begun = [&head[..END], &head[HOST..SEALS]].concat();
    let ended = fnv1a(&head[END..HOST]);
    seals[0] == Some(fnv1a(&begun)) && (seals[1] == Some(0) || seals[1] == Some(ended))
}

/// How far a log goes.
struct Extent {
    version: u64,
    /// Entries for which the file is long enough.
    places: u64,
    /// It ends within one.
    is_torn: bool,
}

impl Extent {
    /// What of the device's requests is not in its log, as sentences.
    fn missing(&self, reading: &Reading, head: &[u8]) -> Vec<String> {
        let number = |at| word(head, at).unwrap_or(0);
        let (capacity, whole) = (number(24), reading.whole);
        let is_sealed = self.version < 3 || number(SEALED_END) != 0;
        let has_ended = self.version > 1 && number(END) == 1 && is_sealed;
        let mut missing = Vec::new();
        if self.is_torn {
            missing.push("the log ends within an entry: it was cut".to_owned());
        }
        if has_ended {
            let came = number(END + 8);
            let here = format!("of {came} requests {whole} are in this log");
            if self.places < came.min(capacity) {
                missing.push(format!("{here}, and its server wrote more: it was cut"));
            } else if came > capacity {
                missing.push(format!(
                    "{here}, which had room for {capacity} (--log-requests)"
                ));
            } else if whole < came {
                missing.push(format!(
                    "{here}: the others were under way when a server was killed, or its disk did not take them"
                ));
            }
            return missing;
        }
        if whole == capacity {
            missing.push(format!(
                "the log is full with {whole} requests and was not ended by its server: how many came after them is not known"
            ));
        } else if self.version > 1 && self.places < capacity {
            missing.push(
                "the log was not ended by its server, and is shorter than that made it: it was cut"
                    .to_owned(),
            );
        }
        if reading.holes > 0 {
            missing.push(format!(
                "{} requests before the last have no entry: they were under way when the server was killed, or its disk did not take them",
                reading.holes
            ));
        }
        missing
    }
}

/// When the first request came, and on which host, where the log says so.
fn told_of_the_start(record: &mut Record, reading: &Reading, head: &[u8]) {
    let number = |at| word(head, at).map(i128::from);
    if let (Some(then), Some(since_1970), Some(first)) = (number(32), number(40), reading.first)
        && since_1970 > 0
    {
        record.started_at = time::format(since_1970 + i128::from(first) - then);
    }
    let length = head
        .get(HOST..HOST + 4)
        .and_then(|bytes| bytes.first_chunk());
    let length = length.map_or(0, |length| u32::from_le_bytes(*length));
    let name = usize::try_from(length)
        .ok()
        .filter(|length| (1..=64).contains(length))
        .and_then(|length| head.get(HOST + 4..HOST + 4 + length));
    if let Some(name) = name {
        let name = String::from_utf8_lossy(name).into_owned();
        record.generator_mut().environment.system.hostname = Some(name);
    }
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
    told_of_the_start(&mut record, &reading, head);
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
            first_offset: Some(first_offset),
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
        bytes[24..32].copy_from_slice(&64_u64.to_le_bytes());
        bytes[32..40].copy_from_slice(&50_u64.to_le_bytes());
        bytes[40..48].copy_from_slice(&(1_000_000_000_u64 * 86_400).to_le_bytes());
        for (number, mut entry) in (0_u64..).zip(entries.iter().copied()) {
            entry[0] = number;
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

    /// As its server ended it, after so many requests.
    fn ended(mut bytes: Vec<u8>, came: u64, missing: u64) -> Vec<u8> {
        bytes[8] = 2;
        for (at, number) in [(56, 1), (64, came), (72, missing)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[88..92].copy_from_slice(&4_u32.to_le_bytes());
        bytes[92..96].copy_from_slice(b"here");
        bytes
    }

    /// As the version writes it that seals what the head says.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[8] = 3;
        let begun = fnv1a(&[&bytes[..56], &bytes[88..160]].concat());
        let ended = fnv1a(&bytes[56..88]);
        bytes[160..168].copy_from_slice(&begun.to_le_bytes());
        bytes[168..176].copy_from_slice(&ended.to_le_bytes());
        bytes
    }

    #[test]
    fn a_head_that_was_changed_anywhere_is_refused() {
        let whole = sealed(ended(log(&[entry(0, 0, 0, 150)]), 1, 0));
        assert_eq!(said(&whole).0, Status::Ok);
        for at in 0..176 {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(read(&changed, "d.log").is_err(), "byte {at}");
        }
        let mut under_way = whole.clone();
        under_way[168..176].fill(0);
        assert_eq!(said(&under_way).0, Status::Incomplete, "killed at its end");
    }

    fn said(bytes: &[u8]) -> (Status, String) {
        let record = read(bytes, "d.log").unwrap().remove(0);
        (record.outcome.status, record.notices.join("; "))
    }

    #[test]
    fn a_log_says_when_and_where_it_began() {
        let bytes = ended(log(&[entry(0, 0, 0, 150)]), 1, 0);
        let record = read(&bytes, "d.log").unwrap().remove(0);
        assert_eq!(record.started_at, "1970-01-02T00:00:00.00000005Z");
        let system = &record.generator().environment.system;
        assert_eq!(system.hostname.as_deref(), Some("here"));
        assert_eq!(record.outcome.status, Status::Ok);
    }

    #[test]
    fn a_log_that_lacks_requests_says_so_and_is_incomplete() {
        let two = log(&[entry(0, 0, 0, 150), entry(0, 0, 0, 150)]);
        let mut full = two.clone();
        full[24] = 2;
        let hole = log(&[entry(0, 0, 0, 150), [0; 10], entry(0, 0, 0, 150)]);
        let torn = two[..two.len() - 1].to_vec();
        for (bytes, why) in [
            (
                ended(hole.clone(), 3, 1),
                "of 3 requests 2 are in this log: the others",
            ),
            (
                ended(full.clone(), 5, 3),
                "which had room for 2 (--log-requests)",
            ),
            (
                ended(two.clone(), 5, 0),
                "its server wrote more: it was cut",
            ),
            (full, "full with 2 requests and was not ended"),
            (torn, "ends within an entry"),
            (hole, "1 requests before the last have no entry"),
        ] {
            let (status, words) = said(&bytes);
            assert!(words.contains(why), "{why}: {words}");
            assert_eq!(status, Status::Incomplete, "{why}");
        }
        let mut cut = two.clone();
        cut[8] = 2;
        assert!(said(&cut).1.contains("shorter than that made it"));
        assert_eq!(said(&ended(two, 2, 0)).0, Status::Ok);
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
                other[8] = 4;
                other
            },
        ] {
            assert!(read(&bytes, "d.log").is_err());
        }
    }
}
