//! A device in memory: a file without a name, mapped, so that another process can hold it and the
//! device outlives its server.
//!
//! Sparse by nature: a page that was never written takes no memory. The kernel keeps the pages, so
//! that queues share no lock of ours.

use super::{BlockBackend, Keep, ZeroRoom};
use crate::request::{DeviceResult, Errno};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::{FileMap, MapAdvice};

/// Addresses that are kept free so that the device can grow; they cost nothing until it does.
const REACH: u64 = 1 << 40;

pub struct MemoryBackend {
    file: File,
    map: FileMap,
    /// Bytes that the mapping covers.
    reach: u64,
    size: AtomicU64,
}

impl MemoryBackend {
    /// Fresh memory, all zeros.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn new(size: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("fathom-block", MemfdFlags::CLOEXEC)?);
        file.set_len(size)?;
        Self::over(file)
    }

    /// Memory that somebody else made and may hold longer than this process lives, as long as the
    /// file is.
    ///
    /// # Errors
    /// What was given cannot be mapped.
    pub fn over(file: File) -> io::Result<Self> {
        sys::catch_bus_errors();
        let size = file.metadata()?.len();
        let map = |reach| FileMap::new(file.try_clone()?, reach, true).map(|map| (map, reach));
        // Where addresses are limited, the device keeps the size that it has.
        let (map, reach) = map(size.saturating_mul(2).max(REACH)).or_else(|_| map(size.max(1)))?;
        Ok(Self {
            file,
            map,
            reach,
            size: AtomicU64::new(size),
        })
    }

    /// Asks for huge pages, which the kernel may refuse.
    ///
    /// # Errors
    /// A kernel without.
    pub fn with_huge_pages(self) -> io::Result<Self> {
        self.map.advise(MapAdvice::HugePage)?;
        Ok(self)
    }

    /// The memory, to be handed on.
    pub fn memory(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What a copy says: bytes, or a negative number of an error.
fn copied(result: i64) -> DeviceResult {
    match u16::try_from(result.unsigned_abs()) {
        Ok(number) if result < 0 => Err(Errno(number)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes a hole, in which zeros are read.
pub(super) fn punch(file: &File, extent: &Range<u64>) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(
        file,
        flags,
        extent.start,
        extent.end.saturating_sub(extent.start),
    )?)
}

/// Where the data or the hole that begins here ends, and whether it is data.
pub(super) fn allocated(file: &File, offset: u64, end: u64) -> (u64, bool) {
    match sys::next_data(file, offset) {
        Ok(Some(data)) if data > offset => (data.min(end), false),
        Ok(None) => (end, false),
        Ok(Some(_)) => match sys::next_hole(file, offset) {
            Ok(Some(hole)) if hole > offset => (hole.min(end), true),
            Ok(_) | Err(_) => (end, true),
        },
        Err(_) => (end, true),
    }
}

impl BlockBackend for MemoryBackend {
    fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    #[inline]
    fn read(&self, offset: u64, into: &mut [u8]) -> DeviceResult {
        copied(self.map.read(offset, into))
    }

    #[inline]
    fn write(&self, offset: u64, from: &[u8], _keep: Keep) -> DeviceResult {
        copied(self.map.write(offset, from))
    }

    fn flush(&self) -> DeviceResult {
        Ok(())
    }

    fn zero(&self, extent: Range<u64>, room: ZeroRoom, _keep: Keep) -> DeviceResult {
        if extent.is_empty() {
            return Ok(());
        }
        let allocate = |extent: &Range<u64>| {
            let flags = FallocateFlags::KEEP_SIZE;
            fallocate(&self.file, flags, extent.start, extent.end - extent.start)
        };
        punch(&self.file, &extent).map_err(|error| Errno::of(&error))?;
        if room == ZeroRoom::Kept {
            allocate(&extent).map_err(|error| Errno::of(&error.into()))?;
        }
        Ok(())
    }

    fn allocated(&self, offset: u64, end: u64) -> (u64, bool) {
        allocated(&self.file, offset, end)
    }

    fn resize(&self, bytes: u64) -> DeviceResult {
        if bytes > self.reach {
            return Err(Errno::ENOMEM);
        }
        // A smaller device first refuses what will be gone.
        self.size.fetch_min(bytes, Relaxed);
        self.file
            .set_len(bytes)
            .map_err(|error| Errno::of(&error))?;
        self.size.store(bytes, Relaxed);
        Ok(())
    }
}
