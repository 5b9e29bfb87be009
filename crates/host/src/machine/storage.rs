//! What a path lies on, down to the devices.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use record::{BlockDevice, FileSystem, StorageLayer, Transport};

use super::device::{self, Device};
use super::fingerprint::Fingerprint;
use super::mount::{self, Mount};
use super::tree::Tree;

/// A deeper stack is not a stack but a circle or nonsense.
const DEPTH: u32 = 8;

/// File systems that keep their files in memory and nowhere else.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// A path as the file system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The device of the file system that the path is on.
    pub(super) device: Option<(u32, u32)>,
    /// The device that the path is.
    pub(super) node: Option<(u32, u32)>,
}

impl Place {
    /// The place of a path; of one that is still to be made, that of its nearest parent.
    pub(super) fn of(target: &Path) -> Self {
        let absolute = std::path::absolute(target).unwrap_or_else(|_| target.to_owned());
        let existing = absolute
            .ancestors()
            .find_map(|path| fs::canonicalize(path).ok());
        let metadata = existing.as_ref().and_then(|path| fs::metadata(path).ok());
        let node = metadata
            .as_ref()
            .filter(|metadata| metadata.file_type().is_block_device());
        Self {
            device: metadata
                .as_ref()
                .and_then(|metadata| mount::device_numbers(metadata.dev())),
            node: node.and_then(|metadata| mount::device_numbers(metadata.rdev())),
            path: existing.unwrap_or(absolute),
        }
    }
}

pub(super) struct Stack<'a> {
    pub(super) tree: &'a Tree,
    pub(super) mounts: &'a [Mount],
    pub(super) key: Option<Fingerprint>,
}

impl Stack<'_> {
    pub(super) fn at(&self, place: &Place) -> StorageLayer {
        let mut layer = match place.node {
            Some(device) => self.device(device, DEPTH),
            None => self.path(&place.path, place.device, DEPTH),
        };
        layer.path = Some(place.path.to_string_lossy().into_owned());
        layer
    }

    fn path(&self, path: &Path, device: Option<(u32, u32)>, depth: u32) -> StorageLayer {
        let mut layer = StorageLayer {
            path: Some(path.to_string_lossy().into_owned()),
            ..StorageLayer::default()
        };
        let Some(mount) = mount::mount_of(self.mounts, path, device) else {
            return layer;
        };
        if IN_MEMORY.contains(&mount.kind.as_str()) {
            layer.is_memory = Some(true);
        } else if mount.device.0 != 0 {
            layer = StorageLayer {
                path: layer.path,
                ..self.device(mount.device, depth)
            };
        } else if let Some(below) = depth.checked_sub(1) {
            let mut members = self.members(mount, below);
            layer = match members.as_mut_slice() {
                [only] if only.path.is_none() => StorageLayer {
                    path: layer.path,
                    ..std::mem::take(only)
                },
                _ => StorageLayer {
                    is_memory: is_memory_of_all(&members),
                    layers: members,
                    ..layer
                },
            };
        }
        layer.file_system = Some(file_system(mount));
        layer
    }

    /// What a file system without a device number of its own is kept on, as far as can be told.
    fn members(&self, mount: &Mount, depth: u32) -> Vec<StorageLayer> {
        if mount.kind == "overlay" {
            let upper = mount
                .super_options
                .split(',')
                .find_map(|option| option.strip_prefix("upperdir="));
            return upper
                .and_then(|upper| self.file(Path::new(upper), mount, depth))
                .into_iter()
                .collect();
        }
        let Some(name) = self.device_name(&mount.source) else {
            return Vec::new();
        };
        let pools = self
            .tree
            .names("/sys/fs/btrfs")
            .into_iter()
            .map(|pool| format!("/sys/fs/btrfs/{pool}/devices"));
        let pool = pools
            .map(|devices| self.tree.names(devices))
            .find(|names| names.contains(&name));
        let names = pool.unwrap_or_else(|| vec![name]);
        names
            .iter()
            .filter_map(|name| {
                Some(self.device(self.numbers(&format!("/sys/class/block/{name}"))?, depth))
            })
            .collect()
    }

    /// A file or directory that another layer names. The name may come from another mount
    /// namespace, so it counts only where it exists here and does not lead back to the mount
    /// that named it.
    fn file(&self, path: &Path, above: &Mount, depth: u32) -> Option<StorageLayer> {
        let mount = mount::mount_of(self.mounts, path, None)?;
        (self.tree.exists(path) && mount != above).then(|| self.path(path, None, depth))
    }

    /// The kernel's name for a source such as `/dev/sda1` or, a link to the device,
    /// `/dev/mapper/data`.
    fn device_name(&self, source: &str) -> Option<String> {
        let name = source.strip_prefix("/dev/")?;
        if !name.contains('/') {
            return Some(name.to_owned());
        }
        let resolved = self.tree.resolve(source)?;
        Some(
            resolved
                .strip_prefix("/dev")
                .ok()?
                .to_str()?
                .replace('/', "!"),
        )
    }

    fn numbers(&self, directory: &str) -> Option<(u32, u32)> {
        let text = self.tree.text(format!("{directory}/dev"))?;
        let (major, minor) = text.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    fn device(&self, (major, minor): (u32, u32), depth: u32) -> StorageLayer {
        let Device { facts, disk } = device::device(self.tree, major, minor, self.key);
        let layers = depth
            .checked_sub(1)
            .map(|depth| self.below(&facts, &disk, depth))
            .unwrap_or_default();
        let is_memory = match facts.transport {
            Some(transport) => is_memory(transport, &layers),
            None => None,
        };
        StorageLayer {
            device: Some(facts),
            layers,
            is_memory,
            ..StorageLayer::default()
        }
    }

    /// The parts of a stacked device, or the place of its backing file.
    fn below(&self, facts: &BlockDevice, disk: &str, depth: u32) -> Vec<StorageLayer> {
        if disk.is_empty() {
            return Vec::new();
        }
        if let Some(file) = &facts.backing_file {
            let own = (facts.major, facts.minor);
            let place = Path::new(file);
            let circular =
                mount::mount_of(self.mounts, place, None).is_none_or(|mount| mount.device == own);
            let known = self.tree.exists(place) && !circular;
            return known
                .then(|| self.path(place, None, depth))
                .into_iter()
                .collect();
        }
        let slaves = format!("{disk}/slaves");
        let names = self.tree.names(&slaves);
        let parts = names
            .iter()
            .filter_map(|name| self.numbers(&format!("{slaves}/{name}")));
        parts.map(|part| self.device(part, depth)).collect()
    }
}

fn file_system(mount: &Mount) -> FileSystem {
    FileSystem {
        kind: mount.kind.clone(),
        source: mount.source.clone(),
        mount_point: mount.point.clone(),
        mount_root: mount.root.clone(),
        options: mount.options.clone(),
        file_system_options: file_system_options(mount),
        total_bytes: None,
        free_bytes: None,
    }
}

/// The lower directories of an overlay are only counted: a container image has dozens, under names
/// that differ between equal containers.
fn file_system_options(mount: &Mount) -> String {
    if mount.kind != "overlay" {
        return mount.super_options.clone();
    }
    let option = |option: &str| match option.strip_prefix("lowerdir=") {
        Some(lower) => format!("lowerdir=({} directories)", lower.split(':').count()),
        None => option.to_owned(),
    };
    mount
        .super_options
        .split(',')
        .map(option)
        .collect::<Vec<_>>()
        .join(",")
}

fn is_memory(transport: Transport, layers: &[StorageLayer]) -> Option<bool> {
    match transport {
        Transport::Zram | Transport::Ram | Transport::Null => Some(true),
        Transport::Loop | Transport::Md | Transport::Dm => is_memory_of_all(layers),
        Transport::Nvme
        | Transport::Virtio
        | Transport::Ata
        | Transport::Usb
        | Transport::Scsi
        | Transport::Mmc
        | Transport::Xen => Some(false),
        // What answers is another machine, another process, or memory that may or may not persist.
        Transport::NvmeFabric
        | Transport::Iscsi
        | Transport::Pmem
        | Transport::Nbd
        | Transport::Rbd
        | Transport::Ublk => None,
    }
}

/// Memory where every part is, not memory where one part is none, else unknown.
fn is_memory_of_all(layers: &[StorageLayer]) -> Option<bool> {
    if layers.iter().any(|layer| layer.is_memory == Some(false)) {
        return Some(false);
    }
    (!layers.is_empty() && layers.iter().all(|layer| layer.is_memory == Some(true))).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::super::mount::mounts;
    use super::super::mount::tests::MOUNTS;
    use super::super::tree::fixture::Fixture;
    use super::*;

    /// An NVMe disk with a partition, a loop device on it, an array with one member in memory, and
    /// a zram.
    fn machine() -> Fixture {
        let fixture = Fixture::new();
        let nvme = "sys/devices/pci0/nvme/nvme0/nvme0n1";
        fixture
            .file("proc/self/mountinfo", MOUNTS)
            .files(
                nvme,
                &[
                    ("dev", "259:0\n"),
                    ("size", "2000\n"),
                    ("ro", "0\n"),
                    ("mq/0/nr_tags", "1023\n"),
                    ("mq/1/nr_tags", "1023\n"),
                ],
            )
            .files(
                &format!("{nvme}/queue"),
                &[
                    ("logical_block_size", "512\n"),
                    ("physical_block_size", "4096\n"),
                    ("scheduler", "[none] mq-deadline\n"),
                    ("rotational", "0\n"),
                    ("write_cache", "write back\n"),
                    ("read_ahead_kb", "128\n"),
                    ("discard_max_bytes", "0\n"),
                ],
            )
            .files(
                "sys/devices/pci0/nvme/nvme0",
                &[
                    ("model", "A disk  \n"),
                    ("serial", "S1\n"),
                    ("transport", "pcie\n"),
                ],
            )
            .link(&format!("{nvme}/device"), "sys/devices/pci0/nvme/nvme0")
            .files(
                &format!("{nvme}/nvme0n1p2"),
                &[
                    ("dev", "259:2\n"),
                    ("partition", "2\n"),
                    ("start", "2048\n"),
                    ("size", "1000\n"),
                    ("ro", "0\n"),
                ],
            )
            .link("sys/dev/block/259:0", nvme)
            .link("sys/dev/block/259:2", &format!("{nvme}/nvme0n1p2"));
        for (number, name) in [("7:0", "loop0"), ("9:0", "md0"), ("252:0", "zram0")] {
            fixture.file(&format!("sys/devices/virtual/block/{name}/dev"), number);
            fixture.link(
                &format!("sys/dev/block/{number}"),
                &format!("sys/devices/virtual/block/{name}"),
            );
        }
        fixture
    }

    fn layer_at(fixture: &Fixture, path: &str, node: Option<(u32, u32)>) -> StorageLayer {
        let tree = fixture.tree();
        let mounts = mounts(&tree);
        let key = Fingerprint::of_machine(&tree);
        Stack {
            tree: &tree,
            mounts: &mounts,
            key,
        }
        .at(&Place {
            path: path.into(),
            device: None,
            node,
        })
    }

    #[test]
    fn a_file_on_a_partition_shows_the_queue_of_the_disk() {
        let fixture = machine();
        fixture.file("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        let layer = layer_at(&fixture, "/home/x", None);
        let device = layer.device.unwrap();
        assert_eq!(layer.file_system.unwrap().kind, "ext4");
        assert_eq!(
            (device.name.as_deref(), device.partition_of.as_deref()),
            (Some("nvme0n1p2"), Some("nvme0n1"))
        );
        assert_eq!((device.major, device.minor), (259, 2));
        assert_eq!(
            (device.size_bytes, device.partition_start_bytes),
            (Some(512_000), Some(2048 * 512))
        );
        assert_eq!(
            (device.logical_block_bytes, device.physical_block_bytes),
            (Some(512), Some(4096))
        );
        assert_eq!(
            (device.scheduler.as_deref(), device.rotational),
            (Some("none"), Some(false))
        );
        assert_eq!(
            (device.write_cache.as_deref(), device.read_ahead_bytes),
            (Some("write back"), Some(128 << 10))
        );
        assert_eq!(
            (device.hardware_queues, device.tags_per_hardware_queue),
            (Some(2), Some(1023))
        );
        assert_eq!(
            (device.model.as_deref(), device.transport),
            (Some("A disk"), Some(Transport::Nvme))
        );
        assert!(
            device
                .serial_fingerprint
                .is_some_and(|print| !print.contains("S1"))
        );
        assert_eq!(
            (
                device.discard_max_bytes,
                device.nr_requests,
                layer.is_memory
            ),
            (Some(0), None, Some(false))
        );
    }

    #[test]
    fn a_loop_device_is_as_much_memory_as_its_backing_file() {
        let fixture = machine();
        fixture.file("sys/devices/virtual/block/loop0/loop/dio", "0\n");
        for (backing, kind, is_memory) in [
            ("/home/image", "ext4", false),
            ("/tmp/image", "tmpfs", true),
        ] {
            fixture
                .file(&backing[1..], "")
                .file("sys/devices/virtual/block/loop0/loop/backing_file", backing);
            let layer = layer_at(&fixture, "/loop/file", None);
            assert_eq!(layer.file_system.unwrap().kind, "xfs");
            assert_eq!(layer.device.unwrap().backing_direct_io, Some(false));
            assert_eq!(layer.layers[0].path.as_deref(), Some(backing));
            assert_eq!(layer.layers[0].file_system.as_ref().unwrap().kind, kind);
            assert_eq!(layer.layers[0].device.is_some(), !is_memory);
            assert_eq!(layer.is_memory, Some(is_memory));
        }
    }

    #[test]
    fn a_backing_file_that_is_not_here_leaves_the_rest_unknown() {
        let fixture = machine();
        let file = "sys/devices/virtual/block/loop0/loop/backing_file";
        for backing in ["/home/gone (deleted)\n", "/loop/itself\n"] {
            fixture.file("loop/itself", "").file(file, backing);
            let layer = layer_at(&fixture, "/loop/x", None);
            assert_eq!(
                layer.device.unwrap().backing_file.as_deref(),
                Some(backing.trim_end())
            );
            assert_eq!((layer.layers, layer.is_memory), (vec![], None));
        }
    }

    #[test]
    fn memory_is_recognised_with_and_without_a_file_system() {
        let fixture = machine();
        let file = layer_at(&fixture, "/tmp/x", None);
        assert_eq!((file.is_memory, file.device), (Some(true), None));
        let device = layer_at(&fixture, "/dev/zram0", Some((252, 0)));
        assert_eq!((device.is_memory, device.file_system), (Some(true), None));
        assert_eq!(device.path.as_deref(), Some("/dev/zram0"));
        assert_eq!(device.device.unwrap().transport, Some(Transport::Zram));
    }

    #[test]
    fn an_array_with_one_real_member_is_not_memory() {
        let fixture = machine();
        let slaves = "sys/devices/virtual/block/md0/slaves";
        fixture.link(
            &format!("{slaves}/zram0"),
            "sys/devices/virtual/block/zram0",
        );
        let alone = layer_at(&fixture, "/dev/md0", Some((9, 0)));
        assert_eq!((alone.layers.len(), alone.is_memory), (1, Some(true)));
        fixture.link(
            &format!("{slaves}/nvme0n1p2"),
            "sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2",
        );
        let both = layer_at(&fixture, "/dev/md0", Some((9, 0)));
        let names: Vec<_> = both
            .layers
            .iter()
            .map(|layer| layer.device.as_ref().unwrap().name.clone().unwrap())
            .collect();
        assert_eq!(
            (names, both.is_memory),
            (
                vec!["nvme0n1p2".to_owned(), "zram0".to_owned()],
                Some(false)
            )
        );
    }

    #[test]
    fn an_array_that_contains_itself_comes_to_an_end() {
        let fixture = machine();
        fixture.link(
            "sys/devices/virtual/block/md0/slaves/md0",
            "sys/devices/virtual/block/md0",
        );
        let mut layer = &layer_at(&fixture, "/dev/md0", Some((9, 0)));
        let mut levels = 0;
        while let Some(below) = layer.layers.first() {
            layer = below;
            levels += 1;
        }
        assert_eq!(levels, DEPTH);
    }

    #[test]
    fn an_overlay_lies_on_its_upper_directory_where_that_is_visible() {
        let fixture = machine();
        let hidden = layer_at(&fixture, "/merged/x", None);
        assert_eq!((hidden.layers.len(), hidden.is_memory), (0, None));
        fixture.directory("srv/up");
        let layer = layer_at(&fixture, "/merged/x", None);
        assert_eq!(layer.layers[0].path.as_deref(), Some("/srv/up"));
        assert_eq!(layer.layers[0].device.as_ref().unwrap().minor, 2);
        assert_eq!(layer.is_memory, Some(false));
        let options = layer.file_system.unwrap().file_system_options;
        assert_eq!(
            options,
            "rw,lowerdir=(2 directories),upperdir=/srv/up,workdir=/srv/work"
        );
    }

    #[test]
    fn a_subvolume_finds_the_members_of_its_pool() {
        let fixture = machine();
        for (name, number) in [("sda1", "8:1"), ("sdb1", "8:17")] {
            let at = format!("sys/devices/pci0/ata1/block/{name}");
            fixture.file(&format!("{at}/dev"), number);
            fixture
                .link(&format!("sys/class/block/{name}"), &at)
                .link(&format!("sys/dev/block/{number}"), &at);
        }
        let one = layer_at(&fixture, "/srv/my data/x", None);
        assert_eq!(one.file_system.unwrap().mount_root, "/@data");
        assert_eq!(
            (one.device.unwrap().name.as_deref(), one.layers.len()),
            (Some("sda1"), 0)
        );
        fixture
            .file("sys/fs/btrfs/uuid/devices/sda1", "")
            .file("sys/fs/btrfs/uuid/devices/sdb1", "");
        let two = layer_at(&fixture, "/srv/my data/x", None);
        assert_eq!(
            (two.device, two.layers.len(), two.is_memory),
            (None, 2, Some(false))
        );
        assert_eq!(two.path.as_deref(), Some("/srv/my data/x"));
    }

    #[test]
    fn a_path_that_is_still_to_be_made_lies_where_its_parent_does() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::of(&directory.path().join("a/b"));
        assert_eq!(place, Place::of(directory.path()));
        assert_eq!(place.path, directory.path().canonicalize().unwrap());
        assert!(place.device.is_some());
    }
}
