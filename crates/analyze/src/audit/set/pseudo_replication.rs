//! What was started once is one observation, however often it is counted.

use super::{Experiment, Located, claimed, names};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use std::collections::BTreeMap;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "pseudo_replication",
    catalogue_number: Some(37),
    severity: Severity::Invalid,
    title: "One start is counted as several repetitions",
    text: "\
Records of one arm and row with the same id, as when a file is given twice; and documents
that name more samples than starts.
What varies from start to start (layout, placement, caches, neighbours) is the same for
all seconds of one run. 60 seconds of one start are one observation: with a deviation of
2 % between starts, a t-test over the seconds calls 54 % of identical pairs different.
What to do: count fresh starts. Seconds show how a run went, not how the next would.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "count fresh starts as repetitions: seconds, requests and copies of one run show how it went, not how the next would";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut starts: BTreeMap<(&str, &str, &str), Vec<super::Slot<'_>>> = BTreeMap::new();
    for slot in &experiment.slots {
        if !slot.1.id.is_empty() {
            starts
                .entry((&slot.1.id, super::arm(slot.1), super::row(slot.1)))
                .or_default()
                .push(*slot);
        }
    }
    let repeated: Vec<_> = starts
        .into_values()
        .filter(|slots| slots.len() > 1)
        .collect();
    let mut out = Vec::new();
    if let Some(slots) = repeated.first() {
        let more = repeated.len() - 1;
        let others = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        let message = format!(
            "{} records are of one start ({}{others}): they count once",
            slots.len(),
            names(slots)
        );
        out.push(RULE.about(None, experiment.severity(), message, ADVICE));
    }
    out.extend(experiment.claims.iter().filter_map(|(index, claim)| {
        let (samples, starts) = (claimed(claim, "samples")?, claimed(claim, "starts")?);
        (samples > starts).then(|| {
            let message = format!(
                "{samples} samples of {starts} starts are treated as {samples} repetitions"
            );
            RULE.about(Some(*index), experiment.severity(), message, ADVICE)
        })
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use crate::Severity;
    use record::{Record, Summary};

    fn slot(id: &str, block: u32) -> Record {
        placed(
            Record {
                id: id.into(),
                ..sound()
            },
            "a",
            block,
            block,
        )
    }

    #[test]
    fn one_start_in_two_blocks_is_found() {
        let found = run_on(check, &[slot("x", 0), slot("x", 1), slot("y", 2)]);
        assert_eq!(
            only(&found),
            "2 records are of one start (row of a): they count once"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn samples_that_outnumber_their_starts_are_found() {
        let figures = [("samples".to_owned(), 60.0), ("starts".to_owned(), 1.0)].into();
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
            "60 samples of 1 starts are treated as 60 repetitions"
        );
    }

    #[test]
    fn fresh_starts_and_unknown_ones_are_silent() {
        assert_eq!(run_on(check, &[slot("x", 0), slot("y", 1)]), []);
        assert_eq!(run_on(check, &[slot("", 0), slot("", 1)]), []);
    }
}
