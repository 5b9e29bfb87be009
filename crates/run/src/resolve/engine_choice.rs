//! Which engine `auto` becomes. A named engine is never exchanged.

use super::permits::Permits;
use super::{Changes, TargetKind, unsuitable};
use crate::error::RunError;
use engine::EngineError;
use workload::{EngineFeature, EngineName, EngineTarget, Workload};

const BY_DEPTH: &str =
    "sync at depth 1, io_uring beyond: a blocking call holds one operation at a time";

/// Decides on the engine of this target, with the reason as a difference where it was left open.
pub(super) fn decide(
    effective: &mut Workload,
    kind: TargetKind,
    permits: &dyn Permits,
    changes: &mut Changes,
) -> Result<(), RunError> {
    if (kind == TargetKind::Nbd) != (effective.engine.target() == EngineTarget::Server)
        && effective.engine != EngineName::Auto
    {
        return unsuitable(format!(
            "--engine {} does not fit the target; nbd:// URLs need --engine nbd or auto, and nothing else does",
            effective.engine.word()
        ));
    }
    if effective.engine != EngineName::Auto {
        return Ok(());
    }
    let (engine, reason) = match kind {
        TargetKind::Nbd => (EngineName::Nbd, BY_DEPTH.to_owned()),
        _ if effective.queue_depth == 1 => (EngineName::Sync, BY_DEPTH.to_owned()),
        _ if needs_ring(effective) => (EngineName::IoUring, BY_DEPTH.to_owned()),
        TargetKind::File
        | TargetKind::Directory
        | TargetKind::BlockDevice
        | TargetKind::Nothing => first_permitted(permits),
    };
    effective.engine = engine;
    changes.differ("engine", "auto".into(), engine.word().into(), reason);
    if !engine.has(EngineFeature::Depth) {
        one_at_a_time(effective, changes);
    }
    Ok(())
}

/// Options that no other engine has: without io_uring the run must fail and say so.
fn needs_ring(workload: &Workload) -> bool {
    let ring = &workload.ring;
    ring.sqpoll || ring.iopoll || ring.fixed.buffers.is_some() || ring.fixed.files.is_some()
}

/// The first engine with a depth that the kernel permits, or else blocking calls, with what stood
/// in the way of those before it.
fn first_permitted(permits: &dyn Permits) -> (EngineName, String) {
    let mut reason = BY_DEPTH.to_owned();
    for engine in [EngineName::IoUring, EngineName::Libaio] {
        match permits.engine(engine) {
            Ok(()) => return (engine, reason),
            Err(error) => {
                reason.push_str("; ");
                reason.push_str(&obstacle(&error));
            }
        }
    }
    (EngineName::Sync, reason)
}

/// What stood in the way, without the advice for those who named the engine.
fn obstacle(error: &EngineError) -> String {
    if let EngineError::RingUnavailable { source, .. } = error {
        format!("io_uring is not available: {source}")
    } else {
        error.to_string()
    }
}

/// The depth that was asked for has no engine here.
fn one_at_a_time(effective: &mut Workload, changes: &mut Changes) {
    const REASON: &str = "sync, the only engine permitted here, holds one operation at a time";
    let batches = [
        ("submit-batch", &mut effective.submit_batch),
        ("reap-batch", &mut effective.reap_batch),
    ];
    let given = batches
        .into_iter()
        .filter_map(|(key, batch)| Some((key, batch.as_mut()?)));
    for (key, value) in [("queue-depth", &mut effective.queue_depth)]
        .into_iter()
        .chain(given)
        .filter(|(_, value)| **value > 1)
    {
        changes.differ(key, value.to_string(), "1".into(), REASON);
        *value = 1;
    }
}
