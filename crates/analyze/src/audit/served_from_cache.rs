//! Reads without O_DIRECT that never reached a device measured the page cache.

use super::{counted, finding, percent, ratio};
use crate::{Effective, Finding, Severity};
use record::Record;

const LEAST_SHARE: f64 = 0.5;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let read = counted(record, "read").bytes;
    let in_memory = super::in_memory(record);
    if read == 0 || effective.is_on("direct") || in_memory || !effective.uses_local_storage() {
        return Vec::new();
    }
    // Either account may see less than there was: a network file system has no device, a device knows nothing of processes.
    let device = record.devices.first().map(|device| device.read_bytes);
    let Some(reached) = device.max(record.process.storage_read_bytes) else { return Vec::new() };
    let share = ratio(reached, read);
    if share >= LEAST_SHARE {
        return Vec::new();
    }
    let asked = effective.text("cache") == Some("warm");
    let severity = if asked { Severity::Note } else { Severity::Warning };
    let message = format!("{} of the bytes read never reached a device: the page cache answered", percent(1.0 - share));
    let advice =
        "for the device, use --direct, or --cache cold with a file of at least twice the memory; for the cache, say so with --cache warm";
    vec![finding("served_from_cache", severity, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    fn cached() -> Record {
        let mut record = sound();
        set(&mut record, "direct", "false");
        record.devices[0].read_bytes = record.operations.bytes() / 16;
        record
    }

    #[test]
    fn reads_that_the_device_did_not_see_are_found() {
        assert_eq!(only(&check(&cached())), "93.8% of the bytes read never reached a device: the page cache answered");
    }

    #[test]
    fn without_a_device_the_process_account_counts() {
        let mut record = cached();
        record.devices.clear();
        assert_eq!(check(&record), []);
        record.process.storage_read_bytes = Some(0);
        assert!(only(&check(&record)).starts_with("100% of the bytes"));
    }

    #[test]
    fn a_warm_cache_that_was_asked_for_is_a_note() {
        let mut record = cached();
        set(&mut record, "cache", "warm");
        assert_eq!(check(&record)[0].severity, Severity::Note);
    }

    #[test]
    fn direct_reads_are_another_rules_matter() {
        let mut record = cached();
        set(&mut record, "direct", "true");
        assert_eq!(check(&record), []);
    }
}
