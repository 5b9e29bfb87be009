//! From what threads report to a record.

use crate::execute::Setup;
use crate::observe::Measured;
use crate::plan::LoadPlan;
use crate::scenario::Arrivals;
use crate::worker::{Counts, Yield};
use record::{
    EndpointAccount, ErrorClass, ErrorCount, Histogram, LoadAccount, LoopAccount, Measurements,
    Outcome, PaceAccount, ProcessAccount, Record, SCHEMA, ServerAccount, SigningCost, Status,
    Stoppage, TargetFact, Verification, VerificationFailure,
};
use std::collections::BTreeMap;
use std::time::SystemTime;
use sys::Usage;
use units::Bytes;

/// What a run left when its threads had ended.
pub(crate) struct Ended {
    pub(crate) started_at: SystemTime,
    pub(crate) elapsed_ns: u64,
    pub(crate) measured: Measured,
    pub(crate) yields: Vec<Yield>,
    pub(crate) panics: Vec<String>,
    pub(crate) usage: Usage,
    pub(crate) server: Option<ServerAccount>,
    pub(crate) signal: Option<i32>,
    /// When this process stood still.
    pub(crate) stops: Vec<Stoppage>,
    pub(crate) verifies: bool,
    pub(crate) is_open: bool,
}

/// User and system time of a process in clock ticks; `None` where there is no such process.
pub(crate) fn process_times(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may hold anything but ends with the last parenthesis (proc_pid_stat(5)); user and
    // system time are fields 14 and 15.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// One tick of /proc: USER_HZ is 100 on every architecture that Linux has today.
const TICK_NS: u64 = 10_000_000;

pub(crate) fn server(
    pid: u32,
    before: Option<(u64, u64)>,
    after: Option<(u64, u64)>,
) -> ServerAccount {
    let both = before.zip(after);
    let grown = |of: fn((u64, u64)) -> u64| {
        both.map(|(before, after)| of(after).saturating_sub(of(before)) * TICK_NS)
    };
    ServerAccount {
        process: Some(pid),
        user_ns: grown(|times| times.0),
        system_ns: grown(|times| times.1),
        counters: BTreeMap::new(),
    }
}

/// A moment as records say it: RFC 3339, UTC, milliseconds.
#[must_use]
pub fn started_at(moment: SystemTime) -> String {
    humantime::format_rfc3339_millis(moment).to_string()
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
pub(crate) fn record(
    plan: &LoadPlan,
    setup: &Setup,
    ended: Ended,
    counters: Option<BTreeMap<String, f64>>,
) -> Record {
    let Ended {
        started_at,
        elapsed_ns,
        measured,
        mut yields,
        panics,
        usage,
        server,
        signal,
        stops,
        verifies,
        is_open,
    } = ended;
    let started_at = self::started_at(started_at);
    let errors = errors(&yields);
    let counts = sum(&yields);
    let unsent: Vec<u64> = yields
        .iter_mut()
        .flat_map(|done| std::mem::take(&mut done.unsent))
        .collect();
    let mut load = load_account(plan, setup, &yields, &counts, measured.users);
    load.server = server;
    if let Some(counters) = counters {
        load.server.get_or_insert_default().counters = counters;
    }
    if is_open {
        load.lateness = Some(merged(yields.iter().map(|done| &done.lateness)));
        let mut age = Histogram::default();
        unsent.iter().for_each(|ns| age.record(*ns));
        load.unsent_age = Some(age);
    }
    let mut out = Record {
        schema: SCHEMA,
        id: format!("{started_at}-{}", std::process::id()),
        started_at,
        kind: "load".into(),
        name: plan.scenario.name.clone(),
        effective: plan.effective(),
        targets: targets(plan),
        elapsed_ns,
        stops,
        operations: measured.total,
        warmup: yields
            .iter()
            .fold(Measurements::default(), |mut sum, done| {
                sum.merge(&done.warmup);
                sum
            }),
        interval_ns: measured.interval_ns,
        series: measured.series,
        generator: generator(&yields),
        pace: is_open.then(|| {
            pace(
                plan,
                &yields,
                elapsed_ns,
                units::lossless::to_u64(unsent.len()),
            )
        }),
        verification: verifies.then(|| verification(&counts, &errors)),
        process: process(&usage),
        errors,
        load: Some(load),
        ..Record::default()
    };
    out.workers = yields.into_iter().map(|done| done.account).collect();
    out.notices.extend(setup.notices.iter().cloned());
    if counts.posted > 0 {
        out.notices.push(format!(
            "{} posted files stay on the server: their addresses are its own",
            counts.posted
        ));
    }
    judge(plan, &mut out, &panics, signal);
    out
}

/// Thresholds and outcome.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn judge(plan: &LoadPlan, record: &mut Record, panics: &[String], signal: Option<i32>) {
    let results: Vec<_> = plan
        .scenario
        .thresholds
        .iter()
        .map(|threshold| threshold.judge(record))
        .collect();
    let missed = results.iter().filter(|result| !result.holds).count();
    let tolerates = results.iter().any(record::ThresholdResult::limits_failures);
    let (count, errors) = (record.operations.count(), record.operations.errors());
    let wrong = record
        .verification
        .as_ref()
        .map_or(0, |verification| verification.failures);
    let panic = panics.first().cloned().or_else(|| {
        record
            .workers
            .iter()
            .find_map(|worker| worker.error.clone())
    });
    let of = |status, exit_code, message: String| Outcome {
        status,
        exit_code,
        message: Some(message),
    };
    record.outcome = if let Some(panic) = panic {
        of(Status::Incomplete, 5, panic)
    } else if let Some(signal) = signal {
        of(
            Status::Interrupted,
            128 + signal,
            format!("stopped by signal {signal}; what was measured until then is here"),
        )
    } else if wrong > 0 {
        of(
            Status::Failed,
            1,
            format!("{wrong} objects held other bytes than were written"),
        )
    } else if count == 0 {
        of(
            Status::Failed,
            1,
            if errors > 0 {
                "every operation failed".into()
            } else {
                "no operation was done".into()
            },
        )
    } else if record
        .verification
        .as_ref()
        .is_some_and(|verification| verification.operations == 0)
    {
        of(
            Status::Incomplete,
            5,
            "verification was asked for, and no object was read back: nothing was checked".into(),
        )
    } else if missed > 0 {
        of(
            Status::Ok,
            3,
            format!("{missed} of {} thresholds missed", results.len()),
        )
    } else if errors > 0 && !tolerates {
        of(
            Status::Failed,
            1,
            format!(
                "{errors} of {} operations failed; a threshold such as errors<1% says how many may",
                count + errors
            ),
        )
    } else {
        Outcome::default()
    };
    record.thresholds = results;
}

fn load_account(
    plan: &LoadPlan,
    setup: &Setup,
    yields: &[Yield],
    counts: &Counts,
    users: Vec<u64>,
) -> LoadAccount {
    let mut phases: BTreeMap<String, record::RequestPhases> = BTreeMap::new();
    for (kind, more) in yields.iter().flat_map(|done| &done.phases) {
        let sum = phases.entry((*kind).to_owned()).or_default();
        sum.connecting.merge(&more.connecting);
        sum.sending.merge(&more.sending);
        sum.waiting.merge(&more.waiting);
        sum.receiving.merge(&more.receiving);
    }
    let endpoints = endpoints(yields);
    LoadAccount {
        scenario: plan.scenario.name.clone(),
        users,
        phases,
        iterations: merged(yields.iter().map(|done| &done.iterations)),
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
        left_behind: counts.posted,
        ..LoadAccount::default()
    }
}

/// What went to each endpoint, over all threads.
fn endpoints(yields: &[Yield]) -> Vec<EndpointAccount> {
    let mut sums: Vec<EndpointAccount> = Vec::new();
    for done in yields {
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
            sum.operations += more.operations;
            sum.errors += more.errors;
            sum.connections_opened += more.connections_opened;
            sum.connections_failed += more.connections_failed;
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

fn sum(yields: &[Yield]) -> Counts {
    yields
        .iter()
        .map(|done| done.counts)
        .fold(Counts::default(), |a, b| Counts {
            skipped: a.skipped + b.skipped,
            queued: a.queued + b.queued,
            retries: a.retries + b.retries,
            signed: a.signed + b.signed,
            signing_ns: a.signing_ns + b.signing_ns,
            verified: a.verified + b.verified,
            wrong: a.wrong + b.wrong,
            posted: a.posted + b.posted,
        })
}

/// Failures of all threads, equal words together, the most frequent first.
fn errors(yields: &[Yield]) -> Vec<ErrorCount> {
    let mut sums: BTreeMap<(String, String), ErrorCount> = BTreeMap::new();
    for error in yields.iter().flat_map(|done| &done.errors) {
        let sum = sums.entry((error.operation.clone(), error.error.clone()));
        sum.and_modify(|sum| sum.count += error.count)
            .or_insert_with(|| error.clone());
    }
    let mut out: Vec<ErrorCount> = sums.into_values().collect();
    out.sort_by_key(|error| std::cmp::Reverse(error.count));
    out
}

fn generator(yields: &[Yield]) -> LoopAccount {
    yields.iter().fold(LoopAccount::default(), |mut sum, done| {
        sum.in_flight_ns += done.loop_account.in_flight_ns;
        sum.worker_ns += done.loop_account.worker_ns;
        sum.abandoned += done.loop_account.abandoned;
        sum
    })
}

/// Turns are what arrives; the operations that follow one are its own.
fn pace(plan: &LoadPlan, yields: &[Yield], elapsed_ns: u64, unsent: u64) -> PaceAccount {
    let begun: u64 = yields
        .iter()
        .map(|done| done.lateness.count() + done.counts.queued)
        .sum();
    let course = plan.scenario.course();
    // Answers after the last arrival lengthen the run, not the schedule; a signal shortens it.
    let seconds = elapsed_ns.min(course.total_ns()) as f64 / 1e9;
    let asked = match &plan.scenario.arrivals {
        Arrivals::Open { rate, .. } => rate.mean(),
        Arrivals::Closed { .. } => 0.0,
    };
    PaceAccount {
        asked_per_second: Some(asked),
        asked_bytes_per_second: None,
        achieved_per_second: if seconds > 0.0 {
            begun as f64 / seconds
        } else {
            0.0
        },
        unsent,
    }
}

fn verification(counts: &Counts, errors: &[ErrorCount]) -> Verification {
    let wrong = |error: &&ErrorCount| error.class == Some(ErrorClass::Verification);
    let first = errors
        .iter()
        .filter(wrong)
        .map(|error| VerificationFailure {
            file: error.first_file.clone(),
            offset: error.first_offset,
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
    let seeds = &plan.scenario.seeds;
    let bytes = seeds.iter().fold(0_u64, |sum, seed| {
        sum.saturating_add(Bytes(seed.size).0.saturating_mul(seed.count))
    });
    let kind = plan.target.kind().to_owned();
    vec![TargetFact {
        path: plan.target.text().to_owned(),
        kind,
        files: plan.scenario.seed_count(),
        bytes,
        hole_bytes: None,
    }]
}

fn process(usage: &Usage) -> ProcessAccount {
    ProcessAccount {
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        major_faults: usage.major_faults,
        minor_faults: usage.minor_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        max_resident_bytes: usage.max_resident_kib * 1024,
        storage_read_bytes: None,
        storage_written_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_this_process_are_read() {
        let (user, system) = process_times(std::process::id()).unwrap();
        assert!(user + system < 1_000_000);
        assert_eq!(process_times(u32::MAX), None);
    }

    #[test]
    fn a_server_that_went_away_has_no_times() {
        assert_eq!(
            server(7, Some((1, 2)), Some((4, 7))).user_ns,
            Some(30_000_000)
        );
        assert_eq!(server(7, Some((1, 2)), None).system_ns, None);
    }
}
