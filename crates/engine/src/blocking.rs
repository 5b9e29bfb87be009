//! Engines whose requests have ended when the call that carries them out returns: the one place
//! where their completions wait for the worker.

use crate::{Completion, Engine, EngineError, Request, Slot};

/// What carries out one request after the other.
pub trait Blocking {
    /// As [`Engine::PERFORMS`].
    const PERFORMS: bool = false;

    /// As [`Engine::CALLS`].
    const CALLS: bool = false;

    /// As [`Engine::buffer`].
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Carries out one request; returns the bytes moved, or a negative errno.
    fn carry_out(&mut self, request: &Request) -> i64;

    /// Carries out a batch in its order; each request has a completion in `ready` then.
    #[inline]
    fn carry_out_all(&mut self, batch: &[Request], ready: &mut Vec<Completion>) {
        for request in batch {
            let result = self.carry_out(request);
            ready.push(Completion {
                slot: request.slot,
                result,
            });
        }
    }
}

/// An engine of blocking calls.
pub struct BlockingEngine<B> {
    pub(crate) calls: B,
    ready: Vec<Completion>,
}

impl<B: Blocking> BlockingEngine<B> {
    /// An engine that has at most `depth` completions to hand over.
    pub(crate) fn over(calls: B, depth: u32) -> Self {
        Self {
            calls,
            ready: Vec::with_capacity(depth as usize),
        }
    }
}

impl<B: Blocking> Engine for BlockingEngine<B> {
    const PERFORMS: bool = B::PERFORMS;
    const CALLS: bool = B::CALLS;

    #[inline]
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.calls.buffer(slot)
    }

    #[inline]
    fn perform(&mut self, request: &Request) -> Option<i64> {
        Some(self.calls.carry_out(request))
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        self.calls.carry_out_all(batch, &mut self.ready);
        Ok(batch.len())
    }

    /// Without a copy where the worker has none left.
    #[inline]
    fn reap(
        &mut self,
        _min: usize,
        _timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if out.is_empty() {
            std::mem::swap(&mut self.ready, out);
        } else {
            out.append(&mut self.ready);
        }
        Ok(())
    }
}
