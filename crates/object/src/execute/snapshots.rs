//! What is kept of a load while it goes on, and before what it made is removed, so that a process that is
//! killed costs the last seconds alone.

use crate::account;
use crate::execute::Setup;
use crate::plan::LoadPlan;
use crate::worker::Live;
use host::{Context, SnapshotRule};
use record::{LiveCounters, Outcome, Record, Status};
use units::Nanos;

/// The snapshots of one load.
pub(super) struct LoadSnapshots {
    rule: SnapshotRule,
    /// What is known of the load from its beginning.
    base: Record,
    /// What the names of its objects begin with.
    root: String,
    /// When the measured time begins.
    from: u64,
    next: u64,
    /// Whether the load takes longer than what may be lost of it.
    is_long: bool,
}

impl LoadSnapshots {
    /// `None` where nobody keeps any.
    pub(super) fn of(
        context: &Context,
        plan: &LoadPlan,
        setup: &Setup,
        record: &Record,
    ) -> Option<Self> {
        let rule = context.snapshots.clone()?;
        let lasts = plan.scenario.course().total_ns();
        let base = Record {
            asked: rule.asked.clone(),
            interval_ns: context.interval_ns,
            ..account::begun(record.clone(), plan, setup)
        };
        Some(Self {
            base,
            root: setup.settings.root.clone(),
            from: 0,
            next: 0,
            is_long: lasts.saturating_add(plan.warmup_ns) >= rule.every_ns,
            rule,
        })
    }

    /// The measured time begins at `from`, on the clock that measures.
    pub(super) fn begin(&mut self, from: u64) {
        self.from = from;
    }

    /// Hands over what there is at `now`, if it is time.
    pub(super) fn look(&mut self, now: u64, live: &[Live]) {
        if now < self.next || !self.is_long {
            return;
        }
        let elapsed_ns = now.saturating_sub(self.from);
        let message = format!(
            "the load had not ended when this was written, {} after its measured time began: what it did later is not here, and what it made may be left on the server, under names that begin with {}",
            Nanos(elapsed_ns),
            self.root
        );
        self.hand_over(Record {
            elapsed_ns,
            operations: LiveCounters::sum(live.iter().map(|(measured, _)| &**measured)),
            warmup: LiveCounters::sum(live.iter().map(|(_, warmup)| &**warmup)),
            outcome: Outcome {
                status: Status::Incomplete,
                exit_code: 5,
                message: Some(message),
            },
            ..self.base.clone()
        });
        self.next = now.saturating_add(self.rule.every_ns);
    }

    /// Hands over what was measured, of which nothing has been removed yet.
    pub(super) fn measured(self, record: &Record) {
        if !self.is_long && sys::caught_signal().is_none() {
            return;
        }
        let mut record = Record {
            asked: self.base.asked.clone(),
            ..record.clone()
        };
        record.notices.push(
            "what this load made had not been removed from the server when this was written".into(),
        );
        self.hand_over(record);
    }

    fn hand_over(&self, record: Record) {
        let _nobody_writes_any_more = self.rule.to.send(record);
    }
}
