//! One load thread: a runtime of its own, its share of the users, and, in an open loop, its share
//! of the arrivals.

mod arrivals;
mod asked;
mod report;
mod timer;
mod used;

#[cfg(test)]
pub(crate) use arrivals::rounded;
use asked::AskedTime;
pub(crate) use report::{ThreadCounts, ThreadReport};
use used::MeasuredTime;

use crate::client::Client;
use crate::connection::Peer;
use crate::due::{Due, DueOperations, Turns};
use crate::ledger::{Ledger, add};
use crate::ramp::{Presence, Ramp, Schedule};
use crate::scenario::{Arrivals, Scenario};
use crate::settings::{Ledgers, LoadSettings, Thread};
use crate::share::LoadShare;
use crate::user::{Choices, Owned, SeedSet, Turn, User};
use record::{LiveCounters, WorkerAccount};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use sys::{Clock, MachineClock};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, LocalSet};
use units::random::Random;

/// How often a thread looks for the end while its users are busy.
const LOOK: Duration = Duration::from_millis(20);
/// How often a thread that waits for the start looks whether it is still wanted, and one that waits for an
/// arrival whether a turn is left for it: other threads take them, too.
const LOOK_NS: u64 = 20_000_000;

/// What all load threads share.
pub(crate) struct Shared {
    pub(crate) scenario: Scenario,
    pub(crate) settings: Arc<LoadSettings>,
    pub(crate) peers: Arc<Vec<Peer>>,
    pub(crate) seeds: Arc<SeedSet>,
    pub(crate) seed: u64,
    pub(crate) share: LoadShare,
    pub(crate) threads: u32,
    /// Number of the first object of each user.
    pub(crate) first_object: u64,
    /// Turns that may still begin.
    pub(crate) turns_left: AtomicU64,
    /// When the turns of all ranks are over, where evenly spaced arrivals were asked for so many: the last of
    /// them takes the time until the next would be due.
    pub(crate) turns_over: Option<u64>,
    /// No request begins any more.
    pub(crate) stop: AtomicBool,
    /// Nobody waits for answers any more.
    pub(crate) abort: AtomicBool,
    /// Users that are there.
    pub(crate) users: AtomicU64,
    /// The common start on the clock; set before the threads begin.
    pub(crate) start: u64,
    /// Where the warm-up ends.
    pub(crate) measured_from: u64,
    /// How long after the end answers are waited for.
    pub(crate) grace_ns: u64,
}

impl Shared {
    fn total_ns(&self) -> u64 {
        self.scenario.course().total_ns()
    }

    fn has_no_turn_left(&self) -> bool {
        self.turns_left.load(Relaxed) == 0
    }

    /// Whether a turn may begin that is due at `at`; those of the warm-up are not counted.
    fn may_begin(&self, at: u64) -> bool {
        if self.stop.load(Relaxed) {
            return false;
        }
        if at < self.measured_from {
            return true;
        }
        self.turns_left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }
}

/// Counters of one thread that others read: of the measured time, and of the warm-up.
pub(crate) type Live = (Arc<LiveCounters>, Arc<LiveCounters>);

/// A thread while it runs.
struct Running {
    shared: Arc<Shared>,
    thread: Rc<Thread>,
    owned: Vec<Rc<RefCell<Owned>>>,
    handoff: Rc<DueOperations>,
    unsent: RefCell<Vec<u64>>,
    schedule_over: Cell<bool>,
    ended: Notify,
    clock: MachineClock,
    measured: MeasuredTime,
    asked: AskedTime,
}

/// Runs a thread's share to its end.
pub(crate) fn run(
    shared: &Arc<Shared>,
    index: u32,
    (live, warmup): Live,
) -> std::io::Result<ThreadReport> {
    let _precise = sys::precise_sleeps();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let clock = shared.settings.clock;
    let running = Running::new(shared, index, (live, warmup));
    while clock.now() < shared.start && !shared.stop.load(Relaxed) {
        clock.sleep_until(shared.start.min(clock.now() + LOOK_NS));
    }
    // To ask the kernel takes time, in which it has not begun.
    running.measured.reached(&clock, clock.now());
    let began = clock.now();
    let local = LocalSet::new();
    let tasks: Vec<JoinHandle<()>> = local.block_on(&runtime, async {
        let tasks = running.begin(index);
        running.wait(&tasks).await;
        tasks
    });
    let ended = clock.now();
    let used = running.measured.end(&clock, ended);
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
    running.thread.warmup.abandon(ended);
    let began = began.max(shared.measured_from);
    let mut out = running.collect(ended.saturating_sub(began), abandoned);
    out.account = WorkerAccount {
        index,
        started_ns: began.saturating_sub(shared.measured_from),
        ended_ns: ended.saturating_sub(shared.measured_from),
        user_ns: used.usage.user_ns,
        system_ns: used.usage.system_ns,
        run_queue_wait_ns: used.waited_ns,
        voluntary_switches: used.usage.voluntary_switches,
        involuntary_switches: used.usage.involuntary_switches,
        error: panicked,
        ..out.account
    };
    drop(local);
    Ok(out)
}

impl Running {
    /// A thread before its users are there.
    fn new(shared: &Arc<Shared>, index: u32, (live, warmup): Live) -> Rc<Self> {
        let clock = shared.settings.clock;
        let ledger = |live| Ledger::new(live, shared.peers.len());
        let ledgers = Ledgers {
            measured: ledger(live),
            warmup: ledger(warmup),
            measured_from: shared.measured_from,
        };
        let thread = Thread::new(
            Arc::clone(&shared.settings),
            Arc::clone(&shared.peers),
            ledgers,
            (index, shared.threads),
        );
        let users = (index..shared.scenario.most_users()).step_by(shared.threads as usize);
        Rc::new(Running {
            shared: Arc::clone(shared),
            thread,
            owned: users
                .map(|_| {
                    Rc::new(RefCell::new(Owned {
                        next: shared.first_object,
                        ..Owned::default()
                    }))
                })
                .collect(),
            handoff: Rc::new(DueOperations::new(if shared.peers.len() > 1 {
                Turns::InOrder
            } else {
                Turns::NewestFree
            })),
            unsent: RefCell::default(),
            schedule_over: Cell::new(false),
            ended: Notify::new(),
            clock,
            measured: MeasuredTime::from(shared.measured_from),
            asked: AskedTime::of(shared),
        })
    }

    /// Starts the users of this thread, and its share of the arrivals.
    fn begin(self: &Rc<Self>, index: u32) -> Vec<JoinHandle<()>> {
        let shared = &self.shared;
        let choices = Rc::new(Choices::new(&shared.scenario));
        let mine = (index..shared.scenario.most_users()).step_by(shared.threads as usize);
        let mut tasks = Vec::new();
        for (number, owned) in mine.zip(&self.owned) {
            let user = User {
                index: number,
                client: Client::new(&self.thread, number),
                random: Random::stream(shared.seed, shared.share.stream(number)),
                owned: Rc::clone(owned),
                seeds: Arc::clone(&shared.seeds),
                choices: Rc::clone(&choices),
            };
            tasks.push(tokio::task::spawn_local(Rc::clone(self).user(user)));
        }
        if let Arrivals::Open { rate, spacing, .. } = &shared.scenario.arrivals {
            let random = rate.random(shared.seed, shared.share.stream(index));
            let later = shared.share.later();
            let place = (index, shared.threads);
            let schedule = Schedule::new(rate, *spacing, place, later, random);
            tasks.push(tokio::task::spawn_local(Rc::clone(self).dispatch(schedule)));
        }
        if shared.measured_from > shared.start {
            drop(tokio::task::spawn_local(Rc::clone(self).begin_measuring()));
        }
        tasks
    }

    /// Waits for the end of the warm-up.
    async fn begin_measuring(self: Rc<Self>) {
        let wait = self.shared.measured_from.saturating_sub(self.clock.now());
        tokio::time::sleep(Duration::from_nanos(wait)).await;
        self.measured.reached(&self.clock, self.clock.now());
    }

    /// Waits until every task has ended, or nobody waits for them any more.
    async fn wait(&self, tasks: &[JoinHandle<()>]) {
        let mut last = None;
        loop {
            let _woken_or_not = tokio::time::timeout(LOOK, self.ended.notified()).await;
            self.asked.look(&self.shared, self.clock.now());
            if tasks.iter().all(JoinHandle::is_finished) {
                return;
            }
            let now = self.clock.now();
            // Users that a ramp has yet to bring find no turn left.
            let is_used_up = self.shared.has_no_turn_left() && self.shared.users.load(Relaxed) == 0;
            let is_past = (is_used_up || now >= self.shared.start + self.shared.total_ns())
                && !self.has_arrivals();
            if is_past || self.shared.stop.load(Relaxed) {
                let since = *last.get_or_insert(now);
                // Users that sleep have nothing to finish; those that act are in flight until their
                // turn is over.
                let idle =
                    self.thread.ledger.live.in_flight() + self.thread.warmup.live.in_flight() == 0;
                if self.shared.abort.load(Relaxed) || idle || now - since > self.shared.grace_ns {
                    return;
                }
            }
        }
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
            if !self.shared.may_begin(now) {
                return false;
            }
            self.measured.reached(&self.clock, now);
            let ledger = self.thread.ledger_of(now);
            user.client.turn_at = now;
            let sleep_ns = match user.turn(None).await {
                Turn::Done { sleep_ns } => sleep_ns,
                Turn::Skipped { sleep_ns } => {
                    add(&ledger.skipped, 1);
                    tokio::task::yield_now().await;
                    sleep_ns
                }
                Turn::Exhausted => return false,
            };
            user.client.back_off().await;
            if sleep_ns > 0 {
                tokio::time::sleep(Duration::from_nanos(sleep_ns)).await;
            }
            ledger
                .iterations
                .borrow_mut()
                .record(self.clock.now() - now);
        }
    }

    /// Turns as they become due.
    async fn open(&self, user: &mut User) {
        while let Some(Due { at, in_time }) = self.handoff.take().await {
            let ledger = self.thread.ledger_of(at);
            self.measured.reached(&self.clock, at);
            let begun = self.clock.now();
            self.asked.begins(at, begun);
            if in_time {
                ledger
                    .lateness
                    .borrow_mut()
                    .record(begun.saturating_sub(at));
            } else {
                add(&ledger.queued, 1);
            }
            self.shared.users.fetch_add(1, Relaxed);
            user.client.turn_at = at;
            let turn = user.turn(Some(at)).await;
            self.shared.users.fetch_sub(1, Relaxed);
            match turn {
                Turn::Done { .. } => {}
                Turn::Skipped { .. } => add(&ledger.skipped, 1),
                Turn::Exhausted => {
                    self.shared.stop.store(true, Relaxed);
                    return;
                }
            }
            ledger
                .iterations
                .borrow_mut()
                .record(self.clock.now() - begun);
            // Nobody waits for a pause after the last turn.
            user.client.back_off().await;
        }
    }
}
