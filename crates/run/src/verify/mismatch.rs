//! The differences between what a block holds and what it must hold.

use super::BlockAddress;
use std::fmt;

/// One write of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Version {
    pub run_id: u64,
    pub generation: u64,
}

/// The first difference in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[error("file {file}, byte {first_bad_byte}: {kind}; expected {expected:#04x}, found {found:#04x}")]
pub(crate) struct Mismatch {
    /// Its place among the files of whoever read it; without one, its name in verified content.
    pub file: u32,
    /// Absolute offset in the file.
    ///
    /// In the header pattern, where several writes may be permitted, it is judged against the
    /// nearest permitted content.
    pub first_bad_byte: u64,
    pub kind: MismatchKind,
    pub expected: u8,
    pub found: u8,
}

/// What became of the data; all but `Corrupt` and `Holes` need the header pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MismatchKind {
    /// The bytes are of no write.
    Corrupt,
    /// Nothing in the block is of any verified write, and nobody says that there was one: somebody
    /// else's data.
    NotOurs,
    /// A whole sector is zero where data must be.
    Holes,
    /// Intact, and of another place.
    Misdirected { found_file: u32, found_offset: u64 },
    /// The block is a mixture of writes; `found` begins at the first bad byte's unit.
    Torn { found: Version, beside: Version },
    /// Intact and in place, of a write before the oldest that may be there.
    Stale {
        found_generation: u64,
        oldest: u64,
        newest: u64,
    },
    /// Intact and in place, of a write after the newest that was issued.
    Unissued { found_generation: u64, newest: u64 },
    /// Intact and in place, of another run: a write of this run is missing.
    ForeignRun { found_run: u64, expected_run: u64 },
}

/// A [`MismatchKind`] without its particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MismatchClass {
    Corrupt,
    NotOurs,
    Holes,
    Misdirected,
    Torn,
    Stale,
    Unissued,
    ForeignRun,
}

impl MismatchClass {
    pub(crate) const ALL: [Self; 8] = [
        Self::Corrupt,
        Self::NotOurs,
        Self::Holes,
        Self::Misdirected,
        Self::Torn,
        Self::Stale,
        Self::Unissued,
        Self::ForeignRun,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::NotOurs => "not written by Fathom",
            Self::Holes => "holes",
            Self::Misdirected => "misdirected",
            Self::Torn => "torn",
            Self::Stale => "stale",
            Self::Unissued => "unissued",
            Self::ForeignRun => "foreign run",
        }
    }
}

impl MismatchKind {
    pub(crate) fn class(self) -> MismatchClass {
        match self {
            Self::Corrupt => MismatchClass::Corrupt,
            Self::NotOurs => MismatchClass::NotOurs,
            Self::Holes => MismatchClass::Holes,
            Self::Misdirected { .. } => MismatchClass::Misdirected,
            Self::Torn { .. } => MismatchClass::Torn,
            Self::Stale { .. } => MismatchClass::Stale,
            Self::Unissued { .. } => MismatchClass::Unissued,
            Self::ForeignRun { .. } => MismatchClass::ForeignRun,
        }
    }
}

impl fmt::Display for MismatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class().name())?;
        match self {
            Self::Corrupt | Self::NotOurs | Self::Holes => Ok(()),
            Self::Misdirected {
                found_file,
                found_offset,
            } => {
                // Of this run the same file may have another number.
                write!(
                    f,
                    ": holds byte {found_offset} of the file that had number {found_file} when it was written"
                )
            }
            Self::Torn { found, beside } => write!(f, ": {found} beside {beside}"),
            Self::Stale {
                found_generation,
                oldest,
                newest,
            } if oldest == newest => {
                write!(f, ": generation {found_generation} instead of {newest}")
            }
            Self::Stale {
                found_generation,
                oldest,
                newest,
            } => {
                write!(
                    f,
                    ": generation {found_generation} instead of {oldest} to {newest}"
                )
            }
            Self::Unissued {
                found_generation,
                newest,
            } => {
                write!(
                    f,
                    ": generation {found_generation}, and the newest write is {newest}"
                )
            }
            Self::ForeignRun {
                found_run,
                expected_run,
            } => {
                write!(f, ": run {found_run:#x} instead of {expected_run:#x}")
            }
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "generation {} of run {:#x}",
            self.generation, self.run_id
        )
    }
}

impl Mismatch {
    pub(super) fn at(
        place: BlockAddress,
        index: usize,
        kind: MismatchKind,
        expected: u8,
        found: u8,
    ) -> Self {
        let first_bad_byte = place.offset.wrapping_add(index as u64);
        Self {
            file: place.file,
            first_bad_byte,
            kind,
            expected,
            found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_says_where_what_and_how() {
        let kind = MismatchKind::Stale {
            found_generation: 3,
            oldest: 4,
            newest: 5,
        };
        let place = BlockAddress {
            file: 1,
            offset: 8192,
        };
        assert_eq!(
            Mismatch::at(place, 40, kind, 0x04, 0x03).to_string(),
            "file 1, byte 8232: stale: generation 3 instead of 4 to 5; expected 0x04, found 0x03"
        );
        let kind = MismatchKind::Torn {
            found: Version {
                run_id: 0xa,
                generation: 1,
            },
            beside: Version {
                run_id: 0xa,
                generation: 2,
            },
        };
        assert_eq!(
            kind.to_string(),
            "torn: generation 1 of run 0xa beside generation 2 of run 0xa"
        );
    }

    #[test]
    fn classes_are_listed_in_the_order_of_their_discriminants() {
        assert!(MismatchClass::ALL.is_sorted());
    }
}
