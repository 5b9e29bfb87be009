//! How a schedule was kept.

use record::{Measurements, PaceAccount};
use workload::Workload;

/// What was asked of a workload's schedule and what came of it in a time that passed; `None` where
/// there is no schedule.
pub(crate) fn pace(
    workload: &Workload,
    operations: &Measurements,
    elapsed_ns: u64,
    unsent: u64,
) -> Option<PaceAccount> {
    let pace = &workload.pace;
    if pace.rate_iops.is_none() && pace.rate_bytes.is_none() {
        return None;
    }
    // A rate is of all ranks together.
    let share = 1.0 / f64::from(workload.rank.size());
    let is_paced = |kind: &str| !matches!(kind, "fsync" | "fdatasync");
    let paced: u64 = operations
        .kinds()
        .filter(|(kind, _)| is_paced(kind))
        .map(|(_, kind)| kind.count + kind.errors)
        .sum();
    let achieved = if elapsed_ns > 0 {
        paced as f64 * 1e9 / elapsed_ns as f64
    } else {
        0.0
    };
    Some(PaceAccount {
        asked_per_second: pace.rate_iops.map(|rate| rate.0 * share),
        asked_bytes_per_second: pace.rate_bytes.map(|rate| rate.0 * share),
        achieved_per_second: achieved,
        unsent,
    })
}
