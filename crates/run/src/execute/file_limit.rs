//! Whether a run may open as many files as it needs.

use crate::error::RunError;
use crate::resolve::Resolved;

pub(super) fn check_file_limit(resolved: &Resolved, limit: u64) -> Result<(), RunError> {
    let files = resolved.layout.files.len() as u64;
    let workload = &resolved.effective;
    let shared_by = if resolved
        .layout
        .files
        .first()
        .is_some_and(|file| file.owner.is_some())
    {
        1
    } else {
        u64::from(workload.threads)
    };
    let locks = if workload.lock_mode == workload::LockMode::None {
        1
    } else {
        2
    };
    // One more is open as long as the run lasts.
    let needed = files * (shared_by * locks + 1) + 64;
    if needed > limit && workload.files.meta.is_empty() {
        return Err(RunError::Unsuitable(format!(
            "up to {needed} files would be open (--threads {} on {}, and what else is open), and `ulimit -n` allows {limit}; use fewer files or threads, or raise the limit",
            workload.threads,
            units::counted(files, "file")
        )));
    }
    Ok(())
}
