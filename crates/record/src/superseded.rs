//! What runs had kept while they went on, where it stands in another file than their records.
//!
//! In one file a later line with an id takes the place of an earlier one. Of several files nobody
//! knows which was written last, but what a run kept was written before it ended, and what it kept
//! last has got furthest. Two records that ended are left to whoever judges them: they are copies,
//! or somebody changed one.

use crate::{Record, Status};
use std::collections::HashMap;

/// A record in the place of which another counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// Its number among all.
    pub record: usize,
    /// That of the one which counts.
    pub by: usize,
}

/// Which of these records are an earlier state of another of them.
pub fn superseded<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Superseded> {
    let records: Vec<&Record> = records.into_iter().collect();
    let start = |record: &Record| (record.id.clone(), record.started_at.clone());
    let mut furthest: HashMap<(String, String), usize> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        let known = furthest.entry(start(record)).or_insert(index);
        if reach(record) > reach(records[*known]) {
            *known = index;
        }
    }
    let earlier = records.iter().enumerate().filter_map(|(index, record)| {
        let by = *furthest.get(&start(record))?;
        let may_be = !record.id.is_empty() && record.outcome.status == Status::Incomplete;
        (may_be && reach(record) < reach(records[by])).then_some(Superseded { record: index, by })
    });
    earlier.collect()
}

/// How far a run had got when its record was written: to an end, to what is known only there, and
/// for how long.
fn reach(record: &Record) -> (bool, bool, u64) {
    let has_ended = record.outcome.status != Status::Incomplete;
    (has_ended, !record.workers.is_empty(), record.elapsed_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, WorkerAccount};

    fn ended(id: &str) -> Record {
        Record {
            id: id.into(),
            elapsed_ns: 10,
            workers: vec![WorkerAccount::default()],
            ..Record::default()
        }
    }

    fn kept(id: &str, elapsed_ns: u64) -> Record {
        Record {
            id: id.into(),
            elapsed_ns,
            outcome: Outcome {
                status: Status::Incomplete,
                ..Outcome::default()
            },
            ..Record::default()
        }
    }

    fn found(records: &[Record]) -> Vec<(usize, usize)> {
        let found = superseded(records).into_iter();
        found.map(|of| (of.record, of.by)).collect()
    }

    #[test]
    fn what_ended_counts_before_what_was_kept_and_what_was_kept_last_before_the_rest() {
        let all = [kept("a", 3), ended("b"), kept("a", 20), ended("a")];
        assert_eq!(found(&all), [(0, 3), (2, 3)]);
        assert_eq!(
            found(&[kept("a", 3), kept("a", 5), kept("a", 4)]),
            [(0, 1), (2, 1)]
        );
        // A run that ended incomplete knows more than what it had kept.
        let mut lacking = ended("a");
        lacking.outcome.status = Status::Incomplete;
        assert_eq!(found(&[lacking, kept("a", 30)]), [(1, 0)]);
    }

    #[test]
    fn records_that_ended_and_those_of_other_starts_are_left_alone() {
        let mut changed = ended("a");
        changed.name = "another".into();
        assert_eq!(found(&[ended("a"), ended("a"), changed]), []);
        assert_eq!(
            found(&[kept("a", 1), ended("b"), kept("", 1), ended("")]),
            []
        );
        let mut later = ended("a");
        later.started_at = "2026-01-01T00:00:00Z".into();
        assert_eq!(found(&[kept("a", 1), later]), []);
    }
}
