//! Waiting for a socket.

use crate::checked;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt as _;

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Input,
    Output,
    InputOrOutput,
}

/// Waits until the descriptor is ready or broken, no longer than `timeout_ns` (`u64::MAX`: for
/// ever); `false` when the time was over first.
///
/// # Errors
/// `Interrupted` when a signal came, and whatever the kernel refuses.
pub fn wait_ready(descriptor: impl AsFd, wanted: Readiness, timeout_ns: u64) -> io::Result<bool> {
    let events = match wanted {
        Readiness::Input => libc::POLLIN,
        Readiness::Output => libc::POLLOUT,
        Readiness::InputOrOutput => libc::POLLIN | libc::POLLOUT,
    };
    let mut entry = libc::pollfd {
        fd: descriptor.as_fd().as_raw_fd(),
        events,
        revents: 0,
    };
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
    };
    let limit = if timeout_ns == u64::MAX {
        std::ptr::null()
    } else {
        &raw const limit
    };
    // SAFETY: one entry is passed, the time is valid or absent, and no signal mask is given.
    checked(libc::c_long::from(unsafe {
        libc::ppoll(&raw mut entry, 1, limit, std::ptr::null())
    }))
    .map(|ready| ready > 0)
}

/// How much of what was written into a pipe nobody has read yet; `None` of anything else.
#[must_use]
pub fn unread_of_pipe(descriptor: impl AsFd) -> Option<u64> {
    let own = descriptor.as_fd().try_clone_to_owned().ok()?;
    let kind = std::fs::File::from(own).metadata().ok()?.file_type();
    let mut unread: libc::c_int = 0;
    let of = descriptor.as_fd().as_raw_fd();
    // SAFETY: the kernel writes one number.
    let answer = unsafe { libc::ioctl(of, libc::FIONREAD, &raw mut unread) };
    let unread = u64::try_from(unread).ok();
    unread.filter(|_| answer == 0 && kind.is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_nobody_has_read_of_a_pipe_is_known_at_the_end_that_writes() {
        let (mut reads, mut writes) = std::io::pipe().unwrap();
        assert_eq!(unread_of_pipe(&writes), Some(0));
        writes.write_all(b"some").unwrap();
        assert_eq!(unread_of_pipe(&writes), Some(4));
        reads.read_exact(&mut [0; 4]).unwrap();
        assert_eq!(unread_of_pipe(&writes), Some(0));
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert_eq!(unread_of_pipe(&file), None);
    }

    #[test]
    fn a_silent_peer_runs_into_the_timeout_and_a_speaking_or_closing_one_does_not() {
        let (mine, mut peer) = UnixStream::pair().unwrap();
        assert!(!wait_ready(&mine, Readiness::Input, 1_000).unwrap());
        assert!(
            wait_ready(&mine, Readiness::InputOrOutput, u64::MAX).unwrap(),
            "an empty socket takes output"
        );
        peer.write_all(b"x").unwrap();
        assert!(wait_ready(&mine, Readiness::Input, u64::MAX).unwrap());
        let (mine, peer) = UnixStream::pair().unwrap();
        drop(peer);
        assert!(wait_ready(&mine, Readiness::Input, u64::MAX).unwrap());
    }
}
