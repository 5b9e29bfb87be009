//! Experiments: arms and rows measured in blocks of random order, one fresh run a slot.
//!
//! A [`Plan`] says everything before the first slot: what is compared, under which circumstances, in which order, and when it may end.
//! Deliberately absent: judging. Whether the numbers suffice is asked of the caller at the looks that the plan permits.
#![forbid(unsafe_code)]

mod plan;

pub use plan::{Arm, Plan, Row};
