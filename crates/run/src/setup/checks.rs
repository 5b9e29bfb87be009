//! What must hold before workers are made: the verifier finds faults, and each worker has blocks.

use super::order::region;
use crate::error::RunError;
use crate::prepare::verify_pattern;
use crate::verify::self_check;
use workload::Workload;

/// Verification that could not fail proves nothing.
pub(super) fn check_verifier(workload: &Workload) -> Result<(), RunError> {
    if !workload.verify.on {
        return Ok(());
    }
    let block = units::lossless::to_usize(workload.blocks.smallest().0);
    self_check(
        verify_pattern(workload.verify.pattern),
        workload.seed,
        block,
    )
    .map_err(|e| RunError::Unsuitable(format!("the verification failed its self-check: {e}")))
}

/// Every worker must have a block of what is dealt out.
fn check_shares(
    workload: &Workload,
    blocks: u64,
    is_owned: bool,
    group: usize,
) -> Result<(), RunError> {
    let workers = if is_owned {
        1
    } else {
        u64::from(workload.seats_at_target().all())
    };
    if !workload.files.meta.is_empty() || blocks >= workers || !workload.deals_out_blocks() {
        return Ok(());
    }
    let (are, them) = match blocks {
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    Err(RunError::Unsuitable(format!(
        "{} of {} {are} fewer than the {workers} workers that would share {them} (group {group}); lower --threads or raise --file-size",
        units::counted(blocks, "block"),
        workload.blocks.smallest()
    )))
}

/// Every worker must have a block of its region.
fn check_regions(workload: &Workload, blocks: u64, group: usize) -> Result<(), RunError> {
    let empty = workload
        .seats_at_target()
        .own()
        .find(|place| region(workload, blocks, *place).is_some_and(|region| region.len() == 0));
    match empty {
        None => Ok(()),
        Some(worker) => Err(RunError::Unsuitable(format!(
            "the region of worker {worker} lies behind the end of the target (group {group}); lower --threads or the step of --worker-regions"
        ))),
    }
}

/// Whether every worker that uses so many blocks gets some of them: its own, or all of them together.
///
/// # Errors
/// One would get none.
pub(crate) fn check_group(
    workload: &Workload,
    blocks: u64,
    is_owned: bool,
    group: usize,
) -> Result<(), RunError> {
    check_shares(workload, blocks, is_owned, group)?;
    check_regions(workload, blocks, group)
}
