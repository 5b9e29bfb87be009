//! What a profile stands on: its target, what lies under it, and what can be done there.

use super::own_file::{OwnFile, remove_stale};
use super::{ProfileError, ProfileRequest};
use engine::{RingOptions, UringEngine};
use host::Context;
use record::StorageLayer;
use run::RunError;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use units::Bytes;

/// The target and what was found out about it.
pub(super) struct Ground {
    pub(super) target: PathBuf,
    /// The directory's own file; `None`: the target was there before.
    pub(super) own: Option<OwnFile>,
    /// Bytes of a target that was there before.
    pub(super) has: Option<u64>,
    pub(super) is_device: bool,
    pub(super) storage: StorageLayer,
    /// Why there is no direct I/O, if there is none.
    pub(super) no_direct: Option<String>,
    /// Whether this process may use io_uring.
    pub(super) has_ring: bool,
    pub(super) free_bytes: Option<u64>,
    pub(super) memory: Memory,
    /// Bytes of the largest cache of the CPU.
    pub(super) l3_bytes: Option<u64>,
    /// What the reader must know of what was found.
    pub(super) notes: Vec<String>,
}

/// Memory of this machine; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    pub(super) available: Option<u64>,
}

impl Ground {
    /// Looks at the path, and in a directory makes a file.
    pub(super) fn find(request: &ProfileRequest, context: &Context) -> Result<Self, ProfileError> {
        let path = &request.path;
        let facts = fs::metadata(path).map_err(|source| {
            if source.kind() == io::ErrorKind::NotFound {
                return ProfileError::Unsuitable(format!(
                    "{} does not exist; name a directory, in which a file is made and removed again, or an existing file or block device",
                    path.display()
                ));
            }
            ProfileError::Run(RunError::Io { what: "cannot look at", path: path.clone(), source })
        })?;
        let environment = context.machine.environment(None, context.fathom.clone());
        let memory = Memory {
            total: environment.memory.total_bytes,
            available: environment.moment.memory_available_bytes,
        };
        let storage = context.machine.storage(path);
        let has_ring = UringEngine::new(Vec::new(), 1, 4096, RingOptions::default()).is_ok();
        let mut ground = Self {
            target: path.clone(),
            own: None,
            has: None,
            is_device: facts.file_type().is_block_device(),
            storage,
            no_direct: None,
            has_ring,
            free_bytes: None,
            memory,
            l3_bytes: environment.cpu.l3_bytes,
            notes: Vec::new(),
        };
        if facts.is_dir() {
            ground.make_own(request)?
        } else {
            ground.look_at_existing(request, &facts)?
        }
        ground.no_direct = no_direct(&ground.target, &ground.storage);
        Ok(ground)
    }

    fn make_own(&mut self, request: &ProfileRequest) -> Result<(), ProfileError> {
        let dir = request.path.as_path();
        if request.allow_destroy.is_some() {
            return Err(ProfileError::Unsuitable(
                "--allow-destroy permits writing to a file or device that holds data; in a directory a profile makes its own file and needs no permission".into(),
            ));
        }
        sys::may_write(dir).map_err(|source| RunError::Io {
            what: "cannot make a file in",
            path: dir.into(),
            source,
        })?;
        let process = std::process::id();
        self.notes = remove_stale(dir, process);
        self.free_bytes = sys::free_bytes(dir).ok().flatten();
        let own = OwnFile::make(dir, process)?;
        self.target = own.path().to_owned();
        self.own = Some(own);
        Ok(())
    }

    fn look_at_existing(
        &mut self,
        request: &ProfileRequest,
        facts: &fs::Metadata,
    ) -> Result<(), ProfileError> {
        let path = &request.path;
        let kind = facts.file_type();
        let same = |allowed: &PathBuf| matches!((fs::canonicalize(allowed), fs::canonicalize(path)), (Ok(a), Ok(b)) if a == b);
        if let Some(allowed) = request
            .allow_destroy
            .as_ref()
            .filter(|allowed| !same(allowed))
        {
            return Err(ProfileError::Unsuitable(format!(
                "--allow-destroy {} names another target than {}; name the same, or leave it out",
                allowed.display(),
                path.display()
            )));
        }
        if !kind.is_file() && !kind.is_block_device() {
            return Err(ProfileError::Unsuitable(format!(
                "{} is neither a directory nor a file nor a block device; name one of these",
                path.display()
            )));
        }
        let opened = File::open(path).map_err(|source| RunError::Io {
            what: "cannot open",
            path: path.clone(),
            source,
        })?;
        let has = if self.is_device {
            sys::block_device_size(&opened).map_err(|source| RunError::Io {
                what: "cannot ask the size of",
                path: path.clone(),
                source,
            })?
        } else {
            facts.len()
        };
        if has == 0 {
            return Err(ProfileError::Unsuitable(format!(
                "{} is empty: there is nothing to read; name its directory, in which a profile makes a file of its own",
                path.display()
            )));
        }
        if self.is_device {
            self.notes.push("reads of blocks that were never written, or were discarded, may be answered without the medium".into());
        }
        self.has = Some(has);
        Ok(())
    }

    /// A file that is only read must hold data wherever it is read.
    pub(super) fn without_holes(&self, bytes: u64) -> Result<(), ProfileError> {
        if self.is_device {
            return Ok(());
        }
        let hole = File::open(&self.target)
            .and_then(|file| sys::next_hole(&file, 0))
            .ok()
            .flatten();
        match hole.filter(|hole| *hole < bytes) {
            None => Ok(()),
            Some(hole) => Err(ProfileError::Unsuitable(format!(
                "{} has a hole at byte {hole}: reads there would measure no storage; profile its directory instead, or another file",
                self.target.display()
            ))),
        }
    }

    pub(super) fn is_memory(&self) -> bool {
        self.storage.is_memory == Some(true)
    }

    /// Name of the file system, or of the device that the target is.
    pub(super) fn kind(&self) -> String {
        let of_files = self
            .storage
            .file_system
            .as_ref()
            .filter(|_| !self.is_device)
            .map(|found| found.kind.clone());
        let of_device = || {
            self.storage
                .device
                .as_ref()
                .and_then(|device| device.name.clone())
        };
        of_files
            .or_else(of_device)
            .unwrap_or_else(|| "an unknown file system".into())
    }
}

/// Why a target cannot be opened past the page cache. Only the open itself tells for sure.
fn no_direct(target: &Path, storage: &StorageLayer) -> Option<String> {
    let kind = storage
        .file_system
        .as_ref()
        .map_or("this file system", |found| found.kind.as_str());
    if ["tmpfs", "ramfs"].contains(&kind) {
        return Some(format!("{kind} has no direct I/O: it is the page cache"));
    }
    match OpenOptions::new()
        .read(true)
        .custom_flags(sys::direct_flag())
        .open(target)
    {
        Ok(file) if sys::direct_alignment(&file).is_some_and(|(_, align)| align == 0) => {
            Some(format!("{kind} has no direct I/O here"))
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Some(format!("{kind} has no direct I/O: it refuses O_DIRECT"))
        }
        Ok(_) | Err(_) => None,
    }
}

/// Bytes of the file that a profile works on, before time is considered.
///
/// The kernel does not tell how much cache a device has; the sizes for each effort exceed the 64
/// MiB to 1 GiB that disks and controllers usually have, at least twofold.
pub(super) fn most_bytes(ground: &Ground, request: &ProfileRequest) -> Result<u64, ProfileError> {
    const SMALLEST: u64 = 16 << 20;
    if let Some(asked) = request.size {
        return asked_bytes(ground, asked);
    }
    if let Some(has) = ground.has {
        let most = request.effort.most_file_bytes();
        // What is only read costs no time to prepare, and all of it is what the user named.
        let bytes = if request.allow_destroy.is_some() {
            has.min(most)
        } else {
            has
        };
        return whole_blocks(bytes).ok_or_else(|| {
            ProfileError::Unsuitable(format!(
                "{} has {has} bytes, less than one block of 4 KiB",
                ground.target.display()
            ))
        });
    }
    let quarter = |bytes: Option<u64>| bytes.map_or(u64::MAX, |bytes| bytes / 4);
    // Where nobody says how much is free, little is taken.
    let of_free = ground.free_bytes.map_or(256 << 20, |free| free / 4);
    let of_memory = if ground.is_memory() {
        quarter(ground.memory.available).min(1 << 30)
    } else {
        u64::MAX
    };
    let bytes = rung(request.effort.most_file_bytes().min(of_free).min(of_memory));
    if bytes < SMALLEST {
        return Err(ProfileError::Unsuitable(format!(
            "{} is free in {}, and a profile takes at most a quarter of it, which is too little; free space, or insist with --size",
            Bytes(ground.free_bytes.unwrap_or_default()),
            request.path.display()
        )));
    }
    Ok(bytes)
}

/// The largest power of two up to `bytes`: profiles of different targets can be compared only where
/// their files are of the same size.
pub(super) fn rung(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |log| 1 << log)
}

/// Whole blocks of 1 MiB, or of 4 KiB where there is not one; `None`: not even that.
fn whole_blocks(bytes: u64) -> Option<u64> {
    let block = if bytes < 1 << 20 { 4096 } else { 1 << 20 };
    Some(bytes / block * block).filter(|bytes| *bytes > 0)
}

fn asked_bytes(ground: &Ground, asked: Bytes) -> Result<u64, ProfileError> {
    if asked.0 == 0 || !asked.0.is_multiple_of(1 << 20) {
        return Err(ProfileError::Unsuitable(format!(
            "--size {} is not a multiple of 1 MiB; example: --size 1G",
            asked.exact()
        )));
    }
    match (ground.has, ground.free_bytes) {
        (Some(has), _) if asked.0 > has => Err(ProfileError::Unsuitable(format!(
            "{} has {has} bytes, --size {} is beyond its end; give at most that",
            ground.target.display(),
            asked.exact()
        ))),
        (None, Some(free)) if asked.0 > free => Err(ProfileError::Unsuitable(format!(
            "--size {} is more than the {} that are free in {}; free space, or give a smaller --size",
            asked.exact(),
            Bytes(free),
            ground.target.parent().unwrap_or(Path::new(".")).display()
        ))),
        (Some(_) | None, _) => Ok(asked.0),
    }
}

/// Bytes of the part that cached rows use: the same on every machine, so that their results can be
/// compared, and little, because the part is brought into the page cache before each slot.
pub(super) fn cached_bytes(file_bytes: u64, memory: Memory) -> u64 {
    const PART: u64 = 64 << 20;
    let in_memory = memory.available.map_or(PART, |bytes| bytes / 4).max(4096);
    let wanted = PART.min(in_memory).min(file_bytes);
    whole_blocks(wanted).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cached_part_is_the_same_wherever_file_and_memory_permit_it() {
        let memory = |bytes| Memory {
            total: None,
            available: Some(bytes),
        };
        assert_eq!(
            cached_bytes(4 << 30, memory(16 << 30)),
            cached_bytes(1 << 30, Memory::default())
        );
        assert_eq!(cached_bytes(4 << 30, memory(64 << 20)), 16 << 20);
        assert_eq!(cached_bytes(1 << 20, Memory::default()), 1 << 20);
    }

    #[test]
    fn sizes_are_rounded_down_to_what_other_machines_use_too() {
        assert_eq!(
            [4 << 30, 2030 << 20, 64 << 20, 17 << 20].map(rung),
            [4 << 30, 1 << 30, 64 << 20, 16 << 20]
        );
        assert_eq!(rung(0), 0);
    }

    #[test]
    fn the_system_says_how_much_is_free() {
        let dir = tempfile::tempdir().unwrap();
        assert!(sys::free_bytes(dir.path()).unwrap() > Some(0));
        assert!(sys::free_bytes(Path::new("/no/such/place")).is_err());
    }
}
