//! A file that is ready, opened again by whoever uses it.

use super::use_of;
use crate::error::RunError;
use crate::safety::Referent;
use std::fs::{File, OpenOptions};
use std::path::Path;
use workload::{EngineFeature, Fadvise, Workload};

/// Opens a file as the workload says, with access times left alone where that is permitted, unless
/// it is not the one that was approved.
pub(crate) fn open_for_run(
    path: &Path,
    referent: Option<Referent>,
    workload: &Workload,
) -> Result<File, RunError> {
    let open = &workload.durability.open;
    let mut flags = 0;
    for (on, flag) in [
        (open.direct, sys::direct_flag()),
        (open.sync, sys::sync_flag()),
        (open.dsync, sys::dsync_flag()),
    ] {
        flags |= if on { flag } else { 0 };
    }
    let io = use_of(workload);
    let writable = io.writes;
    let readable = io.reads || workload.reads_back() || workload.engine.has(EngineFeature::Mapping);
    let open = |flags: i32| {
        sys::open_without_waiting(
            OpenOptions::new().read(readable).write(writable),
            flags,
            path,
        )
    };
    let file = match open(flags | sys::noatime_flag()) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => open(flags),
        other => other,
    };
    let file = file.map_err(RunError::io("cannot open", path))?;
    referent.map_or(Ok(()), |referent| referent.recheck(&file, path))?;
    for word in &workload.fadvise {
        let advice = match word {
            Fadvise::Sequential => sys::Advice::Sequential,
            Fadvise::Random => sys::Advice::Random,
            Fadvise::WillNeed => sys::Advice::WillNeed,
            Fadvise::DontNeed => sys::Advice::DontNeed,
            Fadvise::NoReuse => sys::Advice::NoReuse,
        };
        sys::fadvise(&file, advice).map_err(RunError::io("cannot advise", path))?;
    }
    Ok(file)
}
