//! Which part of a workload is a rank's.
//!
//! A group of ranks does one workload together. Its workers are numbered through: rank 1 of ranks
//! with four workers each begins with worker 4. Whatever a worker's part depends on (the blocks, bytes
//! and names that are dealt out, the seeds of what it draws, the moment of its first operation)
//! depends on this number and on how many workers there are, so that it makes no difference how the
//! workers are spread over hosts.

use crate::{SpecError, Workload};
use std::fmt;
use std::ops::Range;
use units::random::split_mix;

/// The most ranks of a group, and the most workers of all of them together.
const MOST: u32 = 1 << 24;

/// One process of a group, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    number: u32,
    size: u32,
    /// Its number among the ranks that use its target, and how many these are; `None`: all do.
    at_target: Option<(u32, u32)>,
}

impl Default for Rank {
    /// The only one.
    fn default() -> Self {
        Self {
            number: 0,
            size: 1,
            at_target: None,
        }
    }
}

impl Rank {
    /// # Errors
    /// A group of none, or a number that its ranks do not have.
    pub fn new(number: u32, size: u32) -> Result<Self, SpecError> {
        if number < size && size <= MOST {
            return Ok(Self {
                number,
                size,
                at_target: None,
            });
        }
        let reason = match size {
            0 => "a group has at least one rank; write 0/1 for the only one".to_owned(),
            _ if size > MOST => format!("a group has at most {MOST} ranks"),
            _ => format!(
                "ranks are numbered from 0, so that the last of {size} is {}/{size}",
                size - 1
            ),
        };
        Err(SpecError::Value {
            key: "rank".into(),
            reason: format!("{number}/{size}: {reason}"),
        })
    }

    /// Reads `NUMBER/SIZE`; `given` is the number that stands for `auto`, where something outside
    /// numbers the processes.
    ///
    /// # Errors
    /// Another form, or as [`Rank::new`].
    pub fn parse(text: &str, given: Option<&str>) -> Result<Self, SpecError> {
        let wrong = |reason: &str| SpecError::Value {
            key: "rank".into(),
            reason: format!("{text:?} {reason}"),
        };
        let form = || wrong("is not NUMBER/SIZE, such as 3/8: rank 3 of 8, counted from 0");
        let (number, size) = text.trim().split_once('/').ok_or_else(form)?;
        let number = match (number.trim(), given) {
            ("auto", Some(given)) => given.trim(),
            ("auto", None) => {
                return Err(wrong(
                    "takes the number from JOB_COMPLETION_INDEX, which is not set; write it, as in 3/8",
                ));
            }
            (number, _) => number,
        };
        let read = |text: &str| {
            let digits = text.trim();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| is_number)
        };
        let (number, size) = read(number).zip(read(size)).ok_or_else(form)?;
        Self::new(number, size)
    }

    /// The same, where hosts have targets of their own under the name that all have: it is number
    /// `place` of `of` ranks that use its target.
    #[must_use]
    pub fn at_target(self, place: u32, of: u32) -> Self {
        let at_target = Some((place, of)).filter(|_| place < of);
        Self { at_target, ..self }
    }

    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// Ranks of the group.
    #[must_use]
    pub fn size(self) -> u32 {
        self.size
    }

    /// Its number among the ranks that use its target, and how many these are.
    #[must_use]
    pub fn place_at_target(self) -> (u32, u32) {
        self.at_target.unwrap_or((self.number, self.size))
    }

    /// Whether there are others.
    #[must_use]
    pub fn has_others(self) -> bool {
        self.size > 1
    }

    /// The one whose part it uses.
    #[must_use]
    fn shifted(self, shift: Shift, seed: u64) -> Self {
        let number = match shift {
            Shift::By(by) => {
                let number = (u64::from(self.number) + u64::from(by)) % u64::from(self.size);
                u32::try_from(number).ok()
            }
            Shift::Random => in_one_round(self.size, seed)
                .get(self.number as usize)
                .copied(),
        };
        Self {
            number: number.unwrap_or(self.number),
            ..self
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.size)
    }
}

/// Whose part of the target a rank uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// That of the rank so many further on; after the last comes the first.
    By(u32),
    /// That of another rank, drawn from the seed.
    Random,
}

impl Shift {
    /// # Errors
    /// It is neither a number of ranks nor `random`.
    pub fn parse(key: &str, text: &str) -> Result<Self, SpecError> {
        if text == "random" {
            return Ok(Self::Random);
        }
        let number = text.parse().ok().filter(|by| *by <= MOST);
        number.map(Self::By).ok_or_else(|| SpecError::Value {
            key: key.into(),
            reason: format!("{text:?} is neither a number of ranks, at most {MOST}, nor `random`"),
        })
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(by) => write!(f, "{by}"),
            Self::Random => f.write_str("random"),
        }
    }
}

/// For each of so many the next in one round through all of them (Sattolo), so that nobody is its
/// own.
fn in_one_round(size: u32, seed: u64) -> Vec<u32> {
    let mut next: Vec<u32> = (0..size).collect();
    for last in (1..next.len()).rev() {
        let drawn = split_mix(seed.wrapping_add(last as u64)) % last as u64;
        next.swap(last, units::lossless::to_usize(drawn));
    }
    next
}

/// The part of a rank of a workload that all ranks of its group do together.
///
/// # Errors
/// More workers than can be numbered, or fewer names of metadata operations than ranks of its target.
pub fn share(whole: &Workload, rank: Rank) -> Result<Workload, SpecError> {
    if u64::from(whole.threads) * u64::from(rank.size) > u64::from(MOST) {
        return Err(SpecError::Conflict(format!(
            "--threads {} on each of {} ranks are more than {MOST} workers; give fewer",
            whole.threads, rank.size
        )));
    }
    enough_names(whole, rank)?;
    Ok(Workload {
        rank: rank.shifted(whole.shift.unwrap_or(Shift::By(0)), whole.seed),
        ..whole.clone()
    })
}

/// Fails where names of metadata operations are dealt out, and some rank would have none.
fn enough_names(whole: &Workload, rank: Rank) -> Result<(), SpecError> {
    let (files, targets) = (&whole.files, units::lossless::to_u64(whole.targets.len()));
    let of_directories = files.num_files.filter(|_| !files.are_owned());
    let (count, option) = match (files.total_files, of_directories) {
        (Some(total), _) => (total, "--total-files"),
        (None, Some(each)) => {
            let all = u64::from(each).saturating_mul(files.directories());
            (all.saturating_mul(targets.max(1)), "--num-files")
        }
        (None, None) => return Ok(()),
    };
    let (_, ranks) = rank.place_at_target();
    if files.meta.is_empty() || files.layout_manifest.is_some() || count >= u64::from(ranks) {
        return Ok(());
    }
    Err(SpecError::Conflict(format!(
        "{ranks} ranks share {} of {option}, and each needs one; give more files, or start fewer ranks",
        units::counted(count, "file")
    )))
}

/// The workers of a rank among those of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    first: u32,
    own: u32,
    all: u32,
}

impl Seats {
    /// Of a rank with so many workers, as every other has.
    #[must_use]
    pub fn of(rank: Rank, workers: u32) -> Self {
        Self {
            first: rank.number.saturating_mul(workers),
            own: workers,
            all: rank.size.saturating_mul(workers),
        }
    }

    /// The number in the group of one of the rank's own workers.
    #[must_use]
    pub fn number(self, worker: u32) -> u32 {
        self.first.saturating_add(worker)
    }

    /// Workers of the whole group.
    #[must_use]
    pub fn all(self) -> u32 {
        self.all
    }

    /// The numbers of the rank's own workers.
    #[must_use]
    pub fn own(self) -> Range<u32> {
        self.first..self.number(self.own)
    }

    /// What a worker has of `total` things that are dealt out to all workers in equal, disjoint
    /// ranges.
    #[must_use]
    pub fn part(self, total: u64, worker: u32) -> Range<u64> {
        part(total, self.number(worker), self.all)
    }

    /// What a worker has of `total` things that all workers take by turns.
    #[must_use]
    pub fn turns(self, total: u64, worker: u32) -> ByTurns {
        ByTurns::of(total, self.number(worker), self.all)
    }

    /// How much of one turn of all workers has passed when it is this one's: constant arrivals are
    /// combed.
    #[must_use]
    pub fn phase(self, worker: u32) -> f64 {
        f64::from(self.number(worker)) / f64::from(self.all.max(1))
    }
}

/// Part `index` of `of` equal, disjoint ranges that cover `total`.
#[must_use]
pub fn part(total: u64, index: u32, of: u32) -> Range<u64> {
    let cut = |i: u32| {
        let below = u128::from(total) * u128::from(i) / u128::from(of.max(1));
        u64::try_from(below).unwrap_or(total)
    };
    cut(index)..cut(index.saturating_add(1))
}

/// Things that are taken by turns: the first, and every so many-th after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTurns {
    pub first: u64,
    pub step: u64,
    pub count: u64,
}

impl ByTurns {
    /// Those of the one with number `index` among `of`: the i-th thing is that of number i modulo
    /// `of`.
    #[must_use]
    pub fn of(total: u64, index: u32, of: u32) -> Self {
        let step = u64::from(of.max(1));
        let first = u64::from(index);
        Self {
            first,
            step,
            count: total.saturating_sub(first).div_ceil(step),
        }
    }

    /// The number among all of the one that is taken after `taken` others, as long as there is one.
    #[must_use]
    pub fn nth(self, taken: u64) -> Option<u64> {
        (taken < self.count).then(|| self.first + taken * self.step)
    }
}

impl Workload {
    /// Its workers among those of the group.
    #[must_use]
    pub fn seats(&self) -> Seats {
        Seats::of(self.rank, self.threads)
    }

    /// Its workers among those that use the same target, whose blocks are dealt out to all of them.
    #[must_use]
    pub fn seats_at_target(&self) -> Seats {
        let (number, size) = self.rank.place_at_target();
        let rank = Rank {
            number,
            size,
            at_target: None,
        };
        Seats::of(rank, self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The seats of all ranks.
    fn group(size: u32, workers: u32) -> impl Iterator<Item = Seats> {
        (0..size).map(move |number| Seats::of(Rank::new(number, size).unwrap(), workers))
    }

    #[test]
    fn blocks_of_a_target_of_its_own_are_dealt_out_to_a_rank_s_own_workers() {
        let whole = Workload {
            threads: 4,
            ..Workload::default()
        };
        let rank = Rank::new(1, 3).unwrap();
        let of_all = share(&whole, rank).unwrap();
        assert_eq!(of_all.seats_at_target(), of_all.seats());
        let beside = share(&whole, rank.at_target(1, 2)).unwrap();
        assert_eq!(beside.seats_at_target().own(), 4..8);
        assert_eq!(beside.seats_at_target().all(), 8);
        let own = share(&whole, rank.at_target(0, 1)).unwrap();
        assert_eq!(own.seats_at_target().own(), 0..4);
        assert_eq!(own.seats_at_target().all(), 4);
        assert_eq!(
            own.seats(),
            of_all.seats(),
            "seeds and the names of what is its own are of all"
        );
    }

    #[test]
    fn names_of_metadata_operations_are_enough_for_every_rank() {
        let mut whole = Workload::default();
        whole.files.total_files = Some(3);
        let rank = Rank::new(1, 4).unwrap();
        assert!(share(&whole, rank).is_ok(), "it does nothing with names");
        crate::settings::apply(&mut whole, "meta", "create,unlink").unwrap();
        let why = share(&whole, rank).unwrap_err().to_string();
        assert!(why.starts_with("4 ranks share 3 files"), "{why}");
        assert!(share(&whole, Rank::new(1, 3).unwrap()).is_ok());
        let own = |ranks| share(&whole, rank.at_target(0, ranks));
        assert!(own(1).is_ok(), "each target has all names");
        assert!(own(3).is_ok());
        assert!(own(4).is_err());
    }

    #[test]
    fn names_of_metadata_operations_are_counted_over_the_directories_that_hold_them() {
        let refused = |settings: &[(&str, &str)]| {
            let mut whole = Workload {
                targets: vec!["/d".into()],
                ..Workload::default()
            };
            for (key, value) in [&[("meta", "create,unlink")], settings].concat() {
                crate::settings::apply(&mut whole, key, value).unwrap();
            }
            let refused = share(&whole, Rank::new(1, 4).unwrap()).err();
            refused.map(|why| why.to_string())
        };
        let why = refused(&[("num-files", "3")]).unwrap();
        assert_eq!(
            why,
            "4 ranks share 3 files of --num-files, and each needs one; give more files, or start fewer ranks"
        );
        assert!(refused(&[("num-files", "1"), ("num-dirs", "3")]).is_some());
        let tree = [("num-files", "1"), ("dir-depth", "2"), ("dir-width", "2")];
        for enough in [
            &[("num-files", "4")][..],
            &[("num-files", "2"), ("num-dirs", "2")],
            &tree,
            &[("num-files", "1"), ("dirs", "own")],
            &[("num-files", "1"), ("layout-manifest", "m")],
        ] {
            assert_eq!(refused(enough), None, "{enough:?}");
        }
        assert!(refused(&tree[..2]).is_some(), "one directory below another");
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_and_their_union_is_the_whole(total in any::<u64>(), size in 1_u32..40, workers in 1_u32..20) {
            let mut end = 0;
            for seats in group(size, workers) {
                for worker in 0..workers {
                    let part = seats.part(total, worker);
                    prop_assert_eq!(part.start, end);
                    let fair = total / u64::from(size * workers);
                    prop_assert!((fair..=fair + 1).contains(&(part.end - part.start)));
                    end = part.end;
                }
            }
            prop_assert_eq!(end, total);
        }

        #[test]
        fn it_makes_no_difference_how_workers_are_spread_over_ranks(total in any::<u64>(), size in 1_u32..12, workers in 1_u32..12) {
            let alone = Seats::of(Rank::default(), size * workers);
            let spread: Vec<_> = group(size, workers)
                .flat_map(|seats| (0..workers).map(move |worker| (seats.number(worker), seats.part(total, worker), seats.phase(worker))))
                .collect();
            let together: Vec<_> = (0..size * workers)
                .map(|worker| (alone.number(worker), alone.part(total, worker), alone.phase(worker)))
                .collect();
            prop_assert_eq!(spread, together);
            prop_assert!(group(size, workers).all(|seats| seats.all() == alone.all()));
        }

        #[test]
        fn turns_are_disjoint_and_their_union_is_the_whole(total in 0_u64..5000, size in 1_u32..12, workers in 1_u32..8) {
            let alone = Seats::of(Rank::default(), size * workers);
            let mut taken = Vec::new();
            for (seats, rank) in group(size, workers).zip(0_u32..) {
                for worker in 0..workers {
                    let turns = seats.turns(total, worker);
                    prop_assert_eq!(turns, alone.turns(total, rank * workers + worker));
                    let of_worker: Vec<u64> = (0..).map_while(|number| turns.nth(number)).collect();
                    prop_assert_eq!(of_worker.len() as u64, turns.count);
                    let number = u64::from(seats.number(worker));
                    prop_assert!(of_worker.iter().all(|i| i % u64::from(seats.all()) == number));
                    taken.extend(of_worker);
                }
            }
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..total).collect::<Vec<u64>>());
        }

        #[test]
        fn combed_arrivals_are_evenly_spaced(size in 1_u32..30, workers in 1_u32..8) {
            let mut phases: Vec<f64> = group(size, workers).flat_map(|seats| (0..workers).map(move |worker| seats.phase(worker))).collect();
            phases.sort_by(f64::total_cmp);
            let step = 1.0 / f64::from(size * workers);
            for (phase, number) in phases.iter().zip(0_u32..) {
                prop_assert!((phase - f64::from(number) * step).abs() < 1e-12);
            }
        }

        #[test]
        fn a_rank_reads_back(number in 0_u32..1000, more in 1_u32..1000) {
            let rank = Rank::new(number, number + more).unwrap();
            prop_assert_eq!(Rank::parse(&rank.to_string(), None).unwrap(), rank);
            prop_assert_eq!(Rank::parse(&format!("auto/{}", rank.size()), Some(&number.to_string())).unwrap(), rank);
        }
    }

    #[test]
    fn what_is_no_rank_is_refused_with_what_would_be_one() {
        let refused = |text: &str| Rank::parse(text, None).unwrap_err().to_string();
        assert_eq!(
            refused("8/8"),
            "--rank: 8/8: ranks are numbered from 0, so that the last of 8 is 7/8"
        );
        assert_eq!(
            refused("3/0"),
            "--rank: 3/0: a group has at least one rank; write 0/1 for the only one"
        );
        for text in [
            "",
            "3",
            "a/8",
            "-1/8",
            "+1/8",
            "1/2/3",
            "1/99999999999",
            "/8",
        ] {
            assert!(refused(text).contains("is not NUMBER/SIZE"), "{text}");
        }
        assert!(refused("auto/8").contains("JOB_COMPLETION_INDEX"));
        assert!(refused("0/4294967295").contains("at most"));
    }

    #[test]
    fn a_shift_gives_every_rank_what_belongs_to_another_and_leaves_nothing_out() {
        let seats = |shift, number| {
            let whole = Workload {
                threads: 2,
                shift: Some(Shift::By(shift)),
                ..Workload::default()
            };
            let own = share(&whole, Rank::new(number, 3).unwrap()).unwrap();
            own.seats().own()
        };
        let of_all = |shift| [0, 1, 2].map(|number| seats(shift, number));
        assert_eq!(of_all(0), [0..2, 2..4, 4..6]);
        assert_eq!(of_all(1), [2..4, 4..6, 0..2]);
        assert_eq!(of_all(3), of_all(0));
        assert_eq!(of_all(u32::MAX), of_all(u32::MAX % 3));
    }

    #[test]
    fn a_random_shift_gives_every_rank_the_part_of_another_and_leaves_nothing_out() {
        let numbers = |size: u32, seed| {
            let whole = Workload {
                shift: Some(Shift::Random),
                seed,
                ..Workload::default()
            };
            let own = (0..size).map(|number| {
                let own = share(&whole, Rank::new(number, size).unwrap()).unwrap();
                own.rank.number()
            });
            own.collect::<Vec<_>>()
        };
        for (size, seed) in [(2, 1), (3, 1), (16, 7), (1000, 9)] {
            let drawn = numbers(size, seed);
            assert!(
                drawn
                    .iter()
                    .zip(0..)
                    .all(|(whose, number)| *whose != number)
            );
            let mut sorted = drawn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..size).collect::<Vec<_>>());
            assert_eq!(drawn, numbers(size, seed), "all ranks draw the same");
        }
        assert_ne!(numbers(16, 7), numbers(16, 8));
        assert_eq!(numbers(1, 7), [0]);
    }

    #[test]
    fn a_shift_reads_back() {
        for shift in [Shift::By(0), Shift::By(3), Shift::Random] {
            assert_eq!(Shift::parse("shift", &shift.to_string()).unwrap(), shift);
        }
        for text in ["", "-1", "randomly", "99999999999", "1.5"] {
            let error = Shift::parse("shift", text).unwrap_err().to_string();
            assert!(error.contains("nor `random`"), "{error}");
        }
    }

    #[test]
    fn more_workers_than_can_be_numbered_are_refused() {
        let whole = Workload {
            threads: 1 << 20,
            ..Workload::default()
        };
        assert!(share(&whole, Rank::new(3, 16).unwrap()).is_ok());
        let error = share(&whole, Rank::new(3, 17).unwrap()).unwrap_err();
        assert!(error.to_string().contains("workers"), "{error}");
    }
}
