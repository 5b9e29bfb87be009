//! Where workers look at the stonewall what each has done, and how far those go on that wear out.
//!
//! Each worker reports once: when it sees that the time has come, or when it has nothing left to do
//! before that. Nobody holds a lock, and nobody waits who does not go on: the last report says how
//! much the fastest has done. Of several ranks the last tells the others, and all wait for the fastest
//! of all.

use host::Peers;
use record::{Measurements, StonewallAccount};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::Workload;

/// What a worker has done when it reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Operations that have begun: those in flight end and count.
    pub(crate) begun: u64,
    /// Operations that have ended.
    pub(crate) ended: u64,
    pub(crate) bytes: u64,
}

impl Reached {
    /// `counted` and what is in flight.
    pub(crate) fn of(counted: &Measurements, in_flight: usize) -> Self {
        let mut reached = Self::default();
        for (_, kind) in counted.but_flushes() {
            reached.ended += kind.count;
            reached.begun += kind.count + kind.errors;
            reached.bytes += kind.bytes;
        }
        reached.begun += in_flight as u64;
        reached
    }
}

/// What the workers of a run tell each other at the stonewall.
#[derive(Debug)]
pub(crate) struct StonewallMeeting {
    workers: u64,
    /// The other ranks, whose fastest worker counts as well.
    others: Option<Arc<dyn Peers>>,
    /// From the start of the run.
    at_ns: u64,
    longest_wear_out_ns: u64,
    reports: AtomicU64,
    /// Of those that were at work when the time came.
    stopped: AtomicU64,
    operations: AtomicU64,
    bytes: AtomicU64,
    fewest: AtomicU64,
    most: AtomicU64,
    /// When the last worker looked, on the clock of the run.
    last_look: AtomicU64,
    /// Workers that the limit ended before they had done what the fastest had.
    cut: AtomicU64,
}

impl StonewallMeeting {
    /// `None` where the workload has no stonewall.
    pub(crate) fn of(workload: &Workload, others: Option<Arc<dyn Peers>>) -> Option<Self> {
        let asked = workload.stop.stonewall;
        let zero = || AtomicU64::new(0);
        Some(Self {
            workers: workload.threads.into(),
            others: others.filter(|_| asked.longest_wear_out().0 > 0),
            at_ns: asked.at?.0,
            longest_wear_out_ns: asked.longest_wear_out().0,
            reports: zero(),
            stopped: zero(),
            operations: zero(),
            bytes: zero(),
            fewest: AtomicU64::new(u64::MAX),
            most: zero(),
            last_look: zero(),
            cut: zero(),
        })
    }

    /// When it is, for a run that began at `start`.
    pub(crate) fn at(&self, start: u64) -> u64 {
        start.saturating_add(self.at_ns)
    }

    /// Until when workers may go on after it; `None`: they do not.
    pub(crate) fn wears_out_until(&self, start: u64) -> Option<u64> {
        let last = self.at(start).saturating_add(self.longest_wear_out_ns);
        (self.longest_wear_out_ns > 0).then_some(last)
    }

    /// A worker was stopped at `now` on the clock of the run.
    pub(crate) fn stop(&self, reached: Reached, now: u64) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
        self.last_look.fetch_max(now, Ordering::Relaxed);
        self.report(reached);
    }

    /// A worker had nothing left to do before the time came.
    pub(crate) fn report(&self, reached: Reached) {
        self.operations.fetch_add(reached.ended, Ordering::Relaxed);
        self.bytes.fetch_add(reached.bytes, Ordering::Relaxed);
        self.fewest.fetch_min(reached.begun, Ordering::Relaxed);
        self.most.fetch_max(reached.begun, Ordering::Relaxed);
        let reports = self.reports.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(others) = self.others.as_ref().filter(|_| reports == self.workers) {
            others.reached(self.most.load(Ordering::Relaxed));
        }
    }

    /// What the fastest worker of all has done; `None` while one has not reported.
    pub(crate) fn most(&self) -> Option<u64> {
        match &self.others {
            Some(others) => others.most_reached(),
            None => self.own_most(),
        }
    }

    fn own_most(&self) -> Option<u64> {
        let all = self.reports.load(Ordering::Acquire) >= self.workers;
        all.then(|| self.most.load(Ordering::Relaxed))
    }

    /// The limit ended a worker that had not yet done as much.
    pub(crate) fn cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the time came before some worker had nothing left to do.
    pub(crate) fn stopped_any(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > 0
    }

    /// What the record says of work that was measured from `start` to `end`; `None` where some worker
    /// never looked. Where none was at work any more when the time came, no stonewall has: what they
    /// had done by then counts where other ranks were.
    pub(crate) fn account(&self, start: u64, end: u64) -> Option<StonewallAccount> {
        let most = self.own_most()?;
        let seen = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let looked = Some(seen(&self.last_look)).filter(|_| self.stopped_any());
        let wears_out = self.longest_wear_out_ns > 0;
        Some(StonewallAccount {
            at_ns: looked.map_or(0, |looked| looked.saturating_sub(start)),
            operations: seen(&self.operations),
            bytes: seen(&self.bytes),
            fewest: seen(&self.fewest),
            most,
            wear_out_ns: looked
                .filter(|_| wears_out)
                .map(|looked| end.saturating_sub(looked)),
            cut: u32::try_from(seen(&self.cut)).unwrap_or(u32::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Ranks;
    use record::Operations;
    use units::Nanos;

    fn stonewall(threads: u32, wear_out: bool) -> StonewallMeeting {
        let mut workload = Workload {
            threads,
            ..Workload::default()
        };
        workload.stop.stonewall.at = Some(Nanos(100));
        workload.stop.stonewall.wear_out = wear_out;
        StonewallMeeting::of(&workload, None).unwrap()
    }

    fn reached(begun: u64, ended: u64) -> Reached {
        Reached {
            begun,
            ended,
            bytes: ended * 10,
        }
    }

    #[test]
    fn nobody_knows_the_fastest_before_everybody_has_reported() {
        let stonewall = stonewall(3, true);
        assert_eq!(
            (stonewall.at(1000), stonewall.wears_out_until(1000)),
            (1100, Some(2100))
        );
        stonewall.stop(reached(5, 4), 1101);
        stonewall.report(reached(2, 2));
        assert_eq!(stonewall.most(), None);
        stonewall.stop(reached(9, 8), 1104);
        assert_eq!(stonewall.most(), Some(9));
        let account = stonewall.account(1000, 1250).unwrap();
        assert_eq!(
            account,
            StonewallAccount {
                at_ns: 104,
                operations: 14,
                bytes: 140,
                fewest: 2,
                most: 9,
                wear_out_ns: Some(146),
                cut: 0,
            }
        );
    }

    #[test]
    fn the_fastest_of_all_ranks_is_what_all_wait_for() {
        let mut workload = Workload {
            threads: 2,
            ..Workload::default()
        };
        workload.stop.stonewall.at = Some(Nanos(100));
        workload.stop.stonewall.wear_out = true;
        let ranks = Arc::new(Ranks::default());
        let others = Arc::clone(&ranks);
        let stonewall = StonewallMeeting::of(&workload, Some(others)).unwrap();
        stonewall.stop(reached(5, 4), 1101);
        assert!(ranks.reached.lock().unwrap().is_empty());
        stonewall.stop(reached(9, 8), 1104);
        assert_eq!(*ranks.reached.lock().unwrap(), [9], "by the last, once");
        assert_eq!(stonewall.most(), None, "others have not said it");
        *ranks.most.lock().unwrap() = Some(40);
        assert_eq!(stonewall.most(), Some(40));
        assert_eq!(stonewall.account(1000, 1250).unwrap().most, 9, "its own");
        // Without a wear-out nobody waits, and nobody is told.
        workload.stop.stonewall.wear_out = false;
        let others = Arc::clone(&ranks);
        let stonewall = StonewallMeeting::of(&workload, Some(others)).unwrap();
        stonewall.report(reached(1, 1));
        stonewall.report(reached(2, 2));
        assert_eq!(ranks.reached.lock().unwrap().len(), 1);
    }

    #[test]
    fn work_that_ended_before_has_no_stonewall() {
        let stonewall = stonewall(2, false);
        assert_eq!(stonewall.wears_out_until(0), None);
        stonewall.report(reached(5, 5));
        stonewall.report(reached(7, 7));
        let account = stonewall.account(0, 90).unwrap();
        assert!(!account.has_come(), "{account:?}");
        assert_eq!((account.operations, account.wear_out_ns), (12, None));
    }

    #[test]
    fn a_flush_is_no_work_and_what_is_in_flight_has_begun() {
        let mut counted = Measurements::default();
        let of = |count, bytes, errors| Operations {
            count,
            bytes,
            errors,
            ..Operations::default()
        };
        counted.insert("write", of(7, 70, 1));
        counted.insert("fsync", of(100, 0, 0));
        assert_eq!(
            Reached::of(&counted, 2),
            Reached {
                begun: 10,
                ended: 7,
                bytes: 70
            }
        );
    }
}
