//! Caches, write-back and devices need seconds to settle.

use super::measured_nothing;
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "short_run",
    catalogue_number: Some(28),
    severity: Severity::Warning,
    title: "The run was too short to show a steady state",
    text: "\
The measured time (elapsed_ns, or the duration that was asked for) is held against 5 s
for our own runs, a note, and against 30 s for figures that somebody published, a
warning.
Caches fill, SLC buffers empty, burst credits run out and the kernel writes back after
30 s. A drive that takes 3 GB/s for 5 s and 0.6 GB/s after 20 s is a 0.6 GB/s drive with
a buffer; 5 s show only the buffer.
What to do: run for 30 s or longer, with --warmup, and look at the series for steps
before quoting one rate.",
    checks: &[
        Check::Each(check),
        Check::Together(super::set::short_slots::check),
    ],
};

pub(super) const ADVICE: &str = "run for 30 s or longer, with --warmup, before quoting a rate";
const LEAST_NS: u64 = 5_000_000_000;
/// Of a figure that somebody published.
const LEAST_QUOTED_NS: u64 = 30_000_000_000;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // A slot is as short as its plan made it; what counts is what its slots add to.
    if record.trial.is_some()
        || measured_nothing(record)
        || Effective::of(record).is_start_of_command()
    {
        return Vec::new();
    }
    let (least, severity) = least(record);
    let Some(measured) = Effective::of(record)
        .measured_ns()
        .filter(|measured| *measured < least)
    else {
        return Vec::new();
    };
    let message = format!(
        "{} of measured time shows the start of a run, not its steady state",
        Nanos(measured)
    );
    vec![RULE.finding(severity, message, ADVICE)]
}

/// The shortest time that shows more than a start, and how grave less is.
pub(super) fn least(record: &Record) -> (u64, Severity) {
    if record.source.is_some() {
        (LEAST_QUOTED_NS, Severity::Warning)
    } else {
        (LEAST_NS, Severity::Note)
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    #[test]
    fn a_start_of_a_command_is_as_long_as_it_is() {
        let mut record = super::super::example::quoted("run", record::Summary::default());
        record.targets = vec![record::TargetFact {
            kind: "command".into(),
            ..record::TargetFact::default()
        }];
        record.elapsed_ns = 11_000_000;
        assert_eq!(check(&record), []);
        record.targets.clear();
        assert_eq!(check(&record).len(), 1);
    }

    #[test]
    fn less_than_five_seconds_are_noted() {
        let record = Record {
            elapsed_ns: 400_000_000,
            ..sound()
        };
        assert_eq!(
            only(&check(&record)),
            "400 ms of measured time shows the start of a run, not its steady state"
        );
        assert_eq!(check(&sound()), []);
    }

    #[test]
    fn what_never_came_to_its_measured_time_is_not_short() {
        let mut record = Record {
            elapsed_ns: 0,
            ..sound()
        };
        super::super::example::set(&mut record, "duration", "2s");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn a_slot_is_judged_with_the_others_of_its_plan() {
        assert_eq!(
            check(&super::super::example::placed(
                Record {
                    elapsed_ns: 400_000_000,
                    ..sound()
                },
                "a",
                0,
                0
            )),
            []
        );
    }

    #[test]
    fn a_published_figure_needs_half_a_minute() {
        let record = super::super::example::quoted("read", record::Summary::default());
        assert_eq!(check(&record)[0].severity, Severity::Warning);
        assert_eq!(
            check(&Record {
                elapsed_ns: 30_000_000_000,
                ..record
            }),
            []
        );
    }
}
