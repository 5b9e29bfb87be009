//! The thread of the root that keeps what all have measured so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

pub(super) struct GroupKeeper {
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) thread: JoinHandle<()>,
}

impl GroupKeeper {
    /// Nothing is written by it after this: what comes later takes the place of all of it.
    pub(super) fn end(self) {
        self.is_over.store(true, Relaxed);
        let _what_it_could_not_write_it_has_told = self.thread.join();
    }
}
