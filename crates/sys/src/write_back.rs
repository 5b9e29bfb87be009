//! What was written to a file, on its way to the device.

use crate::checked;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Has the kernel begin to write a part of a file to its device, and waits for no end of it. It
/// makes nothing durable: that is for a sync, which has less to do after it.
///
/// # Errors
/// The file is none that has such a cache.
pub fn begin_write_back(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    let [at, bytes] =
        [offset, len].map(|of| libc::off64_t::try_from(of).unwrap_or(libc::off64_t::MAX));
    // SAFETY: no memory is passed.
    checked(libc::c_long::from(unsafe {
        libc::sync_file_range(file.as_raw_fd(), at, bytes, flags)
    }))
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_it_and_a_pipe_does_not() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        begin_write_back(&file, 4096, 1 << 19).unwrap();
        let (near, _far) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(near));
        assert!(begin_write_back(&pipe, 0, 1).is_err());
    }
}
