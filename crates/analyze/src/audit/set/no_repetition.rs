//! Fewer than six blocks have no interval, and what has no interval cannot be compared.

use super::order_aliased::is_unsaid;
use super::{Arm, Experiment, Located, arm, cells, names, repetitions};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::UnsaidPlace;
use std::collections::BTreeSet;
use units::counted;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "no_repetition",
    catalogue_number: Some(31),
    severity: Severity::Invalid,
    title: "Too few repetitions for an interval",
    text: "\
Blocks of each arm and row of a plan (trial.block), or records of each name of an
imported set. Fewer than six is invalid where a plan or a document compares, a warning
otherwise: of a plan of one arm nothing is compared. Our own single runs say it of
themselves. In a matrix whose arms have six blocks or more over all rows it is a note:
the verdicts over all rows have their interval, those of a single row have none.
From six pairs on the exact signed-rank law has a 95 % interval: with 5, even if all
differences agree, p is 0.0625. One run an arm has no interval: with a run-to-run
deviation of 15 %, two identical arms differ by more than 10 % in about two cases of
three.
What to do: repeat every arm in at least six randomised blocks of fresh runs.",
    checks: &[Check::Together(check)],
};

/// From six pairs on the exact signed-rank law has an interval of 95 %.
const FEWEST: usize = 6;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let are_quoted = experiment
        .slots
        .iter()
        .any(|(_, record)| record.source.is_some());
    if !experiment.is_placed && !are_quoted {
        return Vec::new();
    }
    if is_unsaid(experiment, UnsaidPlace::Block) {
        let message = "the table does not say which slots belong to one block, so none repeats a comparison: no interval is possible";
        let advice = "import it with the column that says it (block=COLUMN), or with an order in which every arm ran once before any ran again; if it has neither, measure again in randomised blocks";
        return vec![RULE.about(None, severity(experiment), message.into(), advice)];
    }
    let cells = cells(&experiment.slots);
    let few: Vec<_> = cells
        .iter()
        .filter(|slots| repetitions(slots) < FEWEST)
        .collect();
    let Some(fewest) = few.iter().map(|slots| repetitions(slots)).min() else {
        return Vec::new();
    };
    let firsts: Vec<_> = few
        .iter()
        .filter_map(|slots| slots.first().copied())
        .collect();
    let have = if cells.len() == 1 { "has" } else { "have" };
    let all = counted(cells.len(), "result");
    if let Some(blocks) = over_all_rows(experiment) {
        let message = format!(
            "{} of {all} {have} fewer than {FEWEST} repetitions, the fewest {fewest}: only the verdicts over all rows, of {blocks} blocks, have an interval",
            few.len()
        );
        let advice = "for a verdict of a single row let the plan go through more passes";
        return vec![RULE.about(None, Severity::Note, message, advice)];
    }
    let message = format!(
        "{} of {all} {have} fewer than {FEWEST} repetitions, the fewest {fewest}: no interval is possible ({})",
        few.len(),
        names(&firsts)
    );
    let advice = "repeat every arm in at least six randomised blocks of fresh runs; until then no difference is more than an anecdote";
    let record = if let [(index, _)] = firsts[..] {
        Some(index)
    } else {
        None
    };
    vec![RULE.about(record, severity(experiment), message, advice)]
}

/// The fewest blocks of an arm over all rows of a matrix of slots, where they are enough and no two
/// slots took the same time to the nanosecond: one measurement under several names is one block.
fn over_all_rows(experiment: &Experiment<'_>) -> Option<usize> {
    let is_matrix = experiment.slots.iter().all(|(_, r)| r.trial.is_some())
        && experiment.rows().len() > 1
        && experiment.arms().len() > 1;
    let of_arm = |(_, slots): &Arm<'_>| cells(slots).iter().map(|cell| repetitions(cell)).sum();
    let fewest: usize = experiment.arms().iter().map(of_arm).min()?;
    let times = experiment.slots.iter().map(|(_, r)| (arm(r), r.elapsed_ns));
    let distinct: BTreeSet<_> = times.collect();
    (is_matrix && fewest >= FEWEST && distinct.len() == experiment.slots.len()).then_some(fewest)
}

/// A plan of one arm asks for levels, which say themselves that they have no interval.
fn severity(experiment: &Experiment<'_>) -> Severity {
    let mut slots = experiment.slots.iter();
    let is_planned = slots.any(|(_, record)| record.trial.is_some());
    if is_planned && experiment.arms().len() < 2 {
        Severity::Warning
    } else {
        experiment.severity()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use crate::Severity;
    use record::Record;

    fn blocks(n: u32) -> Vec<Record> {
        (0..n)
            .flat_map(|block| ["a", "b"].map(|arm| placed(sound(), arm, block, 2 * block)))
            .collect()
    }

    #[test]
    fn one_run_an_arm_of_a_plan_invalidates() {
        let found = run_on(check, &blocks(1));
        assert!(
            only(&found).starts_with("2 of 2 results have fewer than 6 repetitions, the fewest 1")
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(run_on(check, &blocks(5)).len(), 1);
    }

    #[test]
    fn one_pass_over_a_matrix_of_six_rows_has_verdicts_over_all_rows() {
        let matrix = |rows: u32| -> Vec<Record> {
            let slot = |row: u32, arm: &str| {
                let mut record = placed(sound(), arm, 0, row);
                record.trial.as_mut().unwrap().row = format!("size={row}");
                record.elapsed_ns += u64::from(row);
                record
            };
            (0..rows)
                .flat_map(|row| ["a", "b"].map(|arm| slot(row, arm)))
                .collect()
        };
        let found = run_on(check, &matrix(6));
        assert_eq!(
            only(&found),
            "12 of 12 results have fewer than 6 repetitions, the fewest 1: only the verdicts over all rows, of 6 blocks, have an interval"
        );
        assert_eq!(found[0].severity, Severity::Note);
        assert_eq!(run_on(check, &matrix(5))[0].severity, Severity::Invalid);
        let mut doubled = matrix(6);
        doubled[2].elapsed_ns = doubled[0].elapsed_ns;
        assert_eq!(run_on(check, &doubled)[0].severity, Severity::Invalid);
    }

    #[test]
    fn a_plan_of_one_arm_compares_nothing() {
        let records: Vec<Record> = (0..3).map(|n| placed(sound(), "a", n, n)).collect();
        assert_eq!(run_on(check, &records)[0].severity, Severity::Warning);
    }

    #[test]
    fn lines_that_belong_to_no_block_are_no_repetitions() {
        let mut records = blocks(9);
        for trial in records
            .iter_mut()
            .filter_map(|record| record.trial.as_mut())
        {
            trial.unsaid = vec![record::UnsaidPlace::Block];
        }
        let found = run_on(check, &records);
        assert!(only(&found).starts_with("the table does not say which slots belong to one block"));
    }

    #[test]
    fn imported_single_runs_are_a_warning_and_published_ones_compare() {
        let mut record = quoted("read", record::Summary::default());
        assert_eq!(
            run_on(check, std::slice::from_ref(&record))[0].severity,
            Severity::Invalid
        );
        record.source.as_mut().unwrap().tool = "fio".into();
        assert_eq!(run_on(check, &[record])[0].severity, Severity::Warning);
    }

    #[test]
    fn six_starts_of_one_command_are_repetitions_and_six_drives_are_not() {
        let of = |number: u32, drive: &str| {
            let mut record = quoted("run", record::Summary::default());
            record.source.as_mut().unwrap().tool = "hyperfine".into();
            record.repeat = Some(record::Repeat {
                of: "x".into(),
                number,
            });
            record.targets = vec![record::TargetFact {
                path: drive.into(),
                ..record::TargetFact::default()
            }];
            record
        };
        assert_eq!(
            run_on(
                check,
                &(0..6).map(|number| of(number, "sda")).collect::<Vec<_>>()
            ),
            []
        );
        let drives: Vec<Record> = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .zip(0..)
            .map(|(drive, number)| of(number, drive))
            .collect();
        assert!(
            only(&run_on(check, &drives))
                .starts_with("6 of 6 results have fewer than 6 repetitions, the fewest 1")
        );
    }

    #[test]
    fn six_blocks_and_our_own_single_runs_are_silent() {
        assert_eq!(run_on(check, &blocks(6)), []);
        assert_eq!(run_on(check, &[sound(), sound()]), []);
    }
}
