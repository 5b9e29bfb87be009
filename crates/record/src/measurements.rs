//! What was counted: operations by kind. `merge` is the only way to combine.

use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One kind of operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operations {
    /// Operations that succeeded.
    pub count: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that failed; they are not in `count` and not in the histograms.
    pub errors: u64,
    /// Fewest and most bytes of one operation.
    pub smallest_bytes: Option<u64>,
    pub largest_bytes: Option<u64>,
    /// From the intended start to the end, in nanoseconds.
    pub latency: Histogram,
    /// From the issue to the end; `None` in a closed loop, where it is the same.
    pub service: Option<Histogram>,
}

impl Operations {
    /// Adds another count of the same kind.
    pub fn merge(&mut self, other: &Self) {
        if self.service.is_some() || other.service.is_some() {
            // A closed loop's latency is its service time.
            let mine = self.service.get_or_insert_with(|| self.latency.clone());
            mine.merge(other.service.as_ref().unwrap_or(&other.latency));
        }
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.smallest_bytes = self
            .smallest_bytes
            .into_iter()
            .chain(other.smallest_bytes)
            .min();
        self.largest_bytes = self.largest_bytes.max(other.largest_bytes);
        self.latency.merge(&other.latency);
    }

    /// Whether anything at all was counted. Counters that are read while they are written may be
    /// ahead of each other by one operation.
    fn is_any(&self) -> bool {
        let of = |histogram: &Histogram| !histogram.is_empty() || histogram.sum() > 0;
        self.count > 0
            || self.errors > 0
            || self.bytes > 0
            || of(&self.latency)
            || self.service.as_ref().is_some_and(of)
    }

    /// What was added since `earlier`, a former state of the same counters.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(earlier.count),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            errors: self.errors.saturating_sub(earlier.errors),
            smallest_bytes: self.smallest_bytes,
            largest_bytes: self.largest_bytes,
            latency: self.latency.since(&earlier.latency),
            service: self.service.as_ref().map(|service| {
                earlier
                    .service
                    .as_ref()
                    .map_or_else(|| service.clone(), |before| service.since(before))
            }),
        }
    }
}

/// Operations by kind: `read`, `write`, `fsync`, `open`, …
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Measurements(BTreeMap<String, Operations>);

impl Measurements {
    /// Adds operations of a kind.
    pub fn insert(&mut self, kind: &str, operations: Operations) {
        match self.0.get_mut(kind) {
            Some(mine) => mine.merge(&operations),
            None => {
                self.0.insert(kind.to_owned(), operations);
            }
        }
    }

    /// Adds all of `other`; associative and commutative, with the default as identity.
    pub fn merge(&mut self, other: &Self) {
        for (kind, operations) in &other.0 {
            match self.0.get_mut(kind) {
                Some(mine) => mine.merge(operations),
                None => drop(self.0.insert(kind.clone(), operations.clone())),
            }
        }
    }

    /// What was added since `earlier`; kinds without change are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut out = Self::default();
        for (kind, operations) in &self.0 {
            let added = earlier
                .0
                .get(kind)
                .map_or_else(|| operations.clone(), |before| operations.since(before));
            if added.is_any() {
                out.insert(kind, added);
            }
        }
        out
    }

    #[must_use]
    pub fn kind(&self, kind: &str) -> Option<&Operations> {
        self.0.get(kind)
    }

    /// Kinds in alphabetical order.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &Operations)> {
        self.0
            .iter()
            .map(|(kind, operations)| (kind.as_str(), operations))
    }

    /// All kinds but flushes: a flush follows what it flushes, and is no work of its own and no event of a schedule.
    pub fn but_flushes(&self) -> impl Iterator<Item = (&str, &Operations)> {
        self.kinds()
            .filter(|(kind, _)| !matches!(*kind, "fsync" | "fdatasync"))
    }

    /// All kinds as one, latencies included.
    #[must_use]
    pub fn together(&self) -> Operations {
        let mut sum = Operations::default();
        self.0.values().for_each(|operations| sum.merge(operations));
        sum
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anything at all was counted, of any kind.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.values().any(Operations::is_any)
    }

    /// Operations of all kinds that succeeded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().map(|o| o.count).sum()
    }

    /// Bytes of all kinds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|o| o.bytes).sum()
    }

    /// Failed operations of all kinds.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.0.values().map(|o| o.errors).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_operations() -> impl Strategy<Value = Operations> {
        (
            prop::collection::vec(1_u64..1 << 40, 0..20),
            0_u64..9,
            any::<bool>(),
        )
            .prop_map(|(values, errors, open)| {
                let mut latency = Histogram::default();
                values.iter().for_each(|v| latency.record(*v));
                Operations {
                    count: latency.count(),
                    bytes: values.iter().sum(),
                    errors,
                    smallest_bytes: values.iter().copied().min(),
                    largest_bytes: values.iter().copied().max(),
                    service: open.then(|| latency.clone()),
                    latency,
                }
            })
    }

    fn any_measurements() -> impl Strategy<Value = Measurements> {
        prop::collection::vec((0_usize..3, any_operations()), 0..4).prop_map(|parts| {
            let mut out = Measurements::default();
            parts.into_iter().for_each(|(kind, operations)| {
                out.insert(["read", "write", "fsync"][kind], operations)
            });
            out
        })
    }

    #[test]
    fn bytes_seen_before_their_operation_are_not_lost() {
        let state = |bytes, values: &[u64]| {
            let mut latency = Histogram::default();
            values.iter().for_each(|value| latency.record(*value));
            let mut out = Measurements::default();
            out.insert(
                "read",
                Operations {
                    count: latency.count(),
                    bytes,
                    latency,
                    ..Operations::default()
                },
            );
            out
        };
        let states = [
            state(4096, &[10]),
            state(8192, &[10]),
            state(8192, &[10, 20]),
            state(12_288, &[10, 20]),
        ];
        let mut sum = states[0].clone();
        states
            .windows(2)
            .for_each(|pair| sum.merge(&pair[1].since(&pair[0])));
        assert_eq!((sum.count(), sum.bytes()), (2, 12_288));
    }

    proptest! {
        #[test]
        fn merge_is_associative_and_commutative_with_an_identity(a in any_measurements(), b in any_measurements(), c in any_measurements()) {
            let sum = |x: &Measurements, y: &Measurements| { let mut out = x.clone(); out.merge(y); out };
            prop_assert_eq!(sum(&sum(&a, &b), &c), sum(&a, &sum(&b, &c)));
            prop_assert_eq!(sum(&a, &b), sum(&b, &a));
            let all = a.together();
            prop_assert_eq!((all.count, all.bytes, all.errors, all.latency.count()), (a.count(), a.bytes(), a.errors(), a.count()));
            prop_assert_eq!(sum(&a, &Measurements::default()), a);
        }

        #[test]
        fn what_was_added_since_is_what_was_merged(a in any_measurements(), b in any_measurements()) {
            let mut sum = a.clone();
            sum.merge(&b);
            let added = sum.since(&a);
            prop_assert_eq!((added.count(), added.bytes(), added.errors()), (b.count(), b.bytes(), b.errors()));
        }
    }
}
