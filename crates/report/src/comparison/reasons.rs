//! Why there is no verdict, as a word and as a sentence.

use super::percent;
use crate::words::counted;
use stats::Reason;

pub(crate) const NOT_DRAWN: &str = "the order was not drawn by lot: nothing bounds the error";
const MAY_BE_CARRY_OVER: &str = "what one side leaves to the next may be all of this difference: slots began where the other side had just run. Measure with lead-ins (fathom compare --run has them by default), or many more blocks";

/// A word for the reason, for programs.
pub(crate) fn reason_kind(reason: &Reason) -> &'static str {
    match reason {
        Reason::Audit(_) => "audit",
        Reason::OrderAliasedWithArm => "order_aliased_with_arm",
        Reason::NotDrawnByLot { .. } => "not_drawn_by_lot",
        Reason::ControlFailed { .. } => "control_failed",
        Reason::UnequalFailures { .. } => "unequal_failures",
        Reason::WarmupTooLong { .. } => "warm_up_too_long",
        Reason::NotSteady { .. } => "not_steady",
        Reason::CarryOver { .. } => "carry_over",
        Reason::MayBeCarryOver => "may_be_carry_over",
        Reason::PlaceOrArm => "place_or_arm",
        Reason::TooFewBlocks { .. } => "too_few_blocks",
        Reason::Underway { .. } => "underway",
    }
}

/// That there is no verdict, or none yet, and why.
pub(crate) fn unjudged(reason: &Reason) -> String {
    let text = reason_text(reason);
    match reason {
        Reason::Underway { .. } => format!("Not judged yet: {text}"),
        Reason::Audit(_)
        | Reason::OrderAliasedWithArm
        | Reason::NotDrawnByLot { .. }
        | Reason::ControlFailed { .. }
        | Reason::UnequalFailures { .. }
        | Reason::WarmupTooLong { .. }
        | Reason::NotSteady { .. }
        | Reason::CarryOver { .. }
        | Reason::MayBeCarryOver
        | Reason::PlaceOrArm
        | Reason::TooFewBlocks { .. } => format!("No verdict: {text}"),
    }
}

pub(crate) fn reason_text(reason: &Reason) -> String {
    match reason {
        Reason::Audit(text) => text.clone(),
        Reason::OrderAliasedWithArm => {
            "order aliased with arm: one side ran after the other, so time and side cannot be separated. Measure them in randomised blocks: fathom compare --run"
                .into()
        }
        Reason::NotDrawnByLot { .. } => NOT_DRAWN.into(),
        Reason::ControlFailed { p } => format!("two runs of the same baseline differ (p = {p:.4})"),
        Reason::UnequalFailures { p } => format!("the sides fail at different rates (p = {p:.4})"),
        Reason::WarmupTooLong { share } => format!("the warm-up was too short in {} of the slots", percent(*share)),
        Reason::NotSteady { share } => format!("no steady state in {} of the slots", percent(*share)),
        Reason::CarryOver { p } => format!(
            "a slot's result depends on which side ran before it (p = {p:.1e}). Give a longer --lead-in or --settle, or longer slots"
        ),
        Reason::PlaceOrArm => {
            "nearly all blocks happened to run in one order, so which side it is and which slot of a block cannot be told apart. Run more blocks".into()
        }
        Reason::MayBeCarryOver => MAY_BE_CARRY_OVER.into(),
        Reason::TooFewBlocks { n } => {
            format!("{n} complete {}; an interval needs {}", if *n == 1 { "pair" } else { "pairs" }, stats::FEWEST_BLOCKS)
        }
        Reason::Underway { passes, judged_after } => {
            format!("{passes} of the {} after which it is judged are complete", counted(*judged_after, "pass"))
        }
    }
}
