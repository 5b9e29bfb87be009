//! If nearly everything that was tried is worse, the order or the baseline is the likelier reason.

use super::{Experiment, Located, is_baseline, typical};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use std::collections::BTreeSet;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "one_sided",
    catalogue_number: Some(41),
    severity: Severity::Warning,
    title: "Nearly everything differs to the same side",
    text: "\
Where the order was not random: results of at least 3 arms that are more than 5 % off the
baseline, slower against faster, by a sign test at 1 %.
Six independent changes are seldom all bad. If 18 results are slower and 2 faster, what
they share is the likelier cause: the baseline ran first on a fresh disk, or was lucky.
What to do: repeat the baseline among the arms, in randomised blocks, before believing it
of any of them.",
    checks: &[Check::Together(check)],
};

/// Effects below it are no sign.
const LEAST_EFFECT: f64 = 0.05;
const FEWEST_ARMS: usize = 3;
const ALPHA: f64 = 0.01;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut effects: Vec<(&str, f64)> = Vec::new();
    for (_, arms) in experiment.rows() {
        let Some(base) = arms
            .iter()
            .find(|(arm, _)| is_baseline(arm))
            .and_then(|(_, slots)| typical(slots))
        else {
            continue;
        };
        let others = arms
            .iter()
            .filter(|(arm, _)| !is_baseline(arm))
            .filter_map(|(arm, slots)| Some((*arm, typical(slots)?)));
        effects.extend(
            others
                .filter(|(_, of)| of.0 == base.0)
                .map(|(arm, of)| (arm, of.1 / base.1 - 1.0)),
        );
    }
    let [slower, faster] = [-1.0, 1.0].map(|sign| {
        effects
            .iter()
            .filter(|(_, effect)| effect * sign > LEAST_EFFECT)
            .count()
    });
    let arms = effects
        .iter()
        .map(|(arm, _)| *arm)
        .collect::<BTreeSet<&str>>()
        .len();
    let p = sign_test(slower.min(faster), slower + faster);
    if arms < FEWEST_ARMS || p > ALPHA {
        return Vec::new();
    }
    // In randomised blocks neither time nor one odd baseline slot can do it.
    let in_blocks = experiment
        .slots
        .iter()
        .all(|(_, record)| record.trial.is_some());
    if in_blocks && super::order_aliased::check(experiment).is_empty() {
        return Vec::new();
    }
    let message = format!(
        "{slower} results of {arms} arms are slower than the baseline and {faster} faster (p = {p:.1e} for a coin): look at the order and the baseline first"
    );
    let advice = "several changes are seldom all bad: repeat baseline and arms in randomised blocks before believing it of any of them";
    vec![RULE.about(None, Severity::Warning, message, advice)]
}

/// Probability that of `n` tosses of a coin at most `k`, or at least `n - k`, are heads.
fn sign_test(k: usize, n: usize) -> f64 {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = term;
    for i in 0..k {
        term *= (n - i) as f64 / (i + 1) as f64;
        sum += term;
    }
    (2.0 * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    /// Three arms over five rows with the effects given, one arm after the other.
    fn matrix(effects: &[f64; 15]) -> Vec<Record> {
        let of = |rate| {
            quoted(
                "put",
                Summary {
                    bytes_per_second: Some(rate),
                    ..Summary::default()
                },
            )
        };
        let mut out = Vec::new();
        for (arm, name) in (0..4_u32).zip(["baseline", "a", "b", "c"]) {
            for row in 0..5_u32 {
                let effect = arm
                    .checked_sub(1)
                    .map_or(0.0, |arm| effects[usize::try_from(arm * 5 + row).unwrap()]);
                let mut record = placed(of(100.0 * (1.0 + effect)), name, 0, arm * 5 + row);
                record.trial.as_mut().unwrap().row = format!("row {row}");
                out.push(record);
            }
        }
        out
    }

    #[test]
    fn what_is_all_slower_in_an_order_is_found() {
        let found = run_on(check, &matrix(&[-0.2; 15]));
        assert!(
            only(&found).starts_with(
                "15 results of 3 arms are slower than the baseline and 0 faster (p = 6.1e-5"
            ),
            "{found:?}"
        );
    }

    #[test]
    fn both_sides_are_silent() {
        let mut effects = [-0.2; 15];
        effects[..5].fill(0.2);
        assert_eq!(run_on(check, &matrix(&effects)), []);
        assert_eq!(run_on(check, &matrix(&[0.01; 15])), []);
    }

    #[test]
    fn a_coin_is_computed_exactly() {
        assert!((sign_test(2, 20) - 2.0 * 211.0 / 1_048_576.0).abs() < 1e-12);
        assert_eq!(sign_test(0, 0), 1.0);
    }
}
