//! Every system call that the standard library lacks, wrapped once.

pub mod aio;
mod files;
mod memory;
mod poll;
mod process;
mod rename;
mod signals;

pub use files::{
    Advice, LockKind, block_device_size, direct_alignment, direct_flag, dsync_flag,
    exclusive_block_open, fadvise, fallocate, free_bytes, is_symlink_loop, loop_backing, may_write,
    next_data, next_hole, noatime_flag, ofd_is_locked, ofd_lock, ofd_try_lock, ofd_unlock,
    open_without_waiting, read_xattr, resident_bytes, sync_flag, write_xattr,
};
pub(crate) use files::{fdatasync, fsync, pread, pwrite};
pub(crate) use memory::{FileMap, catch_bus_errors, map_anonymous, unmap};
pub use memory::{bind_memory, page_size};
pub(crate) use poll::{Readiness, wait_ready};
pub use process::{
    Usage, precise_sleeps, raise_file_limit, set_affinity, thread_id, usage_of_process,
    usage_of_thread,
};
pub(crate) use process::{file_clock, file_clock_tick, monotonic_ns, sleep_ns, suspended_ns};
pub use rename::rename_no_replace;
pub use signals::{CaughtSignal, catch_signals, caught_signal};

use std::io;

/// The kernel's answer as a result.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
