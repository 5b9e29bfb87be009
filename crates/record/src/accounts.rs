//! What a worker says of itself.

use crate::{Interval, Measurements, WorkerSchedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerAccount {
    pub index: u32,
    /// Number of its host among the generators of the record, from 0.
    #[serde(default, skip_serializing_if = "crate::is_unset")]
    pub host: u32,
    pub cpus: Vec<u32>,
    pub nodes: Vec<u32>,
    /// After the common start.
    pub started_ns: u64,
    pub ended_ns: u64,
    pub operations: u64,
    pub bytes: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Time runnable without a CPU.
    pub run_queue_wait_ns: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub engine_features: Option<String>,
    pub error: Option<String>,
    /// What it counted, by kind and over time; where `worker-series` was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<WorkerMeasured>,
    /// How it followed the schedule of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<WorkerSchedule>,
}

/// The measurements of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerMeasured {
    pub operations: Measurements,
    /// Its intervals are those of the record's series; CPU and devices are known of the whole run
    /// alone.
    pub series: Vec<Interval>,
}
