//! What verification found in a run, in constant memory.

use super::{Mismatch, MismatchClass};

/// Mismatches that a log keeps unless told otherwise.
pub(crate) const DEFAULT_KEPT_MISMATCHES: usize = 16;

/// Counts of verified blocks and of mismatches by class, with the first mismatches by file and
/// offset.
///
/// [`FailureLog::merge`] is associative and commutative: counts add up, and the kept mismatches are
/// the smallest distinct ones of all, as many as the stricter of the two limits. An empty log with
/// no stricter limit changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureLog {
    operations: u64,
    counts: [u64; MismatchClass::ALL.len()],
    first: Vec<Mismatch>,
    limit: usize,
}

impl FailureLog {
    /// Keeps the first [`DEFAULT_KEPT_MISMATCHES`].
    pub(crate) fn new() -> Self {
        Self::with_limit(DEFAULT_KEPT_MISMATCHES)
    }

    /// Keeps the first `limit` mismatches, for which it allocates here and never later.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            operations: 0,
            counts: [0; MismatchClass::ALL.len()],
            first: Vec::with_capacity(limit),
            limit,
        }
    }

    /// Counts one verified block.
    #[inline]
    pub(crate) fn note(&mut self, outcome: &Result<(), Mismatch>) {
        self.operations += 1;
        if let Err(mismatch) = outcome {
            self.counts[position(mismatch.kind.class())] += 1;
            self.keep(*mismatch);
        }
    }

    /// The same where the files are called otherwise.
    pub(crate) fn calling(&self, file: impl Fn(u32) -> u32) -> Self {
        let mut called = Self {
            first: Vec::with_capacity(self.limit),
            ..self.clone()
        };
        for mismatch in &self.first {
            called.keep(Mismatch {
                file: file(mismatch.file),
                ..*mismatch
            });
        }
        called
    }

    /// Adds what `other` has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.limit = self.limit.min(other.limit);
        self.first.truncate(self.limit);
        for mismatch in &other.first {
            self.keep(*mismatch);
        }
    }

    /// Blocks verified.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Blocks that did not hold what they must.
    pub(crate) fn failures(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Failures of one class.
    pub(crate) fn count(&self, class: MismatchClass) -> u64 {
        self.counts[position(class)]
    }

    /// The distinct mismatches with the lowest file and offset, in this order.
    pub(crate) fn first(&self) -> &[Mismatch] {
        &self.first
    }

    fn keep(&mut self, mismatch: Mismatch) {
        if let Err(place) = self.first.binary_search(&mismatch)
            && place < self.limit
        {
            self.first.truncate(self.limit - 1);
            self.first.insert(place, mismatch);
        }
    }
}

impl Default for FailureLog {
    fn default() -> Self {
        Self::new()
    }
}

fn position(class: MismatchClass) -> usize {
    MismatchClass::ALL
        .iter()
        .position(|listed| *listed == class)
        .expect("all classes are listed")
}

#[cfg(test)]
mod tests {
    use super::super::{BlockAddress, MismatchKind};
    use super::*;
    use proptest::prelude::*;

    fn mismatch(offset: u64, kind: MismatchKind) -> Mismatch {
        Mismatch::at(BlockAddress { file: 0, offset }, 0, kind, 1, 2)
    }

    fn any_log() -> impl Strategy<Value = FailureLog> {
        let kinds = [
            MismatchKind::Corrupt,
            MismatchKind::Holes,
            MismatchKind::ForeignRun {
                found_run: 1,
                expected_run: 2,
            },
        ];
        let outcome = proptest::option::of((0_u64..40, proptest::sample::select(kinds.to_vec())));
        (proptest::collection::vec(outcome, 0..40), 0_usize..20).prop_map(|(outcomes, limit)| {
            let mut log = FailureLog::with_limit(limit);
            for outcome in outcomes {
                log.note(&outcome.map_or(Ok(()), |(offset, kind)| Err(mismatch(offset, kind))));
            }
            log
        })
    }

    fn merged(a: &FailureLog, b: &FailureLog) -> FailureLog {
        let mut merged = a.clone();
        merged.merge(b);
        merged
    }

    #[test]
    fn every_class_has_a_count_of_its_own() {
        let mut log = FailureLog::new();
        let version = super::super::Version {
            run_id: 0,
            generation: 0,
        };
        let kinds = [
            MismatchKind::Corrupt,
            MismatchKind::NotOurs,
            MismatchKind::Holes,
            MismatchKind::Misdirected {
                found_file: 0,
                found_offset: 0,
            },
            MismatchKind::Torn {
                found: version,
                beside: version,
            },
            MismatchKind::Stale {
                found_generation: 0,
                oldest: 1,
                newest: 1,
            },
            MismatchKind::Unissued {
                found_generation: 2,
                newest: 1,
            },
            MismatchKind::ForeignRun {
                found_run: 0,
                expected_run: 1,
            },
        ];
        log.note(&Ok(()));
        for (times, kind) in (1..).zip(kinds) {
            for _ in 0..times {
                log.note(&Err(mismatch(0, kind)));
            }
        }
        let counts: Vec<u64> = MismatchClass::ALL
            .iter()
            .map(|class| log.count(*class))
            .collect();
        assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((log.operations(), log.failures()), (37, 36));
        assert_eq!(log.first().len(), 8, "equal mismatches are kept once");
    }

    #[test]
    fn the_first_by_offset_are_kept_without_growing() {
        let mut log = FailureLog::with_limit(3);
        let capacity = log.first.capacity();
        for offset in (0..1000).rev() {
            log.note(&Err(mismatch(offset, MismatchKind::Corrupt)));
        }
        let offsets: Vec<u64> = log.first().iter().map(|kept| kept.first_bad_byte).collect();
        assert_eq!(offsets, [0, 1, 2]);
        assert_eq!(log.failures(), 1000);
        assert_eq!(log.first.capacity(), capacity);
    }

    proptest! {
        #[test]
        fn merge_is_associative_and_commutative(a in any_log(), b in any_log(), c in any_log()) {
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        }

        #[test]
        fn an_empty_log_is_the_identity(a in any_log()) {
            prop_assert_eq!(&merged(&a, &FailureLog::with_limit(20)), &a);
            prop_assert_eq!(&merged(&FailureLog::with_limit(20), &a), &a);
        }
    }
}
