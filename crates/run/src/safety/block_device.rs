//! Who uses a block device or an image file.
//!
//! Devices are compared by number and files by inode, never by name: a symlink, a bind mount or a
//! second device node is the same target. The kernel's view is read below a root, so that tests
//! bring their own `/proc` and `/sys`. What holds a device without showing here (ZFS, another mount
//! namespace, Ceph) is caught by the exclusive open.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The number by which the kernel knows a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits a `dev_t` as `stat` returns it (glibc's 64-bit layout, which contains the kernel's
    /// 32-bit one).
    pub fn from_dev(dev: u64) -> Self {
        let low = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("masked to 32 bits");
        DeviceNumber {
            major: low(((dev >> 8) & 0xfff) | ((dev >> 32) & !0xfff)),
            minor: low((dev & 0xff) | ((dev >> 12) & !0xff)),
        }
    }

    /// Parses `MAJOR:MINOR`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A device with the kernel's name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub number: DeviceNumber,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.number)
    }
}

/// Which part of the target's stack is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Target,
    Partition(Device),
    WholeDisk(Device),
    /// A device built on the target, directly or through others.
    Above(Device),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Target => f.write_str("it"),
            Part::Partition(device) => write!(f, "its partition {device}"),
            Part::WholeDisk(device) => write!(f, "the whole disk {device}"),
            Part::Above(device) => write!(f, "{device}, built on it,"),
        }
    }
}

/// The kind of a device that holds another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Lvm,
    Crypt,
    Multipath,
    DeviceMapper,
    Md,
    Bcache,
    Other,
}

/// How a part is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    Mounted {
        at: PathBuf,
        file_system: String,
    },
    /// A device of a mounted file system that spans several.
    Member {
        file_system: String,
        uuid: String,
    },
    /// `label` is the name the layer's tools know, e.g. `vg-home`.
    Held {
        by: Device,
        layer: Layer,
        label: String,
    },
    Swap {
        path: PathBuf,
    },
    LoopBacking {
        by: Device,
    },
    /// The kernel's view could not be read, so "unused" cannot be said.
    Undetermined {
        path: PathBuf,
        reason: String,
    },
}

/// One reason not to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub part: Part,
    pub how: How,
}

impl Use {
    /// False where nothing was found because the kernel's view was unreadable.
    pub fn is_certain(&self) -> bool {
        !matches!(self.how, How::Undetermined { .. })
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = &self.part;
        match &self.how {
            How::Mounted { at, file_system } if at == Path::new("/") => {
                write!(
                    f,
                    "{part} is mounted at / ({file_system}), the running system: choose another target"
                )
            }
            How::Mounted { at, file_system } => {
                write!(
                    f,
                    "{part} is mounted at {0} ({file_system}): run `umount {0}`",
                    at.display()
                )
            }
            How::Member { file_system, uuid } => {
                write!(
                    f,
                    "{part} belongs to the mounted {file_system} file system {uuid}: unmount that"
                )
            }
            How::Held { by, layer, label } => {
                write!(f, "{part} is held by {by}, {}", layer.release(by, label))
            }
            How::Swap { path } => {
                write!(f, "{part} is swap space: run `swapoff {}`", path.display())
            }
            How::LoopBacking { by } => {
                write!(
                    f,
                    "{part} is attached to the loop device {by}: run `losetup -d /dev/{}`",
                    by.name
                )
            }
            How::Undetermined { path, reason } => {
                write!(
                    f,
                    "whether {part} is in use cannot be told, {} is unreadable ({reason}): make it readable",
                    path.display()
                )
            }
        }
    }
}

impl Layer {
    fn release(self, by: &Device, label: &str) -> String {
        match self {
            Layer::Lvm => format!(
                "the LVM volume {label}: run `dmsetup remove {label}`, or deactivate its volume group"
            ),
            Layer::Crypt => format!("an opened encrypted volume: run `cryptsetup close {label}`"),
            Layer::Multipath => format!("a multipath device: measure /dev/mapper/{label} instead"),
            Layer::DeviceMapper => format!("a device-mapper device: run `dmsetup remove {label}`"),
            Layer::Md => format!("an md array: run `mdadm --stop /dev/{}`", by.name),
            Layer::Bcache => format!(
                "a bcache device: run `echo 1 > /sys/block/{}/bcache/stop`",
                by.name
            ),
            Layer::Other => "another driver's device: release it there".to_owned(),
        }
    }
}

/// Lists every use of the block device `major:minor`: its own, its partitions', its whole disk's,
/// and those of whatever is stacked on it. Empty means that the kernel shows none; an unreadable
/// view is a [`How::Undetermined`].
pub fn in_use(root: &Path, major: u32, minor: u32) -> Vec<Use> {
    let mut walk = Walk::new(root);
    walk.device(DeviceNumber { major, minor }, &Part::Target);
    walk.uses
}

/// Identity of a file: `st_dev` and `st_ino`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    pub dev: u64,
    pub ino: u64,
}

impl FileId {
    pub fn of(metadata: &fs::Metadata) -> Self {
        FileId {
            dev: metadata.dev(),
            ino: metadata.ino(),
        }
    }
}

/// Lists every use of a regular file as swap space or as an attached loop device's backing file,
/// with the uses of that loop device.
///
/// `loop_backing` asks the driver which file a loop node (`/dev/loopN`) is attached to; it finds
/// files that were renamed out of sight, deleted with another link left, or attached in another
/// mount namespace. Where it fails, the path that the kernel shows decides.
pub fn file_in_use(
    root: &Path,
    path: &Path,
    loop_backing: &dyn Fn(&Path) -> io::Result<Option<FileId>>,
) -> Vec<Use> {
    let mut walk = Walk::new(root);
    let target = match fs::metadata(path) {
        Ok(metadata) => FileId::of(&metadata),
        Err(error) => {
            walk.undetermined(&Part::Target, path.to_owned(), &error);
            return walk.uses;
        }
    };
    for attached in walk.view.loops.clone() {
        let shown =
            fs::metadata(below(root, &attached.backing)).map(|metadata| FileId::of(&metadata));
        let node = below(root, &Path::new("/dev").join(&attached.device.name));
        let asked = loop_backing(&node).ok().flatten();
        if shown.is_ok_and(|id| id == target) || asked == Some(target) {
            let number = attached.device.number;
            let above = Part::Above(attached.device.clone());
            walk.push(
                &Part::Target,
                How::LoopBacking {
                    by: attached.device,
                },
            );
            walk.device(number, &above);
        }
    }
    for swap in walk.view.swaps.clone() {
        let shown = fs::metadata(below(root, &swap)).map(|metadata| FileId::of(&metadata));
        if shown.is_ok_and(|id| id == target) {
            walk.push(&Part::Target, How::Swap { path: swap });
        }
    }
    walk.uses
}

/// Type and mount point of the mounted file system that has this `st_dev`, where the mount table
/// shows it.
pub(super) fn file_system_of(root: &Path, dev: u64) -> Option<(String, PathBuf)> {
    let number = DeviceNumber::from_dev(dev);
    let text = fs::read(below(root, Path::new("/proc/self/mountinfo"))).ok()?;
    let mount = parse_mounts(&text)
        .into_iter()
        .find(|mount| mount.number == number)?;
    Some((mount.file_system, mount.at))
}

/// What `/proc` and `/sys` show of the whole machine, read once.
struct View {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    loops: Vec<Loop>,
    members: Vec<Member>,
    unreadable: Vec<(PathBuf, io::Error)>,
}

struct Mount {
    number: DeviceNumber,
    at: PathBuf,
    file_system: String,
    source: PathBuf,
}

#[derive(Clone)]
struct Loop {
    device: Device,
    backing: PathBuf,
}

struct Member {
    number: DeviceNumber,
    file_system: &'static str,
    uuid: String,
}

impl View {
    fn read(root: &Path) -> Self {
        let mut unreadable = Vec::new();
        let mounts = PathBuf::from("/proc/self/mountinfo");
        let mounts = match fs::read(below(root, &mounts)) {
            Ok(text) => parse_mounts(&text),
            Err(error) => {
                unreadable.push((mounts, error));
                Vec::new()
            }
        };
        // A kernel without swap support has no such file.
        let swaps = PathBuf::from("/proc/swaps");
        let swaps = match fs::read(below(root, &swaps)) {
            Ok(text) => parse_swaps(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                unreadable.push((swaps, error));
                Vec::new()
            }
        };
        let loops = PathBuf::from("/sys/block");
        let loops = match fs::read_dir(below(root, &loops)) {
            Ok(entries) => entries
                .flatten()
                .filter_map(|entry| attached_loop(&entry.path()))
                .collect(),
            Err(error) => {
                unreadable.push((loops, error));
                Vec::new()
            }
        };
        View {
            mounts,
            swaps,
            loops,
            members: members(root),
            unreadable,
        }
    }
}

/// `ID PARENT MAJOR:MINOR ROOT AT OPTIONS [TAG…] - TYPE SOURCE OPTIONS`, see proc_pid_mountinfo(5).
fn parse_mounts(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_mount)
        .collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let number = DeviceNumber::parse(std::str::from_utf8(words.nth(2)?).ok()?)?;
    let at = unescape(words.nth(1)?);
    let mut rest = words.skip_while(|word| *word != b"-").skip(1);
    let file_system = String::from_utf8_lossy(rest.next()?).into_owned();
    let source = unescape(rest.next().unwrap_or_default());
    Some(Mount {
        number,
        at,
        file_system,
        source,
    })
}

/// A heading, then `PATH TYPE SIZE USED PRIORITY`.
fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    let lines = text.split(|byte| *byte == b'\n').skip(1);
    lines
        .filter_map(|line| line.split(|byte| byte.is_ascii_whitespace()).next())
        .filter(|path| !path.is_empty())
        .map(unescape)
        .collect()
}

/// The kernel writes blanks and backslashes of paths as `\ooo`.
fn unescape(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(octal);
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

fn attached_loop(directory: &Path) -> Option<Loop> {
    let mut backing = fs::read(directory.join("loop/backing_file")).ok()?;
    if backing.last() == Some(&b'\n') {
        backing.pop();
    }
    let backing = PathBuf::from(std::ffi::OsString::from_vec(backing));
    Some(Loop {
        device: device_at(directory)?,
        backing,
    })
}

/// btrfs and bcachefs mount under an anonymous number; their devices are listed per mounted file
/// system.
fn members(root: &Path) -> Vec<Member> {
    let list = |directory: &Path| -> Vec<fs::DirEntry> {
        fs::read_dir(directory)
            .map(|entries| entries.flatten().collect())
            .unwrap_or_default()
    };
    let mut members = Vec::new();
    for (file_system, device_dir, number_file) in
        [("btrfs", "devices", "dev"), ("bcachefs", "", "block/dev")]
    {
        for pool in list(&below(root, &Path::new("/sys/fs").join(file_system))) {
            let uuid = pool.file_name().to_string_lossy().into_owned();
            for device in list(&pool.path().join(device_dir)) {
                if let Some(number) = number_in(&device.path().join(number_file)) {
                    members.push(Member {
                        number,
                        file_system,
                        uuid: uuid.clone(),
                    });
                }
            }
        }
    }
    members
}

/// Collects the uses of a target and of all that is stacked on it.
struct Walk<'a> {
    root: &'a Path,
    view: View,
    seen: BTreeSet<DeviceNumber>,
    uses: Vec<Use>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path) -> Self {
        let mut view = View::read(root);
        let uses = std::mem::take(&mut view.unreadable)
            .into_iter()
            .map(|(path, error)| Use {
                part: Part::Target,
                how: How::Undetermined {
                    path,
                    reason: error.to_string(),
                },
            })
            .collect();
        Walk {
            root,
            view,
            seen: BTreeSet::new(),
            uses,
        }
    }

    fn push(&mut self, part: &Part, how: How) {
        let found = Use {
            part: part.clone(),
            how,
        };
        if !self.uses.contains(&found) {
            self.uses.push(found);
        }
    }

    fn undetermined(&mut self, part: &Part, path: PathBuf, error: &io::Error) {
        self.push(
            part,
            How::Undetermined {
                path,
                reason: error.to_string(),
            },
        );
    }

    /// The device, its partitions, and (where it is a partition) its whole disk.
    fn device(&mut self, number: DeviceNumber, part: &Part) {
        if !self.seen.insert(number) {
            return;
        }
        let shown = Path::new("/sys/dev/block").join(number.to_string());
        let directory = match fs::canonicalize(below(self.root, &shown)) {
            Ok(directory) => directory,
            Err(error) => {
                self.undetermined(part, shown, &error);
                self.direct(number, None, part);
                return;
            }
        };
        self.direct(number, Some(&directory), part);
        match fs::read_dir(&directory) {
            Ok(entries) => {
                for entry in entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| is_partition(path))
                {
                    self.partition(&entry, part);
                }
            }
            Err(error) => self.undetermined(part, shown, &error),
        }
        let whole = directory
            .parent()
            .filter(|_| is_partition(&directory))
            .and_then(|disk| Some((disk, device_at(disk)?)));
        if let Some((disk, device)) = whole
            && self.seen.insert(device.number)
        {
            self.direct(device.number, Some(disk), &Part::WholeDisk(device));
        }
    }

    fn partition(&mut self, directory: &Path, part: &Part) {
        let Some(device) = device_at(directory) else {
            return;
        };
        if self.seen.insert(device.number) {
            let number = device.number;
            let part = match part {
                Part::Target => Part::Partition(device),
                Part::Partition(_) | Part::WholeDisk(_) | Part::Above(_) => Part::Above(device),
            };
            self.direct(number, Some(directory), &part);
        }
    }

    /// What uses exactly this device, and what is stacked on it.
    fn direct(&mut self, number: DeviceNumber, directory: Option<&Path>, part: &Part) {
        let mounted = self
            .view
            .mounts
            .iter()
            .filter(|mount| mount.number == number || self.is_source(mount, number));
        let mut found: Vec<How> = mounted
            .map(|mount| How::Mounted {
                at: mount.at.clone(),
                file_system: mount.file_system.clone(),
            })
            .collect();
        found.extend(
            self.view
                .members
                .iter()
                .filter(|member| member.number == number)
                .map(|member| How::Member {
                    file_system: member.file_system.to_owned(),
                    uuid: member.uuid.clone(),
                }),
        );
        let swaps = self
            .view
            .swaps
            .iter()
            .filter(|path| device_number(self.root, path) == Some(number));
        found.extend(swaps.map(|path| How::Swap { path: path.clone() }));
        for how in found {
            self.push(part, how);
        }
        for attached in self.view.loops.clone() {
            if device_number(self.root, &attached.backing) == Some(number) {
                self.push(
                    part,
                    How::LoopBacking {
                        by: attached.device.clone(),
                    },
                );
                self.device(attached.device.number, &Part::Above(attached.device));
            }
        }
        if let Some(directory) = directory {
            self.holders(directory, part);
        }
    }

    /// File systems over several devices mount under an anonymous number (major 0) and name a
    /// source device, or several with colons between.
    fn is_source(&self, mount: &Mount, number: DeviceNumber) -> bool {
        let names_device = |path: &Path| {
            path.starts_with("/dev") && device_number(self.root, path) == Some(number)
        };
        mount.number.major == 0
            && (names_device(&mount.source)
                || mount
                    .source
                    .to_str()
                    .is_some_and(|list| list.split(':').any(|one| names_device(Path::new(one)))))
    }

    fn holders(&mut self, directory: &Path, part: &Part) {
        let list = directory.join("holders");
        let entries = match fs::read_dir(&list) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.undetermined(part, list, &error),
        };
        for holder in entries.flatten().map(|entry| entry.path()) {
            let Some(by) = device_at(&holder) else {
                let missing = io::Error::from(io::ErrorKind::NotFound);
                self.undetermined(part, holder.join("dev"), &missing);
                continue;
            };
            let (layer, label) = layer_of(&holder, &by);
            self.push(
                part,
                How::Held {
                    by: by.clone(),
                    layer,
                    label,
                },
            );
            self.device(by.number, &Part::Above(by));
        }
    }
}

fn layer_of(directory: &Path, device: &Device) -> (Layer, String) {
    let line = |name: &str| {
        fs::read_to_string(directory.join(name))
            .ok()
            .map(|text| text.trim().to_owned())
    };
    if let Some(uuid) = line("dm/uuid") {
        let layer = match uuid.split('-').next() {
            Some("LVM") => Layer::Lvm,
            Some("CRYPT") => Layer::Crypt,
            Some("mpath") => Layer::Multipath,
            Some(_) | None => Layer::DeviceMapper,
        };
        return (
            layer,
            line("dm/name").unwrap_or_else(|| device.name.clone()),
        );
    }
    let layer = if directory.join("md").is_dir() {
        Layer::Md
    } else if directory.join("bcache").is_dir() {
        Layer::Bcache
    } else {
        Layer::Other
    };
    (layer, device.name.clone())
}

fn is_partition(directory: &Path) -> bool {
    directory.join("partition").is_file()
}

fn device_at(directory: &Path) -> Option<Device> {
    let number = number_in(&directory.join("dev"))?;
    let directory = fs::canonicalize(directory).ok()?;
    Some(Device {
        name: directory.file_name()?.to_string_lossy().into_owned(),
        number,
    })
}

fn number_in(path: &Path) -> Option<DeviceNumber> {
    DeviceNumber::parse(&fs::read_to_string(path).ok()?)
}

/// The number of the block device at a path that the kernel names: by its node, else (where the
/// node is absent, as in containers) by the kernel's list of names.
fn device_number(root: &Path, path: &Path) -> Option<DeviceNumber> {
    let path = below(root, path);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.file_type().is_block_device() => {
            return Some(DeviceNumber::from_dev(metadata.rdev()));
        }
        Ok(_) | Err(_) => {}
    }
    let path = fs::canonicalize(&path).unwrap_or(path);
    let directory = path.parent()?;
    if directory != below(root, Path::new("/dev")) {
        return None;
    }
    number_in(
        &below(root, Path::new("/sys/class/block"))
            .join(path.file_name()?)
            .join("dev"),
    )
}

fn below(root: &Path, absolute: &Path) -> PathBuf {
    root.join(absolute.strip_prefix("/").unwrap_or(absolute))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine's `/proc`, `/sys` and `/dev` in a temporary directory.
    struct Machine(tempfile::TempDir);

    impl Machine {
        /// No mounts, swaps or devices.
        fn empty() -> Self {
            let machine = Machine(tempfile::tempdir().unwrap());
            machine.write("proc/self/mountinfo", "");
            machine.write("proc/swaps", "Filename Type Size Used Priority\n");
            for directory in ["sys/block", "sys/dev/block", "sys/class/block", "dev"] {
                fs::create_dir_all(machine.root().join(directory)).unwrap();
            }
            machine
        }

        /// sda (8:0) with the partitions sda1 (8:1) and sda2 (8:2).
        fn with_disk() -> Self {
            let machine = Self::empty();
            machine.device("sda", "8:0");
            machine.partition("sda", "sda1", "8:1");
            machine.partition("sda", "sda2", "8:2");
            machine
        }

        fn root(&self) -> &Path {
            self.0.path()
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn device_in(&self, directory: &str, name: &str, number: &str) {
            self.write(&format!("{directory}/dev"), &format!("{number}\n"));
            fs::create_dir_all(self.root().join(directory).join("holders")).unwrap();
            let absolute = self.root().join(directory);
            symlink(&absolute, self.root().join("sys/dev/block").join(number)).unwrap();
            symlink(&absolute, self.root().join("sys/class/block").join(name)).unwrap();
            self.write(&format!("dev/{name}"), "");
        }

        fn device(&self, name: &str, number: &str) {
            self.device_in(&format!("sys/devices/{name}"), name, number);
            symlink(
                self.root().join("sys/devices").join(name),
                self.root().join("sys/block").join(name),
            )
            .unwrap();
        }

        fn partition(&self, disk: &str, name: &str, number: &str) {
            let directory = format!("sys/devices/{disk}/{name}");
            self.device_in(&directory, name, number);
            self.write(&format!("{directory}/partition"), "1\n");
        }

        /// `under` is a path below `sys/devices`.
        fn hold(&self, under: &str, holder: &str) {
            let link = self
                .root()
                .join("sys/devices")
                .join(under)
                .join("holders")
                .join(holder);
            symlink(self.root().join("sys/devices").join(holder), link).unwrap();
        }

        fn mapper(&self, name: &str, number: &str, uuid: &str, label: &str) {
            self.device(name, number);
            self.write(&format!("sys/devices/{name}/dm/uuid"), &format!("{uuid}\n"));
            self.write(
                &format!("sys/devices/{name}/dm/name"),
                &format!("{label}\n"),
            );
        }

        fn mount(&self, number: &str, at: &str, file_system: &str, source: &str) {
            let path = self.root().join("proc/self/mountinfo");
            let line =
                format!("30 1 {number} / {at} rw,relatime shared:1 - {file_system} {source} rw\n");
            fs::write(&path, fs::read_to_string(&path).unwrap() + &line).unwrap();
        }

        fn swap(&self, path: &str) {
            self.write(
                "proc/swaps",
                &format!("Filename Type Size Used Priority\n{path}\tpartition\t8\t0\t-2\n"),
            );
        }

        fn attach(&self, name: &str, number: &str, backing: &str) {
            self.device(name, number);
            self.write(
                &format!("sys/devices/{name}/loop/backing_file"),
                &format!("{backing}\n"),
            );
        }

        fn uses(&self, number: &str) -> Vec<String> {
            let number = DeviceNumber::parse(number).unwrap();
            in_use(self.root(), number.major, number.minor)
                .iter()
                .map(Use::to_string)
                .collect()
        }

        fn file_uses(&self, path: &str) -> Vec<String> {
            let none = |_: &Path| Ok(None);
            file_in_use(self.root(), &self.root().join(path), &none)
                .iter()
                .map(Use::to_string)
                .collect()
        }
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn an_idle_disk_and_its_partitions_have_no_use() {
        let machine = Machine::with_disk();
        machine.mount("8:16", "/other", "ext4", "/dev/sdb");
        for number in ["8:0", "8:1", "8:2"] {
            assert_eq!(machine.uses(number), NOTHING, "{number}");
        }
    }

    #[test]
    fn a_mount_is_found_by_number_whatever_its_source_is_called() {
        let machine = Machine::with_disk();
        machine.mount("8:0", "/mnt/a\\040b", "ext4", "/dev/root");
        machine.mount("8:0", "/bind", "ext4", "/dev/disk/by-id/x");
        assert_eq!(
            machine.uses("8:0"),
            [
                "it is mounted at /mnt/a b (ext4): run `umount /mnt/a b`",
                "it is mounted at /bind (ext4): run `umount /bind`"
            ]
        );
    }

    #[test]
    fn the_running_system_gets_no_advice_to_unmount_it() {
        let machine = Machine::with_disk();
        machine.mount("8:0", "/", "xfs", "/dev/sda");
        assert_eq!(
            machine.uses("8:0"),
            ["it is mounted at / (xfs), the running system: choose another target"]
        );
    }

    #[test]
    fn a_mounted_partition_uses_the_disk_but_not_its_sibling() {
        let machine = Machine::with_disk();
        machine.mount("8:1", "/home", "ext4", "/dev/sda1");
        assert_eq!(
            machine.uses("8:0"),
            ["its partition sda1 (8:1) is mounted at /home (ext4): run `umount /home`"]
        );
        assert_eq!(
            machine.uses("8:1"),
            ["it is mounted at /home (ext4): run `umount /home`"]
        );
        assert_eq!(machine.uses("8:2"), NOTHING);
    }

    #[test]
    fn a_mounted_whole_disk_uses_its_partitions() {
        let machine = Machine::with_disk();
        machine.mount("8:0", "/raw", "ext4", "/dev/sda");
        assert_eq!(
            machine.uses("8:2"),
            ["the whole disk sda (8:0) is mounted at /raw (ext4): run `umount /raw`"]
        );
    }

    #[test]
    fn holders_are_followed_up_to_the_mount_on_top() {
        let machine = Machine::with_disk();
        machine.device("md0", "9:0");
        machine.write("sys/devices/md0/md/level", "raid1\n");
        machine.mapper("dm-0", "253:0", "CRYPT-LUKS2-abc", "secret");
        machine.mapper("dm-1", "253:1", "LVM-abc", "vg-home");
        machine.hold("sda/sda1", "md0");
        machine.hold("md0", "dm-0");
        machine.hold("dm-0", "dm-1");
        machine.mount("253:1", "/home", "ext4", "/dev/mapper/vg-home");
        assert_eq!(
            machine.uses("8:0"),
            [
                "its partition sda1 (8:1) is held by md0 (9:0), an md array: run `mdadm --stop /dev/md0`",
                "md0 (9:0), built on it, is held by dm-0 (253:0), an opened encrypted volume: run `cryptsetup close secret`",
                "dm-0 (253:0), built on it, is held by dm-1 (253:1), the LVM volume vg-home: run `dmsetup remove vg-home`, or deactivate its volume group",
                "dm-1 (253:1), built on it, is mounted at /home (ext4): run `umount /home`",
            ]
        );
        assert_eq!(machine.uses("8:1").len(), 4);
        assert_eq!(machine.uses("8:2"), NOTHING);
    }

    #[test]
    fn a_holder_is_a_use_even_where_nothing_is_mounted_on_it() {
        for (uuid, expected) in [
            ("LVM-x", "dmsetup remove held"),
            ("CRYPT-x", "cryptsetup close held"),
            ("mpath-x", "measure /dev/mapper/held instead"),
            ("", "dmsetup remove held"),
        ] {
            let machine = Machine::with_disk();
            machine.mapper("dm-0", "253:0", uuid, "held");
            machine.hold("sda", "dm-0");
            let uses = machine.uses("8:0");
            assert!(uses.len() == 1 && uses[0].contains(expected), "{uses:?}");
            assert!(machine.uses("8:1")[0].starts_with("the whole disk sda (8:0) is held by dm-0"));
        }
    }

    #[test]
    fn bcache_and_unknown_holders_are_named() {
        let machine = Machine::with_disk();
        machine.device("bcache0", "252:0");
        fs::create_dir_all(machine.root().join("sys/devices/bcache0/bcache")).unwrap();
        machine.device("drbd0", "147:0");
        machine.hold("sda/sda1", "bcache0");
        machine.hold("sda/sda2", "drbd0");
        assert!(machine.uses("8:1")[0].contains("echo 1 > /sys/block/bcache0/bcache/stop"));
        assert!(machine.uses("8:2")[0].contains("drbd0 (147:0), another driver's device"));
    }

    #[test]
    fn holders_in_a_circle_end() {
        let machine = Machine::with_disk();
        machine.mapper("dm-0", "253:0", "x", "a");
        machine.hold("sda", "dm-0");
        machine.hold("dm-0", "dm-0");
        assert_eq!(machine.uses("8:0").len(), 2);
    }

    #[test]
    fn swap_is_found_through_a_mapper_link_and_with_escaped_names() {
        let machine = Machine::with_disk();
        machine.mapper("dm-0", "253:0", "LVM-x", "vg-swap");
        fs::create_dir_all(machine.root().join("dev/mapper")).unwrap();
        symlink("../dm-0", machine.root().join("dev/mapper/vg\\swap")).unwrap();
        machine.swap("/dev/mapper/vg\\134swap");
        assert_eq!(
            machine.uses("253:0"),
            ["it is swap space: run `swapoff /dev/mapper/vg\\swap`"]
        );
        machine.swap("/dev/sda2");
        assert_eq!(
            machine.uses("8:0"),
            ["its partition sda2 (8:2) is swap space: run `swapoff /dev/sda2`"]
        );
    }

    #[test]
    fn a_loop_device_over_a_partition_uses_it_and_carries_its_own_mounts() {
        let machine = Machine::with_disk();
        machine.attach("loop3", "7:3", "/dev/sda1");
        machine.partition("loop3", "loop3p1", "259:0");
        machine.mount("259:0", "/mnt", "ext4", "/dev/loop3p1");
        assert_eq!(
            machine.uses("8:1"),
            [
                "it is attached to the loop device loop3 (7:3): run `losetup -d /dev/loop3`",
                "loop3p1 (259:0), built on it, is mounted at /mnt (ext4): run `umount /mnt`",
            ]
        );
        assert_eq!(machine.uses("8:2"), NOTHING);
    }

    #[test]
    fn members_of_btrfs_and_bcachefs_are_found_although_their_mounts_have_anonymous_numbers() {
        let machine = Machine::with_disk();
        let devices = machine.root().join("sys/fs/btrfs/u-1/devices");
        fs::create_dir_all(&devices).unwrap();
        symlink(
            machine.root().join("sys/devices/sda/sda2"),
            devices.join("sda2"),
        )
        .unwrap();
        let member = machine.root().join("sys/fs/bcachefs/u-2/dev-0");
        fs::create_dir_all(&member).unwrap();
        symlink(
            machine.root().join("sys/devices/sda/sda1"),
            member.join("block"),
        )
        .unwrap();
        machine.mount("0:44", "/data", "btrfs", "/dev/sda2");
        assert_eq!(
            machine.uses("8:2"),
            [
                "it is mounted at /data (btrfs): run `umount /data`",
                "it belongs to the mounted btrfs file system u-1: unmount that"
            ]
        );
        assert_eq!(
            machine.uses("8:1"),
            ["it belongs to the mounted bcachefs file system u-2: unmount that"]
        );
        machine.mount("0:45", "/more", "bcachefs", "/dev/sda:/dev/sda1");
        assert_eq!(
            machine.uses("8:1").len(),
            3,
            "itself mounted, its whole disk mounted, member"
        );
    }

    #[test]
    fn an_unreadable_kernel_view_is_never_taken_for_idle() {
        for missing in ["proc/self/mountinfo", "sys/dev/block/8:0"] {
            let machine = Machine::with_disk();
            fs::remove_file(machine.root().join(missing)).unwrap();
            let uses = in_use(machine.root(), 8, 0);
            assert!(
                uses.len() == 1 && !uses[0].is_certain(),
                "{missing}: {uses:?}"
            );
        }
        let machine = Machine::with_disk();
        fs::remove_dir_all(machine.root().join("sys/block")).unwrap();
        assert!(!in_use(machine.root(), 8, 0)[0].is_certain());
    }

    #[test]
    fn the_mount_of_a_device_that_sysfs_does_not_show_is_found_all_the_same() {
        let machine = Machine::empty();
        machine.mount("8:0", "/mnt", "ext4", "/dev/sda");
        let uses = machine.uses("8:0");
        assert!(
            uses.iter().any(|text| text.contains("umount /mnt")),
            "{uses:?}"
        );
    }

    #[test]
    fn an_attached_image_is_in_use_by_whatever_name_and_carries_its_mount() {
        let machine = Machine::empty();
        machine.write("img/disk.img", "x");
        machine.write("img/other.img", "x");
        machine.attach("loop0", "7:0", "/img/disk.img");
        symlink("disk.img", machine.root().join("img/link")).unwrap();
        fs::hard_link(
            machine.root().join("img/disk.img"),
            machine.root().join("img/hard"),
        )
        .unwrap();
        machine.mount("7:0", "/mnt", "ext4", "/dev/loop0");
        let expected = [
            "it is attached to the loop device loop0 (7:0): run `losetup -d /dev/loop0`",
            "loop0 (7:0), built on it, is mounted at /mnt (ext4): run `umount /mnt`",
        ];
        for path in ["img/disk.img", "img/link", "img/hard"] {
            assert_eq!(machine.file_uses(path), expected, "{path}");
        }
        assert_eq!(machine.file_uses("img/other.img"), NOTHING);
    }

    #[test]
    fn an_image_that_was_deleted_under_its_shown_name_is_found_by_asking_the_driver() {
        let machine = Machine::empty();
        machine.write("left", "x");
        machine.attach("loop0", "7:0", "/gone (deleted)");
        let left = machine.root().join("left");
        let id = FileId::of(&fs::metadata(&left).unwrap());
        let node = machine.root().join("dev/loop0");
        let driver = |asked: &Path| Ok((asked == node).then_some(id));
        assert_eq!(file_in_use(machine.root(), &left, &driver).len(), 1);
        assert_eq!(machine.file_uses("left"), NOTHING);
    }

    #[test]
    fn a_swap_file_is_in_use_through_a_symlink() {
        let machine = Machine::empty();
        machine.write("swap file", "x");
        symlink("swap file", machine.root().join("link")).unwrap();
        machine.swap("/swap\\040file");
        assert_eq!(
            machine.file_uses("link"),
            ["it is swap space: run `swapoff /swap file`"]
        );
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_is_undetermined() {
        let machine = Machine::empty();
        let uses = file_in_use(machine.root(), &machine.root().join("none"), &|_| Ok(None));
        assert!(!uses[0].is_certain());
    }

    #[test]
    fn device_numbers_split_as_the_c_library_joins_them() {
        for (dev, major, minor) in [
            (0x801, 8, 1),
            (0x10_3305, 0x33, 0x105),
            (0x0000_1000_0fff_ff00 | 0xab, 0x1fff, 0xffab),
        ] {
            let number = DeviceNumber::from_dev(dev);
            assert_eq!((number.major, number.minor), (major, minor), "{dev:#x}");
        }
    }

    #[test]
    fn the_file_system_under_a_file_is_found_by_its_number() {
        let machine = Machine::empty();
        machine.mount("0:22", "/sys", "sysfs", "sysfs");
        assert_eq!(
            file_system_of(machine.root(), 22),
            Some(("sysfs".to_owned(), PathBuf::from("/sys")))
        );
        assert_eq!(file_system_of(machine.root(), 23), None);
    }

    #[test]
    fn mount_lines_with_any_number_of_tags_or_none_are_read_and_torn_ones_skipped() {
        let text = b"1 2 8:1 / /a rw - ext4 /dev/x rw\n1 2 8:2 / /b rw shared:1 master:2 - xfs /dev/y rw\n1 2 8:3 /\n\xff\n";
        let found: Vec<_> = parse_mounts(text)
            .into_iter()
            .map(|mount| (mount.at, mount.file_system))
            .collect();
        assert_eq!(
            found,
            [
                ("/a".into(), "ext4".to_owned()),
                ("/b".into(), "xfs".to_owned())
            ]
        );
    }
}
