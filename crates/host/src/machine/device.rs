//! Block devices from /sys/dev/block.

use std::path::Path;

use record::{BlockDevice, Transport};

use super::fingerprint::Fingerprint;
use super::tree::Tree;

/// The kernel counts device sizes in units of 512 bytes, whatever the block size.
const SECTOR: u64 = 512;

/// A block device and where sysfs keeps its whole disk.
pub(super) struct Device {
    pub(super) facts: BlockDevice,
    /// Empty where sysfs does not know the device.
    pub(super) disk: String,
}

/// Reads a device; what sysfs does not know about it stays unknown.
pub(super) fn device(tree: &Tree, major: u32, minor: u32, key: Option<Fingerprint>) -> Device {
    let mut facts = BlockDevice {
        major,
        minor,
        ..BlockDevice::default()
    };
    let own = tree.resolve(format!("/sys/dev/block/{major}:{minor}"));
    let Some(own) = own.as_deref().and_then(Path::to_str) else {
        return Device {
            facts,
            disk: String::new(),
        };
    };
    let number = |name: &str| tree.number::<u64>(format!("{own}/{name}"));
    let mut disk = own;
    if number("partition").is_some() {
        disk = Path::new(own)
            .parent()
            .and_then(Path::to_str)
            .unwrap_or(own);
        facts.partition_of = Some(name_of(disk));
        facts.partition_start_bytes =
            number("start").and_then(|sectors| sectors.checked_mul(SECTOR));
    }
    facts.name = Some(name_of(own));
    facts.size_bytes = number("size").and_then(|sectors| sectors.checked_mul(SECTOR));
    facts.read_only = tree.switch(format!("{own}/ro"));
    facts.transport = transport(tree, disk);
    add_queue(tree, disk, &mut facts);
    add_hardware(tree, disk, key, &mut facts);
    add_stack(tree, disk, &mut facts);
    Device {
        facts,
        disk: disk.to_owned(),
    }
}

/// The device's name: sysfs writes `!` for the `/` in names such as `cciss/c0d0`.
fn name_of(directory: &str) -> String {
    directory
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .replace('!', "/")
}

fn add_queue(tree: &Tree, disk: &str, facts: &mut BlockDevice) {
    let number = |name: &str| tree.number::<u64>(format!("{disk}/queue/{name}"));
    let switch = |name: &str| tree.switch(format!("{disk}/queue/{name}"));
    let kib = |name: &str| number(name)?.checked_mul(1024);
    facts.logical_block_bytes = number("logical_block_size");
    facts.physical_block_bytes = number("physical_block_size");
    facts.scheduler = tree.choice(format!("{disk}/queue/scheduler"));
    facts.rotational = switch("rotational");
    facts.nr_requests = number("nr_requests");
    facts.write_cache = tree.value(format!("{disk}/queue/write_cache"));
    facts.force_unit_access = switch("fua");
    facts.read_ahead_bytes = kib("read_ahead_kb");
    facts.max_request_bytes = kib("max_sectors_kb");
    facts.polling = switch("io_poll");
    facts.discard_max_bytes = number("discard_max_bytes");
    facts.zoned = tree.value(format!("{disk}/queue/zoned"));
    facts.queue_depth = tree.number(format!("{disk}/device/queue_depth"));
    let queues = tree.names(format!("{disk}/mq"));
    facts.hardware_queues = u64::try_from(queues.len()).ok().filter(|&count| count > 0);
    facts.tags_per_hardware_queue = queues
        .first()
        .and_then(|queue| tree.number(format!("{disk}/mq/{queue}/nr_tags")));
}

fn add_hardware(tree: &Tree, disk: &str, key: Option<Fingerprint>, facts: &mut BlockDevice) {
    let first = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| tree.value(format!("{disk}/{name}")))
    };
    // PCI and virtio give their vendor as a number, which names no maker.
    let vendor = first(&["device/vendor"]).filter(|vendor| !vendor.starts_with("0x"));
    let model = first(&["device/model", "device/name"]);
    facts.model = match (vendor, model) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (None, model) => model,
        (Some(vendor), None) => Some(vendor),
    };
    facts.firmware = first(&["device/firmware_rev", "device/rev", "device/fwrev"]);
    // The serial of a virtio disk comes last: reading it sends a command to the device.
    let serial = |key: Fingerprint| {
        let serial = first(&["device/serial", "wwid", "device/wwid", "serial"])?;
        Some(key.of("serial", &serial))
    };
    facts.serial_fingerprint = key.and_then(serial);
}

fn add_stack(tree: &Tree, disk: &str, facts: &mut BlockDevice) {
    let value = |name: &str| tree.value(format!("{disk}/{name}"));
    facts.backing_file = value("loop/backing_file");
    facts.backing_direct_io = tree.switch(format!("{disk}/loop/dio"));
    facts.raid_level = value("md/level");
    facts.raid_activity = value("md/sync_action");
    // A mapping's uuid begins with the name of its maker: LVM-…, CRYPT-LUKS2-…, mpath-….
    let maker = value("dm/uuid").and_then(|uuid| Some(uuid.split_once('-')?.0.to_lowercase()));
    facts.mapping = maker.filter(|maker| !maker.is_empty());
}

/// Drivers that number their disks.
const NUMBERED: [(&str, Transport); 10] = [
    ("mmcblk", Transport::Mmc),
    ("nbd", Transport::Nbd),
    ("rbd", Transport::Rbd),
    ("ublkb", Transport::Ublk),
    ("nullb", Transport::Null),
    ("loop", Transport::Loop),
    ("dm-", Transport::Dm),
    ("zram", Transport::Zram),
    ("ram", Transport::Ram),
    ("pmem", Transport::Pmem),
];

/// Buses that a SCSI disk's place in the device tree shows, the outer ones first.
const SCSI_BUSES: [(&str, Transport); 4] = [
    ("/session", Transport::Iscsi),
    ("/usb", Transport::Usb),
    ("/ata", Transport::Ata),
    ("/virtio", Transport::Virtio),
];

fn transport(tree: &Tree, disk: &str) -> Option<Transport> {
    let name = name_of(disk);
    let after = |prefix: &str| {
        name.strip_prefix(prefix)
            .and_then(|rest| rest.chars().next())
    };
    let numbered = |prefix: &str| after(prefix).is_some_and(|next| next.is_ascii_digit());
    let lettered = |prefix: &str| after(prefix).is_some_and(|next| next.is_ascii_lowercase());
    if numbered("nvme") {
        return nvme(tree, disk);
    }
    if tree.exists(format!("{disk}/md")) || numbered("md") {
        return Some(Transport::Md);
    }
    if lettered("sd") || numbered("sr") {
        let bus = SCSI_BUSES.into_iter().find(|(bus, _)| disk.contains(bus));
        return Some(bus.map_or(Transport::Scsi, |(_, transport)| transport));
    }
    if lettered("vd") {
        return disk.contains("/virtio").then_some(Transport::Virtio);
    }
    if lettered("xvd") {
        return Some(Transport::Xen);
    }
    NUMBERED
        .into_iter()
        .find(|(prefix, _)| numbered(prefix))
        .map(|(_, transport)| transport)
}

/// The controller says how it is attached; with several paths the first controller of the subsystem
/// does.
fn nvme(tree: &Tree, disk: &str) -> Option<Transport> {
    let device = format!("{disk}/device");
    let own = tree.value(format!("{device}/transport"));
    let of_path = || {
        let names = tree
            .names(&device)
            .into_iter()
            .filter(|name| name.starts_with("nvme"));
        names
            .into_iter()
            .find_map(|name| tree.value(format!("{device}/{name}/transport")))
    };
    match own.or_else(of_path)?.as_str() {
        "pcie" | "apple-nvme" => Some(Transport::Nvme),
        _ => Some(Transport::NvmeFabric),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn disk(fixture: &Fixture, number: &str, at: &str) -> BlockDevice {
        fixture
            .directory(at)
            .link(&format!("sys/dev/block/{number}"), at);
        let (major, minor) = number.split_once(':').unwrap();
        device(
            &fixture.tree(),
            major.parse().unwrap(),
            minor.parse().unwrap(),
            None,
        )
        .facts
    }

    #[test]
    fn a_disk_is_reached_as_its_name_and_place_say() {
        let cases = [
            ("pci0/ata1/host0/target0/block/sda", Some(Transport::Ata)),
            ("pci0/usb1/host0/block/sdb", Some(Transport::Usb)),
            ("platform/host3/session1/block/sdc", Some(Transport::Iscsi)),
            ("pci0/virtio1/host0/block/sdd", Some(Transport::Virtio)),
            ("pci0/host0/block/sde", Some(Transport::Scsi)),
            ("pci0/virtio1/block/vda", Some(Transport::Virtio)),
            ("vbd-51712/block/xvda", Some(Transport::Xen)),
            ("virtual/block/ram0", Some(Transport::Ram)),
            ("virtual/block/zram1", Some(Transport::Zram)),
            ("virtual/block/rbd0", Some(Transport::Rbd)),
            ("virtual/block/md127", Some(Transport::Md)),
            ("virtual/block/ublkb0", Some(Transport::Ublk)),
            ("virtual/block/nvme9n1", None),
            ("virtual/block/ramdisk", None),
        ];
        let fixture = Fixture::new();
        for (number, (place, transport)) in cases.into_iter().enumerate() {
            let device = disk(
                &fixture,
                &format!("9:{number}"),
                &format!("sys/devices/{place}"),
            );
            assert_eq!(device.transport, transport, "{place}");
        }
    }

    #[test]
    fn a_fabric_is_not_a_local_nvme() {
        let fixture = Fixture::new();
        let at = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
        fixture.file(
            "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1/transport",
            "tcp\n",
        );
        fixture.link(
            &format!("{at}/device"),
            "sys/devices/virtual/nvme-subsystem/nvme-subsys0",
        );
        assert_eq!(
            disk(&fixture, "259:0", at).transport,
            Some(Transport::NvmeFabric)
        );
    }

    #[test]
    fn an_array_says_what_it_is_busy_with_and_a_mapping_who_made_it() {
        let fixture = Fixture::new();
        fixture.files(
            "sys/devices/virtual/block/md0/md",
            &[("level", "raid1\n"), ("sync_action", "resync\n")],
        );
        fixture.file(
            "sys/devices/virtual/block/dm-0/dm/uuid",
            "CRYPT-LUKS2-abc-x\n",
        );
        let array = disk(&fixture, "9:0", "sys/devices/virtual/block/md0");
        assert_eq!(
            (array.raid_level.as_deref(), array.raid_activity.as_deref()),
            (Some("raid1"), Some("resync"))
        );
        let mapping = disk(&fixture, "253:0", "sys/devices/virtual/block/dm-0");
        assert_eq!(
            (mapping.transport, mapping.mapping.as_deref()),
            (Some(Transport::Dm), Some("crypt"))
        );
    }

    #[test]
    fn a_scsi_disk_has_its_own_queue_depth_and_a_vendor() {
        let fixture = Fixture::new();
        let at = "sys/devices/pci0/ata1/block/sda";
        let files = [
            ("queue_depth", "32\n"),
            ("vendor", "ATA     \n"),
            ("model", "DISK 1 \n"),
            ("rev", "A1\n"),
        ];
        fixture.files(&format!("{at}/device"), &files);
        let device = disk(&fixture, "8:0", at);
        assert_eq!(
            (device.queue_depth, device.model.as_deref()),
            (Some(32), Some("ATA DISK 1"))
        );
        assert_eq!(
            (device.firmware.as_deref(), device.serial_fingerprint),
            (Some("A1"), None)
        );
    }

    #[test]
    fn a_device_that_sysfs_does_not_know_keeps_its_numbers() {
        let device = device(&Fixture::new().tree(), 8, 17, None);
        assert_eq!(
            device.facts,
            BlockDevice {
                major: 8,
                minor: 17,
                ..BlockDevice::default()
            }
        );
    }
}
