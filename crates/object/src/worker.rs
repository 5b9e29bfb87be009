//! One load thread: a runtime of its own, its share of the users, and, in an open loop, its share of the arrivals.

use crate::connection::Peer;
use crate::habits::{Habits, Thread};
use crate::handoff::{Due, Handoff};
use crate::ledger::{Ledger, add};
use crate::payload::Object;
use crate::ramp::{Presence, Ramp, Schedule};
use crate::random::Random;
use crate::scenario::{Arrivals, Scenario};
use crate::session::Session;
use crate::user::{Choices, Owned, SeedSet, Turn, User};
use engine::{Clock, MachineClock, sys};
use record::{ErrorCount, Histogram, LiveCounters, LoopAccount, RequestPhases, WorkerAccount};
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, LocalSet};

/// How often a thread looks for the end while its users are busy.
const LOOK: Duration = Duration::from_millis(20);

/// What all load threads share.
pub(crate) struct Shared {
    pub(crate) scenario: Scenario,
    pub(crate) habits: Arc<Habits>,
    pub(crate) peers: Arc<Vec<Peer>>,
    pub(crate) seeds: Arc<SeedSet>,
    pub(crate) seed: u64,
    pub(crate) threads: u32,
    /// Turns that may still begin.
    pub(crate) turns_left: AtomicU64,
    /// No request begins any more.
    pub(crate) stop: AtomicBool,
    /// Nobody waits for answers any more.
    pub(crate) abort: AtomicBool,
    /// Users that are there.
    pub(crate) users: AtomicU64,
    /// The common start on the clock; set before the threads begin.
    pub(crate) start: u64,
    /// How long after the end answers are waited for.
    pub(crate) grace_ns: u64,
}

impl Shared {
    fn total_ns(&self) -> u64 {
        self.scenario.course().total_ns()
    }

    fn may_begin(&self) -> bool {
        if self.stop.load(Relaxed) {
            return false;
        }
        self.turns_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// What a thread hands back.
#[derive(Default)]
pub(crate) struct Yield {
    pub(crate) account: WorkerAccount,
    pub(crate) loop_account: LoopAccount,
    pub(crate) phases: Vec<(&'static str, RequestPhases)>,
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) iterations: Histogram,
    pub(crate) lateness: Histogram,
    pub(crate) unsent: Vec<u64>,
    pub(crate) counts: Counts,
    pub(crate) last_done: u64,
    /// Objects that are, or may be, on the server.
    pub(crate) objects: Vec<Object>,
}

/// Plain counters of a thread, by name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) skipped: u64,
    pub(crate) queued: u64,
    pub(crate) retries: u64,
    pub(crate) opened: u64,
    pub(crate) not_opened: u64,
    pub(crate) signed: u64,
    pub(crate) signing_ns: u64,
    pub(crate) verified: u64,
    pub(crate) wrong: u64,
    pub(crate) posted: u64,
}

/// A thread while it runs.
struct Running {
    shared: Arc<Shared>,
    thread: Rc<Thread>,
    owned: Vec<Rc<RefCell<Owned>>>,
    handoff: Rc<Handoff>,
    unsent: RefCell<Vec<u64>>,
    schedule_over: Cell<bool>,
    ended: Notify,
    clock: MachineClock,
}

/// Runs a thread's share to its end.
pub(crate) fn run(shared: &Arc<Shared>, index: u32, live: Arc<LiveCounters>) -> std::io::Result<Yield> {
    sys::precise_sleeps();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let clock = shared.habits.clock;
    let thread = Thread::new(Arc::clone(&shared.habits), Arc::clone(&shared.peers), Ledger::new(live));
    let mine = (index..shared.scenario.most_users()).step_by(shared.threads as usize);
    let running = Rc::new(Running {
        shared: Arc::clone(shared),
        thread,
        owned: mine.clone().map(|_| Rc::default()).collect(),
        handoff: Rc::default(),
        unsent: RefCell::default(),
        schedule_over: Cell::new(false),
        ended: Notify::new(),
        clock,
    });
    let before = sys::usage_of_thread();
    let sched = run_queue_wait();
    clock.sleep_until(shared.start);
    let began = clock.now();
    let local = LocalSet::new();
    let choices = Rc::new(Choices::new(&shared.scenario));
    let tasks: Vec<JoinHandle<()>> = local.block_on(&runtime, async {
        let mut tasks = Vec::new();
        for (number, owned) in mine.zip(&running.owned) {
            let user = User {
                index: number,
                session: Session::new(&running.thread, number),
                random: Random::of(shared.seed, u64::from(number)),
                owned: Rc::clone(owned),
                seeds: Arc::clone(&shared.seeds),
                choices: Rc::clone(&choices),
            };
            tasks.push(tokio::task::spawn_local(Rc::clone(&running).user(user)));
        }
        if let Arrivals::Open { rate, spacing, .. } = &shared.scenario.arrivals {
            let random = Random::of(shared.seed ^ 0xa221_7a15, u64::from(index));
            let schedule = Schedule::new(rate, *spacing, index, shared.threads, random);
            tasks.push(tokio::task::spawn_local(Rc::clone(&running).dispatch(schedule)));
        }
        running.wait(&tasks).await;
        tasks
    });
    let ended = clock.now();
    let panicked = local.block_on(&runtime, async {
        let mut panicked = None;
        for task in tasks {
            if task.is_finished() && task.await.is_err_and(|error| error.is_panic()) {
                panicked = Some("a virtual user panicked".to_owned());
            }
        }
        panicked
    });
    let abandoned = running.thread.ledger.abandon(ended);
    let usage = sys::usage_of_thread().since(&before);
    let mut out = running.collect(ended - began, abandoned);
    let (waited, after) = (sched, run_queue_wait());
    out.account = WorkerAccount {
        index,
        started_ns: began.saturating_sub(shared.start),
        ended_ns: ended.saturating_sub(shared.start),
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        run_queue_wait_ns: after.zip(waited).map(|(after, before)| after.saturating_sub(before)),
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        error: panicked,
        ..out.account
    };
    drop(local);
    Ok(out)
}

/// Time this thread was runnable without a CPU, from the kernel's scheduler.
fn run_queue_wait() -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", sys::thread_id())).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

impl Running {
    /// Waits until every task has ended, or nobody waits for them any more.
    async fn wait(&self, tasks: &[JoinHandle<()>]) {
        let mut last = None;
        loop {
            let _woken_or_not = tokio::time::timeout(LOOK, self.ended.notified()).await;
            if tasks.iter().all(JoinHandle::is_finished) {
                return;
            }
            let now = self.clock.now();
            let is_past = now >= self.shared.start + self.shared.total_ns() && !self.has_arrivals();
            if is_past || self.shared.stop.load(Relaxed) {
                let since = *last.get_or_insert(now);
                // Users that sleep have nothing to finish; those that act are in flight until their turn is over.
                let idle = self.thread.ledger.live.in_flight() == 0;
                if self.shared.abort.load(Relaxed) || idle || now - since > self.shared.grace_ns {
                    return;
                }
            }
        }
    }

    /// Whether an open loop has not given out all that was due.
    fn has_arrivals(&self) -> bool {
        matches!(self.shared.scenario.arrivals, Arrivals::Open { .. }) && !self.schedule_over.get()
    }

    async fn user(self: Rc<Self>, mut user: User) {
        match &self.shared.scenario.arrivals {
            Arrivals::Closed { users } => self.closed(&mut user, users).await,
            Arrivals::Open { .. } => self.open(&mut user).await,
        }
        self.ended.notify_one();
    }

    /// Turn after turn while the ramp wants this user.
    async fn closed(&self, user: &mut User, ramp: &Ramp) {
        loop {
            let now = self.clock.now();
            match ramp.presence(user.index, now.saturating_sub(self.shared.start)) {
                Presence::Over => return,
                Presence::From(later) => {
                    let wait = (self.shared.start + later).saturating_sub(now);
                    tokio::time::sleep(Duration::from_nanos(wait)).await;
                    continue;
                }
                Presence::Here => {}
            }
            self.shared.users.fetch_add(1, Relaxed);
            let goes_on = self.stay(user, ramp).await;
            self.shared.users.fetch_sub(1, Relaxed);
            if !goes_on {
                return;
            }
        }
    }

    /// One stay; false if there will be no other.
    async fn stay(&self, user: &mut User, ramp: &Ramp) -> bool {
        loop {
            let now = self.clock.now();
            if ramp.presence(user.index, now.saturating_sub(self.shared.start)) != Presence::Here {
                return true;
            }
            if !self.shared.may_begin() {
                return false;
            }
            let sleep_ns = match user.turn(None).await {
                Turn::Done { sleep_ns } => sleep_ns,
                Turn::Skipped { sleep_ns } => {
                    add(&self.thread.ledger.skipped, 1);
                    tokio::task::yield_now().await;
                    sleep_ns
                }
                Turn::Exhausted => return false,
            };
            user.session.back_off().await;
            if sleep_ns > 0 {
                tokio::time::sleep(Duration::from_nanos(sleep_ns)).await;
            }
            self.thread.ledger.iterations.borrow_mut().record(self.clock.now() - now);
        }
    }

    /// Turns as they become due.
    async fn open(&self, user: &mut User) {
        while let Some(Due { at, in_time }) = self.handoff.take().await {
            let ledger = &self.thread.ledger;
            let begun = self.clock.now();
            if in_time {
                ledger.lateness.borrow_mut().record(begun.saturating_sub(at));
            } else {
                add(&ledger.queued, 1);
            }
            self.shared.users.fetch_add(1, Relaxed);
            let turn = user.turn(Some(at)).await;
            user.session.back_off().await;
            self.shared.users.fetch_sub(1, Relaxed);
            match turn {
                Turn::Done { .. } => {}
                Turn::Skipped { .. } => add(&ledger.skipped, 1),
                Turn::Exhausted => {
                    self.shared.stop.store(true, Relaxed);
                    return;
                }
            }
            ledger.iterations.borrow_mut().record(self.clock.now() - begun);
        }
    }

    /// Gives out arrivals as they become due; a timer of the kernel, since the runtime's own have milliseconds.
    async fn dispatch(self: Rc<Self>, mut schedule: Schedule) {
        let timer = Timer::new();
        while let Some(due) = schedule.next() {
            let due = self.shared.start + due;
            let now = self.clock.now();
            if due > now {
                match &timer {
                    Ok(timer) => timer.wait(due - now).await,
                    Err(_) => tokio::time::sleep(Duration::from_nanos(due - now)).await,
                }
            }
            if !self.shared.may_begin() {
                break;
            }
            self.handoff.give(due);
        }
        let total = self.shared.start + self.shared.total_ns();
        // What became due last may still find a free connection.
        while !self.shared.stop.load(Relaxed) && self.clock.now() < total {
            let left = (total - self.clock.now()).min(20_000_000);
            tokio::time::sleep(Duration::from_nanos(left)).await;
            if self.shared.turns_left.load(Relaxed) == 0 && self.handoff.is_empty() {
                break;
            }
        }
        self.close();
        self.schedule_over.set(true);
        self.ended.notify_one();
    }

    /// What was due and has not begun never will.
    fn close(&self) {
        let now = self.clock.now();
        self.unsent.borrow_mut().extend(self.handoff.close().into_iter().map(|due| now.saturating_sub(due)));
    }

    fn collect(&self, worker_ns: u64, abandoned: u64) -> Yield {
        self.close();
        let ledger = &self.thread.ledger;
        let mut objects = Vec::new();
        let mut posted = 0;
        for owned in &self.owned {
            let owned = owned.borrow();
            objects.extend(owned.live.iter().chain(&owned.doubtful).chain(&owned.pending).copied());
            posted += owned.posted;
        }
        let measured = ledger.live.snapshot();
        let mut loop_account = ledger.loop_account(worker_ns);
        loop_account.abandoned = abandoned;
        Yield {
            account: WorkerAccount { operations: measured.count(), bytes: measured.bytes(), ..WorkerAccount::default() },
            loop_account,
            phases: ledger.phases(),
            errors: ledger.errors(),
            iterations: ledger.iterations.take(),
            lateness: ledger.lateness.take(),
            unsent: self.unsent.take(),
            counts: Counts {
                skipped: ledger.skipped.get(),
                queued: ledger.queued.get(),
                retries: ledger.retries.get(),
                opened: ledger.opened.get(),
                not_opened: ledger.not_opened.get(),
                signed: ledger.signed.get(),
                signing_ns: ledger.signing_ns.get(),
                verified: ledger.verified.get(),
                wrong: ledger.wrong.get(),
                posted,
            },
            last_done: ledger.last_done(),
            objects,
        }
    }
}

/// A timer of the kernel with nanoseconds.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[allow(deprecated, reason = "the replacement is unsafe, for types whose descriptor may change; an OwnedFd's does not")]
    fn new() -> std::io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self(AsyncFd::new(fd)?))
    }

    async fn wait(&self, ns: u64) {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let it_value = Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        if timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once).is_err() {
            return;
        }
        if let Ok(mut ready) = self.0.readable().await {
            let mut count = [0; 8];
            let _how_often = rustix::io::read(self.0.get_ref(), &mut count);
            ready.clear_ready();
        }
    }
}
