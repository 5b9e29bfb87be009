//! Series of hosts are added by time, which is as good as their clocks are known.

use super::start_skew::has_one_clock;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "clock_uncertain",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "Clocks of hosts may be too far apart for the series of all",
    text: "\
By how much the clock of a host may be off (group.clock_bound_ns) beside the length of an
interval (interval_ns): above 10 % of it. Of ranks in one boot of one machine nothing is
said: they read one clock.
The series of all hosts adds what each did in the same interval, by its own clock. Where
clocks are off by a part of an interval, so is what stands beside each other: a stall of all
hosts at once looks like two short ones, and the stall of one like none.
What to do: keep clocks in step (chronyd, PTP) where ranks begin by the clock, connect them by
MPI, or give intervals of ten times the bound.",
    checks: &[Check::Alone(check)],
};

const PARTS: u64 = 10;

fn check(record: &Record) -> Vec<Finding> {
    let group = record.group.as_ref().filter(|group| group.size > 1);
    let bound = group.and_then(|group| group.clock_bound_ns);
    let Some(bound) = bound.filter(|_| !record.series.is_empty() && !has_one_clock(record)) else {
        return Vec::new();
    };
    if bound <= record.interval_ns / PARTS {
        return Vec::new();
    }
    let message = format!(
        "the clock of a host may be off by {}, where an interval of the series is {}",
        Nanos(bound),
        Nanos(record.interval_ns)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "keep clocks in step, connect ranks by MPI, or give longer intervals",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, group, only};
    use super::*;
    use record::Interval;

    #[test]
    fn a_bound_beyond_a_tenth_of_an_interval_is_found() {
        let mut record = group(2);
        record.interval_ns = SECOND;
        record.series = vec![Interval::default()];
        let mut with = |bound: Option<u64>| {
            record.group.as_mut().unwrap().clock_bound_ns = bound;
            check(&record)
        };
        assert_eq!(with(None), []);
        assert_eq!(with(Some(SECOND / 10)), []);
        assert_eq!(
            only(&with(Some(SECOND / 5))),
            "the clock of a host may be off by 200 ms, where an interval of the series is 1 s"
        );
        for host in &mut record.hosts {
            host.environment.system.boot_id = Some("one".into());
        }
        assert_eq!(check(&record), [], "they read one clock of the day");
        let mut record = group(2);
        record.group.as_mut().unwrap().clock_bound_ns = Some(SECOND);
        assert_eq!(check(&record), [], "there is no series");
    }
}
