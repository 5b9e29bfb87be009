//! One approved file after the other: opened, announced, marked, sized and filled.

use super::fill_plan::FillPlan;
use super::seal::Unsealed;
use super::undo::Undo;
use super::{FilePlan, Prepared, Progress, ReadyFile, fill, use_of};
use crate::error::RunError;
use crate::safety::{self, Access, Announced, Approval, FileId, Referent};
use record::Fill;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use workload::{EngineFeature, Workload};

impl Prepared {
    /// Makes files ready that were approved.
    pub(super) fn make(
        &mut self,
        plans: Vec<FilePlan>,
        workload: &Workload,
        clock_ns: &dyn Fn() -> u64,
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        let to_do: u64 = plans.iter().map(FilePlan::bytes_to_write).sum();
        let (mut done, before) = (0, clock_ns());
        for plan in plans {
            let mut tell = |bytes: u64| progress(done + bytes, to_do);
            let (ready, written) =
                make_ready(plan, workload, self.fresh_run, &mut self.undo, &mut tell)?;
            done += written;
            let note = |announced: &Announced| announced.note.clone();
            let remark = ready.content.remark(&ready.path);
            let remark = remark.filter(|_| workload.verify.on && !use_of(workload).writes);
            let notes = ready.approval.notes.iter().map(ToString::to_string);
            let notes = notes.chain(ready.announced.as_ref().and_then(note));
            self.notices.extend(notes.chain(remark));
            self.files.push(ready);
        }
        if done > 0 {
            self.fill = Some(Fill {
                bytes: done,
                elapsed_ns: clock_ns().saturating_sub(before),
                reason: fill_reason(workload).into(),
            });
        }
        Ok(())
    }
}

fn fill_reason(workload: &Workload) -> &'static str {
    if workload.files.fill.refill == Some(true) {
        "--refill"
    } else if workload.verify.on {
        "reads must find the verified pattern"
    } else if workload.engine.has(EngineFeature::Mapping) {
        "a mapping needs blocks under it"
    } else {
        "reads must not meet holes"
    }
}

fn make_ready(
    plan: FilePlan,
    workload: &Workload,
    fresh_run: u64,
    undo: &mut Undo,
    tell: &mut dyn FnMut(u64),
) -> Result<(ReadyFile, u64), RunError> {
    let FilePlan {
        path,
        index,
        owner,
        approval,
        is_device,
        bytes,
        mut content,
        fill,
        access,
        ..
    } = plan;
    let will_be_written = access == Access::Write;
    let (mut written, mut unsealed) = (0, None);
    let file = Arc::new(open_approved(&path, &approval, will_be_written)?);
    let facts = file
        .metadata()
        .map_err(RunError::io("cannot look at", &path))?;
    if will_be_written && approval.is_new() {
        undo.made(&path, FileId::of(&facts));
    }
    let announced = if is_device {
        None
    } else {
        Some(safety::announce(&file, &path, access)?)
    };
    if will_be_written {
        if !is_device {
            unsealed = Some(Unsealed::mark(
                &file,
                &path,
                content.begin(bytes.max(facts.len()), workload),
            )?);
            size_file(&file, &path, bytes, workload)?;
        }
        if fill != FillPlan::Nothing {
            let lacking = fill::Lacking {
                file: &file,
                path: &path,
                index,
                bytes,
                fresh_run,
            };
            written = lacking.fill(fill, workload, &mut content, tell)?;
        }
        let keeps_content = fill != FillPlan::Nothing
            || file
                .metadata()
                .is_ok_and(|after| after.len() == facts.len());
        unsealed
            .iter_mut()
            .filter(|_| keeps_content)
            .for_each(|unsealed| unsealed.now_holds(&content));
    }
    let is_asked = use_of(workload).reads && !is_device;
    Ok((
        ReadyFile {
            path,
            bytes,
            owner,
            hole_bytes: is_asked.then(|| fill::hole_bytes(&file, bytes)),
            content,
            approval,
            referent: Referent::of(&facts),
            file,
            unsealed,
            announced,
        },
        written,
    ))
}

fn open_approved(path: &Path, approval: &Approval, to_write: bool) -> Result<File, RunError> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(to_write)
        .create_new(to_write && approval.is_new());
    let what = if to_write {
        "cannot open for writing"
    } else {
        "cannot open"
    };
    let file =
        sys::open_without_waiting(&mut options, 0, path).map_err(RunError::io(what, path))?;
    if !approval.is_new() {
        safety::recheck(&file, approval)?;
    }
    Ok(file)
}

fn size_file(file: &File, path: &Path, bytes: u64, workload: &Workload) -> Result<(), RunError> {
    let has = file
        .metadata()
        .map_err(RunError::io("cannot look at", path))?
        .size();
    if has < bytes || (workload.files.fill.truncate && has > bytes) {
        file.set_len(bytes)
            .map_err(RunError::io("cannot size", path))?;
    }
    if workload.files.fill.preallocate {
        sys::fallocate(file, 0, bytes).map_err(RunError::io("cannot preallocate", path))?;
    }
    Ok(())
}
