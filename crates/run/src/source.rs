//! What the next operation is: kind, place and length, drawn from the plan of one worker.

mod script;

use crate::access::{Order, Random, Space};
use crate::steps::{Between, KindTime, Steps, WritePasses};
use engine::Op;
pub(crate) use script::Script;

/// An operation before it has a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub op: Op,
    pub file: u32,
    pub offset: u64,
    pub len: u32,
}

/// The operations of one worker in order.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    space: Space,
    /// Files may be renumbered when a worker has files of its own.
    reads: Option<Order>,
    writes: Option<Order>,
    /// Reads and writes take turns in the order of the reads.
    one_order: bool,
    /// A draw below this is a read.
    read_threshold: u64,
    /// Length in units of the space, and the cumulative draw below which it is chosen.
    lengths: Vec<(u64, u32)>,
    unit: u32,
    /// No block is longer than what is left of these bytes.
    bytes_left: u64,
    flush: Flush,
    end_flush: Vec<u32>,
    script: Option<Script>,
    passes: Option<Passes>,
    flushes: bool,
    rng: Random,
}

/// A pass of writes, a pass of reads that checks it, and so on.
#[derive(Clone, Debug)]
struct Passes {
    /// Every block of the worker's share once.
    writes: Order,
    reads: Order,
    /// How many passes there are; `u64::MAX`: until time ends them.
    most: u64,
    steps: Steps,
}

impl Passes {
    fn between(&mut self, now: u64) -> Between {
        let most = self.most;
        self.steps.between(now, |step| {
            (step < most).then_some(if step % 2 == 0 { Op::Write } else { Op::Read })
        })
    }
}

/// fsync and fdatasync after so many writes; 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlushEvery {
    pub fsync: u32,
    pub fdatasync: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flush {
    every: FlushEvery,
    since_fsync: u32,
    since_fdatasync: u32,
    last_file: u32,
}

/// How a source is made: shares are 0 to 1, weights of lengths add to 100.
pub(crate) struct SourcePlan {
    pub space: Space,
    pub reads: Option<Order>,
    pub writes: Option<Order>,
    /// Reads and writes share the order of the reads, which has no end.
    pub one_order: bool,
    pub read_share: f64,
    pub lengths: Vec<(u32, u32)>,
    /// Bytes after which the worker stops, so that a mix of lengths does not go beyond;
    /// `u64::MAX`: no such end.
    pub bytes: u64,
    pub flush: FlushEvery,
    pub seed: u64,
    pub worker: u32,
}

impl Source {
    #[must_use]
    pub(crate) fn new(plan: SourcePlan) -> Self {
        let unit = plan
            .lengths
            .iter()
            .map(|(len, _)| *len)
            .min()
            .unwrap_or(1)
            .max(1);
        let mut below = 0_u64;
        let last = plan.lengths.len().saturating_sub(1);
        let lengths = plan
            .lengths
            .iter()
            .enumerate()
            .map(|(i, (len, weight))| {
                below = below.saturating_add(u64::MAX / 100 * u64::from(*weight));
                (if i == last { u64::MAX } else { below }, len / unit)
            })
            .collect();
        // One direction alone has its own order.
        let one_order = plan.one_order && plan.reads.is_some() && plan.writes.is_some();
        Self {
            space: plan.space,
            reads: plan.reads,
            writes: plan.writes,
            one_order,
            read_threshold: units::lossless::f64_to_u64_saturating(
                plan.read_share * 2_f64.powi(64),
            ),
            lengths,
            unit,
            bytes_left: plan.bytes,
            flush: Flush {
                every: plan.flush,
                ..Flush::default()
            },
            end_flush: Vec::new(),
            script: None,
            passes: None,
            flushes: plan.flush != FlushEvery::default(),
            rng: Random::stream(plan.seed, u64::from(plan.worker)),
        }
    }

    /// Metadata operations instead of reads and writes.
    pub(crate) fn scripted(mut self, script: Script) -> Self {
        self.script = Some(script);
        self
    }

    /// Passes of writes and of reads by turns, as many as `most`, in the orders that the plan gave.
    pub(crate) fn by_passes(mut self, most: u64, steps: Steps) -> Self {
        if let (Some(writes), Some(reads)) = (self.writes.take(), self.reads.take()) {
            self.passes = Some(Passes {
                writes,
                reads,
                most,
                steps,
            });
        }
        self
    }

    /// The next operation; `None` when every block of a complete order was used, and between two
    /// steps.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Drawn> {
        if let Some(script) = &mut self.script {
            return script.next();
        }
        loop {
            let op = match (&self.reads, &self.writes) {
                (Some(_), None) => Op::Read,
                (None, Some(_)) => Op::Write,
                (Some(_), Some(_)) if self.rng.bits() < self.read_threshold => Op::Read,
                (Some(_), Some(_)) => Op::Write,
                (None, None) => return None,
            };
            let units = self.length();
            let order = if op == Op::Read || self.one_order {
                &mut self.reads
            } else {
                &mut self.writes
            };
            match order
                .as_mut()
                .and_then(|order| order.next(&mut self.rng, u64::from(units)))
            {
                Some(index) => {
                    let len = units * self.unit;
                    let (file, offset) = self.space.place(index, u64::from(len));
                    if op == Op::Write {
                        self.flush.wrote(file);
                    }
                    if self.bytes_left != u64::MAX {
                        self.bytes_left = self.bytes_left.saturating_sub(u64::from(len));
                    }
                    return Some(Drawn {
                        op,
                        file,
                        offset,
                        len,
                    });
                }
                None => *order = None,
            }
        }
    }

    /// There was no next operation; `is_idle`: none is in flight either.
    pub(crate) fn between(&mut self, now: u64, is_idle: bool) -> Between {
        match (&mut self.script, &mut self.passes) {
            (None, None) => Between::Over,
            _ if !is_idle => Between::NotYet,
            (Some(script), _) => script.between(now),
            (None, Some(passes)) => {
                let between = passes.between(now);
                if let Between::Begun(op) = between {
                    let (order, place) = if op == Op::Write {
                        (&passes.writes, &mut self.writes)
                    } else {
                        (&passes.reads, &mut self.reads)
                    };
                    *place = Some(order.clone());
                }
                between
            }
        }
    }

    /// The measured time begins.
    pub(crate) fn restart(&mut self, now: u64) {
        if let Some(steps) = self.steps() {
            steps.restart(now);
        }
    }

    /// The time of each kind of operation where kinds follow each other, given when the last one
    /// ended.
    pub(crate) fn kind_times(&mut self, ended: u64) -> Vec<KindTime> {
        self.steps()
            .map_or_else(Vec::new, |steps| steps.times(ended).to_vec())
    }

    /// Passes of writes so far, where there are passes.
    pub(crate) fn write_passes(&self) -> WritePasses {
        self.passes
            .as_ref()
            .map_or_else(WritePasses::default, |passes| passes.steps.write_passes())
    }

    /// Whether the worker has done all that its first step had.
    pub(crate) fn has_left_a_step(&self) -> bool {
        let of_passes = self.passes.as_ref().map(|passes| &passes.steps);
        let steps = self.script.as_ref().map(Script::steps).or(of_passes);
        steps.is_some_and(Steps::has_left_one)
    }

    /// Whether it does steps, each on a list of its own.
    pub(crate) fn is_scripted(&self) -> bool {
        self.script.is_some()
    }

    /// Ends the present step after so many operations more; those that follow act on as many files
    /// as it has.
    pub(crate) fn cut(&mut self, further: u64) {
        if let Some(script) = &mut self.script {
            script.cut(further);
        }
    }

    fn steps(&mut self) -> Option<&mut Steps> {
        let of_passes = self.passes.as_mut().map(|passes| &mut passes.steps);
        self.script.as_mut().map(Script::steps_mut).or(of_passes)
    }

    /// Whether anything but reads and writes can come.
    pub(crate) fn has_other_operations(&self) -> bool {
        self.flushes || self.script.is_some() || self.passes.is_some()
    }

    /// The flush that the writes so far have made due.
    #[inline]
    pub(crate) fn next_flush(&mut self) -> Option<Drawn> {
        if self.flushes { self.flush.due() } else { None }
    }

    /// From now on, a flush of each of these files and then nothing.
    pub(crate) fn end_with_flush(&mut self, files: impl Iterator<Item = u32>) {
        self.end_flush.extend(files);
    }

    /// The next flush of the end.
    pub(crate) fn next_at_end(&mut self) -> Option<Drawn> {
        self.end_flush.pop().map(|file| Drawn {
            op: Op::Fsync,
            file,
            offset: 0,
            len: 0,
        })
    }

    #[inline]
    fn length(&mut self) -> u32 {
        if let [(_, units)] = self.lengths.as_slice() {
            return *units;
        }
        let draw = self.rng.bits();
        let units = self
            .lengths
            .iter()
            .find(|(below, _)| draw <= *below)
            .map_or(1, |(_, units)| *units);
        if u64::from(units) * u64::from(self.unit) <= self.bytes_left {
            units
        } else {
            self.longest_that_fits()
        }
    }

    /// Units of the longest block within what is left; a single one where nothing is.
    #[cold]
    fn longest_that_fits(&self) -> u32 {
        let left = self.bytes_left / u64::from(self.unit);
        self.lengths
            .iter()
            .map(|(_, units)| *units)
            .filter(|units| u64::from(*units) <= left)
            .max()
            .unwrap_or(1)
    }
}

impl Flush {
    #[inline]
    fn due(&mut self) -> Option<Drawn> {
        let flush = |op, file| {
            Some(Drawn {
                op,
                file,
                offset: 0,
                len: 0,
            })
        };
        if self.every.fsync > 0 && self.since_fsync >= self.every.fsync {
            self.since_fsync = 0;
            return flush(Op::Fsync, self.last_file);
        }
        if self.every.fdatasync > 0 && self.since_fdatasync >= self.every.fdatasync {
            self.since_fdatasync = 0;
            return flush(Op::Fdatasync, self.last_file);
        }
        None
    }

    #[inline]
    fn wrote(&mut self, file: u32) {
        self.since_fsync += 1;
        self.since_fdatasync += 1;
        self.last_file = file;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Draw, Permutation, Rounds, Share};
    use crate::steps::Meeting;
    use units::Bytes;

    fn plan(reads: bool, writes: bool) -> SourcePlan {
        let space = Space::new(&[4096 * 1000], 0, 4096);
        let share = Share::part(1000, 0, 1);
        let random = || Order::Random {
            share,
            draw: Draw::Uniform,
            scatter: None,
        };
        SourcePlan {
            space,
            reads: reads.then(random),
            writes: writes.then(random),
            one_order: false,
            read_share: 0.7,
            lengths: vec![(4096, 100)],
            bytes: u64::MAX,
            flush: FlushEvery::default(),
            seed: 1,
            worker: 0,
        }
    }

    #[test]
    fn the_mix_is_accurate_to_its_binomial_error() {
        let mut source = Source::new(plan(true, true));
        let n = 100_000;
        let reads = (0..n)
            .filter(|_| source.next().unwrap().op == Op::Read)
            .count() as f64;
        let (mean, sd) = (0.7 * f64::from(n), (f64::from(n) * 0.7 * 0.3).sqrt());
        assert!((reads - mean).abs() < 5.0 * sd, "{reads} reads");
    }

    #[test]
    fn block_sizes_are_mixed_by_weight() {
        let mut source = Source::new(SourcePlan {
            lengths: vec![(4096, 60), (65_536, 40)],
            ..plan(true, false)
        });
        let n = 100_000;
        let small = (0..n)
            .filter(|_| source.next().unwrap().len == 4096)
            .count() as f64;
        assert!(
            (small - 0.6 * f64::from(n)).abs() < 5.0 * (f64::from(n) * 0.24).sqrt(),
            "{small} small"
        );
    }

    #[test]
    fn the_last_blocks_of_a_mix_are_no_longer_than_what_is_left() {
        for (bytes, seed) in (1..60).map(|n| (n * 4096, n)) {
            let mut source = Source::new(SourcePlan {
                lengths: vec![(4096, 10), (16_384, 40), (65_536, 50)],
                bytes,
                seed,
                ..plan(true, true)
            });
            let (mut moved, mut lengths) = (0, Vec::new());
            while moved < bytes {
                let len = source.next().unwrap().len;
                lengths.push(len);
                moved += u64::from(len);
            }
            assert_eq!(moved, bytes, "{lengths:?}");
        }
    }

    #[test]
    fn a_flush_follows_every_nth_write_on_the_file_written() {
        let mut source = Source::new(SourcePlan {
            flush: FlushEvery {
                fsync: 3,
                fdatasync: 0,
            },
            ..plan(false, true)
        });
        let ops: Vec<Op> = (0..8)
            .map(|_| source.next_flush().or_else(|| source.next()).unwrap().op)
            .collect();
        assert_eq!(
            ops,
            [
                Op::Write,
                Op::Write,
                Op::Write,
                Op::Fsync,
                Op::Write,
                Op::Write,
                Op::Write,
                Op::Fsync
            ]
        );
    }

    #[test]
    fn a_complete_mix_uses_every_block_once_for_each_kind() {
        let share = Share::part(1000, 0, 1);
        let once = |seed| {
            Some(Order::Once {
                share,
                next: 0,
                shuffle: Some((Permutation::new(1000, seed), 0)),
            })
        };
        let mut source = Source::new(SourcePlan {
            reads: once(1),
            writes: once(2),
            ..plan(true, true)
        });
        let mut seen = [vec![0; 1000], vec![0; 1000]];
        while let Some(drawn) = source.next() {
            seen[usize::from(drawn.op == Op::Write)]
                [usize::try_from(drawn.offset / 4096).unwrap()] += 1;
        }
        assert!(seen.iter().all(|kind| kind.iter().all(|n| *n == 1)));
    }

    #[test]
    fn a_mix_with_one_order_takes_no_block_twice_in_a_round_whatever_is_done_to_it() {
        let share = Share::part(1000, 0, 1);
        let rounds = |seed| {
            Some(Order::Rounds {
                share,
                rounds: Rounds::new(1000, seed),
            })
        };
        let mut source = Source::new(SourcePlan {
            reads: rounds(1),
            writes: rounds(2),
            one_order: true,
            ..plan(true, true)
        });
        for _ in 0..3 {
            let drawn: Vec<Drawn> = (0..1000).map(|_| source.next().unwrap()).collect();
            let distinct: std::collections::BTreeSet<u64> =
                drawn.iter().map(|drawn| drawn.offset).collect();
            assert_eq!(distinct.len(), 1000);
            assert!(
                drawn.iter().any(|drawn| drawn.op == Op::Write)
                    && drawn.iter().any(|drawn| drawn.op == Op::Read)
            );
        }
    }

    #[test]
    fn one_direction_alone_has_its_own_order_also_where_a_mix_would_share_one() {
        let rounds = || {
            Some(Order::Rounds {
                share: Share::part(1000, 0, 1),
                rounds: Rounds::new(1000, 1),
            })
        };
        let mut writes = Source::new(SourcePlan {
            writes: rounds(),
            one_order: true,
            ..plan(false, true)
        });
        assert_eq!(writes.next().unwrap().op, Op::Write);
        let mut reads = Source::new(SourcePlan {
            reads: rounds(),
            one_order: true,
            ..plan(true, false)
        });
        assert_eq!(reads.next().unwrap().op, Op::Read);
    }

    #[test]
    fn a_script_does_each_step_on_all_its_paths() {
        let script = vec![
            (Op::Create, 0..2),
            (Op::Readdir, 2..3),
            (Op::Rename, 0..0),
            (Op::Unlink, 0..2),
        ];
        let steps = Steps::new(Meeting::new(1, None));
        let script = Script::new(script, Bytes(3901), None, steps);
        let mut source = Source::new(plan(true, false)).scripted(script);
        let mut drawn = Vec::new();
        for now in 0.. {
            drawn.extend(std::iter::from_fn(|| source.next()).map(|d| (d.op, d.file, d.len)));
            assert_eq!(
                source.between(now, false),
                Between::NotYet,
                "what is in flight belongs to its step"
            );
            if source.between(now, true) == Between::Over {
                break;
            }
        }
        assert_eq!(
            drawn,
            [
                (Op::Create, 0, 3901),
                (Op::Create, 1, 3901),
                (Op::Readdir, 2, 0),
                (Op::Unlink, 0, 0),
                (Op::Unlink, 1, 0)
            ]
        );
        let times: Vec<(Op, u64)> = source
            .kind_times(9)
            .iter()
            .map(|time| (time.op, time.elapsed))
            .collect();
        assert_eq!(
            times,
            [
                (Op::Create, 1),
                (Op::Readdir, 1),
                (Op::Rename, 1),
                (Op::Unlink, 1)
            ]
        );
    }

    #[test]
    fn every_pass_writes_each_block_once_before_the_next_reads_it() {
        let once = |seed| {
            Some(Order::Once {
                share: Share::part(50, 0, 1),
                next: 0,
                shuffle: Some((Permutation::new(50, seed), 0)),
            })
        };
        let mut source = Source::new(SourcePlan {
            reads: once(1),
            writes: once(2),
            ..plan(true, true)
        });
        source = source.by_passes(3, Steps::new(Meeting::new(1, None)));
        let mut passes = Vec::new();
        while source.between(0, true) != Between::Over {
            let drawn: Vec<Drawn> = std::iter::from_fn(|| source.next()).collect();
            let blocks: std::collections::BTreeSet<u64> =
                drawn.iter().map(|drawn| drawn.offset).collect();
            passes.push((drawn[0].op, drawn.len(), blocks.len()));
        }
        assert_eq!(
            passes,
            [(Op::Write, 50, 50), (Op::Read, 50, 50), (Op::Write, 50, 50)]
        );
    }

    #[test]
    fn the_same_seed_draws_the_same_operations() {
        let draw = |seed| {
            let mut source = Source::new(SourcePlan {
                seed,
                ..plan(true, true)
            });
            (0..50).map(|_| source.next().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
