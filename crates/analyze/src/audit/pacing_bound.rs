//! Users that mostly sleep measure their own sleep, whatever the target does.

use super::percent;
use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "pacing_bound",
    catalogue_number: Some(19),
    severity: Severity::Invalid,
    title: "The users slept instead of waiting for the target",
    text: "\
Rate times mean latency is how many users were waiting at a time. It is divided by the
users (or by threads times depth where a think time was asked for); below 20 % is found.
Of users that were allocated those count that ran: iterations a second times their mean
duration. Where only a p95 is known it stands for the mean, as an upper bound. Pauses
that belong to the scenario, and not to who ran it, are a note: nobody was misled. No
rate of such a load is compared.
23.2 requests of 11.5 ms a second are 0.27 of 50 users: the other 49.7 were in the
script's sleep. The target could have done ten times as much, so the rate says nothing
about it, and two targets with the same sleep give the same rate.
What to do: take the pauses out, or give a rate in an open loop; and do not call the
latency of an idle target its latency under load.",
    checks: &[Check::OfHost(check)],
};

const LEAST_SHARE: f64 = 0.2;

/// How many of those that offer the load wait for the target at a time.
pub(super) struct Waiting {
    pub(super) at_a_time: f64,
    pub(super) of: f64,
    /// From a mean, and not from a percentile above it.
    pub(super) is_exact: bool,
    of_users: bool,
}

impl Waiting {
    pub(super) fn share(&self) -> f64 {
        self.at_a_time / self.of
    }

    pub(super) fn at_most(&self) -> &'static str {
        if self.is_exact { "" } else { "at most " }
    }

    /// All that offer the load, by this noun; on average they may be a fraction.
    pub(super) fn of_all(&self, who: &str) -> String {
        let of = if self.of.fract() == 0.0 {
            self.of.to_string()
        } else {
            format!("{:.1}", self.of)
        };
        let s = if of == "1" { "" } else { "s" };
        format!("{of} {who}{s}")
    }
}

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(load) = waiting_users(record).filter(|load| load.share() < LEAST_SHARE) else {
        return Vec::new();
    };
    let is_by_design = load.of_users && pauses_by_design(record);
    let (severity, who) = match load.of_users {
        true if is_by_design => (Severity::Note, "user"),
        true => (Severity::Invalid, "user"),
        false => (Severity::Warning, "worker"),
    };
    let meaning = if is_by_design {
        "the scenario has them pause, so that the rate is that of their pauses and the latencies are of a target that is hardly used"
    } else {
        "the rate is that of the pauses between operations"
    };
    let message = format!(
        "{}{:.2} of {} were waiting for the target at a time ({}): {meaning}",
        load.at_most(),
        load.at_a_time,
        load.of_all(who),
        percent(load.share())
    );
    let advice = "the target was hardly used: take the pauses out, or give a rate, before saying what it can do; latencies are those of an idle target";
    vec![RULE.finding(severity, message, advice)]
}

/// Whether the users sleep because their scenario says so, and not because somebody asked for it:
/// the record tells the pauses of each operation.
fn pauses_by_design(record: &Record) -> bool {
    let mut options = record.effective.keys();
    options.any(|key| key.ends_with(".sleep")) && !record.asked.contains_key("think-time")
}

/// Of a closed loop of users, or of workers that pause.
pub(super) fn waiting_users(record: &Record) -> Option<Waiting> {
    let effective = Effective::of(record);
    let allocated = effective.real("users").filter(|users| *users >= 1.0);
    // Users that are kept ready for an arrival rate do not sleep: they are not there.
    let load = allocated.map(|users| running_users(record).unwrap_or(users).min(users));
    let workers = || {
        let [threads, depth] =
            ["threads", "queue-depth"].map(|key| effective.real(key).unwrap_or(1.0));
        effective.thinks().then_some(threads * depth)
    };
    let of = load
        .or_else(workers)
        .filter(|_| !effective.is_open_loop())?;
    // An iteration holds its own pauses.
    let kinds: Vec<Figures<'_>> = figures(record)
        .filter(|f| !f.kind.starts_with("iteration"))
        .collect();
    let mut busy: Vec<(f64, bool)> = kinds.iter().filter_map(waiting).collect();
    if busy.is_empty() {
        busy.extend(apart(&kinds));
    }
    let at_a_time = busy.iter().map(|(waiting, _)| waiting).sum();
    let is_exact = busy.iter().all(|(_, is_mean)| *is_mean);
    (!busy.is_empty()).then_some(Waiting {
        at_a_time,
        of,
        is_exact,
        of_users: load.is_some(),
    })
}

/// Little's law: users that were in an iteration, pauses included, at a time.
fn running_users(record: &Record) -> Option<f64> {
    let rate = record
        .summaries
        .get("iterations")
        .and_then(|iterations| iterations.per_second)?;
    let duration = record.summaries.get("iteration_duration")?;
    let mean_ns = duration
        .latency
        .as_ref()
        .and_then(record::Histogram::mean)
        .or(duration.mean_ns)?;
    Some(rate * mean_ns / 1e9).filter(|users| users.is_finite() && *users > 0.0)
}

/// Little's law: how many were waiting on average, and whether that is from a mean; a p95 is an
/// upper bound of the mean of nearly any latency.
fn waiting(figures: &Figures<'_>) -> Option<(f64, bool)> {
    let rate = figures.tried_per_second()?;
    let mean = figures.mean_service_ns().map(|ns| (ns, true));
    mean.or_else(|| Some((figures.percentile_ns(95.0)?, false)))
        .map(|(ns, is_mean)| (rate * ns / 1e9, is_mean))
}

/// Where rates and latencies stand at different kinds: the rate of all with the longest latency, an
/// upper bound.
fn apart(kinds: &[Figures<'_>]) -> Option<(f64, bool)> {
    let rates: Vec<f64> = kinds.iter().filter_map(Figures::per_second).collect();
    let longest = kinds
        .iter()
        .filter_map(|f| f.percentile_ns(95.0).or_else(|| f.mean_service_ns()))
        .fold(0.0_f64, f64::max);
    (!rates.is_empty() && longest > 0.0).then(|| (rates.iter().sum::<f64>() * longest / 1e9, false))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, sound};
    use super::*;
    use record::Summary;

    fn upload(p95_ns: f64) -> Record {
        let percentiles_ns = [("95".to_owned(), p95_ns)].into();
        let mut record = quoted(
            "put",
            Summary {
                per_second: Some(23.2),
                percentiles_ns,
                ..Summary::default()
            },
        );
        set(&mut record, "users", "50");
        record
    }

    #[test]
    fn users_that_sleep_are_found() {
        let found = check(&upload(11.5e6));
        assert!(
            only(&found).starts_with(
                "at most 0.27 of 50 users were waiting for the target at a time (0.5%)"
            )
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        let mut alone = upload(5e6);
        set(&mut alone, "users", "1");
        assert!(only(&check(&alone)).starts_with("at most 0.12 of 1 user were"));
    }

    #[test]
    fn a_scenario_that_pauses_does_not_accuse_itself_and_who_asks_for_pauses_is_told() {
        let mut record = upload(11.5e6);
        set(&mut record, "put.sleep", "500ms");
        let found = check(&record);
        assert!(only(&found).contains("the scenario has them pause"));
        assert_eq!(found[0].severity, Severity::Note);
        record.asked.insert("think-time".into(), "500ms".into());
        assert_eq!(check(&record)[0].severity, Severity::Invalid);
    }

    #[test]
    fn users_that_wait_and_unknown_users_are_silent() {
        assert_eq!(check(&upload(500e6)), []);
        let mut unknown = upload(11.5e6);
        unknown.effective.clear();
        assert_eq!(check(&unknown), []);
    }

    #[test]
    fn users_that_an_arrival_rate_keeps_ready_are_not_waiting_for_anything() {
        let mut record = quoted(
            "request",
            Summary {
                per_second: Some(600.0),
                mean_ns: Some(1e9),
                ..Summary::default()
            },
        );
        set(&mut record, "users", "3083");
        assert!(
            only(&check(&record)).starts_with("600.00 of 3083 users"),
            "nothing says how many ran"
        );
        record.summaries.insert(
            "iterations".into(),
            Summary {
                per_second: Some(600.0),
                ..Summary::default()
            },
        );
        record.summaries.insert(
            "iteration_duration".into(),
            Summary {
                mean_ns: Some(1.18e9),
                ..Summary::default()
            },
        );
        assert_eq!(check(&record), [], "708 ran, of which 600 waited");
        record
            .summaries
            .get_mut("iteration_duration")
            .unwrap()
            .mean_ns = Some(5.05e9);
        assert!(only(&check(&record)).starts_with("600.00 of 3030 users"));
    }

    #[test]
    fn a_think_time_that_was_asked_for_is_a_warning() {
        let mut record = sound();
        assert_eq!(check(&record), []);
        set(&mut record, "think-time", "1ms");
        assert_eq!(check(&record), []);
        record.operations = record::Measurements::default();
        record
            .operations
            .insert("read", super::super::example::blocks(100_000, 3_200));
        let found = check(&record);
        assert!(only(&found).starts_with("0.03 of 32 workers"));
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn a_rate_and_a_latency_of_different_kinds_bound_it() {
        let mut record = upload(11.5e6);
        let put = record.summaries.get_mut("put").unwrap();
        put.per_second = None;
        record.summaries.insert(
            "request".into(),
            Summary {
                per_second: Some(23.2),
                ..Summary::default()
            },
        );
        assert!(only(&check(&record)).starts_with("at most 0.27 of 50 users"));
    }
}
