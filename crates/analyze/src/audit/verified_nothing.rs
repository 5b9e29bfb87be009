//! A verification without a checked operation proves nothing.

use super::counted;
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{Record, Status};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "verified_nothing",
    catalogue_number: Some(9),
    severity: Severity::Invalid,
    title: "Verification was asked for and nothing was checked",
    text: "\
A run with --verify must have checked at least one operation (verification.operations).
Invalid if there were reads and none was checked; a warning if there were only writes.
\"Failures: 0\" of 0 checks is true and worthless. A run of writes that puts a pattern
down proves that writes were accepted, not that anything can be read back: 100.00 %
success of nothing.
What to do: read the same target again with the same --seed and --verify-pattern:
--read-percent 100 --verify --run-until-complete.",
    checks: &[Check::Each(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let checked = record
        .verification
        .as_ref()
        .map_or(0, |verification| verification.operations);
    let asked = Effective::of(record).is_on("verify") || record.verification.is_some();
    // Other tools verify without an account of it, and what a run keeps while it goes on has none.
    let is_kept = record.outcome.status == Status::Incomplete && record.workers.is_empty();
    let unknown = (record.source.is_some() || is_kept) && record.verification.is_none();
    if !asked || checked > 0 || unknown || record.kind == super::CLAIM {
        return Vec::new();
    }
    let reads = counted(record, "read").count;
    let effective = Effective::of(record);
    // Before there was a choice, writes alone could not be told from a mistake.
    let for_later = effective.text("verify-when").is_some() && record.outcome.status.has_done_all();
    let (severity, message) = if reads == 0 && for_later {
        (
            Severity::Note,
            "the verify pattern was written for a later check: no data was checked in this run"
                .to_owned(),
        )
    } else if reads == 0 {
        (
            Severity::Warning,
            "--verify wrote its pattern, but nothing was read back: no data was checked".to_owned(),
        )
    } else {
        (
            Severity::Invalid,
            format!(
                "--verify was asked for, and none of {} was checked",
                units::counted(reads, "read")
            ),
        )
    };
    let advice = "read the same target again with the same --seed and --verify-pattern: --read-percent 100 --verify --run-until-complete";
    vec![RULE.finding(severity, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{set, sound, writing};
    use super::*;
    use record::{Measurements, Operations, Verification};

    #[test]
    fn reads_without_a_check_invalidate() {
        let mut record = sound();
        set(&mut record, "verify", "true");
        assert_eq!(check(&record)[0].severity, Severity::Invalid);
        let one = Operations {
            count: 1,
            ..Operations::default()
        };
        record.operations = Measurements::default();
        record.operations.insert("read", one);
        let found = check(&record);
        assert!(found[0].message.ends_with("none of 1 read was checked"));
    }

    #[test]
    fn writes_for_a_later_check_are_a_note() {
        let mut record = writing();
        set(&mut record, "verify", "true");
        set(&mut record, "verify-when", "reads");
        assert_eq!(check(&record)[0].severity, Severity::Note);
        record.outcome.status = Status::Incomplete;
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn writes_alone_are_a_warning() {
        let mut record = writing();
        record.verification = Some(Verification::default());
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn another_tool_that_keeps_no_account_is_not_accused() {
        let mut record = Record {
            source: Some(record::Source::default()),
            ..sound()
        };
        set(&mut record, "verify", "true");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn what_was_kept_of_a_run_that_goes_on_does_not_say_what_was_checked() {
        let mut record = sound();
        set(&mut record, "verify", "true");
        record.outcome.status = Status::Incomplete;
        assert_eq!(check(&record).len(), 1);
        record.workers.clear();
        assert_eq!(check(&record), []);
    }

    #[test]
    fn a_checked_run_and_one_without_verification_are_silent() {
        assert_eq!(check(&sound()), []);
        let mut record = sound();
        record.verification = Some(Verification {
            operations: 1,
            ..Verification::default()
        });
        assert_eq!(check(&record), []);
    }
}
