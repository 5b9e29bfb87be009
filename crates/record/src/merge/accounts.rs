//! How each account of a record is added to that of another host.

use crate::{
    Difference, ErrorClass, ErrorCount, Fill, LockAccount, LoopAccount, Outcome, Span, Status,
    TargetFact, UNMEASURED, Verification,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// What one of two has, or both together.
pub(super) fn both<T>(mine: &mut Option<T>, theirs: Option<T>, merge: impl FnOnce(&mut T, T)) {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => merge(mine, theirs),
        (mine @ None, theirs) => *mine = theirs,
        (Some(_), None) => {}
    }
}

/// The one that there is; `None` of none, and of several.
pub(super) fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

/// A sum of which a part is unknown is unknown.
pub(crate) fn sum(mine: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    Some(mine?.saturating_add(theirs?))
}

pub(crate) fn add_to(mine: &mut u64, theirs: u64) {
    *mine = mine.saturating_add(theirs);
}

/// Two texts for people: one where they say the same.
pub(super) fn texts(mine: &mut String, theirs: &str) {
    if mine != theirs && !mine.split("; ").any(|known| known == theirs) {
        let all: BTreeSet<&str> = [mine.as_str(), theirs]
            .into_iter()
            .flat_map(|text| text.split("; "))
            .collect();
        *mine = all.into_iter().collect::<Vec<_>>().join("; ");
    }
}

/// One entry a cause of failure, with the first place of all; the most frequent first.
pub(super) fn by_cause(errors: Vec<ErrorCount>) -> Vec<ErrorCount> {
    let mut causes: BTreeMap<(String, String, Option<ErrorClass>), ErrorCount> = BTreeMap::new();
    for error in errors {
        let cause = (error.operation.clone(), error.error.clone(), error.class);
        match causes.entry(cause) {
            Entry::Vacant(place) => {
                place.insert(error);
            }
            Entry::Occupied(mut place) => {
                let known = place.get_mut();
                let first = (&known.first_file, known.first_offset)
                    <= (&error.first_file, error.first_offset);
                let count = known.count.saturating_add(error.count);
                if !first {
                    *known = error;
                }
                known.count = count;
            }
        }
    }
    let mut causes: Vec<ErrorCount> = causes.into_values().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
    causes
}

/// What of a target is a rank's own, of those that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sharing {
    /// Its files, where the target has files.
    OwnFiles,
    /// Blocks of files that all use.
    OwnBlocks,
    /// Nothing: all use the same files, and may use the same blocks.
    SameFiles,
    /// Nobody says that anything is.
    Unknown,
}

impl Sharing {
    /// Whether all use the same files.
    pub(super) fn is_of_same_files(self) -> bool {
        matches!(self, Self::OwnBlocks | Self::SameFiles)
    }
}

impl TargetFact {
    /// What ranks tell of the targets that all of them use, in one order: what they share once, with the
    /// holes that some rank found, as not every rank looks for them; and of files that each has for
    /// itself the sum.
    pub(super) fn of_one(targets: Vec<Self>, are: Sharing) -> Vec<Self> {
        let adds = |other: &Self, kept: &Self| {
            are == Sharing::OwnFiles && other.files > 0 && kept.files > 0
        };
        Self::joined(targets, adds)
    }

    /// Different targets under one name: their sum.
    pub(super) fn of_several(targets: Vec<Self>) -> Vec<Self> {
        Self::joined(targets, |_, _| true)
    }

    fn joined(mut targets: Vec<Self>, adds: impl Fn(&Self, &Self) -> bool) -> Vec<Self> {
        targets.sort_by_cached_key(|target| {
            let sizes = (target.files, target.bytes, target.hole_bytes);
            (target.path.clone(), target.kind.clone(), sizes)
        });
        targets.dedup_by(|other, kept| match adds(other, kept) {
            true => kept.takes_in(other),
            false => kept.is_that(other),
        });
        targets
    }

    /// Adds what another rank has for itself under the same name.
    fn takes_in(&mut self, other: &Self) -> bool {
        let is_of_one_name = self.path == other.path && self.kind == other.kind;
        if is_of_one_name {
            add_to(&mut self.files, other.files);
            add_to(&mut self.bytes, other.bytes);
            self.hole_bytes = sum(self.hole_bytes, other.hole_bytes);
        }
        is_of_one_name
    }

    /// Whether another rank tells of the same.
    fn is_that(&mut self, other: &Self) -> bool {
        let is_same = Self {
            hole_bytes: self.hole_bytes,
            ..other.clone()
        } == *self;
        if is_same {
            self.hole_bytes = self.hole_bytes.max(other.hole_bytes);
        }
        is_same
    }
}

impl Difference {
    pub(super) fn key(&self) -> (String, Option<String>, Option<String>, String) {
        let Self {
            key,
            asked,
            effective,
            reason,
        } = self.clone();
        (key, asked, effective, reason)
    }
}

impl Outcome {
    /// Whether no run ends with this exit code and this word: success where something was wrong
    /// would be the exit code of the whole.
    pub(crate) fn contradicts_itself(&self) -> bool {
        match self.status {
            Status::Ok => !matches!(self.exit_code, 0 | 3),
            Status::Apart => self.exit_code != 4,
            Status::Failed | Status::Interrupted | Status::Incomplete => {
                !(1..=255).contains(&self.exit_code)
            }
        }
    }

    /// The exit code of a trial of which nothing failed but thresholds.
    const MISSED: i32 = 3;

    pub(super) fn graver(a: Self, b: Self) -> Self {
        let judged =
            |outcome: &Self| outcome.status == Status::Ok && outcome.exit_code == Self::MISSED;
        let [a, b] = [a, b].map(|outcome| {
            if judged(&outcome) {
                Self::default()
            } else {
                outcome
            }
        });
        // Where one has measured something, it is not said that nothing was.
        let gravity = |outcome: &Self| {
            let message = outcome.message.clone();
            let has_measured = !message
                .as_deref()
                .is_some_and(|said| said.contains(UNMEASURED));
            (outcome.status, outcome.exit_code, has_measured, message)
        };
        if gravity(&a) >= gravity(&b) { a } else { b }
    }
}

impl Span {
    /// Hosts that are not connected do not wait for each other between kinds: together a kind took from the first start
    /// to the last end, without what each of them gave to other kinds in between.
    pub(super) fn merge(&mut self, other: Self) {
        let for_others = self.for_other_kinds().min(other.for_other_kinds());
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.elapsed_ns = self.first_to_last().saturating_sub(for_others);
    }

    fn first_to_last(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn for_other_kinds(&self) -> u64 {
        self.first_to_last().saturating_sub(self.elapsed_ns)
    }
}

impl LoopAccount {
    /// Adds what other loops saw of themselves.
    pub fn merge(&mut self, other: &Self) {
        self.in_flight_ns = self.in_flight_ns.saturating_add(other.in_flight_ns);
        self.worker_ns = self.worker_ns.saturating_add(other.worker_ns);
        add_to(&mut self.submissions, other.submissions);
        add_to(&mut self.submitted, other.submitted);
        add_to(&mut self.reaps, other.reaps);
        add_to(&mut self.reaps_to_empty, other.reaps_to_empty);
        add_to(&mut self.abandoned, other.abandoned);
    }
}

impl Verification {
    pub(super) fn merge(&mut self, other: Self) {
        texts(&mut self.pattern, &other.pattern);
        texts(&mut self.self_check, &other.self_check);
        add_to(&mut self.operations, other.operations);
        add_to(&mut self.failures, other.failures);
        for (kind, count) in other.by_kind {
            add_to(self.by_kind.entry(kind).or_default(), count);
        }
        self.first.extend(other.first);
    }

    /// Brings what was added into one order.
    pub(super) fn settle(&mut self) {
        self.first.sort_by_cached_key(|failure| {
            let what = (failure.kind.clone(), failure.detail.clone());
            (failure.file.clone(), failure.offset, what)
        });
    }
}

impl LockAccount {
    pub(super) fn merge(&mut self, other: Self) {
        texts(&mut self.mode, &other.mode);
        self.wait.merge(&other.wait);
    }
}

impl Fill {
    pub(super) fn merge(&mut self, other: Self) {
        add_to(&mut self.bytes, other.bytes);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        texts(&mut self.reason, &other.reason);
    }
}
