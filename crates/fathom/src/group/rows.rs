//! Rows of an experiment, measured by all ranks: the root has the experiment, and tells the others each
//! of its slots.

use super::course::{GroupOutput, GroupTerms, StepWord};
use super::together::{RankGroup, WorkAsked};
use super::words::{fault_by, fault_word};
use super::work::GroupWork;
use crate::exit::code_of;
use crate::live::Live;
use anyhow::Result;
use clap::ArgMatches;
use conduct::{Drain, Generator, Task};
use group::Word;
use host::{Context, PeerFault, Watch};
use record::{Record, TargetReach};
use run::RunError;
use serde_json::{Value, json};
use std::path::PathBuf;
use workload::{Phase, Stage};

/// Exit code of what cannot work here.
const CANNOT: i32 = 2;

/// What the root does with all ranks to measure for it.
pub(crate) trait RootWork {
    /// Refuses targets that are not the same one for all ranks, where they must be.
    ///
    /// # Errors
    /// They are not.
    fn check_reach(&self, reach: Option<TargetReach>) -> Result<()>;

    /// All of it, with ranks on these hosts.
    ///
    /// # Errors
    /// Nothing was measured, or a result cannot be written.
    fn run(
        self: Box<Self>,
        matches: &ArgMatches,
        hosts: &[String],
        generator: &mut dyn Generator,
        context: &Context,
        live: &Live,
    ) -> Result<i32>;
}

/// Where the records of a group go that the root keeps itself.
pub(crate) struct KeptByRoot;

impl GroupOutput for KeptByRoot {
    fn interval_ns(&self) -> u64 {
        1_000_000_000
    }

    fn check_writable(&mut self, _targets: &[PathBuf]) -> Result<()> {
        Ok(())
    }

    fn save(&self, _record: &Record) -> Result<()> {
        Ok(())
    }

    fn finish(&self, _records: &[Record], _after: &str) -> Result<()> {
        Ok(())
    }
}

/// All ranks, as the root has them measure.
struct AllRanks<'a> {
    group: &'a RankGroup<'a>,
    terms: &'a GroupTerms,
    /// Rows so far.
    number: u64,
    /// Why they measure nothing more.
    lost: Option<PeerFault>,
}

impl RankGroup<'_> {
    /// What the root does with all of them; the exit code is the same on all ranks.
    pub(super) fn rows(&self, work: Box<dyn RootWork>, terms: &GroupTerms) -> Result<i32> {
        work.check_reach(terms.group.target_is)?;
        if !self.connection.is_root() {
            return self.follow_rows(terms);
        }
        let mut all = AllRanks {
            group: self,
            terms,
            number: 0,
            lost: None,
        };
        let ranks = 0..self.connection.size;
        let hosts = ranks.map(|rank| self.connection.host_of(rank).unwrap_or_default());
        let hosts: Vec<String> = hosts.collect();
        let outcome = work.run(self.matches, &hosts, &mut all, &self.context, &terms.live);
        let lost = all.lost.map(|lost| lost.exit_code);
        let own = outcome.as_ref().map_or_else(code_of, |code| *code);
        let code = lost.unwrap_or(own);
        let over = StepWord::Over(code).say().to_string().into_bytes();
        let _who_does_not_hear_it_has_left = self.connection.round(b"{}".to_vec(), |_| over);
        outcome.map(|_| code)
    }

    /// What every other rank does: what the root says, until it says that it is over.
    fn follow_rows(&self, terms: &GroupTerms) -> Result<i32> {
        let mut number = 0;
        let (mut drain, mut last) = (Drain::default(), None);
        loop {
            let word = self.hear(|_| Vec::new());
            match word.map_err(RunError::from)? {
                StepWord::Over(code) => return Ok(code),
                StepWord::Settle { longest_ns } => {
                    let left = last.as_ref();
                    let left = left.and_then(|task| drain.settle(task, &self.context, longest_ns));
                    let word = json!({ "left": left }).to_string().into_bytes();
                    let heard = self.connection.round(word, |_| Vec::new());
                    heard.map_err(RunError::from)?;
                }
                StepWord::Work { phase, interval_ns } => {
                    number += 1;
                    drain.begin(&self.context.machine);
                    last = Some(Task::from(phase.workload.clone()));
                    let asked = WorkAsked {
                        number,
                        interval_ns,
                    };
                    let work = GroupWork::Stage(Stage(vec![*phase]));
                    // What came of it is the root's to judge.
                    let _it_is_told =
                        self.work_as(&work, &asked, terms, &terms.live, &mut |_| Ok(()));
                }
            }
        }
    }
}

/// What others say is left of the last work, the first of them in words.
fn left_behind(words: &[Option<Word>], called: impl Fn(u32) -> String) -> Option<String> {
    let of_word = |word: &Word| {
        let word: Value = serde_json::from_slice(word).ok()?;
        Some(word.get("left")?.as_str()?.to_owned())
    };
    let left = (0..).zip(words);
    let left = left.filter_map(|(rank, word)| Some((rank, of_word(word.as_ref()?)?)));
    let left: Vec<(u32, String)> = left.collect();
    let (rank, text) = left.first()?;
    let more = match left.len() {
        1 => String::new(),
        all => format!(" (and on {} more)", all - 1),
    };
    Some(format!("{}: {text}{more}", called(*rank)))
}

impl AllRanks<'_> {
    /// Tells the others what comes now.
    fn say(&self, word: &StepWord) -> Result<(), PeerFault> {
        let said = self.group.hear(|words| {
            let word = if words.iter().any(Option::is_none) {
                fault_word(&self.group.connection.loss())
            } else {
                word.say()
            };
            word.to_string().into_bytes()
        });
        said.map(|_| ()).map_err(|fault| PeerFault {
            exit_code: PeerFault::LOST,
            ..fault
        })
    }

    fn row(&mut self, phase: &Phase, interval_ns: u64) -> Result<Option<Record>, PeerFault> {
        let (group, terms) = (self.group, self.terms);
        self.say(&StepWord::Work {
            phase: Box::new(phase.clone()),
            interval_ns,
        })?;
        self.number += 1;
        let asked = WorkAsked {
            number: self.number,
            interval_ns,
        };
        let work = GroupWork::Stage(Stage(vec![phase.clone()]));
        // Whoever asked shows and keeps it.
        let end = group.work_as(&work, &asked, terms, &Live::silent(), &mut |_| Ok(()));
        let end = end.map_err(|error| fault_by(&error))?;
        Ok(end.record)
    }
}

impl Generator for AllRanks<'_> {
    fn measure(
        &mut self,
        phase: &Phase,
        context: &Context,
        _watch: &mut dyn Watch,
    ) -> Result<Record, RunError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone().into());
        }
        let measured = self.row(phase, context.interval_ns);
        let measured =
            measured.and_then(|record| record.ok_or_else(|| PeerFault::lost("nothing came of it")));
        measured.map_err(|fault| {
            if fault.exit_code == CANNOT {
                return RunError::Unsuitable(fault.text);
            }
            self.lost = Some(fault.clone());
            fault.into()
        })
    }

    fn settle(
        &mut self,
        longest_ns: u64,
        own: &mut dyn FnMut() -> Option<String>,
    ) -> Option<String> {
        // With a fault nothing more is measured; whoever measures next says so.
        if self.lost.is_some() || self.say(&StepWord::Settle { longest_ns }).is_err() {
            return own();
        }
        let own = own();
        let connection = &self.group.connection;
        let mut others = None;
        let heard = connection.round(b"{}".to_vec(), |words| {
            others = left_behind(&words, |rank| connection.called(rank));
            b"{}".to_vec()
        });
        if let Err(fault) = heard {
            self.lost = Some(fault);
        }
        let left: Vec<String> = own.into_iter().chain(others).collect();
        (!left.is_empty()).then(|| left.join("; "))
    }

    fn obstacle(&self) -> Option<String> {
        self.lost.as_ref().map(|fault| fault.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_hosts_have_not_written_is_told_by_the_first_of_them() {
        let word = |left: Option<&str>| -> Option<Word> {
            Some(json!({ "left": left }).to_string().into_bytes().into())
        };
        let called = |rank| format!("node{rank}");
        let all = [word(None), word(Some("34 MiB unwritten")), None, word(None)];
        let told = left_behind(&all, called);
        assert_eq!(told.as_deref(), Some("node1: 34 MiB unwritten"));
        let all = [word(Some("x")), word(Some("y")), word(Some("z"))];
        let told = left_behind(&all, called);
        assert_eq!(told.as_deref(), Some("node0: x (and on 2 more)"));
        assert_eq!(left_behind(&[word(None), None], called), None);
    }
}
