//! What is kept of a load while it goes on, and before what it made is removed, so that a process that is
//! killed costs the last seconds alone.

use crate::account;
use crate::execute::Setup;
use crate::plan::LoadPlan;
use crate::settings::LoadSettings;
use crate::worker::Live;
use host::{Context, SnapshotRule};
use record::{LiveCounters, LoadAccount, Outcome, Record, Status};
use sys::{Clock as _, MachineClock};
use units::Nanos;
use units::lossless::to_u64;

/// So many objects are removed before anybody could tell.
const SOON: usize = 100;

/// What is said of a load that did not come to the end of its removal; nothing of what shall stay.
fn left_under(plan: &LoadPlan, settings: &LoadSettings) -> Option<String> {
    let (names, removal) = (&settings.told_names, &settings.told_removal);
    (!plan.keep).then(|| format!("{NOT_REMOVED}{names}{removal}"))
}

const NOT_REMOVED: &str = "what this load made had not been removed from the server when this was written; its names begin with ";

/// What the names of what a load had made begin with, where a record says that it had not been removed, and
/// how it is.
#[must_use]
pub fn not_removed(record: &Record) -> Option<&str> {
    let mut notices = record.notices.iter();
    notices.find_map(|notice| notice.strip_prefix(NOT_REMOVED))
}

/// What is told while what a load needs is made.
pub(super) struct SetupSnapshots {
    rule: SnapshotRule,
    base: Record,
    clock: MachineClock,
    next: u64,
    was_told: bool,
}

impl SetupSnapshots {
    /// `None` where nobody keeps any, and on a rule of works that have more than one record.
    pub(super) fn of(context: &Context, plan: &LoadPlan, settings: &LoadSettings) -> Option<Self> {
        let rule = context.snapshots.clone().filter(|rule| rule.id.is_some())?;
        let message = "the load had not begun to measure when this was written";
        let base = Record {
            asked: rule.asked.clone(),
            effective: plan.effective(),
            load: Some(LoadAccount {
                scenario: plan.scenario.name.clone(),
                ..LoadAccount::default()
            }),
            notices: left_under(plan, settings).into_iter().collect(),
            outcome: unended(message.to_owned()),
            ..context.record("load", &plan.name(), None)
        };
        Some(Self {
            next: 0,
            clock: context.clock,
            was_told: false,
            rule,
            base,
        })
    }

    /// Hands over that so many objects are made, if it is time: now and then, and at a signal.
    pub(super) fn look(&mut self, made: u64) {
        let (now, is_told) = (self.clock.now(), sys::caught_signal().is_some());
        let is_news = is_told && !self.was_told;
        if now < self.next && !is_news {
            return;
        }
        self.was_told = is_told;
        self.next = now.saturating_add(self.rule.every_ns);
        let mut record = self.base.clone();
        if let Some(load) = &mut record.load {
            load.left_behind = made;
        }
        let _nobody_writes_any_more = self.rule.to.send(record);
    }
}

fn unended(message: String) -> Outcome {
    Outcome {
        status: Status::Incomplete,
        exit_code: 5,
        message: Some(message),
    }
}

/// The snapshots of one load.
pub(super) struct LoadSnapshots {
    rule: SnapshotRule,
    /// What is known of the load from its beginning.
    base: Record,
    /// What is said of what it made.
    left: Option<String>,
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
        let left = left_under(plan, &setup.settings);
        let mut base = Record {
            asked: rule.asked.clone(),
            interval_ns: context.interval_ns,
            ..account::begun(record.clone(), plan, setup)
        };
        base.notices.extend(left.clone());
        Some(Self {
            base,
            left,
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
            "the load had not ended when this was written, {} after its measured time began: what it did later is not here",
            Nanos(elapsed_ns)
        );
        self.hand_over(Record {
            elapsed_ns,
            operations: LiveCounters::sum(live.iter().map(|(measured, _)| &**measured)),
            warmup: LiveCounters::sum(live.iter().map(|(_, warmup)| &**warmup)),
            outcome: unended(message),
            ..self.base.clone()
        });
        self.next = now.saturating_add(self.rule.every_ns);
    }

    /// Hands over what was measured, of which so many objects and uploads are still to be removed.
    pub(super) fn measured(self, record: &Record, objects: usize, uploads: usize) {
        let is_soon = objects + uploads < SOON;
        if is_soon && !self.is_long && sys::caught_signal().is_none() {
            return;
        }
        let mut record = Record {
            asked: self.rule.asked.clone(),
            ..record.clone()
        };
        if let Some(load) = &mut record.load {
            load.left_behind += to_u64(objects);
            load.uploads_left_behind += to_u64(uploads);
        }
        record.notices.extend(self.left.clone());
        self.hand_over(record);
    }

    fn hand_over(&self, record: Record) {
        let _nobody_writes_any_more = self.rule.to.send(record);
    }
}
