//! Messages between the processes that an MPI launcher started.
//!
//! The library is found when the program runs: the one that belongs to the launcher. Three families
//! of libraries have three ways to name their constants, each a row in `library.rs`, the only file of
//! this crate that hands memory to somebody else.
//!
//! No call waits: [`World::send`] and [`World::receive`] begin and look, so that whoever uses them can
//! have deadlines and need not spin. The exceptions are the first call, [`World::open`], and the last,
//! [`World::close`], which the standard makes wait for others; whoever calls them keeps a watch.
//!
//! Deliberately absent: collectives, what messages mean, clocks, retries.
#![deny(unsafe_code)]

mod choice;
mod elf;
mod error;
mod family;
mod library;
mod world;

pub use choice::{Launched, MpiChoice};
pub use error::MpiError;
pub use world::{MOST_BYTES, World};
