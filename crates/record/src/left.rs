//! What a load says that it left on its server, and the one sentence of what several ranks left.

use crate::merge::texts;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use units::counted;

/// Things of one kind that a load made and that are left on its server: one of its notices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// Whether some of them may be gone: nobody waited for the answer.
    pub is_at_most: bool,
    pub count: u64,
    pub what: LeftKind,
}

/// What is left, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftKind {
    /// Objects that were to be removed, with what their names begin with and how they are removed.
    Objects { why: String, names: String },
    /// Multipart uploads that were to be aborted.
    Uploads { why: String, names: String },
    /// Files whose addresses are the server's own.
    Posted,
}

const OF_OBJECTS: &str = " that this load made could not be removed: ";
const OF_UPLOADS: &str = " that this load began could not be aborted: ";
const NAMES: &str = "; their names begin with ";
const AT_MOST: &str = "at most ";
/// Between what the names of one rank begin with and those of another.
const OR: &str = ", or with ";
const ONE_POSTED: &str = " stays on the server: its address is the server's own";
const POSTED: &str = " stay on the server: their addresses are its own";

impl fmt::Display for LeftOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_most = if self.is_at_most { AT_MOST } else { "" };
        let (noun, rest) = match &self.what {
            LeftKind::Objects { why, names } => {
                ("object", format!("{OF_OBJECTS}{why}{NAMES}{names}"))
            }
            LeftKind::Uploads { why, names } => (
                "multipart upload",
                format!("{OF_UPLOADS}{why}{NAMES}{names}"),
            ),
            LeftKind::Posted if self.count == 1 => ("posted file", ONE_POSTED.to_owned()),
            LeftKind::Posted => ("posted file", POSTED.to_owned()),
        };
        write!(f, "{at_most}{}{rest}", counted(self.count, noun))
    }
}

impl LeftOver {
    /// What a notice says is left; `None` of one that says anything else.
    #[must_use]
    pub fn read(notice: &str) -> Option<Self> {
        let said = notice.strip_prefix(AT_MOST);
        let (number, _) = said.unwrap_or(notice).split_once(' ')?;
        let of = |mark| {
            let (_, rest) = notice.split_once(mark)?;
            let (why, names) = rest.split_once(NAMES)?;
            Some((why.to_owned(), names.to_owned()))
        };
        let objects = || of(OF_OBJECTS).map(|(why, names)| LeftKind::Objects { why, names });
        let uploads = || of(OF_UPLOADS).map(|(why, names)| LeftKind::Uploads { why, names });
        let read = Self {
            is_at_most: said.is_some(),
            count: number.replace(',', "").parse().ok()?,
            what: objects().or_else(uploads).unwrap_or(LeftKind::Posted),
        };
        (read.to_string() == notice).then_some(read)
    }

    /// Adds what another rank left of the same kind.
    fn plus(mut self, other: Self) -> Self {
        self.is_at_most |= other.is_at_most;
        self.count = self.count.saturating_add(other.count);
        match (&mut self.what, other.what) {
            (
                LeftKind::Objects { why, names },
                LeftKind::Objects {
                    why: more,
                    names: others,
                },
            )
            | (
                LeftKind::Uploads { why, names },
                LeftKind::Uploads {
                    why: more,
                    names: others,
                },
            ) => {
                texts(why, &more);
                *names = all_names(names, &others);
            }
            (_, _) => {}
        }
        self
    }
}

fn all_names(some: &str, others: &str) -> String {
    let all: BTreeSet<&str> = some.split(OR).chain(others.split(OR)).collect();
    all.into_iter().collect::<Vec<_>>().join(OR)
}

/// Notices of several ranks in one order: each once, and of what they left the sum.
pub(crate) fn notices_of_all(notices: Vec<String>) -> Vec<String> {
    let (mut left, mut all) = (BTreeMap::new(), BTreeSet::new());
    for notice in notices {
        let Some(read) = LeftOver::read(&notice) else {
            all.insert(notice);
            continue;
        };
        let kind = match read.what {
            LeftKind::Objects { .. } => 0,
            LeftKind::Uploads { .. } => 1,
            LeftKind::Posted => 2,
        };
        let sum = match left.remove(&kind) {
            Some(known) => read.plus(known),
            None => read,
        };
        left.insert(kind, sum);
    }
    all.extend(left.into_values().map(|left: LeftOver| left.to_string()));
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_left_is_read_as_it_was_said() {
        for (is_at_most, count) in [(false, 1), (true, 1), (false, 1234), (true, 32)] {
            let of = || {
                let why = "HTTP 403 AccessDenied".to_owned();
                (
                    why,
                    "fathom-1 at s3://b; `aws` removes the objects".to_owned(),
                )
            };
            let [(why, names), (other, others)] = [of(), of()];
            for what in [
                LeftKind::Objects { why, names },
                LeftKind::Uploads {
                    why: other,
                    names: others,
                },
                LeftKind::Posted,
            ] {
                let left = LeftOver {
                    is_at_most,
                    count,
                    what,
                };
                assert_eq!(LeftOver::read(&left.to_string()), Some(left));
            }
        }
        for other in [
            "",
            "3 objects",
            "a notice",
            "32 CPUs are used by 33 threads",
        ] {
            assert_eq!(LeftOver::read(other), None, "{other}");
        }
    }
}
