//! How workers followed the schedule of an open loop, by the schedule itself: nothing of it is chance.

use crate::{Record, Status, WorkerAccount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::lossless::{f64_to_u64_saturating, to_u64, u64_to_f64};

/// How one worker followed its schedule; in nanoseconds of its measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerSchedule {
    /// How long after the common start it began to follow it.
    pub late_ns: u64,
    /// What it began was due over so long.
    pub begun_ns: u64,
    /// What it began is due over so long in the mean: another time where chance draws the gaps.
    pub mean_ns: u64,
    /// How much further it was behind its schedule in the end than in the beginning, beyond a tenth of a gap (a gap, where
    /// chance draws them): of parts that follow each other the sum.
    pub behind_ns: u64,
    /// How much further it was behind in the beginning: what a warm-up left was begun in the measured time.
    pub before_ns: u64,
    /// How long nothing was due of it in between, as it waited for others.
    pub waited_ns: u64,
    /// The mean gap between two operations.
    pub gap_ns: u64,
    /// Kinds or passes that followed each other: of each a worker has one operation less than others where they do not
    /// come out even.
    pub parts: u64,
    pub end: ScheduleEnd,
}

/// What ended a worker's schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleEnd {
    /// Its time was over, or it failed or was told to stop.
    #[default]
    Time,
    /// It had begun all that it had to.
    Done,
    /// Nothing was due of it until the others ended: it waited for them.
    Released,
}

/// What several workers kept of their schedules, as shares of the time in which something was asked of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptSchedule {
    /// What was begun of what was due: below 1 something was begun too late or never.
    pub share: f64,
    /// What was begun beside that and had been due before. What one worker had too much of pays for no other's.
    pub surplus: f64,
}

impl KeptSchedule {
    /// What differs by so much from all of a schedule is all of it.
    pub const TOLERANCE: f64 = 0.005;

    /// What was kept, in one number: beyond 1 there was too much, and nothing was missing.
    #[must_use]
    pub fn judged(self) -> f64 {
        match self.share < 1.0 - Self::TOLERANCE {
            true => self.share,
            false => self.share + self.surplus,
        }
    }

    #[must_use]
    pub fn is_all(self) -> bool {
        (self.judged() - 1.0).abs() <= Self::TOLERANCE
    }
}

/// What the workers of these hosts kept: hosts have equal shares of a rate, and on each its workers. Each owes what was
/// due of it in its own time, late or not. Who has less to do than another owes as much in the mean, and where
/// somebody was ended before the others, by no signal to all, the rest of their time; an operation, which lasts no longer
/// than `largest_ns` of the schedule where chance draws sizes, is none. `None` where they were followed for no time.
fn kept(
    hosts: &[Vec<WorkerSchedule>],
    some_ended_early: bool,
    largest_ns: u64,
) -> Option<KeptSchedule> {
    let workers = || hosts.iter().flatten();
    let own_time = |own: &WorkerSchedule| {
        let parts = [own.late_ns, own.work_ns(), own.behind_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    };
    // Of a time that is over chance may have asked for more.
    let most_work = workers().map(|own| match own.end {
        ScheduleEnd::Time => own.mean_ns.min(own.begun_ns),
        ScheduleEnd::Done | ScheduleEnd::Released => own.mean_ns,
    });
    let most_work = most_work.max().unwrap_or_default();
    let until = |own: &WorkerSchedule| own_time(own).saturating_add(own.waited_ns);
    // After the last of its work nothing is due of anybody.
    let longest = workers().map(|own| match own.end {
        ScheduleEnd::Time => until(own),
        ScheduleEnd::Done | ScheduleEnd::Released => until(own).saturating_sub(own.gap_ns),
    });
    let longest = longest.max().unwrap_or_default();
    let rest_ns = |own: &WorkerSchedule| match own.end {
        ScheduleEnd::Time if some_ended_early => {
            let rest_ns = longest.saturating_sub(until(own));
            if rest_ns > own.gap_ns { rest_ns } else { 0 }
        }
        ScheduleEnd::Done => {
            let less_ns = most_work.saturating_sub(own.mean_ns);
            let one = own.gap_ns.max(largest_ns);
            let one_of_each = one.saturating_mul(own.parts);
            // Whole nanoseconds of each are not those of all, and two operations are no part of one.
            match less_ns > one_of_each.saturating_add(one / 2) {
                true => most_work.saturating_sub(own_time(own)),
                false => 0,
            }
        }
        ScheduleEnd::Time | ScheduleEnd::Released => 0,
    };
    let time = |own: &WorkerSchedule| {
        let asked_ns = own_time(own).saturating_add(rest_ns(own));
        [asked_ns, own.work_ns(), own.before_ns].map(u64_to_f64)
    };
    let all = mean(hosts.iter().map(|own| mean(own.iter().map(time))));
    let [asked_ns, begun_ns, before_ns] = all;
    (asked_ns > 0.0).then(|| KeptSchedule {
        share: begun_ns / asked_ns,
        surplus: before_ns / asked_ns,
    })
}

impl WorkerSchedule {
    /// What it began is due over so long: in the mean where the work ended it and no time.
    fn work_ns(&self) -> u64 {
        match self.end {
            ScheduleEnd::Done => self.mean_ns,
            ScheduleEnd::Time | ScheduleEnd::Released => self.begun_ns,
        }
    }
}

fn mean(times: impl ExactSizeIterator<Item = [f64; 3]>) -> [f64; 3] {
    let count = u64_to_f64(to_u64(times.len().max(1)));
    let sum = times.fold([0.0; 3], |[a, b, c], [d, e, f]| [a + d, b + e, c + f]);
    sum.map(|sum| sum / count)
}

impl Record {
    /// What was kept of the schedules of all workers. `None` without a schedule, and where a worker, or a host for its
    /// workers, does not say how it was followed.
    #[must_use]
    pub fn kept_schedule(&self) -> Option<KeptSchedule> {
        self.pace.as_ref()?;
        let mut hosts: BTreeMap<u32, Vec<WorkerSchedule>> = BTreeMap::new();
        let work = self.work();
        let kinds = self.operations.but_flushes();
        let kinds = kinds.filter(|(_, of)| of.count.saturating_add(of.errors) > 0);
        let kinds = to_u64(kinds.count());
        let own = |worker: &WorkerAccount| {
            let mut schedule = worker.schedule?;
            // Of kinds by turns, too, a worker has one operation of each less, as of those that follow each other.
            schedule.parts = schedule.parts.max(kinds);
            if let Work::OfBytes { per_byte, .. } = work {
                schedule.mean_ns = f64_to_u64_saturating(u64_to_f64(worker.bytes) * per_byte);
            }
            Some((worker.host, schedule))
        };
        let said: Option<Vec<_>> = self.workers.iter().map(own).collect();
        for (host, schedule) in said? {
            hosts.entry(host).or_default().push(schedule);
        }
        // What was kept of one that was lost on the way has no workers.
        let measured = self
            .host_parts()
            .into_iter()
            .filter(|own| own.part.has_begun());
        if measured.count() > hosts.len() {
            return None;
        }
        let hosts: Vec<Vec<WorkerSchedule>> = hosts.into_values().collect();
        let is_apart = self.group.as_ref().is_some_and(|of| !of.is_connected());
        let some_ended_early = match self.outcome.status {
            Status::Ok => false,
            Status::Interrupted => is_apart,
            Status::Failed | Status::Incomplete | Status::Apart => true,
        };
        let largest_ns = match work {
            Work::OfBytes { largest_ns, .. } => largest_ns,
            Work::OfOperations => 0,
            Work::Unknown => u64::MAX,
        };
        kept(&hosts, some_ended_early, largest_ns)
    }

    /// Of equal work each worker has drawn another number of operations where chance draws sizes, and began fewer of them the
    /// more a warm-up had left in flight.
    fn work(&self) -> Work {
        let is_of_names = self.effective.contains_key("meta");
        let work = self.workers.iter().map(|worker| {
            let mean_ns = worker.schedule.map_or(0, |own| own.mean_ns);
            [mean_ns, worker.bytes].map(u64_to_f64)
        });
        let [mean_ns, bytes] = work.fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        let largest = self.largest_drawn();
        let per_byte = mean_ns / bytes;
        match self.operations.errors() > 0 {
            _ if is_of_names || bytes == 0.0 => Work::OfOperations,
            // What failed has no bytes.
            true if largest.is_some() || self.has_warmup() => Work::Unknown,
            true => Work::OfOperations,
            false => Work::OfBytes {
                per_byte,
                largest_ns: f64_to_u64_saturating(u64_to_f64(largest.unwrap_or(0)) * per_byte),
            },
        }
    }
}

/// What tells how much work each worker had.
#[derive(Clone, Copy, Debug)]
enum Work {
    OfBytes {
        /// Nanoseconds of a schedule in the mean.
        per_byte: f64,
        /// What the largest operation takes of a schedule, where chance draws sizes; else 0.
        largest_ns: u64,
    },
    OfOperations,
    /// Nobody is known to have had less than another.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GAP: u64 = 10;

    fn own(end: ScheduleEnd, begun_ns: u64, behind_ns: u64) -> WorkerSchedule {
        WorkerSchedule {
            begun_ns,
            mean_ns: begun_ns,
            behind_ns,
            gap_ns: GAP,
            parts: 1,
            end,
            ..WorkerSchedule::default()
        }
    }

    fn time(begun_ns: u64, behind_ns: u64) -> WorkerSchedule {
        own(ScheduleEnd::Time, begun_ns, behind_ns)
    }

    fn done(begun_ns: u64, behind_ns: u64) -> WorkerSchedule {
        own(ScheduleEnd::Done, begun_ns, behind_ns)
    }

    fn judged(hosts: &[&[WorkerSchedule]], some_ended_early: bool) -> f64 {
        let hosts: Vec<_> = hosts.iter().map(|own| own.to_vec()).collect();
        let share = super::kept(&hosts, some_ended_early, 0).unwrap().judged();
        (share * 1e6).round() / 1e6
    }

    fn kept(hosts: &[&[WorkerSchedule]]) -> f64 {
        judged(hosts, false)
    }

    #[test]
    fn what_was_begun_late_or_never_is_missing() {
        assert_eq!(kept(&[&[time(1000, 0), time(1000, 0)]]), 1.0);
        // Both were asked for 1,000, and one came to 600 of them.
        assert_eq!(kept(&[&[time(1000, 0), time(600, 400)]]), 0.8);
        // One has begun all 1,000 by 1,000, and the other by 2,000.
        assert_eq!(kept(&[&[done(1000, 0), done(1000, 1000)]]), 0.666667);
        assert_eq!(kept(&[&[done(1000, 0), done(100, 0)]]), 0.55);
        assert_eq!(super::kept(&[vec![done(0, 0)], vec![]], false, 0), None);
    }

    #[test]
    fn what_chance_makes_of_gaps_is_no_fault() {
        let by_chance = |begun_ns, mean_ns| WorkerSchedule {
            begun_ns,
            ..done(mean_ns, 0)
        };
        assert_eq!(kept(&[&[by_chance(800, 1000), by_chance(1300, 1000)]]), 1.0);
        // Others were ended by the one that had begun all first, as at a stonewall.
        assert_eq!(kept(&[&[by_chance(800, 1000)], &[time(800, 0)]]), 1.0);
    }

    #[test]
    fn who_has_one_operation_less_of_each_part_has_its_share() {
        assert_eq!(kept(&[&[done(1000, 0), done(1000 - GAP, 0)]]), 1.0);
        // Gaps and work are of whole nanoseconds.
        assert_eq!(kept(&[&[done(1000, 0), done(1000 - GAP - 1, 0)]]), 1.0);
        assert!(kept(&[&[done(1000, 0), done(1000 - 2 * GAP, 0)]]) < 1.0);
        // However little the longest was late, the others owe no more than that.
        let late = done(1000, 1);
        assert!(kept(&[&[late, done(1000 - GAP, 0)]]) > 0.998);
        let of_two = WorkerSchedule {
            parts: 2,
            ..done(1000 - 2 * GAP, 0)
        };
        assert_eq!(kept(&[&[done(1000, 0), of_two]]), 1.0);
    }

    #[test]
    fn a_host_that_began_late_or_ended_early_had_less_of_the_time() {
        let late = WorkerSchedule {
            late_ns: 400,
            ..time(600, 0)
        };
        assert_eq!(kept(&[&[time(1000, 0)], &[late]]), 0.8);
        assert_eq!(kept(&[&[late]]), 0.6);
        let failed = time(600, 0);
        assert_eq!(judged(&[&[time(1000, 0)], &[failed]], true), 0.8);
        assert_eq!(judged(&[&[done(1000 + GAP, 0)], &[failed]], true), 0.800995);
        // Until the last of the others, which was late.
        assert_eq!(
            judged(&[&[done(1000, 1000 + GAP)], &[failed]], true),
            0.399002
        );
        // Hosts have equal shares, however many workers they have.
        let few: &[WorkerSchedule] = &[time(1000, 0)];
        assert_eq!(kept(&[few, &[time(0, 1000); 9]]), 0.5);
    }

    #[test]
    fn what_waited_for_others_was_asked_for_nothing_then() {
        let waited = WorkerSchedule {
            waited_ns: 500,
            ..time(500, 0)
        };
        assert_eq!(kept(&[&[time(1000, 0), waited]]), 1.0);
        let behind = WorkerSchedule {
            waited_ns: 500,
            ..time(250, 250)
        };
        assert_eq!(kept(&[&[behind]]), 0.5);
        let released = own(ScheduleEnd::Released, 500, 0);
        assert_eq!(kept(&[&[time(1000, 0), released]]), 1.0);
        assert_eq!(kept(&[&[released, released]]), 1.0);
    }

    #[test]
    fn equal_work_is_of_equal_bytes() {
        let worker = |bytes, begun_ns| WorkerAccount {
            bytes,
            schedule: Some(done(begun_ns, 0)),
            ..WorkerAccount::default()
        };
        let mut record = Record {
            pace: Some(crate::PaceAccount::default()),
            workers: vec![worker(4096, 1000), worker(4096, 1500)],
            ..Record::default()
        };
        let mut of = |sizes: &str| {
            let sizes = ("block-size".to_owned(), sizes.to_owned());
            record.effective = [sizes].into();
            record.kept_schedule().map(KeptSchedule::judged)
        };
        assert_eq!(of("4k/50:64k/50"), Some(1.0));
        // What was in flight after the warm-up was begun before.
        assert_eq!(of("4k"), Some(1.0));
        // What failed has no bytes: of one size operations tell how much each had, and of several nothing does.
        let failed = crate::Operations {
            errors: 1,
            ..crate::Operations::default()
        };
        record.operations.insert("read", failed);
        let mut of = |sizes: &str| {
            record.effective.insert("block-size".into(), sizes.into());
            record.kept_schedule().map(KeptSchedule::judged)
        };
        assert_eq!(of("4k"), Some(1250.0 / 1500.0));
        assert_eq!(of("4k/50:64k/50"), Some(1.0));
        let warmup = ("warmup".to_owned(), "1s".to_owned());
        record.effective.extend([warmup]);
        record.effective.insert("block-size".into(), "4k".into());
        assert_eq!(record.kept_schedule().map(KeptSchedule::judged), Some(1.0));
        record.workers[0].schedule = None;
        assert_eq!(record.kept_schedule(), None);
    }

    #[test]
    fn what_had_been_due_before_is_too_much() {
        let after_a_stall = WorkerSchedule {
            before_ns: 330,
            ..time(1000, 0)
        };
        assert_eq!(kept(&[&[after_a_stall]]), 1.33);
        // It makes up for nobody else.
        assert_eq!(kept(&[&[after_a_stall, time(600, 400)]]), 0.8);
    }

    #[test]
    fn who_was_ended_with_all_others_owes_what_was_due_until_then() {
        let hosts: &[&[WorkerSchedule]] = &[&[time(1000, 0)], &[time(700, 0), time(350, 350)]];
        assert_eq!(kept(hosts), 0.897059);
        assert_eq!(kept(&hosts[..1]), 1.0);
        assert_eq!(judged(hosts, true), 0.7625);
    }

    #[test]
    fn who_has_less_to_do_than_others_owes_as_much_as_they_in_the_mean() {
        assert_eq!(kept(&[&[time(1000, 0)], &[done(500, 0)]]), 0.75);
        // Late as it was, it took as long as they.
        assert_eq!(kept(&[&[done(1000, 0)], &[done(500, 500)]]), 0.75);
        assert_eq!(kept(&[&[done(1000, 0)], &[done(500, 1000)]]), 0.6);
        // One operation less in a time that chance made long.
        let by_time = WorkerSchedule {
            mean_ns: 990,
            ..time(1100, 0)
        };
        assert_eq!(kept(&[&[by_time, done(1000, 0)]]), 1.0);
        // The last operation of drawn sizes may be more than was left.
        let of_drawn = |largest_ns| {
            let hosts = [vec![done(1000, 0), done(1050, 0)]];
            super::kept(&hosts, false, largest_ns).unwrap().judged()
        };
        assert!(of_drawn(0) < 0.98);
        assert_eq!(of_drawn(50), 1.0);
    }

    #[test]
    fn how_late_one_was_counts_once_whatever_part_of_which_worker_it_was() {
        let late = |parts: u64, behind_ns| WorkerSchedule {
            parts,
            ..done(1000, behind_ns)
        };
        let apart = kept(&[&[late(4, 100); 4]]);
        let [on_time, all] = [late(4, 0), late(4, 400)];
        let of_one = kept(&[&[on_time, on_time, on_time, all]]);
        assert_eq!((apart, of_one), (0.909091, 0.909091));
    }

    proptest! {
        /// Workers of a rate with equal work that follow it as it is, ended by their time or by their work, keep all of it.
        #[test]
        fn a_schedule_that_was_followed_is_kept(
            hosts in prop::collection::vec(prop::collection::vec(500..1500_u64, 1..5), 1..5),
            time_ns in 400..1600_u64,
        ) {
            let own = |work_ns: u64| match work_ns <= time_ns {
                true => WorkerSchedule { begun_ns: work_ns, ..done(1000, 0) },
                false => WorkerSchedule { mean_ns: 1000 * time_ns / work_ns, ..time(time_ns, 0) },
            };
            let hosts: Vec<Vec<WorkerSchedule>> = hosts
                .into_iter()
                .map(|host| host.into_iter().map(own).collect())
                .collect();
            let share = super::kept(&hosts, false, 0).map(KeptSchedule::judged);
            prop_assert_eq!(share, Some(1.0));
        }
    }
}
