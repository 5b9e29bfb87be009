//! What the device did, request by request, in a file of entries of one length.
//!
//! An entry stands at the place of its request's number, so that queues share no lock and a server
//! that is killed loses nothing that was answered. docs/block-device.md describes every byte.

use crate::own::fresh;
use crate::request::BlockRequest;
use crate::setting::held;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::FileMap;

const MAGIC: &[u8; 8] = b"FATHOMBD";
const VERSION: u32 = 3;
/// Where the head says how the log ended.
const END: u64 = 56;
/// Where it says on which host it was made, in so many bytes at most.
const HOST_AT: usize = 88;
const HOST: usize = 64;
/// Where fingerprints of what the head says of the beginning and of the end stand, one after the other.
const SEALS: usize = 160;
/// Bytes before the first entry.
const HEAD: u64 = 64 << 10;
const ENTRY_BYTES: u32 = 80;
const ENTRY: usize = ENTRY_BYTES as usize;
/// The flag of an entry that was written.
const WHOLE: u8 = 1;
/// Bytes of the description of one change, and how many there are.
const CHANGE: usize = 256;
const CHANGES: u64 = 255;
/// Bytes of its text.
const TEXT: usize = CHANGE - 24;

/// What was done to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Treated {
    /// What was asked.
    #[default]
    Plain = 0,
    /// It was answered with an error on command.
    Failed = 1,
    Lost = 2,
    Torn = 3,
    Misdirected = 4,
    Stale = 5,
    Corrupted = 6,
    /// It was not answered until told.
    Hung = 7,
    /// The device could not do it.
    Refused = 8,
    /// The power was lost meanwhile.
    Crashed = 9,
}

impl Treated {
    /// How often each of them was done stands under these names, in the same order.
    pub const NAMES: [&'static str; 10] = [
        "plain",
        "failed",
        "lost",
        "torn",
        "misdirected",
        "stale",
        "corrupted",
        "hung",
        "refused",
        "crashed",
    ];
}

/// One request of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub number: u64,
    pub request: BlockRequest,
    /// On the monotonic clock, as all times.
    pub arrived: u64,
    pub dispatched: u64,
    pub committed: u64,
    /// What was drawn for it.
    pub delay: u64,
    pub generation: u32,
    pub done: Treated,
    /// How it ended; 0 for well.
    pub error: u16,
    /// Torn: bytes that were kept. Misdirected: where they went. Corrupted: the byte of the device.
    pub detail: u64,
}

impl LogEntry {
    fn encoded(&self) -> [u8; ENTRY] {
        let mut out = [0; ENTRY];
        let numbers = [
            self.number,
            self.request.offset,
            self.request.length,
            self.arrived,
            self.dispatched,
            self.committed,
            self.delay,
            self.detail,
        ];
        for (place, number) in out.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        out[64..68].copy_from_slice(&self.generation.to_le_bytes());
        out[68..70].copy_from_slice(&self.error.to_le_bytes());
        out[70] = self.request.operation as u8;
        out[71] = self.done as u8;
        out[72] = WHOLE | u8::from(self.request.fua) << 1 | u8::from(self.request.keep_room) << 2;
        out
    }
}

/// The file.
pub struct DeviceLog {
    file: File,
    map: FileMap,
    capacity: u64,
    /// One more than the highest number that was written.
    end: AtomicU64,
    /// Entries that there was room for, and that the disk did not take.
    unwritten: AtomicU64,
    changes: Mutex<Changes>,
}

/// Descriptions of changes.
#[derive(Default)]
struct Changes {
    written: u64,
    unwritten: u64,
}

/// What a log says of itself at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Requests that came, with an entry or without.
    pub requests: u64,
    /// Those for which there was no room.
    pub beyond: u64,
    /// Those that the disk did not take.
    pub unwritten: u64,
    /// Changes that are not described.
    pub changes: u64,
}

impl fmt::Display for LogEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.requests;
        if self.beyond > 0 {
            let room = requests - self.beyond;
            writeln!(
                f,
                "the log is incomplete: {requests} requests came, and it has room for {room}; give more --log-requests"
            )?;
        }
        if self.unwritten > 0 {
            writeln!(
                f,
                "the log is incomplete: of {requests} requests the disk did not take {}",
                self.unwritten
            )?;
        }
        if self.changes > 0 {
            writeln!(
                f,
                "the log is incomplete: {} changes of misbehaviour are not described in it",
                self.changes
            )?;
        }
        Ok(())
    }
}

impl DeviceLog {
    /// Makes a file for so many requests; it takes room as they come. Later ones are not logged.
    ///
    /// # Errors
    /// There is a file already, or none can be made.
    pub fn create(path: &Path, capacity: u64, device_bytes: u64) -> io::Result<Self> {
        sys::catch_bus_errors();
        fresh(path, File::options().read(true).write(true), |file| {
            Self::begin(file, capacity, device_bytes)
        })
    }

    fn begin(file: File, capacity: u64, device_bytes: u64) -> io::Result<Self> {
        let bytes = capacity
            .checked_mul(ENTRY as u64)
            .and_then(|bytes| bytes.checked_add(HEAD))
            .ok_or_else(|| io::Error::other("the log is too long"))?;
        file.set_len(bytes)?;
        let map = FileMap::new(file.try_clone()?, bytes, true)?;
        let since_1970 = sys::clock::wall_time()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
            });
        let mut head = Vec::from(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend(ENTRY_BYTES.to_le_bytes());
        for number in [
            HEAD,
            capacity,
            sys::monotonic_ns(),
            since_1970,
            device_bytes,
        ] {
            head.extend(number.to_le_bytes());
        }
        head.extend([0; 32]);
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().as_bytes();
        let host = &host[..host.len().min(HOST)];
        head.extend(u32::try_from(host.len()).expect("it was cut").to_le_bytes());
        head.extend(host);
        head.resize(SEALS, 0);
        let seal = seal_of_beginning(&head);
        head.extend(seal.to_le_bytes());
        file.write_all_at(&head, 0)?;
        Ok(Self {
            file,
            map,
            capacity,
            end: AtomicU64::new(0),
            unwritten: AtomicU64::new(0),
            changes: Mutex::default(),
        })
    }

    /// Goes on with a file that a server before this one has begun.
    ///
    /// # Errors
    /// It is no such file.
    pub fn resume(file: File) -> io::Result<Self> {
        sys::catch_bus_errors();
        let mut head = [0; SEALS + 8];
        file.read_exact_at(&mut head, 0)?;
        if head[..8] != *MAGIC {
            return Err(io::Error::other("it is no log of a block device"));
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if word(SEALS) != seal_of_beginning(&head[..SEALS]) {
            return Err(io::Error::other("the head of the log was changed"));
        }
        let capacity = word(24);
        let bytes = HEAD + capacity.saturating_mul(ENTRY as u64);
        file.set_len(bytes)?;
        let map = FileMap::new(file.try_clone()?, bytes, true)?;
        let mut changes = 0;
        while changes < CHANGES {
            let mut time = [0; 8];
            file.read_exact_at(&mut time, (changes + 1) * CHANGE as u64)?;
            if time == [0; 8] {
                break;
            }
            changes += 1;
        }
        Ok(Self {
            end: AtomicU64::new(last_entry(&file, capacity)?),
            file,
            map,
            capacity,
            unwritten: AtomicU64::new(0),
            changes: Mutex::new(Changes {
                written: changes,
                unwritten: 0,
            }),
        })
    }

    /// One more than the number of the last request that was written down.
    pub(crate) fn requests(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// The file, to be handed on.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes down what was done.
    #[inline]
    pub fn write(&self, entry: &LogEntry) {
        if entry.number < self.capacity {
            let place = HEAD + entry.number * ENTRY as u64;
            // A disk that is full loses entries, and not requests.
            if self.map.write(place, &entry.encoded()) < 0 {
                self.unwritten.fetch_add(1, Relaxed);
            }
            self.end.fetch_max(entry.number + 1, Relaxed);
        }
    }

    /// Writes down that the device does other things to requests from now on.
    pub fn change(&self, generation: u32, at: u64, number: u64, text: &str) {
        let mut changes = held(&self.changes);
        if changes.written >= CHANGES {
            changes.unwritten += 1;
            return;
        }
        changes.written += 1;
        let mut out = [0; CHANGE];
        out[..8].copy_from_slice(&at.to_le_bytes());
        out[8..16].copy_from_slice(&number.to_le_bytes());
        out[16..20].copy_from_slice(&generation.to_le_bytes());
        let text = &text.as_bytes()[..text.len().min(TEXT)];
        let length = u32::try_from(text.len()).expect("it was cut");
        out[20..24].copy_from_slice(&length.to_le_bytes());
        out[24..24 + text.len()].copy_from_slice(text);
        if self.map.write(changes.written * CHANGE as u64, &out) < 0 {
            changes.unwritten += 1;
        }
    }

    /// Nothing more comes after so many requests: the end of the file is behind the last entry,
    /// and the head says what is missing.
    pub fn finish(&self, requests: u64) -> LogEnd {
        let end = LogEnd {
            requests,
            beyond: requests.saturating_sub(self.capacity),
            unwritten: self.unwritten.load(Relaxed),
            changes: held(&self.changes).unwritten,
        };
        let missing = end.beyond + end.unwritten;
        let told = [1, requests, missing, end.changes].map(u64::to_le_bytes);
        // The page of the head is there since the beginning, so that a full disk takes it.
        let told = told.as_flattened();
        let seal = units::fnv1a(told).to_le_bytes();
        let _an_end_that_is_not_told_is_none = self.map.write(END, told);
        let _nor_is_one_without_its_seal = self.map.write(SEALS as u64 + 8, &seal);
        let bytes = HEAD + self.end.load(Relaxed) * ENTRY as u64;
        let _a_longer_file_is_as_good = self.file.set_len(bytes);
        end
    }
}

/// Of all that the head says but for the end.
fn seal_of_beginning(head: &[u8]) -> u64 {
    let end = usize::try_from(END).expect("a place in the head");
    units::fnv1a(&[&head[..end], &head[HOST_AT..]].concat())
}

/// One more than the number of the last entry that is whole. What was never written is a hole of the
/// file.
fn last_entry(file: &File, capacity: u64) -> io::Result<u64> {
    let mut at = HEAD;
    let mut end = HEAD;
    while let Some(data) = sys::next_data(file, at)? {
        end = sys::next_hole(file, data)?.unwrap_or(data + 1);
        at = end;
    }
    let mut last = end.saturating_sub(HEAD).div_ceil(ENTRY as u64);
    last = last.min(capacity);
    while last > 0 {
        let mut entry = [0; ENTRY];
        file.read_exact_at(&mut entry, HEAD + (last - 1) * ENTRY as u64)?;
        if entry[72] & WHOLE != 0 {
            break;
        }
        last -= 1;
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, told};
    use crate::{Geometry, MemoryBackend, ServedDevice};
    use std::sync::Arc;

    #[test]
    fn a_later_server_writes_behind_what_the_last_one_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = DeviceLog::create(&path, 1 << 20, 4096).unwrap();
        let device = |log| {
            let geometry = Geometry {
                block: 1,
                read_only: false,
            };
            let memory = Box::new(MemoryBackend::new(4096).unwrap());
            Arc::new(ServedDevice::new(memory, geometry).with_log(log))
        };
        let first = device(log);
        told(&first, "misbehave errors=nth:3:EIO");
        for _ in 0..1000 {
            let _it_may_be_told_to_fail = read(&mut first.lane(1), 0, 1);
        }
        drop(first);
        let opened = || File::options().read(true).write(true).open(&path).unwrap();
        let log = DeviceLog::resume(opened()).unwrap();
        assert_eq!((log.requests(), held(&log.changes).written), (1000, 1));
        let second = device(log);
        told(&second, "misbehave none");
        read(&mut second.lane(1), 0, 1).unwrap();
        second.finish();
        let bytes = std::fs::read(&path).unwrap();
        let end = usize::try_from(HEAD).unwrap() + 1001 * ENTRY;
        assert_eq!(bytes.len(), end);
        assert_eq!(bytes[end - ENTRY..][..8], 1000_u64.to_le_bytes());
        assert_eq!(&bytes[2 * CHANGE + 24..][..4], b"none");
    }
}
