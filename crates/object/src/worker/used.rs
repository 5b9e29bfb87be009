//! What a thread uses in its measured time.

use host::{Machine, RunQueueWatch};
use std::cell::RefCell;
use std::path::Path;
use sys::{Clock, Usage};

/// The measured time of a thread, which begins with whatever is first after the warm-up.
pub(super) struct MeasuredTime {
    from: u64,
    watch: RefCell<Option<ThreadWatch>>,
}

impl MeasuredTime {
    pub(super) fn from(from: u64) -> Self {
        Self {
            from,
            watch: RefCell::default(),
        }
    }

    /// It is `now` for the thread.
    pub(super) fn reached<C: Clock>(&self, clock: &C, now: u64) {
        if now >= self.from {
            let mut watch = self.watch.borrow_mut();
            watch.get_or_insert_with(|| ThreadWatch::begin(&Machine::at(Path::new("/")), clock));
        }
    }

    /// It ended at `ended`, which was just now; what did not begin used nothing.
    pub(super) fn end<C: Clock>(&self, clock: &C, ended: u64) -> ThreadUsed {
        let watch = self.watch.take();
        watch.map_or_else(ThreadUsed::default, |watch| watch.end(clock, ended))
    }
}

/// CPU time and switches of a thread in its measured time, and how long it could run there without a CPU,
/// where that is known.
#[derive(Default)]
pub(super) struct ThreadUsed {
    pub(super) usage: Usage,
    pub(super) waited_ns: Option<u64>,
}

/// What a thread had used when its measured time began.
struct ThreadWatch {
    began: u64,
    before: Usage,
    wait: Option<RunQueueWatch>,
}

impl ThreadWatch {
    fn begin<C: Clock>(machine: &Machine, clock: &C) -> Self {
        Self {
            began: clock.now(),
            wait: RunQueueWatch::begin(machine, clock),
            before: sys::usage_of_thread(),
        }
    }

    fn end<C: Clock>(mut self, clock: &C, ended: u64) -> ThreadUsed {
        if let Some(wait) = &mut self.wait {
            wait.end(clock);
        }
        let usage = sys::usage_of_thread().since(&self.before);
        let wait = self.wait.and_then(RunQueueWatch::seen);
        ThreadUsed {
            waited_ns: wait.and_then(|wait| wait.measured_ns(self.began, ended, &usage)),
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

    const SECOND: u64 = 1_000_000_000;

    /// A second passes when it is read, and of each the kernel's file counts so much as waited for a CPU.
    #[derive(Clone)]
    struct Waiting<'a> {
        now: &'a Cell<u64>,
        file: &'a Path,
        percent: u64,
    }

    impl Clock for Waiting<'_> {
        fn now(&self) -> u64 {
            self.now.set(self.now.get() + SECOND);
            let waited_ns = self.now.get() / 100 * self.percent;
            fs::write(self.file, format!("0 {waited_ns} 1\n")).unwrap();
            self.now.get()
        }

        fn sleep_until(&self, _: u64) {}
    }

    #[test]
    fn no_thread_waits_for_a_cpu_before_its_measured_time_or_longer_than_that() {
        let root = tempfile::tempdir().unwrap();
        let file = format!("proc/self/task/{}/schedstat", sys::thread_id());
        let (now, file) = (Cell::new(0), root.path().join(file));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let machine = Machine::at(root.path());
        for (percent, most) in [(50, 50), (111, 100)] {
            let clock = Waiting {
                now: &now,
                file: &file,
                percent,
            };
            let warm = (0..200).fold(0, |_, _| clock.now());
            let watch = ThreadWatch::begin(&machine, &clock);
            let began = watch.began;
            let ended = (0..100).fold(0, |_, _| clock.now());
            let measured = MeasuredTime {
                from: warm,
                watch: Some(watch).into(),
            };
            let waited_ns = measured.end(&clock, ended).waited_ns.unwrap();
            let most_ns = (ended - began) / 100 * most;
            assert!(waited_ns <= most_ns, "{percent}: {waited_ns}");
            assert!(waited_ns > most_ns - 2 * SECOND, "{percent}: {waited_ns}");
        }
    }

    #[test]
    fn what_ended_in_its_warm_up_used_nothing_and_what_began_later_is_counted_from_its_first_turn_on()
     {
        let clock = sys::MachineClock::monotonic();
        let measured = MeasuredTime::from(SECOND);
        let cpu_ns = |of: &MeasuredTime| of.end(&clock, clock.now()).usage.user_ns;
        measured.reached(&clock, SECOND - 1);
        assert!(measured.watch.borrow().is_none());
        assert_eq!(cpu_ns(&measured), 0);
        measured.reached(&clock, SECOND);
        let began = measured.watch.borrow().as_ref().unwrap().began;
        measured.reached(&clock, SECOND + 1);
        assert_eq!(measured.watch.borrow().as_ref().unwrap().began, began);
    }
}
