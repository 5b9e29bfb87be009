//! One blocking syscall an operation.

use crate::{
    Arena, Completion, Engine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot, hand_over,
};
use std::fs::File;
use std::os::fd::AsRawFd;

pub struct SyncEngine {
    arena: Arena,
    files: Vec<File>,
    ready: Vec<Completion>,
}

impl SyncEngine {
    /// One buffer of `block` bytes over the given files.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(files: Vec<File>, depth: u32, block: usize) -> Result<Self, EngineError> {
        Ok(Self {
            arena: Arena::new(depth, block)?,
            files,
            ready: Vec::with_capacity(depth as usize),
        })
    }
}

impl OpenEngine for SyncEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        Self::new(setup.files, setup.depth, setup.block)
    }
}

impl Engine for SyncEngine {
    const PERFORMS: bool = true;
    const CALLS: bool = true;

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn perform(&mut self, request: &Request) -> Option<i64> {
        let fd = self.files[request.file as usize].as_raw_fd();
        let address = self.arena.address(request.slot);
        let len = request.len as usize;
        debug_assert!(
            len <= self.arena.buffer(request.slot).len(),
            "request longer than its buffer"
        );
        // SAFETY: the slot's buffer is at least `len` bytes and idle, so the kernel is its only
        // user during the call.
        let result = unsafe {
            match request.op {
                Op::Read => sys::pread(fd, address, len, request.offset),
                Op::Write => sys::pwrite(fd, address, len, request.offset),
                Op::Fsync => sys::fsync(fd),
                Op::Fdatasync => sys::fdatasync(fd),
                Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink => {
                    unreachable!("metadata operations are the metadata engine's")
                }
            }
        };
        Some(result)
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            let result = self
                .perform(request)
                .expect("a blocking call always has a result");
            self.ready.push(Completion {
                slot: request.slot,
                result,
            });
        }
        Ok(batch.len())
    }

    #[inline]
    fn reap(
        &mut self,
        _min: usize,
        _timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        hand_over(&mut self.ready, out);
        Ok(())
    }
}
