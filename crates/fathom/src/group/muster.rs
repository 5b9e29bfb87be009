//! Which of its ranks a launcher has begun, as they say themselves: a way into a host that hangs
//! says nothing, and launchers wait for it for ever.

use super::launcher::Dialect;
use std::sync::{Mutex, PoisonError};
use units::counted;

/// After so many times what a rank may be silent for it is said that some have not begun, and after
/// so many the launcher is asked to end.
const SAID_AFTER: u64 = 2;
const GIVEN_UP_AFTER: u64 = 6;

/// The ranks that a launcher is to begin.
#[derive(Debug)]
pub(super) struct Muster {
    ranks: u64,
    /// For how long a rank may be silent.
    lost_after_ns: u64,
    /// Where a queue may hold the launcher back, nobody gives up.
    is_queued: bool,
    /// The hosts of those that have begun, one a rank.
    begun: Mutex<Vec<String>>,
}

/// What is due where ranks have not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Said,
    GivenUp,
}

impl Muster {
    pub(super) fn new(ranks: u64, lost_after_ns: u64, dialect: Dialect) -> Self {
        Self {
            ranks,
            lost_after_ns,
            is_queued: dialect == Dialect::Slurm,
            begun: Mutex::default(),
        }
    }

    pub(super) fn add(&self, hosts: Vec<String>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.extend(hosts);
    }

    fn hosts(&self) -> Vec<String> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.clone()
    }

    /// What is due so long after the launcher was started; `last` was said already.
    pub(super) fn overdue(&self, since_ns: u64, last: Option<Overdue>) -> Option<Overdue> {
        let is_past = |times: u64| since_ns >= self.lost_after_ns.saturating_mul(times);
        let due = match (
            is_past(GIVEN_UP_AFTER) && !self.is_queued,
            is_past(SAID_AFTER),
        ) {
            (true, _) => Overdue::GivenUp,
            (false, true) => Overdue::Said,
            (false, false) => return None,
        };
        let is_new = last != Some(due) && last != Some(Overdue::GivenUp);
        (is_new && (self.hosts().len() as u64) < self.ranks).then_some(due)
    }

    /// Whether all have begun.
    pub(super) fn is_complete(&self) -> bool {
        self.hosts().len() as u64 >= self.ranks
    }

    /// Who has begun, in words.
    pub(super) fn told(&self) -> String {
        let mut hosts = self.hosts();
        let begun = hosts.len();
        hosts.sort();
        hosts.dedup();
        let on = match hosts.is_empty() {
            true => String::new(),
            false => format!(" (on {})", hosts.join(", ")),
        };
        let have = if self.ranks == 1 { "has" } else { "have" };
        format!(
            "{begun} of {} {have} begun{on}",
            counted(self.ranks, "rank")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dialect: Dialect) -> Muster {
        Muster::new(2, 10, dialect)
    }

    #[test]
    fn who_does_not_begin_is_told_of_and_then_given_up() {
        let muster = of(Dialect::Hydra);
        assert_eq!(muster.overdue(19, None), None);
        assert_eq!(muster.overdue(20, None), Some(Overdue::Said));
        assert_eq!(muster.overdue(59, Some(Overdue::Said)), None);
        assert_eq!(
            muster.overdue(60, Some(Overdue::Said)),
            Some(Overdue::GivenUp)
        );
        assert_eq!(muster.overdue(99, Some(Overdue::GivenUp)), None);
        muster.add(vec!["a".into()]);
        assert_eq!(muster.told(), "1 of 2 ranks have begun (on a)");
        assert_eq!(muster.overdue(60, None), Some(Overdue::GivenUp));
        muster.add(vec!["b".into()]);
        assert_eq!(muster.overdue(60, None), None);
        let alone = Muster::new(1, 10, Dialect::Hydra);
        assert_eq!(alone.told(), "0 of 1 rank has begun");
    }

    #[test]
    fn a_queue_may_hold_ranks_back_for_hours() {
        let muster = of(Dialect::Slurm);
        assert_eq!(muster.overdue(20, None), Some(Overdue::Said));
        assert_eq!(muster.overdue(u64::MAX, Some(Overdue::Said)), None);
    }
}
