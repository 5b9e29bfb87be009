//! A measuring session: works that start together on one host, what each of them counts, and what
//! they share.
//!
//! Whoever starts the works opens the session; each of them has a [`Participant`]. What belongs to the
//! whole process, the machine or a device is read once, at the beginning and the end of the
//! session, and is booked by [`Session::close`]. A part that is not alone is given what its own
//! threads used.

mod observation;

pub use observation::{Counted, Measured, Observation};

use crate::account::{self, Counters, Device};
use crate::machine::{Used, Watched};
use crate::{Context, Event, Watch};
use record::{HostAccount, HostRole, ProcessAccount, Record, StorageLayer};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use sys::{Clock as _, Usage};

/// So many times as long as it measured is a time of its own.
const MUCH_LONGER: u64 = 2;

/// One or several works that start together.
pub struct Session<'a> {
    context: &'a Context,
    target: Option<Mutex<Watched>>,
    watch: Mutex<&'a mut (dyn Watch + 'a)>,
    /// Time between two intervals that the watch is told of.
    every_ns: u64,
    parts: usize,
    start: Barrier,
    books: Mutex<Books>,
}

/// What is read once for all parts.
#[derive(Default)]
struct Books {
    /// Of all parts.
    devices: Vec<Device>,
    before: Option<SharedReading>,
    after: Option<SharedReading>,
    /// The most memory of the target that an edge has shown.
    target_peak: u64,
    /// Of each part that has ended: its devices, and what its threads used.
    ended: Vec<(usize, Vec<Device>, Usage)>,
}

/// What all parts share, at one moment.
struct SharedReading {
    at: u64,
    counters: Counters,
    target: Option<Used>,
}

impl<'a> Session<'a> {
    /// Opens a session of so many works.
    #[must_use]
    pub fn open(context: &'a Context, parts: usize, watch: &'a mut (dyn Watch + 'a)) -> Self {
        Self {
            context,
            target: context
                .target
                .as_ref()
                .map(|observed| Mutex::new(context.machine.watch(observed))),
            every_ns: watch.every_ns().map_or(u64::MAX, |ns| ns.max(1)),
            watch: Mutex::new(watch),
            parts,
            start: Barrier::new(parts),
            books: Mutex::default(),
        }
    }

    /// The place of one work, by its number from 0.
    #[must_use]
    pub fn part(&self, number: usize) -> Participant<'_, 'a> {
        Participant {
            session: self,
            number,
            waits: true,
            devices: Vec::new(),
        }
    }

    fn tell(&self, event: &Event<'_>) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.on(event);
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, devices: &[Device]) -> SharedReading {
        SharedReading {
            at: self.context.clock.now(),
            counters: Counters::read(&self.context.machine, devices),
            target: self.target(),
        }
    }

    fn target(&self) -> Option<Used> {
        let watched = self.target.as_ref()?.lock();
        let mut watched = watched.unwrap_or_else(PoisonError::into_inner);
        self.context.machine.used(&mut watched)
    }

    /// The measured time of a part begins; the first to come begins that of the session.
    fn begin(&self) {
        let mut books = self.books();
        if books.before.is_none() {
            books.before = Some(self.read(&books.devices));
        }
    }

    /// An edge has shown so much memory of the target.
    fn saw_target(&self, resident_bytes: Option<u64>) {
        let mut books = self.books();
        books.target_peak = books.target_peak.max(resident_bytes.unwrap_or(0));
    }

    /// Books in the records of the parts, in the order of their numbers, what they share and with
    /// whom.
    pub fn close(self, records: &mut [Record]) {
        let parts = self.parts;
        let books = self
            .books
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
        for (number, record) in records.iter_mut().enumerate() {
            record.companions = ids.iter().filter(|id| **id != record.id).cloned().collect();
            record.generator_mut().calibration.clock_drift_ns = Some(self.context.clock.drift_ns());
            let ended = books.ended.iter().find(|(ended, _, _)| *ended == number);
            let (Some(first), Some(last), Some(ended)) = (&books.before, &books.after, ended)
            else {
                continue;
            };
            let (before, after) = (&first.counters, &last.counters);
            let window = last.at.saturating_sub(first.at);
            let is_longer = window > record.elapsed_ns.saturating_mul(MUCH_LONGER);
            let window_ns = (parts > 1 || is_longer).then_some(window);
            let (_, devices, own) = ended;
            let generator = record.generator_mut();
            generator.process = if parts == 1 {
                after.process(before)
            } else {
                account::of_threads(own)
            };
            generator.window_ns = window_ns;
            generator.machine = after.machine(before);
            let device = |device| after.device(before, device);
            generator.devices = devices.iter().filter_map(device).collect();
            generator.links = after.links(before);
            let used = last.target.as_ref().zip(first.target.as_ref());
            let used = used.map(|(after, before)| used_since(after, before, books.target_peak));
            let target = self.context.target.as_ref();
            record.hosts.extend(target.map(|target| HostAccount {
                role: HostRole::Target,
                name: Some(target.text()),
                pid: target.pid(),
                gone: used.is_none(),
                window_ns,
                process: used.unwrap_or_default(),
                ..HostAccount::default()
            }));
        }
    }
}

/// What a target used.
fn used_since(after: &Used, before: &Used, peak: u64) -> ProcessAccount {
    let grown = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
    ProcessAccount {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        max_resident_bytes: after.peak_since(
            before,
            [after.resident_bytes, before.resident_bytes]
                .into_iter()
                .flatten()
                .fold(peak, u64::max),
        ),
        storage_read_bytes: grown(after.read_bytes, before.read_bytes),
        storage_written_bytes: grown(after.written_bytes, before.written_bytes),
        ..ProcessAccount::default()
    }
}

/// The place of one work in its session: taken when it is ready, or given up when it cannot start,
/// so that the others do not wait.
pub struct Participant<'s, 'a> {
    session: &'s Session<'a>,
    number: usize,
    waits: bool,
    devices: Vec<Device>,
}

impl<'s, 'a> Participant<'s, 'a> {
    #[must_use]
    pub fn context(&self) -> &'s Context {
        self.session.context
    }

    pub fn tell(&self, event: &Event<'_>) {
        self.session.tell(event);
    }

    /// Waits until all parts are ready. Without a warm-up the measured time begins here.
    pub fn ready(&mut self, storage: Option<&StorageLayer>, warmup_ns: u64) {
        self.devices = storage.map(account::devices).unwrap_or_default();
        for device in &self.devices {
            let mut books = self.session.books();
            if !books.devices.contains(device) {
                books.devices.push(device.clone());
            }
        }
        self.take_place();
        if warmup_ns == 0 {
            self.session.begin();
        }
    }

    /// Observes from now on what began, or will begin, at `start` on the context's clock; a warm-up
    /// is part of it.
    #[must_use]
    pub fn observe<'c>(
        &self,
        counted: Counted<'c>,
        start: u64,
        warmup_ns: u64,
    ) -> Observation<'s, 'a, 'c> {
        Observation::new(self, counted, start, warmup_ns)
    }

    /// The work has ended; `own` is what its threads used. The last part ends the session.
    pub fn end(&self, own: Usage) {
        let mut books = self.session.books();
        books.ended.push((self.number, self.devices.clone(), own));
        books.after = Some(self.session.read(&books.devices));
    }

    fn take_place(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.session.start.wait();
        }
    }
}

impl Drop for Participant<'_, '_> {
    fn drop(&mut self) {
        self.take_place();
    }
}
