//! A fio job in Fathom's terms.

mod access;
mod data;
mod engine;
mod files;
mod pace;
mod stop;

use super::job::Job;
use crate::{Cache, SpecError, Workload};
use std::path::Path;

/// What one job becomes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lowered {
    pub(super) workload: Workload,
    /// fio reads back what the job wrote, when it has ended; a phase of its own.
    pub(super) read_back: Option<Workload>,
}

/// Expresses a job, and leaves notes in it on what is done in another way.
pub(super) fn lower(job: &mut Job) -> Result<Lowered, SpecError> {
    let mut workload = Workload::default();
    put(job, &mut workload, "numjobs", "threads", &job.order.clones.to_string())?;
    workload.worker_series = job.order.clones > 1 && !job.order.group_reporting;
    access::lower(job, &mut workload)?;
    engine::lower(job, &mut workload)?;
    let region = files::lower(job, &mut workload)?;
    stop::lower(job, &region, &mut workload)?;
    pace::lower(job, &mut workload)?;
    data::lower(job, &mut workload)?;
    let read_back = data::read_back(job, &region, &mut workload)?;
    Ok(Lowered { workload, read_back })
}

/// Writes a workload option on behalf of a fio option.
fn put(job: &Job, workload: &mut Workload, option: &str, key: &str, text: &str) -> Result<(), SpecError> {
    crate::settings::apply(workload, key, text).map_err(|source| job.around(option, source))
}

/// Whether a path is that of a device, by its name: the file system is not asked here.
fn in_dev(path: &Path) -> bool {
    path.starts_with("/dev")
}

/// The cache state that fio's invalidation leaves behind.
fn invalidated(job: &Job) -> Cache {
    if job.opening.invalidate == Some(false) || job.durability.direct { Cache::AsIs } else { Cache::Cold }
}
