//! Whether something of the work fell to a host.

use crate::{LoopAccount, Record, Status};

/// What a run says of workers that did not end by themselves, also where a signal ended it.
pub const GIVEN_UP: &str = "were given up";

/// What is said of work that was stopped before its measured time.
pub(crate) const UNMEASURED: &str = " before anything had been measured";

/// What is said of work that a signal ended so long after its measured time began; 0 before.
#[must_use]
pub fn stopped_words(signal: i32, elapsed_ns: u64) -> String {
    let kept = match elapsed_ns {
        0 => UNMEASURED,
        _ => "; what was measured until then is here",
    };
    format!("stopped by signal {signal}{kept}")
}

impl Record {
    /// Whether its measured time began with work of its own: what had none says nothing of times and
    /// rates. Who had some and did none of it had work.
    #[must_use]
    pub fn had_work(&self) -> bool {
        self.has_begun() && !self.was_idle()
    }

    /// Whether its workers found nothing to do: no operation was counted, failed or due, none was begun or
    /// waited for, and nothing was given up. How long they took to see that is no measured time.
    fn was_idle(&self) -> bool {
        let unsent = self.pace.as_ref().map_or(0, |pace| pace.unsent);
        let verified = self.verification.as_ref().map_or(0, |of| of.operations);
        let walked = self.walk.map_or(0, |walk| walk.entries);
        self.workers_ended()
            && self.errors.is_empty()
            && !self.operations.is_any()
            && self.loops == LoopAccount::default()
            && unsent == 0
            && verified == 0
            && walked == 0
    }

    /// Whether all of its workers ended by themselves; of others the loops do not say what they had
    /// begun.
    fn workers_ended(&self) -> bool {
        let message = self.outcome.message.as_deref().unwrap_or_default();
        match self.outcome.status {
            Status::Ok | Status::Apart => true,
            // It reaches also ranks whose work was done.
            Status::Interrupted => !message.contains(GIVEN_UP),
            Status::Failed | Status::Incomplete => false,
        }
    }
}
