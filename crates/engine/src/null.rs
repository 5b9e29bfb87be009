//! No I/O: every request is complete at once. What remains is the generator's own cost.

use crate::{
    Arena, Completion, Engine, EngineError, EngineSetup, OpenEngine, Request, Slot, hand_over,
};

pub struct NullEngine {
    arena: Arena,
    ready: Vec<Completion>,
}

impl NullEngine {
    /// Buffers for `depth` operations of `block` bytes.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(depth: u32, block: usize) -> Result<Self, EngineError> {
        Ok(Self {
            arena: Arena::new(depth, block)?,
            ready: Vec::with_capacity(depth as usize),
        })
    }
}

impl OpenEngine for NullEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        Self::new(setup.depth, setup.block)
    }
}

impl Engine for NullEngine {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        self.ready.extend(batch.iter().map(|r| Completion {
            slot: r.slot,
            result: i64::from(r.len),
        }));
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
