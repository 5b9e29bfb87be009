//! The process that serves: the queues of a device that another process made and starts.

use super::control::{Commander, char_path};
use super::error::UblkError;
use super::queue::Queue;
use super::raw::QueueShape;
use super::serving::{UblkData, UblkPriority};
use super::wire::DeviceFacts;
use crate::device::{ServedDevice, SizeKeeper};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// How long the char device may take to appear.
const NODE_LIMIT: Duration = Duration::from_secs(10);

/// Serves the queues of device `number` until the driver stops it. When `end` is readable, a signal
/// has come: whoever made the device is about to stop it, so that from then on nothing is held.
///
/// # Errors
/// The device is not there, or a queue failed: then the other queues end with this process.
pub fn serve_queues(
    device: &Arc<ServedDevice>,
    number: u32,
    unprivileged: bool,
    priority: UblkPriority,
    end: OwnedFd,
) -> Result<(), UblkError> {
    let mut commander = Commander::open(unprivileged)?;
    let char_device = open_char_device(number)?;
    let facts = commander.facts(number)?;
    // A process without the right to it is served more slowly when memory is short, not wrongly.
    let _no_right_to_it = sys::stand_below_file_systems();
    let ending = Arc::new(AtomicBool::new(false));
    let (ended, ends) = channel();
    let all = Arc::new(Barrier::new(usize::from(facts.queues)));
    let carriers = match UblkData::of(facts.flags) {
        UblkData::Registered => device.carriers(),
        UblkData::Copied | UblkData::Calls => Ok(None),
    };
    let carriers = carriers.map_err(UblkError::system("open the file of the device once more"))?;
    let carriers = Arc::new(carriers);
    for queue in 0..facts.queues {
        let cpus = commander.affinity(number, queue)?;
        let char_device = char_device
            .try_clone()
            .map_err(UblkError::system("share the char device"))?;
        let lane = device.lane(facts.depth);
        let shape = shape(&facts, queue);
        let (flag, all) = (Arc::clone(&ending), Arc::clone(&all));
        let carriers = Arc::clone(&carriers);
        let queue = move || {
            priority.take()?;
            let carriers = (*carriers).as_ref();
            Queue::new(char_device, shape, lane, carriers, flag, &all).and_then(Queue::run)
        };
        start(shape.queue, cpus, queue, &ended)?;
    }
    drop((ended, char_device, commander));
    hold_nothing_at(end, Arc::clone(device), ending)?;
    wait_for_all(&ends)
}

fn shape(facts: &DeviceFacts, queue: u16) -> QueueShape {
    QueueShape {
        queue,
        depth: facts.depth,
        most_bytes: facts.most_io_bytes as usize,
        data: UblkData::of(facts.flags),
    }
}

/// One descriptor serves all queues: the driver lets the device be opened once.
fn open_char_device(number: u32) -> Result<File, UblkError> {
    let path = char_path(number);
    let mut tries = NODE_LIMIT.as_millis() / 10;
    loop {
        match File::options().read(true).write(true).open(&path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 0 => {}
            // The server before this one is not gone yet.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries > 0 => {}
            Err(source) => {
                return Err(UblkError::System {
                    what: "open the char device of the ublk device",
                    source,
                });
            }
        }
        tries -= 1;
        pause(Duration::from_millis(10));
    }
}

/// Waits a moment.
pub(super) fn pause(moment: Duration) {
    let nothing: [rustix::event::PollFd<'_>; 0] = [];
    let mut nothing = nothing;
    let moment = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(moment.subsec_nanos()),
    };
    let _it_is_tried_again = rustix::event::poll(&mut nothing, Some(&moment));
}

type Ended = (u16, io::Result<()>);

/// Requests that are held when a device is stopped would keep it from ending.
fn hold_nothing_at(
    end: OwnedFd,
    device: Arc<ServedDevice>,
    ending: Arc<AtomicBool>,
) -> Result<(), UblkError> {
    let body = move || {
        loop {
            match wait_readable([&end, &end], None) {
                Ok([true, _]) => break,
                Ok([false, _]) => {}
                Err(_) => return,
            }
        }
        device.misbehave(None, "none");
        ending.store(true, Ordering::Release);
        device.wake();
    };
    let thread = std::thread::Builder::new().name("ublk-end".to_owned());
    let started = thread.spawn(body);
    started
        .map(drop)
        .map_err(UblkError::system("start a thread"))
}

/// Who tells the kernel that the device has another size.
pub fn size_keeper(number: u32, unprivileged: bool) -> SizeKeeper {
    Box::new(move |bytes| {
        let told = Commander::open(unprivileged)
            .and_then(|mut commander| commander.update_size(number, bytes));
        told.map_err(|error| error.to_string())
    })
}

fn start(
    queue: u16,
    cpus: Vec<u32>,
    serve: impl FnOnce() -> io::Result<()> + Send + 'static,
    ended: &Sender<Ended>,
) -> Result<(), UblkError> {
    let ended = ended.clone();
    let body = move || {
        let _precise = sys::precise_sleeps();
        // A thread on the one CPU whose load it serves waits for that load, while others may be free.
        // CPUs that this process may not use leave the thread where it is.
        if cpus.len() > 1 {
            let _wherever_it_may_run = sys::set_affinity(&cpus);
        }
        // Requests of a queue that is gone would wait for ever while the others live.
        let outcome = catch_unwind(AssertUnwindSafe(serve))
            .unwrap_or_else(|_told_already| Err(io::Error::other("it panicked")));
        let _nobody_waits_at_the_end = ended.send((queue, outcome));
    };
    std::thread::Builder::new()
        .name(format!("ublk-{queue}"))
        .spawn(body)
        .map(drop)
        .map_err(UblkError::system("start a thread"))
}

/// The first queue that fails ends the process: requests of a queue without a thread would hang.
fn wait_for_all(ends: &Receiver<Ended>) -> Result<(), UblkError> {
    for (queue, outcome) in ends {
        outcome.map_err(|source| UblkError::Queue { queue, source })?;
    }
    Ok(())
}

/// Waits until one of the descriptors can be read, or the time is over; says which.
pub(super) fn wait_readable(
    descriptors: [&dyn AsFd; 2],
    limit: Option<Duration>,
) -> io::Result<[bool; 2]> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let [first, second] = descriptors.map(|descriptor| descriptor.as_fd());
    let mut entries = [
        PollFd::from_borrowed_fd(first, PollFlags::IN),
        PollFd::from_borrowed_fd(second, PollFlags::IN),
    ];
    let limit = limit.map(|limit| Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match poll(&mut entries, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(entries.map(|entry| !entry.revents().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_queue_that_fails_or_panics_ends_its_server_and_never_stops_in_silence() {
        fn refused() -> io::Result<()> {
            Err(io::Error::other("the driver refuses tag 3"))
        }
        fn panics() -> io::Result<()> {
            panic!("a queue that panics")
        }
        for fails in [refused as fn() -> io::Result<()>, panics] {
            let (ended, ends) = channel();
            // The other queue goes on as long as its server does.
            let (_lives, life) = channel::<()>();
            let serves = move || life.recv().map_err(io::Error::other);
            start(0, vec![0], serves, &ended).unwrap();
            start(1, vec![0], fails, &ended).unwrap();
            drop(ended);
            let why = wait_for_all(&ends).unwrap_err();
            assert!(matches!(why, UblkError::Queue { queue: 1, .. }), "{why}");
        }
    }
}
