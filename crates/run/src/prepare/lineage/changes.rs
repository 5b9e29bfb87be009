//! What is known of a file's content as it is written: by a fill, and by a run.

use super::super::patterns::pattern_label;
use super::super::written::{FilledRange, WrittenFile};
use super::{FileContent, KnownLineage};
use crate::safety::{HeldRange, Mark};
use crate::verify::{NUMBERS, Tearing};
use workload::Workload;

impl FileContent {
    /// The mark while the file is being written, which is to have so many bytes and had others.
    pub(crate) fn begin(&self, workload: &Workload, bytes: u64, had: u64) -> Mark {
        let made_by = concat!("fathom ", env!("CARGO_PKG_VERSION"));
        let longest = bytes.max(had);
        let mut mark = Mark::new(
            made_by,
            longest.max(self.mark.as_ref().map_or(0, |mark| mark.size_bytes)),
        );
        if let Some(known) = self.lineage {
            (mark.run, mark.generation, mark.oldest) = (
                Some(format!("{:016x}", known.run_id)),
                known.newest,
                known.oldest,
            );
            mark.file = self.id;
        }
        if workload.verify.on && self.is_as_left() && self.is_of(workload) {
            mark.pattern.clone_from(&self.pattern);
            mark.held = match longest > had {
                true => self.held.until(had),
                false => self.held,
            };
        }
        mark
    }

    /// What all blocks of a fill carry.
    pub(in crate::prepare) fn fill_generation(&self, whole: bool) -> u64 {
        self.lineage.map_or(1, |known| {
            if whole {
                known.newest + 1
            } else {
                known.newest
            }
        })
    }

    /// The same while what it lacks from `kept` on is written, or while all of it is.
    pub(crate) fn while_written(&self, kept: Option<u64>) -> Self {
        let is_whole = kept.is_none();
        let newest = self.fill_generation(is_whole);
        Self {
            pattern: self.pattern.clone().filter(|_| !is_whole),
            held: kept.map_or(self.held, |kept| self.held.until(kept)),
            // Some blocks have it already, and no later write may have the same.
            lineage: self.lineage.map(|known| KnownLineage { newest, ..known }),
            ..self.clone()
        }
    }

    /// The file has blocks that nobody wrote, behind so many bytes.
    pub(crate) fn has_grown(&mut self, from: u64) {
        self.held = self.held.until(from);
    }

    /// What holds the pattern, and its oldest generation, when all of `new` has been written with
    /// `generation` or later: what was held before, and not written now, is as old as it was. What is
    /// less than a block of it, at the end of a file of so many bytes, is given up, for all else would
    /// be as old.
    fn held_with(
        &self,
        workload: &Workload,
        (new, generation): (HeldRange, u64),
        file_bytes: u64,
    ) -> (HeldRange, u64) {
        let known = self.lineage.filter(|_| self.is_of(workload));
        let block = workload.blocks.smallest().0;
        let is_more = |joined: &HeldRange| {
            let left = joined.bytes_behind(new, file_bytes);
            joined.from < new.from || left >= block
        };
        let joined = self.held.with(new).filter(is_more);
        known
            .zip(joined)
            .map_or((new, generation), |(known, joined)| (joined, known.oldest))
    }

    /// Writes have ended that may have torn blocks or not, and wrote all of `new`. What is `held` beside
    /// that is as torn as it was.
    fn tear(&mut self, writes: Tearing, new: Option<HeldRange>, held: HeldRange) {
        if writes == Tearing::Allowed || new == Some(held) {
            self.tearing = writes;
        }
    }

    /// A fill has ended.
    pub(crate) fn filled(&mut self, workload: &Workload, fresh_run: u64, filled: FilledRange) {
        let (whole, grown) = match filled {
            FilledRange::Whole(range) => (Some(range), None),
            FilledRange::Lacking(grown) => (None, grown),
        };
        let generation = self.fill_generation(whole.is_some());
        if !workload.verify.on {
            (self.pattern, self.lineage) = (None, None);
        } else if let Some(held) = whole {
            let run_id = self.lineage_for(fresh_run).writing_run;
            let new = held;
            let (held, oldest) = self.held_with(workload, (new, generation), u64::MAX);
            self.tear(Tearing::Fault, Some(new), held);
            (self.pattern, self.held) = (Some(pattern_label(workload)), held);
            self.lineage = Some(KnownLineage {
                run_id,
                oldest,
                newest: generation,
            });
        } else if !self.is_of(workload) {
            self.pattern = None;
        } else if let Some(joined) = grown.and_then(|grown| self.held.with(grown)) {
            self.held = joined;
        }
    }

    /// A run with writes has ended.
    pub(crate) fn wrote(&mut self, workload: &Workload, fresh_run: u64, written: &WrittenFile) {
        if !workload.verify.on {
            (self.pattern, self.lineage) = (None, None);
            return;
        }
        let lineage = self.lineage_for(fresh_run);
        let generation = |passes: u64| lineage.writing + passes.saturating_sub(1);
        let newest = if written.numbers {
            lineage.writing + u64::from(NUMBERS) - 1
        } else {
            generation(written.passes.begun)
        };
        let (held, oldest) = match written.all_of {
            Some(new) => {
                let new = (new, generation(written.passes.ended));
                self.held_with(workload, new, written.file_bytes)
            }
            None if self.is_of(workload) => (self.held, lineage.oldest),
            None => {
                (self.pattern, self.lineage) = (None, None);
                return;
            }
        };
        self.tear(written.tearing, written.all_of, held);
        (self.pattern, self.held) = (Some(pattern_label(workload)), held);
        self.lineage = Some(KnownLineage {
            run_id: lineage.writing_run,
            oldest,
            newest,
        });
    }

    /// Writes what is known into a mark.
    pub(crate) fn stamp(&self, mut mark: Mark) -> Mark {
        mark.pattern.clone_from(&self.pattern);
        mark.held = self
            .pattern
            .as_ref()
            .map_or_else(HeldRange::default, |_| self.held);
        mark.may_be_torn = self.pattern.is_some() && self.tearing == Tearing::Allowed;
        mark.file = self.id.filter(|_| self.lineage.is_some());
        mark.run = self.lineage.map(|known| format!("{:016x}", known.run_id));
        (mark.generation, mark.oldest) = self
            .lineage
            .map_or((0, 0), |known| (known.newest, known.oldest));
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::WritePasses;

    fn verifying() -> Workload {
        let mut workload = Workload::default();
        workload.verify.on = true;
        workload
    }

    /// A file of 1 MiB that holds what `workload` verifies, and blocks that a write was killed in.
    fn torn(workload: &Workload) -> FileContent {
        let lineage = KnownLineage {
            run_id: 7,
            oldest: 1,
            newest: 3,
        };
        FileContent {
            pattern: Some(pattern_label(workload)),
            ..FileContent::known(Some(lineage), Tearing::Allowed)
        }
    }

    const WHOLE: HeldRange = HeldRange { from: 0, to: None };
    const PART: HeldRange = HeldRange {
        from: 8 << 10,
        to: Some(64 << 10),
    };

    #[test]
    fn what_a_fill_of_a_part_leaves_beside_it_is_as_torn_as_it_was() {
        let workload = verifying();
        for (new, tearing) in [(PART, Tearing::Allowed), (WHOLE, Tearing::Fault)] {
            let mut content = torn(&workload);
            content.filled(&workload, 9, FilledRange::Whole(new));
            assert_eq!((content.tearing, content.held), (tearing, WHOLE), "{new:?}");
        }
    }

    #[test]
    fn no_write_after_a_fill_that_did_not_end_has_its_generation() {
        let content = torn(&verifying());
        let filling = content.fill_generation(true);
        let after = content.while_written(None).lineage_for(9);
        assert!(after.writing > filling, "{after:?}");
        let kept = content.while_written(Some(8192)).lineage_for(9);
        assert_eq!(kept.writing, content.lineage_for(9).writing);
    }

    #[test]
    fn what_a_fill_of_a_part_lays_beside_content_that_is_no_more_is_whole() {
        let workload = verifying();
        let mut content = torn(&workload);
        content.pattern = Some("of another".into());
        content.filled(&workload, 9, FilledRange::Whole(PART));
        assert_eq!((content.tearing, content.held), (Tearing::Fault, PART));
    }

    #[test]
    fn what_a_run_leaves_beside_its_writes_is_as_torn_as_it_was() {
        let workload = verifying();
        let written = |all_of, tearing| WrittenFile {
            numbers: false,
            all_of,
            passes: WritePasses { begun: 1, ended: 1 },
            tearing,
            file_bytes: 1 << 20,
        };
        for (before, all_of, of_writes, after) in [
            (
                Tearing::Allowed,
                Some(PART),
                Tearing::Fault,
                Tearing::Allowed,
            ),
            (Tearing::Allowed, None, Tearing::Fault, Tearing::Allowed),
            (
                Tearing::Allowed,
                Some(WHOLE),
                Tearing::Fault,
                Tearing::Fault,
            ),
            (
                Tearing::Fault,
                Some(PART),
                Tearing::Allowed,
                Tearing::Allowed,
            ),
            (Tearing::Fault, None, Tearing::Fault, Tearing::Fault),
        ] {
            let mut content = torn(&workload);
            content.tearing = before;
            content.wrote(&workload, 9, &written(all_of, of_writes));
            assert_eq!(
                content.tearing, after,
                "{before:?} {all_of:?} {of_writes:?}"
            );
        }
    }
}
