//! What a process measures with.

use crate::{Machine, Observed};
use record::{Calibration, FathomVersion, GroupAccount, HostAccount, Record, SCHEMA, TargetReach};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
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
    /// What was asked, where whoever measures knows only what it came to.
    pub asked: BTreeMap<String, String>,
    /// The id of the record that comes of it, where it is one.
    pub id: Option<String>,
}

impl SnapshotRule {
    /// Of works of which each has a record.
    #[must_use]
    pub fn new(every_ns: u64, to: Sender<Record>) -> Self {
        Self {
            every_ns,
            to,
            asked: BTreeMap::new(),
            id: None,
        }
    }

    /// Of one work that has one record, also where it does not begin; this was asked of it.
    #[must_use]
    pub fn of_one(self, asked: BTreeMap<String, String>) -> Self {
        Self {
            asked,
            id: Some(id()),
            ..self
        }
    }
}

/// When and with whom a process begins.
#[derive(Clone, Debug)]
pub struct CommonStart {
    pub rank: u32,
    /// What all ranks have in common.
    pub group: GroupAccount,
    /// Whose writes those of all ranks are where nothing says which they go on with; the same on all
    /// ranks, and another in every run.
    pub fresh_run: u64,
    /// The number of its target, where hosts have targets of their own and it is known who shares one.
    pub target_set: Option<u32>,
    pub by: StartBy,
}

/// What says when all ranks begin.
#[derive(Clone, Debug)]
pub enum StartBy {
    /// Nobody but the clock of the day, which may be off by so much here.
    Clock {
        at: SystemTime,
        bound_ns: Option<u64>,
    },
    /// The ranks themselves.
    Peers(Arc<dyn Peers>),
}

/// The other ranks of a group, where they are connected. Who waits for them waits until all have come
/// so far, or until they are lost.
pub trait Peers: std::fmt::Debug + Send + Sync {
    /// Says that this rank has come to the next step, or why it cannot; what one of them cannot do
    /// none does.
    ///
    /// # Errors
    /// A rank cannot, or is lost.
    fn meet(&self, own: Result<(), PeerFault>) -> Result<(), PeerFault>;

    /// The same, with a word to the root; returns what the root makes of the words of all, by rank.
    ///
    /// # Errors
    /// A rank is lost.
    fn confer(
        &self,
        own: String,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault>;

    /// The moment at which all begin, on the clock that measures.
    ///
    /// # Errors
    /// A rank is lost.
    fn start(&self) -> Result<u64, PeerFault>;

    /// Whether what was begun is to end.
    fn is_halted(&self) -> bool;

    /// What was begun is to end on all ranks.
    fn halt(&self);

    /// The time of what was begun is over, and this rank has done so much; it says that once.
    fn reached(&self, most: u64);

    /// What that rank had done that had done most, once all have said it.
    fn most_reached(&self) -> Option<u64>;

    /// This rank has left so many steps of what was begun, which all do one after the other.
    fn left(&self, steps: u64);

    /// How many all have left.
    fn left_by_all(&self) -> u64;
}

/// Why ranks do not go on together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerFault {
    pub text: String,
    pub exit_code: i32,
}

impl PeerFault {
    /// The exit code where a rank is lost, or did not take part.
    pub const LOST: i32 = 5;

    /// A rank is lost.
    #[must_use]
    pub fn lost(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exit_code: Self::LOST,
        }
    }

    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.exit_code == Self::LOST
    }
}

impl CommonStart {
    /// The other ranks, where they are connected.
    #[must_use]
    pub fn peers(&self) -> Option<&dyn Peers> {
        match &self.by {
            StartBy::Peers(peers) => Some(peers.as_ref()),
            StartBy::Clock { .. } => None,
        }
    }

    /// Whether the files that all workers use are made by another rank.
    #[must_use]
    pub fn finds_files_made(&self) -> bool {
        self.rank > 0 && self.has_one_target()
    }

    /// Whether the ranks are connected and use the same files.
    #[must_use]
    pub fn has_one_target(&self) -> bool {
        self.peers().is_some() && self.group.target_is == Some(TargetReach::Shared)
    }
}

impl Context {
    /// The other ranks, where they are connected.
    #[must_use]
    pub fn peers(&self) -> Option<&dyn Peers> {
        self.common_start.as_ref().and_then(CommonStart::peers)
    }

    /// The same, for threads that outlive whoever started them.
    #[must_use]
    pub fn shared_peers(&self) -> Option<Arc<dyn Peers>> {
        match &self.common_start.as_ref()?.by {
            StartBy::Peers(peers) => Some(Arc::clone(peers)),
            StartBy::Clock { .. } => None,
        }
    }

    /// The record of a measurement that begins now and has counted nothing.
    #[must_use]
    pub fn record(&self, kind: &str, name: &str, target: Option<&Path>) -> Record {
        let known = self.snapshots.as_ref().and_then(|rule| rule.id.clone());
        Record {
            schema: SCHEMA,
            id: known.unwrap_or_else(id),
            kind: kind.into(),
            name: name.into(),
            hosts: vec![HostAccount {
                environment: self.machine.environment(target, self.fathom.clone()),
                calibration: self.calibration.clone(),
                rank: self.common_start.as_ref().map(|common| common.rank),
                target_set: self
                    .common_start
                    .as_ref()
                    .and_then(|common| common.target_set),
                clock_bound_ns: self
                    .common_start
                    .as_ref()
                    .and_then(|common| match common.by {
                        StartBy::Clock { bound_ns, .. } => bound_ns,
                        StartBy::Peers(_) => None,
                    }),
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

/// A number for the writes of a run that no other run has.
#[must_use]
pub fn fresh_run() -> u64 {
    u64::try_from(sys::random_bits() >> 64).expect("half of the bits are left")
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
