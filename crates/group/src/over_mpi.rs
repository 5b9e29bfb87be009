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
/// The first waits so long for the last word of all before it says its own.
const HEAR_NS: u64 = 500_000_000;
/// Between the last look at what has come and the end of the library: all have looked by then.
const QUIET_NS: u64 = 30_000_000;
/// It is looked so often.
const STEP_NS: u64 = 1_000_000;
const WATCH_STEP_NS: u64 = 50_000_000;
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
    Close(LeftAtLast),
    Abort,
}

/// What becomes of a process whose library does not end.
struct LeftAtLast {
    /// The exit code of success, where the first did not come to the end.
    without_first: i32,
    at_last: AtLast,
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
    /// this code, and `at_last` before that; with another than 0 where the first did not come to the end either, which
    /// may stand still with all that was to be shown.
    #[must_use]
    pub fn close(
        self,
        code: i32,
        without_first: i32,
        at_last: impl FnOnce() + Send + 'static,
    ) -> bool {
        let left = LeftAtLast {
            without_first,
            at_last: Box::new(at_last),
        };
        self.end(Leaving::Close(left), code)
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
    // Whoever was to say it has gone, and with it the code.
    let unsaid = || LeftAtLast {
        without_first: NO_CODE,
        at_last: Box::new(|| ()),
    };
    match how.unwrap_or_else(|_| Leaving::Close(unsaid())) {
        Leaving::Close(left) => {
            let _watch_over_it = watch_the_end(code, left.at_last);
            if !part(&mut world, &clock) {
                let _not_that_of_a_fault =
                    code.compare_exchange(0, left.without_first, Relaxed, Relaxed);
            }
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
/// may fail at that (MPICH 5), and a launcher that sees it fail kills all. The first says its last word
/// when it has heard that of all, so that all hear it and call the library no more at about the same time:
/// over TCP, MPICH 4 (UCX) waits in its end for an answer of each peer, which one that still asks it gives
/// at once and one that has come to its own end never does.
/// Not where the first was waited for in vain.
fn part(world: &mut World, clock: &MachineClock) -> bool {
    let is_first = world.rank() == 0;
    if is_first {
        await_that(clock, HEAR_NS, || world.has_heard_all() != Ok(false));
    }
    if world.part().is_err() {
        return true;
    }
    await_that(clock, PART_NS, || world.has_parted() != Ok(false));
    let has_parted = is_first || world.has_parted_from(0);
    if has_parted {
        clock.sleep_until(clock.now() + QUIET_NS);
    }
    has_parted
}

/// Waits until something is so, as long as that of time in which this process is awake.
fn await_that(clock: &MachineClock, most_ns: u64, mut is_so: impl FnMut() -> bool) {
    sys::over_while_awake(clock, most_ns, STEP_NS, || {
        let is_so = is_so();
        if !is_so {
            clock.sleep_until(clock.now() + STEP_NS);
        }
        is_so
    });
}

/// Ends the process where the library does not come to its end while this is kept: it may wait for ever for a rank
/// that answers nobody.
fn watch_the_end(code: &Arc<AtomicI32>, at_last: AtLast) -> Sender<()> {
    let code = Arc::clone(code);
    let (is_watched, watched) = channel::<()>();
    let watch = move || {
        let step = Duration::from_nanos(WATCH_STEP_NS);
        let has_ended = || watched.recv_timeout(step) == Err(RecvTimeoutError::Disconnected);
        let clock = MachineClock::monotonic();
        if sys::over_while_awake(&clock, CLOSE_NS, WATCH_STEP_NS, has_ended) {
            return;
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
