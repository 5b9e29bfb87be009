//! Carries out what `lab` decides: runs, loads, and what stands between two slots.
//!
//! An [`Experiment`] is a plan with a [`Task`] for each arm of each row; a [`Conductor`] does what a
//! slot says: it makes what a task needs, measures, removes what it made, and waits until what was
//! written is where it belongs. The standard [`profile`] is an experiment with a target of its own.
//!
//! Deliberately absent: the order, the end and the repetition of slots, which are `lab`'s, and
//! judging.
#![forbid(unsafe_code)]

mod build;
mod child;
mod clock_step;
mod command;
mod conductor;
mod drain;
mod experiment;
mod generator;
mod git;
mod gives;
mod left_behind;
mod limits;
mod lock;
mod plan_experiment;
mod plan_run;
pub mod profile;
mod ready;
mod server;
mod slots;
mod spec_task;
mod stated;
mod surroundings;
mod task;
mod works;

pub use command::CommandTask;
pub use conductor::Conductor;
pub use drain::Drain;
pub use experiment::{Experiment, Row, drawn_seed};
pub use generator::{Alone, Generator};
pub use gives::{Giver, check_given};
pub use lock::{LostSlot, StoreLock, place_of};
pub use plan_experiment::{Places, PlanExperiment};
pub use plan_run::{PlanRun, Rehearsal, carry_out, recover, rehearse, write_plan};
pub use ready::Ready;
pub use slots::{LoadReader, SlotStep};
pub use task::{LoadTask, Task, measurable};
pub use works::unstarted_load;
