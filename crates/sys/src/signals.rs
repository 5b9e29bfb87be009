//! Signals that end a run instead of the process.

use crate::{checked, monotonic_ns};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};

/// A second signal says that somebody has lost patience only if it comes so much later than the
/// first: `timeout` signals both the process and its group, and a terminal that hangs up sends a
/// signal of its own beside the shell's.
const SAME_WISH_NS: u64 = 500_000_000;

/// Number of the first signal, 0 before it.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// When the first signal came, 0 before it.
static FIRST_AT: AtomicU64 = AtomicU64::new(0);
static IMPATIENT: AtomicBool = AtomicBool::new(false);
/// When this process was told to go on, 0 before.
static WOKEN_AT: AtomicU64 = AtomicU64::new(0);
/// Number of the signal that the first stands for, 0 where it is itself.
static NAMED: AtomicI32 = AtomicI32::new(0);

/// What signals have asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaughtSignal {
    /// The number of the first.
    pub signal: i32,
    /// Another one came so much later that whoever sent it does not want to wait.
    pub impatient: bool,
}

impl CaughtSignal {
    /// The code by which a process says that it was stopped so.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        stopped_code(self.signal)
    }

    /// Whether the terminal is gone, so that nobody reads what is written to it.
    #[must_use]
    pub fn terminal_is_gone(self) -> bool {
        self.signal == libc::SIGHUP
    }
}

/// Exit codes beyond it are of signals, as shells have them.
const STOPPED_BY: i32 = 128;

/// The exit code of what this signal stopped.
#[must_use]
pub fn stopped_code(signal: i32) -> i32 {
    STOPPED_BY + signal
}

/// Which signal stopped what ended with this code.
#[must_use]
pub fn stopped_by(exit_code: i32) -> Option<i32> {
    Some(exit_code - STOPPED_BY).filter(|signal| *signal > 0)
}

fn is_impatient(first_at: u64, now: u64) -> bool {
    now.saturating_sub(first_at) >= SAME_WISH_NS
}

extern "C" fn on_signal(signal: libc::c_int) {
    let now = monotonic_ns().max(1);
    match FIRST_AT.compare_exchange(0, now, Relaxed, Relaxed) {
        Ok(_) => FIRST.store(signal, Relaxed),
        Err(first_at) if is_impatient(first_at, now) => IMPATIENT.store(true, Relaxed),
        Err(_) => {}
    }
}

/// A process that is told to go on does so; it is told that somebody said it.
extern "C" fn on_wake(_: libc::c_int) {
    WOKEN_AT.store(monotonic_ns().max(1), Relaxed);
}

/// The write that went beyond the limit says so itself.
extern "C" fn on_file_limit(_: libc::c_int) {}

/// Makes SIGINT, SIGTERM, SIGHUP and SIGXCPU stop the run instead of the process, and likewise what
/// schedulers of jobs and timers send before they end one; a file beyond its limit is an error
/// instead of a death by SIGXFSZ. A hang-up that is ignored, as under `nohup`,
/// stays ignored.
pub fn catch_signals() {
    let stopping = [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGXCPU,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
    ];
    for signal in stopping {
        dispose(signal, on_signal as *const () as usize);
    }
    dispose(libc::SIGCONT, on_wake as *const () as usize);
    if disposition(libc::SIGHUP) != libc::SIG_IGN {
        dispose(libc::SIGHUP, on_signal as *const () as usize);
    }
    // Programs that this one starts are to have it as it was: what is ignored stays so in them, and
    // what is handled does not.
    if disposition(libc::SIGXFSZ) == libc::SIG_DFL {
        dispose(libc::SIGXFSZ, on_file_limit as *const () as usize);
    }
}

/// Until [`catch_signals`]: SIGUSR1, by which Open MPI's launcher asks for the end, kills no process that
/// has not come so far.
pub fn ignore_what_launchers_hand_on() {
    dispose(libc::SIGUSR1, libc::SIG_IGN);
}

/// Children that end are waited for, whatever whoever started this process made of SIGCHLD: where that is ignored, the
/// kernel keeps no end of any.
pub fn wait_for_children() {
    dispose(libc::SIGCHLD, libc::SIG_DFL);
}

/// Whether [`catch_signals`] has been done, and nobody has undone it.
#[must_use]
pub fn catches_signals() -> bool {
    disposition(libc::SIGUSR1) == on_signal as *const () as usize
}

fn dispose(signal: libc::c_int, how: libc::sighandler_t) {
    // SAFETY: an all-zero sigaction is valid and is filled below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = how;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: a handler reads a clock and stores to atomics, which a signal may interrupt anything
    // for, or does nothing.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}

fn disposition(signal: libc::c_int) -> libc::sighandler_t {
    // SAFETY: an all-zero sigaction is valid, and the kernel fills it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; the structure is valid for the call.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    action.sa_sigaction
}

/// A descriptor that can be read once SIGINT, SIGTERM or SIGHUP was sent. They end nothing by
/// themselves any more: the calling thread, and those that it starts from now on, do not take them.
///
/// # Errors
/// The process has no descriptor left.
pub fn end_descriptor() -> io::Result<OwnedFd> {
    let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is made before it is added to and used; the descriptor is a fresh one.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        let blocked =
            libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut());
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let descriptor = libc::signalfd(-1, signals.as_ptr(), flags);
        checked(libc::c_long::from(descriptor))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Whoever sends a signal to this process hands on this one, and may do so as another. Nothing stops by
/// that; what stops afterwards was stopped by it.
pub fn name_signal(signal: i32) {
    NAMED.store(signal, Relaxed);
}

/// What [`name_signal`] was told.
#[must_use]
pub fn named_signal() -> Option<i32> {
    Some(NAMED.load(Relaxed)).filter(|signal| *signal != 0)
}

/// Whether somebody has told this process to go on in the last so many nanoseconds. Some launchers say it
/// to all that they are about to end, a while before they ask them to.
#[must_use]
pub fn was_woken(within_ns: u64) -> bool {
    let at = WOKEN_AT.load(Relaxed);
    at > 0 && monotonic_ns().saturating_sub(at) < within_ns
}

/// A process that works together with this one was told to stop by this signal: whoever asks here is
/// told the same, if nothing was heard before.
pub fn stop_with_another(signal: i32) {
    if FIRST_AT.load(Relaxed) == 0 {
        on_signal(signal);
    }
}

/// What signals have asked for, `None` before the first.
#[must_use]
pub fn caught_signal() -> Option<CaughtSignal> {
    match FIRST.load(Relaxed) {
        0 => None,
        signal => Some(CaughtSignal {
            signal: named_signal().unwrap_or(signal),
            impatient: IMPATIENT.load(Relaxed),
        }),
    }
}

/// Whether signals have asked twice for the end: what is in flight is given up.
#[must_use]
pub fn is_told_twice() -> bool {
    caught_signal().is_some_and(|caught| caught.impatient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_whether_signals_are_caught() {
        assert!(!catches_signals());
        catch_signals();
        assert!(catches_signals());
    }

    #[test]
    fn the_code_of_a_signal_names_it() {
        assert_eq!([1, 2, 15].map(stopped_code), [129, 130, 143]);
        let named = [0, 5, 128, 129, 143].map(stopped_by);
        assert_eq!(named, [None, None, None, Some(1), Some(15)]);
    }

    #[test]
    fn a_second_signal_within_half_a_second_is_the_same_wish() {
        let first = 7_000_000_000;
        let later = [0, 1, 20_000_000, 499_999_999, 500_000_000, 3_000_000_000]
            .map(|after| is_impatient(first, first + after));
        assert_eq!(later, [false, false, false, false, true, true]);
        assert!(
            !is_impatient(first, first - 1),
            "a reading of another CPU may be a little earlier"
        );
    }
}
