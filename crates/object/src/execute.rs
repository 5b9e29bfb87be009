//! A load from setup to record.

use crate::LoadError;
use crate::account::{self, Ended};
use crate::bulk::{Bulk, tell_of_left};
use crate::calls::Call;
use crate::connection::Peer;
use crate::habits::Habits;
use crate::ledger::live_counters;
use crate::observe::{Observer, Told};
use crate::payload::{Object, Payload};
use crate::plan::LoadPlan;
use crate::scenario::{Arrivals, StepKind};
use crate::target::Service;
use crate::user::{SeedSet, calls, signs_payload};
use crate::worker::{self, Live, Shared, Yield};
use record::{Interval, Measurements, Record, ServerAccount, Stoppage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};
use sys::{Clock, MachineClock, Usage, Vigil, clock::wall_time};

/// From the start of the threads to the common start: none of them begins late.
const LEAD_NS: u64 = 10_000_000;
/// How often the waiting thread looks at signals.
const LOOK_NS: u64 = 20_000_000;
/// How long answers are waited for after a signal.
const SIGNAL_GRACE_NS: u64 = 5_000_000_000;

/// The clock and the series of a run.
#[derive(Clone, Copy, Debug)]
pub struct Instruments {
    pub clock: MachineClock,
    /// Length of one interval of the series.
    pub interval_ns: u64,
}

/// What is told while a load goes on.
pub trait LoadWatch {
    /// `done` of `to_do` objects of the setup are there.
    fn preparing(&mut self, done: u64, to_do: u64) {
        let _nobody_looks = (done, to_do);
    }

    /// The measured time begins.
    fn began(&mut self) {}

    /// How long to wait between two calls of `interval`; `None` where nobody looks.
    fn live_interval_ns(&self) -> Option<u64> {
        None
    }

    /// What was done since the last call.
    fn interval(&mut self, interval: &Interval) {
        let _nobody_looks = interval;
    }

    /// The measured time is over.
    fn ended(&mut self) {}
}

/// A watch that looks away.
pub struct Unwatched;

impl LoadWatch for Unwatched {}

/// Runs a load and returns its record: operations, series, phases, thresholds and outcome.
/// Environment and calibration are the caller's.
///
/// # Errors
/// Nothing was measured: what was asked makes no sense, the target is not there, or a signal came
/// first.
pub fn execute(
    plan: &LoadPlan,
    instruments: &Instruments,
    watch: &mut dyn LoadWatch,
) -> Result<Record, LoadError> {
    let mut setup = Setup::make(plan, instruments.clock, watch)?;
    match setup.run(plan, instruments, watch) {
        Ok(mut record) => {
            setup.remove(&mut record);
            Ok(record)
        }
        Err(error) => {
            setup.remove(&mut Record::default());
            Err(error)
        }
    }
}

/// What a load needs on the server: the bucket, and the objects that are there before. Several
/// loads of one scenario may use it, one after another.
pub struct Setup {
    habits: Arc<Habits>,
    peers: Arc<Vec<Peer>>,
    seeds: Arc<SeedSet>,
    bulk: Bulk,
    pub(crate) measured: Measurements,
    /// What was not as it should be and does not keep the load from running.
    pub(crate) notices: Vec<String>,
    keep: bool,
    runs: u64,
}

/// Numbers of objects that each of several runs has for itself.
const NUMBERS_OF_A_RUN: u64 = 1_000_000_000;

impl Setup {
    /// Looks the servers up, and makes what the plan needs on them.
    ///
    /// # Errors
    /// What was asked makes no sense, the target is not there, or a signal came.
    pub fn make(
        plan: &LoadPlan,
        clock: MachineClock,
        watch: &mut dyn LoadWatch,
    ) -> Result<Self, LoadError> {
        plan.check()?;
        let most = u64::from(plan.scenario.most_users());
        if sys::raise_file_limit() < most + 64 {
            return Err(LoadError::asked(format!(
                "{most} connections need as many open files; raise `ulimit -n`, or give fewer --users"
            )));
        }
        let find = |endpoint| Peer::find(endpoint, &plan.trust, plan.version);
        let peers = Arc::new(
            plan.target
                .endpoints
                .iter()
                .map(find)
                .collect::<Result<Vec<Peer>, LoadError>>()?,
        );
        let habits = Arc::new(habits(plan, clock));
        let seeds = Arc::new(SeedSet::new(&plan.scenario.seeds, plan.scenario.keys));
        let mut bulk = Bulk::new(&habits, &peers)
            .map_err(|e| LoadError::Target(format!("no runtime: {e}")))?;
        let notices = bulk.find_servers(match &plan.target.service {
            Service::S3 { bucket } => Some(bucket),
            Service::Http { .. } => None,
        })?;
        let (measured, keep) = (Measurements::default(), plan.keep);
        let mut setup = Self {
            habits,
            peers,
            seeds,
            bulk,
            measured,
            notices,
            keep,
            runs: 0,
        };
        let all = Arc::clone(&setup.seeds);
        if let Err(error) = setup.put(&all.objects, watch) {
            setup.remove(&mut Record::default());
            return Err(error);
        }
        Ok(setup)
    }

    fn put(&mut self, objects: &[Object], watch: &mut dyn LoadWatch) -> Result<(), LoadError> {
        let to_do = units::lossless::to_u64(objects.len());
        let stopped = || sys::caught_signal().is_some();
        let done = self.bulk.each(Call::Put, objects, &stopped, &mut |done| {
            watch.preparing(done, to_do)
        });
        self.measured.merge(&done.measured);
        if stopped() {
            return Err(LoadError::Interrupted);
        }
        if let Some(failure) = done.first {
            let (n, what) = (done.undone.len(), failure.what);
            return Err(LoadError::Target(format!(
                "{n} of {to_do} objects that the load reads could not be made, the first because: {what}; the target must be reachable and writable"
            )));
        }
        Ok(())
    }

    /// One load, and the removal of what its users made. What an earlier one has deleted of the
    /// setup's objects is made again before.
    ///
    /// # Errors
    /// The plan makes no sense, or what was deleted cannot be made again.
    pub fn run(
        &mut self,
        plan: &LoadPlan,
        instruments: &Instruments,
        watch: &mut dyn LoadWatch,
    ) -> Result<Record, LoadError> {
        plan.check()?;
        if self.runs > 0 {
            self.measured = Measurements::default();
            let seeds = Arc::clone(&self.seeds);
            self.put(seeds.taken(), watch)?;
            seeds.give_back();
        }
        let counters = plan.server_counters.then(|| self.bulk.counters()).flatten();
        let ended = self.measure(plan, instruments, watch);
        let counters =
            counters.and_then(|before| Some(self.bulk.settled_counters()?.since(&before)));
        self.runs += 1;
        let left = Remains::of(&ended.yields);
        let mut record = account::record(plan, self, ended, counters);
        self.clear(&left, &mut record);
        Ok(record)
    }

    /// Removes what users made, and only that; uploads that are still open are of no use to
    /// anybody.
    fn clear(&self, remains: &Remains, record: &mut Record) {
        let impatient = || sys::caught_signal().is_some_and(|caught| caught.impatient);
        let aborted = self
            .bulk
            .abort(&remains.uploads, remains.may_hide_uploads, &impatient);
        let mut teardown = aborted.measured;
        if aborted.left > 0 {
            let why = aborted
                .first
                .map_or_else(|| "a second signal came".to_owned(), |failure| failure.what);
            record.notices.push(format!(
                "{} multipart uploads that this load began could not be aborted: {why}",
                aborted.left
            ));
        }
        let left = if self.keep {
            units::lossless::to_u64(remains.objects.len())
        } else {
            let done = self
                .bulk
                .each(Call::Delete, &remains.objects, &impatient, &mut |_| ());
            teardown.merge(&done.measured);
            tell_of_left(&done, record)
        };
        if let Some(load) = &mut record.load {
            load.left_behind += left;
            load.uploads_left_behind += aborted.left;
            load.teardown.merge(&teardown);
        }
    }

    /// Removes what the setup made, unless it shall stay, and tells the record.
    pub fn remove(self, record: &mut Record) {
        let left = self.seeds.left();
        let left = if self.keep {
            units::lossless::to_u64(left.len())
        } else {
            let impatient = || sys::caught_signal().is_some_and(|caught| caught.impatient);
            let done = self.bulk.each(Call::Delete, left, &impatient, &mut |_| ());
            let left = tell_of_left(&done, record);
            if let Some(load) = &mut record.load {
                load.teardown.merge(&done.measured);
            }
            if !self.bulk.remove_bucket() {
                record
                    .notices
                    .push("the bucket that this load made could not be removed: it holds something else, or the server is gone".into());
            }
            left
        };
        if let Some(load) = &mut record.load {
            load.left_behind += left;
        }
    }
}

/// What users left on the server.
struct Remains {
    objects: Vec<Object>,
    uploads: Vec<(Object, String)>,
    /// Whether there may be uploads of which only the server knows.
    may_hide_uploads: bool,
}

impl Remains {
    fn of(yields: &[Yield]) -> Self {
        Self {
            objects: yields
                .iter()
                .flat_map(|done| done.objects.iter().copied())
                .collect(),
            uploads: yields
                .iter()
                .flat_map(|done| done.uploads.iter().cloned())
                .collect(),
            may_hide_uploads: yields.iter().any(|done| done.may_hide_uploads),
        }
    }
}

fn habits(plan: &LoadPlan, clock: MachineClock) -> Habits {
    let since_1970 = wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let separator = if plan.target.is_s3() { '/' } else { '-' };
    let root = format!(
        "fathom-{:x}-{:x}{separator}",
        since_1970.as_micros(),
        std::process::id()
    );
    Habits {
        service: plan.target.service.clone(),
        credentials: plan.credentials.clone().filter(|_| plan.target.is_s3()),
        signs_payload: signs_payload(&plan.scenario),
        closes: plan.new_connections,
        version: plan.version,
        timeout: Duration::from_nanos(plan.timeout_ns),
        retries: plan.retries,
        root,
        separator,
        prefixes: plan.scenario.prefixes,
        field: plan
            .scenario
            .steps
            .iter()
            .find(|step| step.kind == StepKind::Post)
            .map_or_else(String::new, |step| step.field.clone()),
        payload: Payload::new(plan.scenario.data, plan.seed),
        clock,
        epoch: since_1970
            .as_secs()
            .saturating_sub(clock.now() / 1_000_000_000),
    }
}

impl Setup {
    /// Warm-up and measured time: threads, series, signals.
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    fn measure(
        &self,
        plan: &LoadPlan,
        instruments: &Instruments,
        watch: &mut dyn LoadWatch,
    ) -> Ended {
        let clock = instruments.clock;
        let is_open = matches!(plan.scenario.arrivals, Arrivals::Open { .. });
        let shared = Arc::new(self.shared(plan, clock.now() + LEAD_NS));
        let kinds = calls(&plan.scenario);
        let live: Vec<Live> = (0..shared.threads)
            .map(|_| {
                (
                    live_counters(&kinds, is_open),
                    live_counters(&kinds, is_open),
                )
            })
            .collect();
        let mut edge = Edge {
            at: shared.measured_from,
            server: plan.server_process,
            used: None,
        };
        if plan.warmup_ns == 0 {
            edge.pass(watch);
        }
        let started_at = wall_time();
        let running: Vec<JoinHandle<std::io::Result<Yield>>> = (0..shared.threads)
            .zip(&live)
            .map(|(index, (measured, warmup))| {
                let (shared, live) = (
                    Arc::clone(&shared),
                    (Arc::clone(measured), Arc::clone(warmup)),
                );
                std::thread::Builder::new()
                    .name(format!("load-{index}"))
                    .spawn(move || worker::run(&shared, index, live))
                    .expect("a thread can be started")
            })
            .collect();
        let mut observer = Observer::new(
            &shared,
            live.into_iter().map(|(measured, _)| measured).collect(),
            instruments.interval_ns,
            watch.live_interval_ns(),
        );
        let (signal, stops) = wait(&shared, &running, clock, (&mut observer, &mut edge), watch);
        let mut panics = Vec::new();
        let mut yields = Vec::new();
        for thread in running {
            match thread.join() {
                Ok(Ok(done)) => yields.push(done),
                Ok(Err(error)) => panics.push(format!("a load thread could not run: {error}")),
                Err(_) => panics.push("a load thread panicked".to_owned()),
            }
        }
        let (usage, server) = edge.since();
        watch.ended();
        let last = yields
            .iter()
            .map(|done| done.last_done)
            .max()
            .unwrap_or(0)
            .max(shared.measured_from);
        // Users that pause or have left are part of the load until its course is over; who hangs
        // after that is not waited for.
        let course_ns = (shared.start + shared.scenario.course().total_ns())
            .saturating_sub(shared.measured_from);
        let worked_ns = yields
            .iter()
            .map(|done| done.account.ended_ns)
            .max()
            .unwrap_or(0)
            .min(course_ns);
        let elapsed_ns = if last > shared.measured_from {
            last
        } else {
            clock.now()
        }
        .saturating_sub(shared.measured_from)
        .max(worked_ns);
        let measured = observer.finish(elapsed_ns);
        Ended {
            started_at,
            elapsed_ns,
            measured,
            yields,
            panics,
            usage,
            server,
            signal,
            stops,
            verifies: plan.scenario.verify,
            is_open,
        }
    }

    fn shared(&self, plan: &LoadPlan, start: u64) -> Shared {
        Shared {
            scenario: if plan.warmup_ns > 0 {
                plan.scenario.after_warmup(plan.warmup_ns)
            } else {
                plan.scenario.clone()
            },
            habits: Arc::clone(&self.habits),
            peers: Arc::clone(&self.peers),
            seeds: Arc::clone(&self.seeds),
            seed: plan.seed,
            threads: plan.effective_threads(),
            first_object: self.runs * NUMBERS_OF_A_RUN,
            turns_left: AtomicU64::new(plan.iterations.unwrap_or(u64::MAX)),
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            users: AtomicU64::new(0),
            start,
            measured_from: start + plan.warmup_ns,
            grace_ns: plan.timeout_ns.saturating_add(LOOK_NS),
        }
    }
}

/// The end of the warm-up, and what had been used until then.
struct Edge {
    at: u64,
    server: Option<u32>,
    used: Option<(Usage, Option<(u64, u64)>)>,
}

impl Edge {
    fn has_passed(&self) -> bool {
        self.used.is_some()
    }

    /// The measured time begins.
    fn pass(&mut self, watch: &mut dyn LoadWatch) {
        watch.began();
        self.used = Some((
            sys::usage_of_process(),
            self.server.and_then(account::process_times),
        ));
    }

    /// What was used since then, by this process and by the server's; nothing where it never came.
    fn since(&self) -> (Usage, Option<ServerAccount>) {
        let now = sys::usage_of_process();
        let (usage, before) = self.used.unwrap_or((now, None));
        (
            now.since(&usage),
            self.server
                .map(|pid| account::server(pid, before, account::process_times(pid))),
        )
    }
}

/// Waits for the threads; the signal that ended them, if one did, and when this process stood
/// still.
fn wait(
    shared: &Shared,
    running: &[JoinHandle<std::io::Result<Yield>>],
    clock: MachineClock,
    (observer, edge): (&mut Observer, &mut Edge),
    watch: &mut dyn LoadWatch,
) -> (Option<i32>, Vec<Stoppage>) {
    let (mut signalled, mut stops) = (None, Vec::new());
    let (mut vigil, mut awake) = (Vigil::begin(), clock.now());
    while !running.iter().all(JoinHandle::is_finished) {
        let now = clock.now();
        let next = if edge.has_passed() {
            observer.next_edge()
        } else {
            edge.at
        };
        let until = (now + LOOK_NS).min(next.max(now + 1_000_000));
        clock.sleep_until(until);
        let woke = clock.now();
        stops.extend(
            vigil
                .woke(awake, awake + until.saturating_sub(now), woke)
                .and_then(|still| {
                    Stoppage::since(
                        shared.measured_from,
                        still.from,
                        still.to,
                        still.suspended_ns,
                    )
                }),
        );
        awake = woke;
        if !edge.has_passed() && clock.now() >= edge.at {
            edge.pass(watch);
            observer.begin();
        }
        if observer.look(clock.now(), watch) == Told::Somebody {
            // Whoever is told takes the time that it needs.
            awake = clock.now();
        }
        if let Some(caught) = sys::caught_signal() {
            shared.stop.store(true, Relaxed);
            let (_, since) = *signalled.get_or_insert((caught.signal, clock.now()));
            if caught.impatient || clock.now() - since > SIGNAL_GRACE_NS {
                shared.abort.store(true, Relaxed);
            }
        }
    }
    (signalled.map(|(signal, _)| signal), stops)
}
