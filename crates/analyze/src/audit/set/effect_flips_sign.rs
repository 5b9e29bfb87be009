//! An arm that is better, worse and better again along an axis shows noise, or an interaction that
//! nobody named.

use super::{Experiment, Located, is_baseline, typical};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use std::collections::HashMap;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "effect_flips_sign",
    catalogue_number: Some(42),
    severity: Severity::Warning,
    title: "An effect changes its sign along the rows",
    text: "\
For each arm the effects beside the baseline in the order of the rows; effects below 5 %
are left out, and more than one change of sign is found.
+4, -43, +21, -20, -22 % from 100 MB to 5 GB is either noise, or an effect that depends
on the size in a way that nobody predicted. Neither supports \"+21 % at 1 GB\", and their
mean describes no row.
What to do: repeat the rows in blocks; test whether the effect depends on the row before
pooling; quote no single row.",
    checks: &[Check::Together(check)],
};

/// Effects below it are no sign at all.
const LEAST_EFFECT: f64 = 0.05;
const MOST_CHANGES: usize = 1;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let rows = experiment.rows();
    let arms = experiment.arms();
    // Of each row the baseline's value and that of every arm, each found once.
    let rows = rows.iter().filter_map(|(_, arms)| {
        let base = typical(&arms.iter().find(|(name, _)| is_baseline(name))?.1)?;
        let values = arms
            .iter()
            .filter_map(|(name, slots)| Some((*name, typical(slots)?)));
        Some((base, values.collect::<HashMap<_, _>>()))
    });
    let rows: Vec<_> = rows.collect();
    let others = arms
        .iter()
        .map(|(arm, _)| *arm)
        .filter(|arm| !is_baseline(arm));
    others
        .filter_map(|arm| {
            let effects: Vec<f64> = rows
                .iter()
                .filter_map(|(base, values)| {
                    let ours = values.get(arm)?;
                    (base.0 == ours.0).then(|| ours.1 / base.1 - 1.0)
                })
                .collect();
            let signs: Vec<bool> = effects.iter().filter(|effect| effect.abs() > LEAST_EFFECT).map(|effect| *effect > 0.0).collect();
            let changes = signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
            (changes > MOST_CHANGES).then(|| {
                let list: Vec<String> = effects.iter().map(|effect| format!("{:+.0}", effect * 100.0)).collect();
                let message = format!("{arm}: {} % beside the baseline along the rows: noise or an interaction", list.join(", "));
                let advice =
                    "quote no single row and no mean of them: repeat the rows in blocks, and ask whether the effect depends on the row";
                RULE.about(None, Severity::Warning, message, advice)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn matrix(effects: &[f64]) -> Vec<Record> {
        let of = |rate| {
            quoted(
                "put",
                Summary {
                    bytes_per_second: Some(rate),
                    ..Summary::default()
                },
            )
        };
        let rows = effects.iter().zip(0_u32..);
        rows.flat_map(|(effect, row)| {
            [("baseline", 100.0), ("new", 100.0 * (1.0 + effect))].map(|(arm, rate)| {
                let mut record = placed(of(rate), arm, 0, row);
                record.trial.as_mut().unwrap().row = format!("row {row}");
                record
            })
        })
        .collect()
    }

    #[test]
    fn an_effect_that_changes_sign_twice_is_found() {
        let found = run_on(check, &matrix(&[0.043, -0.427, 0.211, -0.198, -0.222]));
        assert_eq!(
            only(&found),
            "new: +4, -43, +21, -20, -22 % beside the baseline along the rows: noise or an interaction"
        );
    }

    #[test]
    fn of_slots_that_state_what_is_asked_the_time_of_their_programs_is_no_effect() {
        let mut records = matrix(&[0.043, -0.427, 0.211, -0.198, -0.222]);
        for record in &mut records {
            let trial = record.trial.as_mut().expect("it is placed");
            trial.question = Some(record::PlannedQuestion {
                metric: "value:score".into(),
                margin: 0.05,
                better: None,
                text: String::new(),
            });
            let states = record.summaries.values_mut().next().expect("it has one");
            states.figures.insert("score".into(), 7.0);
        }
        assert_eq!(run_on(check, &records), []);
    }

    #[test]
    fn a_steady_effect_and_one_turn_are_silent() {
        assert_eq!(run_on(check, &matrix(&[-0.1, -0.2, -0.1, 0.02])), []);
        assert_eq!(run_on(check, &matrix(&[-0.1, -0.2, 0.1, 0.2])), []);
    }
}
