//! Memory-mapped files: every block is copied between the mapping and the slot's buffer, so that
//! its pages are really touched.
//!
//! A page that cannot be read (the file was cut, the device failed, the disk is full) raises
//! SIGBUS. The handler puts an anonymous page in its place and marks the thread; the operation then
//! completes with EIO instead of killing the process.

use crate::{
    Arena, Completion, Engine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot, hand_over,
};
use std::fs::File;
use sys::MapAdvice;

pub struct MmapEngine {
    maps: Vec<sys::FileMap>,
    arena: Arena,
    ready: Vec<Completion>,
}

impl MmapEngine {
    /// Maps `bytes` of each file, writable if asked, for operations of at most `block` bytes.
    ///
    /// # Errors
    /// A file that cannot be mapped, or advice that the kernel refuses.
    pub fn new(
        files: Vec<File>,
        bytes: &[u64],
        writable: bool,
        advice: &[MapAdvice],
        depth: u32,
        block: usize,
    ) -> Result<Self, EngineError> {
        sys::catch_bus_errors();
        let mut maps = Vec::with_capacity(files.len());
        for (file, &len) in files.into_iter().zip(bytes) {
            let map =
                sys::FileMap::new(file, len, writable).map_err(|source| EngineError::Map {
                    file: maps.len(),
                    bytes: len,
                    source,
                })?;
            for &word in advice {
                map.advise(word).map_err(|source| EngineError::Call {
                    call: "madvise",
                    source,
                })?;
            }
            maps.push(map);
        }
        Ok(Self {
            maps,
            arena: Arena::new(depth, block)?,
            ready: Vec::with_capacity(depth as usize),
        })
    }
}

impl OpenEngine for MmapEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        let EngineSetup { depth, block, .. } = setup;
        let (bytes, advice) = (&setup.file_bytes, &setup.advice);
        Self::new(setup.files, bytes, setup.writes, advice, depth, block)
    }
}

impl Engine for MmapEngine {
    const PERFORMS: bool = true;

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn perform(&mut self, request: &Request) -> Option<i64> {
        let map = &self.maps[request.file as usize];
        let len = request.len as usize;
        Some(match request.op {
            Op::Read => map.read(request.offset, &mut self.arena.buffer(request.slot)[..len]),
            Op::Write => map.write(request.offset, &self.arena.buffer(request.slot)[..len]),
            Op::Fsync | Op::Fdatasync => map.flush(),
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink => {
                unreachable!("metadata operations go to MetaEngine")
            }
        })
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            let result = self.perform(request).expect("a copy always has a result");
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
