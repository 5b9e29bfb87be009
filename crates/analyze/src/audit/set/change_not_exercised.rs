//! A change can show itself only in operations that it changes.

use super::{Experiment, Located, Slot};
use crate::Effective;
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::figures::figures;
use std::collections::BTreeSet;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "change_not_exercised",
    catalogue_number: Some(30),
    severity: Severity::Invalid,
    title: "The workload does not reach the change",
    text: "\
The option `expects` of an arm (the operations that its change is for) against the kinds
of operations that ran. None of them is invalid.
A branch that reads 10 chunks at a time for downloads cannot change an upload. Measured
with uploads it is the baseline under another name, and its \"-35 %\" is the error of the
experiment, no effect of the branch.
What to do: measure the operations that the change is for. Keep the arm as a control:
what it shows is how wrong the other arms may be.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let arms = experiment.arms().into_iter();
    arms.filter_map(|(arm, slots)| {
        let (expected, ran) = unexercised(&slots)?;
        let message =
            format!("{arm} is expected to change {expected}, and only {ran} was measured: beside the baseline this is an A/A test");
        let advice = "measure the operations that the change is for; what differs here is error, and shows how great it is";
        // A plan that says so beforehand has a placebo, and is judged with it.
        let severity = match planned(&slots) {
            Some(_) => Severity::Note,
            None => experiment.severity(),
        };
        Some(RULE.about(None, severity, message, advice))
    })
    .collect()
}

/// What an arm is expected to change (the option `expects`) and what ran, where nothing of the
/// former did.
pub(super) fn unexercised(slots: &[Slot<'_>]) -> Option<(String, String)> {
    let stated = slots
        .iter()
        .find_map(|(_, record)| Effective::of(record).text("expects"));
    let text = stated.map(str::to_owned).or_else(|| planned(slots))?;
    let expected: BTreeSet<&str> = text
        .split([',', ' ', '+'])
        .filter(|word| !word.is_empty())
        .map(same)
        .collect();
    let ran: BTreeSet<&str> = slots
        .iter()
        .flat_map(|(_, record)| figures(record).map(|f| f.kind))
        .collect();
    let is_any = ran.iter().any(|kind| expected.contains(same(kind)));
    (!expected.is_empty() && !ran.is_empty() && !is_any)
        .then(|| (text.clone(), ran.into_iter().collect::<Vec<_>>().join(", ")))
}

/// What the plan of an experiment expects an arm to change.
fn planned(slots: &[Slot<'_>]) -> Option<String> {
    let trial = slots.iter().find_map(|(_, record)| record.trial.as_ref())?;
    let plan = &trial.written_plan.as_deref()?.plan;
    let arm = plan.arms.iter().find(|arm| arm.name == trial.arm)?;
    (!arm.expects.is_empty()).then(|| arm.expects.join(", "))
}

/// One name for what tools call by several.
fn same(kind: &str) -> &str {
    match kind {
        "download" | "get" | "GET" | "read" => "read",
        "upload" | "put" | "PUT" | "write" => "write",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, set, sound};
    use super::super::run_on;
    use super::*;
    use record::Record;

    fn arm(expects: &str) -> Record {
        let mut record = sound();
        set(&mut record, "expects", expects);
        placed(record, "batch", 0, 0)
    }

    #[test]
    fn a_workload_without_the_changed_operation_is_found() {
        assert!(
            only(&run_on(check, &[arm("upload")]))
                .starts_with("batch is expected to change upload, and only read was measured")
        );
    }

    #[test]
    fn a_workload_with_it_by_any_name_is_silent() {
        for expects in ["download", "read", "put, get"] {
            assert_eq!(run_on(check, &[arm(expects)]), [], "{expects}");
        }
        assert_eq!(run_on(check, &[sound()]), []);
    }
}
