//! What a worker gives its engine to begin with.

use crate::{Engine, EngineError, RingOptions};
use std::fs::File;
use sys::MapAdvice;

/// Everything that some engine asks for; each takes what it needs.
#[derive(Debug, Default)]
pub struct EngineSetup {
    /// The open files; none where the target is a server.
    pub files: Vec<File>,
    /// Of each file how many bytes of it are used.
    pub file_bytes: Vec<u64>,
    /// How many operations may be in flight.
    pub depth: u32,
    /// Bytes of the largest operation.
    pub block: usize,
    /// Whether anything will be written.
    pub writes: bool,
    /// Whether each write must be on stable storage when it ends.
    pub stable_writes: bool,
    /// The first target as it was named.
    pub target: String,
    pub ring: RingOptions,
    pub advice: Vec<MapAdvice>,
}

/// An engine that a worker can begin with.
pub trait OpenEngine: Engine + Sized {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel, the memory or the server does not give what it needs.
    fn open(setup: EngineSetup) -> Result<Self, EngineError>;

    /// What the kernel gave it, as records say it.
    fn features(&self) -> Option<String> {
        None
    }
}
