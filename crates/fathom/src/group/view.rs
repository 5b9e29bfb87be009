//! What a rank has seen of its group.

use group::{AgreedStart, GroupEvent, Word};
use record::HostAccount;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the group's thread tells while nobody waits for it.
#[derive(Debug, Default)]
pub(crate) struct GroupView {
    is_halted: AtomicBool,
    /// What that rank had done that had done most, when the time was over.
    most: Mutex<Option<u64>>,
    /// Steps of the work that all have left.
    left_by_all: AtomicU64,
    lost: Mutex<Vec<u32>>,
    snapshots: Mutex<BTreeMap<u32, Word>>,
    /// How many of these have come.
    words: AtomicU64,
    /// By how much the clock of the last start may be off here, and when it was, by this machine's
    /// clock.
    bound_ns: AtomicU64,
    began_at: AtomicU64,
    /// By how much the root's clock was ahead then.
    ahead_ns: AtomicI64,
    /// At the root: when something came of each rank last.
    heard: Mutex<BTreeMap<u32, u64>>,
    /// At the root: how the last start was agreed on.
    agreed: Mutex<Option<AgreedStart>>,
}

pub(super) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GroupView {
    pub(super) fn note(&self, told: &GroupEvent) {
        match told {
            GroupEvent::Halted => self.is_halted.store(true, Relaxed),
            GroupEvent::Reached(most) => *locked(&self.most) = Some(*most),
            GroupEvent::Left(steps) => self.left_by_all.store(*steps, Relaxed),
            GroupEvent::Lost(ranks) => {
                self.is_halted.store(true, Relaxed);
                locked(&self.lost).clone_from(ranks);
            }
            GroupEvent::Snapshot(rank, word) => {
                locked(&self.snapshots).insert(*rank, word.clone());
                self.words.fetch_add(1, Relaxed);
            }
            GroupEvent::Begin {
                at,
                ahead_ns,
                bound_ns,
                agreed,
            } => {
                self.ahead_ns.store(*ahead_ns, Relaxed);
                *locked(&self.agreed) = *agreed;
                self.is_halted.store(false, Relaxed);
                *locked(&self.most) = None;
                self.left_by_all.store(0, Relaxed);
                self.bound_ns.store(*bound_ns, Relaxed);
                self.began_at.store(*at, Relaxed);
            }
            GroupEvent::Spoke(rank, at) => {
                locked(&self.heard).insert(*rank, *at);
            }
            GroupEvent::Broken(_) | GroupEvent::End(_) => self.is_halted.store(true, Relaxed),
            GroupEvent::Heard(_) | GroupEvent::Answered(_) | GroupEvent::Compared(_) => {}
        }
    }

    /// What each rank has measured so far, as it said last.
    pub(crate) fn snapshots(&self) -> BTreeMap<u32, Word> {
        locked(&self.snapshots).clone()
    }

    pub(super) fn words(&self) -> u64 {
        self.words.load(Relaxed)
    }

    /// What was seen of the work before is not of the next.
    pub(crate) fn begin_work(&self) {
        locked(&self.snapshots).clear();
        *locked(&self.agreed) = None;
        self.bound_ns.store(0, Relaxed);
        self.began_at.store(0, Relaxed);
    }

    pub(crate) fn lost(&self) -> Vec<u32> {
        locked(&self.lost).clone()
    }

    pub(super) fn is_halted(&self) -> bool {
        self.is_halted.load(Relaxed)
    }

    pub(super) fn left_by_all(&self) -> u64 {
        self.left_by_all.load(Relaxed)
    }

    pub(super) fn most(&self) -> Option<u64> {
        *locked(&self.most)
    }

    /// Says of a rank what connects it with the others, and how well it knows the clock of the start.
    pub(super) fn sign(&self, host: &mut HostAccount, library: &str) {
        host.library = Some(library.to_owned());
        if self.began_at() > 0 {
            host.clock_offset_ns = Some(self.ahead_ns.load(Relaxed));
            host.clock_bound_ns = Some(self.bound_ns.load(Relaxed));
        }
    }

    /// When something came of a rank last.
    pub(super) fn heard_at(&self, rank: u32) -> Option<u64> {
        locked(&self.heard).get(&rank).copied()
    }

    pub(super) fn began_at(&self) -> u64 {
        self.began_at.load(Relaxed)
    }

    pub(super) fn agreed(&self) -> Option<AgreedStart> {
        *locked(&self.agreed)
    }
}
