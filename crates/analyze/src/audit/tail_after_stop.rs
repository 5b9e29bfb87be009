//! Work that went on after the time that was to end it has two rates.

use super::ratio;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, StonewallAccount};
use units::{Nanos, Rate};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "tail_after_stop",
    catalogue_number: None,
    severity: Severity::Note,
    title: "Work went on long after its stonewall",
    text: "\
From the stonewall (stonewall.at_ns) to the last end of the work that it concerns
(stonewall.wear_out_ns, or what is left of the measured time): above 5 % of the time until
the stonewall.
Workers were unevenly fast, or what they had begun took long. Until the stonewall all of
them were at work; after it fewer and fewer are, and the rate of the whole is that of a
smaller load for as long. IO500 counts the whole: what the fastest has done, by all, in the
time that the slowest needs for it.
What to do: quote the rate of the whole where every worker's part has to be done, the rate
by the stonewall (stonewall.throughput, stonewall.iops) for what the target takes from all,
and look at workers[] for who is slow.",
    checks: &[Check::Alone(check)],
};

const MOST: f64 = 0.05;

fn check(record: &Record) -> Vec<Finding> {
    let account = record.stonewall.as_ref();
    let account = account.filter(|account| account.has_come());
    let found = account.and_then(|account| {
        let tail = tail_ns(record, account)?;
        (ratio(tail, account.at_ns) > MOST).then_some((account, tail))
    });
    let Some((account, tail)) = found else {
        return Vec::new();
    };
    let until = account.per_second().map_or_else(String::new, |rate| {
        format!("; until then all workers together did {}", Rate(rate))
    });
    let message = format!(
        "work went on for {} after the stonewall at {}{until}",
        Nanos(tail),
        Nanos(account.at_ns)
    );
    vec![RULE.finding(
        Severity::Note,
        message,
        "quote the rate of the whole for work that must be done, and the rate by the stonewall for what the target takes",
    )]
}

/// `None` where other kinds of operations followed and nobody noted the end.
fn tail_ns(record: &Record, account: &StonewallAccount) -> Option<u64> {
    let rest = || record.elapsed_ns.saturating_sub(account.at_ns);
    let alone = record.spans.is_empty().then(rest);
    account.wear_out_ns.or(alone)
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, only, sound};
    use super::*;

    #[test]
    fn what_follows_the_stonewall_is_held_against_the_time_until_it() {
        let mut record = sound();
        assert_eq!(check(&record), []);
        let account = |at_ns, wear_out_ns| StonewallAccount {
            at_ns,
            operations: 50_000,
            wear_out_ns,
            ..StonewallAccount::default()
        };
        record.stonewall = Some(account(5 * SECOND, Some(5 * SECOND)));
        assert_eq!(
            only(&check(&record)),
            "work went on for 5 s after the stonewall at 5 s; until then all workers together did 10.0 K/s"
        );
        record.stonewall = Some(account(5 * SECOND, None));
        only(&check(&record));
        record.stonewall = Some(account(9_900_000_000, None));
        assert_eq!(check(&record), []);
    }

    #[test]
    fn kinds_that_follow_are_no_tail() {
        let mut record = sound();
        record
            .spans
            .insert("create".into(), record::Span::default());
        record.stonewall = Some(StonewallAccount {
            at_ns: SECOND,
            operations: 1,
            ..StonewallAccount::default()
        });
        assert_eq!(check(&record), []);
    }
}
