//! What metadata operations need before they start: directories, and room for what files will hold.

use super::{Among, Prepared, space};
use crate::error::RunError;
use crate::layout::FileSpec;
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
    let is_made_here = |file: &FileSpec| file.owner.is_some() || !among.finds_made();
    let targets = &resolved.effective.targets;
    let new = payload(resolved, is_made_here).into_iter();
    space::check_room_of_all(among, targets, new, OF_NAMES)?;
    out.undo.make_dirs(&resolved.layout.dirs)?;
    among.meet()?;
    Ok(out)
}

/// Touches nothing.
pub(super) fn check(resolved: &Resolved) -> Result<(), RunError> {
    walk(&resolved.effective)?;
    check_may_make(resolved)?;
    // This rank's part where each worker has its own; else of all, which ranks share.
    space::check_room(payload(resolved, |_| true).into_iter(), OF_NAMES)
}

/// What to lower where the content of new files does not find room.
const OF_NAMES: &str = "--payload, or fewer files";

/// Over a network the size of a block is often what is best read at once.
const MOST_OF_A_BLOCK: u64 = 4096;

/// Where files are made with content, and the bytes of those.
fn payload(resolved: &Resolved, is_asked: impl Fn(&FileSpec) -> bool) -> Option<(&Path, u64)> {
    let files = &resolved.effective.files;
    let payload = files
        .payload
        .filter(|_| files.meta.contains(&MetaOp::Create))?;
    let count = resolved
        .layout
        .files
        .iter()
        .filter(|file| is_asked(file))
        .count();
    let target = resolved.effective.targets.first()?;
    // Each takes whole blocks.
    let block = sys::block_bytes(space::there(target)).unwrap_or(1);
    let each = payload.0.next_multiple_of(block.clamp(1, MOST_OF_A_BLOCK));
    Some((target, each.saturating_mul(count as u64)))
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
