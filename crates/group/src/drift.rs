//! How far the root's clock has moved against one's own since the start, and whether it becomes better
//! known.

use crate::offset::OffsetRange;

/// By how much the root's clock has gained on one's own since the last start; less than nothing where
/// it has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDrift {
    pub ns: i64,
    /// By how much that may be wrong: as much as is not known of the start and of the end.
    pub bound_ns: u64,
}

impl ClockDrift {
    /// Of the root's clock against itself.
    pub(crate) const NONE: Self = Self { ns: 0, bound_ns: 0 };
}

/// A comparison with the clocks of the start. What is heard of clocks meanwhile is left out: it would
/// be held against the start by what clocks may drift, which is what is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriftQuestion {
    began: Option<OffsetRange>,
    asked: Option<Asked>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    since: u64,
    until: u64,
    heard: Option<OffsetRange>,
    best: BestBound,
}

impl DriftQuestion {
    /// What was known at a start; a question that is open is over.
    pub(crate) fn begun(range: OffsetRange) -> Self {
        Self {
            began: Some(range),
            asked: None,
        }
    }

    /// Whether anything can come of it.
    pub(crate) fn ask(&mut self, now: u64, patience_ns: u64) -> bool {
        self.asked = self.began.map(|_| Asked {
            since: now,
            until: now.saturating_add(patience_ns),
            heard: None,
            best: BestBound::default(),
        });
        self.asked.is_some()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.asked.is_some()
    }

    /// An answer to a question of `sent`.
    pub(crate) fn hear(&mut self, sent: u64, range: OffsetRange) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| sent >= asked.since) {
            asked.heard = Some(asked.heard.map_or(range, |known| known.and(range)));
        }
    }

    /// What came of it, once the clocks are known as well as at the start, or no better for `still_ns`,
    /// or there was enough time; of an answer that never came, nothing.
    pub(crate) fn answer(
        &mut self,
        now: u64,
        wanted_ns: u64,
        still_ns: u64,
    ) -> Option<Option<ClockDrift>> {
        let (began, asked) = (self.began?, self.asked.as_mut()?);
        let known = asked.heard.map(|range| range.grown(now));
        let enough = wanted_ns.max(began.bound_ns());
        let bound = known.map(OffsetRange::bound_ns);
        let is_good = bound.is_some_and(|bound| bound <= enough);
        let is_still = asked.best.is_still(now, bound, still_ns);
        if !is_good && !is_still && now < asked.until {
            return None;
        }
        self.asked = None;
        Some(known.map(|range| range.moved_since(began)))
    }
}

/// How well a clock has been known at best, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BestBound(Option<(u64, u64)>);

impl BestBound {
    /// Whether what is known has not become better by a tenth for so long: more questions would be
    /// answered no sooner than those so far.
    pub(crate) fn is_still(&mut self, now: u64, bound_ns: Option<u64>, for_ns: u64) -> bool {
        let Some(bound) = bound_ns else {
            return false;
        };
        match self.0 {
            Some((best, since)) if bound > best - best / 10 => now.saturating_sub(since) >= for_ns,
            Some(_) | None => {
                self.0 = Some((bound, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(at: u64, offset: i128, takes: u64) -> OffsetRange {
        let read = u64::try_from(i128::from(at + takes / 2) + offset).unwrap();
        OffsetRange::answered(at, at + takes, read, (0, 0))
    }

    #[test]
    fn what_was_known_at_the_start_is_held_against_what_is_heard_after_the_question() {
        const S: u64 = 1_000_000_000;
        let mut question = DriftQuestion::default();
        assert!(!question.ask(S, S), "there was no start");
        let mut question = DriftQuestion::begun(answered(S, 5_000, 200));
        assert!(question.ask(11 * S, S));
        // Heard of before it was asked, and not well enough known.
        question.hear(10 * S, answered(10 * S, 5_000, 20));
        question.hear(11 * S, answered(11 * S, 905_000, 400_000));
        assert_eq!(question.answer(11 * S, 50_000, S), None);
        question.hear(11 * S + 1, answered(11 * S + 1, 905_000, 200));
        let known = question.answer(11 * S + 1, 50_000, S).unwrap().unwrap();
        assert_eq!((known.ns, known.bound_ns), (900_000, 200));
        assert!(!question.is_open());
    }

    #[test]
    fn a_bound_is_still_when_nothing_better_has_come_for_long_enough() {
        let mut best = BestBound::default();
        assert!(!best.is_still(5, None, 100));
        assert!(!best.is_still(10, Some(1000), 100));
        assert!(!best.is_still(109, Some(950), 100));
        assert!(!best.is_still(109, Some(900), 100), "better by a tenth");
        assert!(!best.is_still(208, Some(1200), 100));
        assert!(best.is_still(209, Some(1200), 100));
    }

    #[test]
    fn whoever_hears_nothing_knows_nothing_and_waits_no_longer_than_it_may() {
        let mut question = DriftQuestion::begun(OffsetRange::own(5));
        assert!(question.ask(100, 50));
        assert_eq!(question.answer(149, 10, 20), None);
        assert_eq!(question.answer(150, 10, 20), Some(None));
    }
}
