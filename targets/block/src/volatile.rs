//! A volatile cache before a backend: what is written since the last flush may be lost with the
//! power, in part, in any order.
//!
//! The backend always has what reads must find; kept beside is what each unstable write replaced.
//! A crash takes all of them back, in reverse order, and does again those that the choice lets
//! live. A write that was asked to be stable (FUA) lives whatever the choice.

use crate::backend::{BlockBackend, Keep, RoomKeeper, ZeroRoom};
use crate::journal::{CrashJournal, EntryKind};
use crate::request::{DeviceResult, Errno, copy_of, zeros};
use crate::setting::held;
use std::ops::Range;
use std::sync::Mutex;
use units::random::{split_mix, unit_of};

/// One write since the last flush.
struct Unstable {
    offset: u64,
    before: Vec<u8>,
    after: Vec<u8>,
    keep: Keep,
    number: u64,
}

#[derive(Default)]
struct Cache {
    writes: Vec<Unstable>,
    /// Of all writes that changed the device.
    number: u64,
    crashes: u64,
    journal: Option<CrashJournal>,
    /// Bytes that may be kept before the keeper of the room is asked again.
    granted: u64,
    is_short: bool,
}

/// So many bytes are granted at once at most: others take memory meanwhile.
const MOST_GRANTED: u64 = 8 << 20;

/// Which unstable writes live through a loss of power.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Drop,
    Keep,
    /// Each with this probability.
    Random(f64),
    /// Of each, every piece of this length by itself with probability 1/2.
    Torn(u64),
}

impl Choice {
    fn parse(text: &str) -> Result<Self, String> {
        let share = |text: &str| {
            let percent = units::Percent::parse(text).map_err(|error| error.to_string())?;
            Ok(Self::Random(percent.0 / 100.0))
        };
        match text.split_once(':').unwrap_or((text, "")) {
            ("drop", "") => Ok(Self::Drop),
            ("keep", "") => Ok(Self::Keep),
            ("random", "") => Ok(Self::Random(0.5)),
            ("random", percent) => share(percent),
            ("torn", "512") => Ok(Self::Torn(512)),
            ("torn", "4096") => Ok(Self::Torn(4096)),
            _ => {
                Err("a choice is drop, keep, random, random:30%, torn:512 or torn:4096".to_owned())
            }
        }
    }
}

/// See the module.
pub struct VolatileBackend {
    backend: Box<dyn BlockBackend>,
    seed: u64,
    keeper: Option<RoomKeeper>,
    cache: Mutex<Cache>,
}

impl VolatileBackend {
    pub fn new(backend: Box<dyn BlockBackend>, seed: u64) -> Self {
        Self {
            backend,
            seed,
            keeper: None,
            cache: Mutex::default(),
        }
    }

    /// Refuses to keep what was not flushed where there is no memory for it, which the keeper knows.
    #[must_use]
    pub fn with_room(self, keeper: RoomKeeper) -> Self {
        Self {
            keeper: Some(keeper),
            ..self
        }
    }

    /// Permits to keep so many bytes more.
    fn grant(&self, cache: &mut Cache, bytes: u64) -> DeviceResult {
        let Some(keeper) = &self.keeper else {
            return Ok(());
        };
        if let Some(less) = cache.granted.checked_sub(bytes) {
            cache.granted = less;
            return Ok(());
        }
        let left = (keeper.left)().unwrap_or(u64::MAX);
        let is_short = left < bytes;
        let was_short = std::mem::replace(&mut cache.is_short, is_short);
        if is_short {
            cache.granted = 0;
            if !was_short {
                (keeper.refused)(left);
            }
            return Err(Errno::ENOSPC);
        }
        cache.granted = ((left - bytes) / 4).min(MOST_GRANTED);
        Ok(())
    }

    /// Writes all changes down, so that every state that a loss of power could leave can be made.
    #[must_use]
    pub fn with_journal(self, journal: CrashJournal) -> Self {
        held(&self.cache).journal = Some(journal);
        self
    }

    /// Does a change of the backend and keeps what it replaced.
    fn change(
        &self,
        offset: u64,
        after: Vec<u8>,
        keep: Keep,
        change: impl FnOnce() -> DeviceResult,
    ) -> DeviceResult {
        let mut cache = held(&self.cache);
        self.grant(&mut cache, 2 * after.len() as u64)?;
        let mut before = zeros(after.len())?;
        self.backend.read(offset, &mut before)?;
        change()?;
        if let Some(journal) = &mut cache.journal
            && let Err(error) = journal.write(EntryKind::of(keep), offset, &after)
        {
            // What is refused is not there, or states would lack what reads find.
            self.backend.write(offset, &before, Keep::Cached)?;
            return Err(error);
        }
        cache.number += 1;
        let number = cache.number;
        // A stable write before which nothing is unstable cannot be undone by anything.
        if keep == Keep::Cached || !cache.writes.is_empty() {
            cache.writes.push(Unstable {
                offset,
                before,
                after,
                keep,
                number,
            });
        }
        Ok(())
    }

    /// What a crash has left of writes is the beginning of all states after it.
    fn written_down(&self, cache: &mut Cache, writes: &[Unstable]) -> DeviceResult {
        let Some(journal) = &mut cache.journal else {
            return Ok(());
        };
        for write in writes {
            let mut left = zeros(write.after.len())?;
            self.backend.read(write.offset, &mut left)?;
            journal.write(EntryKind::Settled, write.offset, &left)?;
        }
        journal.flush()
    }

    /// A number in `[0, 1)` for a piece of a write in this crash.
    fn drawn(&self, crash: u64, number: u64, piece: u64) -> f64 {
        let bits = split_mix(split_mix(split_mix(self.seed) ^ crash) ^ number);
        unit_of(split_mix(bits ^ piece))
    }

    /// Takes back what was not stable, and does again what of it lives.
    fn lose(
        &self,
        cache: &mut Cache,
        writes: &[Unstable],
        choice: Choice,
        crash: u64,
    ) -> Result<String, String> {
        for write in writes.iter().rev() {
            self.backend
                .write(write.offset, &write.before, Keep::Cached)
                .map_err(|error| format!("{error:?}"))?;
        }
        let mut lived = 0;
        for write in writes {
            lived += u64::from(self.again(write, choice, crash)?);
        }
        self.written_down(cache, writes)
            .and_then(|()| self.backend.flush())
            .map_err(|error| format!("{error:?}"))?;
        Ok(format!("{lived} of {} unstable writes live", writes.len()))
    }

    /// Does again what of a write lives; whether anything did.
    fn again(&self, write: &Unstable, choice: Choice, crash: u64) -> Result<bool, String> {
        let put = |offset: u64, bytes: &[u8]| {
            self.backend
                .write(offset, bytes, Keep::Cached)
                .map_err(|error| format!("{error:?}"))
        };
        let lives = match choice {
            _ if write.keep == Keep::Stable => true,
            Choice::Keep => true,
            Choice::Drop => false,
            Choice::Random(share) => self.drawn(crash, write.number, 0) < share,
            Choice::Torn(length) => {
                let mut at = write.offset;
                let end = write.offset + write.after.len() as u64;
                let mut lived = false;
                while at < end {
                    // Pieces are those of the device, not of the write.
                    let to = (at / length + 1).saturating_mul(length).min(end);
                    if self.drawn(crash, write.number, at / length) < 0.5 {
                        let inside = |at: u64| usize::try_from(at - write.offset).unwrap_or(0);
                        put(at, &write.after[inside(at)..inside(to)])?;
                        lived = true;
                    }
                    at = to;
                }
                return Ok(lived);
            }
        };
        if lives {
            put(write.offset, &write.after)?;
        }
        Ok(lives)
    }
}

impl BlockBackend for VolatileBackend {
    fn size(&self) -> u64 {
        self.backend.size()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> DeviceResult {
        self.backend.read(offset, into)
    }

    fn write(&self, offset: u64, from: &[u8], keep: Keep) -> DeviceResult {
        self.change(offset, copy_of(from)?, keep, || {
            self.backend.write(offset, from, keep)
        })
    }

    fn flush(&self) -> DeviceResult {
        let mut cache = held(&self.cache);
        self.backend.flush()?;
        cache.writes.clear();
        match &mut cache.journal {
            Some(journal) => journal.flush(),
            None => Ok(()),
        }
    }

    fn zero(&self, extent: Range<u64>, room: ZeroRoom, keep: Keep) -> DeviceResult {
        /// Zeros are kept as what they are made of, in pieces of this length.
        const PIECE: u64 = 1 << 20;
        let mut at = extent.start;
        while at < extent.end {
            let (end, has_room) = self.backend.allocated(at, extent.end);
            if !has_room && keep == Keep::Cached {
                // Zeros in the place of zeros: nothing can be lost of them, however many they are.
                if room == ZeroRoom::Kept {
                    self.backend.zero(at..end, room, keep)?;
                }
                at = end;
                continue;
            }
            let to = (at + PIECE).min(extent.end);
            let after = zeros(usize::try_from(to - at).unwrap_or(0))?;
            self.change(at, after, keep, || self.backend.zero(at..to, room, keep))?;
            at = to;
        }
        Ok(())
    }

    fn allocated(&self, offset: u64, end: u64) -> (u64, bool) {
        self.backend.allocated(offset, end)
    }

    fn finish(&self) {
        if let Some(journal) = &mut held(&self.cache).journal {
            journal.finish();
        }
    }

    fn is_kept(&self) -> bool {
        self.backend.is_kept()
    }

    fn has_lost(&self) -> bool {
        self.backend.has_lost()
    }

    fn keeps_size(&self) -> Option<&'static str> {
        match held(&self.cache).journal {
            Some(_) => Some("a device with a journal keeps its size"),
            None => self.backend.keeps_size(),
        }
    }

    /// Not while something is unstable: what is undone must have its place. A journal is of one size.
    fn resize(&self, bytes: u64) -> DeviceResult {
        if held(&self.cache).journal.is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        self.flush()?;
        self.backend.resize(bytes)
    }

    fn crash(&self, choice: &str) -> Result<String, String> {
        let choice = Choice::parse(choice)?;
        let mut cache = held(&self.cache);
        cache.crashes += 1;
        let crash = cache.crashes;
        let writes = std::mem::take(&mut cache.writes);
        let end = cache.journal.as_ref().map(CrashJournal::end);
        let lost = self.lose(&mut cache, &writes, choice, crash);
        if lost.is_err() {
            // The power stays on: all is as it was before, with and without the journal.
            for write in &writes {
                let _it_took_these_bytes_before =
                    self.backend.write(write.offset, &write.after, Keep::Cached);
            }
            if let (Some(journal), Some(end)) = (&mut cache.journal, end) {
                journal.go_back(end);
            }
            cache.writes = writes;
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn what_there_is_no_memory_to_keep_is_refused_and_told_once_until_there_is() {
        let (left, told) = (Arc::new(AtomicU64::new(8192)), Arc::new(AtomicU64::new(0)));
        let (of, to) = (Arc::clone(&left), Arc::clone(&told));
        let memory = crate::MemoryBackend::new(1 << 20).unwrap();
        let device = VolatileBackend::new(Box::new(memory), 1).with_room(RoomKeeper {
            left: Box::new(move || Some(of.load(Relaxed))),
            refused: Box::new(move |_| {
                to.fetch_add(1, Relaxed);
            }),
        });
        // It is kept as it was and as it is.
        device.write(0, &[1; 4096], Keep::Cached).unwrap();
        left.store(0, Relaxed);
        for _ in 0..2 {
            let refused = device.write(0, &[2; 4096], Keep::Cached);
            assert_eq!(refused, Err(Errno::ENOSPC));
        }
        assert_eq!(told.load(Relaxed), 1);
        let mut found = [0; 4096];
        device.read(0, &mut found).unwrap();
        assert_eq!(found, [1; 4096]);
        left.store(1 << 20, Relaxed);
        device.write(0, &[3; 4096], Keep::Cached).unwrap();
        left.store(0, Relaxed);
        device.write(0, &[4; 4096], Keep::Cached).expect("granted");
        let refused = device.write(0, &[5; 300_000], Keep::Cached);
        assert_eq!((refused, told.load(Relaxed)), (Err(Errno::ENOSPC), 2));
    }
    use crate::MemoryBackend;
    use proptest::prelude::*;

    const BYTES: u64 = 16 << 10;

    fn volatile() -> VolatileBackend {
        VolatileBackend::new(Box::new(MemoryBackend::new(BYTES).unwrap()), 7)
    }

    fn image(device: &VolatileBackend) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(BYTES).unwrap()];
        device.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_flushed_or_asked_to_be_stable_lives() {
        let device = volatile();
        device.write(0, &[1; 512], Keep::Cached).unwrap();
        device.flush().unwrap();
        device.write(0, &[2; 512], Keep::Cached).unwrap();
        device.write(1024, &[3; 512], Keep::Stable).unwrap();
        device.zero(0..256, ZeroRoom::Given, Keep::Cached).unwrap();
        assert_eq!(device.crash("drop").unwrap(), "1 of 3 unstable writes live");
        let found = image(&device);
        assert_eq!((found[0], found[511], found[1024]), (1, 1, 3));
        assert_eq!(device.crash("drop").unwrap(), "0 of 0 unstable writes live");
    }

    #[test]
    fn a_torn_write_lives_by_pieces_of_the_device() {
        let device = volatile();
        device.write(100, &[9; 8000], Keep::Cached).unwrap();
        device.crash("torn:512").unwrap();
        let found = image(&device);
        let pieces = found.chunks(512).map(|piece| {
            let inside: Vec<u8> = piece.iter().copied().filter(|byte| *byte != 0).collect();
            inside.len()
        });
        let pieces: Vec<usize> = pieces.collect();
        assert!(pieces.contains(&512) && pieces[1..15].contains(&0));
        assert!(pieces[1..15].iter().all(|length| [0, 512].contains(length)));
    }

    #[test]
    fn zeros_in_the_place_of_zeros_are_not_kept_however_many_they_are() {
        let memory = Box::new(MemoryBackend::new(1 << 30).unwrap());
        let device = VolatileBackend::new(memory, 7);
        device.write(4 << 20, &[1; 4096], Keep::Cached).unwrap();
        device
            .zero(0..1 << 30, ZeroRoom::Given, Keep::Cached)
            .unwrap();
        let kept = |device: &VolatileBackend| {
            let cache = held(&device.cache);
            cache
                .writes
                .iter()
                .map(|write| write.after.len())
                .sum::<usize>()
        };
        assert!(kept(&device) < 3 << 20, "{} bytes", kept(&device));
        let found = |at| {
            let mut byte = [9];
            device.read(at, &mut byte).unwrap();
            byte[0]
        };
        assert_eq!(found(4 << 20), 0);
        device.crash("drop").unwrap();
        assert_eq!(found(4 << 20), 0);
        // What was flushed before comes back.
        device.write(4 << 20, &[1; 4096], Keep::Stable).unwrap();
        device
            .zero(0..1 << 30, ZeroRoom::Given, Keep::Cached)
            .unwrap();
        device
            .zero(0..1 << 30, ZeroRoom::Given, Keep::Cached)
            .unwrap();
        device.crash("drop").unwrap();
        assert_eq!(found(4 << 20), 1);
    }

    #[test]
    fn where_its_journal_has_no_room_the_power_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let journal = CrashJournal::create(&path, BYTES).unwrap();
        let device = volatile().with_journal(journal);
        let set = |file| held(&device.cache).journal.as_mut().unwrap().set_file(file);
        device.write(0, &[1; 512], Keep::Cached).unwrap();
        device.flush().unwrap();
        device.write(0, &[2; 512], Keep::Cached).unwrap();
        set(std::fs::File::open(&path).unwrap());
        assert!(device.crash("drop").is_err());
        assert_eq!(image(&device)[0], 2, "nothing was lost");
        set(std::fs::File::options().write(true).open(&path).unwrap());
        assert_eq!(device.crash("drop").unwrap(), "0 of 1 unstable writes live");
        assert_eq!(image(&device)[0], 1);
        device.finish();
        let states = crate::CrashStates::open(&path).unwrap();
        assert_eq!(states.flaw(), None);
        let memory = MemoryBackend::new(BYTES).unwrap();
        states.apply(states.count() - 1, &memory).unwrap();
        let mut first = [9];
        memory.read(0, &mut first).unwrap();
        assert_eq!(first, [1]);
    }

    #[test]
    fn choices_are_read_or_refused() {
        for text in [
            "drop",
            "keep",
            "random",
            "random:30%",
            "torn:512",
            "torn:4096",
        ] {
            assert!(Choice::parse(text).is_ok(), "{text}");
        }
        for text in ["", "torn", "torn:100", "random:200%", "drop:1", "nothing"] {
            assert!(Choice::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_crash_leaves_every_sector_as_some_write_since_the_flush_or_the_flush_left_it(
            before in proptest::collection::vec((0_u64..28, 1_usize..4, 1_u8..100), 0..8),
            after in proptest::collection::vec((0_u64..28, 1_usize..4, 100_u8..255, any::<bool>()), 0..12),
            choice in prop_oneof![Just("drop"), Just("keep"), Just("random"), Just("torn:512"), Just("torn:4096")],
        ) {
            let device = volatile();
            for (sector, sectors, byte) in before {
                device.write(sector * 512, &vec![byte; sectors * 512], Keep::Cached).unwrap();
            }
            device.flush().unwrap();
            let flushed = image(&device);
            let mut may: Vec<Vec<u8>> = flushed.chunks(512).map(|sector| vec![sector[0]]).collect();
            let mut last = Vec::from_iter(flushed.chunks(512).map(|sector| sector[0]));
            for (sector, sectors, byte, stable) in after {
                let keep = if stable { Keep::Stable } else { Keep::Cached };
                device.write(sector * 512, &vec![byte; sectors * 512], keep).unwrap();
                for at in usize::try_from(sector).unwrap()..usize::try_from(sector).unwrap() + sectors {
                    if stable {
                        may[at].clear();
                    }
                    may[at].push(byte);
                    last[at] = byte;
                }
            }
            device.crash(choice).unwrap();
            for (at, sector) in image(&device).chunks(512).enumerate() {
                prop_assert!(sector.iter().all(|byte| *byte == sector[0]));
                prop_assert!(may[at].contains(&sector[0]), "{choice} {at}: {} of {:?}", sector[0], may[at]);
                prop_assert!(choice != "keep" || sector[0] == last[at]);
            }
        }
    }
}
