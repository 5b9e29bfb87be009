//! A number of users, or a rate, over time: straight lines between corners. Time is an argument;
//! nothing here waits.

use units::lossless::{f64_to_u64_saturating, u64_to_f64};
use units::random::Random;

/// From the value before to `to`, in `for_ns`; a leg without length is a jump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    pub for_ns: u64,
    pub to: f64,
}

/// The course of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp {
    pub start: f64,
    pub legs: Vec<Leg>,
}

/// Whether a user is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// Not before this time.
    From(u64),
    /// Never again.
    Over,
}

/// One leg with its times in nanoseconds and its values.
#[derive(Clone, Copy)]
struct Line {
    from: u64,
    to: u64,
    a: f64,
    b: f64,
}

impl Ramp {
    /// `value` for a time.
    #[must_use]
    pub fn constant(value: f64, for_ns: u64) -> Self {
        Self {
            start: value,
            legs: vec![Leg { for_ns, to: value }],
        }
    }

    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.legs
            .iter()
            .fold(0, |sum, leg| sum.saturating_add(leg.for_ns))
    }

    /// The greatest value.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.lines()
            .flat_map(|line| [line.a, line.b])
            .fold(0.0, f64::max)
    }

    /// The mean over time.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean_until(self.total_ns())
    }

    /// The mean over the time until then.
    pub(crate) fn mean_until(&self, ns: u64) -> f64 {
        match ns.min(self.total_ns()) {
            0 => 0.0,
            until => self.area_until(until) / until as f64,
        }
    }

    /// What comes together until then, times nanoseconds.
    fn area_until(&self, ns: u64) -> f64 {
        let lines = self.lines().filter(|line| line.from < ns);
        let areas = lines.map(|line| {
            let length = (line.to.min(ns) - line.from) as f64;
            let end = match line.to <= ns {
                true => line.b,
                false => line.a + (line.b - line.a) * length / (line.to - line.from) as f64,
            };
            length * (line.a + end) / 2.0
        });
        areas.sum()
    }

    /// The same course with every time multiplied.
    #[must_use]
    pub fn stretched(&self, by: f64) -> Self {
        let stretch = |ns: u64| f64_to_u64_saturating((ns as f64 * by).round());
        Self {
            start: self.start,
            legs: self
                .legs
                .iter()
                .map(|leg| Leg {
                    for_ns: stretch(leg.for_ns),
                    to: leg.to,
                })
                .collect(),
        }
    }

    /// The same course with every value multiplied, then passed through `round`.
    #[must_use]
    pub fn raised(&self, by: f64, round: fn(f64) -> f64) -> Self {
        let raise = |value: f64| round(value * by);
        Self {
            start: raise(self.start),
            legs: self
                .legs
                .iter()
                .map(|leg| Leg {
                    for_ns: leg.for_ns,
                    to: raise(leg.to),
                })
                .collect(),
        }
    }

    /// The same course after `for_ns` at `level`.
    #[must_use]
    pub(crate) fn after(&self, level: f64, for_ns: u64) -> Self {
        let first = [
            Leg { for_ns, to: level },
            Leg {
                for_ns: 0,
                to: self.start,
            },
        ];
        Self {
            start: level,
            legs: first.into_iter().chain(self.legs.iter().copied()).collect(),
        }
    }

    fn lines(&self) -> impl Iterator<Item = Line> {
        let mut at = (0_u64, self.start);
        self.legs.iter().filter_map(move |leg| {
            let line = Line {
                from: at.0,
                to: at.0.saturating_add(leg.for_ns),
                a: at.1,
                b: leg.to,
            };
            at = (line.to, line.b);
            (line.to > line.from).then_some(line)
        })
    }

    /// Whether user `index` (from 0) is there at `now`, from the start: while at least `index + 1`
    /// users are wanted.
    pub(crate) fn presence(&self, index: u32, now: u64) -> Presence {
        let need = f64::from(index) + 1.0;
        for line in self.lines().filter(|line| line.to > now) {
            let length = (line.to - line.from) as f64;
            let crossing = || {
                line.from
                    + f64_to_u64_saturating(((need - line.a) / (line.b - line.a) * length).round())
            };
            let (from, to) = match (line.a >= need, line.b >= need) {
                (true, true) => (line.from, line.to),
                (false, false) => continue,
                (false, true) => (crossing(), line.to),
                (true, false) => (line.from, crossing()),
            };
            if now < from {
                return Presence::From(from);
            }
            if now < to {
                return Presence::Here;
            }
        }
        Presence::Over
    }
}

impl Ramp {
    /// What draws the arrivals of one of several workers. Other rates draw others: of one stream
    /// for all steps of a search, each step would have too few, or too many.
    pub(crate) fn random(&self, seed: u64, stream: u64) -> Random {
        const ARRIVALS: u64 = 0xa221_7a15;
        Random::of(&[seed, ARRIVALS, self.start.to_bits(), stream])
    }
}

/// How arrivals of an open loop are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Independent users: exponential gaps.
    #[default]
    Poisson,
    Constant,
}

impl Spacing {
    pub(crate) const ALL: &[Self] = &[Self::Poisson, Self::Constant];

    /// The word in scenarios, flags and records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Constant => "constant",
        }
    }
}

impl Ramp {
    /// When the evenly spaced arrival is due that is followed by none, of a course in which so many come from `from`
    /// on before it; `None` where the course ends before.
    pub(crate) fn due_after(&self, from: u64, arrivals: u64) -> Option<u64> {
        // What falls on the edge is rounded there.
        let before = (self.area_until(from) / 1e9 - 1e-6).ceil().max(0.0);
        let place = before + u64_to_f64(arrivals);
        Schedule::new(self, Spacing::Constant, (0, 1), place, Random::stream(0, 0)).next()
    }
}

/// Due times of one worker of several: every `of`-th arrival of a constant course, or a Poisson
/// stream of its share.
pub(crate) struct Schedule {
    lines: Vec<Line>,
    line: usize,
    /// Arrivals before the present line.
    before: f64,
    /// Arrivals up to the next one.
    next: f64,
    of: f64,
    /// `None` spaces evenly.
    random: Option<Random>,
}

impl Schedule {
    /// `later` is a part of the time between two arrivals, by which all of them come later.
    pub(crate) fn new(
        ramp: &Ramp,
        spacing: Spacing,
        (worker, of): (u32, u32),
        later: f64,
        mut random: Random,
    ) -> Self {
        let of = f64::from(of);
        let poisson = spacing == Spacing::Poisson;
        let next = if poisson {
            of * random.exponential()
        } else {
            f64::from(worker) + later
        };
        Self {
            lines: ramp.lines().collect(),
            line: 0,
            before: 0.0,
            next,
            of,
            random: poisson.then_some(random),
        }
    }

    /// The next due time from the start, in nanoseconds; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<u64> {
        loop {
            let line = *self.lines.get(self.line)?;
            let seconds = (line.to - line.from) as f64 / 1e9;
            let here = (line.a + line.b) / 2.0 * seconds;
            let inside = self.next - self.before;
            if inside >= here {
                self.before += here;
                self.line += 1;
                continue;
            }
            // The area under a straight line, solved for time in the form that is stable for equal
            // ends.
            let root = (line.a * line.a + 2.0 * (line.b - line.a) * inside / seconds)
                .max(0.0)
                .sqrt();
            let at = if inside > 0.0 {
                2.0 * inside / (line.a + root)
            } else {
                0.0
            };
            self.next += self.of * self.random.as_mut().map_or(1.0, Random::exponential);
            return Some(line.from + f64_to_u64_saturating(at * 1e9).min(line.to - line.from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn spike() -> Ramp {
        let leg = |seconds: u64, to: f64| Leg {
            for_ns: seconds * S,
            to,
        };
        Ramp {
            start: 25.0,
            legs: vec![
                leg(30, 25.0),
                leg(10, 100.0),
                leg(30, 100.0),
                leg(10, 25.0),
                leg(30, 0.0),
            ],
        }
    }

    #[test]
    fn users_come_and_go_with_the_ramp() {
        let ramp = spike();
        let here = |at: u64| {
            (0..120)
                .filter(|i| ramp.presence(*i, at) == Presence::Here)
                .count()
        };
        assert_eq!(
            [
                0,
                29 * S,
                35 * S,
                40 * S,
                69 * S,
                75 * S,
                80 * S,
                95 * S,
                110 * S
            ]
            .map(here),
            [25, 25, 62, 100, 100, 62, 24, 12, 0]
        );
        assert_eq!(ramp.presence(99, 0), Presence::From(40 * S));
        assert_eq!(ramp.presence(99, 71 * S), Presence::Over);
        assert_eq!((ramp.peak(), ramp.total_ns()), (100.0, 110 * S));
    }

    #[test]
    fn a_jump_takes_no_time() {
        let ramp = Ramp {
            start: 0.0,
            legs: vec![Leg { for_ns: 0, to: 5.0 }, Leg { for_ns: S, to: 5.0 }],
        };
        assert_eq!(ramp.presence(4, 0), Presence::Here);
        assert_eq!(ramp.presence(5, 0), Presence::Over);
        assert_eq!(ramp.mean(), 5.0);
    }

    fn all(ramp: &Ramp, spacing: Spacing, workers: u32) -> Vec<u64> {
        let each = |worker: u32| {
            let mut schedule = Schedule::new(
                ramp,
                spacing,
                (worker, workers),
                0.0,
                Random::stream(3, u64::from(worker)),
            );
            std::iter::from_fn(move || schedule.next()).collect::<Vec<_>>()
        };
        let mut out: Vec<u64> = (0..workers).flat_map(each).collect();
        out.sort_unstable();
        out
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced_over_all_workers() {
        let due = all(&Ramp::constant(1000.0, 2 * S), Spacing::Constant, 3);
        assert_eq!((due.len(), due[0], due[1000]), (2000, 0, S));
        assert!(
            due.windows(2)
                .all(|pair| (999_990..=1_000_010).contains(&(pair[1] - pair[0])))
        );
    }

    #[test]
    fn what_is_due_after_so_many_arrivals_is_what_the_schedule_gives_then() {
        for (ramp, from) in [
            (spike(), 0),
            (spike(), 35 * S),
            (Ramp::constant(20.0, 9 * S), S),
        ] {
            let due = all(&ramp, Spacing::Constant, 1);
            let due: Vec<u64> = due.into_iter().filter(|at| *at >= from).collect();
            let told = (0..).map_while(|arrivals| ramp.due_after(from, arrivals));
            let told: Vec<u64> = told.collect();
            assert_eq!(told.len(), due.len());
            assert!(
                told.iter()
                    .zip(&due)
                    .all(|(one, other)| one.abs_diff(*other) < 10),
                "{ramp:?}"
            );
        }
    }

    #[test]
    fn a_rising_rate_has_the_area_under_it() {
        let ramp = Ramp {
            start: 0.0,
            legs: vec![
                Leg {
                    for_ns: 10 * S,
                    to: 200.0,
                },
                Leg {
                    for_ns: 5 * S,
                    to: 200.0,
                },
            ],
        };
        let due = all(&ramp, Spacing::Constant, 2);
        assert_eq!(due.len(), 2000);
        assert_eq!(due.iter().filter(|at| **at < 5 * S).count(), 250);
    }

    #[test]
    fn the_steps_of_a_search_do_not_all_have_too_few_arrivals() {
        let has_fewer = |rate: u32| {
            let ramp = Ramp::constant(f64::from(rate), S);
            let random = ramp.random(1, 0);
            let mut schedule = Schedule::new(&ramp, Spacing::Poisson, (0, 1), 0.0, random);
            let due = std::iter::from_fn(|| schedule.next()).count();
            due < rate as usize
        };
        let few = (20..60).filter(|rate| has_fewer(*rate)).count();
        assert!((8..=32).contains(&few), "{few} of 40");
    }

    #[test]
    fn poisson_gaps_vary_as_their_mean() {
        let due = all(&Ramp::constant(5000.0, 4 * S), Spacing::Poisson, 2);
        let n = due.len() as f64;
        assert!((n - 20_000.0).abs() < 5.0 * 20_000_f64.sqrt(), "{n}");
        let gaps: Vec<f64> = due
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((sd / mean - 1.0).abs() < 0.05, "{sd} {mean}");
    }

    proptest! {
        #[test]
        fn due_times_rise_and_stay_within_the_course(start in 0.0_f64..500.0, legs in prop::collection::vec((0_u64..3 * S, 0.0_f64..500.0), 1..4), poisson in any::<bool>()) {
            let ramp = Ramp { start, legs: legs.into_iter().map(|(for_ns, to)| Leg { for_ns, to }).collect() };
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Constant };
            let mut schedule = Schedule::new(&ramp, spacing, (0, 1), 0.0, Random::stream(1, 1));
            let due: Vec<u64> = std::iter::from_fn(|| schedule.next()).collect();
            prop_assert!(due.is_sorted() && due.last().is_none_or(|last| *last <= ramp.total_ns()));
            if !poisson {
                prop_assert!((due.len() as f64 - ramp.mean() * ramp.total_ns() as f64 / 1e9).abs() <= 1.0);
            }
        }

        #[test]
        fn a_user_that_waits_is_there_when_it_said(index in 0_u32..110, at in 0_u64..120 * S) {
            if let Presence::From(later) = spike().presence(index, at) {
                prop_assert!(later > at);
                prop_assert_eq!(spike().presence(index, later), Presence::Here);
            }
        }
    }
}
