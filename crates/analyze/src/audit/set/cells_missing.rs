//! A table that shows a part of what was planned may show the part that pleases.

use super::{Experiment, Located, claimed};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Trial;
use std::collections::BTreeSet;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "cells_missing",
    catalogue_number: Some(46),
    severity: Severity::Invalid,
    title: "A part of the planned results is shown",
    text: "\
The numbers of an experiment's slots and blocks (trial.slot, trial.block), which have no
gaps whatever fails; and a claim that names how many results were planned and how many
are shown (figures `planned` and `shown`; a warning).
35 of 140 cells can show anything: the quarter with the clearest story is not a sample
of the rest. Whether the others were left out for space or for their content cannot be
seen, not even by the one who left them out.
What to do: publish every cell, or name the rule, written before the run, by which some
were left out.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    gaps(experiment)
        .into_iter()
        .chain(unshown(experiment))
        .collect()
}

/// Slots and blocks are numbered without gaps, whatever failed: a number that is not there was
/// taken out, or lost.
fn gaps(experiment: &Experiment<'_>) -> Option<Located> {
    let numbers = |of: fn(&Trial) -> u32| -> BTreeSet<u32> {
        experiment
            .slots
            .iter()
            .filter_map(|(_, record)| record.trial.as_ref())
            .map(of)
            .collect()
    };
    let (slots, blocks) = (
        missing(&numbers(|trial| trial.slot)),
        missing(&numbers(|trial| trial.block)),
    );
    let (noun, lost) = match blocks {
        Some(blocks) => ("block", blocks),
        None => ("slot", slots?),
    };
    let (first, count) = lost;
    let message = match count {
        1 => format!("{noun} {first} of the experiment is missing"),
        n => format!("{n} {noun}s of the experiment are missing, the first is number {first}"),
    };
    let advice = "judge the whole file as it was written: a part that was chosen by its result shows whatever was wished";
    Some(RULE.about(None, Severity::Invalid, message, advice))
}

/// The first number below the last that is not there, and how many there are: by what stands between
/// neighbours, since a damaged record may have any number.
fn missing(found: &BTreeSet<u32>) -> Option<(u32, u32)> {
    let count = found.last()?.saturating_add(1) - u32::try_from(found.len()).unwrap_or(u32::MAX);
    let first = found.iter().zip(0..).find(|(n, place)| *n != place);
    (count > 0).then(|| (first.map_or(0, |(_, place)| place), count))
}

fn unshown(experiment: &Experiment<'_>) -> Vec<Located> {
    let claims = experiment.claims.iter().filter_map(|(index, claim)| {
        Some((*index, claimed(claim, "planned")?, claimed(claim, "shown")?))
    });
    claims
        .filter(|(_, planned, shown)| shown < planned)
        .map(|(index, planned, shown)| {
            let message = format!("{shown} of {planned} planned results are shown");
            let advice = "publish every cell, or say by which rule, written before the run, some were left out";
            RULE.about(Some(index), Severity::Warning, message, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    #[test]
    fn a_part_is_found_and_the_whole_is_not() {
        let claim = |shown| {
            let figures = [("planned".to_owned(), 140.0), ("shown".to_owned(), shown)].into();
            Record {
                kind: "claim".into(),
                ..quoted(
                    "claim",
                    Summary {
                        figures,
                        ..Summary::default()
                    },
                )
            }
        };
        assert_eq!(
            only(&run_on(check, &[claim(35.0)])),
            "35 of 140 planned results are shown"
        );
        assert_eq!(run_on(check, &[claim(140.0)]), []);
    }

    #[test]
    fn numbers_are_missing_below_the_last_however_large_it_is() {
        let of = |numbers: &[u32]| missing(&numbers.iter().copied().collect());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 1, 2]), None);
        assert_eq!(of(&[1, 2]), Some((0, 1)));
        assert_eq!(of(&[0, 1, 4, 6]), Some((2, 3)));
        assert_eq!(of(&[0, u32::MAX - 1]), Some((1, u32::MAX - 2)));
    }

    #[test]
    fn a_number_that_was_left_out_is_found_wherever_it_was() {
        let blocks = |numbers: &[u32]| -> Vec<Record> {
            let slots = numbers
                .iter()
                .flat_map(|block| [("a", *block, 2 * block), ("b", *block, 2 * block + 1)]);
            slots
                .map(|(arm, block, slot)| placed(sound(), arm, block, slot))
                .collect()
        };
        assert_eq!(run_on(check, &blocks(&[0, 1, 2, 3])), []);
        assert_eq!(
            run_on(check, &blocks(&[0, 1, 2, 3])[..7]),
            [],
            "the last block may be torn"
        );
        assert_eq!(
            only(&run_on(check, &blocks(&[0, 2, 3]))),
            "block 1 of the experiment is missing"
        );
        let found = run_on(check, &blocks(&[3, 7, 9]));
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "7 blocks of the experiment are missing, the first is number 0",
                Severity::Invalid
            )
        );
        let mut slot = blocks(&[0, 1, 2]);
        slot.remove(2);
        assert_eq!(
            only(&run_on(check, &slot)),
            "slot 2 of the experiment is missing"
        );
    }
}
