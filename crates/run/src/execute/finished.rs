//! Whether a run wrote everything that it was to write.

use crate::prepare::use_of;
use crate::setup::Shared;
use crate::steps::WritePasses;
use crate::thread::WorkerReport;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering::Relaxed;

/// What is known of a run's writes when it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WrittenEnd {
    /// Whether no worker may write any more.
    pub(super) have_all_ended: bool,
    /// Whether every block was written, by each of the passes that have ended.
    pub(super) completed: bool,
    pub(super) passes: WritePasses,
}

impl WrittenEnd {
    pub(super) fn of(shared: &Shared, reports: &[(u32, WorkerReport)]) -> Self {
        Self {
            have_all_ended: reports.len() == shared.workload.threads as usize,
            completed: finished(shared, reports),
            passes: write_passes(reports),
        }
    }

    /// What is known of the same files where several ranks wrote their parts of them.
    pub(super) fn of_all(ranks: Vec<Self>) -> Self {
        let of_two = |one: Self, other: Self| Self {
            have_all_ended: one.have_all_ended && other.have_all_ended,
            completed: one.completed && other.completed,
            passes: WritePasses {
                begun: one.passes.begun.max(other.passes.begun),
                ended: one.passes.ended.min(other.passes.ended),
            },
        };
        ranks.into_iter().reduce(of_two).unwrap_or_default()
    }
}

/// Whether every block was written: a complete run that nothing cut short, or passes of which one
/// has ended.
fn finished(shared: &Shared, reports: &[(u32, WorkerReport)]) -> bool {
    let workload = &shared.workload;
    let whole = reports.len() == workload.threads as usize
        && reports.iter().all(|(_, report)| {
            report.error.is_none() && report.tally.failures() == 0 && report.tally.abandoned == 0
        });
    let passed = workload.reads_back() && write_passes(reports).ended > 0;
    let ended = workload.stop.complete
        && workload.stop.duration.is_none()
        && workload.stop.total_bytes.is_none()
        && shared
            .stonewall
            .as_ref()
            .is_none_or(|stonewall| !stonewall.stopped_any())
        && !shared.halt.load(Relaxed);
    whole && use_of(workload).writes && (passed || ended)
}

/// Passes of writes that some worker has begun, and those that every worker has ended.
fn write_passes(reports: &[(u32, WorkerReport)]) -> WritePasses {
    let of = || reports.iter().map(|(_, report)| report.tally.write_passes);
    WritePasses {
        begun: of().map(|passes| passes.begun).max().unwrap_or(0),
        ended: of().map(|passes| passes.ended).min().unwrap_or(0),
    }
}
