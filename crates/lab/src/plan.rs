//! What an experiment will do, complete before its first slot.

use record::{Role, Stopping};
use workload::Workload;

/// An experiment. A block is one slot of every arm for one row, in random order; a pass is one block of every row, in random order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub name: String,
    pub arms: Vec<Arm>,
    pub rows: Vec<Row>,
    pub stopping: Stopping,
    /// Passes that run even when the budget is spent.
    pub least_passes: u32,
    pub most_passes: u32,
    /// No pass beyond the least begins after this time.
    pub budget_ns: u64,
    /// Of the order of rows and arms.
    pub seed: u64,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    pub name: String,
    pub role: Role,
}

/// Under which circumstances.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    /// What each arm does here, in the order of the arms.
    pub workloads: Vec<Workload>,
}
