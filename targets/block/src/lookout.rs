//! Places for threads that look at the clock instead of sleeping.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// So long before a moment its thread stops sleeping. To wake a thread takes 20 to 50 µs at the
/// median and some hundred at the tail, above all in a virtual machine, where an idle CPU is left
/// to the host; what is injected is to be right within 1 % from 100 µs on.
const EARLY_NS: u64 = 200_000;

/// How many threads may look at once: whoever is waited for needs a CPU as well.
#[derive(Debug)]
pub(crate) struct Lookouts(AtomicUsize);

impl Default for Lookouts {
    fn default() -> Self {
        Self::new(available_parallelism().map_or(0, |cpus| cpus.get() - 1))
    }
}

impl Lookouts {
    pub(crate) fn new(places: usize) -> Self {
        Self(AtomicUsize::new(places))
    }

    fn take(&self) -> bool {
        let fewer = |places: usize| places.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// How one thread waits.
#[derive(Debug, Default)]
pub(crate) struct Lookout {
    looks: bool,
}

impl Lookout {
    /// How long the thread sleeps that has something to do in `left` nanoseconds, and in the
    /// meantime if somebody comes: 0 where it looks.
    pub(crate) fn rest(&mut self, places: &Lookouts, left: u64) -> u64 {
        if left > EARLY_NS {
            self.leave(places);
            return left - EARLY_NS;
        }
        self.looks = self.looks || places.take();
        if self.looks { 0 } else { left }
    }

    /// Whether the thread looks.
    pub(crate) fn looks(&self) -> bool {
        self.looks
    }

    /// Others may look: there is nothing to look for.
    pub(crate) fn leave(&mut self, places: &Lookouts) {
        if std::mem::take(&mut self.looks) {
            places.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sleeps_until_shortly_before_its_moment_and_looks_from_then_on() {
        let (places, mut own) = (Lookouts::new(1), Lookout::default());
        assert_eq!(own.rest(&places, 10_000_000), 10_000_000 - EARLY_NS);
        assert_eq!((own.rest(&places, EARLY_NS), own.looks()), (0, true));
        assert_eq!((own.rest(&places, 1), own.looks()), (0, true));
        // Its next moment is far away: another one may look.
        let mut other = Lookout::default();
        assert_eq!(other.rest(&places, 1000), 1000, "there is one place");
        own.rest(&places, 10_000_000);
        assert_eq!((other.rest(&places, 1000), other.looks()), (0, true));
        other.leave(&places);
        other.leave(&places);
        assert_eq!(own.rest(&places, 1000), 0);
    }

    #[test]
    fn where_there_is_no_place_a_thread_sleeps_as_long_as_it_has_to_wait() {
        let (places, mut own) = (Lookouts::new(0), Lookout::default());
        assert_eq!((own.rest(&places, 1000), own.looks()), (1000, false));
        let far = own.rest(&places, EARLY_NS + 1);
        assert!(far > 0, "and wakes early where it may find a place then");
    }
}
