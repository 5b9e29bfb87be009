//! The thread of the root that keeps what all have measured so far.

use super::joining::GroupTrial;
use super::so_far::{SaidEnds, SoFarEnd};
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
/// Between two looks so long is standing still.
const STILL_NS: u64 = 1_000_000_000;
/// A launcher that says to go on before it ends all ends them by then.
const WOKEN_NS: u64 = 3_000_000_000;
/// What was measured is first kept after so long, when all have said something.
const FIRST_NS: u64 = 1_000_000_000;

/// What is known of the end that somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SignalNews {
    #[default]
    None,
    /// Somebody said to go on, as some launchers do before they end all.
    Woken,
    /// A signal has come.
    Told,
    /// And nobody is silent after it.
    Answered,
}

/// What there is to keep more than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeeperNews {
    signal: SignalNews,
    has_lost: bool,
    /// What ranks have said of their end.
    ends: SaidEnds,
    /// How many did not answer after a signal.
    silent: usize,
    /// How many words of ranks have come.
    words: u64,
}

/// When there is something to keep.
struct KeeperLook {
    every_ns: u64,
    /// When the measured time began, 0 before.
    began: u64,
    /// What was kept last, and when.
    kept: Option<(KeeperNews, u64)>,
    /// When a signal was seen.
    told_at: Option<u64>,
    /// When it looked last, and for how long it stood still, if ever: that says nothing of the others.
    looked: Option<u64>,
    stood_still_ns: u64,
    /// How ranks had ended by so many words.
    ends: SaidEnds,
    words: u64,
}

impl KeeperLook {
    fn new(every_ns: u64) -> Self {
        Self {
            every_ns,
            began: 0,
            kept: None,
            told_at: None,
            looked: None,
            stood_still_ns: 0,
            ends: SaidEnds::default(),
            words: 0,
        }
    }

    /// After a signal it is time at once, and again with what is new: who lives answers, who has ended says
    /// what it has, and a launcher may not leave much time. What is the same is not written again then.
    /// At first it is time whenever twice as much was measured as is kept: a root that does not come so far
    /// as to what is kept regularly loses half.
    fn is_time(&self, now: u64, news: KeeperNews) -> bool {
        let Some((kept, at)) = self.kept else {
            return true;
        };
        let words = kept.words;
        let is_graver = KeeperNews { words, ..news } != kept;
        let has_more = news.words != words;
        let waited = now.saturating_sub(at);
        let is_told = news.signal == SignalNews::Told || news.signal == SignalNews::Answered;
        is_graver
            || match is_told || news.ends.stopped.is_some() {
                true => has_more && waited >= ANSWER_NS,
                false => waited >= self.every_ns || self.has_twice(now, at),
            }
    }

    fn has_twice(&self, now: u64, kept_at: u64) -> bool {
        let kept_ns = kept_at.saturating_sub(self.began);
        let measured_ns = now.saturating_sub(self.began);
        self.began > 0 && measured_ns >= kept_ns.saturating_mul(2).max(FIRST_NS)
    }

    /// It looks: whoever stood still for longer than others wait for an answer was itself away.
    fn looks(&mut self, now: u64) {
        let before = self.looked.replace(now).unwrap_or(now);
        let away = Some(now.saturating_sub(before)).filter(|away| *away > STILL_NS);
        self.stood_still_ns = self.stood_still_ns.max(away.unwrap_or(0));
    }

    /// Since when whoever has said nothing does not live any more, as far as anybody can tell.
    fn silent_since(&self, now: u64) -> Option<u64> {
        self.answered_since(now)
            .filter(|_| self.stood_still_ns == 0)
    }

    /// Since when whoever lives has had the time to say something.
    fn answered_since(&self, now: u64) -> Option<u64> {
        let told = self.told_at;
        told.filter(|at| now.saturating_sub(*at) >= ANSWER_NS)
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
            let mut look = KeeperLook::new(every_ns);
            let mut last = None;
            while !over.load(Relaxed) {
                let now = clock.now();
                look.looks(now);
                look.began = trial.connection.began_at();
                let caught = sys::caught_signal();
                if caught.is_some() && look.told_at.is_none() {
                    look.told_at = Some(now);
                    trial.connection.halt_again();
                }
                let unheard = look.answered_since(now).map(|at| trial.silent_since(at));
                let names = look.silent_since(now).is_some();
                let silent = unheard.clone().filter(|_| names).unwrap_or_default();
                let seen = trial.connection.seen();
                let words = seen.words();
                if words != look.words {
                    (look.words, look.ends) = (words, trial.ends());
                }
                let signal = match unheard {
                    Some(unheard) if unheard.is_empty() => SignalNews::Answered,
                    Some(_) => SignalNews::Told,
                    None if look.told_at.is_some() => SignalNews::Told,
                    None if sys::was_woken(WOKEN_NS) => SignalNews::Woken,
                    None => SignalNews::None,
                };
                let news = KeeperNews {
                    signal,
                    has_lost: !seen.lost().is_empty(),
                    ends: look.ends,
                    silent: silent.len(),
                    words,
                };
                let SaidEnds { are_all, stopped } = look.ends;
                let end = SoFarEnd::of(signal, caught, stopped, look.stood_still_ns);
                if look.is_time(now, news)
                    && let Some(record) = trial.so_far(&silent, are_all, end)
                {
                    // Of ranks that have ended nothing may be new but that they are waited for.
                    if last.as_ref() != Some(&record) && !file.keep(&record) {
                        return;
                    }
                    last = Some(record);
                    look.kept = Some((news, now));
                }
                // To join and to write takes a time of its own, in which it did not stand still unless it was woken in it.
                let written = clock.now();
                if !sys::was_woken(written.saturating_sub(now)) {
                    look.looked = Some(written);
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

    const MS: u64 = 1_000_000;

    #[test]
    fn what_was_not_kept_is_tried_again_and_then_it_waits_for_its_time() {
        let mut look = KeeperLook::new(10_000 * MS);
        let at = |words| KeeperNews {
            words,
            ..KeeperNews::default()
        };
        assert!(look.is_time(0, at(0)) && look.is_time(20 * MS, at(0)));
        look.kept = Some((at(2), 1_000 * MS));
        assert!(!look.is_time(9_000 * MS, at(9)));
        assert!(look.is_time(11_000 * MS, at(12)));
        let ended = |words, stopped| KeeperNews {
            ends: SaidEnds {
                are_all: true,
                stopped,
            },
            ..at(words)
        };
        assert!(look.is_time(1_020 * MS, ended(9, None)), "all have ended");
        look.kept = Some((ended(9, None), 1_020 * MS));
        assert!(!look.is_time(1_040 * MS, ended(10, None)));
        let stopped = ended(10, Some(130));
        assert!(look.is_time(1_040 * MS, stopped), "a rank was stopped");
        look.kept = Some((stopped, 1_040 * MS));
        assert!(!look.is_time(9_000 * MS, stopped), "nothing is new");
        assert!(look.is_time(1_140 * MS, ended(11, Some(130))));
    }

    #[test]
    fn at_first_it_keeps_whenever_twice_as_much_was_measured() {
        let mut look = KeeperLook::new(10_000 * MS);
        let news = KeeperNews::default();
        look.kept = Some((news, 500 * MS));
        assert!(!look.is_time(9_000 * MS, news), "nothing is measured yet");
        look.began = 1_000 * MS;
        let mut kept = Vec::new();
        for now in (500..=40_000).step_by(20).map(|ms| ms * MS) {
            if look.is_time(now, news) {
                kept.push(now / MS / 1000);
                look.kept = Some((news, now));
            }
        }
        assert_eq!(kept, [2, 3, 5, 9, 17, 27, 37]);
    }

    #[test]
    fn after_a_signal_it_keeps_at_once_and_again_what_is_new() {
        let mut look = KeeperLook::new(10_000 * MS);
        let before = KeeperNews::default();
        let told = KeeperNews {
            signal: SignalNews::Told,
            ..before
        };
        look.kept = Some((before, 9_000 * MS));
        assert!(look.is_time(9_020 * MS, told));
        (look.kept, look.told_at) = (Some((told, 9_020 * MS)), Some(9_020 * MS));
        assert_eq!(look.silent_since(9_100 * MS), None);
        assert_eq!(look.silent_since(9_120 * MS), Some(9_020 * MS));
        look.looks(9_100 * MS);
        look.looks(9_120 * MS);
        assert_eq!(look.silent_since(9_120 * MS), Some(9_020 * MS));
        let mut woken = KeeperLook {
            told_at: Some(9_020 * MS),
            ..KeeperLook::new(MS)
        };
        woken.looks(1_000 * MS);
        woken.looks(9_020 * MS);
        assert_eq!(woken.silent_since(9_220 * MS), None, "it stood still");
        let more = KeeperNews { words: 1, ..told };
        assert!(!look.is_time(9_040 * MS, more), "others say more soon");
        assert!(look.is_time(9_120 * MS, more));
        assert!(!look.is_time(99_000 * MS, told), "nothing is new");
        let silent = KeeperNews { silent: 1, ..told };
        assert!(look.is_time(9_040 * MS, silent));
    }
}
