//! Every change of a device in its order, and the states that a loss of power could have left.
//!
//! A journal begins with a device of zeros and ends with an entry that says so. An epoch is what
//! lies between two flushes. A state is all epochs before one, and a choice among the writes of that
//! one: those that were stable (FUA) before the last write that lives live too.

mod states;

pub use states::CrashStates;

use crate::backend::Keep;
use crate::own::fresh;
use crate::request::{DeviceResult, Errno};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use units::random::split_mix;

const MAGIC: &[u8; 8] = b"FATHOMJ3";
/// The bytes of the device follow the magic, and a fingerprint of both.
const HEAD: usize = 24;
const SEAL_AT: usize = 16;
const ENTRY: usize = 24;
/// The longest write that is believed.
const MOST_BYTES: u32 = 64 << 20;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Cached = 1,
    Stable = 2,
    Flush = 3,
    /// Nothing follows: its offset is the number of entries before it.
    End = 4,
    /// What a crash has left in a place that was not stable.
    Settled = 5,
}

impl EntryKind {
    const ALL: [Self; 5] = [
        Self::Cached,
        Self::Stable,
        Self::Flush,
        Self::End,
        Self::Settled,
    ];

    pub(crate) fn of(keep: Keep) -> Self {
        match keep {
            Keep::Cached => Self::Cached,
            Keep::Stable => Self::Stable,
        }
    }
}

/// A journal that is being written.
pub struct CrashJournal {
    file: File,
    /// Bytes of whole entries with the head.
    bytes: u64,
    entries: u64,
    entry: Vec<u8>,
    refuses: Option<RefusalHeard>,
    /// The last change could not be written down.
    is_refusing: bool,
}

/// Told why changes cannot be written down: once, until one was again.
type RefusalHeard = Box<dyn Fn(&io::Error) + Send + Sync>;

/// A place behind an entry.
#[derive(Clone, Copy)]
pub(crate) struct JournalEnd {
    bytes: u64,
    entries: u64,
}

impl CrashJournal {
    /// Begins a journal of a device of so many bytes, all zeros.
    ///
    /// # Errors
    /// There is a file already, or none can be made.
    pub fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        let file = fresh(path, File::options().write(true), |file| {
            let told = [*MAGIC, bytes.to_le_bytes()];
            let seal = units::fnv1a(told.as_flattened()).to_le_bytes();
            file.write_all_at(told.as_flattened(), 0)?;
            file.write_all_at(&seal, SEAL_AT as u64)?;
            Ok(file)
        })?;
        Ok(Self {
            file,
            bytes: HEAD as u64,
            entries: 0,
            entry: Vec::new(),
            refuses: None,
            is_refusing: false,
        })
    }

    /// Goes on with a journal that a server before this one has begun. What it had acknowledged is
    /// whole; what it has left of an entry goes.
    ///
    /// # Errors
    /// No journal.
    pub fn resume(file: File) -> io::Result<Self> {
        let mut reading = Reading::of(file.try_clone()?)?;
        let mut entries = 0;
        let mut bytes = reading.at;
        while let Next::Change(_) | Next::Settled(_) | Next::Flush = reading.next()? {
            entries += 1;
            bytes = reading.at;
        }
        file.set_len(bytes)?;
        Ok(Self {
            file,
            bytes,
            entries,
            entry: Vec::new(),
            refuses: None,
            is_refusing: false,
        })
    }

    /// Tells somebody when changes cannot be written down, which are refused then.
    #[must_use]
    pub fn with_refusal(self, heard: RefusalHeard) -> Self {
        Self {
            refuses: Some(heard),
            ..self
        }
    }

    /// The file, to be handed on.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn write(&mut self, kind: EntryKind, offset: u64, bytes: &[u8]) -> DeviceResult {
        let appended = self.append(kind, offset, bytes);
        let refused_before = std::mem::replace(&mut self.is_refusing, appended.is_err());
        appended.map_err(|error| {
            if let Some(heard) = self.refuses.as_ref().filter(|_| !refused_before) {
                heard(&error);
            }
            Errno::of(&error)
        })
    }

    pub(crate) fn flush(&mut self) -> DeviceResult {
        self.write(EntryKind::Flush, 0, &[])
    }

    /// Where it ends, to go back to.
    pub(crate) fn end(&self) -> JournalEnd {
        JournalEnd {
            bytes: self.bytes,
            entries: self.entries,
        }
    }

    /// Takes back what was written since.
    pub(crate) fn go_back(&mut self, to: JournalEnd) {
        let _what_is_left_is_written_over = self.file.set_len(to.bytes);
        (self.bytes, self.entries) = (to.bytes, to.entries);
    }

    /// As if its disk were exchanged.
    #[cfg(test)]
    pub(crate) fn set_file(&mut self, file: File) {
        self.file = file;
    }

    /// Nothing more comes.
    pub(crate) fn finish(&mut self) {
        let _a_journal_without_an_end_says_so = self.append(EntryKind::End, self.entries, &[]);
    }

    /// Entries that a killed server had acknowledged are in the file. Of one that the disk does not
    /// take nothing is left, so that the next stands where it is looked for.
    fn append(&mut self, kind: EntryKind, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.entry.clear();
        self.entry.extend((kind as u32).to_le_bytes());
        self.entry.extend(length.to_le_bytes());
        self.entry.extend(offset.to_le_bytes());
        self.entry
            .extend(check(kind as u32, length, offset, bytes).to_le_bytes());
        self.entry.extend(bytes);
        if let Err(error) = self.file.write_all_at(&self.entry, self.bytes) {
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        self.bytes += self.entry.len() as u64;
        self.entries += 1;
        Ok(())
    }
}

/// Tells what is damaged or torn from an entry, its head included.
fn check(kind: u32, length: u32, offset: u64, bytes: &[u8]) -> u64 {
    let head = split_mix(split_mix(u64::from(kind) << 32 | u64::from(length)) ^ offset);
    bytes.chunks(8).fold(head, |sum, piece| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        split_mix(sum ^ u64::from_le_bytes(word))
    })
}

/// How a journal ends where its server did not end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalFlaw {
    /// Behind a whole entry.
    Unended,
    /// Within an entry, which begins here.
    Torn { at: u64 },
    /// With what is no entry; so many bytes from there on are given up.
    Damaged { at: u64, bytes: u64 },
}

impl fmt::Display for JournalFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unended => f.write_str("the journal was not ended by its server, which was killed or serves still: whether entries were cut off cannot be told"),
            Self::Torn { at } => write!(f, "the journal ends within the entry at byte {at}: it was cut, or its server was killed while it wrote; the states are those of what is before it"),
            Self::Damaged { at, bytes } => write!(f, "the journal is damaged at byte {at}: {bytes} bytes from there on are given up, and states of what was in them are missing"),
        }
    }
}

struct Change {
    /// Where in the journal it ends.
    end: u64,
    stable: bool,
    offset: u64,
    bytes: Vec<u8>,
}

/// What comes next in a journal.
enum Next {
    Change(Change),
    /// What a crash has left.
    Settled(Change),
    Flush,
    /// It was ended here after so many entries.
    End(u64),
    Flaw(JournalFlaw),
}

/// A journal that is read.
struct Reading {
    file: BufReader<File>,
    /// Bytes of the file, and those that were read.
    length: u64,
    at: u64,
    device: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl Reading {
    fn open(path: &Path) -> io::Result<Self> {
        // A pipe without a writer would be waited for.
        let file = sys::open_without_waiting(File::options().read(true), 0, path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        Self::of(file)
    }

    fn of(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut file = BufReader::new(file);
        file.rewind()?;
        let mut head = [0; HEAD];
        let read = file.read_exact(&mut head);
        if read.is_err() || head[..8] != *MAGIC {
            return Err(io::Error::other(
                "it is no journal of a block device, or one of another version",
            ));
        }
        if word(&head, SEAL_AT) != units::fnv1a(&head[..SEAL_AT]) {
            return Err(io::Error::other(
                "the head of the journal was changed or damaged: how long the device was is not known",
            ));
        }
        Ok(Self {
            file,
            length,
            at: HEAD as u64,
            device: word(&head, 8),
        })
    }

    fn next(&mut self) -> io::Result<Next> {
        let (at, left) = (self.at, self.length.saturating_sub(self.at));
        if left == 0 {
            return Ok(Next::Flaw(JournalFlaw::Unended));
        }
        if left < ENTRY as u64 {
            return Ok(Next::Flaw(JournalFlaw::Torn { at }));
        }
        let damaged = Ok(Next::Flaw(JournalFlaw::Damaged { at, bytes: left }));
        let mut head = [0; ENTRY];
        self.file.read_exact(&mut head)?;
        let (first, offset, checked) = (word(&head, 0), word(&head, 8), word(&head, 16));
        let [kind, length] =
            [first & 0xffff_ffff, first >> 32].map(|word| u32::try_from(word).ok());
        let mut kinds = EntryKind::ALL.into_iter();
        let (Some(kind), Some(length)) = (kinds.find(|known| Some(*known as u32) == kind), length)
        else {
            return damaged;
        };
        let is_change = !matches!(kind, EntryKind::Flush | EntryKind::End);
        let end = offset.checked_add(u64::from(length));
        let fits = !is_change || end.is_some_and(|end| end <= self.device);
        if length > MOST_BYTES || !fits {
            return damaged;
        }
        if left - (ENTRY as u64) < u64::from(length) {
            return Ok(Next::Flaw(JournalFlaw::Torn { at }));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact(&mut bytes)?;
        if check(kind as u32, length, offset, &bytes) != checked {
            return damaged;
        }
        self.at += ENTRY as u64 + u64::from(length);
        let change = Change {
            end: self.at,
            stable: kind == EntryKind::Stable,
            offset,
            bytes,
        };
        Ok(match kind {
            EntryKind::Cached | EntryKind::Stable => Next::Change(change),
            EntryKind::Settled => Next::Settled(change),
            EntryKind::Flush => Next::Flush,
            EntryKind::End => Next::End(offset),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn what_cannot_be_written_down_is_refused_and_told_once_until_it_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let told = Arc::new(AtomicU32::new(0));
        let hears = Arc::clone(&told);
        let journal = CrashJournal::create(&path, 4096).unwrap();
        let mut journal = journal.with_refusal(Box::new(move |_| {
            hears.fetch_add(1, Relaxed);
        }));
        // In the place of a disk that is full.
        let full = || File::open(&path).unwrap();
        let again = || File::options().write(true).open(&path).unwrap();
        journal.write(EntryKind::Cached, 0, b"kept").unwrap();
        for (expected, times) in [(1, 3), (2, 1)] {
            journal.file = full();
            for _ in 0..times {
                assert!(journal.write(EntryKind::Cached, 8, b"lost").is_err());
            }
            assert_eq!(told.load(Relaxed), expected);
            journal.file = again();
            journal.flush().unwrap();
        }
        drop(journal);
        let states = CrashStates::open(&path).unwrap();
        // None and all of the write before the first flush; nothing was written after it.
        assert_eq!(states.count(), 2, "{:?}", states.listed());
    }
}
