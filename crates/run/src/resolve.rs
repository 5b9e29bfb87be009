//! From what was asked to what will happen on this machine: refuses what cannot work before
//! anything is touched, fills in what was left open, and notes every difference.

mod combinations;
mod engine_choice;
mod kind;
mod permits;
mod placement;

use crate::error::RunError;
use crate::layout::{Layout, layout};
use engine::{NbdEngine, NbdUrl};
use host::Machine;
use kind::target_kind;
pub use kind::{TargetKind, is_server};
use permits::{Permits, ThisProcess};
use record::{Difference, StorageLayer};
use std::path::PathBuf;
use units::{Bytes, Nanos};
use workload::{Affinity, Cache, EngineFeature, Workload};

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
/// Bytes of a new file of which nobody says a size.
pub const DEFAULT_FILE_BYTES: u64 = 1 << 30;

/// Decides what will happen.
///
/// # Errors
/// The workload contradicts itself, or cannot work on this target or machine.
pub fn resolve(asked: &Workload, machine: &Machine) -> Result<Resolved, RunError> {
    resolve_for(asked, machine, &ThisProcess)
}

/// Refuses what contradicts itself on any machine and any target.
///
/// # Errors
/// Options that exclude each other.
pub fn check_options(asked: &Workload) -> Result<(), RunError> {
    combinations::check(asked)?;
    // Which it is each machine decides.
    if asked.engine == workload::EngineName::Auto {
        return Ok(());
    }
    combinations::check_engine(asked)
}

fn resolve_for(
    asked: &Workload,
    machine: &Machine,
    permits: &dyn Permits,
) -> Result<Resolved, RunError> {
    let mut effective = asked.clone();
    let mut changes = Changes::default();
    combinations::check(asked)?;
    let kind = target_kind(asked)?;
    engine_choice::decide(&mut effective, kind, permits, &mut changes)?;
    combinations::check_engine(&effective)?;
    decide_registration(&mut effective, machine, &mut changes);
    decide_end(&mut effective);
    let batch = effective.queue_depth;
    effective.submit_batch = Some(effective.submit_batch.unwrap_or(batch));
    effective.reap_batch = Some(effective.reap_batch.unwrap_or(1));
    let read = effective.read_percent()?;
    effective.access.read_percent = Some(units::Percent(read));
    effective.access.write_percent = Some(units::Percent(100.0 - read));
    let storage = asked.targets.first().filter(|_| {
        matches!(
            kind,
            TargetKind::File | TargetKind::Directory | TargetKind::BlockDevice
        )
    });
    let storage = storage.map(|target| machine.storage(target));
    check_storage(&mut effective, storage.as_ref(), &mut changes)?;
    let placement = placement::place(&mut effective, machine, permits, &mut changes)?;
    let layout = if kind == TargetKind::Nothing || kind == TargetKind::Nbd {
        Layout::default()
    } else {
        layout(&effective)?
    };
    if kind == TargetKind::Nbd {
        measure_nbd(&mut effective, &mut changes)?;
    }
    if kind == TargetKind::Nothing {
        effective
            .files
            .size
            .get_or_insert(Bytes(DEFAULT_FILE_BYTES));
        if !asked.targets.is_empty() {
            let (names, engine) = (target_names(&asked.targets), effective.engine.word());
            changes.notices.push(format!(
                "the target {names} is not used by engine {engine}: nothing is opened or made"
            ));
        }
    }
    Ok(Resolved {
        effective,
        kind,
        layout,
        differences: changes.differences,
        notices: changes.notices,
        storage,
        placement,
    })
}

/// Differences and notices as they come up.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) differences: Vec<Difference>,
    pub(crate) notices: Vec<String>,
}

impl Changes {
    pub(crate) fn differ(
        &mut self,
        key: &str,
        asked: String,
        effective: String,
        reason: impl Into<String>,
    ) {
        self.differences.push(Difference {
            key: key.into(),
            asked: Some(asked),
            effective: Some(effective),
            reason: reason.into(),
        });
    }

    /// An option that has no effect here at all.
    pub(crate) fn leave_out(&mut self, key: &str, asked: String, reason: impl Into<String>) {
        self.differences.push(Difference {
            key: key.into(),
            asked: Some(asked),
            effective: None,
            reason: reason.into(),
        });
    }
}

pub(crate) fn unsuitable<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Unsuitable(text.into()))
}

/// io_uring's registered buffers and files: on unless the limit of locked memory forbids them
/// (docs/decisions/registered-buffers.md).
fn decide_registration(effective: &mut Workload, machine: &Machine, changes: &mut Changes) {
    let fixed = &mut effective.ring.fixed;
    if !effective.engine.has(EngineFeature::Ring) {
        (fixed.buffers, fixed.files) = (Some(false), Some(false));
        return;
    }
    fixed.files.get_or_insert(true);
    if fixed.buffers.is_none() {
        let needed = u64::from(effective.threads)
            * u64::from(effective.queue_depth)
            * effective.blocks.largest().0.next_multiple_of(4096);
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
    if !effective.stop.has_end() {
        effective.stop.duration = Some(DEFAULT_DURATION);
    }
}

/// The server that the target names.
pub(crate) fn nbd_url(workload: &Workload) -> Result<NbdUrl, RunError> {
    let target = workload
        .targets
        .first()
        .map(|target| target.to_string_lossy().into_owned())
        .unwrap_or_default();
    Ok(NbdUrl::parse(&target)?)
}

/// Asks the server for the size of its export, and for permission to write where that is wanted.
fn measure_nbd(effective: &mut Workload, changes: &mut Changes) -> Result<(), RunError> {
    let url = nbd_url(effective)?;
    let export = NbdEngine::connect(
        &url,
        1,
        units::lossless::to_usize(effective.blocks.largest().0),
    )?;
    fits_alignment(
        effective,
        &url.to_string(),
        export.block_sizes().minimum.into(),
    )?;
    changes
        .notices
        .extend(flush_of_one_connection(effective, export.can_multi_conn()));
    let size = effective.files.size.unwrap_or(Bytes(export.size()));
    if size.0 > export.size() {
        return unsuitable(format!(
            "{url} has {} bytes, --file-size {} is beyond its end",
            export.size(),
            size.exact()
        ));
    }
    if size.0 < effective.blocks.largest().0 + effective.files.offset.0 {
        return unsuitable(format!(
            "{url} has {} bytes, less than one block of {}",
            export.size(),
            effective.blocks.largest()
        ));
    }
    if effective.access.read_percent.is_none_or(|p| p.0 < 100.0) {
        if export.read_only() {
            return unsuitable(format!("{url} is read-only; use --read-percent 100"));
        }
        if !effective
            .targets
            .first()
            .is_some_and(|target| effective.files.allow_destroy.contains(target))
        {
            return unsuitable(format!(
                "{url} is a block device; if its content may be destroyed, add --allow-destroy {}",
                target_names(&effective.targets)
            ));
        }
    }
    effective.files.size = Some(size);
    Ok(())
}

/// Refuses blocks and offsets that the server would.
fn fits_alignment(workload: &Workload, server: &str, alignment: u64) -> Result<(), RunError> {
    let sizes = workload
        .blocks
        .0
        .iter()
        .map(|(size, _)| ("--block-size", *size));
    match sizes
        .chain([("--offset", workload.files.offset)])
        .find(|(_, bytes)| bytes.0 % alignment != 0)
    {
        None => Ok(()),
        Some((option, bytes)) => unsuitable(format!(
            "{option} {} is not a multiple of {alignment} bytes, which {server} asks for",
            bytes.exact()
        )),
    }
}

/// Each worker has a connection of its own, and not every server flushes for all of them.
fn flush_of_one_connection(workload: &Workload, covers_all: bool) -> Option<String> {
    let flush = &workload.durability;
    let flushes = flush.fsync > 0 || flush.fdatasync > 0 || flush.end_fsync;
    (flushes && workload.threads > 1 && !covers_all).then(|| {
        "the NBD server does not promise that a flush on one connection covers the others: each worker flushes what it wrote itself".into()
    })
}

fn check_storage(
    effective: &mut Workload,
    storage: Option<&StorageLayer>,
    changes: &mut Changes,
) -> Result<(), RunError> {
    let Some(storage) = storage else {
        return Ok(());
    };
    let file_system = storage
        .file_system
        .as_ref()
        .map_or("", |fs| fs.kind.as_str());
    let in_memory = matches!(file_system, "tmpfs" | "ramfs" | "devtmpfs");
    if effective.durability.open.direct && in_memory {
        return unsuitable(format!(
            "--direct bypasses the page cache, but the target lies on {file_system}, which is the page cache; choose a target on a disk or drop --direct"
        ));
    }
    if effective.cache == Cache::Cold && in_memory {
        effective.cache = Cache::AsIs;
        changes.differ(
            "cache",
            "cold".into(),
            "as-is".into(),
            format!("{file_system} is memory: there is nothing to evict to"),
        );
    }
    if effective.ring.iopoll
        && storage
            .device
            .as_ref()
            .is_some_and(|device| device.polling == Some(false))
    {
        return unsuitable(
            "--iopoll: the device under the target has no poll queues (nvme.poll_queues, virtio_blk.poll_queues); drop --iopoll",
        );
    }
    let sector = storage
        .device
        .as_ref()
        .and_then(|device| device.logical_block_bytes);
    if let Some(sector) = sector.filter(|_| effective.durability.open.direct) {
        for (what, bytes) in effective
            .blocks
            .0
            .iter()
            .map(|(size, _)| ("--block-size", *size))
            .chain([("--offset", effective.files.offset)])
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
    targets
        .iter()
        .map(|target| target.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
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

#[cfg(test)]
mod tests {
    use super::permits::fixture::Forbidden;
    use super::*;
    use std::path::Path;
    use workload::EngineName;

    fn resolved(workload: &Workload, forbidden: &[EngineName]) -> Result<Resolved, RunError> {
        let permits = Forbidden {
            engines: forbidden.to_vec(),
            ..Forbidden::default()
        };
        resolve_for(workload, &Machine::at(Path::new("/")), &permits)
    }

    fn deep(target: &Path) -> Workload {
        let mut workload = Workload {
            targets: vec![target.into()],
            queue_depth: 32,
            ..Workload::default()
        };
        workload.files.size = Some(Bytes(1 << 20));
        workload
    }

    #[test]
    fn an_engine_that_is_forbidden_gives_way_to_the_next_with_the_reason() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("f");
        let chosen = |forbidden: &[EngineName]| {
            let resolved = resolved(&deep(&target), forbidden).unwrap();
            let reason = resolved
                .differences
                .iter()
                .find(|difference| difference.key == "engine")
                .unwrap()
                .reason
                .clone();
            (
                resolved.effective.engine,
                resolved.effective.queue_depth,
                reason,
            )
        };
        let (engine, depth, reason) = chosen(&[]);
        assert_eq!((engine, depth), (EngineName::IoUring, 32));
        assert!(!reason.contains("not available"), "{reason}");
        let (engine, depth, reason) = chosen(&[EngineName::IoUring]);
        assert_eq!((engine, depth), (EngineName::Libaio, 32));
        assert!(reason.contains("not available"), "{reason}");
        let (engine, depth, reason) = chosen(&[EngineName::IoUring, EngineName::Libaio]);
        assert_eq!((engine, depth), (EngineName::Sync, 1));
        assert_eq!(reason.matches("not available").count(), 2, "{reason}");
    }

    #[test]
    fn a_depth_that_the_last_engine_cannot_hold_is_a_difference_too() {
        let place = tempfile::tempdir().unwrap();
        let asked = Workload {
            submit_batch: Some(16),
            reap_batch: Some(4),
            ..deep(&place.path().join("f"))
        };
        let resolved = resolved(&asked, &[EngineName::IoUring, EngineName::Libaio]).unwrap();
        let effective = &resolved.effective;
        assert_eq!(
            (
                effective.queue_depth,
                effective.submit_batch,
                effective.reap_batch
            ),
            (1, Some(1), Some(1))
        );
        for (key, asked) in [
            ("queue-depth", "32"),
            ("submit-batch", "16"),
            ("reap-batch", "4"),
        ] {
            let difference = resolved
                .differences
                .iter()
                .find(|difference| difference.key == key)
                .unwrap();
            assert_eq!(
                (difference.asked.as_deref(), difference.effective.as_deref()),
                (Some(asked), Some("1"))
            );
        }
    }

    #[test]
    fn an_engine_that_is_named_or_needed_never_gives_way() {
        let place = tempfile::tempdir().unwrap();
        let all = [EngineName::IoUring, EngineName::Libaio];
        for named in all {
            let asked = Workload {
                engine: named,
                ..deep(&place.path().join("f"))
            };
            let resolved = resolved(&asked, &all).unwrap();
            assert_eq!(
                (resolved.effective.engine, resolved.differences),
                (named, Vec::new())
            );
        }
        let mut asked = deep(&place.path().join("f"));
        asked.ring.sqpoll = true;
        assert_eq!(
            resolved(&asked, &all).unwrap().effective.engine,
            EngineName::IoUring,
            "--sqpoll is io_uring's alone"
        );
    }

    #[test]
    fn blocks_that_a_server_would_refuse_are_refused_before_the_run() {
        let mut workload = Workload {
            blocks: workload::BlockSizes(vec![(Bytes(512), 50), (Bytes(1024), 50)]),
            ..Workload::default()
        };
        fits_alignment(&workload, "nbd://host", 512).unwrap();
        let error = fits_alignment(&workload, "nbd://host", 4096).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--block-size 512 is not a multiple of 4096 bytes, which nbd://host asks for"
        );
        workload.files.offset = Bytes(100);
        assert!(
            fits_alignment(&workload, "nbd://host", 512)
                .unwrap_err()
                .to_string()
                .starts_with("--offset 100 ")
        );
    }

    #[test]
    fn a_flush_that_covers_one_worker_alone_is_noticed() {
        let mut workload = Workload {
            threads: 2,
            ..Workload::default()
        };
        assert_eq!(
            flush_of_one_connection(&workload, false),
            None,
            "nothing is flushed"
        );
        workload.durability.end_fsync = true;
        assert!(flush_of_one_connection(&workload, false).is_some());
        assert_eq!(flush_of_one_connection(&workload, true), None);
        workload.threads = 1;
        assert_eq!(flush_of_one_connection(&workload, false), None);
    }

    #[test]
    fn a_target_that_the_engine_does_not_use_is_noticed() {
        for (engine, name) in [(EngineName::Null, "null"), (EngineName::Sim, "sim")] {
            let with_target = Workload {
                engine,
                ..deep(Path::new("/no/such/directory/f"))
            };
            let notices = resolved(&with_target, &[]).unwrap().notices;
            assert_eq!(
                notices,
                [format!(
                    "the target /no/such/directory/f is not used by engine {name}: nothing is opened or made"
                )]
            );
            let without = Workload {
                targets: Vec::new(),
                ..with_target
            };
            assert_eq!(
                resolved(&without, &[]).unwrap().notices,
                Vec::<String>::new()
            );
        }
    }
}
