//! What a rank says of itself while it measures, and what the root shows of all of them.
//!
//! Whoever watches a group watches the root, whose own share is not what was asked for. A run tells
//! the root about itself by snapshots that are kept, too; a load has none, and is told of here.

use super::connection::RankLink;
use crate::live::{Live, RankNow};
use host::{Event, Watch};
use record::{Interval, Measurements, Record};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// A load says so often what it has done.
const TELL_NS: u64 = 1_000_000_000;

/// What watches the work of one rank.
pub(super) struct RankWatch {
    live: Live,
    connection: Arc<RankLink>,
    load: Option<LoadSoFar>,
    heard: BTreeMap<u32, Heard>,
}

/// What a load has done since its warm-up.
pub(super) struct LoadSoFar {
    pub(super) warmup_ns: u64,
    pub(super) to: Sender<Record>,
    said: Record,
}

/// What a rank said last: all that it has done, and what of it was new.
#[derive(Default)]
struct Heard {
    elapsed_ns: u64,
    operations: Measurements,
    last: Interval,
}

impl LoadSoFar {
    pub(super) fn new(warmup_ns: u64, to: Sender<Record>) -> Self {
        Self {
            warmup_ns,
            to,
            said: Record::default(),
        }
    }

    /// Whoever joins parts passes over it: it names no group.
    fn tell(&mut self, interval: &Interval) {
        if interval.start_ns < self.warmup_ns {
            return;
        }
        self.said.operations.merge(&interval.operations);
        self.said.elapsed_ns = interval.end_ns - self.warmup_ns;
        let _nobody_listens_any_more = self.to.send(self.said.clone());
    }
}

impl Heard {
    /// What is new in what a rank says of all that it has done.
    fn hear(&mut self, said: Record) -> Option<&Measurements> {
        if said.elapsed_ns <= self.elapsed_ns {
            return None;
        }
        self.last = Interval {
            start_ns: self.elapsed_ns,
            end_ns: said.elapsed_ns,
            operations: said.operations.since(&self.operations),
            ..Interval::default()
        };
        self.elapsed_ns = said.elapsed_ns;
        self.operations = said.operations;
        Some(&self.last.operations)
    }
}

impl RankWatch {
    pub(super) fn new(live: &Live, connection: &Arc<RankLink>, load: Option<LoadSoFar>) -> Self {
        Self {
            live: live.clone(),
            connection: Arc::clone(connection),
            load,
            heard: BTreeMap::new(),
        }
    }

    /// What all ranks have said since the last time.
    fn hear(&mut self) -> Measurements {
        let mut new = Measurements::default();
        for (rank, word) in self.connection.seen().snapshots() {
            let Ok(said) = serde_json::from_slice(&word) else {
                continue;
            };
            if let Some(done) = self.heard.entry(rank).or_default().hear(said) {
                new.merge(done);
            }
        }
        new
    }
}

impl Watch for RankWatch {
    fn on(&mut self, event: &Event<'_>) {
        let Event::Interval { interval, .. } = event else {
            return self.live.on(event);
        };
        if let Some(load) = &mut self.load {
            load.tell(interval);
        }
        if self.live.every_ns().is_none() {
            return;
        }
        let all = Interval {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            operations: self.hear(),
            ..Interval::default()
        };
        let each = self.heard.iter().map(|(rank, heard)| RankNow {
            name: self.connection.called(*rank),
            last: heard.last.clone(),
        });
        self.live.ranks(&all, each.collect());
    }

    fn every_ns(&self) -> Option<u64> {
        let shown = self.live.every_ns();
        match self.load {
            Some(_) => Some(shown.map_or(TELL_NS, |every| every.min(TELL_NS))),
            None => shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Operations;

    fn done(elapsed_ns: u64, count: u64) -> Record {
        let mut record = Record {
            elapsed_ns,
            ..Record::default()
        };
        record.operations.insert(
            "read",
            Operations {
                count,
                ..Operations::default()
            },
        );
        record
    }

    #[test]
    fn what_a_rank_says_twice_or_late_counts_once() {
        let mut heard = Heard::default();
        let mut sum = 0;
        for (elapsed_ns, count) in [(1, 10), (1, 10), (3, 25), (2, 20), (4, 25)] {
            let new = heard.hear(done(elapsed_ns, count));
            sum += new.map_or(0, Measurements::count);
        }
        assert_eq!(sum, 25);
        assert_eq!((heard.last.start_ns, heard.last.end_ns), (3, 4));
    }

    #[test]
    fn a_load_says_what_it_has_done_since_its_warm_up_and_is_no_part_of_a_record() {
        let (to, said) = std::sync::mpsc::channel();
        let mut load = LoadSoFar::new(10, to);
        for (start_ns, count) in [(0, 5), (10, 7), (20, 1)] {
            load.tell(&Interval {
                start_ns,
                end_ns: start_ns + 10,
                operations: done(0, count).operations,
                ..Interval::default()
            });
        }
        drop(load);
        let said: Vec<Record> = said.iter().collect();
        let told = said.iter().map(|of| (of.elapsed_ns, of.operations.count()));
        assert_eq!(told.collect::<Vec<_>>(), [(10, 7), (20, 8)]);
        assert!(said.iter().all(|of| of.group.is_none()));
    }
}
