//! Every option of a workload, one row each.

use crate::workload::*;
use crate::{EngineName, Find, Shift, SpecError};
use std::fmt::Display;
use units::{ByteRate, Bytes, IdList, Nanos, Percent, Rate, UnitError};

mod heading;
mod manner;
mod parse;
pub use heading::Heading;
pub use manner::{OF_THE_CALL, repeats};
use parse::{block_sizes, number, option_text, path_text, real, show_blocks, switch, words_list};
pub use units::nearest;

/// One option: the only place where its name, help, effect and display are written.
pub struct Setting {
    /// Long flag, TOML key and key in records.
    pub key: &'static str,
    pub short: Option<char>,
    /// Name of the value in help; `None` for a switch.
    pub value: Option<&'static str>,
    pub heading: Heading,
    pub help: &'static str,
    apply: fn(&mut Workload, &str, &str) -> Result<(), SpecError>,
    show: fn(&Workload) -> Option<String>,
}

impl Setting {
    /// Writes `text` into the workload.
    ///
    /// # Errors
    /// A value that this option does not take.
    pub fn apply(&self, workload: &mut Workload, text: &str) -> Result<(), SpecError> {
        (self.apply)(workload, self.key, text)
    }

    /// The option's value in this workload as text that [`Setting::apply`] accepts; `None` when
    /// unset.
    #[must_use]
    pub fn show(&self, workload: &Workload) -> Option<String> {
        (self.show)(workload)
    }
}

/// The row of an option by its key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// Writes one option by name.
///
/// # Errors
/// An unknown name (with the nearest known one), or a value that the option does not take.
pub fn apply(workload: &mut Workload, key: &str, text: &str) -> Result<(), SpecError> {
    match find(key) {
        Some(setting) => setting.apply(workload, text),
        None => Err(SpecError::UnknownKey {
            key: key.into(),
            suggestion: nearest(key, SETTINGS.iter().map(|s| s.key)),
        }),
    }
}

/// All options that have a value, in the table's order: what a record keeps as *asked* and as
/// *effective*.
#[must_use]
pub fn shown(workload: &Workload) -> Vec<(&'static str, String)> {
    SETTINGS
        .iter()
        .filter_map(|setting| setting.show(workload).map(|text| (setting.key, text)))
        .collect()
}

fn quantity<T>(key: &str, parsed: Result<T, UnitError>) -> Result<T, SpecError> {
    parsed.map_err(|source| SpecError::Expected {
        key: key.into(),
        source,
    })
}

fn text<T: Display>(value: T) -> Option<String> {
    Some(value.to_string())
}

/// One row. `value` absent makes a switch. The closures get the workload, the key and the text.
macro_rules! row {
    ($heading:ident, $key:literal $(-$short:literal)?, $value:expr, $help:literal, |$w:ident, $k:ident, $t:ident| $apply:expr, |$s:ident| $show:expr) => {
        Setting {
            key: $key,
            short: [$(Some($short),)? None][0],
            value: $value,
            heading: Heading::$heading,
            help: $help,
            apply: |$w, $k, $t| { $apply; Ok(()) },
            show: |$s| $show,
        }
    };
    ($heading:ident, $key:literal $(-$short:literal)?, switch $help:literal, |$w:ident| $place:expr) => {
        Setting {
            key: $key,
            short: [$(Some($short),)? None][0],
            value: None,
            heading: Heading::$heading,
            help: $help,
            apply: |$w, k, t| { $place = switch(k, t)?; Ok(()) },
            show: |$w| text($place),
        }
    };
}

/// Every option of a workload.
pub static SETTINGS: &[Setting] = &[
    row!(
        Target,
        "file-size" - 's',
        Some("SIZE"),
        "Bytes of each file, also of one that all ranks use together: 4k = 4KiB = 4096; 4kB = 4000. Default: the target's own size, 1G for a new file",
        |w, k, t| w.files.size = Some(quantity(k, Bytes::parse(t))?),
        |w| w.files.size.map(|s| s.exact())
    ),
    row!(
        Target,
        "offset",
        Some("SIZE"),
        "First byte of each file that is used",
        |w, k, t| w.files.offset = quantity(k, Bytes::parse(t))?,
        |w| Some(w.files.offset.exact())
    ),
    row!(
        Target,
        "worker-regions",
        Some("STEP/LENGTH"),
        "Regions of the workers in one file: each begins STEP bytes behind the one before it and is LENGTH long: 500M/2G",
        |w, k, t| w.files.regions = Some(parse::regions(k, t)?),
        |w| w
            .files
            .regions
            .map(|r| format!("{}/{}", r.step.exact(), r.length.exact()))
    ),
    row!(
        Target,
        "file-distribution",
        Some("MODE"),
        "shared: every worker uses the whole target; partitioned: disjoint parts; per-worker: NAME.worker0, NAME.worker1, …; interleaved: the workers' blocks by turns",
        |w, k, t| w.files.sharing = FileSharing::parse(k, t)?,
        |w| text(w.files.sharing.word())
    ),
    row!(
        Target,
        "worker-placeholder",
        Some("TEXT"),
        "With --file-distribution per-worker: this text in the target's name becomes the worker's number, instead of .workerN behind it",
        |w, k, t| w.files.worker_placeholder = Some(parse::placeholder(k, t)?),
        |w| w.files.worker_placeholder.clone()
    ),
    row!(
        Target,
        "num-files",
        Some("N"),
        "Files in each directory of a directory target; of all ranks together",
        |w, k, t| w.files.num_files = Some(number(k, t, 1, 1 << 24)?),
        |w| option_text(&w.files.num_files)
    ),
    row!(
        Target,
        "num-dirs",
        Some("N"),
        "Directories side by side under a directory target",
        |w, k, t| w.files.num_dirs = Some(number(k, t, 1, 1 << 20)?),
        |w| option_text(&w.files.num_dirs)
    ),
    row!(
        Target,
        "dir-depth",
        Some("N"),
        "Levels of a directory tree",
        |w, k, t| w.files.dir_depth = Some(number(k, t, 1, 32)?),
        |w| { option_text(&w.files.dir_depth) }
    ),
    row!(
        Target,
        "dir-width",
        Some("N"),
        "Directories in each directory of a tree",
        |w, k, t| w.files.dir_width = Some(number(k, t, 1, 1 << 16)?),
        |w| option_text(&w.files.dir_width)
    ),
    row!(
        Target,
        "total-files",
        Some("N"),
        "Files over all directories, spread evenly; of all ranks together",
        |w, k, t| w.files.total_files = Some(number(k, t, 1, 1 << 32)?),
        |w| option_text(&w.files.total_files)
    ),
    row!(
        Target,
        "layout-manifest",
        Some("FILE"),
        "Use the files listed there: one relative path and size a line",
        |w, _k, t| w.files.layout_manifest = Some(t.into()),
        |w| path_text(&w.files.layout_manifest)
    ),
    row!(
        Target,
        "export-layout-manifest",
        Some("FILE"),
        "Write the list of files that this run uses",
        |w, _k, t| w.files.export_layout_manifest = Some(t.into()),
        |w| path_text(&w.files.export_layout_manifest)
    ),
    row!(
        Target,
        "meta",
        Some("OPS"),
        "Measure metadata operations on the files, in this order: create,stat,open,read,readdir,rename,unlink,walk",
        |w, k, t| w.files.meta = words_list(k, t, MetaOp::parse)?,
        |w| parse::show_words(&w.files.meta, |op| op.word())
    ),
    row!(
        Target,
        "dirs",
        Some("WHOSE"),
        "Directories of --meta: own: each worker's files lie below worker0, worker1, …; shared: every worker has files in each directory. Default: consecutive files are one worker's",
        |w, k, t| w.files.dirs = Some(Directories::parse(k, t)?),
        |w| w.files.dirs.map(|whose| whose.word().to_owned())
    ),
    row!(
        Target,
        "payload",
        Some("SIZE"),
        "Bytes that each create of --meta writes and each read of it reads, as a part of the operation. Default: files hold no data",
        |w, k, t| w.files.payload = Some(quantity(k, Bytes::parse(t))?),
        |w| w.files.payload.map(|bytes| bytes.exact())
    ),
    row!(
        Target,
        "where",
        Some("CRITERIA"),
        "What a walk of --meta counts as found, all of: name=PATTERN with * and ?, size=BYTES, newer=FILE, as in name=*01*,size=3901,newer=mark. Default: every file",
        |w, k, t| w.files.find = Some(Find::parse(k, t)?),
        |w| option_text(&w.files.find)
    ),
    row!(
        Target,
        "shift",
        Some("RANKS"),
        "Ranks of a group: use what belongs to the rank so many further on, or `random`: to another, drawn from --seed, so that nobody reads what its own cache holds. Default: by one host where ranks on several read what they wrote before, else 0",
        |w, k, t| w.shift = Some(Shift::parse(k, t)?),
        |w| option_text(&w.shift)
    ),
    row!(Target, "preallocate", switch "Reserve the blocks of each file before the run (fallocate)", |w| w.files.fill.preallocate),
    row!(
        Target,
        "refill",
        None,
        "Write every file whole before the run, also where nothing is missing",
        |w, k, t| w.files.fill.refill = switch(k, t)?.then_some(true),
        |w| text(w.files.fill.refill == Some(true))
    ),
    row!(
        Target,
        "no-refill",
        None,
        "Never write before the run: reads may then meet holes, and a file that is too short is refused",
        |w, k, t| if switch(k, t)? {
            w.files.fill.refill = Some(false)
        },
        |w| text(w.files.fill.refill == Some(false))
    ),
    row!(
        Target,
        "refill-pattern",
        Some("PATTERN"),
        "Content of files written before the run: zeros, ones, sequential, random",
        |w, k, t| w.files.fill.pattern = DataPattern::parse(k, t)?,
        |w| text(w.files.fill.pattern.word())
    ),
    row!(Target, "truncate-to-size", switch "Cut a longer file to --file-size before the run", |w| w.files.fill.truncate),
    row!(
        Target,
        "allow-destroy",
        Some("PATH"),
        "Permit writing to this device or to this file although Fathom did not make it; must name the target. Once for each target",
        |w, _k, t| parse::add_paths(&mut w.files.allow_destroy, t),
        |w| parse::show_paths(&w.files.allow_destroy)
    ),
    row!(
        Access,
        "block-size" - 'b',
        Some("SIZE"),
        "Bytes of an operation, or sizes with weights: 4k/60:64k/40",
        |w, k, t| w.blocks = block_sizes(k, t)?,
        |w| Some(show_blocks(&w.blocks))
    ),
    row!(
        Access,
        "read-percent",
        Some("P"),
        "Share of reads; the share of writes follows. Default: 100",
        |w, k, t| w.access.read_percent = Some(quantity(k, Percent::parse(t))?),
        |w| w.access.read_percent.map(|p| p.0.to_string())
    ),
    row!(
        Access,
        "write-percent",
        Some("P"),
        "Share of writes; the share of reads follows",
        |w, k, t| w.access.write_percent = Some(quantity(k, Percent::parse(t))?),
        |w| w.access.write_percent.map(|p| p.0.to_string())
    ),
    row!(Access, "random", switch "Random block order; without it, sequential", |w| w.access.random),
    row!(
        Access,
        "distribution",
        Some("NAME"),
        "Random order: uniform, zipf, pareto, gaussian",
        |w, k, t| w.access.distribution = Distribution::parse(k, t)?,
        |w| text(w.access.distribution.word())
    ),
    row!(
        Access,
        "zipf-theta",
        Some("X"),
        "Zipf exponent, 0 to 3: block of rank k is chosen with probability proportional to k^-X",
        |w, k, t| w.access.zipf_theta = real(k, t, 0.0, 3.0)?,
        |w| text(w.access.zipf_theta)
    ),
    row!(
        Access,
        "pareto-h",
        Some("H"),
        "Share H of the blocks takes share 1-H of the operations: 0.2 is 80/20",
        |w, k, t| w.access.pareto_h = real(k, t, 0.001, 0.999)?,
        |w| text(w.access.pareto_h)
    ),
    row!(
        Access,
        "gaussian-center",
        Some("X"),
        "Centre as a share of the range, 0 to 1",
        |w, k, t| w.access.gaussian.center = real(k, t, 0.0, 1.0)?,
        |w| text(w.access.gaussian.center)
    ),
    row!(
        Access,
        "gaussian-stddev",
        Some("X"),
        "Standard deviation as a share of the range",
        |w, k, t| w.access.gaussian.stddev = real(k, t, 1e-6, 100.0)?,
        |w| text(w.access.gaussian.stddev)
    ),
    row!(Access, "scatter", switch "Spread the hot set over the range by a keyed permutation; without it the hot set is contiguous", |w| w.access.scatter),
    row!(Access, "no-repeat", switch "With --random: no block again before every one was taken, for reads and writes together, then anew; each worker by itself", |w| w.access.no_repeat),
    row!(
        Access,
        "seed",
        Some("N"),
        "Seed of offsets, mix and data: same seed, same operations",
        |w, k, t| w.seed = number(k, t, 0, u64::MAX)?,
        |w| text(w.seed)
    ),
    row!(
        Engine,
        "engine",
        Some("NAME"),
        "auto (sync at depth 1, io_uring beyond), sync, io_uring, libaio, mmap, nbd, null (no I/O), sim (modelled device)",
        |w, k, t| w.engine = EngineName::parse(k, t)?,
        |w| text(w.engine.word())
    ),
    row!(
        Engine,
        "queue-depth" - 'q',
        Some("N"),
        "Operations in flight per worker of each rank",
        |w, k, t| w.queue_depth = number(k, t, 1, 4096)?,
        |w| text(w.queue_depth)
    ),
    row!(
        Engine,
        "submit-batch",
        Some("N"),
        "Most operations handed over at once. Default: the queue depth",
        |w, k, t| w.submit_batch = Some(number(k, t, 1, 4096)?),
        |w| option_text(&w.submit_batch)
    ),
    row!(
        Engine,
        "reap-batch",
        Some("N"),
        "Completions waited for before refilling. Default: 1, whatever is ready is taken",
        |w, k, t| w.reap_batch = Some(number(k, t, 1, 4096)?),
        |w| option_text(&w.reap_batch)
    ),
    row!(
        Engine,
        "fixed-buffers",
        None,
        "Register buffers with io_uring. Default: where the limit of locked memory permits it",
        |w, k, t| w.ring.fixed.buffers = switch(k, t)?.then_some(true),
        |w| text(w.ring.fixed.buffers == Some(true))
    ),
    row!(
        Engine,
        "no-fixed-buffers",
        None,
        "Do not register buffers with io_uring",
        |w, k, t| if switch(k, t)? {
            w.ring.fixed.buffers = Some(false)
        },
        |w| text(w.ring.fixed.buffers == Some(false))
    ),
    row!(
        Engine,
        "fixed-files",
        None,
        "Register files with io_uring. Default: yes",
        |w, k, t| w.ring.fixed.files = switch(k, t)?.then_some(true),
        |w| text(w.ring.fixed.files == Some(true))
    ),
    row!(
        Engine,
        "no-fixed-files",
        None,
        "Do not register files with io_uring",
        |w, k, t| if switch(k, t)? {
            w.ring.fixed.files = Some(false)
        },
        |w| text(w.ring.fixed.files == Some(false))
    ),
    row!(Engine, "sqpoll", switch "A kernel thread polls the submission queue (io_uring)", |w| w.ring.sqpoll),
    row!(Engine, "iopoll", switch "Poll the device for completions (io_uring with --direct)", |w| w.ring.iopoll),
    row!(
        Engine,
        "sim-model",
        Some("MODEL"),
        "Device of the sim engine: latency=100us,servers=1, jitter=none|exponential, stall=START+LENGTH, in one word",
        |w, _k, t| w.sim_model = t.into(),
        |w| text(&w.sim_model)
    ),
    row!(Engine, "direct", switch "Bypass the page cache (O_DIRECT)", |w| w.durability.open.direct),
    row!(Engine, "sync", switch "Each write returns when data and metadata are stable (O_SYNC)", |w| w.durability.open.sync),
    row!(Engine, "dsync", switch "Each write returns when data is stable (O_DSYNC)", |w| w.durability.open.dsync),
    row!(
        Engine,
        "fsync",
        Some("N"),
        "fsync after every N writes of a worker; 0: never",
        |w, k, t| w.durability.fsync = number(k, t, 0, u64::from(u32::MAX))?,
        |w| text(w.durability.fsync)
    ),
    row!(
        Engine,
        "fdatasync",
        Some("N"),
        "fdatasync after every N writes of a worker; 0: never",
        |w, k, t| w.durability.fdatasync = number(k, t, 0, u64::from(u32::MAX))?,
        |w| text(w.durability.fdatasync)
    ),
    row!(Engine, "end-fsync", switch "fsync every written file when the run ends, inside the measured time", |w| w.durability.end_fsync),
    row!(
        Engine,
        "cache",
        Some("STATE"),
        "Page cache before the clock starts: as-is, cold (evicted, and shown to be), warm (read whole)",
        |w, k, t| w.cache = Cache::parse(k, t)?,
        |w| text(w.cache.word())
    ),
    row!(
        Engine,
        "fadvise",
        Some("WORDS"),
        "seq,rand,willneed,dontneed,noreuse on every file",
        |w, k, t| w.fadvise = words_list(k, t, Fadvise::parse)?,
        |w| parse::show_words(&w.fadvise, |x| x.word())
    ),
    row!(
        Engine,
        "madvise",
        Some("WORDS"),
        "seq,rand,willneed,dontneed,hugepage,nohugepage on every mapping (mmap)",
        |w, k, t| w.madvise = words_list(k, t, Madvise::parse)?,
        |w| parse::show_words(&w.madvise, |x| x.word())
    ),
    row!(
        Engine,
        "lock-mode",
        Some("MODE"),
        "Lock around each operation: none, range, full (open-file-description locks); waits are reported",
        |w, k, t| w.lock_mode = LockMode::parse(k, t)?,
        |w| text(w.lock_mode.word())
    ),
    row!(
        Stop,
        "duration" - 'd',
        Some("TIME"),
        "10s, 500ms, 2m, 1h; a bare number is seconds; 0s runs until complete. Default: 10s unless another end is given",
        |w, k, t| w.stop.duration = Some(quantity(k, Nanos::parse(t))?),
        |w| w.stop.duration.map(|d| d.exact())
    ),
    row!(Stop, "run-until-complete", switch "End when every block was read or written exactly once", |w| w.stop.complete),
    row!(
        Stop,
        "total-bytes",
        Some("SIZE"),
        "End after this many bytes over all workers; of all ranks together",
        |w, k, t| w.stop.total_bytes = Some(quantity(k, Bytes::parse(t))?),
        |w| w.stop.total_bytes.map(|b| b.exact())
    ),
    row!(
        Stop,
        "warmup",
        Some("TIME"),
        "Run this long before the measured time; kept apart in the record",
        |w, k, t| w.stop.warmup = quantity(k, Nanos::parse(t))?,
        |w| Some(w.stop.warmup.exact())
    ),
    row!(
        Stop,
        "stonewall",
        Some("TIME"),
        "Look at this time what every worker has done, and end; for work that is too much for the time, such as all blocks of large files. Of --meta only the first operation ends so, and the next ones take what it reached",
        |w, k, t| w.stop.stonewall.at = Some(quantity(k, Nanos::parse(t))?),
        |w| w.stop.stonewall.at.map(|at| at.exact())
    ),
    row!(Stop, "wear-out", switch "With --stonewall: go on until every worker has done as much as the fastest had by then; both rates are recorded", |w| w.stop.stonewall.wear_out),
    row!(
        Stop,
        "wear-out-limit",
        Some("TIME"),
        "With --wear-out: go on for this long at most. Default: ten times --stonewall",
        |w, k, t| w.stop.stonewall.wear_out_limit = Some(quantity(k, Nanos::parse(t))?),
        |w| w.stop.stonewall.wear_out_limit.map(|limit| limit.exact())
    ),
    row!(Stop, "continue-on-error", switch "Count failed operations and go on", |w| w.continue_on_error),
    row!(
        Stop,
        "max-errors",
        Some("N"),
        "With --continue-on-error: stop when this many operations of a worker have failed, on each rank by itself; 0: no limit",
        |w, k, t| w.max_errors = number(k, t, 0, u64::MAX)?,
        |w| text(w.max_errors)
    ),
    row!(
        Pace,
        "rate-iops",
        Some("RATE"),
        "Operations a second over all workers, open loop: latency counts from the intended start; of all ranks together",
        |w, k, t| w.pace.rate_iops = Some(quantity(k, Rate::parse(t))?),
        |w| w.pace.rate_iops.map(|r| r.0.to_string())
    ),
    row!(
        Pace,
        "rate-bytes",
        Some("SIZE"),
        "Bytes a second over all workers, open loop; of all ranks together",
        |w, k, t| w.pace.rate_bytes = Some(quantity(k, ByteRate::parse(t))?),
        |w| w
            .pace
            .rate_bytes
            .map(|r| units::lossless::f64_to_u64_saturating(r.0).to_string())
    ),
    row!(
        Pace,
        "arrival",
        Some("PROCESS"),
        "Spacing in an open loop: constant, poisson",
        |w, k, t| w.pace.arrival = Arrival::parse(k, t)?,
        |w| text(w.pace.arrival.word())
    ),
    row!(
        Pace,
        "think-time",
        Some("TIME"),
        "Pause of a worker of each rank after every --think-every operations",
        |w, k, t| w.pace.think.time = quantity(k, Nanos::parse(t))?,
        |w| Some(w.pace.think.time.exact())
    ),
    row!(
        Pace,
        "think-mode",
        Some("MODE"),
        "sleep gives the CPU away, spin keeps it busy",
        |w, k, t| w.pace.think.mode = ThinkMode::parse(k, t)?,
        |w| text(w.pace.think.mode.word())
    ),
    row!(
        Pace,
        "think-every",
        Some("N"),
        "Operations between two pauses",
        |w, k, t| w.pace.think.every = number(k, t, 1, u64::from(u32::MAX))?,
        |w| text(w.pace.think.every)
    ),
    row!(
        Pace,
        "think-adaptive-percent",
        Some("P"),
        "Add a pause of this share of each operation's own latency",
        |w, k, t| w.pace.think.adaptive = Percent(real(k, t, 0.0, 10_000.0)?),
        |w| text(w.pace.think.adaptive.0)
    ),
    row!(
        Data,
        "write-pattern",
        Some("PATTERN"),
        "Content of writes: zeros, ones, sequential, random (fresh for every write)",
        |w, k, t| w.writing.pattern = DataPattern::parse(k, t)?,
        |w| text(w.writing.pattern.word())
    ),
    row!(
        Data,
        "compress-percent",
        Some("P"),
        "Share of each block that a compressor can remove",
        |w, k, t| w.writing.compress = Some(quantity(k, Percent::parse(t))?),
        |w| w.writing.compress.map(|p| p.0.to_string())
    ),
    row!(
        Data,
        "dedupe-percent",
        Some("P"),
        "Share of written blocks that repeat an earlier one",
        |w, k, t| w.writing.dedupe = Some(quantity(k, Percent::parse(t))?),
        |w| w.writing.dedupe.map(|p| p.0.to_string())
    ),
    row!(Data, "verify", switch "Write the verify pattern, and check every read against it", |w| w.verify.on),
    row!(
        Data,
        "verify-pattern",
        Some("PATTERN"),
        "zeros, ones, sequential, random (keyed by offset), header (tells corrupt, torn, misdirected and stale apart)",
        |w, k, t| w.verify.pattern = VerifyPattern::parse(k, t)?,
        |w| text(w.verify.pattern.word())
    ),
    row!(
        Data,
        "verify-when",
        Some("WHEN"),
        "Check reads, passes (each pass of writes by one of reads, while time is left), later (in another run)",
        |w, k, t| w.verify.when = VerifyWhen::parse(k, t)?,
        |w| text(w.verify.when.word())
    ),
    row!(
        Placement,
        "threads" - 't',
        Some("N"),
        "Workers of each rank, one thread each",
        |w, k, t| w.threads = number(k, t, 1, 65_536)?,
        |w| text(w.threads)
    ),
    row!(
        Placement,
        "cpu-cores",
        Some("LIST"),
        "CPUs of the workers of each rank, one each, round-robin: 0-31 or 0,2,4",
        |w, k, t| w.placement.cpu_cores = Some(quantity(k, IdList::parse(t))?),
        |w| option_text(&w.placement.cpu_cores)
    ),
    row!(
        Placement,
        "numa-zones",
        Some("LIST"),
        "NUMA nodes of the workers of each rank, round-robin: binds their CPUs and their memory",
        |w, k, t| w.placement.numa_zones = Some(quantity(k, IdList::parse(t))?),
        |w| option_text(&w.placement.numa_zones)
    ),
    row!(
        Placement,
        "affinity",
        Some("POLICY"),
        "CPUs or nodes that the machine lacks: strict refuses, best-effort maps the list onto what exists",
        |w, k, t| w.placement.affinity = Affinity::parse(k, t)?,
        |w| text(w.placement.affinity.word())
    ),
    row!(Observation, "heatmap", switch "Count every operation by place: heat map, coverage, rewrites, share of the hottest 20 %", |w| w.heat.on),
    row!(
        Observation,
        "heatmap-buckets",
        Some("N"),
        "Parts of the range in the heat map",
        |w, k, t| w.heat.buckets = number(k, t, 1, 1 << 20)?,
        |w| text(w.heat.buckets)
    ),
    row!(Observation, "worker-series", switch "Keep the operations and the series of each worker apart in the record, too", |w| w.worker_series),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A value other than the default for each option that takes one.
    fn other_value(key: &str) -> &'static str {
        match key {
            "file-distribution" => "partitioned",
            "worker-regions" => "1m/4m",
            "meta" => "create,stat",
            "dirs" => "own",
            "where" => "name=*01*,size=3901",
            "refill-pattern" | "write-pattern" => "ones",
            "block-size" => "8k",
            "distribution" => "zipf",
            "engine" => "libaio",
            "sim-model" => "latency=5us",
            "cache" => "cold",
            "fadvise" | "madvise" => "rand,willneed",
            "lock-mode" => "range",
            "arrival" => "poisson",
            "think-mode" => "spin",
            "verify-pattern" => "zeros",
            "verify-when" => "later",
            "cpu-cores" | "numa-zones" => "0-3,7",
            "affinity" => "best-effort",
            "zipf-theta" | "pareto-h" | "gaussian-center" | "gaussian-stddev" => "0.75",
            "layout-manifest" | "export-layout-manifest" | "allow-destroy" => "/some/path",
            _ => "7",
        }
    }

    #[test]
    fn options_of_the_call_are_options() {
        assert!(OF_THE_CALL.iter().all(|key| find(key).is_some()));
        assert!(SETTINGS.iter().any(|setting| repeats(setting.key)));
    }

    #[test]
    fn permission_for_several_targets_adds_up_and_reads_back() {
        let mut workload = Workload::default();
        for path in ["/dev/a", "/data/b,c", "/dev/a"] {
            apply(&mut workload, "allow-destroy", path).unwrap();
        }
        assert_eq!(
            workload.files.allow_destroy,
            ["/dev/a", "/data/b,c"].map(PathBuf::from)
        );
        let mut again = Workload::default();
        apply(
            &mut again,
            "allow-destroy",
            &find("allow-destroy").unwrap().show(&workload).unwrap(),
        )
        .unwrap();
        assert_eq!(again, workload);
    }

    #[test]
    fn every_option_changes_the_workload_and_its_text_reads_back() {
        for setting in SETTINGS {
            let mut changed = Workload::default();
            let value = if setting.value.is_some() {
                other_value(setting.key)
            } else {
                "true"
            };
            setting
                .apply(&mut changed, value)
                .unwrap_or_else(|e| panic!("{}: {e}", setting.key));
            assert_ne!(
                changed,
                Workload::default(),
                "--{} changes nothing",
                setting.key
            );
            let text = setting
                .show(&changed)
                .unwrap_or_else(|| panic!("--{} is not shown", setting.key));
            let mut again = Workload::default();
            setting.apply(&mut again, &text).unwrap();
            assert_eq!(again, changed, "--{} shows {text:?}", setting.key);
            assert_ne!(
                setting.show(&Workload::default()),
                Some(text),
                "--{} shows the same as the default",
                setting.key
            );
        }
    }

    #[test]
    fn the_largest_byte_rate_reads_back() {
        let setting = find("rate-bytes").unwrap();
        let mut workload = Workload::default();
        setting.apply(&mut workload, &u64::MAX.to_string()).unwrap();
        assert_eq!(setting.show(&workload), Some(u64::MAX.to_string()));
    }

    #[test]
    fn defaults_read_back_as_themselves() {
        for setting in SETTINGS {
            if let Some(text) = setting.show(&Workload::default()) {
                let mut again = Workload::default();
                setting.apply(&mut again, &text).unwrap();
                assert_eq!(again, Workload::default(), "--{} {text}", setting.key);
            }
        }
    }

    #[test]
    fn keys_and_short_flags_are_unique_and_documented() {
        for (i, a) in SETTINGS.iter().enumerate() {
            assert!(a.help.len() > 15, "--{} has no help", a.key);
            for b in &SETTINGS[i + 1..] {
                assert_ne!(a.key, b.key);
                assert!(
                    a.short.is_none() || a.short != b.short,
                    "{} and {}",
                    a.key,
                    b.key
                );
            }
        }
    }

    #[test]
    fn an_unknown_option_names_the_nearest() {
        let error = apply(&mut Workload::default(), "queue-dept", "3").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown option \"queue-dept\", did you mean \"queue-depth\"?"
        );
    }

    #[test]
    fn bad_values_say_what_and_what_to_do() {
        for (key, value, expected) in [
            (
                "queue-depth",
                "0",
                "--queue-depth: \"0\" is not a whole number from 1 to 4096",
            ),
            (
                "engine",
                "uring",
                "--engine: \"uring\" is not one of auto, sync, io_uring, libaio, mmap, null, sim, nbd, did you mean \"io_uring\"?",
            ),
            (
                "engine",
                "posixaio",
                "--engine: \"posixaio\" is not one of auto, sync, io_uring, libaio, mmap, null, sim, nbd; what fio calls posixaio is auto",
            ),
            (
                "block-size",
                "4k/50:8k/40",
                "--block-size: the weights of \"4k/50:8k/40\" add to 90, not 100",
            ),
            (
                "zipf-theta",
                "nan",
                "--zipf-theta: \"nan\" is not a number from 0 to 3",
            ),
        ] {
            let error = apply(&mut Workload::default(), key, value).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
