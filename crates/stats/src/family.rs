use crate::thresholds::Thresholds;

/// A family of comparisons, for example every variant against the baseline, decided by Holm's step
/// at each look of the experiment.
///
/// At a look the smallest p of those not yet found different is held against the threshold of alpha
/// / j, j their number; if it is reached, that comparison is decided for good and the step repeats
/// with j - 1. The chance of calling any identical pair different, over all looks, is at most alpha
/// (Maurer & Bretz 2013; needs thresholds that do not rise with j, which [`Thresholds`] has by
/// construction). A verdict "equivalent" frees no error for the others: its hypothesis was not
/// rejected.
#[derive(Debug, Clone)]
pub struct Family {
    thresholds: Thresholds,
    decided: Vec<Option<Decision>>,
}

/// When and at which threshold a comparison was found different.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    pub units: usize,
    pub threshold: f64,
}

impl Family {
    /// A family of `members` comparisons, none decided.
    ///
    /// # Panics
    /// If `thresholds` are not calibrated for so many.
    #[must_use]
    pub fn new(thresholds: Thresholds, members: usize) -> Self {
        assert!(
            members <= thresholds.family(),
            "thresholds for {} comparisons cannot judge {members}",
            thresholds.family()
        );
        Self {
            thresholds,
            decided: vec![None; members],
        }
    }

    /// Looks at `units` units with the two-sided p of each member, in the order of the family; a
    /// member that cannot be tested has p = 1. Nothing happens if `units` is no look of the
    /// grid.
    ///
    /// # Panics
    /// If there is not one p a member.
    pub fn look(&mut self, units: usize, p: &[f64]) {
        assert_eq!(p.len(), self.decided.len(), "one p-value a member");
        loop {
            let undecided = (0..p.len()).filter(|i| self.decided[*i].is_none());
            let Some(best) = undecided.min_by(|a, b| p[*a].total_cmp(&p[*b])) else {
                return;
            };
            match self.thresholds.at(units, self.undecided()) {
                Some(threshold) if p[best] <= threshold => {
                    self.decided[best] = Some(Decision { units, threshold })
                }
                Some(_) | None => return,
            }
        }
    }

    /// How many members have not been found different.
    #[must_use]
    pub fn undecided(&self) -> usize {
        self.decided.iter().filter(|d| d.is_none()).count()
    }

    /// The decision on each member.
    #[must_use]
    pub fn decisions(&self) -> &[Option<Decision>] {
        &self.decided
    }

    /// The level of the interval to report for a member at a look of `units`: 1 - the threshold
    /// that decided it, or that it is held against.
    #[must_use]
    pub fn level(&self, member: usize, units: usize) -> Option<f64> {
        let threshold = self.decided[member]
            .map(|d| d.threshold)
            .or_else(|| self.thresholds.at(units, self.undecided()));
        threshold.map(|p| 1.0 - p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_frees_error_for_the_others_within_the_same_look() {
        let mut family = Family::new(Thresholds::fixed(20, 0.05, 3), 3);
        family.look(20, &[0.024, 0.3, 0.01]);
        assert_eq!(
            family.decisions(),
            [
                Some(Decision {
                    units: 20,
                    threshold: 0.025
                }),
                None,
                Some(Decision {
                    units: 20,
                    threshold: 0.05 / 3.0
                })
            ]
        );
        assert_eq!(family.level(1, 20), Some(0.95));
    }

    #[test]
    fn nothing_is_decided_between_looks_or_by_a_p_that_only_a_single_test_would_accept() {
        let mut family = Family::new(Thresholds::fixed(20, 0.05, 3), 3);
        family.look(19, &[0.0, 0.0, 0.0]);
        family.look(20, &[0.03, 0.04, 0.049]);
        assert_eq!(family.undecided(), 3);
        assert_eq!(family.level(0, 19), None);
    }

    #[test]
    fn a_decision_stays_when_later_looks_are_less_sure() {
        let mut family = Family::new(Thresholds::open(), 2);
        family.look(10, &[0.005, 0.5]);
        family.look(12, &[0.9, 0.5]);
        assert_eq!(family.decisions()[0].map(|d| d.units), Some(10));
    }
}
