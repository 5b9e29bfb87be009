//! The highest rate that holds: doubled until a threshold breaks, then bisected between the last
//! that held and the first that did not.

/// A search over rates; pure: it is told what happened and says what to try next.
#[derive(Clone, Debug, PartialEq)]
pub struct KneeSearch {
    first: f64,
    most: f64,
    /// Bisection ends when the bounds are this close, as a share of the lower.
    precision: f64,
    holds: Option<f64>,
    breaks: Option<f64>,
}

impl KneeSearch {
    /// From `first` a second up to `most`, to within `precision` (0.05 is 5 %).
    ///
    /// # Panics
    /// A rate is not above 0, or the precision is not.
    #[must_use]
    pub fn new(first: f64, most: f64, precision: f64) -> Self {
        assert!(
            first > 0.0 && most >= first && precision > 0.0,
            "rates and precision are above 0"
        );
        Self {
            first,
            most,
            precision,
            holds: None,
            breaks: None,
        }
    }

    /// The rate to try next; `None` when the search is over.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        match (self.holds, self.breaks) {
            (None, None) => Some(self.first),
            (Some(holds), None) if holds >= self.most => None,
            (Some(holds), None) => Some((holds * 2.0).min(self.most)),
            // Below the first rate it is searched downwards, but not for ever.
            (None, Some(breaks)) if breaks <= self.first / 64.0 => None,
            (None, Some(breaks)) => Some(breaks / 2.0),
            (Some(holds), Some(breaks)) if breaks <= holds * (1.0 + self.precision) => None,
            // The geometric mean halves the ratio, which is what the precision bounds.
            (Some(holds), Some(breaks)) => Some((holds * breaks).sqrt()),
        }
    }

    /// What happened at a rate.
    pub fn saw(&mut self, rate: f64, holds: bool) {
        if holds {
            self.holds = Some(self.holds.map_or(rate, |best| best.max(rate)));
        } else {
            self.breaks = Some(self.breaks.map_or(rate, |least| least.min(rate)));
        }
    }

    /// The highest rate that held.
    #[must_use]
    pub fn best(&self) -> Option<f64> {
        self.holds
    }

    /// The lowest rate that broke.
    #[must_use]
    pub fn least_broken(&self) -> Option<f64> {
        self.breaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(first: f64, most: f64, capacity: f64) -> (KneeSearch, usize) {
        let mut knee = KneeSearch::new(first, most, 0.05);
        let mut steps = 0;
        while let Some(rate) = knee.next_rate() {
            knee.saw(rate, rate <= capacity);
            steps += 1;
            assert!(steps < 60, "{knee:?}");
        }
        (knee, steps)
    }

    #[test]
    fn a_target_that_always_holds_is_tried_at_the_most() {
        let (knee, _) = search(100.0, 3000.0, f64::INFINITY);
        assert_eq!((knee.best(), knee.least_broken()), (Some(3000.0), None));
    }

    #[test]
    fn a_target_that_never_holds_has_no_knee() {
        let (knee, steps) = search(100.0, 3000.0, 0.0);
        assert!(knee.best().is_none() && steps <= 8);
    }

    proptest! {
        #[test]
        fn the_knee_is_found_to_the_precision(first in 1.0_f64..1000.0, capacity in 1.0_f64..1e6) {
            let (knee, steps) = search(first, 1e7, capacity);
            if let Some(best) = knee.best() {
                prop_assert!(best <= capacity && capacity <= best * 1.0501, "{} {}", best, capacity);
            } else {
                prop_assert!(capacity < first / 32.0);
            }
            prop_assert!(steps <= 40);
        }
    }
}
