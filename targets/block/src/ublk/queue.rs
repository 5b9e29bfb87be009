//! One queue: takes requests from the driver, has them done, and gives them back.

use super::raw::{PreparedRing, QueueRing, QueueShape, RingAnswer};
use super::wire::{IoDescriptor, SECTOR, operation};
use crate::backend::Carriers;
use crate::lane::{Lane, Reaped, Submitted};
use crate::request::{BlockOperation, BlockRequest, Buffer, DeviceResult, Errno};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

/// Requests of so many bytes are given back at once: whoever asked for the first of them can go on
/// while the next are done. Fewer go back together when all that arrived are done, because each time
/// costs a call, and wakes somebody who takes the processor from the rest.
const TOGETHER: u64 = 1 << 20;
/// The driver takes no more requests of this tag: the device is being stopped.
const STOPPED: i32 = -libc::ENODEV;

pub(super) struct Queue {
    ring: QueueRing,
    lane: Lane,
    depth: u16,
    /// What is said of each tag's request when it ends well.
    results: Vec<i32>,
    /// What the kernel does of each tag's request, and how many bytes of it are done.
    carried: Vec<(BlockRequest, u32)>,
    /// Bytes of the requests that were given back since the last call of the kernel.
    unsaid: u64,
    stopped: usize,
    /// The device is about to be stopped: nothing may be held.
    ending: Arc<AtomicBool>,
}

impl Queue {
    /// Asks for the first request of each tag, when all queues have what they need: what could fail
    /// has failed before the driver knows of any of them. Called by the thread that runs the queue.
    pub(super) fn new(
        char_device: File,
        shape: QueueShape,
        lane: Lane,
        carriers: Option<&Carriers>,
        ending: Arc<AtomicBool>,
        all: &Barrier,
    ) -> io::Result<Self> {
        let ring = PreparedRing::new(char_device, shape, carriers)?;
        all.wait();
        let mut ring = ring.fetch()?;
        if let Some(waker) = lane.waker() {
            ring.watch(waker)?;
        }
        Ok(Self {
            ring,
            lane,
            depth: shape.depth,
            results: vec![0; usize::from(shape.depth)],
            carried: vec![(BlockRequest::NOTHING, 0); usize::from(shape.depth)],
            unsaid: 0,
            stopped: 0,
            ending,
        })
    }

    /// Serves until the driver takes every tag back.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut arrived = Vec::with_capacity(2 * usize::from(self.depth));
        let mut ended: Vec<Reaped> = Vec::with_capacity(usize::from(self.depth));
        while self.stopped < usize::from(self.depth) {
            self.ring.wait(self.lane.rest(), &mut arrived)?;
            self.unsaid = 0;
            for arrival in arrived.drain(..) {
                match arrival {
                    RingAnswer::Request(tag, 0) => self.serve(tag)?,
                    RingAnswer::Request(_, STOPPED) => self.stopped += 1,
                    RingAnswer::Request(tag, failure) => return Err(refused(tag, failure)),
                    RingAnswer::Carried(tag, result) => self.go_on(tag, result)?,
                }
            }
            self.lane.reap(&mut ended);
            if self.lane.held() > 0 && self.ending.load(Ordering::Acquire) {
                self.lane.abandon(&mut ended);
            }
            for Reaped { tag, outcome } in ended.drain(..) {
                self.give_back(tag, outcome)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn serve(&mut self, tag: u16) -> io::Result<()> {
        let descriptor = self.ring.descriptor(tag);
        let Some((request, result)) = request_of(&descriptor) else {
            return self.give_back(tag, Err(Errno::EOPNOTSUPP));
        };
        self.results[usize::from(tag)] = result;
        if self.carries(&descriptor) && self.lane.carry(tag, &request) {
            self.carried[usize::from(tag)] = (request, 0);
            return self.ring.carry(tag, &request, 0);
        }
        if let Some(place) = self.ring.place(tag)
            && let Some(outcome) = self.lane.pass(&request, place)
        {
            return self.give_back(tag, outcome);
        }
        let bytes = usize::try_from(request.length).unwrap_or(usize::MAX);
        let submitted = match request.operation {
            BlockOperation::Read => {
                let into = Buffer::Takes(self.ring.buffer(tag, bytes));
                let submitted = self.lane.submit(tag, &request, into);
                // The data goes at once, so that one buffer is enough for all.
                match self.ring.give(tag, bytes) {
                    Ok(()) => submitted,
                    Err(error) => self.spoilt(tag, submitted, &error),
                }
            }
            BlockOperation::Write => match self.ring.take(tag, bytes) {
                Ok(()) => {
                    let brings = Buffer::Brings(self.ring.buffer(tag, bytes));
                    self.lane.submit(tag, &request, brings)
                }
                Err(error) => Submitted::Done(Err(Errno::of(&error))),
            },
            BlockOperation::Flush | BlockOperation::Trim | BlockOperation::Zero => {
                self.lane.submit(tag, &request, Buffer::Nothing)
            }
        };
        match submitted {
            Submitted::Done(outcome) => self.give_back(tag, outcome),
            Submitted::Held => Ok(()),
        }
    }

    /// Whether the kernel can do this request in the device's own file.
    #[inline]
    fn carries(&self, descriptor: &IoDescriptor) -> bool {
        let moves_data = matches!(descriptor.operation, operation::READ | operation::WRITE);
        self.ring.registers() && moves_data && !descriptor.unregistered
    }

    /// The kernel has done a piece of a request: the rest, or its end.
    fn go_on(&mut self, tag: u16, result: i32) -> io::Result<()> {
        let (request, done) = self.carried[usize::from(tag)];
        let outcome = match u32::try_from(result) {
            Ok(moved) if u64::from(done + moved) == request.length => Ok(()),
            Ok(0) => Err(Errno::EIO),
            Ok(moved) => {
                self.carried[usize::from(tag)].1 = done + moved;
                return self.ring.carry(tag, &request, done + moved);
            }
            Err(_) if result == -libc::EINTR => return self.ring.carry(tag, &request, done),
            Err(_) => Err(Errno::of(&io::Error::from_raw_os_error(-result))),
        };
        self.lane.carried(tag, outcome);
        self.give_back(tag, outcome)
    }

    /// A read whose data could not be handed over; one that is held says so when it ends.
    #[cold]
    fn spoilt(&mut self, tag: u16, submitted: Submitted, error: &io::Error) -> Submitted {
        let errno = Errno::of(error);
        self.results[usize::from(tag)] = -i32::from(errno.0);
        match submitted {
            Submitted::Done(_) => Submitted::Done(Err(errno)),
            Submitted::Held => Submitted::Held,
        }
    }

    #[inline]
    fn give_back(&mut self, tag: u16, outcome: DeviceResult) -> io::Result<()> {
        let result = match outcome {
            Ok(()) => self.results[usize::from(tag)],
            Err(Errno(number)) => -i32::from(number),
        };
        self.ring.commit(tag, result)?;
        self.unsaid += u64::try_from(result).unwrap_or(0);
        if self.unsaid >= TOGETHER {
            self.unsaid = 0;
            self.ring.flush()?;
        }
        Ok(())
    }
}

fn refused(tag: u16, failure: i32) -> io::Error {
    let error = io::Error::from_raw_os_error(failure.saturating_neg());
    io::Error::new(
        error.kind(),
        format!("the driver refuses tag {tag}: {error}"),
    )
}

/// The request that a descriptor stands for, and what is said when it ends well; `None` for an
/// operation that was never offered.
#[inline]
fn request_of(descriptor: &IoDescriptor) -> Option<(BlockRequest, i32)> {
    let bytes = u64::from(descriptor.sectors) * SECTOR;
    let (operation, result) = match descriptor.operation {
        operation::READ => (BlockOperation::Read, bytes),
        operation::WRITE => (BlockOperation::Write, bytes),
        operation::FLUSH => (BlockOperation::Flush, 0),
        operation::DISCARD => (BlockOperation::Trim, 0),
        operation::WRITE_ZEROES => (BlockOperation::Zero, 0),
        _ => return None,
    };
    // A flush comes with a place that is none.
    let is_flush = operation == BlockOperation::Flush;
    let start = if is_flush { 0 } else { descriptor.start_sector };
    let request = BlockRequest {
        operation,
        offset: start.checked_mul(SECTOR)?,
        length: if is_flush { 0 } else { bytes },
        fua: descriptor.fua,
        keep_room: descriptor.keep_room,
    };
    Some((request, i32::try_from(result).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(operation: u8) -> IoDescriptor {
        IoDescriptor {
            operation,
            fua: operation == operation::WRITE,
            keep_room: operation == operation::WRITE_ZEROES,
            unregistered: false,
            sectors: 8,
            start_sector: 16,
        }
    }

    #[test]
    fn sectors_become_bytes_and_only_reads_and_writes_answer_with_them() {
        let seen: Vec<(BlockOperation, u64, u64, i32)> = [
            operation::READ,
            operation::WRITE,
            operation::FLUSH,
            operation::DISCARD,
            operation::WRITE_ZEROES,
        ]
        .into_iter()
        .map(|number| {
            let (request, result) = request_of(&descriptor(number)).unwrap();
            (request.operation, request.offset, request.length, result)
        })
        .collect();
        assert_eq!(
            seen,
            [
                (BlockOperation::Read, 8192, 4096, 4096),
                (BlockOperation::Write, 8192, 4096, 4096),
                (BlockOperation::Flush, 0, 0, 0),
                (BlockOperation::Trim, 8192, 4096, 0),
                (BlockOperation::Zero, 8192, 4096, 0),
            ]
        );
        let (write, _) = request_of(&descriptor(operation::WRITE)).unwrap();
        let (zeros, _) = request_of(&descriptor(operation::WRITE_ZEROES)).unwrap();
        assert!(write.fua && !write.keep_room && zeros.keep_room);
    }

    #[test]
    fn a_flush_is_done_wherever_the_kernel_says_that_it_begins() {
        let flush = IoDescriptor {
            sectors: 0,
            start_sector: u64::MAX,
            ..descriptor(operation::FLUSH)
        };
        let (request, result) = request_of(&flush).unwrap();
        assert_eq!((request.offset, request.length, result), (0, 0, 0));
        let write = IoDescriptor {
            start_sector: u64::MAX,
            ..descriptor(operation::WRITE)
        };
        assert_eq!(request_of(&write), None, "no place for a write");
    }

    #[test]
    fn an_operation_that_was_never_offered_is_refused() {
        assert_eq!(request_of(&descriptor(4)), None);
        assert_eq!(request_of(&descriptor(13)), None);
    }
}
