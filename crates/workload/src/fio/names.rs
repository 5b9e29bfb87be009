//! fio's words and ours for the same thing: jobs and results of fio are read by them, and results in
//! fio's form are written with them. Engines have theirs in their own rows.

use super::table;
use units::fio::FioTimeUnit::{self, Micros, Seconds};

/// How the value of an option is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioForm {
    Text,
    /// A number; 0 is never.
    Count,
    Size,
    /// In this unit where none is written.
    Time(FioTimeUnit),
    Switch,
}

/// An option that means the same under two names.
#[derive(Clone, Copy, Debug)]
pub struct FioName {
    pub fio: &'static str,
    pub ours: &'static str,
    pub form: FioForm,
}

const fn name(fio: &'static str, ours: &'static str, form: FioForm) -> FioName {
    FioName { fio, ours, form }
}

/// Options with one name on each side.
pub const NAMES: [FioName; 19] = [
    name("bs", "block-size", FioForm::Text),
    name("iodepth", "queue-depth", FioForm::Text),
    name("iodepth_batch", "submit-batch", FioForm::Text),
    name("iodepth_batch_complete_min", "reap-batch", FioForm::Text),
    name("numjobs", "threads", FioForm::Text),
    name("cpus_allowed", "cpu-cores", FioForm::Text),
    name("numa_cpu_nodes", "numa-zones", FioForm::Text),
    name("ioengine", "engine", FioForm::Text),
    name("direct", "direct", FioForm::Switch),
    name("sync", "sync", FioForm::Switch),
    name("end_fsync", "end-fsync", FioForm::Switch),
    name("fsync", "fsync", FioForm::Count),
    name("fdatasync", "fdatasync", FioForm::Count),
    name("rate_iops", "rate-iops", FioForm::Count),
    name("rate", "rate-bytes", FioForm::Size),
    name("size", "file-size", FioForm::Size),
    name("runtime", "duration", FioForm::Time(Seconds)),
    name("ramp_time", "warmup", FioForm::Time(Seconds)),
    name("thinktime", "think-time", FioForm::Time(Micros)),
];

/// The row of an option by fio's first name for it.
///
/// # Panics
/// No row has it.
#[must_use]
pub fn row(fio: &str) -> FioName {
    let row = NAMES.into_iter().find(|row| row.fio == fio);
    row.expect("the option has a row in this table")
}

/// fio's first name of an option, for any of its names.
#[must_use]
pub fn first(fio: &str) -> Option<&'static str> {
    table::find(fio).map(|row| row.name)
}

/// Which operations a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FioDirection {
    #[default]
    Read,
    Write,
    Mixed,
}

/// Values of `rw`, with whether the order is random; of two the first is written.
pub(super) const PATTERNS: [(&str, (bool, FioDirection)); 7] = [
    ("read", (false, FioDirection::Read)),
    ("write", (false, FioDirection::Write)),
    ("randread", (true, FioDirection::Read)),
    ("randwrite", (true, FioDirection::Write)),
    ("rw", (false, FioDirection::Mixed)),
    ("readwrite", (false, FioDirection::Mixed)),
    ("randrw", (true, FioDirection::Mixed)),
];

/// What a value of `rw` means.
#[must_use]
pub fn pattern_of(word: &str) -> Option<(bool, FioDirection)> {
    let found = PATTERNS.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, pattern)| pattern)
}

/// The value of `rw` for a pattern.
#[must_use]
pub fn pattern_word(random: bool, direction: FioDirection) -> &'static str {
    let wanted = (random, direction);
    let found = PATTERNS.into_iter().find(|(_, pattern)| *pattern == wanted);
    found.map_or("rw", |(word, _)| word)
}

/// What fio counts of a disk, in the order of its terse lines; a utilisation in percent follows.
pub const DISK_COUNTERS: [&str; 7] = [
    "read_ios",
    "write_ios",
    "read_merges",
    "write_merges",
    "read_ticks",
    "write_ticks",
    "in_queue",
];

/// Distributions: fio's word, ours, and our option for the parameter where it is the same number.
const DISTRIBUTIONS: [(&str, &str, Option<&str>); 4] = [
    ("random", "uniform", None),
    ("zipf", "zipf", Some("zipf-theta")),
    ("pareto", "pareto", Some("pareto-h")),
    ("normal", "gaussian", None),
];

/// Our word for one of fio's distributions, and our option for its parameter.
#[must_use]
pub fn distribution_of(word: &str) -> Option<(&'static str, Option<&'static str>)> {
    let found = DISTRIBUTIONS.into_iter().find(|(fio, ..)| *fio == word);
    found.map(|(_, ours, parameter)| (ours, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SETTINGS;

    #[test]
    fn every_name_is_an_option_on_its_side() {
        for row in NAMES {
            assert_eq!(first(row.fio), Some(row.fio));
            let known = SETTINGS.iter().any(|setting| setting.key == row.ours);
            assert!(known, "{}", row.ours);
        }
        for (_, ours, parameter) in DISTRIBUTIONS {
            assert!(crate::Distribution::WORDS.contains(&ours), "{ours}");
            let known = |key: &str| SETTINGS.iter().any(|setting| setting.key == key);
            assert!(parameter.is_none_or(known), "{ours}");
        }
    }

    #[test]
    fn patterns_go_both_ways() {
        for (word, (random, direction)) in PATTERNS {
            assert_eq!(pattern_of(word), Some((random, direction)));
            let written = pattern_word(random, direction);
            assert!(written == word || word == "readwrite", "{written} {word}");
        }
    }
}
