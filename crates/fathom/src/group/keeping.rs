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

/// Whoever lives has said so by then.
const ANSWER_NS: u64 = 100_000_000;

/// When there is something to keep.
struct KeeperLook {
    began: u64,
    every_ns: u64,
    next: u64,
    /// When a signal was seen.
    told_at: Option<u64>,
    has_lost: bool,
}

impl KeeperLook {
    fn begun(now: u64, every_ns: u64) -> Self {
        Self {
            began: now,
            every_ns,
            next: now,
            told_at: None,
            has_lost: false,
        }
    }

    /// After a signal it is time at once, and soon again: who lives answers, who has ended says what it
    /// has, and a launcher may not leave much time.
    fn is_time(&mut self, now: u64, is_told: bool, has_lost: bool) -> bool {
        let is_news = (is_told && self.told_at.is_none()) || (has_lost && !self.has_lost);
        self.has_lost |= has_lost;
        if is_told {
            self.told_at.get_or_insert(now);
        }
        let is_time = is_news || now >= self.next;
        if is_time {
            let every_ns = match self.told_at {
                Some(_) => ANSWER_NS.min(self.every_ns),
                None => self.every_ns,
            };
            self.next = now.saturating_add(every_ns);
        }
        is_time
    }

    /// Since when whoever has said nothing does not live any more, as far as anybody can tell.
    fn silent_since(&self, now: u64) -> Option<u64> {
        self.told_at
            .filter(|at| now.saturating_sub(*at) >= ANSWER_NS)
    }
}

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
            let mut look = KeeperLook::begun(clock.now(), every_ns);
            while !over.load(Relaxed) {
                let now = clock.now();
                let seen = trial.connection.seen();
                let is_told = sys::caught_signal().is_some();
                if is_told && look.told_at.is_none() {
                    trial.connection.ask_who_lives();
                }
                if look.is_time(now, is_told, !seen.lost().is_empty())
                    && let Some(record) = trial.so_far(now - look.began, look.silent_since(now))
                    && !file.keep(&record)
                {
                    return;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_signal_it_keeps_at_once_and_again_when_who_lives_has_answered() {
        const MS: u64 = 1_000_000;
        let mut look = KeeperLook::begun(0, 10_000 * MS);
        assert!(
            look.is_time(0, false, false),
            "it leaves word that it began"
        );
        assert!(!look.is_time(9_000 * MS, false, false));
        assert!(look.is_time(9_020 * MS, true, false));
        assert_eq!(look.silent_since(9_020 * MS), None);
        assert!(!look.is_time(9_040 * MS, true, false));
        assert!(look.is_time(9_120 * MS, true, false));
        assert_eq!(look.silent_since(9_120 * MS), Some(9_020 * MS));
        assert!(look.is_time(9_140 * MS, true, true), "a rank is lost");
        assert!(!look.is_time(9_160 * MS, true, true));
    }
}
