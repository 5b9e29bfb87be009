//! A group over MPI: one thread, which alone calls the library, from its first call to its last.

use crate::driver::{Carrier, GroupEvent, drive};
use crate::terms::MemberInput;
use crate::timing::GroupTiming;
use mpi::{MpiChoice, MpiError, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::{Clock as _, ClockReader, MachineClock};

/// The library may wait so long at its end for others before the process ends without it.
const CLOSE_NS: u64 = 3_000_000_000;
/// Messages that are on their way have so long to leave.
const LEAVE_NS: u64 = 500_000_000;
/// Others have so long to say that nothing more comes of them.
const PART_NS: u64 = 2_000_000_000;
/// It is looked so often.
const STEP_NS: u64 = 1_000_000;
const WATCH_STEP_NS: u64 = 50_000_000;
/// The exit code of a group that has lost a rank.
const LOST: i32 = 5;
/// What is no exit code: the group goes on, or nobody said how it ended.
const NO_CODE: i32 = i32::MIN;

/// Why there is no group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Mpi(#[from] MpiError),
    #[error("the thread of the group cannot be started: {0}")]
    Thread(String),
    #[error("not all of the processes that were started have come within {} s: one does something else, or waits for something", .0.as_secs())]
    Alone(Duration),
}

/// How a process leaves its group.
enum Leaving {
    Close(AtLast),
    Abort,
}

/// What is done before the process ends without the library's end.
type AtLast = Box<dyn FnOnce() + Send>;

/// A rank that is connected with the others.
pub struct Connected {
    pub rank: u32,
    pub size: u32,
    /// What the library calls itself.
    pub library: String,
    /// What it is asked with.
    pub ask: Sender<MemberInput>,
    leave: Sender<Leaving>,
    code: Arc<AtomicI32>,
    thread: JoinHandle<bool>,
}

struct Opened {
    rank: u32,
    size: u32,
    library: String,
}

/// Opens the library and connects; `tell` is called from the group's thread.
///
/// # Errors
/// There is no library, or it cannot begin.
pub fn connect(
    choice: MpiChoice,
    timing: GroupTiming,
    clock: MachineClock,
    tell: impl FnMut(GroupEvent) + Send + 'static,
) -> Result<Connected, ConnectError> {
    let (opened_to, opened) = channel();
    let (ask, asked) = channel();
    let (leave, leaving) = channel();
    let code = Arc::new(AtomicI32::new(NO_CODE));
    let to_exit_with = Arc::clone(&code);
    let body = move || {
        let world = match World::open(&choice) {
            Ok(world) => world,
            Err(error) => {
                let _whoever_connects_waits = opened_to.send(Err(error));
                return false;
            }
        };
        let opened = Opened {
            rank: world.rank(),
            size: world.size(),
            library: world.version(),
        };
        let _whoever_connects_waits = opened_to.send(Ok(opened));
        live(world, timing, clock, &asked, tell, &leaving, &to_exit_with)
    };
    let thread = std::thread::Builder::new().name("fathom-group".into());
    let thread = thread.spawn(body);
    let thread = thread.map_err(|why| ConnectError::Thread(why.to_string()))?;
    let ended = || ConnectError::Thread("it ended".into());
    // The library begins when all have come, and waits for ever for one that does not.
    let patience = Duration::from_nanos(timing.come_within_ns());
    let opened = opened.recv_timeout(patience).map_err(|why| match why {
        RecvTimeoutError::Timeout => ConnectError::Alone(patience),
        RecvTimeoutError::Disconnected => ended(),
    });
    let Opened {
        rank,
        size,
        library,
    } = opened??;
    Ok(Connected {
        rank,
        size,
        library,
        ask,
        leave,
        code,
        thread,
    })
}

impl Connected {
    /// Ends the library; whether it ended as it should. Where it does not come to its end, the process ends with
    /// this code, and `at_last` before that.
    #[must_use]
    pub fn close(self, code: i32, at_last: impl FnOnce() + Send + 'static) -> bool {
        self.end(Leaving::Close(Box::new(at_last)), code)
    }

    /// Ends all ranks, also those that answer nobody.
    pub fn abort(self, code: i32) {
        let _others_are_lost = self.end(Leaving::Abort, code);
    }

    fn end(self, how: Leaving, code: i32) -> bool {
        self.code.store(code, Relaxed);
        let _it_has_ended = self.leave.send(how);
        let _it_has_ended_already = self.ask.send(MemberInput::Leave);
        self.thread.join().unwrap_or(false)
    }
}

/// From the first message to the last call; whether that went well.
fn live(
    mut world: World,
    timing: GroupTiming,
    clock: MachineClock,
    asked: &Receiver<MemberInput>,
    mut tell: impl FnMut(GroupEvent),
    leaving: &Receiver<Leaving>,
    code: &Arc<AtomicI32>,
) -> bool {
    let place = (world.rank(), world.size());
    let by = (&clock, ClockReader::own(clock));
    drive(&mut world, place, timing, by, asked, &mut tell);
    // Nothing is told any more: whoever waits for that sees it.
    drop(tell);
    // A last word may be on its way when nobody drives any more.
    let until = clock.now().saturating_add(LEAVE_NS);
    while clock.now() < until && world.has_sent() == Ok(false) {
        clock.sleep_until(clock.now() + 1_000_000);
    }
    let how = leaving.recv();
    match how.unwrap_or_else(|_| Leaving::Close(Box::new(|| ()))) {
        Leaving::Close(at_last) => {
            let _watch_over_it = watch_the_end(code, at_last);
            part(&mut world, &clock, code);
            return world.close().is_ok();
        }
        Leaving::Abort => {
            let _watch_over_it = watch_the_end(code, Box::new(|| ()));
            world.abort(code.load(Relaxed));
        }
    }
    false
}

/// Takes what others had sent before they heard of the end: a library that has it left when it ends
/// may fail at that (MPICH 5), and a launcher that sees it fail kills all.
///
/// Where the first says nothing of it, it may stand still with all that was to be shown: that is no success.
fn part(world: &mut World, clock: &MachineClock, code: &AtomicI32) {
    if world.part().is_err() {
        return;
    }
    let mut awake = Awake::default();
    while awake.ns < PART_NS && world.has_parted() == Ok(false) {
        let before = clock.now();
        clock.sleep_until(before + STEP_NS);
        awake.add(clock.now().saturating_sub(before), STEP_NS);
    }
    if world.rank() > 0 && !world.has_parted_from(0) {
        let _not_the_code_of_a_fault = code.compare_exchange(0, LOST, Relaxed, Relaxed);
    }
}

/// Time in which this process ran: whoever was stopped with all others waits on when they go on.
#[derive(Default)]
struct Awake {
    ns: u64,
}

impl Awake {
    /// So much went by in a step of that length, which takes longer where nothing else is free to run.
    fn add(&mut self, passed_ns: u64, step_ns: u64) {
        self.ns += passed_ns.min(10 * step_ns);
    }
}

/// Ends the process where the library does not come to its end while this is kept: it may wait for ever for a rank
/// that answers nobody.
fn watch_the_end(code: &Arc<AtomicI32>, at_last: AtLast) -> Sender<()> {
    let code = Arc::clone(code);
    let (is_watched, watched) = channel::<()>();
    let watch = move || {
        let (clock, mut awake) = (MachineClock::monotonic(), Awake::default());
        let step = Duration::from_nanos(WATCH_STEP_NS);
        while awake.ns < CLOSE_NS {
            let before = clock.now();
            if watched.recv_timeout(step) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            awake.add(clock.now().saturating_sub(before), WATCH_STEP_NS);
        }
        at_last();
        let code = code.load(Relaxed);
        sys::exit_at_once(if code == NO_CODE { 1 } else { code });
    };
    let thread = std::thread::Builder::new().name("fathom-watch".into());
    let _without_a_watch_the_library_is_trusted = thread.spawn(watch);
    is_watched
}

impl Carrier for World {
    fn send(&mut self, to: u32, message: &[u8]) -> Result<(), String> {
        World::send(self, to, message).map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, String> {
        World::receive(self).map_err(|error| error.to_string())
    }
}
