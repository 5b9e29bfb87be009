//! One approved file after the other: opened, announced, marked, sized and filled.

use super::fill::{self, Ranges, fill_file, is_whole, lacking};
use super::fill_plan::FillPlan;
use super::seal::Unsealed;
use super::undo::Undo;
use super::written::{FillPart, FilledRange};
use super::{FilePlan, Prepared, Progress, ReadyFile, use_of};
use crate::error::RunError;
use crate::safety::{self, Access, Announced, Approval, FileId, HeldRange, Referent};
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
            let mut opened = OpenedFile::open(plan, workload, None, &mut self.undo)?;
            let mut tell = |bytes: u64| progress(done + bytes, to_do);
            done += opened.fill(workload, self.fresh_run, &mut tell)?;
            self.take(opened.ready(workload), workload);
        }
        self.has_filled(done, clock_ns().saturating_sub(before), workload);
        Ok(())
    }

    /// Takes a file that is ready, with what there is to say of it.
    pub(super) fn take(&mut self, ready: ReadyFile, workload: &Workload) {
        let note = |announced: &Announced| announced.note.clone();
        let remark = ready.content.remark(&ready.path);
        let remark = remark.filter(|_| workload.verify.on && !use_of(workload).writes);
        let notes = ready.approval.notes.iter().map(ToString::to_string);
        let notes = notes.chain(ready.announced.as_ref().and_then(note));
        self.notices.extend(notes.chain(remark));
        self.files.push(ready);
    }

    /// So many bytes were written before the run.
    pub(super) fn has_filled(&mut self, bytes: u64, elapsed_ns: u64, workload: &Workload) {
        if bytes > 0 {
            self.fill = Some(Fill {
                bytes,
                elapsed_ns,
                reason: fill_reason(workload).into(),
            });
        }
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

/// A file that is open, announced, marked and as long as it is to be.
pub(super) struct OpenedFile {
    pub(super) plan: FilePlan,
    pub(super) file: Arc<File>,
    /// How long it was before.
    had: u64,
    /// Whether something was written to it.
    is_filled: bool,
    /// What is still to be written of it.
    pub(super) lacks: Ranges,
    pub(super) referent: Referent,
    announced: Option<Announced>,
    unsealed: Option<Unsealed>,
}

impl OpenedFile {
    /// `writers`: what several ranks that write to it know it by.
    pub(super) fn open(
        plan: FilePlan,
        workload: &Workload,
        writers: Option<&str>,
        undo: &mut Undo,
    ) -> Result<Self, RunError> {
        let (path, bytes) = (&plan.path, plan.bytes);
        let will_be_written = plan.access == Access::Write;
        let mut unsealed = None;
        let file = Arc::new(open_approved(path, &plan.approval, will_be_written)?);
        let look = || {
            file.metadata()
                .map_err(RunError::io("cannot look at", path))
        };
        let facts = look()?;
        if will_be_written && plan.approval.is_new() {
            undo.made(path, FileId::of(&facts));
        }
        let announced = if plan.is_device {
            None
        } else {
            Some(safety::announce(&file, path, plan.access)?)
        };
        if will_be_written && !plan.is_device {
            let mut mark = plan.content.begin(workload, bytes, facts.len());
            mark.writers = writers.map(str::to_owned);
            let own = Unsealed::mark(&file, path, mark)?;
            if let Err(error) = size_file(&file, path, bytes, workload) {
                own.put_back(&plan.content, facts.len());
                return Err(error);
            }
            unsealed = Some(own);
        }
        let longest = bytes.max(look()?.len());
        let lacks = lacking(&plan, workload, &file, (facts.len(), longest));
        let mut opened = Self {
            had: facts.len(),
            is_filled: false,
            lacks,
            referent: Referent::of(&facts),
            plan,
            file,
            announced,
            unsealed,
        };
        opened.holds_what_it_held();
        Ok(opened)
    }

    /// However this ends, until something is written it holds what it held before it was sized.
    fn holds_what_it_held(&mut self) {
        let mut kept = self.plan.content.clone();
        if self
            .file
            .metadata()
            .is_ok_and(|facts| facts.len() > self.had)
        {
            kept.has_grown(self.had);
        }
        if let Some(unsealed) = &mut self.unsealed
            && kept.is_as_left()
        {
            unsealed.now_holds(&kept);
        }
        if self.plan.fill == FillPlan::Nothing {
            self.plan.content = kept;
        }
    }

    /// From here on nobody knows what it holds before its end.
    pub(super) fn is_being_filled(&mut self, workload: &Workload) {
        let is_whole = self.is_whole();
        if let Some(unsealed) = &mut self.unsealed
            && !self.lacks.is_empty()
        {
            // What holds the pattern is written to where it ends, if at all.
            let content = &self.plan.content;
            let keeps = workload.verify.on && content.is_of(workload) && !is_whole;
            let from = self.lacks.first().map(|(from, _)| *from);
            unsealed.now_holds(&content.while_written(from.filter(|_| keeps)));
        }
    }

    /// Writes all that is lacking, and returns how many bytes that were.
    pub(super) fn fill(
        &mut self,
        workload: &Workload,
        fresh_run: u64,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, RunError> {
        if self.plan.fill == FillPlan::Nothing {
            return Ok(0);
        }
        self.is_being_filled(workload);
        let FilePlan {
            path, id, content, ..
        } = &self.plan;
        let part = FillPart {
            is_whole: self.is_whole(),
            number: 0,
        };
        let filler = content.filler(workload, *id, fresh_run, part)?;
        let written = fill_file(&self.file, path, &self.lacks, filler, tell)?;
        self.was_filled(workload, fresh_run);
        Ok(written)
    }

    /// A file without data is filled as a whole, and all of it is one write.
    fn is_whole(&self) -> bool {
        is_whole(&self.lacks, self.plan.bytes)
    }

    /// What was lacking has been written, by whomever.
    pub(super) fn was_filled(&mut self, workload: &Workload, fresh_run: u64) {
        if self.plan.fill != FillPlan::Nothing {
            let bytes = self.file.metadata().map_or(u64::MAX, |facts| facts.len());
            let end = self.lacks.last().map_or(0, |(_, end)| *end);
            let all = HeldRange::default().until(end);
            let grown = || {
                let content = &self.plan.content;
                content.grown(workload, self.had, self.plan.bytes)
            };
            let filled = match self.is_whole() {
                true => FilledRange::Whole(all.in_file(bytes)),
                false => FilledRange::Lacking(grown().map(|grown| grown.in_file(bytes))),
            };
            self.plan.content.filled(workload, fresh_run, filled);
            (self.plan.fill, self.lacks) = (FillPlan::Nothing, Vec::new());
            self.is_filled = true;
        }
    }

    /// Whether its mark says that this run writes to it.
    pub(super) fn is_marked(&self) -> bool {
        self.unsealed.is_some()
    }

    /// Something may write to it still: its mark stays open.
    pub(super) fn leave_unsealed(&mut self) {
        if let Some(unsealed) = self.unsealed.take() {
            unsealed.leave();
        }
    }

    /// Nothing is written to it any more before the run.
    pub(super) fn ready(mut self, workload: &Workload) -> ReadyFile {
        let FilePlan {
            path,
            id,
            owner,
            approval,
            is_device,
            bytes,
            content,
            ..
        } = self.plan;
        if let Some(unsealed) = &mut self.unsealed {
            unsealed.now_holds(&content);
            if self.is_filled && workload.verify.on {
                unsealed.tell();
            }
        }
        let is_asked = use_of(workload).reads && !is_device;
        ReadyFile {
            hole_bytes: is_asked.then(|| fill::hole_bytes(&self.file, bytes)),
            path,
            bytes,
            id,
            owner,
            content,
            approval,
            referent: self.referent,
            file: self.file,
            unsealed: self.unsealed,
            announced: self.announced,
        }
    }
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
