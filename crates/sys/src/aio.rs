//! The kernel's native asynchronous I/O interface (linux/aio_abi.h).

use crate::checked;
use std::io;
use std::os::fd::RawFd;

pub const PREAD: u16 = 0;
pub const PWRITE: u16 = 1;
pub const FSYNC: u16 = 2;
pub const FDSYNC: u16 = 3;

/// `struct iocb` of a little-endian 64-bit kernel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct AioEvent {
    /// What the request carried.
    pub data: u64,
    object: u64,
    /// Bytes moved, or a negative errno.
    pub result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<ControlBlock>() == 64 && size_of::<AioEvent>() == 32);

impl ControlBlock {
    #[must_use]
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "descriptors are not negative and offsets stay below 2^63"
    )]
    pub fn new(
        opcode: u16,
        fd: RawFd,
        buffer: *mut u8,
        bytes: u64,
        offset: u64,
        data: u64,
    ) -> Self {
        Self {
            data,
            opcode,
            fd: fd as u32,
            buffer: buffer as u64,
            bytes,
            offset: offset as i64,
            ..Self::default()
        }
    }
}

/// An `aio_context_t`, destroyed when dropped.
#[derive(Debug)]
pub struct Context(u64);

impl Context {
    /// # Errors
    /// The kernel has no room for `depth` more requests.
    pub fn new(depth: u32) -> io::Result<Self> {
        let mut context = 0_u64;
        // SAFETY: the kernel writes one u64.
        checked(unsafe {
            libc::syscall(
                libc::SYS_io_setup,
                libc::c_long::from(depth),
                &raw mut context,
            )
        })?;
        Ok(Self(context))
    }

    /// Submits in order and returns how many were taken.
    ///
    /// # Safety
    /// Every pointer is a valid control block, and every buffer named stays valid and untouched
    /// until its event.
    ///
    /// # Errors
    /// Nothing was taken.
    pub unsafe fn submit(&self, batch: &mut [*mut ControlBlock]) -> io::Result<usize> {
        // SAFETY: as the caller promises.
        let taken = checked(unsafe {
            libc::syscall(libc::SYS_io_submit, self.0, batch.len(), batch.as_mut_ptr())
        })?;
        Ok(usize::try_from(taken).unwrap_or(0))
    }

    /// Waits for at least `min` events no longer than `timeout_ns`.
    ///
    /// # Errors
    /// The context is broken; a signal is an empty answer.
    pub fn events<'a>(
        &self,
        min: usize,
        timeout_ns: u64,
        room: &'a mut [AioEvent],
    ) -> io::Result<&'a [AioEvent]> {
        let limit = libc::timespec {
            tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
        };
        let limit = if timeout_ns == u64::MAX {
            std::ptr::null()
        } else {
            &raw const limit
        };
        // SAFETY: `room` has space for as many events as it is long.
        let got = checked(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                min,
                room.len(),
                room.as_mut_ptr(),
                limit,
            )
        });
        match got {
            Ok(n) => Ok(&room[..usize::try_from(n).unwrap_or(0)]),
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => Ok(&[]),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was made by `new` and is destroyed once; the call waits for what is
        // in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}
