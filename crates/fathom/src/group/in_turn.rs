//! Works of ranks that follow each other: the phases of a command.

use super::course::GroupTerms;
use super::together::RankGroup;
use super::work::{GroupWork, ShiftChange};
use crate::live::{ended, records as records_of};
use crate::run::{OTHERS_NOT_BEGUN, after_others, cut_between};
use crate::tell::say;
use anyhow::Result;
use record::Record;

impl RankGroup<'_> {
    /// Works of which each begins when the last has ended.
    pub(super) fn one_after_another(
        &self,
        works: Vec<(&GroupWork, Option<ShiftChange>)>,
        terms: &GroupTerms,
    ) -> Result<i32> {
        let (mut records, mut unsaved) = (Vec::new(), None);
        let (mut code, mut begun, mut refused) = (0, 0, None);
        let all = works.len();
        for ((work, change), number) in works.into_iter().zip(1_u64..) {
            let mut place = |record: &mut Record| change.iter().for_each(|of| of.tell(record));
            let end = match self.work(work, number, terms, &mut place) {
                Ok(end) => end,
                Err(error) if begun == 0 => return Err(error),
                Err(error) => {
                    refused = Some(after_others(error, begun));
                    break;
                }
            };
            begun += 1;
            records.extend(end.record);
            unsaved = end.unsaved;
            code = end.exit_code.max(code);
            if !end.goes_on {
                break;
            }
        }
        terms.live.end(&ended(records_of(self.matches)));
        if self.connection.is_root() {
            self.asked.output.finish(&records, "")?;
        }
        if let Some(error) = refused {
            return Err(error);
        }
        if let Some(caught) = cut_between(code, begun < all, sys::caught_signal()) {
            code = caught.exit_code();
            if self.connection.is_root() {
                say(OTHERS_NOT_BEGUN);
            }
        }
        unsaved.map_or(Ok(code), Err)
    }
}
