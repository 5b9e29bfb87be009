//! One fio job in fio's own terms, after its options were read and before they are expressed in
//! Fathom's.

use super::FioLogs;
use super::names::FioDirection;
use super::section::Place;
use super::value::PerDirection;
use crate::{EngineName, EngineTarget, SpecError};
use std::collections::BTreeMap;
use units::fio::FioSize;

/// A job; `None` stands for an option that was not given.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Name of its section, from which file names are made.
    pub(super) section: String,
    /// Name in reports.
    pub(super) name: Option<String>,
    at: Place,
    said: BTreeMap<&'static str, Said>,
    notes: Vec<String>,
    pub(super) target: Target,
    pub(super) opening: Opening,
    pub(super) pattern: Pattern,
    pub(super) engine: Engine,
    pub(super) end: End,
    pub(super) pace: Pace,
    pub(super) durability: Durability,
    pub(super) buffers: Buffers,
    pub(super) verify: Verify,
    pub(super) placement: Placement,
    pub(super) order: Order,
    pub(super) logs: FioLogs,
}

#[derive(Clone, Debug)]
struct Said {
    place: Place,
    text: String,
}

/// Which files, and how large.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) filename: Option<Vec<String>>,
    pub(super) directory: Option<Vec<String>>,
    /// Form of the names of files that `filename` does not name.
    pub(super) format: Option<String>,
    pub(super) files: Option<u64>,
    pub(super) size: Option<FioSize>,
    pub(super) file_size: Option<u64>,
    pub(super) offset: FioSize,
    /// The whole device, however large.
    pub(super) fill: bool,
    pub(super) offset_increment: u64,
}

/// What happens to the files before the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    pub(super) preallocate: Option<bool>,
    pub(super) invalidate: Option<bool>,
    pub(super) pre_read: bool,
    pub(super) overwrite: bool,
    pub(super) advice: Advice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Advice {
    None,
    /// Random or sequential, as the job is.
    #[default]
    ByPattern,
    Sequential,
    Random,
    NoReuse,
}

/// Sizes in bytes with their shares in percent; `None` where the share is left to fio.
pub(super) type Split = Vec<(u64, Option<u32>)>;

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) random: bool,
    pub(super) direction: FioDirection,
    /// Percent of reads in a mix.
    pub(super) mix: f64,
    pub(super) blocks: PerDirection<u64>,
    pub(super) split: Option<PerDirection<Split>>,
    pub(super) distribution: Distribution,
    pub(super) no_random_map: bool,
    pub(super) seed: Option<u64>,
    pub(super) other_seed_each_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Distribution {
    Uniform,
    Zipf(f64),
    Pareto(f64),
    /// Deviation as fio takes it: percent.
    Normal(f64),
}

#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) name: EngineName,
    pub(super) depth: u64,
    pub(super) submit_batch: Option<u64>,
    pub(super) reap_least: Option<u64>,
    pub(super) reap_most: Option<u64>,
    pub(super) ring: crate::Ring,
}

/// When the job ends.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    /// Nanoseconds; 0 is no limit.
    pub(super) runtime: u64,
    pub(super) time_based: bool,
    pub(super) ramp: u64,
    /// 0: nothing was said, which is once.
    pub(super) loops: u64,
    pub(super) io_size: Option<u64>,
    pub(super) number_ios: u64,
    pub(super) goes_on_after: Tolerated,
}

/// Errors after which a job goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tolerated {
    #[default]
    None,
    Reads,
    Writes,
    All,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Bytes a second of each clone.
    pub(super) rate: PerDirection<u64>,
    pub(super) rate_iops: PerDirection<u64>,
    pub(super) poisson: bool,
    /// Nanoseconds.
    pub(super) think: u64,
    pub(super) think_spin: u64,
    pub(super) think_blocks: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Durability {
    pub(super) direct: bool,
    pub(super) sync: Stable,
    pub(super) fsync: u32,
    pub(super) fdatasync: u32,
    pub(super) end_fsync: bool,
    pub(super) fsync_on_close: bool,
}

/// What is stable when a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stable {
    #[default]
    Nothing,
    Data,
    DataAndMetadata,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    pub(super) zero: bool,
    pub(super) refill: bool,
    pub(super) scramble: Option<bool>,
    /// The byte of `buffer_pattern`.
    pub(super) pattern: Option<u8>,
    pub(super) compress: Option<f64>,
    pub(super) dedupe: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Verify {
    pub(super) kind: Checking,
    /// The byte of `verify_pattern`.
    pub(super) pattern: Option<u8>,
    pub(super) skip_reading_back: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Checking {
    #[default]
    None,
    /// Any checksum.
    Header,
    Pattern,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    pub(super) cpus: Option<String>,
    pub(super) split: bool,
    pub(super) nodes: Option<String>,
    /// Nodes of `numa_mem_policy=bind:`.
    pub(super) memory: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) clones: u32,
    pub(super) stonewall: bool,
    pub(super) wait_for: Option<String>,
    pub(super) new_group: bool,
    pub(super) group_reporting: bool,
}

impl Job {
    /// Whether its engine opens files.
    pub(super) fn has_files(&self) -> bool {
        self.engine.name.target() != EngineTarget::Nothing
    }

    /// A job of which nothing is said yet: fio's defaults.
    pub(super) fn new(section: &str, at: Place) -> Self {
        let off = crate::Fixed {
            buffers: Some(false),
            files: Some(false),
        };
        Self {
            section: section.to_owned(),
            name: None,
            at,
            said: BTreeMap::new(),
            notes: Vec::new(),
            target: Target {
                filename: None,
                directory: None,
                format: None,
                files: None,
                size: None,
                file_size: None,
                offset: FioSize::Bytes(0),
                fill: false,
                offset_increment: 0,
            },
            opening: Opening::default(),
            pattern: Pattern {
                random: false,
                direction: FioDirection::Read,
                mix: 50.0,
                blocks: [None, None],
                split: None,
                distribution: Distribution::Uniform,
                no_random_map: false,
                seed: None,
                other_seed_each_run: false,
            },
            engine: Engine {
                name: EngineName::Sync,
                depth: 1,
                submit_batch: None,
                reap_least: None,
                reap_most: None,
                ring: crate::Ring {
                    fixed: off,
                    sqpoll: false,
                    iopoll: false,
                },
            },
            end: End::default(),
            pace: Pace::default(),
            durability: Durability::default(),
            buffers: Buffers::default(),
            verify: Verify::default(),
            placement: Placement::default(),
            order: Order {
                clones: 1,
                stonewall: false,
                wait_for: None,
                new_group: false,
                group_reporting: false,
            },
            logs: FioLogs::default(),
        }
    }

    /// Remembers where an option was given and how it was written.
    pub(super) fn say(&mut self, option: &'static str, place: Place, text: String) {
        self.said.insert(option, Said { place, text });
    }

    /// Where an option was given.
    pub(super) fn place(&self, option: &str) -> Option<&Place> {
        self.said.get(option).map(|said| &said.place)
    }

    /// An error about an option, with the place where it was given.
    pub(super) fn refuse<T>(
        &self,
        option: &str,
        reason: impl Into<String>,
    ) -> Result<T, SpecError> {
        Err(self.around(option, SpecError::Foreign(reason.into())))
    }

    /// `source` with the place and the text of an option before it.
    pub(super) fn around(&self, option: &str, source: SpecError) -> SpecError {
        SpecError::At {
            place: self.where_said(option),
            source: Box::new(source),
        }
    }

    /// Says that an option is not done as fio does it.
    pub(super) fn note(&mut self, option: &str, what: impl AsRef<str>) {
        self.notes
            .push(format!("{}: {}", self.where_said(option), what.as_ref()));
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// An option that was not given is fio's default, for which the job stands.
    fn where_said(&self, option: &str) -> String {
        match self.said.get(option) {
            Some(said) => format!("{}: {}", said.place, said.text),
            None => format!("{}: job {}: {option}", self.at, self.section),
        }
    }

    pub(super) fn reads(&self) -> bool {
        self.pattern.direction != FioDirection::Write
    }

    pub(super) fn writes(&self) -> bool {
        self.pattern.direction != FioDirection::Read
    }
}
