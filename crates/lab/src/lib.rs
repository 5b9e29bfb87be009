//! Experiments: arms and rows measured in blocks of random order, one fresh run a slot.
//!
//! A [`Plan`] says everything before the first slot: what is compared, under which circumstances,
//! in which order, and when it may end. [`run`] carries it out. What holds whatever happens:
//! * A slot is one fresh run. What it measured, or why it failed, is handed over as a record before
//!   the next slot begins.
//! * The order inside a block is random, so the sign of a difference between equal arms is a fair
//!   coin.
//! * A block in which a slot failed is repeated as a whole, in a new order, under the same number:
//!   a pair is never made of two attempts.
//! * Where a plan has lead-ins, what runs right before a slot is its own arm.
//! * What a slot wrote is on the device before the next slot begins, or the next record says that
//!   it is not.
//!
//! Deliberately absent: judging. Whether the numbers suffice is asked of the caller at the looks
//! that the plan permits.
#![forbid(unsafe_code)]

mod drain;
mod execute;
mod lead_in;
mod plan;
pub mod profile;
mod ready;

pub use execute::{Ended, KeepError, Kept, LabError, MOST_ATTEMPTS, WhyEnded, run};
pub use lead_in::usual_lead_in_ns;
pub use plan::{Arm, Plan, Row, Turn, drawn_seed};
pub use ready::ready;
