//! How operations reach storage: one trait, an implementation a file.
//!
//! The seam is slots, never pointers: an engine owns one aligned buffer a slot; the worker fills
//! idle slots, submits a batch of [`Request`]s and reaps [`Completion`]s. An engine stamps no time
//! and keeps no statistics. The system calls under the engines are crate `sys`'s; `unsafe` is here only
//! where buffers are shared with the kernel.
//!
//! Deliberately absent: retries and hidden fall-backs. A short transfer is reported with its byte
//! count; the worker calls it an error.

mod arena;
mod blocking;
mod error;
mod libaio;
mod mapped;
mod meta;
mod nbd;
mod null;
mod setup;
mod sim;
mod synchronous;
mod uring;
mod walk;

pub use arena::Arena;
pub use blocking::{Blocking, BlockingEngine};
pub use error::EngineError;
pub use libaio::LibaioEngine;
pub use mapped::MmapEngine;
pub use meta::MetaEngine;
pub use nbd::{BlockSizes, NbdEngine, NbdFault, NbdUrl};
pub use null::NullEngine;
pub use setup::{EngineSetup, OpenEngine};
pub use sim::{SimEngine, SimModel};
pub use synchronous::SyncEngine;
pub use uring::{Polling, RingOptions, UringEngine};
pub use walk::{COUNTED_ELSEWHERE, Sought, Walk, WalkSeat, WalkStage, Walked};

/// Index of a buffer and of the operation that occupies it.
pub type Slot = u32;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Op {
    Read,
    Write,
    Fsync,
    Fdatasync,
    /// Makes a file that must not exist.
    Create,
    Stat,
    /// Opens and closes.
    Open,
    /// Reads all names of a directory.
    Readdir,
    Rename,
    Unlink,
    /// Reads one directory of a walk, and asks about its entries.
    Walk,
}

impl Op {
    /// Every operation, in the order of its discriminant.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Write,
        Self::Fsync,
        Self::Fdatasync,
        Self::Create,
        Self::Stat,
        Self::Open,
        Self::Readdir,
        Self::Rename,
        Self::Unlink,
        Self::Walk,
    ];

    /// The name in records and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::Create => "create",
            Self::Stat => "stat",
            Self::Open => "open",
            Self::Readdir => "readdir",
            Self::Rename => "rename",
            Self::Unlink => "unlink",
            Self::Walk => "walk",
        }
    }

    /// Whether the operation moves bytes.
    #[must_use]
    pub fn transfers(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// One operation: `len` bytes at byte `offset` of file `file`, through the buffer of `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub slot: Slot,
    pub file: u32,
    pub op: Op,
    pub offset: u64,
    pub len: u32,
}

/// The end of an operation: bytes moved, or a negative errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub slot: Slot,
    pub result: i64,
}

/// Moves requests to a target. Every accepted request completes exactly once.
pub trait Engine {
    /// The whole buffer of an idle slot.
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Whether [`Engine::perform`] works.
    const PERFORMS: bool = false;

    /// Whether [`Engine::perform`] is a system call, which orders what comes after it.
    const CALLS: bool = false;

    /// Carries out one request at once and returns its result, without slots and batches; `None`
    /// from engines that cannot.
    #[inline]
    fn perform(&mut self, request: &Request) -> Option<i64> {
        let _asynchronous = request;
        None
    }

    /// Hands over requests in order; returns how many were accepted, at least one of a non-empty
    /// batch.
    ///
    /// # Errors
    /// The engine itself failed; errors of single operations come as completions.
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError>;

    /// Appends completions to `out`: all that are ready, waiting for at least `min` of them no
    /// longer than `timeout_ns`.
    ///
    /// # Errors
    /// The engine itself failed.
    fn reap(
        &mut self,
        min: usize,
        timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_listed_by_their_discriminant_under_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> = Op::ALL.iter().map(|op| op.name()).collect();
        assert_eq!(names.len(), Op::ALL.len());
        assert!(
            Op::ALL
                .iter()
                .enumerate()
                .all(|(index, op)| *op as usize == index)
        );
        assert_eq!(Op::ALL.iter().filter(|op| op.transfers()).count(), 2);
    }
}
