//! The thread of the root that keeps what all have measured so far.

use super::joining::GroupTrial;
use super::together::RankGroup;
use crate::keeper::{self, SnapshotFile};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use sys::{Clock as _, MachineClock};

/// It looks so often whether it is time.
const KEEPER_LOOK_NS: u64 = 20_000_000;

pub(super) struct GroupKeeper {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Nothing is written by it after this: what comes later takes the place of all of it.
impl Drop for GroupKeeper {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        let _what_it_could_not_write_it_has_told = self.thread.take().map(JoinHandle::join);
    }
}

impl RankGroup<'_> {
    /// The root keeps what all have measured so far.
    pub(super) fn keeper(
        &self,
        trial: &Arc<GroupTrial>,
        clock: MachineClock,
        targets: &[PathBuf],
    ) -> Result<Option<GroupKeeper>> {
        if !keeper::is_of(self.matches) {
            return Ok(None);
        }
        let every_ns = keeper::every_ns(self.matches)?;
        let file = SnapshotFile::of(self.matches, targets).filter(|_| self.connection.is_root());
        let Some(mut file) = file else {
            return Ok(None);
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, trial) = (Arc::clone(&is_over), Arc::clone(trial));
        let thread = std::thread::Builder::new().name("fathom-keeper".into());
        let thread = thread.spawn(move || {
            let began = clock.now();
            let (mut next, mut was_urgent) = (began, false);
            while !over.load(Relaxed) {
                let now = clock.now();
                let is_urgent = !was_urgent
                    && (sys::caught_signal().is_some()
                        || !trial.connection.seen().lost().is_empty());
                if (now >= next || is_urgent)
                    && let Some(record) = trial.so_far(now - began)
                {
                    if !file.keep(&record) {
                        return;
                    }
                    was_urgent |= is_urgent;
                    next = now.saturating_add(every_ns);
                }
                clock.sleep_until(now.saturating_add(KEEPER_LOOK_NS));
            }
        })?;
        Ok(Some(GroupKeeper {
            is_over,
            thread: Some(thread),
        }))
    }
}
