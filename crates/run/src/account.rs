//! From what workers and the machine report to a record.

mod outcome;
mod pace;
mod targets;
mod time;

use crate::prepare::{Prepared, pattern_label};
use crate::resolve::{Resolved, shown};
use crate::setup::{GroupFile, Shared};
use crate::steps::{KindTime, together};
use crate::tally::{Failure, Tally};
use crate::thread::WorkerReport;
use crate::verify::MismatchClass;
use crate::walk::{left_unseen, walk_account};
use engine::Op;
use host::Measured;
pub(crate) use pace::pace;
use record::{
    Coverage, LockAccount, LoopAccount, Record, Residency, Span, StonewallAccount, Verification,
    VerificationFailure, WalkAccount, WorkerAccount, WorkerMeasured,
};
use std::collections::BTreeMap;
pub(crate) use targets::targets;
use time::{WorkedTime, at_work};
use workload::{EngineFeature, LockMode, Phase};

/// What a run hands over to become a record.
pub(crate) struct Ended<'a> {
    /// When all ranks were to begin, where there are others.
    pub(crate) common_start: Option<u64>,
    pub(crate) phase: &'a Phase,
    pub(crate) resolved: &'a Resolved,
    pub(crate) prepared: &'a Prepared,
    pub(crate) shared: &'a Shared,
    pub(crate) measured: Measured,
    pub(crate) reports: Vec<(u32, WorkerReport)>,
    pub(crate) residency: Option<Residency>,
    /// Every block was written.
    pub(crate) completed: bool,
    /// Another rank ended the work of all, and says why.
    pub(crate) ended_by_peers: bool,
}

impl Ended<'_> {
    /// The record of the run, which was begun as `record`.
    pub(crate) fn complete(mut self, mut record: Record) -> Record {
        let late_ns = self.late_ns();
        if let Some(late_ns) = late_ns {
            record.generator_mut().late_ns = late_ns;
        }
        self.reports.sort_by_key(|(index, _)| *index);
        let elapsed_ns = self.elapsed_ns();
        // What was due before a rank began is due to it none the less.
        let paced_ns = elapsed_ns.saturating_add(late_ns.unwrap_or(0));
        let waited_ns = self.unscheduled_ns().min(paced_ns);
        let paced_ns = (paced_ns - waited_ns, waited_ns);
        let mut loops = LoopAccount::default();
        // What an idle worker did, it did in the warm-up.
        let tallies = self.reports.iter().map(|(_, report)| &report.tally);
        let counted = tallies.filter(|tally| !tally.is_idle);
        counted.for_each(|tally| tally.add_to(&mut loops));
        let verification = self.verification();
        let errors = self.errors();
        let operations = &self.measured.operations;
        let outcome = self.outcome(operations, verification.as_ref(), &errors);
        let workers = (0..self.resolved.effective.threads)
            .map(|index| self.worker(index))
            .collect();
        let of_others = self.left_to_others(operations, verification.as_ref(), &record);
        let notices = self.resolved.notices.iter().chain(&self.prepared.notices);
        let unseen = self.shared.walk.as_deref().and_then(left_unseen);
        let unsent = self.tallies().map(|tally| tally.unsent).sum();
        Record {
            asked: shown(&self.phase.workload),
            effective: shown(&self.resolved.effective),
            differences: self.resolved.differences.clone(),
            notices: notices.cloned().chain(of_others).chain(unseen).collect(),
            targets: targets(self.resolved, self.prepared),
            elapsed_ns,
            pace: pace(&self.resolved.effective, operations, paced_ns, unsent),
            spans: self.spans(),
            stonewall: self.stonewall(),
            walk: self.walk(),
            interval_ns: self.measured.interval_ns,
            workers,
            loops,
            verification,
            coverage: self.coverage(),
            locks: self.locks(),
            fill: self.prepared.fill.clone(),
            errors,
            outcome,
            operations: self.measured.operations,
            warmup: self.measured.warmup,
            stops: self.measured.stops,
            series: self.measured.series,
            residency: self.residency,
            ..record
        }
    }

    /// For how long a worker's schedule had nothing for it, as it waited for others between kinds of
    /// operations; of all workers the mean.
    fn unscheduled_ns(&self) -> u64 {
        let end = self.tallies().map(|tally| tally.ended).max();
        let end = end.unwrap_or(0);
        let (workers, all_ns) = self.tallies().fold((0_u64, 0_u64), |(count, ns), tally| {
            (count + 1, ns + tally.unscheduled_until(end))
        });
        all_ns / workers.max(1)
    }

    fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.reports
            .iter()
            .map(|(_, report)| &report.tally)
            .filter(|tally| tally.started > 0 || tally.ended > 0)
    }

    /// From the first worker's start to the last worker's end. A worker that was given up has
    /// counted as long as it was looked at.
    fn elapsed_ns(&self) -> u64 {
        let given_up = if self.reports.len() < self.shared.measured.len() {
            self.measured.watched
        } else {
            None
        };
        WorkedTime::of(self.tallies(), given_up).map_or(0, WorkedTime::length_ns)
    }

    /// When those worked that ended by themselves.
    fn worked(&self) -> Option<WorkedTime> {
        WorkedTime::of(self.tallies(), None)
    }

    /// How long after the common start the measured time began, where there is one.
    fn late_ns(&self) -> Option<u64> {
        let workload = &self.resolved.effective;
        let begins = self.common_start?.saturating_add(workload.stop.warmup.0);
        let began = self.worked()?.began;
        let is_real = !workload.engine.has(EngineFeature::VirtualTime);
        is_real.then(|| began.saturating_sub(begins))
    }

    fn spans(&self) -> BTreeMap<String, Span> {
        let Some(worked) = self.worked() else {
            return BTreeMap::new();
        };
        let span = |time: KindTime| Span {
            start_ns: worked.since_began(time.start),
            end_ns: worked.since_began(time.end),
            elapsed_ns: time.elapsed,
        };
        let tallies = at_work(self.tallies()).into_iter();
        let times = together(tallies.flat_map(|tally| &tally.kind_times));
        times
            .into_iter()
            .map(|time| (time.op.name().to_owned(), span(time)))
            .collect()
    }

    fn walk(&self) -> Option<WalkAccount> {
        self.shared.walk.as_deref().map(walk_account)
    }

    /// Of several kinds that follow each other, the first is the one that it ends. A rank says also what
    /// it had done where it had nothing left to do by then.
    fn stonewall(&self) -> Option<StonewallAccount> {
        let start = self.worked()?.began;
        let ended = |tally: &Tally| {
            let first = tally.kind_times.first();
            first.map_or(tally.ended, |time| time.end)
        };
        let end = at_work(self.tallies()).into_iter().map(ended).max()?;
        let account = self.shared.stonewall.as_ref()?.account(start, end);
        account.filter(|account| account.has_come() || self.common_start.is_some())
    }

    fn worker(&self, index: u32) -> WorkerAccount {
        let placement = self
            .resolved
            .placement
            .get(index as usize)
            .cloned()
            .unwrap_or_default();
        let counted = self.shared.measured[index as usize].snapshot();
        let series = self
            .measured
            .worker_series
            .get(index as usize)
            .cloned()
            .unwrap_or_default();
        let base = WorkerAccount {
            index,
            cpus: placement.cpus,
            nodes: placement.nodes,
            operations: counted.count(),
            bytes: counted.bytes(),
            measured: self
                .shared
                .workload
                .worker_series
                .then_some(WorkerMeasured {
                    operations: counted,
                    series,
                }),
            ..WorkerAccount::default()
        };
        let Some((_, report)) = self.reports.iter().find(|(i, _)| *i == index) else {
            return WorkerAccount {
                error: Some("the worker did not end in time and was given up".into()),
                ..base
            };
        };
        // To whom alone nothing fell, no time of the whole was measured.
        let counts = |own: &&Tally| std::ptr::eq(*own, &report.tally);
        let counts = at_work(self.tallies()).iter().any(counts);
        let worked = self.worked().filter(|_| counts);
        let moment = |at: u64| worked.map_or(0, |worked| worked.since_began(at));
        let usage = &report.tally.usage;
        WorkerAccount {
            started_ns: moment(report.tally.started),
            ended_ns: moment(report.tally.ended),
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            run_queue_wait_ns: worked.and_then(|_| Self::waited_ns(report)),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            engine_features: report.features.clone(),
            error: report.error.clone(),
            schedule: self.schedule(&report.tally),
            ..base
        }
    }

    /// What a worker's thread waited for a CPU in the measured time.
    fn waited_ns(report: &WorkerReport) -> Option<u64> {
        let tally = &report.tally;
        let wait = report.run_queue_wait?;
        wait.measured_ns(tally.started, tally.ended, &tally.usage)
    }

    /// Whether operations are on names instead of data.
    fn has_names(&self) -> bool {
        !self.resolved.effective.files.meta.is_empty()
    }

    /// Of what a worker's operation was; empty where nobody knows.
    fn file_name(&self, worker: u32, failure: &Failure) -> String {
        let path = if failure.op == Op::Walk {
            // All workers take what any has found.
            None
        } else if self.has_names() {
            self.shared.name(worker, failure.file)
        } else {
            let (group, _, _) = self.shared.group_of(worker);
            let file = group.files.get(failure.file as usize);
            file.map(|file| file.path.clone())
        };
        path.map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    fn verification(&self) -> Option<Verification> {
        let workload = &self.resolved.effective;
        if !workload.verify.on {
            return None;
        }
        let mut log = crate::verify::FailureLog::new();
        let files = &self.prepared.files;
        for (worker, report) in &self.reports {
            let (group, _, _) = self.shared.group_of(*worker);
            log.merge(&report.tally.verification.calling(|own| {
                let own = group.files.get(own as usize);
                let is_own = |own: &GroupFile| files.iter().position(|file| file.path == own.path);
                let place = own.and_then(is_own).map(u32::try_from);
                place.and_then(Result::ok).unwrap_or(u32::MAX)
            }));
        }
        let name = |place: u32| {
            let file = files.get(place as usize);
            file.map_or_else(String::new, |file| file.path.display().to_string())
        };
        Some(Verification {
            pattern: pattern_label(workload),
            operations: log.operations(),
            failures: log.failures(),
            by_kind: MismatchClass::ALL
                .iter()
                .map(|class| (class.name().to_owned(), log.count(*class)))
                .filter(|(_, n)| *n > 0)
                .collect(),
            first: log
                .first()
                .iter()
                .map(|m| VerificationFailure {
                    file: name(m.file),
                    offset: m.first_bad_byte,
                    kind: m.kind.class().name().into(),
                    detail: m.to_string(),
                })
                .collect(),
            self_check: "every corruption made on purpose was found".into(),
        })
    }

    fn coverage(&self) -> Option<Coverage> {
        let parts: Vec<Coverage> = self
            .shared
            .groups
            .iter()
            .filter_map(|group| group.heat.as_ref().map(crate::heat::Heat::coverage))
            .collect();
        let (first, rest) = parts.split_first()?;
        let mut sum = first.clone();
        for part in rest {
            sum.blocks += part.blocks;
            sum.touched += part.touched;
            sum.hottest_fifth_share = (sum.hottest_fifth_share * sum.uses as f64
                + part.hottest_fifth_share * part.uses as f64)
                / ((sum.uses + part.uses).max(1)) as f64;
            sum.uses += part.uses;
            sum.buckets
                .iter_mut()
                .zip(&part.buckets)
                .for_each(|(mine, theirs)| *mine += theirs);
        }
        Some(sum)
    }

    fn locks(&self) -> Option<LockAccount> {
        let mode = self.resolved.effective.lock_mode;
        if mode == LockMode::None {
            return None;
        }
        let mut account = LockAccount {
            mode: mode.word().into(),
            ..LockAccount::default()
        };
        self.reports
            .iter()
            .filter_map(|(_, report)| report.lock_wait.as_ref())
            .for_each(|wait| account.wait.merge(wait));
        Some(account)
    }
}
