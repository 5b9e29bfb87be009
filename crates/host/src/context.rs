//! What a process measures with.

use crate::{Machine, Observed};
use record::{Calibration, FathomVersion, HostAccount, Record, SCHEMA};
use std::path::Path;
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
                ..HostAccount::default()
            }],
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
