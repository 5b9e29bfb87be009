//! The log of a block device, read by its description (docs/block-device.md) and by nothing that
//! the instrument itself reads it with.

use std::path::Path;

const HEAD: usize = 64 << 10;
const ENTRY: usize = 80;

/// What a request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Read,
    Write,
    Other,
}

impl Asked {
    /// As records and models call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Other => "other",
        }
    }
}

/// What was done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    AsAsked,
    Lost,
    Torn,
    Misdirected,
    Stale,
    Corrupted,
    Other,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) asked: Asked,
    pub(crate) done: Done,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) arrived: u64,
    pub(crate) committed: u64,
    /// What was drawn for it.
    pub(crate) delay: u64,
    pub(crate) detail: u64,
    pub(crate) generation: u32,
    pub(crate) failed: bool,
}

impl Entry {
    /// From its arrival to its end.
    pub(crate) fn took(&self) -> u64 {
        self.committed - self.arrived
    }

    /// How long after its time it ended.
    pub(crate) fn late(&self) -> u64 {
        self.took().saturating_sub(self.delay)
    }
}

fn word(entry: &[u8; ENTRY], at: usize) -> u64 {
    let bytes = entry[at..].first_chunk().expect("it lies in the entry");
    u64::from_le_bytes(*bytes)
}

fn entry(bytes: &[u8; ENTRY]) -> Entry {
    let tail = word(bytes, 64);
    Entry {
        asked: match bytes[70] {
            0 => Asked::Read,
            1 => Asked::Write,
            _ => Asked::Other,
        },
        done: match bytes[71] {
            0 => Done::AsAsked,
            2 => Done::Lost,
            3 => Done::Torn,
            4 => Done::Misdirected,
            5 => Done::Stale,
            6 => Done::Corrupted,
            _ => Done::Other,
        },
        offset: word(bytes, 8),
        length: word(bytes, 16),
        arrived: word(bytes, 24),
        committed: word(bytes, 40),
        delay: word(bytes, 48),
        detail: word(bytes, 56),
        generation: u32::try_from(tail & 0xffff_ffff).expect("it was masked"),
        failed: tail >> 32 & 0xffff > 0,
    }
}

/// The entries of a log in the order of their numbers.
///
/// # Errors
/// The file cannot be read, or an entry is missing.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let bytes = std::fs::read(path).map_err(|error| told(&error))?;
    let (entries, rest) = bytes.get(HEAD..).unwrap_or_default().as_chunks::<ENTRY>();
    let is_whole =
        |(number, bytes): (u64, &[u8; ENTRY])| bytes[72] & 1 == 1 && word(bytes, 0) == number;
    if !rest.is_empty() || entries.is_empty() || !(0..).zip(entries).all(is_whole) {
        return Err(told(&"requests are missing"));
    }
    Ok(entries.iter().map(entry).collect())
}
