//! Caches, write-back and devices need seconds to settle.

use super::finding;
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;

const LEAST_NS: u64 = 5_000_000_000;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    if record.elapsed_ns == 0 || record.elapsed_ns >= LEAST_NS {
        return Vec::new();
    }
    let message = format!("{} of measured time shows the start of a run, not its steady state", Nanos(record.elapsed_ns));
    vec![finding("short_run", Severity::Note, message, "run for 30 s or longer, with --warmup, before quoting a rate")]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    #[test]
    fn less_than_five_seconds_are_noted() {
        let record = Record { elapsed_ns: 400_000_000, ..sound() };
        assert_eq!(only(&check(&record)), "400 ms of measured time shows the start of a run, not its steady state");
        assert_eq!(check(&sound()), []);
    }
}
