//! The logs that `write_bw_log` and its like ask for, made from the series of records.

use record::{Interval, Record};
use report::{FioLog, fio_log};
use workload::fio::FioLogs;

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
                let file = if asked.merged {
                    format!("{name}_{}.log", log.suffix())
                } else {
                    format!("{name}_{}.{number}.log", log.suffix())
                };
                out.push((file, fio_log(series, log)));
            }
        }
    }
    out
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
