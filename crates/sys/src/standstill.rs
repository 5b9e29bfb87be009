//! A process that the kernel ends where it stands still.

use crate::clock::{Clock as _, MachineClock};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// How often in that time the process says that it does not stand still.
const OFTEN: u64 = 8;

/// A timer of the kernel that kills this process when it is not set again (timer_create(2)): a process that is stopped
/// takes no other signal, and this one without going on.
struct Killer(libc::timer_t);

impl Killer {
    fn begin() -> Option<Self> {
        let mut event = MaybeUninit::<libc::sigevent>::zeroed();
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: all zeroes are a `sigevent`, of which these two are what SIGEV_SIGNAL needs; the kernel writes one
        // timer where it says that it has.
        unsafe {
            let event = event.assume_init_mut();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGKILL;
            let made = libc::timer_create(libc::CLOCK_MONOTONIC, event, timer.as_mut_ptr());
            (made == 0).then(|| Self(timer.assume_init()))
        }
    }

    fn set(&self, after_ns: u64) {
        const SECOND: u64 = 1_000_000_000;
        let never = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let times = libc::itimerspec {
            it_interval: never,
            it_value: libc::timespec {
                tv_sec: (after_ns / SECOND).try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: (after_ns % SECOND).try_into().unwrap_or(0),
            },
        };
        // SAFETY: the timer is the kernel's own, which reads one `itimerspec` and writes nothing.
        unsafe { libc::timer_settime(self.0, 0, &raw const times, std::ptr::null_mut()) };
    }
}

// SAFETY: the kernel knows the timer by its number, whichever thread says it.
unsafe impl Send for Killer {}

/// The timer, once there is one, and after which time it kills.
static KILLER: Mutex<Option<(Killer, u64)>> = Mutex::new(None);
/// Somebody is allowed to stand still.
static IS_FREE: AtomicBool = AtomicBool::new(false);

fn set_again() {
    let killer = KILLER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((killer, still_ns)) = &*killer {
        killer.set(if IS_FREE.load(Relaxed) { 0 } else { *still_ns });
    }
}

/// From now on the kernel kills this process where it stands still for so long, as one does that somebody has stopped for
/// good: whoever waits for its end would wait for ever.
pub fn end_when_still_for(still_ns: u64) {
    let Some(killer) = Killer::begin() else {
        return;
    };
    *KILLER.lock().unwrap_or_else(PoisonError::into_inner) = Some((killer, still_ns));
    let goes_on = move || {
        let clock = MachineClock::monotonic();
        loop {
            set_again();
            clock.sleep_until(clock.now() + still_ns / OFTEN);
        }
    };
    let thread = std::thread::Builder::new().name("fathom-awake".into());
    let _it_is_not_set_without = thread.spawn(goes_on);
}

/// Does something in which this process may be stopped for as long as anybody likes.
pub fn free_to_stand_still<T>(act: impl FnOnce() -> T) -> T {
    IS_FREE.store(true, Relaxed);
    set_again();
    let done = act();
    IS_FREE.store(false, Relaxed);
    set_again();
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    const STILL_NS: u64 = 500_000_000;

    #[test]
    #[ignore = "is a process of the other test"]
    fn a_process_that_ends_when_it_stands_still() {
        end_when_still_for(STILL_NS);
        let clock = MachineClock::monotonic();
        // It is not ended while it goes on.
        clock.sleep_until(clock.now() + 4 * STILL_NS);
        let told = std::io::stdout().write_all(b"it goes on\n");
        told.unwrap();
        clock.sleep_until(u64::MAX);
    }

    #[test]
    fn who_stands_still_is_killed_and_who_goes_on_is_not() {
        let name = "standstill::tests::a_process_that_ends_when_it_stands_still";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line.ends_with("it goes on")));
        crate::signal_process(child.id(), libc::SIGSTOP).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
