//! Zeros are also what a hole, a trimmed block and a file that was never written give.

use super::never_written;
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "verify_cannot_tell_holes",
    catalogue_number: Some(9),
    severity: Severity::Invalid,
    title: "The verification would pass on a file that was never written",
    text: "\
The pattern that was verified (verification.pattern, or the option of a foreign record)
is zeros.
Zeros are also what a hole, a trimmed block and a fresh file give. A device that drops
every write and returns zeros passes with 100.00 %. A pattern that names its own file,
offset and generation fails on the first block that was lost, moved or is old: 1 of
262,144 in 1 GiB is enough. Where this run itself wrote the whole file, or the device saw the
reads, it is a warning.
What to do: use --verify-pattern header, which tells lost, moved and stale blocks apart,
or random.",
    checks: &[Check::Each(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let asked = || {
        effective
            .text("verify-pattern")
            .filter(|_| effective.is_on("verify"))
    };
    if record
        .verification
        .as_ref()
        .map(|verification| verification.pattern.as_str())
        .or_else(asked)
        != Some("zeros")
    {
        return Vec::new();
    }
    let message =
        "the pattern is zeros: this verification would pass on a file that was never written"
            .to_owned();
    let written = never_written::is_accounted(record, effective);
    let severity = if written {
        Severity::Warning
    } else {
        Severity::Invalid
    };
    vec![RULE.finding(severity, message, "use --verify-pattern header or random")]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;
    use record::Verification;

    #[test]
    fn zeros_are_found_and_other_patterns_are_not() {
        for (pattern, found) in [("zeros", 1), ("header", 0), ("random", 0)] {
            let verification = Some(Verification {
                pattern: pattern.into(),
                operations: 9,
                ..Verification::default()
            });
            assert_eq!(
                check(&Record {
                    verification,
                    ..sound()
                })
                .len(),
                found,
                "{pattern}"
            );
        }
        assert_eq!(check(&sound()), []);
    }

    #[test]
    fn it_is_a_remark_only_where_this_run_wrote_the_file() {
        let verification = Some(Verification {
            pattern: "zeros".into(),
            operations: 9,
            ..Verification::default()
        });
        let mut record = Record {
            verification,
            ..sound()
        };
        record.generator_mut().devices.clear();
        assert_eq!(check(&record)[0].severity, Severity::Invalid);
        record.targets = vec![record::TargetFact {
            bytes: 4096,
            ..Default::default()
        }];
        record.fill = Some(record::Fill {
            bytes: 4096,
            ..Default::default()
        });
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn the_message_says_why() {
        let verification = Some(Verification {
            pattern: "zeros".into(),
            ..Verification::default()
        });
        assert!(
            only(&check(&Record {
                verification,
                ..sound()
            }))
            .contains("never written")
        );
    }

    #[test]
    fn a_document_that_asks_for_zeros_is_found() {
        let mut record = super::super::example::quoted("read", record::Summary::default());
        super::super::example::set(&mut record, "verify-pattern", "zeros");
        assert_eq!(check(&record), []);
        super::super::example::set(&mut record, "verify", "true");
        assert_eq!(check(&record).len(), 1);
    }
}
