//! What one entry of `jobs` is about: a record, one of its workers, or all records of a group.

use super::{Entries, FioOptions};
use record::{HostAccount, ProcessAccount, Record, Status, WorkerAccount};
use std::borrow::Cow;

/// The numbers of one entry, in the form of a record, whose options are those of the record at
/// `index`.
pub(super) struct Entry<'a> {
    pub(super) record: Cow<'a, Record>,
    pub(super) index: usize,
    pub(super) group: usize,
}

pub(super) fn entries<'a>(records: &'a [Record], options: &FioOptions) -> Vec<Entry<'a>> {
    let each = || {
        records
            .iter()
            .enumerate()
            .map(|(index, record)| (index, record, group(options, index)))
    };
    match options.entries {
        Entries::Record => each()
            .map(|(index, record, group)| Entry {
                record: Cow::Borrowed(record),
                index,
                group,
            })
            .collect(),
        Entries::Worker => each()
            .flat_map(|(index, record, group)| workers(record, index, group))
            .collect(),
        Entries::Group => {
            let mut out: Vec<Entry<'_>> = Vec::new();
            for (index, record, group) in each() {
                match out.last_mut().filter(|last| last.group == group) {
                    Some(last) => join(last.record.to_mut(), record),
                    None => out.push(Entry {
                        record: Cow::Borrowed(record),
                        index,
                        group,
                    }),
                }
            }
            out
        }
    }
}

/// The group of a record: its stage, where that is known.
pub(super) fn group(options: &FioOptions, index: usize) -> usize {
    options.groups.get(index).copied().unwrap_or(index)
}

/// One entry a worker, where each was measured apart.
fn workers(record: &Record, index: usize, group: usize) -> Vec<Entry<'_>> {
    let apart = record.workers.len() > 1
        && record
            .workers
            .iter()
            .all(|worker| worker.measured.is_some());
    if !apart {
        return vec![Entry {
            record: Cow::Borrowed(record),
            index,
            group,
        }];
    }
    record
        .workers
        .iter()
        .map(|worker| Entry {
            record: Cow::Owned(of_worker(record, worker)),
            index,
            group,
        })
        .collect()
}

/// What one worker did, as if it had been alone. Queue depths are the means over all; a fault of
/// memory is the process's and stands nowhere.
fn of_worker(record: &Record, worker: &WorkerAccount) -> Record {
    let measured = worker.measured.clone().unwrap_or_default();
    Record {
        elapsed_ns: worker.ended_ns.saturating_sub(worker.started_ns),
        operations: measured.operations,
        series: measured.series,
        hosts: vec![HostAccount {
            process: ProcessAccount {
                user_ns: worker.user_ns,
                system_ns: worker.system_ns,
                voluntary_switches: worker.voluntary_switches,
                involuntary_switches: worker.involuntary_switches,
                ..ProcessAccount::default()
            },
            ..HostAccount::default()
        }],
        workers: vec![worker.clone()],
        errors: Vec::new(),
        ..record.clone()
    }
}

/// Adds what ran beside it. Both have the process's account of the same time.
fn join(into: &mut Record, from: &Record) {
    into.operations.merge(&from.operations);
    into.elapsed_ns = into.elapsed_ns.max(from.elapsed_ns);
    for (index, interval) in from.series.iter().enumerate() {
        match into.series.get_mut(index) {
            Some(sum) => {
                sum.operations.merge(&interval.operations);
                sum.end_ns = sum.end_ns.max(interval.end_ns);
            }
            None => into.series.push(interval.clone()),
        }
    }
    into.workers.extend(from.workers.iter().cloned());
    into.errors.extend(from.errors.iter().cloned());
    into.loops.merge(&from.loops);
    if into.outcome.status == Status::Ok {
        into.outcome.clone_from(&from.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use record::WorkerMeasured;

    fn names(records: &[Record], options: &FioOptions) -> Vec<(String, usize, u64)> {
        let shape = |entry: &Entry<'_>| {
            (
                entry.record.name.clone(),
                entry.group,
                entry.record.operations.count(),
            )
        };
        entries(records, options).iter().map(shape).collect()
    }

    #[test]
    fn each_worker_that_was_measured_apart_is_an_entry() {
        let mut record = example::oltp();
        let whole = record.operations.count();
        let options = FioOptions {
            entries: Entries::Worker,
            ..FioOptions::default()
        };
        assert_eq!(
            names(std::slice::from_ref(&record), &options),
            [("oltp".to_owned(), 0, whole)],
            "nothing is known of each"
        );
        for worker in &mut record.workers {
            let operations = record.operations.clone();
            worker.measured = Some(WorkerMeasured {
                operations,
                series: record.series.clone(),
            });
        }
        let found = names(std::slice::from_ref(&record), &options);
        assert_eq!(
            found,
            vec![("oltp".to_owned(), 0, whole); record.workers.len()]
        );
    }

    #[test]
    fn records_of_a_group_are_one_entry() {
        let records = [example::oltp(), example::oltp(), example::oltp()];
        let one = records[0].operations.count();
        let options = FioOptions {
            entries: Entries::Group,
            groups: vec![0, 0, 1],
            ..FioOptions::default()
        };
        assert_eq!(
            names(&records, &options),
            [("oltp".to_owned(), 0, 2 * one), ("oltp".to_owned(), 1, one)]
        );
        let merged = &entries(&records, &options)[0].record;
        assert_eq!(merged.workers.len(), 2 * records[0].workers.len());
        assert_eq!(
            merged.series[0].operations.count(),
            2 * records[0].series[0].operations.count()
        );
        assert_eq!(merged.elapsed_ns, records[0].elapsed_ns);
    }
}
