//! A generator that is busy with itself measures itself.

use super::target_on_same_host::named_here;
use super::{in_memory, percent};
use crate::audit::rule::{Check, Rule};
use crate::figures::sum_of_transfers;
use crate::{Effective, Finding, Severity};
use record::{Limit, Record};
use units::counted;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "generator_bound",
    catalogue_number: Some(21),
    severity: Severity::Invalid,
    title: "The generator, not the target, set the rate",
    text: "\
The cost of a null operation (calibration.null_operation_ns) against the time of each
operation: above half it is the instrument that is measured. CPU time of the process
against the CPUs that it may use: above 80 %. A warning where memory answers, and for
users on the target's own machine whose CPU time nobody recorded. Above 100 % the run
refutes the calibration, which was disturbed: a note, and no word against the run.
At 10,000 operations a second and worker, a null operation of 60 us is 60 % of the time:
no target whatever could show more than 1.7 times this rate.
What to do: spread the load over more --threads or machines, and compare with the null
engine at the same settings; `fathom calibrate` prints what the instrument costs.",
    checks: &[Check::OfHost(check)],
};

/// With more of an operation's time spent in the instrument, a target twice as fast would show the
/// same rate.
const MOST_OWN_SHARE: f64 = 0.5;
const MOST_BUSY: f64 = 0.8;
/// Beyond all of the CPUs by more than their counters are late.
const MOST_POSSIBLE: f64 = 1.5;
const ADVICE: &str = "spread the load over more --threads or machines, and compare with the null engine at the same settings (fathom calibrate)";

const ADVICE_OF_CALIBRATION: &str = "how near the generator was to its own limit is not known: calibrate on a quiet machine (fathom calibrate), or repeat the run";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if effective.has_no_target() {
        return Vec::new();
    }
    [own_share(record), busy(record), unrecorded(record)]
        .into_iter()
        .flatten()
        .take(1)
        .collect()
}

/// What the instrument alone needs of each operation's time.
fn own_share(record: &Record) -> Option<Finding> {
    let effective = Effective::of(record);
    let ends = if effective.number("queue-depth").unwrap_or(1) == 1 {
        " 1"
    } else {
        " 32"
    };
    let null = record
        .generator()
        .calibration
        .null_operation_ns
        .iter()
        .find(|(depth, _)| depth.ends_with(ends))
        .map(|(_, ns)| *ns)?;
    let workers = effective
        .real("threads")
        .filter(|threads| *threads >= 1.0)?;
    let share = sum_of_transfers(record, |f| f.per_second())? / workers * null / 1e9;
    if share > 1.0 && share.is_finite() {
        // The loop did more operations than the calibration calls possible: that is said of the
        // calibration, and not of the run.
        let message = format!(
            "the calibration is not to be trusted: by it the instrument alone would need {} of each operation's time",
            percent(share)
        );
        return Some(RULE.finding(Severity::Note, message, ADVICE_OF_CALIBRATION));
    }
    // What memory answers costs little more than the instrument; then it is that which the number
    // means.
    let severity = if in_memory(record) || !effective.is_on("direct") {
        Severity::Warning
    } else {
        Severity::Invalid
    };
    let message = || {
        let ceiling = 1.0 / share;
        format!(
            "the instrument itself takes {} of each operation's time: its own limit is {ceiling:.1} times this result",
            percent(share)
        )
    };
    (share > MOST_OWN_SHARE && share.is_finite()).then(|| RULE.finding(severity, message(), ADVICE))
}

/// CPU time of this process over that of the CPUs that it may use at once.
fn busy(record: &Record) -> Option<Finding> {
    let effective = Effective::of(record);
    let users = effective.real("users");
    let spins = effective.thinks() || effective.is_open_loop() || effective.is_on("iopoll");
    // Without O_DIRECT the time is that of the copy, which is what a cached workload measures.
    if spins
        || record.elapsed_ns == 0
        || in_memory(record)
        || (users.is_none() && !effective.is_on("direct"))
    {
        return None;
    }
    let cpus = cpus(record)?.min(
        users
            .or_else(|| effective.real("threads"))
            .unwrap_or(f64::INFINITY),
    );
    let share = (record
        .generator()
        .process
        .user_ns
        .saturating_add(record.generator().process.system_ns)) as f64
        / record.elapsed_ns as f64
        / cpus;
    // More than all CPUs can give: the account is of a longer time than the operations.
    if share > MOST_POSSIBLE {
        return None;
    }
    let severity = if users.is_some() {
        Severity::Invalid
    } else {
        Severity::Warning
    };
    let message = || {
        format!(
            "the generator used {} of the {cpus:.1} CPUs that it can use: its own limit is near",
            percent(share.min(1.0))
        )
    };
    (share > MOST_BUSY).then(|| RULE.finding(severity, message(), ADVICE))
}

/// CPUs that this process may use, by affinity and by quota.
fn cpus(record: &Record) -> Option<f64> {
    let environment = &record.generator().environment;
    let allowed = environment
        .process
        .allowed_cpus
        .as_ref()
        .map(|list| list.ids().len() as f64)
        .filter(|n| *n > 0.0);
    let known = allowed.or_else(|| environment.cpu.logical.map(f64::from))?;
    let group = environment.cgroup.as_ref();
    let quota = group.and_then(|group| match (group.cpu_quota_us?, group.cpu_period_us?) {
        (Limit::AtMost(quota), period) if period > 0 => Some(quota as f64 / period as f64),
        (Limit::AtMost(_) | Limit::Unlimited, _) => None,
    });
    Some(known.min(quota.unwrap_or(known)))
}

/// Users on the target's own machine, and nobody wrote down what they cost.
fn unrecorded(record: &Record) -> Option<Finding> {
    let silent =
        record.generator().machine.busy_share.is_none() && record.generator().process.user_ns == 0;
    let users = Effective::of(record)
        .text("users")
        .filter(|_| silent && record.source.is_some())?;
    let place = named_here(record)?;
    let message = format!(
        "{} ran on the machine of the target ({place}), and their CPU time is not recorded: the limit may be the client's",
        counted(users, "user")
    );
    Some(RULE.finding(Severity::Warning, message, ADVICE))
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, only, quoted, set, sound};
    use super::*;
    use record::Summary;

    fn calibrated(null_ns: f64) -> Record {
        let mut record = sound();
        record.generator_mut().calibration.null_operation_ns = [
            ("depth 1".to_owned(), 500.0),
            ("depth 32".to_owned(), null_ns),
        ]
        .into();
        record
    }

    #[test]
    fn an_instrument_that_needs_most_of_the_time_is_found() {
        // 10,000 a second of 60 µs each are 0.6 s of a second.
        let found = check(&calibrated(60_000.0));
        assert_eq!(
            only(&found),
            "the instrument itself takes 60% of each operation's time: its own limit is 1.7 times this result"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(check(&calibrated(200.0)), []);
        let mut null = calibrated(60_000.0);
        set(&mut null, "engine", "null");
        assert_eq!(check(&null), []);
    }

    #[test]
    fn a_calibration_that_the_run_refutes_is_noted_and_the_run_is_not_accused() {
        let found = check(&calibrated(299_900.0));
        assert_eq!(
            only(&found),
            "the calibration is not to be trusted: by it the instrument alone would need 299.9% of each operation's time"
        );
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn busy_cpus_are_found_and_a_spinning_pause_is_not() {
        let mut record = sound();
        record.generator_mut().environment.process.allowed_cpus = Some("0-3".parse().unwrap());
        record.generator_mut().process.user_ns = 9 * SECOND;
        assert_eq!(
            only(&check(&record)),
            "the generator used 90% of the 1.0 CPUs that it can use: its own limit is near"
        );
        set(&mut record, "think-time", "1ms");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn an_account_of_more_than_the_measured_time_says_nothing_of_it() {
        let mut record = sound();
        record.generator_mut().environment.process.allowed_cpus = Some("0-1".parse().unwrap());
        record.elapsed_ns = 100_000;
        record.generator_mut().process.user_ns = 26_000_000;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn users_beside_their_target_need_an_account() {
        let mut record = quoted("put", Summary::default());
        set(&mut record, "users", "50");
        assert_eq!(check(&record), []);
        set(&mut record, "network", "localhost");
        assert!(
            only(&check(&record))
                .starts_with("50 users ran on the machine of the target (localhost)")
        );
    }
}
