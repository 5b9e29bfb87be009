//! The rings, and the memory that they share with the kernel: all that is `unsafe` here.
#![allow(
    unsafe_code,
    reason = "memory that the kernel reads and writes while a command is under way"
)]

mod buffers;
mod control_ring;
mod entries;

pub(super) use control_ring::{ControlRing, Pending};

use super::serving::UblkData;
use super::wire::{
    COMMIT_AND_FETCH, ControlCommand, DeviceFacts, FETCH, IoCommand, IoDescriptor, Parameters,
    data_offset, descriptors_bytes, descriptors_offset,
};
use crate::backend::Carriers;
use crate::request::{BlockRequest, DataPlace};
use buffers::RequestBuffers;
use entries::{CARRIED, build, carrying, entry};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, RawFd};
use sys::DeviceView;

/// Structures of the kernel's header: any bytes are a value, and no byte is padding.
///
/// # Safety
/// `repr(C)`, of integers alone, without padding.
pub(super) unsafe trait Plain: Copy + Default {
    fn bytes(&self) -> &[u8] {
        // SAFETY: every byte of a plain structure is initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// The structure at the beginning of `bytes`.
    ///
    /// # Panics
    /// There are too few bytes.
    fn of_bytes(bytes: &[u8]) -> Self {
        assert!(bytes.len() >= size_of::<Self>(), "too few bytes");
        // SAFETY: enough bytes (asserted), at any alignment, and any of them are a value.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

// SAFETY: sizes and offsets are asserted beside the definitions; none has padding.
unsafe impl Plain for ControlCommand {}
// SAFETY: as above.
unsafe impl Plain for DeviceFacts {}
// SAFETY: as above.
unsafe impl Plain for Parameters {}
// SAFETY: as above.
unsafe impl Plain for IoCommand {}

/// What is no tag.
const WATCHED: u64 = u64::MAX;
/// What the kernel has for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RingAnswer {
    /// A request of this tag, or a negative number that says why none will come.
    Request(u16, i32),
    /// It has moved so many bytes of a request, or a negative number that says why not.
    Carried(u16, i32),
}

fn timespec(ns: u64) -> Timespec {
    let nanos = u32::try_from(ns % 1_000_000_000).unwrap_or(0);
    Timespec::new().sec(ns / 1_000_000_000).nsec(nanos)
}

/// The time was over, a signal came, or answers have to be taken first.
fn is_no_failure(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
    )
}

/// What a queue is.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueShape {
    pub(super) queue: u16,
    pub(super) depth: u16,
    /// Longest request.
    pub(super) most_bytes: usize,
    pub(super) data: UblkData,
}

/// All that a queue needs before the driver knows of it.
pub(super) struct PreparedRing {
    ring: IoUring,
    buffers: RequestBuffers,
    char_device: File,
    shape: QueueShape,
}

impl PreparedRing {
    /// The carriers are where the kernel reads and writes the data of requests that it registers.
    pub(super) fn new(
        char_device: File,
        shape: QueueShape,
        carriers: Option<&Carriers>,
    ) -> io::Result<Self> {
        let ring = build(shape.depth)?;
        let files = match carriers {
            Some(Carriers { reads, writes }) => vec![&char_device, reads, writes],
            None => vec![&char_device],
        };
        let files: Vec<RawFd> = files.into_iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&files)?;
        if shape.data == UblkData::Registered {
            ring.submitter()
                .register_buffers_sparse(u32::from(shape.depth))?;
        }
        // Calls copy through one buffer, because no request keeps it.
        let count = match shape.data {
            UblkData::Copied => shape.depth,
            UblkData::Calls | UblkData::Registered => 1,
        };
        Ok(Self {
            ring,
            buffers: RequestBuffers::new(usize::from(count), shape.most_bytes)?,
            char_device,
            shape,
        })
    }

    /// Waits for the first request of every tag, which one call asks for: the driver has the whole
    /// queue or nothing of it, whenever this process is killed. Only then the queue is mapped: a
    /// process of which the driver has a mapping and no queue would have no successor.
    pub(super) fn fetch(mut self) -> io::Result<QueueRing> {
        for tag in 0..self.shape.depth {
            let entry = entry(FETCH, self.shape, &self.buffers, (tag, 0));
            // SAFETY: the buffer lives as long as the ring, which is dropped first, and is touched
            // only between the arrival of a request of its tag and its commit.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))?;
        }
        self.ring.submit()?;
        let descriptors = DeviceView::new(
            &self.char_device,
            descriptors_offset(self.shape.queue),
            descriptors_bytes(self.shape.depth),
        )?;
        Ok(QueueRing {
            ring: self.ring,
            descriptors,
            buffers: self.buffers,
            char_device: self.char_device,
            shape: self.shape,
            watched: None,
        })
    }
}

/// The ring of one queue with its buffers; made and used by one thread.
pub(super) struct QueueRing {
    ring: IoUring,
    descriptors: DeviceView,
    buffers: RequestBuffers,
    char_device: File,
    shape: QueueShape,
    watched: Option<RawFd>,
}

impl QueueRing {
    /// Gives a request back and waits for the next one of its tag.
    #[inline]
    pub(super) fn commit(&mut self, tag: u16, result: i32) -> io::Result<()> {
        let entry = entry(COMMIT_AND_FETCH, self.shape, &self.buffers, (tag, result));
        // SAFETY: the buffer lives as long as the ring, which is dropped first, and is touched only
        // between the arrival of a request of its tag and its commit.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Has the kernel do the rest of a read or write of which so many bytes are done.
    #[inline]
    pub(super) fn carry(&mut self, tag: u16, request: &BlockRequest, done: u32) -> io::Result<()> {
        // SAFETY: the pages are the kernel's own, registered until the request is given back, which
        // is after this has ended.
        let pushed = unsafe { self.ring.submission().push(&carrying(tag, request, done)) };
        pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Whether the kernel registers the pages of requests.
    #[inline]
    pub(super) fn registers(&self) -> bool {
        self.shape.data == UblkData::Registered
    }

    /// Has [`QueueRing::wait`] return whenever somebody writes to this descriptor.
    pub(super) fn watch(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.watched = Some(descriptor.as_raw_fd());
        self.watch_on()
    }

    fn watch_on(&mut self) -> io::Result<()> {
        let Some(descriptor) = self.watched else {
            return Ok(());
        };
        let wanted = u32::from(libc::POLLIN.unsigned_abs());
        let entry = opcode::PollAdd::new(Fd(descriptor), wanted)
            .multi(true)
            .build()
            .user_data(WATCHED);
        // SAFETY: a poll has no memory of ours.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Hands over what was pushed without waiting.
    #[inline]
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Ok(_) => Ok(()),
            Err(error) if is_no_failure(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hands over what was pushed, waits for the kernel or for the time to be over, and gives what
    /// it has.
    #[inline]
    pub(super) fn wait(
        &mut self,
        limit_ns: Option<u64>,
        out: &mut Vec<RingAnswer>,
    ) -> io::Result<()> {
        let waited = match limit_ns {
            None => self.ring.submit_and_wait(1),
            Some(ns) => {
                let limit = timespec(ns);
                let args = SubmitArgs::new().timespec(&limit);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        match waited {
            Ok(_) => {}
            Err(error) if is_no_failure(&error) => {}
            Err(error) => return Err(error),
        }
        let mut unwatched = false;
        out.extend(self.ring.completion().filter_map(|entry| {
            if entry.user_data() == WATCHED {
                unwatched |= !cqueue::more(entry.flags());
                return None;
            }
            let tag = u16::try_from(entry.user_data() & !CARRIED).unwrap_or(u16::MAX);
            Some(if entry.user_data() & CARRIED == 0 {
                RingAnswer::Request(tag, entry.result())
            } else {
                RingAnswer::Carried(tag, entry.result())
            })
        }));
        if unwatched { self.watch_on() } else { Ok(()) }
    }

    #[inline]
    pub(super) fn descriptor(&self, tag: u16) -> IoDescriptor {
        IoDescriptor::parse(
            self.descriptors
                .words(usize::from(tag) * IoDescriptor::BYTES),
        )
    }

    /// The bytes of a request that has arrived and was not given back.
    #[inline]
    pub(super) fn buffer(&mut self, tag: u16, bytes: usize) -> &mut [u8] {
        let slot = if self.calls() { 0 } else { tag };
        self.buffers.slice(usize::from(slot), bytes)
    }

    /// Where the data of a request are, if they are fetched by calls.
    #[inline]
    pub(super) fn place(&self, tag: u16) -> Option<DataPlace<'_>> {
        self.calls().then(|| DataPlace {
            file: self.char_device.as_fd(),
            offset: data_offset(self.shape.queue, tag),
        })
    }

    /// Whether data are fetched and given by calls.
    #[inline]
    fn calls(&self) -> bool {
        self.shape.data != UblkData::Copied
    }

    /// Brings what a write wants to write into its buffer.
    #[inline]
    pub(super) fn take(&mut self, tag: u16, bytes: usize) -> io::Result<()> {
        if !self.calls() {
            return Ok(());
        }
        let offset = data_offset(self.shape.queue, tag);
        let descriptor = self.char_device.as_raw_fd();
        let into = self.buffers.slice(0, bytes).as_mut_ptr();
        // SAFETY: the buffer is so long, and no other reference to it is alive.
        whole(
            unsafe { sys::pread(descriptor, into, bytes, offset) },
            bytes,
        )
    }

    /// Gives the driver what a read has found.
    #[inline]
    pub(super) fn give(&mut self, tag: u16, bytes: usize) -> io::Result<()> {
        if !self.calls() {
            return Ok(());
        }
        let offset = data_offset(self.shape.queue, tag);
        let descriptor = self.char_device.as_raw_fd();
        let from = self.buffers.slice(0, bytes).as_ptr();
        // SAFETY: the buffer is so long, and nobody writes it during the call.
        whole(
            unsafe { sys::pwrite(descriptor, from, bytes, offset) },
            bytes,
        )
    }
}

fn whole(result: i64, bytes: usize) -> io::Result<()> {
    match usize::try_from(result) {
        Ok(copied) if copied == bytes => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
        Err(_) => Err(io::Error::from_raw_os_error(
            i32::try_from(-result).unwrap_or(libc::EIO),
        )),
    }
}
