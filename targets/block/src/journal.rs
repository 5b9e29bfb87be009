//! Every change of a device in its order, and the states that a loss of power could have left.
//!
//! A journal begins with a device of zeros. An epoch is what lies between two flushes. A state is
//! all epochs before one, and a choice among the writes of that one: those that were stable (FUA)
//! before the last write that lives live too.

use crate::backend::{BlockBackend, Keep};
use crate::request::{DeviceResult, Errno};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::path::Path;
use units::random::split_mix;

const MAGIC: &[u8; 8] = b"FATHOMBJ";
const HEAD: usize = 16;
const ENTRY: usize = 24;
/// The longest write that is believed.
const MOST_BYTES: u32 = 64 << 20;
/// Of an epoch with more writes than that, not every choice is a state.
const ALL_CHOICES: usize = 12;
/// So many choices are drawn of such a one.
const DRAWN: u64 = 1 << ALL_CHOICES;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Cached = 1,
    Stable = 2,
    Flush = 3,
}

impl EntryKind {
    pub(crate) fn of(keep: Keep) -> Self {
        match keep {
            Keep::Cached => Self::Cached,
            Keep::Stable => Self::Stable,
        }
    }
}

/// A journal that is being written.
pub struct CrashJournal {
    file: BufWriter<File>,
}

impl CrashJournal {
    /// Begins a journal of a device of so many bytes, all zeros.
    ///
    /// # Errors
    /// There is a file already, or none can be made.
    pub fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let mut file = BufWriter::new(file);
        file.write_all(MAGIC)?;
        file.write_all(&bytes.to_le_bytes())?;
        file.flush()?;
        Ok(Self { file })
    }

    pub(crate) fn write(&mut self, kept: EntryKind, offset: u64, bytes: &[u8]) -> DeviceResult {
        self.append(kept, offset, bytes)
            .map_err(|error| Errno::of(&error))
    }

    pub(crate) fn flush(&mut self) -> DeviceResult {
        self.write(EntryKind::Flush, 0, &[])
    }

    /// Entries that a killed server had acknowledged are in the file.
    fn append(&mut self, kept: EntryKind, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut head = [0; ENTRY];
        head[..4].copy_from_slice(&(kept as u32).to_le_bytes());
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..16].copy_from_slice(&offset.to_le_bytes());
        head[16..].copy_from_slice(&check(bytes).to_le_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(bytes)?;
        self.file.flush()
    }
}

/// Tells a torn tail from an entry.
fn check(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |sum, piece| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        split_mix(sum ^ u64::from_le_bytes(word))
    })
}

struct Change {
    stable: bool,
    offset: u64,
    bytes: Vec<u8>,
}

/// A journal that was written.
pub struct CrashStates {
    size: u64,
    epochs: Vec<Vec<Change>>,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    epoch: usize,
    /// Which writes of the epoch live.
    writes: Vec<usize>,
    /// Of the last of them only so many bytes.
    torn: Option<usize>,
}

impl CrashStates {
    /// Reads a journal up to its end or to what a killed server left of an entry.
    ///
    /// # Errors
    /// No journal.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let mut head = [0; HEAD];
        file.read_exact(&mut head)?;
        if head[..8] != *MAGIC {
            return Err(io::Error::other("it is no journal of a block device"));
        }
        let size = word(&head, 8);
        let mut epochs = vec![Vec::new()];
        while let Some(change) = entry(&mut file, size) {
            match (change, epochs.last_mut()) {
                (Some(change), Some(epoch)) => epoch.push(change),
                (_, _) => epochs.push(Vec::new()),
            }
        }
        Ok(Self { size, epochs })
    }

    /// Bytes of the device.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Choices of an epoch, whole or with its last write torn.
    fn choices(epoch: &[Change]) -> (u64, u64) {
        let whole = match epoch.len() {
            0..=ALL_CHOICES => 1 << epoch.len(),
            _ => DRAWN,
        };
        let torn = epoch.iter().filter(|change| change.bytes.len() >= 1024);
        (whole, torn.count() as u64)
    }

    /// How many states there are.
    pub fn count(&self) -> u64 {
        let of = |epoch: &Vec<Change>| {
            let (whole, torn) = Self::choices(epoch);
            whole + torn
        };
        self.epochs.iter().map(of).sum()
    }

    /// The epochs with the numbers of their states, for people.
    pub fn listed(&self) -> Vec<String> {
        let mut first = 0;
        let mut out = Vec::new();
        for (number, epoch) in self.epochs.iter().enumerate() {
            let (whole, torn) = Self::choices(epoch);
            let how = if epoch.len() <= ALL_CHOICES {
                "every choice"
            } else {
                "drawn choices"
            };
            out.push(format!(
                "epoch {number}: {} writes; states {first} to {} {how}, {torn} more with a torn write",
                epoch.len(),
                first + whole - 1,
            ));
            first += whole + torn;
        }
        out
    }

    fn chosen(&self, state: u64) -> Option<Chosen> {
        let mut left = state;
        for (number, epoch) in self.epochs.iter().enumerate() {
            let (whole, torn) = Self::choices(epoch);
            if left < whole {
                return Some(Chosen {
                    epoch: number,
                    writes: subset(epoch, left, number as u64),
                    torn: None,
                });
            }
            left -= whole;
            if left < torn {
                let long = epoch.iter().enumerate();
                let mut long = long.filter(|(_, change)| change.bytes.len() >= 1024);
                let (last, change) = long.nth(usize::try_from(left).ok()?)?;
                let sectors = change.bytes.len() as u64 / 512;
                let kept = 1 + split_mix(state) % (sectors - 1);
                return Some(Chosen {
                    epoch: number,
                    writes: (0..=last).collect(),
                    torn: usize::try_from(kept * 512).ok(),
                });
            }
            left -= torn;
        }
        None
    }

    /// Puts a state on a device of zeros, and says in words which it is.
    ///
    /// # Errors
    /// There is no such state, or the device cannot.
    pub fn apply(&self, state: u64, device: &dyn BlockBackend) -> Result<String, String> {
        let chosen = self
            .chosen(state)
            .ok_or_else(|| format!("there are {} states, from 0", self.count()))?;
        let put = |change: &Change, bytes: usize| {
            device
                .write(change.offset, &change.bytes[..bytes], Keep::Cached)
                .map_err(|error| format!("{error:?}"))
        };
        for change in self.epochs[..chosen.epoch].iter().flatten() {
            put(change, change.bytes.len())?;
        }
        let epoch = &self.epochs[chosen.epoch];
        for at in &chosen.writes {
            let whole = epoch[*at].bytes.len();
            let torn = chosen.torn.filter(|_| Some(at) == chosen.writes.last());
            put(&epoch[*at], torn.unwrap_or(whole))?;
        }
        device.flush().map_err(|error| format!("{error:?}"))?;
        let torn = chosen.torn.map_or(String::new(), |bytes| {
            format!(", the last of them torn after {bytes} bytes")
        });
        Ok(format!(
            "state {state}: all before epoch {}, and of its {} writes {}{torn}",
            chosen.epoch,
            epoch.len(),
            chosen.writes.len()
        ))
    }
}

/// The writes of an epoch that live in its choice of this number: those of the bits of the number,
/// or drawn, and all stable ones before the last.
fn subset(epoch: &[Change], choice: u64, number: u64) -> Vec<usize> {
    let lives = |at: usize| {
        if epoch.len() <= ALL_CHOICES {
            choice >> at & 1 == 1
        } else {
            // The first two are none and all.
            match choice {
                0 => false,
                1 => true,
                _ => split_mix(split_mix(choice ^ number << 32) ^ at as u64) & 1 == 1,
            }
        }
    };
    let Some(last) = (0..epoch.len()).rev().find(|at| lives(*at)) else {
        return Vec::new();
    };
    (0..=last)
        .filter(|at| lives(*at) || epoch[*at].stable)
        .collect()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The next entry: a change, or `None` for a flush. `None` at the end.
fn entry(file: &mut impl Read, size: u64) -> Option<Option<Change>> {
    let mut head = [0; ENTRY];
    file.read_exact(&mut head).ok()?;
    let (first, offset, checked) = (word(&head, 0), word(&head, 8), word(&head, 16));
    let (kept, length) = (first & 0xffff_ffff, u32::try_from(first >> 32).ok()?);
    let end = offset.checked_add(u64::from(length))?;
    if length > MOST_BYTES || end > size {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).ok()?;
    if check(&bytes) != checked {
        return None;
    }
    match kept {
        1 | 2 => Some(Some(Change {
            stable: kept == 2,
            offset,
            bytes,
        })),
        3 => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryBackend, VolatileBackend};

    const BYTES: u64 = 1 << 16;

    fn journal(path: &Path, act: impl FnOnce(&VolatileBackend)) -> CrashStates {
        let memory = Box::new(MemoryBackend::new(BYTES).unwrap());
        let journal = CrashJournal::create(path, BYTES).unwrap();
        act(&VolatileBackend::new(memory, 1).with_journal(journal));
        CrashStates::open(path).unwrap()
    }

    fn state(states: &CrashStates, number: u64) -> Vec<u8> {
        let device = MemoryBackend::new(BYTES).unwrap();
        states.apply(number, &device).unwrap();
        let mut bytes = vec![0; 4096];
        device.read(0, &mut bytes).unwrap();
        bytes.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn the_states_are_all_choices_of_each_epoch_after_the_whole_of_those_before() {
        let dir = tempfile::tempdir().unwrap();
        let states = journal(&dir.path().join("j"), |device| {
            let write = |sector: u64, byte, keep| {
                device.write(sector * 512, &[byte; 512], keep).unwrap();
            };
            write(0, 1, Keep::Cached);
            write(1, 2, Keep::Cached);
            device.flush().unwrap();
            write(0, 3, Keep::Cached);
            write(2, 4, Keep::Stable);
            write(3, 5, Keep::Cached);
            device.write(4 * 512, &[6; 1024], Keep::Cached).unwrap();
        });
        assert_eq!(states.count(), 4 + 16 + 1);
        let first = |number| state(&states, number)[..6].to_vec();
        assert_eq!(first(0), [0; 6]);
        assert_eq!(first(3), [1, 2, 0, 0, 0, 0]);
        assert_eq!(first(4), [1, 2, 0, 0, 0, 0]);
        assert_eq!(first(5), [3, 2, 0, 0, 0, 0]);
        // The third lives alone, and the stable second was before it.
        assert_eq!(first(8), [1, 2, 4, 5, 0, 0]);
        assert_eq!(first(19), [3, 2, 4, 5, 6, 6]);
        assert_eq!(first(20), [3, 2, 4, 5, 6, 0]);
        let device = MemoryBackend::new(BYTES).unwrap();
        assert!(states.apply(21, &device).is_err());
        assert_eq!(states.listed().len(), 2);
    }

    #[test]
    fn an_epoch_of_many_writes_has_drawn_choices_and_a_torn_tail_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let states = journal(&path, |device| {
            for sector in 0..40 {
                device.write(sector * 512, &[7; 512], Keep::Cached).unwrap();
            }
        });
        assert_eq!(states.count(), DRAWN);
        assert_eq!(state(&states, 0), [0; 8]);
        assert_eq!(state(&states, 1), [7; 8]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(CrashStates::open(&path).unwrap().epochs[0].len(), 39);
        std::fs::write(&path, b"something else entirely").unwrap();
        assert!(CrashStates::open(&path).is_err());
    }
}
