//! What a worker and a block device say of themselves.

use crate::{Calibration, Environment, Interval, MachineAccount, Measurements, ProcessAccount};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerAccount {
    pub index: u32,
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
}

/// The measurements of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerMeasured {
    pub operations: Measurements,
    /// Its intervals are those of the record's series; CPU and devices are known of the whole run
    /// alone.
    pub series: Vec<Interval>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceAccount {
    pub name: String,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: Option<u64>,
    pub busy_ns: u64,
    /// Time of all requests at the device, summed.
    pub queue_ns: u64,
    /// Requests that were joined to one already waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_merged: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_merged: Option<u64>,
    /// Time of the requests that read, summed, and of those that write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ns: Option<u64>,
}

/// What a host is in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostRole {
    /// Fathom ran here.
    #[default]
    Generator,
    /// What was measured ran here.
    Target,
}

/// What is known of one host over the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostAccount {
    pub role: HostRole,
    pub environment: Environment,
    pub calibration: Calibration,
    /// Of Fathom, or of the target's own process with its children or control group.
    pub process: ProcessAccount,
    pub machine: MachineAccount,
    /// Block devices under the target, the nearest first.
    pub devices: Vec<DeviceAccount>,
}
