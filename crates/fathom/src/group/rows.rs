//! Rows of an experiment, measured by all ranks: the root has the experiment, and tells the others each
//! of its slots.

use super::connection::{fault_by, fault_word};
use super::course::{GroupOutput, GroupTerms, StepWord};
use super::together::{RankGroup, WorkAsked};
use super::work::GroupWork;
use crate::exit::code_of;
use crate::live::Live;
use anyhow::Result;
use clap::ArgMatches;
use conduct::Generator;
use host::{Context, PeerFault, Watch};
use record::{Record, TargetReach};
use run::RunError;
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
        loop {
            let word = self.hear(|_| Vec::new());
            match word.map_err(RunError::from)? {
                StepWord::Over(code) => return Ok(code),
                StepWord::Work { phase, interval_ns } => {
                    number += 1;
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

impl AllRanks<'_> {
    fn row(&mut self, phase: &Phase, interval_ns: u64) -> Result<Option<Record>, PeerFault> {
        let (group, terms) = (self.group, self.terms);
        let word = StepWord::Work {
            phase: Box::new(phase.clone()),
            interval_ns,
        };
        let said = group.hear(|words| {
            let word = if words.iter().any(Option::is_none) {
                fault_word(&group.connection.loss())
            } else {
                word.say()
            };
            word.to_string().into_bytes()
        });
        said.map_err(|fault| PeerFault {
            exit_code: 5,
            ..fault
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
        let measured = measured.and_then(|record| {
            record.ok_or_else(|| PeerFault {
                text: "nothing came of it".into(),
                exit_code: 5,
            })
        });
        measured.map_err(|fault| {
            if fault.exit_code == CANNOT {
                return RunError::Unsuitable(fault.text);
            }
            self.lost = Some(fault.clone());
            fault.into()
        })
    }

    fn obstacle(&self) -> Option<String> {
        self.lost.as_ref().map(|fault| fault.text.clone())
    }
}
