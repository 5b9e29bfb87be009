//! Files that are being read stay until their readers have ended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Pin {
    readers: usize,
    free: bool,
}

/// Which files are being read. Whoever looks up what to read and pins it holds the lock meanwhile,
/// and whoever frees takes it after the commit: between the two no file can be missed.
#[derive(Default)]
pub(crate) struct Pins {
    pinned: Mutex<HashMap<u64, Pin>>,
}

/// The lock, with which files can be pinned.
pub(crate) struct Pinning<'a>(MutexGuard<'a, HashMap<u64, Pin>>);

impl Pinning<'_> {
    pub(crate) fn pin(&mut self, id: u64) {
        self.0.entry(id).or_default().readers += 1;
    }
}

impl Pins {
    pub(crate) fn lock(&self) -> Pinning<'_> {
        Pinning(self.pinned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Of these files, those that can go at once; the others go with their last reader.
    pub(crate) fn free(&self, ids: Vec<u64>) -> Vec<u64> {
        let mut pinned = self.lock().0;
        let mut at_once = |id: &u64| match pinned.get_mut(id) {
            Some(pin) => {
                pin.free = true;
                false
            }
            None => true,
        };
        ids.into_iter().filter(|id| at_once(id)).collect()
    }

    /// Ends one reader of each of these files, and answers those that can go.
    pub(crate) fn unpin(&self, ids: &[u64]) -> Vec<u64> {
        let mut pinned = self.lock().0;
        let mut gone = Vec::new();
        for id in ids {
            let Some(pin) = pinned.get_mut(id) else {
                continue;
            };
            pin.readers -= 1;
            if pin.readers == 0 {
                gone.extend(pin.free.then_some(*id));
                pinned.remove(id);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_file_goes_with_its_last_reader() {
        let pins = Pins::default();
        pins.lock().pin(1);
        pins.lock().pin(1);
        assert_eq!(pins.free(vec![1, 2]), [2]);
        assert!(pins.unpin(&[1]).is_empty());
        assert_eq!(pins.unpin(&[1]), [1]);
        assert_eq!(pins.free(vec![1]), [1]);
    }

    #[test]
    fn a_file_that_was_not_freed_stays() {
        let pins = Pins::default();
        pins.lock().pin(1);
        assert!(pins.unpin(&[1]).is_empty());
    }
}
