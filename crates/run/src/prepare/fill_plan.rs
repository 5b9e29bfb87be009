//! What must be written before a run, so that it measures storage and not holes.

use super::{FileContent, FilePlan, Use, fill, pattern_label};
use crate::error::RunError;
use crate::layout::FileSpec;
use crate::safety;
use std::fs::File;
use workload::{EngineFeature, Workload};

/// How much of a file is written before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillPlan {
    Nothing,
    Whole,
    /// Only what is missing: holes and the part beyond the present end.
    Holes,
}

/// What a target is before it is touched.
pub(super) struct Present<'a> {
    /// Open for reading, if it is there.
    pub(super) file: Option<&'a File>,
    pub(super) bytes: u64,
    pub(super) is_device: bool,
}

pub(super) fn fill_plan(
    spec: &FileSpec,
    workload: &Workload,
    io: Use,
    present: &Present<'_>,
    bytes: u64,
    content: &FileContent,
) -> Result<FillPlan, RunError> {
    let ours = content.mark.is_some() || present.file.is_none() || present.bytes == 0;
    let refill = workload.files.fill.refill;
    if refill == Some(true) {
        return Ok(FillPlan::Whole);
    }
    let needs_data = io.reads || workload.engine.has(EngineFeature::Mapping);
    if present.is_device || !needs_data {
        return Ok(FillPlan::Nothing);
    }
    let looks_at = bytes.min(present.bytes);
    let holds = || content.holds(workload, looks_at);
    if workload.verify.on && present.bytes > 0 && content.mark.is_some() && !holds() {
        if !io.writes && !content.certainly_lacks(workload, looks_at) {
            return Ok(FillPlan::Nothing);
        }
        let lacks = format!(
            "{} does not hold the pattern {} in every block ({})",
            spec.path.display(),
            pattern_label(workload),
            content.describe()
        );
        if !io.writes {
            return Err(RunError::Unsuitable(format!(
                "{lacks}, so reads cannot be verified against it; write it first with --write-percent 100 --duration 0s --verify --verify-pattern {}, or add --refill",
                workload.verify.pattern.word()
            )));
        }
        if refill == Some(false) {
            return Err(RunError::Unsuitable(format!(
                "{lacks}, so reads among the writes cannot be verified, and --no-refill forbids to write it first; leave --no-refill out"
            )));
        }
        return Ok(FillPlan::Whole);
    }
    check_nothing_lost(spec, workload, present, bytes, content)?;
    let missing = missing_bytes(present, bytes);
    // A verifying read is to find what is missing, not to put it there.
    if missing == 0 || (workload.verify.on && !io.writes && present.bytes >= bytes) {
        return Ok(FillPlan::Nothing);
    }
    let share = 100.0 * missing as f64 / bytes as f64;
    if refill == Some(false) {
        if present.bytes == 0 {
            return Err(RunError::Unsuitable(format!(
                "{} holds nothing to read, and --no-refill forbids to write it; drop --no-refill",
                spec.path.display()
            )));
        }
        if present.bytes < bytes {
            return Err(RunError::Unsuitable(format!(
                "{} has {} of {bytes} bytes and --no-refill forbids to write the rest; give --file-size {}",
                spec.path.display(),
                present.bytes,
                present.bytes
            )));
        }
        return Ok(FillPlan::Nothing);
    }
    if !ours && workload.files.allow_destroy.is_empty() {
        return Err(RunError::Unsuitable(format!(
            "{}: {share:.0} % of {bytes} bytes are holes or beyond its end ({missing} bytes), so reads would measure no storage, and the file is not Fathom's to fill; give --file-size within its {} bytes, fill it with --allow-destroy {}, or measure the holes with --no-refill",
            spec.path.display(),
            present.bytes,
            spec.path.display()
        )));
    }
    Ok(FillPlan::Holes)
}

impl FilePlan {
    /// Bytes that would be written before the run: of a file that has some of them, the others.
    pub(super) fn bytes_missing(&self) -> Result<u64, RunError> {
        Ok(match self.fill {
            FillPlan::Nothing => 0,
            FillPlan::Whole => self.bytes,
            FillPlan::Holes => safety::open_present(&self.path)?
                .map_or(self.bytes, |file| fill::hole_bytes(&file, self.bytes)),
        })
    }
}

fn missing_bytes(present: &Present<'_>, bytes: u64) -> u64 {
    present
        .file
        .map_or(bytes, |file| fill::hole_bytes(file, bytes))
}

/// What a verified file has lost at its end is for the reader to hear, not to be written again
/// before anybody looks.
fn check_nothing_lost(
    spec: &FileSpec,
    workload: &Workload,
    present: &Present<'_>,
    bytes: u64,
    content: &FileContent,
) -> Result<(), RunError> {
    let had = content.bytes_held(workload).unwrap_or(0);
    // Whoever names no length means all that there was.
    let asked = spec.bytes.map_or(had, |_| had.min(bytes));
    if !workload.verify.on || present.bytes >= asked {
        return Ok(());
    }
    let shorter = match present.bytes {
        0 => String::new(),
        has => format!("verify what is left with --file-size {has}, or "),
    };
    Err(RunError::Unsuitable(format!(
        "{} had {had} bytes when Fathom's last run on it ended, and has {}: what is missing cannot be verified, and to write it again would hide that it was lost; {shorter}write all of it anew with --refill",
        spec.path.display(),
        present.bytes
    )))
}
