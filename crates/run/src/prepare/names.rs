//! What metadata operations need before they start: directories, and room for what files will hold.

use super::{Among, Prepared, space};
use crate::error::RunError;
use crate::resolve::Resolved;
use crate::walk::walk;
use std::collections::BTreeSet;
use std::path::Path;
use workload::MetaOp;

/// Makes the directories; the files are made by the operations.
pub(super) fn prepare(among: &Among<'_>, resolved: &Resolved) -> Result<Prepared, RunError> {
    let mut out = Prepared {
        fresh_run: among.fresh_run(),
        ..Prepared::default()
    };
    // Nobody makes anything where one may not.
    among.meet_after(check(resolved))?;
    out.undo.make_dirs(&resolved.layout.dirs)?;
    among.meet()?;
    Ok(out)
}

/// Touches nothing.
pub(super) fn check(resolved: &Resolved) -> Result<(), RunError> {
    walk(&resolved.effective)?;
    check_may_make(resolved)?;
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

/// Whether this process may make names where they are to lie, as far as it is known without trying.
fn check_may_make(resolved: &Resolved) -> Result<(), RunError> {
    let makes = |op: &MetaOp| matches!(op, MetaOp::Create | MetaOp::Rename | MetaOp::Unlink);
    if !resolved.effective.files.meta.iter().any(makes) {
        return Ok(());
    }
    let above = |path: &Path| {
        let whole = std::path::absolute(path).ok()?;
        let there = whole.ancestors().find(|path| path.exists());
        there.map(Path::to_path_buf)
    };
    let dirs = resolved.layout.dirs.iter();
    let places = resolved.effective.targets.iter().chain(dirs);
    let places: BTreeSet<_> = places.filter_map(|path| above(path)).collect();
    for place in places {
        sys::may_write(&place).map_err(RunError::io("cannot change names in", place.as_path()))?;
    }
    Ok(())
}
