//! What Fathom asks of the kernel: clock, signals, resource usage, files, mappings, polling.
//!
//! Every system call that the standard library lacks is wrapped once, here, and a caller of the
//! wrapper needs no `unsafe` unless it hands over memory of its own. The clocks and sleeps of the
//! whole program are in [`clock`].
//!
//! Deliberately absent: what an operation is, what is counted, and every decision.

pub mod aio;
mod announce;
mod bounded;
mod child;
pub mod clock;
mod clock_reader;
mod deputy;
mod device;
mod files;
mod memory;
mod poll;
mod process;
mod rename;
mod signals;
mod socket;
mod standstill;
mod terminal;
mod transfers;
mod vigil;
mod write_back;

pub use announce::{FileUse, LOCKABLE, announce_use, is_announced};
pub use bounded::{MOST_OF_A_TEXT, read_at_most, text_at_most};
pub use child::{
    ProcessEnd, Spent, adopt_orphans, children_of, own_children, signal_group, signal_number,
    signal_process, wait_child,
};
pub use clock::{Clock, MachineClock, PairedReading, VirtualClock};
pub use clock_reader::ClockReader;
pub use deputy::{Deputed, Deputy};
pub use device::{DeviceView, stand_below_file_systems};
pub use files::{
    Advice, LockKind, block_bytes, block_device_size, direct_alignment, direct_flag, dsync_flag,
    exclusive_block_open, fadvise, free_bytes, is_symlink_loop, loop_backing, may_write, next_data,
    next_hole, noatime_flag, ofd_is_locked, ofd_lock, ofd_try_lock, ofd_unlock,
    open_without_waiting, read_xattr, resident_bytes, sync_flag, write_xattr,
};
pub use memory::{
    FileMap, MapAdvice, bind_memory, catch_bus_errors, keep_little_free, map_anonymous, page_size,
    unmap,
};
pub use poll::{Readiness, unread_of_pipe, wait_ready};
pub use process::{
    PreciseSleeps, Usage, WallClockState, cpu_of_thread, exit_at_once, is_root, monotonic_ns,
    precise_sleeps, raise_file_limit, random_bits, run_before_others, set_affinity, thread_id,
    usage_of_process, usage_of_thread, wall_clock_state, with_limits_before,
};
pub use rename::rename_no_replace;
pub use signals::{
    CaughtSignal, catch_signals, catches_signals, caught_signal, end_descriptor,
    ignore_what_launchers_hand_on, is_told_twice, name_signal, named_signal, stop_with_another,
    stopped_by, stopped_code, wait_for_children, was_woken,
};
pub use socket::{connect_at_once, connect_patiently, patiently};
pub use standstill::{end_when_still_for, free_to_stand_still};
pub use terminal::{terminal_size, yield_to_others};
pub use transfers::{fallocate, fdatasync, fsync, pread, pwrite};
pub use vigil::{Standstill, Vigil, over_while_awake, wait_while_awake};
pub use write_back::begin_write_back;

use std::io;

/// The kernel's answer as a result.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
