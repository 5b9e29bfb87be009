//! One queue's way to a device: what is done to requests on the way, and when they end.

use crate::device::ServedDevice;
use crate::request::{BlockRequest, Buffer, DeviceResult};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What became of a request that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It has ended.
    Done(DeviceResult),
    /// [`Lane::reap`] gives it back when it ends. The buffer may be used again: what a read found
    /// is in it already, and what a write brought was taken.
    Held,
}

/// A request that ends later than it was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    pub tag: u16,
    pub outcome: DeviceResult,
}

/// The way of one thread. Nothing is allocated for a request and no lock is taken, unless a limit
/// that all lanes share was asked for.
pub struct Lane {
    device: Arc<ServedDevice>,
    /// By when they end, then in the order in which they came.
    held: BinaryHeap<Reverse<(u64, u64, u16)>>,
    /// What will be said of a request that is held, by its tag.
    outcomes: Vec<DeviceResult>,
}

impl Lane {
    pub(crate) fn new(device: Arc<ServedDevice>, depth: u16) -> Self {
        Self {
            device,
            held: BinaryHeap::with_capacity(usize::from(depth)),
            outcomes: vec![Ok(()); usize::from(depth)],
        }
    }

    pub fn device(&self) -> &Arc<ServedDevice> {
        &self.device
    }

    /// Hands a request over. `tag` is below the depth and of no request that is held; `buffer` is
    /// as long as the request.
    #[inline]
    pub fn submit(
        &mut self,
        tag: u16,
        request: &BlockRequest,
        mut buffer: Buffer<'_>,
    ) -> Submitted {
        let arrived = self.device.now();
        let number = self.device.number();
        let outcome = self
            .device
            .admits(request)
            .and_then(|()| self.device.perform(request, &mut buffer));
        let delay = 0;
        if delay == 0 {
            return Submitted::Done(outcome);
        }
        self.outcomes[usize::from(tag)] = outcome;
        self.held.push(Reverse((arrived + delay, number, tag)));
        Submitted::Held
    }

    /// Gives back requests that have ended by now, the earliest first, as many as `out` has room
    /// for without growing.
    pub fn reap(&mut self, out: &mut Vec<Reaped>) {
        if self.held.is_empty() {
            return;
        }
        let now = self.device.now();
        while let Some(Reverse((due, _, tag))) = self.held.peek().copied() {
            if due > now || out.len() == out.capacity() {
                return;
            }
            self.held.pop();
            let outcome = self.outcomes[usize::from(tag)];
            out.push(Reaped { tag, outcome });
        }
    }

    /// Gives up what is held, and says which tags that was.
    pub fn abandon(&mut self) -> Vec<u16> {
        let held = self.held.drain();
        held.map(|Reverse((_, _, tag))| tag).collect()
    }

    /// When the next request that is held ends, on the clock of [`sys::monotonic_ns`].
    pub fn due(&self) -> Option<u64> {
        self.held.peek().map(|Reverse((due, _, _))| *due)
    }

    /// Requests that are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}
