//! A device in memory: a file without a name, mapped, so that another process can hold it and the
//! device outlives its server.
//!
//! Sparse: a page that was never written takes no memory, also where it is read. The kernel keeps the
//! pages, so that queues share no lock of ours.

use super::pages::{RoomKeeper, WrittenPages};
use super::{BlockBackend, Carriers, Keep, ZeroRoom};
use crate::request::{BlockOperation, BlockRequest, DataPlace, DeviceResult, Errno};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::{FileMap, MapAdvice};

/// Addresses that are kept free so that the device can grow; they cost nothing until it does.
const REACH: u64 = 1 << 40;
/// Bytes of a huge page.
const HUGE: u64 = 2 << 20;

pub struct MemoryBackend {
    file: File,
    map: FileMap,
    /// Bytes that the mapping covers.
    reach: u64,
    size: AtomicU64,
    pages: WrittenPages,
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
        let pages = written(&file, reach, sys::page_size() as u64);
        Ok(Self {
            file,
            map,
            reach,
            size: AtomicU64::new(size),
            pages,
        })
    }

    /// Asks for huge pages, which the kernel may refuse.
    ///
    /// # Errors
    /// A kernel without.
    pub fn with_huge_pages(self) -> io::Result<Self> {
        self.map.advise(MapAdvice::HugePage)?;
        let pages = written(&self.file, self.reach, HUGE);
        Ok(Self { pages, ..self })
    }

    /// Refuses to write where there is no memory for it, which the keeper knows.
    #[must_use]
    pub fn with_room(mut self, keeper: RoomKeeper) -> Self {
        self.pages.set_keeper(keeper);
        self
    }

    /// The memory, to be handed on.
    pub fn memory(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl MemoryBackend {
    /// Reads where some pages were never written: to touch them would take memory for zeros.
    #[cold]
    fn read_sparse(&self, extent: &Range<u64>, into: &mut [u8]) -> DeviceResult {
        let mut rest = into;
        let mut at = extent.start;
        while at < extent.end {
            let (end, is_written) = self.pages.run(at, extent.end);
            let length = usize::try_from(end - at).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at_mut(length);
            if is_written {
                copied(self.map.read(at, piece))?;
            } else {
                piece.fill(0);
            }
            (rest, at) = (behind, end);
        }
        Ok(())
    }
}

/// The pages that a file has.
fn written(file: &File, reach: u64, page: u64) -> WrittenPages {
    let pages = WrittenPages::new(reach, page);
    let size = file.metadata().map_or(0, |facts| facts.len());
    let mut at = 0;
    while at < size {
        let (end, has_data) = allocated(file, at, size);
        if has_data {
            pages.mark(&(at..end));
        }
        at = end;
    }
    pages
}

/// The bytes of a request.
fn extent(offset: u64, bytes: &[u8]) -> Range<u64> {
    offset..offset.saturating_add(bytes.len() as u64)
}

/// What a copy of the kernel says; a page that is gone, and less than all, are errors of the device.
fn whole(result: i64, length: usize) -> DeviceResult {
    match usize::try_from(result) {
        Ok(bytes) if bytes == length => Ok(()),
        Ok(_) => Err(Errno::EIO),
        Err(_) if result == -i64::from(libc::EFAULT) => Err(Errno::EIO),
        Err(_) => copied(result),
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
        let extent = extent(offset, into);
        if self.pages.are_written(&extent) {
            return copied(self.map.read(offset, into));
        }
        self.read_sparse(&extent, into)
    }

    #[inline]
    fn write(&self, offset: u64, from: &[u8], _keep: Keep) -> DeviceResult {
        let extent = extent(offset, from);
        self.pages.take(&extent)?;
        let outcome = copied(self.map.write(offset, from));
        self.pages.confirm(&extent);
        outcome
    }

    /// What was never written is read without a page, which only a buffer can.
    #[inline]
    fn passes(&self, request: &BlockRequest) -> bool {
        match request.operation {
            BlockOperation::Read => self.pages.are_written(&request.extent()),
            BlockOperation::Write => true,
            BlockOperation::Flush | BlockOperation::Trim | BlockOperation::Zero => false,
        }
    }

    #[inline]
    fn pass(&self, request: &BlockRequest, place: DataPlace<'_>) -> DeviceResult {
        let DataPlace { file, offset } = place;
        let length = usize::try_from(request.length).map_err(|_too_long| Errno::EINVAL)?;
        if request.operation == BlockOperation::Read {
            return whole(self.map.give(request.offset, length, file, offset), length);
        }
        let extent = request.extent();
        self.pages.take(&extent)?;
        let outcome = self.map.take(request.offset, length, file, offset);
        self.pages.confirm(&extent);
        whole(outcome, length)
    }

    /// Opened once more, so that the kernel may be asked not to wait: what is in memory is there at
    /// once, and direct, without which it has a thread of its own do every write.
    fn carriers(&self) -> io::Result<Option<Carriers>> {
        let flags = libc::O_DIRECT | libc::O_NONBLOCK;
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let mut options = File::options();
        let writes = options
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)?;
        let reads = writes.try_clone()?;
        Ok(Some(Carriers { reads, writes }))
    }

    #[inline]
    fn carry(&self, request: &BlockRequest) -> bool {
        self.passes(request)
            && (request.operation == BlockOperation::Read
                || self.pages.take(&request.extent()).is_ok())
    }

    #[inline]
    fn carried(&self, request: &BlockRequest) {
        if request.operation == BlockOperation::Write {
            self.pages.confirm(&request.extent());
        }
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
        self.pages.forget(&extent);
        punch(&self.file, &extent).map_err(|error| Errno::of(&error))?;
        if room == ZeroRoom::Kept {
            self.pages.take(&extent)?;
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
        self.pages.forget(&(bytes..self.reach));
        self.file
            .set_len(bytes)
            .map_err(|error| Errno::of(&error))?;
        self.size.store(bytes, Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    const PAGE: u64 = 4096;

    fn blocks(device: &MemoryBackend) -> u64 {
        device.file.metadata().unwrap().blocks() * 512
    }

    fn full(left: u64) -> MemoryBackend {
        let room = RoomKeeper {
            left: Box::new(move || Some(left)),
            refused: Box::new(|_| {}),
        };
        MemoryBackend::new(1 << 20).unwrap().with_room(room)
    }

    #[test]
    fn what_was_never_written_is_read_without_taking_memory() {
        let device = MemoryBackend::new(1 << 30).unwrap();
        device.write(5 * PAGE - 1, &[1, 2], Keep::Cached).unwrap();
        let mut all = vec![9; 16 << 20];
        device.read(0, &mut all).unwrap();
        let there: Vec<usize> = (0..all.len()).filter(|at| all[*at] != 0).collect();
        assert_eq!(there, [20_479, 20_480]);
        assert_eq!(blocks(&device), 2 * PAGE);
    }

    #[test]
    fn memory_that_is_taken_over_is_known_as_it_was_left() {
        let before = MemoryBackend::new(1 << 20).unwrap();
        before.write(3 * PAGE, &[7; 4096], Keep::Cached).unwrap();
        let after = MemoryBackend::over(before.file.try_clone().unwrap()).unwrap();
        let after = after.with_huge_pages().unwrap_or(before);
        let mut found = [0; 4096];
        after.read(3 * PAGE, &mut found).unwrap();
        assert_eq!(found, [7; 4096]);
    }

    #[test]
    fn data_pass_straight_to_and_from_a_file_and_what_was_never_written_does_not() {
        let device = MemoryBackend::new(1 << 20).unwrap();
        let file = File::from(memfd_create("t", MemfdFlags::CLOEXEC).unwrap());
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| at.to_le_bytes()[0]).collect();
        file.write_all_at(&bytes, 7).unwrap();
        let place = |offset| DataPlace {
            file: file.as_fd(),
            offset,
        };
        let request = |operation| BlockRequest::new(operation, 3 * PAGE, 20_000);
        let write = request(BlockOperation::Write);
        let read = request(BlockOperation::Read);
        assert!(device.passes(&write) && !device.passes(&read));
        device.pass(&write, place(7)).unwrap();
        assert!(device.passes(&read));
        device.pass(&read, place(30_000)).unwrap();
        let mut back = vec![0; 20_000];
        file.read_exact_at(&mut back, 30_000).unwrap();
        assert!(back == bytes);
        assert_eq!(device.pass(&write, place(49_000)), Err(Errno::EIO), "half");
        let mut found = vec![0; 20_000];
        device.read(3 * PAGE, &mut found).unwrap();
        assert!(found[1000..] == bytes[1000..]);
        assert_eq!(full(0).pass(&write, place(7)), Err(Errno::ENOSPC));
        device.file.set_len(0).unwrap();
        assert_eq!(device.pass(&read, place(0)), Err(Errno::EIO), "it is gone");
    }

    #[test]
    fn without_memory_fresh_pages_are_refused_and_what_is_there_can_be_written_and_given_back() {
        let device = full(0);
        let all = 0..1_u64 << 20;
        assert_eq!(device.write(0, &[1], Keep::Cached), Err(Errno::ENOSPC));
        let refused = device.zero(all.clone(), ZeroRoom::Kept, Keep::Cached);
        assert_eq!(refused, Err(Errno::ENOSPC));
        device.zero(all, ZeroRoom::Given, Keep::Cached).unwrap();
        assert_eq!(blocks(&device), 0);
        let device = full(2 * PAGE);
        device.write(0, &[1; 8192], Keep::Cached).unwrap();
        device.write(4, &[2; 8], Keep::Cached).unwrap();
        let refused = device.write(PAGE, &[3; 20_000], Keep::Cached);
        assert_eq!(refused, Err(Errno::ENOSPC));
        let mut found = [0; 1];
        device.read(PAGE, &mut found).unwrap();
        assert_eq!(found, [1], "nothing of it was written");
    }

    #[test]
    fn a_page_that_is_given_back_while_it_is_written_is_written_or_gone_for_good() {
        let device = MemoryBackend::new(PAGE).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let zeroed = device.zero(0..PAGE, ZeroRoom::Given, Keep::Cached);
                    zeroed.unwrap();
                }
            });
            for round in 1..=2000_u64 {
                let bytes = round.to_le_bytes();
                device.write(0, &bytes, Keep::Cached).unwrap();
                let mut found = [0; 8];
                device.read(0, &mut found).unwrap();
                assert!(found == bytes || found == [0; 8]);
            }
        });
        device.write(8, &[1], Keep::Cached).unwrap();
        let (mut one, mut other) = ([0; 16], [0; 16]);
        device.read(0, &mut one).unwrap();
        assert!(device.map.read(0, &mut other) > 0);
        assert_eq!(one, other);
    }
}
