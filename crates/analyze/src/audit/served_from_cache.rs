//! Reads without O_DIRECT that never reached a device measured the page cache.

use super::working_set::{MORE_THAN_ONE_PASS, bytes_used};
use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::{Record, Summary, by_nearest_device};
use units::lossless::f64_to_u64_saturating;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "served_from_cache",
    catalogue_number: Some(1),
    severity: Severity::Invalid,
    title: "The page cache answered instead of the device",
    text: "\
Of reads without O_DIRECT, the bytes that reached a device (devices[0].read_bytes or the
process's own account) must be at least half. Of another tool's runs of 1 s and more, the
most that all its devices can have read counts: their sectors, else 1280 KiB a request,
or 128 KiB, the usual read-ahead, where the file was passed over more than 1.5 times.
Among several records, a buffered result more than twice the direct result of the same
work on the same target is found as well.
A page cache is 10 to 1000 times faster than what lies below. 363,000 buffered writes a
second against 5,960 direct ones of the same command are 61 times: the first measures
memory. Both numbers are true; only one is the storage.
What to do: for the device, use --direct, or --cache cold with a file of at least twice
the memory; for the cache, say so with --cache warm.",
    checks: &[
        Check::OfMachine(check),
        Check::Together(super::set::cache_against_direct::check),
    ],
};

const LEAST_SHARE: f64 = 0.5;
/// What the kernel puts into one request at most, unless it was told otherwise: `max_sectors_kb`,
/// and `read_ahead_kb`, which somebody who reads a file once may have raised.
const LARGEST_REQUEST: f64 = 1280.0 * 1024.0;
const READ_AHEAD: f64 = 128.0 * 1024.0;
const SECTOR: f64 = 512.0;
/// Tools that poll the device's counters miss what happened since the last time.
const SHORTEST_NS: u64 = 1_000_000_000;

/// Ranks that use one device are judged together: each of them counts all that it read.
fn check(ranks: &[&Record]) -> Vec<Finding> {
    let shared = by_nearest_device(ranks.iter().copied(), |rank| rank.generator()).into_iter();
    shared.flat_map(|sharing| of_device(&sharing)).collect()
}

fn of_device(sharing: &[&Record]) -> Vec<Finding> {
    let [record, others @ ..] = sharing else {
        return Vec::new();
    };
    let effective = Effective::of(record);
    let bytes = |rank: &&Record| of_kind(rank, "read").and_then(|figures| figures.bytes());
    let read = sharing
        .iter()
        .filter_map(bytes)
        .fold(0, u64::saturating_add);
    let in_memory = super::in_memory(record);
    if read == 0 || effective.is_on("direct") || in_memory || !effective.uses_local_storage() {
        return Vec::new();
    }
    // Either account may see less than there was: a network file system has no device, a device
    // knows nothing of processes.
    let hosts = || sharing.iter().map(|rank| rank.generator());
    let devices = hosts().filter_map(|host| host.devices.first());
    let device = devices.map(|device| device.read_bytes).max();
    let processes = hosts().filter_map(|host| host.process.storage_read_bytes);
    let counted = device.max(processes.reduce(u64::saturating_add));
    let of_another = || at_most(record, read).filter(|_| others.is_empty());
    let Some(reached) = counted.or_else(of_another) else {
        return Vec::new();
    };
    let share = ratio(reached, read);
    if share >= LEAST_SHARE {
        return Vec::new();
    }
    let asked = effective.text("cache") == Some("warm");
    let severity = if asked {
        Severity::Note
    } else {
        Severity::Warning
    };
    let at_least = if counted.is_some() { "" } else { "at least " };
    let message = format!(
        "{at_least}{} of the bytes read never reached a device: the page cache answered",
        percent(1.0 - share)
    );
    let advice = "for the device, use --direct, or --cache cold with a file of at least twice the memory; for the cache, say so with --cache warm";
    vec![RULE.finding(severity, message, advice)]
}

/// The most that all devices together can have read by what another tool saw of them: their
/// sectors, else each request as large as it can be. Devices that lie on each other are counted
/// twice, and other jobs with them.
fn at_most(record: &Record, read: u64) -> Option<u64> {
    let is_met_again =
        bytes_used(record).is_some_and(|size| ratio(read, size) >= MORE_THAN_ONE_PASS);
    let request = if is_met_again {
        READ_AHEAD
    } else {
        LARGEST_REQUEST
    };
    let of = |summary: &Summary| {
        let figure = |key: &str| summary.figures.get(key).copied();
        let requests = || Some(figure("read_ios")? + figure("read_merges").unwrap_or(0.0));
        figure("read_sectors")
            .map(|sectors| sectors * SECTOR)
            .or_else(|| Some(requests()? * request))
    };
    let devices = record
        .summaries
        .iter()
        .filter(|(name, _)| name.starts_with("device "))
        .map(|(_, summary)| of(summary));
    let bytes: Option<Vec<f64>> = devices.collect();
    let bytes = bytes.filter(|bytes| !bytes.is_empty() && record.elapsed_ns >= SHORTEST_NS)?;
    Some(f64_to_u64_saturating(bytes.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    fn cached() -> Record {
        let mut record = sound();
        set(&mut record, "direct", "false");
        record.generator_mut().devices[0].read_bytes = record.operations.bytes() / 16;
        record
    }

    #[test]
    fn reads_that_the_device_did_not_see_are_found() {
        assert_eq!(
            only(&check(&[&cached()])),
            "93.8% of the bytes read never reached a device: the page cache answered"
        );
    }

    #[test]
    fn what_ranks_of_one_machine_read_is_held_against_their_device_together() {
        let mut rank = cached();
        let read = rank.operations.bytes();
        rank.generator_mut().devices[0].read_bytes = read * 6 / 10;
        rank.generator_mut().process.storage_read_bytes = Some(read * 3 / 10);
        assert_eq!(check(&[&rank]), []);
        rank.generator_mut().environment.system.boot_id = Some("one".into());
        let told = check(&[&rank, &rank]);
        assert!(only(&told).starts_with("70% of the bytes"), "{told:?}");
        rank.generator_mut().environment.system.boot_id = None;
        assert_eq!(check(&[&rank, &rank]), [], "nobody knows that it is one");
    }

    #[test]
    fn without_a_device_the_process_account_counts() {
        let mut record = cached();
        record.generator_mut().devices.clear();
        assert_eq!(check(&[&record]), []);
        record.generator_mut().process.storage_read_bytes = Some(0);
        assert!(only(&check(&[&record])).starts_with("100% of the bytes"));
    }

    #[test]
    fn what_another_tool_saw_of_the_devices_bounds_it() {
        let summary = Summary {
            bytes: Some(128 << 20),
            ..Summary::default()
        };
        let mut record = super::super::example::quoted("read", summary);
        set(&mut record, "direct", "false");
        assert_eq!(check(&[&record]), []);
        let device = |key: &str, value: f64| Summary {
            figures: [(key.to_owned(), value)].into(),
            ..Summary::default()
        };
        record
            .summaries
            .insert("device sda".into(), device("read_sectors", 32_768.0));
        assert_eq!(
            only(&check(&[&record])),
            "at least 87.5% of the bytes read never reached a device: the page cache answered"
        );
        record
            .summaries
            .insert("device sda".into(), device("read_ios", 40.0));
        assert!(only(&check(&[&record])).starts_with("at least 60.9%"));
        record
            .summaries
            .insert("device sda".into(), device("read_ios", 128.0));
        assert_eq!(check(&[&record]), [], "128 requests may be all of it");
        set(&mut record, "file-size", "16M");
        record
            .summaries
            .insert("device sda".into(), device("read_ios", 130.0));
        assert!(
            only(&check(&[&record])).starts_with("at least 87.3%"),
            "of a file that was read eight times"
        );
        record
            .summaries
            .insert("device sda".into(), device("read_sectors", 262_144.0));
        assert_eq!(check(&[&record]), []);
        record
            .summaries
            .insert("device sda".into(), device("read_sectors", 0.0));
        record.elapsed_ns = SHORTEST_NS / 2;
        assert_eq!(
            check(&[&record]),
            [],
            "too short for counters that are polled"
        );
    }

    #[test]
    fn a_warm_cache_that_was_asked_for_is_a_note() {
        let mut record = cached();
        set(&mut record, "cache", "warm");
        assert_eq!(check(&[&record])[0].severity, Severity::Note);
    }

    #[test]
    fn direct_reads_are_another_rules_matter() {
        let mut record = cached();
        set(&mut record, "direct", "true");
        assert_eq!(check(&[&record]), []);
    }
}
