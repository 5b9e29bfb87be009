//! The end of a run on its files: marks that say what they hold, and which files have gone meanwhile.

use super::{Prepared, use_of};
use crate::probe::RealProbe;
use crate::safety::{self, FileId};
use workload::Workload;

/// Seals the marks of all files that this run wrote, as far as possible, and notes which files are not there any more.
pub(crate) fn seal(prepared: &mut Prepared, workload: &Workload, completed: bool) {
    let io = use_of(workload);
    for ready in &mut prepared.files {
        let facts = std::fs::metadata(&ready.path).ok();
        let Some(facts) = facts.as_ref().filter(|facts| FileId::of(facts) == ready.id) else {
            let what = if facts.is_some() { "was replaced by another file, which is left alone" } else { "was removed" };
            prepared.notices.push(format!("during the run {} {what}; operations went to the file that was opened", ready.path.display()));
            continue;
        };
        if io.writes {
            ready.content.wrote(workload, completed);
        }
        if let Some(mark) = ready.mark.take().map(|mark| ready.content.stamp(mark)) {
            let _an_unsealed_mark_still_says_that_the_file_is_ours = safety::write_mark(&ready.path, &mark.sealed(facts), &RealProbe);
        }
    }
}
