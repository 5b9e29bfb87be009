//! Mappings, their placement, and the fault that a broken one raises.

use crate::transfers::outcome;
use crate::{checked, pread, pwrite};
use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a memory page.
#[must_use]
pub fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    if SIZE.load(Relaxed) == 0 {
        // SAFETY: no memory is passed.
        SIZE.store(
            usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096),
            Relaxed,
        );
    }
    SIZE.load(Relaxed)
}

/// A file in memory that shows this name to whoever looks at the descriptors of the process.
///
/// # Errors
/// The kernel has no such files, or the process no descriptor left.
pub(crate) fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: the name ends with a zero byte and outlives the call.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    checked(libc::c_long::from(descriptor))?;
    // SAFETY: the descriptor is a fresh one.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Fresh private memory, which [`unmap`] gives back.
///
/// # Errors
/// The kernel has none.
pub fn map_anonymous(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh private mapping.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

/// Has the allocator keep little of what was freed: few arenas, whatever the number of threads, and
/// large pieces given back to the kernel. By itself the GNU allocator has eight arenas a CPU that
/// never shrink below what each had at once, and begins to keep pieces as large as the largest that
/// was ever freed. Before the first thread; other allocators are as they are.
pub fn keep_little_free() {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        (libc::M_TRIM_THRESHOLD, FREE_AT_MOST),
    ] {
        // SAFETY: no memory is passed. What it refuses stays as it was, which costs memory alone.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Arenas of the allocator.
#[cfg(target_env = "gnu")]
const ARENAS: libc::c_int = 2;
/// Pieces of so many bytes are mapped each for itself.
#[cfg(target_env = "gnu")]
const MAPPED_FROM: libc::c_int = 1 << 20;
/// Free bytes at the end of an arena that are kept.
#[cfg(target_env = "gnu")]
const FREE_AT_MOST: libc::c_int = 1 << 20;

/// # Safety
/// The range came from [`map_anonymous`] and nothing refers to it any more.
pub unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}

/// Makes the calling thread take memory from these NUMA nodes alone.
///
/// # Errors
/// A node that the machine lacks, or a kernel without NUMA.
pub fn bind_memory(nodes: &[u32]) -> io::Result<()> {
    const MPOL_BIND: libc::c_long = 2;
    let mut mask = [0_u64; 16];
    for &node in nodes {
        let word = mask
            .get_mut(node as usize / 64)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (node % 64);
    }
    // SAFETY: the mask is as long as said (in bits, plus one as the kernel counts).
    checked(unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            MPOL_BIND,
            mask.as_ptr(),
            mask.len() * 64 + 1,
        )
    })
    .map(drop)
}

/// Advice given for a whole mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAdvice {
    Sequential,
    Random,
    WillNeed,
    DontNeed,
    HugePage,
    NoHugePage,
}

/// A whole file mapped into memory.
pub struct FileMap {
    base: NonNull<u8>,
    bytes: usize,
    file: File,
    writable: bool,
}

// SAFETY: the mapping is only reached through the map's owner; other mappings of the same file race
// as the file itself does.
unsafe impl Send for FileMap {}
// SAFETY: as above: threads that share a map copy as those with maps of their own do, and the mark
// of a broken page is each thread's own.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Maps the first `bytes` of a file.
    ///
    /// # Errors
    /// A file that cannot be mapped.
    pub fn new(file: File, bytes: u64, writable: bool) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let access = if writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        // SAFETY: a fresh shared mapping of the descriptor.
        let base = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self {
            base,
            bytes,
            file,
            writable,
        })
    }

    /// # Errors
    /// Advice that the kernel refuses.
    pub fn advise(&self, advice: MapAdvice) -> io::Result<()> {
        let word = match advice {
            MapAdvice::Sequential => libc::MADV_SEQUENTIAL,
            MapAdvice::Random => libc::MADV_RANDOM,
            MapAdvice::WillNeed => libc::MADV_WILLNEED,
            MapAdvice::DontNeed => libc::MADV_DONTNEED,
            MapAdvice::HugePage => libc::MADV_HUGEPAGE,
            MapAdvice::NoHugePage => libc::MADV_NOHUGEPAGE,
        };
        // SAFETY: the range is the whole mapping, which no reference covers between calls.
        checked(libc::c_long::from(unsafe {
            libc::madvise(self.base.as_ptr().cast(), self.bytes, word)
        }))
        .map(drop)
    }

    fn range(&self, offset: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(offset).ok()?;
        (start.checked_add(len)? <= self.bytes).then_some(start)
    }

    /// Copies out of the mapping; bytes, or a negative errno.
    #[inline]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> i64 {
        let Some(start) = self.range(offset, into.len()) else {
            return -i64::from(libc::EINVAL);
        };
        // SAFETY: the range lies inside the mapping; a page that is gone is replaced by the handler
        // and reported below.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.base.as_ptr().add(start),
                into.as_mut_ptr(),
                into.len(),
            )
        };
        self.outcome(start, into.len())
    }

    /// Copies into the mapping; bytes, or a negative errno.
    #[inline]
    pub fn write(&self, offset: u64, from: &[u8]) -> i64 {
        let Some(start) = self.range(offset, from.len()).filter(|_| self.writable) else {
            return -i64::from(libc::EINVAL);
        };
        // SAFETY: as in `read`, and the mapping is writable.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.base.as_ptr().add(start), from.len())
        };
        self.outcome(start, from.len())
    }

    /// Has the kernel copy out of the mapping to a place of an open file, without a buffer between;
    /// bytes, or a negative errno, which is EFAULT where a page is gone.
    #[inline]
    pub fn give(&self, offset: u64, len: usize, to: BorrowedFd<'_>, at: u64) -> i64 {
        let Some(start) = self.range(offset, len) else {
            return -i64::from(libc::EINVAL);
        };
        // SAFETY: the range lies inside the mapping. Others may write it meanwhile, as they may write
        // the file: the kernel copies either's bytes.
        unsafe { pwrite(to.as_raw_fd(), self.base.as_ptr().add(start), len, at) }
    }

    /// Has the kernel copy into the mapping from a place of an open file; as [`FileMap::give`].
    #[inline]
    pub fn take(&self, offset: u64, len: usize, from: BorrowedFd<'_>, at: u64) -> i64 {
        let Some(start) = self.range(offset, len).filter(|_| self.writable) else {
            return -i64::from(libc::EINVAL);
        };
        // SAFETY: as in `give`, and the mapping is writable; no reference covers it between calls.
        unsafe { pread(from.as_raw_fd(), self.base.as_ptr().add(start), len, at) }
    }

    /// Bytes of a copy that has just ended, or EIO if a page of it was broken.
    #[inline]
    fn outcome(&self, start: usize, len: usize) -> i64 {
        // Keeps the flag's reading after the copy: the handler runs inside it.
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        if FAULTED.with(|flag| flag.replace(false)) {
            self.map_again(start, len);
            return -i64::from(libc::EIO);
        }
        len as i64
    }

    /// Puts the file back where the handler put memory of its own, so that the next copy meets the
    /// file again and not zeros.
    #[cold]
    fn map_again(&self, start: usize, len: usize) {
        let page = page_size();
        let first = start & !(page - 1);
        let bytes = (start + len).min(self.bytes) - first;
        let access = if self.writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        let offset = libc::off64_t::try_from(first).unwrap_or(libc::off64_t::MAX);
        // SAFETY: the pages are part of this mapping, which no reference covers between calls. A
        // refusal leaves them as they are: the file was mapped here before, so that it can
        // only be lack of memory, which the next copy meets too.
        unsafe {
            let place = self.base.as_ptr().add(first);
            libc::mmap64(
                place.cast(),
                bytes,
                access,
                libc::MAP_SHARED | libc::MAP_FIXED,
                self.file.as_raw_fd(),
                offset,
            )
        };
    }

    /// Writes dirty pages back and waits; 0, or a negative errno.
    pub fn flush(&self) -> i64 {
        let base = self.base.as_ptr().cast();
        // SAFETY: the range is the whole mapping.
        outcome(|| unsafe { libc::msync(base, self.bytes, libc::MS_SYNC) }.into())
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

thread_local! {
    static FAULTED: Cell<bool> = const { Cell::new(false) };
}

/// Puts a zero page where the mapping is broken, so that the copy goes on, and marks the thread.
/// Only async-signal-safe calls.
extern "C" fn on_bus_error(
    _signal: libc::c_int,
    details: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo for SIGBUS.
    let address = unsafe { (*details).si_addr() } as usize;
    let page = page_size();
    let start = address & !(page - 1);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is part of a mapping that cannot be reached any more; replacing it loses
    // nothing that could be read.
    let replaced = unsafe { libc::mmap(start as *mut libc::c_void, page, access, flags, -1, 0) };
    if address == 0 || replaced == libc::MAP_FAILED {
        // SAFETY: ends the process; nothing else is left to do inside a handler.
        unsafe { libc::abort() };
    }
    FAULTED.with(|flag| flag.set(true));
}

/// Installs the handler for broken mappings, once a process.
pub fn catch_bus_errors() {
    static ONCE: Once = Once::new();
    let _page_size_is_known_before_the_handler_runs = page_size();
    ONCE.call_once(|| {
        // SAFETY: an all-zero sigaction is valid and is filled below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    });
}
