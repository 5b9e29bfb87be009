//! A rank's part of a load. What names the whole load is divided: its rate, its objects, its turns;
//! what names a generator is each rank's own: users, threads, connections, pauses.

use crate::error::LoadError;
use crate::plan::{LoadPlan, WholeLoad};
use crate::ramp::Spacing;
use crate::scenario::Arrivals;
use std::sync::Arc;
use units::lossless::f64_to_u64_saturating;
use units::{Bytes, counted};

/// A rank's place among those that do one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadShare {
    pub rank: u32,
    pub size: u32,
}

impl Default for LoadShare {
    fn default() -> Self {
        Self { rank: 0, size: 1 }
    }
}

impl LoadShare {
    /// Which part of a whole of so many is this rank's; the first ranks have what is over.
    fn of(self, whole: u64) -> u64 {
        self.of_after(0, whole)
    }

    /// The same of what goes to the ranks in turn, the first of it to the one whose turn it is after so many.
    fn of_after(self, before: u64, whole: u64) -> u64 {
        let size = u64::from(self.size);
        let behind = (u64::from(self.rank) + size - before % size) % size;
        whole / size + u64::from(behind < whole % size)
    }

    /// The stream of chance of one of its own: no two ranks draw alike.
    pub(crate) fn stream(self, of: u32) -> u64 {
        u64::from(self.rank) << 32 | u64::from(of)
    }

    /// How much of the time between two arrivals its own come later than those of the first rank, so
    /// that the arrivals of all are evenly spaced.
    pub(crate) fn later(self) -> f64 {
        f64::from(self.rank) / f64::from(self.size)
    }
}

impl LoadPlan {
    /// The part of one rank.
    ///
    /// # Errors
    /// There is less than one of something for each.
    pub fn shared(&self, share: LoadShare) -> Result<Self, LoadError> {
        let mut out = self.clone();
        out.share = share;
        out.of_all = Some(Arc::new(WholeLoad {
            scenario: self.scenario.clone(),
            iterations: self.iterations,
        }));
        // The server sees the requests of all ranks, and each rank would count them as its own.
        out.server_counters &= share.size == 1;
        let size = u64::from(share.size);
        let too_few = |what: String| {
            LoadError::asked(format!(
                "{size} ranks share {what}; each needs one of its own: give more, or start fewer ranks"
            ))
        };
        if let Arrivals::Open { rate, .. } = &mut out.scenario.arrivals {
            *rate = rate.raised(1.0 / f64::from(share.size), |part| part);
        }
        for seed in &mut out.scenario.seeds {
            if seed.count > 0 && seed.count < size {
                let objects = counted(seed.count, "object");
                let size = Bytes(seed.size);
                return Err(too_few(format!(
                    "{objects} of {size} made before (--seeds)"
                )));
            }
            seed.count = share.of(seed.count);
        }
        if let Some(turns) = &mut out.iterations {
            if *turns < size {
                let turns = counted(*turns, "turn");
                return Err(too_few(format!("{turns} of --iterations")));
            }
            *turns = share.of_after(self.even_arrivals_before(), *turns);
        }
        Ok(out)
    }

    /// Evenly spaced arrivals before the measured time, each of which was the turn of the next rank. Those by chance
    /// have no order among ranks.
    fn even_arrivals_before(&self) -> u64 {
        match &self.scenario.arrivals {
            Arrivals::Open {
                rate,
                spacing: Spacing::Constant,
                ..
            } => {
                let all = rate.start * (self.warmup_ns as f64 / 1e9);
                // What falls on the edge is measured.
                f64_to_u64_saturating((all - 1e-6).ceil())
            }
            Arrivals::Open { .. } | Arrivals::Closed { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ramp::{Ramp, Schedule};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use units::random::Random;

    /// A download of which so much is asked.
    fn plan(words: &[(&str, &str)]) -> LoadPlan {
        let mut asked = crate::AskedLoad::default();
        for (name, text) in [("target", "http://h:1/x")].iter().chain(words) {
            let option = crate::LoadOption::named(name).unwrap();
            option.read(&mut asked, text).unwrap();
        }
        let scenario = crate::Scenario::preset("download").unwrap();
        asked.plan(scenario, crate::LoadKeys::default(), 4).unwrap()
    }

    #[test]
    fn a_part_says_of_what_is_divided_what_all_have() {
        let whole = plan(&[("rate", "300"), ("iterations", "31"), ("seeds", "200")]);
        let part = whole.shared(LoadShare { rank: 2, size: 3 }).unwrap();
        assert_eq!(part.iterations, Some(10));
        assert_eq!(part.effective(), whole.effective());
        assert!(whole.effective()["rate"].starts_with("300"));
    }

    #[test]
    fn fewer_of_a_thing_than_ranks_are_refused_and_one_is_no_several() {
        let refused = |seeds: &str, turns: &str| {
            let whole = plan(&[("seeds", seeds), ("iterations", turns)]);
            let error = whole.shared(LoadShare { rank: 0, size: 3 }).unwrap_err();
            error.to_string()
        };
        let objects = refused("1", "3");
        assert!(
            objects.starts_with("3 ranks share 1 object of "),
            "{objects}"
        );
        let turns = refused("60", "2");
        assert!(
            turns.starts_with("3 ranks share 2 turns of --iterations; each"),
            "{turns}"
        );
    }

    proptest! {
        #[test]
        fn parts_of_a_whole_are_the_whole(whole in 0_u64..10_000, size in 1_u32..200) {
            let parts: Vec<u64> = (0..size).map(|rank| LoadShare { rank, size }.of(whole)).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), whole);
            let most = parts.iter().max().unwrap();
            prop_assert!(parts.iter().all(|part| most - part <= 1));
        }

        #[test]
        fn even_arrivals_of_all_ranks_are_those_of_one_that_has_them_all(
            size in 1_u32..6,
            threads in 1_u32..4,
            rate in 1_u32..200,
        ) {
            let for_ns = 1_000_000_000;
            let arrivals = |rate: f64, share: LoadShare, threads: u32| -> Vec<u64> {
                let ramp = Ramp::constant(rate, for_ns);
                let mut all = Vec::new();
                for worker in 0..threads {
                    let random = Random::stream(1, 1);
                    let mut schedule = Schedule::new(
                        &ramp,
                        Spacing::Constant,
                        (worker, threads),
                        share.later(),
                        random,
                    );
                    all.extend(std::iter::from_fn(|| schedule.next()));
                }
                all
            };
            let rate = f64::from(rate * size);
            let mut whole = arrivals(rate, LoadShare::default(), 1);
            let mut parts: Vec<u64> = (0..size)
                .flat_map(|rank| arrivals(rate / f64::from(size), LoadShare { rank, size }, threads))
                .collect();
            whole.sort_unstable();
            parts.sort_unstable();
            prop_assert_eq!(whole.len(), parts.len());
            prop_assert!(whole.iter().zip(&parts).all(|(one, other)| one.abs_diff(*other) < 10));
        }

        #[test]
        fn turns_of_all_ranks_are_the_arrivals_that_follow_the_warm_up(
            size in 1_u32..6,
            threads in 1_u32..4,
            rate in 1_u32..200,
            warmup_tenths in 0_u64..40,
            turns in 6_u64..300,
        ) {
            let (rate_text, turns_text) = (rate.to_string(), turns.to_string());
            // Many of these end where an arrival is due.
            let warmup_ms = warmup_tenths * 100;
            let warmup_text = format!("{warmup_ms}ms");
            let whole = plan(&[
                ("rate", &rate_text),
                ("arrival", "constant"),
                ("duration", "400s"),
                ("warmup", &warmup_text),
                ("iterations", &turns_text),
                ("seeds", "200"),
            ]);
            let warmup_ns = warmup_ms * 1_000_000;
            let measured = |part: &LoadPlan, threads: u32| -> Vec<u64> {
                let scenario = part.scenario.after_warmup(warmup_ns);
                let Arrivals::Open { rate, spacing, .. } = &scenario.arrivals else {
                    panic!("it has a rate");
                };
                let mut all = Vec::new();
                for worker in 0..threads {
                    let (later, random) = (part.share.later(), Random::stream(1, 1));
                    let mut schedule = Schedule::new(rate, *spacing, (worker, threads), later, random);
                    let due = std::iter::from_fn(|| schedule.next());
                    let due = due.map(|due| crate::worker::rounded(due, warmup_ns));
                    all.extend(due.skip_while(|at| *at < warmup_ns).take(300));
                }
                all.sort_unstable();
                all.truncate(usize::try_from(part.iterations.unwrap()).unwrap());
                all
            };
            let mut parts = Vec::new();
            for rank in 0..size {
                parts.extend(measured(&whole.shared(LoadShare { rank, size }).unwrap(), threads));
            }
            parts.sort_unstable();
            let whole = measured(&whole, 1);
            prop_assert_eq!(whole.len(), parts.len());
            let far = whole.iter().zip(&parts).find(|(one, other)| one.abs_diff(**other) >= 10);
            prop_assert!(far.is_none(), "{:?}", far);
        }

        #[test]
        fn arrivals_by_chance_of_all_ranks_are_streams_of_their_own_and_add_up_to_the_rate(
            size in 1_u32..6,
            threads in 1_u32..4,
            rate in 500_u32..3000,
            turns in 6_u64..10_000,
            seed in any::<u64>(),
        ) {
            let (rate_text, turns_text) = (rate.to_string(), turns.to_string());
            let whole = plan(&[
                ("rate", &rate_text),
                ("arrival", "poisson"),
                ("duration", "1s"),
                ("iterations", &turns_text),
                ("seeds", "200"),
            ]);
            let (mut per_second, mut of_turns, mut all) = (0.0, 0, Vec::new());
            let mut begins = HashSet::new();
            for rank in 0..size {
                let part = whole.shared(LoadShare { rank, size }).unwrap();
                let Arrivals::Open { rate, spacing, .. } = &part.scenario.arrivals else {
                    panic!("it has a rate");
                };
                prop_assert_eq!(*spacing, Spacing::Poisson);
                prop_assert_eq!(rate.total_ns(), 1_000_000_000);
                per_second += rate.mean();
                of_turns += part.iterations.unwrap();
                for worker in 0..threads {
                    let random = rate.random(seed, part.share.stream(worker));
                    let later = part.share.later();
                    let place = (worker, threads);
                    let mut schedule = Schedule::new(rate, *spacing, place, later, random);
                    let own: Vec<u64> = std::iter::from_fn(|| schedule.next()).collect();
                    begins.insert(own[..3].to_vec());
                    all.extend(own);
                }
            }
            let asked = f64::from(rate);
            prop_assert!((per_second - asked).abs() < 1e-6 * asked, "{}", per_second);
            prop_assert_eq!(of_turns, turns);
            prop_assert_eq!(begins.len(), (size * threads) as usize, "two draw alike");
            let beyond = (all.len() as f64 - asked).abs() / asked.sqrt();
            prop_assert!(beyond < 7.0, "{} of {}", all.len(), asked);
        }
    }
}
