//! How long a worker waited for a CPU.

use host::Machine;
use std::collections::BTreeMap;
use std::path::Path;

/// The time that a thread has been runnable without a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunQueueWait {
    /// The kernel's id of the thread.
    thread: u32,
    /// When its loop began, and when that had ended.
    before_ns: u64,
    after_ns: u64,
}

impl RunQueueWait {
    /// Of this thread from here on; `None` where the kernel does not say it.
    pub(super) fn begin() -> Option<Self> {
        let thread = sys::thread_id();
        let before_ns = waited(thread)?;
        Some(Self {
            thread,
            before_ns,
            after_ns: before_ns,
        })
    }

    /// The same up to here.
    pub(super) fn end(self) -> Option<Self> {
        let after_ns = waited(self.thread)?;
        Some(Self { after_ns, ..self })
    }

    /// What of it was in the measured time of so long. Where there was a warm-up, that is known of threads
    /// that somebody looked at when it ended. A thread that waited longer than it measured waited before or
    /// after as well; a little of that is let pass, and of more nobody knows when it was.
    pub(crate) fn measured_ns(
        self,
        at_end_of_warmup: Option<&BTreeMap<u32, u64>>,
        own_ns: u64,
    ) -> Option<u64> {
        let before_ns =
            at_end_of_warmup.map_or(Some(self.before_ns), |seen| seen.get(&self.thread).copied());
        let waited_ns = self.after_ns.saturating_sub(before_ns?);
        let is_known = waited_ns <= own_ns.saturating_add(own_ns / 20);
        is_known.then_some(waited_ns.min(own_ns))
    }
}

fn waited(thread: u32) -> Option<u64> {
    Machine::at(Path::new("/")).thread_sched(thread)?.wait_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_waited_for_a_cpu_in_the_warm_up_is_left_out() {
        let wait = RunQueueWait {
            thread: 7,
            before_ns: 10,
            after_ns: 1000,
        };
        let seen = |thread, ns| wait.measured_ns(Some(&BTreeMap::from([(thread, ns)])), 5000);
        assert_eq!(wait.measured_ns(None, 5000), Some(990));
        assert_eq!(seen(7, 900), Some(100));
        assert_eq!(seen(8, 900), None, "nobody looked at it in time");
    }

    #[test]
    fn a_wait_longer_than_the_measured_time_was_not_in_it() {
        let wait = RunQueueWait {
            thread: 7,
            before_ns: 0,
            after_ns: 1000,
        };
        let own = |ns| wait.measured_ns(None, ns);
        assert_eq!(own(1000), Some(1000));
        assert_eq!(own(980), Some(980));
        assert_eq!(own(900), None);
    }
}
