//! Where another clock can be, as seen from one's own.

use crate::drift::ClockDrift;

/// By how many parts in a million two clocks may run apart: each is within 100 of the truth.
const DRIFT_PPM: u64 = 200;

/// The least and the most that another clock shows beyond one's own.
///
/// A question that left at `sent` and whose answer, read off the other clock in between, came at
/// `back` says that the other clock showed its value at some moment between the two: nothing is
/// assumed of how long either way took. With time the range grows by what clocks may drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetRange {
    low: i128,
    high: i128,
    /// The moment of one's own clock for which it holds.
    at: u64,
}

impl OffsetRange {
    /// One's own clock.
    #[must_use]
    pub fn own(at: u64) -> Self {
        Self {
            low: 0,
            high: 0,
            at,
        }
    }

    /// From an answer that says where the root's clock is, seen from the one who answered.
    #[must_use]
    pub fn answered(sent: u64, back: u64, read: u64, root: (i128, i128)) -> Self {
        let (sent_at, read) = (i128::from(sent), i128::from(read));
        Self {
            low: read - i128::from(back.max(sent)) + root.0,
            high: read - sent_at + root.1,
            at: sent,
        }
    }

    /// From the same answer, where it is known how far the clock of who answered is ahead of one's
    /// own: how long the answer took counts no more. `None` where the two contradict each other.
    #[must_use]
    pub fn beside(answered: Self, ahead: (i128, i128), root: (i128, i128)) -> Option<Self> {
        let (low, high) = (ahead.0 + root.0, ahead.1 + root.1);
        let is_within = low <= answered.high && answered.low <= high;
        is_within.then(|| Self {
            low: low.max(answered.low),
            high: high.min(answered.high),
            ..answered
        })
    }

    /// The same at another moment of one's own clock.
    #[must_use]
    pub fn grown(self, at: u64) -> Self {
        let ppm = u128::from(self.at.abs_diff(at)) * u128::from(DRIFT_PPM);
        let drift = i128::try_from(ppm.div_ceil(1_000_000)).unwrap_or(i128::MAX / 4);
        Self {
            low: self.low - drift,
            high: self.high + drift,
            at,
        }
    }

    /// What both say, at the later moment; where they contradict each other a clock was set, and the
    /// newer counts.
    #[must_use]
    pub fn and(self, newer: Self) -> Self {
        let at = self.at.max(newer.at);
        let (old, new) = (self.grown(at), newer.grown(at));
        let (low, high) = (old.low.max(new.low), old.high.min(new.high));
        if low > high {
            return new;
        }
        Self { low, high, at }
    }

    /// The ends at its own moment.
    #[must_use]
    pub fn ends(self) -> (i128, i128) {
        (self.low, self.high)
    }

    fn middle(self) -> i128 {
        self.low + (self.high - self.low) / 2
    }

    /// How far its middle lies from that of an earlier one, and by how much both may be wrong.
    pub(crate) fn moved_since(self, earlier: Self) -> ClockDrift {
        let moved = self.middle() - earlier.middle();
        let most = if moved < 0 { i64::MIN } else { i64::MAX };
        ClockDrift {
            ns: i64::try_from(moved).unwrap_or(most),
            bound_ns: self.bound_ns().saturating_add(earlier.bound_ns()),
        }
    }

    /// By how much the middle may be wrong.
    #[must_use]
    pub fn bound_ns(self) -> u64 {
        let width = self.high.saturating_sub(self.low);
        u64::try_from((width + 1) / 2).unwrap_or(u64::MAX)
    }

    /// When one's own clock shows what the root's clock shows at `root`.
    #[must_use]
    pub fn own_at(self, root: u64) -> u64 {
        u64::try_from(i128::from(root) - self.middle()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_truth_lies_in_the_range_however_unequal_the_ways_were(
            offset in -864_000_000_000_000_i128..864_000_000_000_000,
            sent in 1_000_000_000_000_000_u64..2_000_000_000_000_000,
            there in 0_u64..1 << 32,
            back in 0_u64..1 << 32,
            later in 0_u64..1 << 40,
        ) {
            let read = u64::try_from(i128::from(sent + there) + offset).unwrap();
            let range = OffsetRange::answered(sent, sent + there + back, read, (0, 0));
            for range in [range, range.grown(sent + later)] {
                let (low, high) = range.ends();
                prop_assert!((low..=high).contains(&offset));
                let error = offset - (low + (high - low) / 2);
                prop_assert!(error.unsigned_abs() <= u128::from(range.bound_ns()));
            }
        }

        #[test]
        fn two_answers_are_no_worse_than_either(a in 0_u64..1 << 20, b in 0_u64..1 << 20) {
            let answer = |there: u64, sent: u64| OffsetRange::answered(sent, sent + 2 * there, sent + there, (0, 0));
            let (first, second) = (answer(a, 1000), answer(b, 5000));
            let both = first.and(second);
            prop_assert!(both.bound_ns() <= second.bound_ns());
            prop_assert!(both.bound_ns() <= first.grown(5000).bound_ns());
            prop_assert!(both.ends().0 <= 0 && both.ends().1 >= 0);
        }
    }

    #[test]
    fn how_far_a_clock_is_ahead_says_more_than_a_slow_answer_unless_it_contradicts_it() {
        let root = (1_000, 1_020);
        let slow = OffsetRange::answered(0, 9_000, 4_000, root);
        let known = OffsetRange::beside(slow, (-50, 70), root).unwrap();
        assert_eq!((known.ends(), known.bound_ns()), ((950, 1_090), 70));
        let quick = OffsetRange::answered(0, 40, 20, root);
        let known = OffsetRange::beside(quick, (-50, 70), root).unwrap();
        assert_eq!(known, quick);
        assert_eq!(OffsetRange::beside(quick, (50, 70), root), None);
        assert_eq!(OffsetRange::beside(quick, (-90, -60), root), None);
    }

    #[test]
    fn a_clock_that_was_set_is_where_the_newer_answer_says() {
        let before = OffsetRange::answered(100, 110, 105, (0, 0));
        let after = OffsetRange::answered(200, 210, 1_000_205, (0, 0));
        assert_eq!(before.and(after), after);
    }
}
