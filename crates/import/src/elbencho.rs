//! elbencho: the result files of `--jsonfile` and `--csvfile`, one phase a record.
//!
//! Rates and sums are those when the last worker was done; when the first was done they stand among
//! the figures. Units are those of `source/Statistics.cpp`: milliseconds of phase, whole
//! microseconds of latency, bytes (JSON) or whole MiB (CSV).

use crate::origin::words;
use record::{Record, TargetFact};

pub(crate) mod json;
pub(crate) mod table;

/// What a phase is called here: reads and writes by the common names, everything else by
/// elbencho's, in lower case.
fn kind(phase: &str) -> String {
    if phase.starts_with("RWMIX") {
        "write".into()
    } else {
        phase.to_lowercase()
    }
}

/// Options whose next word is their value. The rest of the command are switches, and paths.
const VALUED: [&str; 29] = [
    "-b",
    "-c",
    "-i",
    "-N",
    "-n",
    "-s",
    "-t",
    "--block",
    "--configfile",
    "--csvfile",
    "--dirs",
    "--files",
    "--hosts",
    "--hostsfile",
    "--label",
    "--iodepth",
    "--iterations",
    "--jsonfile",
    "--livecsv",
    "--livejson",
    "--opslog",
    "--rankoffset",
    "--resfile",
    "--rwmixpct",
    "--rwmixthr",
    "--size",
    "--threads",
    "--timelimit",
    "--zones",
];

/// Enters the paths of a phase: the last words of the command, as many as the result says that
/// there were. Where a switch or the value of an option is among them the paths stand elsewhere,
/// and are unknown.
fn enter_targets(record: &mut Record, command: &str, paths: Option<u64>, kind: Option<&str>) {
    let words = words(command);
    let Some(count) = paths
        .and_then(|count| usize::try_from(count).ok())
        .filter(|count| *count > 0 && *count < words.len())
    else {
        return;
    };
    let (before, last) = words.split_at(words.len() - count);
    let takes_value = before.last().is_some_and(|word| {
        VALUED.contains(word) || (word.starts_with("--") && !word.contains('=') && is_named(word))
    });
    if takes_value || last.iter().any(|word| word.starts_with('-')) {
        return;
    }
    let kind = match kind {
        Some("dir") => "directory",
        Some("blockdev") => "block device",
        Some("bucket" | "object") => "service",
        Some(_) | None => "file",
    };
    record.targets = last
        .iter()
        .map(|path| TargetFact {
            path: (*path).to_owned(),
            kind: kind.to_owned(),
            ..TargetFact::default()
        })
        .collect();
}

/// Options that are named after what they take.
fn is_named(word: &str) -> bool {
    [
        "file",
        "arg",
        "pct",
        "size",
        "list",
        "algo",
        "log",
        "endpoints",
        "key",
        "secret",
        "region",
    ]
    .iter()
    .any(|end| word.ends_with(end))
}

/// The version 3.1 prints latencies as whole microseconds.
const LATENCY_NOTICE: &str =
    "elbencho's latencies are whole microseconds rounded down; a latency of 0 is left out";
