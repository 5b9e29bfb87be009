//! Which of its ranks a launcher has begun, as they say themselves: a way into a host that hangs
//! says nothing, and launchers wait for it for ever.

use super::host_list::HostList;
use super::launcher::{Dialect, without_address};
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
    /// Where they are to begin, as far as that is known.
    hosts: Option<HostList>,
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
            hosts: None,
            begun: Mutex::default(),
        }
    }

    pub(super) fn of_hosts(self, hosts: HostList) -> Self {
        Self {
            hosts: Some(hosts),
            ..self
        }
    }

    pub(super) fn lost_after_ns(&self) -> u64 {
        self.lost_after_ns
    }

    pub(super) fn add(&self, hosts: Vec<String>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.extend(hosts);
    }

    fn have_begun(&self) -> Vec<String> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.clone()
    }

    fn count(&self) -> u64 {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.len() as u64
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
        (is_new && self.count() < self.ranks).then_some(due)
    }

    /// Whether all have begun.
    pub(super) fn is_complete(&self) -> bool {
        self.count() >= self.ranks
    }

    /// Who has begun, in words, and which hosts cannot.
    pub(super) fn told(&self) -> String {
        let mut hosts = self.have_begun();
        let begun = hosts.len();
        hosts.sort();
        hosts.dedup();
        let on = (!hosts.is_empty()).then(|| format!("on {}", hosts.join(", ")));
        let unknown = self.unknown(begun);
        let unknown = (!unknown.is_empty())
            .then(|| format!("this machine knows no address of {}", unknown.join(", ")));
        let more: Vec<String> = on.into_iter().chain(unknown).collect();
        let more = match more.is_empty() {
            true => String::new(),
            false => format!(" ({})", more.join("; ")),
        };
        let have = if self.ranks == 1 { "has" } else { "have" };
        format!(
            "{begun} of {} {have} begun{more}",
            counted(self.ranks, "rank")
        )
    }

    /// Hosts without an address. Where ranks have begun on some of them, or Slurm knows hosts by names of its
    /// own, launchers find them in another way, and what this machine knows tells nothing.
    fn unknown(&self, begun: usize) -> Vec<String> {
        let Some(hosts) = self.hosts.as_ref().filter(|_| !self.is_queued) else {
            return Vec::new();
        };
        let missing = self.ranks.saturating_sub(begun as u64);
        let unknown = without_address(hosts);
        let ranks = hosts.hosts().iter();
        let ranks = ranks.filter(|host| unknown.contains(&host.name));
        let ranks: u64 = ranks.map(|host| u64::from(host.ranks)).sum();
        match ranks <= missing {
            true => unknown,
            false => Vec::new(),
        }
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
    fn hosts_without_an_address_are_named_unless_ranks_have_begun_without_one() {
        // Neither is asked for in a network: the one is an address, and the other can be no name.
        let hosts = HostList::parse("127.0.0.1,nowhere..invalid").unwrap();
        let muster = of(Dialect::Hydra).of_hosts(hosts.clone());
        let unknown = "this machine knows no address of nowhere..invalid";
        assert_eq!(
            muster.told(),
            format!("0 of 2 ranks have begun ({unknown})")
        );
        muster.add(vec!["a".into()]);
        assert_eq!(
            muster.told(),
            format!("1 of 2 ranks have begun (on a; {unknown})")
        );
        muster.add(vec!["b".into()]);
        assert_eq!(muster.told(), "2 of 2 ranks have begun (on a, b)");
        let queued = of(Dialect::Slurm).of_hosts(hosts);
        assert_eq!(queued.told(), "0 of 2 ranks have begun");
    }

    #[test]
    fn a_queue_may_hold_ranks_back_for_hours() {
        let muster = of(Dialect::Slurm);
        assert_eq!(muster.overdue(20, None), Some(Overdue::Said));
        assert_eq!(muster.overdue(u64::MAX, Some(Overdue::Said)), None);
    }
}
