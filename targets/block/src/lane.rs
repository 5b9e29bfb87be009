//! One queue's way to a device: what is done to requests on the way, and when they end.

use crate::device::ServedDevice;
use crate::log::{LogEntry, Treated};
use crate::lookout::Lookout;
use crate::mischief;
use crate::request::{BlockRequest, Buffer, DataPlace, DeviceResult, Errno};
use crate::setting::StandingOrders;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A thread that looks and has no longer to wait than this does nothing else meanwhile: each look
/// at whoever may come takes a microsecond.
const NEAR_NS: u64 = 5_000;

/// What became of a request that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It has ended.
    Done(DeviceResult),
    /// [`Lane::reap`] gives it back when it ends. The buffer may be used again: what a read found
    /// is in it already, and what a write brought was taken.
    Held,
}

/// A request that ends later than it was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    pub tag: u16,
    pub outcome: DeviceResult,
}

/// The way of one thread. Nothing is allocated for a request and no lock is taken, unless the
/// device was told to misbehave.
pub struct Lane {
    device: Arc<ServedDevice>,
    setting: Arc<StandingOrders>,
    waker: Option<Arc<OwnedFd>>,
    /// By when they end, then in the order in which they came.
    held: BinaryHeap<Reverse<(u64, u64, u16)>>,
    /// Requests that end when told.
    hung: Vec<u16>,
    /// What will be said of a request that is held, by its tag.
    entries: Vec<LogEntry>,
    releases: u32,
    crashes: u32,
    lookout: Lookout,
}

impl Lane {
    pub(crate) fn new(device: Arc<ServedDevice>, depth: u16, waker: Option<Arc<OwnedFd>>) -> Self {
        let nothing = mischief::plain(0, 0, &BlockRequest::NOTHING);
        Self {
            setting: Arc::default(),
            waker,
            held: BinaryHeap::with_capacity(usize::from(depth)),
            hung: Vec::with_capacity(usize::from(depth)),
            entries: vec![nothing; usize::from(depth)],
            releases: device.releases.load(Ordering::Acquire),
            crashes: device.crashes.load(Ordering::Acquire),
            lookout: Lookout::default(),
            device,
        }
    }

    pub fn device(&self) -> &Arc<ServedDevice> {
        &self.device
    }

    /// Can be read when requests that are held may end before they are due; [`Lane::reap`] reads
    /// it.
    pub fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.waker.as_ref().map(|waker| waker.as_fd())
    }

    /// Hands a request over. `tag` is below the depth and of no request that is held; `buffer` is
    /// as long as the request.
    #[inline]
    pub fn submit(
        &mut self,
        tag: u16,
        request: &BlockRequest,
        mut buffer: Buffer<'_>,
    ) -> Submitted {
        self.hear();
        if self.held() == 0 {
            // Whatever was lost or let go before it came is not its concern.
            self.releases = self.device.releases.load(Ordering::Acquire);
            self.crashes = self.device.crashes.load(Ordering::Acquire);
        }
        let arrived = self.device.now();
        let mut entry = mischief::plain(self.device.begin(), arrived, request);
        entry.generation = self.setting.generation;
        let admitted = self.device.admits(request);
        let mut wait = 0;
        let outcome = match (&self.setting.models, admitted) {
            (None, Ok(())) => self.device.perform(request, &mut buffer),
            (Some(models), Ok(())) => {
                let decided = mischief::decide(&self.setting, models, &mut entry);
                wait = decided.wait;
                mischief::perform(&self.device, &self.setting, &decided, &mut entry, buffer)
            }
            (_, Err(error)) => Err(error),
        };
        if let Err(error) = outcome {
            entry.error = error.0;
            if entry.done == Treated::Plain {
                entry.done = Treated::Refused;
            }
        }
        let hangs = entry.done == Treated::Hung;
        if wait == 0 && !hangs {
            entry.committed = self.device.now();
            self.device.end(&entry);
            return Submitted::Done(outcome);
        }
        if hangs {
            self.hung.push(tag);
        } else {
            let due = arrived.saturating_add(wait);
            self.held.push(Reverse((due, entry.number, tag)));
        }
        self.entries[usize::from(tag)] = entry;
        Submitted::Held
    }

    /// Whether requests may be held, as far as it has heard.
    #[inline]
    pub(crate) fn misbehaves(&self) -> bool {
        self.setting.models.is_some()
    }

    /// What is done to requests from now on.
    #[inline]
    fn hear(&mut self) {
        if let Some(setting) = self.device.changed(self.setting.generation) {
            self.setting = setting;
        }
    }

    /// Does a read or write whose data pass straight between the device and a file; `None` where
    /// that cannot be, and a buffer is needed: something is done to requests, or the device has no
    /// memory of its own.
    #[inline]
    pub fn pass(&mut self, request: &BlockRequest, place: DataPlace<'_>) -> Option<DeviceResult> {
        self.hear();
        if self.setting.models.is_some() || !self.device.passes(request) {
            return None;
        }
        let arrived = self.device.now();
        let mut entry = mischief::plain(self.device.begin(), arrived, request);
        entry.generation = self.setting.generation;
        let outcome = self.device.pass(request, place);
        if let Err(error) = outcome {
            (entry.error, entry.done) = (error.0, Treated::Refused);
        }
        entry.committed = self.device.now();
        self.device.end(&entry);
        Some(outcome)
    }

    /// Begins a read or write that the kernel does in the device's own file; `false` where that
    /// cannot be: something is done to requests, or the device is another. [`Lane::carried`] ends it.
    #[inline]
    pub(crate) fn carry(&mut self, tag: u16, request: &BlockRequest) -> bool {
        self.hear();
        if self.setting.models.is_some() || !self.device.carry(request) {
            return false;
        }
        let mut entry = mischief::plain(self.device.begin(), self.device.now(), request);
        entry.generation = self.setting.generation;
        self.entries[usize::from(tag)] = entry;
        true
    }

    /// What the kernel did has ended.
    #[inline]
    pub(crate) fn carried(&mut self, tag: u16, outcome: DeviceResult) {
        let entry = &mut self.entries[usize::from(tag)];
        if let Err(error) = outcome {
            (entry.error, entry.done) = (error.0, Treated::Refused);
        }
        entry.committed = self.device.now();
        self.device.carried(&entry.request);
        self.device.end(entry);
    }

    /// Gives back requests that have ended by now, the earliest first.
    pub fn reap(&mut self, out: &mut Vec<Reaped>) {
        if self.held() == 0 {
            return;
        }
        self.reap_held(out);
        if self.held.is_empty() {
            self.lookout.leave(&self.device.lookouts);
        }
    }

    fn reap_held(&mut self, out: &mut Vec<Reaped>) {
        if let Some(waker) = &self.waker {
            let _nothing_may_be_there = rustix::io::read(waker, &mut [0; 8]);
        }
        let crashes = self.device.crashes.load(Ordering::Acquire);
        if crashes != self.crashes {
            self.crashes = crashes;
            self.fail(Treated::Crashed, Errno::EIO, out);
            return;
        }
        let releases = self.device.releases.load(Ordering::Acquire);
        if releases != self.releases {
            self.releases = releases;
            let hung = std::mem::take(&mut self.hung);
            hung.into_iter().for_each(|tag| self.end(tag, out));
        }
        let mut now = self.device.now();
        while let Some(Reverse((due, _, tag))) = self.held.peek().copied() {
            while due > now && due - now < NEAR_NS && self.lookout.looks() {
                std::hint::spin_loop();
                now = self.device.now();
            }
            if due > now {
                return;
            }
            self.held.pop();
            self.end(tag, out);
        }
    }

    fn end(&mut self, tag: u16, out: &mut Vec<Reaped>) {
        let entry = &mut self.entries[usize::from(tag)];
        entry.committed = self.device.now();
        self.device.end(entry);
        let outcome = match entry.error {
            0 => Ok(()),
            error => Err(Errno(error)),
        };
        out.push(Reaped { tag, outcome });
    }

    /// Ends all that is held with an error.
    fn fail(&mut self, done: Treated, error: Errno, out: &mut Vec<Reaped>) {
        let held = std::mem::take(&mut self.held);
        let tags = held.into_iter().map(|Reverse((_, _, tag))| tag);
        let hung = std::mem::take(&mut self.hung);
        for tag in tags.chain(hung) {
            let entry = &mut self.entries[usize::from(tag)];
            (entry.done, entry.error) = (done, error.0);
            self.end(tag, out);
        }
    }

    /// Gives up what is held: the device ends.
    pub fn abandon(&mut self, out: &mut Vec<Reaped>) {
        self.fail(Treated::Refused, Errno::ESHUTDOWN, out);
    }

    /// When the next request that is held ends, on the clock of [`sys::monotonic_ns`].
    pub fn due(&self) -> Option<u64> {
        self.held.peek().map(|Reverse((due, _, _))| *due)
    }

    /// How many nanoseconds its thread may sleep before it reaps, if nobody comes: 0 where it looks
    /// whether the moment is there, `None` where no moment is waited for.
    pub fn rest(&mut self) -> Option<u64> {
        let (due, places) = (self.due(), &self.device.lookouts);
        let Some(due) = due else {
            self.lookout.leave(places);
            return None;
        };
        let left = due.saturating_sub(self.device.now());
        Some(self.lookout.rest(places, left))
    }

    /// Requests that are held.
    pub fn held(&self) -> usize {
        self.held.len() + self.hung.len()
    }
}

/// What a client leaves behind is under way no more.
impl Drop for Lane {
    fn drop(&mut self) {
        self.abandon(&mut Vec::new());
        self.lookout.leave(&self.device.lookouts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{memory, other, over, read, told, write};
    use crate::{BlockOperation, Buffer};
    use proptest::prelude::*;

    const LENGTH: usize = 4096;

    fn request(operation: BlockOperation, offset: u64) -> BlockRequest {
        BlockRequest::new(operation, offset, LENGTH as u64)
    }

    fn count(device: &ServedDevice, name: &str) -> u64 {
        let seen: serde_json::Value = serde_json::from_str(&device.seen()).unwrap();
        seen["counters"][format!("fathom_block_{name}_total")]
            .as_u64()
            .unwrap()
    }

    #[test]
    fn a_device_refuses_what_lies_beyond_its_end() {
        let device = memory(8192);
        let mut lane = device.lane(4);
        assert_eq!(read(&mut lane, 8191, 2), Err(Errno::EINVAL));
        assert_eq!(write(&mut lane, 8192, &[0]), Err(Errno::ENOSPC));
        assert_eq!(write(&mut lane, u64::MAX, &[0]), Err(Errno::ENOSPC));
        assert_eq!(read(&mut lane, 8191, 1), Ok(vec![0]));
        assert_eq!(count(&device, "refused"), 3);
    }

    #[test]
    fn errors_in_a_place_are_cured_by_writing() {
        let device = memory(1 << 20);
        told(&device, "misbehave read.errors=EIO@4KiB+4KiB:until-written");
        let mut lane = device.lane(4);
        assert_eq!(read(&mut lane, 4096, 1), Err(Errno::EIO));
        assert_eq!(write(&mut lane, 4096, &[7; 2048]), Ok(()));
        assert_eq!(read(&mut lane, 4096, 2048), Ok(vec![7; 2048]));
        assert_eq!(read(&mut lane, 4096, 2049), Err(Errno::EIO));
        assert_eq!(write(&mut lane, 0, &[8; LENGTH * 2]), Ok(()));
        assert_eq!(read(&mut lane, 0, LENGTH * 2), Ok(vec![8; LENGTH * 2]));
        assert_eq!(count(&device, "failed"), 2);
    }

    #[test]
    fn a_write_cures_what_it_has_reached_and_not_what_it_was_acknowledged_for() {
        let bad = "read.errors=EIO@64KiB+64KiB:until-written";
        let cured = |fate: &str, offset: u64| {
            let device = memory(192 << 10);
            told(&device, &format!("misbehave {bad},write.{fate}=100%"));
            let mut lane = device.lane(4);
            write(&mut lane, offset, &[7; 64 << 10]).unwrap();
            let place = (64 << 10..128 << 10).step_by(512);
            let reads = place.map(|at| read(&mut lane, at, 512));
            reads.filter(|read| read.is_ok()).count()
        };
        assert_eq!(cured("corrupt", 64 << 10), 128, "all of it came");
        assert_eq!(cured("lost", 64 << 10), 0);
        assert!((1..128).contains(&cured("torn", 64 << 10)));
        assert_eq!(cured("misdirected", 64 << 10), 0);
        // There is one other place, which is bad, and the write goes there.
        let (device, stray) = (memory(128 << 10), "write.misdirected=100%");
        told(&device, &format!("misbehave {bad},{stray}"));
        let mut lane = device.lane(4);
        write(&mut lane, 0, &[7; 64 << 10]).unwrap();
        assert_eq!(read(&mut lane, 64 << 10, 512), Ok(vec![7; 512]));
    }

    #[test]
    fn each_fate_is_what_its_name_says() {
        let device = memory(1 << 20);
        let mut lane = device.lane(4);
        for offset in (0..1 << 20).step_by(LENGTH) {
            write(&mut lane, offset, &[1; LENGTH]).unwrap();
        }
        told(&device, "misbehave write.lost=100%");
        write(&mut lane, 0, &[2; LENGTH]).unwrap();
        told(&device, "misbehave write.torn=100%");
        write(&mut lane, 8192, &[2; LENGTH]).unwrap();
        told(&device, "misbehave write.misdirected=100%");
        write(&mut lane, 16384, &[3; LENGTH]).unwrap();
        told(&device, "misbehave none");
        assert_eq!(read(&mut lane, 0, LENGTH).unwrap(), [1; LENGTH]);
        let torn = read(&mut lane, 8192, LENGTH).unwrap();
        let kept = torn.iter().position(|byte| *byte == 1).unwrap();
        assert!(kept > 0 && kept % 512 == 0 && torn[kept..].iter().all(|byte| *byte == 1));
        assert_eq!(read(&mut lane, 16384, LENGTH).unwrap(), [1; LENGTH]);
        let all = read(&mut lane, 0, 1 << 20).unwrap();
        let strays: Vec<usize> = (0..all.len()).filter(|at| all[*at] == 3).collect();
        assert_eq!((strays.len(), strays[0] % LENGTH), (LENGTH, 0));
        let counts = ["lost", "torn", "misdirected"].map(|name| count(&device, name));
        assert_eq!(counts, [1, 1, 1]);
    }

    #[test]
    fn a_stale_read_gives_what_was_there_before() {
        let device = memory(1 << 20);
        told(&device, "misbehave read.stale=100%");
        let mut lane = device.lane(4);
        write(&mut lane, 0, &[1; LENGTH]).unwrap();
        write(&mut lane, 0, &[2; LENGTH]).unwrap();
        assert_eq!(read(&mut lane, 0, LENGTH).unwrap(), [1; LENGTH]);
        told(&device, "misbehave read.corrupt=100%");
        let found = read(&mut lane, 0, LENGTH).unwrap();
        let flipped: u32 = found.iter().map(|byte| (byte ^ 2).count_ones()).sum();
        assert_eq!(flipped, 1);
        told(&device, "misbehave none");
        assert_eq!(read(&mut lane, 0, LENGTH).unwrap(), [2; LENGTH]);
    }

    #[test]
    fn a_request_that_hangs_ends_when_told_and_others_go_on() {
        let device = memory(1 << 20);
        told(&device, "misbehave hang=once:1");
        let mut lane = device.lane(4);
        let mut bytes = [0; LENGTH];
        let hung = lane.submit(
            1,
            &request(BlockOperation::Read, 0),
            Buffer::Takes(&mut bytes),
        );
        assert_eq!((hung, lane.held(), lane.due()), (Submitted::Held, 1, None));
        assert_eq!(read(&mut lane, 0, LENGTH).unwrap(), [0; LENGTH]);
        let mut out = Vec::new();
        lane.reap(&mut out);
        assert!(out.is_empty());
        told(&device, "release");
        lane.reap(&mut out);
        let outcome = Ok(());
        assert_eq!(out, [Reaped { tag: 1, outcome }]);
    }

    #[test]
    fn a_request_that_comes_after_a_crash_is_not_failed_by_it() {
        let memory = Box::new(crate::MemoryBackend::new(1 << 20).unwrap());
        let device = over(Box::new(crate::VolatileBackend::new(memory, 1)));
        let mut lane = device.lane(4);
        told(&device, "misbehave latency=1us");
        told(&device, "crash drop");
        assert_eq!(read(&mut lane, 0, 1), Ok(vec![0]));
        told(&device, "misbehave hang=100%");
        told(&device, "release");
        let mut bytes = [0; LENGTH];
        let asked = request(BlockOperation::Read, 0);
        lane.submit(1, &asked, Buffer::Takes(&mut bytes));
        lane.reap(&mut Vec::new());
        assert_eq!(lane.held(), 1, "what was let go came before it");
    }

    #[test]
    fn a_delay_is_never_shorter_than_it_was_drawn() {
        let device = memory(1 << 20);
        told(&device, "misbehave latency=uniform:100us:300us,channels=2");
        let mut lane = device.lane(16);
        let begun = sys::monotonic_ns();
        let mut bytes = [0; LENGTH];
        for tag in 0..16 {
            let asked = request(BlockOperation::Read, 0);
            let held = lane.submit(tag, &asked, Buffer::Takes(&mut bytes));
            assert_eq!(held, Submitted::Held);
        }
        let mut out = Vec::new();
        while out.len() < 16 {
            let (due, before) = (lane.due().unwrap(), out.len());
            lane.reap(&mut out);
            assert!(out.len() == before || sys::monotonic_ns() >= due);
            std::thread::yield_now();
        }
        // Sixteen through two channels take eight of the shortest waits one after the other.
        assert!(sys::monotonic_ns() - begun >= 8 * 100_000);
        assert_eq!(count(&device, "plain"), 16);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, usize, u8),
        Zero(u64, u64, bool),
        Read(u64, usize),
        Resize(u64),
        Flush,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let place = 0_u64..40_000;
        let step = prop_oneof![
            4 => (place.clone(), 1_usize..9000, any::<u8>()).prop_map(|(at, length, byte)| Step::Write(at, length, byte)),
            2 => (place.clone(), 0_u64..20_000, any::<bool>()).prop_map(|(at, length, kept)| Step::Zero(at, length, kept)),
            4 => (place.clone(), 1_usize..20_000).prop_map(|(at, length)| Step::Read(at, length)),
            1 => (1_u64..40_000).prop_map(Step::Resize),
            1 => Just(Step::Flush),
        ];
        proptest::collection::vec(step, 1..60)
    }

    fn follow(device: &Arc<ServedDevice>, steps: Vec<Step>) {
        let mut lane = device.lane(4);
        let mut model = vec![0_u8; usize::try_from(device.size()).unwrap()];
        for step in steps {
            let inside = |at: u64, length: u64| at + length <= model.len() as u64;
            let range = |at: u64, length: u64| {
                usize::try_from(at).unwrap()..usize::try_from(at + length).unwrap()
            };
            match step {
                Step::Write(at, length, byte) => {
                    let fits = inside(at, length as u64);
                    let done = write(&mut lane, at, &vec![byte; length]);
                    assert_eq!(done, if fits { Ok(()) } else { Err(Errno::ENOSPC) });
                    if fits {
                        model[range(at, length as u64)].fill(byte);
                    }
                }
                Step::Zero(at, length, keep_room) => {
                    let mut asked = BlockRequest::new(BlockOperation::Zero, at, length);
                    asked.keep_room = keep_room;
                    if other(&mut lane, &asked).is_ok() {
                        model[range(at, length)].fill(0);
                    } else {
                        assert!(!inside(at, length));
                    }
                }
                Step::Read(at, length) => match read(&mut lane, at, length) {
                    Ok(found) => assert_eq!(found, model[range(at, length as u64)]),
                    Err(error) => {
                        assert!(error == Errno::EINVAL && !inside(at, length as u64));
                    }
                },
                Step::Resize(bytes) => {
                    device
                        .resize(bytes, crate::device::Loss::Permitted)
                        .unwrap();
                    model.resize(usize::try_from(bytes).unwrap(), 0);
                }
                Step::Flush => {
                    let asked = BlockRequest::new(BlockOperation::Flush, 0, 0);
                    other(&mut lane, &asked).unwrap();
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_device_is_a_map_of_bytes_with_discard_and_resize(steps in steps()) {
            follow(&memory(30_000), steps.clone());
            let dir = tempfile::tempdir().unwrap();
            let file = crate::FileBackend::open(&dir.path().join("f"), Some(30_000), false).unwrap();
            follow(&crate::testing::over(Box::new(file)), steps);
        }
    }
}
