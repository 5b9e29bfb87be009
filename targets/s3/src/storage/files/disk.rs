use super::blocks::Blocks;
use super::{Faults, Files, KeptFile, NewFile, Step, Wait};
use crate::storage::{Space, StorageError, StorageOptions, StorageResult, SyncPolicy};
use bytes::Bytes;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A directory holds this many numbers in a row, as a power of two: files of one group share one
/// directory to sync.
const DIRECTORY_BITS: u32 = 12;

/// The most bytes that are kept free where nobody said how many.
const MOST_RESERVED: u64 = 256 << 20;

/// How many bytes are written between two looks at the free space.
const SPACE_STEP: u64 = 16 << 20;

/// How a file stays invisible until it is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It has no name: a crash frees it.
    Unnamed,
    /// It has a name in a directory that is emptied at the start, for file systems without
    /// `O_TMPFILE`.
    Temporary,
}

/// Files below one directory of a local file system.
pub(crate) struct DiskFiles {
    place: Arc<DiskPlace>,
}

struct DiskPlace {
    root: PathBuf,
    naming: Naming,
    sync: SyncPolicy,
    reserve: u64,
    /// The device and number of the directory, which another one in its place has not.
    device: (u64, u64),
    faults: Arc<dyn Faults>,
    directories: Mutex<BTreeSet<u64>>,
    temporary: AtomicU64,
    blocks: Arc<Blocks>,
}

impl DiskFiles {
    /// Opens `root`, removes what no row of the store owns, and answers how many files that were.
    pub(crate) fn open(
        root: &Path,
        naming: Option<Naming>,
        options: &StorageOptions,
        faults: Arc<dyn Faults>,
        owned: &mut dyn FnMut(u64) -> StorageResult<bool>,
    ) -> StorageResult<(Self, u64)> {
        let make = |dir: &Path| {
            fs::create_dir_all(dir)
                .map_err(|e| StorageError::io("making the directory of objects", e))
        };
        make(&root.join("files"))?;
        make(&root.join("incoming"))?;
        for entry in entries(&root.join("incoming"))? {
            fs::remove_file(&entry)
                .map_err(|e| StorageError::io("removing an unfinished file", e))?;
        }
        let naming = naming.unwrap_or_else(|| probe(root));
        let place = DiskPlace {
            root: root.to_owned(),
            naming,
            sync: options.sync,
            reserve: match options.reserve {
                Some(reserve) => reserve,
                None => default_reserve(root)?,
            },
            device: device(root)?,
            faults,
            directories: Mutex::default(),
            temporary: AtomicU64::new(0),
            blocks: Arc::default(),
        };
        let removed = place.recover(owned)?;
        sync_directory(root)?;
        Ok((
            Self {
                place: Arc::new(place),
            },
            removed,
        ))
    }
}

fn statvfs(root: &Path) -> StorageResult<rustix::fs::StatVfs> {
    rustix::fs::statvfs(root).map_err(|e| StorageError::io("asking for free space", e.into()))
}

/// A part of the file system that is small on a small one.
fn default_reserve(root: &Path) -> StorageResult<u64> {
    let found = statvfs(root)?;
    Ok((found.f_blocks.saturating_mul(found.f_frsize) / 20).min(MOST_RESERVED))
}

fn device(root: &Path) -> StorageResult<(u64, u64)> {
    let found =
        fs::metadata(root).map_err(|e| StorageError::io("opening the store's directory", e))?;
    Ok((found.dev(), found.ino()))
}

/// Whether this file system can give a name to a file that has none.
fn probe(root: &Path) -> Naming {
    let name = root.join("incoming").join("probe");
    let works = unnamed(root)
        .and_then(|file| give_name(&file, &name))
        .is_ok();
    let removed = !works || fs::remove_file(&name).is_ok();
    if works && removed {
        Naming::Unnamed
    } else {
        Naming::Temporary
    }
}

fn unnamed(root: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(
        CWD,
        root.join("files"),
        flags,
        Mode::RUSR | Mode::WUSR,
    )?))
}

fn give_name(file: &File, name: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(
        CWD,
        own,
        CWD,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

fn entries(dir: &Path) -> StorageResult<Vec<PathBuf>> {
    let wrap = |e| StorageError::io("reading a directory of objects", e);
    fs::read_dir(dir)
        .map_err(wrap)?
        .map(|entry| entry.map(|entry| entry.path()).map_err(wrap))
        .collect()
}

fn sync_directory(dir: &Path) -> StorageResult<()> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|e| StorageError::io("syncing a directory of objects", e))
}

fn number_of(path: &Path) -> Option<u64> {
    u64::from_str_radix(path.file_name()?.to_str()?, 16).ok()
}

impl DiskPlace {
    fn directory(&self, id: u64) -> PathBuf {
        self.root
            .join("files")
            .join(format!("{:x}", id >> DIRECTORY_BITS))
    }

    fn path(&self, id: u64) -> PathBuf {
        self.directory(id).join(format!("{id:x}"))
    }

    fn reach(&self, step: Step) -> StorageResult<()> {
        self.faults
            .reach(step)
            .map_err(|e| StorageError::io("a step of a write", e))
    }

    /// Makes the directory of a file, durably, where it is not there yet.
    fn prepare(&self, id: u64) -> StorageResult<()> {
        let mut known = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.contains(&(id >> DIRECTORY_BITS)) {
            return Ok(());
        }
        match fs::create_dir(self.directory(id)) {
            Ok(()) => sync_directory(&self.root.join("files"))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(StorageError::io("making a directory of objects", e)),
        }
        known.insert(id >> DIRECTORY_BITS);
        Ok(())
    }

    fn recover(&self, owned: &mut dyn FnMut(u64) -> StorageResult<bool>) -> StorageResult<u64> {
        let mut removed = 0;
        for dir in entries(&self.root.join("files"))? {
            let mut left = 0u64;
            for file in entries(&dir)? {
                let keep = match number_of(&file) {
                    Some(id) => owned(id)?,
                    None => true,
                };
                if keep {
                    left += 1;
                } else {
                    fs::remove_file(&file)
                        .map_err(|e| StorageError::io("removing a file that nothing owns", e))?;
                    removed += 1;
                }
            }
            if left == 0 {
                fs::remove_dir(&dir)
                    .map_err(|e| StorageError::io("removing an empty directory of objects", e))?;
            }
        }
        Ok(removed)
    }

    fn space(&self) -> StorageResult<Space> {
        let found = statvfs(&self.root)?;
        Ok(Space {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            reserve: self.reserve,
        })
    }

    fn has_space(&self) -> StorageResult<bool> {
        self.space().map(|space| space.free > space.reserve)
    }
}

struct NewDiskFile {
    place: Arc<DiskPlace>,
    file: File,
    /// Its temporary name, where it has one.
    name: Option<PathBuf>,
    until_space_check: u64,
}

impl NewFile for NewDiskFile {
    fn append(&mut self, bytes: Bytes) -> StorageResult<()> {
        self.place.reach(Step::WriteFile)?;
        let len = bytes.len() as u64;
        self.until_space_check = match self.until_space_check.checked_sub(len) {
            Some(left) => left,
            None if self.place.has_space()? => SPACE_STEP,
            None => return Err(StorageError::NoSpace),
        };
        self.file
            .write_all(&bytes)
            .map_err(|e| StorageError::io("writing an object", e))
    }

    fn keep(mut self: Box<Self>, id: u64) -> StorageResult<()> {
        if self.place.sync == SyncPolicy::Always {
            self.place.reach(Step::SyncFile)?;
            self.file
                .sync_data()
                .map_err(|e| StorageError::io("syncing an object", e))?;
        }
        self.place.prepare(id)?;
        self.place.reach(Step::LinkFile)?;
        let path = self.place.path(id);
        match self.name.take() {
            None => give_name(&self.file, &path),
            Some(name) => fs::rename(&name, &path),
        }
        .map_err(|e| StorageError::io("naming an object", e))
    }
}

impl Drop for NewDiskFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && self.place.faults.reach(Step::RemoveFile).is_ok()
        {
            // What stays is removed at the next start.
            drop(fs::remove_file(name));
        }
    }
}

struct KeptDiskFile {
    file: Arc<File>,
    blocks: Arc<Blocks>,
}

impl KeptFile for KeptDiskFile {
    fn len(&self) -> StorageResult<u64> {
        Ok(self
            .file
            .metadata()
            .map_err(|e| StorageError::io("reading the size of an object", e))?
            .len())
    }

    fn read_at(&self, offset: u64, len: usize, wait: Wait) -> StorageResult<Bytes> {
        let read = self.blocks.fill(len, |out| match wait {
            Wait::ForDevice => self.file.read_exact_at(out, offset),
            Wait::Never => read_cached(&self.file, out, offset),
        });
        match read {
            Ok(bytes) => Ok(bytes),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(StorageError::corrupt("a file is shorter than its object"))
            }
            Err(e) => Err(StorageError::io("reading an object", e)),
        }
    }

    fn of_system(&self) -> Option<&Arc<File>> {
        Some(&self.file)
    }
}

/// Errors: `WouldBlock` where any of it would have to come from the device, or the file system
/// cannot tell.
fn read_cached(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    let wanted = out.len();
    match rustix::io::preadv2(
        file,
        &mut [io::IoSliceMut::new(out)],
        offset,
        ReadWriteFlags::NOWAIT,
    ) {
        Ok(read) if read == wanted => Ok(()),
        // Less than all, as where only the first pages are in memory; whether the file ends here is
        // for a read that waits to say.
        Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => {
            Err(io::ErrorKind::WouldBlock.into())
        }
        Err(e) => Err(e.into()),
    }
}

impl Files for DiskFiles {
    fn create(&self) -> StorageResult<Box<dyn NewFile>> {
        let place = &self.place;
        place.reach(Step::CreateFile)?;
        let wrap = |e| StorageError::io("making a file for an object", e);
        let (file, name) = match place.naming {
            Naming::Unnamed => (unnamed(&place.root).map_err(wrap)?, None),
            Naming::Temporary => {
                let name = place.root.join("incoming").join(format!(
                    "{:x}",
                    place.temporary.fetch_add(1, Ordering::Relaxed)
                ));
                (File::create_new(&name).map_err(wrap)?, Some(name))
            }
        };
        Ok(Box::new(NewDiskFile {
            place: Arc::clone(place),
            file,
            name,
            until_space_check: 0,
        }))
    }

    fn open(&self, id: u64) -> StorageResult<Arc<dyn KeptFile>> {
        match File::open(self.place.path(id)) {
            Ok(file) => Ok(Arc::new(KeptDiskFile {
                file: Arc::new(file),
                blocks: Arc::clone(&self.place.blocks),
            })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(StorageError::corrupt(format!("file {id:x} is missing")))
            }
            Err(e) => Err(StorageError::io("opening an object", e)),
        }
    }

    fn link(&self, from: u64, to: u64) -> StorageResult<()> {
        self.place.prepare(to)?;
        self.place.reach(Step::LinkFile)?;
        fs::hard_link(self.place.path(from), self.place.path(to))
            .map_err(|e| StorageError::io("giving an object a second name", e))
    }

    fn remove(&self, id: u64) -> StorageResult<()> {
        self.place.reach(Step::RemoveFile)?;
        match fs::remove_file(self.place.path(id)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StorageError::io("removing an object", e))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn sync_directories(&self, ids: &[u64]) -> StorageResult<()> {
        let directories: BTreeSet<PathBuf> =
            ids.iter().map(|id| self.place.directory(*id)).collect();
        directories.iter().try_for_each(|dir| {
            self.place.reach(Step::SyncDirectory)?;
            sync_directory(dir)
        })
    }

    fn sync_all(&self) -> StorageResult<()> {
        let root = File::open(&self.place.root)
            .map_err(|e| StorageError::io("opening the store's directory", e))?;
        rustix::fs::syncfs(root)
            .map_err(|e| StorageError::io("syncing the store's file system", e.into()))
    }

    fn has_space(&self) -> StorageResult<bool> {
        self.place.has_space()
    }

    fn space(&self) -> StorageResult<Option<Space>> {
        self.place.space().map(Some)
    }

    fn is_present(&self) -> bool {
        let files = fs::metadata(self.place.root.join("files")).is_ok_and(|found| found.is_dir());
        files && device(&self.place.root).is_ok_and(|found| found == self.place.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_does_not_wait_gives_the_same_bytes_or_says_that_it_would_have_to() {
        let ground = tempfile::tempdir().unwrap();
        let path = ground.path().join("file");
        let bytes: Vec<u8> = (0..400_000u32)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        fs::write(&path, &bytes).unwrap();
        let kept = KeptDiskFile {
            file: Arc::new(File::open(&path).unwrap()),
            blocks: Arc::default(),
        };
        for dropped in [false, true] {
            if dropped {
                kept.file.sync_all().unwrap();
                rustix::fs::fadvise(&kept.file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            for at in [0, 131_072, 300_000] {
                let (from, len) = (usize::try_from(at).unwrap(), 100_000);
                match kept.read_at(at, len, Wait::Never) {
                    Ok(read) => assert_eq!(read, bytes[from..from + len]),
                    Err(error) => assert!(error.would_wait(), "{error}"),
                }
                assert_eq!(
                    kept.read_at(at, len, Wait::ForDevice).unwrap(),
                    bytes[from..from + len]
                );
            }
        }
        assert!(
            kept.read_at(399_999, 2, Wait::Never)
                .unwrap_err()
                .would_wait(),
            "the end is for a read that waits to find"
        );
        assert!(matches!(
            kept.read_at(399_999, 2, Wait::ForDevice),
            Err(StorageError::Corrupt { .. })
        ));
    }
}
