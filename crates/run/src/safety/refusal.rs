//! Why a target is not touched, and what to do: one sentence each.

use super::{DeviceNumber, Signature, Use};
use std::io;
use std::path::{Path, PathBuf};

/// Why a target is not touched, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0} is a directory, and a file or device is meant; name a file in it, e.g. {1}", path.display(), shell_word(&path.join("fathom.dat")))]
    Directory { path: PathBuf },
    #[error("{} is {what}, not storage; name a regular file or a block device (`lsblk` lists them)", path.display())]
    NotStorage { path: PathBuf, what: &'static str },
    #[error("{} does not exist, so there is nothing to read; check the spelling, or write it first", path.display())]
    Missing { path: PathBuf },
    #[error("{0} cannot be created, its directory does not exist; run `mkdir -p {1}`", path.display(), shell_word(directory))]
    MissingDirectory { path: PathBuf, directory: PathBuf },
    #[error("{} does not exist, and a new file there would lie in memory, not on a device; check the name with `lsblk`", path.display())]
    NoSuchDevice { path: PathBuf },
    #[error("{} is a symlink to {}, which does not exist; name a file, or create the destination", path.display(), destination.display())]
    DanglingSymlink { path: PathBuf, destination: PathBuf },
    #[error("{} lies on {file_system}, an interface of the kernel, not storage; name a file on a disk", path.display())]
    KernelInterface { path: PathBuf, file_system: String },
    #[error("{} is in use and is not written to, with or without --allow-destroy:{}", path.display(), list(uses))]
    InUse { path: PathBuf, uses: Vec<Use> },
    #[error("{} holds {length_bytes} bytes that Fathom did not write{}{}; choose another file, or, if its content may be destroyed, add --allow-destroy {}",
        path.display(), found(*signature), because(reason.as_ref()), shell_word(path))]
    ForeignFile {
        path: PathBuf,
        length_bytes: u64,
        signature: Option<Signature>,
        reason: Option<String>,
    },
    #[error("{0}: the last run on it was killed, so what it holds cannot be told from what somebody wrote since; if it may be destroyed, add --allow-destroy {1} once", path.display(), shell_word(path))]
    Unfinished { path: PathBuf },
    #[error("{} is being written to by {by} at this moment; wait until that has ended, or choose another file", path.display())]
    Written { path: PathBuf, by: String },
    #[error("{} leads nowhere: its symlinks go in a circle; name the file itself", path.display())]
    SymlinkLoop { path: PathBuf },
    #[error("{} is a block device ({number}){}; if its content may be destroyed, add --allow-destroy {}",
        path.display(), found_on_device(*signature), shell_word(path))]
    ForeignDevice {
        path: PathBuf,
        number: DeviceNumber,
        signature: Option<Signature>,
    },
    #[error("{} cannot be opened exclusively ({source}): something holds it that the mount table does not show (a file system in a container, ZFS, Ceph, another benchmark) or you lack permission; `fuser -v {}` may name it", path.display(), shell_word(path))]
    Claimed { path: PathBuf, source: io::Error },
    #[error("{} cannot be examined ({source}), so nothing is written to it; make it accessible to this user", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} changed while it was being opened ({what}): another program uses this name; run again when it is quiet", path.display())]
    Changed { path: PathBuf, what: &'static str },
}

fn list(uses: &[Use]) -> String {
    uses.iter().map(|found| format!("\n  {found}")).collect()
}

fn found(signature: Option<Signature>) -> String {
    signature
        .map(|found| format!(", {found}"))
        .unwrap_or_default()
}

fn found_on_device(signature: Option<Signature>) -> String {
    match signature {
        Some(found) => format!(" that holds {found}"),
        None => " whose beginning and end are blank, which does not prove it empty".to_owned(),
    }
}

fn because(reason: Option<&String>) -> String {
    reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default()
}

/// The path as it is typed into a shell.
fn shell_word(path: &Path) -> String {
    units::shell_word(&path.display().to_string())
}
