//! Zeros are also what a hole, a trimmed block and a file that was never written give.

use super::{finding, never_written};
use crate::{Effective, Finding, Severity};
use record::Record;

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
    vec![finding(
        "verify_cannot_tell_holes",
        severity,
        message,
        "use --verify-pattern header or random",
    )]
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
        record.devices.clear();
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
