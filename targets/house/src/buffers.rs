//! Memory of connections, divided among all of them.
//!
//! A large buffer makes a connection quick, and many that are slow need none: the first to come
//! have as much as is quickest as long as there is some, all others as little as there can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What all large buffers together have. A body that comes has three of them on its way.
const ALL_LARGE: usize = 2 << 20;
/// A large buffer.
const LARGE: usize = 64 << 10;
/// What every connection gets, the least that the library takes. The head of a request must fit in.
const SMALL: usize = 8 << 10;

/// What is left to be lent.
#[derive(Default)]
pub(crate) struct WireMemory {
    lent: AtomicUsize,
}

/// The buffer of one connection, until it is dropped.
pub(crate) struct WireBuffer {
    /// The most bytes that are held of what comes, and of what goes out.
    pub(crate) bytes: usize,
    memory: Arc<WireMemory>,
}

impl WireMemory {
    pub(crate) fn lend(self: &Arc<Self>) -> WireBuffer {
        let more = |lent: usize| (lent + LARGE <= ALL_LARGE).then_some(lent + LARGE);
        let bytes = match self.lent.fetch_update(Relaxed, Relaxed, more) {
            Ok(_) => LARGE,
            Err(_) => SMALL,
        };
        WireBuffer {
            bytes,
            memory: Arc::clone(self),
        }
    }
}

impl Drop for WireBuffer {
    fn drop(&mut self) {
        if self.bytes == LARGE {
            self.memory.lent.fetch_sub(LARGE, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_never_take_more_than_there_is_and_are_lent_again() {
        let buffers = Arc::<WireMemory>::default();
        let large = |held: &[WireBuffer]| held.iter().filter(|one| one.bytes == LARGE).count();
        let mut held: Vec<WireBuffer> = (0..500).map(|_| buffers.lend()).collect();
        assert_eq!(large(&held) * LARGE, ALL_LARGE);
        assert!(held[499].bytes == SMALL);
        held.drain(..10);
        held.extend((0..20).map(|_| buffers.lend()));
        assert_eq!(large(&held) * LARGE, ALL_LARGE);
        drop(held);
        assert_eq!(buffers.lent.load(Relaxed), 0);
    }
}
