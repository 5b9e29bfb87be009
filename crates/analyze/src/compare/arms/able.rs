//! In which rows an arm can be compared, and what is said where there is none.

use super::{ALL_ROWS, Course};
use stats::Reason;

impl Course<'_> {
    /// Rows that are judged, and those in which nothing is left to compare.
    pub(super) fn rows_of_plan(&self) -> usize {
        self.rows.len() + self.lost.closed_rows()
    }

    /// In how many of the open rows an arm is.
    pub(super) fn rows_with(&self, arm: &str) -> usize {
        let with = |row: &&&str| self.lost.cell(row, arm).is_none();
        self.rows.keys().filter(with).count()
    }

    /// What the rows of an arm together are called.
    pub(super) fn name_of_all(&self, arm: &str) -> String {
        let (all, with) = (self.rows_of_plan(), self.rows_with(arm));
        match self
            .rows
            .keys()
            .next()
            .copied()
            .or_else(|| self.lost.one_closed())
        {
            Some(row) if all == 1 => row.to_owned(),
            Some(_) | None if with < all => format!("{with} of {all} rows"),
            Some(_) | None => ALL_ROWS.to_owned(),
        }
    }

    /// Why an arm has no row left.
    pub(super) fn able_nowhere(&self, arm: &str) -> Option<Reason> {
        let is_lost = self.rows_with(arm) == 0 && self.cast.is_usable(arm);
        let cell = self.lost.last_of(arm).filter(|_| is_lost);
        cell.map(|cell| Reason::Audit(cell.to_string()))
    }
}
