//! Times in which this process stood still: stopped by a signal, frozen, its machine suspended or
//! paused.
//!
//! A thread that waits for short times knows when it meant to wake up. What a wait took beyond that
//! is explained by the scheduler's own account of the thread (time on a CPU, time runnable without
//! one), as on a busy machine, or by nothing: then nobody ran.

use crate::clock::Clock;
use crate::process;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A shorter time is the scheduler's, and moves no percentile that a run of seconds can show.
const LEAST_NS: u64 = 100_000_000;

/// A time in which the process stood still, on the clock of the thread that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// When the thread was awake last.
    pub from: u64,
    pub to: u64,
    /// Of it, how long the machine was suspended.
    pub suspended_ns: u64,
}

/// What the kernel says of a thread and its machine, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Accounts {
    /// On a CPU, and runnable without one; `None` where the kernel does not say.
    used: Option<u64>,
    /// Time suspended since boot, within 10 ms.
    suspended: Option<u64>,
}

/// Watches the waits of the thread that made it.
#[derive(Debug)]
pub struct Vigil {
    sched: Option<File>,
    last: Accounts,
}

impl Vigil {
    /// Begins to watch the calling thread.
    #[must_use]
    pub fn begin() -> Self {
        let mut out = Self {
            sched: File::open("/proc/thread-self/schedstat").ok(),
            last: Accounts::default(),
        };
        out.last = out.accounts();
        out
    }

    /// The thread was awake at `from`, meant to be so again at `until`, and is at `now`; whether
    /// the process stood still meanwhile.
    pub fn woke(&mut self, from: u64, until: u64, now: u64) -> Option<Standstill> {
        let accounts = self.accounts();
        let last = std::mem::replace(&mut self.last, accounts);
        judge(last, accounts, from, until, now)
    }

    /// `run_time run_delay timeslices` (Documentation/scheduler/sched-stats.rst).
    fn accounts(&self) -> Accounts {
        let mut buffer = [0; 96];
        let read = self
            .sched
            .as_ref()
            .and_then(|file| file.read_at(&mut buffer, 0).ok())
            .unwrap_or(0);
        let text = std::str::from_utf8(&buffer[..read]).unwrap_or_default();
        let mut numbers = text
            .split_ascii_whitespace()
            .map_while(|word| word.parse::<u64>().ok());
        let used = numbers
            .next()
            .zip(numbers.next())
            .map(|(on_cpu, runnable)| on_cpu.saturating_add(runnable));
        Accounts {
            used,
            suspended: process::suspended_ns(),
        }
    }
}

fn judge(before: Accounts, after: Accounts, from: u64, until: u64, now: u64) -> Option<Standstill> {
    let suspended_ns = before
        .suspended
        .zip(after.suspended)
        .map_or(0, |(before, after)| after.saturating_sub(before));
    // Two readings of two clocks are never of one moment.
    let suspended_ns = Some(suspended_ns).filter(|ns| *ns >= LEAST_NS).unwrap_or(0);
    // Without the scheduler's account nothing tells a busy machine from a stopped process.
    let unexplained = before.used.zip(after.used).map_or(0, |(before, after)| {
        now.saturating_sub(until.max(from))
            .saturating_sub(after.saturating_sub(before))
    });
    (unexplained >= LEAST_NS || suspended_ns > 0).then_some(Standstill {
        from,
        to: now,
        suspended_ns,
    })
}

/// Looks again and again whether something is over, for so long at most as this process ran: whoever was stopped with
/// all others waits on when they go on. `is_over` waits for about `step_ns` itself, and for longer where nothing else
/// lets it run. Whether it is over.
pub fn over_while_awake(
    clock: &impl Clock,
    most_ns: u64,
    step_ns: u64,
    mut is_over: impl FnMut() -> bool,
) -> bool {
    /// A busy machine lets a step take so many times as long.
    const BUSY: u64 = 10;
    let mut awake_ns = 0;
    while awake_ns < most_ns {
        let before = clock.now();
        if is_over() {
            return true;
        }
        awake_ns += clock.now().saturating_sub(before).min(BUSY * step_ns);
    }
    false
}

/// Waits until something is so, for so long at most as this process ran meanwhile, and looks after each step. Whether it
/// is so.
pub fn wait_while_awake(
    clock: &impl Clock,
    most_ns: u64,
    step_ns: u64,
    mut is_so: impl FnMut() -> bool,
) -> bool {
    over_while_awake(clock, most_ns, step_ns, || {
        let is_so = is_so();
        if !is_so {
            clock.sleep_until(clock.now() + step_ns);
        }
        is_so
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn accounts(used_ms: u64, suspended_ms: u64) -> Accounts {
        Accounts {
            used: Some(used_ms * MS),
            suspended: Some(suspended_ms * MS),
        }
    }

    fn woke(used_ms: u64, suspended_ms: u64, late_ms: u64) -> Option<Standstill> {
        judge(
            accounts(7, 5),
            accounts(7 + used_ms, 5 + suspended_ms),
            1000 * MS,
            1020 * MS,
            (1020 + late_ms) * MS,
        )
    }

    #[test]
    fn a_wait_that_nobody_lengthened_is_a_standstill() {
        assert_eq!(
            woke(1, 0, 3000),
            Some(Standstill {
                from: 1000 * MS,
                to: 4020 * MS,
                suspended_ns: 0
            })
        );
        assert_eq!(woke(0, 0, 99), None);
        assert_eq!(
            woke(0, 9, 3000).map(|still| still.suspended_ns),
            Some(0),
            "two clocks are not read at once"
        );
    }

    #[test]
    fn a_thread_that_waited_for_a_cpu_or_had_work_of_its_own_did_not_stand_still() {
        assert_eq!(woke(3000, 0, 3000), None);
        assert_eq!(woke(2950, 0, 3000), None);
        assert!(woke(1500, 0, 3000).is_some());
    }

    #[test]
    fn a_suspended_machine_stood_still_whatever_the_clock_shows() {
        assert_eq!(
            woke(0, 8000, 0).map(|still| still.suspended_ns),
            Some(8000 * MS)
        );
        assert_eq!(
            woke(0, 8000, 8000).map(|still| still.suspended_ns),
            Some(8000 * MS)
        );
    }

    #[test]
    fn without_an_account_of_the_scheduler_a_late_thread_accuses_nobody() {
        let unknown = Accounts {
            used: None,
            suspended: None,
        };
        assert_eq!(judge(unknown, unknown, 0, 20 * MS, 5000 * MS), None);
    }

    #[test]
    fn a_thread_that_does_not_wait_long_is_never_late() {
        let mut vigil = Vigil::begin();
        assert!(vigil.last.used.is_some(), "the kernel tells");
        assert_eq!(vigil.woke(10, 20, 15), None);
    }

    #[test]
    fn time_in_which_the_process_was_stopped_is_not_waited_for() {
        #[derive(Clone)]
        struct Steps(std::rc::Rc<std::cell::Cell<u64>>);
        impl Clock for Steps {
            fn now(&self) -> u64 {
                self.0.get()
            }
            fn sleep_until(&self, deadline: u64) {
                self.0.set(deadline);
            }
        }
        let clock = Steps(std::rc::Rc::default());
        let looked = |steps: &[u64], is_over_at: usize| {
            let mut count = 0;
            let is_over = super::over_while_awake(&clock, 100 * MS, 10 * MS, || {
                clock.sleep_until(clock.now() + steps[count % steps.len()]);
                count += 1;
                count == is_over_at
            });
            (count, is_over)
        };
        assert_eq!(looked(&[10 * MS], 1000), (10, false));
        assert_eq!(looked(&[10 * MS], 3), (3, true));
        assert_eq!(looked(&[50 * MS], 1000), (2, false), "a busy machine");
        let stopped = [10 * MS, 5_000 * MS];
        assert_eq!(looked(&stopped, 1000), (2, false), "as if for ten steps");
    }
}
