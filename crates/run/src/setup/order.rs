//! Which blocks a worker uses, and in which order.

use super::{STREAM_ROUNDS, STREAM_SCATTER};
use crate::access::{Draw, Gaussian, Order, Pareto, Permutation, Rounds, Share, Space, Zipf};
use workload::{ByTurns, Distribution, FileSharing, Workload};

/// A worker, and its place among those that use the same files.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    /// Its number in the group.
    pub(super) worker: u32,
    pub(super) place: u32,
    pub(super) of: u32,
}

/// The region of a worker where regions were asked for, in blocks; empty where it would lie behind
/// the end.
pub(super) fn region(workload: &Workload, blocks: u64, place: u32) -> Option<Share> {
    let unit = workload.blocks.smallest().0;
    workload.files.regions.map(|regions| {
        let low = (u64::from(place).saturating_mul(regions.step.0) / unit).min(blocks);
        Share {
            low,
            high: low.saturating_add(regions.length.0 / unit).min(blocks),
        }
    })
}

/// The order of one worker: complete runs and partitions split the blocks, regions are what they
/// are, everything else sees all of them.
pub(super) fn order(
    workload: &Workload,
    space: &Space,
    Seat { worker, place, of }: Seat,
    stream: u64,
) -> Order {
    let access = &workload.access;
    let blocks = space.blocks();
    if workload.files.sharing == FileSharing::Interleaved {
        return Order::Turns {
            turns: ByTurns::of(blocks, place, of),
            taken: 0,
            is_once: workload.stop.complete,
        };
    }
    let region = region(workload, blocks, place);
    let own = region.unwrap_or_else(|| Share::part(blocks, place, of));
    let whole = Share {
        low: 0,
        high: blocks,
    };
    let share = if workload.files.sharing == FileSharing::Partitioned || region.is_some() {
        own
    } else {
        whole
    };
    if workload.stop.complete {
        // Within a partition the worker shuffles its own blocks; a shared space is shuffled as a
        // whole and then dealt out.
        let partitioned = workload.files.sharing == FileSharing::Partitioned;
        let seed = units::random::split_mix(workload.seed ^ stream);
        let shuffle = match (access.random, partitioned) {
            (false, _) => None,
            (true, false) => Some((Permutation::new(blocks, seed), 0)),
            (true, true) => Some((
                Permutation::new(own.len(), seed ^ u64::from(place)),
                own.low,
            )),
        };
        return Order::Once {
            share: own,
            next: 0,
            shuffle,
        };
    }
    if !access.random {
        // Workers that share a file start apart, so that one does not read what another has just
        // brought into a cache.
        return Order::Sequential {
            share,
            next: own.low,
        };
    }
    let n = share.len();
    if access.no_repeat {
        let seed = units::random::split_mix(workload.seed ^ (STREAM_ROUNDS + u64::from(worker)));
        return Order::Rounds {
            share,
            rounds: Rounds::new(n, seed),
        };
    }
    let draw = match access.distribution {
        Distribution::Uniform => Draw::Uniform,
        Distribution::Zipf => Draw::Zipf(Zipf::new(n, access.zipf_theta)),
        Distribution::Pareto => Draw::Pareto(Pareto::new(n, access.pareto_h)),
        Distribution::Gaussian => Draw::Gaussian(Gaussian::new(
            n,
            access.gaussian.center,
            access.gaussian.stddev,
        )),
    };
    let scatter = access
        .scatter
        .then(|| Permutation::new(n, units::random::split_mix(workload.seed ^ STREAM_SCATTER)));
    Order::Random {
        share,
        draw,
        scatter,
    }
}
