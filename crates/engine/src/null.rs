//! No I/O: every request is complete at once. What remains is the generator's own cost.

use crate::{
    Arena, Blocking, BlockingEngine, Completion, EngineError, EngineSetup, OpenEngine, Request,
    Slot,
};

/// Buffers, and nothing that is done with them.
pub struct NoCalls(Arena);

pub type NullEngine = BlockingEngine<NoCalls>;

impl NullEngine {
    /// Buffers for `depth` operations of `block` bytes.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(depth: u32, block: usize) -> Result<Self, EngineError> {
        Ok(Self::over(NoCalls(Arena::new(depth, block)?), depth))
    }
}

impl OpenEngine for NullEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        Self::new(setup.depth, setup.block)
    }
}

impl Blocking for NoCalls {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.0.buffer(slot)
    }

    #[inline]
    fn carry_out(&mut self, request: &Request) -> i64 {
        i64::from(request.len)
    }

    /// In one step, because nothing but this is what the engine costs.
    #[inline]
    fn carry_out_all(&mut self, batch: &[Request], ready: &mut Vec<Completion>) {
        ready.extend(batch.iter().map(|request| Completion {
            slot: request.slot,
            result: i64::from(request.len),
        }));
    }
}
