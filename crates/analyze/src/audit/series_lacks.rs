//! What is left of a rank that did not get to its end has no course by time, and that of all is then of the others.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Measurements, Record};
use units::{few, grouped};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "series_lacks",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "The course by time is not of all ranks",
    text: "\
The operations of the series of a group beside those of its record. What is kept of a rank
while it runs (--save-every) has its counts, its histograms and no series, so that the
record of a group of which one was lost has all operations, and its series those of the
others.
Of 3 ranks at 300 operations a second each, of which one was killed after 4 s, a plot of
rates by time shows 600 from the beginning, where the target had to do 900.
What to do: read rates by time as those of the other ranks (hosts), and repeat the run.",
    checks: &[Check::Alone(check)],
};

/// So many are named.
const NAMED: usize = 4;

fn check(record: &Record) -> Vec<Finding> {
    let all = ended(&record.operations);
    let by_time = record.series.iter().map(|of| ended(&of.operations));
    let by_time = by_time.fold(0, u64::saturating_add);
    let parts = record.host_parts();
    let without = parts.iter().filter(|own| own.part.was_cut_off());
    let named: Vec<_> = without.map(|own| own.host.called()).collect();
    if record.series.is_empty() || parts.len() < 2 || named.is_empty() || by_time >= all {
        return Vec::new();
    }
    let message = format!(
        "{} of {} operations are in the course by time: it is of the ranks that ended, without {}",
        grouped(by_time),
        grouped(all),
        few(&named, NAMED)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "read rates by time as those of the other ranks, and repeat the run",
    )]
}

fn ended(operations: &Measurements) -> u64 {
    operations.count().saturating_add(operations.errors())
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only};
    use super::*;
    use record::Status;

    #[test]
    fn a_rank_whose_course_nobody_kept_is_named() {
        let of = |status| {
            group_of(3, |rank, part| {
                part.series = vec![record::Interval {
                    end_ns: part.elapsed_ns,
                    operations: part.operations.clone(),
                    ..record::Interval::default()
                }];
                part.interval_ns = part.elapsed_ns;
                if rank == 2 {
                    part.series.clear();
                    part.outcome.status = status;
                }
            })
        };
        let found = check(&of(Status::Incomplete));
        let message = only(&found);
        assert!(message.contains("(rank 2)"), "{message}");
        assert!(!message.contains("(rank 1)"), "{message}");
        assert_eq!(check(&of(Status::Ok)), []);
    }
}
