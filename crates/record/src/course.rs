//! The course of a record: when its kinds of operations went on, when nobody worked, and the rates
//! over that.

use crate::{ProcessAccount, Record, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;
use units::lossless::u64_to_f64;

/// When one kind of operation went on; times from the start of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The first start of all workers.
    pub start_ns: u64,
    /// The last end of all workers.
    pub end_ns: u64,
    /// Without the time in between that belonged to other kinds.
    pub elapsed_ns: u64,
}

/// A time in which the generator stood still: stopped by a signal, frozen, its machine suspended or
/// paused. From the start of the measured time, of ranks from that of all: one that stood still then
/// began late by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stoppage {
    /// When it was seen to run last.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Of it, how long the machine was suspended.
    pub suspended_ns: u64,
}

impl Stoppage {
    /// A stop from `from` to `to` on a clock by which the measured time began at `start`; `None` if
    /// it was over before.
    #[must_use]
    pub fn since(start: u64, from: u64, to: u64, suspended_ns: u64) -> Option<Self> {
        (to > start).then(|| Self {
            start_ns: from.saturating_sub(start),
            end_ns: to - start,
            suspended_ns,
        })
    }
}

impl ProcessAccount {
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}

impl Record {
    /// The longest time in which the generator stood still, by its clock or the machine's; 0
    /// without any.
    #[must_use]
    pub fn longest_stop_ns(&self) -> u64 {
        self.stops
            .iter()
            .map(|stop| {
                stop.end_ns
                    .saturating_sub(stop.start_ns)
                    .max(stop.suspended_ns)
            })
            .max()
            .unwrap_or(0)
    }

    /// The time that belonged to a kind of operation: its own where kinds follow each other, else
    /// the whole measured time.
    #[must_use]
    pub fn elapsed_of(&self, kind: &str) -> u64 {
        self.spans
            .get(kind)
            .map_or(self.elapsed_ns, |span| span.elapsed_ns)
    }

    /// The time that all kinds share; `None` if no time passed, or where kinds follow each other
    /// and have no rate in common.
    #[must_use]
    pub fn elapsed_of_all(&self) -> Option<u64> {
        let all = match self.spans.len() {
            0 => self.elapsed_ns,
            1 => self.spans.values().map(|span| span.elapsed_ns).sum(),
            _ => 0,
        };
        Some(all).filter(|ns| *ns > 0)
    }

    /// How long was measured, in nanoseconds: as the clock says, else as was asked.
    #[must_use]
    pub fn measured_ns(&self) -> Option<u64> {
        let asked = || {
            Nanos::parse(self.effective.get("duration")?)
                .ok()
                .map(|time| time.0)
        };
        let measured = Some(self.elapsed_ns).filter(|ns| *ns > 0);
        measured.or_else(asked).filter(|ns| *ns > 0)
    }

    /// Operations of all kinds a second of the time that they share; `None` where they share none.
    #[must_use]
    pub fn operations_per_second(&self) -> Option<f64> {
        self.elapsed_of_all()
            .map(|ns| u64_to_f64(self.operations.count()) * 1e9 / u64_to_f64(ns))
    }

    /// Bytes of all kinds a second of the time that they share; `None` where they share none.
    #[must_use]
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.elapsed_of_all()
            .map(|ns| u64_to_f64(self.operations.bytes()) * 1e9 / u64_to_f64(ns))
    }

    /// Whether it is what was kept of a run that did not get to its end: what came after that, only others know.
    #[must_use]
    pub fn was_cut_off(&self) -> bool {
        self.has_begun() && self.outcome.status == Status::Incomplete
    }

    /// Operations of the hosts whose CPU time was counted: what is kept of one that was lost on the way has none of that.
    #[must_use]
    pub fn operations_by_cpu_time(&self) -> u64 {
        let parts = self.host_parts();
        if parts.len() < 2 {
            return self.operations.count();
        }
        let counted = parts.iter().filter(|own| own.host.process.cpu_ns() > 0);
        counted.map(|own| own.part.operations.count()).sum()
    }

    /// How long a schedule asked for operations: from the common start, where a rank began later than
    /// that as well, and of a load until the last was due; in nanoseconds.
    #[must_use]
    pub fn paced_ns(&self) -> u64 {
        self.paced_after(self.unmeasured_ns())
    }

    /// The same of a rank that began so long after the common start.
    pub(crate) fn paced_after(&self, late_ns: u64) -> u64 {
        let told = self.pace.as_ref().and_then(|pace| pace.over_ns);
        told.unwrap_or_else(|| self.elapsed_ns.saturating_add(late_ns))
    }

    /// How long it was there for a schedule, which may have asked it for nothing as it waited for others; in nanoseconds.
    #[must_use]
    pub fn scheduled_ns(&self) -> u64 {
        self.scheduled_after(self.unmeasured_ns())
    }

    /// The same of a rank that began so long after the common start.
    pub(crate) fn scheduled_after(&self, late_ns: u64) -> u64 {
        let waited_ns = self.pace.as_ref().map_or(0, |pace| pace.waited_ns);
        self.paced_after(late_ns).saturating_add(waited_ns)
    }

    /// Bytes of all kinds a second of the time in which a schedule asked for them; `None` where kinds
    /// share no time, and it is not known in which of it they were asked for.
    #[must_use]
    pub fn paced_bytes_per_second(&self) -> Option<f64> {
        let bytes = u64_to_f64(self.operations.bytes());
        // Of several ranks each has a time of its own.
        let pace = self.pace.as_ref().filter(|pace| pace.over_ns.is_some());
        let begun = self.begun_by_schedule();
        if let Some(pace) = pace.filter(|_| begun > 0) {
            return Some(pace.achieved_per_second * bytes / u64_to_f64(begun));
        }
        let paced_ns = self.elapsed_of_all()?.saturating_add(self.unmeasured_ns());
        Some(bytes * 1e9 / u64_to_f64(paced_ns))
    }

    /// From the common start to its own measured time; that of several ranks begins with the start.
    fn unmeasured_ns(&self) -> u64 {
        let host = self.generator();
        if host.part.is_none() { host.late_ns } else { 0 }
    }
}
