//! What all workers share, and the plan of each.

mod checks;
mod groups;
mod names;
mod order;

use crate::access::{Random, Space};
use crate::content::{Content, OwnWrites, Verified, VerifiedFile};
use crate::data::{DataSpec, Filler};
use crate::error::RunError;
use crate::heat::{Bitmap, Heat};
use crate::pace::{Pace, Spacing, Tempo, ThinkTime};
use crate::prepare::{Prepared, data_fill, use_of};
use crate::resolve::Resolved;
use crate::safety::Referent;
use crate::source::{FlushEvery, Script, Source, SourcePlan};
use crate::steps::{Meeting, Steps};
use crate::stonewall::StonewallMeeting;
use crate::verify::{BlockState, Expected, Rewrites};
use crate::walk::walk;
pub(crate) use checks::check_group;
use engine::{Op, Walk};
use groups::{groups, owned};
use host::Peers;
use names::DealtNames;
use order::{Seat, order};
use record::LiveCounters;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload::{Arrival, FileSharing, MetaOp, Seats, Workload};

/// Shared by all workers of a run.
pub(crate) struct Shared {
    pub(crate) workload: Workload,
    pub(crate) halt: AtomicBool,
    pub(crate) measured: Vec<LiveCounters>,
    pub(crate) warmup: Vec<LiveCounters>,
    pub(crate) groups: Vec<Group>,
    pub(crate) stonewall: Option<StonewallMeeting>,
    /// Where workers wait for each other between kinds of operations that follow each other.
    meeting: Arc<Meeting>,
    /// Files and directories of metadata operations.
    names: DealtNames,
    pub(crate) walk: Option<Arc<Walk>>,
    /// The workers here among those of all ranks, and among those that use the same target.
    seats: Seats,
    seats_at_target: Seats,
    /// Whether every worker has files of its own.
    is_owned: bool,
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
    /// Whether workers of other ranks write the same blocks.
    is_written_elsewhere: bool,
}

pub(crate) struct GroupFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// What the path must lead to; `None` for what is not opened.
    pub(crate) referent: Option<Referent>,
    verified: Option<VerifiedFile>,
}

/// Random streams of one seed, by purpose; workers add their number in the group.
const STREAM_PACE: u64 = 1 << 32;
const STREAM_READ_SHUFFLE: u64 = 2 << 32;
const STREAM_WRITE_SHUFFLE: u64 = 3 << 32;
const STREAM_SCATTER: u64 = 4 << 32;
const STREAM_ROUNDS: u64 = 5 << 32;

impl Shared {
    /// # Errors
    /// The verification of this workload could not fail, or blocks are too few for the workers.
    pub(crate) fn new(
        resolved: &Resolved,
        prepared: &Prepared,
        others: Option<Arc<dyn Peers>>,
    ) -> Result<Arc<Self>, RunError> {
        let workload = &resolved.effective;
        checks::check_verifier(workload)?;
        let io = use_of(workload);
        let groups = groups(workload, prepared);
        let is_owned = owned(prepared);
        for (index, group) in groups.iter().enumerate() {
            check_group(workload, group.space.blocks(), is_owned, index)?;
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
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink | Op::Walk => {
                false
            }
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
            stonewall: StonewallMeeting::of(workload, others.clone()),
            meeting: Meeting::new(workload.threads, others),
            names: DealtNames::of(resolved),
            walk: walk(workload)?,
            seats: workload.seats(),
            seats_at_target: workload.seats_at_target(),
            is_owned,
        }))
    }

    /// The group of a worker, and its place among those that use the same files.
    pub(crate) fn group_of(&self, worker: u32) -> (&Group, u32, u32) {
        if self.is_owned {
            (&self.groups[worker as usize], 0, 1)
        } else {
            let seats = self.seats_at_target;
            (&self.groups[0], seats.number(worker), seats.all())
        }
    }

    /// Paths of a worker's metadata operations: its share of the files, then its share of the
    /// directories; and how many are files.
    pub(crate) fn names(&self, worker: u32) -> (Vec<PathBuf>, u32) {
        let mut out = self.names.files(worker);
        let files = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out.extend(self.names.dirs(worker));
        (out, files)
    }

    /// One of these.
    pub(crate) fn name(&self, worker: u32, index: u32) -> Option<PathBuf> {
        self.names.name(worker, index)
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

    /// When time ends the work of a run that began at `start`; `u64::MAX`: never.
    pub(crate) fn ends(&self, start: u64) -> u64 {
        let stop = &self.workload.stop;
        let measured = start.saturating_add(stop.warmup.0);
        match (&self.stonewall, stop.duration) {
            (Some(stonewall), _) => stonewall.at(start),
            (None, Some(duration)) => measured.saturating_add(duration.0),
            (None, None) => u64::MAX,
        }
    }

    /// Bytes that a worker is to move, `u64::MAX` without a total: dealt out in whole blocks of the
    /// smallest size, so that all workers together exceed the total by less than one.
    pub(crate) fn share_of_bytes(&self, worker: u32) -> u64 {
        let block = self.workload.blocks.smallest().0;
        let by_turns = self.workload.files.sharing == FileSharing::Interleaved;
        let share = |total: u64| {
            let blocks = total.div_ceil(block);
            let own = if by_turns {
                self.seats.turns(blocks, worker).count
            } else {
                let part = self.seats.part(blocks, worker);
                part.end - part.start
            };
            own.saturating_mul(block)
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
            let script = Script::new(
                self.script(worker),
                self.workload.files.payload.unwrap_or_default(),
                self.walk.clone(),
                steps(),
            );
            return source.scripted(script);
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
        let number = self.seats.number(worker);
        let seat = || Seat {
            worker: number,
            place,
            of,
        };
        let order = |stream| order(workload, &group.space, seat(), stream);
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
            worker: number,
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
                (None, None) if group.is_written_elsewhere => OwnWrites::AmongOthers,
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
            stream: self.seats.number(worker),
        };
        Filler::new(spec).map_err(|e| RunError::Unsuitable(e.to_string()))
    }

    pub(crate) fn pace(&self, worker: u32, start: u64) -> Pace {
        let pace = &self.workload.pace;
        let workers = f64::from(self.seats.all());
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
        let number = u64::from(self.seats.number(worker));
        let rng = Random::stream(self.workload.seed, STREAM_PACE + number);
        let open = Pace::open(start, tempo, spacing, self.seats.phase(worker), rng);
        open.of_blocks(self.workload.blocks.largest().0)
    }
}

/// Metadata operations in the order they were asked for.
pub(crate) fn script(meta: &[MetaOp]) -> Vec<Op> {
    let op = |meta: &MetaOp| match meta {
        MetaOp::Create => Op::Create,
        MetaOp::Stat => Op::Stat,
        MetaOp::Open => Op::Open,
        MetaOp::Read => Op::Read,
        MetaOp::Readdir => Op::Readdir,
        MetaOp::Rename => Op::Rename,
        MetaOp::Unlink => Op::Unlink,
        MetaOp::Walk => Op::Walk,
    };
    meta.iter().map(op).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::Due;
    use crate::prepare::prepare;
    use crate::resolve::resolve;
    use host::Machine;
    use std::path::Path;
    use units::{Bytes, Rate};
    use workload::{EngineName, Rank, share};

    /// What a worker draws first, when it begins, and how many bytes it is to move.
    type Does = (Vec<(Op, u64, u32)>, u64, u64);

    fn whole(threads: u32) -> Workload {
        let mut out = Workload {
            targets: vec!["x".into()],
            engine: EngineName::Null,
            threads,
            ..Workload::default()
        };
        out.files.size = Some(Bytes(64 << 20));
        out.access.random = true;
        out
    }

    /// What the workers of all ranks do, by their number in the group.
    fn does(size: u32, threads: u32, change: fn(&mut Workload)) -> Vec<Does> {
        let mut asked = whole(threads);
        change(&mut asked);
        let ranks = (0..size).map(|number| Rank::new(number, size).unwrap());
        ranks
            .flat_map(|rank| {
                let part = share(&asked, rank).unwrap();
                let resolved = resolve(&part, &Machine::at(Path::new("/"))).unwrap();
                let prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
                let shared = Shared::new(&resolved, &prepared, None).unwrap();
                let worker = |worker: u32| {
                    let mut source = shared.source(worker);
                    let drawn = (0..200).map_while(|_| source.next());
                    let drawn = drawn.map(|drawn| (drawn.op, drawn.offset, drawn.len));
                    let first = match shared.pace(worker, 1000).due(0) {
                        Due::At(first) | Due::Now { intended: first } => first,
                    };
                    (drawn.collect(), first, shared.share_of_bytes(worker))
                };
                (0..threads).map(worker).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn two_ranks_of_four_workers_draw_what_eight_workers_of_one_draw() {
        let kinds: [fn(&mut Workload); 7] = [
            |asked| {
                asked.files.sharing = FileSharing::Interleaved;
                asked.access.random = false;
                asked.stop.total_bytes = Some(Bytes(1 << 20));
            },
            |_| {},
            |asked| asked.access.read_percent = Some(units::Percent(30.0)),
            |asked| asked.files.sharing = FileSharing::Partitioned,
            |asked| asked.access.random = false,
            |asked| {
                asked.stop.complete = true;
                asked.stop.total_bytes = Some(Bytes(1 << 20));
            },
            |asked| {
                asked.pace.rate_iops = Some(Rate(1000.0));
                asked.pace.arrival = Arrival::Poisson;
            },
        ];
        for change in kinds {
            let alone = does(1, 8, change);
            assert!(alone.iter().all(|(drawn, _, _)| !drawn.is_empty()));
            assert_eq!(does(2, 4, change), alone);
            assert_eq!(does(8, 1, change), alone);
        }
    }

    #[test]
    fn constant_arrivals_of_all_ranks_are_evenly_spaced_and_add_up_to_the_rate() {
        let paced = |asked: &mut Workload| asked.pace.rate_iops = Some(Rate(1000.0));
        let mut firsts: Vec<u64> = does(4, 2, paced)
            .iter()
            .map(|(_, first, _)| *first)
            .collect();
        firsts.sort_unstable();
        let gaps: Vec<u64> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [1_000_000; 7], "{firsts:?}");
    }
}
