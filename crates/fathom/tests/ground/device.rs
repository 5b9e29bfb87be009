//! Devices and mounts made for one test, and taken away when it ends, however it ends.

use crate::ground::{Ended, Ground, complain, is_root, skipped, tries};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a tool of the system; its output when it succeeds.
pub(crate) fn tool(args: &[&str]) -> Result<String, String> {
    let Some((name, rest)) = args.split_first() else {
        return Err("no tool".into());
    };
    let output = Command::new(name)
        .args(rest)
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    let ended = Ended::of(output);
    if ended.code == Some(0) {
        Ok(ended.stdout.trim().to_owned())
    } else {
        Err(format!("{args:?}: {}{}", ended.stdout, ended.stderr))
    }
}

/// As [`tool`], where failure means that the machine lacks something, which is said.
fn tool_or_skip(args: &[&str], needs: &str) -> Option<String> {
    let output = tool(args);
    if output.is_err() {
        skipped(needs);
    }
    output.ok()
}

/// Whether this is root and has the tools; says so if not.
pub(crate) fn has(tools: &[&str]) -> bool {
    let missing: Vec<&str> = tools
        .iter()
        .copied()
        .filter(|name| tool(&["sh", "-c", &format!("command -v {name}")]).is_err())
        .collect();
    if !is_root() {
        skipped("root");
    } else if !missing.is_empty() {
        skipped(&missing.join(", "));
    }
    is_root() && missing.is_empty()
}

/// What must be done to undo something; done when it is dropped.
pub(crate) struct Undo(Vec<String>);

impl Undo {
    pub(crate) fn by(args: &[&str]) -> Self {
        Self(args.iter().map(|arg| (*arg).to_owned()).collect())
    }
}

impl Drop for Undo {
    /// The kernel lets go of a ring's files some time after its process has ended, so that the
    /// first try may come too early.
    fn drop(&mut self) {
        let args: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let mut failure = String::new();
        if tries().all(|()| tool(&args).map_err(|text| failure = text).is_err()) {
            complain(&format!("left behind: {failure}"));
        }
    }
}

/// A block device that this test made.
pub(crate) struct Device {
    pub(crate) path: String,
    _undo: Undo,
}

impl Device {
    /// A loop device over a new image of `bytes` zero bytes; `None`, said, where the machine has
    /// none to give.
    pub(crate) fn looped(ground: &Ground, image: &str, bytes: u64) -> Option<Self> {
        File::create_new(ground.path(image))
            .unwrap()
            .set_len(bytes)
            .unwrap();
        Self::attached(&ground.path(image))
    }

    /// A loop device over an image that is there, with its partitions.
    pub(crate) fn attached(image: &Path) -> Option<Self> {
        let path = tool_or_skip(
            &[
                "losetup",
                "--find",
                "--show",
                "--partscan",
                &image.to_string_lossy(),
            ],
            "a free loop device",
        )?;
        Some(Self {
            _undo: Undo::by(&["losetup", "--detach", &path]),
            path,
        })
    }

    /// A device in compressed memory; `None`, said, where the kernel has none.
    pub(crate) fn zram(size: &str) -> Option<Self> {
        let path = tool_or_skip(&["zramctl", "--find", "--size", size], "a free zram device")?;
        Some(Self {
            _undo: Undo::by(&["zramctl", "--reset", &path]),
            path,
        })
    }

    /// A mapped device by its table; `None`, said, where the kernel has no device mapper.
    pub(crate) fn mapped(name: &str, table: &str) -> Option<Self> {
        tool_or_skip(
            &["dmsetup", "create", name, "--table", table],
            "the kernel's device mapper",
        )?;
        Some(Self {
            path: format!("/dev/mapper/{name}"),
            _undo: Undo::by(&["dmsetup", "remove", "--retry", name]),
        })
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }

    /// Makes an ext4 file system on it, or on one of its partitions.
    pub(crate) fn make_ext4(&self, partition: &str) {
        tool(&[
            "mkfs.ext4",
            "-q",
            "-F",
            "-m",
            "0",
            &format!("{}{partition}", self.path),
        ])
        .unwrap();
    }
}

/// A mounted file system.
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    _undo: Undo,
}

impl Mount {
    /// Mounts `source` in a new directory of the ground, open to everybody.
    pub(crate) fn new(
        ground: &Ground,
        directory: &str,
        kind: &str,
        source: &str,
        options: &str,
    ) -> Self {
        let at = ground.path(directory);
        fs::create_dir(&at).unwrap();
        let place = at.to_string_lossy().into_owned();
        tool(&["mount", "-t", kind, "-o", options, source, &place]).unwrap();
        Self {
            at,
            _undo: Undo::by(&["umount", &place]),
        }
    }
}

/// A file system that stands still until this is dropped.
pub(crate) struct Freeze(#[allow(dead_code, reason = "thaws when it is dropped")] Undo);

impl Freeze {
    pub(crate) fn new(mount: &Mount) -> Self {
        let place = mount.at.to_string_lossy();
        tool(&["fsfreeze", "--freeze", &place]).unwrap();
        Self(Undo::by(&["fsfreeze", "--unfreeze", &place]))
    }
}

/// A device that the kernel swaps to.
pub(crate) struct Swap(#[allow(dead_code, reason = "given back when it is dropped")] Undo);

impl Swap {
    pub(crate) fn on(device: &Device) -> Option<Self> {
        tool(&["mkswap", &device.path]).unwrap();
        tool_or_skip(&["swapon", &device.path], "permission to swap")?;
        Some(Self(Undo::by(&["swapoff", &device.path])))
    }
}
