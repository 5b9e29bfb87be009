//! The plain data that says what to do, and the front ends that write it.
//!
//! A [`Workload`] is one I/O workload: target, access, mix, pace, stop, data, placement. Every
//! option is one row of [`settings::SETTINGS`]: its name, default, help, how it changes a workload and how it is shown. Flags, TOML files and fio job files all
//! write through that table, and *asked* and *effective* in a record are two workloads shown by it.
//! So an option cannot exist in one place and be missing in another, and a test can change each row
//! and demand that the plan differs.
//!
//! Deliberately absent: anything that looks at the machine. Whether a workload can run here is
//! decided by crate `run`.
#![forbid(unsafe_code)]

mod config;
mod engine;
mod error;
mod find;
pub mod fio;
mod io500;
pub mod settings;
mod share;
mod stonewall;
mod workload;

pub use config::{Phase, Stage, parse_config};
pub use engine::{EngineFeature, EngineName, EngineTarget};
pub use error::SpecError;
pub use find::Find;
pub use io500::{IO500_LIKE, IO500_PHASES, IO500_STONEWALL, Io500Mean, Io500Phase, Io500Role};
pub use share::{ByTurns, Rank, Seats, Shift, part, share};
pub use stonewall::Stonewall;
pub use workload::kinds;
pub use workload::{
    Access, Affinity, Arrival, BlockSizes, Cache, DataPattern, Directories, Distribution,
    Durability, Fadvise, FileSharing, Files, Fill, Fixed, Gaussian, Heat, LockMode, Madvise,
    MetaOp, OpenFlags, Pace, Placement, Regions, Ring, Stop, Think, ThinkMode, Verify,
    VerifyPattern, VerifyWhen, Workload, Writing,
};
