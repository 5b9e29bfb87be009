//! Linux native asynchronous I/O through its raw system calls.

use crate::{Arena, Completion, Engine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot};
use std::fs::File;
use std::os::fd::AsRawFd;

pub struct LibaioEngine {
    context: sys::aio::Context,
    arena: Arena,
    files: Vec<File>,
    /// Control blocks by slot; the kernel copies one when it is submitted.
    blocks: Vec<sys::aio::ControlBlock>,
    batch: Vec<*mut sys::aio::ControlBlock>,
    events: Vec<sys::aio::AioEvent>,
}

impl LibaioEngine {
    /// A context of `depth` requests with buffers of `block` bytes over the given files.
    ///
    /// # Errors
    /// No memory, or `fs.aio-max-nr` is exhausted.
    pub fn new(files: Vec<File>, depth: u32, block: usize) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, block)?;
        let context = sys::aio::Context::new(depth)
            .map_err(|source| EngineError::AioUnavailable { source })?;
        let slots = depth as usize;
        Ok(Self {
            context,
            arena,
            files,
            blocks: vec![sys::aio::ControlBlock::default(); slots],
            batch: Vec::with_capacity(slots),
            events: vec![sys::aio::AioEvent::default(); slots],
        })
    }
}

impl OpenEngine for LibaioEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        Self::new(setup.files, setup.depth, setup.block)
    }
}

impl Engine for LibaioEngine {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        self.batch.clear();
        for request in batch {
            let fd = self.files[request.file as usize].as_raw_fd();
            let command = match request.op {
                Op::Read => sys::aio::PREAD,
                Op::Write => sys::aio::PWRITE,
                Op::Fsync => sys::aio::FSYNC,
                Op::Fdatasync => sys::aio::FDSYNC,
                Op::Create
                | Op::Stat
                | Op::Open
                | Op::Readdir
                | Op::Rename
                | Op::Unlink
                | Op::Walk => {
                    unreachable!("metadata operations go to MetaEngine")
                }
            };
            let block = &mut self.blocks[request.slot as usize];
            let (address, len) = if request.op.transfers() {
                (self.arena.address(request.slot), request.len)
            } else {
                (std::ptr::null_mut(), 0)
            };
            *block = sys::aio::ControlBlock::new(
                command,
                fd,
                address,
                u64::from(len),
                request.offset,
                u64::from(request.slot),
            );
            self.batch.push(block);
        }
        // SAFETY: every control block lives in `self.blocks`, and its buffer belongs to a slot that
        // stays untouched until its completion.
        unsafe { self.context.submit(&mut self.batch) }.map_err(|source| EngineError::Call {
            call: "io_submit",
            source,
        })
    }

    #[inline]
    fn reap(
        &mut self,
        min: usize,
        timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let events = self
            .context
            .events(min, timeout_ns, &mut self.events)
            .map_err(|source| EngineError::Call {
                call: "io_getevents",
                source,
            })?;
        for event in events {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the value is the slot that was submitted"
            )]
            out.push(Completion {
                slot: event.data as Slot,
                result: event.result,
            });
        }
        Ok(())
    }
}
