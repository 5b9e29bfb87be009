//! Running a workload: preparing its target, the worker loop, pacing, data, verification, observers.
//!
//! [`execute`] takes workloads and returns records; it is the only way in. Everything that decides
//! is pure and takes time as an argument (`pace`, `source`, `access`, `verify`); everything that
//! touches the machine is at the edge (`prepare`, `safety`). Deliberately absent:
//! judging. A record says what happened; what it means is decided elsewhere, from records alone.
#![forbid(unsafe_code)]

mod access;
mod account;
mod calibrate;
mod common_start;
mod content;
mod data;
mod error;
mod execute;
mod heat;
mod layout;
mod locks;
mod pace;
mod prepare;
mod probe;
#[cfg(test)]
mod ranks;
mod resolve;
pub mod safety;
mod setup;
mod snapshot;
mod source;
mod steps;
mod stonewall;
mod tally;
mod thread;
mod verify;
mod walk;
mod worker;

pub use calibrate::calibrate;
pub use error::RunError;
pub use execute::{PlannedRun, dry_run, execute, execute_stage, unstarted};
pub use layout::{FileSpec, Layout, files_of, first_files_of};
pub use probe::RealProbe;
pub use resolve::{
    DEFAULT_FILE_BYTES, Resolved, TargetKind, WorkerPlacement, check_options, is_server, resolve,
};
