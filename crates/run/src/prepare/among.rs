//! Preparing beside other ranks.

use crate::error::RunError;
use crate::resolve::Resolved;
use host::{CommonStart, Context, Peers};
use units::Percent;

/// The ranks beside which something is prepared; by default there are none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Among<'a> {
    start: Option<&'a CommonStart>,
    fresh_run: u64,
}

impl<'a> Among<'a> {
    /// What all that starts together writes is of one run: `fresh_run`, or what the ranks agreed on.
    pub(crate) fn of(context: &'a Context, fresh_run: u64) -> Self {
        let start = context.common_start.as_ref();
        Self {
            start: start.filter(|start| start.peers().is_some()),
            fresh_run: start.map_or(fresh_run, |start| start.fresh_run),
        }
    }

    pub(crate) fn fresh_run(&self) -> u64 {
        self.fresh_run
    }

    fn peers(self) -> Option<&'a dyn Peers> {
        self.start.and_then(CommonStart::peers)
    }

    /// Waits until all have come so far.
    pub(crate) fn meet(&self) -> Result<(), RunError> {
        let met = self.peers().map_or(Ok(()), |peers| peers.meet(Ok(())));
        Ok(met?)
    }

    /// Whether another rank makes the files that all use.
    pub(crate) fn finds_made(&self) -> bool {
        self.start.is_some_and(CommonStart::finds_files_made)
    }

    /// Whether other ranks use the same files.
    pub(crate) fn share_files(&self) -> bool {
        self.start.is_some_and(CommonStart::has_one_target)
    }
}

/// The same work on files that another rank has approved, made, marked and filled: here they are
/// looked at as if they were only read. Workers open them as the work asks.
pub(super) fn as_found(resolved: &Resolved) -> Resolved {
    let mut found = resolved.clone();
    let workload = &mut found.effective;
    workload.access.read_percent = Some(Percent(100.0));
    workload.verify.on = false;
    let fill = &mut workload.files.fill;
    (fill.preallocate, fill.truncate, fill.refill) = (false, false, Some(false));
    found
}
