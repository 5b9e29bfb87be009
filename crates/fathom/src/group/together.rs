//! The work of ranks that a launcher started: one plan, one start, one record.

use super::agree::{Hello, agree};
use super::connection::RankLink;
use super::course::{GroupOutput, GroupTerms};
use super::ending::{broken_off, end_with, leave_part, stop_with_the_stopped, why_left};
use super::joining::{GroupTrial, RankParts, part_word};
use super::launched::Launch;
use super::rows::RootWork;
use super::watched::telling;
use super::words::{fault_by, fault_of, fault_word};
use super::work::GroupWork;
use crate::live::Live;
use crate::profile::Io500Together;
use crate::run::{is_over, of_job};
use crate::tell::{hold_back, say};
use crate::{context, target};
use anyhow::Result;
use clap::ArgMatches;
use group::Word;
use host::{CommonStart, Context, PeerFault, StartBy};
use lab::{Kept, LimitSearch};
use record::{GroupAccount, Record, TargetReach, Threshold};
use run::RunError;
use std::path::PathBuf;
use std::sync::Arc;
use units::random::split_mix;
use workload::Rank;
use workload::fio::FioJobs;

/// What a command asks of a group.
pub(crate) struct GroupAsked {
    /// One after another.
    pub(crate) works: Vec<GroupWork>,
    pub(crate) output: Box<dyn GroupOutput>,
    /// What the root decides step by step; `works` is then what ranks agree about.
    pub(crate) course: Option<GroupCourse>,
    /// What else a fio job says.
    pub(crate) job: Option<FioJobs>,
    /// Or why there are none of these, which the root says for all.
    pub(crate) thresholds: Result<Vec<Threshold>>,
    /// The rates at which the one load is done, one after another.
    pub(crate) search: Option<LimitSearch>,
}

/// What the root decides step by step.
pub(crate) enum GroupCourse {
    Io500(Box<Io500Together>),
    Rows(Box<dyn RootWork>),
}

/// Does what was asked on all ranks. The exit code is what the root says of the works, on all of them; it is
/// another one where a rank does not hear that, and where the root cannot show or keep what came of them.
pub(crate) fn run(matches: &ArgMatches, launch: &Launch, asked: GroupAsked) -> Result<i32> {
    let context = Context {
        target: target::observed(matches)?,
        ..context::context(asked.output.interval_ns())?
    };
    let connection = RankLink::open(launch.choice.clone(), launch.timing, context.clock);
    let connection = connection.or_else(|error| launch.unconnected(error))?;
    // The library sets handlers of its own when it begins.
    sys::catch_signals();
    if let Err(wrong) = launch.check(&connection) {
        connection.end(2, &why_left(Some(&wrong)));
        // Each of them is alone. The first speaks, and has the code of all.
        return if launch.is_root() { Err(wrong) } else { Ok(0) };
    }
    if connection.is_root() {
        hold_back();
    }
    let connection = Arc::new(connection);
    let mut group = RankGroup {
        matches,
        connection: &connection,
        launch,
        context,
        asked,
        thresholds: Vec::new(),
        target_set: None,
    };
    let outcome = group.run();
    Ok(end_with(&connection, outcome))
}

pub(super) struct RankGroup<'a> {
    pub(super) matches: &'a ArgMatches,
    pub(super) connection: &'a Arc<RankLink>,
    launch: &'a Launch,
    pub(super) context: Context,
    pub(super) asked: GroupAsked,
    thresholds: Vec<Threshold>,
    /// The number of its target, where hosts have targets of their own.
    target_set: Option<u32>,
}

/// Each host made or found a target of its own.
const OWN_TARGETS: &str = "no host sees the target of another: each uses one of its own under that name, and the sum is of all; where one was to be seen by all, it is not mounted";

/// How one of several works is done.
pub(super) struct WorkAsked {
    /// Counted by all ranks alike.
    pub(super) number: u64,
    /// Length of one interval of its series.
    pub(super) interval_ns: u64,
}

/// What came of a work: its record at the root, and whether the next may begin.
pub(super) struct WorkEnd {
    pub(super) record: Option<Record>,
    pub(super) exit_code: i32,
    pub(super) goes_on: bool,
    /// Why its record could not be written.
    pub(super) unsaved: Option<anyhow::Error>,
}

impl RankGroup<'_> {
    fn run(&mut self) -> Result<i32> {
        let mut works = self.asked.works.clone();
        let targets: Vec<PathBuf> = works.iter().flat_map(GroupWork::files).collect();
        let plans: Vec<String> = works.iter().map(GroupWork::plan).collect();
        let fault = self.begin(&targets).err().map(|error| fault_by(&error));
        let hello = Hello {
            plan: &plans.join(" "),
            works: &works,
            asked: self.launch.target_is,
            fault,
            is_told_people: self.asked.job.is_none(),
        };
        let agreed = agree(self.connection, &hello).map_err(RunError::from)?;
        if let Some(note) = self.own_targets(agreed.reach)
            && self.connection.is_root()
        {
            say(&format!("note: {note}"));
        }
        self.target_set = agreed.target_set;
        let group = GroupAccount {
            size: self.connection.size,
            launcher: format!("{} ({})", self.launch.launched.by, agreed.library),
            plan: record::hash_of(plans.join(" ").as_bytes()),
            target_is: agreed.reach,
            unseen_by: agreed.unseen_by,
            ..GroupAccount::default()
        };
        let live = match self.connection.is_root() {
            true => Live::open(self.matches, &GroupWork::title(&works))?,
            false => Live::silent(),
        };
        if let ([GroupWork::Load(task)], Some(limit)) = (works.as_slice(), &self.asked.search) {
            let start = self.start(&group, agreed.drawn);
            return self.find_limit(task, limit.clone(), start, &live);
        }
        let terms = GroupTerms {
            group,
            drawn: agreed.drawn,
            at_target: agreed.at_target,
            live,
            targets,
        };
        match self.asked.course.take() {
            Some(GroupCourse::Io500(mut course)) => return self.steps(&mut course, &terms),
            Some(GroupCourse::Rows(work)) => return self.rows(work, &terms),
            None => {}
        }
        let apart = agreed
            .apart
            .filter(|_| agreed.reach == Some(TargetReach::Shared));
        let changes = GroupWork::place_shifts(&mut works, apart);
        self.one_after_another(works.iter().zip(changes).collect(), &terms)
    }

    /// What can be refused without asking the others.
    fn begin(&mut self, targets: &[PathBuf]) -> Result<()> {
        // How many ranks share the names of a target is known later, and asked for then.
        let rank = self.rank()?.at_target(0, 1);
        for work in &self.asked.works {
            let _its_part_can_be_told = work.share(rank)?;
        }
        self.thresholds = std::mem::replace(&mut self.asked.thresholds, Ok(Vec::new()))?;
        if self.connection.is_root() {
            self.asked.output.check_writable(targets)?;
        }
        Ok(())
    }

    /// What is said where nobody had asked for targets of hosts' own.
    fn own_targets(&self, reach: Option<TargetReach>) -> Option<&'static str> {
        let is_said = self.launch.target_is.said.is_some();
        (reach == Some(TargetReach::Local) && !is_said).then_some(OWN_TARGETS)
    }

    pub(super) fn rank(&self) -> Result<Rank> {
        Ok(Rank::new(self.connection.rank, self.connection.size)?)
    }

    /// The work with this number; the root has `place` say of its record where it belongs.
    pub(super) fn work(
        &self,
        work: &GroupWork,
        number: u64,
        terms: &GroupTerms,
        place: &mut dyn FnMut(&mut Record),
    ) -> Result<WorkEnd> {
        let asked = WorkAsked {
            number,
            interval_ns: self.context.interval_ns,
        };
        let mut keep = |record: &mut Record| {
            place(record);
            let own_targets = self.own_targets(terms.group.target_is);
            record.notices.extend(own_targets.map(str::to_owned));
            self.asked.output.save(record)
        };
        self.work_as(work, &asked, terms, &terms.live, &mut keep)
    }

    /// The same, shown by `live`, where somebody else keeps the records.
    pub(super) fn work_as(
        &self,
        work: &GroupWork,
        asked: &WorkAsked,
        terms: &GroupTerms,
        live: &Live,
        keep: &mut dyn FnMut(&mut Record) -> Result<()>,
    ) -> Result<WorkEnd> {
        let rank = self.rank()?;
        let (place, of) = terms.at_target;
        let work = work.share(match terms.group.target_is {
            Some(TargetReach::Local) => rank.at_target(place, of),
            Some(TargetReach::Shared | TargetReach::Unknown) | None => rank,
        })?;
        self.connection.seen().begin_work();
        let trial = self.trial();
        let fresh_run = split_mix(terms.drawn.wrapping_add(asked.number));
        let context = Context {
            interval_ns: asked.interval_ns,
            ..self.start(&terms.group, fresh_run)
        };
        live.begin_plain(work.view(&context));
        // It keeps what there is as long as others measure.
        let mut keeper = self.keeper(&trial, context.clock, &terms.targets)?;
        let part = telling(self.connection, context, work.asked(), |context| {
            work.measure(context, live, self.connection)
        });
        let part = part?.map(|record| self.clocked(record));
        let mut keep = |record: &mut Record| {
            drop(keeper.take());
            keep(record)
        };
        self.join(&part, &trial, work.name(), live, &mut keep)
    }

    /// A trial of which there is no record yet.
    pub(super) fn trial(&self) -> Arc<GroupTrial> {
        Arc::new(GroupTrial {
            connection: Arc::clone(self.connection),
            id: format!("{:032x}", sys::random_bits()),
            clock: self.context.clock,
            max_skew: self.launch.max_skew,
        })
    }

    /// What a rank measures in, among the others.
    fn start(&self, group: &GroupAccount, fresh_run: u64) -> Context {
        let start = CommonStart {
            rank: self.connection.rank,
            group: group.clone(),
            fresh_run,
            target_set: self.target_set,
            by: StartBy::Peers(Arc::clone(self.connection) as Arc<dyn host::Peers>),
        };
        Context {
            common_start: Some(start),
            ..self.context.clone()
        }
    }

    /// What all have measured, as one record at the root.
    pub(super) fn join(
        &self,
        part: &Result<Record, PeerFault>,
        trial: &GroupTrial,
        name: &str,
        live: &Live,
        keep: &mut dyn FnMut(&mut Record) -> Result<()>,
    ) -> Result<WorkEnd> {
        let mut end = WorkEnd {
            record: None,
            exit_code: PeerFault::LOST,
            goes_on: false,
            unsaved: None,
        };
        live.waits(&format!(
            "{name}: measured here; what the other ranks have is awaited"
        ));
        let said = |words: &[Option<Word>]| {
            let parts = RankParts::read(words);
            parts.or(RankParts::snapshots(&self.connection.seen().snapshots()))
        };
        let answer = self.connection.round(part_word(part), |words| {
            let parts = said(&words);
            let answer = match trial.record(parts) {
                Ok(record) => {
                    self.keep(self.finished(record, trial, name, live), keep, &mut end);
                    end.word(sys::caught_signal())
                }
                Err(fault) => fault_word(&fault),
            };
            answer.to_string().into_bytes()
        });
        let answer = match answer {
            Ok(answer) => answer,
            // What the root has of all is not lost with the group.
            Err(fault) if self.connection.is_root() => {
                let parts = said(&[Some(part_word(part).into())]);
                if end.record.is_none()
                    && let Ok(mut record) = trial.record(parts)
                {
                    if sys::is_told_twice() {
                        trial.spare_the_waiting(&mut record);
                    }
                    record.outcome = broken_off(&fault, record.outcome);
                    self.keep(self.finished(record, trial, name, live), keep, &mut end);
                }
                end.goes_on = false;
                return match end.record {
                    Some(_) => Ok(end),
                    None => Err(RunError::from(fault).into()),
                };
            }
            Err(fault) => {
                part.iter()
                    .for_each(|part| leave_part(self.connection, part, &fault));
                return Err(RunError::from(fault).into());
            }
        };
        if let Some(fault) = fault_of(&answer) {
            return Err(RunError::from(fault).into());
        }
        if !self.connection.is_root() {
            end.hear(&answer)
                .into_iter()
                .for_each(sys::stop_with_another);
        }
        Ok(end)
    }

    /// Keeps the record of all, which says how it ends.
    fn keep(
        &self,
        mut record: Record,
        keep: &mut dyn FnMut(&mut Record) -> Result<()>,
        end: &mut WorkEnd,
    ) {
        end.exit_code = record.outcome.exit_code;
        stop_with_the_stopped(&record.outcome);
        end.goes_on = !is_over(std::slice::from_ref(&record));
        if let Err(error) = keep(&mut record) {
            (end.exit_code, end.goes_on) = (1, false);
            end.unsaved = Some(error);
        }
        end.record = Some(record);
    }

    /// A rank's part, and what its clock was and did.
    pub(super) fn clocked(&self, mut record: Record) -> Record {
        let (seen, library) = (self.connection.seen(), &self.connection.library);
        seen.sign(record.generator_mut(), library);
        if record.elapsed_ns > 0 {
            let drift = self.connection.clock_drift();
            let host = record.generator_mut();
            host.clock_drift_ns = drift.map(|drift| drift.ns);
            host.clock_drift_bound_ns = drift.map(|drift| drift.bound_ns);
        }
        record
    }

    /// The root's last touches: when all began, and what the record is held against.
    fn finished(&self, mut record: Record, trial: &GroupTrial, name: &str, live: &Live) -> Record {
        trial.date(&mut record);
        record.notices.extend(live.notice());
        record.notices.extend(of_job(self.asked.job.as_ref(), name));
        // A measurement that does not count holds no threshold and misses none.
        record.hold_against(&self.thresholds);
        live.keep(Kept::Record(&record));
        record
    }
}
