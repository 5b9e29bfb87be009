//! Files that were read lately: they stay open, and it is known when each of their blocks was last
//! compared with its checksum.

use super::extent::ExtentFile;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Files that stay open where the system lets many be open; those that were opened first go first.
const MOST_KEPT: usize = 256;

/// How many files stay open: a quarter of those that may be, as each connection and each object on
/// its way in has one too.
fn most_kept() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    soft_limit(&limits).map_or(MOST_KEPT, |limit| (limit / 4).min(MOST_KEPT))
}

/// `Max open files` of proc_pid_limits(5).
fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[derive(Default)]
struct Kept {
    files: HashMap<u64, Arc<ExtentFile>>,
    order: VecDeque<u64>,
}

pub(crate) struct RecentlyRead {
    begun: Instant,
    /// For how long a comparison counts.
    counts_for: Duration,
    kept: Mutex<Kept>,
    most: usize,
}

impl RecentlyRead {
    pub(crate) fn new(counts_for: Duration) -> Self {
        Self {
            begun: Instant::now(),
            counts_for,
            kept: Mutex::default(),
            most: most_kept(),
        }
    }

    /// Milliseconds since this began, from 1 on.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    /// The earliest time of a comparison that still counts; `None` where none does.
    pub(crate) fn since(&self) -> Option<u64> {
        let span = u64::try_from(self.counts_for.as_millis()).unwrap_or(u64::MAX);
        (span > 0).then(|| self.now().saturating_sub(span).max(1))
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<ExtentFile>> {
        self.lock().files.get(&id).cloned()
    }

    pub(crate) fn keep(&self, id: u64, file: &Arc<ExtentFile>) {
        let mut kept = self.lock();
        if !file.can_stay_open() || kept.files.insert(id, Arc::clone(file)).is_some() {
            return;
        }
        kept.order.push_back(id);
        if kept.order.len() > self.most
            && let Some(first) = kept.order.pop_front()
        {
            kept.files.remove(&first);
        }
    }

    /// Closes all files but those that are being read; answers whether there were any.
    pub(crate) fn close(&self) -> bool {
        let mut kept = self.lock();
        kept.order.clear();
        let files = std::mem::take(&mut kept.files);
        !files.is_empty()
    }

    /// These files are about to be removed.
    pub(crate) fn forget(&self, ids: &[u64]) {
        let mut kept = self.lock();
        for id in ids {
            if kept.files.remove(id).is_some() {
                kept.order.retain(|other| other != id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::extent::ExtentWriter;
    use super::super::files::{Files as _, MemoryFiles, Wait};
    use super::*;

    fn extent() -> Arc<ExtentFile> {
        let files = MemoryFiles::default();
        let mut writer = ExtentWriter::new(files.create().unwrap());
        writer.write(b"bytes").unwrap();
        writer.keep(1).unwrap();
        Arc::new(ExtentFile::open(files.open(1).unwrap(), Wait::ForDevice).unwrap())
    }

    #[test]
    fn what_was_opened_first_goes_first_and_what_is_removed_at_once() {
        let (mut recent, file) = (RecentlyRead::new(Duration::ZERO), extent());
        recent.most = MOST_KEPT;
        for id in 0..MOST_KEPT as u64 + 2 {
            recent.keep(id, &file);
            recent.keep(id, &file);
        }
        assert!(recent.get(0).is_none() && recent.get(1).is_none() && recent.get(2).is_some());
        recent.forget(&[2, 7_000_000]);
        assert!(recent.get(2).is_none());
        let kept = recent.lock();
        assert_eq!(
            (kept.files.len(), kept.order.len()),
            (MOST_KEPT - 1, MOST_KEPT - 1)
        );
        drop(kept);
        assert!(recent.close() && !recent.close() && recent.get(9).is_none());
    }

    #[test]
    fn the_systems_limit_is_read() {
        assert_eq!(
            soft_limit(
                "Limit  Soft Limit\nMax open files            64                   4096    files\n"
            ),
            Some(64)
        );
        assert_eq!(
            (
                soft_limit("Max open files unlimited unlimited"),
                soft_limit("")
            ),
            (None, None)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_comparison_counts_for_the_time_given() {
        let recent = RecentlyRead::new(Duration::from_secs(5));
        assert_eq!((recent.now(), recent.since()), (1, Some(1)));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!((recent.now(), recent.since()), (7001, Some(2001)));
        assert_eq!(RecentlyRead::new(Duration::ZERO).since(), None);
    }
}
