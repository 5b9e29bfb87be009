//! Files that all ranks use: one rank, the root, approves, makes and marks them, and all of them fill
//! what they lack, each a part.

use super::among::{Among, as_found};
use super::fill::{Ranges, bytes_of, fill_file, is_whole, part_of};
use super::known::{KnownBy, seen_until, sees};
use super::lineage::KnownLineage;
use super::ready::OpenedFile;
use super::written::{FillPart, FilledRange};
use super::{FileContent, FilePlan, Prepared, Progress, ReadyFile, plans, use_of};
use crate::error::RunError;
use crate::layout::FileSpec;
use crate::probe::RealProbe;
use crate::resolve::Resolved;
use crate::safety::{self, Access, HeldRange, Referent, WriteRequest};
use crate::verify::Tearing;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io;
use std::path::Path;
use workload::Workload;

/// Files in more pieces than this the root fills alone: the list of them takes longer.
const MOST_PIECES: usize = 100_000;
/// What the root tells of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    /// Its name in verified content, where that is not the one of its place.
    own_id: Option<u32>,
    bytes: u64,
    lacks: Ranges,
    lineage: Option<KnownLineage>,
    tearing: Tearing,
    is_marked: bool,
}

/// What the root tells of all files, in the order of the layout; alike ones in a row once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AllMade {
    /// What the marks say, drawn for this run.
    writers: String,
    files: Vec<(u32, Made)>,
}

impl AllMade {
    fn of(opened: &[OpenedFile], specs: &[FileSpec], writers: &str) -> Self {
        let mut out = Self {
            writers: writers.to_owned(),
            files: Vec::new(),
        };
        for (file, spec) in opened.iter().zip(specs) {
            let made = Made {
                own_id: Some(file.plan.id).filter(|id| *id != spec.id),
                bytes: file.plan.bytes,
                lacks: file.lacks.clone(),
                lineage: file.plan.content.lineage,
                tearing: file.plan.content.tearing,
                is_marked: file.is_marked(),
            };
            match out.files.last_mut() {
                Some((count, last)) if *last == made => *count += 1,
                Some(_) | None => out.files.push((1, made)),
            }
        }
        out
    }

    fn each(&self) -> Vec<&Made> {
        let files = self.files.iter();
        let alike = files.map(|(count, made)| std::iter::repeat_n(made, *count as usize));
        alike.flatten().collect()
    }
}

impl Prepared {
    /// Makes ready what all ranks use, where this rank approved it.
    pub(super) fn make_for_all(
        &mut self,
        among: &Among<'_>,
        resolved: &Resolved,
        plans: Vec<FilePlan>,
        clock_ns: &dyn Fn() -> u64,
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        let workload = &resolved.effective;
        let writers = format!("{:032x}", sys::random_bits());
        let mut opened = Vec::with_capacity(plans.len());
        for plan in plans {
            opened.push(OpenedFile::open(
                plan,
                workload,
                Some(&writers),
                &mut self.undo,
            )?);
        }
        let (mut done, before) = (0, clock_ns());
        let pieces: usize = opened.iter().map(|file| file.lacks.len()).sum();
        // Of a device nothing says that other hosts mean the same one.
        let is_own = |file: &OpenedFile| file.plan.is_device || pieces > MOST_PIECES;
        let to_do = |file: &OpenedFile| bytes_of(&file.lacks);
        let own: u64 = opened.iter().filter(|file| is_own(file)).map(to_do).sum();
        for file in opened.iter_mut().filter(|file| is_own(file)) {
            let mut tell = |bytes| progress(done + bytes, own);
            done += file.fill(workload, self.fresh_run, &mut tell)?;
        }
        let made = AllMade::of(&opened, &resolved.layout.files, &writers);
        let work = among.confer((), |_| made).map(|made| FillWork {
            among,
            resolved,
            made,
            fresh_run: self.fresh_run,
        });
        let filled = work.and_then(|work| {
            let looked = work.look(|file, _| Some(opened[file].referent))?;
            let fillers = work.fillers(looked.sees_all)?;
            for file in &mut opened {
                file.is_being_filled(workload);
            }
            let filled = work.fill(&looked, &fillers, progress);
            if among.others_may_go_on() {
                opened.iter_mut().for_each(OpenedFile::leave_unsealed);
            }
            filled
        });
        self.has_filled(done + filled?, clock_ns().saturating_sub(before), workload);
        for mut file in opened {
            if !file.plan.is_device {
                check_not_cut(&file.plan.path, file.file.metadata(), file.plan.bytes)?;
            }
            file.was_filled(workload, self.fresh_run);
            self.take(file.ready(workload), workload);
        }
        Ok(())
    }

    /// The same where another rank approved and makes it.
    pub(super) fn make_of_others(
        &mut self,
        among: &Among<'_>,
        resolved: &Resolved,
        clock_ns: &dyn Fn() -> u64,
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        let workload = &resolved.effective;
        let work = FillWork {
            among,
            resolved,
            made: among.confer((), |_| AllMade::default())?,
            fresh_run: self.fresh_run,
        };
        let before = clock_ns();
        let until = seen_until();
        let looked = work.look(|_, path| sees(path, &work.made.writers, until))?;
        let fillers = work.fillers(looked.sees_all)?;
        let filled = work.fill(&looked, &fillers, progress)?;
        self.has_filled(filled, clock_ns().saturating_sub(before), workload);
        for (spec, made) in resolved.layout.files.iter().zip(work.made.each()) {
            made.check_not_cut(&spec.path, std::fs::metadata(&spec.path))?;
        }
        let found = as_found(resolved);
        // What there is to say of these files says who made them.
        let notices = self.notices.clone();
        let first = self.files.len();
        let found_plans = plans(&found, |_| true)?;
        self.make(found_plans, &found.effective, clock_ns, &mut |_, _| {})?;
        self.notices = notices;
        let ready = self.files[first..].iter_mut();
        for ((ready, made), looked) in ready.zip(work.made.each()).zip(&looked.files) {
            looked.check_same(ready, &work.made.writers)?;
            made.check_length(ready)?;
            looked.give_up(ready, workload)?;
            ready.content = made.content_after(workload, self.fresh_run);
            ready.id = made.own_id.unwrap_or(ready.id);
        }
        Ok(())
    }
}

impl Made {
    fn is_whole(&self) -> bool {
        is_whole(&self.lacks, self.bytes)
    }

    /// What is known of it when all have filled their parts.
    fn content_after(&self, workload: &Workload, fresh_run: u64) -> FileContent {
        let mut content = FileContent::known(self.lineage, self.tearing);
        if !self.lacks.is_empty() {
            // What a file holds its mark says, which is the root's.
            let all = HeldRange::default();
            let filled = match self.is_whole() {
                true => FilledRange::Whole(all),
                false => FilledRange::Lacking(None),
            };
            content.filled(workload, fresh_run, filled);
        }
        content
    }

    /// Of a device nothing is marked, and its length is asked elsewhere.
    fn check_not_cut(&self, path: &Path, facts: io::Result<Metadata>) -> Result<(), RunError> {
        match self.is_marked {
            true => check_not_cut(path, facts, self.bytes),
            false => Ok(()),
        }
    }

    /// Ranks that know another length would use other blocks.
    fn check_length(&self, ready: &ReadyFile) -> Result<(), RunError> {
        if ready.bytes == self.bytes {
            return Ok(());
        }
        Err(RunError::Unsuitable(format!(
            "{} has {} bytes here and {} on the first rank's host: they are not one file, or this host holds an older view of it",
            ready.path.display(),
            ready.bytes,
            self.bytes
        )))
    }
}

/// What is shorter than it was made somebody else has cut.
fn check_not_cut(path: &Path, facts: io::Result<Metadata>, bytes: u64) -> Result<(), RunError> {
    let has = facts.map_or(bytes, |facts| facts.len());
    if has >= bytes {
        return Ok(());
    }
    Err(RunError::Unsuitable(format!(
        "{} was cut to {has} of {bytes} bytes while it was made: run again when nobody else uses it",
        path.display()
    )))
}

/// All files as a rank found them.
struct Looked {
    files: Vec<KnownBy>,
    /// Whether it sees every mark.
    sees_all: bool,
}

/// The filling of what the root made.
struct FillWork<'a> {
    among: &'a Among<'a>,
    resolved: &'a Resolved,
    made: AllMade,
    fresh_run: u64,
}

impl FillWork<'_> {
    /// The ranks that fill what is lacking: of files that it does not see marked one fills nothing.
    fn fillers(&self, sees_all: bool) -> Result<Vec<u32>, RunError> {
        let files = self.made.each();
        // Whoever cannot go on says so when all are to begin.
        if files.iter().all(|file| file.lacks.is_empty()) {
            return Ok(Vec::new());
        }
        self.among.confer(sees_all, |all: Vec<bool>| {
            let each = all.iter().zip(0_u32..).filter(|(sees, _)| **sees);
            each.map(|(_, rank)| rank).collect()
        })
    }

    /// Fills this rank's part, returns its bytes, and waits until all have filled theirs.
    fn fill(
        &self,
        looked: &Looked,
        fillers: &[u32],
        progress: Progress<'_>,
    ) -> Result<u64, RunError> {
        if fillers.is_empty() {
            return Ok(0);
        }
        let filled = self.fill_part(looked, fillers, progress);
        self.among.meet_after(filled)
    }

    /// How this rank knows each file; where it does not see a mark and is to write, what it sees must
    /// be its to write.
    fn look(&self, sees: impl Fn(usize, &Path) -> Option<Referent>) -> Result<Looked, RunError> {
        let mut looked = Looked {
            files: Vec::new(),
            sees_all: true,
        };
        let files = self.resolved.layout.files.iter().zip(self.made.each());
        for (number, (spec, made)) in files.enumerate() {
            let seen = made.is_marked.then(|| sees(number, &spec.path)).flatten();
            let known_by = self.known_by(&spec.path, made, seen)?;
            looked.sees_all &= seen.is_some() || !made.is_marked;
            looked.files.push(known_by);
        }
        Ok(looked)
    }

    fn known_by(
        &self,
        path: &Path,
        made: &Made,
        seen: Option<Referent>,
    ) -> Result<KnownBy, RunError> {
        let workload = &self.resolved.effective;
        if !path.exists() {
            return Err(RunError::Unsuitable(format!(
                "{} is there on the first rank's host and not here: this host has another directory of that name (not mounted?), or an older view of it",
                path.display()
            )));
        }
        if let Some(seen) = seen {
            safety::check_not_in_use(path, Path::new("/"), &RealProbe)?;
            return Ok(KnownBy::Mark(seen));
        }
        if !made.is_marked || !use_of(workload).writes {
            return Ok(KnownBy::Name);
        }
        let request = WriteRequest {
            path,
            access: Access::Write,
            allow_destroy: &workload.files.allow_destroy,
        };
        let approval = safety::check(&request, Path::new("/"), &RealProbe).map_err(|refusal| {
            RunError::Unsuitable(format!(
                "{} is not the file that the first rank made, or this host holds an older view of its directory; and as a file of this host: {refusal}",
                path.display()
            ))
        })?;
        // Its own mark would say nothing of what is written to it here.
        if workload.files.allow_destroy.is_empty() {
            return Err(RunError::Unsuitable(format!(
                "{} is not the file that the first rank made, or this host holds an older view of its directory; where each host has its own, say --target-is local, or give up what this one holds with --allow-destroy {}",
                path.display(),
                path.display()
            )));
        }
        Ok(KnownBy::Approval(Box::new(approval)))
    }

    fn fill_part(
        &self,
        looked: &Looked,
        fillers: &[u32],
        progress: Progress<'_>,
    ) -> Result<u64, RunError> {
        let workload = &self.resolved.effective;
        let files = self.made.each();
        let (rank, _) = self.among.place();
        let count = u32::try_from(fillers.len()).unwrap_or(u32::MAX);
        let Some(place) = fillers.iter().position(|filler| *filler == rank) else {
            return Ok(0);
        };
        // The part of the next: what a rank writes here its own cache holds.
        let number = (u32::try_from(place).unwrap_or(0) + 1) % count;
        let lacks: Vec<Ranges> = files.iter().map(|file| file.lacks.clone()).collect();
        let parts = part_of(&lacks, number, count);
        let to_do: u64 = parts.iter().map(|ranges| bytes_of(ranges)).sum();
        let mut done = 0;
        let specs = self.resolved.layout.files.iter();
        let all = specs.zip(&files).zip(&looked.files).zip(&parts);
        for (((spec, made), known_by), ranges) in all {
            if ranges.is_empty() {
                continue;
            }
            let file = known_by.open(&spec.path, &self.made.writers)?;
            let id = made.own_id.unwrap_or(spec.id);
            let content = FileContent::known(made.lineage, made.tearing);
            let part = FillPart {
                is_whole: made.is_whole(),
                number,
            };
            let filler = content.filler(workload, id, self.fresh_run, part)?;
            let mut tell = |bytes| progress(done + bytes, to_do);
            done += fill_file(&file, &spec.path, ranges, filler, &mut tell)?;
        }
        Ok(done)
    }
}
