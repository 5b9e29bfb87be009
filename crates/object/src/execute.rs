//! A load from setup to record.

use crate::LoadError;
use crate::account::{self, Ended};
use crate::bulk::Bulk;
use crate::calls::Call;
use crate::connection::Peer;
use crate::habits::Habits;
use crate::ledger::live_counters;
use crate::observe::Observer;
use crate::payload::{Object, Payload};
use crate::plan::LoadPlan;
use crate::scenario::{Arrivals, StepKind};
use crate::target::Service;
use crate::user::{SeedSet, calls, signs_payload};
use crate::worker::{self, Shared, Yield};
use engine::{Clock, MachineClock, clock::wall_time, sys};
use record::{Interval, LiveCounters, Measurements, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

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

    /// An interval has ended.
    fn interval(&mut self, interval: &Interval) {
        let _nobody_looks = interval;
    }

    /// The measured time is over.
    fn ended(&mut self) {}
}

/// A watch that looks away.
pub struct Unwatched;

impl LoadWatch for Unwatched {}

/// What a setup made.
pub(crate) struct Prepared {
    pub(crate) measured: Measurements,
    pub(crate) made_bucket: bool,
}

/// Runs a load and returns its record: operations, series, phases, thresholds and outcome. Environment and calibration are the caller's.
///
/// # Errors
/// Nothing was measured: what was asked makes no sense, the target is not there, or a signal came first.
pub fn execute(plan: &LoadPlan, instruments: &Instruments, watch: &mut dyn LoadWatch) -> Result<Record, LoadError> {
    plan.check()?;
    let most = u64::from(plan.scenario.most_users());
    if sys::raise_file_limit() < most + 64 {
        return Err(LoadError::asked(format!("{most} connections need as many open files; raise `ulimit -n`, or give fewer --users")));
    }
    let peers: Result<Vec<Peer>, LoadError> = plan.target.endpoints.iter().map(|endpoint| Peer::find(endpoint, &plan.trust)).collect();
    let peers = Arc::new(peers?);
    let habits = Arc::new(habits(plan, instruments.clock));
    let seeds = Arc::new(SeedSet::new(&plan.scenario.seeds, plan.scenario.keys));
    let bulk = Bulk::new(&habits, &peers).map_err(|e| LoadError::Target(format!("no runtime: {e}")))?;
    let prepared = prepare(plan, &bulk, &seeds, watch)?;
    let ended = measure(plan, instruments, (&habits, &peers, &seeds), watch);
    let objects: Vec<Object> = seeds.left().iter().copied().chain(ended.yields.iter().flat_map(|y| y.objects.iter().copied())).collect();
    let mut record = account::record(plan, &prepared, ended);
    clean_up(plan, &bulk, &prepared, &objects, &mut record);
    Ok(record)
}

fn habits(plan: &LoadPlan, clock: MachineClock) -> Habits {
    let since_1970 = wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let separator = if plan.target.is_s3() { '/' } else { '-' };
    let root = format!("fathom-{:x}-{:x}{separator}", since_1970.as_micros(), std::process::id());
    Habits {
        service: plan.target.service.clone(),
        credentials: plan.credentials.clone().filter(|_| plan.target.is_s3()),
        signs_payload: signs_payload(&plan.scenario),
        closes: plan.new_connections,
        timeout: Duration::from_nanos(plan.timeout_ns),
        retries: plan.retries,
        root,
        separator,
        prefixes: plan.scenario.prefixes,
        field: plan.scenario.steps.iter().find(|step| step.kind == StepKind::Post).map_or_else(String::new, |step| step.field.clone()),
        payload: Payload::new(plan.scenario.data, plan.seed),
        clock,
        epoch: since_1970.as_secs().saturating_sub(clock.now() / 1_000_000_000),
    }
}

fn prepare(plan: &LoadPlan, bulk: &Bulk, seeds: &SeedSet, watch: &mut dyn LoadWatch) -> Result<Prepared, LoadError> {
    let made_bucket = match &plan.target.service {
        Service::S3 { bucket } => bulk.ensure_bucket(bucket)?,
        Service::Http { .. } => false,
    };
    let to_do = units::lossless::to_u64(seeds.objects.len());
    let stopped = || sys::caught_signal().is_some();
    let done = bulk.each(Call::Put, &seeds.objects, &stopped, &mut |done| watch.preparing(done, to_do));
    let undo = || {
        if !plan.keep {
            bulk.each(Call::Delete, &seeds.objects, &|| false, &mut |_| ());
            if made_bucket {
                bulk.remove_bucket();
            }
        }
    };
    if stopped() {
        undo();
        return Err(LoadError::Interrupted);
    }
    if let Some(failure) = done.first {
        undo();
        let (n, what) = (done.undone.len(), failure.what);
        return Err(LoadError::Target(format!(
            "{n} of {to_do} objects that the load reads could not be made, the first because: {what}; the target must be reachable and writable"
        )));
    }
    Ok(Prepared { measured: done.measured, made_bucket })
}

/// The measured time: threads, series, signals.
fn measure(
    plan: &LoadPlan,
    instruments: &Instruments,
    (habits, peers, seeds): (&Arc<Habits>, &Arc<Vec<Peer>>, &Arc<SeedSet>),
    watch: &mut dyn LoadWatch,
) -> Ended {
    let clock = instruments.clock;
    let threads = plan.effective_threads();
    let is_open = matches!(plan.scenario.arrivals, Arrivals::Open { .. });
    let kinds = calls(&plan.scenario);
    let live: Vec<Arc<LiveCounters>> = (0..threads).map(|_| live_counters(&kinds, is_open)).collect();
    let shared = Arc::new(Shared {
        scenario: plan.scenario.clone(),
        habits: Arc::clone(habits),
        peers: Arc::clone(peers),
        seeds: Arc::clone(seeds),
        seed: plan.seed,
        threads,
        turns_left: AtomicU64::new(plan.iterations.unwrap_or(u64::MAX)),
        stop: AtomicBool::new(false),
        abort: AtomicBool::new(false),
        users: AtomicU64::new(0),
        start: clock.now() + LEAD_NS,
        grace_ns: plan.timeout_ns.saturating_add(LOOK_NS),
    });
    watch.began();
    let started_at = wall_time();
    let server = plan.server_process.map(|pid| (pid, account::process_times(pid)));
    let usage = sys::usage_of_process();
    let running: Vec<JoinHandle<std::io::Result<Yield>>> = (0..threads)
        .zip(&live)
        .map(|(index, live)| {
            let (shared, live) = (Arc::clone(&shared), Arc::clone(live));
            std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || worker::run(&shared, index, live))
                .expect("a thread can be started")
        })
        .collect();
    let mut observer = Observer::new(&shared, live, instruments.interval_ns);
    let signal = wait(&shared, &running, clock, &mut observer, watch);
    let mut panics = Vec::new();
    let mut yields = Vec::new();
    for thread in running {
        match thread.join() {
            Ok(Ok(done)) => yields.push(done),
            Ok(Err(error)) => panics.push(format!("a load thread could not run: {error}")),
            Err(_) => panics.push("a load thread panicked".to_owned()),
        }
    }
    let usage = sys::usage_of_process().since(&usage);
    watch.ended();
    let last = yields.iter().map(|done| done.last_done).max().unwrap_or(0);
    let elapsed_ns = if last > shared.start { last - shared.start } else { clock.now() - shared.start };
    let server = server.map(|(pid, before)| account::server(pid, before, account::process_times(pid)));
    let measured = observer.finish(elapsed_ns);
    Ended { started_at, elapsed_ns, measured, yields, panics, usage, server, signal, verifies: plan.scenario.verify, is_open }
}

/// Waits for the threads; the signal that ended them, if one did.
fn wait(
    shared: &Shared,
    running: &[JoinHandle<std::io::Result<Yield>>],
    clock: MachineClock,
    observer: &mut Observer,
    watch: &mut dyn LoadWatch,
) -> Option<i32> {
    let mut signalled = None;
    while !running.iter().all(JoinHandle::is_finished) {
        let now = clock.now();
        clock.sleep_until((now + LOOK_NS).min(observer.next_edge().max(now + 1_000_000)));
        observer.look(clock.now(), watch);
        if let Some((signal, times)) = sys::caught_signal() {
            shared.stop.store(true, Relaxed);
            let (_, since) = *signalled.get_or_insert((signal, clock.now()));
            if times > 1 || clock.now() - since > SIGNAL_GRACE_NS {
                shared.abort.store(true, Relaxed);
            }
        }
    }
    signalled.map(|(signal, _)| signal)
}

/// Removes what was made, and only that.
fn clean_up(plan: &LoadPlan, bulk: &Bulk, prepared: &Prepared, objects: &[Object], record: &mut Record) {
    let left = if plan.keep {
        units::lossless::to_u64(objects.len())
    } else {
        let impatient = || sys::caught_signal().is_some_and(|(_, times)| times > 1);
        let done = bulk.each(Call::Delete, objects, &impatient, &mut |_| ());
        let left = units::lossless::to_u64(done.undone.len());
        if let Some(load) = &mut record.load {
            load.teardown = done.measured;
        }
        if left > 0 {
            let why = done.first.map_or_else(|| "a second signal came".to_owned(), |failure| failure.what);
            record.notices.push(format!("{left} objects that this load made could not be removed: {why}"));
        }
        if prepared.made_bucket && !bulk.remove_bucket() {
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
