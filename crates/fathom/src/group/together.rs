//! The work of ranks that a launcher started: one plan, one start, one record.

use super::agree::{Hello, agree};
use super::connection::{RankLink, fault_by, fault_of, fault_word};
use super::course::{GroupOutput, GroupTerms};
use super::joining::{GroupTrial, RankParts, part_word, wall_time_of};
use super::launched::Launch;
use super::rows::RootWork;
use super::watched::telling;
use super::work::GroupWork;
use crate::exit::{code_of, told};
use crate::live::{Live, ended, records as records_of};
use crate::profile::Io500Together;
use crate::run::{is_over, of_job};
use crate::tell::say;
use crate::{context, target};
use anyhow::Result;
use clap::ArgMatches;
use host::{CommonStart, Context, PeerFault, StartBy};
use lab::{Kept, LimitSearch};
use record::{GroupAccount, Outcome, Record, Status, TargetReach, Threshold};
use run::RunError;
use serde_json::{Value, json};
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

/// Does what was asked on all ranks; the exit code is the same on all of them.
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
        connection.end(2);
        // Each of them is alone. The first speaks, and has the code of all.
        return if launch.is_root() { Err(wrong) } else { Ok(0) };
    }
    let connection = Arc::new(connection);
    let mut group = RankGroup {
        matches,
        connection: &connection,
        launch,
        context,
        asked,
        thresholds: Vec::new(),
    };
    let outcome = group.run();
    let code = outcome.as_ref().map_or_else(code_of, |code| *code);
    // The root says it for all, and before the end: whoever sees one rank fail may kill the rest.
    if let Err(error) = &outcome
        && connection.is_root()
    {
        say(&format!("error: {}", told(error)));
    }
    if connection.speaks_for_lost_root() {
        say(&format!(
            "error: {}: it keeps what all measure, and its records hold what it had written until then",
            connection.loss().text
        ));
    }
    if connection.is_root() || connection.has_lost_root() {
        crate::exit::say_end(code);
    }
    connection.end(code);
    Ok(code)
}

pub(super) struct RankGroup<'a> {
    pub(super) matches: &'a ArgMatches,
    pub(super) connection: &'a Arc<RankLink>,
    launch: &'a Launch,
    pub(super) context: Context,
    pub(super) asked: GroupAsked,
    thresholds: Vec<Threshold>,
}

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
    goes_on: bool,
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
        };
        let agreed = agree(self.connection, &hello).map_err(RunError::from)?;
        let group = GroupAccount {
            size: self.connection.size,
            launcher: format!("{} ({})", self.launch.launched.by, self.connection.library),
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
            live,
            targets,
        };
        match self.asked.course.take() {
            Some(GroupCourse::Io500(mut course)) => return self.steps(&mut course, &terms),
            Some(GroupCourse::Rows(work)) => return self.rows(work, &terms),
            None => {}
        }
        let (mut records, mut unsaved) = (Vec::new(), None);
        let mut code = 0;
        let apart = agreed
            .apart
            .filter(|_| agreed.reach == Some(TargetReach::Shared));
        let changes = GroupWork::place_shifts(&mut works, apart);
        for ((work, change), number) in works.iter().zip(changes).zip(1_u64..) {
            let mut place = |record: &mut Record| change.iter().for_each(|of| of.tell(record));
            let end = self.work(work, number, &terms, &mut place)?;
            records.extend(end.record);
            unsaved = end.unsaved;
            code = end.exit_code.max(code);
            if !end.goes_on {
                break;
            }
        }
        terms.live.end(&ended(records_of(self.matches)));
        if self.connection.is_root() {
            self.asked.output.finish(&records, "")?;
        }
        unsaved.map_or(Ok(code), Err)
    }

    /// What can be refused without asking the others.
    fn begin(&mut self, targets: &[PathBuf]) -> Result<()> {
        for work in &self.asked.works {
            let _its_part_can_be_told = work.share(self.rank()?)?;
        }
        self.thresholds = std::mem::replace(&mut self.asked.thresholds, Ok(Vec::new()))?;
        if self.connection.is_root() {
            self.asked.output.check_writable(targets)?;
        }
        Ok(())
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
        let work = work.share(self.rank()?)?;
        self.connection.seen().forget_snapshots();
        let trial = self.trial();
        let fresh_run = split_mix(terms.drawn.wrapping_add(asked.number));
        let context = Context {
            interval_ns: asked.interval_ns,
            ..self.start(&terms.group, fresh_run)
        };
        live.begin_plain(work.view(&context));
        // It keeps what there is as long as others measure.
        let mut keeper = self.keeper(&trial, context.clock, &terms.targets)?;
        let part = telling(self.connection, context, |context| {
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
        })
    }

    /// What a rank measures in, among the others.
    fn start(&self, group: &GroupAccount, fresh_run: u64) -> Context {
        let start = CommonStart {
            rank: self.connection.rank,
            group: group.clone(),
            fresh_run,
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
        let answer = self.connection.round(part_word(part), |words| {
            let parts = RankParts::read(&words);
            let fault = parts.first_fault().cloned();
            let parts = parts.or(RankParts::snapshots(&self.connection.seen().snapshots()));
            match trial.record(parts) {
                Some(record) => {
                    let mut record = self.finished(record, name, live);
                    end.exit_code = record.outcome.exit_code;
                    stop_with_the_stopped(&record.outcome);
                    end.goes_on = !is_over(std::slice::from_ref(&record));
                    if let Err(error) = keep(&mut record) {
                        (end.exit_code, end.goes_on) = (1, false);
                        end.unsaved = Some(error);
                    }
                    end.record = Some(record);
                    json!({ "code": end.exit_code, "goes_on": end.goes_on })
                        .to_string()
                        .into_bytes()
                }
                None => {
                    let fault = fault.unwrap_or_else(|| self.connection.loss());
                    fault_word(&fault).to_string().into_bytes()
                }
            }
        });
        let answer = answer.map_err(RunError::from)?;
        if let Some(fault) = fault_of(&answer) {
            return Err(RunError::from(fault).into());
        }
        if !self.connection.is_root() {
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            let code = answer.get("code").and_then(Value::as_i64);
            end.exit_code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(5);
            end.goes_on = answer.get("goes_on").and_then(Value::as_bool) == Some(true);
        }
        Ok(end)
    }

    /// A rank's part, and what its clock was and did.
    pub(super) fn clocked(&self, mut record: Record) -> Record {
        if record.elapsed_ns > 0 {
            let drift = self.connection.clock_drift();
            let host = record.generator_mut();
            host.clock_bound_ns = Some(self.connection.bound_ns());
            host.clock_drift_ns = drift.map(|drift| drift.ns);
            host.clock_drift_bound_ns = drift.map(|drift| drift.bound_ns);
        }
        record
    }

    /// The root's last touches: when all began, and what the record is held against.
    fn finished(&self, mut record: Record, name: &str, live: &Live) -> Record {
        let began = self.connection.began_at();
        let clock = &self.context.clock;
        if let Some(group) = record.group.as_mut().filter(|_| began > 0) {
            group.start_at = wall_time_of(clock, began);
            let agreed = self.connection.agreed();
            group.lead_ns = agreed.map(|agreed| agreed.lead_ns);
            group.start_tries = agreed.map(|agreed| agreed.tries);
            group.max_skew_ns = Some(self.launch.max_skew.0);
        }
        record.notices.extend(live.notice());
        record.notices.extend(of_job(self.asked.job.as_ref(), name));
        record.hold_against(&self.thresholds);
        let beyond = record
            .group
            .as_ref()
            .and_then(GroupAccount::beyond_max_skew);
        if let Some((skew, most)) = beyond
            && record.outcome == record::Outcome::default()
        {
            record.outcome.exit_code = 4;
            record.outcome.message = Some(format!(
                "ranks began {skew} apart, more than --max-skew {most}"
            ));
        }
        live.keep(Kept::Record(&record));
        record
    }
}

/// Whoever decides what comes next stops where any rank was told to: it cannot measure any more, and
/// would be asked to for ever.
fn stop_with_the_stopped(outcome: &Outcome) {
    const STOPPED_BY: i32 = 128;
    if outcome.status == Status::Interrupted && outcome.exit_code > STOPPED_BY {
        sys::stop_with_another(outcome.exit_code - STOPPED_BY);
    }
}
