//! Two arms that are the same must not differ.

use super::change_not_exercised::unexercised;
use super::{Arm, Experiment, Located, Slot, claimed, differences, is_baseline, typical};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Role;
use stats::{CONTROL_ALPHA, signed_rank};
use std::collections::BTreeMap;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "control_fails",
    catalogue_number: Some(44),
    severity: Severity::Invalid,
    title: "Two arms that are the same differ",
    text: "\
An arm whose name ends in \"control\" is compared with the arm that it repeats by the
exact signed-rank test over blocks; p below 0.001 is found.
Both arms run the same thing, so any difference is the harness: the first slot of a
block, a longer name, a directory that is fuller. What the harness adds to a control of
-35 % it may also add to the candidate; no difference of that experiment can be
believed.
What to do: find what favours the position or the name (predecessor, warm-up, placement
of files), and run the experiment again.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "the harness favours a position or a name: find out which before believing any difference of this experiment";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out = Vec::new();
    let rows = experiment.rows();
    // Every row is a chance to err.
    let alpha = CONTROL_ALPHA / rows.len().max(1) as f64;
    for (row, arms) in rows {
        for ((control, slots), twin) in arms.iter().zip(twins(&arms)) {
            let Some((twin, of_twin)) = twin.map(|of| &arms[of]) else {
                continue;
            };
            let d: Vec<f64> = differences(of_twin, slots)
                .into_iter()
                .filter(|d| d.is_finite())
                .collect();
            let p = signed_rank(&d).p;
            if p < alpha {
                let message = format!(
                    "{row}: {control} and {twin} are the same and differ (p = {p:.1e} over {} blocks)",
                    d.len()
                );
                out.push(RULE.about(None, experiment.severity(), message, ADVICE));
            }
        }
        out.extend(accidental(experiment, row, &arms));
    }
    out
}

/// An arm whose change the workload does not reach repeats the baseline: it must not differ by what
/// the experiment itself says it can see.
fn accidental(experiment: &Experiment<'_>, row: &str, arms: &[Arm<'_>]) -> Option<Located> {
    let floor = experiment
        .claims
        .iter()
        .find_map(|(_, claim)| claimed(claim, "detection_threshold_percent"))?
        / 100.0;
    let base = typical(&arms.iter().find(|(arm, _)| is_baseline(arm))?.1)?;
    arms.iter().filter(|(_, slots)| unexercised(slots).is_some()).find_map(|(arm, slots)| {
        let (unit, rate) = typical(slots)?;
        let effect = rate / base.1 - 1.0;
        (unit == base.0 && effect.abs() > floor).then(|| {
            let message = format!("{row}: what {arm} changes was not measured, and it is {:+.1}% beside the baseline", effect * 100.0);
            RULE.about(None, experiment.severity(), message, ADVICE)
        })
    })
}

/// For each arm the first other one that it is a second time: by their roles in the plan, or by its
/// name.
fn twins(arms: &[Arm<'_>]) -> Vec<Option<usize>> {
    let has = |slots: &[Slot<'_>], role| {
        let mut trials = slots.iter().filter_map(|(_, record)| record.trial.as_ref());
        trials.any(|trial| trial.role == role)
    };
    let names: BTreeMap<&str, usize> = arms.iter().map(|(arm, _)| *arm).zip(0..).collect();
    let mut baselines = (0..arms.len()).filter(|of| has(&arms[*of].1, Role::Baseline));
    // One arm may be its own baseline; the next is then another.
    let baselines = [baselines.next(), baselines.next()];
    let of = |(own, (name, slots)): (usize, &Arm<'_>)| {
        let by_role = baselines.iter().flatten().copied().find(|of| *of != own);
        let by_role = by_role.filter(|_| has(slots, Role::Control));
        let by_name = twin(name).and_then(|of| names.get(of).copied());
        by_role.into_iter().chain(by_name).min()
    };
    arms.iter().enumerate().map(of).collect()
}

/// The arm that a control repeats, by its name.
fn twin(arm: &str) -> Option<&str> {
    [" (control)", " control", "-control", " (again)"]
        .iter()
        .find_map(|end| arm.strip_suffix(end))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, set, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn blocks(control: &str, slower: u64) -> Vec<Record> {
        (0..12_u32)
            .flat_map(|block| {
                let mut second = sound();
                second.elapsed_ns += slower
                    * u64::from(block + 1)
                    * if slower == 1 && block % 2 == 0 {
                        0
                    } else {
                        10_000_000
                    };
                [
                    placed(sound(), "baseline", block, 2 * block),
                    placed(second, control, block, 2 * block + 1),
                ]
            })
            .collect()
    }

    #[test]
    fn a_control_that_differs_in_every_block_invalidates() {
        let found = run_on(check, &blocks("baseline (control)", 2));
        assert!(
            only(&found)
                .starts_with("row: baseline (control) and baseline are the same and differ")
        );
        assert_eq!(found[0].severity, crate::Severity::Invalid);
    }

    #[test]
    fn a_control_is_known_by_its_role_whatever_its_name() {
        let mut records = blocks("again", 2);
        for record in &mut records {
            let trial = record.trial.as_mut().unwrap();
            trial.role = if trial.arm == "again" {
                Role::Control
            } else {
                Role::Baseline
            };
        }
        assert!(
            only(&run_on(check, &records))
                .starts_with("row: again and baseline are the same and differ")
        );
    }

    #[test]
    fn an_arm_that_the_workload_does_not_reach_must_stay_below_the_floor() {
        let of = |arm: &str, rate: f64| {
            placed(
                quoted(
                    "upload",
                    Summary {
                        bytes_per_second: Some(rate),
                        ..Summary::default()
                    },
                ),
                arm,
                0,
                0,
            )
        };
        let mut batch = of("batch", 83.09);
        set(&mut batch, "expects", "download");
        let figures = [("detection_threshold_percent".to_owned(), 25.0)].into();
        let mut claim = placed(
            quoted(
                "claim",
                Summary {
                    figures,
                    ..Summary::default()
                },
            ),
            "",
            0,
            0,
        );
        claim.kind = super::super::super::CLAIM.into();
        let found = run_on(
            check,
            &[of("baseline", 128.28), batch.clone(), claim.clone()],
        );
        assert_eq!(
            only(&found),
            "row: what batch changes was not measured, and it is -35.2% beside the baseline"
        );
        batch.effective.clear();
        assert_eq!(run_on(check, &[of("baseline", 128.28), batch, claim]), []);
    }

    #[test]
    fn another_arm_may_differ_and_a_control_may_scatter() {
        assert_eq!(run_on(check, &blocks("candidate", 2)), []);
        assert_eq!(run_on(check, &blocks("baseline (control)", 0)), []);
    }
}
