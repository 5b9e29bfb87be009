//! From what threads report to a record.

use crate::execute::Setup;
use crate::plan::LoadPlan;
use crate::ramp::Spacing;
use crate::scenario::Arrivals;
use crate::worker::{ThreadCounts, ThreadReport};
use host::Measured;
use record::{
    EndpointAccount, ErrorClass, ErrorCount, Histogram, LeftOver, LoadAccount, LoopAccount,
    Outcome, PaceAccount, Record, ServerAccount, SigningCost, Status, TargetFact, Verification,
    VerificationFailure, stopped_words,
};
use std::collections::BTreeMap;
use units::Bytes;

/// What a run left when its threads had ended.
pub(crate) struct LoadEnd {
    pub(crate) elapsed_ns: u64,
    pub(crate) measured: Measured,
    pub(crate) reports: Vec<ThreadReport>,
    pub(crate) panics: Vec<String>,
    pub(crate) signal: Option<i32>,
    pub(crate) verifies: bool,
    pub(crate) is_open: bool,
}

/// What is known of a load before it begins.
pub(crate) fn begun(record: Record, plan: &LoadPlan, setup: &Setup) -> Record {
    let counts = ThreadCounts::default();
    Record {
        notices: setup.notices.clone(),
        effective: plan.effective(),
        targets: targets(plan),
        load: Some(load_account(plan, setup, &[], &counts, Vec::new())),
        ..record
    }
}

/// The record, which was begun as `record`.
pub(crate) fn completed(
    record: Record,
    plan: &LoadPlan,
    setup: &Setup,
    ended: LoadEnd,
    server: Option<ServerAccount>,
) -> Record {
    let LoadEnd {
        elapsed_ns,
        measured,
        mut reports,
        panics,
        signal,
        verifies,
        is_open,
    } = ended;
    let errors = errors(&reports);
    let counts = sum(&reports);
    let unsent: Vec<u64> = reports
        .iter_mut()
        .flat_map(|done| std::mem::take(&mut done.unsent))
        .collect();
    let mut load = load_account(plan, setup, &reports, &counts, measured.users);
    load.server = server;
    if is_open {
        load.lateness = Some(merged(reports.iter().map(|done| &done.lateness)));
        let mut age = Histogram::default();
        unsent.iter().for_each(|ns| age.record(*ns));
        load.unsent_age = Some(age);
    }
    let unsent = units::lossless::to_u64(unsent.len());
    let base = begun(record, plan, setup);
    let may_be = counts.posted + counts.maybe_posted;
    let posted = LeftOver::posted(may_be, counts.maybe_posted > 0);
    Record {
        outcome: stopped(&reports, &panics, signal, elapsed_ns),
        left_over: Some(posted)
            .filter(|left| left.count > 0)
            .into_iter()
            .collect(),
        elapsed_ns,
        stops: measured.stops,
        operations: measured.operations,
        warmup: measured.warmup,
        interval_ns: measured.interval_ns,
        series: measured.series,
        loops: generator(&reports),
        pace: is_open.then(|| pace(plan, &reports, elapsed_ns, unsent)),
        verification: verifies.then(|| verification(&counts, &errors)),
        errors,
        load: Some(load),
        workers: reports.into_iter().map(|done| done.account).collect(),
        ..base
    }
}

/// What ended a load before its time.
fn stopped(
    reports: &[ThreadReport],
    panics: &[String],
    signal: Option<i32>,
    elapsed_ns: u64,
) -> Outcome {
    let panic = panics.first().or_else(|| {
        let mut errors = reports.iter().map(|done| done.account.error.as_ref());
        errors.find_map(|error| error)
    });
    if let Some(panic) = panic {
        return Outcome::new(Status::Incomplete, 5, panic.clone());
    }
    signal.map_or_else(Outcome::default, |signal| {
        let what = stopped_words(signal, elapsed_ns);
        Outcome::new(Status::Interrupted, sys::stopped_code(signal), what)
    })
}

/// Thresholds, and the outcome of what nothing ended before its time. Of many ranks each does its part, and only what
/// all did together is judged by it: by whoever joins them.
pub(crate) fn judge(plan: &LoadPlan, record: &mut Record) {
    let thresholds = plan.scenario.thresholds.iter();
    record.thresholds = thresholds
        .map(|threshold| threshold.judge(record))
        .collect();
    if record.ranks() < 2 {
        record.judge_load();
    }
}

fn load_account(
    plan: &LoadPlan,
    setup: &Setup,
    reports: &[ThreadReport],
    counts: &ThreadCounts,
    users: Vec<u64>,
) -> LoadAccount {
    let mut phases: BTreeMap<String, record::RequestPhases> = BTreeMap::new();
    for (kind, more) in reports.iter().flat_map(|done| &done.phases) {
        let sum = phases.entry((*kind).to_owned()).or_default();
        sum.merge(more);
    }
    let endpoints = endpoints(reports);
    LoadAccount {
        scenario: plan.scenario.name.clone(),
        users,
        phases,
        iterations: merged(reports.iter().map(|done| &done.iterations)),
        skipped: counts.skipped,
        retries: counts.retries,
        connections_opened: endpoints
            .iter()
            .map(|endpoint| endpoint.connections_opened)
            .sum(),
        connections_failed: endpoints
            .iter()
            .map(|endpoint| endpoint.connections_failed)
            .sum(),
        endpoints,
        queued: counts.queued,
        signing: SigningCost {
            requests: counts.signed,
            total_ns: counts.signing_ns,
        },
        setup: setup.measured.clone(),
        left_behind: counts.posted + counts.maybe_posted,
        ..LoadAccount::default()
    }
}

/// What went to each endpoint, over all threads.
fn endpoints(reports: &[ThreadReport]) -> Vec<EndpointAccount> {
    let mut sums: Vec<EndpointAccount> = Vec::new();
    for done in reports {
        if sums.is_empty() {
            sums = done
                .endpoints
                .iter()
                .map(|e| EndpointAccount {
                    address: e.address.clone(),
                    ..EndpointAccount::default()
                })
                .collect();
        }
        for (sum, more) in sums.iter_mut().zip(&done.endpoints) {
            sum.merge(more);
        }
    }
    sums
}

fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    histograms.fold(Histogram::default(), |mut sum, histogram| {
        sum.merge(histogram);
        sum
    })
}

fn sum(reports: &[ThreadReport]) -> ThreadCounts {
    reports
        .iter()
        .map(|done| done.counts)
        .fold(ThreadCounts::default(), |a, b| ThreadCounts {
            skipped: a.skipped + b.skipped,
            queued: a.queued + b.queued,
            retries: a.retries + b.retries,
            signed: a.signed + b.signed,
            signing_ns: a.signing_ns + b.signing_ns,
            verified: a.verified + b.verified,
            wrong: a.wrong + b.wrong,
            posted: a.posted + b.posted,
            maybe_posted: a.maybe_posted + b.maybe_posted,
        })
}

/// Failures of all threads, equal words together, the most frequent first.
fn errors(reports: &[ThreadReport]) -> Vec<ErrorCount> {
    let mut sums: BTreeMap<(String, String), ErrorCount> = BTreeMap::new();
    for error in reports.iter().flat_map(|done| &done.errors) {
        let sum = sums.entry((error.operation.clone(), error.error.clone()));
        sum.and_modify(|sum| sum.count += error.count)
            .or_insert_with(|| error.clone());
    }
    let mut out: Vec<ErrorCount> = sums.into_values().collect();
    out.sort_by_key(|error| std::cmp::Reverse(error.count));
    out
}

fn generator(reports: &[ThreadReport]) -> LoopAccount {
    reports
        .iter()
        .fold(LoopAccount::default(), |mut sum, done| {
            sum.in_flight_ns += done.loop_account.in_flight_ns;
            sum.worker_ns += done.loop_account.worker_ns;
            sum.abandoned += done.loop_account.abandoned;
            sum
        })
}

/// Turns are what arrives; the operations that follow one are its own.
fn pace(plan: &LoadPlan, reports: &[ThreadReport], elapsed_ns: u64, unsent: u64) -> PaceAccount {
    let begun: u64 = reports
        .iter()
        .map(|done| done.lateness.count() + done.counts.queued)
        .sum();
    let course = plan.scenario.course();
    // Answers after the last arrival lengthen the run, not the schedule; a signal, and turns that are used up,
    // shorten it.
    let over_ns = asked_over_ns(plan, reports).unwrap_or(elapsed_ns);
    let over_ns = over_ns.min(course.total_ns());
    let seconds = over_ns as f64 / 1e9;
    PaceAccount {
        asked_per_second: Some(match over_ns {
            0 => course.mean(),
            _ => course.mean_until(over_ns),
        }),
        asked_bytes_per_second: None,
        achieved_per_second: if seconds > 0.0 {
            begun as f64 / seconds
        } else {
            0.0
        },
        over_ns: Some(over_ns),
        waited_ns: 0,
        unsent,
    }
}

/// How long arrivals were asked for: until the next would have been due, or until the last of them had begun
/// where it waited longer than that for a connection.
fn asked_over_ns(plan: &LoadPlan, reports: &[ThreadReport]) -> Option<u64> {
    let until = reports.iter().map(|done| done.asked_until_ns).min()?;
    let last = reports.iter().map(|done| done.last_begun_ns).max()?;
    let turns = turns_over_ns(plan).unwrap_or(u64::MAX);
    Some(until.min(turns).max(last))
}

/// When the turns that all ranks together shall do are over, where arrivals are evenly spaced: a rank knows only
/// when the next of its own would be due, and that is later. From the start of the measured time.
pub(crate) fn turns_over_ns(plan: &LoadPlan) -> Option<u64> {
    let whole = plan.whole();
    let scenario = whole.scenario.after_warmup(plan.warmup_ns);
    let Arrivals::Open {
        rate,
        spacing: Spacing::Constant,
        ..
    } = &scenario.arrivals
    else {
        return None;
    };
    let due = rate.due_after(plan.warmup_ns, whole.iterations?)?;
    Some(due.saturating_sub(plan.warmup_ns))
}

fn verification(counts: &ThreadCounts, errors: &[ErrorCount]) -> Verification {
    let wrong = |error: &&ErrorCount| error.class == Some(ErrorClass::Verification);
    let first = errors
        .iter()
        .filter(wrong)
        .map(|error| VerificationFailure {
            file: error.first_file.clone(),
            offset: error.first_offset.unwrap_or(0),
            kind: "content".into(),
            detail: error.error.clone(),
        });
    Verification {
        pattern: "identity".into(),
        operations: counts.verified,
        failures: counts.wrong,
        by_kind: if counts.wrong > 0 {
            [("content".to_owned(), counts.wrong)].into()
        } else {
            BTreeMap::new()
        },
        first: first.collect(),
        self_check: String::new(),
    }
}

fn targets(plan: &LoadPlan) -> Vec<TargetFact> {
    let whole = plan.whole();
    let seeds = &whole.scenario.seeds;
    let bytes = seeds.iter().fold(0_u64, |sum, seed| {
        sum.saturating_add(Bytes(seed.size).0.saturating_mul(seed.count))
    });
    let kind = plan.target.kind().to_owned();
    vec![TargetFact {
        path: plan.target.text().to_owned(),
        kind,
        files: whole.scenario.seed_count(),
        bytes,
        hole_bytes: None,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AskedLoad, LoadKeys, LoadOption, LoadShare, Scenario};

    const S: u64 = 1_000_000_000;

    /// 20 arrivals a second for a minute, unless something else is said.
    fn plan(said: &[(&str, &str)]) -> LoadPlan {
        let mut asked = AskedLoad::default();
        let usual = [
            ("target", "http://h:1/x"),
            ("rate", "20"),
            ("duration", "60s"),
            ("seeds", "200"),
        ];
        for (name, text) in usual.iter().chain(said) {
            let option = LoadOption::named(name).unwrap();
            option.read(&mut asked, text).unwrap();
        }
        let scenario = Scenario::preset("download").unwrap();
        asked.plan(scenario, LoadKeys::default(), 4).unwrap()
    }

    /// A thread that began so many turns, the last of them then, and was asked for arrivals until then.
    fn thread(begun: u64, last_begun_ns: u64, asked_until_ns: u64) -> ThreadReport {
        let mut done = ThreadReport {
            last_begun_ns,
            asked_until_ns,
            ..ThreadReport::default()
        };
        (0..begun).for_each(|_| done.lateness.record(1000));
        done
    }

    /// Asked, achieved and over how long, of a load whose last answer came after ten seconds.
    fn told(plan: &LoadPlan, reports: &[ThreadReport]) -> (f64, f64, u64) {
        let pace = pace(plan, reports, 10 * S, 0);
        let asked = pace.asked_per_second.unwrap();
        let over_us = (pace.over_ns.unwrap() + 500) / 1000;
        let rounded = |rate: f64| (rate * 1e6).round() / 1e6;
        (
            rounded(asked),
            rounded(pace.achieved_per_second),
            over_us * 1000,
        )
    }

    #[test]
    fn turns_that_are_used_up_end_the_schedule_and_not_the_answers_to_them() {
        let turns = [("iterations", "40"), ("arrival", "constant")];
        let last = 1_950_000_000;
        let all = [
            thread(20, last - S / 20, 2_050_000_000),
            thread(20, last, 2 * S),
        ];
        assert_eq!(told(&plan(&turns), &all), (20.0, 20.0, 2 * S));
        assert_eq!(
            told(&plan(&turns[..1]), &all),
            (20.0, 20.0, 2 * S),
            "by chance"
        );
        let warm = plan(&[turns[0], turns[1], ("warmup", "1s")]);
        assert_eq!(told(&warm, &all), (20.0, 20.0, 2 * S));
        let waited = [thread(40, 4 * S, 2 * S)];
        assert_eq!(
            told(&plan(&turns), &waited),
            (20.0, 10.0, 4 * S),
            "for a connection"
        );
    }

    #[test]
    fn ranks_that_have_used_up_their_turns_were_asked_as_long_as_all_were() {
        let whole = plan(&[("iterations", "41"), ("arrival", "constant")]);
        let of = |rank, begun, next| {
            let part = whole.shared(LoadShare { rank, size: 2 }).unwrap();
            told(&part, &[thread(begun, 1_900_000_000, next)])
        };
        let (one, other) = (of(0, 21, 2_100_000_000), of(1, 20, 2_050_000_000));
        assert_eq!((one.0, one.2), (10.0, 2_050_000_000));
        assert_eq!((other.0, other.2), (10.0, 2_050_000_000));
        assert!((one.1 + other.1 - 20.0).abs() < 1e-9, "{one:?} {other:?}");
    }

    #[test]
    fn a_load_that_was_ended_was_asked_for_what_its_course_had_until_then() {
        let turns = [("iterations", "4000"), ("arrival", "constant")];
        let ended = [thread(60, 2_950_000_000, 3 * S)];
        assert_eq!(told(&plan(&turns), &ended), (20.0, 20.0, 3 * S));
        let mut rising = plan(&[]);
        if let Arrivals::Open { rate, .. } = &mut rising.scenario.arrivals {
            (rate.start, rate.legs[0].to) = (0.0, 120.0);
        }
        assert_eq!(
            told(&rising, &[thread(9, 2_900_000_000, 3 * S)]),
            (3.0, 3.0, 3 * S)
        );
        let whole = [thread(1200, 59 * S, 60 * S)];
        assert_eq!(told(&plan(&[]), &whole), (20.0, 20.0, 60 * S));
        assert_eq!(told(&plan(&[]), &[]).2, 10 * S, "nobody tells");
    }
}
