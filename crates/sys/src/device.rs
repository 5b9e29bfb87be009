//! What a server of block devices in user space asks of the kernel beside its rings.

use crate::checked;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Memory of a driver, which it changes and this process reads.
pub struct DeviceView {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is only read, by copies, and lives as long as its owner.
unsafe impl Send for DeviceView {}

impl DeviceView {
    /// Maps so many bytes of a device's memory from `offset` on.
    ///
    /// # Errors
    /// The driver has no such range.
    pub fn new(device: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let offset = libc::off64_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: a fresh shared mapping of the descriptor.
        let base = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                device.as_raw_fd(),
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { base, bytes })
    }

    /// Copies `N` words of four bytes from `offset` on, as they are at this moment.
    ///
    /// # Panics
    /// The range does not lie inside the mapping, or is not aligned.
    #[inline]
    #[must_use]
    pub fn words<const N: usize>(&self, offset: usize) -> [u32; N] {
        assert!(
            offset.is_multiple_of(4) && offset + 4 * N <= self.bytes,
            "{offset} lies outside the mapping"
        );
        std::array::from_fn(|i| {
            // SAFETY: inside the mapping and aligned (asserted); the driver may write at any time,
            // so that each word is read once and as it stands.
            unsafe {
                self.base
                    .as_ptr()
                    .add(offset + 4 * i)
                    .cast::<u32>()
                    .read_volatile()
            }
        })
    }
}

impl Drop for DeviceView {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Tells the kernel that this process stands below file systems: memory that it asks for is never
/// won by writing back to them, which could wait for this process.
///
/// # Errors
/// No permission, or a kernel without.
pub fn stand_below_file_systems() -> io::Result<()> {
    /// `linux/prctl.h`.
    const SET_IO_FLUSHER: libc::c_int = 57;
    // SAFETY: no memory is passed.
    checked(libc::c_long::from(unsafe {
        libc::prctl(SET_IO_FLUSHER, 1_u64, 0_u64, 0_u64, 0_u64)
    }))
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn words_are_read_where_they_stand_and_as_they_are_at_the_moment() {
        use std::os::unix::fs::FileExt as _;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 8192]).unwrap();
        let view = DeviceView::new(&file, 4096, 4096).unwrap();
        file.write_all_at(&7_u32.to_ne_bytes(), 4096 + 12).unwrap();
        assert_eq!(view.words::<2>(8), [0, 7]);
    }

    #[test]
    #[should_panic(expected = "outside the mapping")]
    fn nothing_is_read_beyond_the_mapping() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let view = DeviceView::new(&file, 0, 4096).unwrap();
        let _never = view.words::<1>(4096);
    }
}
