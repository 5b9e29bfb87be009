//! How a schedule was kept.

use super::Ended;
use crate::tally::Tally;
use record::{Measurements, PaceAccount, ScheduleEnd, WorkerSchedule};
use workload::{EngineFeature, Workload};

/// What was asked of a workload's schedule and what came of it in the time in which it was asked, which
/// begins with the common start where there is one; `None` where there is no schedule.
pub(crate) fn pace(
    workload: &Workload,
    operations: &Measurements,
    (paced_ns, waited_ns): (u64, u64),
    unsent: u64,
) -> Option<PaceAccount> {
    let pace = &workload.pace;
    if pace.rate_iops.is_none() && pace.rate_bytes.is_none() {
        return None;
    }
    // A rate is of all ranks together.
    let share = 1.0 / f64::from(workload.rank.size());
    let paced: u64 = operations
        .but_flushes()
        .map(|(_, kind)| kind.count + kind.errors)
        .sum();
    let achieved = if paced_ns > 0 {
        paced as f64 * 1e9 / paced_ns as f64
    } else {
        0.0
    };
    Some(PaceAccount {
        asked_per_second: pace.rate_iops.map(|rate| rate.0 * share),
        asked_bytes_per_second: pace.rate_bytes.map(|rate| rate.0 * share),
        achieved_per_second: achieved,
        over_ns: Some(paced_ns),
        waited_ns,
        unsent,
    })
}

impl Ended<'_> {
    /// How a worker followed its schedule; one that had done all in the warm-up began nothing of it.
    pub(super) fn schedule(&self, tally: &Tally) -> Option<WorkerSchedule> {
        let (since, schedule) = tally.schedule?;
        if tally.is_idle {
            return Some(WorkerSchedule {
                end: ScheduleEnd::Done,
                gap_ns: schedule.gap_ns,
                parts: schedule.parts,
                ..WorkerSchedule::default()
            });
        }
        let workload = &self.resolved.effective;
        let is_real = !workload.engine.has(EngineFeature::VirtualTime);
        let begins = self.common_start.filter(|_| is_real);
        let begins = begins.map(|start| start.saturating_add(workload.stop.warmup.0));
        Some(WorkerSchedule {
            late_ns: begins.map_or(0, |begins| since.saturating_sub(begins)),
            ..schedule
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ended;
    use crate::prepare::prepare;
    use crate::resolve::resolve;
    use crate::setup::Shared;
    use crate::thread::WorkerReport;
    use host::{Machine, Measured};
    use record::{Operations, Record, WorkerSchedule};
    use std::path::Path;
    use units::{Bytes, Nanos, Rate};
    use workload::{EngineName, Phase, Rank, Workload, share};

    const SECOND: u64 = 1_000_000_000;

    /// What one of two ranks says that were asked for 400 operations a second, and that began 600 from
    /// its worker's start at 13 s to the end at 15 s.
    fn said(common_start: Option<u64>, warmup: u64) -> Record {
        let mut whole = Workload {
            targets: vec!["x".into()],
            engine: EngineName::Null,
            ..Workload::default()
        };
        whole.files.size = Some(Bytes(1 << 20));
        whole.pace.rate_iops = Some(Rate(400.0));
        whole.stop.warmup = Nanos(warmup);
        let workload = share(&whole, Rank::new(0, 2).unwrap()).unwrap();
        let resolved = resolve(&workload, &Machine::at(Path::new("/"))).unwrap();
        let prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
        let shared = Shared::new(&resolved, &prepared, None).unwrap();
        let mut report = WorkerReport::default();
        (report.tally.started, report.tally.ended) = (13 * SECOND, 15 * SECOND);
        let followed = WorkerSchedule::default();
        report.tally.schedule = Some((13 * SECOND, followed));
        let mut measured = Measured::default();
        let reads = Operations {
            count: 600,
            ..Operations::default()
        };
        measured.operations.insert("read", reads);
        let ended = Ended {
            common_start,
            phase: &Phase {
                name: "late".into(),
                workload,
            },
            resolved: &resolved,
            prepared: &prepared,
            shared: &shared,
            measured,
            reports: vec![(0, report)],
            residency: None,
            completed: false,
            ended_by_peers: false,
        };
        ended.complete(Record::default())
    }

    #[test]
    fn what_a_late_rank_achieved_is_of_the_time_from_the_common_start() {
        for (common_start, warmup, late, achieved) in [
            (None, 0, 0, 300.0),
            (Some(13 * SECOND), 0, 0, 300.0),
            (Some(12 * SECOND), 0, SECOND, 200.0),
            (Some(12 * SECOND), SECOND, 0, 300.0),
            (Some(11 * SECOND), SECOND, SECOND, 200.0),
        ] {
            let record = said(common_start, warmup);
            let pace = record.pace.clone().unwrap();
            assert_eq!(record.elapsed_ns, 2 * SECOND);
            assert_eq!(record.generator().late_ns, late);
            let schedule = record.workers[0].schedule.unwrap();
            assert_eq!(schedule.late_ns, late);
            assert_eq!(pace.asked_per_second, Some(200.0));
            assert_eq!(
                pace.achieved_per_second, achieved,
                "{common_start:?} {warmup}"
            );
        }
    }
}
