//! Operations that did not end as the plan has it.

use super::Loop;
use crate::source::Drawn;
use crate::tally::Failure;
use engine::{COUNTED_ELSEWHERE, Engine, Op};
use std::sync::atomic::Ordering::Relaxed;
use sys::Clock;

impl<E: Engine, C: Clock> Loop<'_, '_, E, C> {
    /// It failed, or is another rank's to count.
    #[cold]
    pub(super) fn end_otherwise(&mut self, drawn: Drawn, result: i64, service_ns: u64) {
        if drawn.op == Op::Walk && result == COUNTED_ELSEWHERE {
            self.tally.left_to_another(service_ns);
        } else {
            self.fail(drawn, result);
        }
    }

    pub(super) fn fail(&mut self, drawn: Drawn, result: i64) {
        self.counters.kind(drawn.op as usize).failed();
        self.plan.content.failed(&drawn);
        self.tally.failed(Failure {
            op: drawn.op,
            file: drawn.file,
            offset: drawn.offset,
            len: drawn.len,
            result,
        });
        if self.tally.failures() >= self.plan.stop.errors {
            self.plan.halt.store(true, Relaxed);
        }
    }
}
