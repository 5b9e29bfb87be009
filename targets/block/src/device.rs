//! A device as its front ends share it.

use crate::backend::{BlockBackend, Carriers, Keep, ZeroRoom};
use crate::lane::Lane;
use crate::log::{DeviceLog, LogEnd, LogEntry, Treated};
use crate::lookout::Lookouts;
use crate::orders::OrdersFile;
use crate::request::{BlockOperation, BlockRequest, Buffer, DataPlace, DeviceResult, Errno};
use crate::setting::{StandingOrders, held};
use house::{Seen, Tally};
use misbehave::Misbehaviour;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use units::Bytes;

/// What a device tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Offsets and lengths are multiples of it: a power of two.
    pub block: u32,
    pub read_only: bool,
}

/// Tells whoever keeps the size of a device that it has another.
pub type SizeKeeper = Box<dyn Fn(u64) -> Result<(), String> + Send + Sync>;

/// Whether bytes that outlive the server may be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Refused,
    Permitted,
}

/// One device. Each queue or connection has a [`Lane`] to it.
pub struct ServedDevice {
    backend: Box<dyn BlockBackend>,
    geometry: Geometry,
    log: Option<DeviceLog>,
    orders: Option<OrdersFile>,
    size_keeper: Option<SizeKeeper>,
    requests: AtomicU64,
    in_flight: AtomicU64,
    tallies: [Tally; BlockOperation::ALL.len()],
    done: [AtomicU64; Treated::NAMES.len()],
    setting: Mutex<Arc<StandingOrders>>,
    generation: AtomicU32,
    /// How often requests that hang were let go, and how often the power was lost.
    pub(crate) releases: AtomicU32,
    pub(crate) crashes: AtomicU32,
    pub(crate) lookouts: Lookouts,
    wakers: Mutex<Vec<Weak<OwnedFd>>>,
    started: u64,
    clock: fn() -> u64,
}

impl ServedDevice {
    pub fn new(backend: Box<dyn BlockBackend>, geometry: Geometry) -> Self {
        Self {
            backend,
            geometry,
            log: None,
            orders: None,
            size_keeper: None,
            requests: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            tallies: Default::default(),
            done: Default::default(),
            setting: Mutex::default(),
            generation: AtomicU32::new(0),
            releases: AtomicU32::new(0),
            crashes: AtomicU32::new(0),
            lookouts: Lookouts::default(),
            wakers: Mutex::default(),
            started: sys::monotonic_ns(),
            clock: sys::monotonic_ns,
        }
    }

    /// Writes every request down, behind those that are there.
    #[must_use]
    pub fn with_log(self, log: DeviceLog) -> Self {
        Self {
            requests: AtomicU64::new(log.requests()),
            log: Some(log),
            ..self
        }
    }

    /// Writes down what it is told, and counts on where the server before it ended.
    #[must_use]
    pub fn with_orders(self, orders: OrdersFile) -> Self {
        let generation = orders.last().map_or(0, |(generation, _)| generation);
        let standing = StandingOrders::new(generation, None, self.now());
        *held(&self.setting) = Arc::new(standing);
        self.generation.store(generation, Ordering::Release);
        Self {
            orders: Some(orders),
            ..self
        }
    }

    /// Has somebody who keeps its size told of another one.
    #[must_use]
    pub fn with_size_keeper(self, keeper: SizeKeeper) -> Self {
        Self {
            size_keeper: Some(keeper),
            ..self
        }
    }

    /// Bytes of the device.
    pub fn size(&self) -> u64 {
        self.backend.size()
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// A way to the device for one thread, on which at most `depth` requests are under way at once.
    pub fn lane(self: &Arc<Self>, depth: u16) -> Lane {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let waker = eventfd(0, flags).ok().map(Arc::new);
        if let Some(waker) = &waker {
            let mut wakers = held(&self.wakers);
            wakers.retain(|waker| waker.strong_count() > 0);
            wakers.push(Arc::downgrade(waker));
        }
        Lane::new(Arc::clone(self), depth, waker)
    }

    /// Nobody asks any more: what is written of requests and changes ends here. What a log that
    /// was asked for says of itself.
    pub fn finish(&self) -> Option<LogEnd> {
        self.backend.finish();
        let requests = self.requests.load(Ordering::Relaxed);
        self.log.as_ref().map(|log| log.finish(requests))
    }

    /// Whether what was written may be lost for good, because a flush has failed.
    pub fn has_lost(&self) -> bool {
        self.backend.has_lost()
    }

    /// Where the piece that begins at `offset` ends, at most at `end`, and whether it has room.
    pub fn allocated(&self, offset: u64, end: u64) -> (u64, bool) {
        self.backend.allocated(offset, end)
    }

    /// Does other things to requests that come from now on, and says which generation that is. The
    /// text is for the log.
    pub fn misbehave(&self, models: Option<Misbehaviour>, text: &str) -> u32 {
        let mut setting = held(&self.setting);
        let generation = setting.generation + 1;
        let since = self.now();
        *setting = Arc::new(StandingOrders::new(generation, models, since));
        if let Some(log) = &self.log {
            let number = self.requests.load(Ordering::Relaxed);
            log.change(generation, since, number, text);
        }
        if let Some(orders) = &self.orders {
            orders.write(generation, text);
        }
        self.generation.store(generation, Ordering::Release);
        generation
    }

    /// Lets requests that hang end.
    pub fn release(&self) {
        self.releases.fetch_add(1, Ordering::AcqRel);
        self.wake();
    }

    /// Loses the power: what is under way fails, and the choice decides what is left of what was
    /// not stable.
    ///
    /// # Errors
    /// The device cannot, or the text is wrong.
    pub fn crash(&self, choice: &str) -> Result<String, String> {
        let told = self.backend.crash(choice)?;
        self.crashes.fetch_add(1, Ordering::AcqRel);
        self.wake();
        Ok(told)
    }

    /// Gives the device another size, which those who connect from now on see.
    ///
    /// # Errors
    /// No multiple of the block, no memory, a device that cannot, or a kernel that cannot; and bytes
    /// that would be cut off a file without a word that they may be.
    pub(crate) fn resize(&self, bytes: u64, loss: Loss) -> Result<(), String> {
        let said = |error: Errno| format!("{}: {error:?}", Bytes(bytes));
        if bytes == 0 || !bytes.is_multiple_of(u64::from(self.geometry.block)) {
            return Err(said(Errno::EINVAL));
        }
        if let Some(why) = self.backend.keeps_size() {
            return Err(format!("{}: {why}", Bytes(bytes)));
        }
        let before = self.size();
        if bytes < before && loss == Loss::Refused && self.backend.is_kept() {
            return Err(format!(
                "{}: the last {} of the file would be gone for good; `resize {bytes} discard` says that they may be",
                Bytes(bytes),
                Bytes(before - bytes)
            ));
        }
        let keep = |bytes| match &self.size_keeper {
            Some(keeper) => keeper(bytes),
            None => Ok(()),
        };
        // Nobody is told of bytes that are not there.
        if bytes < before {
            keep(bytes)?;
            return self.backend.resize(bytes).map_err(|error| {
                let _else_it_is_as_small_as_was_asked = keep(before);
                said(error)
            });
        }
        self.backend.resize(bytes).map_err(said)?;
        keep(bytes).inspect_err(|_| {
            let _more_than_is_told_does_no_harm = self.backend.resize(before);
        })
    }

    /// What was seen since the start, by kind, in the form of every served target.
    pub fn seen(&self) -> String {
        let operations = BlockOperation::ALL.into_iter().zip(&self.tallies);
        let counters = Treated::NAMES.iter().zip(&self.done).map(|(name, count)| {
            let name = format!("fathom_block_{name}_total");
            (name, count.load(Ordering::Relaxed))
        });
        let mut counters: BTreeMap<String, u64> = counters.collect();
        let generation = u64::from(self.generation.load(Ordering::Relaxed));
        counters.insert("fathom_block_generation".to_owned(), generation);
        let seen = Seen {
            target: "block",
            running_ns: self.now().saturating_sub(self.started),
            requests_in_flight: self.in_flight.load(Ordering::Relaxed),
            operations: operations
                .filter_map(|(operation, tally)| Some((operation.name(), tally.operations()?)))
                .collect(),
            counters,
        };
        serde_json::to_string(&seen).unwrap_or_default()
    }

    pub(crate) fn wake(&self) {
        for waker in held(&self.wakers).iter().filter_map(Weak::upgrade) {
            let _a_full_counter_wakes_as_well = rustix::io::write(&*waker, &1_u64.to_ne_bytes());
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// The number of the next request, which is under way now.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// What is done to requests, if that is another thing than before.
    #[inline]
    pub(crate) fn changed(&self, before: u32) -> Option<Arc<StandingOrders>> {
        let differs = self.generation.load(Ordering::Acquire) != before;
        differs.then(|| Arc::clone(&held(&self.setting)))
    }

    /// A request has ended.
    #[inline]
    pub(crate) fn end(&self, entry: &LogEntry) {
        let tally = &self.tallies[entry.request.operation as usize];
        if entry.error == 0 {
            let took = Duration::from_nanos(entry.committed.saturating_sub(entry.arrived));
            let bytes = match entry.request.operation {
                BlockOperation::Read | BlockOperation::Write => entry.request.length,
                BlockOperation::Flush | BlockOperation::Trim | BlockOperation::Zero => 0,
            };
            tally.succeeded(bytes, took);
        } else {
            tally.failed();
        }
        self.done[entry.done as usize].fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        if let Some(log) = &self.log {
            log.write(entry);
        }
    }

    /// Whether a request can be done at all.
    #[inline]
    pub(crate) fn admits(&self, request: &BlockRequest) -> DeviceResult {
        if request.operation == BlockOperation::Flush {
            return Ok(());
        }
        let block = u64::from(self.geometry.block);
        if request.operation.changes() && self.geometry.read_only {
            return Err(Errno::EPERM);
        }
        if !request.offset.is_multiple_of(block) || !request.length.is_multiple_of(block) {
            return Err(Errno::EINVAL);
        }
        let end = request.offset.checked_add(request.length);
        if end.is_some_and(|end| end <= self.size()) {
            Ok(())
        } else if request.operation == BlockOperation::Read {
            Err(Errno::EINVAL)
        } else {
            Err(Errno::ENOSPC)
        }
    }

    /// Whether a read or write can be done and its data pass straight between the device and a file.
    #[inline]
    pub(crate) fn passes(&self, request: &BlockRequest) -> bool {
        self.admits(request).is_ok() && self.backend.passes(request)
    }

    #[inline]
    pub(crate) fn pass(&self, request: &BlockRequest, place: DataPlace<'_>) -> DeviceResult {
        self.backend.pass(request, place)
    }

    /// Where the kernel may do reads and writes itself.
    pub(crate) fn carriers(&self) -> std::io::Result<Option<Carriers>> {
        self.backend.carriers()
    }

    /// A read or write begins that the kernel does in a carrier; `false` where it cannot.
    #[inline]
    pub(crate) fn carry(&self, request: &BlockRequest) -> bool {
        self.admits(request).is_ok() && self.backend.carry(request)
    }

    #[inline]
    pub(crate) fn carried(&self, request: &BlockRequest) {
        self.backend.carried(request);
    }

    /// Does what was admitted.
    #[inline]
    pub(crate) fn perform(&self, request: &BlockRequest, buffer: &mut Buffer<'_>) -> DeviceResult {
        let offset = request.offset;
        let keep = if request.fua {
            Keep::Stable
        } else {
            Keep::Cached
        };
        let room = if request.keep_room {
            ZeroRoom::Kept
        } else {
            ZeroRoom::Given
        };
        match (request.operation, buffer) {
            (BlockOperation::Read, Buffer::Takes(into)) => self.backend.read(offset, into),
            (BlockOperation::Flush, _) => self.backend.flush(),
            (BlockOperation::Write, Buffer::Brings(from)) => self.backend.write(offset, from, keep),
            (BlockOperation::Read | BlockOperation::Write, _) => Err(Errno::EINVAL),
            (BlockOperation::Trim, _) => self.backend.zero(request.extent(), ZeroRoom::Given, keep),
            (BlockOperation::Zero, _) => self.backend.zero(request.extent(), room, keep),
        }
    }
}
