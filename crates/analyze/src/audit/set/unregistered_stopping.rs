//! When an experiment may end is part of its plan; who decides it on seeing the result decides the
//! result.

use super::{Experiment, Located, claimed};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Stopping;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "unregistered_stopping",
    catalogue_number: Some(47),
    severity: Severity::Invalid,
    title: "The rule of when to stop changed on the way",
    text: "\
The rule in the place of each slot (trial.stopping): found if one plan has two of them;
and documents that took more looks than were planned.
Who looks after every block and stops when it looks good finds a difference between
identical arms in 31 of 100 cases instead of 5. A plan that may be looked at pays for it
with a stricter threshold at each look.
What to do: say before the first slot when to look. An open plan may be extended at will;
a fixed one is judged once, at its end.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "write down before the first slot when to look, and judge each look by its own threshold (an open plan does); else repeat";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let trials: Vec<Stopping> = experiment
        .slots
        .iter()
        .filter_map(|(_, r)| r.trial.as_ref().map(|trial| trial.stopping))
        .collect();
    let of = |stopping| trials.iter().filter(|other| **other == stopping).count();
    let (open, fixed) = (of(Stopping::Open), of(Stopping::Fixed));
    let mut out = Vec::new();
    if open > 0 && fixed > 0 {
        let message = format!(
            "{open} slots of this plan are under an open rule and {fixed} under a fixed length: the rule changed on the way"
        );
        out.push(RULE.about(None, Severity::Invalid, message, ADVICE));
    }
    out.extend(experiment.claims.iter().filter_map(|(index, claim)| {
        let (looks, planned) = (claimed(claim, "looks")?, claimed(claim, "planned_looks")?);
        (looks > planned).then(|| {
            RULE.about(
                Some(*index),
                Severity::Invalid,
                format!("{looks} looks were taken, {planned} were planned"),
                ADVICE,
            )
        })
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn slot(stopping: Stopping, slot: u32) -> Record {
        let mut record = placed(sound(), "a", slot, slot);
        record.trial.as_mut().unwrap().stopping = stopping;
        record
    }

    #[test]
    fn a_rule_that_changed_on_the_way_is_found() {
        let found = run_on(check, &[slot(Stopping::Fixed, 0), slot(Stopping::Open, 1)]);
        assert!(
            only(&found).starts_with(
                "1 slots of this plan are under an open rule and 1 under a fixed length"
            )
        );
        for stopping in [Stopping::Fixed, Stopping::Open] {
            assert_eq!(run_on(check, &[slot(stopping, 0), slot(stopping, 1)]), []);
        }
    }

    #[test]
    fn more_looks_than_were_planned_are_found() {
        let figures = [
            ("looks".to_owned(), 120.0),
            ("planned_looks".to_owned(), 1.0),
        ]
        .into();
        let mut claim = quoted(
            "claim",
            Summary {
                figures,
                ..Summary::default()
            },
        );
        claim.kind = super::super::super::CLAIM.into();
        assert_eq!(
            only(&run_on(check, &[claim])),
            "120 looks were taken, 1 were planned"
        );
    }
}
