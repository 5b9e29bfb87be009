//! A buffered write that was never flushed was not written.

use super::{counted, percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Bytes;
use units::lossless::f64_to_u64_saturating;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "dirty_at_end",
    catalogue_number: Some(10),
    severity: Severity::Warning,
    title: "Written data was still in memory at the end",
    text: "\
For buffered writes: how much the kernel's dirty memory grew over the run
(machine.dirty_before_bytes and dirty_after_bytes), but no more than the run itself left
unflushed, and whether any fsync or fdatasync took place or was asked for. More than 10 %
still dirty, or no flush at all, is found.
A buffered write returns when the data is in memory; the kernel writes it up to 30 s
later. Ten seconds at 1.42 GB/s \"wrote\" 14 GB into a file of 1 GB: each block was
overwritten in memory 14 times, and the device saw a fraction of it after the clock had
stopped.
What to do: put the flush inside the measured time with --end-fsync or --fsync N, or
write with --direct or --dsync.",
    checks: &[Check::OfHost(check)],
};

const MOST_SHARE: f64 = 0.1;
const ADVICE: &str = "put the flush inside the measured time with --end-fsync or --fsync N, or write with --direct or --dsync";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let written = of_kind(record, "write").and_then(|f| {
        f.bytes().or_else(|| {
            Some(f64_to_u64_saturating(
                f.bytes_per_second()? * effective.measured_ns()? as f64 / 1e9,
            ))
        })
    });
    let written = written.unwrap_or_default();
    let stable = ["direct", "sync", "dsync"]
        .iter()
        .any(|key| effective.is_on(key));
    let in_memory = super::in_memory(record);
    if written == 0 || stable || in_memory || !effective.uses_local_storage() {
        return Vec::new();
    }
    let machine = &record.generator().machine;
    let grown = machine
        .dirty_before_bytes
        .zip(machine.dirty_after_bytes)
        .map_or(0, |(before, after)| after.saturating_sub(before));
    // Others make pages dirty too.
    let grown = grown.min(unflushed(record, written));
    let share = ratio(grown, written);
    if share > MOST_SHARE {
        let message = format!(
            "{} were still dirty in memory at the end, {} of what was written",
            Bytes(grown),
            percent(share)
        );
        return vec![RULE.finding(Severity::Warning, message, ADVICE)];
    }
    let asked = effective.is_on("end-fsync")
        || ["fsync", "fdatasync"]
            .iter()
            .any(|key| effective.number(key).is_some_and(|n| n > 0));
    if !(record.source.is_some() && asked)
        && ["fsync", "fdatasync"]
            .iter()
            .all(|kind| counted(record, kind).count == 0)
    {
        let message = format!(
            "{} were written and nothing was flushed: these writes are promises",
            Bytes(written)
        );
        return vec![RULE.finding(Severity::Warning, message, ADVICE)];
    }
    Vec::new()
}

/// The most of what the run wrote that no flush of its own had covered at the end.
///
/// A worker that flushes every Nth write leaves fewer than N behind, of the file that it wrote
/// last: with several files that holds where every write is flushed.
fn unflushed(record: &Record, written: u64) -> u64 {
    let effective = Effective::of(record);
    let flushes = counted(record, "fsync")
        .count
        .saturating_add(counted(record, "fdatasync").count);
    if flushes == 0 {
        return written;
    }
    if effective.is_on("end-fsync") && record.outcome.status.has_done_all() {
        return 0;
    }
    let every = ["fsync", "fdatasync"]
        .iter()
        .filter_map(|key| effective.number(key))
        .filter(|every| *every > 0)
        .min();
    let workers = effective.number("threads").unwrap_or(1).max(1);
    let files: u64 = record.targets.iter().map(|target| target.files).sum();
    let is_one_file_each = files <= 1
        || (effective.text("file-distribution") == Some("per-worker") && files <= workers);
    let largest = counted(record, "write").largest_bytes;
    match every.zip(largest) {
        Some((every, largest)) if every == 1 || is_one_file_each => {
            // Writes in flight beside the flush are not covered by it.
            let behind = every.saturating_add(effective.number("queue-depth").unwrap_or(1));
            written.min(workers.saturating_mul(behind).saturating_mul(largest))
        }
        Some(_) | None => written,
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, writing};
    use super::*;
    use record::Operations;

    #[test]
    fn what_others_made_dirty_is_not_ours() {
        let mut record = flushed();
        record.generator_mut().machine.dirty_after_bytes = Some(3 << 30);
        assert_eq!(check(&record).len(), 1, "nobody says when the flush came");
        set(&mut record, "fsync", "1");
        assert_eq!(
            check(&record),
            [],
            "one write in flight and one since the last flush"
        );
        set(&mut record, "fsync", "20000");
        assert_eq!(
            only(&check(&record)),
            "78.1 MiB were still dirty in memory at the end, 20% of what was written"
        );
        record.targets = vec![record::TargetFact {
            files: 4,
            ..record::TargetFact::default()
        }];
        set(&mut record, "fsync", "10");
        assert_eq!(check(&record).len(), 1, "a flush covers one file of four");
        set(&mut record, "end-fsync", "true");
        assert_eq!(check(&record), []);
    }

    fn flushed() -> Record {
        let mut record = writing();
        record.operations.insert(
            "fsync",
            Operations {
                count: 1,
                ..Operations::default()
            },
        );
        record.generator_mut().machine.dirty_before_bytes = Some(1 << 20);
        record.generator_mut().machine.dirty_after_bytes = Some(2 << 20);
        record
    }

    #[test]
    fn dirty_pages_left_behind_are_found() {
        let mut record = flushed();
        record.generator_mut().machine.dirty_after_bytes = Some(101 << 20);
        assert_eq!(
            only(&check(&record)),
            "100 MiB were still dirty in memory at the end, 25.6% of what was written"
        );
    }

    #[test]
    fn writes_without_any_flush_are_found() {
        assert_eq!(
            only(&check(&writing())),
            "391 MiB were written and nothing was flushed: these writes are promises"
        );
    }

    #[test]
    fn flushed_and_synchronous_writes_are_silent() {
        assert_eq!(check(&flushed()), []);
        let mut record = writing();
        set(&mut record, "dsync", "true");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn a_document_that_says_nothing_of_a_flush_is_found() {
        let mut record = super::super::example::quoted(
            "write",
            record::Summary {
                bytes_per_second: Some(1.42e9),
                ..record::Summary::default()
            },
        );
        assert_eq!(
            only(&check(&record)),
            "13.2 GiB were written and nothing was flushed: these writes are promises"
        );
        set(&mut record, "end-fsync", "true");
        assert_eq!(check(&record), []);
    }
}
