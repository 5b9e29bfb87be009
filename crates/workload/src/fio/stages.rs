//! From sections to stages of phases.

use super::job::Job;
use super::lower::{Lowered, lower};
use super::section::{Entry, Place, Section};
use super::table::{self, Row, Takes};
use super::value::Value;
use super::{FioJobs, FioLogs, Outside, TypedOptions};
use crate::{Phase, SpecError, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An entry with the row of its option.
#[derive(Clone)]
struct Given {
    row: &'static Row,
    value: String,
    kb_base: u32,
    place: Place,
    /// As it was written.
    text: String,
}

/// Reads all jobs of the sections, in their order.
pub(super) fn jobs(sections: &[Section], outside: &Outside<'_>) -> Result<FioJobs, SpecError> {
    let mut order = Order::default();
    let mut globals: Vec<Given> = Vec::new();
    let mut kb_base = 1024;
    for section in sections {
        // The kilo of a job's own options is that of the global ones, unless it has another.
        let mut kilo = kb_base;
        let given = resolve(&section.entries, &mut kilo)?;
        if section.is_global() {
            kb_base = kilo;
            globals.extend(given);
        } else {
            order.add(section, &globals, &given, outside)?;
        }
    }
    let mut out = order.end();
    if out.stages.is_empty() {
        return Err(SpecError::Foreign(
            "there is no job: a job file needs a [section], a command line needs --name=JOB".into(),
        ));
    }
    out.global_options = typed(&globals);
    Ok(out)
}

/// Refuses jobs that write, for `--readonly`.
pub(super) fn demand_reads(jobs: &FioJobs) -> Result<(), SpecError> {
    for phase in jobs.stages.iter().flat_map(|stage| &stage.0) {
        if phase.workload.read_percent()? < 100.0 {
            return Err(SpecError::Foreign(format!(
                "--readonly: job {} writes",
                phase.name
            )));
        }
    }
    Ok(())
}

fn typed(given: &[Given]) -> TypedOptions {
    given
        .iter()
        .map(|given| (given.row.name.to_owned(), given.value.clone()))
        .collect()
}

/// Finds the row of each entry; `kb_base` is what holds before, and afterwards what the entries
/// say.
fn resolve(entries: &[Entry], kb_base: &mut u32) -> Result<Vec<Given>, SpecError> {
    let mut out = Vec::new();
    for entry in entries {
        let row =
            table::find(&entry.key).ok_or_else(|| table::unknown(&entry.key, &entry.place))?;
        let text = entry.value.as_ref().map_or_else(
            || entry.key.clone(),
            |value| format!("{}={value}", entry.key),
        );
        let value = match (&entry.value, row.takes) {
            (Some(value), _) if !value.is_empty() => value.clone(),
            (None, Takes::Flag | Takes::ValueOrAlone) => String::new(),
            (Some(_), _) | (None, Takes::Value) => {
                return Err(entry.place.error(format!("{text}: needs a value")));
            }
        };
        if row.name == "kb_base" && value == "1000" {
            *kb_base = 1000;
        } else if row.name == "kb_base" {
            *kb_base = 1024;
        }
        out.push(Given {
            row,
            value,
            kb_base: *kb_base,
            place: entry.place.clone(),
            text,
        });
    }
    // It holds for its whole section, wherever it stands in it.
    out.iter_mut().for_each(|given| given.kb_base = *kb_base);
    Ok(out)
}

/// A job with all that was said about it; a later value of an option takes the place of an earlier
/// one.
fn read(section: &Section, globals: &[Given], own: &[Given]) -> Result<Job, SpecError> {
    let mut job = Job::new(&section.name, section.place.clone());
    let all: Vec<&Given> = globals.iter().chain(own).collect();
    for (index, given) in all.iter().enumerate() {
        // A name among the defaults names no job: its section does.
        if given.row.name == "name" && index < globals.len() {
            continue;
        }
        if all[index + 1..]
            .iter()
            .any(|later| later.row.name == given.row.name)
        {
            continue;
        }
        let left_out = given.value.starts_with(',')
            || given.value.ends_with(',')
            || given.value.contains(",,");
        if left_out
            && all[..index]
                .iter()
                .any(|earlier| earlier.row.name == given.row.name)
        {
            let reason =
                "leaves a direction to an earlier value of the same option; write all directions";
            return Err(given.place.error(format!("{}: {reason}", given.text)));
        }
        job.say(given.row.name, given.place.clone(), given.text.clone());
        let value = Value {
            text: &given.value,
            kb_base: given.kb_base,
        };
        given
            .row
            .apply(&mut job, value)
            .map_err(|source| job.around(given.row.name, source))?;
    }
    Ok(job)
}

/// What was typed of a phase, and the logs that it asks for.
type Typed = (TypedOptions, FioLogs);

/// The stages as far as they are known.
#[derive(Default)]
struct Order {
    stages: Vec<(Stage, Vec<Typed>)>,
    /// Names of the jobs of the stage that is being filled; those before are over when a new stage
    /// starts.
    open: Vec<String>,
    /// Phases that read back what the open stage writes, with their options.
    read_backs: Vec<(Phase, TypedOptions)>,
    /// Lengths of files as the jobs so far make them.
    made: BTreeMap<PathBuf, u64>,
    notices: Vec<String>,
    jobs_of_notice: BTreeMap<String, BTreeSet<String>>,
    group_reporting: bool,
    names: Vec<String>,
}

impl Order {
    fn add(
        &mut self,
        section: &Section,
        globals: &[Given],
        own: &[Given],
        outside: &Outside<'_>,
    ) -> Result<(), SpecError> {
        let mut job = read(section, globals, own)?;
        let length = |path: &Path| {
            self.made
                .get(path)
                .copied()
                .or_else(|| (outside.length)(path))
        };
        let Lowered {
            mut workload,
            read_back,
            logs,
        } = lower(&mut job, &length)?;
        if let Some(size) = workload.files.size {
            self.made.extend(
                workload
                    .targets
                    .iter()
                    .map(|target| (target.clone(), size.0)),
            );
        }
        let waits = self.waits(&job)?;
        if self.open.is_empty() || section.barrier || job.order.stonewall || waits {
            self.close();
            self.stages.push((Stage(Vec::new()), Vec::new()));
        } else if job.order.new_group && job.order.group_reporting {
            return job
                .refuse("new_group", "results are merged over the jobs that run together; write stonewall, or leave out group_reporting");
        }
        self.group_reporting |= job.order.group_reporting;
        let notes = job.take_notes();
        let name = job.name.unwrap_or(job.section);
        for notice in notes {
            self.jobs_of_notice
                .entry(notice.clone())
                .or_default()
                .insert(name.clone());
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        // Jobs that run together draw different numbers, as in fio.
        let place = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        workload.seed = workload.seed.wrapping_add(place);
        if let Some(mut reading) = read_back {
            reading.seed = workload.seed;
            self.read_backs.push((
                Phase {
                    name: format!("{name}{}", super::READ_BACK),
                    workload: reading,
                },
                typed(own),
            ));
        }
        let (stage, options) = self.stages.last_mut().expect("the first job opens a stage");
        stage.0.push(Phase {
            name: name.clone(),
            workload,
        });
        options.push((typed(own), logs));
        self.open.push(name.clone());
        self.names.push(name);
        Ok(())
    }

    /// Whether the job of `wait_for` is the only one that has not ended.
    fn waits(&self, job: &Job) -> Result<bool, SpecError> {
        let Some(awaited) = &job.order.wait_for else {
            return Ok(false);
        };
        match (self.open.as_slice(), self.names.contains(awaited)) {
            (_, false) => job.refuse("wait_for", "there is no such job before this one"),
            ([.., _], true) if self.open.iter().all(|open| open == awaited) => Ok(true),
            (open, true) if !open.contains(awaited) => Ok(false),
            (_, true) => job.refuse(
                "wait_for",
                "other jobs run beside the awaited one; stonewall waits for all of them",
            ),
        }
    }

    /// Ends the open stage, and lets what it wrote be read back.
    fn close(&mut self) {
        self.open.clear();
        if !self.read_backs.is_empty() {
            let (phases, options): (Vec<_>, Vec<_>) = self.read_backs.drain(..).unzip();
            self.stages.push((
                Stage(phases),
                options
                    .into_iter()
                    .map(|typed| (typed, FioLogs::default()))
                    .collect(),
            ));
        }
    }

    fn end(mut self) -> FioJobs {
        self.close();
        let (stages, typed): (Vec<Stage>, Vec<Vec<Typed>>) = self.stages.into_iter().unzip();
        let (job_options, logs) = typed.into_iter().flatten().unzip();
        let groups = (0..)
            .zip(&stages)
            .flat_map(|(index, stage)| vec![index; stage.0.len()])
            .collect();
        FioJobs {
            stages,
            notices: self.notices,
            jobs_of_notice: self.jobs_of_notice,
            global_options: Vec::new(),
            job_options,
            logs,
            group_reporting: self.group_reporting,
            groups,
            output: super::FioOutput::default(),
        }
    }
}
