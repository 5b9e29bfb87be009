//! What a process measures with.

use crate::{Machine, Observed};
use record::{Calibration, FathomVersion, GroupAccount, HostAccount, Record, SCHEMA};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::SystemTime;
use sys::MachineClock;

/// What every measurement of a process has in common.
#[derive(Clone)]
pub struct Context {
    pub clock: MachineClock,
    pub machine: Machine,
    pub fathom: FathomVersion,
    pub calibration: Calibration,
    /// Length of one interval of the series.
    pub interval_ns: u64,
    /// The process or control group that serves what is measured, if it runs on this machine.
    pub target: Option<Observed>,
    /// Its place among processes that do one workload together, if there are others.
    pub common_start: Option<CommonStart>,
    /// Who keeps what there is while it goes on.
    pub snapshots: Option<SnapshotRule>,
}

/// How often what was measured so far is handed over, and to whom.
#[derive(Clone, Debug)]
pub struct SnapshotRule {
    pub every_ns: u64,
    pub to: Sender<Record>,
}

/// When and with whom a process begins.
#[derive(Clone, Debug)]
pub struct CommonStart {
    pub rank: u32,
    /// What all ranks have in common.
    pub group: GroupAccount,
    pub at: SystemTime,
    /// By how much the clock of the day may be off here.
    pub clock_bound_ns: Option<u64>,
}

impl Context {
    /// The record of a measurement that begins now and has counted nothing.
    #[must_use]
    pub fn record(&self, kind: &str, name: &str, target: Option<&Path>) -> Record {
        Record {
            schema: SCHEMA,
            id: id(),
            kind: kind.into(),
            name: name.into(),
            hosts: vec![HostAccount {
                environment: self.machine.environment(target, self.fathom.clone()),
                calibration: self.calibration.clone(),
                rank: self.common_start.as_ref().map(|common| common.rank),
                clock_bound_ns: self
                    .common_start
                    .as_ref()
                    .and_then(|common| common.clock_bound_ns),
                ..HostAccount::default()
            }],
            group: self
                .common_start
                .as_ref()
                .map(|common| common.group.clone()),
            started_at: humantime::format_rfc3339_millis(sys::clock::wall_time()).to_string(),
            ..Record::default()
        }
    }
}

/// An id that no other record has, on whatever machine: 128 random bits.
fn id() -> String {
    format!("{:032x}", sys::random_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_made_in_one_instant_differ() {
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
