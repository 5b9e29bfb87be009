//! Whether a run wrote everything that it was to write, and what its files' marks say then.

use crate::error::RunError;
use crate::prepare::{Among, Prepared, RunWrites, leave_unsealed, seal, use_of};
use crate::setup::Shared;
use crate::steps::WritePasses;
use crate::thread::WorkerReport;
use crate::verify::Tearing;
use engine::Op;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering::Relaxed;
use workload::Workload;

/// What is known of a run's writes when it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WrittenEnd {
    /// Whether no worker may write any more.
    pub(super) have_all_ended: bool,
    #[serde(flatten)]
    pub(super) writes: RunWrites,
}

impl WrittenEnd {
    /// Nobody wrote, and nobody will.
    pub(super) const NOTHING: Self = Self {
        have_all_ended: true,
        writes: RunWrites {
            completed: false,
            passes: WritePasses { begun: 0, ended: 0 },
            tearing: Tearing::Fault,
        },
    };

    pub(super) fn of(shared: &Shared, reports: &[(u32, WorkerReport)]) -> Self {
        Self {
            have_all_ended: reports.len() == shared.workload.threads as usize,
            writes: RunWrites {
                completed: finished(shared, reports),
                passes: write_passes(reports),
                tearing: tearing(reports),
            },
        }
    }

    /// What is known of the same files where several ranks wrote their parts of them.
    pub(super) fn of_all(ranks: Vec<Self>) -> Self {
        let of_both = |one: RunWrites, other: RunWrites| RunWrites {
            completed: one.completed && other.completed,
            passes: WritePasses {
                begun: one.passes.begun.max(other.passes.begun),
                ended: one.passes.ended.min(other.passes.ended),
            },
            tearing: match one.tearing {
                Tearing::Allowed => one.tearing,
                Tearing::Fault => other.tearing,
            },
        };
        let of_two = |one: Self, other: Self| Self {
            have_all_ended: one.have_all_ended && other.have_all_ended,
            writes: of_both(one.writes, other.writes),
        };
        ranks.into_iter().reduce(of_two).unwrap_or_default()
    }
}

/// Keeps the files, and seals their marks once nobody writes to them any more; what all ranks know of
/// what they wrote.
pub(super) fn end_together(
    among: &Among<'_>,
    prepared: &mut Prepared,
    workload: &Workload,
    own: WrittenEnd,
) -> WrittenEnd {
    prepared.undo.keep();
    // Whoever still writes writes to files that others made.
    let end = match among.confer(own, WrittenEnd::of_all) {
        Ok(of_all) if prepared.is_used_by_ranks => of_all,
        Ok(_) => own,
        Err(_) if prepared.is_used_by_ranks => WrittenEnd::default(),
        Err(_) => own,
    };
    // What stopped a worker for good may stop a writer of marks as well; a mark that is not sealed
    // says that the run did not end.
    if end.have_all_ended {
        seal(prepared, workload, end.writes);
    } else {
        leave_unsealed(prepared);
    }
    end
}

/// What a rank does that did not begin, before its new files are removed and its marks are sealed as
/// they were: others may have begun, with files that it made.
pub(super) fn end_unbegun(
    among: &Among<'_>,
    prepared: &mut Prepared,
    workload: &Workload,
    error: &RunError,
) {
    if matches!(error, RunError::Missed { .. }) {
        among.halt();
        if prepared.is_used_by_ranks {
            end_together(among, prepared, workload, WrittenEnd::NOTHING);
        } else {
            let _what_they_wrote_is_theirs = among.confer(WrittenEnd::NOTHING, WrittenEnd::of_all);
        }
        return;
    }
    let is_one_lost = matches!(error, RunError::Group(fault) if fault.is_loss());
    if is_one_lost {
        among.halt();
    } else {
        among.tell(error);
    }
    if prepared.is_used_by_ranks && (is_one_lost || among.others_may_go_on()) {
        leave_unsealed(prepared);
    }
}

/// Whether every block was written: a complete run that nothing cut short, or passes of which one
/// has ended.
fn finished(shared: &Shared, reports: &[(u32, WorkerReport)]) -> bool {
    let workload = &shared.workload;
    let whole = reports.len() == workload.threads as usize
        && reports.iter().all(|(_, report)| {
            report.error.is_none() && report.tally.failures() == 0 && report.tally.abandoned == 0
        });
    let passed = workload.reads_back() && write_passes(reports).ended > 0;
    let ended = workload.stop.complete
        && workload.stop.duration.is_none()
        && workload.stop.total_bytes.is_none()
        && shared
            .stonewall
            .as_ref()
            .is_none_or(|stonewall| !stonewall.stopped_any())
        && !shared.halt.load(Relaxed);
    whole && use_of(workload).writes && (passed || ended)
}

/// Whether a write failed, or was left alone: its block may hold a part of it.
fn tearing(reports: &[(u32, WorkerReport)]) -> Tearing {
    let has_failed = |report: &WorkerReport| {
        let mut failures = report.tally.failure_counts();
        report.tally.abandoned > 0 || failures.any(|failure| failure.first.op == Op::Write)
    };
    match reports.iter().any(|(_, report)| has_failed(report)) {
        true => Tearing::Allowed,
        false => Tearing::Fault,
    }
}

/// Passes of writes that some worker has begun, and those that every worker has ended.
fn write_passes(reports: &[(u32, WorkerReport)]) -> WritePasses {
    let of = || reports.iter().map(|(_, report)| report.tally.write_passes);
    WritePasses {
        begun: of().map(|passes| passes.begun).max().unwrap_or(0),
        ended: of().map(|passes| passes.ended).min().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use crate::error::RunError;
    use crate::execute::execute;
    use crate::probe::RealProbe;
    use crate::safety;
    use host::{CommonStart, Context, Machine, NoWatch, PeerFault, Peers, StartBy};
    use record::{Calibration, FathomVersion, GroupAccount, TargetReach};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use sys::MachineClock;
    use units::{Bytes, Percent};
    use workload::{Phase, Workload};

    /// Another rank, that does as this one and begins before it is asked.
    #[derive(Debug, Default)]
    struct Early {
        is_halted: AtomicBool,
        conferred: AtomicU32,
        is_lost: bool,
    }

    impl Peers for Early {
        fn meet(&self, own: Result<(), PeerFault>) -> Result<(), PeerFault> {
            assert_eq!(own, Ok(()), "nobody hears it who has begun");
            own
        }

        fn confer(
            &self,
            own: String,
            decide: &mut dyn FnMut(&[String]) -> String,
        ) -> Result<String, PeerFault> {
            self.conferred.fetch_add(1, Relaxed);
            Ok(decide(&[own.clone(), own]))
        }

        fn start(&self) -> Result<u64, PeerFault> {
            match self.is_lost {
                true => Err(PeerFault::lost("lost: the other")),
                false => Ok(1),
            }
        }

        fn is_halted(&self) -> bool {
            self.is_halted.load(Relaxed)
        }

        fn halt(&self) {
            self.is_halted.store(true, Relaxed);
        }

        fn reached(&self, _most: u64) {}

        fn most_reached(&self) -> Option<u64> {
            None
        }

        fn left(&self, _steps: u64) {}

        fn left_by_all(&self) -> u64 {
            0
        }
    }

    fn of_two(peers: Arc<Early>) -> Context {
        Context {
            clock: MachineClock::monotonic(),
            machine: Machine::at(Path::new("/")),
            fathom: FathomVersion::default(),
            calibration: Calibration::default(),
            interval_ns: 1_000_000_000,
            target: None,
            common_start: Some(CommonStart {
                rank: 0,
                group: GroupAccount {
                    size: 2,
                    target_is: Some(TargetReach::Shared),
                    ..GroupAccount::default()
                },
                fresh_run: 7,
                target_set: None,
                by: StartBy::Peers(peers),
            }),
            snapshots: None,
        }
    }

    /// What the first rank made for all, and how its run ended.
    fn begun_by_others(peers: &Arc<Early>, target: &Path) -> RunError {
        let mut workload = Workload {
            targets: vec![target.to_path_buf()],
            ..Workload::default()
        };
        workload.files.size = Some(Bytes(1 << 16));
        workload.access.read_percent = Some(Percent(50.0));
        let phase = Phase {
            name: "late".into(),
            workload,
        };
        execute(&phase, &of_two(Arc::clone(peers)), &mut NoWatch).unwrap_err()
    }

    #[test]
    fn a_root_that_misses_the_start_ends_the_others_and_seals_what_they_wrote() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("x");
        let peers = Arc::new(Early::default());
        let error = begun_by_others(&peers, &target);
        assert!(matches!(error, RunError::Missed { .. }), "{error}");
        assert!(peers.is_halted(), "for nothing comes of it");
        assert!(peers.conferred.load(Relaxed) > 0);
        let file = std::fs::File::open(&target).unwrap();
        let mark = safety::read_mark(&file, &target, &RealProbe).unwrap();
        mark.unwrap()
            .still_describes(&target.metadata().unwrap())
            .unwrap();
    }

    #[test]
    fn a_file_to_which_a_lost_rank_may_write_is_not_sealed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("x");
        let make = |is_lost| {
            Arc::new(Early {
                is_lost,
                ..Early::default()
            })
        };
        begun_by_others(&make(false), &target);
        let error = begun_by_others(&make(true), &target);
        assert_eq!(error.exit_code(), 5, "{error}");
        let file = std::fs::File::open(&target).unwrap();
        let mark = safety::read_mark(&file, &target, &RealProbe).unwrap();
        mark.unwrap()
            .still_describes(&target.metadata().unwrap())
            .unwrap_err();
    }
}
