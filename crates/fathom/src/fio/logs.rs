//! The logs that `write_bw_log` and its like ask for, made from the series of records.

use record::{Interval, Record};
use report::{FioLog, fio_log};
use std::collections::BTreeSet;
use std::path::PathBuf;
use workload::fio::{FioJobs, FioLogs};

/// Names and contents of all logs; `asked` has one entry a phase, in the order of the records.
pub(crate) fn files(records: &[Record], asked: &[FioLogs]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    // fio numbers the clones of all jobs together, from 1.
    let mut number = 0;
    for (record, asked) in records.iter().zip(asked) {
        let apart: Option<Vec<&[Interval]>> = record
            .workers
            .iter()
            .map(|worker| {
                worker
                    .measured
                    .as_ref()
                    .map(|measured| measured.series.as_slice())
            })
            .collect();
        let each = apart
            .filter(|series| !series.is_empty() && !asked.merged)
            .unwrap_or_else(|| vec![record.series.as_slice()]);
        for series in each {
            number += 1;
            for (name, log) in wanted(asked) {
                out.push((named(asked, name, log, number), fio_log(series, log)));
            }
        }
    }
    out
}

/// Names of the logs that jobs may write, known before they run.
pub(crate) fn names(jobs: &FioJobs) -> Vec<PathBuf> {
    let phases = jobs.stages.iter().flat_map(|stage| &stage.0);
    let mut number = 0;
    let mut out = BTreeSet::new();
    for (phase, asked) in phases.zip(&jobs.logs) {
        for _ in 0..phase.workload.threads {
            number += 1;
            out.extend(
                wanted(asked)
                    .into_iter()
                    .map(|(name, log)| named(asked, name, log, number)),
            );
        }
    }
    out.into_iter().map(PathBuf::from).collect()
}

fn named(asked: &FioLogs, name: &str, log: FioLog, number: u32) -> String {
    if asked.merged {
        format!("{name}_{}.log", log.suffix())
    } else {
        format!("{name}_{}.{number}.log", log.suffix())
    }
}

fn wanted(asked: &FioLogs) -> Vec<(&str, FioLog)> {
    let logs = [
        (&asked.bandwidth, FioLog::Bandwidth),
        (&asked.iops, FioLog::Iops),
        (&asked.latency, FioLog::Latency),
        (&asked.latency, FioLog::Completion),
    ];
    logs.into_iter()
        .filter_map(|(name, log)| Some((name.as_deref()?, log)))
        .collect()
}
