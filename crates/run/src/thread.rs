//! One worker thread: placed, set up, started together with the others, and taken apart.

use crate::access::Random;
use crate::content::Content;
use crate::error::RunError;
use crate::locks::Locks;
use crate::prepare::{open_for_run, use_of};
use crate::resolve::WorkerPlacement;
use crate::setup::{GroupFile, Shared};
use crate::tally::Tally;
use crate::worker::{Batching, StopRule, Tick, WorkerPlan, work};
use engine::{
    Engine, EngineError, EngineSetup, MetaEngine, OpenEngine as _, RingOptions, SimEngine, SimModel,
};
use host::{Machine, RunQueueWait, RunQueueWatch};
use record::{Histogram, Interval};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use sys::{Clock, MachineClock, MapAdvice, VirtualClock};
use workload::{DataPattern, EngineFeature, EngineName, EngineTarget, LockMode, Madvise};

/// How a worker fared.
#[derive(Debug, Default)]
pub(crate) struct WorkerReport {
    pub(crate) tally: Tally,
    pub(crate) run_queue_wait: Option<RunQueueWait>,
    pub(crate) features: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) lock_wait: Option<Histogram>,
    pub(crate) lock_failures: u64,
    /// Only under a virtual clock.
    pub(crate) series: Vec<Interval>,
}

/// Start of the measured run on the common clock, or the news that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open(u64),
    Cancelled,
}

/// What a worker thread is given.
pub(crate) struct WorkerTask {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: u32,
    pub(crate) placement: WorkerPlacement,
    pub(crate) clock: MachineClock,
    pub(crate) interval_ns: u64,
}

/// Measures on the engine of the workload, as the table of engines has it.
macro_rules! on_engine {
    ({ $task:ident $setup:ident $ready:ident }
        $($(#[$about:meta])* $name:ident = $word:literal $($engine:ident)?: $target:ident $features:tt $fio:tt;)+) => {
        match $task.shared.workload.engine {
            $(EngineName::$name => on_engine!(@one $task $setup $ready $($engine)?),)+
        }
    };
    (@one $task:ident $setup:ident $ready:ident $engine:ident) => {
        $task.measure(engine::$engine::open($setup)?, |engine| engine.features(), $ready)
    };
    (@one $task:ident $setup:ident $ready:ident) => {
        Err(RunError::Unsuitable("the engine was not decided".into()))
    };
}

impl WorkerTask {
    /// Runs to the end; calls `ready` when set up and waits in it for the gate, and begins at the moment that
    /// this names.
    ///
    /// # Errors
    /// The worker could not be set up.
    pub(crate) fn run(&self, ready: impl FnOnce() -> Gate) -> Result<WorkerReport, RunError> {
        let _precise = self.settle()?;
        let workload = &self.shared.workload;
        let depth = workload.queue_depth;
        let block = units::lossless::to_usize(workload.blocks.largest().0);
        if !workload.files.meta.is_empty() {
            return self.measure(self.names_engine()?, |_| None, ready);
        }
        let setup = self.engine_setup(depth, block)?;
        if workload.engine.has(EngineFeature::VirtualTime) {
            return self.simulate(depth, block, ready);
        }
        workload::engines!(on_engine { self setup ready })
    }

    /// The engine of metadata operations on the worker's names.
    fn names_engine(&self) -> Result<MetaEngine, RunError> {
        let files = &self.shared.workload.files;
        let (paths, _) = self.shared.names(self.index);
        let bytes = |size: Option<units::Bytes>| size.map_or(0, |size| size.0);
        let mut payload = vec![0; units::lossless::to_usize(bytes(files.payload))];
        self.shared.filler(self.index)?.fill_fresh(&mut payload);
        let mut engine = MetaEngine::new(paths, bytes(files.size), payload)?;
        if self.shared.workload.gives_up_targets() {
            engine = engine.on_files_given_up();
        }
        Ok(engine.walking(self.shared.walk.clone()))
    }

    /// What its engine begins with.
    fn engine_setup(&self, depth: u32, block: usize) -> Result<EngineSetup, RunError> {
        let workload = &self.shared.workload;
        let (files, file_bytes) = self.open_files()?;
        let ring = &workload.ring;
        let target = workload
            .targets
            .first()
            .map(|target| target.to_string_lossy());
        Ok(EngineSetup {
            files,
            file_bytes,
            depth,
            block,
            writes: use_of(workload).writes,
            stable_writes: workload.durability.open.dsync,
            target: target.unwrap_or_default().into_owned(),
            ring: RingOptions {
                fixed_buffers: ring.fixed.buffers == Some(true),
                fixed_files: ring.fixed.files == Some(true),
                polling: engine::Polling {
                    submission: ring.sqpoll,
                    device: ring.iopoll,
                },
            },
            advice: workload
                .madvise
                .iter()
                .map(|word| map_advice(*word))
                .collect(),
        })
    }

    /// CPU, memory and timer of this thread, before it touches its buffers.
    fn settle(&self) -> Result<sys::PreciseSleeps, RunError> {
        let fail = |what: String| {
            move |e: std::io::Error| {
                RunError::Unsuitable(format!("worker {}: {what}: {e}", self.index))
            }
        };
        if !self.placement.cpus.is_empty() {
            sys::set_affinity(&self.placement.cpus).map_err(fail(format!(
                "cannot run on CPUs {:?}",
                self.placement.cpus
            )))?;
        }
        if !self.placement.nodes.is_empty() {
            sys::bind_memory(&self.placement.nodes).map_err(fail(format!(
                "cannot take memory from NUMA nodes {:?}",
                self.placement.nodes
            )))?;
        }
        Ok(sys::precise_sleeps())
    }

    fn open_files(&self) -> Result<(Vec<File>, Vec<u64>), RunError> {
        if self.shared.workload.engine.target() == EngineTarget::Server {
            return Ok((Vec::new(), Vec::new()));
        }
        let (group, _, _) = self.shared.group_of(self.index);
        let open =
            |file: &GroupFile| open_for_run(&file.path, file.referent, &self.shared.workload);
        let files = group.files.iter().map(open).collect::<Result<_, _>>()?;
        Ok((files, group.files.iter().map(|file| file.bytes).collect()))
    }

    fn locks(&self) -> Result<Option<Locks>, RunError> {
        let mode = self.shared.workload.lock_mode;
        if mode == LockMode::None {
            return Ok(None);
        }
        let (group, _, _) = self.shared.group_of(self.index);
        let open = |file: &GroupFile| {
            // An exclusive lock needs a descriptor that may write; none is written through this
            // one.
            let writes = use_of(&self.shared.workload).writes;
            let opened =
                sys::open_without_waiting(File::options().read(true).write(writes), 0, &file.path);
            let opened = opened.map_err(RunError::io("cannot open for locking", &file.path))?;
            file.referent
                .map_or(Ok(()), |referent| referent.recheck(&opened, &file.path))?;
            Ok::<_, RunError>(opened)
        };
        let files = group.files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Some(Locks::new(files, mode == LockMode::Full)))
    }

    fn measure<E: Engine>(
        &self,
        mut engine: E,
        features: impl FnOnce(&E) -> Option<String>,
        ready: impl FnOnce() -> Gate,
    ) -> Result<WorkerReport, RunError> {
        self.fill_buffers(&mut engine)?;
        let content = self.shared.content(self.index)?;
        let locks = self.locks()?;
        let Gate::Open(start) = ready() else {
            return Ok(WorkerReport::default());
        };
        let mut report = WorkerReport {
            features: features(&engine),
            ..WorkerReport::default()
        };
        let mut plan = self.plan(start, content, locks, None);
        if !self.comes_near(start) {
            // It did nothing, and what it waited is no measured time.
            let tally = &mut report.tally;
            (tally.started, tally.ended, tally.is_idle) = (start, start, true);
            return Ok(report);
        }
        // To ask for it takes longer than the start may be missed by.
        plan.run_queue_wait = RunQueueWatch::begin(&Machine::at(Path::new("/")), &self.clock);
        let arrive = || self.clock.arrive_at(start);
        let (engine, tally) = (&mut engine, &mut report.tally);
        let outcome = work(engine, &self.clock, &mut plan, tally, arrive);
        report.run_queue_wait = plan.run_queue_wait.take().and_then(RunQueueWatch::seen);
        self.finish(report, outcome, plan)
    }

    /// Sleeps to shortly before the start; whether nobody has told all to end meanwhile.
    fn comes_near(&self, start: u64) -> bool {
        const LOOK_NS: u64 = 20_000_000;
        let is_wanted = || !self.shared.halt.load(Relaxed);
        while is_wanted() && self.clock.now() + LOOK_NS < start {
            self.clock.sleep_until(self.clock.now() + LOOK_NS);
        }
        if is_wanted() {
            self.clock.come_near(start);
        }
        is_wanted()
    }

    fn simulate(
        &self,
        depth: u32,
        block: usize,
        ready: impl FnOnce() -> Gate,
    ) -> Result<WorkerReport, RunError> {
        let workload = &self.shared.workload;
        let clock = VirtualClock::default();
        let seed = Random::stream(
            workload.seed,
            (5 << 32) + u64::from(workload.seats().number(self.index)),
        )
        .bits();
        let mut engine = SimEngine::new(
            SimModel::parse(&workload.sim_model)?,
            clock.clone(),
            depth,
            block,
            seed,
        )?;
        let content = self.shared.content(self.index)?;
        let Gate::Open(start) = ready() else {
            return Ok(WorkerReport::default());
        };
        let live = &self.shared.measured[self.index as usize];
        let (mut series, mut last, mut last_edge) = (
            Vec::new(),
            record::Measurements::default(),
            workload.stop.warmup.0,
        );
        let mut edge = |now: u64| {
            if now > last_edge {
                let total = live.snapshot();
                let operations = total.since(&last);
                series.push(Interval {
                    start_ns: last_edge - workload.stop.warmup.0,
                    end_ns: now - workload.stop.warmup.0,
                    operations,
                    in_flight: live.in_flight(),
                    ..Interval::default()
                });
                (last, last_edge) = (total, now);
            }
        };
        let mut report = WorkerReport::default();
        let tick = Some(Tick {
            every_ns: self.interval_ns,
            edge: &mut edge,
        });
        let mut plan = self.plan(0, content, None, tick);
        if !self.comes_near(start) {
            return Ok(WorkerReport::default());
        }
        let arrive = || self.clock.arrive_at(start);
        let outcome = work(&mut engine, &clock, &mut plan, &mut report.tally, arrive);
        let mut report = self.finish(report, outcome, plan)?;
        edge(clock.now());
        report.series = series;
        Ok(report)
    }

    /// A repeating content is written into the buffers once; a run that also reads fills them again
    /// for each write.
    fn fill_buffers<E: Engine>(&self, engine: &mut E) -> Result<(), RunError> {
        let workload = &self.shared.workload;
        let io = use_of(workload);
        if io.writes && !workload.verify.on && workload.writing.pattern != DataPattern::Random {
            let mut filler = self.shared.filler(self.index)?;
            (0..workload.queue_depth).for_each(|slot| filler.fill_fresh(engine.buffer(slot)));
        }
        Ok(())
    }

    fn plan<'a>(
        &'a self,
        start: u64,
        content: Content<'a>,
        locks: Option<Locks>,
        tick: Option<Tick<'a>>,
    ) -> WorkerPlan<'a> {
        let (shared, workload) = (&*self.shared, &self.shared.workload);
        let (group, _, _) = shared.group_of(self.index);
        let warmup_ends = start + workload.stop.warmup.0;
        let end_flush = if workload.durability.end_fsync {
            (0..).take(group.files.len().max(1)).collect()
        } else {
            Vec::new()
        };
        WorkerPlan {
            batching: Batching {
                depth: workload.queue_depth,
                submit: workload.submit_batch.unwrap_or(workload.queue_depth),
                reap: workload.reap_batch.unwrap_or(1),
            },
            source: shared.source(self.index),
            pace: shared.pace(self.index, start),
            think_mode: workload.pace.think.mode,
            stop: StopRule {
                warmup_ends,
                ends: shared.ends(start),
                bytes: shared.share_of_bytes(self.index),
                errors: match (workload.continue_on_error, workload.max_errors) {
                    (false, _) => 1,
                    (true, 0) => u64::MAX,
                    (true, limit) => limit,
                },
            },
            stonewall: shared.stonewall.as_ref(),
            wears_out_until: shared
                .stonewall
                .as_ref()
                .and_then(|stonewall| stonewall.wears_out_until(start)),
            content,
            locks,
            end_flush,
            warmup: &shared.warmup[self.index as usize],
            measured: &shared.measured[self.index as usize],
            halt: &shared.halt,
            run_queue_wait: None,
            tick,
        }
    }

    fn finish(
        &self,
        mut report: WorkerReport,
        outcome: Result<(), EngineError>,
        plan: WorkerPlan<'_>,
    ) -> Result<WorkerReport, RunError> {
        if let Err(error) = outcome {
            report.error = Some(error.to_string());
            self.shared.halt.store(true, Relaxed);
        }
        if let Some(locks) = plan.locks {
            report.lock_failures = locks.failed;
            report.lock_wait = Some(locks.wait);
        }
        Ok(report)
    }
}

fn map_advice(word: Madvise) -> MapAdvice {
    match word {
        Madvise::Sequential => MapAdvice::Sequential,
        Madvise::Random => MapAdvice::Random,
        Madvise::WillNeed => MapAdvice::WillNeed,
        Madvise::DontNeed => MapAdvice::DontNeed,
        Madvise::HugePage => MapAdvice::HugePage,
        Madvise::NoHugePage => MapAdvice::NoHugePage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::prepare;
    use crate::ranks::Ranks;
    use crate::resolve::resolve;
    use crate::safety::Refusal;
    use host::Peers;
    use std::cell::Cell;
    use sys::Usage;
    use units::Bytes;
    use workload::Workload;

    /// Runs a worker on a target that `change` does something to after it was approved and prepared.
    fn run_after(
        change: impl FnOnce(&Path),
        asked: &dyn Fn(&mut Workload),
    ) -> Result<WorkerReport, RunError> {
        with_task(change, asked, |task| {
            task.run(|| Gate::Open(task.clock.now()))
        })
    }

    fn with_task(
        change: impl FnOnce(&Path),
        asked: &dyn Fn(&mut Workload),
        run: impl FnOnce(&WorkerTask) -> Result<WorkerReport, RunError>,
    ) -> Result<WorkerReport, RunError> {
        with_others(None, change, asked, run)
    }

    fn with_others(
        others: Option<Arc<dyn Peers>>,
        change: impl FnOnce(&Path),
        asked: &dyn Fn(&mut Workload),
        run: impl FnOnce(&WorkerTask) -> Result<WorkerReport, RunError>,
    ) -> Result<WorkerReport, RunError> {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("f");
        let mut workload = Workload {
            targets: vec![target.clone()],
            ..Workload::default()
        };
        workload.files.size = Some(Bytes(1 << 16));
        workload.stop.total_bytes = Some(Bytes(1 << 16));
        asked(&mut workload);
        let resolved = resolve(&workload, &Machine::at(Path::new("/"))).unwrap();
        let prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
        let shared = Shared::new(&resolved, &prepared, others).unwrap();
        change(&target);
        let task = WorkerTask {
            shared,
            index: 0,
            placement: WorkerPlacement::default(),
            clock: MachineClock::monotonic(),
            interval_ns: 1_000_000_000,
        };
        run(&task)
    }

    #[test]
    fn who_is_told_to_end_does_not_wait_for_the_start() {
        let in_a_year = |task: &WorkerTask| {
            task.shared.halt.store(true, Relaxed);
            let start = task.clock.now() + 31_536_000_000_000_000;
            task.run(|| Gate::Open(start))
        };
        let report = with_task(|_| {}, &|_| {}, in_a_year).unwrap();
        let tally = &report.tally;
        assert!(tally.is_idle && tally.started == tally.ended);
    }

    /// The others are heard of a second after this worker has left its first step.
    #[test]
    fn nothing_is_due_while_a_worker_waits_for_the_next_step() {
        let asked = |workload: &mut Workload| {
            workload.stop.total_bytes = None;
            workload.files.size = None;
            workload.files.num_files = Some(20);
            workload.files.meta = vec![workload::MetaOp::Create, workload::MetaOp::Stat];
            workload.pace.rate_iops = Some(units::Rate(1000.0));
        };
        let ranks = Ranks::default();
        ranks.silence.store(50_000, Relaxed);
        ranks.left_by_all.store(2, Relaxed);
        let mut longest = Vec::new();
        let run = |task: &WorkerTask| {
            let mut plan = task.plan(0, task.shared.content(0)?, None, None);
            let (mut engine, clock) = (engine::NullEngine::new(1, 4096)?, VirtualClock::default());
            let mut report = WorkerReport::default();
            work(&mut engine, &clock, &mut plan, &mut report.tally, || ())?;
            let measured = task.shared.measured[0].snapshot();
            longest = ["create", "stat"]
                .map(|kind| measured.kind(kind).unwrap().latency.max().unwrap())
                .to_vec();
            assert!((1_000_000_000..1_100_000_000).contains(&report.tally.ended));
            Ok(report)
        };
        with_others(Some(Arc::new(ranks)), |_| {}, &asked, run).unwrap();
        assert_eq!(longest, [0, 0]);
    }

    /// Time passes when it is read, and half of it the thread waits for a CPU, as the kernel's file says.
    #[derive(Clone)]
    struct HalfWaited<'a> {
        now: &'a Cell<u64>,
        file: &'a Path,
    }

    impl Clock for HalfWaited<'_> {
        fn now(&self) -> u64 {
            self.now.set(self.now.get() + 1000);
            std::fs::write(self.file, format!("0 {} 1\n", self.now.get() / 2)).unwrap();
            self.now.get()
        }

        fn sleep_until(&self, _: u64) {}
    }

    #[test]
    fn what_a_worker_waited_for_a_cpu_before_its_own_measured_time_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let file = format!("proc/self/task/{}/schedstat", sys::thread_id());
        let (now, file) = (Cell::new(0), root.path().join(file));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let clock = HalfWaited {
            now: &now,
            file: &file,
        };
        let machine = Machine::at(root.path());
        for depth in [1, 4] {
            now.set(0);
            clock.now();
            let asked = |workload: &mut Workload| {
                (workload.engine, workload.queue_depth) = (EngineName::Null, depth);
                workload.stop.warmup = units::Nanos(100_000);
            };
            let work_through = |task: &WorkerTask| {
                let mut plan = task.plan(0, task.shared.content(0)?, None, None);
                (plan.stop.bytes, plan.stop.ends) = (u64::MAX, 200_000);
                plan.run_queue_wait = RunQueueWatch::begin(&machine, &clock);
                let mut engine = engine::NullEngine::new(depth, 4096)?;
                let mut report = WorkerReport::default();
                work(&mut engine, &clock, &mut plan, &mut report.tally, || ())?;
                report.run_queue_wait = plan.run_queue_wait.and_then(RunQueueWatch::seen);
                Ok(report)
            };
            let report = with_task(|_| {}, &asked, work_through).unwrap();
            let (began, ended) = (report.tally.started, report.tally.ended);
            assert!(began >= 100_000 && (200_000..210_000).contains(&ended));
            let waited = report.run_queue_wait.unwrap();
            let slept = Usage {
                voluntary_switches: 1,
                ..Usage::default()
            };
            let waited_ns = waited.measured_ns(began, ended, &slept);
            assert_eq!(waited_ns, Some((ended - began) / 2), "{depth}");
        }
    }

    #[test]
    fn a_file_that_took_the_place_of_the_approved_one_is_not_touched() {
        let writing =
            |workload: &mut Workload| workload.access.read_percent = Some(units::Percent(0.0));
        let locking = |workload: &mut Workload| workload.lock_mode = LockMode::Full;
        run_after(|_| {}, &writing).unwrap();
        for asked in [&writing as &dyn Fn(&mut Workload), &|_| {}, &locking] {
            let mut kept = Vec::new();
            let swap = |target: &Path| {
                let other = target.with_file_name("somebody's");
                std::fs::write(&other, vec![7; 1 << 16]).unwrap();
                std::fs::rename(&other, target).unwrap();
                kept.push(File::open(target).unwrap());
            };
            let error = run_after(swap, asked).unwrap_err();
            assert!(
                matches!(error, RunError::Refused(Refusal::Changed { .. })),
                "{error}"
            );
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut &kept[0], &mut content).unwrap();
            assert_eq!(content, vec![7; 1 << 16]);
        }
    }
}
