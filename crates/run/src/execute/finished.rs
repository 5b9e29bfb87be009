//! Whether a run wrote everything that it was to write.

use crate::prepare::use_of;
use crate::setup::Shared;
use crate::steps::WritePasses;
use crate::thread::WorkerReport;
use std::sync::atomic::Ordering::Relaxed;

/// Whether every block was written: a complete run that nothing cut short, or passes of which one
/// has ended.
pub(super) fn finished(shared: &Shared, reports: &[(u32, WorkerReport)]) -> bool {
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
pub(super) fn write_passes(reports: &[(u32, WorkerReport)]) -> WritePasses {
    let of = || reports.iter().map(|(_, report)| report.tally.write_passes);
    WritePasses {
        begun: of().map(|passes| passes.begun).max().unwrap_or(0),
        ended: of().map(|passes| passes.ended).min().unwrap_or(0),
    }
}
