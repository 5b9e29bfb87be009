//! What all clients of a server together may keep in its memory: what they are sending, and what
//! they have asked for and not taken yet.
//!
//! Each client has room for short requests for as long as it is there. What takes more is done when
//! others have taken their answers or gone: whoever waits is read from no further, and after a while
//! refused (ENOMEM). Before that whoever keeps memory for what does not come, or takes none of its
//! answers, has to give it back ([`super::stay`]).

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// What a client takes that sends short requests and takes their answers: what is read at once, its
/// requests that are held, the thread.
pub(super) const LEAST: u64 = 512 << 10;
/// What all may take where there is much.
const MOST: u64 = 1 << 30;
/// So much that the longest message has room in what is for long ones.
const LONG: u64 = 48 << 20;
/// Of so many parts one is for short requests alone, so that clients can come when others have all
/// that is for long ones.
const SHORT_PART: u64 = 4;

/// The memory of a server for its clients.
pub struct ClientMemory {
    total: u64,
    used: AtomicU64,
    /// How often somebody found none.
    waits: AtomicU64,
    refused: Box<dyn Fn() + Send + Sync>,
    is_short: AtomicBool,
}

impl ClientMemory {
    /// A part of what may still be taken here, where something says how much that is; `refused` is
    /// told when a client is turned away, once until one comes in again.
    pub fn of(left: Option<u64>, refused: impl Fn() + Send + Sync + 'static) -> Self {
        let left = left.unwrap_or(u64::MAX);
        Self {
            total: (left / 4).max(LONG.min(left / 2)).min(MOST),
            used: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            refused: Box::new(refused),
            is_short: AtomicBool::new(false),
        }
    }

    /// What clients may take beyond what they have: nobody else is to count on it.
    pub fn unused(&self) -> u64 {
        self.total.saturating_sub(self.used.load(Relaxed))
    }

    /// What long requests may take.
    fn long(&self) -> u64 {
        self.total - self.total / SHORT_PART
    }

    fn take(&self, bytes: u64, most: u64) -> bool {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= most);
        self.used.fetch_update(SeqCst, Relaxed, more).is_ok()
    }

    /// Lets a client in that has room for short requests; `None` where there is none.
    pub(super) fn admit(self: &Arc<Self>) -> Option<MemoryShare> {
        let admitted = self.take(LEAST, self.total);
        let was_short = self.is_short.swap(!admitted, Relaxed);
        if !admitted && !was_short {
            (self.refused)();
        }
        admitted.then(|| MemoryShare {
            of: Arc::clone(self),
            taken: LEAST,
            waits: self.waits.load(Relaxed),
        })
    }
}

/// Whether there is memory for what is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryGrant {
    Taken,
    /// Others have it.
    Waits,
    /// There is never so much.
    Never,
}

/// What one client has of it, until it goes.
pub(super) struct MemoryShare {
    of: Arc<ClientMemory>,
    taken: u64,
    /// How often somebody had waited when it was last asked.
    waits: u64,
}

impl MemoryShare {
    /// Whether those who rest should keep no more than they need.
    pub(super) fn is_tight(&self) -> bool {
        self.of.unused() < self.of.total / 2
    }

    /// Whether it has more than each client has.
    pub(super) fn is_long(&self) -> bool {
        self.taken > LEAST
    }

    /// Whether somebody has waited for memory since it was last asked.
    pub(super) fn others_waited(&mut self) -> bool {
        let waits = self.of.waits.load(Relaxed);
        std::mem::replace(&mut self.waits, waits) != waits
    }

    /// Takes more, up to so many bytes in all.
    #[inline]
    pub(super) fn take_up_to(&mut self, bytes: usize) -> MemoryGrant {
        let wanted = LEAST.saturating_add(bytes as u64);
        let more = wanted.saturating_sub(self.taken);
        if more == 0 {
            return MemoryGrant::Taken;
        }
        if wanted > self.of.long() {
            return MemoryGrant::Never;
        }
        if !self.of.take(more, self.of.long()) {
            self.of.waits.fetch_add(1, Relaxed);
            // Its own waiting is not that of others.
            self.waits = self.waits.wrapping_add(1);
            return MemoryGrant::Waits;
        }
        self.taken = wanted;
        MemoryGrant::Taken
    }

    /// Has so many bytes beside what each client has, which it may have taken without asking where
    /// they were few.
    #[inline]
    pub(super) fn settle(&mut self, bytes: usize) {
        let has = LEAST.saturating_add(bytes as u64);
        if has > self.taken {
            self.of.used.fetch_add(has - self.taken, SeqCst);
        } else if has < self.taken {
            self.of.used.fetch_sub(self.taken - has, SeqCst);
        }
        self.taken = has;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.taken, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    const MIB: usize = 1 << 20;

    #[test]
    fn what_one_has_others_wait_for_until_it_goes() {
        let memory = Arc::new(ClientMemory::of(Some(160 << 20), || {}));
        assert_eq!(memory.unused(), 48 << 20);
        let (mut one, mut other) = (memory.admit().unwrap(), memory.admit().unwrap());
        assert_eq!(one.take_up_to(28 * MIB), MemoryGrant::Taken);
        assert_eq!(
            one.take_up_to(16 * MIB),
            MemoryGrant::Taken,
            "it has as much"
        );
        assert!(one.is_long() && !one.others_waited());
        assert_eq!(other.take_up_to(16 * MIB), MemoryGrant::Waits);
        assert!(one.others_waited() && !one.others_waited());
        assert!(!other.others_waited(), "it was itself");
        assert_eq!(other.take_up_to(36 * MIB), MemoryGrant::Never);
        let short: Vec<_> = (0..20).map(|_| memory.admit().unwrap()).collect();
        drop(short);
        assert!(one.is_tight());
        one.settle(8 * MIB);
        assert_eq!(other.take_up_to(16 * MIB), MemoryGrant::Taken);
        drop(one);
        drop(other);
        assert_eq!(memory.unused(), 48 << 20);
    }

    #[test]
    fn whoever_has_no_room_is_turned_away_which_is_told_once() {
        let told = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&told);
        let memory = ClientMemory::of(Some(2 * 3 * LEAST), move || {
            counts.fetch_add(1, Relaxed);
        });
        let memory = Arc::new(memory);
        let mut clients: Vec<_> = (0..3).map(|_| memory.admit().unwrap()).collect();
        assert!(memory.admit().is_none() && memory.admit().is_none());
        assert_eq!(told.load(Relaxed), 1);
        clients.pop();
        clients.push(memory.admit().unwrap());
        assert!(memory.admit().is_none());
        assert_eq!(told.load(Relaxed), 2);
    }
}
