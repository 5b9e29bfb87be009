//! The direct path: what a turn of the loop does, where nothing has to be decided between two
//! operations.

use super::{Loop, WorkerPlan};
use engine::{Engine, Request};
use std::sync::atomic::Ordering::Relaxed;
use sys::Clock;

/// Plain reads and writes as fast as they end, one at a time.
pub(super) fn is_open(plan: &WorkerPlan<'_>) -> bool {
    let plain = plan.pace.is_free()
        && plan.locks.is_none()
        && plan.tick.is_none()
        && !plan.source.has_other_operations();
    plain
        && plan.batching.depth == 1
        && plan.stop.bytes == u64::MAX
        && plan.content.is_trivial()
        && !plan.content.takes_time()
}

impl<E: Engine, C: Clock> Loop<'_, '_, E, C> {
    /// One blocking operation after the other, with nothing to decide in between: the same as a
    /// turn of depth 1, without slots and batches, whose upkeep would cost a tenth of a cached
    /// read. Ends at the next edge, at the end of the order, or when told to halt.
    pub(super) fn sprint(&mut self) {
        let begun = self.now;
        let edge = if std::ptr::eq(self.counters, self.plan.measured) {
            self.plan.stop.ends
        } else {
            self.plan.stop.warmup_ends
        };
        let mut operations = 0;
        while self.now < edge && !self.plan.halt.load(Relaxed) {
            let Some(drawn) = self.plan.source.next() else {
                self.complete = true;
                self.finish();
                break;
            };
            let request = Request {
                slot: 0,
                file: drawn.file,
                op: drawn.op,
                offset: drawn.offset,
                len: drawn.len,
            };
            let result = self
                .engine
                .perform(&request)
                .expect("only engines that perform take the direct path");
            let ended = if E::CALLS {
                self.clock.now_after_call()
            } else {
                self.clock.now()
            };
            // A reading that the CPU moved before an earlier one is no earlier.
            let issued = self.now;
            self.now = ended.max(issued);
            operations += 1;
            if result == i64::from(drawn.len) {
                let latency = self.now.saturating_sub(issued);
                self.counters.kind(drawn.op as usize).succeeded(
                    u64::from(drawn.len),
                    latency,
                    latency,
                );
            } else {
                self.fail(drawn, result);
            }
        }
        self.tally.sprinted(begun, self.now, operations);
    }
}
