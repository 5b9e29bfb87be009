//! Calls that move data of files, or make room for it.

use crate::caught_signal;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// A call that is interrupted so often in a row is so by no signal.
const MOST_CALLS: u32 = 100;

pub(crate) fn signed(offset: u64) -> libc::off64_t {
    libc::off64_t::try_from(offset).unwrap_or(libc::off64_t::MAX)
}

/// What a call came to: what it returned, or a negative errno. Reads and writes are made once.
fn of_result(result: i64) -> i64 {
    if result >= 0 {
        result
    } else {
        let errno = io::Error::last_os_error().raw_os_error();
        -i64::from(errno.unwrap_or(libc::EIO))
    }
}

/// The same of a flush, or of what makes room. The kernel begins most calls again by itself after a signal
/// that only goes by; file systems in user space may answer EINTR instead, and it is made again. Where
/// somebody wants the end, or the call never comes through, that is the answer.
pub(crate) fn outcome(mut call: impl FnMut() -> i64) -> i64 {
    let mut result = of_result(call());
    for _ in 1..MOST_CALLS {
        if result != -i64::from(libc::EINTR) || caught_signal().is_some() {
            break;
        }
        result = of_result(call());
    }
    result
}

/// `pread`; returns bytes or a negative errno. Asks the kernel itself: the C library's own function
/// is a point of cancellation, which costs two atomic exchanges a call in a process of several
/// threads.
///
/// # Safety
/// `address` is valid for writing `len` bytes and nobody else uses them.
#[inline]
pub unsafe fn pread(fd: RawFd, address: *mut u8, len: usize, offset: u64) -> i64 {
    // SAFETY: as the caller promises.
    of_result(unsafe { libc::syscall(libc::SYS_pread64, fd, address, len, signed(offset)) })
}

/// `pwrite`; returns bytes or a negative errno. As [`pread`].
///
/// # Safety
/// `address` is valid for reading `len` bytes and nobody writes them.
#[inline]
pub unsafe fn pwrite(fd: RawFd, address: *const u8, len: usize, offset: u64) -> i64 {
    // SAFETY: as the caller promises.
    of_result(unsafe { libc::syscall(libc::SYS_pwrite64, fd, address, len, signed(offset)) })
}

pub fn fsync(fd: RawFd) -> i64 {
    // SAFETY: no memory is passed.
    outcome(|| unsafe { libc::fsync(fd) }.into())
}

pub fn fdatasync(fd: RawFd) -> i64 {
    // SAFETY: no memory is passed.
    outcome(|| unsafe { libc::fdatasync(fd) }.into())
}

/// Reserves blocks of a file and extends it.
///
/// # Errors
/// No space, or the file system cannot.
pub fn fallocate(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let (fd, offset, len) = (file.as_raw_fd(), signed(offset), signed(len));
    // SAFETY: no memory is passed.
    match outcome(|| unsafe { libc::fallocate64(fd, 0, offset, len) }.into()) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(
            i32::try_from(-errno).unwrap_or(libc::EIO),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_a_signal_interrupted_is_made_again_and_what_failed_is_not() {
        let came_to = |errors: &[i32]| {
            let mut errors = errors.iter();
            let mut calls = 0;
            let result = outcome(|| {
                calls += 1;
                let Some(error) = errors.next() else {
                    return 4096;
                };
                // SAFETY: the number is this thread's own.
                unsafe { *libc::__errno_location() = *error };
                -1
            });
            (result, calls)
        };
        assert_eq!(came_to(&[]), (4096, 1));
        assert_eq!(came_to(&[libc::EINTR, libc::EINTR]), (4096, 3));
        let failed = (-i64::from(libc::EIO), 2);
        assert_eq!(came_to(&[libc::EINTR, libc::EIO]), failed);
        let interrupted = (-i64::from(libc::EINTR), 100);
        assert_eq!(came_to(&[libc::EINTR; 1000]), interrupted);
    }
}
