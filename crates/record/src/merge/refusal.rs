//! What is not merged.

/// Two records that are not of one workload on several hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOneWorkload {
    #[error("they differ in {0}")]
    Differ(&'static str),
    #[error("record {0} is in both of them")]
    Twice(String),
    #[error("record {0} is of another tool, whose figures cannot be added")]
    Foreign(String),
    #[error("rank {0} is in both of them")]
    SameRank(u32),
    #[error("record {0} is of several hosts and does not say what each of them did")]
    Unattributed(String),
}
