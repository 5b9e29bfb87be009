//! A direct write passes the page cache and ends in the cache of the device.

use super::counted;
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::{Record, StorageLayer, by_nearest_device};
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "volatile_writes",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "Direct writes ended in a cache that a loss of power empties",
    text: "\
For writes with O_DIRECT and without O_SYNC or O_DSYNC, to a device whose cache the kernel
calls volatile (environment.storage: write_cache is \"write back\"): whether the run flushed
at all. And where it flushed, direct or not: whether the device counted a flush
(devices.flushes). In an experiment it is a note.
O_DIRECT passes the page cache and nothing below it. A disk with 1 GiB of memory takes the
first 1 GiB at the speed of its link; a flush after each write may cost a consumer's disk
1 ms and more, fifty times the write. Both are true, of different promises.
What to do: put the flushes of the application into the measured time (--fsync N,
--end-fsync) or write with --dsync; else say that the cache was part of it.",
    checks: &[Check::OfMachine(check)],
};

/// What the kernel calls a cache that a loss of power empties (`queue/write_cache`).
const VOLATILE: &str = "write back";
const ADVICE: &str = "put flushes into the measured time (--fsync N, --end-fsync) or write with --dsync; else say that the device's cache is part of what was measured";
const ADVICE_OF_LAYERS: &str = "a layer or a mount option (nobarrier) keeps flushes to itself: what was flushed is no safer than what was not, and was paid for less";

/// Ranks that use one device fill its cache together.
fn check(ranks: &[&Record]) -> Vec<Finding> {
    let shared = by_nearest_device(ranks.iter().copied(), |rank| rank.generator()).into_iter();
    shared.flat_map(|sharing| of_device(&sharing)).collect()
}

fn of_device(sharing: &[&Record]) -> Vec<Finding> {
    let [record, ..] = sharing else {
        return Vec::new();
    };
    let effective = Effective::of(record);
    let bytes = |rank: &&Record| of_kind(rank, "write").and_then(|figures| figures.bytes());
    let written = sharing
        .iter()
        .filter_map(bytes)
        .fold(0, u64::saturating_add);
    let is_stable = ["sync", "dsync"].iter().any(|key| effective.is_on(key));
    if written == 0 || is_stable || super::in_memory(record) || !effective.uses_local_storage() {
        return Vec::new();
    }
    let mut caches = Vec::new();
    if let Some(storage) = &record.generator().environment.storage {
        collect(storage, &mut caches);
    }
    if caches.is_empty() {
        return Vec::new();
    }
    let asked = sharing.iter().map(|rank| flushes(rank, effective));
    let (device, asked) = (caches.join(", "), asked.fold(0, u64::saturating_add));
    // Flushes are counted where requests are made, which of several layers only the lowest may do.
    let at_device = |rank: &&Record| {
        let devices = rank.generator().devices.iter();
        let flushes = devices.filter_map(|device| device.flushes);
        flushes.reduce(u64::saturating_add)
    };
    // Each rank sees those of all.
    let at_device: Option<u64> = sharing.iter().filter_map(at_device).max();
    let (message, advice) = match (asked, at_device) {
        (0, _) if !effective.is_on("direct") => return Vec::new(),
        (0, seen) => {
            let others = match seen.unwrap_or(0) {
                0 => String::new(),
                1 => " by the run (once by others)".to_owned(),
                seen => format!(" by the run ({seen} times by others)"),
            };
            let written = Bytes(written);
            let message = format!(
                "{written} were written directly to {device}, whose write cache is volatile, and nothing was flushed{others}: a loss of power takes what the cache holds"
            );
            (message, ADVICE)
        }
        (asked, Some(0)) => {
            let times = if asked == 1 {
                "flush was"
            } else {
                "flushes were"
            };
            (
                format!(
                    "{asked} {times} asked for, and {device}, whose write cache is volatile, counted none"
                ),
                ADVICE_OF_LAYERS,
            )
        }
        (_, Some(_) | None) => return Vec::new(),
    };
    // A plan compares like with like, and its rows say what they do.
    let severity = if record.trial.is_some() {
        Severity::Note
    } else {
        Severity::Warning
    };
    vec![RULE.finding(severity, message, advice)]
}

/// Flushes that the run made; one where they were asked for and nobody counted them.
fn flushes(record: &Record, effective: Effective<'_>) -> u64 {
    let counted = ["fsync", "fdatasync"]
        .iter()
        .map(|kind| counted(record, kind).count)
        .fold(0, u64::saturating_add);
    let asked = effective.is_on("end-fsync")
        || ["fsync", "fdatasync"]
            .iter()
            .any(|key| effective.number(key).is_some_and(|n| n > 0));
    if counted == 0 && record.source.is_some() {
        u64::from(asked)
    } else {
        counted
    }
}

/// The devices below the target whose cache is volatile.
fn collect(layer: &StorageLayer, out: &mut Vec<String>) {
    if let Some(device) = layer
        .device
        .as_ref()
        .filter(|device| device.write_cache.as_deref() == Some(VOLATILE))
    {
        let name = device
            .name
            .clone()
            .unwrap_or_else(|| format!("{}:{}", device.major, device.minor));
        if !out.contains(&name) {
            out.push(name);
        }
    }
    layer.layers.iter().for_each(|below| collect(below, out));
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, placed, set, writing};
    use super::*;
    use record::Operations;

    fn direct(cache: Option<&str>) -> Record {
        let mut record = writing();
        set(&mut record, "direct", "true");
        let device = record
            .generator_mut()
            .environment
            .storage
            .as_mut()
            .unwrap()
            .device
            .as_mut()
            .unwrap();
        (device.name, device.write_cache) = (Some("sda".into()), cache.map(str::to_owned));
        record.generator_mut().devices[0].flushes = Some(0);
        record
    }

    #[test]
    fn direct_writes_into_a_volatile_cache_are_found() {
        let mut record = direct(Some("write back"));
        let found = check(&[&record]);
        assert_eq!(
            only(&found),
            "391 MiB were written directly to sda, whose write cache is volatile, and nothing was flushed: a loss of power takes what the cache holds"
        );
        assert_eq!(found[0].severity, Severity::Warning);
        // Ranks that do the same on one machine, each of which sees the device's flushes.
        record.generator_mut().environment.system.boot_id = Some("1".into());
        assert!(only(&check(&[&record, &record])).starts_with("781 MiB were"));
        record.generator_mut().devices[0].flushes = Some(3);
        assert!(
            only(&check(&[&record])).contains("nothing was flushed by the run (3 times by others)")
        );
        assert_eq!(
            check(&[&placed(record, "a", 0, 0)])[0].severity,
            Severity::Note
        );
    }

    #[test]
    fn a_cache_that_keeps_what_it_holds_and_an_unknown_one_are_silent() {
        assert_eq!(check(&[&direct(Some("write through"))]), []);
        assert_eq!(check(&[&direct(None)]), []);
    }

    #[test]
    fn stable_flushed_and_buffered_writes_are_silent() {
        let mut record = direct(Some("write back"));
        set(&mut record, "dsync", "true");
        assert_eq!(check(&[&record]), []);
        let mut record = direct(Some("write back"));
        record.generator_mut().devices[0].flushes = Some(100);
        record.operations.insert(
            "fsync",
            Operations {
                count: 100,
                ..Operations::default()
            },
        );
        assert_eq!(check(&[&record]), []);
        let mut record = direct(Some("write back"));
        set(&mut record, "direct", "false");
        assert_eq!(
            check(&[&record]),
            [],
            "another rule speaks of the page cache"
        );
    }

    #[test]
    fn flushes_that_no_device_saw_are_found() {
        let mut record = direct(Some("write back"));
        record.operations.insert(
            "fdatasync",
            Operations {
                count: 100,
                ..Operations::default()
            },
        );
        assert_eq!(
            only(&check(&[&record])),
            "100 flushes were asked for, and sda, whose write cache is volatile, counted none"
        );
        record.generator_mut().devices[0].flushes = None;
        assert_eq!(check(&[&record]), [], "an old kernel does not count them");
    }

    #[test]
    fn the_disks_below_a_mapping_count() {
        let mut record = direct(None);
        let mut below = record.generator().environment.storage.clone().unwrap();
        let disk = below.device.as_mut().unwrap();
        (disk.name, disk.write_cache) = (Some("nvme0n1".into()), Some("write back".into()));
        record
            .generator_mut()
            .environment
            .storage
            .as_mut()
            .unwrap()
            .layers
            .push(below);
        assert!(only(&check(&[&record])).contains("directly to nvme0n1,"));
    }
}
