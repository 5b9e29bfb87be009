//! A fio job in Fathom's terms.

mod access;
mod data;
mod engine;
mod files;
mod pace;
mod stop;

use super::FioLogs;
use super::job::Job;
use crate::{Cache, DataPattern, Distribution, FileSharing, SpecError, Workload};
use std::path::Path;

/// What one job becomes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lowered {
    pub(super) workload: Workload,
    /// fio reads back what the job wrote, when it has ended; a phase of its own.
    pub(super) read_back: Option<Workload>,
    pub(super) logs: FioLogs,
}

/// Expresses a job, and leaves notes in it on what is done in another way.
pub(super) fn lower(
    job: &mut Job,
    length: &dyn Fn(&Path) -> Option<u64>,
) -> Result<Lowered, SpecError> {
    let mut workload = Workload::default();
    put(
        job,
        &mut workload,
        "numjobs",
        "threads",
        &job.order.clones.to_string(),
    )?;
    workload.worker_series = job.order.clones > 1 && (!job.order.group_reporting || job.logs.any());
    access::lower(job, &mut workload)?;
    engine::lower(job, &mut workload)?;
    let region = files::lower(job, &mut workload, length)?;
    stop::lower(job, &region, &mut workload)?;
    pace::lower(job, &mut workload)?;
    data::lower(job, &mut workload)?;
    notes(job, &workload);
    let read_back = data::read_back(job, &region, &mut workload)?;
    Ok(Lowered {
        workload,
        read_back,
        logs: job.logs.clone(),
    })
}

/// What differs although no option says so.
fn notes(job: &mut Job, workload: &Workload) {
    let buffers = &job.buffers;
    let fresh = workload.writing.pattern == DataPattern::Random
        && !buffers.refill
        && buffers.compress.is_none()
        && buffers.dedupe.is_none();
    if job.writes() && fresh && job.has_files() && !workload.verify.on {
        job.note("refill_buffers", "not given: fio writes one random buffer again and again with a few bytes changed, Fathom fresh random data, which no storage compresses");
    }
    if workload.access.distribution != Distribution::Uniform
        && job.order.clones > 1
        && workload.files.sharing == FileSharing::Shared
    {
        job.note(
            "random_distribution",
            "all clones have the same hot blocks; in fio each has hot blocks of its own",
        );
    }
    if job.logs.any() {
        let every = job
            .logs
            .average_ms
            .map_or_else(|| "of half a second".to_owned(), |ms| format!("of {ms} ms"));
        job.note(
            "log_avg_msec",
            format!("logs have a row for each interval {every} and direction, none for a single operation; there is no slat log"),
        );
    }
}

/// Writes a workload option on behalf of a fio option.
fn put(
    job: &Job,
    workload: &mut Workload,
    option: &str,
    key: &str,
    text: &str,
) -> Result<(), SpecError> {
    crate::settings::apply(workload, key, text).map_err(|source| job.around(option, source))
}

/// Writes the workload option that means what a fio option does.
fn put_same(job: &Job, workload: &mut Workload, option: &str, text: &str) -> Result<(), SpecError> {
    put(job, workload, option, super::names::row(option).ours, text)
}

/// Whether a path is that of a device, by its name: the file system is not asked here.
fn in_dev(path: &Path) -> bool {
    path.starts_with("/dev")
}

/// The cache state that fio's invalidation leaves behind.
fn invalidated(job: &Job) -> Cache {
    if job.opening.invalidate == Some(false) || job.durability.direct {
        Cache::AsIs
    } else {
        Cache::Cold
    }
}
