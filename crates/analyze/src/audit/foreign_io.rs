//! What others do on a device, the device cannot do for the run.

use super::{counted, percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{BlockDevice, Record, StorageLayer, Transport, by_nearest_device, nearest_of_all};
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "foreign_io",
    catalogue_number: Some(55),
    severity: Severity::Warning,
    title: "Others used the device",
    text: "\
Bytes of the device against those of this run (direct) or of this process (buffered
reads), of all ranks of a machine together: above 5 %, and above 4 MiB. Arrays that resync
or check themselves (raid_activity); for records from elsewhere also arrays of which nobody
wrote it down.
What others take, the run lacks, and they take it at times of their own. An array that
checks itself reads at 100 MB/s from each of its disks, and moves their heads.
What to do: stop other work, wait until arrays are idle and trims are done, and repeat.",
    checks: &[Check::OfHost(arrays), Check::OfMachine(others)],
};

const MOST_SHARE: f64 = 0.05;
/// From here on the counters of direct I/O disagree, which is another rule's matter.
const DISAGREES: f64 = 1.1;
/// File system metadata and the system's own work move this much in any run.
const SLACK: u64 = 4 << 20;
const ADVICE: &str =
    "stop other work on the device, wait until arrays are idle and trims are done, and repeat";

fn arrays(record: &Record) -> Vec<Finding> {
    if !Effective::of(record).uses_local_storage() {
        return Vec::new();
    }
    let array = record
        .generator()
        .environment
        .storage
        .as_ref()
        .and_then(|storage| busy_array(storage, record.source.is_some()));
    let found = array.map(|message| RULE.finding(Severity::Warning, message, ADVICE));
    found.into_iter().collect()
}

fn others(ranks: &[&Record]) -> Vec<Finding> {
    // The device goes on to count what a rank did after the last that is kept of it.
    if ranks.iter().any(|rank| rank.was_cut_off()) {
        return Vec::new();
    }
    let shared = by_nearest_device(ranks.iter().copied(), |rank| rank.generator());
    let found = shared.into_iter().filter_map(|sharing| of_others(&sharing));
    found
        .map(|message| RULE.finding(Severity::Warning, message, ADVICE))
        .collect()
}

/// Bytes at a device that are not of those who share it.
fn of_others(sharing: &[&Record]) -> Option<String> {
    let hosts: Vec<_> = sharing.iter().map(|rank| rank.generator()).collect();
    let device = nearest_of_all(&hosts)?;
    // Whose bytes those of companions are is told of all that ran together, by the rule
    // `device_disagrees`.
    let is_told =
        |rank: &&Record| rank.companions.is_empty() && Effective::of(rank).uses_local_storage();
    if !sharing.iter().all(is_told) {
        return None;
    }
    let is_direct = |rank: &&Record| Effective::of(rank).is_on("direct");
    let all_direct = sharing.iter().all(is_direct);
    if !all_direct && sharing.iter().any(is_direct) {
        return None;
    }
    let pairs = if all_direct {
        let own = |kind| {
            let bytes = sharing.iter().map(|rank| counted(rank, kind).bytes);
            Some(bytes.fold(0, u64::saturating_add))
        };
        [
            ("read", own("read"), device.read_bytes),
            ("written", own("write"), device.written_bytes),
        ]
    } else {
        // Buffered writes reach the device when the kernel sees fit, and those of others too.
        let read = hosts.iter().map(|host| host.process.storage_read_bytes);
        let read = read.sum::<Option<u64>>();
        [("read", read, device.read_bytes), ("written", None, 0)]
    };
    pairs.into_iter().find_map(|(what, own, all)| {
        let own = own?;
        let foreign = all.saturating_sub(own);
        let named_elsewhere = all_direct && own > 0 && ratio(all, own) > DISAGREES;
        let share = ratio(foreign, all.max(1));
        (foreign > SLACK && share > MOST_SHARE && !named_elsewhere).then(|| {
            format!(
                "{} of the {} {what} at {} were not this run's ({})",
                Bytes(foreign),
                Bytes(all),
                device.name,
                percent(share)
            )
        })
    })
}

/// An array that works for itself; of a record from elsewhere also one of which nobody looked.
fn busy_array(layer: &StorageLayer, is_foreign: bool) -> Option<String> {
    let of = |device: &BlockDevice| {
        let name = device.name.as_deref().unwrap_or("the array");
        match device.raid_activity.as_deref() {
            Some("idle" | "none" | "") => None,
            Some(activity) => Some(format!("{name} was busy with {activity}")),
            None => (is_foreign && device.transport == Some(Transport::Md))
                .then(|| format!("whether {name} was resyncing is not recorded")),
        }
    };
    layer.device.as_ref().and_then(of).or_else(|| {
        layer
            .layers
            .iter()
            .find_map(|below| busy_array(below, is_foreign))
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    fn check(record: &Record) -> Vec<Finding> {
        let mut found = arrays(record);
        found.extend(others(&[record]));
        found
    }

    #[test]
    fn reads_of_others_are_found() {
        let mut record = sound();
        set(&mut record, "direct", "false");
        record.generator_mut().process.storage_read_bytes = Some(409_600_000);
        assert_eq!(check(&record), []);
        record.generator_mut().devices[0].read_bytes = 500_000_000;
        assert_eq!(
            only(&check(&record)),
            "86.2 MiB of the 477 MiB read at nvme0n1 were not this run's (18.1%)"
        );
    }

    #[test]
    fn direct_transfers_are_held_against_the_device_until_the_counters_disagree() {
        let mut record = sound();
        record.generator_mut().devices[0].written_bytes = 100 << 20;
        assert!(only(&check(&record)).contains("written at nvme0n1"));
        let mut record = sound();
        record.generator_mut().devices[0].read_bytes = 440_000_000;
        assert!(only(&check(&record)).contains("read at nvme0n1"));
        record.generator_mut().devices[0].read_bytes *= 2;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn an_array_that_resyncs_is_found_below_other_layers() {
        let mut record = sound();
        let array = BlockDevice {
            name: Some("md1".into()),
            transport: Some(Transport::Md),
            raid_activity: Some("resync".into()),
            ..BlockDevice::default()
        };
        let below = StorageLayer {
            device: Some(array),
            ..StorageLayer::default()
        };
        record
            .generator_mut()
            .environment
            .storage
            .as_mut()
            .unwrap()
            .layers
            .push(below);
        assert_eq!(only(&check(&record)), "md1 was busy with resync");
        let storage = record.generator_mut().environment.storage.as_mut().unwrap();
        storage.layers[0].device.as_mut().unwrap().raid_activity = None;
        assert_eq!(check(&record), []);
        record.source = Some(record::Source::default());
        assert_eq!(
            only(&check(&record)),
            "whether md1 was resyncing is not recorded"
        );
    }
}
