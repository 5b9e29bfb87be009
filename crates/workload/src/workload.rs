//! One I/O workload as plain data.

mod defaults;
mod derived;

use crate::stonewall::Stonewall;
use crate::{EngineName, Find, Rank, Shift, SpecError};
use std::path::PathBuf;
use units::{ByteRate, Bytes, IdList, Nanos, Percent, Rate};

/// Declares a closed list of words: the type, its spellings, parser and display, in one place.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            /// Every word, in the order of the declaration.
            pub const WORDS: &'static [&'static str] = &[$($text),+];
            /// The word as written in options and records.
            #[must_use]
            pub fn word(self) -> &'static str { match self { $(Self::$variant => $text),+ } }
            /// Reads the word given for option `key`.
            ///
            /// # Errors
            /// A word that is not in the list.
            pub fn parse(key: &str, text: &str) -> Result<Self, SpecError> {
                match text.trim().to_ascii_lowercase().as_str() {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(SpecError::NotOneOf { key: key.into(), value: text.into(), allowed: Self::WORDS.join(", ") }),
                }
            }
        }
    };
}

pub(crate) use words;

words!(
    /// Which block comes next in a random workload.
    Distribution { Uniform = "uniform", Zipf = "zipf", Pareto = "pareto", Gaussian = "gaussian" }
);
words!(ThinkMode { Sleep = "sleep", Spin = "spin" });
words!(
    /// Spacing of operations in an open loop.
    Arrival { Constant = "constant", Poisson = "poisson" }
);
words!(
    /// Which part of the target each worker uses.
    FileSharing {
        Shared = "shared",
        Partitioned = "partitioned",
        PerWorker = "per-worker",
        /// Transfer i is that of worker i modulo their number.
        Interleaved = "interleaved",
    }
);
words!(
    /// Content of writes that are not verified.
    DataPattern { Zeros = "zeros", Ones = "ones", Sequential = "sequential", Random = "random" }
);
words!(
    /// Content that verification expects.
    VerifyPattern { Zeros = "zeros", Ones = "ones", Sequential = "sequential", Random = "random", Header = "header" }
);
words!(
    /// When what verification writes is checked.
    VerifyWhen {
        /// Whenever it is read.
        Reads = "reads",
        /// After each pass of writes, by a pass of reads; and again while time is left.
        Passes = "passes",
        /// In another run.
        Later = "later",
    }
);
words!(
    /// State of the page cache before the clock starts.
    Cache { AsIs = "as-is", Cold = "cold", Warm = "warm" }
);
words!(LockMode { None = "none", Range = "range", Full = "full" });
words!(
    /// What to do with CPU or NUMA ids that the machine lacks.
    Affinity { Strict = "strict", BestEffort = "best-effort" }
);
words!(Fadvise { Sequential = "seq", Random = "rand", WillNeed = "willneed", DontNeed = "dontneed", NoReuse = "noreuse" });
words!(Madvise { Sequential = "seq", Random = "rand", WillNeed = "willneed", DontNeed = "dontneed", HugePage = "hugepage", NoHugePage = "nohugepage" });
words!(MetaOp { Create = "create", Stat = "stat", Open = "open", Read = "read", Readdir = "readdir", Rename = "rename", Unlink = "unlink", Walk = "walk" });
words!(
    /// Whose directories hold the files of metadata operations.
    Directories {
        /// Each worker has directories of its own, and its files in them.
        Own = "own",
        /// Each worker has files in all directories: file i is that of worker i modulo their number.
        Shared = "shared",
    }
);

/// Every kind of operation that a run counts.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    ["read", "write", "fsync", "fdatasync"].into_iter().chain(
        MetaOp::WORDS
            .iter()
            .copied()
            .filter(|word| *word != MetaOp::Read.word()),
    )
}

/// Block sizes with integer weights; one entry unless `4k/60:64k/40` was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes(pub Vec<(Bytes, u32)>);

impl BlockSizes {
    #[must_use]
    pub fn one(size: Bytes) -> Self {
        Self(vec![(size, 100)])
    }

    /// Smallest size: offsets are multiples of it.
    #[must_use]
    pub fn smallest(&self) -> Bytes {
        self.0
            .iter()
            .map(|(size, _)| *size)
            .min()
            .unwrap_or_default()
    }

    /// Largest size: buffers are as long.
    #[must_use]
    pub fn largest(&self) -> Bytes {
        self.0
            .iter()
            .map(|(size, _)| *size)
            .max()
            .unwrap_or_default()
    }
}

/// A workload as asked, or, with every `None` filled in, as effective.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Files, devices, one directory, or one URL; at least one.
    pub targets: Vec<PathBuf>,
    pub engine: EngineName,
    pub threads: u32,
    pub blocks: BlockSizes,
    pub queue_depth: u32,
    pub submit_batch: Option<u32>,
    pub reap_batch: Option<u32>,
    pub ring: Ring,
    /// Model of the `sim` engine, in its own grammar.
    pub sim_model: String,
    pub files: Files,
    pub access: Access,
    pub stop: Stop,
    pub pace: Pace,
    pub durability: Durability,
    pub writing: Writing,
    pub verify: Verify,
    pub placement: Placement,
    pub heat: Heat,
    /// Operations and series of each worker are kept apart, too.
    pub worker_series: bool,
    pub cache: Cache,
    pub fadvise: Vec<Fadvise>,
    pub madvise: Vec<Madvise>,
    pub lock_mode: LockMode,
    /// Errors tolerated before a run stops; 0 stops at the first.
    pub max_errors: u64,
    pub continue_on_error: bool,
    pub seed: u64,
    pub rank: Rank,
    /// Whose part a rank uses, where somebody says it.
    pub shift: Option<Shift>,
}

/// Options of io_uring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    pub fixed: Fixed,
    pub sqpoll: bool,
    pub iopoll: bool,
}

/// Resources registered with the ring; `None`: where the machine permits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub buffers: Option<bool>,
    pub files: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// Bytes of each file; `None`: what the target has, 1 GiB for a new file.
    pub size: Option<Bytes>,
    /// First byte used of each file.
    pub offset: Bytes,
    /// Regions of the workers in one file; `None`: as `sharing` says.
    pub regions: Option<Regions>,
    pub sharing: FileSharing,
    pub num_files: Option<u32>,
    pub num_dirs: Option<u32>,
    pub dir_depth: Option<u32>,
    pub dir_width: Option<u32>,
    pub total_files: Option<u64>,
    pub layout_manifest: Option<PathBuf>,
    pub export_layout_manifest: Option<PathBuf>,
    pub fill: Fill,
    /// Text in a target's name that each worker's number takes the place of, where every worker
    /// has files of its own; `None`: `.workerN` is put behind the name.
    pub worker_placeholder: Option<String>,
    /// The foreign targets that may be overwritten.
    pub allow_destroy: Vec<PathBuf>,
    pub meta: Vec<MetaOp>,
    /// `None`: the list of all files is cut into consecutive parts.
    pub dirs: Option<Directories>,
    /// Bytes that each `create` of `meta` writes, and each `read` reads; `None`: files hold no data.
    pub payload: Option<Bytes>,
    /// What a walk of `meta` looks for; `None`: every file.
    pub find: Option<Find>,
}

impl Files {
    /// Whether every worker has files of its own, in directories or under names of its own.
    #[must_use]
    pub fn are_owned(&self) -> bool {
        self.sharing == FileSharing::PerWorker || self.dirs == Some(Directories::Own)
    }

    /// How many directories of a tree hold files: the deepest ones.
    #[must_use]
    pub(crate) fn directories(&self) -> u64 {
        let (depth, width) = match self.num_dirs {
            Some(side_by_side) => (1, side_by_side),
            None => (self.dir_depth.unwrap_or(1), self.dir_width.unwrap_or(1)),
        };
        u64::from(width).saturating_pow(depth)
    }
}

/// Where each worker works in a file: regions of one length that begin at even distances, and may
/// overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regions {
    /// From the beginning of one worker's region to that of the next.
    pub step: Bytes,
    pub length: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Reserve the blocks of a file before the run (fallocate).
    pub preallocate: bool,
    /// `Some(true)`: always write the file before the run; `Some(false)`: never; `None`: where
    /// reads would meet holes.
    pub refill: Option<bool>,
    pub pattern: DataPattern,
    /// Cut the file to its asked size first.
    pub truncate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    pub random: bool,
    pub read_percent: Option<Percent>,
    pub write_percent: Option<Percent>,
    pub distribution: Distribution,
    pub zipf_theta: f64,
    pub pareto_h: f64,
    pub gaussian: Gaussian,
    /// Spread the hot set over the whole range by a keyed permutation.
    pub scatter: bool,
    /// Uniform random order in rounds: no block again before every one was taken.
    pub no_repeat: bool,
}

/// Centre and standard deviation as shares of the range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    pub center: f64,
    pub stddev: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// `Some(0)` means run until complete.
    pub duration: Option<Nanos>,
    /// Every block once per kind of operation, then the end.
    pub complete: bool,
    pub total_bytes: Option<Bytes>,
    /// Measured but kept apart: not in the result.
    pub warmup: Nanos,
    pub stonewall: Stonewall,
}

impl Stop {
    /// Whether anything ends the work.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.duration.is_some()
            || self.complete
            || self.total_bytes.is_some()
            || self.stonewall.at.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pub rate_iops: Option<Rate>,
    pub rate_bytes: Option<ByteRate>,
    pub arrival: Arrival,
    pub think: Think,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Think {
    pub time: Nanos,
    pub mode: ThinkMode,
    pub every: u32,
    /// Share of an operation's own latency added after it.
    pub adaptive: Percent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durability {
    pub open: OpenFlags,
    /// Writes between two fsyncs of a worker; 0: none.
    pub fsync: u32,
    pub fdatasync: u32,
    pub end_fsync: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlags {
    pub direct: bool,
    pub sync: bool,
    pub dsync: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writing {
    pub pattern: DataPattern,
    pub dedupe: Option<Percent>,
    pub compress: Option<Percent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verify {
    pub on: bool,
    pub pattern: VerifyPattern,
    pub when: VerifyWhen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub cpu_cores: Option<IdList>,
    pub numa_zones: Option<IdList>,
    pub affinity: Affinity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heat {
    pub on: bool,
    pub buckets: u32,
}
