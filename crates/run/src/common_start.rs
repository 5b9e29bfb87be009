//! The common start: of ranks that are not connected each waits by its own clock, of others all wait
//! for each other.

use crate::error::RunError;
use host::{CommonStart, Context, StartBy};
use sys::{Clock as _, MachineClock};

/// So long before the start whoever observes makes itself ready, and what the process used until
/// then belongs to the wait.
const READY_NS: u64 = 50_000_000;
/// So often signals are looked at.
const LOOK_NS: u64 = 20_000_000;

/// Fails where the common start has passed.
///
/// # Errors
/// It has.
pub(crate) fn check_in_time(context: &Context) -> Result<(), RunError> {
    start(context).map(drop)
}

/// Waits until shortly before the common start; returns when it is, or `None` where nobody waits for
/// this process. The clock of the day is asked again and again, for it may be set meanwhile.
///
/// # Errors
/// The start has passed, or a signal came.
pub(crate) fn await_start(context: &Context) -> Result<Option<u64>, RunError> {
    if let Some(peers) = context.peers() {
        peers.meet(Ok(()))?;
        return Ok(Some(peers.start()?));
    }
    loop {
        let Some(start) = start(context)? else {
            return Ok(None);
        };
        if let Some(caught) = sys::caught_signal() {
            return Err(RunError::Interrupted {
                signal: caught.signal,
            });
        }
        let now = context.clock.now();
        let ready = start.saturating_sub(READY_NS);
        if now >= ready {
            return Ok(Some(start));
        }
        context.clock.sleep_until(ready.min(now + LOOK_NS));
    }
}

/// The common start on the clock that measures, where the clock of the day says when it is.
fn start(context: &Context) -> Result<Option<u64>, RunError> {
    let Some(common) = &context.common_start else {
        return Ok(None);
    };
    let StartBy::Clock { at, .. } = common.by else {
        return Ok(None);
    };
    let start = context.clock.at(at);
    still_ahead(common, context.clock, start)?;
    Ok(Some(start))
}

/// Fails where `start` has passed.
///
/// # Errors
/// It has.
pub(crate) fn still_ahead(
    common: &CommonStart,
    clock: MachineClock,
    start: u64,
) -> Result<(), RunError> {
    let now = clock.now();
    if now < start {
        return Ok(());
    }
    match &common.by {
        StartBy::Clock { at, .. } => {
            let late_ns = sys::clock::wall_time()
                .duration_since(*at)
                .map_or(now - start, |late| {
                    u64::try_from(late.as_nanos()).unwrap_or(u64::MAX)
                });
            Err(RunError::Late {
                late_ns,
                start_at: common.group.start_at.clone(),
            })
        }
        StartBy::Peers(_) => Err(RunError::Missed {
            rank: common.rank,
            late_ns: now - start,
        }),
    }
}
