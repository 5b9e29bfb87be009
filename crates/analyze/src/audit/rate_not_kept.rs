//! An open loop that starts fewer operations than asked measured another load.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{JudgedRate, KeptSchedule, Record, Status};
use units::lossless::u64_to_f64;
use units::{ByteRate, Rate};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "rate_not_kept",
    catalogue_number: Some(25),
    severity: Severity::Invalid,
    title: "The open loop did not start what it was asked to",
    text: "\
Of a paced run each worker says how much of its schedule it began by its end, and how far
behind it was then (workers, schedule); of a load the achieved rate is compared with the asked
one (pace). The operations that were due and never started are counted. A shortfall of 5 %, or
1 % unsent (and more than wait at any end: one of a worker, of Poisson arrivals the root of what
was due), is invalid; beyond 0.5 % (of a load also beyond the scatter of Poisson arrivals, three
standard deviations of what was due) it is a warning.
A latency at 10,000/s belongs to 10,000/s. If only 8,000/s started, the target was
overloaded or the generator starved, and a fifth of the operations that would have
waited longest were never counted: the latency shown is too good exactly where it
matters.
What to do: ask for less, allow a greater --queue-depth, or call it an overload test.",
    checks: &[Check::EachOrSum(rate, misses_in_sum), Check::Each(unsent)],
};

const TOLERANCE: f64 = KeptSchedule::TOLERANCE;
/// Unsent operations and a shortfall beyond these shares make it another workload.
const INVALID_UNSENT: f64 = 0.01;
const INVALID_SHORTFALL: f64 = 0.05;
/// What is counted more than this after a warm-up is no chance of the first and the last operations.
const MUCH_MORE: f64 = 0.05;
const ADVICE: &str = "the target or this machine cannot keep the rate: ask for less, allow a greater --queue-depth, or call this an overload test";
/// The advice where more was done than was asked.
const MORE: &str = "more ended than was due: what was due before the measured time, as in a warm-up with a stall, or all at once; measure for longer, with a warm-up that is calm at its end";

fn rate(record: &Record) -> Vec<Finding> {
    if let Some(kept) = record.kept_schedule() {
        let found = schedule(record, kept.judged());
        return found.or_else(|| excess(record)).into_iter().collect();
    }
    let compared = record.judged_rate().and_then(|rate| {
        let [wanted, got] = shown(&rate);
        compare(record, rate.achieved / rate.asked, &wanted, &got)
    });
    compared.into_iter().collect()
}

/// What is found of a rate of which each worker says how it followed its schedule: nothing of that is chance.
fn schedule(record: &Record, kept: f64) -> Option<Finding> {
    if (kept - 1.0).abs() <= TOLERANCE {
        return None;
    }
    let pace = record.pace.as_ref()?;
    let operations = pace.asked_per_second.map(|x| Rate(x).to_string());
    let bytes = pace.asked_bytes_per_second.map(|x| ByteRate(x).to_string());
    let asked: Vec<String> = operations.into_iter().chain(bytes).collect();
    let asked = asked.join(" and ");
    Some(finding(kept, |kept| {
        format!("asked for {asked}, of which {kept} was kept")
    }))
}

fn finding(kept: f64, message: impl Fn(&str) -> String) -> Finding {
    let severity = if kept < 1.0 - INVALID_SHORTFALL {
        Severity::Invalid
    } else {
        Severity::Warning
    };
    let advice = if kept > 1.0 { MORE } else { ADVICE };
    RULE.finding(severity, message(&format!("{:.2}%", kept * 100.0)), advice)
}

/// Whether a host missed its rate by more than chance moves that of all.
fn misses_in_sum(host: &Record, whole: &Record) -> bool {
    // What is missed of schedules, some host misses; it may have begun all of its own before the others had.
    if whole.kept_schedule().is_some() {
        return true;
    }
    // One that was lost on the way kept its rate until then.
    if host.outcome.status == Status::Incomplete {
        return true;
    }
    let rate = host.judged_rate();
    let kept = rate.map(|rate| rate.achieved / rate.asked);
    kept.is_some_and(|kept| is_missed(kept, whole))
}

/// Whether so much of a rate is more or less than chance makes of it.
fn is_missed(kept: f64, record: &Record) -> bool {
    kept.is_finite() && (kept - 1.0).abs() > TOLERANCE.max(record.chance_of_pace())
}

fn unsent(record: &Record) -> Vec<Finding> {
    let pace = record.pace.as_ref().filter(|pace| pace.unsent > 0);
    let Some(pace) = pace else {
        return Vec::new();
    };
    let started = record.begun_by_schedule();
    let operations = (record.operations.count()).saturating_add(record.operations.errors());
    let what = match record.load.is_some() && started < operations {
        true => "turn",
        false => "operation",
    };
    let due = pace.unsent.saturating_add(started);
    let share = ratio(pace.unsent, due);
    // What chance brings together waits for each other, in the end as well.
    if record.has_poisson_arrivals() && record.load.is_none() && share <= TOLERANCE {
        return Vec::new();
    }
    let are_few = pace.unsent <= few(record, due);
    let severity = if share > INVALID_UNSENT && !are_few {
        Severity::Invalid
    } else {
        Severity::Warning
    };
    let were = if pace.unsent == 1 { "was" } else { "were" };
    let message = format!(
        "{} that {were} due never started, {} of all",
        units::counted(pace.unsent, what),
        percent(share)
    );
    vec![RULE.finding(severity, message, ADVICE)]
}

/// So many of all that were due, of which the last of a kept schedule may consist, say nothing of the others: one of each worker, and where
/// chance draws them those that wait behind one another. Of a load nobody says it.
fn few(record: &Record, due: u64) -> u64 {
    let Some(kept) = record.kept_schedule() else {
        return 0;
    };
    let workers = record.workers.len() as u64;
    match record.has_poisson_arrivals() {
        true => (3 + 2 * workers).min(due.isqrt()),
        false if kept.is_all() => workers,
        false => 0,
    }
}

/// What had begun in the warm-up, as before a stall, ends in the measured time and counts there, though the schedule
/// was kept.
fn excess(record: &Record) -> Option<Finding> {
    let rate = record.judged_rate()?;
    let kept = rate.achieved / rate.asked;
    let is_much = kept > 1.0 + MUCH_MORE.max(record.chance_of_pace());
    let [wanted, got] = shown(&rate);
    (is_much && record.has_warmup()).then(|| compare(record, kept, &wanted, &got))?
}

fn shown(rate: &JudgedRate) -> [String; 2] {
    [rate.asked, rate.achieved].map(|x| match rate.is_of_bytes {
        true => ByteRate(x).to_string(),
        false => Rate(x).to_string(),
    })
}

fn compare(record: &Record, kept: f64, asked: &str, achieved: &str) -> Option<Finding> {
    if !is_missed(kept, record) {
        return None;
    }
    let begun = u64_to_f64(record.begun_by_schedule());
    // The first is due when the time begins: one that ended with it began all that it was to. Of bytes each worker has
    // a first one then.
    let pace = record.pace.as_ref();
    let is_of_bytes = pace.is_some_and(|pace| pace.asked_bytes_per_second.is_some());
    let first = if is_of_bytes {
        record.workers.len().max(1)
    } else {
        1
    };
    if kept > 1.0 && begun - begun / kept <= u64_to_f64(first as u64) {
        return None;
    }
    Some(finding(kept, |kept| {
        format!("asked for {asked}, achieved {achieved} ({kept})")
    }))
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, group_of, only, set, sound};
    use super::super::self_check;
    use super::*;
    use record::{PaceAccount, ScheduleEnd, WorkerSchedule};

    fn check(record: &Record) -> Vec<Finding> {
        rate(record).into_iter().chain(unsent(record)).collect()
    }

    fn paced(asked: f64, achieved: f64, unsent: u64) -> Record {
        Record {
            pace: Some(PaceAccount {
                asked_per_second: Some(asked),
                asked_bytes_per_second: None,
                achieved_per_second: achieved,
                unsent,
                ..PaceAccount::default()
            }),
            ..sound()
        }
    }

    #[test]
    fn a_shortfall_and_an_excess_are_found() {
        let found = check(&paced(12_500.0, 10_000.0, 0));
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "asked for 12.5 K/s, achieved 10.0 K/s (80.00%)",
                Severity::Invalid
            )
        );
        let more = check(&paced(9_900.0, 10_000.0, 0));
        assert_eq!(more[0].severity, Severity::Warning);
        assert!(
            !more[0].advice.contains("ask for less"),
            "{}",
            more[0].advice
        );
    }

    #[test]
    fn what_ended_with_its_first_operation_began_no_more_than_it_was_to() {
        let mut record = paced(4.0, 22_800.0, 0);
        record.operations = record::Measurements::default();
        let failed = record::Operations {
            errors: 1,
            ..record::Operations::default()
        };
        record.operations.insert("write", failed);
        assert_eq!(check(&record), []);
    }

    #[test]
    fn operations_that_never_started_are_found() {
        assert_eq!(
            only(&check(&paced(10_000.0, 10_000.0, 25))),
            "25 operations that were due never started, under 0.1% of all"
        );
    }

    #[test]
    fn a_byte_rate_is_compared_too() {
        let mut record = paced(1.0, 1.0, 0);
        record.pace.as_mut().unwrap().asked_per_second = None;
        record.pace.as_mut().unwrap().asked_bytes_per_second = Some(40_960_000.0);
        assert_eq!(check(&record), []);
        record.pace.as_mut().unwrap().asked_bytes_per_second = Some(81_920_000.0);
        assert_eq!(
            only(&check(&record)),
            "asked for 78.1 MiB/s, achieved 39.1 MiB/s (50.00%)"
        );
    }

    #[test]
    fn a_flush_is_no_event_of_a_rate() {
        let mut record = paced(10_000.0, 10_000.0, 1_200);
        let pace = record.pace.as_mut().unwrap();
        (pace.asked_bytes_per_second, pace.over_ns) = (Some(40_960_000.0), Some(10 * SECOND));
        pace.asked_per_second = None;
        let flushes = record::Operations {
            count: 100_000,
            ..record::Operations::default()
        };
        record.operations.insert("fsync", flushes);
        assert_eq!(
            only(&check(&record)),
            "1,200 operations that were due never started, 1.2% of all"
        );
    }

    #[test]
    fn of_two_rates_the_one_that_holds_is_compared() {
        // 40.96 MB/s in operations of 4 KiB are 10,000 a second.
        let both = |operations, bytes, size| {
            let mut record = paced(operations, 10_000.0, 0);
            record.pace.as_mut().unwrap().asked_bytes_per_second = Some(bytes);
            set(&mut record, "block-size", size);
            check(&record)
        };
        assert_eq!(both(40_000.0, 40_960_000.0, "4k"), []);
        assert_eq!(both(10_000.0, 409_600_000.0, "4k"), []);
        assert_eq!(
            only(&both(40_000.0, 51_200_000.0, "4k")),
            "asked for 48.8 MiB/s, achieved 39.1 MiB/s (80.00%)"
        );
        // Nobody knows how many of which size were due.
        assert_eq!(both(20_000.0, 81_920_000.0, "4k/50:64k/50"), []);
        assert_eq!(both(40_000.0, 81_920_000.0, "4k/50:64k/50").len(), 1);
    }

    #[test]
    fn the_scatter_of_poisson_is_that_of_what_was_due() {
        let of = |achieved: f64, begun: u64| {
            let mut record = paced(100.0, achieved, 0);
            record.pace.as_mut().unwrap().over_ns = Some(1_000_000_000);
            record.operations = record::Measurements::default();
            let done = record::Operations {
                count: begun,
                ..record::Operations::default()
            };
            record.operations.insert("write", done);
            set(&mut record, "arrival", "poisson");
            check(&record).len()
        };
        // Three standard deviations of 100 are 30: of the 64 that began they would be 24, and 38 % of 64.
        assert_eq!([of(64.0, 64), of(71.0, 71), of(129.0, 129)], [1, 0, 0]);
    }

    #[test]
    fn a_byte_rate_of_a_late_rank_is_that_of_the_time_from_the_common_start() {
        let mut late = paced(1.0, 1.0, 0);
        late.pace.as_mut().unwrap().asked_per_second = None;
        late.pace.as_mut().unwrap().asked_bytes_per_second = Some(40_960_000.0);
        late.elapsed_ns /= 4;
        late.generator_mut().late_ns = 3 * late.elapsed_ns;
        assert_eq!(check(&late), []);
    }

    #[test]
    fn a_kept_rate_and_the_scatter_of_poisson_are_silent() {
        assert_eq!(check(&paced(10_000.0, 10_020.0, 0)), []);
        let mut record = paced(10_000.0, 10_080.0, 0);
        assert_eq!(check(&record).len(), 1);
        set(&mut record, "arrival", "poisson");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn what_a_lost_rank_did_not_begin_is_missing_in_the_sum() {
        let all = |lost: bool| {
            let all = group_of(3, |rank, part| {
                part.pace = Some(PaceAccount {
                    asked_per_second: Some(300.0),
                    achieved_per_second: 300.0,
                    over_ns: Some(10 * SECOND),
                    ..PaceAccount::default()
                });
                // What is left of it has no workers.
                if lost && rank == 2 {
                    part.workers.clear();
                    part.outcome.status = Status::Incomplete;
                    part.pace.as_mut().unwrap().over_ns = Some(4 * SECOND);
                }
            });
            let found = self_check(&all).into_iter();
            let found = found.filter(|finding| finding.rule == RULE.id);
            found.map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(all(false), [""; 0]);
        let missed = all(true);
        let said = "asked for 900 /s, achieved 720 /s (80.00%)";
        assert!(
            missed.len() == 1 && missed[0].starts_with(said),
            "{missed:?}"
        );
    }

    #[test]
    fn what_all_hosts_missed_by_less_than_the_chance_of_each_is_found_in_the_sum() {
        // 85 were due of each, of which chance moves a third; of 680 it moves 11.5 %.
        let of = |achieved: f64| {
            let mut all = group_of(8, |_, part| {
                part.pace = Some(PaceAccount {
                    asked_per_second: Some(20.0),
                    achieved_per_second: achieved,
                    over_ns: Some(4_250_000_000),
                    ..PaceAccount::default()
                });
                set(part, "arrival", "poisson");
            });
            set(&mut all, "arrival", "poisson");
            let found = self_check(&all).into_iter();
            found.filter(|finding| finding.rule == RULE.id).count()
        };
        assert_eq!([of(14.4), of(18.0), of(20.0)], [1, 0, 0]);
    }

    #[test]
    fn a_schedule_says_itself_what_was_kept_of_it_and_chance_makes_no_fault() {
        let all = |begun_ns: [u64; 2], behind_ns| {
            let mut all = group_of(2, |_, part| {
                part.pace = Some(PaceAccount {
                    asked_per_second: Some(20.0),
                    // By chance, and no finding.
                    achieved_per_second: 14.0,
                    ..PaceAccount::default()
                });
            });
            for (worker, begun_ns) in all.workers.iter_mut().zip(begun_ns) {
                worker.schedule = Some(WorkerSchedule {
                    begun_ns,
                    behind_ns: begun_ns - begun_ns.min(behind_ns),
                    mean_ns: 10 * SECOND,
                    end: ScheduleEnd::Done,
                    ..WorkerSchedule::default()
                });
            }
            let found = self_check(&all).into_iter();
            let found = found.filter(|finding| finding.rule == RULE.id);
            found.map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(all([8 * SECOND, 12 * SECOND], u64::MAX), [""; 0]);
        assert_eq!(
            all([SECOND, 6 * SECOND], SECOND),
            ["asked for 40 /s, of which 80.00% was kept; of the hosts, node1 (rank 1) alone"]
        );
    }

    /// One worker that kept its schedule of ten seconds but for so much, and began 100 operations.
    fn followed(behind_ns: u64, unsent: u64) -> Record {
        let mut record = paced(10.0, 10.0, unsent);
        record.operations = record::Measurements::default();
        let done = record::Operations {
            count: 100,
            ..record::Operations::default()
        };
        record.operations.insert("read", done);
        record.workers.truncate(1);
        record.workers[0].schedule = Some(WorkerSchedule {
            begun_ns: 10 * SECOND - behind_ns,
            behind_ns,
            ..WorkerSchedule::default()
        });
        record
    }

    #[test]
    fn so_few_as_wait_at_any_end_are_a_warning() {
        let severities = |record: &Record| {
            let found = unsent(record).into_iter();
            found.map(|finding| finding.severity).collect::<Vec<_>>()
        };
        assert_eq!(severities(&followed(0, 1)), [Severity::Warning]);
        assert_eq!(severities(&followed(0, 2)), [Severity::Invalid]);
        // Of a schedule that was not kept not even one of each worker.
        assert_eq!(severities(&followed(SECOND, 2)), [Severity::Invalid]);
        let by_chance = |unsent| {
            let mut record = followed(0, unsent);
            set(&mut record, "arrival", "poisson");
            record
        };
        assert_eq!(severities(&by_chance(5)), [Severity::Warning]);
        assert_eq!(severities(&by_chance(6)), [Severity::Invalid]);
        let mut many = by_chance(1);
        let reads = record::Operations {
            count: 1000,
            ..record::Operations::default()
        };
        many.operations.insert("read", reads);
        assert_eq!(severities(&many), []);
    }

    #[test]
    fn what_a_warm_up_left_in_flight_is_too_much_though_the_schedule_was_kept() {
        let mut record = followed(0, 0);
        record.pace.as_mut().unwrap().achieved_per_second = 11.0;
        set(&mut record, "warmup", "0s");
        assert_eq!(check(&record), []);
        set(&mut record, "warmup", "2s");
        let found = check(&record);
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "asked for 10 /s, achieved 11 /s (110.00%)",
                Severity::Warning
            )
        );
    }

    #[test]
    fn a_host_that_kept_its_rate_is_not_named_beside_the_one_that_did_not() {
        let all = group_of(2, |rank, part| {
            part.pace = Some(PaceAccount {
                asked_per_second: Some(10_000.0),
                achieved_per_second: if rank == 0 { 3_500.0 } else { 9_999.0 },
                // So few are a warning.
                unsent: if rank == 0 { 65_000 } else { 10 },
                ..PaceAccount::default()
            });
        });
        let found = self_check(&all).into_iter();
        let found = found.filter(|finding| finding.rule == RULE.id);
        let found: Vec<String> = found.map(|finding| finding.message).collect();
        assert_eq!(
            found,
            [
                "asked for 20.0 K/s, achieved 13.5 K/s (67.50%); of the hosts, node0 (rank 0) alone",
                "65,010 operations that were due never started, 24.5% of all; of the hosts, node0 (rank 0) alone"
            ]
        );
    }
}
