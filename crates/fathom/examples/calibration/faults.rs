//! What verification must find, from the log of the device alone: a model of its sectors to which
//! every write is done as the log says that it was, and of which every read is judged.

use crate::log::{Asked, Done, Entry};
use std::collections::BTreeMap;

const SECTOR: u64 = 512;

/// What a sector holds of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    /// The number of the write.
    by: usize,
    /// The sector for which it was.
    of: u64,
    /// A bit of it was flipped.
    damaged: bool,
    /// It is of the filling, which is another run.
    filled: bool,
}

/// The sectors of a device, each with what it holds and what it held before.
#[derive(Default)]
struct Sectors {
    now: BTreeMap<u64, Written>,
    before: BTreeMap<u64, Option<Written>>,
}

/// The traces of faults in what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traces {
    /// Reads of blocks.
    pub(crate) reads: u64,
    /// Reads that found what must not be there, by the name of it.
    pub(crate) by_kind: BTreeMap<String, u64>,
    /// Where that was, with the name.
    pub(crate) places: Vec<(u64, String)>,
    /// Requests to which the fault was done.
    pub(crate) injected: u64,
}

impl Sectors {
    fn put(&mut self, sector: u64, written: Written) {
        let replaced = self.now.insert(sector, written);
        self.before.insert(sector, replaced);
    }

    fn write(&mut self, by: usize, entry: &Entry) {
        let (bytes, to) = match entry.done {
            Done::Lost => return,
            Done::Torn => (entry.detail, entry.offset),
            Done::Misdirected => (entry.length, entry.detail),
            Done::AsAsked | Done::Stale | Done::Corrupted | Done::Other => {
                (entry.length, entry.offset)
            }
        };
        let damaged = (entry.done == Done::Corrupted).then_some(entry.detail / SECTOR);
        for number in 0..bytes / SECTOR {
            let of = entry.offset / SECTOR + number;
            let damaged = damaged == Some(of);
            let written = Written {
                by,
                of,
                damaged,
                filled: entry.generation == 0,
            };
            self.put(to / SECTOR + number, written);
        }
    }

    fn read(&self, entry: &Entry) -> Vec<Option<Written>> {
        let damaged = (entry.done == Done::Corrupted).then_some(entry.detail / SECTOR);
        let found = |sector: u64| {
            let now = self.now.get(&sector).copied();
            let before = self.before.get(&sector).copied();
            let found = match entry.done {
                Done::Stale => before.unwrap_or(now),
                Done::AsAsked
                | Done::Lost
                | Done::Torn
                | Done::Misdirected
                | Done::Corrupted
                | Done::Other => now,
            };
            found.map(|written| Written {
                damaged: written.damaged || damaged == Some(sector),
                ..written
            })
        };
        let first = entry.offset / SECTOR;
        (first..first + entry.length / SECTOR).map(found).collect()
    }
}

/// What is wrong with a block that was written last by `by`; `None` where nothing is. The first
/// sector that is wrong gives it its name.
fn judged(found: &[Option<Written>], offset: u64, by: usize) -> Option<&'static str> {
    let own = |number: usize| offset / SECTOR + number as u64;
    let is_right = |(number, sector): (usize, &Option<Written>)| {
        sector.is_some_and(|sector| {
            (sector.by, sector.of, sector.damaged) == (by, own(number), false)
        })
    };
    let wrong = found.iter().enumerate().find(|sector| !is_right(*sector))?;
    Some(match wrong {
        (_, None) => "holes",
        (_, Some(Written { damaged: true, .. })) => "corrupt",
        (number, Some(written)) if written.of != own(number) => "misdirected",
        (_, Some(written)) => {
            let is_whole = found
                .iter()
                .all(|other| other.is_some_and(|other| other.by == written.by));
            match (is_whole, written.filled) {
                (false, _) => "torn",
                (true, true) => "foreign run",
                (true, false) => "stale",
            }
        }
    })
}

/// Follows a log of requests that came one after the other, each of one block. Generation 0 is
/// that of the filling.
pub(crate) fn follow(entries: &[Entry]) -> Traces {
    let (mut sectors, mut last) = (Sectors::default(), BTreeMap::new());
    let mut traces = Traces::default();
    for (number, entry) in entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| !entry.failed)
    {
        traces.injected += u64::from(entry.done != Done::AsAsked);
        match entry.asked {
            Asked::Other => {}
            Asked::Write => {
                sectors.write(number, entry);
                last.insert(entry.offset, number);
                if entry.generation == 0 {
                    // What was there before it was told to give that is not remembered.
                    sectors.before.clear();
                }
            }
            Asked::Read => {
                traces.reads += 1;
                let Some(by) = last.get(&entry.offset) else {
                    continue;
                };
                if let Some(kind) = judged(&sectors.read(entry), entry.offset, *by) {
                    *traces.by_kind.entry(kind.to_owned()).or_default() += 1;
                    traces.places.push((entry.offset, kind.to_owned()));
                }
            }
        }
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 4096;

    fn entry(asked: Asked, block: u64, done: Done, detail: u64) -> Entry {
        Entry {
            asked,
            done,
            offset: block * BLOCK,
            length: BLOCK,
            arrived: 0,
            committed: 0,
            delay: 0,
            detail,
            generation: 1,
            failed: false,
        }
    }

    fn names(entries: &[Entry]) -> Vec<(u64, u64, String)> {
        let traces = follow(entries);
        let mut counted: BTreeMap<(u64, String), u64> = BTreeMap::new();
        for (offset, kind) in traces.places {
            *counted.entry((offset / BLOCK, kind)).or_default() += 1;
        }
        counted
            .into_iter()
            .map(|((block, kind), count)| (block, count, kind))
            .collect()
    }

    #[test]
    fn each_fault_leaves_the_trace_that_it_is_named_after() {
        let plain = |block| entry(Asked::Write, block, Done::AsAsked, 0);
        let read = |block| entry(Asked::Read, block, Done::AsAsked, 0);
        let wrong = |done, detail| entry(Asked::Write, 1, done, detail);
        for (write, traces) in [
            (wrong(Done::Lost, 0), vec![(1, 1, "stale")]),
            (wrong(Done::Torn, 1024), vec![(1, 1, "torn")]),
            (wrong(Done::Corrupted, BLOCK + 700), vec![(1, 1, "corrupt")]),
            (
                wrong(Done::Misdirected, 0),
                vec![(0, 1, "misdirected"), (1, 1, "stale")],
            ),
            (plain(1), vec![]),
        ] {
            let found = names(&[plain(0), plain(1), write, read(0), read(1)]);
            let traces: Vec<_> = traces
                .into_iter()
                .map(|(at, n, kind)| (at, n, kind.to_owned()))
                .collect();
            assert_eq!(found, traces, "{write:?}");
        }
        let reads = [Done::Stale, Done::Corrupted].map(|done| entry(Asked::Read, 0, done, 5));
        let found = names(&[plain(0), plain(0), reads[0], reads[1], read(0)]);
        let kinds: Vec<&str> = found.iter().map(|(_, _, kind)| kind.as_str()).collect();
        assert_eq!(kinds, ["corrupt", "stale"]);
    }

    #[test]
    fn what_the_filling_left_is_of_another_run() {
        let filling = Entry {
            generation: 0,
            ..entry(Asked::Write, 0, Done::AsAsked, 0)
        };
        let lost = entry(Asked::Write, 0, Done::Lost, 0);
        let read = entry(Asked::Read, 0, Done::AsAsked, 0);
        let foreign = (0, 1, "foreign run".to_owned());
        assert_eq!(names(&[filling, lost, read]), [foreign]);
    }

    #[test]
    fn what_was_written_over_or_never_read_leaves_no_trace() {
        let plain = |block| entry(Asked::Write, block, Done::AsAsked, 0);
        let lost = entry(Asked::Write, 0, Done::Lost, 0);
        let read = entry(Asked::Read, 0, Done::AsAsked, 0);
        let traces = follow(&[plain(0), lost, plain(0), read, lost]);
        assert_eq!(
            (traces.injected, traces.reads, traces.places.len()),
            (2, 1, 0)
        );
    }
}
