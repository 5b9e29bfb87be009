//! A study of an experiment that goes on: no verdict but those that its looks allow.

use crate::compare::Standing;
use crate::{RowComparison, Study};
use stats::{Reason, Verdict};

impl Study {
    /// Takes back every verdict that is none yet: of a fixed length before its end, and of any
    /// experiment before its first look. Whoever stops one in between is told by its file what may
    /// still be said.
    #[must_use]
    pub fn while_it_runs(mut self, standing: &Standing) -> Self {
        // More are to come.
        self.findings
            .retain(|finding| finding.rule != "no_repetition");
        let passes = standing.passes();
        if standing.has_been_looked_at() {
            return self;
        }
        let last = standing.plan().most_passes;
        let judged_after = standing.next_look().unwrap_or(last);
        let rows = self.rows.iter_mut().flat_map(|row| &mut row.comparisons);
        for found in rows.chain(&mut self.overall).flatten() {
            hold_back(found, passes, judged_after);
        }
        self
    }
}

fn hold_back(found: &mut RowComparison, passes: u32, judged_after: u32) {
    found.verdict = Verdict::Invalid(Reason::Underway {
        passes: passes as usize,
        judged_after,
    });
    found.effect = None;
    found.sensitivity = None;
    found.interrupted = None;
}
