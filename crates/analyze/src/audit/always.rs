//! Which findings hold of a whole way of measuring, whatever came out of it.
//!
//! A rule that speaks of every record says nothing of this one. What such a rule finds is true and
//! belongs to the reader, but in one line beside the answer and not among what speaks against it.

use super::{hidden_layers, pacing_bound, set, short_run, single_observation};
use crate::{Finding, Severity};

/// Whether a finding about the record with this index, or about several together, is one of them.
#[must_use]
pub fn is_always(finding: &Finding, record: Option<usize>) -> bool {
    let rule = finding.rule;
    let is_note = finding.severity == Severity::Note;
    if rule == set::no_repetition::RULE.id {
        // Where something is compared, it is what forbids the verdict.
        return finding.severity != Severity::Invalid;
    }
    if rule == short_run::RULE.id {
        // Slots of our own plans are as short as the plan made them, and the plan says it.
        return is_note && record.is_none();
    }
    if rule == pacing_bound::RULE.id {
        // A note where the scenario itself pauses.
        return is_note;
    }
    [single_observation::RULE.id, hidden_layers::RULE.id].contains(&rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: &'static str, severity: Severity, record: Option<usize>) -> bool {
        let finding = Finding {
            rule,
            severity,
            message: String::new(),
            advice: String::new(),
            differing: Vec::new(),
        };
        is_always(&finding, record)
    }

    #[test]
    fn what_every_record_says_of_itself_is_always_so() {
        assert!(found("single_observation", Severity::Note, Some(0)));
        assert!(found("hidden_layers", Severity::Note, Some(0)));
        assert!(found("no_repetition", Severity::Warning, None));
        assert!(!found("served_from_cache", Severity::Invalid, Some(0)));
    }

    #[test]
    fn what_forbids_a_verdict_or_was_nobodys_design_is_not() {
        assert!(!found("no_repetition", Severity::Invalid, None));
        assert!(!found("pacing_bound", Severity::Invalid, Some(0)));
        assert!(!found("pacing_bound", Severity::Warning, Some(0)));
        assert!(found("pacing_bound", Severity::Note, Some(0)));
        assert!(
            !found("short_run", Severity::Note, Some(0)),
            "a run of the user"
        );
        assert!(found("short_run", Severity::Note, None), "slots of a plan");
    }
}
