//! A process that the kernel ends where it stands still.

use crate::clock::{Clock as _, MachineClock};
use std::mem::MaybeUninit;

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

/// From now on the kernel kills this process where it stands still for so long, as one does that somebody has stopped for
/// good: whoever waits for its end would wait for ever.
pub fn end_when_still_for(still_ns: u64) {
    let goes_on = move || {
        let clock = MachineClock::monotonic();
        let Some(killer) = Killer::begin() else {
            return;
        };
        loop {
            killer.set(still_ns);
            clock.sleep_until(clock.now() + still_ns / OFTEN);
        }
    };
    let thread = std::thread::Builder::new().name("fathom-awake".into());
    let _it_is_as_without = thread.spawn(goes_on);
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
