//! Works of which each follows from what came of the last: the root decides, and tells the others in a
//! round before each.

use super::together::RankGroup;
use super::words::{fault_by, fault_of, fault_word};
use super::work::GroupWork;
use crate::exit::told;
use crate::live::{Live, ended, records as records_of};
use crate::output::Output;
use crate::profile::Io500Together;
use anyhow::Result;
use group::Word;
use host::PeerFault;
use record::{GroupAccount, Record};
use run::{RunError, unstarted};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use workload::{Phase, Stage, Workload, settings};

/// Where the records of a group go.
pub(crate) trait GroupOutput {
    fn interval_ns(&self) -> u64;

    /// Fails before anything is measured if a result could not be written after it.
    fn check_writable(&mut self, targets: &[PathBuf]) -> Result<()>;

    /// Keeps a record as soon as it exists.
    fn save(&self, record: &Record) -> Result<()>;

    /// Says what came of all works; `after` follows the texts of all records.
    fn finish(&self, records: &[Record], after: &str) -> Result<()>;
}

impl GroupOutput for Output {
    fn interval_ns(&self) -> u64 {
        self.interval_ns()
    }

    fn check_writable(&mut self, targets: &[PathBuf]) -> Result<()> {
        self.check_writable(targets)
    }

    fn save(&self, record: &Record) -> Result<()> {
        self.save(record)
    }

    fn finish(&self, records: &[Record], after: &str) -> Result<()> {
        self.finish(records, after)
    }
}

/// What the works of a group have in common.
pub(super) struct GroupTerms {
    pub(super) group: GroupAccount,
    pub(super) drawn: u64,
    /// Its number among the ranks that use its target, and how many these are.
    pub(super) at_target: (u32, u32),
    pub(super) live: Live,
    pub(super) targets: Vec<PathBuf>,
}

/// What the root says before each work.
#[derive(Debug, PartialEq)]
pub(super) enum StepWord {
    Work {
        phase: Box<Phase>,
        /// Length of one interval of its series.
        interval_ns: u64,
    },
    /// To wait, at most so long, until what the last work wrote is where it belongs.
    Settle { longest_ns: u64 },
    /// With the exit code of all ranks.
    Over(i32),
}

impl StepWord {
    pub(super) fn say(&self) -> Value {
        match self {
            Self::Work { phase, interval_ns } => {
                let options = settings::shown(&phase.workload).into_iter();
                let targets = phase.workload.targets.iter();
                json!({
                    "name": phase.name,
                    "interval_ns": interval_ns,
                    "targets": targets.collect::<Vec<&PathBuf>>(),
                    "options": options.collect::<BTreeMap<&str, String>>(),
                })
            }
            Self::Settle { longest_ns } => json!({ "settle_ns": longest_ns }),
            Self::Over(code) => json!({ "over": code }),
        }
    }

    /// `None`: it is nothing that this version says.
    pub(super) fn hear(word: &[u8]) -> Option<Self> {
        let word: Value = serde_json::from_slice(word).ok()?;
        if let Some(code) = word.get("over").and_then(Value::as_i64) {
            return Some(Self::Over(i32::try_from(code).ok()?));
        }
        if let Some(longest_ns) = word.get("settle_ns") {
            let longest_ns = longest_ns.as_u64()?;
            return Some(Self::Settle { longest_ns });
        }
        let mut workload = Workload::default();
        for (key, text) in word.get("options")?.as_object()? {
            settings::apply(&mut workload, key, text.as_str()?).ok()?;
        }
        let targets = word.get("targets")?.as_array()?.iter();
        let targets = targets.map(|target| Some(PathBuf::from(target.as_str()?)));
        workload.targets = targets.collect::<Option<Vec<PathBuf>>>()?;
        let name = word.get("name")?.as_str()?.to_owned();
        Some(Self::Work {
            phase: Box::new(Phase { name, workload }),
            interval_ns: word.get("interval_ns")?.as_u64()?,
        })
    }
}

impl RankGroup<'_> {
    /// The steps of a course; its answer is the root's to tell, also where ranks are lost.
    pub(super) fn steps(&self, course: &mut Io500Together, terms: &GroupTerms) -> Result<i32> {
        let mut number = 0;
        let outcome = loop {
            number += 1;
            let phase = match self.next_step(course, terms) {
                Ok(StepWord::Work { phase, .. }) => phase,
                Ok(StepWord::Over(code)) => break Ok(code),
                // The steps of a course wait for their own end.
                Ok(StepWord::Settle { .. }) => continue,
                Err(fault) => break Err(fault),
            };
            let work = GroupWork::Stage(Stage(vec![(*phase).clone()]));
            let done = self.work(&work, number, terms, &mut |record| course.took(record));
            match done {
                Ok(end) => {
                    course.keep(end.record);
                    if let Some(error) = end.unsaved {
                        course.failed(told(&error));
                    }
                }
                // Nobody has measured anything, and all know why.
                Err(error) if number == 1 => return Err(error),
                Err(error) => self.refused(&phase, &error, course),
            }
        };
        terms.live.end(&ended(records_of(self.matches)));
        if !course.has_records() {
            return Ok(outcome.map_err(RunError::from)?);
        }
        if let Err(fault) = outcome {
            course.failed(fault.text);
        }
        course.finish(self.matches)
    }

    /// What a rank refused after others were measured has a record that says why.
    fn refused(&self, phase: &Phase, error: &anyhow::Error, course: &mut Io500Together) {
        if !self.connection.is_root() {
            return;
        }
        let mut record = unstarted(phase, &self.context, &fault_by(error).into());
        course.took(&mut record);
        match self.asked.output.save(&record) {
            Ok(()) => course.keep(Some(record)),
            Err(unsaved) => course.failed(told(&unsaved)),
        }
        course.end();
    }

    /// What all do next.
    fn next_step(
        &self,
        course: &mut Io500Together,
        terms: &GroupTerms,
    ) -> Result<StepWord, PeerFault> {
        self.hear(|words| {
            if words.iter().any(Option::is_none) {
                return fault_word(&self.connection.loss()).to_string().into_bytes();
            }
            let word = loop {
                match self.decided_step(course, terms) {
                    Ok(Some(mut stage)) => match stage.0.pop() {
                        Some(phase) => {
                            let interval_ns = self.context.interval_ns;
                            let phase = Box::new(phase);
                            break StepWord::Work { phase, interval_ns }.say();
                        }
                        None => break StepWord::Over(course.close()).say(),
                    },
                    Ok(None) => break StepWord::Over(course.close()).say(),
                    Err(error) if course.has_records() => course.failed(told(&error)),
                    Err(error) => break fault_word(&fault_by(&error)),
                }
            };
            word.to_string().into_bytes()
        })
    }

    /// What the root says next; the root itself decides it.
    pub(super) fn hear(
        &self,
        decide: impl FnOnce(Vec<Option<Word>>) -> Vec<u8>,
    ) -> Result<StepWord, PeerFault> {
        let answer = self.connection.round(b"{}".to_vec(), decide)?;
        if let Some(fault) = fault_of(&answer) {
            return Err(fault);
        }
        StepWord::hear(&answer)
            .ok_or_else(|| PeerFault::lost("the first rank said what nobody understands"))
    }

    fn decided_step(
        &self,
        course: &mut Io500Together,
        terms: &GroupTerms,
    ) -> Result<Option<Stage>> {
        let ranks = 0..self.connection.size;
        let hosts = ranks.map(|rank| self.connection.host_of(rank).unwrap_or_default());
        let hosts: Vec<String> = hosts.collect();
        course.step(&hosts, &self.context, terms.group.target_is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_back_as_it_was_said_and_nothing_else_is_one() {
        let mut workload = Workload {
            targets: vec!["/d/a b".into()],
            shift: Some(workload::Shift::By(2)),
            ..Workload::default()
        };
        for (key, text) in [
            ("meta", "walk"),
            ("where", "name=*01*,newer=/d/mark"),
            ("stonewall", "2s"),
            ("allow-destroy", "/d/a b"),
        ] {
            settings::apply(&mut workload, key, text).unwrap();
        }
        let name = "find".to_owned();
        for word in [
            StepWord::Work {
                phase: Box::new(Phase { name, workload }),
                interval_ns: 7,
            },
            StepWord::Settle { longest_ns: 9 },
            StepWord::Over(5),
        ] {
            let said = word.say().to_string();
            assert_eq!(StepWord::hear(said.as_bytes()), Some(word));
        }
        for other in [
            "",
            "{}",
            "{\"over\":\"x\"}",
            "{\"settle_ns\":-1}",
            "{\"name\":\"a\",\"options\":{\"no\":\"1\"},\"targets\":[]}",
        ] {
            assert_eq!(StepWord::hear(other.as_bytes()), None, "{other}");
        }
    }
}
