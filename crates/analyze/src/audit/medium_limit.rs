//! No device is faster than its link, and no disk seeks faster than it turns.

use crate::audit::set::faster_than_medium::RULE;
use crate::figures::sum_of_transfers;
use crate::{Effective, Finding, Severity};
use record::{BlockDevice, Record, Transport};
use units::{ByteRate, Rate};

/// SATA at 6 Gbit/s carries 8 bits in 10.
const SATA_BYTES: f64 = 600e6;
/// The fastest disks with two actuators move about 550 MB/s.
const DISK_BYTES: f64 = 600e6;
/// A disk of 15,000 turns a minute with a sorted queue of 256 ends about 800 random reads a second.
const DISK_SEEKS: f64 = 2000.0;
const ADVICE: &str = "a cache answered, or the device is not what it says: use --direct, and compare with the device's own counters";

pub(in crate::audit) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let storage = record
        .generator()
        .environment
        .storage
        .as_ref()
        .filter(|_| effective.uses_local_storage());
    let device = storage
        .filter(|layer| layer.layers.is_empty())
        .and_then(|layer| layer.device.as_ref());
    // Below virtual and mapped devices lies what this machine cannot see.
    let Some(device) = device.filter(|device| device.transport == Some(Transport::Ata)) else {
        return Vec::new();
    };
    exceeded(record, device)
        .map(|message| RULE.finding(Severity::Invalid, message, ADVICE))
        .into_iter()
        .collect()
}

fn exceeded(record: &Record, device: &BlockDevice) -> Option<String> {
    let name = device.name.as_deref().unwrap_or("the device");
    let bytes = sum_of_transfers(record, |f| f.bytes_per_second());
    if let Some(bytes) = bytes.filter(|bytes| *bytes > SATA_BYTES.max(DISK_BYTES)) {
        return Some(format!(
            "{} is more than the {} of the SATA link of {name}",
            ByteRate(bytes),
            ByteRate(SATA_BYTES)
        ));
    }
    let random = Effective::of(record).is_on("random") && device.rotational == Some(true);
    let rate =
        sum_of_transfers(record, |f| f.per_second()).filter(|rate| random && *rate > DISK_SEEKS)?;
    Some(format!(
        "{} random operations is more than the heads of {name}, a rotating disk, can seek",
        Rate(rate)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    fn on_a_disk(elapsed_ns: u64, rotational: bool) -> Record {
        let mut record = Record {
            elapsed_ns,
            ..sound()
        };
        let device = record
            .generator_mut()
            .environment
            .storage
            .as_mut()
            .unwrap()
            .device
            .as_mut()
            .unwrap();
        *device = BlockDevice {
            name: Some("sda".into()),
            transport: Some(Transport::Ata),
            rotational: Some(rotational),
            ..BlockDevice::default()
        };
        record
    }

    #[test]
    fn more_seeks_than_a_disk_can_do_are_found() {
        let found = check(&on_a_disk(10_000_000_000, true));
        assert_eq!(
            only(&found),
            "10.0 K/s random operations is more than the heads of sda, a rotating disk, can seek"
        );
        assert_eq!(check(&on_a_disk(10_000_000_000, false)), []);
    }

    #[test]
    fn more_bytes_than_the_link_carries_are_found() {
        assert!(
            only(&check(&on_a_disk(500_000_000, false)))
                .contains("more than the 572 MiB/s of the SATA link of sda")
        );
    }

    #[test]
    fn an_unknown_device_is_silent() {
        assert_eq!(check(&sound()), []);
        assert_eq!(check(&Record::default()), []);
    }
}
