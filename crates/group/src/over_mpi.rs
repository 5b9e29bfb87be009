//! A group over MPI: one thread, which alone calls the library, from its first call to its last.

use crate::driver::{Carrier, GroupEvent, drive};
use crate::terms::MemberInput;
use crate::timing::GroupTiming;
use mpi::{MpiChoice, MpiError, World};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::{Clock as _, ClockReader, MachineClock};

/// A library that is to end all has so long before the process ends without it.
const ABORT_NS: u64 = 3_000_000_000;
/// Messages that are on their way have so long to leave.
const LEAVE_NS: u64 = 500_000_000;
/// What was sent before the first spoke its last word has so long to come after it, and so have last words where
/// somebody has asked twice for the end.
const PART_NS: u64 = 2_000_000_000;
/// Each rank waits so much longer for the last words than the one before it, up to the third: whoever
/// gives up first ends all.
const LATER_NS: u64 = 1_500_000_000;
/// Whoever has waited for long enough looks for so long all the same: all may have stood still together.
const LEAST_NS: u64 = 500_000_000;
/// Who stands still while the library ends, or after that, is killed so much later than it would be lost: those that
/// miss it end all before.
const STILL_NS: u64 = 4_000_000_000;
/// Between the last look at what has come and the end of the library: all have looked by then.
const QUIET_NS: u64 = 30_000_000;
/// It is looked so often.
const STEP_NS: u64 = 1_000_000;
const WATCH_STEP_NS: u64 = 50_000_000;
/// The exit code where whoever was to say one has gone.
const UNSAID: i32 = 1;

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
    /// After it has waited for so long already for others to hear of the end.
    Close(Duration, Unended),
    Abort(i32),
}

/// What is done, and the exit code that comes of it, where ranks do not come to their end: those of which no last word
/// came, or none where all had said it and the library does not end.
type Unended = Box<dyn FnOnce(&[u32]) -> i32 + Send>;

/// How a rank has left its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All came to their end.
    Whole,
    /// The library failed at its own.
    Failed,
    /// Some rank stands still, and all were ended.
    Unended,
}

/// A rank that is connected with the others.
pub struct Connected {
    pub rank: u32,
    pub size: u32,
    /// What the library calls itself.
    pub library: String,
    /// What it is asked with.
    pub ask: Sender<MemberInput>,
    leave: Sender<Leaving>,
    thread: JoinHandle<Left>,
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
    let body = move || {
        let world = match World::open(&choice) {
            Ok(world) => world,
            Err(error) => {
                let _whoever_connects_waits = opened_to.send(Err(error));
                return Left::Failed;
            }
        };
        let opened = Opened {
            rank: world.rank(),
            size: world.size(),
            library: world.version(),
        };
        let _whoever_connects_waits = opened_to.send(Ok(opened));
        live(world, timing, clock, &asked, tell, &leaving)
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
        thread,
    })
}

impl Connected {
    /// Ends the library when all have come to their end, for which this one has waited for so long already. Where
    /// some rank, or the library, does not within the time after which a rank is lost, `unended` is called with those
    /// ranks, and all are ended with the exit code that it gives, this process too where that takes long.
    #[must_use]
    pub fn close(
        self,
        waited: Duration,
        unended: impl FnOnce(&[u32]) -> i32 + Send + 'static,
    ) -> Left {
        self.end(Leaving::Close(waited, Box::new(unended)))
    }

    /// Ends all ranks, also those that answer nobody.
    pub fn abort(self, code: i32) {
        let _others_are_lost = self.end(Leaving::Abort(code));
    }

    fn end(self, how: Leaving) -> Left {
        let _it_has_ended = self.leave.send(how);
        let _it_has_ended_already = self.ask.send(MemberInput::Leave);
        self.thread.join().unwrap_or(Left::Failed)
    }
}

/// From the first message to the last call.
fn live(
    mut world: World,
    timing: GroupTiming,
    clock: MachineClock,
    asked: &Receiver<MemberInput>,
    mut tell: impl FnMut(GroupEvent),
    leaving: &Receiver<Leaving>,
) -> Left {
    let place = (world.rank(), world.size());
    let by = (&clock, ClockReader::own(clock));
    drive(&mut world, place, timing, by, asked, &mut tell);
    // Nothing is told any more: whoever waits for that sees it.
    drop(tell);
    // A last word may be on its way when nobody drives any more.
    let has_sent = || world.has_sent() != Ok(false);
    sys::wait_while_awake(&clock, LEAVE_NS, STEP_NS, has_sent);
    let how = leaving.recv();
    let unsaid = || Leaving::Close(Duration::ZERO, Box::new(|_| UNSAID));
    match how.unwrap_or_else(|_| unsaid()) {
        Leaving::Close(waited, unended) => {
            leave(world, &clock, (timing.lost_after_ns, waited), unended)
        }
        Leaving::Abort(code) => abort(world, code),
    }
}

/// Ends the library with all others, or all others.
fn leave(
    mut world: World,
    clock: &MachineClock,
    (lost_after_ns, waited): (u64, Duration),
    unended: Unended,
) -> Left {
    let patience_ns = lost_after_ns.saturating_add(LATER_NS * u64::from(world.rank().min(2)));
    let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
    let left_ns = match sys::is_told_twice() {
        true => PART_NS,
        false => patience_ns.saturating_sub(waited_ns).max(LEAST_NS),
    };
    let silent = part(&mut world, clock, left_ns);
    if silent.is_empty() {
        // Past its library's end nobody hears whether a process comes to its own.
        sys::end_when_still_for(lost_after_ns.saturating_add(STILL_NS));
        let _watch_over_it = watch_the_end(patience_ns, move || unended(&[]));
        return world.close().map_or(Left::Failed, |()| Left::Whole);
    }
    abort(world, unended(&silent))
}

fn abort(world: World, code: i32) -> Left {
    let _watch_over_it = watch_the_end(ABORT_NS, move || code);
    world.abort(code);
    Left::Unended
}

/// Takes what others had sent before they heard of the end: a library that has it left when it ends
/// may fail at that (MPICH 5), and a launcher that sees it fail kills all. The first says its last word
/// when it has heard that of all, so that all hear it and call the library no more at about the same time:
/// over TCP, MPICH 4 (UCX) waits in its end for an answer of each peer, which one that still asks it gives
/// at once and one that has come to its own end never does.
/// Who was waited for in vain: for others than the first that is the first, which ends all where it misses one.
fn part(world: &mut World, clock: &MachineClock, patience_ns: u64) -> Vec<u32> {
    let is_first = world.rank() == 0;
    let mut is_broken = !is_first && world.part().is_err();
    let mut silent = Vec::new();
    sys::wait_while_awake(clock, patience_ns, STEP_NS, || {
        is_broken |= world.has_heard_all().is_err();
        silent = world.unparted();
        silent.retain(|rank| is_first || *rank == 0);
        is_broken || silent.is_empty()
    });
    if is_broken {
        return Vec::new();
    }
    if silent.is_empty() {
        let _a_broken_library_ends_by_itself = if is_first { world.part() } else { Ok(()) };
        let has_parted = || world.has_parted() != Ok(false);
        sys::wait_while_awake(clock, PART_NS, STEP_NS, has_parted);
        clock.sleep_until(clock.now() + QUIET_NS);
    }
    silent
}

/// Ends the process with a code where the library does not come to its end while this is kept: it may wait for ever
/// for a rank that answers nobody.
fn watch_the_end(within_ns: u64, code: impl FnOnce() -> i32 + Send + 'static) -> Sender<()> {
    let (is_watched, watched) = channel::<()>();
    let watch = move || {
        let step = Duration::from_nanos(WATCH_STEP_NS);
        let has_ended = || watched.recv_timeout(step) == Err(RecvTimeoutError::Disconnected);
        let clock = MachineClock::monotonic();
        if !sys::over_while_awake(&clock, within_ns, WATCH_STEP_NS, has_ended) {
            sys::exit_at_once(code());
        }
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
