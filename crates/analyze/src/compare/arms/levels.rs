//! At which level the interval of each candidate over all its rows holds.

use super::Course;
use crate::compare::pairs::Block;
use stats::{Family, Thresholds, signed_rank};
use std::collections::BTreeSet;

impl Course<'_> {
    /// The level of each candidate's interval over all rows: Holm's step over the candidates, at
    /// every look so far. One that is left out of a row has looks of fewer blocks, and stands in no
    /// other's step: its p is held against the threshold of all candidates undecided.
    pub(super) fn levels(&self, blocks: &[Vec<Vec<Block<'_>>>]) -> Vec<f64> {
        let members = blocks.len();
        let with: Vec<usize> =
            (self.cast.candidates.iter().map(|arm| self.rows_with(arm))).collect();
        let kinds: BTreeSet<usize> = with.iter().copied().filter(|rows| *rows > 0).collect();
        let mut out = vec![1.0; members];
        for rows in kinds {
            let thresholds = self.ending.thresholds(rows, self.looked, members);
            let is_whole = rows == self.rows.len();
            let of_kind = |member: &usize| with[*member] == rows;
            if is_whole {
                let family = self.family(thresholds, blocks, rows, of_kind);
                for member in (0..members).filter(of_kind) {
                    // A look that cannot decide among so many has an interval without ends.
                    out[member] = family.level(member, self.looked * rows).unwrap_or(1.0);
                }
                continue;
            }
            for alone in (0..members).filter(of_kind) {
                let family = self.family(thresholds.clone(), blocks, rows, |of| *of == alone);
                out[alone] = family.level(alone, self.looked * rows).unwrap_or(1.0);
            }
        }
        out
    }

    /// A family after every look so far, of which only some members can be found different.
    fn family(
        &self,
        thresholds: Thresholds,
        blocks: &[Vec<Vec<Block<'_>>>],
        rows: usize,
        takes_part: impl Fn(&usize) -> bool,
    ) -> Family {
        let mut family = Family::new(thresholds, blocks.len());
        let looks: Vec<usize> = if self.ending.at_looks {
            self.looks().into_iter().map(|look| look as usize).collect()
        } else {
            vec![self.looked]
        };
        for look in looks {
            let p = |(member, of_rows): (usize, &Vec<Vec<Block<'_>>>)| {
                let of_row = |row: &Vec<Block<'_>>| self.differences(&row[..look.min(row.len())]);
                let values: Vec<f64> = of_rows.iter().flat_map(of_row).collect();
                if takes_part(&member) {
                    signed_rank(&values).p
                } else {
                    1.0
                }
            };
            let all: Vec<f64> = blocks.iter().enumerate().map(p).collect();
            family.look(look * rows, &all);
        }
        family
    }
}
