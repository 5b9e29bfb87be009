//! What ends the work, and what an end takes for granted.

use super::conflict;
use crate::error::RunError;
use workload::{Distribution, Stonewall, Workload};

pub(super) fn ends(asked: &Workload) -> Result<(), RunError> {
    if asked.runs_to_completion() {
        if asked.blocks.0.len() > 1 {
            return conflict(
                "running until complete counts blocks of one size; give a single --block-size or an end by --duration",
            );
        }
        if asked.access.distribution != Distribution::Uniform {
            return conflict(
                "running until complete uses every block once, which leaves no room for a --distribution",
            );
        }
        if asked.reads_back() && asked.stop.total_bytes.is_some() {
            return conflict(
                "--verify-when passes ends after a pass of each or by --duration; drop --total-bytes",
            );
        }
        if asked.stop.warmup.0 > 0 {
            return conflict(
                "--warmup would use up blocks that running until complete must measure",
            );
        }
    }
    stonewall(asked)
}

/// A stonewall is an end by time of work that is all of one kind from its beginning.
fn stonewall(asked: &Workload) -> Result<(), RunError> {
    let Stonewall {
        at,
        wear_out,
        wear_out_limit,
    } = asked.stop.stonewall;
    let Some(at) = at else {
        return if wear_out || wear_out_limit.is_some() {
            conflict("--wear-out goes on after --stonewall TIME; add that")
        } else {
            Ok(())
        };
    };
    if wear_out_limit.is_some() && !wear_out {
        return conflict("--wear-out-limit needs --wear-out: without it nobody goes on");
    }
    if at.0 == 0 || wear_out_limit.is_some_and(|limit| limit.0 == 0) {
        return conflict("--stonewall and --wear-out-limit are times above zero, such as 30s");
    }
    if let Some(limit) = wear_out_limit.filter(|limit| limit.0 < at.0) {
        return conflict(format!(
            "--wear-out-limit {} is shorter than --stonewall {at}: a worker half as fast as the fastest needs as long again; give {at} or more, or drop it for ten times that",
            limit.exact(),
            at = at.exact()
        ));
    }
    if asked.stop.duration.is_some_and(|duration| duration.0 > 0) {
        return conflict("--duration and --stonewall both end the run by time; give one of them");
    }
    if asked.stop.warmup.0 > 0 {
        return conflict("--stonewall counts from the first operation; drop --warmup");
    }
    if asked.reads_back() {
        return conflict(
            "--stonewall would cut a pass of --verify-when passes, which then could not be read back; use --verify-when later",
        );
    }
    if wear_out && asked.blocks.0.len() > 1 {
        return conflict("--wear-out counts operations of one size; give a single --block-size");
    }
    Ok(())
}
