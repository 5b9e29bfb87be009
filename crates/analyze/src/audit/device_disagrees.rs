//! Double entry: bytes of direct I/O are also counted by the block device.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "device_disagrees",
    catalogue_number: Some(6),
    severity: Severity::Invalid,
    title: "The block device counted other bytes than the run",
    text: "\
Direct I/O is counted twice: by the run, and by the kernel for the block device under
the target (devices[0].read_bytes and written_bytes). A ratio outside 0.9 to 1.1 is
found beyond 1 MiB of slack. Invalid if the device saw less, a warning if it saw more.
If the application says 324 MiB/s and the device 32, a layer between them answered: a
cache, a compressing file system, a hole in a sparse file. If the device saw more,
another process used it, or a layer amplifies, as RAID does with small writes.
What to do: for less, name the layer that you want to measure and measure it directly.
For more, stop other work on the device, or report the amplification as the result.",
    checks: &[Check::Alone(check)],
};

const BOUNDS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// File system metadata and other processes move this much in any run.
const SLACK: u64 = 1 << 20;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let Some(device) = record
        .devices
        .first()
        .filter(|_| effective.is_on("direct") && effective.uses_local_storage())
    else {
        return Vec::new();
    };
    let accounts = [
        ("read", "reads", device.read_bytes),
        ("write", "writes", device.written_bytes),
    ];
    let ours = |kind| {
        of_kind(record, kind)
            .and_then(|figures| figures.bytes())
            .unwrap_or(0)
    };
    accounts
        .into_iter()
        .filter_map(|(kind, name, theirs)| compare(name, ours(kind), theirs, &device.name))
        .collect()
}

fn compare(name: &str, ours: u64, theirs: u64, device: &str) -> Option<Finding> {
    if ours == 0 || ours.abs_diff(theirs) <= SLACK || BOUNDS.contains(&ratio(theirs, ours)) {
        return None;
    }
    let share = percent(ratio(theirs, ours));
    let message = format!(
        "direct {name}: {} here, {} at {device} ({share})",
        Bytes(ours),
        Bytes(theirs)
    );
    Some(if theirs < ours {
        let advice = "a layer above the device answered or merged: name the layer that you want to measure, and look for caches, compression and holes";
        RULE.finding(Severity::Invalid, message, advice)
    } else {
        let advice = "something else used the device, or a layer amplifies: stop other work, or measure the device alone";
        RULE.finding(Severity::Warning, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    #[test]
    fn reads_that_the_device_did_not_see_invalidate() {
        let mut record = sound();
        record.devices[0].read_bytes /= 10;
        let found = check(&record);
        assert_eq!(
            only(&found),
            "direct reads: 391 MiB here, 39.1 MiB at nvme0n1 (10%)"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn foreign_reads_are_a_warning() {
        let mut record = sound();
        record.devices[0].read_bytes *= 2;
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn what_another_tool_counted_is_held_against_what_it_saw_of_the_device() {
        let summary = record::Summary {
            bytes: Some(100 << 20),
            ..record::Summary::default()
        };
        let mut record = super::super::example::quoted("read", summary);
        set(&mut record, "direct", "true");
        record.devices = vec![record::DeviceAccount {
            name: "sda".into(),
            read_bytes: 10 << 20,
            ..record::DeviceAccount::default()
        }];
        assert_eq!(
            only(&check(&record)),
            "direct reads: 100 MiB here, 10 MiB at sda (10%)"
        );
        record.devices[0].read_bytes = 100 << 20;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn agreement_and_buffered_runs_are_silent() {
        let mut record = sound();
        record.devices[0].read_bytes += record.devices[0].read_bytes / 20;
        assert_eq!(check(&record), []);
        record.devices[0].read_bytes = 0;
        set(&mut record, "direct", "false");
        assert_eq!(check(&record), []);
    }
}
