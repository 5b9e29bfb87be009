//! What of the files lies in the page cache before and after a run.

use super::{Prepared, fill};
use crate::error::RunError;
use record::Residency;
use workload::{Cache, Workload};

/// Brings the page cache into the asked state and returns how much of the files it then holds.
pub(super) fn settle_cache(
    workload: &Workload,
    prepared: &mut Prepared,
) -> Result<Option<u64>, RunError> {
    let evict = workload.cache == Cache::Cold
        || (workload.durability.open.direct && prepared.fill.is_some());
    let (mut resident, mut total) = (0, 0);
    for ready in &prepared.files {
        let file = &ready.file;
        if evict {
            file.sync_all()
                .map_err(RunError::io("cannot sync", &ready.path))?;
            sys::fadvise(file, sys::Advice::DontNeed)
                .map_err(RunError::io("cannot evict", &ready.path))?;
        } else if workload.cache == Cache::Warm {
            fill::read_whole(file, &ready.path, ready.bytes)?;
        }
        let Ok(bytes) = sys::resident_bytes(file, ready.bytes) else {
            return Ok(None);
        };
        resident += bytes;
        total += ready.bytes;
    }
    if workload.cache == Cache::Cold && resident > total / 100 {
        prepared
            .notices
            .push(format!("--cache cold: {resident} of {total} bytes stayed in the page cache (another process maps or writes them)"));
    }
    Ok((!prepared.files.is_empty()).then_some(resident))
}

/// Residency of all files when the run has ended.
pub(crate) fn residency(prepared: &Prepared) -> Option<Residency> {
    if prepared.files.is_empty() {
        return None;
    }
    let after = prepared
        .files
        .iter()
        .map(|f| sys::resident_bytes(&f.file, f.bytes).ok())
        .sum();
    Some(Residency {
        total_bytes: prepared.files.iter().map(|f| f.bytes).sum(),
        before_bytes: prepared.residency_before,
        after_bytes: after,
    })
}
