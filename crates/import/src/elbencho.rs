//! elbencho: the result files of `--jsonfile` and `--csvfile`, one phase a record.
//!
//! Rates and sums are those when the last worker was done; when the first was done they stand among the figures. Units are those of
//! `source/Statistics.cpp`: milliseconds of phase, whole microseconds of latency, bytes (JSON) or whole MiB (CSV).

pub(crate) mod json;
pub(crate) mod table;

/// What a phase is called here: reads and writes by the common names, everything else by elbencho's, in lower case.
fn kind(phase: &str) -> String {
    if phase.starts_with("RWMIX") { "write".into() } else { phase.to_lowercase() }
}

/// The version 3.1 prints latencies as whole microseconds.
const LATENCY_NOTICE: &str = "elbencho's latencies are whole microseconds rounded down; a latency of 0 is left out";
