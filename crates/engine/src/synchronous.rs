//! One blocking syscall an operation.

use crate::{
    Arena, Blocking, BlockingEngine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot,
};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Buffers, and the files that they are read and written to.
pub struct FileCalls {
    arena: Arena,
    files: Vec<File>,
}

pub type SyncEngine = BlockingEngine<FileCalls>;

impl OpenEngine for SyncEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        let calls = FileCalls {
            arena: Arena::new(setup.depth, setup.block)?,
            files: setup.files,
        };
        Ok(Self::over(calls, setup.depth))
    }
}

impl Blocking for FileCalls {
    const PERFORMS: bool = true;
    const CALLS: bool = true;

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn carry_out(&mut self, request: &Request) -> i64 {
        let fd = self.files[request.file as usize].as_raw_fd();
        let address = self.arena.address(request.slot);
        let len = request.len as usize;
        debug_assert!(
            len <= self.arena.buffer(request.slot).len(),
            "request longer than its buffer"
        );
        // SAFETY: the slot's buffer is at least `len` bytes and idle, so the kernel is its only
        // user during the call.
        unsafe {
            match request.op {
                Op::Read => sys::pread(fd, address, len, request.offset),
                Op::Write => sys::pwrite(fd, address, len, request.offset),
                Op::Fsync => sys::fsync(fd),
                Op::Fdatasync => sys::fdatasync(fd),
                Op::Create
                | Op::Stat
                | Op::Open
                | Op::Readdir
                | Op::Rename
                | Op::Unlink
                | Op::Walk => {
                    unreachable!("metadata operations are the metadata engine's")
                }
            }
        }
    }
}
