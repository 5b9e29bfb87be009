//! What a thread has used.

use host::Machine;
use std::path::Path;

/// CPU time and switches of a thread, and how long it could run without a CPU.
#[derive(Clone, Copy)]
pub(super) struct ThreadUsed {
    pub(super) usage: sys::Usage,
    pub(super) waited: Option<u64>,
}

impl ThreadUsed {
    pub(super) fn by_this_thread() -> Self {
        Self {
            usage: sys::usage_of_thread(),
            waited: Machine::at(Path::new("/"))
                .thread_sched(sys::thread_id())
                .and_then(|sched| sched.wait_ns),
        }
    }
}
