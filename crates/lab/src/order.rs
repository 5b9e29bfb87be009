//! The slots of a plan in the order in which they run, and the passes after which it may be looked
//! at: pure functions of the plan.

use crate::{LabError, Turn};
use record::{PlanFacts, Stopping};
use stats::{Control, Design, LOOKS, Unit, pass_looks};

/// Longest lead-in that nobody asked for: caches and queues turn over within seconds.
const USUAL_MOST_NS: u64 = 10_000_000_000;

/// The lead-in of slots of this time where several arms are compared: half a slot, no more than
/// 10 s.
#[must_use]
pub fn usual_lead_in_ns(slot_ns: u64) -> u64 {
    (slot_ns / 2).clamp(1, USUAL_MOST_NS)
}

/// Slots of a pass.
#[must_use]
pub fn slots_per_pass(plan: &PlanFacts) -> u32 {
    u32::try_from(plan.arms.len() * plan.rows.len()).unwrap_or(u32::MAX)
}

/// The slots of the first pass in the order in which they run.
#[must_use]
pub fn first_pass(plan: &PlanFacts) -> Vec<Turn> {
    let rows = rows_of_pass(plan, 0).into_iter();
    rows.flat_map(|row| block(plan, 0, row, 0)).collect()
}

/// Whether one of the first so many passes ends with a look.
#[must_use]
pub fn has_look(plan: &PlanFacts, passes: u32) -> bool {
    match plan.stopping {
        Stopping::Fixed => passes >= plan.most_passes,
        Stopping::Open | Stopping::EachPass => (1..=passes).any(|pass| may_look(plan, pass)),
    }
}

/// The rows of a pass in the order in which their blocks run.
pub(crate) fn rows_of_pass(plan: &PlanFacts, pass: u32) -> Vec<usize> {
    let slots = design(plan).pass(plan.seed, pass as usize);
    let firsts = slots.chunks(plan.arms.len().max(1));
    firsts
        .filter_map(|block| Some(block.first()?.config))
        .collect()
}

/// The slots of one block, one of every arm, drawn anew for every attempt.
pub(crate) fn block(plan: &PlanFacts, pass: u32, row: usize, attempt: u32) -> Vec<Turn> {
    design(plan)
        .block(plan.seed, pass as usize, row, attempt as usize)
        .into_iter()
        .map(|slot| Turn {
            pass,
            row,
            arm: slot.arm,
            attempt,
        })
        .collect()
}

/// Whether the numbers may be looked at after so many passes, to end with what they say: those of a
/// fixed length are seen at its end alone.
#[must_use]
pub fn may_look(plan: &PlanFacts, passes: u32) -> bool {
    match plan.stopping {
        Stopping::Fixed => false,
        Stopping::Open => LOOKS.contains(&passes),
        Stopping::EachPass => {
            let rows = u32::try_from(plan.rows.len()).unwrap_or(u32::MAX);
            pass_looks(rows, passes).last() == Some(&passes)
        }
    }
}

/// Whether a plan has what its slots need.
///
/// # Errors
/// It has no arms, rows or passes, or another number of workloads than arms.
pub(crate) fn check(plan: &PlanFacts) -> Result<(), LabError> {
    let bad = |text: String| Err(LabError::Plan(text));
    if plan.arms.is_empty() || plan.rows.is_empty() || plan.most_passes == 0 {
        return bad(format!(
            "the experiment {:?} has no arms, no rows or no passes",
            plan.name
        ));
    }
    if plan.least_passes > plan.most_passes {
        return bad(format!(
            "the experiment {:?} has at least {} and at most {} passes",
            plan.name, plan.least_passes, plan.most_passes
        ));
    }
    let arms = plan.arms.len();
    match plan.rows.iter().find(|row| row.workloads.len() != arms) {
        Some(row) => bad(format!(
            "row {:?} has {} workloads for {arms} arms",
            row.name,
            row.workloads.len(),
        )),
        None => Ok(()),
    }
}

fn design(plan: &PlanFacts) -> Design {
    // The control is one of the arms here: its place in a block is drawn like every other.
    Design {
        arms: plan.arms.len(),
        configs: plan.rows.len(),
        control: Control::None,
        unit: Unit::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::plan;

    fn three_arms() -> PlanFacts {
        plan(
            &["a", "b", "a (control)"],
            &["r", "s"],
            Stopping::Open,
            [8, 90],
        )
    }

    #[test]
    fn a_pass_holds_every_row_once_and_a_block_every_arm() {
        let plan = three_arms();
        for pass in 0..20 {
            let mut rows = rows_of_pass(&plan, pass);
            for row in &rows {
                let mut arms: Vec<usize> = block(&plan, pass, *row, 0)
                    .iter()
                    .map(|turn| turn.arm)
                    .collect();
                arms.sort_unstable();
                assert_eq!(arms, [0, 1, 2]);
            }
            rows.sort_unstable();
            assert_eq!(rows, [0, 1]);
        }
    }

    #[test]
    fn the_slots_of_a_pass_are_its_first_attempts() {
        let plan = three_arms();
        for pass in 0..20 {
            let blocks = rows_of_pass(&plan, pass)
                .into_iter()
                .flat_map(|row| block(&plan, pass, row, 0));
            let drawn = design(&plan).pass(plan.seed, pass as usize);
            assert!(
                blocks
                    .map(|turn| (turn.row, turn.arm))
                    .eq(drawn.into_iter().map(|slot| (slot.config, slot.arm)))
            );
        }
    }

    #[test]
    fn passes_and_attempts_are_drawn_anew() {
        let plan = three_arms();
        let firsts: std::collections::BTreeSet<usize> = (0..30)
            .map(|pass| block(&plan, pass, 0, 0)[0].arm)
            .collect();
        assert_eq!(firsts.len(), 3, "every arm comes first at times");
        let attempts: std::collections::BTreeSet<Vec<usize>> = (0..30)
            .map(|attempt| {
                block(&plan, 0, 0, attempt)
                    .iter()
                    .map(|turn| turn.arm)
                    .collect()
            })
            .collect();
        assert_eq!(attempts.len(), 6, "every order comes up at times");
    }

    #[test]
    fn only_open_experiments_look_and_only_at_the_looks() {
        let looks = |plan: &PlanFacts| {
            (0..=12)
                .filter(|passes| may_look(plan, *passes))
                .collect::<Vec<_>>()
        };
        assert_eq!(looks(&three_arms()), [8, 10, 12]);
        let fixed = PlanFacts {
            stopping: Stopping::Fixed,
            ..three_arms()
        };
        assert_eq!(looks(&fixed), [0_u32; 0]);
        let matrix = PlanFacts {
            stopping: Stopping::EachPass,
            ..three_arms()
        };
        assert_eq!(looks(&matrix), [4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
