//! Other ranks of a test: what they are told is kept, and what all of them have done the test says.

use host::{PeerFault, Peers};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Ranks {
    /// What this rank has said that it reached.
    pub(crate) reached: Mutex<Vec<u64>>,
    pub(crate) most: Mutex<Option<u64>>,
    /// The steps that it has said that it left.
    pub(crate) left: AtomicU64,
    pub(crate) left_by_all: AtomicU64,
    /// So often it is asked before anything is heard of the others.
    pub(crate) silence: AtomicU64,
}

impl Peers for Ranks {
    fn meet(&self, own: Result<(), PeerFault>) -> Result<(), PeerFault> {
        own
    }

    fn confer(
        &self,
        own: String,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault> {
        Ok(decide(&[own]))
    }

    fn start(&self) -> Result<u64, PeerFault> {
        Ok(0)
    }

    fn is_halted(&self) -> bool {
        false
    }

    fn halt(&self) {}

    fn reached(&self, most: u64) {
        self.reached.lock().unwrap().push(most);
    }

    fn most_reached(&self) -> Option<u64> {
        *self.most.lock().unwrap()
    }

    fn left(&self, steps: u64) {
        self.left.store(steps, Ordering::Relaxed);
    }

    fn left_by_all(&self) -> u64 {
        let silence = self.silence.load(Ordering::Relaxed);
        self.silence
            .store(silence.saturating_sub(1), Ordering::Relaxed);
        match silence {
            0 => self.left_by_all.load(Ordering::Relaxed),
            _ => 0,
        }
    }
}
