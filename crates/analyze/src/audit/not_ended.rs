//! What is left of a run that did not get to its end is of another run than was asked for.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, Status};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "not_ended",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The record is of a run that did not get to its end",
    text: "\
The outcome is incomplete (outcome.status, exit code 5): the process was killed and this
is what it had kept until then, or workers and operations did not end and were given up.
What is there was measured, but not what comes later: a device that slows down when its
cache is full is fast in the first minute, and what hung is missing from the percentiles.
Whoever ended the run may also have been the target. A comparison takes no such record.
What to do: find out why it did not end, and run it again.",
    checks: &[Check::Each(check), Check::Alone(of_group)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let group = record.group.as_ref();
    // Which ranks are missing is said by a rule of its own, as is that nothing was verified.
    let is_told = group.is_some_and(|group| !group.lost.is_empty())
        || !super::verified_nothing::check(record).is_empty();
    if record.outcome.status != Status::Incomplete || is_told {
        return Vec::new();
    }
    let why = record.outcome.message.as_deref();
    let message = format!(
        "the run did not get to its end: {}",
        why.unwrap_or("its record does not say why")
    );
    // A slot of an experiment does not count, and its block is run again.
    let severity = match record.trial {
        Some(_) => Severity::Note,
        None => Severity::Invalid,
    };
    let advice = "find out why it did not end, and run it again; until then it is no result of what was asked for";
    vec![RULE.finding(severity, message, advice)]
}

/// Of several hosts that each ended: what is of all of them together did not.
fn of_group(record: &Record) -> Vec<Finding> {
    let hosts = record.host_parts();
    let is_own = |status| hosts.iter().any(|own| own.part.outcome.status == status);
    match hosts.len() > 1 && !is_own(Status::Incomplete) {
        true => check(record),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, only, placed, sound};
    use super::*;
    use record::{LostRank, Outcome, Verification};

    fn incomplete(mut record: Record) -> Record {
        record.outcome = Outcome {
            status: Status::Incomplete,
            exit_code: 5,
            message: Some("the run had not ended when this was written".into()),
        };
        record
    }

    #[test]
    fn what_was_kept_of_a_run_that_never_ended_is_found() {
        let found = check(&incomplete(sound()));
        assert_eq!(
            only(&found),
            "the run did not get to its end: the run had not ended when this was written"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        let slot = placed(incomplete(sound()), "a", 0, 0);
        assert_eq!(check(&slot)[0].severity, Severity::Note);
    }

    #[test]
    fn a_group_that_did_not_end_is_found_where_each_of_its_ranks_did() {
        let found = of_group(&incomplete(group(2)));
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(of_group(&group(2)), []);
        assert_eq!(of_group(&incomplete(sound())), [], "it is said of itself");
    }

    #[test]
    fn runs_that_ended_and_what_other_rules_say_are_left_alone() {
        assert_eq!(check(&sound()), []);
        let mut failed = incomplete(sound());
        failed.outcome.status = Status::Failed;
        assert_eq!(check(&failed), []);
        let mut lacking = incomplete(group(2));
        assert_eq!(check(&lacking).len(), 1);
        let group = lacking.group.as_mut().unwrap();
        group.lost.push(LostRank::default());
        assert_eq!(check(&lacking), []);
        let mut unverified = incomplete(sound());
        unverified.verification = Some(Verification::default());
        assert_eq!(check(&unverified), []);
    }
}
