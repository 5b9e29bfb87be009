//! What all workers share, and the plan of each.

mod checks;

use crate::access::{
    Draw, Gaussian, Order, Pareto, Permutation, Random, Rounds, Share, Space, Zipf,
};
use crate::content::{Content, OwnWrites, Verified, VerifiedFile};
use crate::data::{DataSpec, Filler};
use crate::error::RunError;
use crate::heat::{Bitmap, Heat};
use crate::pace::{Pace, Spacing, Tempo, ThinkTime};
use crate::prepare::{
    FileContent, Prepared, ReadyFile, data_fill, numbers_rewrites, use_of, verify_pattern,
};
use crate::resolve::Resolved;
use crate::safety::Referent;
use crate::source::{FlushEvery, Source, SourcePlan};
use crate::steps::{Meeting, Steps};
use crate::verify::{BlockState, Expected, Rewrites, Verifier};
use engine::Op;
use record::LiveCounters;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload::{Arrival, Distribution, EngineTarget, FileSharing, MetaOp, Workload};

/// Shared by all workers of a run.
pub(crate) struct Shared {
    pub(crate) workload: Workload,
    pub(crate) halt: AtomicBool,
    pub(crate) measured: Vec<LiveCounters>,
    pub(crate) warmup: Vec<LiveCounters>,
    pub(crate) groups: Vec<Group>,
    /// Where workers wait for each other between kinds of operations that follow each other.
    meeting: Arc<Meeting>,
    /// Files and directories of metadata operations.
    names: (Vec<PathBuf>, Vec<PathBuf>),
}

/// Workers that use the same files: all of them, or each one alone.
pub(crate) struct Group {
    pub(crate) files: Vec<GroupFile>,
    pub(crate) space: Space,
    pub(crate) heat: Option<Heat>,
    /// What passes have written.
    written: Option<Bitmap>,
    /// What is not written in passes, and more than once.
    rewrites: Option<Rewrites>,
}

pub(crate) struct GroupFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// What the path must lead to; `None` for what is not opened.
    pub(crate) referent: Option<Referent>,
    verified: Option<VerifiedFile>,
}

/// Random streams of one seed, by purpose; workers add their index.
const STREAM_PACE: u64 = 1 << 32;
const STREAM_READ_SHUFFLE: u64 = 2 << 32;
const STREAM_WRITE_SHUFFLE: u64 = 3 << 32;
const STREAM_SCATTER: u64 = 4 << 32;
const STREAM_ROUNDS: u64 = 5 << 32;

impl Shared {
    /// # Errors
    /// The verification of this workload could not fail, or blocks are too few for the workers.
    pub(crate) fn new(resolved: &Resolved, prepared: &Prepared) -> Result<Arc<Self>, RunError> {
        let workload = &resolved.effective;
        checks::check_verifier(workload)?;
        let io = use_of(workload);
        let groups = groups(workload, prepared);
        for (index, group) in groups.iter().enumerate() {
            checks::check_shares(workload, group.space.blocks(), groups.len(), index)?;
            checks::check_regions(workload, group.space.blocks(), index)?;
        }
        let open = workload.pace.rate_iops.is_some() || workload.pace.rate_bytes.is_some();
        let flush = &workload.durability;
        let script = script(&workload.files.meta);
        let occurs = |op: Op| match op {
            _ if !script.is_empty() => script.contains(&op),
            Op::Read => io.reads || workload.reads_back(),
            Op::Write => io.writes,
            Op::Fsync => flush.fsync > 0 || flush.end_fsync,
            Op::Fdatasync => flush.fdatasync > 0,
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink => false,
        };
        let kinds: Vec<(&'static str, bool)> =
            Op::ALL.iter().map(|op| (op.name(), occurs(*op))).collect();
        let counters = |on: bool| {
            let kinds: Vec<_> = kinds
                .iter()
                .map(|(name, occurs)| (*name, *occurs && on))
                .collect();
            (0..workload.threads)
                .map(|_| LiveCounters::new(&kinds, open))
                .collect()
        };
        Ok(Arc::new(Self {
            workload: workload.clone(),
            halt: AtomicBool::new(false),
            measured: counters(true),
            warmup: counters(workload.stop.warmup.0 > 0),
            groups,
            meeting: Meeting::new(workload.threads),
            names: (
                resolved
                    .layout
                    .files
                    .iter()
                    .map(|file| file.path.clone())
                    .collect(),
                resolved.layout.dirs.clone(),
            ),
        }))
    }

    /// The group of a worker, and its place among the group's workers.
    pub(crate) fn group_of(&self, worker: u32) -> (&Group, u32, u32) {
        if self.groups.len() > 1 {
            (&self.groups[worker as usize], 0, 1)
        } else {
            (&self.groups[0], worker, self.workload.threads)
        }
    }

    /// Paths of a worker's metadata operations: its share of the files, then its share of the
    /// directories; and how many are files.
    pub(crate) fn names(&self, worker: u32) -> (Vec<PathBuf>, u32) {
        let part = |paths: &[PathBuf]| {
            let share = Share::part(paths.len() as u64, worker, self.workload.threads);
            paths[units::lossless::to_usize(share.low)..units::lossless::to_usize(share.high)]
                .to_vec()
        };
        let mut out = part(&self.names.0);
        let files = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out.extend(part(&self.names.1));
        (out, files)
    }

    fn script(&self, worker: u32) -> Vec<(Op, std::ops::Range<u32>)> {
        let (paths, files) = self.names(worker);
        let all = u32::try_from(paths.len()).unwrap_or(u32::MAX);
        script(&self.workload.files.meta)
            .into_iter()
            .map(|op| {
                (
                    op,
                    if op == Op::Readdir {
                        files..all
                    } else {
                        0..files
                    },
                )
            })
            .collect()
    }

    /// Bytes that a worker is to move, `u64::MAX` without a total: dealt out in whole blocks of the
    /// smallest size, so that all workers together exceed the total by less than one.
    pub(crate) fn share_of_bytes(&self, worker: u32) -> u64 {
        let block = self.workload.blocks.smallest().0;
        let share = |total: u64| {
            Share::part(total.div_ceil(block), worker, self.workload.threads)
                .len()
                .saturating_mul(block)
        };
        self.workload
            .stop
            .total_bytes
            .map_or(u64::MAX, |total| share(total.0))
    }

    pub(crate) fn source(&self, worker: u32) -> Source {
        let source = self.data_source(worker);
        let steps = || Steps::new(Arc::clone(&self.meeting));
        if !self.workload.files.meta.is_empty() {
            return source.scripted(self.script(worker), steps());
        }
        if !self.workload.reads_back() {
            return source;
        }
        // Without an end by time there is one pass of each.
        let most = if self.workload.stop.duration.is_some() {
            u64::MAX
        } else {
            2
        };
        source.by_passes(most, steps())
    }

    fn data_source(&self, worker: u32) -> Source {
        let workload = &self.workload;
        let (group, place, of) = self.group_of(worker);
        let io = use_of(workload);
        let lengths = workload
            .blocks
            .0
            .iter()
            .map(|(size, weight)| (u32::try_from(size.0).unwrap_or(u32::MAX), *weight))
            .collect();
        let order = |stream| order(workload, &group.space, Seat { worker, place, of }, stream);
        Source::new(SourcePlan {
            space: group.space.clone(),
            reads: (io.reads || workload.reads_back()).then(|| order(STREAM_READ_SHUFFLE)),
            writes: io.writes.then(|| order(STREAM_WRITE_SHUFFLE)),
            one_order: workload.access.no_repeat,
            read_share: workload.access.read_percent.map_or(100.0, |p| p.0) / 100.0,
            lengths,
            bytes: if workload.stop.warmup.0 > 0 {
                u64::MAX
            } else {
                self.share_of_bytes(worker)
            },
            flush: FlushEvery {
                fsync: workload.durability.fsync,
                fdatasync: workload.durability.fdatasync,
            },
            seed: workload.seed,
            worker,
        })
    }

    pub(crate) fn content(&self, worker: u32) -> Result<Content<'_>, RunError> {
        let workload = &self.workload;
        let (group, _, _) = self.group_of(worker);
        let unit = u32::try_from(workload.blocks.smallest().0).unwrap_or(u32::MAX);
        let units = workload
            .blocks
            .largest()
            .0
            .div_ceil(workload.blocks.smallest().0);
        let found = units::lossless::to_usize(units) * workload.queue_depth as usize;
        let verified = workload.verify.on.then(|| Verified {
            files: group
                .files
                .iter()
                .filter_map(|file| file.verified)
                .collect(),
            own: match (&group.written, &group.rewrites) {
                (Some(written), _) => OwnWrites::ByPass(written),
                (None, Some(rewrites)) => OwnWrites::Numbered(rewrites),
                (None, None) => OwnWrites::Unknown,
            },
            expected: vec![Expected::any_write(); workload.queue_depth as usize],
            found: vec![BlockState::default(); found],
            passes: 0,
        });
        let io = use_of(workload);
        let fresh = (io.writes && !workload.verify.on)
            .then(|| self.filler(worker))
            .transpose()?;
        // A content that repeats stays in the buffers as they were filled before the run, unless
        // reads overwrite them.
        let fresh = fresh.filter(|filler| io.reads || !filler.repeats());
        Ok(Content::new(
            &group.space,
            unit,
            fresh,
            verified,
            group.heat.as_ref(),
        ))
    }

    /// Content of unverified writes.
    pub(crate) fn filler(&self, worker: u32) -> Result<Filler, RunError> {
        let writing = &self.workload.writing;
        let percent = |share: Option<units::Percent>| {
            share.map(|p| {
                u8::try_from(units::lossless::f64_to_u64_saturating(p.0.round())).unwrap_or(100)
            })
        };
        let spec = DataSpec {
            fill: data_fill(writing.pattern),
            compress_percent: percent(writing.compress),
            dedupe_percent: percent(writing.dedupe),
            seed: self.workload.seed,
            stream: worker,
        };
        Filler::new(spec).map_err(|e| RunError::Unsuitable(e.to_string()))
    }

    pub(crate) fn pace(&self, worker: u32, start: u64) -> Pace {
        let pace = &self.workload.pace;
        let workers = f64::from(self.workload.threads);
        let per_operation = pace.rate_iops.map(|rate| 1e9 * workers / rate.0);
        let tempo = match (per_operation, pace.rate_bytes) {
            (None, None) => {
                let think = &pace.think;
                return Pace::closed().thinking(ThinkTime {
                    pause_ns: think.time.0,
                    every: think.every,
                    adaptive: think.adaptive.0 / 100.0,
                });
            }
            (Some(gap), None) => Tempo::PerOperation(gap),
            (gap, Some(rate)) => Tempo::PerByte {
                byte_ns: 1e9 * workers / rate.0,
                operation_ns: gap.unwrap_or(0.0),
            },
        };
        let spacing = match pace.arrival {
            Arrival::Constant => Spacing::Constant,
            Arrival::Poisson => Spacing::Poisson,
        };
        let rng = Random::stream(self.workload.seed, STREAM_PACE + u64::from(worker));
        Pace::open(start, tempo, spacing, f64::from(worker) / workers, rng)
    }
}

/// Metadata operations in the order they were asked for.
pub(crate) fn script(meta: &[MetaOp]) -> Vec<Op> {
    let op = |meta: &MetaOp| match meta {
        MetaOp::Create => Op::Create,
        MetaOp::Stat => Op::Stat,
        MetaOp::Open => Op::Open,
        MetaOp::Readdir => Op::Readdir,
        MetaOp::Rename => Op::Rename,
        MetaOp::Unlink => Op::Unlink,
    };
    meta.iter().map(op).collect()
}

fn groups(workload: &Workload, prepared: &Prepared) -> Vec<Group> {
    let unit = workload.blocks.smallest().0;
    let group = |files: Vec<(u32, &ReadyFile)>, bytes: &[u64]| {
        let space = Space::new(bytes, workload.files.offset.0, unit);
        let files = files
            .into_iter()
            .map(|(id, ready)| group_file(workload, id, ready))
            .collect();
        Group {
            heat: workload
                .heat
                .on
                .then(|| Heat::new(space.blocks(), unit, workload.heat.buckets)),
            written: workload.reads_back().then(|| Bitmap::new(space.blocks())),
            rewrites: numbers_rewrites(workload).then(|| Rewrites::new(space.blocks())),
            files,
            space,
        }
    };
    if prepared.files.is_empty() {
        let bytes = workload.files.size.map_or(0, |size| size.0);
        let mut only = group(Vec::new(), &[bytes]);
        if workload.engine.target() == EngineTarget::Server {
            let url = workload.targets.first().cloned().unwrap_or_default();
            only.files.push(GroupFile {
                verified: verified_file(workload, 0, &FileContent::default()),
                path: url,
                bytes,
                referent: None,
            });
        }
        return vec![only];
    }
    let of = |owner: Option<u32>| -> Vec<(u32, &ReadyFile)> {
        (0..)
            .zip(&prepared.files)
            .filter(|(_, file)| file.owner == owner)
            .collect()
    };
    let owners: Vec<Option<u32>> = if prepared.files[0].owner.is_some() {
        (0..workload.threads).map(Some).collect()
    } else {
        vec![None]
    };
    owners
        .into_iter()
        .map(|owner| {
            let files = of(owner);
            let bytes: Vec<u64> = files.iter().map(|(_, file)| file.bytes).collect();
            group(files, &bytes)
        })
        .collect()
}

fn group_file(workload: &Workload, id: u32, ready: &ReadyFile) -> GroupFile {
    GroupFile {
        path: ready.path.clone(),
        bytes: ready.bytes,
        referent: Some(ready.referent),
        verified: verified_file(workload, id, &ready.content),
    }
}

fn verified_file(workload: &Workload, id: u32, content: &FileContent) -> Option<VerifiedFile> {
    workload.verify.on.then(|| {
        let lineage = content.lineage_for(workload);
        VerifiedFile {
            verifier: Verifier::new(
                verify_pattern(workload.verify.pattern),
                workload.seed,
                lineage.writing_run,
            ),
            id,
            lineage,
        }
    })
}

/// A worker, and its place among those that use the same files.
#[derive(Clone, Copy)]
struct Seat {
    worker: u32,
    place: u32,
    of: u32,
}

/// The region of a worker where regions were asked for, in blocks; empty where it would lie behind
/// the end.
fn region(workload: &Workload, blocks: u64, place: u32) -> Option<Share> {
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
fn order(
    workload: &Workload,
    space: &Space,
    Seat { worker, place, of }: Seat,
    stream: u64,
) -> Order {
    let access = &workload.access;
    let blocks = space.blocks();
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
