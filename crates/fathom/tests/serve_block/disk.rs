//! A served device as a block device of this machine's kernel, without a driver: by FUSE and a loop
//! device.

use crate::device::{Device, Undo, tool};
use crate::ground::{Ground, until};
use crate::served::Served;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command};

/// What it takes, beside root.
pub(crate) const TOOLS: [&str; 6] = [
    "nbdfuse",
    "losetup",
    "mkfs.ext4",
    "e2fsck",
    "dumpe2fs",
    "mount",
];

/// What ends first stands first.
pub(crate) struct Disk {
    device: Option<Device>,
    _file: Undo,
    _fuse: Fuse,
    served: Option<Served>,
}

struct Fuse(Child);

impl Drop for Fuse {
    /// It ends when its file is unmounted.
    fn drop(&mut self) {
        let _it_has_ended = self.0.wait();
    }
}

impl Disk {
    /// Serves a device with these words; `None`, said, where the machine has no loop device left.
    pub(crate) fn of(ground: &Ground, words: &[&str]) -> Option<Self> {
        let (socket, file) = (ground.path("disk.sock"), ground.path("disk"));
        let served = Served::start(&[words, &["--unix", &socket.to_string_lossy()]].concat());
        File::create(&file).unwrap();
        let fuse = Command::new("nbdfuse")
            .args([&file, Path::new("--unix"), &socket])
            .spawn();
        let fuse = Fuse(fuse.unwrap());
        let unmount = Undo::by(&["umount", &file.to_string_lossy()]);
        until("the file is as long as the device", || {
            std::fs::metadata(&file).unwrap().len().gt(&0).then_some(())
        });
        let device = Device::attached(&file)?;
        // Writes reach the server as they are made, and not as the page cache has them.
        tool(&["losetup", "--direct-io=on", &device.path]).unwrap();
        Some(Self {
            device: Some(device),
            _file: unmount,
            _fuse: fuse,
            served: Some(served),
        })
    }

    /// The node of the block device.
    pub(crate) fn node(&self) -> &str {
        &self.device.as_ref().unwrap().path
    }

    /// What the server said at its start.
    pub(crate) fn said(&self) -> &str {
        self.served.as_ref().unwrap().said()
    }

    /// A file system that writes nothing behind anybody's back.
    pub(crate) fn make_ext4(&self) {
        let lazy = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        tool(&["mkfs.ext4", "-q", "-F", "-m", "0", "-E", lazy, self.node()]).unwrap();
    }

    /// Where a write of the superblock was torn, its checksum is wrong and nothing mounts: then there
    /// is a copy of it.
    pub(crate) fn repair_superblock(&self) {
        if tool(&["dumpe2fs", "-h", self.node()]).is_err() {
            let _it_says_that_it_repaired = tool(&["e2fsck", "-fy", self.node()]);
        }
    }

    /// Whether the unmounted file system is whole.
    pub(crate) fn check(&self) -> Result<String, String> {
        tool(&["e2fsck", "-fn", self.node()])
    }
}
