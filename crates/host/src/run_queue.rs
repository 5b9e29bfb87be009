//! How long a worker waited for a CPU.

use crate::Machine;
use sys::{Clock, Usage};

/// Asks the kernel how long a thread has been runnable without a CPU, at the edges of its measured time. The
/// file that says it is opened each time, which takes some microseconds: held open by each thread it would
/// count against the limit of files that workers open.
pub struct RunQueueWatch {
    machine: Machine,
    thread: u32,
    before: Option<WaitReading>,
    after: Option<WaitReading>,
}

/// How long a thread had waited at a time of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitReading {
    at: u64,
    waited_ns: u64,
}

impl RunQueueWatch {
    /// Of this thread from here on; `None` where the kernel does not say it.
    #[must_use]
    pub fn begin<C: Clock>(machine: &Machine, clock: &C) -> Option<Self> {
        let mut out = Self {
            machine: machine.clone(),
            thread: sys::thread_id(),
            before: None,
            after: None,
        };
        out.begin_anew(clock.now());
        out.before.is_some().then_some(out)
    }

    /// The measured time began at `now`, and what was before is none of it.
    pub fn begin_anew(&mut self, now: u64) {
        self.before = self.read(now);
    }

    /// The measured time is over.
    pub fn end<C: Clock>(&mut self, clock: &C) {
        let read = self.read(0);
        let at = clock.now();
        self.after = read.map(|read| WaitReading { at, ..read });
    }

    fn read(&self, at: u64) -> Option<WaitReading> {
        let waited_ns = self.machine.thread_wait_ns(self.thread)?;
        Some(WaitReading { at, waited_ns })
    }

    /// What it was told.
    #[must_use]
    pub fn seen(self) -> Option<RunQueueWait> {
        let (before, after) = self.before.zip(self.after)?;
        Some(RunQueueWait { before, after })
    }
}

/// The time that a thread has been runnable without a CPU, between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunQueueWait {
    /// Not before this time.
    before: WaitReading,
    /// Not after this time.
    after: WaitReading,
}

impl RunQueueWait {
    /// What of it was in the measured time, in which the thread used so much: never more than it was not on a
    /// CPU there, and all of that where it never slept. The readings lie a little outside of that time: of a
    /// thread that slept nothing is known where more than a twentieth of it may have been waited there.
    #[must_use]
    pub fn measured_ns(self, began: u64, ended: u64, usage: &Usage) -> Option<u64> {
        let own_ns = ended.saturating_sub(began);
        let cpu_ns = usage.user_ns.saturating_add(usage.system_ns);
        let waited_ns = self.after.waited_ns.saturating_sub(self.before.waited_ns);
        let told_ns = waited_ns.min(own_ns.saturating_sub(cpu_ns));
        let outside_ns = began.saturating_sub(self.before.at) + self.after.at.saturating_sub(ended);
        // What is not told was outside, and left less time there for more.
        let untold_ns = waited_ns - told_ns;
        let untrue_ns = told_ns.min(outside_ns.saturating_sub(untold_ns));
        let is_known = usage.voluntary_switches == 0 || untrue_ns <= own_ns / 20;
        is_known.then_some(told_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a measured time from 10,000 to 20,000: readings at a time and of a wait, the time on a CPU, and how
    /// often the thread slept.
    fn told(before: (u64, u64), after: (u64, u64), cpu_ns: u64, slept: u64) -> Option<u64> {
        let reading = |(at, waited_ns)| WaitReading { at, waited_ns };
        let (before, after) = (reading(before), reading(after));
        let usage = Usage {
            user_ns: cpu_ns,
            voluntary_switches: slept,
            ..Usage::default()
        };
        RunQueueWait { before, after }.measured_ns(10_000, 20_000, &usage)
    }

    #[test]
    fn no_more_is_told_than_the_time_that_the_thread_was_not_on_a_cpu() {
        assert_eq!(told((10_000, 70), (20_010, 7070), 3000, 0), Some(7000));
        // The rest of its wait was outside, where there was time for it.
        assert_eq!(told((9000, 0), (20_000, 8000), 3000, 1), Some(7000));
        assert_eq!(told((10_000, 0), (28_000, 15_000), 3000, 1), Some(7000));
        assert_eq!(told((1000, 0), (20_000, 9000), 10_020, 1), Some(0));
        // Who never slept waited for all of the time without a CPU, whatever was outside.
        assert_eq!(told((1000, 0), (29_000, 9000), 3000, 0), Some(7000));
    }

    #[test]
    fn a_wait_that_may_have_been_outside_of_the_measured_time_is_not_told() {
        assert_eq!(told((9000, 0), (20_000, 900), 100, 1), None);
        assert_eq!(told((10_000, 0), (21_000, 900), 100, 1), None);
        assert_eq!(told((9600, 0), (20_100, 900), 100, 1), Some(900));
        assert_eq!(told((1000, 0), (30_000, 500), 100, 1), Some(500));
    }
}
