//! When the next operation is due: pure state, no clock. Times are nanoseconds of the worker's
//! clock.

mod followed;

use crate::access::Random;
use followed::{Followed, Tolerance};
use record::WorkerSchedule;

/// Spacing of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    Constant,
    Poisson,
}

impl Spacing {
    /// Arrivals that chance brings together wait for each other.
    const fn tolerance(self) -> Tolerance {
        let [of_gap, of_time] = match self {
            Self::Constant => [0.1, 0.01],
            Self::Poisson => [1.0, 0.02],
        };
        Tolerance { of_gap, of_time }
    }
}

/// What an open loop counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tempo {
    /// Nanoseconds between two operations.
    PerOperation(f64),
    /// Nanoseconds of a byte; both limits where both were asked.
    PerByte { byte_ns: f64, operation_ns: f64 },
}

impl Tempo {
    /// From an operation of so many bytes to the next.
    #[inline]
    fn mean_gap(self, bytes: u64) -> f64 {
        match self {
            Self::PerOperation(gap) => gap,
            Self::PerByte {
                byte_ns,
                operation_ns,
            } => (byte_ns * bytes as f64).max(operation_ns),
        }
    }
}

/// Pause after operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ThinkTime {
    pub pause_ns: u64,
    pub every: u32,
    /// Share of the operation's latency, 1.0 for 100 %.
    pub adaptive: f64,
}

/// When an operation may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// At once; its latency counts from here.
    Now { intended: u64 },
    /// Not before this time.
    At(u64),
}

/// The pace of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    open: Option<OpenLoop>,
    think: Option<Thinking>,
}

#[derive(Clone, Debug)]
struct OpenLoop {
    /// The next intended start, and its fraction below a nanosecond, so that no rounding adds up.
    next: u64,
    fraction: f64,
    tempo: Tempo,
    spacing: Spacing,
    rng: Random,
    /// From the start to the first operation.
    phase_ns: f64,
    followed: Followed,
}

#[derive(Clone, Debug)]
struct Thinking {
    time: ThinkTime,
    completed: u32,
    debt: f64,
    resume_at: u64,
}

impl Pace {
    /// As fast as completions allow.
    #[must_use]
    pub(crate) fn closed() -> Self {
        Self {
            open: None,
            think: None,
        }
    }

    /// Starts at intended times whatever happens to earlier operations. The first is due `phase` of
    /// an interval after `start`.
    #[must_use]
    pub(crate) fn open(
        start: u64,
        tempo: Tempo,
        spacing: Spacing,
        phase: f64,
        rng: Random,
    ) -> Self {
        let (phase_ns, gap_ns) = match tempo {
            Tempo::PerOperation(gap) => (gap * phase, gap),
            Tempo::PerByte { operation_ns, .. } => (0.0, operation_ns),
        };
        let mut open = OpenLoop {
            next: start,
            fraction: 0.0,
            tempo,
            spacing,
            rng,
            phase_ns,
            followed: Followed::new(start, gap_ns, spacing.tolerance()),
        };
        open.start(start);
        Self {
            open: Some(open),
            think: None,
        }
    }

    /// Starts again at `now`, after a time in which nothing was to be done: what would have been due
    /// meanwhile never was. Returns when the first is due.
    pub(crate) fn start_again(&mut self, now: u64) -> u64 {
        self.open.as_mut().map_or(now, |open| {
            open.followed.leave(open.next);
            open.followed.start_again(now);
            open.start(now);
            open.next
        })
    }

    /// Its operations have so many bytes, as far as is known.
    #[must_use]
    pub(crate) fn of_blocks(mut self, bytes: u64) -> Self {
        if let Some(open) = &mut self.open {
            open.followed.expect(open.tempo.mean_gap(bytes));
        }
        self
    }

    /// What is due until then is owed, also where the work ends before.
    pub(crate) fn owe_until(&mut self, until: u64) {
        if let Some(open) = &mut self.open {
            open.followed.owe_until(until);
        }
    }

    /// Nothing is left to be begun, until it starts again.
    pub(crate) fn leave(&mut self) {
        if let Some(open) = &mut self.open {
            open.followed.leave(open.next);
        }
    }

    /// The time that is measured began at `at`.
    pub(crate) fn count_from(&mut self, at: u64) {
        if let Some(open) = &mut self.open {
            open.followed.count_from(at, open.next);
        }
    }

    /// Since when the schedule counts, and how it was followed until `end`; `None` without one.
    pub(crate) fn followed(&self, end: u64) -> Option<(u64, WorkerSchedule)> {
        let open = self.open.as_ref()?;
        Some(open.followed.until(end, open.next))
    }

    /// Goes on after a time in which nothing could be due: everything is due so much later.
    pub(crate) fn postpone(&mut self, by_ns: u64) {
        if let Some(open) = &mut self.open {
            open.next = open.next.saturating_add(by_ns);
            open.followed.postpone(by_ns);
        }
    }

    /// Adds pauses after completions.
    #[must_use]
    pub(crate) fn thinking(mut self, time: ThinkTime) -> Self {
        if time.pause_ns > 0 || time.adaptive > 0.0 {
            self.think = Some(Thinking {
                time,
                completed: 0,
                debt: 0.0,
                resume_at: 0,
            });
        }
        self
    }

    /// Whether an operation is due whenever the last one has ended.
    #[must_use]
    pub(crate) fn is_free(&self) -> bool {
        self.open.is_none() && self.think.is_none()
    }

    /// Whether latency counts from an intended start of its own.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the next operation is due at `now`.
    #[inline]
    #[must_use]
    pub(crate) fn due(&self, now: u64) -> Due {
        if let Some(think) = &self.think
            && think.resume_at > now
        {
            return Due::At(think.resume_at);
        }
        match &self.open {
            None => Due::Now { intended: now },
            Some(open) if open.next <= now => Due::Now {
                intended: open.next,
            },
            Some(open) => Due::At(open.next),
        }
    }

    /// The due operation was started with this many bytes, at `now`.
    #[inline]
    pub(crate) fn started(&mut self, bytes: u64, now: u64) {
        if let Some(open) = &mut self.open {
            let late_ns = now.saturating_sub(open.next);
            let gap_ns = open.advance(bytes);
            open.followed.began(late_ns, gap_ns);
        }
    }

    /// An operation ended at `now` after `latency` nanoseconds.
    #[inline]
    pub(crate) fn ended(&mut self, now: u64, latency: u64) {
        if let Some(think) = &mut self.think {
            think.ended(now, latency);
        }
    }

    /// Operations whose intended start lies before `end` and that were not started, at most
    /// `limit`.
    #[must_use]
    pub(crate) fn unsent(&self, end: u64, bytes: u64, limit: u64) -> u64 {
        let Some(mut open) = self.open.clone().filter(|open| !open.followed.is_over()) else {
            return 0;
        };
        let mut count = 0;
        while open.next < end && count < limit {
            open.advance(bytes);
            count += 1;
        }
        count
    }
}

impl OpenLoop {
    fn start(&mut self, at: u64) {
        (self.next, self.fraction) = (at, 0.0);
        self.add(self.phase_ns);
    }

    fn add(&mut self, ns: f64) {
        let total = self.fraction + ns;
        let whole = units::lossless::f64_to_u64_saturating(total);
        self.next = self.next.saturating_add(whole);
        self.fraction = total - whole as f64;
    }

    /// The next is due a gap later, which is so long in the mean.
    #[inline]
    fn advance(&mut self, bytes: u64) -> f64 {
        let mean = self.tempo.mean_gap(bytes);
        let gap = match self.spacing {
            Spacing::Constant => mean,
            Spacing::Poisson => mean * self.rng.exponential(),
        };
        self.add(gap);
        mean
    }
}

impl Thinking {
    fn ended(&mut self, now: u64, latency: u64) {
        self.debt += self.time.adaptive * latency as f64;
        self.completed += 1;
        if self.completed >= self.time.every {
            self.completed = 0;
            let pause = self
                .time
                .pause_ns
                .saturating_add(units::lossless::f64_to_u64_saturating(self.debt));
            self.debt = 0.0;
            self.resume_at = self.resume_at.max(now).saturating_add(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Random;
    use proptest::prelude::*;

    #[test]
    fn a_constant_rate_does_not_drift() {
        let mut pace = Pace::open(
            1000,
            Tempo::PerOperation(1e9 / 3.0),
            Spacing::Constant,
            0.0,
            Random::stream(1, 1),
        );
        for _ in 0..3_000_000 {
            pace.started(4096, 0);
        }
        let Due::At(next) = pace.due(0) else {
            panic!("time has passed")
        };
        assert!(
            next.abs_diff(1000 + 1_000_000 * 1_000_000_000) < 1000,
            "off by more than 1 µs in 11 days: {next}"
        );
    }

    #[test]
    fn a_poisson_rate_keeps_its_mean_at_half_a_million_a_second() {
        let mut pace = Pace::open(
            0,
            Tempo::PerOperation(2000.0),
            Spacing::Poisson,
            0.0,
            Random::stream(7, 1),
        );
        let n = 2_000_000;
        (0..n).for_each(|_| pace.started(4096, 0));
        let Due::At(end) = pace.due(0) else {
            panic!("time has passed")
        };
        let ratio = end as f64 / (2000.0 * f64::from(n));
        assert!(
            (ratio - 1.0).abs() < 5.0 / f64::from(n).sqrt(),
            "ratio {ratio}"
        );
    }

    #[test]
    fn what_a_stall_held_back_is_due_at_its_intended_times() {
        let mut pace = Pace::open(
            0,
            Tempo::PerOperation(1e6),
            Spacing::Constant,
            0.0,
            Random::stream(1, 1),
        );
        let mut late = Vec::new();
        for _ in 0..3 {
            let Due::Now { intended } = pace.due(10_000_000) else {
                panic!("late")
            };
            late.push(intended);
            pace.started(1, 0);
        }
        assert_eq!(late, [0, 1_000_000, 2_000_000]);
        assert_eq!(pace.unsent(10_000_000, 1, u64::MAX), 7);
    }

    #[test]
    fn nothing_is_due_of_a_time_that_was_no_part_of_the_schedule() {
        let mut pace = Pace::open(
            1000,
            Tempo::PerOperation(100.0),
            Spacing::Constant,
            0.25,
            Random::stream(1, 1),
        );
        assert_eq!(pace.due(0), Due::At(1025));
        pace.started(1, 0);
        assert_eq!(pace.start_again(5000), 5025);
        assert_eq!(pace.due(5000), Due::At(5025));
        let mut closed = Pace::closed();
        assert_eq!(closed.start_again(5000), 5000);
        assert_eq!(closed.due(1), Due::Now { intended: 1 });
    }

    #[test]
    fn byte_rates_count_bytes() {
        let mut pace = Pace::open(
            0,
            Tempo::PerByte {
                byte_ns: 1.0,
                operation_ns: 0.0,
            },
            Spacing::Constant,
            0.0,
            Random::stream(1, 1),
        );
        pace.started(4096, 0);
        assert_eq!(pace.due(0), Due::At(4096));
    }

    #[test]
    fn think_time_adds_up_over_overlapping_operations() {
        let think = ThinkTime {
            pause_ns: 50,
            every: 1,
            adaptive: 0.5,
        };
        let mut pace = Pace::closed().thinking(think);
        assert_eq!(pace.due(0), Due::Now { intended: 0 });
        pace.ended(1000, 100);
        assert_eq!(pace.due(1000), Due::At(1100));
        pace.ended(1000, 100);
        assert_eq!(
            pace.due(1100),
            Due::At(1200),
            "two operations ended, two pauses are owed"
        );
        assert_eq!(pace.due(1200), Due::Now { intended: 1200 });
    }

    #[test]
    fn think_time_every_n_waits_once_for_n() {
        let mut pace = Pace::closed().thinking(ThinkTime {
            pause_ns: 50,
            every: 3,
            adaptive: 0.0,
        });
        pace.ended(10, 1);
        pace.ended(20, 1);
        assert_eq!(pace.due(20), Due::Now { intended: 20 });
        pace.ended(30, 1);
        assert_eq!(pace.due(30), Due::At(80));
    }

    proptest! {
        #[test]
        fn never_early_and_never_above_the_rate(gap in 1.0..1e7_f64, poisson in any::<bool>(), steps in prop::collection::vec(0_u64..5_000_000, 1..200)) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Constant };
            let mut pace = Pace::open(0, Tempo::PerOperation(gap), spacing, 0.0, Random::stream(3, 1));
            let (mut now, mut started, mut last) = (0, 0_u64, 0);
            for step in steps {
                now += step;
                while let Due::Now { intended } = pace.due(now) {
                    prop_assert!(intended <= now && intended >= last);
                    last = intended;
                    pace.started(1, 0);
                    started += 1;
                    if started > 20_000 { break; }
                }
            }
            if !poisson {
                prop_assert!((started as f64) <= now as f64 / gap + 2.0);
            }
        }
    }
}
