//! The plan was written before the first slot: records that do not fit it were changed, or are not
//! all of it.

use super::{Experiment, Located, grouped};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::{PlanFacts, Trial};
use stats::{Control, Design, Unit};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "plan_contradicted",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "Records do not fit the plan of their experiment",
    text: "\
The plan is the first line of an experiment's file: arms, rows, every option, when it may
end, the seed of the order. Its hash is computed again; each record's arm, role, row,
block and rule (trial) must be the plan's, and each block that ran once must have run in
the order that the seed gives.
A rule that is edited afterwards, or labels that are exchanged in blocks that displease,
give any result: of 40 blocks the best 10 always show a difference.
What to do: judge the file as it was written; what was planned otherwise is measured anew.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str =
    "judge the file as it was written; an experiment under another plan is to be measured anew";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let trials: Vec<&Trial> = experiment
        .slots
        .iter()
        .filter_map(|(_, record)| record.trial.as_ref())
        .collect();
    let Some(written) = trials
        .iter()
        .find_map(|trial| trial.written_plan.as_deref())
    else {
        return Vec::new();
    };
    let plan = &written.plan;
    let changed = (!written.is_unchanged())
        .then(|| "the plan in the file is not the one that its records name".to_owned());
    let contradiction = changed
        .or_else(|| rule(plan, &trials))
        .or_else(|| place(plan, &trials))
        .or_else(|| order(experiment, plan));
    contradiction
        .into_iter()
        .map(|message| RULE.about(None, Severity::Invalid, message, ADVICE))
        .collect()
}

/// When the experiment may end.
fn rule(plan: &PlanFacts, trials: &[&Trial]) -> Option<String> {
    let said = |stopping, blocks: u32| format!("{stopping:?} with {blocks} blocks").to_lowercase();
    let other = trials.iter().find(|trial| {
        trial.stopping != plan.stopping || trial.planned_blocks != Some(plan.most_passes)
    })?;
    let of_record = said(other.stopping, other.planned_blocks.unwrap_or(0));
    Some(format!(
        "a record says that its plan is {of_record}, the plan itself says {}",
        said(plan.stopping, plan.most_passes)
    ))
}

/// Which arms and rows there are, and how many blocks.
fn place(plan: &PlanFacts, trials: &[&Trial]) -> Option<String> {
    let is_planned = |trial: &Trial| {
        let arm = plan
            .arms
            .iter()
            .any(|arm| arm.name == trial.arm && arm.role == trial.role);
        arm && plan.rows.iter().any(|row| row.name == trial.row) && trial.block < plan.most_passes
    };
    let foreign = trials.iter().find(|trial| !is_planned(trial))?;
    let Trial {
        block, arm, row, ..
    } = foreign;
    Some(format!(
        "the plan has no block {block} of {arm} as {} in {row}",
        format!("{:?}", foreign.role).to_lowercase()
    ))
}

/// Whether the blocks ran in the order that the seed gives; one that was repeated is not looked at.
fn order(experiment: &Experiment<'_>, plan: &PlanFacts) -> Option<String> {
    let design = Design {
        arms: plan.arms.len(),
        configs: plan.rows.len(),
        control: Control::None,
        unit: Unit::Block,
    };
    let blocks = grouped(&experiment.planned(), |record| {
        record
            .trial
            .as_ref()
            .map(|trial| (trial.row.as_str(), trial.block))
    });
    for (block, slots) in blocks {
        let (Some((name, number)), true) = (block, slots.len() == plan.arms.len()) else {
            continue;
        };
        let row = plan.rows.iter().position(|row| row.name == name)?;
        let mut trials: Vec<&Trial> = slots
            .iter()
            .filter_map(|(_, record)| record.trial.as_ref())
            .collect();
        trials.sort_by_key(|trial| trial.slot);
        let drawn = design.block(plan.seed, number as usize, row, 0);
        let is_as_drawn = trials
            .iter()
            .zip(&drawn)
            .all(|(trial, slot)| plan.arms[slot.arm].name == trial.arm);
        let is_once = trials.iter().all(|trial| trial.attempt == 0)
            && trials.windows(2).all(|pair| pair[0].arm != pair[1].arm);
        if is_once && !is_as_drawn {
            return Some(format!(
                "block {number} of {name} did not run in the order that was drawn"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::{PlannedArm, PlannedRow, Record, Role, Stopping};
    use std::sync::Arc;

    /// Twelve blocks of a plan of twelve, as they were drawn.
    fn experiment() -> Vec<Record> {
        let arm = |name: &str, role| PlannedArm {
            name: name.into(),
            role,
            ..PlannedArm::default()
        };
        let plan = PlanFacts {
            most_passes: 12,
            seed: 5,
            arms: vec![arm("a", Role::Baseline), arm("b", Role::Candidate)],
            rows: vec![PlannedRow {
                name: "row".into(),
                ..PlannedRow::default()
            }],
            ..PlanFacts::default()
        };
        let line = Arc::new(plan.clone().line());
        let design = Design {
            arms: 2,
            configs: 1,
            control: Control::None,
            unit: Unit::Block,
        };
        let slots = (0..12).flat_map(|pass| design.pass(plan.seed, pass));
        slots
            .zip(0_u32..)
            .map(|(slot, number)| {
                let mut record = placed(sound(), &plan.arms[slot.arm].name, number / 2, number);
                let trial = record.trial.as_mut().unwrap();
                trial.role = plan.arms[slot.arm].role;
                (trial.plan, trial.planned_blocks, trial.written_plan) =
                    (line.hash.clone(), Some(12), Some(Arc::clone(&line)));
                record
            })
            .collect()
    }

    fn trials(records: &mut [Record]) -> impl Iterator<Item = &mut Trial> {
        records
            .iter_mut()
            .filter_map(|record| record.trial.as_mut())
    }

    #[test]
    fn what_was_carried_out_as_planned_is_silent_also_in_parts() {
        let records = experiment();
        assert_eq!(run_on(check, &records), []);
        assert_eq!(run_on(check, &records[..5]), []);
        assert_eq!(
            run_on(check, &[placed(sound(), "a", 0, 0)]),
            [],
            "a file without its plan is judged as it was before"
        );
    }

    #[test]
    fn an_edited_rule_is_seen_in_the_records_and_in_the_plan() {
        let mut records = experiment();
        trials(&mut records).for_each(|trial| trial.stopping = Stopping::Open);
        assert_eq!(
            only(&run_on(check, &records)),
            "a record says that its plan is open with 12 blocks, the plan itself says fixed with 12 blocks"
        );
        let mut records = experiment();
        trials(&mut records).for_each(|trial| {
            let mut plan = trial.written_plan.as_deref().cloned().unwrap();
            (plan.plan.most_passes, trial.planned_blocks) = (6, Some(6));
            trial.written_plan = Some(Arc::new(plan));
        });
        assert_eq!(
            only(&run_on(check, &records)),
            "the plan in the file is not the one that its records name"
        );
    }

    #[test]
    fn an_interrupted_block_that_was_resumed_is_no_contradiction() {
        let mut records = experiment();
        // One slot of the last block, and after an interruption one of its next attempt, which was
        // drawn the other way round.
        records.swap(22, 23);
        for (number, trial) in (0_u32..).zip(trials(&mut records)) {
            (trial.slot, trial.attempt) = (number, number / 23);
        }
        assert_eq!(run_on(check, &records), []);
    }

    #[test]
    fn exchanged_labels_are_seen_by_the_order_that_was_drawn() {
        let mut records = experiment();
        for trial in trials(&mut records).filter(|trial| trial.block == 7) {
            let (arm, role) = if trial.arm == "a" {
                ("b", Role::Candidate)
            } else {
                ("a", Role::Baseline)
            };
            (trial.arm, trial.role) = (arm.into(), role);
        }
        assert_eq!(
            only(&run_on(check, &records)),
            "block 7 of row did not run in the order that was drawn"
        );
    }

    #[test]
    fn strangers_to_the_plan_are_named() {
        let mut records = experiment();
        trials(&mut records).next().unwrap().role = Role::Control;
        assert!(only(&run_on(check, &records)).starts_with("the plan has no block 0 of "));
    }
}
