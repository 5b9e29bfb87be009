//! The search for the highest rate at which a threshold holds, by all ranks of a load: the root decides
//! each step from the record of all of the one before, and tells the others.

use super::together::RankGroup;
use super::watched::{RankWatch, telling};
use super::words::{fault_of, fault_word};
use crate::live::{Live, LiveView, WorkView, ended, records as records_of};
use crate::load::knee_exit_code;
use crate::tell::{layout, say};
use anyhow::Result;
use conduct::{LoadTask, unstarted_load};
use host::{Context, PeerFault};
use lab::{Conduct, LabError, LimitFound, LimitSearch, Turn, Unstarted, Work};
use object::{LoadError, LoadShare, Setup};
use record::{LoadAccount, Outcome, Record, Removed, SlotPlace, Status};
use run::RunError;
use serde_json::{Value, json};

/// What a rank does in the search.
struct RankSteps<'a> {
    group: &'a RankGroup<'a>,
    /// The load of all ranks.
    task: &'a LoadTask,
    context: Context,
    live: Live,
    /// What its own part needs on the server.
    setup: Option<Setup>,
    /// The others have left.
    is_broken: bool,
}

/// What the root says before each step.
enum NextStep {
    AtRate { per_second: f64, for_ns: u64 },
    Over,
}

impl RankGroup<'_> {
    /// Searches; the exit code is the same on all ranks.
    pub(super) fn find_limit(
        &self,
        task: &LoadTask,
        limit: LimitSearch,
        context: Context,
        live: &Live,
    ) -> Result<i32> {
        let view = WorkView::of_load(&task.plan, &context).of_ranks();
        live.begin_plain(LiveView::Work(Box::new(view)));
        let mut steps = RankSteps {
            group: self,
            task,
            context,
            live: live.clone(),
            setup: None,
            is_broken: false,
        };
        let code = match self.connection.is_root() {
            true => self.decide_steps(&mut steps, limit)?,
            false => {
                steps.follow()?;
                5
            }
        };
        // The root has the code; a rank that has lost it says so by itself.
        let own = json!({}).to_string().into_bytes();
        let decide = |_| json!({ "code": code }).to_string().into_bytes();
        let Ok(answer) = self.connection.round(own, decide) else {
            return Ok(code);
        };
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let told = answer.get("code").and_then(Value::as_i64);
        Ok(told
            .and_then(|code| i32::try_from(code).ok())
            .unwrap_or(code))
    }

    fn decide_steps(&self, steps: &mut RankSteps<'_>, limit: LimitSearch) -> Result<i32> {
        let output = &self.asked.output;
        let mut keep = |record: &Record| Ok(output.save(record)?);
        let found = lab::find_limit(limit, steps, &mut keep).map_err(as_fault)?;
        steps.live.end(&ended(records_of(self.matches)));
        let LimitFound {
            records,
            account,
            no_point,
            ended_by,
        } = found;
        let knee = report::knee_text(&account, no_point, layout(self.matches));
        output.finish(&records, &knee)?;
        if let Some(error) = ended_by {
            return Err(as_fault(error));
        }
        let ended = end_of_steps(&records);
        let found = ended.unwrap_or_else(|| knee_exit_code(&account, &records));
        let stopped = sys::caught_signal().map(sys::CaughtSignal::exit_code);
        Ok(stopped.unwrap_or(found))
    }
}

/// The exit code of a search that ended at a step that says nothing of its rate, for a rank has ended, or all began too
/// far apart: what held before is not its limit.
fn end_of_steps(records: &[Record]) -> Option<i32> {
    let last = records.last()?;
    let says_nothing = last.outcome.status.is_cut_short() || last.outcome.status == Status::Apart;
    says_nothing.then_some(last.outcome.exit_code)
}

/// Why a rank has failed before the step began: what it needs could not be made again.
fn never_begun(record: &Record) -> Option<PeerFault> {
    let outcome = &record.outcome;
    let hosts = record.host_parts();
    let is_whole = hosts.iter().all(|own| own.part.has_begun());
    (outcome.status == Status::Failed && !is_whole).then(|| PeerFault {
        text: outcome.message.clone().unwrap_or_default(),
        exit_code: outcome.exit_code,
    })
}

fn as_fault(error: LabError) -> anyhow::Error {
    match error {
        LabError::Step(refused) => {
            let record = refused.record;
            let left = record.notes();
            let left = left.iter().map(|left| format!("; {left}"));
            RunError::from(PeerFault {
                text: refused.source.to_string() + &left.collect::<String>(),
                exit_code: record.outcome.exit_code,
            })
            .into()
        }
        LabError::Keep(error) => anyhow::Error::from_boxed(error),
        error @ (LabError::Slot { .. } | LabError::Plan(_)) => error.into(),
    }
}

impl RankSteps<'_> {
    fn share(&self, task: &LoadTask) -> Result<LoadTask, LoadError> {
        let connection = self.group.connection;
        let share = LoadShare {
            rank: connection.rank,
            size: connection.size,
        };
        Ok(LoadTask {
            plan: task.plan.shared(share)?,
            asked: task.asked.clone(),
        })
    }

    fn make(&mut self) -> Result<(), LoadError> {
        let own = self.share(self.task)?;
        let (live, connection) = (&mut self.live, self.group.connection);
        let asked = own.asked.clone();
        let made = telling(connection, self.context.clone(), asked, |context| {
            Setup::make_with_others(&own.plan, context, live)
        });
        let made = made.unwrap_or_else(|error| {
            Err(LoadError::Threads {
                why: error.to_string(),
                left: String::new(),
            })
        });
        self.is_broken = made.is_err();
        self.setup = Some(made?);
        Ok(())
    }

    /// What every other rank does: what the root says.
    fn follow(&mut self) -> Result<(), RunError> {
        let outcome = self.make().map_err(|error| PeerFault {
            text: error.to_string(),
            exit_code: error.exit_code(),
        });
        let outcome = outcome.and_then(|()| {
            while let NextStep::AtRate { per_second, for_ns } = self.said(NextStep::Over)? {
                self.step(per_second, for_ns)?;
            }
            Ok(())
        });
        let mut left = Record {
            load: Some(LoadAccount::default()),
            ..Record::default()
        };
        self.remove(&mut left);
        // The records of the search are the root's.
        let called = self.group.connection.called(self.group.connection.rank);
        for left in left.notes() {
            say(&format!("{called}: {left}"));
        }
        Ok(outcome?)
    }

    /// One step of all ranks; its record at the root. Whoever fails at it is not where the others are
    /// then, and does not meet them any more.
    fn step(&mut self, per_second: f64, for_ns: u64) -> Result<Option<Record>, PeerFault> {
        let stepped = self.stepped(per_second, for_ns);
        self.is_broken |= stepped.is_err();
        stepped
    }

    fn stepped(&mut self, per_second: f64, for_ns: u64) -> Result<Option<Record>, PeerFault> {
        let whole = self.task.at_rate(per_second, for_ns);
        let fault = |text: String, exit_code| PeerFault { text, exit_code };
        let own = self.share(&whole);
        let own = own.map_err(|error| fault(error.to_string(), error.exit_code()))?;
        let Some(setup) = &mut self.setup else {
            return Err(fault("nothing was made for the load".into(), 1));
        };
        let (live, connection) = (&self.live, self.group.connection);
        connection.seen().begin_work();
        let asked = own.asked.clone();
        let measured = telling(connection, self.context.clone(), asked, |context| {
            let mut watch = RankWatch::new(live, connection);
            setup.run(&own.plan, context, &mut watch)
        });
        let part = match measured.map_err(|error| fault(error.to_string(), 1))? {
            Ok(record) => Ok(self.group.clocked(Record {
                asked: own.asked.clone(),
                ..record
            })),
            Err(error) if error.exit_code() == 2 || matches!(error, LoadError::Group(_)) => {
                Err(fault(error.to_string(), error.exit_code()))
            }
            Err(error) => Ok(unstarted_load(&own, &error, &self.context)),
        };
        let name = &whole.plan.name();
        let trial = self.group.trial();
        // What is searched is added before it is kept.
        let end = self
            .group
            .join(&part, &trial, name, &self.live, &mut |_| Ok(()));
        let end = end.map_err(|error| fault(error.to_string(), crate::exit::code_of(&error)));
        Ok(end?.record)
    }

    /// What the root says next; the root itself says it.
    fn said(&mut self, own: NextStep) -> Result<NextStep, PeerFault> {
        let connection = self.group.connection;
        let answer = connection.round(json!({}).to_string().into_bytes(), |words| {
            let fault = words.iter().flatten().find_map(|word| fault_of(word));
            let fault = match (&own, words.iter().any(Option::is_none)) {
                // What there is can be removed without those that are lost.
                (NextStep::Over, _) => None,
                (NextStep::AtRate { .. }, true) => Some(connection.loss()),
                (NextStep::AtRate { .. }, false) => fault,
            };
            let next = match (fault, &own) {
                (Some(fault), _) => fault_word(&fault),
                (None, NextStep::Over) => json!({ "over": true }),
                (None, NextStep::AtRate { per_second, for_ns }) => {
                    json!({ "rate": per_second, "for_ns": for_ns })
                }
            };
            next.to_string().into_bytes()
        });
        let answer = answer.and_then(|answer| fault_of(&answer).map_or(Ok(answer), Err));
        self.is_broken |= answer.is_err();
        let answer: Value = serde_json::from_slice(&answer?).unwrap_or_default();
        let rate = answer.get("rate").and_then(Value::as_f64);
        let for_ns = answer.get("for_ns").and_then(Value::as_u64);
        Ok(match rate.zip(for_ns) {
            Some((per_second, for_ns)) => NextStep::AtRate { per_second, for_ns },
            None => NextStep::Over,
        })
    }

    /// Removes what was made; together with the others where they are there.
    fn remove(&mut self, record: &mut Record) {
        let Some(setup) = self.setup.take() else {
            return;
        };
        if self.is_broken {
            setup.remove(record);
        } else {
            setup.remove_with_others(&self.context, record);
            self.gather_left(record);
        }
    }

    /// What all have left, at the root; whoever is not heard by it says so itself.
    fn gather_left(&self, record: &mut Record) {
        let own = record.take_removed();
        let word = serde_json::to_vec(&own).unwrap_or_default();
        let mut heard = Vec::new();
        let connection = self.group.connection;
        let gathered = connection.round(word, |words| {
            heard = words;
            Vec::new()
        });
        let is_heard = match connection.is_root() {
            true => !heard.is_empty(),
            false => gathered.is_ok(),
        };
        if !is_heard {
            record.add_removed(own);
        }
        for word in heard.iter().flatten() {
            record.add_removed(serde_json::from_slice::<Removed>(word).unwrap_or_default());
        }
    }

    fn unstarted(&self, fault: PeerFault) -> Unstarted {
        let error = LoadError::Group(fault);
        let mut record = unstarted_load(self.task, &error, &self.context);
        if sys::caught_signal().is_some() {
            record.outcome = Outcome {
                status: Status::Interrupted,
                ..record.outcome
            };
        }
        Unstarted {
            source: Box::new(error),
            record: Box::new(record),
        }
    }
}

/// The root's steps, of which it tells the others.
impl Conduct for RankSteps<'_> {
    fn tell(&mut self, _place: &SlotPlace<'_>) {}

    fn elapsed_ns(&self) -> u64 {
        0
    }

    fn is_stopped(&self) -> bool {
        sys::caught_signal().is_some()
    }

    fn prepare(&mut self, _turn: Turn) -> Result<(), Unstarted> {
        self.make().map_err(|error| Unstarted {
            record: Box::new(unstarted_load(self.task, &error, &self.context)),
            source: Box::new(error),
        })
    }

    fn measure(&mut self, _turn: Turn, work: Work) -> Result<Record, Unstarted> {
        let Work::AtRate { per_second, for_ns } = work else {
            let text = "a search has steps at rates".to_owned();
            return Err(self.unstarted(PeerFault { text, exit_code: 1 }));
        };
        let told = self.said(NextStep::AtRate { per_second, for_ns });
        let record = told.and_then(|_| self.step(per_second, for_ns));
        let record = record.and_then(|record| {
            record.ok_or_else(|| PeerFault {
                text: "nothing came of it".into(),
                exit_code: 1,
            })
        });
        let record = record.map_err(|fault| self.unstarted(fault))?;
        match never_begun(&record) {
            None => Ok(record),
            // What the others measured without that rank is the load of no rate.
            Some(fault) => Err(Unstarted {
                source: Box::new(LoadError::Group(fault)),
                record: Box::new(record),
            }),
        }
    }

    fn release(&mut self, _turn: Turn, record: &mut Record) {
        if self.setup.is_none() {
            return;
        }
        if !self.is_broken {
            let _who_does_not_hear_it_has_left = self.said(NextStep::Over);
        }
        self.remove(record);
    }

    fn settle(&mut self, _turn: Turn, _longest_ns: u64) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::GroupAccount;
    use units::Nanos;

    #[test]
    fn a_step_before_which_a_rank_failed_is_none() {
        let part = |rank: u32, elapsed_ns| {
            let mut part = Record {
                id: rank.to_string(),
                elapsed_ns,
                ..Record::default()
            };
            part.generator_mut().rank = Some(rank);
            part
        };
        let whole = Record::merge_all([part(0, 7), part(1, 7)]).unwrap();
        assert!(never_begun(&whole).is_none());
        let mut refused = part(1, 0);
        refused.outcome = Outcome {
            status: Status::Failed,
            exit_code: 1,
            message: Some("503".into()),
        };
        let record = Record::merge_all([part(0, 7), refused]).unwrap();
        let fault = never_begun(&record).unwrap();
        assert_eq!((fault.exit_code, fault.text.as_str()), (1, "503"));
    }

    #[test]
    fn a_search_that_ends_at_a_step_that_says_nothing_has_found_nothing() {
        let of = |status, exit_code| Record {
            outcome: Outcome {
                status,
                exit_code,
                message: None,
            },
            ..Record::default()
        };
        let held = of(Status::Ok, 0);
        let ended = |last| end_of_steps(&[held.clone(), last]);
        assert_eq!(ended(of(Status::Interrupted, 130)), Some(130));
        assert_eq!(ended(of(Status::Incomplete, 5)), Some(5));
        assert_eq!(ended(of(Status::Failed, 1)), None);
        assert_eq!(ended(of(Status::Ok, 3)), None);
        let mut apart = of(Status::Ok, 0);
        apart.group = Some(GroupAccount {
            skew_ns: Some(2),
            ..GroupAccount::default()
        });
        apart.hold_to_start(Nanos(1));
        assert_eq!(ended(apart), Some(4));
    }
}
