//! A device whose bytes are a file's, or another device's.

use super::memory::{allocated, punch};
use super::stable::{Flushes, LossKeeper};
use super::{BlockBackend, Carriers, Keep, ZeroRoom};
use crate::own::fresh;
use crate::request::{BlockRequest, DeviceResult, Errno};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::FileUse;

/// Zeros are written in pieces of this length where the file system cannot make holes.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

pub struct FileBackend {
    file: File,
    flushes: Flushes,
    size: AtomicU64,
    /// A device has the size that it has.
    is_device: bool,
    notice: Option<&'static str>,
    is_fresh: bool,
}

impl FileBackend {
    /// Opens what is there, or makes a file of `size` bytes where nothing is. It is announced to
    /// other servers and runs as long as it is open, by whatever name they know it.
    ///
    /// # Errors
    /// Nothing there and no size given; another size than what is there has; no permission; a
    /// file that another process writes to; a device that is mounted or otherwise in use.
    pub fn open(path: &Path, size: Option<u64>, read_only: bool) -> io::Result<Self> {
        // As the kernel knows it: a device that is mounted is not opened.
        let exclusive = rustix::fs::OFlags::EXCL.bits();
        let is_device =
            std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device());
        let mut options = File::options();
        options.read(true).write(!read_only);
        let flags = if is_device && !read_only {
            i32::try_from(exclusive).unwrap_or(0)
        } else {
            0
        };
        // A pipe without a writer would be waited for.
        let opened = sys::open_without_waiting(&mut options, flags, path);
        let (file, is_fresh) = match (opened, size) {
            (Err(error), Some(size)) if error.kind() == io::ErrorKind::NotFound => {
                let made = fresh(path, File::options().read(true).write(true), |file| {
                    file.set_len(size)?;
                    Ok(file)
                });
                (made?, true)
            }
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
                return Err(io::Error::new(
                    error.kind(),
                    "there is no such file; with a size it would be made",
                ));
            }
            (opened, _) => (opened?, false),
        };
        let facts = file.metadata()?;
        let has = if is_device {
            sys::block_device_size(&file)?
        } else if facts.is_file() {
            facts.len()
        } else {
            return Err(io::Error::other("it is neither a file nor a block device"));
        };
        if let Some(wanted) = size.filter(|wanted| *wanted != has) {
            return Err(io::Error::other(format!(
                "it has {has} bytes, and {wanted} were asked for; leave the size out to serve it as it is"
            )));
        }
        let notice = announced(&file, read_only)?;
        Ok(Self {
            file,
            flushes: Flushes::default(),
            size: AtomicU64::new(has),
            is_device,
            notice,
            is_fresh,
        })
    }

    /// What whoever serves the file should know of it.
    pub fn notice(&self) -> Option<&'static str> {
        self.notice
    }

    /// The file, where there was none before.
    pub fn made(&self) -> Option<&File> {
        self.is_fresh.then_some(&self.file)
    }

    /// Has somebody told when what was written may be lost.
    #[must_use]
    pub fn with_loss(mut self, keeper: LossKeeper) -> Self {
        self.flushes.set_keeper(keeper);
        self
    }

    fn kept(&self, keep: Keep) -> DeviceResult {
        match keep {
            Keep::Cached => Ok(()),
            Keep::Stable => self.flush(),
        }
    }
}

/// Announces the use of a file, and says what others do with it.
fn announced(file: &File, read_only: bool) -> io::Result<Option<&'static str>> {
    let used = if read_only {
        FileUse::Reads
    } else {
        FileUse::Writes
    };
    match sys::announce_use(file, used) {
        Ok(true) if read_only && sys::is_announced(file, FileUse::Writes).unwrap_or(false) => Ok(
            Some("another process writes to it: what is read changes meanwhile"),
        ),
        Ok(true) => Ok(None),
        Ok(false) => Err(io::Error::other(
            "another server or run writes to it; end that, or serve another file",
        )),
        Err(_) => Ok(Some(
            "its file system has no locks, so that nothing keeps another server or run from writing to it",
        )),
    }
}

fn told(result: io::Result<()>) -> DeviceResult {
    result.map_err(|error| Errno::of(&error))
}

impl BlockBackend for FileBackend {
    fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> DeviceResult {
        told(self.file.read_exact_at(into, offset))
    }

    fn write(&self, offset: u64, from: &[u8], keep: Keep) -> DeviceResult {
        told(self.file.write_all_at(from, offset))?;
        self.kept(keep)
    }

    fn carriers(&self) -> io::Result<Option<Carriers>> {
        let [reads, writes] = [self.file.try_clone()?, self.file.try_clone()?];
        Ok(Some(Carriers { reads, writes }))
    }

    /// What has to be stable at its end is flushed by us.
    fn carry(&self, request: &BlockRequest) -> bool {
        !request.fua
    }

    fn flush(&self) -> DeviceResult {
        self.flushes.flush(|| self.file.sync_data())
    }

    fn zero(&self, extent: Range<u64>, room: ZeroRoom, keep: Keep) -> DeviceResult {
        if room == ZeroRoom::Given && punch(&self.file, &extent).is_ok() {
            return self.kept(keep);
        }
        let mut at = extent.start;
        while at < extent.end {
            let piece = usize::try_from(extent.end - at)
                .unwrap_or(usize::MAX)
                .min(ZEROS.len());
            self.write(at, &ZEROS[..piece], Keep::Cached)?;
            at += piece as u64;
        }
        self.kept(keep)
    }

    fn allocated(&self, offset: u64, end: u64) -> (u64, bool) {
        allocated(&self.file, offset, end)
    }

    fn is_kept(&self) -> bool {
        !self.is_device
    }

    fn has_lost(&self) -> bool {
        self.flushes.has_lost()
    }

    fn keeps_size(&self) -> Option<&'static str> {
        self.is_device
            .then_some("a block device has the size that it has")
    }

    fn resize(&self, bytes: u64) -> DeviceResult {
        if self.is_device {
            return Err(Errno::EOPNOTSUPP);
        }
        told(self.file.set_len(bytes))?;
        self.size.store(bytes, Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_writer_by_whatever_name_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let first = FileBackend::open(&path("a"), Some(4096), false).unwrap();
        std::os::unix::fs::symlink(path("a"), path("b")).unwrap();
        std::fs::hard_link(path("a"), path("c")).unwrap();
        for name in ["a", "b", "c"] {
            let refused = FileBackend::open(&path(name), None, false).err().unwrap();
            assert!(refused.to_string().contains("another server or run"));
            let reader = FileBackend::open(&path(name), None, true).unwrap();
            assert!(reader.notice().unwrap().contains("another process writes"));
        }
        drop(first);
        let second = FileBackend::open(&path("b"), None, false).unwrap();
        assert_eq!(second.notice(), None);
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("p");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let refused = FileBackend::open(&pipe, None, true).err().unwrap();
        assert!(refused.to_string().contains("neither a file nor"));
    }
}
