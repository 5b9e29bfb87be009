//! The nodes of a device, which devtmpfs or udev make.

use super::control::{Commander, LIMIT_S, block_path, char_path};
use super::error::UblkError;
use super::halt::{Halt, moment};
use super::wire::Parameters;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// A device of a user is the user's when udev has given the char device away.
pub(super) fn wait_for_permission(device: u32, end: &OwnedFd) -> Result<(), Halt> {
    let path = char_path(device);
    for _ in 0..LIMIT_S * 100 {
        if sys::may_write(Path::new(&path)).is_ok() {
            return Ok(());
        }
        moment(end)?;
    }
    Err(Halt::Failed(UblkError::NotPermitted {
        what: "a char device that no rule of udev gives to its owner",
    }))
}

/// The node comes after the device: it must be there, a block device, and this one.
pub(super) fn find(commander: &mut Commander, device: u32, end: &OwnedFd) -> Result<(), Halt> {
    let node = block_path(device);
    let parameters = commander.parameters(device)?;
    let mut why = String::new();
    for _ in 0..1000 {
        match what_is_wrong(&node, &parameters) {
            None => return Ok(()),
            Some(is_wrong) => why = is_wrong,
        }
        moment(end)?;
    }
    Err(Halt::Failed(UblkError::WrongNode { node, why }))
}

fn what_is_wrong(node: &str, parameters: &Parameters) -> Option<String> {
    let found = match std::fs::metadata(node) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    if !found.file_type().is_block_device() {
        return Some("it is a file of another kind".to_owned());
    }
    let number = found.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let (wanted, of_it) = (parameters.disk_major, parameters.disk_minor);
    let differs = (major, minor) != (wanted, of_it);
    differs.then(|| format!("it is {major}:{minor}, the device is {wanted}:{of_it}"))
}
