//! What Fathom knows of a file's content, from the mark in the file: which pattern every block
//! holds, and whose writes they are.

mod changes;

use super::patterns::pattern_label;
use super::written::{used_blocks, whole_units};
use crate::content::Lineage;
use crate::error::RunError;
use crate::probe::RealProbe;
use crate::safety::{HeldRange, Mark, Stale, read_mark};
use crate::verify::Tearing;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;
use workload::Workload;

/// The content of one file as far as Fathom made it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileContent {
    pub(crate) mark: Option<Mark>,
    /// What every block of `held` held when Fathom last ended a run on it; `None`: mixed or unknown.
    pattern: Option<String>,
    held: HeldRange,
    state: State,
    pub(crate) lineage: Option<KnownLineage>,
    /// Its name in verified content, with the run.
    id: Option<u32>,
    /// Whether a block may be what a write was killed in.
    pub(super) tearing: Tearing,
}

/// How far a mark can be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No mark, or none that speaks of content.
    #[default]
    Unknown,
    /// The run that wrote last did not end.
    Unfinished,
    /// The file is as Fathom left it.
    AsLeft,
    /// Somebody wrote to it since.
    Touched,
}

/// The run and the generations of verified blocks in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownLineage {
    pub(crate) run_id: u64,
    pub(crate) oldest: u64,
    pub(crate) newest: u64,
}

impl FileContent {
    /// What the mark of an open regular file says of its content; `None`: there is no such file.
    pub(crate) fn read(file: Option<&File>, path: &Path) -> Result<Self, RunError> {
        let Some(file) = file else {
            return Ok(Self::default());
        };
        let Some(mark) = read_mark(file, path, &RealProbe)? else {
            return Ok(Self::default());
        };
        let facts = file
            .metadata()
            .map_err(RunError::io("cannot look at", path))?;
        let state = match (mark.modified, mark.still_describes(&facts)) {
            (None, _) => State::Unfinished,
            // Another name or other attributes do not change what a file holds.
            (Some(_), Ok(()) | Err(Stale::Changed)) => State::AsLeft,
            (Some(_), Err(Stale::Written | Stale::Grown { .. } | Stale::Unsealed)) => {
                State::Touched
            }
        };
        let sealed = state != State::Unfinished;
        let pattern = mark.pattern.clone().filter(|_| sealed);
        let held = mark.held.until(mark.size_bytes).in_file(facts.len());
        let run_id = mark
            .run
            .as_deref()
            .and_then(|text| u64::from_str_radix(text, 16).ok());
        let lineage = run_id.filter(|_| sealed).map(|run_id| KnownLineage {
            run_id,
            oldest: mark.oldest,
            newest: mark.generation,
        });
        let may_be_torn = mark.may_be_torn;
        Ok(Self {
            // Also where nobody knows which writes it holds.
            id: mark.file,
            mark: Some(mark),
            pattern,
            held,
            state,
            lineage,
            // A process that is killed leaves a write where the kernel happened to be in it.
            tearing: match !sealed || may_be_torn {
                true => Tearing::Allowed,
                false => Tearing::Fault,
            },
        })
    }

    /// What another rank knows of a file that it marked.
    pub(crate) fn known(lineage: Option<KnownLineage>, tearing: Tearing) -> Self {
        Self {
            lineage,
            tearing,
            ..Self::default()
        }
    }

    /// Its name in verified content: the one that it has, or this one from now on.
    pub(super) fn named(&mut self, id: u32) -> u32 {
        *self.id.get_or_insert(id)
    }

    /// Whether every block that this workload uses in so many bytes of the file holds what it
    /// verifies.
    pub(crate) fn holds(&self, workload: &Workload, bytes: u64) -> bool {
        let used = used_blocks(workload, bytes, u64::MAX);
        self.is_of(workload) && self.held.has(used)
    }

    pub(super) fn is_of(&self, workload: &Workload) -> bool {
        self.pattern.as_deref() == Some(pattern_label(workload).as_str())
    }

    /// How long the file was when its last run ended, as far as blocks held what this workload
    /// verifies.
    pub(super) fn bytes_held(&self, workload: &Workload) -> Option<u64> {
        let mark = self.mark.as_ref().filter(|_| self.is_of(workload))?;
        mark.held.until(mark.size_bytes).to
    }

    /// Whether it is certain that some block that this workload uses does not hold what it verifies,
    /// so that a failed check would mean nothing.
    pub(crate) fn certainly_lacks(&self, workload: &Workload, bytes: u64) -> bool {
        match self.state {
            State::Unknown => false,
            // Before it began, or when it had filled all.
            State::Unfinished => !self.may_hold(workload, bytes),
            State::AsLeft | State::Touched => !self.holds(workload, bytes),
        }
    }

    /// What a mark says that a run left open: what every block held, of whichever write.
    fn may_hold(&self, workload: &Workload, bytes: u64) -> bool {
        let mark = self.mark.as_ref();
        mark.is_some_and(|mark| {
            mark.pattern.as_deref() == Some(pattern_label(workload).as_str())
                && mark.held.has(used_blocks(workload, bytes, u64::MAX))
        })
    }

    /// Whether nobody else wrote here since Fathom did.
    pub(super) fn is_as_left(&self) -> bool {
        self.state == State::AsLeft
    }

    /// Whether nothing says that Fathom ever wrote here.
    pub(crate) fn is_unknown(&self) -> bool {
        self.mark.is_none()
    }

    /// What a reader of a verification of this file must know.
    pub(crate) fn remark(&self, path: &Path) -> Option<String> {
        match self.state {
            State::Unknown | State::AsLeft => None,
            State::Unfinished => Some(format!(
                "{}: the run that wrote it last did not end, so any generation of a block is taken for current",
                path.display()
            )),
            State::Touched => Some(format!(
                "{}: somebody wrote to it since Fathom did; it is verified against what Fathom wrote",
                path.display()
            )),
        }
    }

    pub(crate) fn describe(&self) -> String {
        self.pattern.as_ref().map_or_else(
            || "unknown or mixed content".into(),
            |pattern| match (self.held.from, self.held.to) {
                (0, None) => format!("it holds {pattern}"),
                (from, None) => format!("it holds {pattern} from --offset {from} on"),
                (0, Some(to)) => format!("it holds {pattern} in its first {to} bytes"),
                (from, Some(to)) => {
                    format!("it holds {pattern} from --offset {from} to --file-size {to}")
                }
            },
        )
    }

    /// What reads of a run may find and what its writes carry; unknown content of a foreign file or
    /// device may be of any write, and what is written to it is of `fresh_run`.
    pub(crate) fn lineage_for(&self, fresh_run: u64) -> Lineage {
        match self.lineage {
            Some(known) => Lineage {
                holding: Some(known.run_id),
                oldest: known.oldest,
                newest: known.newest,
                writing_run: known.run_id,
                writing: known.newest + 1,
                tearing: self.tearing,
            },
            None => Lineage {
                holding: None,
                oldest: 0,
                newest: u64::MAX,
                writing_run: fresh_run,
                writing: 1,
                tearing: self.tearing,
            },
        }
    }

    /// What lacks data at the end of a file that had so many bytes and is to have more, if what it has
    /// is to stay: a pattern is written in whole units, of which the old end may have a part.
    pub(super) fn grown(&self, workload: &Workload, had: u64, bytes: u64) -> Option<HeldRange> {
        let held = self.held.to.filter(|_| self.is_of(workload));
        let from = match workload.verify.on {
            true => held.map_or(whole_units(had), |held| held.min(whole_units(had))),
            false => had,
        };
        let range = HeldRange { from, to: None };
        (bytes > had).then(|| range.until(bytes))
    }
}
