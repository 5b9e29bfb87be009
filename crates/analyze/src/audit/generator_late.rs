//! An open loop that starts late measures its own delay.

use super::{percent, percentile_has_support};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;
use units::lossless::f64_to_u64_saturating;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "generator_late",
    catalogue_number: Some(25),
    severity: Severity::Invalid,
    title: "The generator started operations late",
    text: "\
In an open loop: how much later than intended the generator started operations for which
a connection was free (load.lateness), p99 against the p99 latency over all operations, or
the highest percentile below that ten operations lie above in both. Above 5 % it is found.
Latency counts from the intended start, so that this delay is part of it and looks like the
target's. With a p99 of 2 ms, 0.4 ms of which the generator took to wake up, a server that
is twice as fast shows 1.2 ms: its gain seems to be 1.7 times.
What to do: give the generator CPUs of its own, more --threads, or a lower rate. Until
then quote the service time, which counts from the real start.",
    checks: &[Check::Each(check)],
};

/// Of the same percentile of the latency, which counts from the intended start and so holds the
/// lateness.
const MOST_SHARE: f64 = 0.05;
/// The p99, or the highest below it that ten operations lie above.
const PERCENTILES: [f64; 3] = [99.0, 95.0, 90.0];
const ADVICE: &str = "the generator was not ready when operations were due: give it CPUs of its own, more --threads or a lower rate, and quote the \
    service time until its lateness is small";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    late(record).into_iter().collect()
}

fn late(record: &Record) -> Option<Finding> {
    let lateness = record.load.as_ref()?.lateness.as_ref()?;
    let all = record.operations.together();
    let is_known = |q: &f64| {
        [lateness.count(), all.latency.count()]
            .into_iter()
            .all(|n| percentile_has_support(n, *q))
    };
    let q = PERCENTILES.into_iter().find(is_known)?;
    let (own, whole) = (
        lateness.quantile(q / 100.0)?,
        all.latency.quantile(q / 100.0)?,
    );
    let share = own / whole;
    let [own, whole] = [own, whole].map(|ns| Nanos(f64_to_u64_saturating(ns.round())));
    let message = || {
        format!(
            "the generator itself was late by {own} (p{q}), {} of the p{q} latency of {whole} that is reported",
            percent(share)
        )
    };
    (share.is_finite() && share > MOST_SHARE)
        .then(|| RULE.finding(Severity::Invalid, message(), ADVICE))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;
    use record::{Histogram, LoadAccount};

    fn of(ns: u64, count: u64) -> Histogram {
        let mut out = Histogram::default();
        out.record_many(ns, count);
        out
    }

    /// 100,000 operations of 3.2 ms, of which `count` had a lateness of their own.
    fn started(late_ns: u64, count: u64) -> Record {
        Record {
            load: Some(LoadAccount {
                lateness: Some(of(late_ns, count)),
                ..LoadAccount::default()
            }),
            ..sound()
        }
    }

    #[test]
    fn a_lateness_above_a_twentieth_of_the_latency_is_invalid() {
        let found = check(&started(176_000, 10_000));
        assert!(
            only(&found).starts_with("the generator itself was late by 17"),
            "{found:?}"
        );
        assert!(
            found[0]
                .message
                .contains("(p99), 5.5% of the p99 latency of 3."),
            "{found:?}"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(check(&started(144_000, 10_000)), []);
    }

    #[test]
    fn a_percentile_that_few_lie_above_is_not_judged() {
        assert!(only(&check(&started(320_000, 999))).contains("(p95)"));
        assert_eq!(check(&started(320_000, 99)), []);
    }

    #[test]
    fn a_late_host_of_several_is_named_where_the_sum_does_not_show_it() {
        let record = super::super::example::group_of(3, |rank, part| {
            part.load = match rank {
                1 => started(176_000, 1_000).load,
                _ => started(1_000, 100_000).load,
            };
        });
        assert_eq!(check(&record), []);
        let found = crate::audit::rule::alone(&record);
        let found: Vec<_> = found.filter(|of| of.rule == RULE.id).collect();
        let text = only(&found);
        assert!(
            text.starts_with("on node1 (rank 1): the generator"),
            "{text}"
        );
    }

    #[test]
    fn a_closed_loop_is_never_late() {
        assert_eq!(
            check(&Record {
                load: Some(LoadAccount::default()),
                ..sound()
            }),
            []
        );
        assert_eq!(check(&sound()), []);
    }
}
