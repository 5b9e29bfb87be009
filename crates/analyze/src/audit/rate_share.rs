//! A schedule is dealt out to hosts, and one that does not keep its share leaves another load than was
//! asked for.

use super::{few_told, percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{GroupAccount, HostAccount, Record, Status};
use units::lossless::u64_to_f64;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "rate_share",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "A host did not keep its share of the rate",
    text: "\
In an open loop each host of a group is given an equal share of the rate. What it began is
held against what was due to it (its own pace, also the operations that it never started):
below 95 % of its share, or below what chance explains where there are few operations, and
one operation short at least, as none can be divided. One that failed before the others
ended began nothing after that.
One host that keeps half of its share takes an eighth from the rate of four, and the others
do not make up for it: the target had less to do than was asked, from fewer clients than
were counted, and the latencies of the slow host are those of its own queue.
What to do: see what was busy on that host, ask for less, or allow a greater --queue-depth;
run on it alone and on another alone, and leave it out if it is slower.",
    checks: &[Check::Alone(check)],
};

const LEAST: f64 = 0.95;

fn check(record: &Record) -> Vec<Finding> {
    if record.ranks() < 2 || !Effective::of(record).is_open_loop() {
        return Vec::new();
    }
    let hosts = record.by_host();
    let longest_ns = hosts.iter().map(|own| own.scheduled_ns()).max();
    let longest_ns = longest_ns.unwrap_or_default();
    let group = record.group.as_ref();
    let is_connected = group.is_some_and(GroupAccount::is_connected);
    let named = record.generators().map(HostAccount::called);
    let hosts = hosts.iter().filter(|_| hosts.len() > 1).zip(named);
    let short = hosts.filter_map(|(own, name)| {
        let of_schedule = own.kept_schedule().map(|kept| kept.share);
        let least = match of_schedule {
            Some(_) => LEAST,
            None => LEAST.min(1.0 - own.chance_of_pace()),
        };
        let kept = of_schedule.or_else(|| kept(own))? * lasted(own, longest_ns, is_connected);
        (kept < least).then(|| format!("{name} kept {} of its share", percent(kept)))
    });
    let short: Vec<String> = short.collect();
    if short.is_empty() {
        return Vec::new();
    }
    vec![RULE.finding(
        Severity::Warning,
        few_told(short),
        "see what was busy on these hosts, ask for less, or allow a greater --queue-depth; what is slower on its own is no client like the others",
    )]
}

/// How much of the longest time of all a host was there for its share, where something ended it early: what
/// had done all that it was to do owes no more.
fn lasted(own: &Record, longest_ns: u64, is_connected: bool) -> f64 {
    let own_ns = own.scheduled_ns();
    let failed = match own.outcome.status {
        Status::Ok => false,
        // A signal reaches all that are connected, some of them a moment later.
        Status::Interrupted => !is_connected,
        Status::Failed | Status::Incomplete | Status::Apart => true,
    };
    match failed && longest_ns > own_ns {
        true => ratio(own_ns, longest_ns),
        false => 1.0,
    }
}

/// The part of its share of the rate that a host kept; `None` of one that measured nothing.
fn kept(own: &Record) -> Option<f64> {
    let pace = own.pace.as_ref().filter(|_| own.elapsed_ns > 0)?;
    let seconds = u64_to_f64(own.paced_ns()) / 1e9;
    let begun = pace.achieved_per_second * seconds;
    let of_rate = own.judged_rate().map(|rate| match rate.is_of_bytes {
        true => rate.achieved / rate.asked,
        false => kept_of(begun, rate.asked * seconds),
    });
    let of_due = Some(begun / (begun + u64_to_f64(pace.unsent)));
    let known = [of_due, of_rate].into_iter().flatten();
    known.filter(|share| share.is_finite()).reduce(f64::min)
}

/// The part of what was due that was begun: operations that do not come out even among hosts leave some of
/// them a part of one.
fn kept_of(begun: f64, due: f64) -> f64 {
    match due - begun < 1.0 {
        true => 1.0,
        false => begun / due,
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, blocks, group_of, only, set, sound};
    use super::*;
    use record::PaceAccount;

    /// Ranks that were each to begin 10,000 operations a second for 10 s.
    fn paced(achieved: [f64; 3], unsent: [u64; 3]) -> Record {
        group_of(3, |rank, part| {
            let rank = rank as usize;
            part.pace = Some(PaceAccount {
                asked_per_second: Some(10_000.0),
                achieved_per_second: achieved[rank],
                unsent: unsent[rank],
                ..PaceAccount::default()
            });
        })
    }

    #[test]
    fn a_host_that_kept_less_than_its_share_is_named_with_it() {
        let kept = [10_000.0, 3_488.0, 9_600.0];
        let found = check(&paced(kept, [0, 65_120, 4_000]));
        assert_eq!(only(&found), "node1 (rank 1) kept 34.9% of its share");
        assert_eq!(found[0].severity, Severity::Warning);
        // Nobody counted what was due, as where a rate of bytes is kept.
        let several = check(&paced([9_000.0, 10_000.0, 9_400.0], [0; 3]));
        assert_eq!(
            only(&several),
            "node0 (rank 0) kept 90% of its share; node2 (rank 2) kept 94% of its share"
        );
    }

    #[test]
    fn who_began_all_but_a_part_of_one_operation_kept_its_share() {
        // 1,000 operations of 64 hosts: some of them have 16, and some have 15.
        let of = |begun: [f64; 3]| {
            let mut record = paced(begun.map(|begun| begun / 10.0), [0; 3]);
            for part in record
                .hosts
                .iter_mut()
                .filter_map(|host| host.part.as_mut())
            {
                part.pace.as_mut().unwrap().asked_per_second = Some(1.5625);
            }
            check(&record)
        };
        assert_eq!(of([16.0, 15.0, 15.0]), []);
        assert_eq!(
            only(&of([16.0, 15.0, 5.0])),
            "node2 (rank 2) kept 32% of its share"
        );
    }

    #[test]
    fn a_host_that_failed_early_kept_its_share_as_long_as_it_was_there() {
        let of = |status| {
            check(&group_of(2, |rank, part| {
                part.pace = Some(PaceAccount {
                    asked_per_second: Some(10_000.0),
                    achieved_per_second: 10_000.0,
                    ..PaceAccount::default()
                });
                if rank == 1 {
                    part.elapsed_ns /= 2;
                    part.outcome.status = status;
                }
            }))
        };
        let found = of(Status::Failed);
        assert_eq!(only(&found), "node1 (rank 1) kept 50% of its share");
        assert_eq!(of(Status::Ok), [], "it had done all that it was to do");
    }

    #[test]
    fn a_late_host_is_held_against_what_was_due_from_the_common_start() {
        let late = |bytes: u64, status| {
            check(&group_of(2, |rank, part| {
                part.pace = Some(PaceAccount {
                    asked_bytes_per_second: Some(40_960_000.0),
                    achieved_per_second: 10_000.0,
                    ..PaceAccount::default()
                });
                if rank == 1 {
                    part.generator_mut().late_ns = 4 * SECOND;
                    part.elapsed_ns = 6 * SECOND;
                    let mut reads = blocks(100_000, 1_000_000);
                    reads.bytes = bytes;
                    part.operations = record::Measurements::default();
                    part.operations.insert("read", reads);
                    part.outcome.status = status;
                }
            }))
        };
        assert_eq!(late(409_600_000, Status::Ok), []);
        assert_eq!(
            late(409_600_000, Status::Failed),
            [],
            "it was there until the end"
        );
        // As much a second of its own time as was asked for.
        let found = late(245_760_000, Status::Ok);
        assert_eq!(only(&found), "node1 (rank 1) kept 60% of its share");
    }

    #[test]
    fn a_closed_loop_one_host_and_a_kept_share_are_silent() {
        assert_eq!(check(&paced([9_990.0; 3], [100; 3])), []);
        assert_eq!(check(&group_of(3, |_, _| ())), []);
        let mut alone = sound();
        alone.pace = paced([5_000.0; 3], [50_000; 3]).pace;
        assert_eq!(check(&alone), []);
    }

    #[test]
    fn what_chance_explains_is_no_shortfall() {
        let few = |arrival: &str| {
            check(&group_of(2, |rank, part| {
                set(part, "arrival", arrival);
                part.operations = record::Measurements::default();
                part.operations
                    .insert("read", super::super::example::blocks(90, 1_000_000));
                part.pace = Some(PaceAccount {
                    asked_per_second: Some(10.0),
                    achieved_per_second: if rank == 0 { 9.0 } else { 10.0 },
                    ..PaceAccount::default()
                });
            }))
        };
        assert_eq!(few("constant").len(), 1);
        assert_eq!(few("poisson"), []);
    }
}
