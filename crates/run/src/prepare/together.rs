//! Files that all ranks use: one rank, the root, approves, makes and marks them, and all of them fill
//! what they lack, each a part.

use super::among::{Among, as_found, others_may_go_on};
use super::fill::{Ranges, bytes_of, fill_file, part_of};
use super::lineage::{FillPart, KnownLineage};
use super::ready::OpenedFile;
use super::{FileContent, FilePlan, Prepared, Progress, ReadyFile, plans, use_of};
use crate::error::RunError;
use crate::probe::RealProbe;
use crate::resolve::Resolved;
use crate::safety::{self, Access, WriteRequest};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;
use sys::{Clock as _, MachineClock};
use workload::Workload;

/// Files in more pieces than this the root fills alone: the list of them takes longer.
const MOST_PIECES: usize = 100_000;
/// So long a host may hold an older view of a directory than the one in which the root made files.
const SEEN_WITHIN_NS: u64 = 3_000_000_000;
const LOOK_AGAIN_NS: u64 = 100_000_000;

/// What the root tells of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    bytes: u64,
    lacks: Ranges,
    lineage: Option<KnownLineage>,
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
    fn of(opened: &[OpenedFile], writers: &str) -> Self {
        let mut out = Self {
            writers: writers.to_owned(),
            files: Vec::new(),
        };
        for file in opened {
            let made = Made {
                bytes: file.plan.bytes,
                lacks: file.lacks.clone(),
                lineage: file.plan.content.lineage,
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
        let made = AllMade::of(&opened, &writers);
        let work = FillWork {
            among,
            resolved,
            fresh_run: self.fresh_run,
        };
        let filled = among
            .confer((), |_| made)
            .and_then(|made| work.fill(&made, |_| true, progress));
        if let Err(error) = &filled
            && others_may_go_on(error)
        {
            opened.iter_mut().for_each(OpenedFile::leave_unsealed);
        }
        self.has_filled(done + filled?, clock_ns().saturating_sub(before), workload);
        for mut file in opened {
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
        let all_made = among.confer((), |_| AllMade::default())?;
        let before = clock_ns();
        let work = FillWork {
            among,
            resolved,
            fresh_run: self.fresh_run,
        };
        let clock = MachineClock::monotonic();
        let until = clock.now().saturating_add(SEEN_WITHIN_NS);
        let sees = |path: &Path| sees(path, &all_made.writers, clock, until);
        let filled = work.fill(&all_made, sees, progress)?;
        self.has_filled(filled, clock_ns().saturating_sub(before), workload);
        let found = as_found(resolved);
        // What there is to say of these files says who made them.
        let notices = self.notices.clone();
        let first = self.files.len();
        let found_plans = plans(&found, |_| true)?;
        self.make(found_plans, &found.effective, clock_ns, &mut |_, _| {})?;
        self.notices = notices;
        for (ready, made) in self.files[first..].iter_mut().zip(all_made.each()) {
            made.check_length(ready)?;
            ready.content = made.content_after(workload, self.fresh_run);
        }
        Ok(())
    }
}

impl Made {
    fn is_whole(&self) -> bool {
        bytes_of(&self.lacks) == self.bytes
    }

    /// What is known of it when all have filled their parts.
    fn content_after(&self, workload: &Workload, fresh_run: u64) -> FileContent {
        let mut content = FileContent::known(self.lineage);
        if !self.lacks.is_empty() {
            content.filled(workload, fresh_run, self.is_whole());
        }
        content
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

/// The filling of what the root made.
struct FillWork<'a> {
    among: &'a Among<'a>,
    resolved: &'a Resolved,
    fresh_run: u64,
}

impl FillWork<'_> {
    /// Fills this rank's part, returns its bytes, and waits until all have filled theirs. Of files
    /// that it does not see marked a rank fills nothing.
    fn fill(
        &self,
        made: &AllMade,
        sees: impl Fn(&Path) -> bool,
        progress: Progress<'_>,
    ) -> Result<u64, RunError> {
        let files = made.each();
        let seen = self.look(&files, sees)?;
        // Whoever cannot go on says so when all are to begin.
        if files.iter().all(|file| file.lacks.is_empty()) {
            return Ok(0);
        }
        let fillers = self.among.confer(seen, |all: Vec<bool>| {
            let each = all.iter().zip(0_u32..).filter(|(sees, _)| **sees);
            each.map(|(_, rank)| rank).collect::<Vec<u32>>()
        })?;
        let filled = self.fill_part(&files, &made.writers, &fillers, progress);
        self.among.meet_after(filled)
    }

    /// Whether this rank sees all marks; where it does not and is to write, what it sees must be its
    /// to write.
    fn look(&self, files: &[&Made], sees: impl Fn(&Path) -> bool) -> Result<bool, RunError> {
        let workload = &self.resolved.effective;
        let mut sees_all = true;
        for (spec, made) in self.resolved.layout.files.iter().zip(files) {
            let is_seen = !made.is_marked || sees(&spec.path);
            if !spec.path.exists() {
                return Err(RunError::Unsuitable(format!(
                    "{} is there on the first rank's host and not here: this host has another directory of that name (not mounted?), or an older view of it",
                    spec.path.display()
                )));
            }
            if is_seen {
                continue;
            }
            sees_all = false;
            let request = WriteRequest {
                path: &spec.path,
                access: Access::Write,
                allow_destroy: &workload.files.allow_destroy,
            };
            if use_of(workload).writes {
                safety::check(&request, Path::new("/"), &RealProbe).map_err(|refusal| {
                    RunError::Unsuitable(format!(
                        "{} is not the file that the first rank made, or this host holds an older view of its directory; and as a file of this host: {refusal}",
                        spec.path.display()
                    ))
                })?;
            }
        }
        Ok(sees_all)
    }

    fn fill_part(
        &self,
        files: &[&Made],
        writers: &str,
        fillers: &[u32],
        progress: Progress<'_>,
    ) -> Result<u64, RunError> {
        let workload = &self.resolved.effective;
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
        for ((spec, made), ranges) in specs.zip(files).zip(&parts) {
            if ranges.is_empty() {
                continue;
            }
            let file = open_marked(&spec.path, writers)?;
            let content = FileContent::known(made.lineage);
            let part = FillPart {
                is_whole: made.is_whole(),
                number,
            };
            let filler = content.filler(workload, spec.id, self.fresh_run, part)?;
            let mut tell = |bytes| progress(done + bytes, to_do);
            done += fill_file(&file, &spec.path, ranges, filler, &mut tell)?;
        }
        Ok(done)
    }
}

/// Whether a path leads to a file that says so of its writers, which a host may see a moment later
/// than another wrote it.
fn sees(path: &Path, writers: &str, clock: MachineClock, until: u64) -> bool {
    loop {
        // A directory that is opened is looked up anew.
        let _what_is_in_it_is_asked_below = path.parent().map(File::open);
        let file = sys::open_without_waiting(File::options().read(true), 0, path);
        if file.is_ok_and(|file| says(&file, path, writers)) {
            return true;
        }
        let now = clock.now();
        if now >= until || sys::caught_signal().is_some() {
            return false;
        }
        clock.sleep_until(until.min(now + LOOK_AGAIN_NS));
    }
}

fn says(file: &File, path: &Path, writers: &str) -> bool {
    let is_file = file.metadata().is_ok_and(|facts| facts.is_file());
    let found = || safety::read_writers(file, path, &RealProbe);
    is_file && matches!(found(), Ok(Some(found)) if found == writers)
}

/// Opens a file to fill it, if it is the one that the root marked and nobody uses it here.
fn open_marked(path: &Path, writers: &str) -> Result<File, RunError> {
    let file = sys::open_without_waiting(File::options().read(true).write(true), 0, path)
        .map_err(RunError::io("cannot open for writing", path))?;
    if says(&file, path, writers) {
        return Ok(file);
    }
    Err(RunError::Unsuitable(format!(
        "{} was exchanged for another file while it was made: nothing was written to it; run again",
        path.display()
    )))
}
