//! What lies between a file and its medium answers, splits, copies and caches on its own account.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{BlockDevice, FileSystem, Record, StorageLayer, Transport};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "hidden_layers",
    catalogue_number: Some(56),
    severity: Severity::Note,
    title: "Something lies between the target and the medium",
    text: "\
The layers of storage under the target: loop devices, arrays, mappings, network devices,
overlays, the server of a network file system; that this is a virtual machine; for records
from elsewhere, that it ran in a container.
Each layer may cache, split, copy or delay. A database in a virtual machine on an ext4
image on a loop device on a mirror of 2 disks has five of them, and a result names one.
What to do: name the layers with the number. To learn what one of them costs, measure
above and below it in the same randomised blocks.",
    checks: &[Check::OfHost(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let system = &record.generator().environment.system;
    let storage = record.generator().environment.storage.as_ref();
    if !Effective::of(record).uses_local_storage() || (storage.is_none() && record.source.is_none())
    {
        return Vec::new();
    }
    let mut below = Vec::new();
    if let Some(storage) = storage {
        collect(storage, true, &mut below);
    }
    let on_overlay = storage
        .and_then(|s| s.file_system.as_ref())
        .is_some_and(|fs| fs.kind == "overlay");
    if !system.container_hints.is_empty() && (on_overlay || record.source.is_some()) {
        below.insert(0, "a container".to_owned());
    }
    let file_system = storage.and_then(|storage| storage.file_system.as_ref());
    let across = file_system.filter(|system| FileSystem::may_be_of_several_hosts(&system.kind));
    if let Some(system) = across {
        below.push(format!(
            "the storage of a server ({} of {})",
            system.kind, system.source
        ));
    }
    let is_memory = storage.is_some_and(|storage| storage.is_memory == Some(true));
    if system.hypervisor == Some(true) && across.is_none() && !is_memory {
        below.push("the disk of a virtual machine".to_owned());
    }
    if below.is_empty() {
        return Vec::new();
    }
    let lie = if below.len() == 1 { "lies" } else { "lie" };
    let message = format!("below the target {lie} {}", below.join(", "));
    let advice = "name them with the number; to learn what one of them costs, measure above and below it in the same blocks";
    vec![RULE.finding(Severity::Note, message, advice)]
}

/// The layers from above that are no medium of their own; parts of an array are media only if
/// nothing lies below them.
fn collect(layer: &StorageLayer, is_top: bool, out: &mut Vec<String>) {
    let name = layer.device.as_ref().and_then(between);
    let plain = || {
        let part = layer.device.as_ref().and_then(|device| device.name.clone());
        part.or_else(|| layer.file_system.as_ref().map(|fs| fs.kind.clone()))
            .or_else(|| layer.path.clone())
    };
    out.extend(name.or_else(|| if is_top { None } else { plain() }));
    layer
        .layers
        .iter()
        .for_each(|below| collect(below, false, out));
}

/// A device that is made of something else.
fn between(device: &BlockDevice) -> Option<String> {
    let kind = match device.transport? {
        Transport::Loop => "a loop device",
        Transport::Md => "an array",
        Transport::Dm => "a mapping",
        Transport::Nbd | Transport::Rbd | Transport::NvmeFabric | Transport::Iscsi => {
            "a device across a network"
        }
        Transport::Ublk => "a device served by a process",
        Transport::Nvme
        | Transport::Virtio
        | Transport::Ata
        | Transport::Usb
        | Transport::Scsi
        | Transport::Mmc
        | Transport::Xen
        | Transport::Pmem
        | Transport::Zram
        | Transport::Ram
        | Transport::Null => return None,
    };
    let details: Vec<&str> = [&device.name, &device.raid_level, &device.mapping]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    Some(if details.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} ({})", details.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, sound};
    use super::*;
    use record::Summary;

    fn layer(transport: Option<Transport>, name: &str, layers: Vec<StorageLayer>) -> StorageLayer {
        let device = BlockDevice {
            name: Some(name.into()),
            transport,
            ..BlockDevice::default()
        };
        StorageLayer {
            device: Some(device),
            layers,
            ..StorageLayer::default()
        }
    }

    #[test]
    fn a_loop_file_on_an_array_is_two_layers_and_two_disks() {
        let disks = vec![
            layer(Some(Transport::Ata), "sda", vec![]),
            layer(Some(Transport::Ata), "sdb", vec![]),
        ];
        let mut record = sound();
        record.generator_mut().environment.storage = Some(layer(
            Some(Transport::Loop),
            "loop0",
            vec![layer(Some(Transport::Md), "md1", disks)],
        ));
        assert_eq!(
            only(&check(&record)),
            "below the target lie a loop device (loop0), an array (md1), sda, sdb"
        );
    }

    #[test]
    fn a_virtual_machine_and_a_container_are_said() {
        let mut record = sound();
        record.generator_mut().environment.system.hypervisor = Some(true);
        assert_eq!(
            only(&check(&record)),
            "below the target lies the disk of a virtual machine"
        );
        let mut foreign = quoted("read", Summary::default());
        foreign.generator_mut().environment.system.container_hints =
            vec!["Docker container".into()];
        assert_eq!(only(&check(&foreign)), "below the target lies a container");
    }

    #[test]
    fn the_server_of_a_network_file_system_is_said_and_no_disk_here() {
        let mut record = sound();
        record.generator_mut().environment.system.hypervisor = Some(true);
        let mut storage = StorageLayer {
            file_system: Some(FileSystem {
                kind: "nfs4".into(),
                source: "filer:/vol".into(),
                ..FileSystem::default()
            }),
            ..StorageLayer::default()
        };
        record.generator_mut().environment.storage = Some(storage.clone());
        assert_eq!(
            only(&check(&record)),
            "below the target lies the storage of a server (nfs4 of filer:/vol)"
        );
        storage.file_system = None;
        storage.is_memory = Some(true);
        record.generator_mut().environment.storage = Some(storage);
        assert_eq!(check(&record), [], "memory is nobody's disk");
    }

    #[test]
    fn a_disk_of_its_own_and_a_target_that_is_no_path_are_silent() {
        let mut record = sound();
        record.generator_mut().environment.storage =
            Some(layer(Some(Transport::Nvme), "nvme0n1", vec![]));
        assert_eq!(check(&record), []);
        record.generator_mut().environment.storage = None;
        record.generator_mut().environment.system.hypervisor = Some(true);
        assert_eq!(check(&record), []);
    }
}
