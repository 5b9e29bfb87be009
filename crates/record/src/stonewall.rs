//! What workers had done when their time was over.

use crate::Record;
use crate::merge::add_to;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::lossless::u64_to_f64;

/// What all workers had done at the stonewall, and how they went on. The record's own operations and
/// elapsed time are those of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StonewallAccount {
    /// When the last worker looked: the time that was asked for, and what an operation took longer. 0 in
    /// the part of a rank of which none was at work any more.
    pub at_ns: u64,
    /// Ended by then; flushes are not counted.
    pub operations: u64,
    pub bytes: u64,
    /// Operations that the slowest and the fastest worker had begun.
    pub fewest: u64,
    pub most: u64,
    /// From then until everybody had done what the fastest had, flushes included; `None`: nobody went
    /// on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_out_ns: Option<u64>,
    /// Workers that the limit of the wear-out ended before they had.
    #[serde(skip_serializing_if = "crate::is_unset")]
    pub cut: u32,
}

impl StonewallAccount {
    /// Of all workers of both.
    pub(crate) fn merge(&mut self, other: Self) {
        let went_on = self.wear_out_ns.or(other.wear_out_ns).is_some();
        let over = self.over_at().max(other.over_at());
        self.at_ns = self.at_ns.max(other.at_ns);
        self.wear_out_ns = went_on.then(|| over.saturating_sub(self.at_ns));
        add_to(&mut self.operations, other.operations);
        add_to(&mut self.bytes, other.bytes);
        self.fewest = self.fewest.min(other.fewest);
        self.most = self.most.max(other.most);
        self.cut = self.cut.saturating_add(other.cut);
    }

    /// When the last of the wear-out ended, or the stonewall where nobody went on.
    fn over_at(&self) -> u64 {
        self.at_ns.saturating_add(self.wear_out_ns.unwrap_or(0))
    }

    /// Whether the time came while somebody was at work; where nobody was, there was no stonewall.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.at_ns > 0
    }

    fn a_second(&self, amount: u64) -> Option<f64> {
        self.has_come()
            .then(|| u64_to_f64(amount) * 1e9 / u64_to_f64(self.at_ns))
    }

    /// Operations a second until the stonewall.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        self.a_second(self.operations)
    }

    /// Bytes a second until the stonewall; `None` where none were moved.
    #[must_use]
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.a_second(self.bytes).filter(|_| self.bytes > 0)
    }
}

/// A number of a record's stonewall.
pub(crate) fn of_stonewall(
    record: &Record,
    value: impl Fn(&StonewallAccount) -> Option<f64>,
) -> Option<f64> {
    record.stonewall.as_ref().and_then(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wear_out_of_all_ends_with_the_last_of_them() {
        let of = |at_ns, wear_out_ns| StonewallAccount {
            at_ns,
            wear_out_ns,
            ..StonewallAccount::default()
        };
        let joined = |one: (u64, Option<u64>), other: (u64, Option<u64>)| {
            let mut all = of(one.0, one.1);
            all.merge(of(other.0, other.1));
            (all.at_ns, all.wear_out_ns)
        };
        // Who looked late had less time to go on: until 5.4 s, and not until 4.4 and 2.4 s.
        assert_eq!(
            joined((3_000, Some(2_400)), (4_400, Some(0))),
            (4_400, Some(1_000))
        );
        assert_eq!(
            joined((4_400, Some(0)), (3_000, Some(2_400))),
            (4_400, Some(1_000))
        );
        assert_eq!(joined((3_000, Some(900)), (4_400, None)), (4_400, Some(0)));
        assert_eq!(joined((3_000, None), (4_400, None)), (4_400, None));
    }
}
