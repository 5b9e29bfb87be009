//! Rates are over the whole measured time, so every worker must have worked throughout it.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, WorkerAccount};
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "elapsed",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The measured time is not the time in which the workers worked",
    text: "\
Each worker's start and end (workers[].started_ns, ended_ns) are held against the
measured time. Invalid if the last worker ended more than 5 % off, of a load also 40 ms
later, as its threads look for the end of their users from time to time; a warning if
some worker was absent for more than 5 %, beyond the gap of a slow one. Ranks of a group are
each held against their own time: they may end apart.
A rate is operations over one common time. If one of two workers stops after 6 of 10 s,
the rate mixes 6 s of two workers with 4 s of one: 20 % too low for two, 60 % too high
for one, and right for nothing.
What to do: give each worker the same amount of work, or run all of them for a fixed
--duration.",
    checks: &[Check::OfHost(check)],
};

/// Share of the measured time that a worker may be missing at either end, and that the window may
/// differ.
const TOLERANCE: f64 = 0.05;

/// How much later than its last answer a load's thread may see that its users have left: two of its
/// looks.
const LOOKS_OF_A_LOAD_NS: u64 = 40_000_000;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let elapsed = record.elapsed_ns;
    let Some(last) = record.workers.iter().map(|worker| worker.ended_ns).max() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let difference = last.abs_diff(elapsed);
    let is_end_of_load =
        record.load.is_some() && last > elapsed && difference <= LOOKS_OF_A_LOAD_NS;
    if difference as f64 > elapsed as f64 * TOLERANCE && !is_end_of_load {
        let message = format!(
            "the last worker ended at {}, the measured time is {}",
            Nanos(last),
            Nanos(elapsed)
        );
        let advice = "rates are operations over a time that is not theirs: recompute them from the worker accounts";
        out.push(RULE.finding(Severity::Invalid, message, advice));
    }
    let missing: Vec<(u32, u64)> = record
        .workers
        .iter()
        .filter_map(|w| missing_ns(w, elapsed).map(|ns| (w.index, ns)))
        .collect();
    if let Some(&(index, most)) = missing.iter().max_by_key(|(_, ns)| *ns) {
        let share = percent(ratio(most, elapsed));
        let message = format!(
            "{} of {} did not work throughout; worker {index} missed {share} of the measured time",
            missing.len(),
            units::counted(record.workers.len(), "worker")
        );
        let advice = "the rate mixes times with more and with fewer workers: give each worker the same amount, or run for a fixed --duration";
        out.push(RULE.finding(Severity::Warning, message, advice));
    }
    out
}

/// How long a worker was absent at the start and the end, if it is more than tolerable.
fn missing_ns(worker: &WorkerAccount, elapsed_ns: u64) -> Option<u64> {
    let absent = worker
        .started_ns
        .saturating_add(elapsed_ns.saturating_sub(worker.ended_ns));
    // A slow or paced worker may end up to two operations before the others.
    let between = (elapsed_ns / worker.operations.max(1)).saturating_mul(2);
    (absent as f64 > elapsed_ns as f64 * TOLERANCE && absent > between)
        .then_some(absent.min(elapsed_ns))
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, group_of, only, sound};
    use super::super::self_check;
    use super::*;

    fn two_workers(started: u64, ended: u64, operations: u64) -> Record {
        let mut record = sound();
        let second = WorkerAccount {
            index: 1,
            started_ns: started,
            ended_ns: ended,
            operations,
            ..record.workers[0].clone()
        };
        record.workers.push(second);
        record
    }

    #[test]
    fn a_worker_that_ended_early_is_found() {
        let found = check(&two_workers(0, 6 * SECOND, 1000));
        assert_eq!(
            only(&found),
            "1 of 2 workers did not work throughout; worker 1 missed 40% of the measured time"
        );
    }

    #[test]
    fn a_worker_that_began_late_is_found() {
        assert!(
            only(&check(&two_workers(SECOND, 10 * SECOND, 1000))).contains("worker 1 missed 10%")
        );
    }

    #[test]
    fn small_gaps_and_the_last_gap_of_a_slow_worker_are_not_found() {
        assert_eq!(
            check(&two_workers(SECOND / 10, 10 * SECOND - SECOND / 10, 1000)),
            []
        );
        assert_eq!(check(&two_workers(0, 9 * SECOND, 10)), []);
    }

    #[test]
    fn a_thread_of_a_short_load_may_see_the_end_of_its_users_a_look_later() {
        let ended = |after_ns: u64, is_load: bool| {
            let mut record = sound();
            record.elapsed_ns = SECOND / 10;
            record.load = is_load.then(Default::default);
            for worker in &mut record.workers {
                worker.ended_ns = SECOND / 10 + after_ns;
            }
            check(&record)
        };
        assert_eq!(ended(7_400_000, true), []);
        assert!(only(&ended(7_400_000, false)).contains("the last worker ended at 107.4 ms"));
        assert!(only(&ended(50_000_000, true)).contains("the last worker ended at 150 ms"));
    }

    #[test]
    fn ranks_that_end_apart_are_each_held_against_their_own_time() {
        let found = |early: u64| {
            let all = group_of(3, |rank, part| {
                if rank == 1 {
                    part.elapsed_ns = 6 * SECOND;
                    part.workers[0].ended_ns = early;
                }
            });
            assert!(
                !check(&all).is_empty(),
                "as one they did not work throughout"
            );
            let found = self_check(&all).into_iter();
            let found = found.filter(|finding| finding.rule == RULE.id);
            found.map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(found(6 * SECOND), Vec::<String>::new());
        assert!(found(3 * SECOND)[0].starts_with("on node1 (rank 1): "));
    }

    #[test]
    fn a_measured_time_that_no_worker_filled_invalidates() {
        let mut record = sound();
        record.elapsed_ns = 11 * SECOND;
        assert!(
            check(&record)
                .iter()
                .any(|f| f.severity == Severity::Invalid && f.message.contains("ended at 10 s"))
        );
    }
}
