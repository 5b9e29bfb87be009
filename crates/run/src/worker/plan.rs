//! Everything that is decided before a worker starts.

use crate::content::Content;
use crate::locks::Locks;
use crate::pace::Pace;
use crate::source::Source;
use crate::stonewall::StonewallMeeting;
use host::RunQueueWatch;
use record::LiveCounters;
use std::sync::atomic::AtomicBool;
use workload::ThinkMode;

/// When a worker stops; times on its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopRule {
    pub warmup_ends: u64,
    /// `u64::MAX`: no time limit.
    pub ends: u64,
    /// `u64::MAX`: no byte limit.
    pub bytes: u64,
    /// Failed operations that end the run; `u64::MAX`: none does.
    pub errors: u64,
}

/// Batching of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub depth: u32,
    pub submit: u32,
    pub reap: u32,
}

/// Everything one worker needs but its engine and clock.
pub(crate) struct WorkerPlan<'a> {
    pub batching: Batching,
    pub source: Source,
    pub pace: Pace,
    pub think_mode: ThinkMode,
    pub stop: StopRule,
    /// The end by time is one that workers look back at.
    pub stonewall: Option<&'a StonewallMeeting>,
    /// Until when the worker may go on after it; `None`: not at all.
    pub wears_out_until: Option<u64>,
    pub content: Content<'a>,
    pub locks: Option<Locks>,
    /// Files to flush inside the measured time when the run ends.
    pub end_flush: Vec<u32>,
    pub warmup: &'a LiveCounters,
    pub measured: &'a LiveCounters,
    /// Ends every worker.
    pub halt: &'a AtomicBool,
    /// Asked where the measured time begins and ends; `None` where the kernel does not say it, and under a
    /// virtual clock.
    pub run_queue_wait: Option<RunQueueWatch>,
    /// Called with the virtual time at every interval edge; only under a virtual clock.
    pub tick: Option<Tick<'a>>,
}

/// An observer of virtual time.
pub(crate) struct Tick<'a> {
    pub every_ns: u64,
    pub edge: &'a mut dyn FnMut(u64),
}
