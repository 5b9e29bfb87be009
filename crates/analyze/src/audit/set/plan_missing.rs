//! The plan was written before the first slot: records without it say themselves what was planned.

use super::{Experiment, Located};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Trial;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "plan_missing",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "The plan of the experiment does not stand beside its records",
    text: "\
An experiment of Fathom begins its file with its plan, and each record names that plan by
its hash (trial.plan). Found where records name one that no line holds.
Without the plan nothing says how many blocks were planned, when they might end, which
arms and rows there were and in which order they had to run, but the records themselves:
of 40 planned blocks the last 28 may be missing, and the rule may be another one.
What to do: ask for the whole file, whose first line is the plan. Files of versions before
plans were written lack it rightly.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "ask for the whole file; its first line is the plan";

/// The hash of a plan, as Fathom writes it; tables of other harnesses have names in its place.
const DIGITS: usize = 16;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let trials: Vec<&Trial> = experiment
        .slots
        .iter()
        .filter_map(|(_, record)| record.trial.as_ref())
        .collect();
    let Some(first) = trials.first() else {
        return Vec::new();
    };
    let is_hash = first.plan.len() == DIGITS && first.plan.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hash || trials.iter().any(|trial| trial.written_plan.is_some()) {
        return Vec::new();
    }
    let message = format!(
        "{} slots name the plan {}, and no line holds it: what was planned is only what they say themselves",
        trials.len(),
        first.plan
    );
    vec![RULE.about(None, Severity::Warning, message, ADVICE)]
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::{PlanFacts, Record};
    use std::sync::Arc;

    fn experiment(change: impl Fn(&mut Trial)) -> Vec<Record> {
        let mut records: Vec<Record> = (0..4).map(|n| placed(sound(), "a", n, n)).collect();
        let trials = records.iter_mut().filter_map(|r| r.trial.as_mut());
        trials.for_each(change);
        records
    }

    #[test]
    fn records_without_the_plan_that_they_name_are_found() {
        let line = Arc::new(PlanFacts::default().line());
        let stripped = experiment(|trial| trial.plan.clone_from(&line.hash));
        assert_eq!(
            only(&run_on(check, &stripped)),
            format!(
                "4 slots name the plan {}, and no line holds it: what was planned is only what they say themselves",
                line.hash
            )
        );
        let whole = experiment(|trial| {
            trial.plan.clone_from(&line.hash);
            trial.written_plan = Some(Arc::clone(&line));
        });
        assert_eq!(run_on(check, &whole), []);
    }

    #[test]
    fn a_table_of_another_harness_has_a_name_and_no_plan() {
        let table = experiment(|trial| trial.plan = "trials of table.csv".into());
        assert_eq!(run_on(check, &table), []);
    }
}
