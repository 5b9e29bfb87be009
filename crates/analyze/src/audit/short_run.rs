//! Caches, write-back and devices need seconds to settle.

use super::finding;
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Nanos;

pub(super) const RULE: &str = "short_run";
pub(super) const ADVICE: &str = "run for 30 s or longer, with --warmup, before quoting a rate";
const LEAST_NS: u64 = 5_000_000_000;
/// Of a figure that somebody published.
const LEAST_QUOTED_NS: u64 = 30_000_000_000;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // A slot is as short as its plan made it; what counts is what its slots add to.
    if record.trial.is_some() || Effective::of(record).is_start_of_command() {
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
    vec![finding(RULE, severity, message, ADVICE)]
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
