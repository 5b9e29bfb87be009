//! The phases of an IO500-like run: what IO500 runs, in its order, each as a workload of ours.
//!
//! A phase is a workload, a name and a way to its number. What its rules leave open (how long, how
//! many workers, how much) is the plan's.

use crate::{Workload, settings};
use std::collections::BTreeMap;
use units::Nanos;

/// What a plan of these phases is called.
pub const IO500_LIKE: &str = "io500-like";

/// IO500 counts no run whose writing phases are shorter.
pub const IO500_STONEWALL: Nanos = Nanos(300_000_000_000);

/// Which of the two means a phase belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io500Mean {
    /// GiB a second.
    Bandwidth,
    /// Thousands of operations a second.
    Metadata,
}

/// What a phase does to what it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io500Role {
    /// Makes it, until the stonewall.
    Writes,
    /// Uses what the phase of this name made, as far as every worker came.
    Uses(&'static str),
    /// Goes over all that there is.
    Walks,
}

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io500Phase {
    pub name: &'static str,
    /// Where it works, below the directory of the run.
    pub target: &'static str,
    /// The options that make it what it is.
    pub options: &'static [(&'static str, &'static str)],
    pub role: Io500Role,
    pub mean: Io500Mean,
    /// What its operations are called.
    pub kind: &'static str,
}

impl Io500Phase {
    /// The phase of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        IO500_PHASES.iter().find(|phase| phase.name == name)
    }

    /// Which of its options are others in those of a plan.
    ///
    /// # Panics
    /// Never: the options of the table are options.
    #[must_use]
    pub fn changed_in(&self, planned: &BTreeMap<String, String>) -> Vec<&'static str> {
        let differs = |key: &str, text: &str| {
            let mut own = Workload::default();
            settings::apply(&mut own, key, text).expect("a test applies every option of the table");
            let shown = settings::find(key).and_then(|setting| setting.show(&own));
            shown.as_ref() != planned.get(key)
        };
        let options = self.options.iter();
        let changed = options.filter(|(key, text)| differs(key, text));
        changed.map(|(key, _)| *key).collect()
    }
}

const EASY: [&str; 2] = ["ior-easy/file", "mdtest-easy"];
const HARD: [&str; 2] = ["ior-hard/file", "mdtest-hard"];

/// The transfer and payload sizes are IO500's: 2 MiB and 47008 bytes of IOR, 3901 bytes of mdtest.
const EASY_DATA: (&str, &str) = ("block-size", "2M");
const HARD_DATA: (&str, &str) = ("block-size", "47008");
const HARD_PAYLOAD: (&str, &str) = ("payload", "3901");
const EACH_ITS_OWN: (&str, &str) = ("file-distribution", "per-worker");
const BY_TURNS: (&str, &str) = ("file-distribution", "interleaved");
const WRITES: (&str, &str) = ("write-percent", "100");
const SYNCED: (&str, &str) = ("end-fsync", "true");
/// Each block once; and of reads, nothing is written first.
const ONCE: (&str, &str) = ("duration", "0s");
const AS_FOUND: (&str, &str) = ("no-refill", "true");
const OWN_DIRS: (&str, &str) = ("dirs", "own");
const ONE_DIR: (&str, &str) = ("dirs", "shared");

/// In the order in which they run.
pub static IO500_PHASES: [Io500Phase; 12] = [
    Io500Phase {
        name: "ior-easy-write",
        target: EASY[0],
        options: &[EACH_ITS_OWN, EASY_DATA, WRITES, ONCE, SYNCED],
        role: Io500Role::Writes,
        mean: Io500Mean::Bandwidth,
        kind: "write",
    },
    Io500Phase {
        name: "mdtest-easy-write",
        target: EASY[1],
        options: &[("meta", "create"), OWN_DIRS],
        role: Io500Role::Writes,
        mean: Io500Mean::Metadata,
        kind: "create",
    },
    Io500Phase {
        name: "ior-hard-write",
        target: HARD[0],
        options: &[BY_TURNS, HARD_DATA, WRITES, ONCE, SYNCED],
        role: Io500Role::Writes,
        mean: Io500Mean::Bandwidth,
        kind: "write",
    },
    Io500Phase {
        name: "mdtest-hard-write",
        target: HARD[1],
        options: &[("meta", "create"), ONE_DIR, HARD_PAYLOAD],
        role: Io500Role::Writes,
        mean: Io500Mean::Metadata,
        kind: "create",
    },
    Io500Phase {
        name: "find",
        target: ".",
        options: &[
            ("meta", "walk"),
            ("where", "name=*01*,size=3901,newer=mark"),
        ],
        role: Io500Role::Walks,
        mean: Io500Mean::Metadata,
        kind: "walk",
    },
    Io500Phase {
        name: "ior-easy-read",
        target: EASY[0],
        options: &[EACH_ITS_OWN, EASY_DATA, ONCE, AS_FOUND],
        role: Io500Role::Uses("ior-easy-write"),
        mean: Io500Mean::Bandwidth,
        kind: "read",
    },
    Io500Phase {
        name: "mdtest-easy-stat",
        target: EASY[1],
        options: &[("meta", "stat"), OWN_DIRS],
        role: Io500Role::Uses("mdtest-easy-write"),
        mean: Io500Mean::Metadata,
        kind: "stat",
    },
    Io500Phase {
        name: "ior-hard-read",
        target: HARD[0],
        options: &[BY_TURNS, HARD_DATA, ONCE, AS_FOUND],
        role: Io500Role::Uses("ior-hard-write"),
        mean: Io500Mean::Bandwidth,
        kind: "read",
    },
    Io500Phase {
        name: "mdtest-hard-stat",
        target: HARD[1],
        options: &[("meta", "stat"), ONE_DIR],
        role: Io500Role::Uses("mdtest-hard-write"),
        mean: Io500Mean::Metadata,
        kind: "stat",
    },
    Io500Phase {
        name: "mdtest-easy-delete",
        target: EASY[1],
        options: &[("meta", "unlink"), OWN_DIRS],
        role: Io500Role::Uses("mdtest-easy-write"),
        mean: Io500Mean::Metadata,
        kind: "unlink",
    },
    Io500Phase {
        name: "mdtest-hard-read",
        target: HARD[1],
        options: &[("meta", "read"), ONE_DIR, HARD_PAYLOAD],
        role: Io500Role::Uses("mdtest-hard-write"),
        mean: Io500Mean::Metadata,
        kind: "read",
    },
    Io500Phase {
        name: "mdtest-hard-delete",
        target: HARD[1],
        options: &[("meta", "unlink"), ONE_DIR],
        role: Io500Role::Uses("mdtest-hard-write"),
        mean: Io500Mean::Metadata,
        kind: "unlink",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_four_of_data_and_eight_of_names_and_use_what_was_written_before() {
        let of = |mean| {
            IO500_PHASES
                .iter()
                .filter(|phase| phase.mean == mean)
                .count()
        };
        assert_eq!((of(Io500Mean::Bandwidth), of(Io500Mean::Metadata)), (4, 8));
        for (at, phase) in IO500_PHASES.iter().enumerate() {
            if let Io500Role::Uses(written) = phase.role {
                let before = IO500_PHASES[..at]
                    .iter()
                    .find(|other| other.name == written);
                let before = before.unwrap_or_else(|| panic!("{} comes too early", phase.name));
                assert_eq!(
                    (before.role, before.target),
                    (Io500Role::Writes, phase.target)
                );
            }
        }
    }

    #[test]
    fn a_workload_with_the_options_of_a_phase_is_that_phase_and_another_is_not() {
        for phase in &IO500_PHASES {
            let mut workload = Workload::default();
            for (key, text) in phase.options {
                settings::apply(&mut workload, key, text).unwrap();
            }
            let shown = |workload: &Workload| {
                let shown = settings::shown(workload).into_iter();
                let shown = shown.map(|(key, text)| (key.to_owned(), text));
                shown.collect::<BTreeMap<String, String>>()
            };
            assert_eq!(
                phase.changed_in(&shown(&workload)),
                [""; 0],
                "{}",
                phase.name
            );
            workload.blocks = crate::BlockSizes::one(units::Bytes(8192));
            let has_blocks = phase.options.iter().any(|(key, _)| *key == "block-size");
            let changed = phase.changed_in(&shown(&workload));
            assert_eq!(changed == ["block-size"], has_blocks, "{}", phase.name);
        }
        assert!(Io500Phase::find("ior-medium-write").is_none());
    }
}
