//! How far a worker came in its schedule, whose times are those of the schedule itself.

use record::{ScheduleEnd, WorkerSchedule};
use units::lossless::f64_to_u64_saturating;

/// What is known of a schedule's parts, of which the last may go on.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    /// Since when it counts.
    first: u64,
    /// Since when its present part does.
    since: u64,
    /// When the present part was over, if nothing is left of it.
    over_at: Option<u64>,
    /// The mean gaps of what was begun in it.
    mean_ns: f64,
    /// The mean gap after what was begun last.
    gap_ns: f64,
    /// How long after its time that was begun.
    late_ns: u64,
    /// How far it was behind when the time began that is measured.
    before_ns: u64,
    /// The parts that are over, together.
    parts: WorkerSchedule,
}

impl Followed {
    pub(super) fn new(start: u64, gap_ns: f64) -> Self {
        Self {
            first: start,
            since: start,
            over_at: None,
            mean_ns: 0.0,
            gap_ns,
            late_ns: 0,
            before_ns: 0,
            parts: WorkerSchedule::default(),
        }
    }

    /// What was due was begun so late, and the next is due after such a gap in the mean.
    #[inline]
    pub(super) fn began(&mut self, late_ns: u64, gap_ns: f64) {
        (self.late_ns, self.gap_ns) = (late_ns, gap_ns);
        self.mean_ns += gap_ns;
    }

    /// Only what is begun from now on counts, of a time since `at` for which `next` was the first.
    pub(super) fn count_from(&mut self, at: u64, next: u64) {
        let before_ns = match self.over_at {
            Some(_) => 0,
            None => self.beyond_gap(at.saturating_sub(next)),
        };
        *self = Self {
            over_at: self.over_at.map(|_| at),
            before_ns,
            ..Self::new(at, self.gap_ns)
        };
    }

    /// Nothing is left of the present part, of which the next would be due at `next`.
    pub(super) fn leave(&mut self, next: u64) {
        if self.over_at.is_none() {
            let begun_ns = next.saturating_sub(self.since);
            let mean_ns = f64_to_u64_saturating(self.mean_ns);
            let mean_ns = mean_ns.saturating_sub(self.before_ns);
            let behind_ns = self.beyond_gap(self.late_ns);
            self.add(begun_ns, mean_ns, behind_ns);
            self.over_at = Some(next.saturating_add(behind_ns));
        }
    }

    /// Another part begins, after one that was left.
    pub(super) fn start_again(&mut self, at: u64) {
        self.waited(self.over_at.map_or(0, |over| at.saturating_sub(over)));
        *self = Self {
            first: self.first,
            parts: self.parts,
            ..Self::new(at, self.gap_ns)
        };
    }

    /// The present part had nothing due for so long.
    pub(super) fn postpone(&mut self, by_ns: u64) {
        self.waited(by_ns);
        self.since = self.since.saturating_add(by_ns);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over_at.is_some()
    }

    /// Since when it counts, and what came of it from then until `end`, where `next` would be next.
    pub(super) fn until(&self, end: u64, next: u64) -> (u64, WorkerSchedule) {
        let mut all = self.clone();
        if !all.is_over() {
            let behind_ns = all.beyond_gap(end.saturating_sub(next));
            let begun_ns = end.saturating_sub(all.since).saturating_sub(behind_ns);
            all.add(begun_ns, begun_ns, behind_ns);
        }
        let end = match self.is_over() {
            true => ScheduleEnd::Released,
            false => ScheduleEnd::Time,
        };
        (self.first, WorkerSchedule { end, ..all.parts })
    }

    fn waited(&mut self, ns: u64) {
        self.parts.waited_ns = self.parts.waited_ns.saturating_add(ns);
    }

    fn add(&mut self, begun_ns: u64, mean_ns: u64, behind_ns: u64) {
        let parts = &mut self.parts;
        parts.begun_ns = parts.begun_ns.saturating_add(begun_ns);
        parts.mean_ns = parts.mean_ns.saturating_add(mean_ns);
        parts.behind_ns = parts.behind_ns.saturating_add(behind_ns);
        parts.before_ns = parts.before_ns.saturating_add(self.before_ns);
        let gap_ns = f64_to_u64_saturating(self.gap_ns);
        parts.gap_ns = parts.gap_ns.saturating_add(gap_ns);
    }

    /// Operations cannot be divided: who is one late has missed none.
    fn beyond_gap(&self, ns: u64) -> u64 {
        ns.saturating_sub(f64_to_u64_saturating(self.gap_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: u64 = 10;

    /// Since 1000, a worker that begins what is due, so late, until the next is due at `next`.
    fn begun(until: u64, late_ns: u64) -> (Followed, u64) {
        let mut followed = Followed::new(1000, GAP as f64);
        let mut next = 1000;
        while next < until {
            followed.began(late_ns, GAP as f64);
            next += GAP;
        }
        (followed, next)
    }

    fn parts(of: &Followed, end: u64, next: u64) -> (u64, u64, u64, ScheduleEnd) {
        let (since, own) = of.until(end, next);
        assert_eq!((since, own.mean_ns), (1000, own.begun_ns));
        (own.begun_ns, own.behind_ns, own.waited_ns, own.end)
    }

    #[test]
    fn the_end_finds_it_in_time_or_so_far_behind_beyond_one_gap() {
        let (followed, next) = begun(2000, 0);
        assert_eq!(
            parts(&followed, 2000, next),
            (1000, 0, 0, ScheduleEnd::Time)
        );
        assert_eq!(
            parts(&followed, 2010, next),
            (1010, 0, 0, ScheduleEnd::Time)
        );
        assert_eq!(
            parts(&followed, 2500, next),
            (1010, 490, 0, ScheduleEnd::Time)
        );
    }

    #[test]
    fn a_part_that_was_left_is_behind_by_how_late_its_last_was_begun() {
        let (mut followed, next) = begun(2000, 110);
        followed.leave(next);
        followed.leave(next + 7);
        assert_eq!(
            parts(&followed, 9000, next),
            (1000, 100, 0, ScheduleEnd::Released)
        );
        assert!(followed.is_over());
        // From 2100 to 2600 it waited for others.
        followed.start_again(2600);
        assert!(!followed.is_over());
        assert_eq!(
            parts(&followed, 3000, 2990),
            (1400, 100, 500, ScheduleEnd::Time)
        );
        followed.postpone(300);
        assert_eq!(
            parts(&followed, 3300, 3300),
            (1400, 100, 800, ScheduleEnd::Time)
        );
        let (_, all) = followed.until(3300, 3300);
        assert_eq!(all.gap_ns, 2 * GAP);
    }

    #[test]
    fn what_a_warm_up_left_was_due_before_the_time_that_counts() {
        let (mut followed, next) = begun(2000, 0);
        followed.count_from(2500, next);
        let (since, own) = followed.until(3500, 3500);
        assert_eq!((since, own.before_ns, own.begun_ns), (2500, 490, 1000));
        // Who waited for others then had nothing due.
        let (mut followed, next) = begun(2000, 0);
        followed.leave(next);
        followed.count_from(2500, next);
        let (_, own) = followed.until(3500, next);
        assert_eq!(
            (own.before_ns, own.begun_ns, own.end),
            (0, 0, ScheduleEnd::Released)
        );
        followed.start_again(2700);
        let (_, own) = followed.until(3500, 3500);
        assert_eq!((own.begun_ns, own.waited_ns), (800, 200));
    }
}
