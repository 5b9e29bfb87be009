//! The place of a record in an experiment.

use crate::{PlanLine, PlannedQuestion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Place of a record in an experiment. One slot is one fresh run of an arm; a block holds one slot
/// of every arm for one row, in random order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Hash of the plan, written before the first slot.
    pub plan: String,
    /// What is compared: a setting, a machine, a branch.
    pub arm: String,
    /// Under which circumstances: a workload of a profile, a configuration.
    pub row: String,
    /// From 0.
    pub block: u32,
    /// How often this block was begun before this slot's attempt; only slots of one attempt are
    /// compared.
    #[serde(default, skip_serializing_if = "crate::is_unset")]
    pub attempt: u32,
    /// Position in the order of all slots, from 0.
    pub slot: u32,
    /// What the arm is compared as.
    #[serde(default)]
    pub role: Role,
    /// When the experiment may end, which decides at which level its intervals hold.
    #[serde(default)]
    pub stopping: Stopping,
    /// Places of the arm and of the row in the plan's own lists, from 0: reports keep the order of
    /// the plan, not that of chance.
    #[serde(default)]
    pub arm_number: u32,
    #[serde(default)]
    pub row_number: u32,
    /// Blocks of each row that the plan has: of a fixed length so many, of an open one at most so
    /// many. `None`: nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_blocks: Option<u32>,
    /// How long this arm ran unmeasured right before this slot, so that the slot inherits from its
    /// own arm. `None`: from whatever ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_in_ns: Option<u64>,
    /// In how many attempts at this block the arm had failed when it was left out of the rest of the
    /// experiment in this row, this slot counted; 0: it was not.
    #[serde(default, skip_serializing_if = "crate::is_unset")]
    pub left_out_after: u32,
    /// What a table that another harness wrote does not say of this place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaid: Vec<UnsaidPlace>,
    /// What is asked of an experiment that has no written plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PlannedQuestion>,
    /// The plan itself, where the file has it; the same for all records of one plan.
    #[serde(skip)]
    pub written_plan: Option<Arc<PlanLine>>,
}

/// A part of a place that is a guess.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UnsaidPlace {
    /// When it ran: `slot` is the line of the table.
    Order,
    /// What it was measured beside: `block` counts the lines of its arm and row.
    Block,
}

impl Trial {
    /// Whether nobody says this of the place.
    #[must_use]
    pub fn lacks(&self, part: UnsaidPlace) -> bool {
        self.unsaid.contains(&part)
    }
}

/// Where an experiment stands when a slot is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotPlace<'a> {
    pub row: &'a str,
    pub arm: &'a str,
    /// From 0, as all numbers here.
    pub pass: u32,
    pub attempt: u32,
    /// Number of this slot, repeated ones counted.
    pub slot: u32,
    /// Slots that run unless the experiment decides earlier, its budget ends, or blocks must be
    /// repeated.
    pub planned_slots: u32,
    pub slots_per_pass: u32,
    pub elapsed_ns: u64,
    pub budget_ns: u64,
}

/// What an arm is compared as.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    #[default]
    Candidate,
    /// What the others are compared with.
    Baseline,
    /// The baseline a second time under another name: what differs between the two is error.
    Control,
}

impl Role {
    /// The word in records, plan files and tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Baseline => "baseline",
            Self::Control => "control",
        }
    }
}

/// How an experiment decides to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// After a number of blocks that was fixed before the first.
    #[default]
    Fixed,
    /// At the first permitted look that decides; it may go on later.
    Open,
    /// As open, with a look after every pass: of plans with several rows, whose looks count the
    /// blocks of all of them.
    EachPass,
}
