//! What a rank says of itself while it measures, and what the root shows of all of them.
//!
//! Whoever watches a group watches the root, whose own share is not what was asked for. Each rank tells
//! the root about itself by snapshots, which are kept, too.

use super::connection::RankLink;
use super::joining::{LONGEST_PART, record_word};
use crate::live::{Live, RankNow};
use crate::tell;
use group::Word;
use host::{Context, Event, SnapshotRule, Watch};
use record::{Interval, Measurements, Record};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use sys::CaughtSignal;

/// A rank says so often what it has done.
const TELL_NS: u64 = 1_000_000_000;
/// Of whom nothing is heard for so long has ended, or stands still.
const SILENT_NS: u64 = 3 * TELL_NS;

/// What watches the work of one rank.
pub(super) struct RankWatch {
    live: Live,
    connection: Arc<RankLink>,
    heard: BTreeMap<u32, Heard>,
}

/// What a rank said last: all that it has done, and what of it was new.
#[derive(Default)]
struct Heard {
    word: Option<Word>,
    /// When it was, in the measured time of whoever listens.
    at_ns: u64,
    elapsed_ns: u64,
    operations: Measurements,
    last: Interval,
}

impl Heard {
    /// What is new in what a rank says of all that it has done.
    fn hear(&mut self, said: Record, at_ns: u64) -> Option<&Measurements> {
        if said.elapsed_ns <= self.elapsed_ns {
            return None;
        }
        self.last = Interval {
            start_ns: self.elapsed_ns,
            end_ns: said.elapsed_ns,
            operations: said.operations.since(&self.operations),
            ..Interval::default()
        };
        self.at_ns = at_ns;
        self.elapsed_ns = said.elapsed_ns;
        self.operations = said.operations;
        Some(&self.last.operations)
    }
}

impl RankWatch {
    pub(super) fn new(live: &Live, connection: &Arc<RankLink>) -> Self {
        Self {
            live: live.clone(),
            connection: Arc::clone(connection),
            heard: BTreeMap::new(),
        }
    }

    /// What all ranks have said since the last time.
    fn hear(&mut self, at_ns: u64) -> Measurements {
        let mut new = Measurements::default();
        for (rank, word) in self.connection.seen().snapshots() {
            let heard = self.heard.entry(rank).or_default();
            if heard.word.as_ref() == Some(&word) {
                continue;
            }
            let said = serde_json::from_slice(&word);
            heard.word = Some(word);
            if let Ok(Some(done)) = said.map(|said| heard.hear(said, at_ns)) {
                new.merge(done);
            }
        }
        new
    }

    /// What a rank did last; `None` where it may yet say something for the first time.
    fn now_of(&self, rank: u32, now_ns: u64) -> Option<RankNow> {
        let heard = self.heard.get(&rank);
        let silent_ns = now_ns.saturating_sub(heard.map_or(0, |heard| heard.at_ns));
        let silent_ns = Some(silent_ns).filter(|silent| *silent > SILENT_NS);
        if heard.is_none() && silent_ns.is_none() {
            return None;
        }
        Some(RankNow {
            name: self.connection.called(rank),
            last: heard.map(|heard| heard.last.clone()).unwrap_or_default(),
            silent_ns,
        })
    }
}

impl Watch for RankWatch {
    fn on(&mut self, event: &Event<'_>) {
        let Event::Interval { interval, .. } = event else {
            return self.live.on(event);
        };
        if self.live.every_ns().is_none() {
            return;
        }
        let all = Interval {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            operations: self.hear(interval.end_ns),
            ..Interval::default()
        };
        let ranks = 0..self.connection.size;
        let each = ranks.filter_map(|rank| self.now_of(rank, interval.end_ns));
        self.live.ranks(&all, each.collect());
    }

    /// Not more often than ranks say something: between two words there is nothing new.
    fn every_ns(&self) -> Option<u64> {
        let shown = self.live.every_ns();
        shown.map(|every| every.max(TELL_NS))
    }
}

/// Measures in a context that tells the root what there is so far.
pub(super) fn telling<T>(
    connection: &RankLink,
    context: Context,
    asked: BTreeMap<String, String>,
    measure: impl FnOnce(&Context) -> T,
) -> std::io::Result<T> {
    let (to, snapshots) = channel::<Record>();
    let say = connection.tell_snapshot();
    let (seen, library) = (Arc::clone(connection.seen()), connection.library.clone());
    let mut is_told = !connection.is_root();
    let teller = std::thread::Builder::new().name("fathom-teller".into());
    let teller = teller.spawn(move || {
        for mut record in snapshots {
            // It may be all that is heard of this rank.
            seen.sign(record.generator_mut(), &library);
            if let Some(left) = left_words(&record, sys::caught_signal()).filter(|_| !is_told) {
                is_told = true;
                tell::say(&left);
            }
            say(record_word(&record, LONGEST_PART));
        }
    })?;
    let context = Context {
        snapshots: Some(SnapshotRule::new(TELL_NS, to).of_one(asked)),
        ..context
    };
    let measured = measure(&context);
    drop(context);
    let _it_has_told_what_there_was = teller.join();
    Ok(measured)
}

/// What people are told where somebody has asked for the end and what a load made is still there: a
/// launcher may kill its ranks before they have removed it, and then nobody else says it.
fn left_words(record: &Record, caught: Option<CaughtSignal>) -> Option<String> {
    let (signal, names) = (caught?.signal, object::not_removed(record)?);
    Some(format!(
        "signal {signal}: the ranks remove what this load made before they end; if the launcher kills them first, the names of what is left begin with {names}"
    ))
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
            let new = heard.hear(done(elapsed_ns, count), 7);
            sum += new.map_or(0, Measurements::count);
        }
        assert_eq!(sum, 25);
        assert_eq!((heard.last.start_ns, heard.last.end_ns), (3, 4));
    }

    #[test]
    fn what_a_load_made_is_told_where_somebody_asks_for_the_end() {
        const NOTICE: &str = "what this load made had not been removed from the server when this was written; its names begin with fathom-7- at x";
        let caught = Some(CaughtSignal {
            signal: 15,
            impatient: false,
        });
        let loaded = Record {
            notices: vec![NOTICE.to_owned()],
            ..Record::default()
        };
        let told = left_words(&loaded, caught).expect("it may be there");
        assert!(told.starts_with("signal 15: the ranks remove"), "{told}");
        assert!(told.ends_with("begin with fathom-7- at x"), "{told}");
        assert_eq!(left_words(&loaded, None), None);
        assert_eq!(left_words(&done(1, 1), caught), None);
    }
}
