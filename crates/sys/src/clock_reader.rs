//! How far the clocks of two processes of one machine are apart: both read the kernel's own beside
//! theirs, which takes no message and no guess about its way.

use crate::clock::{MachineClock, PairedReading};
use crate::{memory, process};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// By how many parts in a million a clock may run apart from the kernel's, which nobody hurries: what
/// it was calibrated against is hurried by 500 at most, and the calibration is no better than that.
const RATE_PPM: u64 = 1000;
/// What was said longer ago says too little.
const MOST_AGE_NS: u64 = 1_000_000_000;

/// This process's clock, and what others see of the process where they are on the same kernel: an open
/// file whose name nobody else has. Boot ids do not say that much: copies of a machine that ran have
/// one.
#[derive(Debug)]
pub struct ClockReader {
    clock: MachineClock,
    name: ReaderName,
    seen: BTreeSet<ReaderName>,
    _shown: OwnedFd,
}

/// Where another process sees that this one is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReaderName {
    process: u32,
    descriptor: u32,
    nonce: u128,
}

impl ClockReader {
    /// This process with its clock; `None` where the kernel shows nothing of it.
    #[must_use]
    pub fn own(clock: MachineClock) -> Option<Self> {
        let nonce = process::random_bits();
        let shown = memory::memory_file(&file_name(nonce)).ok()?;
        let name = ReaderName {
            process: std::process::id(),
            descriptor: u32::try_from(shown.as_raw_fd()).ok()?,
            nonce,
        };
        name.is_seen().then_some(Self {
            clock,
            name,
            seen: BTreeSet::new(),
            _shown: shown,
        })
    }

    /// What this process says of its clock now.
    #[must_use]
    pub fn introduction(&self) -> String {
        let reading = self.clock.beside_kernel();
        Introduction {
            name: self.name,
            reading,
        }
        .to_string()
    }

    /// The least and the most that the clock of whoever says this shows beyond this one, now; `None`
    /// where it says nothing, reads the clock of another kernel or namespace of time, or is not seen
    /// here.
    pub fn apart(&mut self, said: &[u8]) -> Option<(i128, i128)> {
        let other = Introduction::read(said)?;
        if !self.seen.contains(&other.name) {
            if !other.name.is_seen() {
                return None;
            }
            self.seen.insert(other.name);
        }
        apart(self.clock.beside_kernel(), other.reading)
    }
}

/// By how much the other clock was ahead at a reading, and what both may have run apart since.
fn apart(own: PairedReading, other: PairedReading) -> Option<(i128, i128)> {
    let age = own.kernel_ns.checked_sub(other.kernel_ns)?;
    if age > MOST_AGE_NS {
        return None;
    }
    let rate = (age * RATE_PPM).div_ceil(1_000_000);
    let wrong = own
        .wrong_ns
        .checked_add(other.wrong_ns)?
        .checked_add(rate)?;
    let ahead = i128::from(other.ahead_ns) - i128::from(own.ahead_ns);
    Some((ahead - i128::from(wrong), ahead + i128::from(wrong)))
}

fn file_name(nonce: u128) -> String {
    format!("fathom-clock-{nonce:032x}")
}

impl ReaderName {
    /// Whether this process sees that one, which reads the kernel's clock as this one does.
    fn is_seen(&self) -> bool {
        let of = PathBuf::from(format!("/proc/{}", self.process));
        let link = |path: &Path| std::fs::read_link(path);
        let shown = link(&of.join(format!("fd/{}", self.descriptor)));
        let name = format!("/memfd:{} (deleted)", file_name(self.nonce));
        let own_time = link(Path::new("/proc/self/ns/time"));
        let is_one_time = match (own_time, link(&of.join("ns/time"))) {
            (Ok(own), Ok(other)) => own == other,
            // A kernel without namespaces of time has one.
            (Err(own), Err(_)) => own.kind() == io::ErrorKind::NotFound,
            _ => false,
        };
        is_one_time && shown.is_ok_and(|shown| shown == Path::new(&name))
    }
}

/// A process and its clock, as it says them to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Introduction {
    name: ReaderName,
    reading: PairedReading,
}

impl fmt::Display for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, reading) = (&self.name, &self.reading);
        write!(
            f,
            "{} {} {} {} {} {}",
            name.process,
            name.descriptor,
            name.nonce,
            reading.kernel_ns,
            reading.ahead_ns,
            reading.wrong_ns
        )
    }
}

impl Introduction {
    fn read(said: &[u8]) -> Option<Self> {
        let said = std::str::from_utf8(said).ok()?;
        let mut words = said.splitn(6, ' ');
        let mut next = || words.next();
        Some(Self {
            name: ReaderName {
                process: next()?.parse().ok()?,
                descriptor: next()?.parse().ok()?,
                nonce: next()?.parse().ok()?,
            },
            reading: PairedReading {
                kernel_ns: next()?.parse().ok()?,
                ahead_ns: next()?.parse().ok()?,
                wrong_ns: next()?.parse().ok()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock as _;
    use std::time::Duration;

    #[test]
    fn clocks_of_one_kernel_are_as_far_apart_as_they_show() {
        let clocks = [
            MachineClock::monotonic(),
            MachineClock::calibrated(true, Duration::from_millis(5)),
        ];
        let mut readers = clocks.map(|clock| ClockReader::own(clock).unwrap());
        let said = readers[1].introduction();
        let (low, high) = readers[0].apart(said.as_bytes()).unwrap();
        let before = clocks[0].now();
        let other = i128::from(clocks[1].now());
        let after = clocks[0].now();
        // Read in between, and no earlier than what was said.
        assert!(low <= other - i128::from(before) && other - i128::from(after) <= high);
        let (back_low, back_high) = {
            let said = readers[0].introduction();
            readers[1].apart(said.as_bytes()).unwrap()
        };
        assert!(back_low <= -low && -high <= back_high);
    }

    #[test]
    fn who_is_not_seen_is_not_believed() {
        let mut own = ClockReader::own(MachineClock::monotonic()).unwrap();
        let reading = own.clock.beside_kernel();
        let said = |name: ReaderName| Introduction { name, reading }.to_string();
        assert!(own.apart(said(own.name).as_bytes()).is_some());
        let (name, nobody) = (own.name, u32::MAX >> 1);
        let others = [
            ReaderName {
                nonce: name.nonce ^ 1,
                ..name
            },
            ReaderName {
                descriptor: 0,
                ..name
            },
            ReaderName {
                process: nobody,
                ..name
            },
            ReaderName { process: 1, ..name },
        ];
        for other in others {
            assert_eq!(own.apart(said(other).as_bytes()), None, "{other:?}");
        }
        let gone = ClockReader::own(MachineClock::monotonic()).unwrap();
        let said = gone.introduction();
        drop(gone);
        assert_eq!(own.apart(said.as_bytes()), None);
    }

    #[test]
    fn what_was_said_long_ago_or_from_ahead_says_nothing() {
        let at = |kernel_ns: u64| PairedReading {
            kernel_ns,
            ahead_ns: 7,
            wrong_ns: 2,
        };
        assert_eq!(apart(at(5_000), at(5_000)), Some((-4, 4)));
        assert_eq!(apart(at(2_005_000), at(5_000)), Some((-2_004, 2_004)));
        assert_eq!(apart(at(MOST_AGE_NS + 1), at(0)), None);
        assert_eq!(apart(at(5_000), at(5_001)), None);
        let vague = PairedReading {
            wrong_ns: u64::MAX,
            ..at(5_000)
        };
        assert_eq!(apart(at(5_000), vague), None);
    }

    #[test]
    fn what_says_nothing_is_no_introduction() {
        let long = "1 ".repeat(100_000);
        for said in [
            "",
            "1 2 3 4 5",
            "1 2 3 4 5 6 7",
            "1 2 3 4 x 6",
            "-1 2 3 4 5 6",
            &long,
        ] {
            assert_eq!(Introduction::read(said.as_bytes()), None, "{said:.20}");
        }
        assert_eq!(Introduction::read(&[0xff, 0x20]), None);
    }
}
