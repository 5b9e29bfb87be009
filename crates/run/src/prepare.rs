//! From resolved files to files that a run can measure: approved, created, sized, filled, cached as
//! asked, and marked as Fathom's.

mod among;
mod cache;
mod fill;
mod fill_plan;
mod foreign;
mod known;
mod lineage;
mod manifest_file;
mod names;
mod opening;
mod patterns;
mod ready;
mod seal;
mod shares;
mod space;
mod tail;
mod together;
mod undo;
mod whole;
mod written;

pub(crate) use among::{Among, beside_unknown};
pub(crate) use cache::residency;
use cache::settle_cache;
use fill_plan::{FillPlan, Present, fill_plan};
pub(crate) use lineage::FileContent;
pub(crate) use opening::open_for_run;
use patterns::numbers_rewrites;
pub(crate) use patterns::{data_fill, pattern_label, verify_pattern};
pub(crate) use seal::{leave_unsealed, seal};
pub(crate) use whole::real_name;
pub(crate) use written::RunWrites;

use crate::error::RunError;
use crate::layout::{FileSpec, manifest};
use crate::probe::RealProbe;
use crate::resolve::{DEFAULT_FILE_BYTES, Resolved, TargetKind};
use crate::safety::{self, Access, Announced, Approval, Referent, WriteRequest};
use manifest_file::manifest_file;
use record::Fill;
use seal::Unsealed;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use undo::Undo;
use workload::Workload;

/// A file that is ready.
#[derive(Debug)]
pub(crate) struct ReadyFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Its name in verified content.
    pub(crate) id: u32,
    pub(crate) owner: Option<u32>,
    /// Bytes without data, as far as the file system tells; `None` where nothing is read, and of
    /// devices.
    pub(crate) hole_bytes: Option<u64>,
    pub(crate) content: FileContent,
    pub(crate) approval: Approval,
    /// What was approved; whoever opens the path again must find the same.
    pub(crate) referent: Referent,
    /// Open as long as the run lasts.
    pub(crate) file: Arc<File>,
    /// Fathom's own: sealed again when the run ends.
    unsealed: Option<Unsealed>,
    /// Held, not read: what tells other processes that the file is in use.
    announced: Option<Announced>,
}

/// Phases that start together may use one file: what one has just made, the other finds.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Files ready to be measured.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) files: Vec<ReadyFile>,
    pub(crate) fill: Option<Fill>,
    pub(crate) residency_before: Option<u64>,
    pub(crate) notices: Vec<String>,
    pub(crate) undo: Undo,
    /// Whose writes those of this run are where no mark says which they go on with. Another in every
    /// run, also of one seed, so that no write is the bytes that an earlier run left there.
    pub(crate) fresh_run: u64,
    /// Whether other ranks use the same files, or the same server.
    pub(crate) is_used_by_ranks: bool,
}

impl Prepared {
    /// Whether workers of other ranks write the blocks that this one uses.
    pub(crate) fn is_written_elsewhere(&self, workload: &Workload) -> bool {
        self.is_used_by_ranks && use_of(workload).writes && !workload.parts_blocks()
    }

    /// Whether each write of a block has a generation of its own, which takes that all of them are
    /// this rank's.
    pub(crate) fn numbers_rewrites(&self, workload: &Workload) -> bool {
        numbers_rewrites(workload) && !self.is_written_elsewhere(workload)
    }
}

/// What is told while files are being written, in bytes done and to do.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// What a workload does to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

pub(crate) fn use_of(workload: &Workload) -> Use {
    let read = workload.access.read_percent.map_or(100.0, |p| p.0);
    Use {
        reads: read > 0.0,
        writes: read < 100.0,
    }
}

/// Approves every file before touching the first, then makes each ready.
///
/// # Errors
/// A refusal or unsuitable target before anything is touched; an I/O failure while filling, after
/// which new files are removed.
#[cfg(test)]
pub(crate) fn prepare(
    resolved: &Resolved,
    clock_ns: &dyn Fn() -> u64,
    progress: Progress<'_>,
) -> Result<Prepared, RunError> {
    prepare_among(&Among::default(), resolved, clock_ns, progress)
}

/// The same beside other ranks: all approve before any touches, and what all of them use is made by
/// the root before the others open and fill it. Files are each one worker's or all of them everybody's.
pub(crate) fn prepare_among(
    among: &Among<'_>,
    resolved: &Resolved,
    clock_ns: &dyn Fn() -> u64,
    progress: Progress<'_>,
) -> Result<Prepared, RunError> {
    let workload = &resolved.effective;
    if !workload.files.meta.is_empty() {
        return names::prepare(among, resolved);
    }
    let mut out = Prepared {
        fresh_run: among.fresh_run(),
        ..Prepared::default()
    };
    let _others_wait = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let is_for_all = |file: &FileSpec| file.owner.is_none() && among.share_files();
    let finds_made = |file: &FileSpec| is_for_all(file) && among.finds_made();
    let own = plans(resolved, |file| !finds_made(file))?;
    among::check_unused(resolved, finds_made)?;
    space::check_space_of_all(among, &resolved.effective.targets, &own)?;
    out.undo.make_dirs(&resolved.layout.dirs)?;
    let use_the_same = resolved.layout.files.iter().any(is_for_all);
    out.is_used_by_ranks =
        use_the_same || resolved.kind == TargetKind::Nbd && among.share_servers();
    if !use_the_same {
        out.make(own, workload, clock_ns, progress)?;
        among.meet()?;
    } else if among.finds_made() {
        out.make_of_others(among, resolved, clock_ns, progress)?;
    } else {
        out.make_for_all(among, resolved, own, clock_ns, progress)?;
    }
    out.notices.extend(tail::notices(workload, &out.files));
    out.residency_before = settle_cache(workload, &mut out)?;
    if let Some(place) = &workload.files.export_layout_manifest {
        let files: Vec<(PathBuf, u64)> = out
            .files
            .iter()
            .map(|f| (f.path.clone(), f.bytes))
            .collect();
        let root = workload
            .targets
            .first()
            .map_or(Path::new(""), PathBuf::as_path);
        let mut file = manifest_file(place, resolved).open()?;
        file.write_all(manifest(root, &files).as_bytes())
            .map_err(RunError::io("cannot write the layout manifest", place))?;
    }
    Ok(out)
}

/// Approves every file and says how many bytes would be written before the run, touching nothing.
///
/// # Errors
/// What [`prepare`] would refuse.
pub(crate) fn check(resolved: &Resolved) -> Result<u64, RunError> {
    if resolved.effective.files.meta.is_empty() {
        let plans = plans(resolved, |_| true)?;
        plans.iter().map(FilePlan::bytes_missing).sum()
    } else {
        names::check(resolved).map(|()| 0)
    }
}

fn plans(
    resolved: &Resolved,
    is_asked: impl Fn(&FileSpec) -> bool,
) -> Result<Vec<FilePlan>, RunError> {
    let place = resolved.effective.files.export_layout_manifest.as_deref();
    place.map_or(Ok(()), |place| manifest_file(place, resolved).check())?;
    let files = resolved.layout.files.iter();
    let plans: Vec<FilePlan> = files
        .filter(|spec| is_asked(spec))
        .map(|spec| plan(spec, resolved))
        .collect::<Result<_, _>>()?;
    space::check_space(&plans)?;
    whole::check(&plans, &resolved.effective)?;
    shares::check(&plans, &resolved.effective)?;
    Ok(plans)
}

/// What will be done to one file.
struct FilePlan {
    path: PathBuf,
    /// Its name in verified content.
    id: u32,
    owner: Option<u32>,
    approval: Approval,
    is_device: bool,
    bytes: u64,
    content: FileContent,
    fill: FillPlan,
    access: Access,
    /// What it will take from the file system's free space.
    new_bytes: u64,
}

impl FilePlan {
    fn bytes_to_write(&self) -> u64 {
        if self.fill == FillPlan::Nothing {
            0
        } else {
            self.bytes
        }
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn plan(spec: &FileSpec, resolved: &Resolved) -> Result<FilePlan, RunError> {
    let workload = &resolved.effective;
    let io = use_of(workload);
    let present = safety::open_present(&spec.path)?;
    let facts = present
        .as_ref()
        .map(|file| {
            file.metadata()
                .map_err(RunError::io("cannot look at", &spec.path))
        })
        .transpose()?;
    let is_device = resolved.kind == TargetKind::BlockDevice;
    let has = match (&present, &facts) {
        (Some(file), _) if is_device => device_bytes(file, &spec.path)?,
        (_, Some(facts)) => facts.len(),
        (_, None) => 0,
    };
    let bytes = match spec.bytes {
        Some(asked) if is_device && asked > has => {
            return Err(RunError::Unsuitable(format!(
                "{} has {} bytes, --file-size {asked} is beyond its end; give at most that",
                spec.path.display(),
                has
            )));
        }
        Some(asked) => asked,
        None if has > 0 => has,
        None => DEFAULT_FILE_BYTES,
    };
    if !is_device && i64::try_from(bytes).is_err() {
        return Err(RunError::Unsuitable(format!(
            "--file-size {bytes}: no file is longer than {} bytes; give a smaller one",
            i64::MAX
        )));
    }
    let smallest = workload.blocks.largest().0 + workload.files.offset.0;
    if bytes < smallest {
        return Err(RunError::Unsuitable(format!(
            "{} has {bytes} bytes, less than one block of {} at --offset {}; lower these, or choose a longer target",
            spec.path.display(),
            workload.blocks.largest(),
            workload.files.offset
        )));
    }
    let mut content = FileContent::read(present.as_ref().filter(|_| !is_device), &spec.path)?;
    let fill = fill_plan(
        spec,
        workload,
        io,
        &Present {
            file: present.as_ref(),
            bytes: has,
            is_device,
        },
        bytes,
        &content,
    )?;
    let id = content.named(spec.id);
    if let Some(file) = present.as_ref().filter(|_| fill == FillPlan::Nothing) {
        foreign::check(file, &spec.path, id, &content, workload)?;
    }
    let grows = !is_device && bytes > has;
    let will_be_written = io.writes
        || fill != FillPlan::Nothing
        || grows
        || workload.files.fill.preallocate
        || workload.files.fill.truncate;
    let access = if will_be_written {
        Access::Write
    } else {
        Access::Read
    };
    let approval = safety::check(
        &WriteRequest {
            path: &creatable(&spec.path, resolved),
            access,
            allow_destroy: &workload.files.allow_destroy,
        },
        Path::new("/"),
        &RealProbe,
    )?;
    // What was looked at until here is what was approved.
    present
        .as_ref()
        .map_or(Ok(()), |file| safety::recheck(file, &approval))?;
    present
        .as_ref()
        .map_or(Ok(()), |file| check_direct(file, &spec.path, workload))?;
    let new_bytes = space::new_bytes(
        workload,
        fill,
        bytes,
        facts.as_ref().map_or(0, |facts| facts.blocks() * 512),
    );
    Ok(FilePlan {
        path: spec.path.clone(),
        id,
        owner: spec.owner,
        approval,
        is_device,
        bytes,
        content,
        fill,
        access,
        new_bytes,
    })
}

/// A file in a directory that is still to be made is judged as if it lay in the deepest one that
/// exists.
fn creatable(path: &Path, resolved: &Resolved) -> PathBuf {
    if resolved.kind != TargetKind::Directory || path.exists() {
        return path.to_path_buf();
    }
    let existing = path
        .ancestors()
        .skip(1)
        .find(|dir| dir.is_dir() || dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let parent = path.parent().unwrap_or(Path::new(""));
    if existing == parent {
        path.to_path_buf()
    } else {
        existing.join(".fathom-new-file")
    }
}

/// O_DIRECT needs the alignment that the file itself reports.
fn check_direct(file: &File, path: &Path, workload: &Workload) -> Result<(), RunError> {
    if !workload.durability.open.direct {
        return Ok(());
    }
    let Some((_, align)) = sys::direct_alignment(file) else {
        return Ok(());
    };
    if align == 0 {
        return Err(RunError::Unsuitable(format!(
            "{}: its file system has no direct I/O; drop --direct",
            path.display()
        )));
    }
    let align = u64::from(align);
    for (what, bytes) in workload
        .blocks
        .0
        .iter()
        .map(|(size, _)| ("--block-size", size.0))
        .chain([("--offset", workload.files.offset.0)])
    {
        if bytes % align != 0 {
            return Err(RunError::Unsuitable(format!(
                "{what} {bytes} is not a multiple of {align} bytes, which direct I/O on {} needs",
                path.display()
            )));
        }
    }
    Ok(())
}

fn device_bytes(file: &File, path: &Path) -> Result<u64, RunError> {
    match sys::block_device_size(file).map_err(RunError::io("cannot ask the size of", path))? {
        0 => Err(RunError::Unsuitable(format!(
            "{} has no bytes: nothing is attached to this device, or no medium is in it; `lsblk` lists those that have a size",
            path.display()
        ))),
        bytes => Ok(bytes),
    }
}
