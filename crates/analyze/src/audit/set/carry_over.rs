//! Slots that leave something to the next.

use super::{Experiment, Located, median};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use stats::Drift;
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "carry_over",
    catalogue_number: Some(45),
    severity: Severity::Invalid,
    title: "A slot leaves something to the next",
    text: "\
Whether it matters which arm ran before (predecessor test, p below 1 %), which leaves no
verdict; and slots that begin while more than 64 MiB of the slot before wait to be
written. Invalid if a control of the same experiment fails as well.
Randomising does not help against it: if A is 4 % slower right after B, identical arms
are called different in 58 % of experiments of 30 blocks. Lead-ins do: what runs right
before a slot is then its own arm.
What to do: give a longer --lead-in; reset and drain between slots: delete the data, sync,
wait until nothing is dirty and the device is idle. Then repeat the experiment.",
    checks: &[Check::Together(check), Check::OnHost(undrained)],
};

/// Of the predecessor test.
const ALPHA: f64 = 0.01;
/// A slot that begins with more than this of another's writes shares the device with them.
const MOST_DIRTY: u64 = 64 << 20;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let drift = super::drift::measured(experiment);
    let carried = drift.and_then(|(drift, _)| carried(experiment, &drift));
    carried.into_iter().collect()
}

fn carried(experiment: &Experiment<'_>, drift: &Drift) -> Option<Located> {
    let p = drift.predecessor_p.filter(|p| *p < ALPHA)?;
    // Together with a control that fails, the order itself makes the difference.
    let severity = if super::control_fails::check(experiment).is_empty() {
        Severity::Warning
    } else {
        Severity::Invalid
    };
    let message = format!("a slot's result depends on which arm ran before it (p = {p:.1e})");
    let advice = "reset and drain between slots: delete data, sync, wait until nothing is dirty and the device is idle; then repeat";
    Some(RULE.about(None, severity, message, advice))
}

/// Slots that began while the writes of the one before were still in memory.
pub(super) fn undrained(experiment: &Experiment<'_>) -> Vec<Located> {
    let slots = experiment.in_order();
    let left: Vec<u64> = slots
        .windows(2)
        .filter_map(|pair| {
            let (before, after) = (&pair[0].generator().machine, &pair[1].generator().machine);
            let grown = before
                .dirty_after_bytes?
                .checked_sub(before.dirty_before_bytes?)?;
            let left = after
                .dirty_before_bytes?
                .checked_sub(before.dirty_before_bytes?)?;
            (grown.min(left) > MOST_DIRTY).then_some(grown.min(left))
        })
        .collect();
    let middle = median(left.iter().map(|bytes| *bytes as f64).collect());
    if left.is_empty() {
        return Vec::new();
    }
    let shown = Bytes(units::lossless::f64_to_u64_saturating(middle));
    let message = format!(
        "{} of {} slots began with about {shown} of the slot before still to be written",
        left.len(),
        slots.len()
    );
    let advice = "end each slot with a flush, or wait until nothing is dirty before the next";
    vec![RULE.about(None, Severity::Warning, message, advice)]
}
