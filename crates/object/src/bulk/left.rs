//! What is said of what could not be removed.

use super::uploads::Aborted;
use super::{Bulk, Done};
use crate::failure::Failure;
use record::{LeftKind, LeftOver, Record};
use std::collections::BTreeSet;
use units::lossless::to_u64;

/// Why something is left that nobody was waited for any more.
const GIVEN_UP: &str = "the removal was given up at a second signal";

/// Why something is left: nobody waited for it, or the server did not do it, or both.
fn why(is_given_up: bool, first: Option<&Failure>) -> String {
    let failure = first.map(|failure| failure.what.clone());
    match (is_given_up, failure) {
        (true, Some(failure)) => format!("{GIVEN_UP}, after a first failure: {failure}"),
        (true, None) => GIVEN_UP.to_owned(),
        (false, failure) => failure.unwrap_or_else(|| "the server did not answer".to_owned()),
    }
}

impl Bulk {
    /// How many objects could not be removed; the record says why.
    pub(crate) fn tell_of_left(&self, done: &Done, is_in_doubt: bool, record: &mut Record) -> u64 {
        let left = to_u64(done.undone.len());
        if left > 0 {
            let is_given_up = done.unreached > 0 && sys::is_told_twice();
            record.leave(LeftOver {
                not_asked: if is_given_up { 0 } else { done.unreached },
                why: [why(is_given_up, done.first.as_ref())].into(),
                ..self.objects(
                    LeftKind::Objects,
                    left,
                    is_in_doubt || !done.in_doubt.is_empty(),
                )
            });
        }
        left
    }

    /// Objects that shall stay, and how they are called.
    pub(crate) fn tell_of_kept(&self, count: u64, is_in_doubt: bool, record: &mut Record) {
        if count > 0 {
            record.leave(self.objects(LeftKind::Kept, count, is_in_doubt));
        }
    }

    fn objects(&self, kind: LeftKind, count: u64, is_at_most: bool) -> LeftOver {
        let (names, removal) = (&self.settings.told_names, &self.settings.told_removal);
        LeftOver {
            kind,
            count,
            is_at_most,
            not_asked: 0,
            why: BTreeSet::new(),
            names: [format!("{names}{removal}")].into(),
        }
    }

    /// The same of uploads that are still open.
    pub(crate) fn tell_of_open(&self, open: &Aborted, record: &mut Record) {
        record.leave(of_open(open, &self.settings.told_names));
    }
}

fn of_open(open: &Aborted, names: &str) -> LeftOver {
    LeftOver {
        kind: LeftKind::Uploads,
        count: open.left,
        is_at_most: open.is_at_most,
        not_asked: 0,
        why: [why(open.is_given_up, open.first.as_ref())].into(),
        names: [names.to_owned()].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Measurements;

    #[test]
    fn uploads_that_the_server_refused_were_given_up_by_nobody() {
        let of = |left, is_given_up| {
            let open = Aborted {
                measured: Measurements::default(),
                left,
                is_at_most: is_given_up,
                is_given_up,
                first: Some(Failure::status(403, b"<Code>AccessDenied</Code>")),
            };
            of_open(&open, "fathom-1-2").to_string()
        };
        let refused = of(3, false);
        let asked = "3 multipart uploads that this load began could not be aborted: HTTP 403 AccessDenied; their names begin with fathom-1-2";
        assert_eq!(refused, asked);
        assert!(of(1, false).starts_with("1 multipart upload that"));
        assert!(of(3, true).starts_with("at most 3 multipart uploads that"));
        assert!(
            of(3, true).contains("given up at a second signal, after a first failure: HTTP 403")
        );
    }
}
