//! What is known of the ranks that did one workload together.

use crate::{HostAccount, Outcome, Record, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::Nanos;

/// Whether the hosts of a group see the same files.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TargetReach {
    /// All of them see the same.
    Shared,
    /// Each has its own under the same name.
    Local,
    /// What a later version wrote.
    #[serde(other)]
    Unknown,
}

/// A rank whose part is missing or was not measured.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LostRank {
    pub rank: u32,
    /// Where it ran, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub why: String,
    /// How long after the common start rank 0 heard of it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heard_ns: Option<u64>,
}

/// The ranks that did one workload together, and how well they began together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupAccount {
    /// Ranks that there were to be.
    pub size: u32,
    /// Machines that those of whom there is an account ran on: each boot is one, and where nobody says
    /// the boot each name. `None` in a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
    /// What started and connected them: `none` where each was started by itself.
    pub launcher: String,
    /// The same for all ranks that were asked for the same work on the same targets.
    pub plan: String,
    /// The common start, RFC 3339, UTC.
    pub start_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_is: Option<TargetReach>,
    /// From the first operation of the first rank to that of the last, each by its own clock; `None`
    /// where fewer than two of them had anything to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_ns: Option<u64>,
    /// By how much the clock of a rank may have been off, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
    /// The most that the clock of a rank moved against that of rank 0 from the common start to the
    /// end, as far as anybody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_drift_ns: Option<u64>,
    /// From the proposal of the start to the start, and how many moments were proposed until one was
    /// far enough ahead for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_tries: Option<u32>,
    /// Ranks that began further apart were not to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_skew_ns: Option<u64>,
    /// Nothing keeps the clock of some rank in step with the others: its bound says nothing.
    #[serde(skip_serializing_if = "crate::is_unset")]
    pub unsynchronised: bool,
    /// Ranks that did not see the mark of rank 0 in a target of which somebody said that all of them
    /// see it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen_by: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostRank>,
}

impl LostRank {
    /// What people read of it: why, and when it was heard of last, where that is known.
    #[must_use]
    pub fn told(&self) -> String {
        let heard = self.last_heard_ns.map(Nanos);
        let heard = heard.map(|at| format!(", last heard of {at} after the start"));
        format!("{}{}", self.why, heard.unwrap_or_default())
    }
}

impl GroupAccount {
    /// How far apart ranks began, and how far they were to, where that was further.
    #[must_use]
    pub fn beyond_max_skew(&self) -> Option<(Nanos, Nanos)> {
        let (skew, most) = (self.skew_ns?, self.max_skew_ns?);
        (skew > most).then_some((Nanos(skew), Nanos(most)))
    }

    /// Whether ranks could speak with each other.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.launcher != "none"
    }

    /// Of all ranks of both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.unsynchronised |= other.unsynchronised;
        let unseen_by = [std::mem::take(&mut self.unseen_by), other.unseen_by];
        self.unseen_by = unseen_by
            .into_iter()
            .flatten()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        self.lost.extend(other.lost);
        let lost = std::mem::take(&mut self.lost);
        self.lost = lost
            .into_iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
    }

    /// What of two records says that they are not of ranks that met.
    pub(crate) fn differ(one: Option<&Self>, other: Option<&Self>) -> Option<&'static str> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (None, None) => return None,
            (Some(_), None) | (None, Some(_)) => return Some("group"),
        };
        let same = [
            ("number of ranks", one.size == other.size),
            ("launcher", one.launcher == other.launcher),
            ("plan", one.plan == other.plan),
            ("common start", one.start_at == other.start_at),
            ("reach of the target", one.target_is == other.target_is),
        ];
        same.into_iter()
            .find(|(_, same)| !same)
            .map(|(what, _)| what)
    }
}

/// How far apart ranks may begin, where nobody says it.
pub const USUAL_MAX_SKEW: Nanos = Nanos(10_000_000);

impl Record {
    /// Says of ranks that began too far apart that what they measured does not count, where it is known
    /// how far that was; what is graver stands.
    pub fn hold_to_start(&mut self, max_skew: Nanos) {
        if let Some(group) = self.group.as_mut().filter(|group| group.skew_ns.is_some()) {
            group.max_skew_ns = Some(max_skew.0);
        }
        let apart = self.group.as_ref().and_then(GroupAccount::beyond_max_skew);
        if let Some((skew, most)) = apart
            && self.outcome.status == Status::Ok
        {
            let what = format!("ranks began {skew} apart, more than --max-skew {most}");
            self.outcome = Outcome::new(Status::Apart, 4, what);
        }
    }

    /// Whether it may be a slot of a pair: it ended well, its ranks began together, and its generator never stood still.
    #[must_use]
    pub fn is_good_slot(&self) -> bool {
        self.outcome.status == Status::Ok && self.longest_stop_ns() == 0
    }

    /// How many ranks it was asked of: 1 where there is no group.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.group.as_ref().map_or(1, |group| group.size)
    }

    /// How many ranks of its group did not take part, whether they are named or not; none where
    /// nobody says that any did not.
    #[must_use]
    pub fn lost_ranks(&self) -> usize {
        let Some(group) = self.group.as_ref().filter(|group| !group.lost.is_empty()) else {
            return 0;
        };
        let lost = group.lost.iter().map(|lost| lost.rank);
        let there = self.generators().filter_map(|host| host.rank);
        let known: BTreeSet<u32> = there
            .chain(lost)
            .filter(|rank| *rank < group.size)
            .collect();
        let unnamed = (group.size as usize).saturating_sub(known.len());
        group.lost.len().saturating_add(unnamed)
    }

    /// Says of the group what only all of its ranks together show.
    pub(crate) fn tell_of_group(&mut self) {
        // To whom nothing fell began with nothing.
        let began = || {
            let had_work = |host: &&HostAccount| {
                let part = host.part.as_ref();
                part.is_none_or(|part| part.had_work())
            };
            self.generators().filter(had_work)
        };
        let ranks = began().filter(|host| host.rank.is_some());
        let late: Vec<u64> = ranks.map(|host| host.late_ns).collect();
        let skew_ns = late.iter().max().zip(late.iter().min());
        let skew_ns = skew_ns.filter(|_| late.len() > 1);
        let skew_ns = skew_ns.map(|(last, first)| last - first);
        let bounds = began().map(|host| host.clock_bound_ns);
        // A bound that one of them lacks, all lack.
        let clock_bound_ns = bounds.collect::<Option<Vec<u64>>>();
        let clock_bound_ns = clock_bound_ns.and_then(|bounds| bounds.into_iter().max());
        let drifts = self.generators().filter_map(|host| host.clock_drift_ns);
        let clock_drift_ns = drifts.map(i64::unsigned_abs).max();
        let machines = u32::try_from(self.machines_used()).ok();
        if let Some(group) = &mut self.group {
            group.machines = machines;
            (group.skew_ns, group.clock_bound_ns) = (skew_ns, clock_bound_ns);
            group.clock_drift_ns = clock_drift_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_began_too_far_apart_do_not_count_and_what_is_graver_stands() {
        let held = |skew_ns, exit_code, status| {
            let mut record = Record {
                group: Some(GroupAccount {
                    skew_ns,
                    ..GroupAccount::default()
                }),
                ..Record::default()
            };
            (record.outcome.exit_code, record.outcome.status) = (exit_code, status);
            record.hold_to_start(Nanos(10));
            record.outcome.exit_code
        };
        assert_eq!(held(Some(10), 0, Status::Ok), 0);
        assert_eq!(held(Some(11), 0, Status::Ok), 4);
        assert_eq!(
            held(Some(11), 3, Status::Ok),
            4,
            "no threshold is missed by it"
        );
        assert_eq!(held(Some(11), 5, Status::Incomplete), 5);
        assert_eq!(held(None, 0, Status::Ok), 0, "nobody knows");
    }

    #[test]
    fn ranks_that_nobody_named_are_counted_among_the_lost() {
        let host = |rank| HostAccount {
            rank: Some(rank),
            ..HostAccount::default()
        };
        let lost = |rank| LostRank {
            rank,
            ..LostRank::default()
        };
        let mut record = Record {
            hosts: vec![host(0), host(1)],
            group: Some(GroupAccount {
                size: 9,
                ..GroupAccount::default()
            }),
            ..Record::default()
        };
        assert_eq!(record.lost_ranks(), 0);
        // Rank 1 was there and measured nothing.
        record.group.as_mut().unwrap().lost = vec![lost(1), lost(2)];
        assert_eq!(record.lost_ranks(), 2 + 6);
    }

    /// A rank on a machine of this boot and name, that measured for so long.
    fn part(rank: u32, boot: Option<&str>, name: &str, elapsed_ns: u64) -> Record {
        let mut part = Record {
            id: rank.to_string(),
            elapsed_ns,
            group: Some(GroupAccount::default()),
            ..Record::default()
        };
        let host = part.generator_mut();
        (host.rank, host.late_ns) = (Some(rank), 10 * u64::from(rank));
        host.environment.system.boot_id = boot.map(str::to_owned);
        host.environment.system.hostname = Some(name.into());
        part
    }

    #[test]
    fn machines_are_counted_by_their_boot_or_their_name() {
        let machines = |places: [(Option<&str>, &str); 4]| {
            let parts = (0..).zip(places);
            let parts = parts.map(|(rank, (boot, name))| part(rank, boot, name, 1));
            let group = Record::merge_all(parts).unwrap().group;
            group.unwrap().machines
        };
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(machines([(a, "x"), (a, "y"), (b, "x"), (b, "x")]), Some(2));
        let named = [(None, "x"), (None, "y"), (None, "x"), (None, "x")];
        assert_eq!(machines(named), Some(2));
        assert_eq!(
            machines([(a, "x"), (a, "x"), (None, "y"), (None, "z")]),
            Some(3)
        );
    }

    #[test]
    fn where_one_rank_alone_had_something_to_do_there_is_no_skew() {
        let skew = |elapsed: [u64; 3]| {
            let parts = (0..).zip(elapsed);
            let parts = parts.map(|(rank, elapsed_ns)| {
                let mut part = part(rank, None, "x", elapsed_ns);
                part.loops.worker_ns = elapsed_ns.into();
                part
            });
            Record::merge_all(parts).unwrap().group.unwrap().skew_ns
        };
        assert_eq!(skew([5, 5, 5]), Some(20));
        assert_eq!(skew([5, 0, 5]), Some(20));
        assert_eq!(skew([0, 5, 0]), None);
        assert_eq!(skew([0, 0, 0]), None);
    }

    /// Three ranks, of which the first worked for 4 and the last began when the others were done: how
    /// long all took, how far they began apart and how far their clocks may be off, with a last one so.
    fn with_last(change: fn(&mut Record)) -> (u64, Option<u64>, Option<u64>) {
        let parts = (0..3).map(|rank| {
            let mut part = part(rank, None, "x", 4);
            part.generator_mut().clock_bound_ns = Some(100 + u64::from(rank));
            if rank == 2 {
                part.elapsed_ns = 1000;
                change(&mut part);
            } else {
                part.loops.worker_ns = 4;
                let read = crate::Operations {
                    count: 1,
                    ..crate::Operations::default()
                };
                part.operations.insert("read", read);
            }
            part
        });
        let all = Record::merge_all(parts).unwrap();
        let group = all.group.unwrap();
        (all.elapsed_ns, group.skew_ns, group.clock_bound_ns)
    }

    #[test]
    fn a_rank_whose_workers_found_nothing_to_do_counts_for_no_time() {
        let idle = (14, Some(10), Some(101));
        assert_eq!(with_last(|_| ()), idle);
        let keeps_a_rate = |part: &mut Record| {
            part.operations.insert("read", crate::Operations::default());
            part.pace = Some(crate::PaceAccount::default());
        };
        assert_eq!(with_last(keeps_a_rate), idle, "nothing was due");
        let interrupted = |part: &mut Record| part.outcome.status = Status::Interrupted;
        assert_eq!(with_last(interrupted), idle, "with those who had work");
    }

    #[test]
    fn a_rank_that_had_work_and_did_none_of_it_counts() {
        let stuck: [fn(&mut Record); 8] = [
            |part| part.loops.abandoned = 1,
            |part| part.loops.submitted = 1,
            |part| part.loops.worker_ns = 1000,
            |part| {
                part.pace = Some(crate::PaceAccount {
                    unsent: 1,
                    ..crate::PaceAccount::default()
                });
            },
            |part| part.errors.push(crate::ErrorCount::default()),
            |part| {
                let failed = crate::Operations {
                    errors: 1,
                    ..crate::Operations::default()
                };
                part.operations.insert("read", failed);
            },
            // A worker that was given up says nothing of itself.
            |part| part.outcome.status = Status::Incomplete,
            |part| {
                part.outcome.status = Status::Interrupted;
                let given_up = format!("stopped; 2 workers did not end and {}", crate::GIVEN_UP);
                part.outcome.message = Some(given_up);
            },
        ];
        for change in stuck {
            assert_eq!(with_last(change), (1020, Some(20), Some(102)));
        }
    }
}
