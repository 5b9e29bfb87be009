//! Carries out what `lab` decides: runs, loads, and what stands between two slots.
//!
//! An [`Experiment`] is a plan with a [`Task`] for each arm of each row; a [`Conductor`] does what a
//! slot says: it makes what a task needs, measures, removes what it made, and waits until what was
//! written is where it belongs. The standard [`profile`] is an experiment with a target of its own.
//!
//! Deliberately absent: the order, the end and the repetition of slots, which are `lab`'s, and
//! judging.
#![forbid(unsafe_code)]

mod child;
mod command;
mod conductor;
mod drain;
mod experiment;
mod plan_experiment;
pub mod profile;
mod ready;
mod slots;
mod stated;
mod task;
mod works;

pub use command::CommandTask;
pub use conductor::Conductor;
pub use experiment::{Experiment, Row, drawn_seed};
pub use plan_experiment::{Places, PlanExperiment};
pub use ready::Ready;
pub use slots::{LoadReader, SlotConductor};
pub use task::{LoadTask, Task, kinds};
