//! The time in which workers worked.

use crate::tally::Tally;

/// From the first start to the last end of those that had work, on the clock of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkedTime {
    pub(super) began: u64,
    pub(super) ended: u64,
}

/// Of workers those that had work: to the others nothing fell, and they count only where nothing fell to
/// anybody.
pub(super) fn at_work<'t>(tallies: impl Iterator<Item = &'t Tally>) -> Vec<&'t Tally> {
    let (idle, worked): (Vec<_>, Vec<_>) = tallies.partition(|tally| tally.is_idle);
    if worked.is_empty() { idle } else { worked }
}

impl WorkedTime {
    /// Of workers that said so themselves, and of one that was given up, which worked for as long as it
    /// was looked at; `None` where nobody began.
    pub(super) fn of<'t>(
        tallies: impl Iterator<Item = &'t Tally>,
        given_up: Option<(u64, u64)>,
    ) -> Option<Self> {
        let counts = |tally: &&Tally| given_up.is_none() || !tally.is_idle;
        let own = at_work(tallies).into_iter().filter(counts);
        let own = own.map(|tally| (tally.started, tally.ended));
        let times = own.chain(given_up);
        let times = times.map(|(began, ended)| Self { began, ended });
        times.reduce(|all, one| Self {
            began: all.began.min(one.began),
            ended: all.ended.max(one.ended),
        })
    }

    pub(super) fn length_ns(self) -> u64 {
        self.ended.saturating_sub(self.began)
    }

    /// A moment of a worker, from the start of all.
    pub(super) fn since_began(self, moment: u64) -> u64 {
        moment.saturating_sub(self.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn worker((started, ended): (u64, u64), is_idle: bool) -> Tally {
        let mut tally = Tally::default();
        (tally.started, tally.ended, tally.is_idle) = (started, ended, is_idle);
        tally
    }

    fn times() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let time = (0..1000_u64, 0..1000_u64).prop_map(|(began, long)| (began, began + long));
        proptest::collection::vec(time, 1..8)
    }

    proptest! {
        #[test]
        fn workers_to_which_nothing_fell_change_no_time(
            worked in times(),
            idle in times(),
            given_up in proptest::option::of((0..500_u64, 500..3000_u64)),
        ) {
            let of = |idle: &[(u64, u64)]| {
                let all = worked.iter().map(|time| worker(*time, false));
                let all: Vec<_> = all.chain(idle.iter().map(|time| worker(*time, true))).collect();
                let times = at_work(all.iter()).into_iter().map(|own| (own.started, own.ended));
                prop_assert_eq!(times.collect::<Vec<_>>(), worked.clone());
                Ok(WorkedTime::of(all.iter(), given_up))
            };
            let alone = of(&[])?;
            prop_assert_eq!(of(&idle)?, alone);
            let all = worked.iter().copied().chain(given_up);
            let began = all.clone().map(|(began, _)| began).min();
            let ended = all.map(|(_, ended)| ended).max();
            prop_assert_eq!(alone.map(|time| time.began), began);
            prop_assert_eq!(alone.map(|time| time.ended), ended);
        }
    }

    #[test]
    fn where_nothing_fell_to_anybody_all_count_unless_one_was_given_up() {
        let idle = [worker((3, 4), true), worker((7, 9), true)];
        let time = |began, ended| Some(WorkedTime { began, ended });
        assert_eq!(WorkedTime::of(idle.iter(), None), time(3, 9));
        assert_eq!(WorkedTime::of(idle.iter(), Some((5, 80))), time(5, 80));
        assert_eq!(WorkedTime::of([].iter(), None), None);
    }
}
