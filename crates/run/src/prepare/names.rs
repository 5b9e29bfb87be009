//! What metadata operations need before they start: directories, and room for what files will hold.

use super::{Among, Prepared, space};
use crate::error::RunError;
use crate::resolve::Resolved;
use crate::walk::walk;
use workload::MetaOp;

/// Makes the directories; the files are made by the operations.
pub(super) fn prepare(among: &Among<'_>, resolved: &Resolved) -> Result<Prepared, RunError> {
    let mut out = Prepared {
        fresh_run: among.fresh_run(),
        ..Prepared::default()
    };
    check(resolved)?;
    among.meet()?;
    out.undo.make_dirs(&resolved.layout.dirs)?;
    among.meet()?;
    Ok(out)
}

/// Touches nothing.
pub(super) fn check(resolved: &Resolved) -> Result<(), RunError> {
    walk(&resolved.effective)?;
    let files = &resolved.effective.files;
    let Some(payload) = files
        .payload
        .filter(|_| files.meta.contains(&MetaOp::Create))
    else {
        return Ok(());
    };
    // This rank's part where each worker has its own; else of all, which ranks share.
    let count = resolved.layout.files.len() as u64;
    let target = resolved.effective.targets.first();
    let new = target.map(|target| (target.as_path(), payload.0.saturating_mul(count)));
    space::check_room(new.into_iter(), "--payload, or fewer files")
}
