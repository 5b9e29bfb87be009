//! The states that a loss of power could have left.

use super::{Change, JournalFlaw, Next, Reading};
use crate::backend::{BlockBackend, Keep};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use units::random::split_mix;

/// Of an epoch with more writes than that, not every choice is a state.
const ALL_CHOICES: usize = 12;
/// So many choices are drawn of such a one.
const DRAWN: u16 = 1 << ALL_CHOICES;

/// A journal that was written.
pub struct CrashStates {
    size: u64,
    epochs: Vec<Epoch>,
    flaw: Option<JournalFlaw>,
}

/// The changes between two flushes, and which of their choices are states: one that leaves what an
/// earlier one left is none.
struct Epoch {
    found: Found,
    choices: Vec<u16>,
    /// The writes that may be torn as the last one.
    torn: Vec<usize>,
}

/// What a journal has between two flushes.
struct Found {
    /// Where in the journal it begins, and where the flush behind it ends.
    begin: u64,
    end: u64,
    changes: Vec<Change>,
    /// What a crash has left, if it ended with one.
    settled: Vec<Change>,
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
    /// Reads a journal up to its end, or to what is none; which of the two, [`CrashStates::flaw`]
    /// says.
    ///
    /// # Errors
    /// No journal.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut reading = Reading::open(path)?;
        let mut epochs = vec![Found::at(reading.at)];
        let mut entries = 0;
        let flaw = loop {
            let at = reading.at;
            match (reading.next()?, epochs.last_mut()) {
                (Next::Change(change), Some(epoch)) => epoch.changes.push(change),
                (Next::Settled(change), Some(epoch)) => epoch.settled.push(change),
                (Next::Flush, Some(epoch)) => {
                    epoch.end = reading.at;
                    epochs.push(Found::at(reading.at));
                }
                (Next::Change(_) | Next::Settled(_) | Next::Flush, None) => {}
                // Entries that were taken out of its middle, or bytes that follow its end.
                (Next::End(told), _) if told != entries || reading.at != reading.length => {
                    let bytes = reading.length - at;
                    break Some(JournalFlaw::Damaged { at, bytes });
                }
                (Next::End(_), _) => break None,
                (Next::Flaw(flaw), _) => break Some(flaw),
            }
            entries += 1;
        };
        let mut before = None;
        let epochs = epochs.into_iter().enumerate().map(|(number, found)| {
            let settled = before.replace(!found.settled.is_empty());
            Epoch::new(found, number, settled == Some(false))
        });
        Ok(Self {
            size: reading.device,
            epochs: epochs.collect(),
            flaw,
        })
    }

    /// Bytes of the device.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Why the states may not be all that there were; `None` of a journal that is whole.
    pub fn flaw(&self) -> Option<JournalFlaw> {
        self.flaw
    }

    /// How many states there are.
    pub fn count(&self) -> u64 {
        self.epochs.iter().map(Epoch::count).sum()
    }

    /// The epochs with the numbers of their states, for people.
    pub fn listed(&self) -> Vec<String> {
        let mut first = 0;
        let mut out = Vec::new();
        for (number, epoch) in self.epochs.iter().enumerate() {
            let found = &epoch.found;
            let how = if found.changes.len() <= ALL_CHOICES {
                "every choice"
            } else {
                "drawn choices"
            };
            let (writes, whole) = (found.changes.len(), epoch.choices.len() as u64);
            let states = match whole {
                0 => "no states that the epochs before do not have".to_owned(),
                _ => format!("states {first} to {} {how}", first + whole - 1),
            };
            out.push(format!(
                "epoch {number}: {writes} writes; {states}, {} more with a torn write; from byte {} of the journal",
                epoch.torn.len(),
                found.begin,
            ));
            first += epoch.count();
        }
        out
    }

    fn chosen(&self, state: u64) -> Option<Chosen> {
        let mut left = usize::try_from(state).ok()?;
        for (number, epoch) in self.epochs.iter().enumerate() {
            if let Some(choice) = epoch.choices.get(left) {
                return Some(Chosen {
                    epoch: number,
                    writes: subset(&epoch.found.changes, *choice, number),
                    torn: None,
                });
            }
            left -= epoch.choices.len();
            if let Some(last) = epoch.torn.get(left) {
                return Some(Chosen {
                    epoch: number,
                    writes: (0..=*last).collect(),
                    torn: Some(torn_after(&epoch.found.changes[*last], number, *last)),
                });
            }
            left -= epoch.torn.len();
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
        let before = self.epochs[..chosen.epoch].iter();
        let before =
            before.flat_map(|Epoch { found, .. }| found.changes.iter().chain(&found.settled));
        for change in before {
            put(change, change.bytes.len())?;
        }
        let found = &self.epochs[chosen.epoch].found;
        let possible = found.possible(&chosen);
        let epoch = &found.changes;
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
            "state {state}: all before epoch {}, and of its {} writes {}{torn}{possible}",
            chosen.epoch,
            epoch.len(),
            chosen.writes.len()
        ))
    }
}

impl Found {
    fn at(begin: u64) -> Self {
        Self {
            begin,
            end: u64::MAX,
            changes: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// In words, until when a loss of power could leave this state: a stable write that it lacks
    /// was not done, and neither was the flush of an epoch of which it lacks anything.
    fn possible(&self, chosen: &Chosen) -> String {
        let lacks = |at: usize| {
            chosen.writes.binary_search(&at).is_err()
                || chosen.torn.is_some() && chosen.writes.last() == Some(&at)
        };
        let changes = self.changes.iter().enumerate();
        let mut missing = changes
            .filter(|(at, _)| lacks(*at))
            .map(|(_, change)| change);
        let missing = missing.find(|change| change.stable);
        match missing.map_or(self.end, |change| change.end) {
            u64::MAX => String::new(),
            end => format!("; until byte {end} of the journal"),
        }
    }
}

impl Epoch {
    /// `follows`: it begins with all of the epoch before it.
    fn new(found: Found, number: usize, follows: bool) -> Self {
        let changes = &found.changes;
        // Drawn twice as often as there may be states, so that those drawn again cost none.
        let all = match changes.len() {
            writes @ 0..=ALL_CHOICES => 1 << writes,
            _ => 2 * DRAWN,
        };
        let long = (0..changes.len()).filter(|at| changes[*at].bytes.len() >= 1024);
        let torn: Vec<usize> = long.collect();
        let pieces = Pieces::of(changes);
        let mut known = HashSet::new();
        // None of an epoch is what all of the one before it is.
        if follows {
            known.insert(pieces.left_by(&[], changes.len()));
        }
        let is_new = |choice: &u16| {
            let writes = subset(changes, *choice, number);
            known.insert(pieces.left_by(&writes, changes.len()))
        };
        let choices = (0..all).filter(is_new).take(usize::from(DRAWN)).collect();
        Self {
            choices,
            torn,
            found,
        }
    }

    fn count(&self) -> u64 {
        (self.choices.len() + self.torn.len()) as u64
    }
}

/// The places of an epoch between which no write begins or ends, each with the writes that cover
/// it, the last first.
struct Pieces(Vec<Vec<usize>>);

impl Pieces {
    fn of(changes: &[Change]) -> Self {
        let end = |change: &Change| change.offset + change.bytes.len() as u64;
        let edges = changes
            .iter()
            .flat_map(|change| [change.offset, end(change)]);
        let mut edges: Vec<u64> = edges.collect();
        edges.sort_unstable();
        edges.dedup();
        let mut pieces = vec![Vec::new(); edges.len()];
        for (number, change) in changes.iter().enumerate().rev() {
            let from = edges.partition_point(|edge| *edge < change.offset);
            let to = edges.partition_point(|edge| *edge < end(change));
            pieces[from..to]
                .iter_mut()
                .for_each(|piece| piece.push(number));
        }
        Self(pieces)
    }

    /// Stands for what these writes leave: whose bytes each piece has.
    fn left_by(&self, writes: &[usize], of: usize) -> u64 {
        let mut lives = vec![false; of];
        writes.iter().for_each(|at| lives[*at] = true);
        self.0.iter().fold(0, |sum, piece| {
            let owner = piece.iter().find(|at| lives[**at]);
            split_mix(sum ^ owner.map_or(0, |at| 1 + *at as u64))
        })
    }
}

/// Bytes that are left of a write that is torn: whole sectors, at least one and not all.
fn torn_after(change: &Change, epoch: usize, number: usize) -> usize {
    let sectors = change.bytes.len() / 512;
    let drawn = split_mix(split_mix(epoch as u64) ^ number as u64);
    let kept = 1 + drawn % (sectors as u64 - 1);
    usize::try_from(kept).map_or(512, |kept| kept * 512)
}

/// The writes of an epoch that live in its choice of this number: those of the bits of the number,
/// or drawn, and all stable ones before the last.
fn subset(changes: &[Change], choice: u16, number: usize) -> Vec<usize> {
    let lives = |at: usize| {
        if changes.len() <= ALL_CHOICES {
            choice >> at & 1 == 1
        } else {
            // The first two are none and all.
            match choice {
                0 => false,
                1 => true,
                _ => {
                    let drawn = split_mix(u64::from(choice) ^ (number as u64) << 32);
                    split_mix(drawn ^ at as u64) & 1 == 1
                }
            }
        }
    };
    let Some(last) = (0..changes.len()).rev().find(|at| lives(*at)) else {
        return Vec::new();
    };
    (0..=last)
        .filter(|at| lives(*at) || changes[*at].stable)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CrashJournal, MemoryBackend, VolatileBackend};
    use std::fs::File;

    const BYTES: u64 = 1 << 16;

    fn journal(path: &Path, act: impl FnOnce(&VolatileBackend)) -> CrashStates {
        let memory = Box::new(MemoryBackend::new(BYTES).unwrap());
        let journal = CrashJournal::create(path, BYTES).unwrap();
        let device = VolatileBackend::new(memory, 1).with_journal(journal);
        act(&device);
        device.finish();
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
        // Of the second epoch not none, which is all of the first, and none twice where the stable
        // write lives whether it was chosen or not.
        assert_eq!(states.count(), 4 + 9 + 1);
        assert_eq!((states.flaw(), states.listed().len()), (None, 2));
        let first = |number| state(&states, number)[..6].to_vec();
        assert_eq!(first(0), [0; 6]);
        assert_eq!(first(3), [1, 2, 0, 0, 0, 0]);
        assert_eq!(first(4), [3, 2, 0, 0, 0, 0]);
        assert_eq!(first(5), [1, 2, 4, 0, 0, 0]);
        assert_eq!(first(12), [3, 2, 4, 5, 6, 6]);
        assert_eq!(first(13), [3, 2, 4, 5, 6, 0]);
        let all: HashSet<Vec<u8>> = (0..14).map(|number| state(&states, number)).collect();
        assert_eq!(all.len(), 14);
        let device = MemoryBackend::new(BYTES).unwrap();
        assert!(states.apply(14, &device).is_err());
    }

    #[test]
    fn a_write_that_later_ones_cover_makes_no_state_of_its_own_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let states = journal(&dir.path().join("j"), |device| {
            device.write(0, &[1; 512], Keep::Cached).unwrap();
            device.write(0, &[2; 1023], Keep::Cached).unwrap();
        });
        assert_eq!(states.count(), 3);
        assert_eq!(state(&states, 2)[..2], [2, 2]);
    }

    #[test]
    fn what_a_crash_took_back_is_in_no_state_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let states = journal(&dir.path().join("j"), |device| {
            device.write(0, &[1; 512], Keep::Cached).unwrap();
            device.crash("drop").unwrap();
            device.write(512, &[2; 512], Keep::Cached).unwrap();
        });
        let all = (0..states.count()).map(|number| state(&states, number)[..2].to_vec());
        let all: Vec<Vec<u8>> = all.collect();
        assert_eq!(all, [[0, 0], [1, 0], [0, 0], [0, 2]]);
    }

    #[test]
    fn a_later_server_goes_on_behind_the_last_whole_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let device = |journal| {
            let memory = Box::new(MemoryBackend::new(BYTES).unwrap());
            VolatileBackend::new(memory, 1).with_journal(journal)
        };
        let write = |device: &VolatileBackend, sector: u64| {
            let bytes = [u8::try_from(sector).unwrap(); 512];
            device.write(sector * 512, &bytes, Keep::Cached).unwrap();
        };
        let first = device(CrashJournal::create(&path, BYTES).unwrap());
        write(&first, 1);
        first.flush().unwrap();
        write(&first, 2);
        drop(first);
        let opened = || File::options().read(true).write(true).open(&path).unwrap();
        let whole = opened().metadata().unwrap().len();
        opened().set_len(whole + 30).unwrap();
        let second = device(CrashJournal::resume(opened()).unwrap());
        write(&second, 3);
        second.finish();
        let states = CrashStates::open(&path).unwrap();
        assert_eq!((states.count(), states.flaw()), (2 + 3, None));
        assert_eq!(state(&states, 4)[..4], [0, 1, 2, 3]);
        let told = |number| {
            let memory = MemoryBackend::new(BYTES).unwrap();
            states.apply(number, &memory).unwrap()
        };
        let end = 24 + 24 + 512 + 24;
        assert!(told(0).ends_with(&format!("; until byte {end} of the journal")));
        assert!(told(4).ends_with("of its 2 writes 2"));
    }

    #[test]
    fn an_epoch_of_many_writes_has_drawn_choices() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let states = journal(&path, |device| {
            for sector in 0..40 {
                device.write(sector * 512, &[7; 512], Keep::Cached).unwrap();
            }
        });
        assert_eq!(states.count(), u64::from(DRAWN));
        assert_eq!(state(&states, 0), [0; 8]);
        assert_eq!(state(&states, 1), [7; 8]);
    }

    #[test]
    fn a_journal_that_is_cut_or_damaged_says_so() {
        const ENTRY: usize = 24;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        journal(&path, |device| {
            for sector in 0..4 {
                device.write(sector * 512, &[7; 512], Keep::Cached).unwrap();
            }
        });
        let whole = std::fs::read(&path).unwrap();
        let (first, length) = (24_usize, ENTRY + 512);
        let second = (first + length) as u64;
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let states = CrashStates::open(&path).unwrap();
            (states.epochs[0].found.changes.len(), states.flaw())
        };
        assert_eq!(read(&whole), (4, None));
        let cut = &whole[..whole.len() - ENTRY];
        assert_eq!(read(cut), (4, Some(JournalFlaw::Unended)));
        let at = ((first + 3 * length) as u64, whole.len() - ENTRY);
        let torn = Some(JournalFlaw::Torn { at: at.0 });
        assert_eq!(read(&whole[..at.1 - 1]), (3, torn));
        let last = whole.len() as u64 - ENTRY as u64;
        let torn = Some(JournalFlaw::Torn { at: last });
        assert_eq!(read(&whole[..whole.len() - 1]), (4, torn));
        let bytes = whole.len() as u64 - second;
        for (byte, to) in [(0, 9), (8, 1), (16, 0), (ENTRY + 5, 1)] {
            let mut damaged = whole.clone();
            damaged[first + length + byte] = to;
            let flaw = JournalFlaw::Damaged { at: second, bytes };
            assert_eq!(read(&damaged), (1, Some(flaw)), "{byte}");
        }
        // One entry is missing in the middle.
        let gap = [&whole[..24 + length], &whole[24 + 2 * length..]].concat();
        let at = gap.len() as u64 - ENTRY as u64;
        let bytes = ENTRY as u64;
        assert_eq!(read(&gap), (3, Some(JournalFlaw::Damaged { at, bytes })));
        // Another size of the device would give other states without a word.
        for byte in 0..24 {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(CrashStates::open(&path).is_err(), "{byte}");
        }
        std::fs::write(&path, b"something else entirely").unwrap();
        assert!(CrashStates::open(&path).is_err());
    }
}
