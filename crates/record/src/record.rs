//! The data of a record. Times are nanoseconds, sizes bytes; `None` is "unknown" or "not asked",
//! never zero.

use crate::{
    GroupAccount, Histogram, HostAccount, LeftOver, LoadAccount, Measurements, PaceAccount, Source,
    Span, StonewallAccount, Stoppage, Summary, ThresholdResult, Trial, WalkAccount, WorkerAccount,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the stored form; older forms are read as if they were of this one, newer ones are
/// refused.
pub const SCHEMA: u32 = 2;

/// One trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    pub schema: u32,
    /// Unique among all records: random.
    pub id: String,
    /// Verb that made it: `run`.
    pub kind: String,
    /// Name of the phase or job.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub asked: BTreeMap<String, String>,
    pub effective: BTreeMap<String, String>,
    /// Where effective differs from asked, and why.
    pub differences: Vec<Difference>,
    /// What the user should know and no number says.
    pub notices: Vec<String>,
    /// What a load made and left on its server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_over: Vec<LeftOver>,
    pub targets: Vec<TargetFact>,
    /// The hosts that Fathom ran on, and those, or processes on them, that served what was measured.
    #[serde(default)]
    pub hosts: Vec<HostAccount>,
    /// From the start of the measured time to the last completion.
    pub elapsed_ns: u64,
    pub operations: Measurements,
    /// The time of each kind of operation where kinds follow each other; empty where all of them
    /// share the measured time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spans: BTreeMap<String, Span>,
    /// What had been done when the time of work that had no end by itself was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stonewall: Option<StonewallAccount>,
    /// What a walk over directories saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<WalkAccount>,
    /// What was counted before the measured time.
    pub warmup: Measurements,
    /// Length of one interval of the series.
    pub interval_ns: u64,
    pub series: Vec<Interval>,
    pub workers: Vec<WorkerAccount>,
    #[serde(default)]
    pub loops: LoopAccount,
    pub pace: Option<PaceAccount>,
    pub verification: Option<Verification>,
    /// Of several ranks where each used files or blocks of its own.
    pub coverage: Option<Coverage>,
    pub locks: Option<LockAccount>,
    pub residency: Option<Residency>,
    pub fill: Option<Fill>,
    /// Times in which the generator itself stood still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<Stoppage>,
    pub errors: Vec<ErrorCount>,
    pub outcome: Outcome,
    /// What it was to keep, and whether it did; [`Record::thresholds`] judges them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdResult>,
    /// Place in an experiment; `None` for a run on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Place among repetitions that were declared without a plan; `None`: nobody says that it
    /// repeats another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// The ranks that did the workload together, where it was not one process alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupAccount>,
    /// Ids of the records of work that ran at the same time: together they are one trial, and none
    /// of them had the storage to itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<String>,
    /// What another tool says of kinds of operations and of other things that it counts, by its
    /// name or ours. Where `operations` has the same kind, both are of the same operations.
    /// Empty in a record of our own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summaries: BTreeMap<String, Summary>,
    /// Where the numbers come from, if not from Fathom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// What a load on an object store or HTTP service has beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadAccount>,
}

/// Place of a record among fresh starts of one workload, as the source of the record or whoever
/// imported it declares them.
///
/// The order is known and was not drawn by lot: what drifts between repetitions is not told from
/// what differs between workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The same in all repetitions of one workload, and in nothing else.
    pub of: String,
    /// From 0, in the order in which they ran.
    pub number: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub key: String,
    pub asked: Option<String>,
    pub effective: Option<String>,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFact {
    pub path: String,
    /// `file`, `directory`, `block device`, `nbd`, `none`; of other tools also `command` and
    /// `service`.
    pub kind: String,
    /// Of all ranks together, where each has files of its own.
    pub files: u64,
    pub bytes: u64,
    /// Bytes in holes and unwritten extents when the run was ready, as far as the file system
    /// tells; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hole_bytes: Option<u64>,
}

/// One interval of the series; its true length is `end_ns - start_ns`, from the start of the
/// measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub operations: Measurements,
    pub in_flight: u64,
    /// CPU time of this process.
    pub cpu_ns: u64,
    /// Of the first device, where there is one; once of a device that several ranks of one machine
    /// watched.
    pub device_read_bytes: Option<u64>,
    pub device_written_bytes: Option<u64>,
    /// Share of the machine's CPU time taken by the hypervisor, 0 to 1.
    pub steal_share: Option<f64>,
    /// CPU time of the target's own process or control group, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cpu_ns: Option<u64>,
    /// Its memory at the end of the interval; where neighbours were merged, the larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_resident_bytes: Option<u64>,
}

/// What the worker loops saw of themselves, over all workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopAccount {
    /// Integral of operations in flight over time.
    pub in_flight_ns: u128,
    /// Time over all workers.
    pub worker_ns: u128,
    pub submissions: u64,
    pub submitted: u64,
    pub reaps: u64,
    /// Reaps after which nothing was left in flight.
    pub reaps_to_empty: u64,
    /// Operations still in flight when a worker was given up.
    pub abandoned: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    pub pattern: String,
    pub operations: u64,
    pub failures: u64,
    pub by_kind: BTreeMap<String, u64>,
    /// The first failures by file and offset.
    pub first: Vec<VerificationFailure>,
    /// Corruptions made on purpose before the run, all of which were found.
    pub self_check: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationFailure {
    pub file: String,
    pub offset: u64,
    pub kind: String,
    pub detail: String,
}

/// Operations by place: counted, not estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    pub block_bytes: u64,
    pub blocks: u64,
    /// Distinct blocks used.
    pub touched: u64,
    /// Uses of blocks, all operations.
    pub uses: u64,
    /// Share of uses that fall on the 20 % most used buckets, 0 to 1.
    pub hottest_fifth_share: f64,
    /// Uses of each equal part of the range, in order.
    pub buckets: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockAccount {
    pub mode: String,
    pub wait: Histogram,
}

/// Bytes of the target in the page cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Residency {
    pub total_bytes: u64,
    pub before_bytes: Option<u64>,
    pub after_bytes: Option<u64>,
}

/// What was written before the measured time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    pub bytes: u64,
    pub elapsed_ns: u64,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    pub operation: String,
    /// The system's words for it, or what a short transfer was.
    pub error: String,
    pub count: u64,
    /// File or path; empty where nobody knows it.
    pub first_file: String,
    /// `None`: it has none, as requests and operations on names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_offset: Option<u64>,
    /// What kind of failure it is; `None`: nobody says, as in records of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ErrorClass>,
}

/// Kinds of failures, which programs tell apart; the words of [`ErrorCount::error`] are for people.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The operating system refused the operation.
    System,
    /// Fewer bytes were moved than were asked for.
    Short,
    /// No connection could be opened: the server has not seen the request.
    Connect,
    /// The connection broke.
    Broken,
    /// No answer came in time.
    Timeout,
    /// The server's answer says no.
    Refused,
    /// An answer that is not understood, or of another length.
    Malformed,
    /// The bytes are not those that were written.
    Verification,
    /// A class that a later version wrote.
    #[serde(other)]
    Unknown,
}

/// What became of a trial, the gravest last.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Ok,
    /// It went well, and its ranks began further apart than `--max-skew`: what was measured does not count.
    Apart,
    /// An operation, verification or the engine failed.
    Failed,
    /// A signal ended it; what was measured is here.
    Interrupted,
    /// Workers or operations were lost.
    Incomplete,
}

impl Status {
    /// Whether it ended before its time, or without all that were to take part: what was measured is that of
    /// another work.
    #[must_use]
    pub const fn is_cut_short(self) -> bool {
        match self {
            Self::Interrupted | Self::Incomplete => true,
            Self::Ok | Self::Apart | Self::Failed => false,
        }
    }

    /// Whether all was done that was asked for, whether it counts or not.
    #[must_use]
    pub const fn has_done_all(self) -> bool {
        match self {
            Self::Ok | Self::Apart => true,
            Self::Failed | Self::Interrupted | Self::Incomplete => false,
        }
    }

    /// The word in records, tables and texts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Apart => "apart",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Incomplete => "incomplete",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub status: Status,
    /// Exit code that this trial asks for.
    pub exit_code: i32,
    pub message: Option<String>,
}

impl Outcome {
    #[must_use]
    pub const fn new(status: Status, exit_code: i32, message: String) -> Self {
        Self {
            status,
            exit_code,
            message: Some(message),
        }
    }

    /// So many of all thresholds were missed.
    pub(crate) fn missed(missed: usize, of: usize) -> Self {
        let all = units::counted(of, "threshold");
        Self::new(Status::Ok, 3, format!("{missed} of {all} missed"))
    }

    /// A signal came when all had been measured, and what had been made was not removed to the end, as
    /// `what` says. What had not gone well before stays as it was.
    pub fn stopped_in_removal(&mut self, signal: i32, exit_code: i32, what: &str) {
        if self.status != Status::Ok {
            return;
        }
        let before = self.message.take();
        let before = before.map_or_else(String::new, |before| format!("; {before}"));
        *self = Self {
            status: Status::Interrupted,
            exit_code,
            message: Some(format!(
                "stopped by signal {signal} while what this load had made was removed: all was measured, and {what}{before}"
            )),
        };
    }

    /// How a record in JSON says that it ended, without reading the rest of it.
    #[must_use]
    pub fn of_json(record: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Ended {
            outcome: Outcome,
        }
        let ended: Option<Ended> = serde_json::from_slice(record).ok();
        ended.map(|ended| ended.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_class_or_of_a_later_one_is_read() {
        let read = |class: &str| -> ErrorCount {
            let text = format!(
                r#"{{"operation":"get","error":"timeout","count":2,"first_file":"k","first_offset":0{class}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        for (text, class) in [
            ("", None),
            (r#","class":"timeout""#, Some(ErrorClass::Timeout)),
            (r#","class":"gravity""#, Some(ErrorClass::Unknown)),
        ] {
            assert_eq!(read(text).class, class);
        }
        assert!(!serde_json::to_string(&read("")).unwrap().contains("class"));
    }
}
