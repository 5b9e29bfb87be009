//! Whether every worker gets something of what there is to be.

use super::FilePlan;
use crate::access::Space;
use crate::error::RunError;
use crate::setup::check_group;
use std::collections::BTreeMap;
use workload::Workload;

/// # Errors
/// A worker would get no block.
pub(super) fn check(plans: &[FilePlan], workload: &Workload) -> Result<(), RunError> {
    let mut of: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
    for plan in plans {
        of.entry(plan.owner).or_default().push(plan.bytes);
    }
    let (offset, unit) = (workload.files.offset.0, workload.blocks.smallest().0);
    for (group, (owner, bytes)) in of.iter().enumerate() {
        let blocks = Space::new(bytes, offset, unit).blocks();
        check_group(workload, blocks, owner.is_some(), group)?;
    }
    Ok(())
}
