//! The search for the highest rate at which a threshold holds: one arm, a step a rate.

use crate::{Conduct, KeepError, KneeSearch, LabError, MOST_FAILURES, Turn, Work};
use record::{Record, SearchAccount, SearchPoint, Status, StepVerdict, Threshold, ThresholdResult};
use units::Rate;

/// The highest exit code of a load that ended by itself; a signal's are above.
const MOST_OF_A_LOAD: i32 = 5;

/// What is searched.
#[derive(Clone, Debug)]
pub struct LimitSearch {
    pub threshold: Threshold,
    /// Length of a step.
    pub step_ns: u64,
    pub rates: KneeSearch,
}

/// What a search has found.
#[derive(Debug)]
pub struct LimitFound {
    /// A step each.
    pub records: Vec<Record>,
    pub account: SearchAccount,
    /// The rate of the last step and how it ended, if that says nothing of the rate: it was cut short, or its ranks
    /// began too far apart however often it was measured.
    pub no_point: Option<(Rate, Status)>,
    /// What ended it before it knew, after steps that were measured.
    pub ended_by: Option<LabError>,
}

/// Raises the rate until the threshold breaks, and searches between. What the arm needs is made once
/// and stands until the last step; each record holds the curve so far and goes to `keep` before the
/// next step begins.
///
/// # Errors
/// The first step did not start. What ends it later, such as a signal or a record that cannot be kept,
/// leaves a search that ended early; a step that it cut short is a record and no point of the search.
pub fn find_limit(
    mut limit: LimitSearch,
    conduct: &mut dyn Conduct,
    keep: &mut dyn FnMut(&Record) -> Result<(), KeepError>,
) -> Result<LimitFound, LabError> {
    let mut turn = Turn::default();
    conduct.prepare(turn).map_err(LabError::Step)?;
    let (mut points, mut records, mut ended_by) = (Vec::new(), Vec::new(), None);
    let (mut no_point, mut apart) = (None, 0);
    let mut next = limit.rates.next_rate();
    let mut silence = Silence::default();
    while let Some(per_second) = next {
        let work = Work::AtRate {
            per_second,
            for_ns: limit.step_ns,
        };
        let mut record = match conduct.measure(turn, work) {
            Ok(record) => record,
            Err(mut unstarted) => {
                conduct.release(turn, &mut unstarted.record);
                let is_stopped = unstarted.record.outcome.status == Status::Interrupted;
                if records.is_empty() {
                    return Err(LabError::Step(unstarted));
                }
                if !is_stopped {
                    ended_by = Some(LabError::Step(unstarted));
                } else if !unstarted.record.notes().is_empty() {
                    // A step that was not begun has a record where it says what is left.
                    ended_by = keep(&unstarted.record).map_err(LabError::Keep).err();
                    records.push(*unstarted.record);
                }
                break;
            }
        };
        next = None;
        // A part of its time, or fewer ranks, are another load, at which the threshold neither holds nor breaks.
        let status = record.outcome.status;
        if status.is_cut_short() {
            no_point = Some((Rate(per_second), status));
        } else if status == Status::Apart {
            apart += 1;
            if apart < MOST_FAILURES {
                next = Some(per_second);
            } else {
                no_point = Some((Rate(per_second), status));
            }
        } else {
            apart = 0;
            let mut point = point(per_second, &record, &limit.threshold);
            let unmeasured = unmeasured(&point, &points, &limit.threshold, &record);
            point.undecided = unmeasured.is_some();
            let is_searchable = unmeasured.is_none();
            let wanted = silence.next(&mut limit.rates, &point, &record, unmeasured);
            points.push(point);
            let goes_on = is_searchable && record.outcome.exit_code <= MOST_OF_A_LOAD;
            next = wanted.filter(|_| goes_on);
        }
        if next.is_none() {
            conduct.release(turn, &mut record);
        }
        if let Some(load) = &mut record.load {
            load.search = Some(limit.account(&points, silence.gone.as_ref()));
        }
        ended_by = keep(&record).map_err(LabError::Keep).err();
        if ended_by.is_some() && next.take().is_some() {
            conduct.release(turn, &mut record);
        }
        records.push(record);
        turn.pass += 1;
    }
    let account = limit.account(&points, silence.gone.as_ref());
    Ok(LimitFound {
        records,
        account,
        no_point,
        ended_by,
    })
}

/// Rates at which nothing succeeded.
#[derive(Default)]
struct Silence {
    /// Too much, or the target is gone: what held tells.
    silent_at: Option<f64>,
    /// The last rate at which anything was asked of the target, if nothing of it succeeded.
    unanswered_at: Option<f64>,
    /// Why there is no limit.
    gone: Option<String>,
}

impl Silence {
    /// The rate of the next step, after one that says something of its rate or not, and why not.
    fn next(
        &mut self,
        rates: &mut KneeSearch,
        point: &SearchPoint,
        record: &Record,
        unmeasured: Option<String>,
    ) -> Option<f64> {
        let is_searchable = unmeasured.is_none();
        let per_second = point.asked_per_second;
        let is_silent = record.operations.count() == 0;
        if !is_silent {
            self.unanswered_at = None;
        } else if point.errors > 0 {
            self.unanswered_at = Some(per_second);
        }
        match (self.silent_at.take(), rates.best()) {
            (Some(silent), Some(_)) if is_searchable && !point.holds => {
                self.gone = Some(no_longer(silent, per_second));
                None
            }
            (None, Some(best)) if is_searchable && is_silent => {
                self.silent_at = Some(per_second);
                Some(best)
            }
            (silent, _) => {
                if is_searchable {
                    rates.saw(per_second, point.holds);
                    silent.inspect(|silent| rates.saw(*silent, false));
                }
                let next = rates.next_rate();
                let nothing_holds = next.is_none() && rates.best().is_none();
                let unanswered = self.unanswered_at.filter(|_| nothing_holds);
                self.gone = unanswered.map(never).or(unmeasured);
                next
            }
        }
    }
}

impl LimitSearch {
    fn account(&self, points: &[SearchPoint], gone: Option<&String>) -> SearchAccount {
        let known = |rate: Option<f64>| rate.filter(|_| gone.is_none());
        SearchAccount {
            threshold: self.threshold.text().to_owned(),
            points: points.to_vec(),
            holds_at: known(self.rates.best()),
            breaks_at: known(self.rates.least_broken()),
            no_answer: gone.cloned(),
        }
    }
}

/// Why no rate is the limit of a target that did nothing any more.
fn no_longer(silent: f64, held: f64) -> String {
    let [silent, held] = [silent, held].map(Rate);
    format!(
        "nothing succeeded at {silent}, and then {held}, which had held, did not hold any more: the target is not what it was"
    )
}

/// Why no rate is the limit of a target that did nothing down to the lowest.
fn never(silent: f64) -> String {
    format!(
        "nothing succeeded at {}, and no rate held: the target is gone, or refuses what it is asked",
        Rate(silent)
    )
}

/// Why a step says nothing of its rate: nothing was asked that one of the thresholds applies to, and nothing else
/// broke. In one in which nothing succeeded they break.
fn unmeasured(
    point: &SearchPoint,
    before: &[SearchPoint],
    threshold: &Threshold,
    record: &Record,
) -> Option<String> {
    let pace = record.pace.as_ref();
    let is_begun = pace.is_some_and(|pace| pace.unsent > 0 || pace.achieved_per_second > 0.0);
    let in_vain = is_begun || record.operations.errors() > 0;
    let step = record.step_result();
    let mut results = record.thresholds();
    results.push(threshold.judge(record));
    let breaks = step.is_some_and(|step| step.fails || !step.rate_kept)
        || record.operations.count() == 0 && in_vain
        || results.iter().any(|of| !of.holds && record.bears_on(of));
    let missing = results.iter().find(|of| !record.bears_on(of));
    let missing = missing.filter(|_| !breaks)?;
    let broken = before.iter().rev().find(|point| !point.holds);
    let broken = broken.map_or_else(String::new, |broken| {
        let (rate, why) = (Rate(broken.asked_per_second), &broken.measured);
        format!(" ({rate} broke: {why})")
    });
    Some(format!(
        "a step at {} had no operation that {} applies to{broken}; a longer --step-duration, or a higher --rate, has some",
        Rate(point.asked_per_second),
        missing.threshold
    ))
}

/// What else the step was held against, where it missed that.
fn missed_beside(record: &Record, threshold: &Threshold) -> Option<String> {
    let results = record.thresholds();
    let is_missed = |result: &&ThresholdResult| !result.holds && record.bears_on(result);
    let mut missed = results.iter().filter(is_missed);
    let missed = missed.find(|result| result.threshold != threshold.text())?;
    Some(format!("{} missed: {}", missed.threshold, missed.measured))
}

fn point(rate: f64, record: &Record, threshold: &Threshold) -> SearchPoint {
    let all = record.operations.together();
    let result = threshold.judge(record);
    let pace = record.pace.clone().unwrap_or_default();
    let step = record.step_result();
    let wrong = record.wrong_content();
    let (fails, is_kept) = (
        step.is_some_and(|step| step.fails),
        step.is_none_or(|step| step.rate_kept),
    );
    // A failure and a rate that was not kept explain more than what they made another threshold miss.
    let failed = fails.then(|| format!("{} failed", all.errors));
    let why = failed.or_else(|| (!is_kept).then(|| "the rate was not kept".to_owned()));
    let why = wrong
        .clone()
        .or(why)
        .or_else(|| missed_beside(record, threshold));
    let measured = match &why {
        Some(why) => format!("{}; {why}", result.measured),
        None => result.measured,
    };
    // What the searched threshold misses itself needs no other reason but the gravest.
    let otherwise = if result.holds { why } else { wrong };
    SearchPoint {
        asked_per_second: rate,
        achieved_per_second: pace.achieved_per_second,
        unsent: pace.unsent,
        errors: all.errors,
        latency_p50_ns: all.latency.quantile(0.5),
        latency_p99_ns: all.latency.quantile(0.99),
        holds: result.holds && step.is_some_and(|step| step.verdict == StepVerdict::Holds),
        undecided: false,
        measured,
        otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Mock, apart, failed, reads, unstarted};
    use record::{LoadAccount, PaceAccount};

    fn limit() -> LimitSearch {
        LimitSearch {
            threshold: Threshold::parse("errors<1%").unwrap(),
            step_ns: 5,
            rates: KneeSearch::new(100.0, 3000.0, 0.05),
        }
    }

    /// A step in which a server of this capacity keeps the rate, or not.
    fn step(work: Work, capacity: f64) -> Record {
        let Work::AtRate { per_second, .. } = work else {
            panic!("{work:?}")
        };
        Record {
            load: Some(LoadAccount::default()),
            pace: Some(PaceAccount {
                asked_per_second: Some(per_second),
                achieved_per_second: per_second.min(capacity),
                over_ns: Some(10_000_000_000),
                ..PaceAccount::default()
            }),
            ..reads(1000)
        }
    }

    fn find(mock: &mut Mock<'_>) -> Result<(LimitFound, usize), LabError> {
        let mut kept = 0;
        let mut keep = |_: &Record| {
            kept += 1;
            Ok(())
        };
        find_limit(limit(), mock, &mut keep).map(|found| (found, kept))
    }

    #[test]
    fn what_broke_beside_the_searched_threshold_is_said_as_such() {
        let mut record = reads(1000);
        record.load = Some(LoadAccount::default());
        record.pace = Some(PaceAccount {
            asked_per_second: Some(100.0),
            achieved_per_second: 100.0,
            over_ns: Some(10_000_000_000),
            ..PaceAccount::default()
        });
        let searched = Threshold::parse("errors<1%").unwrap();
        let otherwise = |record: &Record| point(100.0, record, &searched).otherwise;
        assert_eq!(otherwise(&record), None);
        record.hold_against(&[Threshold::parse("count>9000").unwrap()]);
        let told = otherwise(&record).unwrap();
        assert!(told.starts_with("count>9000 missed: "), "{told}");
        record.pace.as_mut().unwrap().achieved_per_second = 10.0;
        let told = otherwise(&record).unwrap();
        assert_eq!(told, "the rate was not kept");
        record.verification = Some(record::Verification {
            failures: 2,
            ..record::Verification::default()
        });
        let told = otherwise(&record).unwrap();
        assert_eq!(told, "2 objects held other bytes than were written");
    }

    #[test]
    fn the_limit_is_between_the_last_that_held_and_the_first_that_broke() {
        let mut mock = Mock::new(|_, work, _| Ok(step(work, 900.0)));
        let (found, kept) = find(&mut mock).unwrap();
        let (holds, breaks) = (
            found.account.holds_at.unwrap(),
            found.account.breaks_at.unwrap(),
        );
        // A rate is kept if 95 % of it are achieved.
        let most = 900.0 / 0.95;
        assert!(
            holds <= most && breaks >= most && breaks <= holds * 1.06,
            "{holds} {breaks}"
        );
        assert_eq!(kept, found.records.len());
        let searches = found
            .records
            .iter()
            .filter_map(|record| record.load.as_ref()?.search.as_ref());
        assert!(
            (1..)
                .zip(searches)
                .all(|(steps, search)| search.points.len() == steps)
        );
        let around: Vec<&String> = mock
            .log
            .iter()
            .filter(|step| !step.starts_with("lead"))
            .collect();
        assert_eq!(
            around.len(),
            2,
            "what the arm needs is made once: {around:?}"
        );
    }

    #[test]
    fn chance_in_the_arrivals_of_a_short_step_breaks_nothing() {
        let mut mock = Mock::new(|_, work, _| {
            let mut record = step(work, 1e9);
            record.effective.insert("arrival".into(), "poisson".into());
            // 74 where 100 were due is within three roots of that.
            record.operations = reads(74).operations;
            let pace = record.pace.as_mut().unwrap();
            pace.achieved_per_second *= 0.74;
            let seconds = 100.0 / pace.asked_per_second.unwrap();
            pace.over_ns = Some(units::lossless::f64_to_u64_saturating(seconds * 1e9));
            Ok(record)
        });
        let (found, _) = find(&mut mock).unwrap();
        assert_eq!(found.account.holds_at, Some(3000.0));
    }

    #[test]
    fn a_threshold_that_no_step_has_a_number_for_ends_the_search_without_a_limit() {
        let mut mock = Mock::new(|_, work, _| Ok(step(work, 900.0)));
        let limit = LimitSearch {
            threshold: Threshold::parse("server.rss.max<1GiB").unwrap(),
            ..limit()
        };
        let account = find_limit(limit, &mut mock, &mut |_| Ok(()))
            .unwrap()
            .account;
        assert_eq!(
            (account.points.len(), account.holds_at, account.breaks_at),
            (1, None, None)
        );
    }

    #[test]
    fn a_step_that_was_cut_short_ends_the_search_and_says_nothing_of_its_rate() {
        let ends = [(Status::Incomplete, 5), (Status::Interrupted, 130)];
        // The rate is kept as far as it was measured, and is not; the first step, and a later one.
        let cases = ends.map(|end| [(end, 1e9, 2), (end, 1.0, 2), (end, 1e9, 1), (end, 1.0, 1)]);
        for ((status, code), capacity, whole) in cases.into_iter().flatten() {
            let mut mock = Mock::new(|_, work, steps| {
                let mut record = step(work, if steps > whole { capacity } else { 1e9 });
                if steps > whole {
                    record.outcome = failed(status, code).outcome;
                }
                Ok(record)
            });
            let (found, kept) = find(&mut mock).unwrap();
            let steps_before = usize::try_from(whole - 1).unwrap();
            let last = found.records.last().unwrap();
            assert_eq!((kept, last.outcome.status), (steps_before + 1, status));
            let (rate, how) = found.no_point.unwrap();
            assert_eq!((rate.0, how), ([100.0, 200.0][steps_before], status));
            let of_last = last.load.as_ref().unwrap().search.as_ref();
            assert_eq!(of_last, Some(&found.account), "{status:?}");
            let account = found.account;
            let holds = (whole == 2).then_some(100.0);
            assert_eq!(
                (account.points.len(), account.holds_at, account.breaks_at),
                (steps_before, holds, None),
                "{status:?} {capacity}"
            );
            assert_eq!(account.no_answer, None);
            assert!(mock.log.last().unwrap().starts_with("release"));
        }
    }

    #[test]
    fn a_step_without_an_operation_of_the_kind_that_is_searched_is_no_point_of_it() {
        let mut limit = limit();
        limit.threshold = Threshold::parse("get.p99<1s").unwrap();
        let mut mock = Mock::new(|_, work, _| Ok(step(work, 1e9)));
        let found = find_limit(limit, &mut mock, &mut |_| Ok(())).unwrap();
        let account = found.account;
        assert_eq!((found.records.len(), account.points.len()), (1, 1));
        assert_eq!((account.holds_at, account.breaks_at), (None, None));
        assert!(account.points[0].undecided);
        let why = account.no_answer.unwrap();
        assert!(why.starts_with("a step at 100 /s had no operation that get.p99<1s applies to"));
        assert!(mock.log.last().unwrap().starts_with("release"));
    }

    #[test]
    fn what_a_signal_ends_is_a_search_that_ended_early() {
        let mut mock = Mock::new(|_, work, steps| match steps {
            2 | 3 => Ok(step(work, 1e9)),
            _ => Err(unstarted(failed(Status::Interrupted, 130))),
        });
        let (found, kept) = find(&mut mock).unwrap();
        assert_eq!((kept, found.account.holds_at), (2, Some(200.0)));
        assert!(mock.log.last().unwrap().starts_with("release"));
    }

    /// What a server does of which nobody has an answer.
    fn silent(work: Work) -> Record {
        let mut record = step(work, 900.0);
        record.operations = record::Measurements::default();
        let operations = record::Operations {
            errors: 7,
            ..record::Operations::default()
        };
        record.operations.insert("read", operations);
        record
    }

    #[test]
    fn a_target_that_is_gone_before_any_rate_held_is_no_limit_below_the_lowest() {
        let all = |record: Record, from: u32| {
            let mut mock = Mock::new(move |_, work, steps| match steps < from {
                true => Ok(record.clone()),
                false => Ok(silent(work)),
            });
            find(&mut mock).unwrap().0.account
        };
        let late = Record {
            load: Some(LoadAccount::default()),
            pace: Some(PaceAccount {
                asked_per_second: Some(100.0),
                achieved_per_second: 60.0,
                over_ns: Some(10_000_000_000),
                ..PaceAccount::default()
            }),
            ..reads(1000)
        };
        for from in [0, 3] {
            let account = all(late.clone(), from);
            assert!(account.points.len() > 1 && account.holds_at.is_none());
            let why = account.no_answer.unwrap();
            assert!(why.contains("the target is gone, or refuses"), "{why}");
            assert_eq!(account.breaks_at, None);
        }
        // One that answers late at every rate is there, and breaks the threshold.
        let account = all(late, u32::MAX);
        assert_eq!((account.holds_at, account.no_answer), (None, None));
        assert!(account.breaks_at.is_some());
    }

    #[test]
    fn a_target_that_is_gone_has_no_limit_and_one_that_comes_back_has() {
        // Steps: 100, 200, 400 is silent, and so is 200 again.
        let mut mock = Mock::new(|_, work, steps| match steps {
            2 | 3 => Ok(step(work, 900.0)),
            _ => Ok(silent(work)),
        });
        let (found, kept) = find(&mut mock).unwrap();
        let rates: Vec<f64> = found
            .account
            .points
            .iter()
            .map(|p| p.asked_per_second)
            .collect();
        assert_eq!((rates, kept), (vec![100.0, 200.0, 400.0, 200.0], 4));
        assert_eq!(
            (found.account.holds_at, found.account.breaks_at),
            (None, None)
        );
        let why = found.account.no_answer.unwrap();
        assert!(
            why.starts_with("nothing succeeded at 400 /s, and then 200 /s"),
            "{why}"
        );
        let last = found.records.last().unwrap().load.as_ref().unwrap();
        assert!(last.search.as_ref().unwrap().no_answer.is_some());
        assert!(mock.log.last().unwrap().starts_with("release"));
        // One that does nothing above 900 and recovers.
        let mut mock = Mock::new(|_, work, _| match work {
            Work::AtRate { per_second, .. } if per_second > 900.0 => Ok(silent(work)),
            Work::AtRate { .. } | Work::Slot | Work::LeadIn { .. } => Ok(step(work, 1e9)),
        });
        let account = find(&mut mock).unwrap().0.account;
        let (holds, breaks) = (account.holds_at.unwrap(), account.breaks_at.unwrap());
        assert!(holds <= 900.0 && breaks > 900.0 && breaks <= holds * 1.06);
        assert_eq!(account.no_answer, None);
    }

    #[test]
    fn a_step_whose_ranks_began_too_far_apart_is_measured_again_and_ends_the_search_at_last() {
        // The second step: so often in succession.
        let run = |times: u32| {
            let mut mock = Mock::new(move |_, work, steps| {
                let record = step(work, 900.0);
                let is_apart = steps > 2 && steps < 3 + times;
                Ok(if is_apart { apart(record) } else { record })
            });
            find(&mut mock).unwrap().0
        };
        let (never, twice) = (run(0), run(2));
        assert_eq!(twice.account, never.account);
        assert!(twice.no_point.is_none() && never.account.breaks_at.is_some());
        assert_eq!(twice.records.len(), never.records.len() + 2);
        let always = run(100);
        let (rate, how) = always.no_point.unwrap();
        assert_eq!((rate.0, how), (200.0, Status::Apart));
        assert_eq!(always.records.len(), 4);
        let account = always.account;
        assert_eq!((account.points.len(), account.holds_at), (1, Some(100.0)));
        assert_eq!(account.breaks_at, None);
    }

    #[test]
    fn what_ends_it_after_a_step_leaves_the_steps_before_it() {
        let mut mock = Mock::new(|_, work, steps| match steps {
            2 | 3 => Ok(step(work, 1e9)),
            _ => Err(unstarted(failed(Status::Failed, 1))),
        });
        let (found, kept) = find(&mut mock).unwrap();
        assert!(matches!(found.ended_by, Some(LabError::Step(_))));
        assert_eq!((kept, found.records.len()), (2, 2));
        assert!(mock.log.last().unwrap().starts_with("release"));
        let mut mock = Mock::new(|_, work, _| Ok(step(work, 1e9)));
        let mut full = |_: &Record| Err("the disk is full".into());
        let found = find_limit(limit(), &mut mock, &mut full).unwrap();
        assert!(matches!(found.ended_by, Some(LabError::Keep(_))));
        assert_eq!(found.account.holds_at, Some(100.0));
        let released = mock.log.iter().filter(|step| step.starts_with("release"));
        assert_eq!((found.records.len(), released.count()), (1, 1));
    }

    #[test]
    fn a_step_that_was_stopped_before_it_began_is_kept_where_it_says_what_is_left() {
        for leaves in [true, false] {
            let mut mock = Mock::new(move |_, work, steps| {
                if steps == 2 {
                    return Ok(step(work, 1e9));
                }
                let mut record = failed(Status::Interrupted, 130);
                if leaves {
                    record.leave(record::LeftOver::posted(7, true));
                }
                Err(unstarted(record))
            });
            let (found, kept) = find(&mut mock).unwrap();
            let steps = if leaves { 2 } else { 1 };
            assert_eq!((kept, found.records.len()), (steps, steps));
            let last = found.records.last().unwrap();
            assert_eq!(last.left_over.len(), usize::from(leaves));
            assert!(found.ended_by.is_none());
            assert_eq!(found.account.points.len(), 1);
        }
    }

    #[test]
    fn a_first_step_that_does_not_start_is_an_error_and_is_released() {
        let mut mock = Mock::new(|_, _, _| Err(unstarted(failed(Status::Failed, 1))));
        assert!(matches!(find(&mut mock), Err(LabError::Step(_))));
        assert!(mock.log.last().unwrap().starts_with("release"));
    }
}
