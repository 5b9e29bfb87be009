//! What a load made and left on its server.

use crate::{Measurements, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::mem::take;
use units::counted;

/// Things of one kind that a load made and that are left on its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOver {
    pub kind: LeftKind,
    pub count: u64,
    /// Whether some of them may not be there: the server did not answer what was asked of them.
    pub is_at_most: bool,
    /// How many of them the server was not asked to remove: it had failed to remove others too often.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_asked: u64,
    /// Why they are left; empty of what nobody was to remove.
    pub why: BTreeSet<String>,
    /// What their names begin with and where, and how they are removed.
    pub names: BTreeSet<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What is left.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LeftKind {
    /// Objects that were to be removed.
    Objects,
    /// Objects that were to stay.
    Kept,
    /// Multipart uploads that were to be aborted.
    Uploads,
    /// Files whose addresses are the server's own.
    Posted,
}

impl LeftOver {
    /// Files under names that only the server knows.
    #[must_use]
    pub const fn posted(count: u64, is_at_most: bool) -> Self {
        Self {
            kind: LeftKind::Posted,
            count,
            is_at_most,
            not_asked: 0,
            why: BTreeSet::new(),
            names: BTreeSet::new(),
        }
    }
}

impl fmt::Display for LeftOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, what) = match (self.kind, self.count) {
            (LeftKind::Objects, _) => ("object", "that this load made could not be removed"),
            (LeftKind::Kept, 1) => ("object", "that this load made stays there, as --keep asks"),
            (LeftKind::Kept, _) => ("object", "that this load made stay there, as --keep asks"),
            (LeftKind::Uploads, _) => (
                "multipart upload",
                "that this load began could not be aborted",
            ),
            (LeftKind::Posted, 1) => (
                "posted file",
                "stays on the server: its address is the server's own",
            ),
            (LeftKind::Posted, _) => (
                "posted file",
                "stay on the server: their addresses are its own",
            ),
        };
        let at_most = if self.is_at_most { "at most " } else { "" };
        write!(f, "{at_most}{} {what}", counted(self.count, noun))?;
        let listed = |texts: &BTreeSet<String>, between| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            texts.join(between)
        };
        if !self.why.is_empty() {
            write!(f, ": {}", listed(&self.why, "; "))?;
        }
        if self.not_asked > 0 {
            let were = if self.not_asked == 1 { "was" } else { "were" };
            let not_asked = self.not_asked;
            write!(
                f,
                ", and so often one after another that {not_asked} of them {were} not asked for"
            )?;
        }
        if !self.names.is_empty() {
            let names = listed(&self.names, ", or with ");
            write!(f, "; their names begin with {names}")?;
        }
        Ok(())
    }
}

impl LeftOver {
    /// Adds what else is left of the same kind.
    fn merge(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.is_at_most |= other.is_at_most;
        self.not_asked = self.not_asked.saturating_add(other.not_asked);
        self.why.extend(other.why);
        self.names.extend(other.names);
    }
}

/// What the removal of what a load made says of itself: of ranks that remove together, each has its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Removed {
    left_over: Vec<LeftOver>,
    left_behind: u64,
    uploads_left_behind: u64,
    teardown: Measurements,
}

/// What was left at several places or by several ranks: each kind once.
pub(crate) fn by_kind(left: Vec<LeftOver>) -> Vec<LeftOver> {
    let mut kinds: BTreeMap<LeftKind, LeftOver> = BTreeMap::new();
    for one in left {
        match kinds.entry(one.kind) {
            Entry::Vacant(place) => {
                place.insert(one);
            }
            Entry::Occupied(mut known) => known.get_mut().merge(one),
        }
    }
    kinds.into_values().collect()
}

impl Record {
    /// What is known of a removal, of which the record knows nothing then.
    pub fn take_removed(&mut self) -> Removed {
        let mut out = Removed {
            left_over: take(&mut self.left_over),
            ..Removed::default()
        };
        if let Some(load) = &mut self.load {
            out.left_behind = take(&mut load.left_behind);
            out.uploads_left_behind = take(&mut load.uploads_left_behind);
            out.teardown = take(&mut load.teardown);
        }
        out
    }

    /// Adds what another removal says.
    pub fn add_removed(&mut self, other: Removed) {
        other
            .left_over
            .into_iter()
            .for_each(|left| self.leave(left));
        if let Some(load) = &mut self.load {
            load.left_behind = load.left_behind.saturating_add(other.left_behind);
            load.uploads_left_behind = load
                .uploads_left_behind
                .saturating_add(other.uploads_left_behind);
            load.teardown.merge(&other.teardown);
        }
    }

    /// Adds what is left of a load.
    pub fn leave(&mut self, left: LeftOver) {
        self.left_over.push(left);
        self.left_over = by_kind(take(&mut self.left_over));
    }

    /// What people are told beside the numbers: the notices, and what is left on a server.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let left = self.left_over.iter().map(LeftOver::to_string);
        self.notices.iter().cloned().chain(left).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_one_sentence_of_each_kind() {
        let of = |kind, count, is_at_most, why: &[&str], names: &[&str]| {
            let [why, names]: [BTreeSet<String>; 2] =
                [why, names].map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
            LeftOver {
                kind,
                count,
                is_at_most,
                not_asked: if why.is_empty() { 0 } else { count / 2 },
                why,
                names,
            }
        };
        let mut record = Record {
            notices: vec!["a notice".into()],
            ..Record::default()
        };
        for left in [
            of(
                LeftKind::Objects,
                1,
                false,
                &["HTTP 403"],
                &["f-1 at s3://b"],
            ),
            of(LeftKind::Posted, 1, false, &[], &[]),
            of(LeftKind::Uploads, 2, true, &["HTTP 503"], &["f-1"]),
        ] {
            record.leave(left);
        }
        assert_eq!(
            record.notes(),
            [
                "a notice",
                "1 object that this load made could not be removed: HTTP 403; their names begin with f-1 at s3://b",
                "at most 2 multipart uploads that this load began could not be aborted: HTTP 503, and so often one after another that 1 of them was not asked for; their names begin with f-1",
                "1 posted file stays on the server: its address is the server's own",
            ]
        );
        record.leave(of(LeftKind::Posted, 2, false, &[], &[]));
        record.leave(of(
            LeftKind::Objects,
            999,
            true,
            &["HTTP 503", "HTTP 403"],
            &["f-2 at s3://b"],
        ));
        assert_eq!(
            record.notes()[1..],
            [
                "at most 1,000 objects that this load made could not be removed: HTTP 403; HTTP 503, and so often one after another that 499 of them were not asked for; their names begin with f-1 at s3://b, or with f-2 at s3://b",
                "at most 2 multipart uploads that this load began could not be aborted: HTTP 503, and so often one after another that 1 of them was not asked for; their names begin with f-1",
                "3 posted files stay on the server: their addresses are its own",
            ]
        );
    }
}
