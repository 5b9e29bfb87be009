//! Zeros are not stored by what compresses or deduplicates.

use super::in_memory;
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "compressible_data",
    catalogue_number: Some(8),
    severity: Severity::Warning,
    title: "The data can be compressed away",
    text: "\
The pattern of what is written or verified: zeros or ones is a warning; --compress-percent
and --dedupe-percent, which were asked for, are a note.
File systems, controllers and object stores that compress keep next to nothing of 1 GiB
of zeros: a thousand to one. The medium is then written a thousandth of the time, and the
result is that of the compressor.
What to do: write random data (--write-pattern random), or data as compressible as those
of the application, and say so.",
    checks: &[Check::OfHost(check)],
};

const ADVICE: &str = "write random data (--write-pattern random), or with --verify use --verify-pattern header or random; give a --compress-percent that is the application's";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if effective.has_no_target() || in_memory(record) {
        return Vec::new();
    }
    let verifies = effective.is_on("verify");
    let writes = of_kind(record, "write").is_some();
    let pattern = if verifies {
        effective.text("verify-pattern")
    } else {
        effective.text("write-pattern").filter(|_| writes)
    };
    if let Some(pattern @ ("zeros" | "ones")) = pattern {
        let message = format!(
            "the data are all {pattern}: a layer that compresses or deduplicates stores next to nothing of them"
        );
        return vec![RULE.finding(Severity::Warning, message, ADVICE)];
    }
    let asked = ["compress-percent", "dedupe-percent"]
        .iter()
        .find(|key| effective.real(key).is_some_and(|percent| percent > 0.0));
    let Some(key) = asked.filter(|_| writes) else {
        return Vec::new();
    };
    let message = format!(
        "--{key} {}: a layer that compresses or deduplicates stores less than was written",
        effective.text(key).unwrap_or("0")
    );
    vec![RULE.finding(Severity::Note, message, ADVICE)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound, writing};
    use super::*;

    #[test]
    fn zeros_that_are_written_or_verified_are_found() {
        let mut record = writing();
        set(&mut record, "write-pattern", "zeros");
        assert!(only(&check(&record)).starts_with("the data are all zeros"));
        let mut verified = sound();
        set(&mut verified, "verify", "true");
        set(&mut verified, "verify-pattern", "ones");
        assert!(only(&check(&verified)).starts_with("the data are all ones"));
    }

    #[test]
    fn what_was_asked_for_is_a_note_and_random_data_are_silent() {
        let mut record = writing();
        set(&mut record, "write-pattern", "random");
        assert_eq!(check(&record), []);
        set(&mut record, "dedupe-percent", "30");
        assert_eq!(check(&record)[0].severity, Severity::Note);
        let mut reading = sound();
        set(&mut reading, "write-pattern", "zeros");
        assert_eq!(check(&reading), [], "a pattern that nothing wrote");
    }
}
