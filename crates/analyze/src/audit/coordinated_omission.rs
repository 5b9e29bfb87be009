//! In a closed loop a stall stops the questions, so that it counts once where many would have
//! waited.

use super::{generator_stopped, percentile_has_support};
use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Effective, Finding, SHOWN_PERCENTILES, Severity};
use record::Record;
use units::Nanos;
use units::lossless::f64_to_u64_saturating;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "coordinated_omission",
    catalogue_number: Some(23),
    severity: Severity::Warning,
    title: "A stall counts once where many operations would have waited",
    text: "\
In a closed loop: the longest latency times the rate against the number of samples above
the highest percentile that is shown. Found if more were due within the stall than lie
above it, and it is at least 3 times the median. A note for queues of a device, where it
must be 5 times that percentile.
Who waits asks nothing. At 342 requests a second a stall of 343 ms is one sample, where
117 requests would have been due; counted, they would have moved the p99.9.
What to do: call such percentiles those of the service. For what clients see give a rate
(--rate-iops): latency then counts from the intended start of each operation.",
    checks: &[Check::Each(check)],
};

/// A longest latency within this many medians is the tail of a queue, not a stall.
const LEAST_MEDIANS: f64 = 3.0;
/// A queue of a device is no population of clients: only what plainly stood still is worth a note.
/// The longest of a million exponential latencies is three times their p99.
const LEAST_TAILS: f64 = 5.0;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    if effective.is_open_loop() || matches!(effective.text("engine"), Some("null")) {
        return Vec::new();
    }
    let users = effective.text("users").is_some();
    let found: Vec<String> = figures(record)
        .filter(|f| !f.kind.starts_with("iteration"))
        .filter(|f| {
            f.max_ns()
                .is_none_or(|longest| !generator_stopped::explains(record, longest))
        })
        .filter_map(|f| hidden(&f, users))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let severity = if users {
        Severity::Warning
    } else {
        Severity::Note
    };
    let message = format!("closed loop: {}", found.join("; "));
    let advice = "call the percentiles those of the service; for what a client would see, give a rate (--rate-iops, of a load --rate) and take latency from the intended start";
    vec![RULE.finding(severity, message, advice)]
}

/// More operations were due within the longest stall than lie above the highest percentile shown.
fn hidden(figures: &Figures<'_>, users: bool) -> Option<String> {
    let (stall, median) = (figures.max_ns()?, figures.percentile_ns(50.0)?);
    let (samples, measured) = (figures.samples()?, figures.measured_ns()?);
    let shown = if figures.is_counted() {
        SHOWN_PERCENTILES.to_vec()
    } else {
        figures.stated_percentiles()
    };
    let highest = shown
        .into_iter()
        .rfind(|percent| *percent < 100.0 && percentile_has_support(samples, *percent))?;
    let above = samples as f64 * (1.0 - highest / 100.0);
    let due = stall * samples as f64 / measured as f64;
    let least = if users {
        LEAST_MEDIANS * median
    } else {
        LEAST_TAILS * figures.percentile_ns(highest)?
    };
    (due > above && stall >= least).then(|| {
        let longest = Nanos(f64_to_u64_saturating(stall));
        format!("a stall of {longest} in {} is one sample where {due:.0} were due, and {above:.0} lie above p{highest}", figures.kind)
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, sound};
    use super::*;
    use record::{PaceAccount, Summary};

    fn clients(max_ns: f64) -> Record {
        let percentiles_ns = [("50".to_owned(), 3e6), ("99".to_owned(), 23e6)].into();
        let mut record = quoted(
            "get",
            Summary {
                count: Some(3420),
                max_ns: Some(max_ns),
                percentiles_ns,
                ..Summary::default()
            },
        );
        set(&mut record, "users", "100");
        record
    }

    #[test]
    fn a_stall_that_hides_more_than_the_tail_is_found() {
        let found = check(&clients(343e6));
        assert_eq!(
            only(&found),
            "closed loop: a stall of 343 ms in get is one sample where 117 were due, and 34 lie above p99"
        );
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(check(&clients(90e6)), [], "fewer were due than lie above");
    }

    #[test]
    fn an_open_loop_counts_them_and_a_full_queue_is_no_stall() {
        let mut open = clients(343e6);
        open.pace = Some(PaceAccount {
            asked_per_second: Some(342.0),
            ..PaceAccount::default()
        });
        assert_eq!(check(&open), []);
        assert_eq!(check(&sound()), []);
    }

    #[test]
    fn a_stall_of_the_generator_itself_is_not_the_storage_s() {
        let mut record = sound();
        record
            .operations
            .insert("read", super::super::example::blocks(1, 500_000_000));
        record.stops = vec![record::Stoppage {
            start_ns: 1_000_000_000,
            end_ns: 1_490_000_000,
            suspended_ns: 0,
        }];
        assert_eq!(check(&record), []);
        record.stops[0].end_ns = 1_100_000_000;
        assert_eq!(
            check(&record).len(),
            1,
            "a shorter stop leaves a stall to explain"
        );
    }

    #[test]
    fn a_device_that_stood_still_is_a_note() {
        let mut record = sound();
        record
            .operations
            .insert("read", super::super::example::blocks(1, 500_000_000));
        assert_eq!(check(&record)[0].severity, Severity::Note);
    }
}
