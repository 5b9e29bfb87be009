//! Experiments: what is measured next, and when it is enough.
//!
//! A plan ([`record::PlanFacts`]) says everything before the first slot: what is compared, under which
//! circumstances, in which order, and when it may end. [`run`] goes through it, [`find_limit`] looks
//! for the highest rate at which a threshold holds; what a slot does is carried out by a [`Conduct`].
//! What holds whatever happens:
//! * A slot is one fresh run. What it measured, or why it failed, is handed over as a record before
//!   the next slot begins.
//! * The order inside a block is random, so the sign of a difference between equal arms is a fair
//!   coin. It follows from the plan alone.
//! * A block in which a slot failed, or that was interrupted, is repeated as a whole, in a new
//!   order, under the same number: a pair is never made of two attempts.
//! * Where a plan has lead-ins, what runs right before a slot is its own arm.
//! * What a slot wrote is on the device before the next slot begins, or the next record says that
//!   it is not.
//!
//! Deliberately absent: measuring, clocks and the machine; and judging. Whether the numbers suffice
//! is asked of the caller at the looks that the plan permits.
#![forbid(unsafe_code)]

mod conduct;
mod course;
mod error;
mod knee;
mod limit;
mod order;
mod plan_file;
mod slot;

#[cfg(test)]
mod mock;

pub use conduct::{Conduct, Turn, Unstarted, Work, measure_once};
pub use course::{Ended, Kept, MOST_FAILURES, WhyEnded, rehearse, run, trial};
pub use error::{KeepError, LabError};
pub use knee::KneeSearch;
pub use limit::{LimitFound, LimitSearch, find_limit};
pub use order::{first_pass, has_look, may_look, slots_per_pass, usual_lead_in_ns};
pub use plan_file::{
    BuildSpec, Builtins, CommandSpec, FileArm, FileRow, Limits, Passes, PlanCell, PlanFile,
    PlanFileError, ReadyWhen, RepeatFor, Reset, ServerSpec, StatedValue, Surroundings, ValueSource,
    WorkSpec,
};
pub use slot::wrote;
