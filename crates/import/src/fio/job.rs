//! One entry of fio's `jobs`.

use super::latency::Latency;
use super::options::Options;
use crate::error::Fault;
use crate::node::Node;
use record::{Measurements, Operations, Summary};
use std::collections::BTreeMap;
use units::time;

pub(super) struct Job {
    pub(super) name: String,
    pub(super) group: Option<u64>,
    pub(super) hostname: Option<String>,
    pub(super) options: Options,
    pub(super) start_ms: Option<u64>,
    /// The longest direction's.
    pub(super) runtime_ms: u64,
    pub(super) error: u64,
    pub(super) first_error: u64,
    pub(super) total_errors: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) major_faults: u64,
    pub(super) minor_faults: u64,
    /// Of its report and the jobs in it: jobs of other reports ran at other times.
    pub(super) report: usize,
    /// By our name of the kind.
    pub(super) directions: BTreeMap<String, Direction>,
    pub(super) figures: BTreeMap<String, f64>,
    /// Entries that this one is the sum of.
    pub(super) clones: u32,
}

/// Reads, writes, trims, syncs, or reads and writes together.
#[derive(Default)]
pub(super) struct Direction {
    count: u64,
    bytes: Option<u64>,
    per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    /// Where it is of whole KiB only.
    bandwidth_as_written: Option<String>,
    runtime_ms: u64,
    figures: BTreeMap<String, f64>,
    submission: Latency,
    completion: Latency,
    total: Latency,
    /// Whether the same operations stand under other kinds too.
    repeated: bool,
}

impl Job {
    pub(super) fn read(node: &Node<'_>, globals: Options, report: usize) -> Result<Self, Fault> {
        let options = match node.get("job options") {
            Some(own) => globals.overridden_by(Options::read(&own)?),
            None => globals,
        };
        let count = |key| node.opt_count(key).map(Option::unwrap_or_default);
        let runtime = count("job_runtime")? as f64;
        let cpu_ns = |key| {
            Ok(time::nanos(
                node.opt_number(key)?.unwrap_or_default() / 100.0 * runtime,
                1e6,
            )
            .unwrap_or_default())
        };
        let mut job = Self {
            name: node.need("jobname")?.text()?.to_owned(),
            group: node.opt_count("groupid")?,
            hostname: node
                .opt_text("hostname")?
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            start_ms: node.opt_count("job_start")?.filter(|ms| *ms > 0),
            runtime_ms: 0,
            error: count("error")?,
            first_error: count("first_error")?,
            total_errors: count("total_err")?,
            user_ns: cpu_ns("usr_cpu")?,
            system_ns: cpu_ns("sys_cpu")?,
            major_faults: count("majf")?,
            minor_faults: count("minf")?,
            report,
            directions: BTreeMap::new(),
            figures: figures(node)?,
            clones: 1,
            options,
        };
        for key in ["read", "write", "trim", "sync", "mixed"] {
            let Some(node) = node.get(key) else { continue };
            let mut direction = Direction::read(&node)?;
            if direction.is_unused() {
                continue;
            }
            direction.repeated = key == "mixed"
                && job
                    .directions
                    .keys()
                    .any(|kind| kind == "read" || kind == "write");
            job.runtime_ms = job.runtime_ms.max(direction.runtime_ms);
            let kind = if key == "sync" {
                job.options.sync_kind()
            } else {
                key
            };
            job.directions.insert(kind.to_owned(), direction);
        }
        Ok(job)
    }

    pub(super) fn is_clone_of(&self, other: &Self) -> bool {
        self.name == other.name
            && (self.report, self.group) == (other.report, other.group)
            && self.hostname == other.hostname
            && self.options == other.options
            && self.options.clones() > u64::from(self.clones)
    }

    /// Adds a clone that ran at the same time.
    pub(super) fn merge(&mut self, other: Self) {
        self.start_ms = self.start_ms.into_iter().chain(other.start_ms).min();
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.error = if self.error == 0 {
            other.error
        } else {
            self.error
        };
        self.first_error = if self.first_error == 0 {
            other.first_error
        } else {
            self.first_error
        };
        for (mine, theirs) in [
            (&mut self.total_errors, other.total_errors),
            (&mut self.user_ns, other.user_ns),
            (&mut self.system_ns, other.system_ns),
            (&mut self.major_faults, other.major_faults),
            (&mut self.minor_faults, other.minor_faults),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        for (kind, direction) in other.directions {
            match self.directions.get_mut(&kind) {
                Some(mine) => mine.merge(direction),
                None => {
                    self.directions.insert(kind, direction);
                }
            }
        }
        // Shares of one clone each; the sum of all is nobody's.
        self.figures.clear();
        self.clones += 1;
    }
}

/// What fio prints of the job as a whole, by its own names.
fn figures(node: &Node<'_>) -> Result<BTreeMap<String, f64>, Fault> {
    let mut out = BTreeMap::new();
    for key in ["usr_cpu", "sys_cpu", "ctx", "job_runtime"] {
        if let Some(value) = node.opt_number(key)? {
            out.insert(key.to_owned(), value);
        }
    }
    if let Some(levels) = node.get("iodepth_level") {
        for (level, share) in levels.members()? {
            out.insert(format!("iodepth_level {level}"), share.number()?);
        }
    }
    if let Some(steady) = node.get("steadystate")
        && let Some(attained) = steady.opt_number("attained")?
    {
        out.insert("steadystate attained".into(), attained);
    }
    Ok(out)
}

impl Direction {
    fn read(node: &Node<'_>) -> Result<Self, Fault> {
        let count = |key| node.opt_count(key).map(Option::unwrap_or_default);
        let printed = node.opt_count("io_bytes")?;
        let bytes = match node.get("io_kbytes") {
            Some(_) => printed,
            None => printed.map(|kib| kib.saturating_mul(1024)),
        };
        let exact = node.opt_number("bw_bytes")?;
        let kib = node.opt_number("bw")?.filter(|_| exact.is_none());
        let bytes_per_second = exact.or(kib.map(|kib| kib * 1024.0));
        let total = Latency::read_with_bins(node, "lat")?;
        let mut figures = BTreeMap::new();
        for key in [
            "short_ios",
            "drop_ios",
            "iops_min",
            "iops_max",
            "iops_mean",
            "iops_stddev",
            "iops_samples",
        ] {
            if let Some(value) = node.opt_number(key)?.filter(|value| *value != 0.0) {
                figures.insert(key.to_owned(), value);
            }
        }
        Ok(Self {
            count: count("total_ios")?,
            bytes,
            per_second: node.opt_number("iops")?,
            bytes_per_second,
            bandwidth_as_written: kib.map(|kib| format!("{kib} KiB/s")),
            runtime_ms: count("runtime")?,
            figures,
            submission: Latency::read(node, "slat")?,
            // One distribution is kept: that of the whole, else that of the completion.
            completion: if total.has_bins() {
                Latency::read(node, "clat")?
            } else {
                Latency::read_with_bins(node, "clat")?
            },
            total,
            repeated: false,
        })
    }

    /// Whether nothing was done: fio prints zeros of directions, and of their latencies, that it
    /// did not use.
    fn is_unused(&self) -> bool {
        self.count == 0
            && self.bytes.unwrap_or(0) == 0
            && !self.total.has_samples()
            && !self.completion.has_samples()
    }

    /// Whether there is a distribution, and only of the part after submission.
    pub(super) fn has_completion_latency_only(&self) -> bool {
        !self.total.has_distribution() && self.completion.has_distribution()
    }

    /// Whether its latencies are whole microseconds.
    pub(super) fn is_coarse(&self) -> bool {
        self.total.is_coarse() || self.completion.is_coarse()
    }

    fn merge(&mut self, other: Self) {
        let add = |mine: Option<f64>, theirs: Option<f64>| mine.zip(theirs).map(|(a, b)| a + b);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self
            .bytes
            .zip(other.bytes)
            .map(|(a, b)| a.saturating_add(b));
        self.per_second = add(self.per_second, other.per_second);
        self.bytes_per_second = add(self.bytes_per_second, other.bytes_per_second);
        self.bandwidth_as_written = None;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        // Statistics of one clone's samples.
        self.figures.retain(|key, _| key.ends_with("_ios"));
        for (key, value) in other
            .figures
            .into_iter()
            .filter(|(key, _)| key.ends_with("_ios"))
        {
            *self.figures.entry(key).or_default() += value;
        }
        self.submission.merge(other.submission);
        self.completion.merge(other.completion);
        self.total.merge(other.total);
    }

    /// Enters this direction: as operations where each has a latency, and as what fio says of it.
    pub(super) fn store(
        mut self,
        kind: &str,
        block: Option<u64>,
        operations: &mut Measurements,
        summaries: &mut BTreeMap<String, Summary>,
        notices: &mut Vec<String>,
    ) {
        let bins = match self.total.take_bins() {
            Some(bins) => Some(bins),
            None => self.completion.take_bins(),
        };
        let mut summary = Summary {
            count: Some(self.count),
            bytes: self.bytes,
            per_second: self.per_second,
            bytes_per_second: self.bytes_per_second,
            figures: std::mem::take(&mut self.figures),
            ..Summary::default()
        };
        summary.as_written.extend(
            self.bandwidth_as_written
                .take()
                .map(|text| ("bytes_per_second".to_owned(), text)),
        );
        let latency = if self.total.is_empty() {
            &self.completion
        } else {
            &self.total
        };
        latency.describe(&mut summary);
        if !self.total.is_empty() && !self.total.has_distribution() {
            // Unless it is asked, fio has a distribution of the completion alone.
            self.completion.describe_percentiles(&mut summary);
        }
        match bins {
            Some(bins) if bins.count() == self.count && !self.repeated => {
                let bytes = self.bytes.unwrap_or_default();
                let equal = block.filter(|block| self.count.checked_mul(*block) == Some(bytes));
                let latency = bins.into_histogram();
                let counted = Operations {
                    count: self.count,
                    bytes,
                    smallest_bytes: equal,
                    largest_bytes: equal,
                    latency,
                    ..Operations::default()
                };
                operations.insert(kind, counted);
            }
            Some(bins) => {
                if !self.repeated {
                    notices.push(format!(
                        "{kind}: fio has latencies of {} of {} operations",
                        bins.count(),
                        self.count
                    ));
                }
                summary.samples = Some(bins.count());
                summary.latency = Some(bins.into_histogram());
            }
            None => {}
        }
        let parts = [("slat", &self.submission), ("clat", &self.completion)];
        for (name, part) in parts
            .into_iter()
            .filter(|(_, part)| !part.is_empty() && !self.total.is_empty())
        {
            let mut described = Summary::default();
            part.describe(&mut described);
            summary.parts.insert(name.to_owned(), described);
        }
        summaries.insert(kind.to_owned(), summary);
    }
}
