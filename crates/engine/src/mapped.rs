//! Memory-mapped files: every block is copied between the mapping and the slot's buffer, so that
//! its pages are really touched.
//!
//! A page that cannot be read (the file was cut, the device failed, the disk is full) raises
//! SIGBUS. The handler puts an anonymous page in its place and marks the thread; the operation then
//! completes with EIO instead of killing the process.

use crate::{
    Arena, Blocking, BlockingEngine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot,
};

/// Buffers, and the mappings that they are copied from and to.
pub struct MapCopies {
    maps: Vec<sys::FileMap>,
    arena: Arena,
}

pub type MmapEngine = BlockingEngine<MapCopies>;

impl OpenEngine for MmapEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        sys::catch_bus_errors();
        let mut maps = Vec::with_capacity(setup.files.len());
        for (file, bytes) in setup.files.into_iter().zip(setup.file_bytes) {
            let map = sys::FileMap::new(file, bytes, setup.writes).map_err(|source| {
                EngineError::Map {
                    file: maps.len(),
                    bytes,
                    source,
                }
            })?;
            for &word in &setup.advice {
                map.advise(word).map_err(|source| EngineError::Call {
                    call: "madvise",
                    source,
                })?;
            }
            maps.push(map);
        }
        let arena = Arena::new(setup.depth, setup.block)?;
        Ok(Self::over(MapCopies { maps, arena }, setup.depth))
    }
}

impl Blocking for MapCopies {
    const PERFORMS: bool = true;

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn carry_out(&mut self, request: &Request) -> i64 {
        let map = &self.maps[request.file as usize];
        let len = request.len as usize;
        match request.op {
            Op::Read => map.read(request.offset, &mut self.arena.buffer(request.slot)[..len]),
            Op::Write => map.write(request.offset, &self.arena.buffer(request.slot)[..len]),
            Op::Fsync | Op::Fdatasync => map.flush(),
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink | Op::Walk => {
                unreachable!("metadata operations go to MetaEngine")
            }
        }
    }
}
