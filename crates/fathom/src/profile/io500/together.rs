//! The same on ranks: the root has the course and the results, and all of them do every phase.

use super::{Asked, Results, Told, finish};
use crate::exit::Usage;
use crate::group::{self, GroupAsked, GroupCourse, GroupWork, Launch};
use anyhow::Result;
use clap::ArgMatches;
use conduct::profile::{Io500Course, Io500Group};
use host::Context;
use lab::Kept;
use record::{Record, TargetReach};
use std::rc::Rc;
use sys::Clock as _;
use units::Nanos;
use workload::{IO500_LIKE, Phase, Stage, Workload};

/// An IO500-like run of ranks, of which only the root has more than its command line.
pub(crate) struct Io500Together {
    asked: Asked,
    results: Rc<Results>,
    course: Option<Io500Course>,
    planned: usize,
    notes: Vec<String>,
    faults: Vec<String>,
    records: Vec<Record>,
    began: Option<u64>,
    elapsed: Nanos,
}

/// Runs it on all ranks that a launcher started.
pub(super) fn run(matches: &ArgMatches, launch: &Launch, asked: Asked) -> Result<i32> {
    let results = if launch.is_root() {
        Results::new(matches, &[])?
    } else {
        Results::default()
    };
    let results = Rc::new(results);
    // Ranks agree about the directory below which all of it will lie.
    let workload = Workload {
        targets: vec![asked.dir.clone()],
        ..Workload::default()
    };
    let phase = Phase {
        name: IO500_LIKE.into(),
        workload,
    };
    let course = Io500Together {
        results: Rc::clone(&results),
        asked,
        course: None,
        planned: 0,
        notes: Vec::new(),
        faults: Vec::new(),
        records: Vec::new(),
        began: None,
        elapsed: Nanos(0),
    };
    let asked = GroupAsked {
        works: vec![GroupWork::Stage(Stage(vec![phase]))],
        course: Some(GroupCourse::Io500(Box::new(course))),
        output: Box::new(results),
        search: None,
        job: None,
        thresholds: Ok(Vec::new()),
    };
    group::run(matches, launch, asked)
}

impl Io500Together {
    /// What comes next, of ranks on these hosts.
    pub(crate) fn step(
        &mut self,
        hosts: &[String],
        context: &Context,
        reach: Option<TargetReach>,
    ) -> Result<Option<Stage>> {
        if self.began.is_none() {
            self.began = Some(context.clock.now());
            self.begin(hosts, context, reach)?;
        }
        if sys::caught_signal().is_some()
            && let Some(course) = &mut self.course
        {
            course.end();
        }
        self.elapsed = Nanos(context.clock.now() - self.began.unwrap_or_default());
        let course = self.course.as_mut();
        let step = course.map_or(Ok(None), Io500Course::step);
        step.map_err(crate::profile::told)
    }

    fn begin(
        &mut self,
        hosts: &[String],
        context: &Context,
        reach: Option<TargetReach>,
    ) -> Result<()> {
        self.asked.check_dir()?;
        if reach != Some(TargetReach::Shared) {
            return Err(Usage(format!(
                "{} is another directory on each host, and the phases of IO500 read on one host what another wrote: give one that all of them see",
                self.asked.dir.display()
            ))
            .into());
        }
        let ranks = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        let here = hosts.iter().filter(|host| **host == hosts[0]).count();
        let here = u32::try_from(here).unwrap_or(u32::MAX);
        let phases = self.asked.phases(ranks, here)?;
        self.planned = phases.len();
        let shift = group::apart(hosts).unwrap_or(u32::from(ranks > 1));
        let group = Io500Group { ranks, shift };
        let course = self.asked.begin(phases, group, context, &mut self.notes)?;
        self.results.keep(Kept::Plan(course.plan()))?;
        self.course = Some(course);
        Ok(())
    }

    /// Gives a record its place.
    pub(crate) fn took(&mut self, record: &mut Record) {
        if let Some(course) = &mut self.course {
            course.took(record);
        }
    }

    pub(crate) fn keep(&mut self, record: Option<Record>) {
        self.records.extend(record);
    }

    /// Whether something was measured.
    pub(crate) fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Nothing more is done.
    pub(crate) fn failed(&mut self, why: String) {
        if !self.faults.contains(&why) {
            self.faults.push(why);
        }
        self.end();
    }

    /// No phase begins any more.
    pub(crate) fn end(&mut self) {
        if let Some(course) = &mut self.course {
            course.end();
        }
    }

    /// Removes what was made, and says the exit code.
    pub(crate) fn close(&mut self) -> i32 {
        self.course = None;
        super::exit_code(&super::studied(&self.records), &self.told())
    }

    fn told(&self) -> Told<'_> {
        Told {
            dir: &self.asked.dir,
            notes: &self.notes,
            faults: &self.faults,
            records: &self.records,
            planned: self.planned,
            elapsed: self.elapsed,
        }
    }

    /// Says what came of it, and the exit code.
    ///
    /// # Errors
    /// A result cannot be written.
    pub(crate) fn finish(&mut self, matches: &ArgMatches) -> Result<i32> {
        self.course = None;
        finish(&self.results, matches, &self.told())
    }
}
