//! From what was asked to what will happen on this machine: refuses what cannot work before anything is touched, fills in what was left
//! open, and notes every difference.

mod combinations;
mod placement;

use crate::error::RunError;
use crate::layout::{Layout, Shape, layout, shape};
use crate::machine::Machine;
use engine::{NbdEngine, NbdUrl};
use record::{Difference, StorageLayer};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use units::{Bytes, Nanos};
use workload::{Affinity, Cache, EngineName, Workload};

/// What a target turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Files that exist or will.
    File,
    Directory,
    BlockDevice,
    Nbd,
    /// The engine touches no target.
    Nothing,
}

impl TargetKind {
    /// The word in records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::BlockDevice => "block device",
            Self::Nbd => "nbd",
            Self::Nothing => "none",
        }
    }
}

/// A workload that can start.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub effective: Workload,
    pub kind: TargetKind,
    pub layout: Layout,
    pub differences: Vec<Difference>,
    pub notices: Vec<String>,
    pub storage: Option<StorageLayer>,
    /// CPUs and memory nodes of each worker; empty: not bound.
    pub placement: Vec<WorkerPlacement>,
}

/// Where one worker runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerPlacement {
    pub cpus: Vec<u32>,
    pub nodes: Vec<u32>,
}

pub(crate) const DEFAULT_DURATION: Nanos = Nanos(10_000_000_000);
pub(crate) const DEFAULT_FILE_BYTES: u64 = 1 << 30;

/// Decides what will happen.
///
/// # Errors
/// The workload contradicts itself, or cannot work on this target or machine.
pub fn resolve(asked: &Workload, machine: &Machine) -> Result<Resolved, RunError> {
    let mut effective = asked.clone();
    let mut changes = Changes::default();
    combinations::check(asked)?;
    let kind = target_kind(asked)?;
    decide_engine(&mut effective, kind, &mut changes)?;
    combinations::check_engine(&effective)?;
    decide_registration(&mut effective, machine, &mut changes);
    decide_end(&mut effective);
    let batch = effective.queue_depth;
    effective.submit_batch = Some(effective.submit_batch.unwrap_or(batch));
    effective.reap_batch = Some(effective.reap_batch.unwrap_or(1));
    let read = effective.read_percent()?;
    effective.access.read_percent = Some(units::Percent(read));
    effective.access.write_percent = Some(units::Percent(100.0 - read));
    let storage = asked.targets.first().filter(|_| matches!(kind, TargetKind::File | TargetKind::Directory | TargetKind::BlockDevice));
    let storage = storage.map(|target| machine.storage(target));
    check_storage(&mut effective, storage.as_ref(), &mut changes)?;
    let placement = placement::place(&mut effective, machine, &mut changes)?;
    let layout = if kind == TargetKind::Nothing || kind == TargetKind::Nbd { Layout::default() } else { layout(&effective)? };
    if kind == TargetKind::Nbd {
        measure_nbd(&mut effective)?;
    }
    if kind == TargetKind::Nothing {
        effective.files.size.get_or_insert(Bytes(DEFAULT_FILE_BYTES));
    }
    Ok(Resolved { effective, kind, layout, differences: changes.differences, notices: changes.notices, storage, placement })
}

/// Differences and notices as they come up.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) differences: Vec<Difference>,
    pub(crate) notices: Vec<String>,
}

impl Changes {
    pub(crate) fn differ(&mut self, key: &str, asked: String, effective: String, reason: impl Into<String>) {
        self.differences.push(Difference { key: key.into(), asked: Some(asked), effective: Some(effective), reason: reason.into() });
    }
}

pub(crate) fn unsuitable<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Unsuitable(text.into()))
}

fn target_kind(asked: &Workload) -> Result<TargetKind, RunError> {
    if matches!(asked.engine, EngineName::Null | EngineName::Sim) {
        return Ok(TargetKind::Nothing);
    }
    if asked.targets.is_empty() {
        return unsuitable("no target; name a file, a directory, a block device or an nbd:// URL");
    }
    let kinds: Vec<TargetKind> = asked.targets.iter().map(|target| kind_of(target, asked)).collect::<Result<_, _>>()?;
    if kinds.iter().any(|kind| *kind != kinds[0]) {
        return unsuitable("several targets must be of one kind: files, or block devices");
    }
    if kinds.len() > 1 && matches!(kinds[0], TargetKind::Nbd | TargetKind::Directory) {
        return unsuitable(format!("only one {} can be used at a time", kinds[0].word()));
    }
    Ok(kinds[0])
}

fn kind_of(target: &Path, asked: &Workload) -> Result<TargetKind, RunError> {
    if target.as_os_str().to_string_lossy().starts_with("nbd") && target.as_os_str().to_string_lossy().contains(':') {
        return Ok(TargetKind::Nbd);
    }
    let tree = shape(asked) == Shape::Tree;
    match std::fs::metadata(target) {
        Ok(facts) if facts.is_dir() && tree => Ok(TargetKind::Directory),
        Ok(facts) if facts.is_dir() => unsuitable(format!(
            "{} is a directory, and a file is meant; name a file in it, e.g. {}, or say how many files it should hold with --num-files N",
            target.display(),
            target.join("fathom.dat").display()
        )),
        Ok(facts) if tree => {
            let what = if facts.file_type().is_block_device() { "a block device" } else { "a file" };
            unsuitable(format!("{} is {what}, and --num-files, --num-dirs, --meta and their like need a directory", target.display()))
        }
        Ok(facts) if facts.file_type().is_block_device() => Ok(TargetKind::BlockDevice),
        Ok(_) => Ok(TargetKind::File),
        Err(_) if tree => Ok(TargetKind::Directory),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(TargetKind::File),
        Err(source) => Err(RunError::Io { what: "cannot look at", path: target.into(), source }),
    }
}

fn decide_engine(effective: &mut Workload, kind: TargetKind, changes: &mut Changes) -> Result<(), RunError> {
    if (kind == TargetKind::Nbd) != (effective.engine == EngineName::Nbd) && effective.engine != EngineName::Auto {
        return unsuitable(format!(
            "--engine {} does not fit the target; nbd:// URLs need --engine nbd or auto, and nothing else does",
            effective.engine.word()
        ));
    }
    if effective.engine == EngineName::Auto {
        effective.engine = if kind == TargetKind::Nbd {
            EngineName::Nbd
        } else if effective.queue_depth > 1 {
            EngineName::IoUring
        } else {
            EngineName::Sync
        };
        changes.differ(
            "engine",
            "auto".into(),
            effective.engine.word().into(),
            "sync at depth 1, io_uring beyond: a blocking call holds one operation at a time",
        );
    }
    Ok(())
}

/// io_uring's registered buffers and files: on unless the limit of locked memory forbids them (docs/decisions/registered-buffers.md).
fn decide_registration(effective: &mut Workload, machine: &Machine, changes: &mut Changes) {
    let fixed = &mut effective.ring.fixed;
    if effective.engine != EngineName::IoUring {
        (fixed.buffers, fixed.files) = (Some(false), Some(false));
        return;
    }
    fixed.files.get_or_insert(true);
    if fixed.buffers.is_none() {
        let needed = u64::from(effective.threads) * u64::from(effective.queue_depth) * effective.blocks.largest().0.next_multiple_of(4096);
        let limit = machine.lockable_bytes();
        let fits = limit.is_none_or(|limit| needed <= limit / 2);
        fixed.buffers = Some(fits);
        if !fits {
            let limit = Bytes(limit.unwrap_or_default());
            changes.differ(
                "fixed-buffers",
                "default".into(),
                "false".into(),
                format!("{} of buffers are more than half of the {limit} that `ulimit -l` lets this user lock", Bytes(needed)),
            );
        }
    }
}

fn decide_end(effective: &mut Workload) {
    let complete = effective.runs_to_completion() || !effective.files.meta.is_empty();
    effective.stop.complete = complete;
    if effective.stop.duration == Some(Nanos(0)) {
        effective.stop.duration = None;
    }
    if effective.stop.duration.is_none() && !complete && effective.stop.total_bytes.is_none() {
        effective.stop.duration = Some(DEFAULT_DURATION);
    }
}

/// The server that the target names.
pub(crate) fn nbd_url(workload: &Workload) -> Result<NbdUrl, RunError> {
    let target = workload.targets.first().map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(NbdUrl::parse(&target)?)
}

/// Asks the server for the size of its export, and for permission to write where that is wanted.
fn measure_nbd(effective: &mut Workload) -> Result<(), RunError> {
    let url = nbd_url(effective)?;
    let export = NbdEngine::connect(&url, 1, units::lossless::to_usize(effective.blocks.largest().0))?;
    let size = effective.files.size.unwrap_or(Bytes(export.size()));
    if size.0 > export.size() {
        return unsuitable(format!("{url} has {} bytes, --file-size {} is beyond its end", export.size(), size.exact()));
    }
    if size.0 < effective.blocks.largest().0 + effective.files.offset.0 {
        return unsuitable(format!("{url} has {} bytes, less than one block of {}", export.size(), effective.blocks.largest()));
    }
    if effective.access.read_percent.is_none_or(|p| p.0 < 100.0) {
        if export.read_only() {
            return unsuitable(format!("{url} is read-only; use --read-percent 100"));
        }
        if effective.files.allow_destroy.as_ref() != effective.targets.first() {
            return unsuitable(format!(
                "{url} is a block device; if its content may be destroyed, add --allow-destroy {}",
                target_names(&effective.targets)
            ));
        }
    }
    effective.files.size = Some(size);
    Ok(())
}

fn check_storage(effective: &mut Workload, storage: Option<&StorageLayer>, changes: &mut Changes) -> Result<(), RunError> {
    let Some(storage) = storage else { return Ok(()) };
    let file_system = storage.file_system.as_ref().map_or("", |fs| fs.kind.as_str());
    let in_memory = matches!(file_system, "tmpfs" | "ramfs" | "devtmpfs");
    if effective.durability.open.direct && in_memory {
        return unsuitable(format!(
            "--direct bypasses the page cache, but the target lies on {file_system}, which is the page cache; choose a target on a disk or drop --direct"
        ));
    }
    if effective.cache == Cache::Cold && in_memory {
        effective.cache = Cache::AsIs;
        changes.differ("cache", "cold".into(), "as-is".into(), format!("{file_system} is memory: there is nothing to evict to"));
    }
    if effective.ring.iopoll && storage.device.as_ref().is_some_and(|device| device.polling == Some(false)) {
        return unsuitable(
            "--iopoll: the device under the target has no poll queues (nvme.poll_queues, virtio_blk.poll_queues); drop --iopoll",
        );
    }
    let sector = storage.device.as_ref().and_then(|device| device.logical_block_bytes);
    if let Some(sector) = sector.filter(|_| effective.durability.open.direct) {
        for (what, bytes) in
            effective.blocks.0.iter().map(|(size, _)| ("--block-size", *size)).chain([("--offset", effective.files.offset)])
        {
            if bytes.0 % sector != 0 {
                return unsuitable(format!(
                    "{what} {} is not a multiple of {sector} bytes, the sector of the device under the target, which --direct needs",
                    bytes.exact()
                ));
            }
        }
    }
    Ok(())
}

/// Whether ids beyond the machine are mapped or refused.
pub(crate) fn is_best_effort(workload: &Workload) -> bool {
    workload.placement.affinity == Affinity::BestEffort
}

/// Every path of the targets, for messages.
#[must_use]
pub(crate) fn target_names(targets: &[PathBuf]) -> String {
    targets.iter().map(|target| target.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Every option of a workload that has a value.
pub(crate) fn shown(workload: &Workload) -> std::collections::BTreeMap<String, String> {
    let targets = target_names(&workload.targets);
    workload::settings::shown(workload)
        .into_iter()
        .map(|(key, text)| (key.to_owned(), text))
        .chain([("target".to_owned(), targets)])
        .collect()
}
