//! If every reap empties the queue, operations completed while they were submitted: nothing was
//! ever waiting beside another.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "inline_completion",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "Operations completed while they were submitted",
    text: "\
If more than 95 % of reaps left the queue empty (generator.reaps_to_empty of reaps),
with a queue deeper than 1, buffered and not told to wait for the whole batch, every
operation ended inside its own submission.
A buffered read that hits the page cache is a copy during the submission: 32 operations
one after the other, none beside another. Throughput is that of depth 1, and the latency
of the last includes waiting for 31 copies: 32 times 2 us looks like 64 us.
What to do: measure cached access at --queue-depth 1, where it is honest, or use
--direct on a target that completes asynchronously.",
    checks: &[Check::Each(check)],
};

const MOST_SHARE: f64 = 0.95;
/// Below this many reaps the share says little.
const LEAST_REAPS: u64 = 100;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let depth = effective.number("queue-depth").unwrap_or(1);
    let asked_for = effective
        .number("reap-batch")
        .is_some_and(|batch| batch >= depth);
    // A device that ends whole batches at once looks the same; its reads and writes do not run
    // inside the submission.
    let explained = asked_for
        || effective.is_on("direct")
        || effective.is_open_loop()
        || effective.thinks()
        || effective.text("engine") == Some("null");
    let generator = &record.loops;
    if depth < 2 || explained || generator.reaps < LEAST_REAPS {
        return Vec::new();
    }
    let share = ratio(generator.reaps_to_empty, generator.reaps);
    if share <= MOST_SHARE {
        return Vec::new();
    }
    let share = percent(share);
    let message = format!(
        "{share} of reaps emptied a queue of {depth}: the target completed inline, effective concurrency is 1 a worker"
    );
    let advice = "latencies are those of waiting in the own queue; measure at --queue-depth 1, or with --direct on a target that is asynchronous";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    fn inline() -> Record {
        let mut record = sound();
        record.loops.reaps_to_empty = record.loops.reaps;
        set(&mut record, "direct", "false");
        record
    }

    #[test]
    fn a_cached_target_behind_a_deep_queue_is_found() {
        assert!(only(&check(&inline())).starts_with("100% of reaps emptied a queue of 32"));
    }

    #[test]
    fn a_direct_run_ends_whole_batches_without_completing_inline() {
        let mut record = inline();
        set(&mut record, "direct", "true");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn waiting_for_the_whole_batch_was_asked_for() {
        let mut record = inline();
        set(&mut record, "reap-batch", "32");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn a_queue_that_stays_filled_and_depth_1_are_not_found() {
        assert_eq!(check(&sound()), []);
        let mut record = inline();
        set(&mut record, "queue-depth", "1");
        assert_eq!(check(&record), []);
    }
}
