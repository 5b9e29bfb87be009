//! Renaming that cannot destroy.

use crate::checked;
use std::ffi::CStr;
use std::io;

/// Renames unless the new name is taken, in one step.
///
/// # Errors
/// `EEXIST` when it is taken, `EINVAL` where the file system has no such rename (NFS), and other
/// failures.
pub fn rename_no_replace(from: &CStr, to: &CStr) -> io::Result<()> {
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both names end in NUL.
    checked(unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            here,
            from.as_ptr(),
            here,
            to.as_ptr(),
            flags,
        )
    })
    .map(drop)
}
