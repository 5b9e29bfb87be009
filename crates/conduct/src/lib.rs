//! Carries out what `lab` decides: runs, loads, and what stands between two slots.
//!
//! An [`Experiment`] is a plan with a [`Task`] for each arm of each row; a [`Conductor`] does what a
//! slot says: it makes what a task needs, measures, removes what it made, and waits until what was
//! written is where it belongs. The standard [`profile`] is an experiment with a target of its own.
//!
//! Deliberately absent: the order, the end and the repetition of slots, which are `lab`'s, and
//! judging.
#![forbid(unsafe_code)]

mod conductor;
mod drain;
mod experiment;
pub mod profile;
mod ready;
mod task;

pub use conductor::Conductor;
pub use experiment::{Experiment, Row, drawn_seed};
pub use ready::Ready;
pub use task::{LoadTask, Task, kinds};
