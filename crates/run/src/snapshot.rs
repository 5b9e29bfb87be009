//! What is kept of a run while it goes on, so that a process that is killed costs the last seconds
//! alone.
//!
//! The thread that observes reads what workers publish and hands a record over; whoever takes it
//! writes it elsewhere. A later line with the same id takes its place. It has no series: one that
//! grows would be written again and again.

use crate::account::{pace, targets};
use crate::prepare::Prepared;
use crate::resolve::{Resolved, shown};
use crate::setup::Shared;
use crate::walk::walk_account;
use host::{Context, SnapshotRule};
use record::{LiveCounters, Outcome, Record, Status};
use units::Nanos;
use workload::{EngineFeature, Workload};

/// The snapshots of one run.
pub(crate) struct Snapshots<'a> {
    rule: SnapshotRule,
    /// What is known of the run from its beginning.
    base: Record,
    shared: &'a Shared,
    /// When the measured time begins.
    start: u64,
    next: u64,
}

impl<'a> Snapshots<'a> {
    /// `None` where nobody keeps any, and of a run that ends before the first.
    pub(crate) fn of(
        context: &Context,
        record: &Record,
        asked: &Workload,
        resolved: &Resolved,
        prepared: &Prepared,
        shared: &'a Shared,
    ) -> Option<Self> {
        let rule = context.snapshots.clone()?;
        let workload = &resolved.effective;
        let stop = &workload.stop;
        let lasts = stop.duration.filter(|duration| duration.0 > 0);
        let lasts = lasts.map(|duration| duration.0.saturating_add(stop.warmup.0));
        let lasts = stop.stonewall.at.map_or(lasts, |at| Some(at.0));
        // How long workers wear out nobody knows.
        let has_end = stop.stonewall.longest_wear_out().0 == 0;
        let is_short = has_end && lasts.is_some_and(|lasts| lasts < rule.every_ns);
        if is_short || workload.engine.has(EngineFeature::VirtualTime) {
            return None;
        }
        let notices = resolved.notices.iter().chain(&prepared.notices);
        let base = Record {
            asked: shown(asked),
            effective: shown(workload),
            differences: resolved.differences.clone(),
            notices: notices.cloned().collect(),
            targets: targets(resolved, prepared),
            fill: prepared.fill.clone(),
            interval_ns: context.interval_ns,
            ..record.clone()
        };
        Some(Self {
            // Whoever knows how long it will take leaves word that it began.
            next: if lasts.is_some() { 0 } else { u64::MAX },
            rule,
            base,
            shared,
            start: 0,
        })
    }

    /// The workers begin at `start` on the clock that measures; a warm-up is part of it.
    pub(crate) fn begin(&mut self, start: u64) {
        self.start = start.saturating_add(self.shared.workload.stop.warmup.0);
        if self.next == u64::MAX {
            self.next = start.saturating_add(self.rule.every_ns);
        }
    }

    /// Hands over what there is at `now`, if it is time.
    pub(crate) fn look(&mut self, now: u64) {
        if now < self.next {
            return;
        }
        let _nobody_writes_any_more = self.rule.to.send(self.at(now));
        self.next = now.saturating_add(self.rule.every_ns);
    }

    fn at(&self, now: u64) -> Record {
        let elapsed_ns = now.saturating_sub(self.start);
        let message = format!(
            "the run had not ended when this was written, {} after its measured time began: what it did later is not here",
            Nanos(elapsed_ns)
        );
        let operations = LiveCounters::sum(&self.shared.measured);
        // What is due may still start.
        let pace = pace(&self.shared.workload, &operations, (elapsed_ns, 0), 0);
        Record {
            elapsed_ns,
            pace: pace.filter(|_| elapsed_ns > 0),
            operations,
            walk: self.shared.walk.as_deref().map(walk_account),
            warmup: LiveCounters::sum(&self.shared.warmup),
            outcome: Outcome {
                status: Status::Incomplete,
                exit_code: 5,
                message: Some(message),
            },
            ..self.base.clone()
        }
    }
}
