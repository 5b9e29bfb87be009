//! What the tests share that run the product: a place on a disk, the program run in it, and the
//! laws that its records must obey.

#![allow(dead_code, reason = "each file of tests uses a part")]

use record::{Operations, Record};
use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty directory beside the build, because that lies on a disk; the system's directory for
/// temporary files often lies in memory.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    runs: Cell<u32>,
    commands: RefCell<Vec<String>>,
}

/// How a command ended.
pub(crate) struct Ran {
    pub(crate) command: String,
    /// Exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// What it wrote on standard output.
    pub(crate) said: String,
    pub(crate) complained: String,
    /// What it measured, if it came to that.
    pub(crate) record: Option<Record>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory can be made beside the build");
        Self {
            dir,
            runs: Cell::new(0),
            commands: RefCell::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `iopulse` with the words of `command`, in this directory.
    pub(crate) fn iopulse(&self, command: &str) -> Ran {
        self.run(Command::new(env!("CARGO_BIN_EXE_iopulse")), command)
    }

    /// Runs `iopulse` with the words of `command`, after a shell has done what `first` says.
    pub(crate) fn iopulse_after(&self, first: &str, command: &str) -> Ran {
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            &format!("{first}; exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_iopulse"),
        ]);
        self.run(shell, command)
    }

    /// Runs `fathom` with the words of `command`, in this directory.
    pub(crate) fn fathom(&self, command: &str) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(command.split_whitespace())
            .current_dir(self.dir.path())
            .output()
            .expect("the program was built for this test");
        Ran {
            command: command.to_owned(),
            code: output.status.code(),
            said: String::from_utf8_lossy(&output.stdout).into_owned(),
            complained: String::from_utf8_lossy(&output.stderr).into_owned(),
            record: None,
        }
    }

    fn run(&self, mut program: Command, command: &str) -> Ran {
        self.runs.set(self.runs.get() + 1);
        self.commands.borrow_mut().push(command.to_owned());
        let file = self.path(&format!("record-{}.json", self.runs.get()));
        let output = program
            .args(command.split_whitespace())
            .args(["--no-live", "--json-output"])
            .arg(&file)
            .current_dir(self.dir.path())
            .output()
            .expect("the program was built for this test");
        let read = |text: String| {
            serde_json::from_str(&text)
                .unwrap_or_else(|e| panic!("`{command}` wrote a record that is none: {e}"))
        };
        Ran {
            command: command.to_owned(),
            code: output.status.code(),
            said: String::from_utf8_lossy(&output.stdout).into_owned(),
            complained: String::from_utf8_lossy(&output.stderr).into_owned(),
            record: fs::read_to_string(&file).ok().map(read),
        }
    }

    /// The commands here that had this option.
    pub(crate) fn commands_with(&self, key: &str) -> Vec<String> {
        let option = format!("--{key}");
        let commands = self.commands.borrow();
        let has_it = |command: &&String| command.split_whitespace().any(|word| word == option);
        commands.iter().filter(has_it).cloned().collect()
    }

    /// The record of a command that must end well.
    pub(crate) fn measure(&self, command: &str) -> Record {
        self.iopulse(command).succeeded().into_record()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).expect("the directory can be written");
    }

    /// Paths of all files in a directory of this place, relative to that directory and sorted.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let root = self.path(name);
        let mut out = Vec::new();
        walk(&root, &root, &mut out);
        out.sort();
        out
    }
}

fn walk(root: &Path, dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            walk(root, &path, out);
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            out.push(
                path.strip_prefix(root)
                    .expect("the walk began there")
                    .to_path_buf(),
            );
        }
    }
}

impl Ran {
    /// Everything that was said, for messages.
    pub(crate) fn text(&self) -> String {
        format!(
            "`{}` ended with {:?}:\n{}{}",
            self.command, self.code, self.said, self.complained
        )
    }

    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.text());
        self
    }

    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text());
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, wanted: &str) -> &Self {
        let all = [self.said.as_str(), &self.complained].concat();
        assert!(
            in_one_line(&all).contains(&in_one_line(wanted)),
            "{wanted:?} is missing:\n{}",
            self.text()
        );
        self
    }

    pub(crate) fn record(&self) -> &Record {
        self.record
            .as_ref()
            .unwrap_or_else(|| panic!("no record: {}", self.text()))
    }

    pub(crate) fn into_record(self) -> Record {
        let text = self.text();
        self.record.unwrap_or_else(|| panic!("no record: {text}"))
    }
}

/// The text without the breaks between its lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Operations of a kind; none if the record has none.
pub(crate) fn kind(record: &Record, name: &str) -> Operations {
    record.operations.kind(name).cloned().unwrap_or_default()
}

/// Reads and writes together.
pub(crate) fn transfers(record: &Record) -> u64 {
    kind(record, "read").count + kind(record, "write").count
}

/// An option as it was in effect.
pub(crate) fn effective<'a>(record: &'a Record, key: &str) -> Option<&'a str> {
    record.effective.get(key).map(String::as_str)
}

/// What a machine may lack, and tests that need it must ask for.
pub(crate) mod skip {
    use super::Place;
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    /// Says that a test, or a part of one, did not run; never true.
    #[allow(clippy::print_stdout, reason = "the test runner shows it")]
    pub(crate) fn skipped(needs: &str) -> bool {
        println!("SKIPPED: needs {needs}");
        false
    }

    /// Whether files in `place` can be opened past the page cache; says so if not.
    pub(crate) fn has_direct(place: &Place) -> bool {
        let kind = host::Machine::at(Path::new("/"))
            .storage(&place.path(""))
            .file_system
            .map(|fs| fs.kind);
        let in_memory = kind.is_some_and(|kind| ["tmpfs", "ramfs"].contains(&kind.as_str()));
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(sys::direct_flag());
        (!in_memory && options.open(place.path("direct.probe")).is_ok())
            || skipped("a file system with direct I/O")
    }

    /// Whether the kernel tells of NUMA nodes; says so if not.
    pub(crate) fn has_numa() -> bool {
        Path::new("/sys/devices/system/node/node0").exists()
            || skipped("a kernel that tells of NUMA nodes")
    }

    /// Whether the kernel lets this process use io_uring; says so if not.
    pub(crate) fn has_io_uring() -> bool {
        engine::UringEngine::new(Vec::new(), 1, 4096, engine::RingOptions::default()).is_ok()
            || skipped("io_uring")
    }
}

/// What files hold.
pub(crate) mod content {
    use std::collections::HashSet;
    use std::fs::File;
    use std::ops::Range;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::path::Path;

    pub(crate) const BLOCK: usize = 4096;

    /// 4 KiB blocks that are not all zero.
    pub(crate) fn filled_blocks(bytes: &[u8]) -> usize {
        bytes
            .chunks(BLOCK)
            .filter(|block| block.iter().any(|byte| *byte != 0))
            .count()
    }

    /// Different 4 KiB blocks among those that are not all zero.
    pub(crate) fn distinct_blocks(bytes: &[u8]) -> usize {
        bytes
            .chunks(BLOCK)
            .filter(|block| block.iter().any(|byte| *byte != 0))
            .collect::<HashSet<_>>()
            .len()
    }

    pub(crate) fn is_all(bytes: &[u8], value: u8) -> bool {
        bytes.iter().all(|byte| *byte == value)
    }

    /// Changes one byte of a file.
    pub(crate) fn flip(path: &Path, offset: usize) {
        let mut bytes = std::fs::read(path).expect("the file can be read");
        bytes[offset] ^= 0x40;
        std::fs::write(path, bytes).expect("the file can be written");
    }

    /// Takes a range of a file off the disk; its bytes read as zeros then.
    pub(crate) fn make_hole(path: &Path, range: Range<usize>) {
        let bytes = std::fs::read(path).expect("the file can be read");
        let file = File::options()
            .write(true)
            .open(path)
            .expect("the file can be written");
        file.set_len(range.start as u64)
            .and_then(|()| file.write_all_at(&bytes[range.end..], range.end as u64))
            .expect("the file can be written");
    }

    /// Bytes of a file, and of the disk that it takes.
    pub(crate) fn length_and_disk(path: &Path) -> (u64, u64) {
        let facts = std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (facts.len(), facts.blocks() * 512)
    }

    #[test]
    fn equal_blocks_are_counted_once_and_holes_not_at_all() {
        let bytes = [[0; BLOCK], [1; BLOCK], [2; BLOCK], [1; BLOCK]].concat();
        assert_eq!((filled_blocks(&bytes), distinct_blocks(&bytes)), (3, 2));
        assert!(is_all(&bytes[..BLOCK], 0) && !is_all(&bytes, 0));
    }
}

/// Laws of probability and of arithmetic that every honest record obeys, each stated without the
/// product's own code.
pub(crate) mod laws {
    use super::{kind, transfers};
    use record::Record;

    /// How far chance may take a number from its expectation: about one run in two million.
    const SIGMAS: f64 = 5.0;

    /// Holds a number of successes against its binomial law.
    pub(crate) fn assert_share(what: &str, successes: u64, trials: u64, share: f64) {
        let mean = trials as f64 * share;
        let deviation = (mean * (1.0 - share)).sqrt();
        let off = (successes as f64 - mean).abs();
        assert!(
            off <= SIGMAS * deviation + 0.5,
            "{what}: {successes} of {trials}, and {mean:.1} ± {deviation:.1} were expected"
        );
    }

    /// Probability of each block under a law, from its density: any positive function of the
    /// position in blocks.
    fn masses(blocks: u32, density: impl Fn(f64) -> f64) -> Vec<f64> {
        let each: Vec<f64> = (0..blocks).map(|block| density(f64::from(block))).collect();
        let sum: f64 = each.iter().sum();
        each.into_iter().map(|mass| mass / sum).collect()
    }

    /// Zipf: the block of rank k in proportion to k^-theta.
    pub(crate) fn zipf(blocks: u32, theta: f64) -> Vec<f64> {
        masses(blocks, |block| (block + 1.0).powf(-theta))
    }

    /// Self-similar 80/20 law: the first m of n blocks take (m/n)^(ln(1-h)/ln h).
    pub(crate) fn pareto(blocks: u32, h: f64) -> Vec<f64> {
        let power = (1.0 - h).ln() / h.ln();
        let below = |block: f64| (block / f64::from(blocks)).powf(power);
        masses(blocks, |block| below(block + 1.0) - below(block))
    }

    /// Normal law cut off at the ends of the range; `center` and `stddev` are shares of it.
    pub(crate) fn gaussian(blocks: u32, center: f64, stddev: f64) -> Vec<f64> {
        let n = f64::from(blocks);
        let density = |position: f64| (-0.5 * ((position / n - center) / stddev).powi(2)).exp();
        let points = 16;
        masses(blocks, |block| {
            (0..points)
                .map(|i| density(block + (f64::from(i) + 0.5) / f64::from(points)))
                .sum()
        })
    }

    /// Masses of equal parts of the range, as a heat map counts them.
    fn parts(masses: &[f64], parts: usize) -> Vec<f64> {
        let mut out = vec![0.0; parts];
        for (block, mass) in masses.iter().enumerate() {
            out[block * parts / masses.len()] += mass;
        }
        out
    }

    /// Share of operations on the fifth of the parts that a law makes hottest.
    pub(crate) fn hottest_fifth(masses: &[f64], of: usize) -> f64 {
        let mut each = parts(masses, of);
        each.sort_by(|a, b| b.total_cmp(a));
        each[..of.div_ceil(5)].iter().sum()
    }

    /// Holds the heat map of a record against the law that its blocks were drawn from: every part,
    /// the hottest fifth, and the blocks touched.
    pub(crate) fn assert_drawn_from(what: &str, record: &Record, masses: &[f64]) {
        let coverage = record
            .coverage
            .as_ref()
            .unwrap_or_else(|| panic!("{what}: no heat map"));
        assert_eq!(coverage.blocks, masses.len() as u64, "{what}");
        assert_eq!(
            coverage.uses,
            transfers(record),
            "{what}: every operation has a place"
        );
        assert_eq!(
            coverage.buckets.iter().sum::<u64>(),
            coverage.uses,
            "{what}"
        );
        let n = coverage.uses as f64;
        let of = coverage.buckets.len();
        for (part, (found, mass)) in coverage.buckets.iter().zip(parts(masses, of)).enumerate() {
            let (mean, deviation) = (n * mass, (n * mass * (1.0 - mass)).sqrt());
            // Small counts have a longer tail than the normal law: the constant covers it.
            let limit = SIGMAS * deviation + 6.0;
            assert!(
                (*found as f64 - mean).abs() < limit,
                "{what}: part {part} of {of} was used {found} times, not {mean:.1} ± {deviation:.1}"
            );
        }
        // Taking the hottest by their counts, not by their masses, adds what chance gave to
        // neighbours of equal heat: below a deviation a part.
        let expected = hottest_fifth(masses, of);
        let chance =
            SIGMAS * (expected * (1.0 - expected) / n).sqrt() + (of as f64 / n).sqrt() * 0.2;
        let found = coverage.hottest_fifth_share;
        assert!(
            (found - expected).abs() < chance,
            "{what}: the hottest fifth takes {found:.4}, not {expected:.4} ± {chance:.4}"
        );
        assert_touched(what, coverage.touched, masses, n);
    }

    /// Each block is touched with probability 1 - (1 - p)^n; blocks exclude each other a little, so
    /// the sum of variances is an upper bound.
    fn assert_touched(what: &str, touched: u64, masses: &[f64], n: f64) {
        let missed = masses.iter().map(|mass| (n * (-mass).ln_1p()).exp());
        let (mean, variance) = missed.fold((0.0, 0.0), |(mean, variance), q| {
            (mean + 1.0 - q, variance + q * (1.0 - q))
        });
        let off = (touched as f64 - mean).abs();
        assert!(
            off <= SIGMAS * variance.sqrt() + 1.0,
            "{what}: {touched} blocks touched, {mean:.1} ± {:.1} expected",
            variance.sqrt()
        );
    }

    /// Holds a record against the laws that need no knowledge of what was asked but the block size
    /// and the share of reads.
    pub(crate) fn assert_sound(what: &str, record: &Record, block: u64, read_share: f64) {
        assert_eq!(
            (record.outcome.exit_code, record.operations.errors()),
            (0, 0),
            "{what}: {:?}",
            record.outcome
        );
        let total = transfers(record);
        assert!(total > 0, "{what}: no operation");
        for (name, operations) in record
            .operations
            .kinds()
            .filter(|(name, _)| ["read", "write"].contains(name))
        {
            assert_eq!(
                operations.bytes,
                operations.count * block,
                "{what}: bytes of {name}"
            );
            assert_eq!(
                operations.latency.count(),
                operations.count,
                "{what}: one latency an operation, {name}"
            );
            if operations.count > 0 {
                assert_eq!(
                    (operations.smallest_bytes, operations.largest_bytes),
                    (Some(block), Some(block)),
                    "{what}: {name}"
                );
            }
        }
        assert_share(
            &format!("{what}: reads"),
            kind(record, "read").count,
            total,
            read_share,
        );
        let (iops, throughput) = (record.operations_per_second(), record.bytes_per_second());
        let (iops, throughput) = iops
            .zip(throughput)
            .unwrap_or_else(|| panic!("{what}: no time passed"));
        assert!(
            (iops * block as f64 / throughput - 1.0).abs() < 1e-9,
            "{what}: {iops} a second of {block} bytes are not {throughput}"
        );
        assert_double_entry(what, record);
        assert_little(what, record);
    }

    /// Workers, series and totals are three accounts of the same operations.
    fn assert_double_entry(what: &str, record: &Record) {
        let workers: (u64, u64) = record
            .workers
            .iter()
            .fold((0, 0), |(n, bytes), w| (n + w.operations, bytes + w.bytes));
        let intervals: (u64, u64) = record.series.iter().fold((0, 0), |(n, bytes), i| {
            (n + i.operations.count(), bytes + i.operations.bytes())
        });
        let total = (record.operations.count(), record.operations.bytes());
        assert_eq!(workers, total, "{what}: sum over the workers");
        assert_eq!(intervals, total, "{what}: sum over the series");
        let longest = record.workers.iter().map(|w| w.ended_ns).max().unwrap_or(0);
        assert_eq!(
            longest, record.elapsed_ns,
            "{what}: the last worker's end is the end"
        );
    }

    /// Little's law: latencies add up to the time that operations were seen in flight.
    fn assert_little(what: &str, record: &Record) {
        let latency: u128 = record
            .operations
            .kinds()
            .map(|(_, o)| o.service.as_ref().unwrap_or(&o.latency).sum())
            .sum();
        let ratio = latency as f64 / record.loops.in_flight_ns as f64;
        assert!(
            (ratio - 1.0).abs() < 0.1,
            "{what}: latencies add up to {ratio:.3} of the time in flight"
        );
    }

    #[test]
    fn closed_forms_agree_with_what_is_known_of_them() {
        assert!(
            (hottest_fifth(&pareto(10_000, 0.2), 100) - 0.8).abs() < 1e-9,
            "80/20"
        );
        assert!(
            (hottest_fifth(&gaussian(10_000, 0.5, 0.1), 100) - 0.6827).abs() < 1e-3,
            "one deviation on both sides"
        );
        assert!(
            (hottest_fifth(&zipf(10_000, 0.0), 100) - 0.2).abs() < 1e-9,
            "uniform"
        );
        // The harmonic numbers H(2000) and H(10000).
        assert!((hottest_fifth(&zipf(10_000, 1.0), 100) - 8.178_368 / 9.787_606).abs() < 1e-6);
    }

    #[test]
    fn a_share_beyond_chance_is_noticed() {
        assert_share("fair", 5_100, 10_000, 0.5);
        assert!(std::panic::catch_unwind(|| assert_share("biased", 5_300, 10_000, 0.5)).is_err());
    }
}
