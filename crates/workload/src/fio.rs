//! fio job files and fio command lines as workloads.
//!
//! A job is read as fio reads it or not at all: every option is a row of `table` or of `refusals`,
//! and an option that is in neither, or whose value Fathom cannot express, is an error that names
//! its file and line. Nothing is ignored. What Fathom does differently although it accepts the
//! option is said in [`FioJobs::notices`], to be shown and kept with the record.
//!
//! The way of a job: `lines` or `arguments` make sections of plain entries, a row of the table
//! reads each entry into a `Job` in fio's own terms, `lower` turns that into a workload, and
//! `stages` orders the workloads.
//!
//! What fio does was taken from its manual and, where that is silent or wrong, from runs of fio
//! 3.42.
//!
//! Deliberately absent: arithmetic in parentheses, abbreviated option names, and everything that
//! looks at the machine. File access, environment and machine facts come in through [`Outside`].

mod arguments;
mod job;
mod lines;
mod lower;
pub mod names;
mod refusals;
mod section;
mod stages;
mod table;
mod tool;
mod value;

#[cfg(test)]
mod tests;

use crate::{SpecError, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Options as typed, under fio's own name for them (`bs` for `blocksize`); the value is empty where
/// none was typed.
pub type TypedOptions = Vec<(String, String)>;

/// What a fio job file or command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJobs {
    /// Jobs between two `stonewall`s run together in one stage.
    pub stages: Vec<Stage>,
    /// What is done in another way than fio does it, each with file, line and option.
    pub notices: Vec<String>,
    /// The names of the jobs that a notice is about; one that is not here is about all.
    pub jobs_of_notice: BTreeMap<String, BTreeSet<String>>,
    /// The options of all `[global]` sections.
    pub global_options: TypedOptions,
    /// The options of each phase's own section, in the order of the phases over all stages.
    pub job_options: Vec<TypedOptions>,
    /// Whether any job asks for the results of its stage as one.
    pub group_reporting: bool,
    /// The stage of each phase, from 0, in the order of the phases.
    pub groups: Vec<usize>,
    /// The logs that each phase asks for, in the order of the phases.
    pub logs: Vec<FioLogs>,
    /// Where results go and in which forms, which the caller must honour.
    pub output: FioOutput,
}

impl FioJobs {
    /// Whether a notice is about the phase with this name: a job, or the reading back of what it
    /// wrote.
    #[must_use]
    pub fn concerns(&self, notice: &str, phase: &str) -> bool {
        let job = phase.strip_suffix(READ_BACK).unwrap_or(phase);
        self.jobs_of_notice
            .get(notice)
            .is_none_or(|jobs| jobs.contains(phase) || jobs.contains(job))
    }
}

/// What the name of a phase ends with that reads back what a job wrote.
const READ_BACK: &str = "/verify";

/// `--output`, `--output-format` and their like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioOutput {
    pub file: Option<String>,
    /// In the order of their naming; empty: nothing was said.
    pub formats: Vec<FioFormat>,
}

/// `write_bw_log` and its like: the beginning of a file's name for each log that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioLogs {
    pub bandwidth: Option<String>,
    pub iops: Option<String>,
    pub latency: Option<String>,
    /// One file for all clones.
    pub merged: bool,
    /// Milliseconds that a row stands for; `None`: nothing was said.
    pub average_ms: Option<u64>,
}

impl FioLogs {
    /// Whether any is asked for.
    #[must_use]
    pub fn any(&self) -> bool {
        self.bandwidth.is_some() || self.iops.is_some() || self.latency.is_some()
    }
}

/// A form of fio's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioFormat {
    Normal,
    Json,
    JsonPlus,
    /// Version 3.
    Terse,
}

/// Everything that a job file can refer to and that is not in it.
pub struct Outside<'a> {
    /// Looks up an environment variable for `${NAME}`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Reads a job file, or a file that one includes.
    pub read: &'a dyn Fn(&str) -> std::io::Result<String>,
    /// Bytes of the file or block device at a path; `None`: nothing is there.
    pub length: &'a dyn Fn(&Path) -> Option<u64>,
    /// Values of `$pagesize`, `$mb_memory` and `$ncpus`.
    pub keywords: Keywords,
}

/// The machine facts that a job file can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keywords {
    /// `$pagesize`, in bytes.
    pub page_size: u64,
    /// `$mb_memory`: all memory, in MiB.
    pub memory_mib: u64,
    /// `$ncpus`: processors online.
    pub cpus: u64,
}

/// Whether fio has an option of this name, of a job or of the whole tool.
#[must_use]
pub fn is_option_of_fio(name: &str) -> bool {
    table::find(name).is_some() || tool::find(name).is_some()
}

/// Reads the text of a job file; with `sections`, only those jobs of it.
///
/// # Errors
/// A line that fio would not read, an option or value that Fathom cannot express, or a section that
/// is not there.
pub fn parse_job_file(
    text: &str,
    file_name: &str,
    sections: &[String],
    outside: &Outside<'_>,
) -> Result<FioJobs, SpecError> {
    let found = lines::sections(text, file_name, outside)?;
    stages::jobs(&section::only(found, sections)?, outside)
}

/// Reads what follows `fio` on a command line (the word itself may stand first): options,
/// `--name=JOB` and job files.
///
/// # Errors
/// Those of [`parse_job_file`], an unknown option, or a job file that cannot be read.
pub fn parse_command_line(args: &[String], outside: &Outside<'_>) -> Result<FioJobs, SpecError> {
    let line = arguments::read(args, outside)?;
    let mut jobs = stages::jobs(&section::only(line.sections, &line.only)?, outside)?;
    if line.read_only {
        stages::demand_reads(&jobs)?;
    }
    jobs.notices.extend(line.notices);
    jobs.output = line.output;
    Ok(jobs)
}
