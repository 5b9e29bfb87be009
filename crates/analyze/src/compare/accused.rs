//! What severe findings of the audit take from a comparison.

use super::{Question, RowComparison};
use crate::{Located, Severity};
use record::{Preference, Quantity};
use stats::{Reason, Verdict};

/// Rules of the audit that a comparison answers itself, by blocks and with the level that its looks
/// allow.
const ANSWERED: [&str; 5] = [
    "no_repetition",
    "order_aliased",
    "control_fails",
    "environment_differs",
    "effect_below_mde",
];
/// Also answered where options were declared to be what is compared.
const ANSWERED_BY_FACTORS: &str = "size_mix";

/// Of users that mostly sleep: what a scenario may do and no comparison can use.
const PAUSES: &str = "pacing_bound";

/// Why numbers of which nobody says what is better have no verdict.
pub(super) fn undirected(metric: &Quantity) -> Option<Reason> {
    (metric.better() == Preference::Unsaid).then(|| {
        Reason::Audit(format!(
            "nobody says whether more or less of {metric} is better; say --better higher or --better lower"
        ))
    })
}

/// What the audit says of records that are compared and the comparison does not answer itself, but
/// for notes.
pub(super) fn findings(mut out: Vec<Located>, question: &Question) -> Vec<Located> {
    let is_answered = |rule: &str| {
        ANSWERED.contains(&rule) || rule == ANSWERED_BY_FACTORS && !question.factors.is_empty()
    };
    // Two targets with the same pauses give the same rate, whoever asked for the pauses.
    for Located { finding, .. } in &mut out {
        if finding.rule == PAUSES && finding.severity == Severity::Note {
            finding.severity = Severity::Invalid;
        }
    }
    out.sort_by_key(|located| (located.finding.severity, located.record));
    out.retain(|located| {
        located.finding.severity < Severity::Note && !is_answered(located.finding.rule)
    });
    out
}

/// The first severe finding about several records, or about one that counts, as the reason for no
/// verdict.
pub(super) fn accused(findings: &[Located], counts: impl Fn(usize) -> bool) -> Option<Reason> {
    let concerns = |located: &&Located| {
        located.finding.severity == Severity::Invalid && located.record.is_none_or(&counts)
    };
    let found = &findings.iter().find(concerns)?.finding;
    Some(Reason::Audit(format!(
        "{}: {}. Fix: {}",
        found.rule, found.message, found.advice
    )))
}

/// The reason as that of all rows together.
pub(super) fn within(row: &str, reason: &Reason) -> Reason {
    if let Reason::Audit(text) = reason {
        Reason::Audit(format!("in {row}: {text}"))
    } else {
        reason.clone()
    }
}

/// Takes back a verdict.
pub(super) fn bar(found: &mut RowComparison, reason: Reason) {
    // What the order of slots leaves open is the least of reasons.
    let is_barred = matches!(&found.verdict, Verdict::Invalid(known)
        if !matches!(known, Reason::MayBeCarryOver | Reason::PlaceOrArm));
    if !is_barred {
        found.verdict = Verdict::Invalid(reason);
        found.sensitivity = None;
    }
}
