//! An engine that does nothing measures the tool.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "no_io",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The engine of another tool did no I/O",
    text: "\
The effective engine of an imported record is one that completes operations without
doing them (fio's null, noop and cpuio). Records of Fathom's own null engine are not
accused: its name stands beside every number.
fio's null engine reports millions of operations a second at 0.2 us each, with a bandwidth
and percentiles like those of a disk. They are the cost of fio's own loop: a good ceiling
to hold a result against, and no result.
What to do: name an engine that does I/O (io_uring, libaio, psync), and keep the null run
as what the tool could have done at most.",
    checks: &[Check::Alone(check)],
};

/// Engines of fio that touch no storage.
const IDLE: [&str; 3] = ["null", "cpuio", "noop"];

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // In records of our own the engine stands beside every number, and measuring the instrument is
    // what it is for.
    let engine = Effective::of(record)
        .text("engine")
        .filter(|engine| record.source.is_some() && IDLE.contains(engine));
    let found = engine.map(|engine| {
        let message = format!("no I/O took place: the engine {engine} completes operations without doing them");
        let advice = "these are the limits of the tool, not of any storage: name an engine that does I/O, such as io_uring or psync";
        RULE.finding(Severity::Invalid, message, advice)
    });
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, sound};
    use super::*;
    use record::Summary;

    #[test]
    fn a_null_engine_of_another_tool_is_found() {
        let mut record = quoted("read", Summary::default());
        set(&mut record, "engine", "null");
        let found = check(&record);
        assert!(only(&found).starts_with("no I/O took place: the engine null"));
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn engines_that_do_io_and_our_own_calibration_are_silent() {
        let mut record = quoted("read", Summary::default());
        assert_eq!(check(&record), []);
        set(&mut record, "engine", "psync");
        assert_eq!(check(&record), []);
        let mut own = sound();
        set(&mut own, "engine", "null");
        assert_eq!(check(&own), []);
    }
}
