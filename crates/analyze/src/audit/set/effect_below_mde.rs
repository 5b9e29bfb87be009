//! An effect below what the experiment could see is not a finding, even where its interval leaves
//! zero out.

use super::{Experiment, Located, claimed, differences, is_baseline};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use stats::{effect, mde};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "effect_below_mde",
    catalogue_number: Some(39),
    severity: Severity::Warning,
    title: "The effect is smaller than what could be seen",
    text: "\
For each arm beside the baseline of a plan: the estimated effect against 1.43 half-
widths of its interval, which is the effect that is found with 80 % power. In a
document: a claimed effect against the floor that the document itself states.
\"+4.3 %, winner\" beside \"we can only detect more than 25 %\" is a coin that fell. Among
such effects that pass a test by luck the size is exaggerated several times, and the
sign is often wrong.
What to do: say that it is not decided, or run as many more blocks as fathom compare
plans for the effect that matters.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out: Vec<Located> = stated(experiment).into_iter().collect();
    for (row, arms) in experiment.rows() {
        let Some((base, base_slots)) = arms.iter().find(|(arm, _)| is_baseline(arm)) else {
            continue;
        };
        for (arm, slots) in arms.iter().filter(|(arm, _)| arm != base) {
            let d: Vec<f64> = differences(base_slots, slots)
                .into_iter()
                .filter(|d| d.is_finite())
                .collect();
            let Some(estimate) =
                effect(&d, 0.95).filter(|estimate| estimate.half_width().is_finite())
            else {
                continue;
            };
            let floor = mde::after(estimate.half_width());
            // No difference at all is no claim.
            if estimate.point.abs() < floor && estimate.point.abs() > 0.005 {
                let [point, floor] = [estimate.point, floor].map(|x| x.exp_m1() * 100.0);
                let message = format!(
                    "{row}: {arm} is {point:+.1}% beside {base}, and {} blocks can only see {floor:.1}% or more",
                    estimate.n
                );
                let advice = "say that it is not decided, or run more blocks: as many as fathom compare plans for the effect that matters";
                out.push(RULE.about(None, Severity::Warning, message, advice));
            }
        }
    }
    out
}

/// A document's own floor beside an effect that it presents.
fn stated(experiment: &Experiment<'_>) -> Option<Located> {
    let of = |name: &'static str| {
        experiment
            .claims
            .iter()
            .filter_map(move |(index, claim)| Some((*index, claimed(claim, name)?)))
    };
    let (_, floor) = of("detection_threshold_percent").next()?;
    let (index, effect) = of("effect_percent").find(|(_, effect)| effect.abs() < floor)?;
    let message =
        format!("an effect of {effect:+}% is claimed where only more than {floor}% can be seen");
    let advice = "an effect below the stated floor is no finding: leave it out, or measure until the floor is below it";
    Some(RULE.about(Some(index), Severity::Warning, message, advice))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::Record;

    /// Eight blocks whose pairs differ by a factor and by noise of about the given size.
    fn pairs(factor: f64, noise: f64) -> Vec<Record> {
        let wobble = [0.3, -1.0, 0.8, -0.2, 1.0, -0.7, 0.5, -0.6];
        let with = |scale: f64| {
            let mut record = sound();
            record.elapsed_ns =
                units::lossless::f64_to_u64_saturating(record.elapsed_ns as f64 / scale);
            record
        };
        let blocks = wobble.into_iter().zip(0_u32..);
        blocks
            .flat_map(|(w, block)| {
                [
                    placed(sound(), "baseline", block, 2 * block),
                    placed(
                        with(factor * (1.0 + w * noise)),
                        "new",
                        block,
                        2 * block + 1,
                    ),
                ]
            })
            .collect()
    }

    #[test]
    fn an_effect_inside_the_noise_is_found() {
        let found = run_on(check, &pairs(1.043, 0.15));
        assert!(
            only(&found).starts_with("row: new is +")
                && only(&found).contains("beside baseline, and 8 blocks can only see"),
            "{found:?}"
        );
    }

    #[test]
    fn a_clear_effect_and_no_effect_are_silent() {
        assert_eq!(run_on(check, &pairs(1.2, 0.02)), []);
        assert_eq!(run_on(check, &pairs(1.0, 0.0)), []);
    }

    #[test]
    fn a_claim_below_the_stated_floor_is_found() {
        let claim = |name: &str, value| {
            let summary = record::Summary {
                figures: [(name.to_owned(), value)].into(),
                ..record::Summary::default()
            };
            Record {
                kind: "claim".into(),
                ..super::super::super::example::quoted("claim", summary)
            }
        };
        let floor = claim("detection_threshold_percent", 25.0);
        assert_eq!(
            only(&run_on(
                check,
                &[claim("effect_percent", 4.3), floor.clone()]
            )),
            "an effect of +4.3% is claimed where only more than 25% can be seen"
        );
        assert_eq!(run_on(check, &[claim("effect_percent", 43.0), floor]), []);
    }
}
