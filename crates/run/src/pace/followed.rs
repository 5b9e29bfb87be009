//! How far a worker came in its schedule, whose times are those of the schedule itself.

use record::{ScheduleEnd, WorkerSchedule};
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// By how much a worker that keeps its schedule may be behind it in the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) of_gap: f64,
    /// Of many workers with few operations each, a gap may be much of the time.
    pub(super) of_time: f64,
}

impl Tolerance {
    fn of(self, gap_ns: f64, time_ns: u64) -> u64 {
        let most = u64_to_f64(time_ns) * self.of_time;
        f64_to_u64_saturating((gap_ns * self.of_gap).min(most))
    }
}

/// What is known of a schedule's parts, of which the last may go on.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    /// Since when it counts.
    first: u64,
    /// Since when its present part does.
    since: u64,
    /// When the present part was over, if nothing is left of it.
    over_at: Option<u64>,
    /// Until when something was due of the present part, also where nothing of it is left.
    owes_until: u64,
    /// The mean gaps of what was begun in it.
    mean_ns: f64,
    /// The mean gap after what was begun last.
    gap_ns: f64,
    /// How long after its time that was begun.
    late_ns: u64,
    /// How far it was behind when the time began that is measured.
    before_ns: u64,
    tolerance: Tolerance,
    /// The parts that are over, together.
    parts: WorkerSchedule,
}

impl Followed {
    pub(super) fn new(start: u64, gap_ns: f64, tolerance: Tolerance) -> Self {
        Self {
            first: start,
            since: start,
            over_at: None,
            owes_until: 0,
            mean_ns: 0.0,
            gap_ns,
            late_ns: 0,
            before_ns: 0,
            tolerance,
            parts: WorkerSchedule::default(),
        }
    }

    /// The mean gap where nothing was begun yet.
    pub(super) fn expect(&mut self, gap_ns: f64) {
        self.gap_ns = gap_ns;
    }

    /// What was due was begun so late, and the next is due after such a gap in the mean.
    #[inline]
    pub(super) fn began(&mut self, late_ns: u64, gap_ns: f64) {
        (self.late_ns, self.gap_ns) = (late_ns, gap_ns);
        self.mean_ns += gap_ns;
    }

    /// Only what is begun from now on counts, of a time since `at` for which `next` was the first.
    pub(super) fn count_from(&mut self, at: u64, next: u64) {
        let before_ns = at.saturating_sub(next);
        *self = Self {
            over_at: self.over_at.map(|_| at),
            before_ns: self.over_at.map_or(before_ns, |_| 0),
            ..Self::new(at, self.gap_ns, self.tolerance)
        };
    }

    /// What is due of the present part until then is owed, also where the work of it ends before.
    pub(super) fn owe_until(&mut self, until: u64) {
        self.owes_until = until;
    }

    /// Nothing is left of the present part, of which the next would be due at `next`.
    pub(super) fn leave(&mut self, next: u64) {
        if self.over_at.is_none() {
            let mean_ns = f64_to_u64_saturating(self.mean_ns);
            let behind_ns = self.late_ns.max(self.owes_until.saturating_sub(next));
            let end = next.saturating_add(behind_ns);
            self.add(end, behind_ns, mean_ns);
            self.over_at = Some(end);
        }
    }

    /// Another part begins, after one that was left.
    pub(super) fn start_again(&mut self, at: u64) {
        self.waited(self.over_at.map_or(0, |over| at.saturating_sub(over)));
        *self = Self {
            first: self.first,
            parts: self.parts,
            ..Self::new(at, self.gap_ns, self.tolerance)
        };
    }

    /// The present part had nothing due for so long.
    pub(super) fn postpone(&mut self, by_ns: u64) {
        self.waited(by_ns);
        for moment in [&mut self.since, &mut self.owes_until] {
            *moment = moment.saturating_add(by_ns);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over_at.is_some()
    }

    /// Since when it counts, and what came of it from then until `end`, where `next` would be next.
    pub(super) fn until(&self, end: u64, next: u64) -> (u64, WorkerSchedule) {
        let mut all = self.clone();
        if !all.is_over() {
            let mean_ns = f64_to_u64_saturating(self.mean_ns);
            all.add(end, end.saturating_sub(next), mean_ns);
        }
        let end = match self.is_over() {
            true => ScheduleEnd::Released,
            false => ScheduleEnd::Time,
        };
        let gap_ns = f64_to_u64_saturating(self.gap_ns);
        let parts = all.parts;
        let time_ns = parts.begun_ns.saturating_add(parts.behind_ns);
        let tolerated_ns = self.tolerance.of(self.gap_ns, time_ns);
        let followed = WorkerSchedule {
            begun_ns: parts
                .begun_ns
                .saturating_add(parts.behind_ns.min(tolerated_ns)),
            behind_ns: parts.behind_ns.saturating_sub(tolerated_ns),
            before_ns: parts.before_ns.saturating_sub(tolerated_ns),
            gap_ns,
            end,
            ..parts
        };
        (self.first, followed)
    }

    fn waited(&mut self, ns: u64) {
        self.parts.waited_ns = self.parts.waited_ns.saturating_add(ns);
    }

    /// Adds a part that ended so far behind, which it was by so much when it began already.
    fn add(&mut self, end: u64, behind_ns: u64, mean_ns: u64) {
        let lasted_ns = end.saturating_sub(self.since);
        let before_ns = self.before_ns.saturating_sub(behind_ns);
        let behind_ns = behind_ns.saturating_sub(self.before_ns);
        let begun_ns = lasted_ns.saturating_sub(behind_ns);
        let mean_ns = mean_ns.saturating_sub(before_ns);
        let parts = &mut self.parts;
        for (sum, more) in [
            (&mut parts.begun_ns, begun_ns),
            (&mut parts.mean_ns, mean_ns),
            (&mut parts.behind_ns, behind_ns),
            (&mut parts.before_ns, before_ns),
            (&mut parts.parts, 1),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: u64 = 100;
    const TOLERANCE: Tolerance = Tolerance {
        of_gap: 0.1,
        of_time: 0.01,
    };

    /// Since 1000, a worker that begins what is due, so late, until the next is due at `next`.
    fn begun(until: u64, late_ns: u64) -> (Followed, u64) {
        let mut followed = Followed::new(1000, GAP as f64, TOLERANCE);
        let mut next = 1000;
        while next < until {
            followed.began(late_ns, GAP as f64);
            next += GAP;
        }
        (followed, next)
    }

    fn parts(of: &Followed, end: u64, next: u64) -> (u64, u64, u64, ScheduleEnd) {
        let (since, own) = of.until(end, next);
        assert_eq!(since, 1000);
        (own.begun_ns, own.behind_ns, own.waited_ns, own.end)
    }

    #[test]
    fn the_end_finds_it_in_time_or_so_far_behind_beyond_a_tenth_of_a_gap() {
        let (followed, next) = begun(2000, 0);
        let end = ScheduleEnd::Time;
        assert_eq!(parts(&followed, 2000, next), (1000, 0, 0, end));
        assert_eq!(parts(&followed, 2010, next), (1010, 0, 0, end));
        assert_eq!(parts(&followed, 2500, next), (1010, 490, 0, end));
    }

    #[test]
    fn a_part_that_was_left_is_behind_by_how_late_its_last_was_begun() {
        let (mut followed, next) = begun(2000, 110);
        followed.leave(next);
        followed.leave(next + 7);
        let [end, left] = [ScheduleEnd::Time, ScheduleEnd::Released];
        assert_eq!(parts(&followed, 9000, next), (1010, 100, 0, left));
        assert!(followed.is_over());
        // From 2110 to 2600 it waited for others.
        followed.start_again(2600);
        assert!(!followed.is_over());
        assert_eq!(parts(&followed, 3000, 3000), (1410, 100, 490, end));
        // What is behind of each part adds up, of which a tenth of a gap is forgiven once.
        assert_eq!(parts(&followed, 3000, 2900), (1310, 200, 490, end));
        followed.postpone(300);
        assert_eq!(parts(&followed, 3300, 3300), (1410, 100, 790, end));
        let (_, all) = followed.until(3300, 3300);
        assert_eq!((all.gap_ns, all.parts), (GAP, 2));
    }

    #[test]
    fn what_was_due_until_a_stonewall_is_owed_though_no_more_is_to_be_begun() {
        let (mut followed, next) = begun(1300, 0);
        followed.owe_until(2000);
        followed.postpone(50);
        followed.leave(next + 50);
        let (_, own) = followed.until(9000, next + 50);
        assert_eq!((own.begun_ns, own.behind_ns, own.waited_ns), (310, 690, 50));
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
        let left = ScheduleEnd::Released;
        assert_eq!((own.before_ns, own.begun_ns, own.end), (0, 0, left));
        followed.start_again(2700);
        let (_, own) = followed.until(3500, 3500);
        assert_eq!((own.begun_ns, own.waited_ns), (800, 200));
    }

    #[test]
    fn who_keeps_half_of_a_rate_keeps_half_however_far_behind_a_warm_up_left_it() {
        // 100 of 200 gaps in the warm-up, and then 10 gaps in the time of 20.
        let of = |late_ns: u64| {
            let (mut followed, mut next) = (Followed::new(0, GAP as f64, TOLERANCE), 100 * GAP);
            followed.count_from(200 * GAP, next);
            for _ in 0..10 {
                followed.began(late_ns, GAP as f64);
                next += GAP;
            }
            (followed, next)
        };
        let (followed, next) = of(109 * GAP);
        let (_, cut) = followed.until(220 * GAP, next);
        let (mut followed, next) = of(110 * GAP);
        followed.leave(next);
        let (_, done) = followed.until(220 * GAP, next);
        for own in [cut, done] {
            let tolerated = GAP / 10;
            let expected = (10 * GAP + tolerated, 10 * GAP - tolerated, 0);
            assert_eq!((own.begun_ns, own.behind_ns, own.before_ns), expected);
        }
        assert_eq!(done.mean_ns, 10 * GAP);
    }
}
