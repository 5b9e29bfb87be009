//! What ends an experiment for good.

use crate::Unstarted;
use std::error::Error;

/// Why a caller cannot keep a record.
pub type KeepError = Box<dyn Error + Send + Sync>;

/// The experiment cannot work, or its records would be lost; what was measured until then has been
/// kept.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// An arm cannot work on this target or machine, which its first slot shows.
    #[error("{arm} in {row}: {source}")]
    Slot {
        arm: String,
        row: String,
        source: Box<dyn Error + Send + Sync>,
    },
    /// A step of a search did not start.
    #[error(transparent)]
    Step(Unstarted),
    /// What cannot be kept is not measured any further.
    #[error("a record cannot be kept: {0}")]
    Keep(#[source] KeepError),
    /// A plan without arms, rows or passes, with another number of workloads than arms, or whose
    /// files do not fit.
    #[error("{0}")]
    Plan(String),
}
