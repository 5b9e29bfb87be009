//! Flushes of a file of which many ask at once.
//!
//! The kernel says once that it could not write what it held, to one of those who ask, and forgets
//! what it held: whoever asks afterwards hears that all is well, and acknowledged bytes are gone.
//! So one flush is under way at a time, all who asked before it began share what came of it, and
//! after one has failed none succeeds.

use crate::request::{DeviceResult, Errno};
use crate::setting::held;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

/// Told once, with the error, when a flush has failed.
pub type LossKeeper = Box<dyn Fn(Errno) + Send + Sync>;

#[derive(Default)]
pub(super) struct Flushes {
    state: Mutex<State>,
    ended: Condvar,
    keeper: Option<LossKeeper>,
}

#[derive(Default)]
struct State {
    is_running: bool,
    begun: u64,
    /// The last one that ended well.
    ended: u64,
    lost: bool,
}

impl Flushes {
    pub(super) fn set_keeper(&mut self, keeper: LossKeeper) {
        self.keeper = Some(keeper);
    }

    /// Whether something that was written may be lost for good.
    pub(super) fn has_lost(&self) -> bool {
        held(&self.state).lost
    }

    /// Returns once a flush has ended that began after this call.
    pub(super) fn flush(&self, sync: impl FnOnce() -> io::Result<()>) -> DeviceResult {
        let mut state = held(&self.state);
        let mine = state.begun + 1;
        while state.is_running && state.ended < mine && !state.lost {
            let waited = self.ended.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.lost {
            return Err(Errno::EIO);
        }
        if state.ended >= mine {
            return Ok(());
        }
        state.is_running = true;
        state.begun += 1;
        drop(state);
        let outcome = sync().map_err(|error| Errno::of(&error));
        let mut state = held(&self.state);
        state.is_running = false;
        match outcome {
            Ok(()) => state.ended = state.begun,
            Err(_) => state.lost = true,
        }
        drop(state);
        self.ended.notify_all();
        if let (Err(error), Some(keeper)) = (outcome, &self.keeper) {
            keeper(error);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::sync::mpsc::channel;

    #[test]
    fn after_a_flush_that_failed_none_succeeds_and_the_kernel_is_not_asked_again() {
        let told = Arc::new(AtomicU32::new(0));
        let mut flushes = Flushes::default();
        let count = Arc::clone(&told);
        flushes.set_keeper(Box::new(move |error| {
            assert_eq!(error, Errno::ENOSPC);
            count.fetch_add(1, SeqCst);
        }));
        flushes.flush(|| Ok(())).unwrap();
        assert!(!flushes.has_lost());
        let full = || Err(io::Error::from_raw_os_error(libc::ENOSPC));
        assert_eq!(flushes.flush(full), Err(Errno::ENOSPC));
        assert_eq!(flushes.flush(|| Ok(())), Err(Errno::EIO));
        let never = || unreachable!("it was asked again");
        assert_eq!(flushes.flush(never), Err(Errno::EIO));
        assert!(flushes.has_lost());
        assert_eq!(told.load(SeqCst), 1);
    }

    /// What came of those who asked while a flush was under way that ended so, and how many flushes
    /// there were.
    fn beside(fails: bool) -> (Vec<DeviceResult>, u32) {
        let (flushes, calls) = (Flushes::default(), AtomicU32::new(0));
        let (begins, begun) = channel();
        let (ends, end) = channel::<()>();
        let asked = AtomicU32::new(0);
        let outcomes = std::thread::scope(|scope| {
            let (flushes, calls, asked) = (&flushes, &calls, &asked);
            let slow = move || {
                calls.fetch_add(1, SeqCst);
                begins.send(()).unwrap();
                end.recv().unwrap();
                let failed = Err(io::Error::from_raw_os_error(libc::EIO));
                if fails { failed } else { Ok(()) }
            };
            let first = scope.spawn(move || flushes.flush(slow));
            begun.recv().unwrap();
            let others: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        asked.fetch_add(1, SeqCst);
                        flushes.flush(|| {
                            calls.fetch_add(1, SeqCst);
                            Ok(())
                        })
                    })
                })
                .collect();
            while asked.load(SeqCst) < 4 {
                std::thread::yield_now();
            }
            ends.send(()).unwrap();
            let threads = [first].into_iter().chain(others);
            threads.map(|thread| thread.join().unwrap()).collect()
        });
        (outcomes, calls.load(SeqCst))
    }

    #[test]
    fn whoever_asks_during_a_flush_has_one_that_began_later() {
        let (outcomes, calls) = beside(false);
        assert_eq!(outcomes, [Ok(()); 5]);
        assert!((2..=5).contains(&calls), "{calls}");
    }

    #[test]
    fn whoever_asks_during_a_flush_that_fails_is_told_as_well() {
        let (outcomes, calls) = beside(true);
        assert_eq!(outcomes, [Err(Errno::EIO); 5]);
        assert_eq!(calls, 1);
    }
}
