//! A queue depth is an upper bound; what was in flight on average says what was measured.

use crate::audit::rule::{Check, Rule};
use crate::figures::sum_of_transfers;
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "depth_not_reached",
    catalogue_number: Some(16),
    severity: Severity::Invalid,
    title: "Fewer operations were in flight than the queue depth asked for",
    text: "\
The mean number in flight a worker (generator.in_flight_ns over worker_ns; for foreign
records rate times mean latency, by Little's law) is compared with the effective queue-
depth, unless pauses or a schedule explain the difference. Below half of the depth, or
with hardly more than one in flight, the finding is invalid: what was named was not
measured. Between half and 80 %, and wherever flushes were asked for, which wait for all
before them, it is a warning: a machine that is too busy to refill a queue at once still
measured a rate, at the depth that it reached.
A depth is an upper bound, not a fact. 4061 operations of 0.25 ms a second at \"depth 8\"
are 1.02 in flight: the engine worked at depth 1 and the row measures that. Such a row
seems to show that depth does not help, when it was never tried.
What to do: call the result by the depth that was reached. A smaller --reap-batch keeps
the queue fuller; cached files and flushes complete inline and empty it, so use
--direct.",
    checks: &[Check::Each(check)],
};

/// Below this share of the depth a queue was not kept full.
const LEAST_SHARE: f64 = 0.8;

/// Below this share another depth was measured than the one that the result is called by. A
/// generator that waits for a CPU, or that reaps in batches, keeps a queue fuller than that.
const LEAST_SHARE_OF_A_MEASUREMENT: f64 = 0.5;

/// With fewer in flight operations went one after the other, also where 2 were asked for.
const HARDLY_A_QUEUE: f64 = 1.1;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let worker_ns = record.loops.worker_ns as f64;
    let depth = effective.number("queue-depth").unwrap_or(1);
    if depth < 2 || effective.is_limited() || effective.thinks() {
        return Vec::new();
    }
    let threads = effective.workers().unwrap_or(1.0).max(1.0);
    let counted = (worker_ns > 0.0).then(|| record.loops.in_flight_ns as f64 / worker_ns);
    // Little's law, where nobody counted: rate times latency.
    let Some(mean) = counted.or_else(|| {
        Some(sum_of_transfers(record, |f| Some(f.per_second()? * f.mean_ns()? / 1e9))? / threads)
    }) else {
        return Vec::new();
    };
    if mean >= LEAST_SHARE * depth as f64 {
        return Vec::new();
    }
    // A flush waits for everything before it: whoever asked for flushes asked for a queue that
    // empties.
    let flushes = effective.is_on("end-fsync")
        || ["fsync", "fdatasync"]
            .iter()
            .any(|key| effective.number(key).unwrap_or(0) > 0);
    let least = (LEAST_SHARE_OF_A_MEASUREMENT * depth as f64).max(HARDLY_A_QUEUE);
    let severity = if flushes || mean >= least {
        Severity::Warning
    } else {
        Severity::Invalid
    };
    let message =
        format!("asked for {depth} operations in flight a worker, had {mean:.1} on average");
    let advice = "call this result by the depth that was reached; a smaller --reap-batch keeps the queue fuller, and flushes empty it";
    vec![RULE.finding(severity, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, only, set, sound};
    use super::*;

    /// A queue for 32 operations, with so many in flight on average.
    fn filled(mean: u64) -> Record {
        let mut record = sound();
        record.loops.in_flight_ns = u128::from(mean * 10 * SECOND);
        record
    }

    fn half_full() -> Record {
        filled(16)
    }

    #[test]
    fn a_queue_half_full_is_found() {
        assert_eq!(
            only(&check(&half_full())),
            "asked for 32 operations in flight a worker, had 16.0 on average"
        );
    }

    #[test]
    fn a_queue_that_is_not_refilled_at_once_is_a_warning_and_one_below_half_invalid() {
        let severity = |record: &Record| check(record).first().map(|finding| finding.severity);
        assert_eq!(severity(&filled(26)), None);
        for warned in [25, 20, 16] {
            assert_eq!(severity(&filled(warned)), Some(Severity::Warning));
        }
        for invalid in [15, 8, 1] {
            assert_eq!(severity(&filled(invalid)), Some(Severity::Invalid));
        }
    }

    #[test]
    fn one_after_the_other_is_no_queue_of_two() {
        let mut record = filled(1);
        set(&mut record, "queue-depth", "2");
        assert_eq!(check(&record)[0].severity, Severity::Invalid);
    }

    #[test]
    fn flushes_may_empty_a_queue() {
        let mut record = filled(8);
        assert_eq!(check(&record)[0].severity, Severity::Invalid);
        set(&mut record, "fsync", "1");
        assert_eq!(check(&record)[0].severity, Severity::Warning);
        let mut at_the_end = filled(8);
        set(&mut at_the_end, "end-fsync", "true");
        assert_eq!(check(&at_the_end)[0].severity, Severity::Warning);
    }

    #[test]
    fn pauses_and_a_schedule_empty_the_queue_rightly() {
        let mut thinking = half_full();
        set(&mut thinking, "think-time", "1ms");
        assert_eq!(check(&thinking), []);
        let mut paced = half_full();
        paced.pace = Some(record::PaceAccount {
            asked_per_second: Some(10.0),
            ..Default::default()
        });
        assert_eq!(check(&paced), []);
    }

    #[test]
    fn a_full_queue_is_not_found() {
        assert_eq!(check(&sound()), []);
    }

    #[test]
    fn what_a_document_says_is_held_against_littles_law() {
        let of = |mean_ns| {
            let summary = record::Summary {
                per_second: Some(4061.0),
                mean_ns: Some(mean_ns),
                ..record::Summary::default()
            };
            let mut record = super::super::example::quoted("read", summary);
            set(&mut record, "queue-depth", "8");
            record
        };
        assert_eq!(
            only(&check(&of(250_000.0))),
            "asked for 8 operations in flight a worker, had 1.0 on average"
        );
        assert_eq!(check(&of(1_970_000.0)), []);
    }
}
