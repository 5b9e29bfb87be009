//! Calls on files and devices.

use crate::checked;
use crate::transfers::signed;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Open flag that skips access times; refused for files of other users.
#[must_use]
pub fn noatime_flag() -> i32 {
    libc::O_NOATIME
}

/// Open flag that bypasses the page cache.
#[must_use]
pub fn direct_flag() -> i32 {
    libc::O_DIRECT
}

/// Open flag under which writes return when data and metadata are stable.
#[must_use]
pub fn sync_flag() -> i32 {
    libc::O_SYNC
}

/// Open flag under which writes return when data is stable.
#[must_use]
pub fn dsync_flag() -> i32 {
    libc::O_DSYNC
}

/// Opens a block device so that the kernel refuses while it is mounted or held, and keeps others
/// away while the file is open.
///
/// # Errors
/// `EBUSY` when it is in use, or any other reason why it cannot be opened.
pub fn exclusive_block_open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
}

/// Device and inode of the file that a loop device is attached to; `None` for a detached one.
///
/// # Errors
/// Not a loop device, or not permitted.
pub fn loop_backing(path: &Path) -> io::Result<Option<(u64, u64)>> {
    const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
    let file = File::open(path)?;
    // struct loop_info64 is 232 bytes and begins with lo_device and lo_inode.
    let mut status = [0_u64; 29];
    // SAFETY: the kernel writes one loop_info64, for which the array has room.
    match checked(libc::c_long::from(unsafe {
        libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, status.as_mut_ptr())
    })) {
        Ok(_) => Ok(Some((status[0], status[1]))),
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Alignment that direct I/O needs in memory and in offsets, as statx tells it; `None` where the
/// kernel or file system does not say.
#[must_use]
pub fn direct_alignment(file: &File) -> Option<(u32, u32)> {
    // SAFETY: an all-zero statx is valid.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the empty path with AT_EMPTY_PATH names the descriptor; the kernel fills the
    // structure.
    let result = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut answer,
        )
    };
    (result == 0 && answer.stx_mask & libc::STATX_DIOALIGN != 0)
        .then_some((answer.stx_dio_mem_align, answer.stx_dio_offset_align))
}

/// Whether this process may write to a file, or make files in a directory, without trying it.
///
/// # Errors
/// The reason why not: no permission, a read-only file system, or no such path.
pub fn may_write(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let wanted = if path.is_dir() {
        libc::W_OK | libc::X_OK
    } else {
        libc::W_OK
    };
    // SAFETY: the name ends with a zero byte.
    checked(libc::c_long::from(unsafe {
        libc::faccessat(libc::AT_FDCWD, name.as_ptr(), wanted, libc::AT_EACCESS)
    }))
    .map(drop)
}

/// Bytes that this user may still write on the file system of a path; `None` where it does not say,
/// as some in memory or over a network.
///
/// # Errors
/// No such path, or no permission to reach it.
pub fn free_bytes(path: &Path) -> io::Result<Option<u64>> {
    let facts = file_system(path)?;
    Ok((facts.f_blocks > 0).then(|| facts.f_bavail.saturating_mul(facts.f_frsize)))
}

/// Bytes of which a file system counts what is free.
///
/// # Errors
/// No such path, or no permission to reach it.
pub fn block_bytes(path: &Path) -> io::Result<u64> {
    Ok(file_system(path)?.f_frsize)
}

fn file_system(path: &Path) -> io::Result<libc::statvfs64> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut facts = std::mem::MaybeUninit::<libc::statvfs64>::zeroed();
    // SAFETY: the name ends with a zero byte, and the kernel writes no more than the structure.
    checked(libc::c_long::from(unsafe {
        libc::statvfs64(name.as_ptr(), facts.as_mut_ptr())
    }))?;
    // SAFETY: every field is a number, for which zeros are a value.
    Ok(unsafe { facts.assume_init() })
}

/// Advice about the use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    Sequential,
    Random,
    WillNeed,
    DontNeed,
    NoReuse,
}

/// `posix_fadvise` on the whole file.
///
/// # Errors
/// The kernel refuses it for this kind of file.
pub fn fadvise(file: &File, advice: Advice) -> io::Result<()> {
    let word = match advice {
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::WillNeed => libc::POSIX_FADV_WILLNEED,
        Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
        Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
    };
    // SAFETY: no memory is passed.
    match unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, word) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn seek(file: &File, from: u64, whence: i32) -> io::Result<Option<u64>> {
    // SAFETY: no memory is passed.
    match checked(unsafe { libc::lseek64(file.as_raw_fd(), signed(from), whence) }) {
        Ok(at) => Ok(u64::try_from(at).ok()),
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(e) => Err(e),
    }
}

/// First byte at or after `from` that lies in a hole (the end of the file counts as one); `None`
/// beyond the end.
///
/// # Errors
/// The file system cannot tell.
pub fn next_hole(file: &File, from: u64) -> io::Result<Option<u64>> {
    seek(file, from, libc::SEEK_HOLE)
}

/// First byte at or after `from` that holds data; `None` if only a hole follows.
///
/// # Errors
/// The file system cannot tell.
pub fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    seek(file, from, libc::SEEK_DATA)
}

/// Bytes of the first `len` bytes of a file that are in the page cache, by `mincore`.
///
/// # Errors
/// The file cannot be mapped.
pub fn resident_bytes(file: &File, len: u64) -> io::Result<u64> {
    const WINDOW: u64 = 1 << 30;
    let page = super::page_size() as u64;
    let (mut at, mut resident) = (0, 0);
    let mut flags = Vec::new();
    while at < len {
        let bytes = usize::try_from((len - at).min(WINDOW)).unwrap_or(usize::MAX);
        flags.resize(bytes.div_ceil(super::page_size()), 0_u8);
        // SAFETY: a fresh read-only mapping that is only asked about and unmapped again.
        let base = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                signed(at),
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the vector has one byte a page of the mapping.
        let result = unsafe { libc::mincore(base, bytes, flags.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: mapped just above with this length.
        unsafe { libc::munmap(base, bytes) };
        if result != 0 {
            return Err(error);
        }
        resident += flags.iter().filter(|flag| **flag & 1 == 1).count() as u64 * page;
        at += WINDOW;
    }
    Ok(resident.min(len))
}

/// Size of a block device in bytes.
///
/// # Errors
/// Not a block device.
pub fn block_device_size(file: &File) -> io::Result<u64> {
    const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
    let mut bytes = 0_u64;
    // SAFETY: the kernel writes one u64.
    checked(libc::c_long::from(unsafe {
        libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes)
    }))
    .map(|_| bytes)
}

/// Value of an extended attribute of an open file; `None` when absent.
///
/// # Errors
/// `EOPNOTSUPP` where the file system has none, and other failures.
pub fn read_xattr(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    let name = CString::new(name)?;
    let mut value = vec![0_u8; 4096];
    // SAFETY: the name ends in NUL and the buffer is as long as said.
    match checked(unsafe {
        libc::fgetxattr(
            file.as_raw_fd(),
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            value.len(),
        )
    } as libc::c_long)
    {
        Ok(n) => {
            value.truncate(usize::try_from(n).unwrap_or(0));
            Ok(Some(value))
        }
        Err(e) if e.raw_os_error() == Some(libc::ENODATA) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Sets an extended attribute of an open file.
///
/// # Errors
/// `EOPNOTSUPP` where the file system has none, and other failures.
pub fn write_xattr(file: &File, name: &str, value: &[u8]) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the name ends in NUL and the value is as long as said.
    checked(libc::c_long::from(unsafe {
        libc::fsetxattr(
            file.as_raw_fd(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    }))
    .map(drop)
}

/// Opens a path without waiting for anybody: a FIFO without a writer, or a device without a
/// carrier, would otherwise hold the opener for ever. Transfers of the file that is returned wait
/// as usual.
///
/// # Errors
/// As of the open itself.
pub fn open_without_waiting(
    options: &mut OpenOptions,
    flags: i32,
    path: &Path,
) -> io::Result<File> {
    let file = options
        .custom_flags(flags | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    // SAFETY: no memory is passed.
    let now = checked(libc::c_long::from(unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_GETFL)
    }))?;
    let waiting = libc::c_int::try_from(now).unwrap_or(0) & !libc::O_NONBLOCK;
    // SAFETY: no memory is passed.
    checked(libc::c_long::from(unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, waiting)
    }))?;
    Ok(file)
}

/// Whether a path could not be followed because its symlinks lead in a circle.
#[must_use]
pub fn is_symlink_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

/// Whether a lock excludes readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    Shared,
    Exclusive,
}

fn lock_call(
    file: &File,
    command: libc::c_int,
    kind: libc::c_int,
    range: (u64, u64),
) -> io::Result<libc::flock64> {
    // SAFETY: an all-zero flock is valid; pid must be zero for open-file-description locks.
    let mut lock: libc::flock64 = unsafe { std::mem::zeroed() };
    lock.l_type = i16::try_from(kind).unwrap_or(0);
    lock.l_whence = i16::try_from(libc::SEEK_SET).unwrap_or(0);
    lock.l_start = signed(range.0);
    lock.l_len = signed(range.1);
    // SAFETY: the structure is valid for the call.
    checked(libc::c_long::from(unsafe {
        libc::fcntl(file.as_raw_fd(), command, &raw mut lock)
    }))?;
    Ok(lock)
}

fn lock_word(kind: LockKind) -> libc::c_int {
    match kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
    }
}

/// Takes an open-file-description lock on bytes [offset, offset + len), waiting for it; `len` 0
/// reaches to the end of any file.
///
/// # Errors
/// The file system has no locks, or a signal came.
pub fn ofd_lock(file: &File, kind: LockKind, offset: u64, len: u64) -> io::Result<()> {
    lock_call(file, libc::F_OFD_SETLKW, lock_word(kind), (offset, len)).map(drop)
}

/// As [`ofd_lock`], but returns `false` at once where somebody else's lock stands in the way.
///
/// # Errors
/// The file system has no locks.
pub fn ofd_try_lock(file: &File, kind: LockKind, offset: u64, len: u64) -> io::Result<bool> {
    match lock_call(file, libc::F_OFD_SETLK, lock_word(kind), (offset, len)) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Whether somebody else's lock would stand in the way of this one.
///
/// # Errors
/// The file system has no locks.
pub fn ofd_is_locked(file: &File, kind: LockKind, offset: u64, len: u64) -> io::Result<bool> {
    let found = lock_call(file, libc::F_OFD_GETLK, lock_word(kind), (offset, len))?;
    Ok(libc::c_int::from(found.l_type) != libc::F_UNLCK)
}

/// Releases what [`ofd_lock`] took.
///
/// # Errors
/// As [`ofd_lock`].
pub fn ofd_unlock(file: &File, offset: u64, len: u64) -> io::Result<()> {
    lock_call(file, libc::F_OFD_SETLKW, libc::F_UNLCK, (offset, len)).map(drop)
}
