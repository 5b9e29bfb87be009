//! Ranks that did not begin together did not load the target together.

use super::percent;
use super::ratio;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{HostPart, Record};
use std::collections::BTreeSet;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "start_skew",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "Ranks began apart, or nobody knows how far",
    text: "\
The time from the first operation of the first rank to that of the last (group.skew_ns),
and by how much their clocks may differ (twice group.clock_bound_ns): above 1 % of the
measured time together. Clocks that nothing keeps in step (group.unsynchronised) say
nothing, unless all ranks ran in one boot of one machine and read the same clock.
Beyond what was asked (--max-skew, group.max_skew_ns) the run does not count, and neither
does one of which half the time is skew: ranks that hardly met are no group.
While some ranks are not there yet, the others have the target to themselves, and at the
end those that began late have it. The rate of the whole is that of a smaller group for
as long, and latencies are mixed from two loads.
What to do: leave all ranks the time to prepare (--lead where they are connected, else
--start-at further ahead), keep clocks in step (chronyd, PTP), and run long against the skew.",
    checks: &[Check::Alone(check)],
};

const MOST: f64 = 0.01;
/// With more of the time than this in skew, ranks hardly met.
const HARDLY_MET: f64 = 0.5;

fn check(record: &Record) -> Vec<Finding> {
    let Some(group) = record.group.as_ref().filter(|group| group.size > 1) else {
        return Vec::new();
    };
    // Who alone had something to do began apart from nobody.
    let parts = record.host_parts();
    if parts.len() > 1 && parts.iter().filter(|own| own.part.had_work()).count() < 2 {
        return Vec::new();
    }
    let one_clock = has_one_clock(record);
    let last = last(&parts);
    if let Some((skew, most)) = group.beyond_max_skew() {
        return vec![RULE.finding(
            Severity::Invalid,
            format!("ranks began {skew} apart, more than --max-skew {most}{last}"),
            "give each rank a free CPU, or allow more with --max-skew and run long against it",
        )];
    }
    let apart = group.skew_ns.filter(|_| record.elapsed_ns > 0);
    let apart = apart.map(|skew| (Nanos(skew), ratio(skew, record.elapsed_ns)));
    if let Some((skew, share)) = apart.filter(|(_, share)| *share > HARDLY_MET) {
        return vec![RULE.finding(
            Severity::Invalid,
            format!("ranks began {skew} apart, {} of the measured time: they hardly loaded the target together{last}", percent(share)),
            match group.is_connected() {
                true => "give each rank a free CPU, and all of them more time to prepare (--lead)",
                false => "join parts of one start alone, and have all ranks wait for it (--start-at further ahead)",
            },
        )];
    }
    if group.unsynchronised && !one_clock {
        return vec![RULE.finding(
            Severity::Warning,
            "nothing keeps the clocks of the ranks in step: how far apart they began is not known".to_owned(),
            "run chronyd or another NTP client on every host, and leave --clock unsynchronised away",
        )];
    }
    let Some(skew) = group.skew_ns.filter(|_| record.elapsed_ns > 0) else {
        return Vec::new();
    };
    let bound = if one_clock {
        0
    } else {
        group.clock_bound_ns.unwrap_or(0).saturating_mul(2)
    };
    let share = ratio(skew.saturating_add(bound), record.elapsed_ns);
    if share <= MOST {
        return Vec::new();
    }
    let bound = if bound > 0 {
        format!(", and their clocks may differ by {}", Nanos(bound))
    } else {
        String::new()
    };
    let message = format!(
        "ranks began {} apart{bound}: {} of the measured time{last}",
        Nanos(skew),
        percent(share)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        match group.is_connected() {
            true => "give a longer --lead and each rank a free CPU, and run long against the skew",
            false => {
                "give a --start-at further ahead, keep the clocks in step, and run long against the skew"
            }
        },
    )]
}

/// Who began last.
fn last(parts: &[HostPart<'_>]) -> String {
    let began = parts.iter().filter(|own| own.part.has_begun());
    let last = began.max_by_key(|own| own.host.late_ns);
    let last = last.filter(|own| own.host.late_ns > 0);
    last.map_or_else(String::new, |own| {
        format!("; the last was {}", own.host.called())
    })
}

/// Whether all ranks began by the clock of the day of one machine: where a part stands alone, nobody
/// knows of the others. Connected ranks know how far their clocks are apart, also on machines that
/// were copied with their boot.
pub(super) fn has_one_clock(record: &Record) -> bool {
    let Some(group) = record.group.as_ref().filter(|group| !group.is_connected()) else {
        return false;
    };
    let known = record.generators().count() + record.lost_ranks();
    let boots = record
        .environments()
        .map(|environment| environment.system.boot_id.as_deref());
    let boots: BTreeSet<Option<&str>> = boots.collect();
    known >= group.size as usize && boots.len() == 1 && !boots.contains(&None)
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, group_of, only, part};
    use super::*;

    #[test]
    fn skew_and_the_bound_of_clocks_count_against_the_measured_time() {
        let mut record = group(2);
        assert_eq!(check(&record), []);
        let told = record.group.as_mut().unwrap();
        (told.skew_ns, told.clock_bound_ns) = (Some(60_000_000), Some(30_000_000));
        assert_eq!(
            only(&check(&record)),
            "ranks began 60 ms apart, and their clocks may differ by 60 ms: 1.2% of the measured time"
        );
        for host in &mut record.hosts {
            host.environment.system.boot_id = Some("one".into());
        }
        assert_eq!(check(&record), [], "they read one clock of the day");
        record.group.as_mut().unwrap().launcher = "Open MPI".into();
        assert_eq!(check(&record).len(), 1, "a boot can be copied");
    }

    #[test]
    fn what_is_beyond_the_skew_that_was_asked_does_not_count() {
        let mut record = group(2);
        let told = record.group.as_mut().unwrap();
        (told.skew_ns, told.max_skew_ns) = (Some(11_000_000), Some(11_000_000));
        assert_eq!(check(&record), []);
        record.group.as_mut().unwrap().max_skew_ns = Some(10_000_000);
        let found = check(&record);
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(
            only(&found),
            "ranks began 11 ms apart, more than --max-skew 10 ms"
        );
    }

    #[test]
    fn where_nothing_fell_to_all_ranks_but_one_nobody_began_apart() {
        let with = |idle: u32| {
            let mut record = group_of(3, |rank, part| {
                if rank < idle {
                    // Several workers see apart that there is nothing to do.
                    part.elapsed_ns = u64::from(rank) * 300_000;
                    (part.operations, part.loops) = <_>::default();
                }
            });
            // As records said it that were written before.
            let told = record.group.as_mut().unwrap();
            (told.skew_ns, told.max_skew_ns) = (Some(20_000_000), Some(10_000_000));
            told.unsynchronised = true;
            check(&record)
        };
        assert_eq!(with(1).len(), 1);
        assert_eq!(with(2), []);
    }

    #[test]
    fn ranks_that_hardly_met_are_no_group_whatever_their_clocks_say() {
        let mut record = group(2);
        let half = record.elapsed_ns / 2;
        let told = record.group.as_mut().unwrap();
        (told.skew_ns, told.unsynchronised) = (Some(half + 1_000_000), true);
        let found = check(&record);
        assert_eq!(found[0].severity, Severity::Invalid);
        assert!(only(&found).contains("they hardly loaded the target together"));
        record.group.as_mut().unwrap().skew_ns = Some(half);
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn clocks_that_nothing_keeps_in_step_are_named() {
        let mut record = group(2);
        record.group.as_mut().unwrap().unsynchronised = true;
        assert!(only(&check(&record)).starts_with("nothing keeps the clocks"));
        record.group = None;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn a_part_alone_does_not_say_that_all_ranks_read_its_clock() {
        let mut alone = part(0, 2);
        alone.group.as_mut().unwrap().unsynchronised = true;
        alone.generator_mut().environment.system.boot_id = Some("one".into());
        assert!(only(&check(&alone)).starts_with("nothing keeps the clocks"));
        let both = group_of(2, |_, part| {
            part.group.as_mut().unwrap().unsynchronised = true;
            part.generator_mut().environment.system.boot_id = Some("one".into());
        });
        assert_eq!(check(&both), []);
    }

    #[test]
    fn ranks_are_told_the_option_that_they_have() {
        let advice = |launcher: &str, share: u64| {
            let mut record = group(2);
            let skew = record.elapsed_ns / 100 * share;
            let told = record.group.as_mut().unwrap();
            (told.skew_ns, told.launcher) = (Some(skew), launcher.into());
            check(&record)[0].advice.clone()
        };
        for share in [10, 60] {
            let (connected, alone) = (advice("MPICH", share), advice("none", share));
            assert!(connected.contains("--lead") && !connected.contains("--start-at"));
            assert!(alone.contains("--start-at") && !alone.contains("--lead"));
        }
        assert_eq!(
            RULE.severity,
            Severity::Invalid,
            "the gravest that it finds"
        );
    }
}
